"""The record of a base-2 sparse vector: `AboveThreshold`, as for the other sparse vectors."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from freegap.base2.plan import Base2Plan
from freegap.values.above import AboveThreshold
from freegap.values.answers import named
from freegap.values.plans import PlainPlan

__all__ = ["released"]


def released(
    plan: Base2Plan,
    found: list[tuple[int, int]],
    asked: int,
    *,
    names: Sequence[Any] | None = None,
    private: bool,
) -> AboveThreshold:
    """The record of a run.

    found: the positions answered ⊤, each with how many of the gaps it reached; its gap is the largest of
        these, a lower bound of the noisy distance to the noisy threshold.
    asked: how many questions there were; those after the k-th ⊤ were not answered.
    names: of the questions, where they have labels; positions are then not released.
    """
    ladder = (0, *plan.gaps)
    places = [position for position, _ in found]
    answered = places[-1] + 1 if len(found) == plan.k else asked
    return AboveThreshold(
        plan=PlainPlan(plan.mechanism, plan.asked, plan.parameters),  # without the weights, which are large
        questions=range(answered) if names is None else tuple(names[:answered]),
        indices=tuple(places) if names is None else (),
        labels=named(names, places),
        gap_multiples=tuple(ladder[reached] for _, reached in found) if plan.with_gaps else None,
        branches=(0,) * len(found),
        thresholds=(Fraction(plan.threshold * plan.resolution),) * len(found),
        resolution=plan.resolution,
        spent=plan.charge(asked, len(found)),
        private=private,
    )
