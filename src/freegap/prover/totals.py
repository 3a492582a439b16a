"""Numbers that are made of the answers alone, each put out with noise of its own: `max(answers) + noise`,
sums of clipped answers, counts of those above a bound.

What is added to the noise is then a function f of the answers, by cases, and the alignment is the one that a
person would write: noise + f(answers) − f(neighbour). The program itself, with noise that is 0, is f. Nothing
rests on this choice: the alignment is proved like any other, and what it costs is found there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from freegap.forms import Known
from freegap.prover.check import Progress, prove_alignment
from freegap.prover.classes import OutputClass
from freegap.prover.outputs import Hole, Node
from freegap.prover.problem import Problem
from freegap.prover.report import Proof
from freegap.symbolic import Draw
from freegap.symbolic.subset import KnownNoise, Trusted
from freegap.symbolic.subset.machine import Machine


def prove_totals(
    problem: Problem, classes: list[OutputClass], *, tightness: bool, progress: Progress | None
) -> Proof | None:
    """A proof by this alignment; None if the program is another, or if it does not prove it."""
    owners = _owners(classes[0]) if len(classes) == 1 else None
    if owners is None:
        return None
    given = problem.keywords(problem.mechanism, all_given=True)
    silent: Mapping[Any, Fraction] = {draw.label: Fraction(0) for draw in owners}
    if len(owners) == 1:
        silent = {**silent, None: Fraction(0)}  # one that has no label

    def moved(here: Any, there: Any, noise: Mapping[Any, Any]) -> dict[Any, Any]:
        numbers = zip(owners, _numbers(here), _numbers(there), strict=True)
        return {draw.label: noise[draw.label] + one - other for draw, one, other in numbers}

    def meaning(machine: Machine, answers: Any, neighbour: Any, output: Any, noise: Any, **words: Any) -> Any:
        here, there = (
            machine.call(problem.mechanism, [list(side), KnownNoise(silent)], machine.parameters(given))
            for side in (answers, neighbour)
        )
        return moved(here, there, noise)

    def on_numbers(answers: Any, neighbour: Any, output: Any, noise: Any, **words: Any) -> Any:
        here, there = (problem.mechanism(list(side), Known(silent), **given) for side in (answers, neighbour))
        return moved(here, there, noise)

    alignment = Trusted(meaning, on_numbers)
    quiet = replace(problem, limits=replace(problem.limits, certificate=None))
    proof = prove_alignment(quiet, alignment, tightness=tightness, progress=progress)
    if proof.holds and problem.limits.certificate is not None:  # once more, for the certificate
        proof = prove_alignment(problem, alignment, tightness=tightness, progress=progress)
    return proof if proof.holds else None


def _owners(output: OutputClass) -> list[Draw] | None:
    """The draw of each number, if each has one of its own and nothing is compared with noise."""
    told = output.skeleton
    parts = told.children if isinstance(told, Node) and isinstance(told.kind, type) else [told]
    if len(output.paths) < 2 or not all(isinstance(part, Hole) for part in parts):
        return None
    if len(parts) != len(output.draws):
        return None
    if any(condition.variables & output.noise_variables for p in output.paths for condition in p.conditions):
        return None
    found = [_owner(output, place) for place in range(len(parts))]
    owners = [draw for draw in found if draw is not None]
    return owners if len({draw.label for draw in owners}) == len(parts) else None


def _owner(output: OutputClass, place: int) -> Draw | None:
    """The draw that this number is an answer plus, on every path."""
    for draw in output.draws:
        rest = [numbers[place] - draw.value for numbers in output.numbers]
        if not any(number.variables & output.noise_variables for number in rest):
            return draw
    return None


def _numbers(told: Any) -> list[Any]:
    if type(told) is dict:
        return list(told.values())
    return list(told) if type(told) in (list, tuple) else [told]
