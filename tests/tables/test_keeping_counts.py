"""Where counts are kept meanwhile, and that nothing of tidying up or of watching gets into a release."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import polars as pl
import pytest

import freegap as fg
from freegap.errors import EngineFailed
from freegap.tables import in_engine, sources
from freegap.tables.in_engine import can_keep, keep
from freegap.tables.progress import followed, watched
from freegap.tables.sources import frame_of
from tests.tables.engines import arrow, counts_of


def _of(implementation: nw.Implementation) -> Any:
    return SimpleNamespace(implementation=implementation)


@pytest.mark.parametrize(
    ("implementation", "can"),
    [
        (nw.Implementation.DUCKDB, True),
        (nw.Implementation.PYSPARK, True),
        (nw.Implementation.PYSPARK_CONNECT, True),
        (nw.Implementation.POLARS, True),
        (nw.Implementation.PANDAS, False),
        (nw.Implementation.DASK, False),
        (nw.Implementation.SQLFRAME, False),
    ],
    ids=str,
)
def test_which_engines_can_keep_counts(implementation: nw.Implementation, can: bool) -> None:
    assert can_keep(_of(implementation)) is can


class Engine:
    """Something that keeps rows, and fails to let go of them."""

    def __init__(self) -> None:
        self.let_go = 0

    def persist(self) -> Engine:
        return self

    cache = persist

    def unpersist(self) -> None:
        self.let_go += 1
        raise OSError("the session has ended")

    release = unpersist


@pytest.mark.parametrize(
    "implementation",
    [nw.Implementation.PYSPARK, nw.Implementation.PYSPARK_CONNECT, nw.Implementation.IBIS],
    ids=str,
)
def test_a_failure_to_tidy_up_does_not_take_the_release_with_it(
    implementation: nw.Implementation, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine()
    monkeypatch.setattr(in_engine, "nw", SimpleNamespace(to_native=lambda _: engine))
    monkeypatch.setattr(in_engine, "_lazy", lambda native: native)
    with keep(_of(implementation)) as kept:
        assert repr(kept) == repr(engine)
        assert engine.let_go == 0
    assert engine.let_go == 1
    with pytest.raises(ZeroDivisionError), keep(_of(implementation)):
        raise ZeroDivisionError  # of the release, which is what a caller must hear
    assert engine.let_go == 2


def test_a_duckdb_that_was_closed_meanwhile() -> None:
    connection = duckdb.connect()
    frame: Any = frame_of(connection.sql("SELECT 1 AS item, 2 AS people")).lazy()
    with keep(frame) as kept:
        assert kept.collect()["people"].to_list() == [2]
        ((name,),) = connection.sql("SELECT table_name FROM duckdb_tables()").fetchall()
        assert name.startswith("freegap_")
        connection.close()
    with pytest.raises(EngineFailed), keep(frame):
        pass


def test_rows_that_are_kept_do_not_change_any_more() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 1 AS item, 2 AS people")
    frame: Any = frame_of(connection.table("t")).lazy()
    with keep(frame) as kept:
        connection.execute("UPDATE t SET people = 3")
        assert kept.collect()["people"].to_list() == [2]
    assert connection.sql("SELECT table_name FROM duckdb_tables()").fetchall() == [("t",)]
    lazy: Any = frame_of(pl.DataFrame({"item": [1], "people": [2]}).lazy())
    with keep(lazy) as kept:
        assert isinstance(kept, nw.LazyFrame)


def test_a_table_that_narwhals_cannot_read_is_named_by_its_type() -> None:
    import pandas as pd

    twice = pd.DataFrame([[1, 2]], columns=["item", "item"])
    for table, argument in ((twice, "table"), (arrow([(1, 1)]), "domain")):
        with pytest.raises(fg.InvalidArgument) as caught:
            fg.top_k(table, item="item", person="person", k=1, epsilon=1, domain=twice)
        assert caught.value.argument == argument
        assert "'<DataFrame>': cannot be read as a table (" in str(caught.value)
        assert caught.value.__context__ is None


@pytest.mark.parametrize("table", [None, {"item": [1]}, [1], (1,)], ids=str)
def test_plain_containers_are_no_tables(table: Any) -> None:
    with pytest.raises(fg.InvalidArgument, match=f"table = '<{type(table).__name__}>': must be a dataframe"):
        counts_of(table, range(3))


def test_columns_that_are_not_named() -> None:
    for named in ({"item": None}, {"person": None}, {"item": 3}, {"person": b"p"}):
        arguments: dict[str, Any] = {"item": "item", "person": "person"} | named
        (argument, value) = next(iter(named.items()))
        with pytest.raises(fg.InvalidArgument, match=rf"{argument} = {value!r}: must name a column"):
            fg.top_k(arrow([(1, 1)]), k=1, epsilon=1, domain=range(3), **arguments)


def test_columns_are_picked_by_their_whole_names() -> None:
    """A dot or a quotation mark in a name is part of it."""
    connection = duckdb.connect()
    relation = connection.sql('SELECT 1 AS "a.b", 2 AS "c""d", 3 AS "x y", 4 AS b')
    frame = sources.pick(frame_of(relation), item="a.b", person='c"d')
    assert nw.to_native(frame).fetchall() == [(1, 2)]
    assert frame.collect_schema().names() == ["item", "person"]


class Connection:
    """A DuckDB that says how far it is: nothing runs, then something does."""

    def __init__(self) -> None:
        self.said = [-1.0, 0.0, 50.0, 100.0, 150.0]
        self.executed: list[str] = []
        self.heard = threading.Event()

    def execute(self, statement: str) -> None:
        self.executed.append(statement)

    def query_progress(self) -> float:
        if not self.said:
            self.heard.set()
            return -1.0
        return self.said.pop(0)


def test_how_far_a_query_is_from_0_to_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("freegap.tables.progress._SECONDS_BETWEEN_LOOKS", 0.001)
    shown: list[float] = []
    connection = Connection()
    with watched(shown.append), followed(connection):
        assert connection.heard.wait(60)
    assert shown == [0.0, 0.5, 1.0, 1.0]
    assert connection.executed == ["SET enable_progress_bar_print = false", "SET enable_progress_bar = true"]
    asked = len(connection.executed)
    with followed(connection):  # nobody watches any more
        assert connection.executed[asked:] == [
            "SET enable_progress_bar_print = false",
            "SET enable_progress_bar = false",
        ]
    assert len(shown) == 4


def test_nobody_is_told_any_more_after_an_error() -> None:
    shown: list[float] = []
    with pytest.raises(ZeroDivisionError), watched(shown.append):
        raise ZeroDivisionError
    connection = Connection()
    with followed(connection):
        pass
    assert connection.executed[-1] == "SET enable_progress_bar = false"
