from __future__ import annotations

import math
from collections import Counter, OrderedDict
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freegap.errors import InvalidArgument
from freegap.values.answers import read_answers, read_numbers

GRID = Fraction(1, 1024)


@pytest.mark.parametrize(
    ("answers", "labels"),
    [
        ([3, 1, 2], (0, 1, 2)),
        ((3, 1, 2), (0, 1, 2)),
        (np.array([3, 1, 2], dtype=np.uint8), (0, 1, 2)),
        (np.array([3.0, 1.0, 2.0]), (0, 1, 2)),
        ({"a": 3, "b": 1, "c": 2}, ("a", "b", "c")),
        (OrderedDict(a=3, b=1, c=2), ("a", "b", "c")),
        (pd.Series([3, 1, 2], index=["a", "b", "c"]), ("a", "b", "c")),
        (pd.Series([3, 1, 2], dtype="Int64"), (0, 1, 2)),
        (pl.Series([3, 1, 2]), (0, 1, 2)),
        ((n for n in (3, 1, 2)), (0, 1, 2)),
        ([Fraction(3), Decimal(1), 2.0], (0, 1, 2)),
    ],
)
def test_anything_with_numbers_in_it(answers: Any, labels: tuple[Any, ...]) -> None:
    read = read_answers(answers, GRID)
    assert [int(v) * read.grain for v in read.values] == [3, 1, 2]
    assert read.labels([0, 1, 2]) == labels


def test_a_counter_keeps_its_items() -> None:
    read = read_answers(Counter("banana"), GRID)
    assert dict(zip(read.labels(range(3)), read.values, strict=True)) == Counter("banana")


@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=8))
def test_integers_are_themselves(integers: list[int]) -> None:
    values, grain = read_numbers(integers, GRID)
    assert grain == 1
    assert [int(v) for v in values] == integers
    if isinstance(values, np.ndarray):
        assert max(map(abs, integers)) < 2**62  # so that no difference overflows


def test_unsigned_integers_beyond_int64() -> None:
    values, _ = read_numbers(np.array([2**64 - 1, 0], dtype=np.uint64), GRID)
    assert values == [2**64 - 1, 0]


def test_a_mixture_loses_nothing() -> None:
    values, grain = read_numbers([2**60 + 1, 0.5], GRID)
    assert [int(v) * grain for v in values] == [2**60 + 1, Fraction(1, 2)]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([], "must not be empty"),
        ({}, "must not be empty"),
        (np.array([]), "must not be empty"),
        ([1.0, float("nan")], "must not contain NaN, infinity or missing values"),
        ([1, float("inf")], "must not contain NaN, infinity or missing values"),
        (np.array([1.0, -np.inf]), "must not contain NaN, infinity or missing values"),
        ([1, None], "must not contain NaN, infinity or missing values"),
        (pd.Series([1, None], dtype="Int64"), "must not contain NaN, infinity or missing values"),
        (pl.Series([1, None]), "must not contain NaN, infinity or missing values"),
        ([Decimal("NaN"), 1], "must not contain NaN, infinity or missing values"),
        ([1, "2"], "must all be numbers"),
        ([1, 2j], "must all be numbers"),
        ([Decimal("1e999999"), 1], "must lie between 10^-1000 and 10^1000 in size"),
        ("12", "must be a sequence of numbers"),
        ({1, 2}, "must be a sequence of numbers"),
        (7, "must be a sequence of numbers"),
        (np.zeros((2, 2)), "must have one dimension, not 2"),
        (np.ma.masked_array([1, 2], [True, False]), "must not have masked entries"),
    ],
)
def test_bad_answers_get_a_message_without_the_data(answers: Any, message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_answers(answers, GRID)
    assert caught.value.argument == "answers"
    assert message in str(caught.value)
    assert caught.value.remedy


def test_no_message_shows_an_answer() -> None:
    secret = 123456789
    for answers in ([secret, None], [secret, "x"], [float(secret), math.nan], np.full((2, 2), secret)):
        with pytest.raises(InvalidArgument) as caught:
            read_answers(answers, GRID)
        assert str(secret) not in str(caught.value)
        assert str(secret) not in repr(caught.value.value)


def test_a_masked_array_with_nothing_masked_is_an_array() -> None:
    assert list(read_answers(np.ma.masked_array([3, 4], [False, False]), GRID).values) == [3, 4]
