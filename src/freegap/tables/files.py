"""Files as tables, through DuckDB, in a way that no row decides how another row is read.

A sniffer that guesses types, delimiters or headers from the data is not private: one person's row
"abc" would turn a column of numbers into text, and "7" and "007", one item before, would be two. So
nothing is guessed. Formats without types (CSV, JSON lines, FIMI) give text; the delimiter follows the
file's name; and text is read as numbers or dates row by row, only where the public domain says so.

    .csv .tsv                a header line, then rows
    .jsonl .ndjson           one object per line; only the named keys are looked at
    .json                    one array of objects, read as JSON lines are
    .parquet .pq             typed
    .arrow .feather .ipc     typed; the file format of Arrow, not the stream
    .xlsx .xlsm              sheets of Excel: texts, see `freegap.tables.sheets`
    .dat                     FIMI: items separated by spaces; one line is one person

CSV, JSON and FIMI may be compressed (.gz, .zst). A path may be a glob or a directory, and folders may be
named column=value. A folder may be a Delta or an Iceberg table, typed (`freegap.tables.lakes`). What the
name of a file does not say, a `FileReading` does; `freegap.tables.readers` reads.
"""

from __future__ import annotations

import glob
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from freegap.errors import InvalidArgument, MissingExtra
from freegap.tables.lakes import LAKES, lake_format
from freegap.tables.progress import followed

_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".dat": "fimi",
}
_TYPED = frozenset({"parquet", "arrow", *LAKES})
_COMPRESSED = (".gz", ".zst")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_JOURNALS = {"_delta_log": "Delta", ".hoodie": "Hudi"}
"""What stands beside the data of tables whose files hold rows that were deleted."""


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


@dataclass(frozen=True)
class FileReading:
    """What the names of files do not say.

    format: as the ending of a name would say it. delimiter: of CSV. encoding: of texts, where it is not
        UTF-8.
    sheet: of Excel, where there are several. partitions: the columns that the names of folders state.
    """

    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    partitions: tuple[str, ...] = ()


AS_NAMED = FileReading()
"""Nothing but what the names say."""


class FileTable:
    """Files of one format, found but not read."""

    def __init__(self, path: str | Path, argument: str, reading: FileReading = AS_NAMED) -> None:
        self.argument = argument
        self.path = str(path)
        self.reading = reading
        self.format = ""
        if self.path == "-" and argument == "table":
            self.files = ["-"]
            formats = {_named(self.reading.format)}
        elif reading.format is None and (lake := lake_format(self.path, argument)) is not None:
            self.files = [self.path]
            formats = {lake}
        else:
            self.files = _find(self.path, argument)
            formats = {_named(self.reading.format) or _format(file) for file in self.files}
        if len(formats) != 1 or None in formats:
            raise InvalidArgument(
                argument,
                self.path,
                "must be files of one known format",
                f"Known endings: {' '.join(_FORMATS)}, text formats also with {' or '.join(_COMPRESSED)}; "
                "format='csv' says it of files that are called otherwise, and of standard input.",
            )
        self.format = str(formats.pop())
        self.typed = self.format in _TYPED
        self.by_header = self.format in ("csv", "tsv", "excel")
        self.delimiter = self.reading.delimiter or ("\t" if self.format == "tsv" else ",")
        for said, fits in {
            "delimiter": self.format == "csv",
            "encoding": not self.typed and self.format != "excel",
            "sheet": self.format == "excel",
            "partitions": self.format not in ("fimi", "arrow", "json", "excel", *LAKES)
            and not reading.encoding,
        }.items():
            if getattr(self.reading, said) and not fits:
                given = getattr(self.reading, said)
                raise InvalidArgument(
                    said,
                    given,
                    f"cannot be given for files of the format {self.format}",
                    f"Leave out {said}.",
                )

    def at(self, places: list[str]) -> FileTable:
        """The same table, of which copies are elsewhere."""
        copy_of = copy(self)
        copy_of.files = places
        return copy_of

    def partition_of(self, file: str) -> list[str | None]:
        """What the names of the folders of a file say of the columns that they state."""
        parts = [part.split("=", 1) for part in Path(file).parts[:-1] if "=" in part]
        said = {unquote(name): unquote(value) for name, value in parts}
        for name in self.reading.partitions:
            if name not in said:
                raise InvalidArgument(
                    "partitions",
                    list(self.reading.partitions),
                    f"must be stated by every folder: there is a file in none called '{name}=…'",
                    "Name the columns that folders state, and pass the folder above them.",
                )
        return [None if said[name] == _NO_VALUE else said[name] for name in self.reading.partitions]

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


_LISTED = "Check the path. It is of a file with a column of them; a program may pass a list."


def _find(path: str, argument: str) -> list[str]:
    if "://" in path:
        raise InvalidArgument(
            argument,
            path.partition("://")[0] + "://…",  # what follows may hold a password
            "must be a path on this machine, or the address of a database: postgresql, duckdb or sqlite",
            "Open it with DuckDB, Spark or Ibis, and pass that table.",
        )
    try:
        found = _matching(path)
    except OSError as error:  # a name that is too long, a folder that may not be read
        raise InvalidArgument(
            argument, path, f"cannot be read ({error.strerror})", "Check the path."
        ) from None
    if not found:
        remedy = _LISTED if argument in ("domain", "groups") else "Check the path."
        raise InvalidArgument(argument, path, "names no file", remedy)
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
            f"belongs to a table of {sorted(journals)[0]}, whose files hold deleted rows too",
            "Pass the folder of the whole table where it is Delta or Iceberg; else open it with an engine "
            "that reads its journal, and pass that table.",
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
        if _FORMATS.get(path.suffix) in ("parquet", "arrow", "excel"):
            return None
    return _FORMATS.get(path.suffix)


def _named(format_: str | None) -> str | None:
    """A format by its ending, with or without the dot."""
    if format_ is None:
        return None
    known = _FORMATS.get("." + str(format_).lower().removeprefix("."))
    if known is None:
        endings = " ".join(ending[1:] for ending in _FORMATS)
        raise InvalidArgument(
            "format", format_, f"must be one of {endings}", "Pass for example format='csv'."
        )
    return known
