"""Digits that begin with very many zeros or ones: where a double knows too little, its bound must say so."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from freegap.exact.doubles import FILTER_BITS, Candidates, DoubleNoise, stream_noise
from freegap.exact.reals import OrderStatistic, Real, Variable
from tests.exact.given_words import LEADING, GivenWords, extreme
from tests.laws import EXACT_LAWS as LAWS


def within_its_bound(found: Candidates, j: int, noise: OrderStatistic | Variable) -> bool:
    """Whether the truth is as near as the bound says; an infinite one says nothing."""
    if not np.isfinite(found.error[j]):
        return True
    difference = Real(-Fraction(float(found.noise[j])), {noise: Fraction(1)})
    limit = Fraction(float(found.error[j]))
    return bool(-limit <= difference <= limit)


@pytest.mark.parametrize("law", sorted(LAWS))
@pytest.mark.parametrize("size", [None, 1, 3, 10**9])
def test_items(law: str, size: int | None) -> None:
    leading = extreme(LEADING + 16)
    digits = GivenWords(0, leading, first=True)
    sizes = None if size is None else np.full(len(leading), size, dtype=np.int64)
    doubles = DoubleNoise(LAWS[law], digits, digits.first(), sizes, FILTER_BITS)
    found = doubles.of_items(np.arange(len(leading)), np.zeros(len(leading)))
    for i in range(len(leading)):
        stream = digits.stream(i)
        exact = Variable(LAWS[law], stream) if size is None else OrderStatistic(LAWS[law], size, [stream])
        assert within_its_bound(found, i, exact), hex(leading[i])
    assert np.isfinite(found.error).any()
    assert not np.isfinite(found.error).all()


@pytest.mark.parametrize("law", ["exponential", "laplace", "gumbel"])
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_members(law: str, rank: int) -> None:
    """One of the first three members of a group has such digits; those after it depend on it."""
    leading = extreme(LEADING if rank else LEADING + 16)
    n = len(leading)
    digits = GivenWords(rank, leading, first=rank == 0)
    sizes = np.full(n, 5, dtype=np.int64)
    doubles = DoubleNoise(LAWS[law], digits, digits.first(), sizes, FILTER_BITS)
    offsets = np.zeros(n)
    largest = doubles.of_items(np.arange(n), offsets)
    found = doubles.of_members(largest, offsets, -np.inf, 4)
    assert len(found) == 4 * n
    for j in range(len(found)):
        item, place = int(found.items[j]), int(found.ranks[j])
        streams = [digits.stream(item, r) for r in range(place)]
        assert within_its_bound(found, j, OrderStatistic(LAWS[law], 5, streams)), (item, place)


@pytest.mark.parametrize("law", sorted(LAWS))
def test_streams(law: str) -> None:
    leading = extreme(LEADING)
    digits = GivenWords(1, leading, first=False)
    n = len(leading)
    noise, bound = stream_noise(LAWS[law], digits, 1, np.arange(n), 2.0**-FILTER_BITS)
    found = Candidates(np.arange(n), np.ones(n, np.intp), noise, noise, bound)
    for i in range(n):
        assert within_its_bound(found, i, Variable(LAWS[law], digits.stream(i, 1))), hex(leading[i])
    assert not np.isfinite(bound).all()
