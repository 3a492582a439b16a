"""Windows of time, groups with more items than are listed, odd types, forms of domains, files that differ."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import freegap as fg
from tests.recorded.tables.rows import ENGINES, ITEMS, WARDS, arrow
from tests.recorded.tables.selection import LISTED, ROWS, UNKNOWN, VALUE
from tests.recorded.tables.variations import Question, Way, asked

MONTHS: Way = {"every": "month", "time": "day", "since": "2026-01-15", "until": "2026-04-20"}
WINDOWS: dict[str, Way] = {
    "months": MONTHS,
    "days": MONTHS | {"every": "day", "time": "at", "until": "2026-01-19"},
    "quarters": MONTHS | {"every": "quarter", "time": "at", "since": "2025-12-31", "until": "2026-07-01"},
    "years": MONTHS | {"every": "year", "since": "2025-12-31", "until": "2026-12-31"},
    "months by themselves": MONTHS | {"protect": "windows"},
    "months of rows": MONTHS | {"protect": "rows"},
    "zones": MONTHS | {"time": "zoned"},
    "texts": MONTHS | {"time": "item"},
    "nothing": MONTHS | {"time": "nothing"},
}
_TENTHS = [f"{n}/10" for n in range(1, 10)]
_AGES: Way = {"value": "cost", "person": "person", "q": 0.5, "low": -10, "high": 30, "epsilon": 30}
OF_WINDOWS: dict[str, tuple[Callable[..., Any], Way]] = {
    "top_k": (fg.top_k, LISTED | {"k": 1, "epsilon": 9}),
    "top_k of rows": (fg.top_k, LISTED | {"k": 1, "epsilon": 9, "person": None}),
    "top_k in two": (fg.top_k, LISTED | {"k": 1, "epsilon": 9, "groups_per_person": 2, "ledger": None}),
    "top_k in groups": (fg.top_k, LISTED | {"k": 1, "epsilon": 9, "group": "ward"}),
    "top_k of groups": (fg.top_k, LISTED | {"k": 1, "epsilon": 9, "groups": WARDS}),
    "above": (fg.above, LISTED | {"k": 2, "threshold": 4, "epsilon": 30, "ledger": None}),
    "unknown": (fg.top_k, UNKNOWN | {"k": 1, "epsilon": 90, "ledger": None}),
    "quantiles": (fg.quantiles, _AGES | {"ledger": None}),
    "histogram": (fg.histogram, LISTED | {"items_per_person": 1, "epsilon": 1}),
}

MANY: Way = {"item": "code", "person": "person", "domain": range(-5, 10**9), "group": "ward", "groups": WARDS}
_HOW: dict[str, Way] = {
    "ε of 90": {"epsilon": 90},
    "ε of 1": {"epsilon": 1},
    "measured": {"epsilon": 60, "measure": True},
    "under rho": {"rho": 90, "groups_per_person": 2},
    "of totals": {"epsilon": 900} | VALUE,
    "of negative totals": {"epsilon": 90, "value": "cost", "low": -20, "high": 0},
    "named": {"epsilon": 90, "groups": "unknown", "groups_per_person": 1, "delta": "1e-6"},
    "of rows": ROWS | {"epsilon": 60},
    "combined": {"item": ["code", "item"], "epsilon": 60} | {"domain": {"code": range(10**8), "item": ITEMS}},
}
OF_MANY: dict[str, tuple[Callable[..., Any], Way]] = {
    **{f"top_k, {name}": (fg.top_k, MANY | {"k": 3} | way) for name, way in _HOW.items()},
    "above": (fg.above, MANY | {"k": 3, "threshold": 5, "epsilon": 90}),
    "above, ε of 1": (fg.above, MANY | {"k": 3, "threshold": 40, "epsilon": 1}),
    "above, of totals": (fg.above, MANY | {"k": 3, "threshold": 50, "epsilon": 600} | VALUE),
    "above, under rho": (fg.above, MANY | {"k": 2, "threshold": 4, "rho": 300, "groups_per_person": 1}),
}

_WHEN = [datetime.datetime(2026, 1, 1 + n % 9, n % 24) for n in range(40)]
_FAR = [-(10**14), 0, 10**12, 253402300799, 253402300800, -62135596800, -62135596801, 1768000000] * 5
ODD: dict[str, pa.Array] = {
    "seconds": pa.array(_WHEN, pa.timestamp("s")),
    "milliseconds": pa.array(_WHEN, pa.timestamp("ms")),
    "nanoseconds": pa.array(_WHEN, pa.timestamp("ns")),
    "far seconds": pa.array(_FAR, pa.int64()).cast(pa.timestamp("s")),
    "far days": pa.array([n // 86400 % 2**31 for n in _FAR], pa.int32()).cast(pa.date32()),
    "dates of 64 bits": pa.array([when.date() for when in _WHEN], pa.date64()),
    "times of day": pa.array([when.time() for when in _WHEN], pa.time64("us")),
    "half numbers": pa.array(np.arange(40).astype(np.float16) % 7),
    "large numbers": pa.array([n % 7 + 2**63 for n in range(40)], pa.uint64()),
    "short numbers": pa.array([n % 7 for n in range(40)], pa.uint8()),
    "large texts": pa.array([f"t{n % 5}" for n in range(40)], pa.large_string()),
    "categories": pa.array([f"t{n % 5}" for n in range(40)]).dictionary_encode(),
    "lists": pa.array([[n % 3] for n in range(40)]),
    "zeros": pa.array([(-0.0, 0.0, 1.5, None)[n % 4] for n in range(40)]),
}


@cache
def _odd() -> pa.Table:
    columns = {
        "person": pa.array([n * 7 % 23 for n in range(40)]),
        "item": pa.array([ITEMS[n * n % 5] for n in range(40)]),
    }
    return pa.table(columns | {name.replace(" ", "_"): values for name, values in ODD.items()})


@cache
def _odd_in_duckdb() -> Any:
    connection = duckdb.connect()
    connection.register("odd", _odd().drop_columns(["half_numbers"]))
    return connection, connection.sql("SELECT * FROM odd")


def _of_odd() -> Iterator[tuple[str, tuple[Callable[..., Any], Way]]]:
    seen = {"person": "person", "epsilon": 60}
    for name in ODD:
        column = name.replace(" ", "_")
        yield (
            f"{name} observed",
            (
                fg.histogram,
                seen
                | {
                    "item": column,
                    "domain": "observed",
                    "observed_keys_are_public": True,
                    "items_per_person": 2,
                },
            ),
        )
        yield f"{name} for persons", (fg.top_k, LISTED | {"person": column, "k": 1, "epsilon": 9})
        yield f"{name} unknown", (fg.top_k, UNKNOWN | {"item": column, "k": 2, "epsilon": 90})
        yield (
            f"{name} named",
            (
                fg.top_k,
                LISTED
                | {"group": column, "groups": "unknown", "groups_per_person": 1, "delta": "1e-6"}
                | {"k": 1, "epsilon": 90},
            ),
        )
        yield (
            f"{name} looked at",
            (
                fg.histogram,
                seen
                | {"item": "item", "domain": ITEMS, "items_per_person": 1, "where": f"{column} IS NOT NULL"},
            ),
        )
        yield (
            f"{name} compared",
            (
                fg.histogram,
                seen
                | {"item": "item", "domain": ITEMS, "items_per_person": 1}
                | {
                    "where": f"{column} < TIMESTAMP '2026-01-05 12:00:00'"
                    if "econds" in name
                    else f"{column} > 2"
                },
            ),
        )
        of_rows = _AGES | ROWS | {"value": "short_numbers", "low": 0, "high": 9, "epsilon": 2, "q": _TENTHS}
        groups: Way = {"group": column, "groups": [0.0, 1.5, 2.0]}
        of_persons = _AGES | {"value": "short_numbers", "low": 0, "high": 9, "epsilon": 2, "q": _TENTHS}
        yield f"quantiles, {name} for persons", (fg.quantiles, of_persons | {"person": column})
        yield f"quantiles of rows in groups of {name}", (fg.quantiles, of_rows | groups)
        dated = {"low": "2026-01-02", "high": "2026-01-06"}
        yield (
            f"quantiles of {name}",
            (
                fg.quantiles,
                _AGES | {"value": column} | (dated if name[-1:] == "s" and "number" not in name else {}),
            ),
        )


class Computed(Sequence[str]):
    """A domain that finds its items by itself."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, place: Any) -> Any:
        return ["tea", "rice", "milk"][place]

    def index(self, value: Any, *_: Any) -> int:
        return ["tea", "rice", "milk"].index(value)


