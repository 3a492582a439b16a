"""`where=`: a condition on one row, the same in every engine, which no value can make fail."""

from __future__ import annotations

import datetime
import itertools
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import ibis
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.tables import conditions as c
from freegap.tables.condition_readers import read_where
from freegap.tables.condition_text import read_condition_text, read_query
from freegap.tables.described import described
from freegap.tables.people import counted
from freegap.tables.sources import open_source
from freegap.tables.unknown import largest_counts
from tests.tables.engines import AS_USUAL

DAY = datetime.date(2026, 1, 31)
_ROWS = list(
    itertools.product(
        ["A", "B", None], [10.0, 18.0, None, float("nan")], [True, None], [DAY, None, DAY.replace(day=1)]
    )
)
COLUMNS = {
    "item": pa.array([f"i{number}" for number in range(len(_ROWS))]),
    "ward": pa.array([row[0] for row in _ROWS]),
    "age": pa.array([row[1] for row in _ROWS], pa.float64()),
    "ok": pa.array([row[2] for row in _ROWS], pa.bool_()),
    "day": pa.array([row[3] for row in _ROWS], pa.date32()),
}
ARROW = pa.table(COLUMNS)
ITEMS = ARROW["item"].to_pylist()
_HELD: list[Any] = []

CONDITIONS = [
    "age >= 18",
    "NOT age >= 18",
    "18 > age",
    "age IS NULL OR ward IS NULL",
    "age IS NOT NULL AND NOT (ward = 'A' OR age < 18)",
    "ward NOT IN ('B', 'C')",
    "NOT (ward = 'A' AND age = 18)",
    "NOT ok AND ward = 'A' OR ok AND ward < 'B'",
    "day BETWEEN DATE '2026-01-02' AND DATE '2026-12-31'",
    "day <> DATE '2026-01-01' AND ward LIKE 'A%'",
    "ward LIKE '%' AND NOT ward LIKE '%B%'",
    "ward LIKE '%A' OR day < DATE '2026-01-02'",
    "age = 10.0 OR age = 17.5",
]


def _duckdb() -> Any:
    connection = duckdb.connect()
    _HELD.append(connection)
    connection.register("t", ARROW)
    return connection.sql("FROM t")


def _ibis() -> Any:
    backend = ibis.duckdb.connect()
    backend.con.register("t", ARROW)
    return backend.table("t")


def _csv(folder: Path) -> Path:
    lines = [
        ",".join("" if v is None else str(v) for v in row)
        for row in zip(*ARROW.to_pydict().values(), strict=True)
    ]
    path = folder / "t.csv"
    path.write_text("\n".join([",".join(COLUMNS), *lines]) + "\n", encoding="utf-8")
    return path


def _parquet(folder: Path) -> Path:
    pq.write_table(ARROW, folder / "t.parquet")
    return folder / "t.parquet"


ENGINES: dict[str, Any] = {
    "pandas": lambda _: ARROW.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda _: pl.DataFrame(pl.from_arrow(ARROW)),
    "pyarrow": lambda _: ARROW,
    "duckdb": lambda _: _duckdb(),
    "ibis": lambda _: _ibis(),
    "parquet": _parquet,
    "csv": _csv,
}


def kept(table: Any, where: Any) -> set[str]:
    """The items of the rows that stay; each row has an item of its own."""
    with open_source(fg.source(table, where=where, protect="rows"), "item", None) as source:
        items = source.present().lazy().collect()["item"].to_list()
    assert len(set(items)) == len(items)
    return set(items)


