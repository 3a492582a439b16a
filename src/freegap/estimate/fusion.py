"""Combining measurements with gaps that came for free.

`blue`: the best linear unbiased estimate of the top k from k measurements and the k − 1 gaps between them
(Ding 2020, theorem 5.9), in linear time. Written with the noisy answers ñ_i, which the gaps determine up to a
common constant, the theorem's matrices come to

    β_i = (λ·α_i + ñ_i + mean(α) − mean(ñ)) / (1 + λ),      λ = Var(selection noise)/Var(measurement noise).

`inverse_variance`: two independent estimates of the same answer (Ding 2020, section 5.4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from freegap.errors import InvalidArgument

__all__ = ["blue", "blue_variance_ratio", "inverse_variance"]


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
