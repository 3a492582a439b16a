"""Drawing an outcome in proportion to whole-number weights, without a division (Ilvento 2020,
NORMALIZEDSAMPLE).

The programs of this package draw through one method, `Draws.index`. `BitDraws` draws from a source of
bits; a test passes an object that goes through all outcomes with their exact probabilities instead,
so that what is enumerated is the very program that releases.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, Protocol

from freegap.bits import BitSource, source_or_system
from freegap.errors import REDACTED, InvalidArgument
from freegap.values.answers import require_countable
from freegap.values.rationals import private_rational

WORD = 64
"""How many bits are read at a time. Any number gives the same law; 64 are almost always enough."""

Cumulative = Callable[[int], int]


class Draws(Protocol):
    """Where a program gets its random choices from."""

    def index(self, cumulative: Cumulative, count: int) -> int:
        """i in {0, …, count−1} with probability (C(i) − C(i−1))/C(count−1), where C(−1) = 0.

        cumulative: C, whole numbers that do not fall; C(count−1) > 0.
        """


class BitDraws:
    """Draws from a source of bits."""

    __slots__ = ("_digits", "_source")

    def __init__(self, source: BitSource, digits: int = WORD) -> None:
        self._source = source
        self._digits = digits

    def index(self, cumulative: Cumulative, count: int) -> int:
        """The i with C(i−1) ≤ U·C(count−1) < C(i), for U uniform on [0, 1).

        After n bits with value u, U lies in [u, u+1)/2^n. Both ends are compared with the C(i) by
        multiplying, and more bits are read until they agree. P(i) = P(C(i−1)/C ≤ U < C(i)/C) exactly.
        """
        total = cumulative(count - 1)
        if count == 2:
            return self._second(cumulative(0), total)
        value, known = 0, 0
        while True:
            value = (value << self._digits) | self._source.bits(self._digits)
            known += self._digits
            least = value * total
            i = bisect_left(range(count - 1), True, key=lambda j: cumulative(j) << known > least)
            if least + total <= cumulative(i) << known:
                return i

    def _second(self, first: int, total: int) -> int:
        """The same of two outcomes, which is most draws: 1 where U·total is not below `first`."""
        value, known = 0, 0
        while True:
            value = (value << self._digits) | self._source.bits(self._digits)
            known += self._digits
            least, end = value * total, first << known
            if least >= end:
                return 1
            if least + total <= end:
                return 0


def normalized_sample(weights: Sequence[Any], *, bits: BitSource | None = None) -> int:
    """An index i with probability weights[i]/Σ weights, exactly and without a division.

    weights: numbers that are not negative, at least one of them positive.
    bits: leave out for real use; a seeded source for tests.

    >>> from freegap import SeededBits
    >>> normalized_sample([0, 5, 0], bits=SeededBits(1))
    1
    """
    source = source_or_system(bits)
    if not isinstance(weights, Iterable) or isinstance(weights, str | bytes):
        raise InvalidArgument(
            "weights", REDACTED, "must be a sequence of numbers", "Pass for example [3, 1]."
        )
    require_countable("weights", weights)
    exact = [private_rational("weights", weight) for weight in weights]
    if not any(exact) or min(exact) < 0:
        raise InvalidArgument(
            "weights", REDACTED, "must be at least 0, and not all 0", "Pass for example [3, 1]."
        )
    common = math.lcm(*(weight.denominator for weight in exact))
    cumulative = list(accumulate(int(weight * common) for weight in exact))
    return BitDraws(source).index(cumulative.__getitem__, len(cumulative))
