from __future__ import annotations

import gzip
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import freegap as fg
from freegap.errors import EngineFailed, InvalidArgument
from freegap.tables.files import open_connection
from freegap.tables.people import counted
from freegap.tables.progress import watched
from tests.tables.engines import AS_USUAL, counts_of


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def line_counts(path: Path | str, domain: object) -> dict[object, int]:
    with counted(path, item=None, person=None, domain=domain, **AS_USUAL) as people:
        tally = people.tally
        places = [(g, m) for g, size in enumerate(tally.sizes.tolist()) for m in range(size)]
        return dict(zip(tally.names(places), (int(tally.values[g]) for g, _ in places), strict=True))


@pytest.mark.parametrize("name", ["baskets.dat", "baskets.dat.gz"])
def test_fimi_one_line_is_one_person(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, "1 2 3\n\n2 2 5 \n 7\t1\nx 1.5 -1\n")
    assert line_counts(path, range(6)) == {0: 0, 1: 2, 2: 2, 3: 1, 4: 0, 5: 1}
    assert line_counts(path, ["x", "2", ""]) == {"x": 1, "2": 2, "": 0}
    release = fg.top_k(path, k=1, epsilon=1, domain=range(6), bits=fg.SeededBits(1))
    assert release.privacy.unit == "one line of the file"
    with pytest.raises(InvalidArgument, match="each line is one person"):
        fg.top_k(path, item="item", k=1, epsilon=1, domain=range(6))


def test_no_row_decides_how_another_is_read(tmp_path: Path) -> None:
    usual = "".join(f"{i % 3:03},{i}\n" for i in range(300))
    before = write(tmp_path / "a.csv", "item,person\n" + usual)
    after = write(tmp_path / "b.csv", "item,person\n" + usual + "abc;def,999\n2026-01-01,999\n1,999\n")
    assert counts_of(before, ["000", "001", "1"]) == {"000": 100, "001": 100, "1": 0}
    assert counts_of(after, ["000", "001", "1"]) == {"000": 100, "001": 100, "1": 1}
    assert counts_of(before, range(3)) == {0: 100, 1: 100, 2: 100}
    assert counts_of(after, range(3)) == {0: 100, 1: 101, 2: 100}


def test_whole_numbers_are_digits_and_nothing_else(tmp_path: Path) -> None:
    rows = ["1,1", "+1,2", "01,3", "1.5,4", "1e0,5", " 1,6", "99999999999999999999,7", "0x1,8", "true,9"]
    path = write(tmp_path / "a.csv", "item,person\n" + "\n".join(rows) + "\n")
    assert counts_of(path, range(3)) == {0: 0, 1: 3, 2: 0}
    assert counts_of(path, [1, 1.5]) == {1: 5, 1.5: 1}
    assert counts_of(path, [True, False])[True] >= 1


def test_globs_directories_and_tabs(tmp_path: Path) -> None:
    write(tmp_path / "d" / "x" / "a.csv", "item,person\n1,1\n")
    write(tmp_path / "d" / "b.csv.gz", "item,person\n1,2\n2,2\n")
    write(tmp_path / "d" / "_SUCCESS", "")
    write(tmp_path / "d" / ".hidden.csv", "nonsense\n")
    assert counts_of(tmp_path / "d", range(3)) == {0: 0, 1: 2, 2: 1}
    assert counts_of(f"{tmp_path}/d/**/a*.csv", range(3)) == {0: 0, 1: 1, 2: 0}
    tabs = write(tmp_path / "t.tsv", "person\titem\textra\n1\ta,b\tz\n")
    assert counts_of(tabs, ["a,b", "c"]) == {"a,b": 1, "c": 0}


