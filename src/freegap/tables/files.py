"""Files as tables, through DuckDB, in a way that no row decides how another row is read.

A sniffer that guesses types, delimiters or headers from the data is not private: one person's row
"abc" would turn a column of numbers into text, and "7" and "007", one item before, would be two. So
nothing is guessed. Formats without types (CSV, JSON lines, FIMI) give text; the delimiter follows the
file's name; and text is read as numbers or dates row by row, only where the public domain says so.

    .csv .tsv                a header line, then rows
    .jsonl .ndjson           one object per line; only the named keys are looked at
    .parquet .pq             typed
    .dat                     FIMI: items separated by spaces; one line is one person

CSV, JSON lines and FIMI may be compressed (.gz, .zst). A path may be a glob or a directory.
"""

from __future__ import annotations

import csv
import glob
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from freegap.errors import InvalidArgument, MissingExtra
from freegap.tables.engine_errors import ask_engine
from freegap.tables.progress import followed

_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".dat": "fimi",
}
_COMPRESSED = (".gz", ".zst")
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"})
_JOURNALS = {"_delta_log": "Delta", ".hoodie": "Hudi"}
"""What stands beside the data of tables whose files hold rows that were deleted."""
_NO_DIALECT: dict[str, Any] = {
    "auto_detect": False,
    "header": False,
    "delimiter": "\x01",
    "quotechar": "",
    "escapechar": "",
}


def is_path(table: Any) -> bool:
    """Whether this names files."""
    return isinstance(table, str | Path)


@contextmanager
def open_connection() -> Iterator[Any]:
    """A DuckDB of our own, in memory; what does not fit goes, encrypted, to a directory that is removed."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("duckdb", "tables") from None
    spill = tempfile.mkdtemp(prefix="freegap-")
    connection = duckdb.connect(
        ":memory:",
        config={
            "temp_directory": spill,
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        },
    )
    try:
        connection.execute("SET temp_file_encryption = true")
        with followed(connection):
            yield connection
    finally:
        connection.close()
        shutil.rmtree(spill, ignore_errors=True)


class FileTable:
    """Files of one format, found but not read."""

    def __init__(self, path: str | Path, argument: str) -> None:
        self.argument = argument
        self.path = str(path)
        self.files = _find(self.path, argument)
        formats = {_format(file) for file in self.files}
        if len(formats) != 1 or None in formats:
            raise InvalidArgument(
                argument,
                self.path,
                "must be files of one known format",
                f"Known endings: {' '.join(_FORMATS)}, text formats also with {' or '.join(_COMPRESSED)}.",
            )
        self.format = str(formats.pop())

    @property
    def typed(self) -> bool:
        """Whether the format states the types of its columns."""
        return self.format == "parquet"

    @property
    def by_header(self) -> bool:
        """Whether the columns are named by a first line, which may be missing."""
        return self.format in ("csv", "tsv")

    def refuse(self, column: str, columns: list[str]) -> InvalidArgument:
        """There is no such column. Without a header the first line is a person's, so it is not shown."""
        known = ", ".join(columns[:20]) + (", …" if len(columns) > 20 else "")
        remedy = (
            f"It must be one of the {len(columns)} names in the first line of the file, the header. Look at "
            "that line; if it holds data, add a header."
            if self.by_header
            else f"Its columns are: {known}."
        )
        return InvalidArgument(self.argument, self.path, f"has no column {column!r}", remedy)


def read_columns(connection: Any, files: FileTable, columns: list[str]) -> Any:
    """A DuckDB relation with these columns of the files; text formats give text alone.

    In JSON lines each row is read by itself: a key that it does not have, or a line that is no object, is a
    missing value there and nothing to any other row. So no row can be missed to have a column, either.
    """
    if files.format == "json lines":
        return ask_engine(
            lambda: connection.read_json(
                files.files,
                columns={name: "VARCHAR" for name in columns},
                format="newline_delimited",
                ignore_errors=True,
            )
        )
    relation = _typed(connection, files) if files.typed else _separated(connection, files)
    for column in columns:
        if column not in relation.columns:
            raise files.refuse(column, list(relation.columns))
    return _of_one_type(connection, files, columns) if files.typed and len(files.files) > 1 else relation


