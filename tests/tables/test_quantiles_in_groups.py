"""Quantiles in groups: who counts where, what one person can change, what is charged, and what is said."""

from __future__ import annotations

import datetime
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import freegap as fg
from freegap.cli import app
from freegap.mechanisms.quantiles import Grid, QuantilesPlan, draw_quantiles
from freegap.mechanisms.quantiles_node import Spread
from freegap.tables.groups import read_groups
from freegap.tables.quantiles_grid import numbers_of
from freegap.tables.quantiles_people import GroupsOfPeople, PeopleInTable
from freegap.tables.quantiles_range import RangeSearch
from freegap.tables.sources import open_source
from freegap.values.measures import Pure, ZeroConcentrated

Row = tuple[Any, Any, Any]  # group, value, person
WARDS = ["C", "A", "X"]  # nobody is in X, and nobody lists B and D
GRID = Grid.read(0, 60, 3)
KEPT: list[Any] = []  # older DuckDBs close a connection that nobody holds


def _rows(number: int, people: int) -> list[Row]:
    draw = random.Random(1)
    return [
        (draw.choice("ABCD"), draw.randrange(-9, 80), f"p{draw.randrange(people)}") for _ in range(number)
    ]


ROWS = _rows(300, 40)


def _arrow(rows: Sequence[Row]) -> pa.Table:
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(("ward", "cost", "patient"))})


def _frame(rows: Sequence[Row]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["ward", "cost", "patient"])


def _duckdb(rows: Sequence[Row], _: Path) -> Any:
    connection = duckdb.connect()
    KEPT.append(connection)
    connection.register("rows", _arrow(rows))
    return connection.sql("SELECT ward, cost, patient FROM rows")


def _ibis(rows: Sequence[Row], _: Path) -> Any:
    backend = ibis.duckdb.connect()
    backend.con.register("rows", _arrow(rows))
    return backend.table("rows")


def _csv(rows: Sequence[Row], folder: Path) -> Path:
    _frame(rows).to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def _parquet(rows: Sequence[Row], folder: Path) -> Path:
    _frame(rows).to_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


