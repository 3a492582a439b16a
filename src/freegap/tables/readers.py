"""How files are read, by a DuckDB of ours: no row decides how another one is (`freegap.tables.files`)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial, reduce
from itertools import count
from typing import Any

from freegap.errors import InvalidArgument
from freegap.tables.copies import copied, first_bytes
from freegap.tables.engine_errors import ask_engine
from freegap.tables.files import FileTable
from freegap.tables.lakes import LAKES, lake_columns, read_lake
from freegap.tables.sheets import read_sheet, sheet_columns

_LONGEST_LINE = 1 << 21
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"})
_NO_DIALECT: dict[str, Any] = {
    "auto_detect": False,
    "header": False,
    "delimiter": "\x01",
    "quotechar": "",
    "escapechar": "",
}


@contextmanager
def readable(files: FileTable) -> Iterator[FileTable]:
    """The files, or where they cannot be read as they are, copies that can."""
    ending = {"json lines": "jsonl", "fimi": "dat"}.get(files.format, files.format)
    with copied(files.files, files.reading.encoding, ending) as names:
        yield files.at(names)


def read_columns(connection: Any, files: FileTable, columns: list[str]) -> Any:
    """A DuckDB relation with these columns of the files; text formats give text alone.

    In JSON each row is read by itself: a key that it does not have, or a line that is no object, is a
    missing value there and nothing to any other row. So no row can be missed to have a column, either.
    """
    stated = files.reading.partitions
    own = [column for column in columns if column not in stated]
    if files.format == "json":
        return _objects(connection, files, own)
    if files.format == "json lines":
        lines = ask_engine(
            lambda: connection.read_json(
                files.files,
                columns={name: "VARCHAR" for name in own or ["freegap_none"]},
                format="newline_delimited",
                ignore_errors=True,
                filename=bool(stated),
            )
        )
        return _with_partitions(connection, files, lines) if stated else lines
    if files.format == "arrow":
        return _arrow(connection, files, own)
    if files.format in LAKES:
        _require_columns(files, own, lake_columns(files.format, files.files[0]))
        return read_lake(connection, files.format, files.files[0], own)
    if files.format == "excel":
        return _sheets(connection, files, own)
    relation = _typed(connection, files) if files.typed else _separated(connection, files)
    _require_columns(files, own, [*relation.columns, *stated])
    if files.typed and (stated or len(files.files) > 1):
        relation = _of_one_type(connection, files, own)
    return _with_partitions(connection, files, relation) if stated else relation


def _require_columns(files: FileTable, columns: list[str], known: list[str]) -> None:
    for column in columns:
        if column not in known:
            raise files.refuse(column, known)


def _sheets(connection: Any, files: FileTable, columns: list[str]) -> Any:
    """These columns of sheets, one below the other."""
    import pyarrow

    sheet = files.reading.sheet
    for file in files.files:
        known = sheet_columns(file, sheet, files.argument)
        _require_columns(files, columns, [name for name in known if name])
    parts = [read_sheet(file, sheet, files.argument, columns) for file in files.files]
    return ask_engine(lambda: connection.from_arrow(pyarrow.concat_tables(parts)))


def _with_partitions(connection: Any, files: FileTable, relation: Any) -> Any:
    """The columns that the names of folders state, as texts, beside those of the files; they come first."""
    import pyarrow

    names = files.reading.partitions
    stated = zip(*map(files.partition_of, files.files), strict=True)
    texts = [pyarrow.array(values, pyarrow.string()) for values in (files.files, *stated)]
    places = connection.from_arrow(pyarrow.table(texts, names=["freegap_file", *names]))
    kept = [column for column in relation.columns if column not in (*names, "filename")]
    chosen = [*(f"r.{_quoted(column)}" for column in kept), *(f"p.{_quoted(name)}" for name in names)]
    joined = relation.set_alias("r").join(places.set_alias("p"), "r.filename = p.freegap_file")
    return ask_engine(lambda: joined.project(", ".join(chosen)))


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _objects(connection: Any, files: FileTable, columns: list[str]) -> Any:
    """The elements of arrays of JSON; of each, the texts of these keys, and nothing where there is none."""
    keys = ["/" + column.replace("~", "~0").replace("/", "~1") for column in columns]
    texts = ", ".join(f"json_extract_string(json, ?) AS {_quoted(column)}" for column in columns)
    rows = f"SELECT {texts} FROM read_json_objects(?, format = 'array')"  # noqa: S608
    return ask_engine(lambda: connection.sql(rows, params=[*keys, files.files]))


def _arrow(connection: Any, files: FileTable, columns: list[str]) -> Any:
    """These columns of Arrow files, of one type each: Arrow would convert them to those of the first file."""
    import pyarrow.dataset

    opened = [ask_engine(partial(pyarrow.dataset.dataset, [file], format="ipc")) for file in files.files]
    for column in columns:
        for dataset in opened:
            if column not in dataset.schema.names:
                raise files.refuse(column, list(dataset.schema.names))
        _require_one_type(files, column, {str(dataset.schema.field(column).type) for dataset in opened})
    parts = [ask_engine(partial(connection.from_arrow, dataset)) for dataset in opened]
    chosen = ", ".join(map(_quoted, columns))
    return ask_engine(lambda: reduce(lambda a, b: a.union(b), [part.project(chosen) for part in parts]))


def _require_one_type(files: FileTable, column: str, found: set[str]) -> None:
    if len(found) > 1:
        raise InvalidArgument(
            files.argument,
            files.path,
            f"has files that disagree on the type of column {column!r}: {', '.join(sorted(found))}",
            "Write the files anew with one type for each column; nothing is converted to make it fit.",
        )


def column_names(connection: Any, files: FileTable) -> list[str]:
    """The names of the columns of public files; of JSON, all keys that occur."""
    if files.format == "arrow":
        import pyarrow.dataset

        return list(ask_engine(lambda: pyarrow.dataset.dataset(files.files, format="ipc").schema.names))
    if files.format in LAKES:
        return lake_columns(files.format, files.files[0])
    if files.format == "excel":
        return [name for name in sheet_columns(files.files[0], files.reading.sheet, files.argument) if name]
    if files.format in ("json lines", "json"):
        layout = "array" if files.format == "json" else "newline_delimited"
        every = {"format": layout, "sample_size": -1}
        return list(ask_engine(lambda: connection.read_json(files.files, **every).columns))
    return list((_typed if files.typed else _separated)(connection, files).columns)


def _typed(connection: Any, files: FileTable) -> Any:
    return ask_engine(
        lambda: connection.read_parquet(files.files, union_by_name=False, hive_partitioning=False)
    )


def _of_one_type(connection: Any, files: FileTable, columns: list[str]) -> Any:
    """These columns of Parquet files, of one type each.

    DuckDB would read all files with the types of the first, and so 2.5 in the second as 2. Whole numbers of
    several widths are read in the widest; any other difference is for their owner to settle.
    """
    types: dict[str, set[str]] = {column: set() for column in columns}
    for file in files.files:
        rows = ask_engine(partial(connection.read_parquet, file, hive_partitioning=False))
        known = dict(zip(rows.columns, map(str, rows.types), strict=True))
        for column in columns:
            if column not in known:
                raise files.refuse(column, list(known))
            types[column].add(known[column])
    for column, found in types.items():
        if not found <= _WHOLE:
            _require_one_type(files, column, found)
    mixed = any(len(found) > 1 for found in types.values())
    located = bool(files.reading.partitions)
    return ask_engine(
        lambda: connection.read_parquet(
            files.files, union_by_name=mixed, hive_partitioning=False, filename=located
        )
    )


def _separated(connection: Any, files: FileTable) -> Any:
    header = _header(connection, files, files.delimiter)
    return ask_engine(
        lambda: connection.read_csv(
            files.files,
            auto_detect=False,
            columns={name: "VARCHAR" for name in header},
            header=True,
            delimiter=files.delimiter,
            quotechar='"',
            escapechar='"',
            filename=bool(files.reading.partitions),
        )
    )


def read_lines(connection: Any, files: FileTable) -> Any:
    """FIMI: one row for each item of each line, numbered by line; an item repeated in a line once."""
    lines = ask_engine(lambda: connection.read_csv(files.files, columns={"line": "VARCHAR"}, **_NO_DIALECT))
    items = r"unnest(list_distinct(string_split_regex(trim(line), '\s+'))) AS item"
    return lines.project(f"row_number() OVER () AS person, {items}").filter("item <> ''")


def _header(connection: Any, files: FileTable, delimiter: str) -> list[str]:
    """The column names, which all files must share. The header is the schema, and public."""
    headers = [_first_line(connection, file, delimiter) for file in files.files]
    named = [name for name in headers[0] if name]
    if any(header != headers[0] for header in headers) or len(set(named)) != len(named):
        raise InvalidArgument(
            files.argument,
            files.path,
            "must have one header, the same in all files, that names each column once",
            "Give each file the same first line.",
        )
    if not headers[0]:
        raise InvalidArgument(
            files.argument, files.path, "must begin with a line of column names", "Add a header line."
        )
    if not headers[0][-1].strip():
        raise InvalidArgument(
            files.argument,
            files.path,
            "must name its last column: the first line ends with a delimiter",
            "Remove the delimiter at the end of the first line, or name the column.",
        )
    # An index that was written along has no name, and is not asked for.
    names = set(headers[0])
    return [name or _unused(place, names) for place, name in enumerate(headers[0])]


def _unused(place: int, names: set[str]) -> str:
    return next(name for tries in count() if (name := f"unnamed {place}" + "_" * tries) not in names)


def _first_line(connection: Any, file: str, delimiter: str) -> list[str]:
    """The names in the first line. DuckDB would look at later lines too, and stumble over what is in them."""
    if not file.lower().endswith(".zst"):
        read = ask_engine(lambda: first_bytes(file, _LONGEST_LINE)).decode("utf-8-sig", "replace")
        return _names(re.split("[\r\n]", read, maxsplit=1)[0], delimiter)
    lines = connection.read_csv
    rows = ask_engine(lambda: lines(file, columns={"line": "VARCHAR"}, **_NO_DIALECT).limit(1).fetchall())
    line = (rows[0][0] or "") if rows else ""
    return _names(line.lstrip("\ufeff"), delimiter)


def _names(line: str, delimiter: str) -> list[str]:
    """The names in a line; none where one has more letters than Python reads as one field (131,072)."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []
