"""What was derived from a release when the digests were recorded: its estimates, errors and intervals.

Estimates are post-processing. When better ones replaced these, the releases behind them stayed the same bit
for bit, and this is how the digests show it: the former numbers are derived anew from what is released now.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

import freegap as fg
from freegap.estimate.bounds import gap_noise
from freegap.estimate.fusion import blue, blue_variance_ratio, inverse_variance
from freegap.laws import GUMBEL

__all__ = ["estimated", "estimated_items", "lower_bounds"]

Terms = tuple[tuple[Any, float, float], ...]  # law, scale and weight


def _quantile(noise: Any, confidence: float) -> float:
    low, high = -1.0, 1.0
    while noise.upper_tail(high) > 1 - confidence:
        high *= 2
    while noise.upper_tail(low) <= 1 - confidence:
        low *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if noise.upper_tail(middle) > 1 - confidence else (low, middle)
    return high + abs(high) * 2.0**-40


def lower_bounds(release: fg.AboveThreshold, confidence: float = 0.95) -> list[float]:
    """The bounds that took no account of selection."""
    plan: Any = release.plan
    level = 1 - (1 - confidence) / len(plan.branches)
    return [
        float(estimate) - _quantile(gap_noise(plan, branch), level)
        for estimate, branch in zip(release.estimates, release.branches, strict=True)
    ]


def _chernoff(terms: Terms, sign: int) -> float:
    s = np.geomspace(1e-4, 1.0, 2000) / max(abs(weight) * scale for _, scale, weight in terms)
    logs = sum((law.log_moment(s * sign * weight, scale) for law, scale, weight in terms), np.zeros_like(s))
    return float(np.min((logs - math.log((1 - 0.95) / 2)) / s))


def _all(values: list[Fraction], variance: float, terms: Terms, rounding: float) -> list[Any]:
    over, under = (_chernoff(terms, sign) + rounding for sign in (1, -1))
    intervals = [(float(value) - over, float(value) + under) for value in values]
    return [values, (math.sqrt(variance),) * len(values), intervals]


def _after_top_k(measured: Any, gaps: Any, select: tuple[Any, Any], measure: tuple[Any, Any]) -> list[Any]:
    """Fused by Ding 2020, theorem 5.9, with Chernoff's bound on the sum of all noises."""
    (law, scale), (measuring, width), k = select, measure, len(measured)
    spread, own = law.variance(scale), Fraction(measuring.variance(width))
    ratio = (Fraction(float(spread.mid())) if law is GUMBEL else spread) / own
    values = blue(measured, [gap + Fraction(1, 2048) for gap in gaps[: k - 1]], ratio)
    total = float(1 + ratio)
    terms = (
        (measuring, float(width), (float(ratio) + 1 / k) / total),
        *[(measuring, float(width), 1 / k / total)] * (k - 1),
        (law, float(scale), (1 - 1 / k) / total),
        *[(law, float(scale), -1 / k / total)] * (k - 1),
    )
    return _all(values, float(own * blue_variance_ratio(k, ratio)), terms, (k + 1) / 1024)


def estimated(release: fg.Estimates) -> list[Any]:
    """The estimates of `select_and_measure`, fused with the weights of theorem 5.9 and of section 5.4.3."""
    selection, measurement = release.selection, release.measurement
    plan: Any = selection.plan
    if measurement is None:
        return [(), (), ()]
    if isinstance(selection, fg.TopK):
        noises = (plan.law, plan.scale), (measurement.law, measurement.scale)
        return _after_top_k(measurement.values, selection.gaps, *noises)
    noise = gap_noise(plan, 0)
    half = Fraction(0) if plan.law.lattice else plan.resolution / 2
    pairs = [
        inverse_variance(
            [
                (value, measurement.variance),
                (by_gap + half - Fraction(noise.mean), Fraction(noise.variance)),
            ]
        )
        for value, by_gap in zip(measurement.values, selection.estimates, strict=True)
    ]
    weight = float(pairs[0][1] / measurement.variance)
    terms = (
        (measurement.law, float(measurement.scale), weight),
        (noise.law, float(noise.scale), 1 - weight),
        (noise.law, float(noise.threshold_scale), weight - 1),
    )
    rounding = float(selection.resolution) * (len(pairs) + 1)
    return _all([value for value, _ in pairs], float(pairs[0][1]), terms, rounding)


def estimated_items(release: fg.TopItems | fg.ItemsAbove) -> list[Any]:
    """The estimates of a table's release; of a measured top 2, for which what is estimated is measured."""
    if release.estimates is None:
        return [None, None, None]
    plan: Any = release.plan
    if isinstance(release, fg.TopItems):
        k, half = len(release.labels), release.asked.of(release.asked.spent / 2)
        amounts: dict[str, Any] = half.arguments()
        measured = fg.measure([0] * k, **amounts)
        noise = release.parameters["noise"]
        last_gap = release.epsilon is not None
        select: Any = fg.noisy_top_k(
            [0] * (k + 1), k, monotonic=True, noise=noise, last_gap=last_gap, **amounts
        ).plan
        noises = (select.law, select.scale), (measured.law, measured.scale)
        return _after_top_k(release.estimates, release.gaps, *noises)
    law = gap_noise(plan, 0)
    over, under = _quantile(law, 1 - (1 - 0.95) / 2), _quantile(law, (1 - 0.95) / 2)
    low = [float(e - release.resolution / 2) - over for e in release.estimates]
    high = [float(e + release.resolution / 2) - under for e in release.estimates]
    errors = (math.sqrt(law.variance),) * len(low)
    return [release.estimates, errors, list(zip(low, high, strict=True))]
