"""Domains read from files and tables of each kind, what is refused about them, and in which words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.tables import domains, in_engine
from freegap.tables.domains import ListedDomain
from freegap.tables.people import counted
from freegap.tables.tallies import tally_pairs
from tests.tables.engines import AS_USUAL, ENGINES, arrow, counts_of, expected

ROWS = [(item, person) for item in range(12) for person in range(1 + item % 3)]
TWO_PEOPLE = {"person": [1, 2, 3]}


@pytest.mark.parametrize("engine", ["pandas", "polars lazy", "duckdb", "csv"])
@pytest.mark.parametrize("falling", [range(9, -1, -1), range(10, -1, -2)], ids=str)
def test_a_range_that_falls_is_the_one_that_rises(engine: str, falling: range, tmp_path: Path) -> None:
    table = ENGINES[engine](ROWS, tmp_path)
    options: dict[str, Any] = {"item": "item", "person": "person", "k": 3, "epsilon": "0.1"}
    for seed in range(3):
        one, other = (
            fg.top_k(table, domain=domain, bits=fg.SeededBits(seed), **options)
            for domain in (falling, falling[::-1])
        )
        assert one == other


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_in_which_nobody_is(engine: str, tmp_path: Path) -> None:
    table = ENGINES[engine]([], tmp_path)
    assert counts_of(table, range(3, 6)) == {3: 0, 4: 0, 5: 0}


def test_domains_of_the_same_engine_in_which_nothing_is() -> None:
    table = duckdb.sql("SELECT 1 AS item, 1 AS person")
    with pytest.raises(InvalidArgument, match="at least 2 items, and this one has 0"):
        fg.top_k(table, item="item", person="person", k=1, epsilon=1, domain=pl.DataFrame({"item": [None]}))
    texts = pl.DataFrame(schema={"item": pl.String})
    for of in (
        table,
        pl.DataFrame({"item": [1], "person": [1]}).lazy(),
        pd.DataFrame({"item": [1], "person": 1}),
    ):
        with pytest.raises(
            InvalidArgument, match=r"domain = '<text>': cannot contain .* which holds integers"
        ):
            counts_of(of, texts)


KINDS: dict[str, tuple[Any, list[str], dict[Any, int], str]] = {
    # The column of the table, the lines of a text file, the counts, and a line that is not of the kind.
    "integer": (pl.Series([5, 7, 7]), ["7", "5", "-1"], {5: 1, 7: 2, -1: 0}, "5.0"),
    "number": (
        pl.Series([2**63, 5, 5], dtype=pl.UInt64), ["9223372036854775808", "5"], {2**63: 1, 5: 2}, "5.5",
    ),
    "float": (pl.Series([0.5, 1.0, 1.0]), ["0.5", "1", "2e0"], {0.5: 1, 1.0: 2, 2.0: 0}, "one"),
    "date": (
        pl.Series([date(2026, 1, 1), date(2026, 1, 2), None]),
        ["2026-01-01", "2026-01-02"],
        {date(2026, 1, 1): 1, date(2026, 1, 2): 1},
        "yesterday",
    ),
    "truth value": (pl.Series([True, True, False]), ["true", "false"], {True: 2, False: 1}, "maybe"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lazy", [False, True])
def test_a_text_file_is_read_as_the_kind_of_the_table(kind: str, lazy: bool, tmp_path: Path) -> None:
    column, lines, counts, misfit = KINDS[kind]
    frame = pl.DataFrame({"item": column, **TWO_PEOPLE})
    table: Any = frame.lazy() if lazy else frame
    path = tmp_path / "domain.csv"
    path.write_text("\n".join(["item", *lines, ""]))
    found = counts_of(table, path)
    assert found == counts
    assert kind == "number" or {type(item) for item in found} == {type(item) for item in counts}
    path.write_text("\n".join(["item", *lines, misfit, ""]))
    with pytest.raises(
        InvalidArgument, match=f"domain = '{misfit}': cannot be read as {kind}, which the table"
    ):
        counts_of(table, path)


def test_a_text_file_for_items_of_a_kind_that_no_text_is_read_as(tmp_path: Path) -> None:
    path = tmp_path / "domain.csv"
    path.write_text("item\n00:00:01\n00:00:02\n")
    table = pl.DataFrame({"item": pl.Series([1, 2, 3]).cast(pl.Time), **TWO_PEOPLE})
    with pytest.raises(InvalidArgument, match=r"domain = '<text>': cannot contain .* which holds times"):
        counts_of(table, path)


@pytest.mark.parametrize("engine", ["csv", "json lines"])
@pytest.mark.parametrize(
    ("column", "counts"),
    [
        (pl.Series([0.5, 1.0, None]), {0.5: 1, 1.0: 2}),
        (pl.Series([Decimal("0.5"), Decimal("1.0")]), {Decimal("0.5"): 1, Decimal(1): 2}),
        (pl.Series([date(2026, 1, 1)]), {date(2026, 1, 1): 1}),
        (pl.Series([True, False]), {True: 3, False: 0}),
    ],
    ids=["float", "decimal", "date", "truth value"],
)
def test_texts_are_read_as_the_kind_of_a_typed_domain(
    engine: str, column: pl.Series, counts: dict[Any, int], tmp_path: Path
) -> None:
    """1 and 1.0 are one number, and two people have it; true, 1 and 1.0 are not taken for the same kind."""
    rows = [("0.5", 1), ("1", 2), ("1.0", 3), ("2026-01-01", 4), ("true", 5), ("TRUE", 6)]
    if column.dtype == pl.Boolean:
        counts = counts_of(ENGINES[engine](rows, tmp_path), [True, False])
        assert counts[True] >= 2
    path = tmp_path / "domain.parquet"
    pl.DataFrame({"item": column}).write_parquet(path)
    table = ENGINES[engine](rows, tmp_path)
    assert counts_of(table, path) == counts
    assert counts_of(table, pl.DataFrame({"item": column})) == counts


def test_what_is_missing_in_a_domain_is_no_item_of_it() -> None:
    """In an engine that would join by itself as well."""
    table = pl.DataFrame({"item": [0.5, 0.5, float("nan")], **TWO_PEOPLE}).lazy()
    domain = pl.DataFrame({"item": [0.5, 1.5, float("nan"), None]}).lazy()
    assert counts_of(table, domain) == {0.5: 2, 1.5: 0}


def test_items_are_named_as_the_domain_names_them() -> None:
    table = duckdb.sql("SELECT unnest([1.0, 1.0, 2.0])::DOUBLE AS item, unnest([1, 2, 3]) AS person")
    domain = duckdb.sql("SELECT unnest([1, 2, 3]) AS item")
    found = counts_of(table, domain)
    assert found == {1: 2, 2: 1, 3: 0}
    assert {type(item) for item in found} == {int}


def asked_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The domains in which an engine is asked to count, as they come."""
    seen: list[Any] = []

    def tally(counts: Any, domain: Any) -> Any:
        seen.append(domain)
        return in_engine.tally_in_engine(counts, domain)

    monkeypatch.setattr("freegap.tables.people.tally_in_engine", tally)
    return seen


