"""A table together with how it is to be read: which rows, and what is protected in it.

Everything that answers questions about tables takes such a description in place of a table, because all of
them open it with `freegap.tables.sources.open_source`.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from freegap.errors import InvalidArgument
from freegap.tables.condition_readers import read_where
from freegap.tables.condition_text import RowQuery, read_query
from freegap.tables.conditions import Every, RowCondition
from freegap.tables.copies import encoding_argument
from freegap.tables.databases import database_kind, shown
from freegap.tables.files import AS_NAMED, FileReading, is_path
from freegap.tables.windows import TimeWindows, WindowName

ProtectName = Literal["rows", "windows"]


@dataclass(frozen=True)
class SourceTable:
    """A table and how it is read; made by `source`.

    table: it may be an address with a password, and is not shown.
    where: the rows that are looked at. by_row: whether each row is somebody.
    reading: what the names of files do not say.
    name: of a table in a database. columns: those that may be asked for; None for all.
    windows: of time, which are the groups. by_window: whether one person's rows in one of them are somebody.
    """

    table: Any = field(repr=False)
    where: RowCondition | None = None
    by_row: bool = False
    reading: FileReading = AS_NAMED
    name: str | None = None
    columns: tuple[str, ...] | None = None
    windows: TimeWindows | None = None
    by_window: bool = False


def source(
    table: Any,
    *,
    where: Any = None,
    protect: ProtectName | None = None,
    name: str | None = None,
    query: str | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    partitions: Sequence[str] = (),
    every: WindowName | None = None,
    time: str | None = None,
    since: str | datetime.date | None = None,
    until: str | datetime.date | None = None,
) -> SourceTable:
    """A table and how it is to be read, to be passed on in place of the table itself.

    table: a table, the path of files, "-" for standard input, or a database: the path of a .duckdb or .sqlite
        file, or an address: postgresql://user@host/database, duckdb:///path, sqlite:///path.
    where: a condition on one row, as SQL writes it: comparisons of columns with values, IN, BETWEEN, LIKE
        with % at the ends, IS NULL, joined by AND, OR and NOT. Or the same as an expression of narwhals, or
        of Ibis for a table of Ibis. It is public, and stands in every result.
    protect: "rows" where there is no column of persons: then each row is protected by itself, and somebody
        with many rows is not protected as a whole. Nothing is taken for granted: without a person column this
        must be said.
    name, query: the table of a database; or SELECT columns FROM table WHERE condition, and nothing more,
        because rows are looked at one by one.
    format: of files, as the ending of their names would say it.
    delimiter: of CSV files, where it is not a comma.
    encoding: of files of text, where it is not UTF-8: utf-16, latin-1, cp1252 and others with one byte for
        each character. Bytes that mean nothing in it become U+FFFD.
    sheet: of an Excel file that has several.
    partitions: the columns that folders state by names such as year=2026; they are texts.
    every, time, since, until: windows of time, each of which `top_k` and `above` release by itself, as
        groups: a day, month, quarter or year of this column, from one date to the day before another. The
        range is public. A person may be in all windows, and each has its part of the budget;
        groups_per_person=m bounds that. protect="windows" protects what one person does in one window, and
        each has the whole budget.

    >>> import freegap as fg
    >>> import pandas as pd
    >>> stays = pd.DataFrame({"ward": ["A", "B"] * 300, "age": [10, 20, 30] * 200})
    >>> adults = fg.source(stays, where="age >= 18", protect="rows")
    >>> release = fg.top_k(adults, item="ward", k=1, epsilon=1, domain=["A", "B"], bits=fg.SeededBits(1))
    >>> release.privacy.filter
    'age >= 18'
    """
    windows = TimeWindows.read(every, time, since, until)
    known = replace(described(table, where=where), windows=windows)
    known = described(known, protect=protect)
    if query is not None:
        asked = _query(query, name)
        known = replace(described(known, where=asked.where), name=asked.table, columns=asked.columns)
    elif name is not None:
        known = replace(known, name=name)
    if (known.name is not None) != (database_kind(known.table) is not None):
        known_as = shown(known.table) if is_path(known.table) else f"<{type(known.table).__name__}>"
        raise InvalidArgument(
            "name",
            known.name,
            f"is needed for a database, and for nothing else; the table is {known_as}",
            "Pass name='…' or query='…' with the path of a .duckdb or .sqlite file, or with an address.",
        )
    texts = {"format": format, "delimiter": delimiter, "encoding": encoding, "sheet": sheet}
    said: dict[str, Any] = {**texts, "partitions": partitions}
    for argument, value in said.items():
        if value and (known.name is not None or not is_path(known.table)):
            raise InvalidArgument(argument, value, "is for files", f"Leave out {argument}.")
    if sheet is not None and not isinstance(sheet, str):
        raise InvalidArgument("sheet", sheet, "must be the name of a sheet", "Pass for example sheet='2026'.")
    reading = FileReading(
        format, _delimiter(delimiter), encoding_argument(encoding), sheet, _partitions(partitions)
    )
    return known if reading == AS_NAMED else replace(known, reading=reading)


def described(table: Any, *, where: Any = None, protect: str | None = None) -> SourceTable:
    """A table, or what was said of one, and this besides; rows must fulfil all conditions."""
    known = table if isinstance(table, SourceTable) else SourceTable(table)
    condition = read_where(where, known.table)
    if condition is not None and known.where is not None:
        condition = Every((known.where, condition))
    by_row, by_window = _protected(protect, known)
    return replace(known, where=condition or known.where, by_row=by_row, by_window=by_window)


def groups_of(
    table: SourceTable, group: Any, groups: Any, one_group_per_person: Any, ledger: Any
) -> tuple[Any, Any, Any]:
    """The groups that were named, or the windows of time, which are groups too."""
    if table.windows is None:
        return group, groups, one_group_per_person
    for argument, given in {"group": group, "groups": groups}.items():
        if given is not None:
            raise InvalidArgument(argument, given, "cannot go with windows of time", f"Leave out {argument}.")
    if table.by_window and ledger is not None:
        raise InvalidArgument(
            "ledger",
            "<ledger>",
            'cannot go with protect="windows": it adds up what persons lose, and here one of them may lose '
            "the budget of every window",
            "Leave out protect, so that the windows share the budget; or keep this budget elsewhere.",
        )
    return table.windows.title, table.windows.labels, one_group_per_person or table.by_window


def _protected(protect: Any, known: SourceTable) -> tuple[bool, bool]:
    """Whether rows are protected, or windows, each by itself."""
    if protect not in (None, "rows", "windows"):
        raise InvalidArgument(
            "protect",
            protect,
            'must be "rows" or "windows", or left out',
            "Name the column of persons with person='…'; protect=\"rows\" is for tables that have none.",
        )
    if protect == "windows" and known.windows is None:
        raise InvalidArgument("protect", protect, "needs windows of time", "Say every='month' of a source.")
    return protect == "rows" or known.by_row, protect == "windows" or known.by_window


def _query(query: Any, name: str | None) -> RowQuery:
    if name is not None or not isinstance(query, str):
        raise InvalidArgument(
            "query", query, "must be a text, and takes the place of a name", "Leave out one."
        )
    return read_query(query)


def _delimiter(delimiter: Any) -> str | None:
    if delimiter is None:
        return None
    tab = "\t" if delimiter == "\\t" else delimiter
    if not isinstance(tab, str) or len(tab) != 1 or not tab.isascii() or tab.isalnum() or tab in '"\r\n\0\\':
        raise InvalidArgument(
            "delimiter", delimiter, "must be one sign, and no letter, digit, quotation mark or backslash",
            "Pass for example delimiter=';'.",
        )  # fmt: skip
    return tab


def _partitions(partitions: Any) -> tuple[str, ...]:
    named = () if isinstance(partitions, str) else tuple(partitions)
    if isinstance(partitions, str) or not all(isinstance(name, str) for name in named):
        raise InvalidArgument(
            "partitions", partitions, "must be a list of names", "Pass for example partitions=['year']."
        )
    if len(set(named)) != len(named):
        raise InvalidArgument("partitions", partitions, "names a column twice", "Name it once.")
    return named
