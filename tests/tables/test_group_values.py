"""Groups with totals of a value, and with items of their own."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.exact.batched_ranking import BatchedRanking
from tests.tables.test_groups import _digest

Row = tuple[Any, Any, Any, Any]  # group, item, person, value
ITEMS = ["cold", "flu", "rash"]
WARDS = ["C", "A", "X"]
NAMES = ("ward", "dx", "patient", "cost")
KEPT: list[Any] = []


def _rows() -> list[Row]:
    draw = random.Random(3)
    return [
        (draw.choice("ABC"), draw.choice([*ITEMS, "odd"]), draw.randrange(30), draw.randrange(-400, 900) / 8)
        for _ in range(300)
    ]


ROWS = _rows()
ODD: list[Row] = [
    ("A", "flu", 99, 1e300),
    ("A", "flu", 99, float("nan")),
    ("C", "flu", 99, None),
    ("C", "cold", 99, float("inf")),
    ("A", "rash", None, 5.0),
    (None, "rash", 98, 5.0),
    ("A", None, 98, 5.0),
    ("X", "odd", 98, -0.0),
]


def _arrow(rows: Sequence[Row]) -> pa.Table:
    types = (pa.string(), pa.string(), pa.int64(), pa.float64())
    return pa.table({name: pa.array([row[i] for row in rows], types[i]) for i, name in enumerate(NAMES)})


def _duckdb(rows: Sequence[Row], _: Path) -> Any:
    connection = duckdb.connect()
    KEPT.append(connection)
    connection.register("rows", _arrow(rows))
    return connection.sql("SELECT * FROM rows")


def _ibis(rows: Sequence[Row], _: Path) -> Any:
    backend = ibis.duckdb.connect()
    backend.con.register("rows", _arrow(rows))
    return backend.table("rows")


def _csv(rows: Sequence[Row], folder: Path) -> Path:
    pl.DataFrame(pl.from_arrow(_arrow(rows))).write_csv(folder / "rows.csv")
    return folder / "rows.csv"


def _parquet(rows: Sequence[Row], folder: Path) -> Path:
    pl.DataFrame(pl.from_arrow(_arrow(rows))).write_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


ENGINES: dict[str, Callable[[Sequence[Row], Path], Any]] = {
    "pandas": lambda rows, _: _arrow(rows).to_pandas().astype({"ward": "string", "dx": "string"}),
    "polars": lambda rows, _: pl.DataFrame(pl.from_arrow(_arrow(rows))),
    "polars lazy": lambda rows, _: pl.DataFrame(pl.from_arrow(_arrow(rows))).lazy(),
    "pyarrow": lambda rows, _: _arrow(rows),
    "duckdb": _duckdb,
    "ibis": _ibis,
    "csv": _csv,
    "parquet": _parquet,
}


def _asked(**options: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "item": "dx",
        "person": "patient",
        "domain": ITEMS,
        "group": "ward",
        "groups": WARDS,
        "k": 2,
        "epsilon": 4,
        "value": "cost",
        "low": 0,
        "high": 100,
        "unit": "1/8",
        "bits": fg.SeededBits(7),
    }
    return asked | options


def _totals(rows: Sequence[Row], most: int | None, low: int = 0, high: int = 100) -> dict[Any, int]:
    """In eighths, by Python, as the rule says it."""
    size = 8 * max(-low, high)
    sums: dict[Any, int] = {}
    of_person: dict[Any, set[Any]] = {}
    for group, item, person, value in rows:
        if None in (group, item, person, value) or value != value or group not in WARDS:
            continue
        units = int(max(-size, min(size, value * 8)) + 0.5) if value >= 0 else -int(-max(-size, value * 8))
        sums[group, item, person] = sums.get((group, item, person), 0) + units
        of_person.setdefault(person, set()).add(group)
    chosen = {p: sorted(some, key=partial(_digest, p))[:most] for p, some in of_person.items()}
    totals = {(group, item): 0 for group in WARDS for item in ITEMS}
    for (group, item, person), units in sums.items():
        if (group, item) in totals and group in chosen[person]:
            totals[group, item] += max(8 * low, min(8 * high, units))
    return totals


def _released(release: Any) -> Any:
    return release.labels, release.gap_multiples, release.estimates, release.intervals, release.spent


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_has_the_same_totals(engine: str, tmp_path: Path) -> None:
    """Those of Python's own sums: with hardly any noise, and by the same release on the same bits."""
    table = ENGINES[engine]([*ROWS, *ODD], tmp_path)
    for most in (None, 1):
        totals = _totals([*ROWS, *ODD], most)
        sure = fg.top_k(table, **_asked(groups_per_person=most, measure=True, epsilon=10**9))
        for row in sure:
            assert round(row.estimate * 8) == totals[row.group, row.item]
    here = ENGINES["pyarrow"]([*ROWS, *ODD], tmp_path)
    signed = {"low": -50, "groups_per_person": 1}
    selected = [fg.top_k(one, **_asked(**signed)) for one in (table, here)]
    assert _released(selected[0]) == _released(selected[1])
    found = [fg.above(one, threshold="80.5", **_asked(**signed)) for one in (table, here)]
    assert _released(found[0]) == _released(found[1])


