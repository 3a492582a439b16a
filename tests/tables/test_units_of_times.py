"""Dates and times of every unit, near and far, before and after 1970, as the numbers of quantiles."""

from __future__ import annotations

import datetime
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from freegap.errors import InvalidArgument
from freegap.tables.quantiles_dates import Calendar
from freegap.tables.sources import TableSource, frame_of

DAY = 86_400 * 10**6
PER_UNIT = {
    "date32[day]": DAY,
    "date64[ms]": 1000,
    "timestamp[s]": 10**6,
    "timestamp[ms]": 1000,
    "timestamp[us]": 1,
    "timestamp[ns]": None,
}
TYPES = [pa.date32(), pa.date64(), *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns"))]
RANGES: dict[str, tuple[Any, Any, Any]] = {
    "days": ("2024-02-28", "2024-03-02", 1),
    "days before 1970": ("1969-12-30", "1970-01-02", 1),
    "times": (datetime.datetime(2024, 2, 28, 12), datetime.datetime(2024, 2, 29, 1), 1),
    "times before 1970": (datetime.datetime(1969, 12, 31, 23, 59), datetime.datetime(1970, 1, 1, 0, 1), 1),
    "microseconds": (
        datetime.datetime(2024, 1, 1),
        datetime.datetime(2024, 1, 1, 0, 0, 0, 10**5),
        "1/1000000",
    ),
}


def _moments(type_: pa.DataType, calendar: Calendar) -> list[int]:
    """In the unit of the column: around both ends, around 1970, a day apart, and as far as it reaches."""
    per = PER_UNIT[str(type_)]
    days = 1 if type_ == pa.date32() else DAY // per if per else DAY * 1000
    ends = [end // per if per else end * 1000 for end in (calendar.origin, calendar.end)]
    near = [base + step for base in (*ends, 0) for step in (-days, -1500, -999, -1, 0, 1, 999, 1500, days)]
    far = 2**31 - 1 if type_ == pa.date32() else 2**63 - 1 - DAY
    wide = [-far, -far // 3, far // 3, far]
    return [n // days * days for n in (*near, *wide)] if type_ == pa.date64() else [*near, *wide]


def _wanted(type_: pa.DataType, calendar: Calendar, moments: list[int]) -> list[int]:
    per = PER_UNIT[str(type_)]
    times = [moment * per if per else moment // 1000 for moment in moments]
    return [
        (min(max(time, calendar.origin), calendar.end) - calendar.origin) // calendar.unit for time in times
    ]


def _numbers(native: Any, calendar: Calendar) -> list[float]:
    source = TableSource(frame_of(native), "date and time", True, "item", "person", None)
    found = calendar.numbers_of(source).lazy().collect()
    order = {int(place): number for place, number in zip(found["place"], found["item"], strict=True)}
    return [order[place] for place in sorted(order)]


@pytest.mark.parametrize("type_", TYPES, ids=str)
@pytest.mark.parametrize("range_", RANGES)
def test_a_time_of_any_unit_is_clipped_and_counted(range_: str, type_: pa.DataType) -> None:
    calendar, _ = Calendar.read(*RANGES[range_]) or pytest.fail("no dates")
    moments = _moments(type_, calendar)
    whole = pa.int32() if type_ == pa.date32() else pa.int64()
    table = pa.table({"item": pa.array(moments, whole).view(type_), "place": range(len(moments))})
    wanted = [float(number) for number in _wanted(type_, calendar, moments)]
    if type_ != pa.date64():  # which narwhals does not know
        assert _numbers(table, calendar) == wanted
        if str(type_) != "timestamp[s]":  # of which Polars makes others
            polars: Any = pl.from_arrow(table)
            assert _numbers(polars, calendar) == wanted
            assert _numbers(polars.lazy(), calendar) == wanted
    assert calendar._of_arrow(table["item"]).tolist() == wanted


@pytest.mark.parametrize("range_", RANGES)
def test_dates_and_times_that_duckdb_holds_are_counted_as_here(range_: str) -> None:
    calendar, _ = Calendar.read(*RANGES[range_]) or pytest.fail("no dates")
    far = "DATE '200000-01-01'", "DATE 'infinity'", "DATE '-infinity'", "DATE '0001-01-01'"
    for type_ in (pa.date32(), pa.timestamp("us")):
        moments = [
            m
            for m in _moments(type_, calendar)
            if abs(m) < 10**17 and (type_ != pa.date32() or abs(m) < 10**6)
        ]
        whole = pa.int32() if type_ == pa.date32() else pa.int64()
        table = pa.table({"item": pa.array(moments, whole).view(type_), "place": range(len(moments))})
        with duckdb.connect() as connection:
            connection.register("rows", table)
            native = connection.sql("SELECT * FROM rows")
            wanted = [float(number) for number in _wanted(type_, calendar, moments)]
            assert _numbers(native, calendar) == wanted
            top = float((calendar.end - calendar.origin) // calendar.unit)
            listed = ", ".join(f"({one}, {place})" for place, one in enumerate(far))
            outside = connection.sql(f"FROM (VALUES {listed}) AS t(item, place)")
            assert _numbers(outside, calendar) == [top, top, 0.0, 0.0]


@pytest.mark.parametrize("type_", ["TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMPTZ", "TIME", "VARCHAR", "BIGINT"])
def test_what_duckdb_holds_and_is_not_counted(type_: str) -> None:
    calendar, _ = Calendar.read("2024-02-28", "2024-03-02", 1) or pytest.fail("no dates")
    with duckdb.connect() as connection:
        native = connection.sql(f"SELECT CAST(NULL AS {type_}) AS item, 1 AS place")
        with pytest.raises(InvalidArgument) as caught:
            _numbers(native, calendar)
    said = "not in seconds or milliseconds" if type_[-2:] in ("_S", "MS") else "must be a column of dates"
    assert said in str(caught.value)
    assert caught.value.argument == "value"
