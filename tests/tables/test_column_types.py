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


def test_persons_may_be_durations_behind_ibis() -> None:
    assert fg.top_k(behind_ibis(), **USUAL | {"person": "stay"}).spent == 1


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