def column_names(connection: Any, files: FileTable) -> list[str]:
    """The names of the columns of public files; of JSON lines, all keys that occur."""
    if files.format == "json lines":
        every = {"format": "newline_delimited", "sample_size": -1}
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
        if len(found) > 1 and not found <= _WHOLE:
            raise InvalidArgument(
                files.argument,
                files.path,
                f"has files that disagree on the type of column {column!r}: {', '.join(sorted(found))}",
                "Write the files anew with one type for each column; nothing is converted to make it fit.",
            )
    mixed = any(len(found) > 1 for found in types.values())
    return ask_engine(
        lambda: connection.read_parquet(files.files, union_by_name=mixed, hive_partitioning=False)
    )


def _separated(connection: Any, files: FileTable) -> Any:
    delimiter = "\t" if files.format == "tsv" else ","
    header = _header(connection, files, delimiter)
    return ask_engine(
        lambda: connection.read_csv(
            files.files,
            auto_detect=False,
            columns={name: "VARCHAR" for name in header},
            header=True,
            delimiter=delimiter,
            quotechar='"',
            escapechar='"',
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
    lines = connection.read_csv
    rows = ask_engine(lambda: lines(file, columns={"line": "VARCHAR"}, **_NO_DIALECT).limit(1).fetchall())
    line = (rows[0][0] or "") if rows else ""
    return next(csv.reader([line.lstrip("\ufeff")], delimiter=delimiter), [])


def _find(path: str, argument: str) -> list[str]:
    if "://" in path:
        raise InvalidArgument(
            argument,
            path.partition("://")[0] + "://…",  # what follows may hold a password
            "must be a path on this machine",
            "Open it with DuckDB, Spark or Ibis, and pass that table.",
        )
    try:
        found = _matching(path)
    except OSError as error:  # a name that is too long, a folder that may not be read
        raise InvalidArgument(
            argument, path, f"cannot be read ({error.strerror})", "Check the path."
        ) from None
    if not found:
        raise InvalidArgument(argument, path, "names no file", "Check the path.")
    if any(set(file) & set("*?[") for file in found):
        raise InvalidArgument(
            argument, path, "must not lead to a file with one of * ? [ in its name", "Rename that file."
        )
    _refuse_journals(found, argument, path)
    return sorted(found)


def _refuse_journals(found: list[str], argument: str, path: str) -> None:
    """The files of a Delta, Hudi or Iceberg table hold deleted rows, as only its journal says."""
    folders = {folder for file in found for folder in Path(file).absolute().parents}
    journals = {name for folder in folders for mark, name in _JOURNALS.items() if (folder / mark).is_dir()}
    if any(any(folder.glob("../metadata/*.metadata.json")) for folder in folders if folder.name == "data"):
        journals.add("Iceberg")
    if journals:
        raise InvalidArgument(
            argument,
            path,
            f"is a {sorted(journals)[0]} table, whose files hold deleted rows too",
            "Open it with an engine that reads its journal (DuckDB, Spark, Polars), and pass that table.",
        )


def _matching(path: str) -> list[str]:
    """The files that a path names. An empty one names none, and not the folder that one happens to be in."""
    place = Path(path)
    if not path:
        return []
    if place.is_dir():
        return [str(file) for file in place.rglob("*") if file.is_file() and _is_data(file, place)]
    if place.is_file():
        return [path]
    return [file for file in glob.glob(path, recursive=True) if Path(file).is_file()]


def _is_data(file: Path, directory: Path) -> bool:
    """Engines leave markers and checksums beside data, with names that begin with _ or a dot."""
    return not any(part[0] in "_." for part in file.relative_to(directory).parts)


def _format(file: str) -> str | None:
    path = Path(file.lower())
    if path.suffix in _COMPRESSED:
        path = path.with_suffix("")
        if path.suffix in (".parquet", ".pq"):
            return None
    return _FORMATS.get(path.suffix)
