"""What is opened for a release is closed afterwards, and what is copied is removed, also after an error."""

from __future__ import annotations

import io
import os
import sqlite3
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import openpyxl
import pyarrow as pa
import pytest

import freegap as fg
from freegap.errors import EngineFailed, InvalidArgument
from freegap.tables import copies, databases
from freegap.tables.copies import copied, encoding_argument, first_bytes
from freegap.tables.databases import open_database
from freegap.tables.lakes import read_lake
from freegap.tables.sheets import _opened, read_sheet, sheet_columns


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where copies are put."""
    made = tmp_path / "copies"
    made.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(made))
    return made


def test_copies_are_removed(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"item,person\ncaf\xe9,1\n")
    with copied([str(file)], "latin-1", "csv") as (copy,):
        assert Path(copy).read_text(encoding="utf-8") == "item,person\ncafé,1\n"
        (place,) = folder.iterdir()
        assert place.name.startswith("freegap-")
        assert place.stat().st_mode & 0o077 == 0
    assert list(folder.iterdir()) == []
    with pytest.raises(ZeroDivisionError), copied([str(file)], "latin-1", "csv"):
        raise ZeroDivisionError
    assert list(folder.iterdir()) == []
    with pytest.raises(EngineFailed), copied([str(tmp_path / "none")], "latin-1", "csv"):
        pass
    assert list(folder.iterdir()) == []
    with copied([str(file)], None, "csv") as files:
        assert (files, list(folder.iterdir())) == ([str(file)], [])


def test_copies_that_somebody_removed_are_no_error(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a")
    with copied([str(tmp_path / "a.csv")], "latin-1", "csv") as (copy,):
        os.remove(copy)
        os.rmdir(Path(copy).parent)
    assert list(folder.iterdir()) == []


def test_each_file_has_a_copy_of_its_own(folder: Path, tmp_path: Path) -> None:
    names = [str(tmp_path / f"{n}.csv") for n in range(3)]
    for number, name in enumerate(names):
        Path(name).write_text(f"text {number}", encoding="utf-16")
    with copied(names, "utf-16", "csv") as found:
        assert [Path(one).read_text() for one in found] == ["text 0", "text 1", "text 2"]
        assert {Path(one).suffix for one in found} == {".csv"}
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("encoding", [None, "utf-16"])
def test_what_is_longer_than_a_piece_is_copied_whole(
    encoding: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a character stands across two pieces, and where the last is cut off."""
    monkeypatch.setattr(copies, "_PIECE", 3)
    text = "item,person\nä𝄞,1\n"
    data = text.encode(encoding or "utf-8")
    for given, read in ((data, text), (data + b"\xd8", text + ("\ufffd" if encoding else ""))):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(given)))
        with copied(["-"], encoding, "csv") as (copy,):
            found = Path(copy).read_bytes()
        assert found == (read.encode() if encoding else given)
    assert list(folder.iterdir()) == []


def test_first_bytes_are_those_of_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"item,person\na,1\n")
    assert first_bytes(str(path), 100) == b"item,person\n"
    assert first_bytes(str(path), 4) == b"item"


@pytest.mark.parametrize("encoding", ["a\0b", "punycode", "idna", "hex", "undefined", "mbcs", "cp1140", b"x"])
def test_encodings_that_are_refused(encoding: Any) -> None:
    with pytest.raises(InvalidArgument, match="one byte for each character"):
        encoding_argument(encoding)


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("utf8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("UTF-16LE", "utf-16-le"),
        ("utf_16_be", "utf-16-be"),
        ("ascii", "ascii"),
        ("cp1252", "cp1252"),
        ("koi8-r", "koi8-r"),
        (None, None),
    ],
)
def test_encodings_that_are_taken(encoding: Any, name: Any) -> None:
    assert encoding_argument(encoding) == name


def test_a_database_is_closed_when_the_release_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "visits.sqlite"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE visits (item TEXT, person INTEGER)")
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def kept(*arguments: Any, **settings: Any) -> sqlite3.Connection:
        assert settings["uri"]  # of which some builds of SQLite need to be told, that it is no name of a file
        opened.append(connect(*arguments, **settings))
        return opened[-1]

    monkeypatch.setattr(databases, "sqlite3", SimpleNamespace(connect=kept))
    with open_database(path, "visits") as (table, connection):
        assert (table.columns, connection) == (("item", "person"), None)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            opened[0].execute("INSERT INTO visits VALUES ('a', 1)")
    with pytest.raises(InvalidArgument, match="is not a table of the database"), open_database(path, "x"):
        pass
    assert len(opened) == 2
    for one in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            one.execute("SELECT 1")


def test_a_book_is_closed_and_says_nothing_of_its_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["item", "person"])
    book.active.append(["a", 1])
    book.save(path)
    opened: list[Any] = []
    load = openpyxl.load_workbook

    def kept(*arguments: Any, **settings: Any) -> Any:
        warnings.warn("a date of this book is none", UserWarning, stacklevel=1)
        opened.append(load(*arguments, **settings))
        return opened[-1]

    monkeypatch.setattr(openpyxl, "load_workbook", kept)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sheet_columns(str(path), None, "table") == ["item", "person"]
        assert read_sheet(str(path), "Sheet", "table", ["person", "item"]).to_pydict() == {
            "person": ["1"],
            "item": ["a"],
        }
        with pytest.raises(InvalidArgument, match=r"must name a sheet.*There are: Sheet\."):
            sheet_columns(str(path), "x", "table")
        with pytest.raises(ZeroDivisionError), _opened(str(path), None, "table"):
            raise ZeroDivisionError
    assert len(opened) == 5
    assert all(one._archive.fp is None for one in opened)


def test_nothing_but_the_rows_of_a_lake_stays_meanwhile(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    table = pa.table({"item": ["a", "b"], "person": [1, 2], "more": [3, 4]})
    deltalake.write_deltalake(str(tmp_path / "lake"), table)
    with duckdb.connect() as connection:
        rows = read_lake(connection, "delta", str(tmp_path / "lake"), ["person", "item"])
        assert rows.columns == ["person", "item"]
        assert sorted(rows.fetchall()) == [(1, "a"), (2, "b")]
        listed = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        assert len(listed) == 1
        views = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        assert views == []


def test_an_address_is_not_shown() -> None:
    """Neither by a description, which a program may print, nor by what it says of a mistake."""
    made = fg.source("postgresql://user:SECRET@host/shop", name="visits")
    assert "SECRET" not in repr(made)
    assert "visits" in repr(made)
    calls: list[Callable[[], Any]] = [
        lambda: fg.source("postgresql://user:SECRET@host/shop"),
        lambda: fg.source("mysql://user:SECRET@host/shop", name="visits"),
        lambda: fg.source("duckdb:///none?SECRET", name="visits", format="csv"),
        lambda: fg.top_k("duckdb:///SECRET.db", item="a", person="b", k=1, epsilon=1, domain=["x", "y"]),
    ]
    for call in calls:
        with pytest.raises(InvalidArgument) as caught:
            call()
        assert "SECRET" not in str(caught.value)
