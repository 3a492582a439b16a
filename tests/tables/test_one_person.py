"""One person more, where groups, values, bounds, conditions and windows come together, in each engine.

At most m groups, or bins, change, each by at most what one person may add, and in one direction where bounds
have one sign; and every engine counts the same. The parts have tests of their own; here they are combined.
"""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import freegap as fg
from freegap.tables.categories import bins_of
from freegap.tables.described import described, groups_of
from freegap.tables.grouped import grouped
from freegap.tables.grouping import GroupArguments
from freegap.tables.values import ClippedValue
from freegap.values.measures import Pure

ITEMS = ["tea", "é", "e\u0301", "", "milk"]
WARDS = ["north", "south", "ö", "o\u0308", ""]
READ: dict[str, Any] = {"domain_column": None, "observed_keys_are_public": False, "normalize": False}
SCHEMA = pa.schema(
    [
        ("item", pa.string()),
        ("person", pa.string()),
        ("ward", pa.string()),
        ("cost", pa.float64()),
        ("age", pa.int64()),
        ("day", pa.date32()),
    ]
)
MONTHS: dict[str, Any] = {"every": "month", "time": "day", "since": "2026-01-01", "until": "2026-04-01"}


def _rows(chance: random.Random, number: int, person: str | None = None) -> list[dict[str, Any]]:
    """Rows with what is odd: no value, NaN, both zeros, infinity, numbers and dates beyond all bounds."""
    costs = [0.0, -0.0, 0.1, 2.675, -3.25, 1e300, -math.inf, math.nan, None, 99.995]
    days = [datetime.date(2026, month, 28) for month in (1, 2, 3)] + [datetime.date(1, 1, 1), None]
    return [
        {
            "item": chance.choice([*ITEMS, "rare", None]),
            "person": person or chance.choice([*(f"p{i}" for i in range(9)), "", None]),
            "ward": chance.choice([*WARDS, "rare", None]),
            "cost": chance.choice(costs),
            "age": chance.choice([None, 17, 18, 90, 2**53 + 1]),
            "day": chance.choice(days),
        }
        for _ in range(number)
    ]


def _engines(table: pa.Table, place: Path) -> dict[str, Any]:
    pq.write_table(table, place)
    connection = duckdb.connect()
    connection.register("rows", table)
    return {
        "pyarrow": table,
        "polars": pl.from_arrow(table),
        "pandas": table.to_pandas(types_mapper=pd.ArrowDtype),
        "duckdb": connection.sql("SELECT * FROM rows"),
        "parquet": place,
    }


def _in_groups(table: Any, most: int, value: ClippedValue | None, where: str | None, *, months: bool) -> Any:
    source = described(fg.source(table, **MONTHS) if months else table, where=where)
    column, listed = (None, None) if months else ("ward", WARDS)
    group, groups, alone = groups_of(source, column, listed, False, None)
    of = GroupArguments.read(group, groups, most, alone)
    asked: dict[str, Any] = {"item": "item", "person": "person", "domain": ITEMS, "value": value}
    with grouped(source, of, Pure(Fraction(1)), None, **asked, **READ) as within:
        numbers, offsets = within.count().flat()
    return np.split(numbers, offsets[1:-1])


def _in_bins(table: Any, most: int, value: ClippedValue | None, where: str | None) -> Any:
    asked: dict[str, Any] = {"item": "item", "person": "person", "domain": ITEMS, "value": value}
    bins = bins_of(described(table, where=where), most=most, **asked, **READ)
    return [np.array([total]) for total in bins.totals]


@pytest.mark.parametrize("seed", range(3))
def test_one_person_more_changes_what_one_person_may(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    rows, more = _rows(chance, 60), _rows(chance, 6, "new\0person")
    together = rows + more
    chance.shuffle(together)
    before, after = (
        _engines(pa.Table.from_pylist(some, schema=SCHEMA), tmp_path / f"{name}.parquet")
        for name, some in (("before", rows), ("after", together))
    )
    where = [None, "age >= 18", "ward <> 'north' OR cost < 50"][seed % 3]
    low, high = [(0, 5), (-3, 5), (-4, -1)][seed % 3]
    most = 1 + seed % 2
    for value in (None, ClippedValue.read("cost", low, high, "0.01")):
        ways: list[Callable[[Any], Any]] = [
            partial(_in_groups, most=most, value=value, where=where, months=False),
            partial(_in_groups, most=most, value=value, where=where, months=True),
            partial(_in_bins, most=most, value=value, where=where),
        ]
        for count in ways:
            counts = {name: (count(before[name]), count(after[name])) for name in before}
            reference = counts["pyarrow"]
            for both in counts.values():
                assert all(map(np.array_equal, both[0], reference[0]))
                assert all(map(np.array_equal, both[1], reference[1]))
            moved = [new - old for old, new in zip(*reference, strict=True)]
            assert sum(bool(change.any()) for change in moved) <= most
            changes = np.concatenate(moved)
            largest, monotonic = (1, True) if value is None else (value.sensitivity, value.monotonic)
            assert np.abs(changes).max() <= largest
            assert not monotonic or (changes >= 0).all() or (changes <= 0).all()
