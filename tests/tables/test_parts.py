"""Items of several columns: tuples, counted as texts of their own, the same in every engine."""

from __future__ import annotations

import csv
import datetime
import itertools
import warnings
from collections.abc import Sequence
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
from typer.testing import CliRunner

import freegap as fg
from freegap.cli import app
from freegap.tables.parts import PartProduct, parts_of, text_of
from freegap.tables.people import counted
from tests.tables.engines import AS_USUAL

Row = tuple[Any, ...]

DAYS = [datetime.date(2026, 1, 30), datetime.date(2026, 1, 31)]
ODD = datetime.date(44, 3, 15)  # a date that engines write in several ways
WARDS = ["A", "a", "~1", "~0"]
ROWS: list[Row] = [
    (
        [*WARDS, None][i % 5],
        i * i % 4 if i % 11 else None,
        i % 3 == 1 if i % 7 else None,
        ODD if i == 30 else DAYS[i % 2],
        i % 40,
        ["x", "y"][i % 2],
    )
    for i in range(240)
]
NAMES = ["ward", "code", "new", "day", "who", "shift"]
ITEM = NAMES[:4]
LISTS: dict[str, Sequence[Any]] = {
    "ward": [*WARDS, "Z"],
    "code": range(5),
    "new": [False, True],
    "day": DAYS,
}
TUPLES = list(itertools.product(*LISTS.values()))
TYPES = [pa.string(), pa.uint64(), pa.bool_(), pa.date32(), pa.int64(), pa.string()]
_HELD: list[Any] = []


def _arrow() -> pa.Table:
    fields = list(map(pa.field, NAMES, TYPES))
    return pa.table(dict(zip(NAMES, zip(*ROWS, strict=True), strict=True)), schema=pa.schema(fields))


def _csv(table: pa.Table, path: Path) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([table.column_names, *zip(*table.to_pydict().values(), strict=True)])
    return str(path)


def _parquet(table: pa.Table, path: Path) -> str:
    pq.write_table(table, path)
    return str(path)


def _duckdb(table: pa.Table) -> Any:
    connection = duckdb.connect()
    connection.execute("SET default_collation = 'NOCASE'")
    _HELD.append(connection)
    connection.register("rows", table)
    return connection.sql("FROM rows")


def _ibis(table: pa.Table) -> Any:
    backend = ibis.duckdb.connect()
    backend.con.register("rows", table)
    return backend.table("rows")


ENGINES: dict[str, Any] = {
    "pyarrow": lambda table, _: table,
    "pandas": lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas objects": lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype).astype(
        {"ward": object, "who": object}
    ),
    "polars": lambda table, _: pl.from_arrow(table),
    "duckdb": lambda table, _: _duckdb(table),
    "ibis": lambda table, _: _ibis(table),
    "csv": lambda table, folder: _csv(table, folder / "rows.csv"),
    "parquet": lambda table, folder: _parquet(table, folder / "rows.parquet"),
}

QUIET = pytest.mark.filterwarnings("ignore::freegap.SpellingWarning")  # of "A" beside "a"


def expected() -> dict[Row, int]:
    people: dict[Row, set[Any]] = {item: set() for item in TUPLES}
    for row in ROWS:
        if row[:4] in people:
            people[row[:4]].add(row[4])
    return {item: len(who) for item, who in people.items()}


def counts_of(table: Any, domain: Any) -> dict[Row, int]:
    with counted(table, item=ITEM, person="who", domain=domain, **AS_USUAL) as people:
        tally = people.tally
        places = [(g, m) for g, size in enumerate(tally.sizes.tolist()) for m in range(size)]
        names = people.source.named(tally.names(places))
        return {name: int(tally.values[g]) for name, (g, _) in zip(names, places, strict=True)}


@QUIET
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("part", ITEM)
def test_a_row_without_one_of_its_parts_has_no_item(engine: str, part: str, tmp_path: Path) -> None:
    """Be it a text, a whole number, a truth value or a date: nothing stands in its place."""
    item = dict(zip(ITEM, TUPLES[0], strict=True))
    lacking = {name: [value, None if name == part else value] for name, value in item.items()}
    schema = pa.schema(list(map(pa.field, NAMES, TYPES)))
    table = pa.table({**lacking, "who": [1, 2], "shift": ["x", "y"]}, schema=schema)
    found = counts_of(ENGINES[engine](table, tmp_path), LISTS)
    assert {name: people for name, people in found.items() if people} == {TUPLES[0]: 1}


