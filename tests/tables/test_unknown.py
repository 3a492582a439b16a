"""`top_k` with domain="unknown": the same from every engine, of which only the largest counts come."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import duckdb
import ibis
import polars as pl
import pyarrow as pa
import pytest

import freegap as fg
from freegap.mechanisms.unknown_slots import slots_of
from freegap.tables import unknown
from freegap.tables.sources import open_source
from freegap.values.page import page
from tests.tables.engines import ENGINES, arrow

# Many ties, at every edge of a pool.
NUMBERS = [(i * i % 37, i % 23) for i in range(400)]
TEXTS = [(f"Item {item:02}" if item % 2 else f"item {item:02}", person) for item, person in NUMBERS]
ASK: dict[str, Any] = {"item": "item", "person": "person", "domain": "unknown"}


def released(table: Any, **options: Any) -> list[Any]:
    asked: dict[str, Any] = {"k": 6, "epsilon": 12, "delta": "1/4", "people": 4} | ASK | options
    noises: tuple[Any, ...] = ("exponential", "gumbel", None)
    return [
        fg.top_k(table, pool=pool, noise=noise, bits=fg.SeededBits(pool), **asked).to_dict()
        for pool, noise in zip((6, 9, 1000), noises, strict=True)
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_same(engine: str, tmp_path: Path) -> None:
    wanted = released(arrow(TEXTS))
    assert {len(release["labels"]) for release in wanted} & {1, 2, 3, 4, 5}
    assert released(ENGINES[engine](TEXTS, tmp_path)) == wanted
    if engine not in ("csv", "csv.gz", "json lines"):  # where all is text
        assert released(ENGINES[engine](NUMBERS, tmp_path)) == released(arrow(NUMBERS))


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many counts left the engine, each time."""
    numbers: list[int] = []
    original = unknown._pairs

    def spied(frame: Any) -> Any:
        pairs = original(frame)
        numbers.append(len(pairs[0]))
        return pairs

    monkeypatch.setattr(unknown, "_pairs", spied)
    return numbers


@pytest.mark.parametrize("engine", ["polars lazy", "duckdb", "csv", "parquet"])
def test_only_the_largest_counts_leave_the_engine(engine: str, tmp_path: Path, seen: list[int]) -> None:
    released(ENGINES[engine](TEXTS, tmp_path))
    assert seen == [7, 10, len({item for item, _ in TEXTS})]


@pytest.mark.parametrize("backend", ["sqlite", "duckdb", "polars"])
def test_behind_ibis_ties_travel_too(backend: str, seen: list[int]) -> None:
    """Text is ordered by the database's own collation, which may call two items equal."""
    connection = getattr(ibis, backend).connect()
    table = connection.create_table("rows", arrow(TEXTS))
    assert released(table) == released(arrow(TEXTS))
    occurring = len({item for item, _ in TEXTS})
    if backend == "polars":  # keeps no counts
        assert seen[:3] == [occurring] * 3
    else:
        assert 7 <= seen[0] < 10 <= seen[1] <= seen[2] == occurring


def test_other_kinds_of_items(tmp_path: Path) -> None:
    start = datetime.date(2020, 1, 1)
    rows = [(start + datetime.timedelta(days=item), person) for item, person in NUMBERS]
    items, persons = [item for item, _ in rows], [person for _, person in rows]
    table = pa.table({"item": items, "person": persons})
    connection = duckdb.connect()
    connection.register("rows", table)
    wanted = released(table)
    assert released(connection.sql("SELECT * FROM rows")) == wanted
    assert released(pl.LazyFrame({"item": items, "person": persons})) == wanted


def test_the_order_of_rows_and_a_persons_own_items_change_nothing_else() -> None:
    assert released(arrow(TEXTS)) == released(arrow(TEXTS[::-1]))
    one, more = arrow(TEXTS), arrow([*TEXTS, ("a name", 99), (None, 98), ("item 01", None)])
    with open_source(one, "item", "person") as few, open_source(more, "item", "person") as many:
        before = dict(zip(*unknown.largest_counts(few, 10), strict=True))
        after = dict(zip(*unknown.largest_counts(many, 10), strict=True))
    assert after == before | {"a name": 1}


def test_what_the_release_says() -> None:
    release = fg.top_k(arrow(TEXTS), k=3, epsilon=1, delta="1e-7", bits=fg.SeededBits(1), **ASK)
    assert (release.labels, release.complete, release.measure) == ((), True, "epsilon-delta")
    shown = str(release)
    assert "Everything else: fewer than 3 items stood out" in shown
    assert "Domain: unknown; the 1,000 items with the most people can come out." in shown
    assert "δ" in shown
    assert "Everything else" in page(release, version="1")


def test_the_ledger_knows_before_anything_is_drawn(tmp_path: Path) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=3, delta="1e-6")
    fg.top_k(arrow(TEXTS), k=3, epsilon="1/2", delta="1e-7", ledger=(ledger, "shop"), **ASK)
    reserved, settled = ledger.entries("shop")[-2:]
    assert (reserved.what, str(reserved.asked)) == ("top_k", "ε = 1/2, δ = 1/10000000")
    assert (settled.kind, settled.asked) == ("settle", reserved.asked)
    assert reserved.parameters["domain"] == "unknown"


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"delta": None}, "delta"),
        ({"delta": "1e-3"}, "people"),
        ({"measure": 1}, "measure"),
        ({"rho": 1, "epsilon": None}, "rho.*no theorem"),
        ({"items_per_person": 0}, "items_per_person"),
        ({"noise": "laplace"}, "noise.*not a known noise"),
        ({"domain_column": "item"}, "domain_column"),
        ({"observed_keys_are_public": True}, "need not be said"),
        ({"pool": 1}, "pool"),
        ({"domain": ["a", "b", "c", "d"]}, "delta.*items are not known"),
    ],
)
def test_errors_come_before_the_table_is_read(options: dict[str, Any], names: str) -> None:
    asked: dict[str, Any] = {"k": 3, "epsilon": 1, "delta": "1e-7"} | ASK | options
    with pytest.raises(fg.InvalidArgument, match=names):
        fg.top_k("nowhere.csv", **asked)


def test_what_cannot_come_out_does_not_lower_the_bar() -> None:
    """Infinity has no key. Where it is among the largest counts, the one after them is asked for."""
    rows = [(float(item), person) for item in range(10) for person in range(100 - 5 * item)]
    for people in (84, 85, 86, 200):
        items, persons = zip(*rows, *((math.inf, person) for person in range(people)), strict=True)
        table = pa.table({"item": items, "person": persons})
        for source in (table, pl.from_arrow(table), duckdb.from_arrow(table)):
            with open_source(source, "item", "person") as opened:
                slots = slots_of(*unknown.largest_counts(opened, 4), 3)
            assert (slots.labels, slots.counts, slots.outside) == ([0.0, 1.0, 2.0], [100, 95, 90], 85)
