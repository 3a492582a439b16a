"""Samplers that use integers alone: given uniform bits, each law below is met exactly.

Ding 2020, section 6.3.2 and algorithms 23–25; Ding et al. 2023, algorithm 5; Canonne, Kamath and Steinke
2020.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from freegap.bits import BitSource, drawn_bytes
from freegap.errors import InvalidArgument

T = TypeVar("T")

_BATCH = 64  # numbers are drawn so many at a time


def uniform_below(n: int, source: BitSource) -> int:
    """An integer uniform on {0, …, n−1}.

    Rejection from the next power of two, one bit at a time (Lumbroso's fast dice roller): the
    rejected remainder is kept as randomness, so that the expected number of bits is within two of
    the least possible.
    """
    if n < 1:
        raise InvalidArgument("n", n, "must be at least 1", "Nothing can be chosen from nothing.")
    range_, value = 1, 0
    while True:
        missing = (n - 1).bit_length() - (range_ - 1).bit_length()
        missing = max(missing, 1) if range_ < n else 0
        range_ <<= missing
        value = (value << missing) | (source.bits(missing) if missing else 0)
        if range_ >= n:
            if value < n:
                return value
            # value is uniform on {n, …, range_−1}: start again from that smaller range.
            range_ -= n
            value -= n


def shuffle(items: list[T], source: BitSource) -> list[T]:
    """A uniformly random permutation of the items (Fisher–Yates; Ding 2020, algorithm 23)."""
    shuffled = list(items)
    for i in range(len(shuffled) - 1, 0, -1):
        j = uniform_below(i + 1, source)
        shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
    return shuffled


def sample_without_replacement(size: int, n: int, source: BitSource) -> list[int]:
    """`size` distinct members of {0, …, n−1}, every ordered choice equally likely.

    Uniform draws of which repetitions are dropped; where most members are wanted, the beginning of a
    shuffle. Nothing is listed where n is large: n may be 10**12.
    """
    if not 0 <= size <= n:
        raise InvalidArgument("size", size, f"must be between 0 and {n}", "Ask for fewer members.")
    if 2 * size > n:
        return shuffle(list(range(n)), source)[:size]
    width = (n - 1).bit_length()
    mask = (1 << width) - 1
    # As many batches of 64 as are needed whatever is dropped are looked at together.
    numbers = _drawn_together(size // _BATCH if width < 63 else 0, width, source)
    chosen = dict.fromkeys(numbers[numbers < n].tolist())  # in the order drawn
    while len(chosen) < size:
        batch = min(size - len(chosen), _BATCH)
        drawn = source.bits(width * batch)
        for place in range(batch):
            member = (drawn >> (width * place)) & mask
            if member < n:
                chosen.setdefault(member)
    return list(chosen)


def _drawn_together(batches: int, width: int, source: BitSource) -> NDArray[np.int64]:
    """Numbers of `width` < 63 bits, so many batches of 64; of each batch those in its last bits first."""
    if not batches:
        return np.empty(0, np.int64)
    data = np.frombuffer(drawn_bytes(source, batches * width * _BATCH // 8), np.uint8)
    lowest_first = data.reshape(batches, -1)[:, ::-1]
    digits = np.zeros((batches * _BATCH, 64), np.uint8)
    digits[:, :width] = np.unpackbits(lowest_first.ravel(), bitorder="little").reshape(-1, width)
    numbers: NDArray[np.int64] = np.packbits(digits, bitorder="little").view("<i8")
    return numbers


def bernoulli(p: Fraction, source: BitSource) -> bool:
    """True with probability p exactly."""
    if not 0 <= p <= 1:
        raise InvalidArgument("p", p, "must be between 0 and 1", "Pass a probability.")
    return uniform_below(p.denominator, source) < p.numerator


def bernoulli_exp(theta: Fraction, source: BitSource) -> bool:
    """True with probability e^−θ exactly, θ ≥ 0 (Ding 2020, algorithm 24)."""
    if theta < 0:
        raise InvalidArgument("theta", theta, "must be at least 0", "e^-theta is a probability.")
    while theta > 1:
        if not bernoulli_exp(Fraction(1), source):
            return False
        theta -= 1
    k = 1
    while bernoulli(theta / k, source):
        k += 1
    return k % 2 == 1


def geometric(theta: Fraction, source: BitSource) -> int:
    """Y on {0, 1, …} with P(Y = m) = (1 − e^−θ)·e^−θm (Ding et al. 2023, algorithm 5, with θ = s/t)."""
    if theta <= 0:
        raise InvalidArgument("theta", theta, "must be greater than 0", "Pass a positive rate.")
    s, t = theta.numerator, theta.denominator
    u = uniform_below(t, source)
    while not bernoulli_exp(Fraction(u, t), source):
        u = uniform_below(t, source)
    v = 0
    while bernoulli_exp(Fraction(1), source):
        v += 1
    return (u + t * v) // s


def two_sided_geometric(theta: Fraction, source: BitSource) -> int:
    """Z on the integers with P(Z = z) proportional to e^−θ|z| (the discrete Laplace law).

    A sign and a geometric size; a negative zero is drawn again, so that zero is not counted twice.
    """
    while True:
        negative = bool(source.bits(1))
        size = geometric(theta, source)
        if not (negative and size == 0):
            return -size if negative else size


FLAT = Fraction(1, 16)
"""Where θK is below it, hardly anything of the law of rate θ lies in {−K, …, K}."""


def bounded_geometric(theta: Fraction, most: int, source: BitSource) -> int:
    """Z on {−K, …, K} with P(Z = z) proportional to e^−θ|z|, K = `most`: tries until one is kept.

    The unbounded law, kept where it is in bounds; or, where it hardly ever is, the uniform law, kept with
    probability e^−θ|z|, which is then nearly 1.
    """
    while True:
        if theta * most < FLAT:
            drawn = uniform_below(2 * most + 1, source) - most
            kept = bernoulli_exp(theta * abs(drawn), source)
        else:
            drawn = two_sided_geometric(theta, source)
            kept = abs(drawn) <= most
        if kept:
            return drawn


def discrete_gaussian(variance: Fraction, source: BitSource) -> int:
    """Z on the integers with P(Z = z) proportional to e^(−z²/2σ²), σ² = `variance` (about its variance).

    Canonne, Kamath and Steinke 2020, algorithm 3: a discrete Laplace variable of scale t = ⌊σ⌋ + 1 is kept
    with probability e^(−(|z| − σ²/t)²/2σ²). The product of the two is e^(−z²/2σ² − σ²/2t²), in which z enters
    only as it should.
    """
    if variance <= 0:
        raise InvalidArgument("variance", variance, "must be greater than 0", "Pass a positive variance.")
    t = math.isqrt(math.floor(variance)) + 1
    while True:
        drawn = two_sided_geometric(Fraction(1, t), source)
        if bernoulli_exp((abs(drawn) - variance / t) ** 2 / (2 * variance), source):
            return drawn