def released(table: Any, domain: Any) -> list[Any]:
    asked: dict[str, Any] = {"item": ITEM, "person": "who", "epsilon": 2, "domain": domain}
    groups: dict[str, Any] = {"group": "shift", "groups": ["x", "y"], "groups_per_person": 1}

    def bits() -> Any:
        return fg.SeededBits(5)

    return [
        fg.top_k(table, k=6, bits=bits(), **asked).to_dict(),
        fg.top_k(table, k=3, measure=True, where="shift = 'x'", bits=bits(), **asked).to_dict(),
        fg.top_k(table, k=2, bits=bits(), **groups, **asked).to_dict(),
        fg.above(table, k=6, threshold=4, bits=bits(), **asked).to_dict(),
        fg.histogram(table, items_per_person=2, bits=bits(), **asked).to_dict(),
    ]


@pytest.fixture(scope="module")
def reference() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fg.SpellingWarning)
        return released(_arrow(), TUPLES)


@QUIET
@pytest.mark.parametrize("engine", ENGINES)
def test_same_counts_and_releases_everywhere(engine: str, tmp_path: Path, reference: list[Any]) -> None:
    table = ENGINES[engine](_arrow(), tmp_path)
    assert counts_of(table, TUPLES) == expected()
    assert released(table, LISTS) == reference


@QUIET
@pytest.mark.parametrize("engine", ENGINES)
def test_domains_in_tables_and_files(engine: str, tmp_path: Path) -> None:
    columns = dict(zip(ITEM, zip(*TUPLES, strict=True), strict=True))
    twice = pa.table(columns).select([*reversed(ITEM)])
    table = ENGINES[engine](_arrow(), tmp_path)
    (tmp_path / "domain").mkdir()
    for kind in dict.fromkeys((engine, "csv", "parquet", "pyarrow")):
        domain = (
            ENGINES[kind](pa.concat_tables([twice, twice]), tmp_path / "domain")
            if kind != "pandas objects"
            else None
        )
        if domain is not None and not (engine == kind == "csv"):  # nobody says that its texts are numbers
            assert counts_of(table, domain) == expected()


def test_the_counts_are_no_formality() -> None:
    counts = expected()
    assert len(set(counts.values())) > 2
    assert 0 in counts.values()
    assert {counts[item] > 0 for item in TUPLES if item[0] in ("~1", "~0")} == {True, False}


@pytest.mark.parametrize("engine", ENGINES)
def test_items_that_nobody_has_listed(engine: str, tmp_path: Path) -> None:
    often = pa.table(dict(zip(NAMES, zip(*ROWS[:60], strict=True), strict=True)), schema=_arrow().schema)
    many = pa.concat_tables(
        often.set_column(4, "who", pa.array(range(60 * n, 60 * n + 60))) for n in range(20)
    )
    table = ENGINES[engine](many, tmp_path)
    asked: dict[str, Any] = {"item": ["ward", "code"], "person": "who", "domain": "unknown", "delta": "1e-6"}
    found = fg.top_k(table, k=3, epsilon=8, bits=fg.SeededBits(1), **asked)
    above = fg.above(table, k=9, epsilon=8, threshold=1, items_per_person=1, bits=fg.SeededBits(1), **asked)
    code = str if engine == "csv" else int  # nobody says that its texts are numbers
    here = fg.top_k(many, k=3, epsilon=8, bits=fg.SeededBits(1), **asked)
    assert len(here.labels) == 3
    assert found.labels == tuple((ward, code(n)) for ward, n in here.labels)
    assert len(above.labels) == 8
    assert set(above.labels) == {(ward, code(n)) for ward in WARDS for n in (0, 1)}


@pytest.mark.parametrize("engine", ["pyarrow", "pandas", "polars", "duckdb", "ibis", "parquet"])
def test_dates_that_python_does_not_have(engine: str, tmp_path: Path) -> None:
    """They have no item; else a release would fail that drew one, or have it written as its engine does."""
    days = pa.array([10_000_000] * 100 + [20_000] * 100 + [-720_000] * 100, pa.int32()).cast(pa.date32())
    table = ENGINES[engine](pa.table({"day": days, "n": [1] * 300, "who": range(300)}), tmp_path)
    asked: dict[str, Any] = {"domain": "unknown", "delta": "1e-6", "bits": fg.SeededBits(1)}
    release = fg.top_k(table, item=["day", "n"], person="who", k=3, epsilon=9, **asked)
    assert release.labels == ((datetime.date(2024, 10, 4), 1),)


