"""Same counts and same bits: the same release from every engine, by every road."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import freegap as fg
from tests.tables.engines import ENGINES, arrow, counts_of

# Many items have the same count, and some none, so that members of groups must be named.
NUMBERS = [(i * i % 37, i % 23) for i in range(400)]
TEXTS = [(f"item {item:02}", person) for item, person in NUMBERS]
TEXT_DOMAIN = [f"item {i:02}" for i in range(50)]


def released(table: Any, domain: Any, **options: Any) -> list[Any]:
    shared = {"item": "item", "person": "person", "epsilon": "0.5", "domain": domain} | options
    return [
        thing
        for seed in range(2)
        for thing in (
            fg.top_k(table, k=8, bits=fg.SeededBits(seed), **shared).to_dict(),
            fg.top_k(table, k=4, measure=True, bits=fg.SeededBits(seed), **shared).to_dict(),
            fg.above(table, k=12, threshold=5, bits=fg.SeededBits(seed), **shared).to_dict(),
        )
    ]


@pytest.fixture(scope="module")
def reference() -> list[Any]:
    return released(arrow(NUMBERS), range(50))


@pytest.fixture(scope="module")
def text_reference() -> list[Any]:
    return released(arrow(TEXTS), TEXT_DOMAIN)


def test_every_group_was_needed(reference: Sequence[dict[str, Any]]) -> None:
    chosen = {label for release in reference for label in release["labels"]}
    occurring = {item for item, _ in NUMBERS}
    assert chosen & occurring
    assert chosen - occurring


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers(engine: str, tmp_path: Path, reference: list[Any]) -> None:
    table = ENGINES[engine](NUMBERS, tmp_path)
    assert released(table, range(50)) == reference
    assert released(table, list(range(50))) == reference


@pytest.mark.parametrize("engine", ENGINES)
def test_texts(engine: str, tmp_path: Path, text_reference: list[Any]) -> None:
    table = ENGINES[engine](TEXTS, tmp_path)
    assert released(table, TEXT_DOMAIN) == text_reference
    domain = tmp_path / "domain.csv"
    domain.write_text("item,price\n" + "".join(f"{item},1\n" for item in reversed(TEXT_DOMAIN)))
    assert released(table, domain) == text_reference
    assert released(table, str(domain), domain_column="item") == text_reference


def test_a_list_of_texts_keeps_its_order_in_polars(tmp_path: Path) -> None:
    """Polars looks for a list's texts by itself; the order of equal counts is the list's, as elsewhere."""
    mixed = TEXT_DOMAIN[::-2] + TEXT_DOMAIN[::2]
    reference = released(arrow(TEXTS), mixed)
    assert reference != released(arrow(TEXTS), TEXT_DOMAIN)
    assert released(ENGINES["polars lazy"](TEXTS, tmp_path), mixed) == reference
    assert released(ENGINES["polars lazy"](TEXTS, tmp_path), tuple(mixed)) == reference


@pytest.mark.parametrize("engine", ENGINES)
def test_a_domain_of_another_engine(engine: str, tmp_path: Path, text_reference: list[Any]) -> None:
    table = ENGINES[engine](TEXTS, tmp_path)
    assert released(table, pl.DataFrame({"what": [*TEXT_DOMAIN, None, "item 07"]})) == text_reference
    assert released(table, pl.Series(TEXT_DOMAIN)) == text_reference


@pytest.mark.parametrize("engine", ["polars lazy", "duckdb", "ibis", "parquet"])
def test_counts_stay_in_the_engine_and_are_the_same(
    engine: str, tmp_path: Path, reference: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("the counts of all items travelled")

    monkeypatch.setattr("freegap.tables.people.tally_pairs", refuse)
    assert released(ENGINES[engine](NUMBERS, tmp_path), range(50)) == reference


def test_a_domain_in_the_same_engine_is_joined_there(text_reference: list[Any]) -> None:
    connection = duckdb.connect()
    connection.register("rows", arrow(TEXTS))
    connection.register("items", arrow([(item, 1) for item in [*TEXT_DOMAIN, *TEXT_DOMAIN, None]]))
    table, domain = connection.sql("SELECT * FROM rows"), connection.sql("SELECT * FROM items")
    assert released(table, domain) == text_reference
    other = duckdb.connect()
    other.register("items", arrow([(item, 1) for item in TEXT_DOMAIN]))
    assert released(table, other.sql("SELECT * FROM items")) == text_reference
    left = connection.sql("SELECT table_name FROM duckdb_tables()").fetchall()
    assert left == [], "the temporary table is gone"


@pytest.mark.parametrize("engine", ENGINES)
def test_observed_items(engine: str, tmp_path: Path) -> None:
    options = {"observed_keys_are_public": True}
    reference = released(arrow(TEXTS), "observed", **options)
    assert released(ENGINES[engine](TEXTS, tmp_path), "observed", **options) == reference


def test_a_range_far_from_zero(tmp_path: Path) -> None:
    low = -(10**15)
    rows = [(low + i * i % 37, i % 23) for i in range(400)]
    for engine in ("polars lazy", "duckdb", "csv", "pandas"):
        table = ENGINES[engine](rows, tmp_path)
        assert counts_of(table, range(low, low + 40)) == counts_of(arrow(rows), range(low, low + 40))
    huge = range(low, low + 10**12)
    picks = {
        engine: fg.top_k(
            ENGINES[engine](rows, tmp_path),
            item="item",
            person="person",
            k=3,
            epsilon="0.01",
            domain=huge,
            bits=fg.SeededBits(2),
        ).labels
        for engine in ("polars lazy", "duckdb", "csv", "pandas", "ibis")
    }
    assert len(set(picks.values())) == 1
    assert min(picks["duckdb"]) > low + 40, "of 10^12 items without people, some come first at this ε"


def test_ranges_with_steps_and_backwards() -> None:
    table = arrow(NUMBERS)
    assert counts_of(table, range(0, 50, 7)) == counts_of(table, list(range(0, 50, 7)))
    assert counts_of(table, range(49, -1, -1)) == counts_of(table, range(50))


@pytest.mark.parametrize("epsilon", ["10000", "0.01"])
def test_thousands_of_items_selected_at_once(epsilon: str) -> None:
    """By large ε they occur, with many counts and many items each; by small ε most of them do not."""
    rows = [(1000 * count + i, p) for count in range(1, 36) for i in range(30) for p in range(count)]
    releases = [
        fg.top_k(
            table,
            item="item",
            person="person",
            k=950,
            epsilon=epsilon,
            domain=range(100_000),
            bits=fg.SeededBits(1),
        )
        for table in (arrow(rows), duckdb.from_arrow(arrow(rows)), pl.LazyFrame(pl.from_arrow(arrow(rows))))
    ]
    assert releases[0] == releases[1] == releases[2]
