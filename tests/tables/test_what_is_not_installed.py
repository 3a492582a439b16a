"""Libraries that are not installed are asked for by name; what a database says of an address is not shown."""

from __future__ import annotations

import builtins
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import freegap as fg
from freegap.errors import FreegapError, InvalidArgument, MissingExtra
from freegap.tables import databases
from freegap.tables.watch import watch

ASK: dict[str, Any] = {"item": "item", "person": "person", "k": 1, "epsilon": 1, "domain": ["a", "b"]}
TABLE = pd.DataFrame({"item": ["a"], "person": [1]})


@pytest.fixture
def sqlite(tmp_path: Path) -> Path:
    path = tmp_path / "visits.sqlite"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE visits (item TEXT, person INTEGER)")
    return path


@pytest.mark.parametrize(
    ("module", "table", "named", "package", "extra"),
    [
        ("duckdb", "rows.csv", {}, "duckdb", "tables"),
        ("duckdb", "shop.duckdb", {"name": "visits"}, "duckdb", "tables"),
        ("ibis", "visits.sqlite", {"name": "visits"}, "ibis", "databases"),
        ("psycopg", "postgresql://ann:SECRET@host/shop", {"name": "visits"}, "psycopg", "databases"),
    ],
)
def test_a_library_that_is_not_there(
    module: str,
    table: str,
    named: dict[str, Any],
    package: str,
    extra: str,
    sqlite: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(sqlite.parent)
    Path("rows.csv").write_text("item,person\na,1\n")
    Path("shop.duckdb").write_bytes(b"")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra) as caught:
        fg.top_k(fg.source(table, **named), **ASK)
    assert (caught.value.package, caught.value.extra) == (package, extra)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert "SECRET" not in str(caught.value)


def test_narwhals_is_asked_for_and_another_module_is_not_taken_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load = builtins.__import__
    asked: dict[str, Any] = {name: ASK[name] for name in ("item", "person", "domain", "epsilon")}

    def without(name: str, missing: str, *given: Any, **named: Any) -> Any:
        if name == "freegap.tables.categories":
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)
        return load(name, *given, **named)

    for missing, raised in (("narwhals", MissingExtra), ("other", ModuleNotFoundError)):
        with monkeypatch.context() as patched:
            patched.setattr(
                builtins, "__import__", lambda name, *a, missing=missing, **k: without(name, missing, *a, **k)
            )
            with pytest.raises(raised) as caught:
                fg.histogram(TABLE, items_per_person=1, **asked)
        assert isinstance(caught.value, MissingExtra) == (missing == "narwhals")


def test_a_watch_needs_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(FreegapError, match="a watch needs file locks") as caught:
        watch(
            TABLE, item="item", of="a", person="person", threshold=5, k=1, epsilon=1, question="x",
            state=tmp_path / "one.watch",
        )  # fmt: skip
    assert caught.value.__suppress_context__
    assert list(tmp_path.iterdir()) == []


def test_what_a_database_says_of_its_address_is_not_shown(
    sqlite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its kind alone, for each step on the way to a table."""

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("cannot reach ann:SECRET@host")

    place = "postgresql://ann:SECRET@host/shop"
    with monkeypatch.context() as patched:
        patched.setattr(databases, "_postgresql", fail)
        with pytest.raises(
            InvalidArgument, match=r"postgresql://….*cannot be opened \(RuntimeError\)"
        ) as one:
            fg.top_k(fg.source(place, name="visits"), **ASK)
    import ibis

    with monkeypatch.context() as patched:
        patched.setattr(ibis.sqlite, "from_connection", fail)
        with pytest.raises(InvalidArgument, match=r"cannot be opened \(RuntimeError\)") as two:
            fg.top_k(fg.source(sqlite, name="visits"), **ASK)
    broken = sqlite.with_name("broken.duckdb")
    broken.write_bytes(b"no database of any kind" * 99)
    with pytest.raises(InvalidArgument, match=r"cannot be opened \(\w+\)") as three:
        fg.top_k(fg.source(broken, name="visits"), **ASK)
    for caught in (one, two, three):
        assert "SECRET" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None


@pytest.mark.parametrize("name", [None, "", ".", "a.", ".a", "a.b.c", 3])
def test_names_of_tables_that_are_none(name: Any, sqlite: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"must name a table of the database|is needed for a database"):
        fg.top_k(fg.source(sqlite, name=name), **ASK)