def test_one_group_is_the_release_of_its_totals() -> None:
    totals = [_totals(ROWS, None, -50)["A", item] for item in ITEMS]
    asked = _asked(groups=["A"], low=-50)
    shared: dict[str, Any] = {"sensitivity": 800, "epsilon": 4, "bits": fg.SeededBits(7)}
    release = fg.top_k(_arrow(ROWS), **asked)
    alone = fg.noisy_top_k(totals, 2, **(shared | {"bits": fg.SeededBits(7)}))
    assert release.labels == tuple(ITEMS[place] for place in alone.indices)
    assert release.gaps == tuple(gap / 8 for gap in alone.gaps)
    assert release.parameters["scale"] == alone.plan.parameters["scale"] / 8
    measured = fg.top_k(_arrow(ROWS), measure=True, **asked | {"bits": fg.SeededBits(7)})
    both = fg.select_and_measure(totals, 2, **(shared | {"bits": fg.SeededBits(7)}))
    assert measured.estimates == tuple(estimate / 8 for estimate in both.estimates)
    above = fg.above(_arrow(ROWS), threshold="20.5", **asked | {"bits": fg.SeededBits(7)})
    over = fg.hybrid_sparse_vector(totals, 164, k=2, **(shared | {"bits": fg.SeededBits(7)}))
    assert above.gaps == tuple(gap / 8 for gap in over.selected_gaps)
    assert above.threshold == fg.above(_arrow(ROWS), threshold="20.5", **asked).threshold
    said = "\n".join(above.footnotes())
    assert "totals differ in at most 1 of the groups, each by at most 100" in said
    assert "one person's rows for an item in a group to between -50 and 100" in said
    assert "total cost" in measured.title


def test_one_person_more_moves_totals_of_m_groups_within_the_bounds() -> None:
    before = _totals(ROWS, 1)
    more = [(group, item, 77, 10.0**6) for group in "ABCX" for item in ITEMS]
    sure = _asked(groups_per_person=1, measure=True, epsilon=10**9, domain=ITEMS)
    for table in (partial(_duckdb, _=Path()), _arrow):
        moved: dict[Any, int] = {}
        release = fg.top_k(table([*ROWS, *more]), **sure)
        for row in release:
            change = round(row.estimate * 8) - before[row.group, row.item]
            if change:
                moved[row.group] = max(moved.get(row.group, 0), abs(change))
        assert len(moved) == 1
        assert max(moved.values()) == 800


def test_totals_below_zero_and_no_totals_at_all() -> None:
    """An item of which nobody has any is above one whose total is negative."""
    rows: list[Row] = [("A", "cold", p, -3.0) for p in range(50)]
    rows += [("A", "flu", p, 1.0) for p in range(2)] + [("A", "flu", p, -1.0) for p in range(2, 4)]
    asked = _asked(low=-5, high=5, k=2, epsilon=10**6, groups=["A"], unit=1)
    for table in (_arrow(rows), _duckdb(rows, Path())):
        release = fg.top_k(table, **asked)
        assert set(release.labels) == {"flu", "rash"}
        assert float(release.gaps[1]) == pytest.approx(150, abs=0.1)