DOMAINS: dict[str, Any] = {
    "array": np.array(["tea", "rice", "milk"]),
    "array of numbers": np.array([1, 2, 3]),
    "no dimension": np.array(3),
    "two dimensions": np.array([["tea"], ["rice"]]),
    "pandas": pd.Series(["tea", "rice", "milk"]),
    "pandas with a gap": pd.Series(["tea", None, "milk"]),
    "polars": pl.Series(["tea", "rice", "milk"]),
    "table of polars": pl.DataFrame({"item": ["tea", "rice", None, "tea", "milk"]}),
    "table of polars, lazy": pl.LazyFrame({"item": ["tea", "rice", "milk"], "more": [1, 2, 3]}),
    "table without the column": pl.DataFrame({"a": ["tea"], "b": ["rice"]}),
    "table of numbers": pa.table({"item": [1.0, 2.0, 3.5]}),
    "table of small numbers": pa.table({"item": pa.array([1, 2, 3], pa.int8())}),
    "table of nothing": pa.table({"item": pa.array([], pa.string())}),
    "set": {"tea", "rice"},
    "dict": {"tea": 1},
    "bytes": b"tea",
    "tuple": ("tea", "rice", "milk"),
    "computed": Computed(),
    "range": range(0, 12, 3),
    "falling range": range(9, -1, -2),
    "empty range": range(3, 3),
    "large range": range(2**62, 2**62 + 9),
    "larger range": range(-(2**63), 2**63),
    "numbers": [1, 2.5, 3],
    "numbers of two types": [1, 2.0, Decimal("3.5")],
    "equal numbers": [1, 1.0],
    "truth": [True, 0],
    "nan": [1.5, float("nan")],
    "missing": ["tea", pd.NA],
    "lists": [["tea"]],
    "texts and numbers": ["tea", 1],
    "half a character": ["tea", "\ud800", "rice"],
    "not composed": ["cafe\u0301", "tea", "rice"],
    "with blanks": [" tea", "rice", "milk"],
    "in two cases": ["Tea", "tea", "rice"],
    "dates": [datetime.date(2026, 1, 1)],
}


