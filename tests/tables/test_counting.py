"""The counts that leave the front end: right, and private, in every engine."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import freegap as fg
from tests.tables.engines import ENGINES, counts_of, expected

NUMBERS = st.sampled_from([None, -(10**9), -1, 0, 1, 2, 3, 4, 5, 6, 10**12])
TEXTS = st.sampled_from([None, "a", "A", "a ", "á", "1", "01", "1.0", "nan", "null", "x,y", 'q"q', "outside"])
NUMBER_DOMAIN = range(0, 6)
TEXT_DOMAIN = sorted(["a", "A", "a ", "á", "1", "01", "nan", "x,y", 'q"q', "never"])
PERSONS = st.sampled_from([None, 1, 2, 3, 4])
NEWCOMER = 99

QUICK = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)


def rows_of(items: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[Any, Any]]]:
    return st.lists(st.tuples(items, PERSONS), max_size=12)


def moves(before: dict[Any, int], after: dict[Any, int]) -> set[int]:
    assert before.keys() == after.keys()
    return {after[item] - before[item] for item in before}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["numbers", "texts"])
@QUICK
@given(data=st.data())
def test_one_person_moves_every_count_by_at_most_one_and_none_down(
    engine: str, kind: str, data: st.DataObject
) -> None:
    items = NUMBERS if kind == "numbers" else TEXTS
    domain: Any = NUMBER_DOMAIN if kind == "numbers" else TEXT_DOMAIN
    rows = data.draw(rows_of(items))
    newcomers = data.draw(st.lists(st.tuples(items, st.just(NEWCOMER)), max_size=8))
    both = rows + newcomers
    data.draw(st.randoms(use_true_random=False)).shuffle(both)
    # The type of a column is the table's, not the rows': a row of each table fixes it.
    anchor = [(0 if kind == "numbers" else "a", 0)]
    with tempfile.TemporaryDirectory() as directory:
        before = counts_of(ENGINES[engine](anchor + rows, Path(directory)), domain)
        after = counts_of(ENGINES[engine](anchor + both, Path(directory)), domain)
    assert before == expected(anchor + rows, list(domain))
    assert after == expected(anchor + both, list(domain))
    assert moves(before, after) <= {0, 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_person_with_very_many_rows_counts_once(engine: str, tmp_path: Path) -> None:
    rows = [(i % 7, NEWCOMER) for i in range(20_000)] + [(3, 1)]
    assert counts_of(ENGINES[engine](rows, tmp_path), range(6)) == {0: 1, 1: 1, 2: 1, 3: 2, 4: 1, 5: 1}


def test_a_person_with_a_million_rows() -> None:
    table = pl.DataFrame({"item": pl.arange(0, 10**6, eager=True) % 10, "person": [5] * 10**6})
    assert counts_of(table, range(8)) == dict.fromkeys(range(8), 1)
    assert counts_of(table.lazy(), range(8)) == dict.fromkeys(range(8), 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_order_of_rows_does_not_matter(engine: str, tmp_path: Path) -> None:
    rows = [(i * i % 11, i % 17) for i in range(300)]
    shuffled = rows[:]
    random.Random(5).shuffle(shuffled)
    releases = [
        fg.top_k(
            ENGINES[engine](some, tmp_path),
            item="item",
            person="person",
            k=5,
            epsilon="0.1",
            domain=range(20),
            bits=fg.SeededBits(4),
        )
        for some in (rows, shuffled)
    ]
    assert releases[0] == releases[1]


def test_not_a_number_is_missing_and_minus_zero_is_zero() -> None:
    items = [0.0, -0.0, float("nan"), 1.5, 2.0]
    persons = [1.0, 1.0, 2.0, float("nan"), 3.0]
    for table in (
        pd.DataFrame({"item": items, "person": persons}),
        pl.DataFrame({"item": items, "person": persons}),
        pl.DataFrame({"item": items, "person": persons}).lazy(),
        pa.table({"item": items, "person": persons}),
    ):
        assert counts_of(table, [0, 1.5, 2]) == {0: 1, 1.5: 0, 2: 1}


def test_items_of_any_hashable_type() -> None:
    table = pd.DataFrame(
        {"item": [("a", 1), frozenset({2}), "a", 1, 1.0, True, None, ("a", 1)], "person": range(8)},
        dtype=object,
    )
    domain = [("a", 1), frozenset({2}), "a", 1, "never"]
    assert counts_of(table, domain) == {("a", 1): 2, frozenset({2}): 1, "a": 1, 1: 3, "never": 0}


def test_categories_and_dates_and_truth_values_and_decimals() -> None:
    from datetime import date
    from decimal import Decimal

    days = [date(2026, 1, 1), date(2026, 1, 2), None, date(2026, 1, 1)]
    for values, domain, want in (
        (pd.Categorical(["x", "y", None, "x"]), ["x", "y", "z"], {"x": 2, "y": 1, "z": 0}),
        ([True, False, None, True], [False, True], {False: 1, True: 2}),
        (days, days[:2], {days[0]: 2, days[1]: 1}),
        ([Decimal("1.5"), Decimal(2), None, Decimal("1.50")], [Decimal("1.5"), 2], {Decimal("1.5"): 2, 2: 1}),
    ):
        table = pd.DataFrame({"item": values, "person": [1, 2, 3, 4]})
        assert counts_of(table, domain) == want
        if not isinstance(values, pd.Categorical):
            lazy = pl.DataFrame({"item": values, "person": [1, 2, 3, 4]}).lazy()
            assert counts_of(lazy, domain) == want
