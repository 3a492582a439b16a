"""Quantiles of dates and times: every engine puts every row on the same day, and dates come out."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import freegap as fg
from freegap.cli import app
from freegap.tables.quantiles_dates import Calendar
from freegap.tables.quantiles_grid import numbers_of
from freegap.tables.quantiles_people import PeopleInTable
from freegap.tables.sources import open_source

D, T = datetime.date, datetime.datetime
LOW, HIGH = "2024-02-20", "2024-03-10"
DATES = [
    *(D(2024, 2, 18) + datetime.timedelta(days=n) for n in range(25)),
    D(1, 1, 1), D(9999, 12, 31), D(2024, 2, 29), D(1969, 12, 31),
]  # fmt: skip
TIMES = [
    *(T(2024, 2, 28, 23, 59, 59, 999999) + datetime.timedelta(microseconds=n) for n in range(3)),
    *(T(2024, 2, 20) + datetime.timedelta(hours=7 * n) for n in range(60)),
    T(1969, 12, 31, 23, 59, 59, 999999), T(1, 1, 1), T(9999, 12, 31, 23),
]  # fmt: skip


def _ibis(table: pa.Table) -> Any:
    backend = ibis.duckdb.connect()
    backend.con.register("rows", table)
    return backend.table("rows")


ENGINES: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda table: table.to_pandas(date_as_object=False),
    "pandas on arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table,
    "duckdb": lambda table: duckdb.connect().from_arrow(table),
    "ibis": _ibis,
}


def cells(table: Any, low: Any, high: Any, step: Any = 1, rule: Any = "median") -> dict[int, int]:
    read = Calendar.read(low, high, step)
    assert read is not None
    calendar, grid = read
    with open_source(table, "item", "person") as source:
        ((found, people),) = PeopleInTable(numbers_of(source, calendar), rule).cells(grid)
    return dict(zip(found.tolist(), people.tolist(), strict=True))


def expected(moments: list[Any], low: T, high: T, step: datetime.timedelta) -> dict[int, int]:
    """By Python's dates."""
    inside = (min(max(m if isinstance(m, T) else T.combine(m, datetime.time()), low), high) for m in moments)
    return dict(Counter((moment - low) // step for moment in inside))


def table_of(moments: list[Any], kind: Any) -> pa.Table:
    return pa.table({"item": pa.array([*moments, None], kind), "person": range(len(moments) + 1)})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("moments", "kind"),
    [(DATES, pa.date32()), (TIMES, pa.timestamp("us")), (TIMES[:-2], pa.timestamp("ns"))],
    ids=["dates", "times", "nanoseconds"],
)
def test_every_engine_counts_the_same(engine: str, moments: list[Any], kind: Any) -> None:
    made = ENGINES[engine](table_of(moments, kind))
    day, hour = datetime.timedelta(days=1), datetime.timedelta(hours=1)
    ends = T(2024, 2, 20), T(2024, 3, 10)
    assert cells(made, LOW, HIGH) == expected(moments, *ends, day)
    noon = T(2024, 2, 20, 12), T(2024, 3, 9, 18)
    assert cells(made, *noon, 6 * hour) == expected(moments, *noon, 6 * hour)
    second = T(2024, 2, 28, 23, 59, 59), T(2024, 2, 29, 0, 0, 1)
    fine = datetime.timedelta(microseconds=50)
    assert cells(made, *second, fine) == expected(moments, *second, fine)


@pytest.mark.parametrize("unit", ["s", "ms"])
@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow"])
def test_times_in_coarser_units_that_no_microsecond_reaches(engine: str, unit: str) -> None:
    far = 2**62  # seconds or milliseconds: as microseconds it would be something else
    day = int(T(2024, 3, 1, tzinfo=datetime.UTC).timestamp()) * (1 if unit == "s" else 1000)
    item = pa.array([day, far, -far, None], pa.int64()).cast(pa.timestamp(unit))
    table = pa.table({"item": item, "person": range(4)})
    if engine == "polars" and unit == "s":
        pytest.skip("Polars has no seconds")
    assert cells(ENGINES[engine](table), LOW, HIGH) == {10: 1, 19: 1, 0: 1}


def test_infinite_times_of_duckdb() -> None:
    rows = [f"({value}, {number})" for number, value in enumerate(("'infinity'", "'-infinity'", "NULL"))]
    for kind in ("DATE", "TIMESTAMP"):
        table = duckdb.connect().sql(
            f"SELECT item::{kind} AS item, person FROM (VALUES {', '.join(rows)}) _(item, person)"  # noqa: S608
        )
        assert cells(table, LOW, HIGH) == {0: 1, 19: 1}


def test_texts_of_a_file_are_read_row_by_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("item,person\n2024-02-29,a\n2024-02-30,b\n,c\n2024-03-01 23:59:59,d\nx,e\n1066-01-01,f\n")
    assert cells(str(path), LOW, HIGH) == {9: 1, 10: 1, 0: 1}


def test_dates_are_released(tmp_path: Path) -> None:
    table = pd.DataFrame({"day": [D(2024, 2, 29)] * 900, "patient": range(900), "ward": ["n", "s"] * 450})
    table["day"] = pd.to_datetime(table["day"]).astype("datetime64[us]")
    asked: dict[str, Any] = {"value": "day", "person": "patient", "q": [0.25, 0.5], "epsilon": 2}
    release = fg.quantiles(table, **asked, low=LOW, high=D(2024, 3, 10), bits=fg.SeededBits(1))
    assert release.values == (D(2024, 2, 29), D(2024, 2, 29))
    assert (release.low, release.high, release.resolution) == (D(2024, 2, 20), D(2024, 3, 10), 1)
    assert "the times from 2024-02-20 to 2024-03-10 in steps of 1 days" in release.privacy.domain
    assert "2024-02-29" in str(release)
    assert json.loads(release.to_json())["values"] == ["2024-02-29"] * 2
    assert str(fg.Release.from_json(release.to_json())) == str(release)
    assert release.to_pandas()["estimate"].tolist()[0] == D(2024, 2, 29)
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("clinic", epsilon=9)
    times = fg.quantiles(
        table, **asked, low="2024-02-28T12:00", high="2024-03-01T12:00", resolution=3600, intervals=True,
        group="ward", groups=["n", "s"], groups_per_person=1, ledger=(ledger, "clinic"),
    )  # fmt: skip
    assert ledger.account("clinic").spent == 2
    assert all(isinstance(value, T) for value in times.values)
    assert next(row._fields for row in times) == ("group", "quantile", "estimate", "low", "high")
    spread = fg.quantiles(table, **asked, low=LOW, high=HIGH, per_person="spread", bits=fg.SeededBits(1))
    assert spread.values == (0, 0)
    assert spread.high == Fraction(19)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"low": 0}, "low"),
        ({"low": None}, "low"),
        ({"high": 7}, "high"),
        ({"high": "2024-02-20"}, "high"),
        ({"high": "2024-02-30"}, "high"),
        ({"high": "2024-03-10T00:00+02:00"}, "high"),
        ({"high": D(9999, 1, 1)}, "high"),
        ({"resolution": "1/2"}, "resolution"),
        ({"resolution": 2}, "resolution"),
        ({"resolution": 0}, "resolution"),
        ({"high": "2024-03-10T00:00", "resolution": "1"}, "resolution"),
        ({"high": "2094-03-10T00:00", "resolution": 86400}, "high"),
        ({"value": "zoned"}, "value"),
        ({"value": "person"}, "value"),
        ({"low": None, "high": None}, "value"),
    ],
)
def test_what_is_no_range_of_dates(options: dict[str, Any], argument: str) -> None:
    zoned = pa.array([T(2024, 3, 1)], pa.timestamp("us", tz="UTC"))
    table = table_of([], pa.date32()).append_column("zoned", zoned)
    asked: dict[str, Any] = {"value": "item", "person": "person", "q": 0.5, "epsilon": 1}
    with pytest.raises(fg.InvalidArgument) as caught:
        fg.quantiles(table, **(asked | {"low": LOW, "high": HIGH} | options))
    assert caught.value.argument == argument


def test_on_the_command_line(tmp_path: Path) -> None:
    days = pd.DataFrame({"day": ["2024-02-29"] * 600 + ["never"], "patient": range(601)})
    days.to_csv(tmp_path / "days.csv", index=False)
    said = f"quantiles {tmp_path}/days.csv --value day --person patient --q 0.5 --low {LOW} --high {HIGH}"
    ran = CliRunner().invoke(app, f"{said} --epsilon 2 --seed 1 --json".split())
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["values"] == ["2024-02-29"]
    dry = CliRunner().invoke(app, f"{said} --epsilon 2 --dry-run".split())
    assert "ranks: " in dry.stdout
