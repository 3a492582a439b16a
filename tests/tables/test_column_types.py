"""Columns of types that cannot be used are refused by name, in every engine that has them; others work."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import freegap as fg

N = 60
DOCUMENTS = """CREATE TABLE visits AS SELECT ('{"secret": ' || (i % 3) || '}')::JSON AS doc,
    i AS person, i % 4 AS ward, to_days(CAST(i % 3 AS INTEGER)) AS stay FROM range(60) t(i)"""


def in_duckdb() -> Any:
    connection = duckdb.connect()
    connection.execute(DOCUMENTS)
    return connection.table("visits")


def behind_ibis() -> Any:
    connection = ibis.duckdb.connect()
    connection.raw_sql(DOCUMENTS)
    return connection.table("visits")


ENGINES = [in_duckdb, behind_ibis]
USUAL: dict[str, Any] = {"item": "ward", "person": "person", "k": 1, "epsilon": 1, "domain": range(4)}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("argument", "asked"),
    [
        ("item", {"item": "doc", "domain": ["a", "b"]}),
        ("item", {"item": ["ward", "doc"], "domain": [(1, "a"), (2, "b")]}),
        ("item", {"item": "doc", "domain": "unknown", "delta": "1e-8"}),
        ("person", {"person": "doc"}),
        ("group", {"group": "doc", "groups": ["a"]}),
        ("where", {"where": "doc IS NOT NULL"}),
    ],
)
def test_documents_are_refused(engine: Callable[[], Any], argument: str, asked: dict[str, Any]) -> None:
    with pytest.raises(
        fg.InvalidArgument, match=f"{argument} = 'doc': is a column of JSON documents"
    ) as error:
        fg.top_k(engine(), **USUAL | asked)
    assert "VARCHAR" in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_another_column_of_documents_is_no_matter(engine: Callable[[], Any]) -> None:
    assert fg.top_k(engine(), **USUAL).spent == 1


def test_documents_as_values_are_refused() -> None:
    with pytest.raises(fg.InvalidArgument, match="value = 'doc'"):
        fg.quantiles(in_duckdb(), value="doc", person="person", q=0.5, low=0, high=9, epsilon=1)


@pytest.mark.parametrize(
    ("argument", "asked"),
    [
        ("item", {"item": "stay", "domain": [datetime.timedelta(days=day) for day in range(3)]}),
        ("group", {"group": "stay", "groups": [datetime.timedelta(days=1)]}),
    ],
)
def test_durations_come_out_of_all_engines_but_those_behind_ibis(
    argument: str, asked: dict[str, Any]
) -> None:
    assert fg.top_k(in_duckdb(), **USUAL | asked).spent == 1
    with pytest.raises(fg.InvalidArgument, match=f"{argument} = 'stay': is a column of durations") as error:
        fg.top_k(behind_ibis(), **USUAL | asked)
    assert "number of days" in str(error.value)


def test_a_part_of_an_item_that_cannot_come_out_is_refused_for_that() -> None:
    """And not for its kind, which is the reason elsewhere."""
    asked = USUAL | {"item": ["ward", "stay"], "domain": [(1, "a"), (2, "b")]}
    with pytest.raises(fg.InvalidArgument, match="item = 'stay': is a column of durations, which cannot"):
        fg.top_k(behind_ibis(), **asked)
    with pytest.raises(fg.InvalidArgument, match="item = 'stay': is of the kind duration"):
        fg.top_k(in_duckdb(), **asked)


@pytest.mark.parametrize("asked", [{"person": "stay"}, {"where": "stay IS NOT NULL"}], ids=str)
def test_what_does_not_come_out_may_be_a_duration_behind_ibis(asked: dict[str, Any]) -> None:
    assert fg.top_k(behind_ibis(), **USUAL | asked).spent == 1


def _with_zones(engine: str) -> Any:
    query = """CREATE TABLE visits AS SELECT CAST('10:00:00+0' || (i % 3) AS TIMETZ) AS at,
        TIME '10:00' AS plain,
        i AS person, i % 4 AS ward, i % 5 AS cost FROM range(60) t(i)"""
    if engine == "duckdb":
        connection = duckdb.connect()
        connection.execute(query)
        return connection.table("visits")
    backend = ibis.duckdb.connect()
    backend.raw_sql(query)
    return backend.table("visits")


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
@pytest.mark.parametrize(
    ("argument", "asked"),
    [
        ("item", {"item": "at", "domain": [datetime.time(10), datetime.time(11)]}),
        ("item", {"item": ["ward", "at"], "domain": [(1, "a"), (2, "b")]}),
        ("person", {"person": "at"}),
        ("group", {"group": "at", "groups": [datetime.time(10)]}),
        ("value", {"value": "at", "low": 0, "high": 9}),
        (None, {"where": "at IS NOT NULL"}),
        (None, {"person": "plain"}),
        (None, {}),
    ],
    ids=str,
)
def test_times_with_a_zone_are_refused_where_they_are_told_apart(
    engine: str, argument: str | None, asked: dict[str, Any]
) -> None:
    """10:00+00 and 10:00+02 come out as one: two persons would be one."""
    table = _with_zones(engine)
    if argument is None:
        assert fg.top_k(table, **USUAL | asked).spent == 1
        return
    with pytest.raises(fg.InvalidArgument, match=f"{argument} = 'at': is a column of times with a time zone"):
        fg.top_k(table, **USUAL | asked)


HALF = (np.arange(N) % 4 / 8).astype(np.float16)


def halves(engine: str) -> Any:
    table = pa.table({"size": HALF, "person": range(N)})
    if engine == "pandas":
        return table.to_pandas()
    return {"pyarrow": table, "polars": pl.DataFrame({"size": HALF.astype(np.float32), "person": range(N)})}[
        engine
    ]


@pytest.mark.parametrize(
    "asked",
    [
        {"item": "size", "person": "person", "domain": [0.0, 0.125, 0.25, 7.0]},
        {"item": "person", "person": "size", "domain": range(N)},
        {"item": "person", "person": "person", "domain": range(N), "group": "size", "groups": [0.125, 9.0]},
        {"item": "person", "person": "person", "domain": range(N), "where": "size > 0.2"},
        {"item": "person", "person": "person", "domain": range(N), "value": "size", "low": 0, "high": 1},
    ],
)
def test_half_precision_is_no_other_number(asked: dict[str, Any]) -> None:
    """The same release on the same bits as of the same numbers in another engine."""
    found = {}
    for engine in ("pyarrow", "pandas", "polars"):
        made = fg.top_k(halves(engine), k=2, epsilon=2, bits=fg.SeededBits(3), **asked)
        found[engine] = (made.labels, made.gap_multiples)
    assert found["pyarrow"] == found["pandas"] == found["polars"]


def test_the_callers_table_is_left_as_it_was() -> None:
    table: pd.DataFrame = halves("pandas")
    fg.top_k(table, item="size", person="person", domain=[0.0, 0.125], k=1, epsilon=1)
    assert table["size"].dtype == np.float16


def test_half_precision_behind_ibis_is_refused() -> None:
    with pytest.raises(fg.InvalidArgument, match="table = 'size': is a column of half-precision") as error:
        fg.top_k(
            ibis.memtable(halves("pyarrow")), item="person", person="person", domain=range(9), k=1, epsilon=1
        )
    assert "float32" in str(error.value)


def test_one_public_value() -> None:
    asked = USUAL | {"group": "ward", "groups": [1]}
    assert "1 public value of the column 'ward'" in str(fg.top_k(in_duckdb(), **asked))
    assert "2 public values of the column 'ward'" in str(fg.top_k(in_duckdb(), **asked | {"groups": [1, 2]}))
