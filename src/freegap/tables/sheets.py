"""Sheets of Excel, as columns of text; no cell decides how another one is read.

A sheet has no types: each cell has one of its own. So a cell becomes a text by itself, and texts are read as
numbers, dates or truth values where the public domain says so, as those of CSV are:

    number           7 for 7 and 7.0, 7.5: the shortest decimal of the double that it is
    date, time       2026-01-31, or 2026-01-31 12:00:00, where the cell is formatted as one; 12:00:00
    truth value      true, false
    formula          what it was when Excel saved the file; missing where that is not there
    empty, error     missing: #N/A and its kin, and a date that is none
    merged cells     one value, in the first of them; the others are empty

Rows and columns that are hidden, or filtered away, count like all others. The first row holds the names of
the columns. Of several sheets one must be named.
"""

from __future__ import annotations

import datetime
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from freegap.errors import InvalidArgument, MissingExtra
from freegap.tables.engine_errors import ask_engine


def sheet_columns(file: str, sheet: str | None, argument: str) -> list[str]:
    """The names in the first row; "" where there is none."""
    with _opened(file, sheet, argument) as rows:
        header = ask_engine(lambda: [_text(cell) or "" for cell in next(rows, ())])
    named = [name for name in header if name]
    if not named or len(set(named)) != len(named):
        raise InvalidArgument(
            argument,
            file,
            "must have the names of the columns in its first row, each once",
            "Remove what stands above the names, and give each column a name of its own.",
        )
    return header


def read_sheet(file: str, sheet: str | None, argument: str, columns: list[str]) -> Any:
    """These columns of the sheet, all of which it has, as a PyArrow table of texts."""
    import pyarrow

    header = sheet_columns(file, sheet, argument)
    places = [header.index(column) for column in columns]
    with _opened(file, sheet, argument) as rows:
        next(rows, None)
        cells = ask_engine(
            lambda: [[_text(row[at]) if at < len(row) else None for at in places] for row in rows]
        )
    texts = zip(*cells, strict=True) if cells else [()] * len(columns)
    return pyarrow.table([pyarrow.array(column, pyarrow.string()) for column in texts], names=columns)


@contextmanager
def _opened(file: str, sheet: str | None, argument: str) -> Iterator[Iterator[Any]]:
    """The rows of a sheet. What openpyxl warns of, such as a date that is none, would tell of a cell."""
    try:
        import openpyxl
    except ImportError:
        raise MissingExtra("openpyxl", "excel") from None
    with warnings.catch_warnings(), Path(file).open("rb") as opened:
        warnings.simplefilter("ignore")
        book = ask_engine(lambda: openpyxl.load_workbook(opened, read_only=True, data_only=True))
        try:
            sheets = {one.title: one for one in book.worksheets}
            if sheet is None and len(sheets) == 1:
                (sheet,) = sheets
            if sheet not in sheets:
                raise InvalidArgument(
                    "sheet",
                    sheet,
                    f"must name a sheet of {file!r}",
                    f"There are: {', '.join(sheets)}.",
                )
            sheets[sheet].reset_dimensions()  # what the file says of its size may be wrong
            yield sheets[sheet].iter_rows()
        finally:
            book.close()


def _text(cell: Any) -> str | None:
    """A cell by itself."""
    value = cell.value
    if value is None or cell.data_type == "e":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return str(value.date())
    text = str(value)
    return text.encode("utf-8", "replace").decode() if text else None
