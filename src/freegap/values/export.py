"""A table as data frames and as files: pandas, Polars, Arrow, CSV, Parquet, Excel.

Every function takes the columns of a table, already plain: a name, what it holds (str, int or float) and its
values, None where there is none. What is in a file is data and never a program: a spreadsheet takes a text
in a CSV file that begins with one of = + - @ for a formula, so such a text is written after a quotation mark,
and so is one that begins with a quotation mark, which keeps different names different. Whoever writes such a
file is told. Parquet and Excel files say of each cell what it is, and nothing in them is changed.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from freegap.errors import InvalidArgument, MissingExtra

if TYPE_CHECKING:  # every release loads this module, and few of them write a file
    from pathlib import Path

_FORMULAS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n", "\0")
_QUOTED = (
    "Names that a spreadsheet would take for formulas, those that begin with one of = + - @, are written "
    "after a quotation mark ('). Parquet and Excel files hold every name as it is; so does formulas=True."
)


@dataclass(frozen=True)
class Plain:
    """One column as engines take it."""

    name: str
    kind: type
    values: list[Any]


def to_pandas(columns: Sequence[Plain]) -> Any:
    """A pandas DataFrame: numbers of NumPy's types, names and rationals as the objects that they are."""
    pandas = _required("pandas", "pandas")
    dtypes = {int: "int64", float: "float64"}
    return pandas.DataFrame(
        {c.name: pandas.Series(c.values, dtype=dtypes.get(c.kind, "object")) for c in columns}
    )


def to_polars(columns: Sequence[Plain]) -> Any:
    """A Polars DataFrame."""
    polars = _required("polars", "polars")
    types = {int: polars.Int64, float: polars.Float64, str: polars.String}
    return polars.DataFrame(
        [polars.Series(c.name, c.values, dtype=types.get(c.kind), strict=True) for c in columns]
    )


def to_arrow(columns: Sequence[Plain]) -> Any:
    """A PyArrow table."""
    arrow = _required("pyarrow", "tables")
    types = {int: arrow.int64(), float: arrow.float64(), str: arrow.string()}
    arrays = [arrow.array(column.values, type=types.get(column.kind)) for column in columns]
    return arrow.table(arrays, names=[column.name for column in columns])


def csv_text(columns: Sequence[Plain], *, formulas: bool = False) -> str:
    """CSV with a header line. formulas: write names as they are, whatever a spreadsheet makes of them."""
    lines = [_csv_line([column.name for column in columns])]
    quoted = False
    for row in zip(*(column.values for column in columns), strict=True):
        cells = list(row) if formulas else [csv_cell(value) for value in row]
        quoted = quoted or cells != list(row)
        lines.append(_csv_line(cells))
    if quoted:
        warnings.warn(_QUOTED, UserWarning, stacklevel=3)
    return "".join(lines)


def _csv_line(cells: Sequence[Any]) -> str:
    """One line. A name with the end of a line of any system in it is quoted, else what follows begins a row:
    Python quotes the ends that it writes itself."""
    import csv

    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue().removesuffix("\r\n") + "\n"


def csv_cell(value: Any) -> Any:
    """A text that a spreadsheet would run, after a quotation mark; one that begins with such a mark too."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("'", *_FORMULAS)) else value


def _csv(columns: Sequence[Plain], path: Path) -> None:
    path.write_text(csv_text(columns), encoding="utf-8", newline="")


def _parquet(columns: Sequence[Plain], path: Path) -> None:
    table = to_arrow(columns)
    from pyarrow import parquet

    parquet.write_table(table, path)


def _excel(columns: Sequence[Plain], path: Path) -> None:
    """Each cell is written by its kind: a text stays a text, whatever it looks like."""
    xlsxwriter = _required("xlsxwriter", "excel")
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("release")
        refused = 0
        for place, column in enumerate(columns):
            refused |= sheet.write_string(0, place, column.name)
            for row, value in enumerate(column.values, start=1):
                refused |= _excel_cell(sheet, row, place, value)
    if refused:
        raise InvalidArgument(
            "path",
            str(path),
            "cannot hold this release: a sheet has at most 1,048,576 rows, a cell 32,767 characters",
            "Write a .csv or .parquet file.",
        )


def _excel_cell(sheet: Any, row: int, place: int, value: Any) -> int:
    if value is None or value != value:
        return 0
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 2**53
    write = sheet.write_number if number else sheet.write_string
    return int(write(row, place, value if number else str(value)))


_WRITERS: dict[str, tuple[tuple[str, str] | None, Callable[[Sequence[Plain], Path], None]]] = {
    ".csv": (None, _csv),
    ".parquet": (("pyarrow", "tables"), _parquet),
    ".xlsx": (("xlsxwriter", "excel"), _excel),
}
"""By the ending of a file's name: the package that is needed with its extra, and what writes it."""


def as_path(path: Any) -> Path:
    """What names a file, as a path."""
    from pathlib import Path

    return Path(path)


def writer_for(path: Path, ending: str | None = None) -> Callable[[Sequence[Plain], Path], None]:
    """What writes a file with this name; an error where its package is missing, before anything is made."""
    wanted = path.suffix.lower()
    if wanted not in _WRITERS or ending not in (None, wanted):
        endings = ending or ", ".join(_WRITERS)
        raise InvalidArgument(
            "path", str(path), f"must end with {endings}", f"Pass release{ending or '.csv'}."
        )
    needed, write = _WRITERS[wanted]
    if needed is not None:
        _required(*needed)
    return write


def _required(package: str, extra: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise MissingExtra(package, extra) from None