def test_a_text_stands_for_one_tuple() -> None:
    letters = ["", "~", "0", "1", "~0", "~1", "~~", "a~", "~1~0"]
    pairs = list(itertools.product(letters, repeat=2))
    assert len({text_of(pair) for pair in pairs}) == len(pairs)
    assert all(parts_of(text_of(pair)) == pair for pair in pairs)
    assert not {text_of(pair) for pair in pairs} & {text_of((one,)) for one in letters}


def test_a_product_is_a_list_of_all_combinations() -> None:
    lists: list[Sequence[Any]] = [["~1", "b"], range(3, 9, 2), [True, False]]
    product = PartProduct(lists)
    listed = [text_of(item) for item in itertools.product(*lists)]
    assert list(product) == product[:] == listed
    assert [product.index(text) for text in listed] == list(range(len(listed)))
    for outside in ("b~14~1true", "c~13~1true", "b~13", "b~1x~1true", ""):
        with pytest.raises((ValueError, KeyError)):
            product.index(outside)
    with pytest.raises(IndexError):
        product[len(listed)]


def test_a_product_of_many_is_not_listed() -> None:
    table = pa.table({"a": [3, 3, 10**6], "b": [5, 5, 7], "who": [1, 2, 3]})
    domain = {"a": range(10**7), "b": range(10**9)}
    release = fg.top_k(
        table, item=["a", "b"], person="who", k=1, epsilon=100, domain=domain, bits=fg.SeededBits(1)
    )
    assert release.labels == ((3, 5),)


def test_objects_of_pandas() -> None:
    """What another person's row holds changes nothing: neither an array nor a number makes it fail."""
    odd: list[Any] = ["x", 1, None, np.array([1, 2]), "\ud800", float("nan"), b"x", True, ["x"], "x"]
    table = pd.DataFrame({"a": pd.Series(odd, dtype=object), "b": "y", "who": range(len(odd))})
    domain = [("x", "y"), ("1", "y"), ("True", "y")]
    with counted(table, item=["a", "b"], person="who", domain=domain, **AS_USUAL) as people:
        assert people.tally.values.tolist() == [2, 0]
    with counted(
        table.astype({"b": "category"}), item=["a", "b"], person="who", domain=domain, **AS_USUAL
    ) as people:
        assert people.tally.values.tolist() == [2, 0]


def test_results_have_a_column_for_each_part() -> None:
    table = pa.table({"gap": ["A", "B"] * 50, "code x": [1, 2] * 50, "who": range(100)})
    asked: dict[str, Any] = {"item": ["gap", "code x"], "person": "who", "bits": fg.SeededBits(1)}
    domain = [("A", 1), ("B", 2), ("A", 2)]
    release = fg.top_k(table, k=1, epsilon=9, domain=domain, **asked)
    assert list(release.to_pandas().columns) == ["rank", "item_gap", "code x", "gap"]
    assert release.to_polars()["code x"].to_list() == [release.labels[0][1]]
    assert release.rows()[0][:3] == (1, *release.labels[0])
    assert release.to_dict()["labels"] == [list(release.labels[0])]
    assert release.to_dict()["privacy"]["items"] == ["gap", "code x"]
    assert "one value of each of the columns gap, code x" in str(release)
    assert fg.Release.from_json(release.to_json()).rows() == release.rows()
    nothing = fg.above(table, k=1, threshold=10**9, epsilon=9, domain=domain, **asked)
    assert list(nothing.to_pandas().columns) == [
        "rank",
        "item_gap",
        "code x",
        "gap",
        *nothing.to_pandas().columns[4:],
    ]
    means = fg.histogram(
        table.append_column("cost", pa.array([1.0] * 100)),
        domain=domain, epsilon=9, items_per_person=1, value="cost", low=0, high=2, mean=True, **asked,
    )  # fmt: skip
    assert list(means.to_pandas().columns)[:2] == ["item_gap", "code x"]