def test_values_of_other_kinds(tmp_path: Path) -> None:
    rows = [("A", "flu", p, Decimal("1.25")) for p in range(9)] + [("C", "cold", 3, Decimal("-9.75"))]
    typed = pa.table({name: [row[i] for row in rows] for i, name in enumerate(NAMES)})
    whole = typed.set_column(3, "cost", pa.array([2**60] * 10))
    flags = typed.set_column(3, "cost", pa.array([True] * 10))
    sure = _asked(epsilon=10**9, measure=True, k=1, unit="0.01")
    for table, expected in ((typed, 11.25), (whole, 900), (flags, 9)):
        for form in (table, pl.DataFrame(pl.from_arrow(table)).lazy()):
            release = fg.top_k(form, **(sure | {"bits": fg.SeededBits(1)}))
            assert release.by_group["A"][0].estimate == pytest.approx(expected, abs=1e-3)


def test_negative_totals_need_groups_that_every_engine_tells_apart_as_python_does() -> None:
    times = [datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 2)]
    table = pa.table({"ward": times, "dx": ["flu", "cold"], "patient": [1, 2], "cost": [1.0, 2.0]})
    with pytest.raises(InvalidArgument, match="items or groups are of the kind of column 'ward'"):
        fg.top_k(table, **_asked(groups=times, low=-1))
    assert len(fg.top_k(table, **_asked(groups=times))) == 4


OWN = {"C": ["flu", "rash", "cold"], "A": ["rash", "odd", "flu"]}
PLAIN: dict[str, Any] = {
    "value": None,
    "low": None,
    "high": None,
    "unit": None,
    "domain": OWN,
    "groups": None,
}


def _pairs(folder: Path, form: str) -> Any:
    frame = pd.DataFrame([(g, i) for g, items in OWN.items() for i in items], columns=["ward", "dx"])
    if form == "table":
        return frame
    frame.iloc[::-1].to_csv(folder / "pairs.csv", index=False)
    return folder / "pairs.csv"


@pytest.mark.parametrize("engine", ENGINES)
def test_items_of_its_own_for_each_group(engine: str, tmp_path: Path) -> None:
    """The release is that of noisy top-k on the counts of each group's own items."""
    table = ENGINES[engine](ROWS, tmp_path)
    people = {
        (group, item): len({row[2] for row in ROWS if row[:2] == (group, item)})
        for group, items in OWN.items()
        for item in items
    }
    counts = {group: [people[group, item] for item in items] for group, items in OWN.items()}
    plan: dict[str, Any] = {"epsilon": 2, "monotonic": True, "populations_per_person": 2}
    alone = fg.noisy_top_k_each(list(counts.values()), 2, bits=fg.SeededBits(7), **plan)
    release = fg.top_k(table, **_asked(**PLAIN))
    assert release.groups is not None
    assert alone.indices is not None
    assert alone.gap_multiples is not None
    assert list(release.groups.labels) == ["C", "A"]
    expected = [[OWN[g][place] for place in row] for g, row in zip(OWN, alone.indices.tolist(), strict=True)]
    assert [[row.item for row in release.by_group[g]] for g in OWN] == expected
    assert [list(row) for row in alone.gap_multiples.tolist()] == [
        list(release.gap_multiples[:2]),
        list(release.gap_multiples[2:]),
    ]
    in_order = fg.top_k(table, **_asked(**PLAIN | {"domain": {g: sorted(OWN[g]) for g in sorted(OWN)}}))
    for form in ("table", "file"):
        pairs = _asked(**PLAIN | {"domain": _pairs(tmp_path, form), "domain_group": "ward"})
        assert _released(fg.top_k(table, **pairs)) == _released(in_order)
    one = fg.top_k(table, **_asked(**PLAIN | {"groups": ["A"]}))
    assert {row.group for row in one} == {"A"}


def test_items_of_its_own_in_every_kind_of_release() -> None:
    """An item that another group has is none of this one's, however many people have it."""
    rows: list[Row] = [("A", "flu", p, 1.0) for p in range(90)] + [("A", "rash", p, 1.0) for p in range(50)]
    rows += [("C", "odd", p, 1.0) for p in range(70)] + [("C", "flu", p, 1.0) for p in range(30)]
    lists = {"A": ["rash", "cold", "mumps"], "C": ["cold", "mumps", "rash", "flu"]}
    sure = _asked(**PLAIN | {"domain": lists, "k": 1, "epsilon": 10**6})
    assert fg.top_k(_arrow(rows), **sure).labels == ("rash", "flu")
    assert fg.above(_arrow(rows), threshold=20, **sure).labels == ("rash", "flu")
    measured = fg.top_k(_arrow(rows), measure=True, **sure)
    assert [round(row.estimate) for row in measured] == [50, 30]
    totals = fg.top_k(_arrow(rows), measure=True, **sure | {"value": "cost", "low": 0, "high": 1, "unit": 1})
    assert [round(row.estimate) for row in totals] == [50, 30]
    assert "4 public items, of which each group has its own" in "\n".join(measured.footnotes())


