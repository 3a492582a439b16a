"""Groups: what is counted in each, what one person can change, what is charged, and what is said of it."""

from __future__ import annotations

import datetime
import hashlib
import math
import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import freegap as fg
from freegap.errors import InvalidArgument, SpellingWarning
from freegap.mechanisms.batches import draw_top_k_batch
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.tables import grouped as releasing
from freegap.tables.grouped import _absent, grouped
from freegap.tables.grouping import GroupArguments
from freegap.tables.groups import GroupCounts
from freegap.tables.results import of_people
from freegap.values.measures import Pure

Row = tuple[Any, Any, Any]  # group, item, person
ITEMS = ["cold", "flu", "mumps", "rash"]
WARDS = ["C", "A", "X"]  # nobody is in X, and nobody lists B and D


def _rows(number: int, people: int, seed: int = 1) -> list[Row]:
    draw = random.Random(seed)
    return [
        (draw.choice("ABCD"), draw.choice([*ITEMS, "odd"]), draw.randrange(people)) for _ in range(number)
    ]


ROWS = _rows(400, 40)
KEPT: list[Any] = []  # older DuckDBs close a connection that nobody holds, though a relation needs it


def _arrow(rows: Sequence[Row]) -> pa.Table:
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(("ward", "dx", "patient"))})


TABLE = _arrow(ROWS)


def _frame(rows: Sequence[Row]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["ward", "dx", "patient"])


def _duckdb(rows: Sequence[Row], _: Path) -> Any:
    connection = duckdb.connect()
    KEPT.append(connection)
    connection.register("rows", _arrow(rows))
    return connection.sql("SELECT ward, dx, patient FROM rows")


def _ibis(rows: Sequence[Row], _: Path) -> Any:
    backend = ibis.duckdb.connect()
    backend.con.register("rows", _arrow(rows))
    return backend.table("rows")


def _file(kind: str) -> Callable[[Sequence[Row], Path], Any]:
    def write(rows: Sequence[Row], folder: Path) -> Path:
        path = folder / f"rows.{kind}"
        getattr(pl.DataFrame(pl.from_arrow(_arrow(rows))), f"write_{kind}")(path)
        return path

    return write


ENGINES: dict[str, Callable[[Sequence[Row], Path], Any]] = {
    "pandas": lambda rows, _: _frame(rows),
    "pandas objects": lambda rows, _: _frame(rows).astype(object),
    "polars": lambda rows, _: pl.DataFrame(pl.from_arrow(_arrow(rows))),
    "pyarrow": lambda rows, _: _arrow(rows),
    "duckdb": _duckdb,
    "ibis": _ibis,
    "csv": _file("csv"),
    "json lines": lambda rows, folder: _file("ndjson")(rows, folder),
    "parquet": _file("parquet"),
}


def _cells(table: Any, most: int | None = None, groups: Any = WARDS, **options: Any) -> dict[Any, int]:
    """Every group and item, and how many people have it."""
    asked: dict[str, Any] = {
        "item": "dx",
        "person": "patient",
        "domain": ITEMS,
        "domain_column": None,
        "observed_keys_are_public": False,
        "normalize": False,
    }
    of = GroupArguments.read("ward", groups, most, False)
    with grouped(table, of, Pure(Fraction(1)), None, **(asked | options)) as within:
        counts = within.count().flat()[0].reshape(len(within.groups.items), -1)
        rows = zip(within.groups.items, counts.tolist(), strict=True)
        return {(g, i): c for g, row in rows for i, c in zip(within.items.listed.items, row, strict=True)}


def _digest(person: Any, group: Any) -> str:
    return hashlib.md5(f"{person}\n{group}".encode(), usedforsecurity=False).hexdigest()


