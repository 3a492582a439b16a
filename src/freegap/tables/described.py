"""A table together with how it is to be read: which rows, and what is protected in it.

Everything that answers questions about tables takes such a description in place of a table, because all of
them open it with `freegap.tables.sources.open_source`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from freegap.errors import InvalidArgument
from freegap.tables.condition_readers import read_where
from freegap.tables.conditions import Every, RowCondition

UnitName = Literal["rows"]


@dataclass(frozen=True)
class SourceTable:
    """A table and how it is read; made by `source`.

    where: the rows that are looked at. by_row: whether each row is somebody.
    """

    table: Any
    where: RowCondition | None = None
    by_row: bool = False


def source(table: Any, *, where: Any = None, unit: UnitName | None = None) -> SourceTable:
    """A table of which some rows are asked about, to be passed on in place of the table itself.

    where: a condition on one row, as SQL writes it: comparisons of columns with values, IN, BETWEEN, LIKE
        with % at the ends, IS NULL, joined by AND, OR and NOT. Or the same as an expression of narwhals, or
        of Ibis for a table of Ibis. It is public, and stands in every result.
    unit: "rows" where there is no column of persons: then each row is protected by itself, and somebody with
        many rows is not protected as a whole. Nothing is taken for granted: without a person column this must
        be said.

    >>> import freegap as fg
    >>> import pandas as pd
    >>> stays = pd.DataFrame({"ward": ["A", "B"] * 300, "age": [10, 20, 30] * 200})
    >>> adults = fg.source(stays, where="age >= 18", unit="rows")
    >>> release = fg.top_k(adults, item="ward", k=1, epsilon=1, domain=["A", "B"], bits=fg.SeededBits(1))
    >>> release.privacy.filter
    'age >= 18'
    """
    return described(table, where=where, unit=unit)


def described(table: Any, *, where: Any = None, unit: str | None = None) -> SourceTable:
    """A table, or what was said of one, and this besides; rows must fulfil all conditions."""
    known = table if isinstance(table, SourceTable) else SourceTable(table)
    condition = read_where(where, known.table)
    if condition is not None and known.where is not None:
        condition = Every((known.where, condition))
    return replace(known, where=condition or known.where, by_row=_by_row(unit) or known.by_row)


def _by_row(unit: Any) -> bool:
    if unit is None:
        return False
    if unit != "rows":
        raise InvalidArgument(
            "unit",
            unit,
            'must be "rows", or left out',
            "Name the column of persons with person='…'; unit=\"rows\" is for tables that have none.",
        )
    return True
