"""The extremes of few numbers and of many are the same."""

from __future__ import annotations

import math

import numpy as np
import pytest

from freegap.values.extremes import certainly_finite, largest, smallest


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 1000])
@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.float64])
def test_few_and_many_are_found_alike(n: int, kind: type) -> None:
    numbers = np.random.default_rng(n).permutation(n).astype(kind) + kind(3)
    assert (smallest(numbers), largest(numbers)) == (3, n + 2)
    assert type(largest(numbers)) is type(smallest(numbers)) is (float if kind is np.float64 else int)


@pytest.mark.parametrize("n", [1, 32, 33])
def test_unsigned_numbers_do_not_wrap(n: int) -> None:
    assert -smallest(np.full(n, 2**64 - 1, np.uint64)) == 1 - 2**64


@pytest.mark.parametrize("n", [1, 32, 33, 1000])
@pytest.mark.parametrize("odd", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_is_noticed_at_each_place(n: int, odd: float) -> None:
    numbers = np.ones(n)
    assert certainly_finite(numbers)
    for place in {0, n // 2, n - 1}:
        with_one = numbers.copy()
        with_one[place] = odd
        assert not certainly_finite(with_one)