def _by_hand(rows: Sequence[Row], most: int | None, groups: Sequence[Any] = WARDS) -> dict[Any, int]:
    """By Python sets, as the rule says it."""
    of_person: dict[Any, set[Any]] = {}
    for group, _, person in rows:
        if group in groups:
            of_person.setdefault(person, set()).add(group)
    chosen = {p: sorted(some, key=partial(_digest, p))[:most] for p, some in of_person.items()}
    people: dict[Any, set[Any]] = {(group, item): set() for group in groups for item in ITEMS}
    for group, item, person in rows:
        if (group, item) in people and group in chosen[person]:
            people[group, item].add(person)
    return {cell: len(persons) for cell, persons in people.items()}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_counts_the_same(engine: str, tmp_path: Path) -> None:
    table = ENGINES[engine](ROWS, tmp_path)
    for most in (None, 1, 2):
        assert _cells(table, most) == _by_hand(ROWS, most)
    numbers = [(ord(group), item, person) for group, item, person in ROWS]
    listed = [67, 65, 2**70, 88]
    assert _cells(ENGINES[engine](numbers, tmp_path), 1, listed) == _by_hand(numbers, 1, listed)


ANOTHER: dict[str, list[Row]] = {
    "in one group": [("A", "flu", 99), ("A", "rash", 99)],
    "in all": [(group, item, 99) for group in "ABCDX" for item in ITEMS],
    "in groups that nobody lists": [("B", "flu", 99), ("nowhere", "flu", 99)],
    "with items that nobody lists": [("A", "odd", 99), ("C", "odder", 99)],
    "without a group": [(None, "flu", 99), ("A", "cold", 99)],
    "without an item": [("A", None, 99), ("C", "cold", 99)],
    "with names of nothing": [("", "", 99), ("\x00", "flu", 99)],
}


@pytest.mark.parametrize("engine", ENGINES)
def test_one_person_more_changes_nobody_elses_rows(engine: str, tmp_path: Path) -> None:
    """Counts are the sum of what each person has alone: in at most m groups, at most one in each cell."""
    more = [[(*row[:2], 90 + n) for row in rows] for n, rows in enumerate(ANOTHER.values())]
    table = ENGINES[engine]([*ROWS, *(row for rows in more for row in rows)], tmp_path)
    for most in (1, 2):
        everyone = _by_hand(ROWS, most)
        for rows in more:
            alone = _by_hand([row for row in rows if None not in row], most)
            assert max(alone.values()) <= 1
            assert len({group for (group, _), count in alone.items() if count}) <= most
            everyone = {cell: count + alone[cell] for cell, count in everyone.items()}
        assert _cells(table, most) == everyone


def test_one_person_less_takes_that_persons_rows_alone() -> None:
    for build in (_frame, lambda rows: _duckdb(rows, Path())):
        before = _cells(build(ROWS), 1)
        for person in (0, 17, 39):
            after = _cells(build([row for row in ROWS if row[2] != person]), 1)
            alone = _by_hand([row for row in ROWS if row[2] == person], 1)
            assert before == {cell: count + alone[cell] for cell, count in after.items()}


def _asked(**options: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "item": "dx",
        "person": "patient",
        "k": 2,
        "epsilon": 3,
        "domain": ITEMS,
        "group": "ward",
        "groups": WARDS,
        "bits": fg.SeededBits(7),
    }
    return asked | options


@pytest.mark.parametrize(
    ("bound", "parts"),
    [
        ({"one_group_per_person": True}, 1),
        ({"groups_per_person": 1}, 1),
        ({"groups_per_person": 2}, 2),
        ({"groups_per_person": 10**9}, 3),
        ({}, 3),
    ],
)
def test_what_each_group_has_of_the_budget(bound: dict[str, Any], parts: int) -> None:
    """The release is that of noisy top-k on the counts of each group, with the budget divided."""
    release = fg.top_k(TABLE, **_asked(**bound))
    counts = _by_hand(ROWS, None if "one_group_per_person" in bound else parts)
    plan = TopKPlan.read("noisy_top_k", k=2, epsilon=Fraction(3, parts), monotonic=True)
    values = np.array([counts[group, item] for group in WARDS for item in ITEMS])
    drawn = draw_top_k_batch(plan, values, np.array([0, 4, 8, 12]), fg.SeededBits(7))
    assert release.labels == tuple(ITEMS[place] for place in drawn.places.ravel())
    assert release.gap_multiples == tuple(np.asarray(drawn.gaps).ravel().tolist())
    assert release.parameters["scale"] == plan.scale
    assert release.spent == release.epsilon == 3
    assert release.groups is not None
    assert (release.groups.touched, release.groups.sizes) == (parts, (2, 2, 2))
    assert release.groups.declared is ("one_group_per_person" in bound)


