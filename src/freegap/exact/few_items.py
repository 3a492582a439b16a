"""The largest of a few noisy answers, in order and with their gaps, by as few operations as will do.

Of a thousand items an operation of NumPy takes a microsecond, however little it does, and a release is mostly
the number of them. `doubles` has a bound for each noisy answer; here there is one for all, for the usual
case alone: exponential noise −ln u that needs only its leading 79 digits, one item to each answer, an order
that doubles decide. Where anything is not as usual the answer is None, and whoever asked looks at the same
digits in another way.

Noise is looked at through f = 2^79·u, which is a sum of whole numbers, so that nothing has to be scaled: −ln
f is the noise less the constant c = 79·ln 2, which no difference notices, and the bar is lowered by as much.

Lemma. Let η = 2^-53, s ≥ 2^-44 = 512η the slack, and f̂ ≥ 2^52 for all items, so that u ≥ 2^-27. Let L̂ be the
double of ln f, ŷ = ẑ − L̂ that of y = z − ln f, and E = s·(m + 60) with m ≥ |ŷ|. Then noise lies in [0, 19],
|L̂ − ln f| ≤ s and |ŷ − y| ≤ E. And where ŵ ≤ ŷ ≤ m is the double of another, w ≤ ŷ + E.

Proof. x = −ln u ≤ 27·ln 2 < 18.8.
  f. The 16 digits times 2^63 are exact; the 63 that follow are a whole number, rounded once to a double, and
     the sum is rounded once: 2η relatively. The digits left out add less than 1, at most 2η of f. So ln f̂ is
     within 5η of ln f. It is at most 55, and its double errs by 8η relatively (`arithmetic`): 440η. Together
     below s.
  z. A whole number rounded once, times a rational rounded once: 3η·|z|, and |z| ≤ |ŷ| + 56. The difference
     rounds once more: η·|ŷ|. So |ŷ − y| ≤ s + 4η·(m + 56) < s·(m/100 + 2).
  w. Its bound is s·(|ŵ|/100 + 2), and ŵ + s·|ŵ|/100 grows with ŵ, so that w ≤ ŷ + s·(|ŷ|/100 + 2).          ∎

The rest of E, more than s·(m/2 + 50), is for the roundings of c, of the comparisons, and of what a gap is
multiplied by: at most 6η·(m + 60).

So of items in the order of their doubles, each more than 2E above the next, those before the last are the
largest of all whose doubles are no larger than that of the last, and in order. Their gaps are the differences
of the ŷ within 2E, and nearly always that says how to round them. Else the difference of the answers is taken
by itself, which is a whole number, and only that of the noises is rounded, which is known within 2s.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from freegap.exact.doubles import ROUNDING
from freegap.laws import ExactLaw
from freegap.values.extremes import largest, smallest

_ENOUGH = 2.0**52  # of 2^79
_CONSTANT = 79 * math.log(2.0)
_MOST_NOISE = 19.0
_MOST_STEPS = 2.0**52  # so many multiples of γ are whole numbers in doubles, and twice as many fit an int64
_ONE_BY_ONE = 8

_INT64 = np.dtype(np.int64)
_UNIT, _HALF = np.float64(2.0**63), np.uint64(1)

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Found(NamedTuple):
    """The largest noisy answers: their places from the largest down, and the gaps between them.

    gaps: in multiples of γ, rounded down; those named in `unsure` are not certain.
    """

    places: NDArray[np.intp] | list[int]
    gaps: Whole | list[int]
    unsure: list[int]


class Factors(NamedTuple):
    """What one unit of the values is in scales of the noise, what a scale is in γ, and the unit in γ."""

    rate: float
    per_noise: float
    per_value: int


def is_usual(law: ExactLaw) -> bool:
    """Whether the noise of this law is of the kind that is known here: −ln u."""
    return law.exponential_tail


def scaled(first: NDArray[np.uint16], words: NDArray[np.uint64]) -> Floats:
    """f = 2^79·u of the lemma."""
    f: Floats = first * _UNIT
    # NumPy turns signed numbers into doubles many at a time, and unsigned ones one by one.
    f += (words[:, 0] >> _HALF).view(_INT64)
    return f


def largest_of_few(
    values: Whole,
    first: NDArray[np.uint16],
    words: NDArray[np.uint64],
    factors: Factors,
    slack: float,
    top: int,
    bar: float,
) -> Found | None:
    """The `top` largest noisy answers, in order, and the gaps between them; None where that is not certain.

    first, words: the 16 leading digits of the noise of each, and the 128 that follow.
    bar: in scales of the noise; all of them are certainly above it.
    """
    rate, per_noise, _ = factors
    f = scaled(first, words)
    number = len(f)
    if number < top or smallest(f) < _ENOUGH:
        return None
    logs = np.log(f, f)
    noisy: Floats = values * np.float64(rate)
    noisy -= logs
    rest = max(number - top - 1, 0)  # all but those wanted and the first that is not
    if number - rest <= _ONE_BY_ONE:
        chosen = noisy.argpartition(rest)[rest:]
        return _decided_one_by_one(values, noisy, logs, chosen, factors, slack, top, bar)
    if rest > top:
        chosen = noisy.argpartition(rest)[rest:]
        chosen = chosen[noisy[chosen].argsort()[::-1]]
    else:  # to put all of them in order takes no longer
        chosen = noisy.argsort()[::-1][: top + 1]
    near = noisy[chosen]
    bound = _bound(near.item(0), near.item(top - 1), near.item(-1), factors, slack, bar)
    apart = near[:-1] - near[1:]
    if bound is None or not smallest(apart) > 2.0 * bound:
        return None
    chosen = chosen[:top]
    parts = apart[: top - 1] * per_noise
    floors = np.floor(parts)
    parts -= floors
    margin = 2.0 * bound * per_noise
    if margin < smallest(parts) and largest(parts) < 1.0 - margin:
        return Found(chosen, floors.astype(_INT64), [])
    return Found(chosen, *_gaps(values[chosen], logs[chosen], factors, _noise_margin(per_noise, slack)))


def _bound(
    highest: float, last: float, lowest: float, factors: Factors, slack: float, bar: float
) -> float | None:
    """E of the lemma for noisy answers from the highest to the lowest; None where it decides nothing.

    last: the last that is wanted, which must be above the bar.
    """
    extent = max(abs(highest), abs(lowest))
    bound = slack * (extent + 60.0)
    if not ((extent + _MOST_NOISE) * factors.per_noise < _MOST_STEPS and factors.per_value < _MOST_STEPS):
        return None
    return bound if last - bound >= bar - _CONSTANT else None


def _noise_margin(per_noise: float, slack: float) -> float:
    """How far, in γ, the difference of two noises may be from that of their doubles; 20 times too large."""
    return per_noise * (2.0 * slack + ROUNDING) * (_MOST_NOISE + 1.0)


def _decided_one_by_one(
    values: Whole,
    noisy: Floats,
    logs: Floats,
    chosen: NDArray[np.intp],
    factors: Factors,
    slack: float,
    top: int,
    bar: float,
) -> Found | None:
    """The same for so few that Python compares them sooner than a call of NumPy takes to begin."""
    ordered = sorted(zip(noisy[chosen].tolist(), chosen.tolist(), strict=True), reverse=True)
    near = [value for value, _ in ordered]
    bound = _bound(near[0], near[top - 1], near[-1], factors, slack, bar)
    if bound is None or not all(above - below > 2.0 * bound for above, below in pairwise(near)):
        return None
    places = [place for _, place in ordered[:top]]
    margin = 2.0 * bound * factors.per_noise
    gaps = []
    for above, below in pairwise(near[:top]):
        part = (above - below) * factors.per_noise
        floor = math.floor(part)
        if not margin < part - floor < 1.0 - margin:
            exact, noise = values[places], logs[places]
            return Found(places, *_gaps(exact, noise, factors, _noise_margin(factors.per_noise, slack)))
        gaps.append(floor)
    return Found(places, gaps, [])


def _gaps(values: Whole, logs: Floats, factors: Factors, margin: float) -> tuple[Whole, list[int]]:
    """Each difference of neighbours in multiples of γ, rounded down, and which of them are not certain."""
    _, per_noise, per_value = factors
    parts = logs[1:] - logs[:-1]
    parts *= per_noise
    floors = np.floor(parts)
    parts -= floors
    steps = values[:-1] - values[1:]
    steps *= per_value
    steps += floors.astype(_INT64)
    return steps, np.flatnonzero((parts <= margin) | (parts >= 1.0 - margin)).tolist()
