"""Files at their edges: which ones are read, as what, and what a first line may be."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import duckdb
import polars as pl
import pytest

import freegap as fg
from freegap.errors import EngineFailed, InvalidArgument
from freegap.tables.engine_errors import ask_engine
from freegap.tables.files import FileTable, is_path, open_connection
from freegap.tables.readers import column_names
from freegap.tables.results import PrivacyUnit
from tests.tables.engines import counts_of

CSV = "item,person\n1,1\n1,2\n2,2\n"
COUNTS = {0: 0, 1: 2, 2: 1}


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


JSON = "".join(
    json.dumps({"item": item, "person": person}) + "\n" for item, person in ((1, 1), (1, 2), (2, 2))
)


@pytest.mark.parametrize(
    ("name", "text"),
    [("A.CSV", CSV), ("a.tsv", CSV.replace(",", "\t")), ("a.jsonl", JSON), ("a.ndjson", JSON)],
)
@pytest.mark.parametrize("compressed", ["", ".gz"])
def test_text_formats_by_their_endings(name: str, text: str, compressed: str, tmp_path: Path) -> None:
    path = tmp_path / (name + compressed)
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    assert counts_of(path, range(3)) == COUNTS
    assert counts_of(str(path), range(3)) == COUNTS


@pytest.mark.parametrize("ending", [".parquet", ".pq"])
def test_parquet_by_its_endings(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{ending}"
    pl.DataFrame({"item": [1, 1, 2], "person": [1, 2, 2]}).write_parquet(path)
    assert counts_of(path, range(3)) == COUNTS
    files = FileTable(path, "table")
    assert (files.typed, files.by_header, files.format) == (True, False, "parquet")
    text = FileTable(put(tmp_path / "a.tsv", "x"), "table")
    assert (text.typed, text.by_header, text.format) == (False, True, "tsv")
    lines = FileTable(put(tmp_path / "a.jsonl", "x"), "table")
    assert (lines.typed, lines.by_header) == (False, False)


@pytest.mark.parametrize("name", ["a.pq.gz", "a.parquet.zst", "a.gz", "a", "a.txt", "csv"])
def test_endings_that_are_not_known(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="must be files of one known format") as caught:
        counts_of(put(tmp_path / name, CSV), range(3))
    assert (
        "Known endings: .csv .tsv .jsonl .ndjson .json .parquet .pq .arrow .feather .ipc .xlsx .xlsm .dat, "
        "text formats also with .gz or .zst; " in str(caught.value)
    )


def test_a_folder_without_what_engines_leave_beside_data(tmp_path: Path) -> None:
    put(tmp_path / "d" / "a.csv", CSV)
    for beside in ("_SUCCESS", ".part.crc", "_tmp/b.csv", ".cache/deep/c.csv"):
        put(tmp_path / "d" / beside, "nonsense")
    assert counts_of(tmp_path / "d", range(3)) == COUNTS
    # The folder itself may be called so.
    put(tmp_path / "_d" / "a.csv", CSV)
    assert counts_of(tmp_path / "_d", range(3)) == COUNTS
    put(tmp_path / "e" / "deep" / "b.csv", CSV)
    assert counts_of(f"{tmp_path}/e/**/*.csv", range(3)) == COUNTS
    assert FileTable(f"{tmp_path}/e/**", "table").files == [f"{tmp_path}/e/deep/b.csv"]
    put(tmp_path / "f" / "b.csv", CSV)
    put(tmp_path / "f" / "a.csv", CSV)
    assert FileTable(tmp_path / "f", "table").files == [f"{tmp_path}/f/a.csv", f"{tmp_path}/f/b.csv"]


def test_paths_that_name_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "a.csv", CSV)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    for nothing in ("", "b.csv", tmp_path / "empty", "empty/*.csv"):
        with pytest.raises(InvalidArgument, match="names no file"):
            counts_of(nothing, range(3))
    with pytest.raises(InvalidArgument, match=r"cannot be read \(File name too long\)") as caught:
        counts_of("x" * 5000 + ".csv", range(3))
    assert caught.value.__suppress_context__
    with pytest.raises(InvalidArgument, match="must be a path on this machine"):
        counts_of("https://host/a.csv", range(3))
    for odd in ("a*.csv", "a?.csv", "a[.csv"):
        folder = tmp_path / f"odd {ord(odd[1])}"
        put(folder / odd, CSV)
        with pytest.raises(InvalidArgument, match="must not lead to a file with one of"):
            counts_of(folder, range(3))
    assert (is_path("a"), is_path(Path("a")), is_path(b"a"), is_path(None)) == (True, True, False, False)


@pytest.mark.parametrize("first", ["item,person", "\ufeffitem,person", '"item","person"'])
def test_first_lines(first: str, tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", CSV.replace("item,person", first))
    assert counts_of(path, range(3)) == COUNTS


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["item,person\n", "item,person,more\n"], "the same in all files"),
        (["item,person\n", "person,item\n"], "the same in all files"),
        (["item,person,item\n"], "names each column once"),
        (["\nitem,person\n"], "must begin with a line of column names"),
        (["", ""], "must begin with a line of column names"),
    ],
    ids=str,
)
def test_first_lines_that_are_no_header(texts: list[str], message: str, tmp_path: Path) -> None:
    for number, text in enumerate(texts):
        put(tmp_path / "d" / f"{number}.csv", text)
    with pytest.raises(InvalidArgument, match=message):
        counts_of(tmp_path / "d", range(3))


def test_a_row_is_read_as_it_stands(tmp_path: Path) -> None:
    """Quotation marks, delimiters, ends of lines and blanks of one row are nothing to another."""
    rows = [
        '"a,b",1',
        '"a""b",2',
        '"a\nb",3',
        " a ,4",
        "'a',5",
        "a;b,6",
        "a\tb,7",
        "NULL,8",
        '"",9',
        "nan,10",
    ]
    path = put(tmp_path / "a.csv", "item,person\n" + "\n".join(rows) + "\n")
    wanted = ["a,b", 'a"b', "a\nb", " a ", "'a'", "a;b", "a\tb", "NULL", "nan", "a"]
    assert counts_of(path, wanted) == {**dict.fromkeys(wanted, 1), "a": 0}
    for extra in ("x;y;z,11", "2026-01-01,12", "1e5,13", "true,14"):
        more = put(tmp_path / "b.csv", path.read_text() + extra + "\n")
        assert counts_of(more, wanted) == {**dict.fromkeys(wanted, 1), "a": 0}
    with pytest.raises(EngineFailed):
        counts_of(put(tmp_path / "c.csv", "item,person\na,1,2\n"), wanted)


def test_lines_of_baskets(tmp_path: Path) -> None:
    """Blanks of any kind and number, quotation marks and commas are read as they stand."""
    path = put(tmp_path / "a.dat", 'a  b\ta\n\n  \n"a" b,c\n a \n')
    release = fg.top_k(path, k=3, epsilon=10**6, domain=["a", "b", '"a"', "b,c", ""], bits=fg.SeededBits(1))

    assert release.labels[0] == "a"
    assert set(release.labels[1:]) <= {"b", '"a"', "b,c"}
    assert release.privacy == PrivacyUnit(
        "one line of the file", release.privacy.neighbours, "5 public items"
    )


def test_names_of_columns(tmp_path: Path) -> None:
    lines = put(tmp_path / "a.jsonl", '{"a": 1}\n{"b": 2}\n')
    with open_connection() as connection:
        assert column_names(connection, FileTable(lines, "domain")) == ["a", "b"]
        assert column_names(connection, FileTable(put(tmp_path / "a.csv", CSV), "domain")) == [
            "item",
            "person",
        ]
        path = tmp_path / "a.parquet"
        pl.DataFrame({"x": [1], "y": [2]}).write_parquet(path)
        assert column_names(connection, FileTable(path, "domain")) == ["x", "y"]


def test_the_engine_loads_nothing_from_elsewhere() -> None:
    with open_connection() as connection:
        for setting in (
            "autoinstall_known_extensions",
            "autoload_known_extensions",
            "preserve_insertion_order",
        ):
            ((value,),) = connection.execute(f"SELECT current_setting('{setting}')").fetchall()
            assert value in (False, "false")
        ((place,),) = connection.execute("SELECT current_setting('temp_directory')").fetchall()
        assert "freegap-" in place
        assert Path(place).is_dir()
    assert not Path(place).exists()


def test_a_place_for_what_does_not_fit_that_vanished_is_no_error() -> None:
    with open_connection() as connection:
        ((place,),) = connection.execute("SELECT current_setting('temp_directory')").fetchall()
        os.rmdir(place)


def test_what_an_engine_says_is_dropped_and_what_freegap_says_is_kept() -> None:
    assert ask_engine(lambda: 7) == 7
    refusal = InvalidArgument("x", 1, "y", "z")
    with pytest.raises(InvalidArgument) as kept:
        ask_engine(lambda: (_ for _ in ()).throw(refusal))
    assert kept.value is refusal
    with pytest.raises(EngineFailed) as caught:
        ask_engine(lambda: duckdb.connect().execute("SELECT CAST('SECRET' AS INTEGER)").fetchall())
    assert "ConversionException" in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None
