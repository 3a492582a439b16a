"""Conditions and descriptions of tables: what they are read as, which rows stay, and what is refused."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import ibis
import narwhals as nw
import numpy as np

import freegap as fg
from freegap.tables.condition_readers import read_where
from freegap.tables.condition_text import read_query
from freegap.tables.domains import WrittenItem, require_usable
from freegap.tables.people import counted
from tests.recorded.tables.rows import ENGINES, FILES, ITEMS, WARDS
from tests.recorded.tables.told import Journal
from tests.recorded.tables.variations import Question, Way

WHERE = """
pieces = 3|pieces <> 3|pieces != 3|pieces < 3|pieces <= 3|pieces > 3|pieces >= 3|3 < pieces|3 <= pieces
3 = pieces
5 > pieces|5 >= pieces|5 <> pieces|pieces = 3.0|pieces > 2.5|pieces > -1|pieces > +1|cost > 2.5|cost >= 3
cost = -10
cost < 1e1|cost > .5|weight = 0.25|weight <> 0.25|weight > 0|weight IS NULL|weight IS NOT NULL|NOT weight > 1
item = 'tea'|item <> 'tea'|item < 'rice'|item >= 'rice'|item IN ('tea', 'milk')|item NOT IN ('tea', 'milk')
item LIKE 't%'|item LIKE '%a'|item LIKE '%e%'|item LIKE 'tea'|item LIKE '%'|item LIKE ''|item NOT LIKE 't%'
item LIKE '%%'|item LIKE 't%a'|item LIKE 't_a'|item LIKE 't\\\\a'|item LIKE 3|item = 'it''s'|"item" = 'tea'
"i""t" = 1
code IN (1, 2, 3)|code IN (1)|code IN ()|code IN (1,|code IN 1|code BETWEEN 1 AND 5|code NOT BETWEEN 1 AND 5
code BETWEEN 5 AND 1|code BETWEEN 1|code IS NULL|code IS NOT NULL|code IS 3|NOT code = 3|NOT NOT code = 3
flag|NOT flag|flag = TRUE|flag = false|flag <> TRUE|flag IS NULL|flag = 1|TRUE|FALSE = flag|flag > TRUE
day = DATE '2026-01-10'|day >= DATE '2026-02-01'|day < '2026-02-01'
day BETWEEN DATE '2026-01-05' AND DATE '2026-02-05'
day > TIMESTAMP '2026-02-01 00:00:00'|day = DATE '2026-13-01'|day = DATE 5|date = 3|"date" = 3
timestamp IS NULL
at >= TIMESTAMP '2026-02-01 12:00:00'|at >= DATE '2026-02-01'|at < TIMESTAMP '2026-02-01 12:00:00+01:00'
zoned >= TIMESTAMP '2026-02-01 12:00:00+01:00'|zoned >= TIMESTAMP '2026-02-01 12:00:00'
zoned >= DATE '2026-02-01'
price > 2.5|price = 3|price IN (1, 2.5)|price <= 0.31|took IS NULL|took > 3|raw IS NOT NULL|raw = 'A'
pieces > 3 AND code < 5|pieces > 3 OR code < 5|NOT (pieces > 3 AND code < 5)|NOT (pieces > 3 OR code < 5)
pieces > 3 AND (code < 5 OR item = 'tea')|pieces > 3 AND code < 5 OR item = 'tea'|(pieces > 3)|((pieces > 3))
pieces > 3 AND code < 5 AND cost > 0 AND item <> 'tea' AND flag
pieces = 1 OR code = 2 OR cost = 3 OR item = 'tea' OR flag
pieces > code|pieces = code|code <> pieces|item = ward|item < customer|cost > weight|cost > pieces|day = at
item = code
at > at|zoned = at|flag = flag|price = price|price > cost|took = took|code > person AND cost > 0
NOT code > pieces
nothing = 1|pieces > nothing|pieces|item|pieces = 'three'|item = 3|item = DATE '2026-01-01'|pieces = TRUE
3 = 3|'a' = 'b'|pieces =|= 3|pieces 3|pieces == 3|pieces > 3 code|pieces > 3;|pieces > 3 AND|OR pieces > 3
NOT|(|)
(pieces > 3|lower(item) = 'tea'|pieces + 1 = 3|pieces NOT 3|pieces NOT|and = 3|select = 3|pieces = NULL
null = 3
pieces = 9223372036854775807|pieces = 9223372036854775808|pieces > -9223372036854775808|cost > 1e400
pieces > 1.5e3
pieces = 12345678901234567890123456789012345|code > 9007199254740993|pieces = 'a|pieces = 3x|pieces = 3.
pieces > 3 -- x
"""
DEEP = ["(" * n + "pieces > 3" + ")" * n for n in (3, 40, 41)] + ["NOT " * n + "flag" for n in (40, 41)]
LONG = [f"item = '{'x' * n}'" for n in (19_991, 19_992, 19_993)]
DIGITS = [f"pieces = {digits}" for digits in ("0" * 29 + "1", "0" * 30 + "1", "9" * 5000, "9" * 5000 + ".5")]
QUERIES = """
SELECT * FROM visits|SELECT item, person FROM visits WHERE pieces > 3|select "item" from "visits"
SELECT item FROM a.b
SELECT item FROM a.b.c|SELECT FROM visits|SELECT item visits|SELECT item, FROM visits|SELECT * FROM
FROM visits
SELECT item FROM visits WHERE|SELECT item FROM visits LIMIT 3|SELECT count(item) FROM visits
SELECT item FROM visits, b
SELECT *, item FROM visits|SELECT item person FROM visits|SELECT item FROM "a b"."c""d" WHERE x IS NULL|
"""


def _expressions() -> dict[str, Any]:
    col = nw.col
    zone = datetime.timezone(datetime.timedelta(hours=1))
    return {
        "=": col("pieces") == 3, "<>": col("pieces") != 3, "<": col("pieces") < 3, "<=": col("pieces") <= 3,
        ">": col("pieces") > 3, ">=": col("pieces") >= 3, "mirrored": nw.lit(3) < col("pieces"),
        "columns": col("pieces") < col("code"), "and": (col("pieces") > 3) & (col("code") < 5) & col("flag"),
        "or": (col("pieces") > 3) | (col("code") < 5), "not": ~col("flag"), "a column": col("flag"),
        "null": col("code").is_null(), "is_in": col("item").is_in(["tea", "milk"]),
        "is_in of numbers": col("code").is_in(np.array([1, 2])), "is_in of nothing": col("item").is_in([]),
        "is_in of a comparison": (col("code") > 3).is_in([True]),
        "both": col("code").is_between(1, 5), "left": col("code").is_between(1, 5, closed="left"),
        "right": col("code").is_between(1, 5, closed="right"), "none": col("code").is_between(1, 5,
            closed="none"),
        "between columns": col("code").is_between(col("pieces"), 9),
        "starts": col("item").str.starts_with("t"), "ends": col("item").str.ends_with("a"),
        "contains": col("item").str.contains("e", literal=True), "regular": col("item").str.contains("e"),
        "starts with nothing": col("item").str.starts_with(""),
        "decimal": col("cost") > Decimal("2.5"), "whole decimal": col("pieces") == Decimal(3),
        "numpy": col("pieces") == np.int16(3), "truth of numpy": col("flag") == np.bool_(True),
        "double of numpy": col("cost") > np.float32(2.5), "nan": col("cost") > float("nan"),
        "infinite": col("cost") > float("inf"), "large": col("pieces") < 2**63 - 1,
            "larger": col("pieces") < 2**63,
        "as small": col("pieces") > -(2**63), "smaller": col("pieces") > -(2**63) - 1,
        "date": col("day") >= datetime.date(2026, 2, 1), "time": col("at") >= datetime.datetime(2026, 2, 1),
        "zone": col("zoned") >= datetime.datetime(2026, 2, 1, tzinfo=zone), "bytes": col("raw") == b"A",
        "sum": col("pieces").sum() > 3, "plus": col("pieces") + 1 > 3, "two columns": nw.col("a", "b") > 3,
        "all": nw.all() > 3, "literal": nw.lit(True), "conditions": (col("flag") == (col("code") > 3)),
        "two values": nw.lit(3) < nw.lit(4), "value and condition": nw.lit(True) & col("flag"),
        "of a condition": (col("code") > 3).is_null(), "cast": col("code").cast(nw.Float64) > 3,
        "number": 3, "list": ["a"],
    }  # fmt: skip


def _ibis_expressions(table: Any) -> dict[str, Any]:
    other = ibis.table({"pieces": "int64"}, name="other")
    return {
        "=": table.pieces == 3, "<>": table.pieces != 3, "<": table.pieces < 3, "<=": table.pieces <= 3,
        ">": table.pieces > 3, ">=": table.pieces >= 3, "deferred": ibis._.pieces > 3,
        "and": (table.pieces > 3) & (table.code < 5), "or": (table.pieces > 3) | (table.code < 5),
        "not": ~table.flag, "null": table.code.isnull(), "present": table.code.notnull(),
        "isin": table.item.isin(["tea", "milk"]), "between": table.code.between(1, 5),
        "starts": table.item.startswith("t"), "ends": table.item.endswith("a"),
        "contains": table.item.contains("e"), "starts with nothing": table.item.startswith(""),
        "starts with a column": table.item.startswith(table.ward), "columns": table.pieces < table.code,
        "mirrored": ibis.literal(3) < table.pieces, "of another": other.pieces > 3,
            "sum": table.pieces.sum() > 3,
        "plus": table.pieces + 1 > 3, "a column": table.flag, "a value": ibis.literal(True),
        "lower": table.item.lower() == "tea", "null of a sum": (table.pieces + 1).isnull(),
        "between columns": table.code.between(table.pieces, 9), "date": table.day >= datetime.date(2026, 2,
            1),
    }  # fmt: skip


def _people(table: Callable[[Path], Any], way: Way) -> Question:
    """How many people each item has, which says which rows stayed."""

    def ask(place: Path, _: Journal) -> Any:
        given: Way = {"item": "item", "person": "person", "domain": [*ITEMS, "Tea ", "sugar"]} | way
        public: Way = {"domain_column": None, "observed_keys_are_public": False}
        with counted(table(place), **(public | given)) as people:
            tally = people.tally
            places = [(g, m) for g, size in enumerate(tally.sizes.tolist()) for m in range(size)]
            names = people.source.named(tally.names(places))
            counts = [[str(name), int(tally.values[g])] for name, (g, _) in zip(names, places, strict=True)]
        return {"where": people.source.where, "public": people.public, "people": counts}

    return ask


def _source(way: Way, table: Any = "<here>/rows.csv") -> Question:
    def ask(place: Path, _: Journal) -> Any:
        known = table.replace("<here>", str(place)) if isinstance(table, str) else table
        made = fg.source(known, **way)
        return {
            name: str(getattr(made, name))
            for name in ("where", "by_row", "reading", "name", "columns", "windows", "by_window")
        }

    return ask


def _read(read: Callable[..., Any], *given: Any) -> Question:
    return lambda place, _: str(read(*(one(place) if isinstance(one, partial) else one for one in given)))


def _engine(name: str, where: Any, _: Path) -> Any:
    return fg.source(ENGINES[name](), where=where)


def _file(name: str, where: Any, place: Path, **said: Any) -> Any:
    return fg.source(str(place / FILES[name]), where=where, **said)


SOURCES: list[Way] = [
    {"protect": "rows"}, {"protect": "x"}, {"protect": "windows"}, {"where": "pieces > 3", "protect": "rows"},
    {"name": "visits"}, {"query": "SELECT * FROM visits"}, {"name": "a", "query": "SELECT * FROM b"},
        {"query": 3},
    {"format": "csv"}, {"format": ".CSV"}, {"format": "x"}, {"delimiter": ";"}, {"delimiter": "\\t"},
        {"delimiter": "\t"},
    {"delimiter": ";;"}, {"delimiter": "a"}, {"delimiter": "7"}, {"delimiter": '"'},
        {"delimiter": "\\"}, {"delimiter": "ä"},
    {"delimiter": "\n"}, {"delimiter": 3}, {"encoding": "latin-1"}, {"encoding": "utf-16"},
        {"encoding": "utf-7"},
    {"encoding": "shift_jis"}, {"encoding": "unicode_escape"}, {"encoding": "cp037"}, {"encoding": "x"},
        {"encoding": 3},
    {"sheet": "rows"}, {"sheet": 3}, {"partitions": ["a", "b"]}, {"partitions": "a"}, {"partitions": [1]},
    {"partitions": ["a", "a"]}, {"every": "month", "time": "day", "since": "2026-01-15",
        "until": "2026-04-01"},
    {"every": "day", "time": "day", "since": "2026-01-15", "until": "2026-01-18"},
    {"every": "quarter", "time": "day", "since": "2025-11-15", "until": "2026-07-02"},
    {"every": "year", "time": "day", "since": "2024-11-15", "until": "2026-01-01"},
    {"every": "year", "time": "day", "since": "2024-11-15", "until": "2026-01-02", "protect": "windows"},
    {"every": "week", "time": "day", "since": "2026-01-15", "until": "2026-04-01"},
    {"every": "month", "since": "2026-01-15", "until": "2026-04-01"}, {"every": "month", "time": "day"},
    {"every": "month", "time": "day", "since": "x", "until": "2026-04-01"},
    {"every": "month", "time": "day", "since": "2026-01-15", "until": "2026-01-15"},
    {"every": "month", "time": "day", "since": datetime.date(2026, 1, 15), "until": datetime.datetime(2026,
        4, 1)},
    {"every": "month", "time": "day", "since": "0999-12-31", "until": "1001-01-01"},
    {"every": "month", "time": "day", "since": "1000-01-01", "until": "1000-02-02"},
    {"every": "month", "time": "day", "since": "9000-11-01", "until": "9000-12-31"},
    {"every": "month", "time": "day", "since": "9000-11-01", "until": "9001-01-01"},
    {"every": "day", "time": "day", "since": "2026-01-01", "until": "2028-09-27"},
    {"every": "day", "time": "day", "since": "2026-01-01", "until": "2028-09-28"},
    {"time": "day"}, {"since": "2026-01-15"}, {"until": "2026-01-15"},
]  # fmt: skip
WRITTEN = [("tea",), ("tea", "x"), (), ("3",), ("x",)]
USABLE: list[Any] = [["a"], [], range(3), range(5, 2), ["a", "a"], [None], 3, "<here>/items.csv",
    "<here>/none.csv",
                     "<here>/empty.csv", "<here>/rows.dat", "<here>/pairs.csv",
                         "<here>/codes.csv"]  # fmt: skip


def _texts(block: str) -> list[str]:
    return [text for line in block.strip("\n").splitlines() for text in line.split("|")]


def questions() -> dict[str, Question]:
    """All of them, by what they are called."""
    conditions = [*_texts(WHERE), *DEEP]
    made = {
        f"condition, read: {text[:60]}, {len(text)}": _read(read_where, text, None)
        for text in [*conditions, *LONG, *DIGITS]
    }
    made |= {f"query: {text}": _read(read_query, text) for text in _texts(QUERIES)}
    for engine in ("pyarrow", "duckdb", "csv"):
        for text in _texts(WHERE)[:: 3 if engine == "csv" else 1]:
            table = partial(_file, "csv", text) if engine == "csv" else partial(_engine, engine, text)
            made[f"condition, {engine}: {text}"] = _people(table, {})
    for name, expression in _expressions().items():
        made[f"condition of narwhals: {name}"] = _read(read_where, expression, None)
        made[f"condition of narwhals, rows: {name}"] = _people(partial(_engine, "pyarrow", expression), {})
    for name, expression in _ibis_expressions(ENGINES["ibis"]()).items():
        made[f"condition of Ibis: {name}"] = _read(read_where, expression, ENGINES["ibis"]())
        made[f"condition of Ibis, elsewhere: {name}"] = _read(read_where, expression, None)
    for way in SOURCES:
        for place in ("<here>/rows.csv", "<here>/rows.duckdb", "postgresql://me:secret@there/shop", 7):
            made[f"source {place}: {way}"] = _source(way, place)
    for parts in WRITTEN:
        for item in ("item", "code", ["item", "ward"]):
            way = {"item": item, "domain": WrittenItem(parts)}
            made[f"written item: {item} {parts}"] = _people(lambda _: ENGINES["pyarrow"](), way)
            made[f"written item, csv: {item} {parts}"] = _people(partial(_file, "csv", None), way)
    for domain in USABLE:
        made[f"usable: {domain}"] = _read(require_usable, partial(_domain, domain), "item")
    for name, way in _OF_TUPLES.items():
        for engine in ("pyarrow", "pandas", "polars", "duckdb"):
            made[f"items of several columns, {engine}: {name}"] = _people(partial(_engine, engine, None), way)
        made[f"items of several columns, csv: {name}"] = _people(partial(_file, "csv", None), way)
    return made


def _domain(domain: Any, place: Path) -> Any:
    return domain.replace("<here>", str(place)) if isinstance(domain, str) else domain


_TWO: Way = {"item": ["ward", "code"]}
_OF_TUPLES: dict[str, Way] = {
    "tuples": _TWO | {"domain": [("north", 1), ("south", 2), ("a~b", 3)]},
    "lists": _TWO | {"domain": [["north", 1], ["south", 2]]},
    "twice": _TWO | {"domain": [("north", 1), ("north", 1)]},
    "too short": _TWO | {"domain": [("north",)]},
    "of another kind": _TWO | {"domain": [("north", "1")]},
    "of two kinds": _TWO | {"domain": [("north", 1), ("north", "1")]},
    "missing": _TWO | {"domain": [("north", None)]},
    "none": _TWO | {"domain": []},
    "combinations": _TWO | {"domain": {"ward": WARDS, "code": range(3)}},
    "combinations of another column": _TWO | {"domain": {"ward": WARDS, "item": ITEMS}},
    "combinations with a file": _TWO | {"domain": {"ward": WARDS, "code": [1, 5]}},
    "dates and truth values": {"item": ["day", "flag"], "domain": [(datetime.date(2026, 1, 1), True),
        (datetime.date(2026, 1, 10), False)]},
    "a number": _TWO | {"domain": 3},
    "with a column": _TWO | {"domain": [("north", 1)], "domain_column": "x"},
    "of costs": {"item": ["ward", "cost"], "domain": [("north", 1.5)]},
    "one column": {"item": ["ward"], "domain": [("north",), ("south",)]},
    "no column": {"item": [], "domain": [("north",)]},
}  # fmt: skip