def test_one_group_is_the_release_of_its_rows() -> None:
    counts = [_by_hand(ROWS, None)["A", item] for item in ITEMS]
    alone = fg.noisy_top_k(counts, 2, epsilon=3, monotonic=True, bits=fg.SeededBits(7))
    release = fg.top_k(TABLE, **_asked(groups=["A"]))
    assert release.labels == tuple(ITEMS[place] for place in alone.indices)
    assert (release.gaps, release.spent) == (alone.gaps, alone.spent)


def test_in_rho_the_parts_add_up() -> None:
    release = fg.top_k(TABLE, **_asked(epsilon=None, rho="3/4", groups_per_person=2))
    plan = TopKPlan.read("noisy_top_k", k=2, rho="3/8", monotonic=True)
    assert release.spent == 2 * plan.charge <= Fraction(3, 4)
    assert release.parameters["scale"] == plan.scale
    measured = fg.top_k(TABLE, **_asked(epsilon=None, rho="3/4", groups_per_person=2, measure=True))
    assert measured.spent <= Fraction(3, 4)
    assert [row.gap is None for row in measured] == [False, True] * 3  # the last gap would cost more
    assert len(measured.gaps) == 3


def test_above_charges_for_the_groups_that_found_most() -> None:
    """Whoever is in two groups moves two factors of the odds, at most those of the two that spent most."""
    rows = [("A", item, person) for item in ITEMS for person in range(900)]
    rows += [("C", "flu", person) for person in range(900)]
    shared = _asked(k=4, threshold=450)
    release = fg.above(_arrow(rows), **(shared | {"groups_per_person": 2, "epsilon": 8}))
    assert release.groups is not None
    assert release.groups.sizes == (1, 4, 0)  # each person counts in A and in C
    spent = {
        size: fg.hybrid_sparse_vector(
            [10**6] * size + [0] * (4 - size), 450, k=4, epsilon=4, monotonic=True
        ).spent
        for size in (0, 1, 4)
    }
    assert release.spent == spent[4] + spent[1] < 8
    assert not release.complete
    alone = fg.above(_arrow(rows), **(shared | {"one_group_per_person": True, "epsilon": 4}))
    assert alone.spent == spent[4] == 4
    every = fg.above(_arrow(rows), **(shared | {"epsilon": 12}))
    assert every.spent == spent[4] + spent[1] + spent[0]
    in_rho = fg.above(_arrow(rows), **(shared | {"groups_per_person": 2, "epsilon": None, "rho": 2}))
    assert in_rho.spent == 2 * fg.hybrid_sparse_vector([0] * 4, 450, k=4, rho=1, monotonic=True).spent


def _listed_counts(group: str, rows: Sequence[Row] = ROWS) -> list[int]:
    return [_by_hand(rows, None, [group])[group, item] for item in ITEMS]


def test_above_in_one_group_is_the_release_of_its_counts() -> None:
    """With estimates and intervals as without groups; all of the groups' draws: tests of batches."""
    for noise, threshold in (("exponential", 12), ("laplace", "41/3")):
        release = fg.above(TABLE, **_asked(threshold=threshold, groups=["A"], noise=noise))
        shared: dict[str, Any] = {"k": 2, "epsilon": 3, "monotonic": True, "noise": noise}
        alone = fg.hybrid_sparse_vector(_listed_counts("A"), threshold, bits=fg.SeededBits(7), **shared)
        assert release.labels == tuple(ITEMS[place] for place in alone.indices)
        assert (release.gap_multiples, release.spent) == (alone.gap_multiples, alone.spent)
        half = release.resolution / 2
        assert release.estimates == tuple(estimate + half for estimate in alone.estimates)
        assert release.intervals == of_people(fg.confidence_intervals(alone))
        assert release.standard_errors == tuple(math.sqrt(v) for v in fg.gap_variances(alone))