def truth(condition: c.RowCondition, row: dict[str, Any]) -> bool | None:
    """SQL's logic with Python's values: None is neither."""
    if isinstance(condition, c.Compared):
        value = row[condition.column]
        if value is None or value != value:
            return None
        return bool(c.OPERATORS[condition.operator](value, condition.value))
    if isinstance(condition, c.Among):
        return truth(c.Some(tuple(c.Compared(condition.column, "=", v) for v in condition.values)), row)
    if isinstance(condition, c.Missing):
        return row[condition.column] is None or row[condition.column] != row[condition.column]
    if isinstance(condition, c.Matching):
        value = row[condition.column]
        places = {"start": str.startswith, "end": str.endswith, "anywhere": str.__contains__}
        return None if value is None else bool(places[condition.place](value, condition.text))
    if isinstance(condition, c.Opposite):
        inner = truth(condition.part, row)
        return None if inner is None else not inner
    assert isinstance(condition, c.Every | c.Some)
    verdicts = [truth(part, row) for part in condition.parts]
    decisive = isinstance(condition, c.Some)
    return decisive if decisive in verdicts else None if None in verdicts else not decisive


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_keeps_the_rows_that_sql_would(engine: str, tmp_path: Path) -> None:
    table = ENGINES[engine](tmp_path)
    rows = ARROW.to_pylist()
    if engine == "csv":  # "nan" is a text there, and a missing number only where it is read as one
        rows = [row for row in rows if row["age"] is None or row["age"] == row["age"]]
    for text in CONDITIONS:
        condition = read_condition_text(text)
        expected = {row["item"] for row in rows if truth(condition, row)}
        assert kept(table, text) & {row["item"] for row in rows} == expected, text
        assert 0 < len(expected) < len(rows), text


def test_no_other_row_decides_whether_a_row_stays() -> None:
    """One person more, with any values: those that stayed stay, and those that went are gone."""
    for text in CONDITIONS:
        whole = kept(ARROW, text)
        for number in range(0, len(ITEMS), 24):
            fewer = ARROW.filter(pa.compute.not_equal(ARROW["item"], ITEMS[number]))
            assert kept(fewer, text) == whole - {ITEMS[number]}


def test_narwhals_and_ibis_say_the_same_as_the_text() -> None:
    age, ward, day = nw.col("age"), nw.col("ward"), nw.col("day")
    pairs = {
        "age >= 18 AND NOT (ward IN ('A', 'B'))": (age >= 18) & ~ward.is_in(["A", "B"]),
        "age IS NULL OR ward LIKE 'A%'": age.is_null() | ward.str.starts_with("A"),
        "age > 10 AND age <= 18.5": age.is_between(10, 18.5, closed="right"),
        "age > 3": nw.lit(3) < age,
        "day = DATE '2026-01-31'": day == DAY,
        "ok = TRUE": nw.col("ok"),
        "ward < other": ward < nw.col("other"),
        "ward LIKE '%x%' OR ward LIKE '%y'": ward.str.contains("x", literal=True) | ward.str.ends_with("y"),
    }
    for text, expression in pairs.items():
        assert str(read_where(expression, None)) == text == str(read_condition_text(text))
    table = ibis.table({"age": "float", "ward": "string", "day": "date", "ok": "boolean"}, name="t")
    of_ibis = {
        "age >= 18 AND NOT (ward IN ('A', 'B'))": (table.age >= 18) & ~table.ward.isin(["A", "B"]),
        "age IS NULL OR ward LIKE 'A%'": table.age.isnull() | table.ward.startswith("A"),
        "age >= 10 AND age <= 18": ibis._.age.between(10, 18),
        "day = DATE '2026-01-31'": table.day == DAY,
        "ok = TRUE": table.ok,
    }
    for text, expression in of_ibis.items():
        assert str(read_where(expression, table)) == text