def test_quotes_in_names_and_values(tmp_path: Path) -> None:
    path = write(tmp_path / 'it\'s "a" file.csv', 'item,person\n"a ""b""; DROP TABLE x",1\n')
    assert counts_of(path, ['a "b"; DROP TABLE x', "c"]) == {'a "b"; DROP TABLE x': 1, "c": 0}
    odd = write(tmp_path / "odd.csv", '"it""em; --",per\'son\na,1\n')
    release = fg.top_k(
        odd, item='it"em; --', person="per'son", k=1, epsilon=9, domain=["a", "b"], bits=fg.SeededBits(1)
    )
    assert release.labels


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "item\n1\n", "has no column 'person'"),
        ("a.csv", "", "must begin with a line of column names"),
        ("a.csv", "item,item\n", "names each column once"),
        ("a.xls", "x", "must be files of one known format"),
        ("a.parquet.gz", "x", "must be files of one known format"),
        ("a[1].csv", "item,person\n", "must not lead to a file with one of"),
    ],
)
def test_bad_files(name: str, text: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, "") if not text else tmp_path / name
    path.write_text(text)
    with pytest.raises(InvalidArgument) as caught:
        counts_of(path, range(3))
    assert message in str(caught.value)


def test_more_bad_files(tmp_path: Path) -> None:
    write(tmp_path / "d" / "a.csv", "item,person\n")
    write(tmp_path / "d" / "b.csv", "person,item\n")
    with pytest.raises(InvalidArgument, match="the same in all files"):
        counts_of(tmp_path / "d", range(3))
    write(tmp_path / "d" / "c.jsonl", "")
    with pytest.raises(InvalidArgument, match="one known format"):
        counts_of(tmp_path / "d", range(3))
    with pytest.raises(InvalidArgument, match="a path on this machine"):
        counts_of("s3://bucket/a.csv", range(3))
    with pytest.raises(InvalidArgument, match="names no file"):
        counts_of(tmp_path / "none*.csv", range(3))


def test_a_broken_file_does_not_show_its_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "item,person\n1,1\nSECRET,2,3,4\n")
    with pytest.raises(EngineFailed) as caught:
        counts_of(path, range(3))
    chain = repr(caught.value) + repr(caught.value.__context__) + repr(caught.value.__cause__)
    assert "SECRET" not in chain
    assert caught.value.__context__ is None
    broken = tmp_path / "a.parquet"
    broken.write_bytes(b"PAR1 SECRET")
    with pytest.raises(EngineFailed):
        counts_of(broken, range(3))


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spill = tmp_path / "spill"
    spill.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(spill))
    path = write(tmp_path / "a.csv", "item,person\n1,1\n")
    counts_of(path, range(3))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "spill"]
    assert list(spill.iterdir()) == []


def test_the_engine_of_a_release_is_closed_when_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its memory holds the counts: it must not outlive the release."""
    opened: list[duckdb.DuckDBPyConnection] = []
    connect = duckdb.connect

    def kept(*arguments: Any, **settings: Any) -> duckdb.DuckDBPyConnection:
        opened.append(connect(*arguments, **settings))
        return opened[-1]

    monkeypatch.setattr(duckdb, "connect", kept)
    path = write(tmp_path / "a.csv", "item,person\n1,1\n2,2\n")
    release = fg.top_k(
        path, item="item", person="person", k=1, epsilon=1, domain=range(3), bits=fg.SeededBits(1)
    )
    assert release.privacy.unit == "one value of the column 'person'"
    assert opened
    for connection in opened:
        with pytest.raises(duckdb.ConnectionException):
            connection.execute("SELECT 1")


@pytest.mark.parametrize("watcher", [None, lambda share: None])
def test_the_engine_draws_no_bar_of_its_own(watcher: Callable[[float], None] | None) -> None:
    """Standard output is the release's: with --json it is read by programs."""
    with watched(watcher) if watcher else nullcontext(), open_connection() as connection:
        (prints,) = connection.execute("SELECT current_setting('enable_progress_bar_print')").fetchone()
        (shows,) = connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()
    assert not prints
    assert shows == (watcher is not None)


def test_what_does_not_fit_into_memory_is_written_encrypted() -> None:
    with open_connection() as connection:
        (encrypted,) = connection.execute("SELECT current_setting('temp_file_encryption')").fetchone()
    assert encrypted


def test_a_directory_named_like_a_column_is_no_column(tmp_path: Path) -> None:
    """Paths are not data: person=7 in a path would make one person of everybody in the file."""
    place = tmp_path / "person=7"
    place.mkdir()
    people = pl.DataFrame({"item": [1, 1, 1], "person": [1, 2, 3]})
    people.write_parquet(place / "a.parquet")
    assert counts_of(tmp_path / "**" / "*.parquet", range(2)) == {0: 0, 1: 3}