@pytest.mark.parametrize("budget", [{"epsilon": 3}, {"epsilon": None, "rho": "1/2"}])
def test_measured_in_one_group_is_the_release_of_its_counts(budget: dict[str, Any]) -> None:
    for k, items in ((2, ITEMS), (4, [*ITEMS, "odd"])):
        asked = _asked(measure=True, groups=["A"], k=k, domain=items) | budget
        release = fg.top_k(TABLE, **asked)
        counts = [sum(1 for _ in {r[2] for r in ROWS if r[:2] == ("A", item)}) for item in items]
        alone = fg.select_and_measure(counts, k, monotonic=True, bits=fg.SeededBits(7), **budget)
        assert release.labels == tuple(items[place] for place in alone.indices)
        assert (release.estimates, release.spent) == (alone.estimates, alone.spent)
        assert release.standard_errors == alone.standard_errors
        assert release.intervals == of_people(alone.intervals())
        assert release.gap_multiples == alone.selection.gap_multiples


UNKNOWN: dict[str, Any] = {"groups": "unknown", "delta": "1e-6", "epsilon": 8}


@pytest.mark.parametrize("engine", ENGINES)
def test_groups_that_nobody_has_listed(engine: str, tmp_path: Path) -> None:
    """Half of ε names them as items of an unknown domain are named; the rest is as if they were listed."""
    rows = [*ROWS, ("rare", "flu", 500), ("rarer", "flu", 501)]
    asked = _asked(groups_per_person=2, bits=fg.SeededBits(5)) | UNKNOWN
    release = fg.top_k(ENGINES[engine](rows, tmp_path), **asked)
    bits = fg.SeededBits(5)
    of_person: dict[Any, set[Any]] = {}
    for group, _, person in rows:
        of_person.setdefault(person, set()).add(group)
    people: dict[Any, int] = {}
    for person, some in of_person.items():
        for group in sorted(some, key=partial(_digest, person))[:2]:
            people[group] = people.get(group, 0) + 1
    named = fg.unknown_counts(people, epsilon=4, delta="1e-6", items_per_person=2, bits=bits)
    groups = sorted(named.labels)
    assert groups == ["A", "B", "C", "D"]
    counts = _by_hand(rows, 2, groups)
    plan = TopKPlan.read("noisy_top_k", k=2, epsilon=2, monotonic=True)
    values = np.array([counts[group, item] for group in groups for item in ITEMS])
    drawn = draw_top_k_batch(plan, values, np.arange(5) * 4, bits)
    assert release.labels == tuple(ITEMS[place] for place in drawn.places.ravel())
    assert release.groups is not None
    assert list(release.groups.labels) == groups
    assert release.groups.least == named.parameters["least"]
    assert (release.measure, release.delta) == ("epsilon-delta", Fraction(1, 10**6))
    assert release.spent == 8
    assert "half of ε and δ" in "\n".join(release.footnotes())


def test_nobody_brings_in_more_groups_than_count() -> None:
    """Thirty people in each of thirty groups: enough to name them all, if each did not count in one alone."""
    table = _arrow([(group, "flu", person) for group in range(30) for person in range(30)])
    release = fg.top_k(table, **(_asked(groups_per_person=1) | UNKNOWN | {"epsilon": 2}))
    assert len(release) == 0


def test_where_no_group_is_named(ledger_of_both: fg.Ledger) -> None:
    few = _arrow(ROWS[:3])
    asked = _asked(groups_per_person=1, ledger=(ledger_of_both, "ward")) | UNKNOWN | {"epsilon": 1}
    for release in (
        fg.top_k(few, **asked),
        fg.top_k(few, measure=True, **asked),
        fg.above(few, threshold=1, **asked),
    ):
        assert len(release.rows()) == len(release.by_group) == 0
        assert release.spent == 1
        assert fg.Release.from_json(release.to_json()).footnotes() == release.footnotes()
    account = ledger_of_both.account("ward")
    assert account.own_delta - account.own_delta_remaining == Fraction(3, 10**6)


def test_above_in_groups_that_nobody_has_listed_is_charged_in_full() -> None:
    """What depends on the output has no theorem under (ε, δ)."""
    release = fg.above(TABLE, **(_asked(threshold=10**6, one_group_per_person=True) | UNKNOWN))
    assert release.groups is not None
    assert list(release.groups.labels) == ["A", "B", "C", "D"]
    assert len(release.labels) == 0
    assert release.spent == 8