def test_an_expression_that_may_look_further_or_fail_is_refused() -> None:
    col, table = nw.col("age"), ibis.table({"age": "int64", "ward": "string"}, name="t")
    other = ibis.table({"age": "int64"}, name="other")
    refused: list[Any] = [
        col > col.mean(),
        col.sum() > 3,
        col.cum_sum() > 3,
        col.shift(1) > 3,
        col.rank() > 3,
        col.is_duplicated(),
        col.is_first_distinct(),
        col.mean().over("ward") > 3,
        col.map_batches(lambda values: values > 3),
        col.cast(nw.Int64) > 3,
        col / 0 > 3,
        col + 1 > 3,
        nw.col("ward").str.contains("(a+)+b"),
        nw.col("a", "b") > 3,
        nw.all() > 3,
        nw.len() > 3,
        nw.when(col > 3).then(True).otherwise(False),
        col == float("nan"),
        col.is_in([]),
        nw.lit(True),
        pl.col("age") > 3,
        lambda row: row,
        3,
    ]
    for expression in refused:
        with pytest.raises(InvalidArgument) as error:
            read_where(expression, None)
        assert error.value.argument == "where"
    of_ibis: list[Any] = [
        table.age > table.age.mean(),
        table.age + 1 > 3,
        table.age.cast("string") == "3",
        table.age.isin(other.age),
        other.age > 3,
        ibis.random() > 0.5,
        table.ward.upper() == "A",
        table.age.rank() > 3,
        ibis._.age.mean() > 3,
    ]
    for expression in of_ibis:
        with pytest.raises(InvalidArgument):
            read_where(expression, table)
    with pytest.raises(InvalidArgument, match="is for tables of Ibis"):
        read_where(table.age > 3, ARROW)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "age",  # not refused as text: see below
        "age > (SELECT avg(age) FROM t)",
        "age > avg(age)",
        "random() < 0.5",
        "day < now()",
        "day < current_date()",
        "age / 0 > 1",
        "age + 1 > 2",
        "CAST(age AS INT) = 1",
        "age::int = 1",
        "row_number() OVER () = 1",
        "age IN (SELECT 1)",
        "age IN ()",
        "ward LIKE 'a_b'",
        "ward LIKE 'a%b'",
        "ward SIMILAR TO 'a'",
        "age > 1; DROP TABLE t",
        "age > 1 -- all",
        "age > 1 /* all */",
        "age = NULL",
        "age > 1 AND",
        "(age > 1",
        "age > 1)",
        "1 = 1",
        "'a' IS NULL",
        "NOT",
        "age = 99999999999999999999",
        "age = 1e999",
        "day = DATE '2026-02-30'",
        "ward = 'it",
        "age BETWEEN 1 AND",
        "EXISTS (SELECT 1)",
        "CASE WHEN age > 1 THEN TRUE END",
        "age > 1 OR " * 3000 + "age > 1",
        "(" * 60 + "age > 1" + ")" * 60,
        "NOT " * 60 + "age > 1",
    ],
)
def test_a_text_that_is_no_condition_on_one_row_is_refused(text: str) -> None:
    if text == "age":
        assert str(read_condition_text(text)) == "age = TRUE"
        return
    with pytest.raises(InvalidArgument) as error:
        read_condition_text(text)
    assert error.value.argument == "where"