ENGINES: dict[str, Callable[[Sequence[Row], Path], Any]] = {
    "pandas": lambda rows, _: _frame(rows),
    "pandas objects": lambda rows, _: _frame(rows).astype({"ward": object, "patient": object}),
    "polars": lambda rows, _: pl.DataFrame(pl.from_arrow(_arrow(rows))),
    "pyarrow": lambda rows, _: _arrow(rows),
    "duckdb": _duckdb,
    "ibis": _ibis,
    "csv": _csv,
    "parquet": _parquet,
}
CHOOSE: dict[str, Callable[[list[int]], int]] = {
    "median": lambda own: sorted(own)[(len(own) - 1) // 2],
    "smallest": min,
    "largest": max,
    "spread": lambda own: max(own) - min(own),
}


def _cell(value: int) -> int:
    return min(max(value, 0), 60) // 3


def _by_hand(
    rows: Sequence[Row], most: int | None, rule: str = "median", groups: Sequence[Any] = WARDS
) -> list[dict[int, int]]:
    """The people in each cell of each group, by Python's own means."""
    own: dict[Any, dict[Any, list[int]]] = {}
    for group, value, person in rows:
        if group in groups:
            own.setdefault(person, {}).setdefault(group, []).append(_cell(value))
    counts: dict[Any, Counter[int]] = {group: Counter() for group in groups}
    for person, by_group in own.items():

        def digest(group: Any, person: Any = person) -> str:
            return hashlib.md5(f"{person}\n{group}".encode(), usedforsecurity=False).hexdigest()

        for group in sorted(by_group, key=digest)[:most]:
            counts[group][CHOOSE[rule](by_group[group])] += 1
    return [dict(counts[group]) for group in groups]


def _counted(table: Any, most: int | None, rule: Any = "median", groups: Any = WARDS) -> list[dict[int, int]]:
    with open_source(table, "cost", "patient", "ward") as opened:
        listed, source = read_groups(groups, opened, normalize=False)
        tallies = PeopleInTable(numbers_of(source), rule, GroupsOfPeople(listed, most)).cells(GRID)
    assert all(list(cells) == sorted(set(cells.tolist())) for cells, _ in tallies)
    return [dict(zip(cells.tolist(), people.tolist(), strict=True)) for cells, people in tallies]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_counts_the_same(engine: str, tmp_path: Path) -> None:
    table = ENGINES[engine](ROWS, tmp_path)
    for most, rule in ((None, "median"), (1, "median"), (2, "largest"), (1, "spread"), (None, "smallest")):
        assert _counted(table, most, rule) == _by_hand(ROWS, most, rule)


ANOTHER: dict[str, list[Row]] = {
    "in one group": [("A", 3, "p99"), ("A", 50, "p99")],
    "in all": [(group, value, "p99") for group in "ABCDX" for value in (-5, 20, 900)],
    "in groups that nobody lists": [("B", 3, "p99"), ("nowhere", 3, "p99")],
    "without a group": [(None, 3, "p99"), ("A", 9, "p99")],
    "without a number": [("A", None, "p99"), ("C", 9, "p99")],
}


@pytest.mark.parametrize("engine", ["pandas", "pandas objects", "polars", "duckdb"])
@pytest.mark.parametrize("who", ANOTHER)
def test_one_person_more_changes_nobody_elses_rows(engine: str, who: str, tmp_path: Path) -> None:
    rows = [row for row in ANOTHER[who] if None not in row]
    table = ENGINES[engine]([*ANOTHER[who], *ROWS], tmp_path)
    for most in (1, 2):
        alone = _by_hand(rows, most)
        assert sum(1 for cells in alone if cells) <= most
        assert all(sum(cells.values()) <= 1 for cells in alone)
        before = _by_hand(ROWS, most)
        after = [dict(Counter(a) + Counter(b)) for a, b in zip(before, alone, strict=True)]
        assert _counted(table, most) == after


def test_groups_that_only_the_engine_tells_apart() -> None:
    """Somebody who is twice in one group counts there once, whichever way the engine sees it."""
    moments = pl.Series([1, 2, 3000, 1, 2]).cast(pl.Datetime("ns"))  # Python's times have no nanoseconds
    table = pl.DataFrame({"ward": moments, "cost": [30, 6, 9, 12, 15], "patient": [1, 1, 1, 2, 3]})
    start = datetime.datetime(1970, 1, 1)
    later = start + datetime.timedelta(microseconds=3)
    for most in (None, 2):
        assert _counted(table, most, "median", [start, later]) == [{2: 1, 4: 1, 5: 1}, {3: 1}]


def test_groups_of_other_kinds(tmp_path: Path) -> None:
    days = [datetime.date(2026, 1, day) for day in (1, 2, 3)]
    rows = [(days[p % 2], 3 * p, f"p{p}") for p in range(9)] + [(days[1], 30, "p0")]
    expected = _by_hand(rows, 1, groups=days)
    for build in ("polars", "pyarrow", "pandas", "csv"):
        assert _counted(ENGINES[build](rows, tmp_path), 1, groups=days) == expected
    numbers = [(None if group == "B" else ord(group), value, person) for group, value, person in ROWS]
    wanted = [ord(group) for group in WARDS]
    known = [row for row in numbers if row[0] is not None]
    for build in ("pandas", "polars"):  # in pandas floats, beside a missing value
        counted = _counted(ENGINES[build](numbers, tmp_path), None, groups=wanted)
        assert counted == _by_hand(known, None, groups=wanted)


# What each group has of the budget ---------------------------------------------------------------

ASKED: dict[str, Any] = {
    "value": "cost",
    "person": "patient",
    "q": [0.25, 0.5, 0.9],
    "low": 0,
    "high": 60,
    "resolution": 3,
    "group": "ward",
    "groups": WARDS,
}
BOUNDS: list[tuple[dict[str, Any], int]] = [
    ({"one_group_per_person": True}, 1),
    ({"groups_per_person": 1}, 1),
    ({"groups_per_person": 2}, 2),
    ({"groups_per_person": 10**9}, 3),
    ({}, 3),
]


@pytest.mark.parametrize(("bound", "parts"), BOUNDS)
@pytest.mark.parametrize("intervals", [False, True])
def test_each_group_is_drawn_with_its_part(bound: dict[str, Any], parts: int, intervals: bool) -> None:
    """The release is that of `draw_quantiles` on the people of each group, with ε divided by m."""
    release = fg.quantiles(
        _arrow(ROWS), **ASKED, **bound, epsilon=3, intervals=intervals, bits=fg.SeededBits(7)
    )
    most = None if "one_group_per_person" in bound else parts
    source = fg.SeededBits(7)
    plan = QuantilesPlan.read(ASKED["q"], Pure(Fraction(3, parts)), intervals, Fraction(0))
    drawn = []
    for cells in _by_hand(ROWS, most):
        places = sorted(cells)
        spread = Spread(np.array(places, dtype=np.int64), np.array([cells[at] for at in places]), GRID.cells)
        drawn.append(draw_quantiles(plan, GRID, spread, source))
    assert release.values == tuple(value for one in drawn for value in one.values)
    if intervals:
        assert release.intervals == tuple(pair for one in drawn for pair in one.intervals or ())
    assert release.spent == release.epsilon == 3
    assert release.groups is not None
    assert (release.groups.touched, release.groups.sizes) == (parts, (3, 3, 3))
    assert release.groups.declared is ("one_group_per_person" in bound)
    assert release.rank_error == plan.rank_error(GRID.cells)


@pytest.mark.parametrize("intervals", [False, True])
def test_groups_that_are_alike_are_drawn_each_by_itself(
    monkeypatch: pytest.MonkeyPatch, intervals: bool
) -> None:
    """What is ranked is made once for them; noise is not, and the release is as if nothing were shared."""
    wards = range(40)
    rows = [(ward, 5 * (person % 3)) for ward in wards for person in range(6 + ward % 2)]
    table = pl.DataFrame(rows, schema=["ward", "cost"], orient="row")
    asked: dict[str, Any] = {
        "value": "cost",
        "protect": "rows",
        "group": "ward",
        "groups": wards,
        "low": 0,
        "high": 12,
    }

    def made() -> tuple[Any, ...]:
        source = fg.SeededBits(3)
        release = fg.quantiles(table, **asked, q=[0.25, 0.5], epsilon=1, intervals=intervals, bits=source)
        return release.values, release.intervals, source.bits(64)

    shared = made()
    assert len(set(zip(shared[0][::2], shared[0][1::2], strict=True))) > 5
    for name, number in (("_MOST_KNOWN", 1), ("_FEW_CELLS", 0)):
        monkeypatch.setattr(f"freegap.tables.quantiles.{name}", number)
        assert made() == shared


def test_in_rho_the_parts_add_up() -> None:
    release = fg.quantiles(_arrow(ROWS), **ASKED, groups_per_person=2, rho="3/4", bits=fg.SeededBits(7))
    alone = QuantilesPlan.read(ASKED["q"], ZeroConcentrated(Fraction(3, 8)), False, Fraction(0))
    assert release.spent == 2 * alone.charge
    assert Fraction(74, 100) < release.spent <= Fraction(3, 4)
    assert (release.measure, release.epsilon) == ("rho", None)


def test_a_row_that_is_protected_by_itself_is_in_one_group() -> None:
    asked = ASKED | {"person": None, "protect": "rows", "epsilon": 1}
    release = fg.quantiles(_frame(ROWS), **asked, bits=fg.SeededBits(1))
    assert release.groups is not None
    assert (release.groups.touched, release.groups.enforced) == (1, False)
    assert "one row more" in release.privacy.neighbours
    moments = pl.Series([1, 2, 3000] * 100).cast(pl.Datetime("ns"))  # of which Python calls two equal
    start = datetime.datetime(1970, 1, 1)
    table = pl.DataFrame({"ward": moments, "cost": [30, 6, 9] * 100})
    asked |= {"groups": [start, start + datetime.timedelta(microseconds=3)], "q": [0.25, 0.75], "epsilon": 90}
    assert list(fg.quantiles(table, **asked).values) == [6, 30, 9, 9]


def test_rows_in_groups_that_are_not_listed_leave_no_trace() -> None:
    for more in ({}, {"low": None, "high": None}):
        asked = ASKED | {"epsilon": 1, "groups_per_person": 1} | more
        some = [row for row in ROWS if row[0] in WARDS]
        made = [fg.quantiles(_frame(rows), **asked, bits=fg.SeededBits(1)) for rows in (ROWS, some)]
        assert made[0].to_json() == made[1].to_json()


# One range for all groups ------------------------------------------------------------------------


def test_the_range_is_found_over_all_groups_with_noise_for_m() -> None:
    """On the same bits as sparse vectors of sensitivity m, on counts over all groups."""
    search = RangeSearch(Fraction(1), Fraction(1), touched=3)
    assert search.few == 12
    tallies = [
        (np.array([-2, 0]), np.array([9, 5])),
        (np.array([1, 3]), np.array([7, 6])),
        (np.array([3]), np.array([6])),
        (np.array([], dtype=np.int64), np.array([], dtype=np.int64)),
    ]
    further = len(search.reaches)
    asked: dict[str, Any] = {"k": 1, "epsilon": 1, "monotonic": True, "gap": False, "sensitivity": 3}
    for seed in range(12):
        grid = search.find(tallies, fg.SeededBits(seed))
        source = fg.SeededBits(seed)
        above = fg.sparse_vector([-19, -12, -12] + [0] * (further - 3), -12, **asked, bits=source)
        below = fg.sparse_vector([-9, -9] + [0] * (further - 1), -12, **asked, bits=source)
        assert grid.high == max(4 ** above.indices[0], grid.step)
        assert -grid.low == (max(4 ** (below.indices[0] - 1), grid.step) if below.indices[0] else 0)


def test_the_search_and_the_groups_share_the_budget() -> None:
    asked = ASKED | {"low": None, "high": None, "groups_per_person": 2}
    release = fg.quantiles(_frame(ROWS), **asked, epsilon=16, bits=fg.SeededBits(1))
    plan = release.plan
    assert isinstance(plan, QuantilesPlan)
    assert [plan.search, plan.share, plan.touched, release.spent] == [2, Pure(Fraction(7)), 2, 16]
    in_rho = fg.quantiles(_frame(ROWS), **asked, rho=1, intervals=True, bits=fg.SeededBits(1))
    plan = in_rho.plan
    assert isinstance(plan, QuantilesPlan)
    drawn = plan.counting**2 / 2 + plan.levels * plan.each**2 / 8
    assert in_rho.spent == plan.search**2 / 2 + 2 * drawn <= 1
    assert in_rho.spent > Fraction(99, 100)


# What is said, and what is refused ---------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path: Path) -> fg.Ledger:
    book = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    book.create("shop", epsilon=3)
    return book


def test_what_is_said_of_it(ledger: fg.Ledger) -> None:
    release = fg.quantiles(
        _frame(ROWS), **ASKED, groups_per_person=1, epsilon="1/2", intervals=True, ledger=(ledger, "shop")
    )
    assert [row.group for row in release] == [ward for ward in WARDS for _ in range(3)]
    assert [row.quantile for row in release] == ["25 %", "50 %", "90 %"] * 3
    assert [row.estimate for row in release.by_group["A"]] == [float(v) for v in release.values[3:6]]
    assert "in each of 3 groups" in str(release)
    assert "each person counts in at most 1 of them" in (release.privacy.groups or "")
    assert "one number in each of at most 1 of the groups" in release.privacy.neighbours
    said = json.loads(release.to_json())
    assert said["groups"]["labels"] == WARDS
    again = fg.Release.from_json(release.to_json())
    assert again.rows(exact=True) == release.rows(exact=True)
    assert ledger.account("shop").spent == release.spent == Fraction(1, 2)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"groups": None}, "groups"),
        ({"groups": "unknown"}, "groups"),
        ({"groups": "observed"}, "groups"),
        ({"groups": []}, "groups"),
        ({"groups": [1, 2]}, "groups"),
        ({"group": "nope"}, "group"),
        ({"group": None}, "groups"),
        ({"groups_per_person": 0}, "groups_per_person"),
        ({"groups_per_person": 1, "one_group_per_person": True}, "groups_per_person"),
        ({"table": [1, 2], "value": None, "person": None}, "group"),
        ({"rho": 1}, "epsilon"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_charged(
    options: dict[str, Any], argument: str, ledger: fg.Ledger
) -> None:
    given = {"table": _frame(ROWS), "epsilon": 1, "ledger": (ledger, "shop")} | ASKED | options
    with pytest.raises(fg.InvalidArgument) as caught:
        fg.quantiles(**given)
    assert caught.value.argument == argument
    assert ledger.account("shop").spent == ledger.account("shop").reserved == 0


def test_windows_of_time_are_groups() -> None:
    rows = [(datetime.date(2026, 1 + p % 3, 5), p % 40, f"p{p}") for p in range(90)]
    table = fg.source(_arrow(rows), every="month", time="ward", since="2026-01-01", until="2026-04-01")
    asked = {name: ASKED[name] for name in ("value", "person", "q", "low", "high", "resolution")}
    release = fg.quantiles(table, **asked, groups_per_person=1, epsilon=9, bits=fg.SeededBits(1))
    assert release.groups is not None
    assert list(release.by_group) == ["2026-01", "2026-02", "2026-03"]


def test_the_command_line(tmp_path: Path) -> None:
    path = _csv(ROWS, tmp_path)
    pd.DataFrame({"ward": WARDS}).to_csv(tmp_path / "wards.csv", index=False)
    words = f"quantiles {path} --value cost --person patient --q 0.25,0.5,0.9 --low 0 --high 60"
    words += f" --resolution 3 --group ward --groups {tmp_path}/wards.csv --groups-per-person 1 --json"
    run = CliRunner()
    made = run.invoke(app, [*words.split(), "--epsilon", "2", "--seed", "4"])
    release = fg.quantiles(
        _arrow(ROWS),
        **ASKED | {"groups": sorted(WARDS)},
        groups_per_person=1,
        epsilon=2,
        bits=fg.SeededBits(4),
    )
    assert json.loads(made.stdout)["values"] == [float(value) for value in release.values]
    dry = json.loads(run.invoke(app, [*words.split(), "--rho", "2", "--dry-run"]).stdout)
    assert (dry["measure"], dry["groups_per_person"]) == ("rho", 1)
    plan = QuantilesPlan.read(ASKED["q"], ZeroConcentrated(Fraction(2)), False, Fraction(0))
    assert dry["charged_at_most"] == str(plan.charge)
    assert dry["rank_error"] == plan.rank_error(GRID.cells)
    lines = run.invoke(app, [*words.split()[:-1], "--epsilon", "2", "--dry-run"]).stdout
    assert "each group has all of it" in lines
