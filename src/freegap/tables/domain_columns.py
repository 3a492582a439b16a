"""A column of a public table that lists the items: found, read, and brought to the kind of the table's."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from freegap.errors import InvalidArgument
from freegap.tables.files import FileTable
from freegap.tables.readers import column_names, read_columns
from freegap.tables.sources import Frame, frame_of, pick


def column_of(names: list[str], column: str | None, item: str, shown: str, *, named: bool = True) -> str:
    """The column that holds the items.

    named: False where a first line is taken for the names: the only line that says otherwise may be an item.
    """
    if column is not None:
        if column not in names:
            raise InvalidArgument(
                "domain_column",
                column,
                f"is not a column of {shown}",
                f"Its columns are: {', '.join(names[:20])}.",
            )
        return column
    if item in names:
        return item
    if len(names) == 1 and named:
        return names[0]
    raise InvalidArgument(
        "domain",
        shown,
        f"has no column called {item!r}",
        "Name the column with domain_column='…'. The first line of a CSV or TSV file must be "
        "the names of its columns: were it an item, that item would be lost.",
    )


def file_frame(connection: Any, files: FileTable, column: str | None, item: str) -> Frame:
    """The column of public files, as "item"."""
    names = column_names(connection, files)
    name = column_of(names, column, item, files.path, named=not files.by_header)
    return pick(frame_of(read_columns(connection, files, [name])), item=name)


def meet(table: Frame, domain: Frame) -> bool:
    """Whether one engine, in one session, holds both, so that it can join them."""
    if not isinstance(table, nw.LazyFrame) or table.implementation is not domain.implementation:
        return False
    try:
        joined = table.join(domain.lazy(), on="item", how="semi")
        joined.collect_schema()
        if table.implementation.is_ibis():
            # Ibis calls two databases in memory equal, and would look for the domain in the private one.
            own, other = (nw.to_native(frame).get_backend() for frame in (table, domain))
            return own is other
    except Exception:  # each engine has its own way of refusing tables of two sessions
        return False
    return True


def convert(items: Frame, kind: str) -> Frame:
    """A public text column as another kind; a text that does not fit is an error."""
    types = {"integer": "BIGINT", "number": "HUGEINT", "float": "DOUBLE", "date": "DATE"}
    types["truth value"] = "BOOLEAN"
    if kind not in types:
        return items
    native = nw.to_native(items)
    whole = "regexp_full_match(item, '[+-]?[0-9]+') AND " if kind in ("integer", "number") else ""
    fits = f"{whole}TRY_CAST(item AS {types[kind]}) IS NOT NULL"
    misfits = native.filter(f"item IS NOT NULL AND NOT ({fits})").limit(1).fetchall()
    if misfits:
        raise InvalidArgument(
            "domain",
            misfits[0][0],
            f"cannot be read as {kind}, which the table's items are",
            "Correct the domain, or name another column of it.",
        )
    return frame_of(native.project(f"* REPLACE (CAST(item AS {types[kind]}) AS item)"))