def test_spellings_part_by_part() -> None:
    table = pa.table({"a": ["Tea ", " tea", "Milk"] * 20, "b": ["X", "x ", "x"] * 20, "who": range(60)})
    domain = {"a": ["tea", "milk"], "b": ["x", "y"]}
    for rows in (table, table.to_pandas(), pl.from_arrow(table)):
        with counted(
            rows, item=["a", "b"], person="who", domain=domain, normalize=True, **AS_USUAL
        ) as people:
            assert people.tally.values.tolist() == [40, 20, 0]
    for slip in (
        [("tea", "x"), ("Tea", "x")],
        {"a": ["milk", "tea", "Tea"], "b": ["x"]},
        [("u", "x"), ("tea ", "x")],
    ):
        with pytest.warns(fg.SpellingWarning, match="'[tT]ea ?', 'x'"):
            fg.top_k(table, item=["a", "b"], person="who", k=1, epsilon=1, domain=slip, bits=fg.SeededBits(1))
    with pytest.raises(fg.InvalidArgument, match="two spellings"):
        fg.top_k(
            table,
            item=["a", "b"],
            person="who",
            k=1,
            epsilon=1,
            domain=[("t", "x"), ("T", "x")],
            normalize=True,
        )


REFUSED: dict[str, dict[str, Any]] = {
    "each once": {"item": []},
    "columns, each once": {"item": ["a", "a"]},
    "must name columns": {"item": ["a", 1]},
    "'zz': is not a column": {"item": ["a", "zz"]},
    "tuple of 2 values": {"domain": ["xy", "xz"]},
    "for a, b": {"domain": [("x",)]},
    "one kind": {"domain": [("x", "y"), (1, "y")]},
    "remove missing": {"domain": [("x", "y"), ("x", None)]},
    "whole numbers": {"domain": [("x", 1.5), ("x", 2.5)]},
    "of the kind text": {"domain": [(1, "y"), (2, "y")]},
    "an item twice": {"domain": [("x", "y"), ("x", "y")]},
    "a list for each column": {"domain": {"a": ["x"]}},
    "item twice": {"domain": {"a": ["x"], "b": ["y", "y"]}},
    "has 0": {"domain": {"a": [], "b": ["y"]}},
    "several columns": {"domain_column": "a"},
    "no column called 'b'": {"domain": pd.DataFrame({"a": ["x"], "c": ["y"]})},
    "2\\^62": {"item": ["n", "m"], "domain": {"n": range(2**40), "m": range(2**40)}},
    "of the kind float": {"item": ["a", "f"]},
    "of the kind date and time": {"item": ["a", "t"]},
    "observed_keys_are_public": {"domain": "observed"},
}


@pytest.mark.parametrize("said", REFUSED)
def test_refusals(said: str) -> None:
    table = pd.DataFrame(
        {
            "a": ["x"],
            "b": ["y"],
            "f": [0.5],
            "n": [1],
            "m": [2],
            "t": [pd.Timestamp("2026-01-31")],
            "who": [1],
        }
    )
    asked: dict[str, Any] = {"item": ["a", "b"], "domain": [("x", "y"), ("z", "y")]} | REFUSED[said]
    with pytest.raises(fg.InvalidArgument, match=said):
        fg.top_k(table, person="who", k=1, epsilon=1, **asked)


def test_command_line(tmp_path: Path) -> None:
    rows = _csv(
        pa.table({"ward": ["A", "B"] * 60, "n": [7, 8] * 60, "who": range(120)}), tmp_path / "rows.csv"
    )
    wards = _csv(pa.table({"ward": ["A", "B"]}), tmp_path / "wards.csv")
    both = _csv(pa.table({"ward": ["A", "B"], "n": ["7", "8"]}), tmp_path / "both.csv")
    asked = [
        rows,
        "--item",
        "ward",
        "--item",
        "n",
        "--person",
        "who",
        "--epsilon",
        "9",
        "--json",
        "--seed",
        "1",
    ]
    top = ["top-k", *asked, "-k", "1", "--domain"]
    run = CliRunner().invoke
    product = run(app, [*top, wards, "--domain", "5..9"])
    assert product.exit_code == 0, product.output
    assert '"10 public items"' in product.output
    listed = run(app, [*top, both])
    assert listed.exit_code == 0, listed.output
    assert '"2 public items"' in listed.output
    bins = run(app, ["histogram", *asked, "--items-per-person", "1", "--domain", wards, "--domain", "7..8"])
    assert bins.exit_code == 0, bins.output
    refused = run(app, [*top, wards, "--domain", wards, "--domain", wards])
    assert isinstance(refused.exception, fg.InvalidArgument)