def _written(place: Path) -> dict[str, Any]:
    """Files and databases that differ from the others, as a folder of their own has them."""
    made = place / "edges"
    if not made.exists():
        made.mkdir()
        _write(made)
    return {"made": made}


def _write(made: Path) -> None:
    rows = arrow().select(["item", "person", "code", "ward"])
    first, second = rows.slice(0, 130), rows.slice(130)
    pairs = {
        "turned": (first, second.select(["ward", "code", "person", "item"])),
        "narrow": (first, second.set_column(2, "code", second["code"].cast(pa.int16()))),
        "mixed": (first, second.set_column(2, "code", second["code"].cast(pa.float64()))),
        "lacking": (first, second.drop_columns(["item"])),
        "lacking first": (first.drop_columns(["item"]), second),
    }
    for name, parts in pairs.items():
        (made / name).mkdir()
        for number, part in enumerate(parts):
            pq.write_table(part, made / name / f"{number}.parquet")
        (made / f"{name} arrow").mkdir()
        for number, part in enumerate(parts):
            with pa.ipc.new_file(made / f"{name} arrow" / f"{number}.arrow", part.schema) as file:
                file.write_table(part)
    for many in (20, 21):  # as many names as are shown, and one more
        names = pa.table({f"c{n:02}": [n] for n in range(many)})
        pq.write_table(names, made / f"wide {many}.parquet")
        with duckdb.connect(str(made / f"wide {many}.duckdb")) as connection:
            for name in names.column_names:
                connection.execute(f"CREATE TABLE {name} (item TEXT)")
    (made / "domain").mkdir()
    pq.write_table(pa.table({"what": ["tea"]}), made / "domain" / "0.parquet")
    pq.write_table(pa.table({"what": ["rice", "milk"], "more": [1, 2]}), made / "domain" / "1.parquet")
    for ending in ("csv", "jsonl"):
        for year in ("2025", "a%20b", "__HIVE_DEFAULT_PARTITION__"):
            folder = made / f"by year {ending}" / f"year={year}"
            folder.mkdir(parents=True)
            csv = "item,person,year\ntea,1,x\nmilk,2,y\ntea,,z\n"
            lines = "".join(
                json.dumps(one) + "\n"
                for one in ({"item": "tea", "person": 1}, {"item": "oats", "person": 2})
            )
            (folder / f"0.{ending}").write_text(csv if ending == "csv" else lines)
    texts = {
        "different/0.csv": "item,person\ntea,1\n", "different/1.csv": "item,code\ntea,1\n",
        "data.tsv": "item\tperson\ntea\t1\nrice\t2\n", "mixed ends/0.csv": "item,person\ntea,1\n",
        "mixed ends/1.jsonl": "{}\n", "blank.csv": " ,item\n1,tea\n",
            "marked.csv": "\ufeffitem,person\ntea,1\nrice,2\n",
        "quoted.csv": '"item","a ""b"""\ntea,1\n"ri\nce",2\n', "returns.csv": "item,person\rtea,1\rrice,2\r",
        "odd.jsonl": '{"item": "tea", "person": 1}\n[1]\nnonsense\n{"item": 3}\n{"person": 2, "item": {}}\n',
        "odd.json": '[{"item": "tea", "person": 1}, 3, {"a/b": 1, "item": "rice", "person": 2}]',
            "text.x": "item\n",
        "days.csv": "day\n2026-01-01\n2026-01-10\n", "flags.csv": "flag\ntrue\nfalse\n",
            "_hidden.csv": "item,person\ntea,1\n",
        "none.sqlite": "nothing", "none.duckdb": "nothing", "plain.dat": "1 2 2 3\n\n  4 1\n7\n",
    }  # fmt: skip
    for name, text in texts.items():
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text(text, encoding="utf-8", newline="")
    with duckdb.connect() as connection:
        two = "SELECT 'tea' AS item, 1 AS person UNION ALL SELECT 'rice', 2 ORDER BY 2"
        connection.execute(f"COPY ({two}) TO '{made}/packed.csv.zst' (HEADER, COMPRESSION zstd)")


