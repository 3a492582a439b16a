"""What seldom happens: guards behind guards, a key that is pressed while an engine counts, collations."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import polars as pl
import pyarrow as pa
import pytest

import freegap as fg
from freegap.errors import EngineFailed, InvalidArgument
from freegap.tables import sources
from freegap.tables.behind_ibis import _is_text, backend_name
from freegap.tables.conditions import RowCondition
from freegap.tables.engine_errors import ask_engine
from freegap.tables.files import FileReading, FileTable
from freegap.tables.in_engine import _lazy
from freegap.tables.watch import _KeptKey

ASK: dict[str, Any] = {"item": "item", "person": "person", "k": 1, "epsilon": 1, "domain": ["a", "b"]}
TABLE = pl.DataFrame({"item": ["a"], "ward": ["n"], "person": [1]})


class PanicException(BaseException):
    """As Polars names its own."""


def _raising(error: BaseException) -> Any:
    def work() -> Any:
        raise error

    return work


def test_who_presses_a_key_while_an_engine_counts_is_heard() -> None:
    for error in (KeyboardInterrupt(), RuntimeError("Query interrupted")):
        with pytest.raises(KeyboardInterrupt):
            ask_engine(_raising(error))
    with pytest.raises(SystemExit):
        ask_engine(_raising(SystemExit(3)))
    for failed, kind in ((PanicException("SECRET"), "PanicException"), (OSError("SECRET"), "OSError")):
        with pytest.raises(EngineFailed, match=kind) as caught:
            ask_engine(_raising(failed))
        assert "SECRET" not in str(caught.value)
        assert caught.value.__context__ is None
    with pytest.raises(EngineFailed):
        ask_engine(_raising(RuntimeError("Query interrupted, and more")))


def test_a_table_of_no_database_or_of_two_has_no_name() -> None:
    import ibis

    assert backend_name(object()) is None
    assert backend_name(ibis.table({"a": "int64"}, name="nowhere")) is None
    backend = ibis.duckdb.connect()
    backend.con.register("rows", pa.table({"a": [1]}))
    assert backend_name(backend.table("rows")) == "duckdb"


def test_what_is_only_declared_does_nothing() -> None:
    with pytest.raises(NotImplementedError):
        _is_text(b"a")
    with pytest.raises(NotImplementedError):
        list(RowCondition().looks())
    with pytest.raises(NotImplementedError):
        RowCondition().verdict(lambda *_: pytest.fail("never asked"))


def test_a_watch_makes_all_noise_from_its_key() -> None:
    key = _KeptKey("ab" * 32)
    assert key.private
    assert key.bits(256) == int("ab" * 32, 16)
    for bits in (8, 255, 257):
        with pytest.raises(AssertionError, match="from its key"):
            key.bits(bits)


def test_an_engine_that_gives_rows_where_it_should_hold_them() -> None:
    assert isinstance(_lazy(TABLE.lazy()), nw.LazyFrame)
    with pytest.raises(AssertionError, match="eager"):
        _lazy(TABLE)


@pytest.mark.parametrize("format_", ["x", ".x", "", "csv.gz", 3])
def test_formats_that_there_are_not(format_: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item,person\n")
    with pytest.raises(InvalidArgument) as caught:
        FileTable(tmp_path / "a.csv", "table", FileReading(format=format_))
    assert "must be one of csv tsv jsonl ndjson json parquet pq arrow feather ipc xlsx xlsm dat." in str(
        caught.value
    )
    assert caught.value.argument == "format"


@pytest.mark.parametrize(("format_", "known"), [("CSV", "csv"), (".tsv", "tsv"), ("pq", "parquet")])
def test_formats_that_there_are(format_: str, known: str, tmp_path: Path) -> None:
    (tmp_path / "a.x").write_text("item,person\n")
    assert FileTable(tmp_path / "a.x", "table", FileReading(format=format_)).format == known


def test_a_file_of_tuples_without_one_of_their_columns(tmp_path: Path) -> None:
    """Where the table is elsewhere, and where one DuckDB of ours reads both."""
    domain = tmp_path / "domain.csv"
    domain.write_text("item,more\na,1\nb,2\n")
    TABLE.write_csv(tmp_path / "rows.csv")
    for table in (TABLE, tmp_path / "rows.csv"):
        with pytest.raises(InvalidArgument, match=r"has no column 'ward'.*one of the 2 names"):
            fg.top_k(table, **ASK | {"item": ["item", "ward"], "domain": domain})
    domain.write_text("item,ward\na,n\nb,s\n")
    for table in (TABLE, tmp_path / "rows.csv"):
        asked = ASK | {"item": ["item", "ward"], "domain": domain, "epsilon": 10**6}
        assert fg.top_k(table, bits=fg.SeededBits(1), **asked).labels == (("a", "n"),)


def test_groups_with_items_of_their_own_have_one_column_of_them() -> None:
    pairs = pl.DataFrame({"item": ["a"], "ward": ["n"]})
    asked = ASK | {"item": ["item", "ward"], "group": "ward", "domain": pairs, "domain_group": "ward"}
    with pytest.raises(InvalidArgument, match="domain_group = 'ward': cannot go with items of several"):
        fg.top_k(TABLE, **asked)


def test_what_is_wrong_with_groups_is_said_of_groups_and_the_rest_as_it_is() -> None:
    held = duckdb.connect().from_arrow(TABLE.to_arrow())
    asked = ASK | {"group": "ward", "groups": ["n"]}
    with pytest.raises(InvalidArgument) as caught:
        fg.top_k(held, **asked | {"normalize": True})
    assert caught.value.argument == "normalize"
    for groups, said in ((["n", "n"], "twice"), (["n", None], "missing"), ([1], "cannot contain")):
        with pytest.raises(InvalidArgument, match=said) as caught:
            fg.top_k(held, **asked | {"groups": groups})
        assert caught.value.argument == "groups"
        assert caught.value.__context__ is None


class _Spark:
    """A table of Spark as far as its schema, and what is computed anew in it."""

    def __init__(self, **collations: str | None) -> None:
        types = {
            name: SimpleNamespace() if collation is None else SimpleNamespace(collation=collation)
            for name, collation in collations.items()
        }
        fields = [SimpleNamespace(name=name, dataType=type_) for name, type_ in types.items()]
        self.schema = SimpleNamespace(fields=fields)
        self.made: dict[str, Any] = {}

    def withColumn(self, name: str, made: Any) -> _Spark:
        self.made[name] = made
        return self


@pytest.mark.parametrize("connect", [False, True])
def test_texts_of_spark_are_compared_byte_by_byte(connect: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    functions = ModuleType("pyspark.sql.functions")
    functions.collate = lambda name, collation: (name, collation)  # type: ignore[attr-defined]
    functions.monotonically_increasing_id = lambda: "numbers"  # type: ignore[attr-defined]
    sql = ModuleType("pyspark.sql")
    sql.functions = functions  # type: ignore[attr-defined]
    for name, module in (("pyspark", ModuleType("pyspark")), ("pyspark.sql", sql)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "pyspark.sql.functions", functions)
    native = _Spark(item="UNICODE_CI", person=None, ward="UTF8_BINARY", more="UTF8_LCASE")
    engine = nw.Implementation.PYSPARK_CONNECT if connect else nw.Implementation.PYSPARK
    frame: Any = SimpleNamespace(implementation=engine, collect_schema=dict)
    monkeypatch.setattr(sources, "frame_of", lambda made: made)
    monkeypatch.setattr(nw, "to_native", lambda _: native)
    made: Any = sources.exact_text(frame)
    assert made.made == {"item": ("item", "UTF8_BINARY"), "more": ("more", "UTF8_BINARY")}
    numbered: Any = sources._numbered(frame)
    assert numbered.made["person"] == "numbers"


@pytest.mark.parametrize("name", ["^item", "item$", "$item^", "it*em", "a.b", 'quo"ted', "group", "^", "$"])
@pytest.mark.parametrize("engine", ["polars", "duckdb", "pandas"])
def test_names_that_only_look_like_patterns(name: str, engine: str) -> None:
    table: Any = TABLE.rename({"item": name})
    if engine == "duckdb":
        table = duckdb.connect().from_arrow(table.to_arrow())
    if engine == "pandas":
        table = table.to_pandas()
    found = fg.top_k(table, bits=fg.SeededBits(1), **ASK | {"item": name, "epsilon": 1000})
    assert found.labels == ("a",)


def test_standard_input_is_a_table_and_no_list_of_items(monkeypatch: pytest.MonkeyPatch) -> None:
    for argument in ("domain", "groups"):
        with pytest.raises(InvalidArgument, match="names no file"):
            FileTable("-", argument)
    with pytest.raises(InvalidArgument, match="must be files of one known format"):
        FileTable("-", "table")
    assert FileTable("-", "table", FileReading(format="csv")).files == ["-"]


@pytest.mark.parametrize(("ending", "delimiter"), [("tsv", None), ("csv", ";"), ("csv", "|")])
@pytest.mark.parametrize("packed", ["", ".zst", ".gz"])
def test_a_packed_file_is_divided_as_a_plain_one(
    ending: str, delimiter: str | None, packed: str, tmp_path: Path
) -> None:
    sign = delimiter or "\t"
    rows = "SELECT 'a,b' AS item, 1 AS person"
    codec = {"": "none", ".zst": "zstd", ".gz": "gzip"}[packed]
    path = tmp_path / f"rows.{ending}{packed}"
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({rows}) TO '{path}' (HEADER, DELIMITER '{sign}', COMPRESSION {codec})")
    asked = ASK | {"domain": ["a,b", "c"], "epsilon": 1000, "bits": fg.SeededBits(1)}
    assert fg.top_k(fg.source(path, delimiter=delimiter), **asked).labels == ("a,b",)
    with pytest.raises(InvalidArgument, match="has no column 'none'"):
        fg.top_k(fg.source(path, delimiter=delimiter), **asked | {"item": "none"})


def _books(folder: Path, *headers: list[str]) -> Path:
    import openpyxl

    folder.mkdir()
    for number, header in enumerate(headers):
        book = openpyxl.Workbook()
        book.active.append(header)
        book.active.append(["a", "b", "c"][: len(header)])
        book.save(folder / f"{number}.xlsx")
    return folder


def test_the_columns_of_several_books_are_those_of_the_first(tmp_path: Path) -> None:
    lacking = _books(tmp_path / "lacking", ["item", "more"], ["item", "other"])
    asked = ASK | {"domain": lacking}
    with pytest.raises(InvalidArgument, match=r"has no column 'more'.*one of the 2 names in the first line"):
        fg.top_k(TABLE, **asked, domain_column="more")
    with pytest.raises(InvalidArgument, match=r"domain_column = 'other': is not a column of .*: item, more"):
        fg.top_k(TABLE, **asked, domain_column="other")
    assert fg.top_k(TABLE, **asked | {"k": 1, "domain": _books(tmp_path / "two", ["item"], ["x", "item"])})


OBJECTS = TABLE.to_pandas().astype(object)


@pytest.mark.parametrize(
    ("where", "can"),
    [
        ("ward = 'n'", True),
        ("ward <> 'n'", True),
        ("ward IN ('n', 's')", True),
        ("ward IS NULL", True),
        ("NOT ward = 'n'", True),
        ("ward = item", False),
        ("ward < 'n'", False),
        ("ward LIKE 'n%'", False),
        ("ward = 3", False),
        ("ward IN (1, 2)", False),
        ("ward BETWEEN 'a' AND 'z'", False),
        ("ward > item", False),
    ],
)
def test_what_may_be_asked_of_python_objects(where: str, can: bool) -> None:
    """Only what cannot fail whatever they are."""
    if can:
        assert fg.top_k(OBJECTS, **ASK, where=where).spent == 1
        return
    with pytest.raises(InvalidArgument, match=r"cannot be asked: column '\w+'"):
        fg.top_k(OBJECTS, **ASK, where=where)


def test_a_database_that_cannot_number_rows_hands_them_over(monkeypatch: pytest.MonkeyPatch) -> None:
    import ibis

    from freegap.tables import quantiles_people

    rows = pa.table({"cost": [1.0, 2.0, 9.0, 4.0, 4.0], "person": [1, 1, 1, 2, 2]})
    backend = ibis.duckdb.connect()
    backend.con.register("rows", rows)
    asked: dict[str, Any] = {
        "value": "cost",
        "person": "person",
        "q": 0.9,
        "low": 0,
        "high": 9,
        "epsilon": 500,
    }

    def refuse(*_: Any) -> Any:
        raise ArithmeticError("no windows here")

    there = fg.quantiles(backend.table("rows"), bits=fg.SeededBits(1), **asked)
    monkeypatch.setattr(quantiles_people, "_medians", refuse)
    here = fg.quantiles(backend.table("rows"), bits=fg.SeededBits(1), **asked)
    assert here == there == fg.quantiles(rows, bits=fg.SeededBits(1), **asked)
    with pytest.raises(EngineFailed, match="ArithmeticError"):  # of others it is known that they can
        fg.quantiles(duckdb.connect().from_arrow(rows), bits=fg.SeededBits(1), **asked)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet", "arrow", "xlsx", "dat"])
def test_a_file_without_a_row_is_a_table_of_nobody(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{ending}"
    none = TABLE.head(0)
    texts = {"csv": "item,person\n", "jsonl": "", "json": "[]", "dat": ""}
    if ending in texts:
        path.write_text(texts[ending])
    elif ending == "parquet":
        none.write_parquet(path)
    elif ending == "arrow":
        none.write_ipc(path)
    else:
        import openpyxl

        book = openpyxl.Workbook()
        book.active.append(["item", "person"])
        book.save(path)
    asked: dict[str, Any] = {"items_per_person": 1, "domain": ["a", "b"], "epsilon": 1000}
    asked |= {} if ending == "dat" else {"item": "item", "person": "person"}
    counts = fg.histogram(path, bits=fg.SeededBits(1), **asked)
    assert [int(value) for value in counts.values] == [0, 0]


def test_a_column_of_a_sheet_without_a_name(tmp_path: Path) -> None:
    from freegap.tables.sheets import read_sheet, sheet_columns

    (file,) = _books(tmp_path / "one", ["item", None, "person"]).iterdir()  # type: ignore[list-item]
    assert sheet_columns(str(file), None, "table") == ["item", "", "person"]
    assert read_sheet(str(file), None, "table", ["person"]).to_pydict() == {"person": ["c"]}
    for header in ([None], ["item", "item"], [None, None]):
        (file,) = _books(tmp_path / str(header), header).iterdir()  # type: ignore[arg-type]
        with pytest.raises(InvalidArgument, match="names of the columns in its first row, each once"):
            sheet_columns(str(file), None, "domain")