def test_numbers_as_groups_and_items_of_pairs(tmp_path: Path) -> None:
    path, pairs = tmp_path / "rows.csv", tmp_path / "pairs.csv"
    path.write_text("ward,dx,patient\n" + "".join(f"{p % 2},{p % 3},{p}\n" for p in range(60)))
    pairs.write_text("ward,dx\n1,0\n1,1\n0,2\n0,1\n0,02\n")
    sure = _asked(**PLAIN | {"domain": pairs, "domain_group": "ward", "k": 1})
    by_text = fg.top_k(path, **sure)
    assert {row.group for row in by_text} == {"0", "1"}
    table = pd.read_csv(path)
    pairs.write_text("ward,dx\n1,0\n1,1\n0,2\n0,1\n")
    by_number = fg.top_k(table, **sure)
    assert list(by_number.groups.labels) == [0, 1]  # type: ignore[union-attr]
    listed = fg.top_k(path, **sure | {"groups": [1, 0]})
    assert list(listed.groups.labels) == [1, 0]  # type: ignore[union-attr]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a group without a list": ({"groups": ["A", "B"]}, "domain"),
    "a group with too few items": ({"domain": {"A": ["flu"], "C": ITEMS}}, "k"),
    "an item twice": ({"domain": {"A": ["flu", "flu", "rash"]}}, "domain"),
    "items of another kind": ({"domain": {"A": [1, 2, 3]}}, "domain"),
    "groups of another kind": ({"domain": {1: ITEMS}}, "groups"),
    "no groups at all": ({"domain": {}}, "groups"),
    "a text for a list": ({"domain": {"A": "flu"}}, "domain"),
    "items that cannot be told apart": ({"domain": {"A": [["flu"], ["rash"]]}}, "domain"),
    "a missing item": ({"domain": {"A": [None, "flu", "rash"]}}, "domain"),
    "a missing group": ({"domain": {None: ITEMS}}, "groups"),
    "pairs of a list": ({"domain": ITEMS, "domain_group": "ward"}, "domain_group"),
    "pairs of what occurs": ({"domain": "observed", "domain_group": "ward"}, "domain_group"),
    "no such column": ({"domain": pd.DataFrame({"dx": ["flu"]}), "domain_group": "ward"}, "domain_group"),
    "no column": ({"domain_group": 3}, "domain_group"),
    "a column of a mapping": ({"domain_column": "dx"}, "domain_column"),
    "unknown groups": ({"groups": "unknown", "delta": "1e-6", "groups_per_person": 1}, "domain"),
    "no column of groups": ({"group": None, "domain": ITEMS, "domain_group": "ward"}, "domain_group"),
    "a mapping without groups": ({"group": None}, "domain"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_is_refused(name: str) -> None:
    options, argument = BAD[name]
    asked = _asked(**PLAIN | options)
    for release in (fg.top_k, partial(fg.above, threshold=3)):
        with pytest.raises(InvalidArgument) as error:
            release(_arrow(ROWS), **asked)
        assert error.value.argument == argument


def test_many_groups_are_few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """No population is drawn by itself, but for those that doubles cannot decide."""
    calls = []
    single = BatchedRanking.single

    def counted(ranking: BatchedRanking, row: int) -> Any:
        calls.append(row)
        return single(ranking, row)

    monkeypatch.setattr(BatchedRanking, "single", counted)
    groups = 3000
    table = pa.table({"ward": [1, 2], "dx": ["flu", "flu"], "patient": [1, 2]})
    plain = _asked(**PLAIN | {"domain": ITEMS, "groups": range(groups), "k": 2, "groups_per_person": 1})
    assert len(fg.above(table, threshold=3, **plain)) > 0
    assert len(fg.top_k(table, measure=True, **plain)) == 2 * groups
    assert len(calls) < groups / 100