def test_a_row_that_is_protected_by_itself_is_in_one_group() -> None:
    release = fg.top_k(TABLE, **_asked(person=None, protect="rows"))
    plan = TopKPlan.read("noisy_top_k", k=2, epsilon=3, monotonic=True)
    counts = Counter((group, item) for group, item, _ in ROWS)
    values = np.array([counts[group, item] for group in WARDS for item in ITEMS])
    drawn = draw_top_k_batch(plan, values, np.array([0, 4, 8, 12]), fg.SeededBits(7))
    assert release.labels == tuple(ITEMS[place] for place in drawn.places.ravel())
    assert "a row is in one of them; each has noise of its own and all of ε" in str(release)


def test_only_some_rows_count() -> None:
    release = fg.top_k(TABLE, **_asked(where="dx <> 'flu'", groups_per_person=1))
    kept = _arrow([row for row in ROWS if row[1] != "flu"])
    assert release.labels == fg.top_k(kept, **_asked(groups_per_person=1)).labels


def test_rows_in_groups_that_are_not_listed_leave_no_trace() -> None:
    kept = [row for row in ROWS if row[0] in WARDS]
    for bound in ({}, {"groups_per_person": 1}, {"one_group_per_person": True}):
        both = [fg.top_k(_arrow(rows), **_asked(bits=fg.SeededBits(7), **bound)) for rows in (ROWS, kept)]
        assert str(both[0]) == str(both[1])
        assert both[0].to_json() == both[1].to_json()


def test_a_domain_that_cannot_be_listed_for_each_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """With hardly any noise: what occurs by its count, then of the others any, each at most once."""
    rows = [("A", item, person) for item in (5, 10**11) for person in range(item % 90 + 100)]
    rows += [("C", 7, 1), ("A", -1, 1), ("C", 10**12, 1)]
    asked = _asked(domain=range(10**12), k=3, epsilon=10**9, one_group_per_person=True)
    release = fg.top_k(_arrow(rows), **asked)
    (a1, a2, a3), (c1, c2, c3), x = ([row.item for row in release.by_group[g]] for g in ("A", "C", "X"))
    assert ({a1, a2}, c1) == ({5, 10**11}, 7)
    assert len({5, 10**11, a3}) == len({7, c2, c3}) == len(set(x)) == 3
    assert all(0 <= item < 10**12 for item in release.labels)
    # In a domain in which there is one absent item it must come out last, and where none is, none.
    monkeypatch.setattr(releasing, "MOST_LISTED", 0)
    few = [("A", item, person) for item in range(4) for person in range(100 * (4 - item))]
    few += [("C", item, person) for item in (0, 1, 3) for person in range(100 * (4 - item))]
    for k, c in ((2, [0, 1]), (3, [0, 1, 3])):
        release = fg.top_k(_arrow(few), **_asked(domain=range(4), k=k, epsilon=10**6))
        assert [row.item for row in release.by_group["A"]] == [0, 1, 2][:k]
        assert [row.item for row in release.by_group["C"]] == c


def test_of_a_pair_that_only_the_engine_tells_apart_the_larger_number_holds() -> None:
    """Listed one by one and among few of many alike: never the sum of both, nor the smaller one."""
    group, item, people = (
        np.array(some, np.int64) for some in ([1, 0, 0, 0, 1], [2, 2, 2, 1, 2], [5, 3, 7, 1, 9])
    )
    cells = GroupCounts(np.full(2, 4), group, item, people)
    assert cells.flat()[0].tolist() == [0, 1, 7, 0, 0, 0, 9, 0]
    some = cells.sorted()
    assert list(zip(some.group, some.item, some.people, strict=True)) == [(0, 1, 1), (0, 2, 7), (1, 2, 9)]
    assert some.starts().tolist() == [0, 2, 3]


@pytest.mark.parametrize("present", [[], [0], [2, 5], [0, 1, 2, 7], [3, 4, 8, 9]])
def test_members_of_nobodys_items_are_the_places_that_are_free(present: list[int]) -> None:
    free = [place for place in range(10) if place not in present]
    assert [_absent(np.array(present, np.int64), member) for member in range(len(free))] == free


