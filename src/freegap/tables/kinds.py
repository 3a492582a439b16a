"""Which items can be equal? Kinds of columns and of Python values.

Whether 1, 1.0, "1" and True are one item must not be left to an engine's conversions, which differ and
which may depend on other rows. Two items are the same if Python says that they are equal and they are
of the same kind: all numbers are of one kind (1 equals 1.0), text is another (so "1" is not 1), truth
values a third.
"""

from __future__ import annotations

import datetime
import numbers
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from freegap.errors import InvalidArgument
from freegap.tables.behind_ibis import backend_name

ENGINE_KINDS = frozenset({"integer", "text"})
"""Kinds on which all engines agree about equality and order, so that they may be matched in the engine."""

OFTEN_ALIKE = frozenset({"other", "date and time", "time", "duration"})
"""Kinds of which an engine tells values apart that Python calls equal."""

NUMBERS = frozenset({"integer", "float", "decimal", "number"})

TEXT_READ_AS = {
    "integer": "CASE WHEN regexp_full_match({0}, '[+-]?[0-9]+') THEN TRY_CAST({0} AS BIGINT) END",
    "number": "TRY_CAST({0} AS DOUBLE)",
    "date": "TRY_CAST({0} AS DATE)",
    "truth value": "TRY_CAST({0} AS BOOLEAN)",
}
"""How DuckDB reads a column of texts as values of a kind, each by itself; what does not fit is missing."""

_KIND_OF_DTYPE: tuple[tuple[type, str], ...] = (
    (nw.Boolean, "truth value"),
    (nw.Decimal, "decimal"),
    (nw.String, "text"),
    (nw.Datetime, "date and time"),
    (nw.Date, "date"),
    (nw.Time, "time"),
    (nw.Duration, "duration"),
    (nw.Binary, "bytes"),
)


def column_kind(dtype: Any, column: str, argument: str = "item") -> str:
    """The kind of a column, "other" where only its values can tell (Python objects, categories)."""
    if dtype.is_nested():
        raise InvalidArgument(
            argument,
            column,
            "must be a column of plain values; this one holds lists or structures",
            "Unnest it first, or turn each value into a text.",
        )
    if dtype.is_integer():
        # The largest unsigned integers do not fit the signed arithmetic of the engines.
        return "number" if dtype in (nw.UInt64, nw.Int128, nw.UInt128) else "integer"
    if dtype.is_float():
        return "float"
    return next((kind for class_, kind in _KIND_OF_DTYPE if isinstance(dtype, class_)), "other")


def type_kind(type_: type) -> str:
    """The kind of Python values of a type."""
    if issubclass(type_, bool | np.bool_):
        return "truth value"
    if issubclass(type_, numbers.Integral):
        return "integer"
    if issubclass(type_, numbers.Number | Decimal):
        return "number"
    for class_, kind in (
        (str, "text"),
        (datetime.datetime, "date and time"),
        (datetime.date, "date"),
        (datetime.time, "time"),
        (datetime.timedelta, "duration"),
        (bytes, "bytes"),
    ):
        if issubclass(type_, class_):
            return kind
    return "other"


def is_missing(value: Any) -> bool:
    """None, NaN, NaT and NA: what stands for no value."""
    if isinstance(value, float | Decimal):
        return value != value
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def require_kind(column: str, of_column: str, of_domain: frozenset[str]) -> None:
    """Refuse a domain none of whose elements can ever equal an item of the column.

    Only the schema is looked at, which is public, and never a row.
    """
    if of_column == "other" or not of_domain or "other" in of_domain:
        return
    if of_column in of_domain or (of_column in NUMBERS and of_domain & NUMBERS):
        return
    raise InvalidArgument(
        "domain",
        f"<{', '.join(sorted(of_domain))}>",
        f"cannot contain an item of column {column!r}, which holds {_plural(of_column)}",
        f"Pass a domain of {_plural(of_column)}: an item is never converted to make it fit.",
    )


def _plural(kind: str) -> str:
    return {"text": "texts", "bytes": "bytes", "date and time": "dates with times"}.get(kind, f"{kind}s")


def has_coarse_times(frame: Any, dtype: Any) -> bool:
    """Whether times are kept in seconds or milliseconds by an engine that fails on one beyond the others."""
    engine = frame.implementation
    in_duckdb = engine.is_duckdb() or (engine.is_ibis() and backend_name(nw.to_native(frame)) == "duckdb")
    fails: bool = engine.is_pyarrow() or in_duckdb
    return fails and getattr(dtype, "time_unit", "us") in ("s", "ms")
