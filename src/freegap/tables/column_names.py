"""The columns of a table that a release names, and what is said where there is no such column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw

from freegap.errors import InvalidArgument
from freegap.tables.described import SourceTable
from freegap.tables.files import FileTable

ItemColumns = str | Sequence[str] | None
"""What the argument `item` names: a column, several, or none."""

PART = "item_"
"""How the parts of an item of several columns are called inside, before a number."""


def names_of(named: dict[str, Any], described: SourceTable) -> dict[str, str]:
    """The columns that are named; of persons none, where rows are the persons.

    Of an item of several columns they are called item_0, item_1 and so on.
    """
    if described.by_row and named["person"] is not None:
        raise InvalidArgument(
            "person",
            named["person"],
            'cannot be named with protect="rows": one person is a value of this column, or one row',
            "Leave out protect to protect persons.",
        )
    names = {**_parts(named["item"]), **named}
    if isinstance(named["item"], list | tuple):
        del names["item"]
    if described.by_row:
        del names["person"]
    for argument, name in names.items():
        if not isinstance(name, str):
            raise InvalidArgument(
                argument,
                name,
                "must name a column",
                f"Pass {argument}='…'. One person is one value of the person column; where there is none, "
                'and each row is to be protected by itself, say protect="rows".',
            )
    return {argument: str(name) for argument, name in names.items()}


def _parts(item: Any) -> dict[str, str]:
    if not isinstance(item, list | tuple):
        return {}
    if not item or not all(isinstance(name, str) for name in item) or len(set(item)) != len(item):
        raise InvalidArgument(
            "item",
            item,
            "must name columns, each once",
            "Pass for example item='ward', or item=['ward', 'icd10'] for items of two columns.",
        )
    return {f"{PART}{place}": name for place, name in enumerate(item)}


def argument_of(inside: str) -> str:
    """The argument that names a column."""
    return next(
        (of for of, start in (("where", "where_"), ("item", PART)) if inside.startswith(start)), inside
    )


def refuse_names(files: FileTable, named: dict[str, Any], described: SourceTable) -> None:
    """Refuse what a file without columns cannot have."""
    said = {
        "where": described.where and str(described.where),
        "protect": "rows" if described.by_row else None,
    }
    for argument, name in (named | said).items():
        if name is not None:
            raise InvalidArgument(
                argument,
                name,
                f"cannot be named for {files.path!r}: in a .dat file each line is one person",
                f"Leave out {argument}.",
            )


def elsewhere(frame: Any, columns: list[Any]) -> str:
    """The columns that there are; pandas also has names that are none, in an index or of several levels."""
    known = ", ".join(map(str, columns[:20])) + (", …" if len(columns) > 20 else "")
    said = f"Its columns are: {known}." if columns else "It has no columns."
    if frame.implementation.is_pandas_like():
        native = nw.to_native(frame)
        if native.columns.nlevels > 1:
            return f"{said} They have several levels: pass table.droplevel(0, axis=1), or name them anew."
        if any(name is not None for name in native.index.names):
            index = ", ".join(str(name) for name in native.index.names)
            return f"{said} Its index has {index}: pass table.reset_index()."
    return said
