"""The lemma of `freegap.exact.doubles`, against ball arithmetic, on ordinary and on edge words."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from numpy.typing import NDArray

from freegap.bits import SeededBits
from freegap.exact.digits import KeyedDigits
from freegap.exact.doubles import FILTER_BITS, DoubleNoise, certain_floor
from freegap.exact.reals import OrderStatistic, Real, Variable
from freegap.values.balls import at_precision
from tests.laws import EXACT_LAWS as LAWS


class GivenDigits(KeyedDigits):
    """Digits whose first 80 are given; the others are a cipher's."""

    def __init__(self, first: NDArray[np.uint16], high: NDArray[np.uint64]) -> None:
        super().__init__(SeededBits(0), len(first))
        self._given_first = first
        self._given_high = high

    def first(self) -> NDArray[np.uint16]:
        return self._given_first

    def _first_of(self, begin: int, end: int) -> NDArray[np.uint16]:
        return self._given_first[begin:end]

    def block(self, word, ranks, items):  # type: ignore[no-untyped-def]
        rows = np.array(super().block(word, ranks, items))
        if word == 0 and np.isscalar(ranks) and ranks == 0:
            rows[:, 0] = self._given_high[np.asarray(items, dtype=np.intp)]
        return rows


def edge_words(count: int) -> tuple[NDArray[np.uint16], NDArray[np.uint64]]:
    """Random words, and words next to 0, ½ and 1 and to every power of two."""
    generator = np.random.default_rng(count)
    values = [
        int(generator.integers(0, 2**63)) << 17 | int(generator.integers(0, 2**17)) for _ in range(count)
    ]
    for bit in range(80):
        for near in (-2, -1, 0, 1, 2):
            values += [(1 << bit) + near, (1 << 80) - (1 << bit) + near]
    kept = [v for v in values if 0 <= v < 1 << 80]
    first = np.array([v >> 64 for v in kept], dtype=np.uint16)
    high = np.array([v & (2**64 - 1) for v in kept], dtype=np.uint64)
    return first, high


def worst_share_of_the_bound(law: str, words: int, size: int | None) -> tuple[float, float]:
    """The largest |x̂ − x| / bound, and the share of words that get a bound at all."""
    first, high = edge_words(words)
    n = len(first)
    digits = GivenDigits(first, high)
    sizes = None if size is None else np.full(n, size, dtype=np.int64)
    doubles = DoubleNoise(LAWS[law], digits, first, sizes, FILTER_BITS)
    found = doubles.of_items(np.arange(n), np.zeros(n))
    bounded = np.flatnonzero(np.isfinite(found.error))
    worst = 0.0
    for i in bounded.tolist():
        read = digits.stream(i)
        variable = (
            Variable(LAWS[law], read, start=144)
            if size is None
            else OrderStatistic(LAWS[law], size, [read], start=144)
        )
        difference = Real(-Fraction(float(found.noise[i])), {variable: Fraction(1)})
        worst = max(worst, abs(float(difference)) / float(found.error[i]))
    return worst, len(bounded) / n


@pytest.mark.parametrize("law", sorted(LAWS))
@pytest.mark.parametrize("size", [None, 1, 2, 1000, 10**12])
def test_the_bound_holds(law: str, size: int | None) -> None:
    worst, share = worst_share_of_the_bound(law, 1500, size)
    assert worst < 1 / 8  # the lemma promises eight times less than it charges
    assert share > 0.97  # only U or 1 − U below 2^-75 are left to the exact path


