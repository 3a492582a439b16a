"""Delta and Iceberg tables: the rows of their current version, by the library that reads their journal.

The files of such a table hold more than its rows: old versions, and rows that were deleted since. Which rows
there are, only the journal says. They are read once, into a table of our own DuckDB, so that what is looked
up afterwards is what was counted, though somebody writes a new version meanwhile.

    folder/_delta_log                   Delta, by `deltalake`; deletion vectors are honoured
    folder/metadata/version-hint.text   Iceberg, by `pyiceberg`: the version that this file names. Rows that
                                        were deleted by their place are left out; those that were deleted by
                                        value it does not know, and such a table is refused
    v7.metadata.json                    Iceberg: this version. Which is the current one, a catalogue knows

Columns have the types of the table's schema, which is public, and so is which files the table has.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from freegap.errors import InvalidArgument, MissingExtra
from freegap.tables.engine_errors import ask_engine

LAKES = ("delta", "iceberg")
_METADATA = ".metadata.json"
_HINT = "version-hint.text"


def lake_format(path: str, argument: str) -> str | None:
    """Which kind of table a path leads to, by the names of its files; None where it is none of these."""
    place = Path(path) if path and "\0" not in path else None
    try:
        if place is None or not place.exists():
            return None
        if place.is_file():
            return "iceberg" if path.endswith(_METADATA) else None
        if (place / "_delta_log").is_dir():
            return "delta"
        if (place / "metadata" / _HINT).is_file():
            return "iceberg"
        listed = any((place / "metadata").glob(f"*{_METADATA}"))
    except OSError:  # a name that is too long, a folder that may not be read
        return None
    if listed:
        raise InvalidArgument(
            argument,
            path,
            f"is an Iceberg table without the file {_HINT}: only its catalogue knows the current version",
            f"Pass the path of its current …{_METADATA}.",
        )
    return None


def lake_columns(format_: str, path: str) -> list[str]:
    """The columns of the table."""
    return list(_SCHEMAS[format_](_OPENED[format_](path)))


def read_lake(connection: Any, format_: str, path: str, columns: list[str]) -> Any:
    """These columns of the rows of the current version, as a DuckDB relation."""
    import pyarrow

    table = _OPENED[format_](path)
    name = f"freegap_{uuid.uuid4().hex}"

    def copied() -> Any:
        batches = pyarrow.RecordBatchReader.from_stream(_SCANS[format_](table, columns))
        connection.register(f"{name}_rows", batches)
        connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM {name}_rows")  # noqa: S608
        connection.unregister(f"{name}_rows")
        return connection.table(name)

    return ask_engine(copied)


def _delta(path: str) -> Any:
    try:
        from deltalake import DeltaTable
    except ImportError:
        raise MissingExtra("deltalake", "delta") from None
    return ask_engine(lambda: DeltaTable(path))


def _iceberg(path: str) -> Any:
    try:
        from pyiceberg.table import StaticTable
    except ImportError:
        raise MissingExtra("pyiceberg", "iceberg") from None
    return ask_engine(lambda: StaticTable.from_metadata(_current(path)))


def _current(path: str) -> str:
    """The file of the version that a folder's hint names; pyiceberg alone would trip over its line's end."""
    folder = Path(path) / "metadata"
    if Path(path).is_file():
        return path
    hint = (folder / _HINT).read_text(encoding="utf-8").strip()
    name = hint if hint.endswith(_METADATA) else f"{'v' if hint.isdecimal() else ''}{hint}{_METADATA}"
    return str(folder / name)


def _iceberg_rows(table: Any, columns: list[str]) -> Any:
    scan = table.scan(selected_fields=tuple(columns))
    try:
        list(scan.plan_files())  # of which the journal tells, and no row
        known = True
    except Exception:
        known = False
    if not known:
        raise InvalidArgument(
            "table",
            "<an Iceberg table>",
            "has a journal that pyiceberg cannot follow, such as one with rows that were deleted by value",
            "Have it compacted, or open it with Spark and pass that table.",
        )
    return scan.to_arrow_batch_reader()


_OPENED: dict[str, Callable[[str], Any]] = {"delta": _delta, "iceberg": _iceberg}
_SCHEMAS: dict[str, Callable[[Any], list[str]]] = {
    "delta": lambda table: [field.name for field in table.schema().fields],
    "iceberg": lambda table: [field.name for field in table.schema().fields],
}
_SCANS: dict[str, Callable[[Any, list[str]], Any]] = {
    "delta": lambda table, columns: table.scan(columns=columns),
    "iceberg": _iceberg_rows,
}