PEOPLE: Way = {"item": "item", "person": "person", "domain": ITEMS, "items_per_person": None, "epsilon": 60}
SAID: list[tuple[str, Way, Way]] = [
    *((name, {}, {}) for name in ("turned", "narrow", "mixed", "lacking", "lacking first", "turned arrow",
        "narrow arrow",
      "mixed arrow", "lacking arrow", "different", "data.tsv", "mixed ends", "blank.csv", "marked.csv",
          "returns.csv",
      "odd.jsonl", "odd.json", "text.x", "_hidden.csv", "packed.csv.zst", "none.parquet", "*.csv", "",
          "plain.dat")),
    *((name, {}, {"item": "code", "domain": range(9)}) for name in ("narrow", "mixed", "lacking")),
    *((f"wide {many}.parquet", {}, {}) for many in (20, 21)),
    *((f"wide {many}.duckdb", {"name": "visits"}, {}) for many in (20, 21)),
    *((f"wide {many}.duckdb", {"name": "c01"}, {"person": "none"}) for many in (20, 21)),
    ("quoted.csv", {}, {"person": 'a "b"'}), ("odd.json", {}, {"person": "a/b"}), ("text.x",
        {"format": "csv"}, {}),
    *((f"by year {ending}", {"partitions": ["year"]}, {"person": "year"}) for ending in ("csv", "jsonl")),
    *((f"by year {ending}", {"partitions": ["year"]}, {"item": "year", "domain": ["2025",
        "a b"]}) for ending in ("csv", "jsonl")),
    ("by year csv", {"partitions": ["month"]}, {}), ("by year csv", {}, {"person": "year"}),
    ("by year csv", {"partitions": ["year"], "encoding": "latin-1"}, {}), ("turned",
        {"partitions": ["item"]}, {}),
    ("data.tsv", {"delimiter": ";"}, {}), ("turned", {"delimiter": ";"}, {}), ("turned",
        {"encoding": "latin-1"}, {}),
    ("marked.csv", {"sheet": "a"}, {}), ("packed.csv.zst", {"encoding": "latin-1"}, {}), ("plain.dat", {},
        {"item": None, "person": None, "domain": ["1", "2"]}),
    ("plain.dat", {}, {"item": None, "person": None, "domain": range(5), "items_per_person": 1}),
        ("plain.dat", {"protect": "rows"}, {"item": None, "person": None}),
    ("../rows.duckdb", {"name": "visits"}, {}), ("../rows.duckdb", {"name": "main.visits"}, {}),
        ("../rows.duckdb", {"name": "other.visits"}, {}),
    ("../rows.duckdb", {"name": "none"}, {}), ("../rows.duckdb", {"name": "a.b.c"}, {}), ("../rows.duckdb",
        {"name": ""}, {}),
    ("../rows.duckdb", {"name": "main."}, {}), ("../rows.duckdb", {"query": "SELECT item FROM visits"}, {}),
    ("../rows.sqlite", {"name": "visits"}, {}), ("../rows.sqlite", {"name": "none"}, {}), ("../rows.sqlite",
        {"name": "main.visits"}, {}),
    ("none.sqlite", {"name": "visits"}, {}), ("none.duckdb", {"name": "visits"}, {}), ("gone.duckdb",
        {"name": "visits"}, {}),
    ("../rows.xlsx", {}, {}), ("../rows.xlsx", {"sheet": "none"}, {}), ("../rows.xlsx", {"sheet": "other"},
        {}), ("../rows.feather", {}, {"person": "none"}),
    ("../twice.csv", {}, {}), ("../empty.csv", {}, {}), ("../last.csv", {}, {}), ("../index.csv", {}, {}),
        ("../rows.json", {}, {"person": "none"}),
]  # fmt: skip
LISTS: list[tuple[str, Way]] = [
    *((f"wide {many}.parquet", {"item": "item", **more}) for many in (20, 21)
      for more in ({}, {"domain_column": "none"})),
    ("domain", {"item": "item"}), ("days.csv", {"item": "day"}), ("flags.csv", {"item": "flag"}),
        ("flags.csv", {"item": "code"}),
    ("../codes.csv", {"item": "code"}), ("../words.csv", {"item": "code"}), ("../rows.dat",
        {"item": "item"}), ("../pairs.csv", {"item": "flag"}),
    ("../items.csv", {"item": "ward", "domain_column": "ward"}), ("../items.csv", {"item": "ward",
        "domain_column": "none"}),
]  # fmt: skip


