"""The same rows in every engine that freegap reads."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from freegap.tables.people import counted

Row = tuple[Any, Any]
Maker = Callable[[Sequence[Row], Path], Any]


def arrow(rows: Sequence[Row]) -> pa.Table:
    """Items and persons with the types that the first non-missing values have."""
    return pa.table({"item": _typed([r[0] for r in rows]), "person": _typed([r[1] for r in rows])})


def _typed(values: list[Any]) -> pa.Array:
    texts = any(isinstance(value, str) for value in values)
    return pa.array(values, pa.string() if texts else pa.int64())


_CONNECTIONS: list[Any] = []


def _duckdb(rows: Sequence[Row], _: Path) -> Any:
    connection = duckdb.connect()
    _CONNECTIONS.append(connection)  # older DuckDBs close one that nobody holds, though a relation needs it
    connection.register("rows", arrow(rows))
    return connection.sql("SELECT item, person FROM rows")


def _ibis(rows: Sequence[Row], _: Path) -> Any:
    backend = ibis.duckdb.connect()
    backend.con.register("rows", arrow(rows))
    return backend.table("rows")


def _csv(rows: Sequence[Row], directory: Path) -> Path:
    path = directory / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("item", "person"), *rows])
    return path


def _csv_gz(rows: Sequence[Row], directory: Path) -> Path:
    path = directory / "rows.csv.gz"
    path.write_bytes(gzip.compress(_csv(rows, directory).read_bytes()))
    return path


def _jsonl(rows: Sequence[Row], directory: Path) -> Path:
    path = directory / "rows.jsonl"
    lines = [json.dumps({"item": item, "person": person}) for item, person in rows]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def _parquet(rows: Sequence[Row], directory: Path) -> str:
    """Two files in a directory, with a marker beside them."""
    target = directory / "rows"
    target.mkdir(exist_ok=True)
    table = arrow(rows)
    half = len(rows) // 2
    pq.write_table(table.slice(0, half), target / "a.parquet")
    pq.write_table(table.slice(half), target / "b.parquet")
    (target / "_SUCCESS").write_text("")
    return str(target)


ENGINES: dict[str, Maker] = {
    "pandas": lambda rows, _: pd.DataFrame({"item": [r[0] for r in rows], "person": [r[1] for r in rows]}),
    "pandas objects": lambda rows, _: pd.DataFrame(
        {"item": [r[0] for r in rows], "person": [r[1] for r in rows]}, dtype=object
    ),
    "polars": lambda rows, _: pl.DataFrame(pl.from_arrow(arrow(rows))),
    "polars lazy": lambda rows, _: pl.DataFrame(pl.from_arrow(arrow(rows))).lazy(),
    "pyarrow": lambda rows, _: arrow(rows),
    "duckdb": _duckdb,
    "ibis": _ibis,
    "csv": _csv,
    "csv.gz": _csv_gz,
    "json lines": _jsonl,
    "parquet": _parquet,
}


AS_USUAL: dict[str, Any] = {"domain_column": None, "observed_keys_are_public": False}
"""What releases pass on where they are not told otherwise."""


def counts_of(table: Any, domain: Any, **options: Any) -> dict[Any, int]:
    """Every item of the domain and its count, by naming every member of every group."""
    with counted(table, item="item", person="person", domain=domain, **(AS_USUAL | options)) as people:
        tally = people.tally
        places = [(g, m) for g, size in enumerate(tally.sizes.tolist()) for m in range(size)]
        names = tally.names(places)
        counts = {name: int(tally.values[g]) for name, (g, _) in zip(names, places, strict=True)}
    assert len(counts) == len(names), "an item was named twice"
    return counts


def expected(rows: Sequence[Row], domain: Sequence[Any]) -> dict[Any, int]:
    """The counts by Python sets."""
    people: dict[Any, set[Any]] = {item: set() for item in domain}
    for item, person in rows:
        if item in people and person is not None:
            people[item].add(person)
    return {item: len(persons) for item, persons in people.items()}
