"""Releases as they would be made at a budget: the noise of each, and the errors of what it would say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.estimate.bounds import gap_noise
from freegap.estimate.expected import top_k_errors
from freegap.estimate.intervals import ErrorBars, error_bars
from freegap.estimate.noise_laws import GapNoise
from freegap.laws import CONTINUOUS_NOISES, Law
from freegap.mechanisms.arguments import noise_argument
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.mechanisms.unknown_domain import UnknownPlan
from freegap.planner.crowds import Crowd
from freegap.values.measures import Approximate, Measure, Pure, ZeroConcentrated


@dataclass(frozen=True, kw_only=True)
class Design:
    """One way to select, at one budget.

    call: the function that does it.
    law, scale: of the noise in each count.
    line: where a noisy threshold stands before its noise, and the scale of that; None where there is none.
    pool: how many of the largest counts take part; None for all.
    gap_error: the standard error of a gap.
    width: of a 95 % interval for a number of people; None where none comes out.
    least, each, paid: what is charged where nothing comes out, for each item more, and for how many at most.
    """

    call: str
    asked: Measure
    k: int
    law: Law
    scale: Fraction
    line: tuple[Fraction, Fraction] | None = None
    pool: int | None = None
    gap_error: float
    width: float | None = None
    least: Fraction
    each: Fraction = Fraction(0)
    paid: int = 0


def top_k(asked: Pure | ZeroConcentrated, k: int, noise: str | None, *, measured: bool) -> Design:
    """`top_k` on a table; with `measured`, what it selects is measured with half of the budget."""
    made = top_k_errors(asked, k, noise, measured=measured)
    return Design(
        call="top_k, measured" if measured else "top_k",
        asked=asked,
        k=k,
        law=made.selection.law,
        scale=made.selection.scale,
        gap_error=made.gap,
        width=None if made.width is None else 2 * made.width,
        least=made.charge,
    )


def above(asked: Pure | ZeroConcentrated, k: int, threshold: Fraction, noise: str | None) -> Design:
    """`above` on a table: the hybrid sparse vector."""
    amounts: dict[str, Any] = asked.arguments()
    law = noise_argument(CONTINUOUS_NOISES[0] if noise is None else noise, CONTINUOUS_NOISES, asked)
    plan = ThresholdPlan.read("hybrid_sparse_vector", k=k, monotonic=True, noise=law.name, **amounts)
    branch = plan.branches[-1]
    noise_of_gap = gap_noise(plan, 0)
    return Design(
        call="above",
        asked=asked,
        k=k,
        law=law,
        scale=branch.scale,
        line=(threshold + branch.shift, plan.threshold_scale),
        gap_error=math.sqrt(noise_of_gap.variance),
        width=_width(error_bars(noise_of_gap, among=k)),  # their number matters far down alone
        least=plan.charge(plan.threshold_budget),
        each=plan.answer_budget,
        paid=k if isinstance(asked, Pure) else 0,
    )


def hybrid(asked: Pure | ZeroConcentrated, k: int, threshold: Fraction, noise: str | None) -> Design:
    """`hybrid_top_k`, in which the threshold is an item."""
    amounts: dict[str, Any] = asked.arguments()
    plan = TopKPlan.read("hybrid_top_k", k=k, monotonic=True, noise=noise, **amounts)
    pure = isinstance(asked, Pure)
    return Design(
        call="hybrid_top_k",
        asked=asked,
        k=k,
        law=plan.law,
        scale=plan.scale,
        line=(threshold, plan.scale),
        gap_error=math.sqrt(2 * float(plan.law.variance(float(plan.scale)))),
        width=_width(error_bars(GapNoise(plan.law, plan.scale, plan.scale))),
        least=plan.charge / k if pure else plan.charge,
        each=plan.charge / k,
        paid=k - 1 if pure else 0,  # the last of k, or the threshold
    )


def _width(bars: ErrorBars) -> float:
    """Of the interval of an item that is clearly above; others reach further down."""
    return bars.below + bars.above


def unknown(asked: Approximate, k: int, noise: str | None, counts: Crowd) -> Design:
    """`top_k` of an unknown domain: the bar stands above the first count outside of the pool."""
    plan = UnknownPlan.read(k=k, epsilon=asked.epsilon, delta=asked.delta, noise=noise)
    _, outside = counts.split(plan.pool)
    first = Fraction(float(outside.values[0])) if outside.items else Fraction(0)
    return Design(
        call='top_k, domain="unknown"',
        asked=asked,
        k=k,
        law=plan.law,
        scale=plan.scale,
        line=(first + plan.lift, plan.scale),
        pool=plan.pool,
        gap_error=math.sqrt(2 * plan.law.variance(float(plan.scale))),
        least=plan.epsilon,
    )