def test_which_domains_are_joined_where_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whole numbers and texts are, in one session of one engine; dates and fractions travel."""
    seen = asked_of_the_engine(monkeypatch)
    for column, stays in (
        ([1, 2], True),
        (["a", "b"], True),
        ([0.5, 1.5], False),
        ([date.max, date.min], False),
    ):
        for other in ("lazy", "eager", "file"):
            seen.clear()
            table = pl.DataFrame({"item": column, "person": [1, 2]}).lazy()
            domain: Any = pl.DataFrame({"item": column}).lazy()
            if other == "eager":
                domain = domain.collect()
            if other == "file":
                domain.collect().write_parquet(tmp_path / "domain.parquet")
                domain = tmp_path / "domain.parquet"
            assert counts_of(table, domain) == dict.fromkeys(column, 1)
            assert bool(seen) == (stays and other != "file")


MANY = [f"c{i:02}" for i in range(21)]


@pytest.mark.parametrize(("names", "more"), [(MANY[:20], False), (MANY, True)], ids=["20", "21"])
def test_at_most_twenty_columns_are_named(names: list[str], more: bool, tmp_path: Path) -> None:
    shown = ", ".join(MANY[:20])
    wide = pd.DataFrame({name: [1] for name in names})
    with pytest.raises(InvalidArgument) as caught:
        fg.top_k(wide, item="c00", person="who", k=1, epsilon=1, domain=range(3))
    assert str(caught.value) == (
        f"person = 'who': is not a column of the table. Its columns are: {shown}{', …' if more else ''}."
    )
    pl.from_pandas(wide).write_parquet(tmp_path / "wide.parquet")
    with pytest.raises(InvalidArgument, match="has no column 'who'") as caught:
        fg.top_k(tmp_path / "wide.parquet", item="c00", person="who", k=1, epsilon=1, domain=range(3))
    assert str(caught.value).endswith(f"Its columns are: {shown}{', …' if more else ''}.")
    with pytest.raises(InvalidArgument, match="domain_column = 'x': is not a column of <table>") as caught:
        counts_of(arrow(ROWS), wide, domain_column="x")
    assert str(caught.value).endswith(f"Its columns are: {shown}.")
    pd.DataFrame(wide).to_csv(tmp_path / "wide.csv", index=False)
    with pytest.raises(InvalidArgument, match=f"one of the {len(names)} names in the first line"):
        fg.top_k(tmp_path / "wide.csv", item="c00", person="who", k=1, epsilon=1, domain=range(3))


def test_a_file_of_lines_is_no_domain(tmp_path: Path) -> None:
    path = tmp_path / "baskets.dat"
    path.write_text("1 2\n2\n")
    with pytest.raises(InvalidArgument, match="must be a file with columns"):
        counts_of(arrow(ROWS), path)
    for name in ("item", "person"):
        named: dict[str, Any] = {name: "x"}
        with pytest.raises(
            InvalidArgument, match=rf"{name} = 'x': cannot be named for .* Leave out {name}\."
        ):
            fg.top_k(path, k=1, epsilon=1, domain=range(3), **named)


class Unsized:
    def __getitem__(self, place: int) -> int:
        return place


class Keyed(Unsized):
    def __len__(self) -> int:
        return 3

    def keys(self) -> list[int]:
        return [0, 1, 2]


@pytest.mark.parametrize("domain", [Unsized(), Keyed(), np.int64(3)], ids=lambda d: type(d).__name__)
def test_what_is_no_list_is_refused_by_its_type_alone(domain: Any) -> None:
    with pytest.raises(InvalidArgument) as caught:
        counts_of(arrow(ROWS), domain)
    assert f"domain = '<{type(domain).__name__}>': must be a list, a range" in str(caught.value)


class Raising(Sequence[int]):
    """A domain whose search fails in each of the ways in which one may."""

    def __getitem__(self, place: Any) -> Any:
        return [10, 20][place]

    def __len__(self) -> int:
        return 2

    def index(self, item: Any, *_: Any) -> int:
        if isinstance(item, type):
            raise item
        return [10, 20].index(item)


def test_each_way_of_not_finding_an_item_is_outside() -> None:
    domain = Raising()
    errors = [KeyError, ValueError, TypeError, IndexError, OverflowError]
    for error in errors:
        tally = tally_pairs(ListedDomain(domain, domain.index, frozenset({"other"})), [error, 20], [9, 3])
        assert (tally.values.tolist(), tally.names([(0, 0), (1, 0)])) == ([3, 0], (20, 10))
    with pytest.raises(ArithmeticError):  # a fault of the domain, and no answer
        tally_pairs(ListedDomain(domain, domain.index, frozenset({"other"})), [ArithmeticError], [9])


def test_items_that_no_range_can_hold() -> None:
    """As objects in a column whose kind only its values tell."""
    items: list[Any] = ["a", date.max, float("inf"), 10**30, 2, 2.5, True, "2", b"2", (2,)]
    table = pd.DataFrame({"item": pd.Series(items, dtype=object), "person": range(len(items))})
    assert counts_of(table, range(1, 4)) == {1: 1, 2: 1, 3: 0}
    assert counts_of(table, range(0, 7, 2)) == {0: 0, 2: 1, 4: 0, 6: 0}


def test_a_domain_declared_public_only_where_it_is_said() -> None:
    table = arrow([(1, 1), (2, 2)])
    options: dict[str, Any] = {"item": "item", "person": "person", "k": 1, "epsilon": 1, "domain": "observed"}
    for release in (lambda **more: fg.top_k(table, **options, **more),
                    lambda **more: fg.above(table, threshold=1, **options, **more)):  # fmt: skip
        for said in ({}, {"observed_keys_are_public": False}, {"observed_keys_are_public": 1}):
            with pytest.raises(InvalidArgument, match="makes the set of items that occur public"):
                release(**said)
        assert release(observed_keys_are_public=True).privacy.domain.endswith("declared to be public")


def test_the_engine_s_items_of_a_few_kinds_are_observed_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = asked_of_the_engine(monkeypatch)
    for column, stays in (([1, 2], True), (["a", "b"], True), ([0.5, 1.5], False)):
        seen.clear()
        table = pl.DataFrame({"item": column, "person": [1, 2]}).lazy()
        assert counts_of(table, "observed", observed_keys_are_public=True) == dict.fromkeys(column, 1)
        assert bool(seen) == stays


def test_what_is_said_of_the_domain() -> None:
    with counted(arrow(ROWS), item="item", person="person", domain=range(1234), **AS_USUAL) as found:
        source = found.source
        assert (source.item, source.person, found.domain, source.by_line) == (
            "item", "person", "1,234 public items", False,
        )  # fmt: skip
    assert expected(ROWS, range(2)) == {0: 1, 1: 2}


@pytest.mark.parametrize("domain", [np.array(3), {1, 2}, {1: 2}, 3, object()])
def test_what_is_no_list_of_items(domain: Any) -> None:
    with pytest.raises(InvalidArgument, match="must be a list, a range, a column of a table"):
        domains.sized_values(domain)


class Shouted(str):
    """A text that is equal to others than its letters say."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str(self).upper() == str(other).upper()

    def __hash__(self) -> int:
        return hash(str(self).upper())


