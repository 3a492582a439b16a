"""The largest of a few noisy answers, in order and with their gaps, by as few operations as will do.

Of a thousand items an operation of NumPy takes a microsecond, however little it does, and a release is mostly
the number of them. `doubles` has a bound for each noisy answer; here there is one for all, for the usual
case alone: one-sided noise that needs only its leading 80 digits, one item to each answer, an order that
doubles decide. Where anything is not as usual the answer is None, and whoever asked looks at the same digits
in another way.

Lemma. Let s be the slack, 2^-44 or more, and û ≥ 2^-27 for all items. Then noise lies in [0, 19]. Let ŷ = ẑ +
x̂ be the double of a noisy answer y, and E = s·(m + 60) with m ≥ |ŷ|. Then |ŷ − y| ≤ E. And where ŵ ≤ ŷ ≤ m is
the double of another, w ≤ ŷ + E.

Proof. Each law has S(x) ≤ e^−x (`laws`), so that x ≤ −ln u ≤ 27·ln 2 < 18.8. The lemma of `doubles` has the
bound s·(1 + |z| + |x|), with 80 digits where û ≥ 2^-27; |z| ≤ m + 20. So it is at most s·(m + 40) for y. For
w the bound is s·(|ŵ| + 40), and ŵ + s·|ŵ| grows with ŵ, so that w ≤ ŷ + s·(|ŷ| + 40).                     ∎

So of items in the order of their doubles, each more than 2E above the next, those before the last are the
largest of all whose doubles are no larger than that of the last, and in order. Noise alone is within s·(1 +
x) of its double, as in `doubles.noise_of_words`: two of them together within 2s·20.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from freegap.exact.doubles import ROUNDING
from freegap.laws import ExactLaw
from freegap.values.extremes import smallest

_ENOUGH = 2.0**-27
_MOST_NOISE = 19.0
_MOST_STEPS = 2.0**52  # so many multiples of γ are whole numbers in doubles, and twice as many fit an int64
_ONE_BY_ONE = 8

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Found(NamedTuple):
    """The largest noisy answers: their places from the largest down, and the gaps between them.

    gaps: in multiples of γ, rounded down; those named in `unsure` are not certain.
    """

    places: NDArray[np.intp]
    gaps: list[int]
    unsure: list[int]


class Factors(NamedTuple):
    """What one unit of the values is in scales of the noise, what a scale is in γ, and the unit in γ."""

    rate: float
    per_noise: float
    per_value: int


def is_usual(law: ExactLaw) -> bool:
    """Whether the noise of this law is of the kind that is known here."""
    return law.one_sided and not law.uses_complement


def largest_of_few(
    values: Whole,
    first: NDArray[np.uint16],
    words: NDArray[np.uint64],
    law: ExactLaw,
    factors: Factors,
    slack: float,
    top: int,
    bar: float,
) -> Found | None:
    """The `top` largest noisy answers, in order, and the gaps between them; None where that is not certain.

    first, words: the 16 leading digits of the noise of each, and the 128 that follow.
    bar: in scales of the noise; all of them are certainly above it.
    """
    u = np.asarray(words[:, 0] * 2.0**-64, dtype=np.float64)
    u += first
    u *= 2.0**-16
    if len(u) < top or smallest(u) < _ENOUGH:
        return None
    noise = law.estimate(u, u)
    noisy: Floats = values * np.float64(factors.rate)
    noisy += noise
    rest = max(len(noisy) - top - 1, 0)  # all but those wanted and the first that is not
    chosen = noisy.argpartition(rest)[rest:]
    largest = noisy[chosen]
    order = largest.argsort()[::-1]
    chosen, largest = chosen[order], largest[order]
    extent = max(abs(float(largest[0])), abs(float(largest[-1])))
    bound = slack * (extent + 60.0)
    decided = (extent + _MOST_NOISE) * factors.per_noise < _MOST_STEPS and factors.per_value < _MOST_STEPS
    if not (decided and largest[top - 1] - bound >= bar and _apart(largest, 2.0 * bound)):
        return None
    chosen = chosen[:top]
    margin = factors.per_noise * (2.0 * slack + ROUNDING) * (_MOST_NOISE + 1.0)
    return Found(chosen, *_gaps(values[chosen], noise[chosen], factors, margin))


def _apart(largest: Floats, distance: float) -> bool:
    """Whether each is more than so much above the next."""
    if len(largest) <= _ONE_BY_ONE:
        return all(above - below > distance for above, below in pairwise(largest.tolist()))
    return bool(np.minimum.reduce(largest[:-1] - largest[1:]) > distance)


def _gaps(values: Whole, noise: Floats, factors: Factors, margin: float) -> tuple[list[int], list[int]]:
    """Each difference of neighbours in multiples of γ, rounded down, and which of them are not certain."""
    _, per_noise, per_value = factors
    if len(values) <= _ONE_BY_ONE:
        pairs = pairwise(zip(values.tolist(), noise.tolist(), strict=True))
        gaps, unsure = [], []
        for place, ((v, x), (w, y)) in enumerate(pairs):
            part = (x - y) * per_noise
            floor = math.floor(part)
            gaps.append((v - w) * per_value + floor)
            if not margin < part - floor < 1.0 - margin:
                unsure.append(place)
        return gaps, unsure
    parts = noise[:-1] - noise[1:]
    parts *= per_noise
    floors = np.floor(parts)
    parts -= floors
    steps = values[:-1] - values[1:]
    steps *= per_value
    steps += floors.astype(np.int64)
    if margin < np.minimum.reduce(parts) and np.maximum.reduce(parts) < 1.0 - margin:
        return steps.tolist(), []
    return steps.tolist(), np.flatnonzero((parts <= margin) | (parts >= 1.0 - margin)).tolist()
