"""Values that an engine or a decoder would fail on: one person's must not make everybody's release fail."""

from __future__ import annotations

import datetime
import math
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import freegap as fg
from freegap.tables.far_times import without_far_times

ASK: dict[str, Any] = {"item": "item", "person": "person", "k": 1, "domain": ["a", "b"], "epsilon": 1}


def test_a_text_that_is_no_date_in_a_column_of_dates(tmp_path: Path) -> None:
    path = tmp_path / "visits.sqlite"
    with sqlite3.connect(path) as own:
        own.execute("CREATE TABLE visits (day DATE, who TEXT, cost DECIMAL(10, 2))")
        rows = [
            ("2026-01-01", "a", 1.5),
            ("no date", "b", "two"),
            ("2026-01-01", "c", 1.5),
            (b"\xff", "d", None),
        ]
        own.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)
    table = fg.source(path, name="visits")
    days = fg.top_k(
        table,
        item="day",
        person="who",
        k=1,
        domain=["2026-01-01", "2026-01-02"],
        epsilon=50,
        bits=fg.SeededBits(1),
    )
    assert days.labels == ("2026-01-01",)
    costs = fg.top_k(
        table, item="cost", person="who", k=1, domain=["1.5", "2.5"], epsilon=50, bits=fg.SeededBits(1)
    )
    assert costs.labels == ("1.5",)


@pytest.mark.parametrize("encoding", ["unicode_escape", "raw_unicode_escape"])
def test_encodings_with_escapes_join_lines(encoding: str) -> None:
    with pytest.raises(fg.InvalidArgument, match="one byte for each character"):
        fg.source("visits.csv", encoding=encoding)


@pytest.mark.parametrize("engine", ["duckdb", "pyarrow"])
def test_times_that_may_not_fit(engine: str) -> None:
    table: Any = pa.table(
        {"time": pa.array([datetime.datetime(2026, 1, 1)], pa.timestamp("s")), "item": ["a"], "person": [1]}
    )
    if engine == "duckdb":
        table = duckdb.connect().sql(
            "SELECT TIMESTAMP_S '2026-01-01 00:00:00' AS time, 'a' AS item, 1 AS person"
        )
    with pytest.raises(fg.InvalidArgument, match="seconds"):
        fg.top_k(fg.source(table, where="time > DATE '2025-01-01'"), **ASK)
    window = fg.source(table, every="month", time="time", since="2026-01-01", until="2026-03-01")
    with pytest.raises(fg.InvalidArgument, match="seconds"):
        fg.top_k(window, **ASK)


@pytest.mark.parametrize("dtype", [object, pd.StringDtype("python")])
@pytest.mark.parametrize("odd", ["item", "person", "ward"])
def test_half_a_character_in_pandas_is_a_missing_value(dtype: Any, odd: str) -> None:
    """pandas holds lone surrogates, and fails when it is to group by a column that has one."""
    columns = {"item": ["a"] * 9 + ["b"], "person": [f"p{i}" for i in range(10)], "ward": ["n", "s"] * 5}
    with_odd = {name: [*some, "\ud800" if name == odd else "a"] for name, some in columns.items()}
    plain, more = (
        pd.DataFrame({name: pd.Series(some, dtype=dtype) for name, some in both.items()}).assign(cost=1.5)
        for both in (columns, with_odd)
    )
    groups: dict[str, Any] = {"group": "ward", "groups": ["n", "s"]}
    numbers: dict[str, Any] = {
        "value": "cost",
        "person": "person",
        "q": 0.5,
        "low": 0,
        "high": 4,
        "epsilon": 1,
    }
    bins: dict[str, Any] = {"item": "item", "person": "person", "domain": ["a", "b"], "epsilon": 1}
    for ask, options in (
        (fg.top_k, ASK),
        (fg.top_k, ASK | groups),
        (fg.top_k, ASK | groups | {"groups_per_person": 1}),
        (fg.top_k, ASK | {"domain": "unknown", "delta": "1e-6"}),
        (fg.histogram, bins | {"items_per_person": 1}),
        (fg.quantiles, numbers),
        (fg.quantiles, numbers | groups | {"groups_per_person": 1}),
    ):
        releases = [ask(table, bits=fg.SeededBits(1), **options) for table in (plain, more)]
        if odd == "person" or (odd == "item" and "item" in options) or (odd == "ward" and "group" in options):
            assert releases[0] == releases[1], options


