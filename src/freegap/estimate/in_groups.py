"""What follows from many releases alike: estimates, errors and intervals, computed for all of them together.

Row g is one release. What is said of it is what `select_and_measure`, `gap_variances` and
`confidence_intervals` say of the single release, digit by digit: `freegap.estimate.fusion` and
`freegap.estimate.intervals` have the formulas and why they hold. Here they are written in whole numbers:
measurements are a_i·γ, gaps g_i·γ and half a step each, and with λ = p/q, D = 2k(p + q) and n_i the gaps up
to item i, in half steps and negative,

    β_i = γ·B_i/D,    B_i = 2k·p·a_i + q·(k·n_i + 2·Σa − Σn).

Python's whole numbers hold every size, and their quotient is the nearest double.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.estimate.bounds import gap_noise
from freegap.estimate.fusion import FACTOR, FINE
from freegap.estimate.intervals import Interval, error_bars
from freegap.estimate.noise_laws import half_width
from freegap.estimate.selection import selection_ratio
from freegap.laws import Law
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan

Whole = NDArray[Any]
"""Whole numbers, Python's own."""


@dataclass(frozen=True)
class EstimatedRows:
    """Of each item of each row, one after the other: an estimate, its standard error, and an interval."""

    estimates: tuple[Fraction, ...]
    standard_errors: tuple[float, ...]
    intervals: list[Interval]


def fused_rows(
    plan: TopKPlan, law: Law, scale: Fraction, measured: NDArray[Any], gaps: NDArray[Any] | None
) -> EstimatedRows:
    """Of selections by this plan and measurements with this noise.

    measured: in multiples of the plan's resolution, a row of k for each selection.
    gaps: likewise; of each row the first k − 1 are looked at.
    """
    number, k = measured.shape
    step, variance = plan.resolution, Fraction(law.variance(scale))
    a = measured.astype(object)
    width = half_width(law, scale, step, 0.05)
    near = _doubles(a, step).ravel()
    intervals = _pairs(np.nextafter(near - width, -np.inf), np.nextafter(near + width, np.inf))
    if k - 3 <= 0 or not number or gaps is None:
        return EstimatedRows(_rationals(a, step), (math.sqrt(variance),) * (number * k), intervals)
    ratio = selection_ratio(plan, variance)
    p, q = ratio.numerator, ratio.denominator
    fallen = -(2 * np.cumsum(gaps[:, : k - 1].astype(object), axis=1) + np.arange(1, k))
    n = np.concatenate([np.zeros((number, 1), object), fallen], axis=1)
    per = 2 * k * (p + q)
    best = 2 * k * p * a + q * (k * n + (2 * a.sum(axis=1) - n.sum(axis=1))[:, None])
    away = per * a - best
    total = (away**2).sum(axis=1)
    weight = 1 / (1 + ratio)
    limit = FACTOR * (k - 3) * variance * weight
    unit = (step / per) ** 2
    within = total * unit.numerator * limit.denominator <= limit.numerator * unit.denominator
    furthest = limit / unit
    # Of a row within the limit all of the way is gone; its total may be 0.
    divided = np.where(within, 1, total)
    part = np.where(within, FINE, furthest.numerator * FINE // (furthest.denominator * divided))
    estimates = _rationals(per * FINE * a - part[:, None] * away, step / (per * FINE))
    errors = np.where(
        within,
        _within(total, unit, variance, weight, k),
        _ratios(variance, -limit * furthest * (2 / FACTOR - 1) / k, divided),
    )
    return EstimatedRows(estimates, tuple(np.repeat(np.sqrt(errors.astype(float)), k).tolist()), intervals)


def _within(
    total: Whole, unit: Fraction, variance: Fraction, weight: Fraction, k: int
) -> NDArray[np.float64]:
    """Stein's estimate of the mean squared error where all of the way is gone, within what is possible."""
    constant, slope = variance * (1 - 2 * weight * (k - 1) / k), unit / k
    common = constant.denominator * slope.denominator
    doubles = (
        constant.numerator * slope.denominator + slope.numerator * constant.denominator * total
    ) / common
    least = variance * (1 - weight * (k - 1) / k)
    return np.asarray(np.clip(doubles.astype(float), float(least), float(variance)))


def _ratios(constant: Fraction, numerator: Fraction, divisors: Whole) -> Whole:
    """constant + numerator/divisor for each of the whole numbers, as doubles."""
    over = numerator.denominator * divisors
    sums = constant.numerator * over + numerator.numerator * constant.denominator
    doubles: Whole = sums / (constant.denominator * over)
    return doubles


def above_rows(
    plan: ThresholdPlan, bar: Fraction, found: NDArray[np.int64], gaps: NDArray[Any], among: NDArray[np.int64]
) -> EstimatedRows:
    """Of releases of hybrid sparse vector with this plan and threshold.

    found: how many items each released. gaps: of all of them, in multiples of the plan's resolution.
    among: how many items each chose among.
    """
    noise, step, k = gap_noise(plan, 0), plan.resolution, plan.k
    multiples = gaps.astype(object)
    common = bar.denominator * step.denominator
    over = bar.numerator * step.denominator + multiples * step.numerator * bar.denominator
    ends = np.cumsum(found)
    ranks = np.arange(len(gaps)) - np.repeat(ends - found, found)
    full = np.repeat(found == k, found)
    # Where k were found the last of them is where an item would have been left out; of it nothing is known.
    lines = np.where(full, multiples[np.repeat(ends, found) - 1], 0) if len(gaps) else multiples
    excess = _doubles(multiples - lines, step).astype(float)
    excess[full & (ranks == k - 1)] = -np.inf
    bars = {
        pair: error_bars(noise, found=pair[0], among=pair[1])
        for pair in set(zip(found[found > 0].tolist(), among[found > 0].tolist(), strict=True))
    }
    own = [bars[pair] for pair in zip(found.tolist(), among.tolist(), strict=True) if pair[0]]
    below, above, needed, floor = (
        np.repeat(np.array([getattr(bar, name) for bar in own], float), found[found > 0])
        for name in ("below", "above", "excess", "floor")
    )
    grid = float(step)
    value = (over / common).astype(float) if len(gaps) else np.empty(0)
    reach = np.where(excess >= needed + grid, np.minimum(below, floor), floor)
    intervals = _pairs(np.nextafter(value - reach, -np.inf), np.nextafter(value + above + grid, np.inf))
    # A gap was rounded down: half a step is missing on average.
    estimates = tuple(Fraction(number, common) + step / 2 for number in over.tolist())
    return EstimatedRows(estimates, (math.sqrt(noise.variance),) * len(gaps), intervals)


def _doubles(numbers: Whole, unit: Fraction) -> NDArray[np.float64]:
    """So many units as doubles, each the nearest."""
    doubles: NDArray[np.float64] = (numbers * unit.numerator / unit.denominator).astype(float)
    return doubles


def _rationals(numbers: Whole, unit: Fraction) -> tuple[Fraction, ...]:
    return tuple(Fraction(number * unit.numerator, unit.denominator) for number in numbers.ravel().tolist())


def _pairs(low: NDArray[np.float64], high: NDArray[np.float64]) -> list[Interval]:
    return list(zip(low.tolist(), high.tolist(), strict=True))
