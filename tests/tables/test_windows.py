"""Windows of time: public ranges, rows by themselves, and what one person loses in all of them."""

from __future__ import annotations

import datetime
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import freegap as fg
from freegap import cli
from freegap.errors import InvalidArgument
from freegap.tables.windows import TimeWindows

DAYS = ["2025-12-31", "2026-01-01", "2026-01-31", "2026-02-01", "2026-02-28", "2026-03-01", None]
ROWS = pa.table(
    {
        "item": ["a", "a", "b", "b", "b", "a", "a"],
        "person": [3, 1, 2, 1, 1, 4, 5],  # nobody outside the range is in it as well
        "day": [None if day is None else datetime.date.fromisoformat(day) for day in DAYS],
    }
)
RANGE: dict[str, Any] = {"every": "month", "time": "day", "since": "2026-01-01", "until": "2026-03-01"}
ASKED: dict[str, Any] = {
    "item": "item",
    "person": "person",
    "k": 1,
    "domain": ["a", "b", "c"],
    "measure": True,
}
FOUND = [("2026-01", 1), ("2026-02", 1)]


def times(table: pa.Table) -> pa.Table:
    """With a time of day: the last moment of each."""
    late = [
        None if d is None else datetime.datetime.combine(d, datetime.time.max)
        for d in table["day"].to_pylist()
    ]
    return table.set_column(2, "day", pa.array(late, pa.timestamp("us")))


def test_every_engine_puts_a_row_into_its_window(tmp_path: Path) -> None:
    connection = duckdb.connect()
    connection.register("t", ROWS)
    (tmp_path / "t.csv").write_text(ROWS.to_pandas().to_csv(index=False), encoding="utf-8")
    tables = [
        ROWS,
        times(ROWS),
        times(ROWS).to_pandas(),
        ROWS.to_pandas(types_mapper=pd.ArrowDtype),
        pl.DataFrame(pl.from_arrow(times(ROWS))),
        connection.sql("FROM t"),
        tmp_path / "t.csv",
    ]
    seen = []
    for table in tables:
        windows = fg.source(table, **RANGE)
        release = fg.top_k(windows, epsilon=10**6, bits=fg.SeededBits(3), **ASKED | {"k": 2})
        counts = {(row.group, row.item): round(row.estimate) for row in release if round(row.estimate)}
        assert counts == {("2026-01", "a"): 1, ("2026-01", "b"): 1, ("2026-02", "b"): 1}
        seen.append([(row.group, row.item, row.estimate) for row in release])
    assert all(rows == seen[0] for rows in seen)


def test_one_person_in_another_window_changes_no_other() -> None:
    more = pa.table({"item": ["c"], "person": [9], "day": [datetime.date(2026, 2, 14)]})
    for extra, changed in (
        (more, {"2026-02"}),
        (more.set_column(2, "day", pa.array([None], pa.date32())), set()),
    ):
        made = [
            fg.top_k(fg.source(table, **RANGE), epsilon=10**6, bits=fg.SeededBits(3), **ASKED | {"k": 2})
            for table in (ROWS, pa.concat_tables([ROWS, extra.cast(ROWS.schema)]))
        ]
        rows = [{g: [(r.item, round(r.estimate)) for r in x if r.group == g] for g, _ in FOUND} for x in made]
        assert {g for g, _ in FOUND if rows[0][g] != rows[1][g]} <= changed


