"""One row decides about itself alone, whatever bytes, collation or object it has."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import psycopg
import pytest
from freegap_evidence.bench import postgres

import freegap as fg
from freegap.tables import behind_ibis
from freegap.tables.described import described
from tests.tables import engines

ITEMS = ["a", "A", "é", "b"]
ROWS = [("a", "1"), ("a", "2"), ("A", "3"), ("é", "1"), ("é", "\N{SNOWMAN}"), ("", "4"), ("a\0z", "5")]
WRONG = [b"\xff", b"a\xff", b"\x80", b"\xc3", b"\xed\xa0\x80", b"a\0\xff", b"\xc0\x80"]


def counts_of(table: Any, domain: Any) -> list[int]:
    counts = engines.counts_of(table, domain)
    return [counts[item] for item in ITEMS]


def conditioned(table: Any, where: str) -> Any:
    return described(table, where=where)


def database(place: Path, encoding: str, *more: tuple[Any, Any], declared: str = "TEXT") -> Path:
    """A database of SQLite with these rows, of which bytes are stored as texts."""
    with closing(sqlite3.connect(place)) as made:
        made.execute(f'PRAGMA encoding = "{encoding}"')
        made.execute(f"CREATE TABLE t (item {declared}, person {declared})")
        for row in (*ROWS, *more):
            values = ["CAST(? AS TEXT)" if isinstance(value, bytes) else "?" for value in row]
            made.execute(f"INSERT INTO t VALUES ({', '.join(values)})", row)  # noqa: S608
        made.commit()
    return place


def test_a_text_of_sqlite_that_is_none_is_missing(tmp_path: Path) -> None:
    clean = database(tmp_path / "clean.sqlite", "UTF-8")
    wanted = counts_of(fg.source(clean, name="t"), ITEMS)
    assert wanted == [2, 1, 2, 0]
    for number, wrong in enumerate(WRONG):
        rows = [(wrong, "1"), ("b", wrong), ("b", wrong), (wrong, wrong)]
        found = database(tmp_path / f"{number}.sqlite", "UTF-8", *rows)
        for table in (fg.source(found, name="t"), ibis.sqlite.connect(found).table("t")):
            assert counts_of(table, ITEMS) == wanted
            assert counts_of(conditioned(table, "item >= 'a'"), ITEMS) == [2, 0, 2, 0]
            seen = fg.top_k(
                table,
                item="item",
                person="person",
                k=1,
                epsilon=9,
                domain="observed",
                observed_keys_are_public=True,
                bits=fg.SeededBits(1),
            )
            assert seen.labels[0] in {item for item, _ in ROWS}


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_texts_of_sqlite_in_another_encoding(tmp_path: Path, encoding: str) -> None:
    """There SQLite itself puts U+FFFD for what is no text."""
    found = database(tmp_path / "x.sqlite", encoding, (b"\x00\xd8", "1"))
    assert counts_of(fg.source(found, name="t"), ITEMS) == [2, 1, 2, 0]


def test_values_of_other_types_are_missing_behind_ibis_too(tmp_path: Path) -> None:
    """Not only where the address of the database was passed."""
    found = database(tmp_path / "x.sqlite", "UTF-8", (memoryview(b"a"), "9"))
    assert counts_of(ibis.sqlite.connect(found).table("t"), ITEMS) == [2, 1, 2, 0]


def test_a_collation_of_sqlite_does_not_merge_items(tmp_path: Path) -> None:
    found = database(
        tmp_path / "x.sqlite", "UTF-8", ("A", "4"), ("a", "X"), ("a", "x"), declared="TEXT COLLATE NOCASE"
    )
    for table in (fg.source(found, name="t"), ibis.sqlite.connect(found).table("t")):
        assert counts_of(table, ITEMS) == [4, 2, 2, 0]
        assert counts_of(conditioned(table, "item = 'a'"), ITEMS) == [4, 0, 0, 0]


def test_a_collation_of_duckdb_behind_ibis_does_not_merge_items() -> None:
    backend = ibis.duckdb.connect()
    backend.raw_sql("CREATE TABLE t (item VARCHAR COLLATE NOCASE, person VARCHAR COLLATE NOCASE)")
    backend.raw_sql("INSERT INTO t VALUES ('a', '1'), ('A', '2'), ('A', 'x'), ('A', 'X'), ('b', '1')")
    assert counts_of(backend.table("t"), ITEMS) == [1, 3, 0, 1]
    assert counts_of(fg.source(backend.table("t"), where="item = 'a'"), ITEMS) == [1, 0, 0, 0]
    held = backend.create_table("held", pd.DataFrame({"item": ITEMS}))
    assert counts_of(backend.table("t"), held.select("item")) == [1, 3, 0, 1]


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    programs = postgres.programs()
    if programs is None:
        pytest.skip("no PostgreSQL that can run here")
    running = postgres.Server(programs)
    backend = ibis.postgres.connect(user="freegap", database="postgres", host=str(running.directory))
    yield backend
    backend.disconnect()
    running.close()


def test_postgresql_compares_texts_byte_by_byte(server: Any) -> None:
    """Where its program knows collations that ignore case, with one; what is asked for, in any case."""
    collation = '"C"'
    try:
        server.raw_sql(
            "CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        ).close()
        collation = "caseless"
    except psycopg.Error:
        server.con.rollback()
    server.raw_sql(f"CREATE TABLE t (item text COLLATE {collation}, person text COLLATE {collation})").close()
    server.raw_sql("INSERT INTO t VALUES ('a', '1'), ('A', '2'), ('A', 'x'), ('A', 'X'), ('b', '1')").close()
    server.con.commit()
    assert counts_of(server.table("t"), ITEMS) == [1, 3, 0, 1]
    assert counts_of(fg.source(server.table("t"), where="item >= 'a'"), ITEMS) == [1, 0, 0, 1]
    asked = str(ibis.to_sql(behind_ibis.as_they_are(server.table("t"), ["item"])))
    assert 'COLLATE "C"' in asked


@pytest.mark.parametrize("argument", ["item", "person", "where"])
def test_times_with_time_zones_behind_ibis_are_refused(server: Any, argument: str) -> None:
    """They lose their zone on the way: two persons would become one."""
    own = ibis.duckdb.connect()
    for backend in (own, server):
        create = "CREATE TABLE IF NOT EXISTS zoned (item text, person timetz, plain time)"
        made = backend.raw_sql(create)
        if backend is server:
            made.close()
        table = backend.table("zoned")
        columns = {"item": "item", "person": "plain"} | ({argument: "person"} if argument != "where" else {})
        told: dict[str, Any] = {"k": 1, "epsilon": 1, "domain": ["a", "b"], **columns}
        if argument == "where":
            assert fg.top_k(fg.source(table, where="person IS NOT NULL"), **told).private
            continue
        with pytest.raises(fg.InvalidArgument, match="lost on the way out") as caught:
            fg.top_k(table, **told)
        assert caught.value.argument == argument


OBJECTS = {
    "list": [1, 2],
    "dict": {"x": 1},
    "set": {1, 2},
    "array": np.array([1, 2]),
    "series": pd.Series([1, 2]),
    "tuple with a list": ("a", [1]),
}


@pytest.mark.parametrize("name", list(OBJECTS))
@pytest.mark.parametrize("argument", ["item", "person", "group", "looked_at"])
def test_an_object_that_cannot_be_counted_is_missing(argument: str, name: str) -> None:
    columns: dict[str, list[Any]] = {
        "item": ["a", "a", "A", "b"],
        "person": [1, 2, 1, 2],
        "group": ["g", "g", "g", "g"],
        "looked_at": ["x", "x", "y", "x"],
    }

    def released(values: dict[str, list[Any]]) -> Any:
        made = {key: pd.Series([None] * len(given), dtype=object) for key, given in values.items()}
        for key, given in values.items():
            for place, value in enumerate(given):
                made[key].iat[place] = value
        release = fg.top_k(
            fg.source(pd.DataFrame(made), where="looked_at IN ('x', 'y')"),
            item="item",
            person="person",
            group="group",
            groups=["g", "h"],
            k=1,
            epsilon=9,
            domain=ITEMS,
            bits=fg.SeededBits(1),
        )
        return release.to_dict()

    another = {key: [*values, values[0]] for key, values in columns.items()}
    another["person"][-1] = 3
    another[argument][-1] = OBJECTS[name]
    assert released(another) == released(columns)


def test_the_reader_of_types_is_public() -> None:
    """By the schema: no row is read."""
    backend = ibis.duckdb.connect()
    backend.raw_sql("CREATE TABLE zoned AS SELECT CAST('10:00:00+02' AS TIMETZ) AS a, TIME '10:00' AS b")
    assert behind_ibis.with_time_zones(backend.table("zoned")) == ["a"]
    assert behind_ibis.with_time_zones(backend.table("zoned").select("b")) == []