TEXTS = ["a", "A", "cafe\u0301", "caf\u00e9", "a\0", "", " a", "\U0001f375", "7", "b" * 99]


@pytest.mark.parametrize(
    "domain",
    [
        TEXTS,
        [*TEXTS, "\ud800", "\ud800\udf75"],  # halves of surrogate pairs, which UTF-8 does not have
        [*map(np.str_, TEXTS)],
        np.array(TEXTS[5:]),  # NumPy takes a text that ends in zeros for the one without them
        [*TEXTS, 7, True, b"a", ("a",)],
        [*TEXTS, np.str_("d")],
        [Shouted("B" * 99), *TEXTS[1:-1]],
    ],
    ids=["texts", "surrogates", "texts of NumPy", "an array", "mixed", "one of NumPy", "own equality"],
)
def test_texts_are_found_in_polars_as_python_finds_them(domain: Any) -> None:
    rows = [
        (text, person) for place, text in enumerate([*TEXTS, "d", "outside"]) for person in range(place + 1)
    ]
    table = pl.DataFrame(rows, schema=["item", "person"], orient="row")
    in_python = counts_of(arrow(rows), domain)
    assert counts_of(table, domain) == in_python
    assert len(in_python) == len(domain)


@pytest.mark.parametrize("twice", ["a", "", "\ud800", np.str_("a")], ids=repr)
def test_a_text_twice_is_refused_in_polars_as_elsewhere(twice: str) -> None:
    said = []
    for table in (arrow([("a", 1)]), pl.DataFrame({"item": ["a"], "person": [1]})):
        with pytest.raises(InvalidArgument, match="must not name an item twice") as caught:
            counts_of(table, [twice, "x", "b", twice])
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_equal_hashes_do_not_make_texts_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pl.Series, "hash", lambda self: pl.Series([1] * len(self)))
    table = pl.DataFrame({"item": ["a", "b"], "person": [1, 2]})
    assert counts_of(table, ["b", "c", "a"]) == {"b": 1, "c": 0, "a": 1}


@pytest.mark.parametrize("argument", ["item", "person"])
def test_times_whose_zone_is_lost_are_refused(argument: str) -> None:
    """10:00+00 and 10:00+02 leave DuckDB as one time: a count of two people, or the items of two, in one."""
    connection = duckdb.connect()
    connection.register("rows", arrow([("10:00:00+00", "10:00:00+00"), ("10:00:00+02", "10:00:00+02")]))
    table = connection.sql("SELECT item, person FROM rows")
    assert counts_of(table, ["10:00:00+00", "a"]) == {"10:00:00+00": 1, "a": 0}
    zoned = table.project(f"* REPLACE ({argument}::TIMETZ AS {argument})")
    with pytest.raises(
        InvalidArgument, match=f"^{argument} = '{argument}': is a column of times with a time z"
    ):
        counts_of(zoned, ["a", "b"])