names = st.sampled_from(["age", "date", "in", 'a "b"', "größe", "two words"])
values = st.one_of(
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.text(max_size=5),
    st.dates(),
    st.datetimes(),
)
leaves = st.one_of(
    st.builds(c.Compared, names, st.sampled_from(sorted(c.OPERATORS)), values),
    st.builds(c.ComparedColumns, names, st.sampled_from(sorted(c.OPERATORS)), names),
    st.builds(c.Among, names, st.lists(values, min_size=1, max_size=3).map(tuple)),
    st.builds(c.Missing, names),
    st.builds(
        c.Matching, names, st.sampled_from(["start", "end", "anywhere"]), st.sampled_from(["a", "it's", "ü"])
    ),
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(c.Opposite, inner),
        st.builds(c.Every, st.lists(inner, min_size=2, max_size=3).map(tuple)),
        st.builds(c.Some, st.lists(inner, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=4,
)


@given(trees)
@settings(max_examples=20, deadline=None, derandomize=True)
def test_what_a_result_says_is_read_as_what_was_asked(condition: c.RowCondition) -> None:
    assert str(read_condition_text(str(condition))) == str(condition)


@given(st.text(alphabet="aAN1'\"()<>=!%.-, \n;\\\x00ü", max_size=25))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        condition = read_condition_text(text)
    except InvalidArgument:
        return
    assert str(read_condition_text(str(condition))) == str(condition)


def test_columns_are_compared_with_the_schema_before_a_row_is_read() -> None:
    zoned = pa.table({"item": ["a"], "at": pa.array([0], pa.timestamp("us", "UTC")), "n": [1], "list": [[1]]})
    for where, match in {
        "age > 3": "is not a column",
        "n = 'secret'": "holds values of the kind integer",
        "item IS NULL OR n = 'secret'": "holds values of the kind integer",  # each comparison, not the first
        "n > 0 AND item > 3": "holds values of the kind text",
        "n = TRUE": "compared with truth value",
        "n LIKE '1%'": "compared with text",
        "item > 3": "holds values of the kind text",
        "at > TIMESTAMP '2026-01-01 00:00:00'": "time in a zone",
        "n = item": "is of another kind than",
        "list IS NULL": "lists or structures",
    }.items():
        with pytest.raises(InvalidArgument, match=match):
            fg.top_k(zoned, item="item", protect="rows", k=1, epsilon=1, domain=["a", "b"], where=where)
    aware = kept_of(zoned, "at >= TIMESTAMP '1970-01-01 00:00:00+00:00'")
    assert aware == {"a": 1, "b": 0}
    objects = pd.DataFrame({"item": ["a", "b"], "odd": pd.Series(["x", 7], dtype=object)})
    with pytest.raises(InvalidArgument, match="Python objects"):
        fg.top_k(objects, item="item", protect="rows", k=1, epsilon=1, domain=["a", "b"], where="odd > 'a'")
    assert kept_of(objects, "odd = 'x'") == {"a": 1, "b": 0}


@pytest.mark.parametrize(
    ("types", "where"),
    [
        ((pa.int64(), pa.float64()), "v <= w"),
        ((pa.int64(), pa.uint64()), "v <= w"),
        ((pa.decimal128(38, 0), pa.decimal128(38, 37)), "v <= w"),
        ((pa.timestamp("us"), pa.timestamp("ns")), "v <= w"),
        ((pa.int64(), pa.int64()), "v >= 0.5"),
        ((pa.uint64(), pa.uint64()), "v >= 1"),
        ((pa.timestamp("s"), pa.timestamp("s")), "v >= DATE '2026-01-01'"),
    ],
)
def test_no_value_is_converted_that_may_not_fit(types: tuple[Any, Any], where: str) -> None:
    """It is refused by the types alone: an engine would fail on one row, and tell that somebody has it."""
    v, w = (pa.array([None, None], type_) for type_ in types)
    with pytest.raises(InvalidArgument, match="cannot be asked"):
        kept_of(pa.table({"item": ["a", "b"], "v": v, "w": w}), where)
    widths = pa.table({"item": ["a", "b"], "v": pa.array([1, 5], pa.int8()), "w": [2**60, 2]})
    assert kept_of(widths, "v <= w") == {"a": 1, "b": 0}


def kept_of(table: Any, where: str) -> dict[str, int]:
    shared: dict[str, Any] = {"domain_column": None, "observed_keys_are_public": False, "person": None}
    described = fg.source(table, where=where, protect="rows")
    with counted(described, item="item", domain=["a", "b"], **shared) as people:
        tally = people.tally
        places = [(g, m) for g, size in enumerate(tally.sizes.tolist()) for m in range(size)]
        pairs = zip(tally.names(places), places, strict=True)
        return {name: int(tally.values[g]) for name, (g, _) in pairs}


def test_numbers_of_every_type_are_compared_alike_and_never_fail() -> None:
    """Engines convert a column to the type of a number, or the number; some fail where a value is large."""
    table = pa.table(
        {
            "item": ["a", "b"],
            "small": pa.array([1, -128], pa.int8()),
            "large": pa.array([2**62 + 1, 2], pa.int64()),
            "unsigned": pa.array([2**64 - 1, 1], pa.uint64()),
            "single": pa.array([0.1, 0.5], pa.float32()),
            "decimal": pa.array([Decimal("1.50"), Decimal("99999999.99")], pa.decimal128(10, 2)),
        }
    )
    found = {
        "small > 1000": (0, 0),
        "small <= 1.0": (1, 1),
        "large = 4611686018427387905": (1, 0),
        "large > 3.0": (1, 0),
        "single = 0.5": (0, 1),
        "single = 0.1": (0, 0),  # a single is not the double that is written alike
        "decimal = 1.5 OR decimal > 99999999": (1, 1),
        "unsigned IS NOT NULL": (1, 1),
    }
    natives = (table, table.to_pandas(types_mapper=pd.ArrowDtype), pl.from_arrow(table))
    for where, (a, b) in found.items():
        for native in natives:
            assert kept_of(native, where) == {"a": a, "b": b}, (where, type(native))
    for where in ("unsigned > 1", "small < unsigned", "small = 1.5", "large < 1e30", "small < single"):
        for native in natives:
            with pytest.raises(InvalidArgument, match="cannot be asked"):
                kept_of(native, where)


def test_dates_meet_columns_of_dates_and_times() -> None:
    at = [datetime.datetime(2026, 1, 31), datetime.datetime(2026, 1, 30, 23, 59)]
    table = pa.table({"item": ["a", "b"], "at": at})
    for native in (table, table.to_pandas(), pl.from_arrow(table)):
        assert kept_of(native, "at >= DATE '2026-01-31'") == {"a": 1, "b": 0}


def test_texts_of_a_file_are_read_as_what_they_are_compared_with(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("item,n\na,007\nb,seven\na,7.0\nb,\n", encoding="utf-8")
    assert kept_of(path, "n = 7") == {"a": 2, "b": 0}
    assert kept_of(path, "n = '007'") == {"a": 1, "b": 0}
    assert kept_of(path, "n > 3 OR n = 'seven'") == {"a": 2, "b": 1}
    for where in ("n < item", f"n = {2**53 + 1}", "n > TIMESTAMP '2026-01-01 00:00:00+00:00'"):
        with pytest.raises(InvalidArgument):
            kept_of(path, where)


def test_a_query_is_columns_of_one_table() -> None:
    query = read_query('select "a b", p from main.t where age > 3')
    assert (query.table, query.columns, str(query.where)) == ("main.t", ("a b", "p"), "age > 3")
    assert read_query("SELECT * FROM t").columns is None
    for text in (
        "SELECT item, count(*) FROM t",
        "SELECT DISTINCT item FROM t",
        "SELECT a AS b FROM t",
        "SELECT a FROM t JOIN u ON t.a = u.a",
        "SELECT a FROM t, u",
        "SELECT a FROM (SELECT a FROM t)",
        "SELECT a FROM t GROUP BY a",
        "SELECT a FROM t LIMIT 5",
        "SELECT a FROM t ORDER BY a",
        "SELECT a FROM t UNION SELECT a FROM u",
        "SELECT a FROM read_csv('x')",
        "WITH u AS (SELECT 1) SELECT a FROM u",
        "DELETE FROM t",
        "SELECT a",
    ):
        with pytest.raises(InvalidArgument) as error:
            read_query(text)
        assert error.value.argument == "query"


def test_every_result_says_which_rows_and_of_whom() -> None:
    shared: dict[str, Any] = {"item": "item", "k": 1, "epsilon": 1, "bits": fg.SeededBits(1)}
    release = fg.top_k(ARROW, protect="rows", where="age >= 18", domain=ITEMS, **shared)
    assert "Rows: those where age >= 18." in release.footnotes()
    assert release.to_dict()["privacy"]["filter"] == "age >= 18"
    assert "one row" in release.privacy.unit
    assert "one row more" in release.privacy.neighbours
    both = fg.source(fg.source(ARROW, where="age >= 18 OR ok"), where="ward = 'A'", protect="rows")
    unknown = fg.above(
        both, domain="unknown", delta="1e-7", items_per_person=1, threshold=0, **shared | {"k": 9}
    )
    assert unknown.privacy.filter == "(age >= 18 OR ok = TRUE) AND ward = 'A'"
    assert "filter" not in fg.top_k(ARROW, protect="rows", domain=ITEMS, **shared).to_dict()["privacy"]


def test_rows_are_never_taken_for_persons_unasked(tmp_path: Path) -> None:
    shared: dict[str, Any] = {"k": 1, "epsilon": 1, "domain": ITEMS}
    with pytest.raises(InvalidArgument, match='say protect="rows"'):
        fg.top_k(ARROW, item="item", **shared)
    with pytest.raises(InvalidArgument, match='cannot be named with protect="rows"'):
        fg.top_k(ARROW, item="item", person="ward", protect="rows", **shared)
    with pytest.raises(InvalidArgument, match='must be "rows"'):
        fg.top_k(ARROW, item="item", protect="people", **shared)  # type: ignore[arg-type]
    (tmp_path / "t.dat").write_text("1 2\n", encoding="utf-8")
    cases: list[dict[str, Any]] = [{"protect": "rows"}, {"where": "item = 1"}]
    for said in cases:
        with pytest.raises(InvalidArgument, match="each line is one person"):
            fg.top_k(tmp_path / "t.dat", **said, **shared)


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow", "duckdb", "ibis", "parquet", "csv"])
def test_rows_count_each_for_itself_and_have_numbers_of_their_own(engine: str, tmp_path: Path) -> None:
    table = fg.source(ENGINES[engine](tmp_path), protect="rows")
    with open_source(table, "ward", None) as source:
        for most in (None, 1):
            labels, counts = largest_counts(source, 3, most)
            assert dict(zip(labels, counts, strict=True)) == {"A": 24, "B": 24}
        persons = source.rows().lazy().collect()["person"].to_list()
        assert len(set(persons)) == 48


def test_totals_histograms_quantiles_and_groups_of_some_rows() -> None:
    """Every question about a table takes conditions, rows as the unit and sources in the same way."""
    rows = pa.table(
        {"item": ["a", "a", "b", "a"], "p": [1, 1, 2, 3], "n": [5, 7, 9, 4], "g": ["x", "x", "y", "y"]}
    )
    lazy = pl.DataFrame(pl.from_arrow(rows)).lazy()
    chosen: dict[str, Any] = {
        "where": "n >= 5",
        "protect": "rows",
        "epsilon": 10**6,
        "bits": fg.SeededBits(1),
    }
    asked: dict[str, Any] = {"item": "item", "domain": ["a", "b", "c"], **chosen}
    for table in (rows, rows.to_pandas(), lazy):
        releases: list[Any] = [
            fg.histogram(table, items_per_person=1, **asked),
            fg.histogram(table, items_per_person=1, value="n", low=0, high=6, unit=1, **asked),
            fg.top_k(table, k=2, value="n", low=0, high=6, unit=1, measure=True, **asked),
            fg.quantiles(table, value="n", q=[0.5], low=0, high=20, **chosen),
            fg.top_k(table, k=1, group="g", groups=["x", "y"], groups_per_person=1, measure=True, **asked),
        ]
        assert [int(value) for value in releases[0].values] == [2, 1, 0]
        assert [int(value) for value in releases[1].values] == [11, 6, 0]  # 5 + 6, where one person has 12
        assert releases[2].labels == ("a", "b")
        assert [round(value) for value in releases[2].estimates or ()] == [11, 6]
        assert [int(value) for value in releases[3].values] == [7]
        assert [(row.group, row.item, round(row.estimate)) for row in releases[4]] == [
            ("x", "a", 2),
            ("y", "b", 1),
        ]
        for release in releases:
            assert release.privacy is not None
            assert release.privacy.filter == "n >= 5"
            assert "one row" in release.privacy.unit
            assert "one row more" in release.privacy.neighbours
    of_people = {"person": "p", **{name: said for name, said in asked.items() if name != "protect"}}
    clipped = fg.histogram(rows, items_per_person=1, value="n", low=0, high=6, unit=1, **of_people)
    assert [int(value) for value in clipped.values] == [6, 6, 0]


_PAIRS = pa.table(
    {
        "item": ["x"] * 5,
        "person": [1, 2, 3, 4, 5],
        "a": pa.array([1, 5, 3, None, None], pa.int64()),
        "b": pa.array([2, 4, None, 7, None], pa.int64()),
        "f": pa.array([1.0, 5.0, 3.0, None, None]),
        "g": pa.array([2.0, 4.0, None, 7.0, None]),
        "s": ["a", "b", "c", None, None],
        "t": ["b", "a", None, "z", None],
    }
)


@pytest.mark.parametrize(
    "engine",
    [
        lambda table: table,
        lambda table: table.to_pandas(),  # NumPy's: what is missing is NaN, or an object
        lambda table: table.to_pandas().convert_dtypes(),
        lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
        lambda table: pl.from_arrow(table),
        lambda table: pl.DataFrame(table).lazy(),
    ],
)
@pytest.mark.parametrize(("left", "right"), [("a", "b"), ("f", "g"), ("s", "t"), ("b", "a"), ("t", "s")])
def test_a_row_that_lacks_one_of_two_columns_is_neither(engine: Any, left: str, right: str) -> None:
    """Be it compared, be the comparison turned round, be the left one missing or the right one, or both."""
    for where, people in (
        (f"{left} < {right}", 1),
        (f"NOT {left} < {right}", 1),
        (f"{left} <> {right}", 2),
        (f"NOT {left} = {right}", 2),
        (f"NOT ({left} < {right} OR {left} > {right})", 0),
        (f"{left} <= {right} OR {left} > {right}", 2),
        (f"{left} IS NULL OR {right} IS NULL", 3),
    ):
        asked = {"item": "item", "person": "person", "domain": ["x"], **AS_USUAL}
        with counted(described(engine(_PAIRS), where=where), **asked) as found:
            assert int(found.tally.values[0]) == people, where