def test_groups_of_other_kinds(tmp_path: Path) -> None:
    days = [datetime.date(2026, 1, day) for day in (1, 2, 3)]
    rows = [(days[p % 2], "flu", p) for p in range(9)] + [(days[1], "flu", 0)]
    for table in (_arrow(rows), pl.DataFrame(pl.from_arrow(_arrow(rows))), _frame(rows)):
        counts = _cells(table, 1, days)
        assert sum(counts.values()) == 9
        assert counts[days[2], "flu"] == 0
    release = fg.top_k(_arrow(rows), **_asked(groups=days, groups_per_person=1))
    assert [row.group for row in release] == [day for day in days for _ in range(2)]
    path = tmp_path / "days.csv"
    _frame(rows).to_csv(path, index=False)
    assert _cells(path, None, days) == _cells(_arrow(rows), None, days)
    whole = [(1, "flu", 1), (2, "flu", 1), (2, "cold", 2), (None, "flu", 3)]
    frame = _frame(whole)  # floats, as pandas has them beside a missing value
    frame.to_csv(path, index=False)
    for table in (frame, _arrow(whole)):
        for groups in ([1, 2], [1.0, 2.0], range(1, 3)):
            counts = _cells(table, None, groups)
            assert (counts[1, "flu"], counts[2, "flu"], counts[2, "cold"]) == (1, 1, 1)
            assert sum(_cells(table, 1, groups).values()) == 2


def test_groups_that_only_the_engine_tells_apart() -> None:
    """A sum of their counts would move by two with one person."""
    moments = pl.Series([1, 2, 3000, 1, 2]).cast(pl.Datetime("ns"))  # Python's times have no nanoseconds
    table = pl.DataFrame({"ward": moments, "dx": ["flu"] * 5, "patient": [1, 1, 1, 2, 3]})
    start = datetime.datetime(1970, 1, 1)
    later = start + datetime.timedelta(microseconds=3)
    for most, flu in ((None, 2), (2, 3)):
        counts = _cells(table, most, [start, later, later + datetime.timedelta(1)])
        assert (counts[start, "flu"], counts[later, "flu"]) == (flu, 1)


def test_groups_from_a_file_and_a_table(tmp_path: Path) -> None:
    path = tmp_path / "wards.csv"
    path.write_text("ward,beds\nA,3\nC,4\nX,1\n")
    pq.write_table(TABLE, tmp_path / "rows.parquet")
    expected = _by_hand(ROWS, 1)
    for table in (TABLE, tmp_path / "rows.parquet"):
        for groups in (path, pd.DataFrame({"ward": WARDS}), pl.Series(WARDS)):
            assert _cells(table, 1, groups) == expected
    lazy = pl.DataFrame(pl.from_arrow(TABLE)).lazy()
    assert _cells(lazy, 1, pl.LazyFrame({"ward": [*WARDS, "A", None]})) == expected


def test_spellings_of_groups() -> None:
    composed, taken_apart = (unicodedata.normalize(form, "Süd") for form in ("NFC", "NFD"))
    rows = [(composed, "flu", 1), (taken_apart, "flu", 2), (" süd", "flu", 3)]
    with pytest.warns(SpellingWarning, match="The list of groups has"):
        assert _cells(_arrow(rows), None, [taken_apart])[taken_apart, "flu"] == 1
    for table in (_arrow(rows), _frame(rows), pl.DataFrame(pl.from_arrow(_arrow(rows)))):
        counts = _cells(table, None, [composed], normalize=True)
        assert counts[composed, "flu"] == 3


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> fg.Ledger:
    made = fg.Ledger(f"sqlite:///{tmp_path_factory.mktemp('ledger')}/ledger.db")
    made.create("ward", epsilon=10)
    return made