def test_what_is_lost_and_said() -> None:
    shared = fg.top_k(fg.source(ROWS, **RANGE), epsilon=1, bits=fg.SeededBits(1), **ASKED)
    assert shared.spent == 1
    assert "a person may be in all of them" in str(shared.privacy.groups)
    assert "1/2 of ε" in str(shared.privacy.groups)
    windows = fg.source(ROWS, protect="windows", **RANGE)
    each = fg.top_k(windows, epsilon=1, bits=fg.SeededBits(1), **ASKED)
    assert each.spent == 1
    assert "in one month" in each.privacy.unit
    assert "not protected as a whole" in each.privacy.unit
    assert "one more person in one window" in each.privacy.neighbours
    assert "declared" not in str(each.privacy.groups)
    assert "all of ε" in str(each.privacy.groups)
    # Half the budget, twice the noise: the estimates of the same bits are twice as far off, before rounding.
    errors = [(r.standard_errors or (0.0,))[0] for r in (shared, each)]
    assert errors[0] == pytest.approx(2 * errors[1], rel=0.01)
    bounded = fg.top_k(
        fg.source(ROWS, **RANGE), epsilon=1, groups_per_person=1, bits=fg.SeededBits(1), **ASKED
    )
    assert "at most 1 of them" in str(bounded.privacy.groups)
    above = fg.above(
        windows,
        item="item",
        person="person",
        threshold=100,
        k=1,
        epsilon=1,
        domain=["a", "b"],
        bits=fg.SeededBits(1),
    )
    assert above.labels == ()
    assert above.spent < Fraction(1)


def test_windows() -> None:
    read = TimeWindows.read
    quarters = read("quarter", "t", "2025-11-15", datetime.date(2026, 4, 2))
    assert quarters is not None
    assert quarters.labels == ["2025-Q4", "2026-Q1", "2026-Q2"]
    assert quarters.starts[1:] == (datetime.date(2026, 1, 1), datetime.date(2026, 4, 1))
    years, days = read("year", "t", "2024-02-29", "2026-01-01"), read("day", "t", "2024-02-28", "2024-03-02")
    assert years is not None
    assert days is not None
    assert years.labels == ["2024", "2025"]
    assert days.labels == ["2024-02-28", "2024-02-29", "2024-03-01"]


def test_what_is_refused() -> None:
    for changed in (
        {"every": "week"},
        {"every": "day", "until": "2126-01-01"},
        {"time": None},
        {"since": None},
        {"until": None},
        {"since": "2026-03-01"},
        {"since": "yesterday"},
        {"since": datetime.datetime(2026, 1, 1)},
        {"until": "9999-12-31"},
        {"every": None},
    ):
        with pytest.raises(InvalidArgument):
            fg.source(ROWS, **RANGE | changed)
    windows = fg.source(ROWS, **RANGE)
    refused: list[dict[str, Any]] = [
        {"group": "item", "groups": ["a"]},
        {"domain": "unknown"},
    ]
    for said in refused:
        with pytest.raises(InvalidArgument):
            fg.top_k(windows, epsilon=1, **ASKED | said)
    with pytest.raises(InvalidArgument, match="must be a column of dates"):
        fg.top_k(fg.source(ROWS, **RANGE | {"time": "person"}), epsilon=1, **ASKED)
    with pytest.raises(InvalidArgument, match="is for top_k, above and quantiles"):
        fg.histogram(windows, items_per_person=1, epsilon=1, item="item", person="person", domain=["a", "b"])
    with pytest.raises(InvalidArgument, match="needs windows of time"):
        fg.top_k(ROWS, epsilon=1, protect="windows", **ASKED)
    with pytest.raises(InvalidArgument, match="adds up what persons lose"):
        fg.top_k(windows, epsilon=1, protect="windows", ledger=(object(), "x"), **ASKED)  # type: ignore[arg-type]


def test_on_the_command_line(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text(ROWS.to_pandas().to_csv(index=False), encoding="utf-8")
    (tmp_path / "d.csv").write_text("item\na\nb\nc\n", encoding="utf-8")
    asked = "--item item --person person -k 1 --epsilon 1 --seed 1 --json --every month --time day"
    command = ["top-k", str(table), "--domain", str(tmp_path / "d.csv"), *asked.split()]
    done = CliRunner().invoke(cli.app, [*command, "--since", "2026-01-01", "--until", "2026-03-01"])
    assert done.exit_code == 0, done.output
    assert '"2026-02"' in done.stdout
    errors = []
    for more in ([], ["--protect", "windows"]):
        words = [*command, "--since", "2026-01-01", "--until", "2026-03-01", "--dry-run", *more]
        errors.append(json.loads(CliRunner().invoke(cli.app, words).stdout)["gap_standard_error"])
    assert errors[0] == 2 * errors[1]