_TYPES = [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("us", "Asia/Tokyo")]
_FAR = {"date32[day]": 2**31 - 1, "date64[ms]": 2**61 // 86_400_000 * 86_400_000, "timestamp[s]": 2**40}


def _with_a_far_time(type_: pa.DataType) -> pa.Table:
    """Ten people in January, and one in a year that Python does not have."""
    near = (
        pa.array([datetime.date(2026, 1, 1 + i % 2) for i in range(10)]).cast(pa.timestamp("us")).cast(type_)
    )
    whole = pa.int32() if type_ == pa.date32() else pa.int64()
    far = pa.array([_FAR.get(str(type_), 2**62)], whole).view(type_)
    days = pa.concat_arrays([near, far])
    return pa.table({"day": days, "item": ["a"] * 10 + ["b"], "person": range(11), "cost": [1.5] * 11})


@pytest.mark.parametrize("type_", _TYPES, ids=str)
@pytest.mark.parametrize("engine", ["pyarrow", "polars", "pandas", "duckdb"])
def test_a_time_that_python_does_not_have_is_a_missing_one(engine: str, type_: pa.DataType) -> None:
    """Engines hold the year 20260; to make a Python value of it fails, and would tell that it is there."""
    table = _with_a_far_time(type_)
    connection = duckdb.connect()
    connection.register("rows", table)
    makers: dict[str, Callable[[], Any]] = {
        "pyarrow": lambda: table,
        "polars": lambda: pl.from_arrow(table),
        "pandas": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
        "duckdb": lambda: connection.sql("SELECT * FROM rows"),
    }
    made = makers[engine]()
    if engine == "polars" and type_ == pa.date64():
        return  # they are times there
    near = table.slice(0, 10)
    public = near["day"].unique().to_pylist()
    public.append(public[0] + datetime.timedelta(days=9))
    counted: dict[str, Any] = {"item": "day", "person": "person", "domain": public, "epsilon": 1}
    within: dict[str, Any] = ASK | {"group": "day", "groups": public}
    for ask, options in (
        (fg.top_k, counted | {"k": 1}),
        (fg.histogram, counted | {"items_per_person": 1}),
        (fg.top_k, counted | {"k": 1, "domain": "unknown", "delta": "1e-6"}),
        (fg.top_k, within),
        (fg.top_k, within | {"groups_per_person": 1}),
        (fg.top_k, ASK | {"person": "day"}),
        (
            fg.histogram,
            counted | {"item": "item", "domain": ["a", "b"], "person": "day", "items_per_person": 1},
        ),
    ):
        assert ask(made, bits=fg.SeededBits(1), **options) == ask(near, bits=fg.SeededBits(1), **options)


@pytest.mark.parametrize(("unit", "per"), [("us", 10**6), ("ms", 1000), ("s", 1)])
@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_the_first_and_the_last_time_that_python_has(zone: str | None, unit: str, per: int) -> None:
    """With a zone a day less at either end: in some zone it is in another year."""
    if zone is not None and unit != "us":
        return  # DuckDB has none of these
    day, second = datetime.timedelta(days=0 if zone is None else 1), datetime.timedelta(seconds=1)
    first = (datetime.datetime.min + day - datetime.datetime(1970, 1, 1)) // second * per
    last = ((datetime.datetime.max - day - datetime.datetime(1970, 1, 1)) // second + 1) * per - 1
    numbers = pa.array([first - 1, first, last, last + 1], pa.int64())
    table = pa.table({"time": numbers.view(pa.timestamp(unit, zone))})
    for made in (table, pl.from_arrow(table), table.to_pandas(types_mapper=pd.ArrowDtype)):
        if unit == "s" and isinstance(made, pl.DataFrame):
            continue  # there they are in milliseconds
        near: Any = without_far_times(nw.from_native(made))
        assert near["time"].cast(nw.Int64).to_list() == [first, last]
    for session in ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"):  # 14 hours before, and 11 after
        with duckdb.connect() as connection:
            connection.execute(f"SET TimeZone = '{session}'")
            relation = nw.from_native(connection.from_arrow(table))
            found = without_far_times(relation).collect("pyarrow")["time"].cast(nw.Int64).to_list()
            assert found == [first, last]


@pytest.mark.parametrize("type_", [pa.date32(), pa.date64()], ids=str)
def test_the_first_and_the_last_day_that_python_has(type_: pa.DataType) -> None:
    days = [(end - datetime.date(1970, 1, 1)).days for end in (datetime.date.min, datetime.date.max)]
    per, whole = (1, pa.int32()) if type_ == pa.date32() else (86_400_000, pa.int64())
    wanted = [per * day for day in days]
    numbers = [per * day for day in (days[0] - 1, days[0], days[1], days[1] + 1)]
    table = pa.table({"day": pa.array(numbers, whole).view(type_)})
    made: list[Any] = [table, table.to_pandas(types_mapper=pd.ArrowDtype)]
    made += [pl.from_arrow(table)] if type_ == pa.date32() else []  # of the others Polars makes times
    for one in made:
        near: Any = nw.to_native(without_far_times(nw.from_native(one)))
        kept = near["day"].to_arrow() if isinstance(near, pl.DataFrame) else pa.table(near)["day"]
        assert kept.cast(whole).to_pylist() == wanted
    with duckdb.connect() as connection:
        relation = nw.from_native(connection.from_arrow(pa.table({"day": table["day"].cast(type_)})))
        found = nw.to_native(without_far_times(relation))
        assert found.count("*").fetchall() == [(2,)]


def test_a_year_that_was_mistyped(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    rows = [f"2026-01-01,{person}" for person in range(20)]
    days = [datetime.date(2026, 1, day) for day in (1, 2, 3)]
    labels = []
    for more in ([], ["20260-01-01,99", "infinity,98"]):
        path.write_text("\n".join(["day,person", *rows, *more]))
        release = fg.top_k(
            path, item="day", person="person", domain=days, k=1, epsilon=1, bits=fg.SeededBits(1)
        )
        labels.append(release)
    assert labels[0] == labels[1]


def test_times_in_seconds_behind_ibis() -> None:
    import ibis

    backend = ibis.duckdb.connect()
    backend.con.execute("CREATE TABLE rows AS SELECT TIMESTAMP_S '2026-01-01 00:00:00' AS time, 'a' AS item")
    table = backend.table("rows")
    with pytest.raises(fg.InvalidArgument, match="seconds"):
        fg.top_k(fg.source(table, where="time > DATE '2025-01-01'", protect="rows"), **ASK | {"person": None})


@pytest.mark.parametrize("numbers", [[1.0, 2.0, math.nan, 3.0], [1.0, 1.0, math.nan, 1.0]])
@pytest.mark.parametrize("road", ["file", "duckdb", "ibis", "polars"])
def test_nan_in_a_parquet_file_is_missing_whatever_its_statistics_say(
    road: str, numbers: list[float], tmp_path: Path
) -> None:
    """A file states the least and the largest number of a column, of which NaN is neither: DuckDB then takes
    isnan for false, unless there is a null, so that one person's null decided about everybody's NaN."""
    import ibis

    table = pa.table({"item": ["a", "a", "b", "b"] * 5, "person": range(20), "cost": numbers * 5})
    path = tmp_path / "visits.parquet"
    pq.write_table(table, path)
    connection, backend = duckdb.connect(), ibis.duckdb.connect()
    roads: dict[str, Callable[[], Any]] = {
        "file": lambda: path,
        "duckdb": lambda: connection.read_parquet(str(path)),
        "ibis": lambda: backend.read_parquet(path),
        "polars": lambda: pl.scan_parquet(path),
    }
    summed: dict[str, Any] = {"value": "cost", "low": 0, "high": 9}
    numbers_of: dict[str, Any] = {**summed, "q": 0.9, "epsilon": 9}
    for ask, options in (
        (fg.top_k, ASK | summed | {"domain": ["a", "b", "c"]}),
        (fg.top_k, ASK | summed | {"group": "item", "groups": ["a", "b"], "groups_per_person": 1}),
        (fg.top_k, ASK | {"person": "cost"}),
        (fg.top_k, ASK | {"where": "cost >= 1"}),
        (fg.top_k, ASK | {"where": "cost IS NULL"}),
        (fg.quantiles, numbers_of | {"person": "person"}),
        (fg.quantiles, numbers_of | {"protect": "rows"}),
    ):
        released = ask(roads[road](), bits=fg.SeededBits(1), **options)
        assert released == ask(table, bits=fg.SeededBits(1), **options), options