@pytest.mark.parametrize("law", sorted(LAWS))
@pytest.mark.parametrize("size", [None, 10**12])
def test_the_bound_holds_for_every_first_sixteen_digits(law: str, size: int | None) -> None:
    """All 65,536 of them, followed by digits of a cipher; the truth in ball arithmetic from 144 digits."""
    first = np.arange(1 << 16, dtype=np.uint16)
    digits = GivenDigits(first, np.random.default_rng(5).integers(0, 2**64, 1 << 16, dtype=np.uint64))
    sizes = None if size is None else np.full(1 << 16, size, dtype=np.int64)
    found = DoubleNoise(LAWS[law], digits, first, sizes, FILTER_BITS).of_items(
        np.arange(1 << 16), np.zeros(1 << 16)
    )
    words = digits.block(0, 0, np.arange(1 << 16)).tolist()  # type: ignore[no-untyped-call]

    def worst() -> float:
        unit = arb(2) ** -144
        largest = 0.0
        rows = zip(first.tolist(), words, found.noise.tolist(), found.error.tolist(), strict=True)
        for prefix, (high, low), noise, error in rows:
            leading = (prefix << 128) | (high << 64) | low
            u = (leading * unit).union((leading + 1) * unit)
            if size is not None:
                u = -(((1 - u).log() / size).expm1())
            distance = abs(LAWS[law].quantile(u) - noise)
            largest = max(largest, float(distance.upper()) / error)
        return largest

    assert np.isfinite(found.error).all()
    assert at_precision(256, worst) < 1 / 8


@pytest.mark.long
@pytest.mark.parametrize("law", ["exponential", "laplace"])
def test_the_bound_holds_on_a_million_words(law: str) -> None:
    worst, _ = worst_share_of_the_bound(law, 1_000_000, None)
    assert worst < 1 / 8


def test_the_bound_of_members_holds() -> None:
    """Chains of order statistics: ranks up to 200 of groups of many sizes."""
    sizes = np.array([200, 1000, 10**6, 10**12], dtype=np.int64)
    digits = KeyedDigits(SeededBits(4), len(sizes))
    for law in ("exponential", "laplace", "gumbel"):
        doubles = DoubleNoise(LAWS[law], digits, digits.first(), sizes, FILTER_BITS)
        largest = doubles.of_items(np.arange(len(sizes)), np.zeros(len(sizes)))
        found = doubles.of_members(largest, np.zeros(len(sizes)), -np.inf, 200)
        assert len(found) == 200 * len(sizes)
        for j in range(0, len(found), 37):
            if not np.isfinite(found.error[j]):
                continue
            item, rank = int(found.items[j]), int(found.ranks[j])
            reads = [digits.stream(item, r) for r in range(rank)]
            exact = OrderStatistic(LAWS[law], int(sizes[item]), list(reads), start=144)
            difference = Real(-Fraction(float(found.noise[j])), {exact: Fraction(1)})
            assert abs(float(difference)) <= float(found.error[j]) / 8


def test_a_floor_is_certain_only_where_no_whole_number_is_near() -> None:
    """By exact arithmetic: x may be anywhere within bound + 2^-50·|v| of v."""
    small, large = [0.0, 0.25, -0.25, 0.5, 6.999, 7.001], [2.0**40 + 0.5, 2.0**49 - 0.5, -(2.0**51), 1e300]
    for value, bound in itertools.product(small + large, [0.0, 2.0**-44, 0.01, 0.3, 0.6]):
        floor, sure = certain_floor(np.array([value]), np.array([bound]))
        reach = Fraction(bound) + abs(Fraction(value)) / 2**50
        ends = {math.floor(Fraction(value) - reach), math.floor(Fraction(value) + reach)}
        touched = (Fraction(value) - reach).denominator == 1  # the lower end itself counts as undecided
        assert bool(sure[0]) == (len(ends) == 1 and not touched), (value, bound)
        assert floor[0] == (ends.pop() if sure[0] else 0)
        alone = certain_floor(value, bound)
        assert (float(alone[0]), bool(alone[1])) == (floor[0], sure[0])
    for beyond in (math.inf, -math.inf, math.nan):
        assert not certain_floor(beyond, 0.0)[1]
    for bound in (math.inf, math.nan):
        assert not certain_floor(0.5, bound)[1]
