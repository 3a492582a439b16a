"""Labels of the draws of a `Stream`, for all n: the program of the form labels those of step i by (i, label),
or by i alone, and those of the end by ("end", label); in a composition, all by (part, label). A proof looks
at one step from any state, where labels are as the step has them, so what the whole program makes of them is
checked here, where each draw is interpreted: no two draws of a run may have one label.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from freegap.forms import Stream
from freegap.prover.models import labelled
from freegap.symbolic.subset import Trusted
from freegap.symbolic.subset.machine import Machine


def with_own_labels(form: Stream) -> Stream:
    """The form, whose start, steps and end refuse a label that the program has twice."""

    def of_the_start(label: Any, before: list[Any]) -> bool:
        if label is None and None in before:  # in a composition, both are named after the part alone
            return True
        if form.place_alone:  # one without a label is labelled by its place in the order
            return label is None or isinstance(label, int | Fraction) or label == "end"
        return type(label) is tuple and len(label) == 2 and (label[0] == "end" or type(label[0]) is not str)

    def of_a_step(label: Any, before: list[Any]) -> bool:
        return bool(before) if form.place_alone else label is None and None in before

    finish = None if form.finish is None else _refusing(form.finish, of_a_step)
    return replace(
        form,
        start=_refusing(form.start, of_the_start),
        step=_refusing(form.step, of_a_step),
        finish=finish,
    )


def _refusing(function: Any, is_shared: Callable[[Any, list[Any]], bool]) -> Trusted:
    """The function, with noise (its last argument) that refuses labels; `is_shared` is told those before."""

    def meaning(machine: Machine, *given: Any) -> Any:
        before: list[Any] = []

        def own(machine: Machine, label: Any) -> Any:
            if is_shared(label, before):
                what = "two draws without a label" if label is None else f"two draws of one label, {label!r}"
                raise machine.refusal(f"{what}, in the program of the form: give each draw a text of its own")
            before.append(label)
            return label

        *rest, noise = given
        renamed = labelled(machine, noise, Trusted(own, lambda label: label))
        return machine.call(function, [*rest, renamed])

    return Trusted(meaning, function)
