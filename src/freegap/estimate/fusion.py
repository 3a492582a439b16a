"""Combining measurements with gaps that came for free, so that the result is never worse than measurements.

`blue`: the best linear unbiased estimate of the top k from k measurements and the k − 1 gaps between them
(Ding 2020, theorem 5.9), in linear time. Written with the noisy answers ñ_i, which the gaps determine up to a
common constant, the theorem's matrices come to

    β_i = (λ·α_i + ñ_i + mean(α) − mean(ñ)) / (1 + λ),      λ = Var(selection noise)/Var(measurement noise).

`inverse_variance`: two independent estimates of the same answer (Ding 2020, section 5.4.3).

Both are best where the gaps have the noise that was drawn. But items were selected because their noise was
high, and where noise decides the selection, the gaps say little of the answers and β is worse than α. So
`fused` goes from α to β only a part of the way,

    min(1, 3/2·(m − 2)·σ²·w/Σ(α_i − β_i)²),

σ² = Var(measurement noise), w the weight that β gives to the gaps, m the number of independent things that
they say. It is James and Stein's estimate around what the gaps say, with β as its limit; any factor up to 2
has the property that follows, 1 makes the most of a bad β, and 3/2 nearly all of a good one. Measurements are
drawn after the selection, independently of it. For normal noise, the expected sum of the squared errors,
given the selection, is therefore at most that of the measurements, whatever the answers, the gaps and the
selection are, if m ≥ 3 (Baranchik 1970); for Laplace noise simulations show the same. For m < 3 no estimate
around a fixed point has that property, and the measurements are left alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from freegap.errors import InvalidArgument

FACTOR = Fraction(3, 2)
FINE = 2**40  # the part of the way is a multiple of 1/FINE: any is as good as one so near


@dataclass(frozen=True)
class Fused:
    """Estimates, and an estimate of their mean squared error."""

    estimates: tuple[Fraction, ...]
    error: float


def fused(
    measurements: Sequence[Fraction],
    best: Sequence[Fraction],
    *,
    variance: Fraction,
    weight: Fraction,
    dimension: int,
) -> Fused:
    """Measurements, moved towards the best estimates without selection as far as that does no harm.

    variance: of each measurement. weight: w, that of the gaps in `best`. dimension: m.
    The mean squared error is Stein's unbiased estimate of it, within what is possible: between that of the
    best estimates without selection and that of the measurements.

    >>> given = {"variance": Fraction(4), "weight": Fraction(1, 2), "dimension": 4}
    >>> near = fused([Fraction(9)] * 4, [Fraction(8)] * 4, **given)
    >>> near.estimates[0], near.error
    (Fraction(8, 1), 2.0)
    >>> far = fused([Fraction(9)] * 4, [Fraction(1)] * 4, **given)
    >>> far.estimates[0], far.error  # 6/256 of the way
    (Fraction(141, 16), 3.98828125)
    """
    n, freedom = len(measurements), dimension - 2
    if freedom <= 0:
        return Fused(tuple(measurements), float(variance))
    away = [alpha - beta for alpha, beta in zip(measurements, best, strict=True)]
    total, limit = sum(distance**2 for distance in away), FACTOR * freedom * variance * weight
    if total <= limit:
        least = variance * (1 - weight * dimension / n)
        error = variance + (total - 2 * weight * dimension * variance) / n
        return Fused(tuple(best), float(min(max(error, least), variance)))
    part = Fraction(math.floor(limit * FINE / total), FINE)
    moved = tuple(alpha - part * distance for alpha, distance in zip(measurements, away, strict=True))
    saved = limit / total * (2 / FACTOR - 1) * limit
    return Fused(moved, float(variance - saved / n))


def expected_ratio(n: int, *, weight: float, dimension: int) -> float:
    """The mean squared error of n fused estimates to that of their measurements, where gaps are wide.

    For normal noise: Q = Σ(α_i − β_i)²/(σ²·w) then has the χ² law with m degrees of freedom, and a part t of
    the way saves (2t − t²)·Q of the squared error. Other noise comes within 4 % in the root.

    >>> ratio = expected_ratio(50, weight=2 / 3, dimension=49)
    >>> round(ratio, 3), round(float(blue_variance_ratio(50, Fraction(1, 2))), 3)
    (0.347, 0.347)
    """
    if dimension <= 2:
        return 1.0
    half = dimension / 2
    q = np.linspace(0, dimension + 40 * math.sqrt(2 * dimension), 20_001)[1:]
    density = np.exp((half - 1) * np.log(q / 2) - q / 2 - math.lgamma(half)) / 2 * q[0]
    part = np.minimum(1.0, float(FACTOR) * (dimension - 2) / q)
    return 1 - weight / n * float(np.sum((2 * part - part**2) * q * density))


def blue(
    measurements: Sequence[Fraction], gaps: Sequence[Fraction], variance_ratio: Fraction
) -> list[Fraction]:
    """The best linear unbiased estimates, from the largest item down.

    measurements: one for each item.
    gaps: between each item and the next; one fewer.
    variance_ratio: λ, of the noise behind the gaps to the noise of the measurements.

    >>> blue([Fraction(10), Fraction(4)], [Fraction(8)], Fraction(1))
    [Fraction(21, 2), Fraction(7, 2)]
    """
    k = len(measurements)
    if len(gaps) != k - 1:
        raise InvalidArgument(
            "gaps",
            f"<{len(gaps)} gaps>",
            f"must be one fewer than the {k} measurements",
            "Leave out the last.",
        )
    relative = [-fallen for fallen in accumulate(gaps, initial=Fraction(0))]  # ñ_i − ñ_1
    offset = (sum(measurements, Fraction(0)) - sum(relative, Fraction(0))) / k
    return [
        (variance_ratio * alpha + noisy + offset) / (1 + variance_ratio)
        for alpha, noisy in zip(measurements, relative, strict=True)
    ]


def blue_variance_ratio(k: int, variance_ratio: Fraction) -> Fraction:
    """Var(β_i)/Var(α_i) = (1 + λk)/(k + λk) (Ding 2020, corollary 5.9.1)."""
    return (1 + variance_ratio * k) / (k + variance_ratio * k)


def inverse_variance(pairs: Sequence[tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction]:
    """The combination of independent estimates (value, variance) with the least variance, and that variance.

    One whose noise has no variance (geometric noise of a huge ε) is taken as it is.

    >>> inverse_variance([(Fraction(10), Fraction(1)), (Fraction(4), Fraction(2))])
    (Fraction(8, 1), Fraction(2, 3))
    """
    for value, variance in pairs:
        if variance == 0:
            return value, variance
    weights = [1 / variance for _, variance in pairs]
    total = sum(weights, Fraction(0))
    return sum(w * value for w, (value, _) in zip(weights, pairs, strict=True)) / total, 1 / total
