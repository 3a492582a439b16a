"""Whole-number noise for many answers at once: the laws of `freegap.exact.integers`, exactly.

A try has a size ⌊X/θ⌋ with X exponential, which is geometric, P(size ≥ m) = e^(−θm), and a sign. It is
rejected where it is a negative zero, and else kept by a rule of the law:

    two-sided geometric, bounded   |z| ≤ K
    discrete Gaussian, θ = 1/t     Y > (|z| − σ²/t)²/2σ² with Y exponential, which has the probability e^(−…):
                                   the rule of `integers.discrete_gaussian`, with an exponential for its coin

What is rejected is tried again, all at once, on digits under a new key: so tries are independent, and which
are kept does not depend on the order in which they are looked at. Of a key, stream (i, 1) is X of the i-th
try, (i, 2) is Y, and the first digit of (i, 3) the sign.

Doubles decide where a bound decides, and exact reals on the same digits elsewhere. The double of the
exponent: with d = |z| − σ²/t, whose parts are rounded once each, d̂ is within h = 2^-50·(|z| + σ²/t) of d; so
d̂² is within h·(2|d̂| + h) of d², and three more roundings add 2^-50 relatively.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from freegap.bits import BitSource
from freegap.exact.digits import KeyedDigits
from freegap.exact.doubles import FILTER_BITS, ROUNDING, stream_noise
from freegap.exact.grid_noise import floored_noise
from freegap.exact.reals import Real, Variable
from freegap.laws import EXPONENTIAL
from freegap.values.rationals import double

MANY = 200
"""From so many on, this is the faster way."""

Floats = NDArray[np.float64]
Kept = NDArray[np.bool_]
Keeps = Callable[[list[int], KeyedDigits], Kept]


def many_discrete_gaussian(
    n: int, variance: Fraction, source: BitSource, *, filter_bits: int = FILTER_BITS
) -> list[int]:
    """n independent variables of the law of `integers.discrete_gaussian`."""
    t = math.isqrt(math.floor(variance)) + 1
    keeps = partial(_gaussian_keeps, variance, t, filter_bits)
    return _kept(n, Fraction(1, t), keeps, source, filter_bits)


def many_bounded_geometric(
    n: int, theta: Fraction, most: int, source: BitSource, *, filter_bits: int = FILTER_BITS
) -> list[int]:
    """n independent Z on {−K, …, K} with P(Z = z) proportional to e^−θ|z|; K = `most`."""

    def keeps(sizes: list[int], _: KeyedDigits) -> Kept:
        return np.array([size <= most for size in sizes], dtype=bool)

    return _kept(n, theta, keeps, source, filter_bits)


def _kept(n: int, theta: Fraction, keeps: Keeps, source: BitSource, filter_bits: int) -> list[int]:
    noise = [0] * n
    missing = list(range(n))
    while missing:
        number = len(missing)
        digits = KeyedDigits(source, number)
        sizes = floored_noise(
            EXPONENTIAL, number, factor=1 / theta, offset=Fraction(0), digits=digits, filter_bits=filter_bits
        )
        negative = (digits.block(0, 3, np.arange(number))[:, 0] >> np.uint64(63)).astype(bool)
        kept = keeps(sizes, digits)
        kept &= ~negative | np.array([size > 0 for size in sizes], dtype=bool)
        for place, size, minus, good in zip(missing, sizes, negative.tolist(), kept.tolist(), strict=True):
            if good:
                noise[place] = -size if minus else size
        missing = [place for place, good in zip(missing, kept.tolist(), strict=True) if not good]
    return noise


def _gaussian_keeps(
    variance: Fraction, t: int, filter_bits: int, sizes: list[int], digits: KeyedDigits
) -> Kept:
    """Where Y > (|z| − σ²/t)²/2σ²."""
    coin, bound = stream_noise(EXPONENTIAL, digits, 2, np.arange(len(sizes)), 2.0**-filter_bits)
    exponent, error = _exponents(variance, t, sizes)
    with np.errstate(over="ignore", invalid="ignore"):
        above, below = coin - exponent > bound + error, exponent - coin > bound + error
    for place in np.flatnonzero(~(above | below)).tolist():
        exact = (sizes[place] - variance / t) ** 2 / (2 * variance)
        above[place] = Real(-exact, {Variable(EXPONENTIAL, digits.stream(place, 2)): Fraction(1)}).sign() > 0
    return np.asarray(above, dtype=bool)


def _exponents(variance: Fraction, t: int, sizes: list[int]) -> tuple[Floats, Floats]:
    """(|z| − σ²/t)²/2σ² as doubles, and a bound on the error of each; see above."""
    centre, twice = double(variance / t), double(2 * variance)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        absolute = np.array([double(Fraction(size)) for size in sizes])
        distance = absolute - centre
        off = (absolute + centre) * ROUNDING
        exponent = distance**2 / twice
        return exponent, off * (2 * np.abs(distance) + off) / twice + exponent * ROUNDING
