"""Made-up rows, in every engine: some are missing in each column, and people have several of each."""

from __future__ import annotations

import datetime
import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.feather as pf
import pyarrow.parquet as pq

__all__ = ["ENGINES", "FILES", "ITEMS", "WARDS", "arrow", "files"]

ITEMS = ["milk", "oats", "rice", "salt", "tea"]
WARDS = ["east", "north", "south"]
_ROWS = 260
_UTC = datetime.UTC


def _row(i: int) -> dict[str, Any]:
    moment = datetime.datetime(2026, 1, 1) + datetime.timedelta(hours=17 * (i * 13 % 240))
    row: dict[str, Any] = {
        "person": i * 7 % 59,
        "customer": f"c{i * 11 % 47:02}",
        "item": [*ITEMS, "Tea ", "sugar"][i * i % 23 % 7],
        "code": (i * i + 3) % 19 - 2,
        "ward": [*WARDS, "attic"][(i * 7 % 59 + i // 90) % 4],
        "cost": (i * 37 % 401) / 8 - 10,
        "weight": float("nan") if i % 11 == 4 else (i % 7) / 4,
        "pieces": i % 9,
        "price": Decimal(i * 31 % 1000) / 100,
        "day": moment.date(),
        "at": moment,
        "zoned": moment.replace(tzinfo=_UTC),
        "took": datetime.timedelta(minutes=i % 5),
        "flag": i * i % 5 < 2,
        "raw": bytes([65 + i % 4]),
    }
    missing = {29: "item", 31: "person", 37: "ward", 41: "cost", 43: "code", 47: "flag", 53: "day", 17: "at"}
    for every, column in missing.items():
        if i % every == every - 1:
            row[column] = None
    return row


_SCHEMA = pa.schema(
    [
        ("person", pa.int64()),
        ("customer", pa.string()),
        ("item", pa.string()),
        ("code", pa.int64()),
        ("ward", pa.string()),
        ("cost", pa.float64()),
        ("weight", pa.float64()),
        ("pieces", pa.int32()),
        ("price", pa.decimal128(9, 2)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us")),
        ("zoned", pa.timestamp("us", tz="UTC")),
        ("took", pa.duration("us")),
        ("flag", pa.bool_()),
        ("raw", pa.binary()),
    ]
)


@cache
def arrow() -> pa.Table:
    """All rows."""
    return pa.Table.from_pylist([_row(i) for i in range(_ROWS)], schema=_SCHEMA)


@cache
def _duckdb() -> Any:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")  # in which times with a zone come out
    connection.register("rows", arrow())
    return connection, connection.sql("SELECT * FROM rows")


@cache
def _ibis() -> Any:
    backend = ibis.duckdb.connect()
    backend.con.execute("SET TimeZone = 'UTC'")
    backend.con.register("rows", arrow().drop_columns(["took"]))
    return backend.table("rows")


ENGINES: dict[str, Callable[[], Any]] = {
    "pyarrow": arrow,
    "pandas": cache(lambda: arrow().to_pandas()),
    "pandas of arrow": cache(lambda: arrow().to_pandas(types_mapper=pd.ArrowDtype)),
    "pandas of objects": cache(lambda: arrow().to_pandas().astype(object)),
    "polars": cache(lambda: pl.DataFrame(pl.from_arrow(arrow())).lazy()),
    "duckdb": lambda: _duckdb()[1],
    "ibis": _ibis,
}
"""Tables in this process, or held by an engine."""

_PLAIN = [name for name in _SCHEMA.names if name not in ("took", "raw")]
FILES = {
    "csv": "rows.csv", "csv.gz": "packed.csv.gz", "semicolons": "rows.txt", "json lines": "rows.jsonl",
    "json": "rows.json", "parquet": "many", "arrow": "rows.feather", "folders": "folders",
    "excel": "rows.xlsx", "latin": "latin.csv", "lines": "rows.dat", "duckdb": "rows.duckdb",
    "sqlite": "rows.sqlite",
}  # fmt: skip
"""Files with the same rows, by what they are."""


def files(place: Path) -> None:
    """Write all of them into a folder."""
    import sqlite3

    import openpyxl

    plain = arrow().select(_PLAIN)
    pc.write_csv(plain, place / "rows.csv")
    (place / "packed.csv.gz").write_bytes(gzip.compress((place / "rows.csv").read_bytes(), mtime=0))
    pc.write_csv(plain, place / "rows.txt", pc.WriteOptions(delimiter=";"))
    texts = [{name: _text(value) for name, value in row.items()} for row in plain.to_pylist()]
    (place / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in texts))
    (place / "rows.json").write_text(json.dumps(texts))
    (place / "many").mkdir()
    for part, start in enumerate((0, 100, 180)):
        pq.write_table(plain.slice(start, (100, 80, 80)[part]), place / "many" / f"{part}.parquet")
    pf.write_feather(plain, place / "rows.feather", compression="uncompressed")
    for ward in [*WARDS, "attic"]:
        folder = place / "folders" / f"ward={ward}"
        folder.mkdir(parents=True)
        of_ward = plain.filter(pa.compute.equal(plain["ward"], ward)).drop_columns(["ward"])
        pq.write_table(of_ward, folder / "0.parquet")
    book = openpyxl.Workbook()
    book.active.title = "rows"
    names = ["person", "item", "code", "ward", "cost", "flag", "day"]
    book.active.append(names)
    for row in plain.to_pylist():
        book.active.append([row[name] for name in names])
    book.create_sheet("other").append(["nothing"])
    book.save(place / "rows.xlsx")
    (place / "latin.csv").write_bytes(b"item,person\n" + b"caf\xe9,1\ncaf\xe9,2\nth\xe9,3\ncaf\xe9,4\n" * 5)
    lines: dict[Any, list[str]] = {}
    for row in plain.to_pylist():
        lines.setdefault(row["person"], []).append(str(row["code"]))
    (place / "rows.dat").write_text("".join(" ".join(line) + "\n" for line in lines.values()))
    with duckdb.connect(str(place / "rows.duckdb")) as connection:
        connection.register("all_rows", plain)
        connection.execute("CREATE TABLE visits AS SELECT * FROM all_rows")
    simple = plain.select(["person", "customer", "item", "code", "ward", "cost", "pieces"]).to_pylist()
    with sqlite3.connect(place / "rows.sqlite") as database:
        database.execute(
            "CREATE TABLE visits (person INTEGER, customer TEXT, item TEXT, code INTEGER, ward TEXT,"
            " cost REAL, pieces INTEGER)"
        )
        database.executemany(
            "INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?, ?)", [tuple(row.values()) for row in simple]
        )
    (place / "items.csv").write_text("item,price,ward\n" + "".join(f"{one},1,north\n" for one in ITEMS))
    (place / "codes.csv").write_text("code\n" + "".join(f"{one}\n" for one in range(12)))
    (place / "words.csv").write_text("code\n1\nmany\n")
    (place / "pairs.csv").write_text(
        "ward,item\nnorth,tea\nnorth,milk\nnorth,oats\nsouth,rice\nsouth,tea\nsouth,salt\n"
    )
    (place / "twice.csv").write_text("item,item\ntea,1\n")
    (place / "empty.csv").write_text("")
    (place / "last.csv").write_text("item,person,\ntea,1,\n")
    (place / "index.csv").write_text(",item,person\n0,tea,1\n1,milk,2\n2,tea,3\n3,tea,\n")


def _text(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