@pytest.fixture
def ledger_of_both(tmp_path: Path) -> fg.Ledger:
    made = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    made.create("ward", epsilon=20, delta="1e-4")
    return made


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no groups": ({"groups": None}, "groups"),
    "no list": ({"groups": "observed"}, "groups"),
    "unknown groups without a bound": ({"groups": "unknown", "delta": "1e-6"}, "groups_per_person"),
    "unknown groups without a delta": ({"groups": "unknown", "groups_per_person": 1}, "delta"),
    "unknown groups in rho": (
        {"groups": "unknown", "groups_per_person": 1, "epsilon": None, "rho": 1, "delta": "1e-6"},
        "rho",
    ),
    "a delta for groups that are listed": ({"delta": "1e-6"}, "delta"),
    "an empty list": ({"groups": []}, "groups"),
    "a group twice": ({"groups": ["A", "C", "A"]}, "groups"),
    "a missing group": ({"groups": ["A", None]}, "groups"),
    "a set": ({"groups": {"A"}}, "groups"),
    "groups of another kind": ({"groups": [1, 2]}, "groups"),
    "too many groups": ({"groups": range(10**8), "group": "patient"}, "groups"),
    "no such column": ({"group": "wing"}, "group"),
    "no column": ({"group": 3}, "group"),
    "no column at all": ({"group": None, "groups": ["A"]}, "groups"),
    "a bound without groups": ({"group": None, "groups": None, "groups_per_person": 1}, "groups_per_person"),
    "declared without groups": (
        {"group": None, "groups": None, "one_group_per_person": True},
        "one_group_per_person",
    ),
    "no bound": ({"groups_per_person": 0}, "groups_per_person"),
    "half a bound": ({"groups_per_person": 1.5}, "groups_per_person"),
    "no declaration": ({"one_group_per_person": "yes"}, "one_group_per_person"),
    "both": ({"groups_per_person": 1, "one_group_per_person": True}, "groups_per_person"),
    "too many items": ({"k": 5}, "k"),
    "an unknown domain without a delta": ({"domain": "unknown", "k": 1}, "delta"),
    "no domain": ({"domain": None}, "domain"),
    "next to no budget": ({"epsilon": Fraction(1, 10**4000)}, "epsilon"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_is_refused_before_anything_is_charged(name: str, ledger: fg.Ledger) -> None:
    options, argument = BAD[name]
    before = ledger.account("ward").spent
    asked = _asked(ledger=(ledger, "ward")) | options
    for release in (lambda: fg.top_k(TABLE, **asked), lambda: fg.above(TABLE, threshold=3, **asked)):
        with pytest.raises(InvalidArgument) as error:
            release()
        assert error.value.argument == argument
    assert ledger.account("ward").spent == before
    assert ledger.account("ward").reserved == 0


def test_a_dat_file_has_no_groups(tmp_path: Path) -> None:
    (tmp_path / "rows.dat").write_text("1 2\n")
    with pytest.raises(InvalidArgument, match="each line is one person"):
        fg.top_k(tmp_path / "rows.dat", k=1, epsilon=1, domain=range(4), group="ward", groups=["A"])


def test_what_is_said_of_it(ledger: fg.Ledger) -> None:
    release = fg.top_k(TABLE, **_asked(ledger=(ledger, "ward"), groups_per_person=2))
    assert ledger.account("ward").spent == 3
    said = "\n".join(release.footnotes())
    assert "each person counts in at most 2 of them" in said
    assert "counts differ in at most 2 of the groups" in said
    assert "1/2 of ε" in said
    declared = fg.top_k(TABLE, **_asked(one_group_per_person=True))
    assert "declared and not checked" in "\n".join(declared.footnotes())
    assert len(release) == 6
    assert release.rows()[0]._fields == ("group", "rank", "item", "gap")
    assert [(row.group, row.rank) for row in release] == [(g, r) for g in WARDS for r in (1, 2)]
    assert list(release.by_group) == WARDS
    again = fg.Release.from_json(release.to_json())
    assert again.rows(exact=True) == release.rows(exact=True)
    assert again.footnotes() == release.footnotes()
    assert release.to_pandas()["group"].tolist() == ["C", "C", "A", "A", "X", "X"]
    assert release.to_polars()["rank"].to_list() == [1, 2] * 3
    assert str(release.to_csv()).splitlines()[1].startswith("C,1,")
    assert release.to_dict()["groups"]["labels"] == WARDS
    figure = release.plot()
    assert figure.axes[0].get_yticklabels()[0].get_text().startswith("C · ")


def test_without_groups_all_rows_are_of_one() -> None:
    release = fg.top_k(TABLE, **_asked(group=None, groups=None))
    assert release.groups is None
    assert release.by_group == {None: release.rows()}