def _opened(name: str, said: Way, place: Path) -> Any:
    return fg.source(str(_written(place)["made"] / name) if name else "", **said)


def _path(name: str, place: Path) -> Any:
    return str(_written(place)["made"] / name)


def _windows(engine: str, way: Way, place: Path) -> Any:
    return fg.source(str(place / "rows.csv") if engine == "csv" else ENGINES[engine](), **way)


def questions() -> dict[str, Question]:
    """All of them, by what they are called."""
    made: dict[str, Question] = {}
    for engine in ("pyarrow", "polars", "duckdb", "csv"):
        for called, way in WINDOWS.items():
            for name, (function, given) in OF_WINDOWS.items():
                if engine == "pyarrow" or name in ("top_k", "unknown"):
                    made[f"windows, {engine}: {called}, {name}"] = asked(
                        function, given, partial(_windows, engine, way)
                    )
    for engine in ("pyarrow", "duckdb"):
        for name, (function, way) in OF_MANY.items():
            made[f"many items in groups, {engine}: {name}"] = asked(function, way, ENGINES[engine])
    for engine, table in {"pyarrow": _odd, "duckdb": lambda: _odd_in_duckdb()[1]}.items():
        for name, (function, way) in _of_odd():
            made[f"odd types, {engine}: {name}"] = asked(function, way, table)
    for name, domain in DOMAINS.items():
        for column in ("item", "code"):
            way = {"item": column, "person": "person", "domain": domain, "k": 1, "epsilon": 2}
            made[f"domains, {column}: {name}"] = asked(fg.top_k, way)
            made[f"domains, polars, {column}: {name}"] = asked(fg.top_k, way, ENGINES["polars"])
            groups: Way = {"group": column, "groups": domain, "groups_per_person": 1, "k": 1, "epsilon": 9}
            made[f"domains for groups, {column}: {name}"] = asked(
                fg.top_k, LISTED | {"item": "item"} | groups
            )
    for name, said, way in SAID:
        made[f"files: {name} {said} {way}"] = asked(fg.histogram, PEOPLE | way, partial(_opened, name, said))
    for name, way in LISTS:
        for engine in ("pyarrow", "duckdb", "csv"):
            given = PEOPLE | way | {"domain": partial(_path, name)}
            table = partial(_windows, "csv", {}) if engine == "csv" else ENGINES[engine]
            made[f"files of items, {engine}: {name} {way}"] = asked(fg.histogram, given, table)
    return made
