"""Where tables come from: databases, standard input, other formats, encodings and folders."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import freegap as fg
from freegap.errors import EngineFailed, InvalidArgument
from freegap.tables.copies import encoding_argument
from freegap.tables.people import counted

ROWS = [("tea", 1, 17), ("tea", 2, 18), ("milk", 2, 30), ("Größe", 3, 40), (None, 4, 50), ("tea", 2, 60)]
ADULTS = {"tea": 1, "milk": 1, "Größe": 1}
ALL = {"tea": 2, "milk": 1, "Größe": 1}
ARROW = pa.table({"item": [r[0] for r in ROWS], "person": [r[1] for r in ROWS], "age": [r[2] for r in ROWS]})
CSV = "item;person;age\n" + "".join(f"{item or ''};{person};{age}\n" for item, person, age in ROWS)


def counts(table: Any, **options: Any) -> dict[str, int]:
    """The people of each item."""
    shared: dict[str, Any] = {"domain_column": None, "observed_keys_are_public": False, "domain": [*ALL]}
    with counted(table, item="item", person="person", **shared | options) as people:
        tally = people.tally
        places = [(g, m) for g, size in enumerate(tally.sizes.tolist()) for m in range(size)]
        return {name: int(tally.values[g]) for name, (g, _) in zip(tally.names(places), places, strict=True)}


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("databases")
    lite = sqlite3.connect(folder / "a b.sqlite")
    lite.execute("CREATE TABLE visits (item TEXT, person INTEGER, age INTEGER)")
    lite.executemany("INSERT INTO visits VALUES (?, ?, ?)", ROWS)
    lite.commit()
    lite.close()
    duck = duckdb.connect(str(folder / "it's.duckdb"))
    duck.execute("CREATE SCHEMA other")
    duck.register("rows", ARROW)
    duck.execute(
        'CREATE TABLE visits AS FROM rows; CREATE TABLE other."the visits" AS FROM rows WHERE age < 18'
    )
    duck.close()
    return {"sqlite": folder / "a b.sqlite", "duckdb": folder / "it's.duckdb"}


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_table_of_a_database_by_path_and_by_address(databases: dict[str, Path], kind: str) -> None:
    path = databases[kind]
    before = path.read_bytes()
    address = f"{kind}:///{str(path).replace(' ', '%20')}"
    for place in (path, str(path), address):
        assert counts(fg.source(place, name="visits")) == ALL
    assert counts(fg.source(path, name="visits", where="age >= 18")) == ADULTS
    assert counts(fg.source(path, query="SELECT item, person FROM visits WHERE age >= 18")) == ADULTS
    assert path.read_bytes() == before
    asked: dict[str, Any] = {"item": "item", "person": "person", "k": 2, "epsilon": 1, "domain": [*ALL]}
    releases = [
        fg.top_k(table, measure=True, bits=fg.SeededBits(7), **asked)
        for table in (fg.source(path, name="visits"), ARROW)
    ]
    assert releases[0] == releases[1]


def test_a_table_of_another_schema_and_what_is_not_there(databases: dict[str, Path]) -> None:
    duck, lite = databases["duckdb"], databases["sqlite"]
    assert counts(fg.source(duck, name="other.the visits")) == {"tea": 1, "milk": 0, "Größe": 0}
    refused: list[tuple[dict[str, Any], str]] = [
        ({"table": duck, "name": "nope"}, "There are: visits"),
        ({"table": lite, "name": "nope"}, "There are: visits"),
        ({"table": lite, "name": "a.b.c"}, "must name a table"),
        ({"table": lite, "query": "SELECT item FROM visits"}, "person"),
        ({"table": lite.with_name("none.sqlite"), "name": "visits"}, "names no file"),
        ({"table": lite}, "is needed for a database"),
        ({"table": ARROW, "name": "visits"}, "is needed for a database"),
        ({"table": lite, "name": "visits", "query": "SELECT item FROM visits"}, "takes the place"),
        ({"table": lite, "name": "visits", "delimiter": ";"}, "is for files"),
        ({"table": ARROW, "encoding": "latin-1"}, "is for files"),
    ]
    for said, match in refused:
        with pytest.raises(InvalidArgument, match=match):
            counts(fg.source(**said))
    with pytest.raises(InvalidArgument, match="must name a table"):
        counts(duck)
    broken = lite.with_name("broken.sqlite")
    broken.write_bytes(b"private words" * 100)
    for kind in ("sqlite", "duckdb"):
        place = broken if kind == "sqlite" else broken.rename(broken.with_suffix(".duckdb"))
        with pytest.raises(InvalidArgument, match="cannot be opened") as error:
            counts(fg.source(place, name="visits"))
        assert "private" not in str(error.value)


def test_a_value_of_sqlite_that_is_not_of_its_columns_type_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "odd.sqlite"
    odd: list[Any] = [("tea", "a text", 1), (5, 4, "a text"), (b"\xff", 5, 1.5), ("milk", 7, "12")]
    with sqlite3.connect(path) as lite:
        lite.execute("CREATE TABLE visits (item TEXT, person INTEGER, age INTEGER)")
        lite.executemany("INSERT INTO visits VALUES (?, ?, ?)", [*ROWS, *odd])
    lite.close()
    table = fg.source(path, name="visits")
    assert counts(table) == ALL | {"milk": 2}
    assert counts(fg.source(table, where="age >= 18 OR age IS NULL")) == ADULTS
    by_number = fg.top_k(table, item="age", person="person", k=2, epsilon=90, domain=range(17, 31))
    assert set(by_number.labels) <= set(range(17, 31))


def test_a_password_is_never_shown() -> None:
    address = "postgresql://me:pass-word@127.0.0.1:1/shop"
    described = fg.source(address, name="visits")
    assert "pass-word" not in repr(described)
    with pytest.raises(InvalidArgument) as error:
        counts(described)
    seen: BaseException | None = error.value
    while seen is not None:
        assert "pass-word" not in str(seen) + repr(seen.args)
        seen = seen.__cause__ or seen.__context__
    assert b"pass-word" not in pickle.dumps(error.value)
    with pytest.raises(InvalidArgument) as error:
        fg.source(address)
    assert "pass-word" not in str(error.value)


def test_formats(tmp_path: Path) -> None:
    feather.write_feather(ARROW.slice(0, 3), tmp_path / "a.feather")
    feather.write_feather(ARROW.slice(3), tmp_path / "b.feather")
    assert counts(str(tmp_path / "*.feather")) == ALL
    records = [{"item": item, "person": person, "age": age} for item, person, age in ROWS]
    odd: list[Any] = [7, None, [1], "tea", {"person": 9}, {"item": {"x": 1}, "person": 9}, {}]
    (tmp_path / "a.json").write_text(json.dumps(odd + records), encoding="utf-8")
    assert counts(tmp_path / "a.json") == ALL
    assert counts(fg.source(tmp_path / "a.json", where="age >= 18")) == ADULTS
    (tmp_path / "data").write_text(CSV.replace(";", ","), encoding="utf-8")
    assert counts(fg.source(tmp_path / "data", format="csv")) == ALL
    assert counts(fg.source(tmp_path / "data", format=".CSV")) == ALL
    pq.write_table(ARROW, tmp_path / "typed")
    assert counts(fg.source(tmp_path / "typed", format="parquet")) == ALL
    feather.write_feather(ARROW.set_column(1, "person", pa.array([0.5] * 6)), tmp_path / "c.feather")
    with pytest.raises(InvalidArgument, match="disagree on the type of column 'person'"):
        counts(str(tmp_path / "*.feather"))
    feather.write_feather(ARROW.drop_columns("person"), tmp_path / "d.feather")
    with pytest.raises(InvalidArgument, match="has no column 'person'"):
        counts(tmp_path / "d.feather")


def test_a_domain_in_the_new_formats(tmp_path: Path) -> None:
    feather.write_feather(pa.table({"item": [*ALL]}), tmp_path / "d.feather")
    (tmp_path / "d.json").write_text(json.dumps([{"item": item} for item in ALL]), encoding="utf-8")
    feather.write_feather(ARROW, tmp_path / "t.feather")
    for domain in ("d.feather", "d.json"):
        for table in (ARROW, tmp_path / "t.feather"):
            assert counts(table, domain=tmp_path / domain) == ALL


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def feed(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))

    feed(CSV.encode())
    assert counts(fg.source("-", format="csv", delimiter=";")) == ALL
    feed(CSV.replace(";", "\t").encode("utf-16"))
    assert counts(fg.source("-", format="tsv", encoding="utf-16")) == ALL
    with pytest.raises(InvalidArgument, match="standard input"):
        counts("-")
    with pytest.raises(InvalidArgument, match="names no file"):
        counts(ARROW, domain="-")


def test_encodings_in_which_any_byte_is_some_letter(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for encoding in ("latin-1", "cp1252", "utf-16", "utf-16-le", "mac-roman", "utf-8"):
        path.write_bytes(CSV.encode(encoding))
        assert counts(fg.source(path, delimiter=";", encoding=encoding)) == ALL
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(CSV.encode("latin-1")))
    assert counts(fg.source(packed, delimiter=";", encoding="latin-1")) == ALL
    plain = CSV.replace("Größe", "tee").encode()
    wrong = bytes(byte for byte in range(1, 256) if byte not in b'";\r\n')
    for encoding in ("latin-1", "cp1252", "cp1255", "utf-8"):
        path.write_bytes(plain + wrong + b";9;9\ntea;5;1\n")
        assert counts(fg.source(path, delimiter=";", encoding=encoding))["tea"] == 3
    path.write_bytes(plain + b"tea\xe9;9;9\n")
    with pytest.raises(EngineFailed):  # undeclared: see the threat model
        counts(fg.source(path, delimiter=";"))
    for refused in ("shift_jis", "gbk", "utf-7", "utf-32", "cp037", "rot13", "hex", "nope", 7, ""):
        with pytest.raises(InvalidArgument):
            encoding_argument(refused)
    (tmp_path / "t.csv.zst").write_bytes(b"")
    with pytest.raises(InvalidArgument, match=r"in \.zst"):
        counts(fg.source(tmp_path / "t.csv.zst", encoding="latin-1"))


def test_folders_that_state_columns(tmp_path: Path) -> None:
    for year in ("2025", "__HIVE_DEFAULT_PARTITION__", "two%20words"):
        folder = tmp_path / f"year={year}" / "month=01"
        folder.mkdir(parents=True)
        pq.write_table(ARROW.append_column("year", pa.array([9] * len(ROWS))), folder / "a.parquet")
    assert counts(fg.source(tmp_path, partitions=["year", "month"])) == ALL
    for where, found in {
        "year = '2025'": ALL,
        "year = 'two words' AND month = '01'": ALL,
        "year = '9'": {},
    }.items():
        expected = found or dict.fromkeys(ALL, 0)
        assert counts(fg.source(tmp_path, where=where, partitions=["year", "month"])) == expected
    nowhere = fg.source(tmp_path, where="year IS NULL AND month = '02'", partitions=["year", "month"])
    assert counts(nowhere) == dict.fromkeys(ALL, 0)
    for ending, text in {"csv": CSV.replace(";", ","), "jsonl": '{"item": "tea", "person": 1}\n'}.items():
        (tmp_path / ending / "year=7").mkdir(parents=True)
        (tmp_path / ending / "year=7" / f"a.{ending}").write_text(text, encoding="utf-8")
        assert counts(fg.source(tmp_path / ending, where="year = 7", partitions=["year"]))["tea"] > 0
        assert counts(fg.source(tmp_path / ending, where="year = 8", partitions=["year"]))["tea"] == 0
    with pytest.raises(InvalidArgument, match="must be stated by every folder"):
        counts(fg.source(tmp_path / "csv", partitions=["month"]))
    with pytest.raises(InvalidArgument, match="cannot be given"):
        counts(fg.source(tmp_path / "csv", partitions=["year"], encoding="latin-1"))


def test_signs_between_the_fields(tmp_path: Path) -> None:
    for sign in (";", "|", "\t", "\\t", " ", "~"):
        path = tmp_path / "t.csv"
        path.write_text(CSV.replace(";", "\t" if sign == "\\t" else sign), encoding="utf-8")
        assert counts(fg.source(path, delimiter=sign)) == ALL
    refused: list[Any] = ["", "ab", "a", "1", '"', "\n", "\\", "ä", 7]
    for wrong in refused:
        with pytest.raises(InvalidArgument, match="delimiter"):
            fg.source(path, delimiter=wrong)
    (tmp_path / "t.parquet").write_bytes(b"")
    with pytest.raises(InvalidArgument, match="cannot be given for files of the format parquet"):
        counts(fg.source(tmp_path / "t.parquet", delimiter=";"))
