"""A table with those of its rows for which a condition holds; the condition is about one row at a time.

Its columns are compared with the schema before a row is read: one that is not there, or of another kind than
what it is compared with, is refused. A format without types gives texts; where they are compared with
numbers, dates or truth values they are read as such, each row by itself, and what does not fit is missing.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any

import narwhals.stable.v2 as nw

from freegap.errors import InvalidArgument
from freegap.tables.behind_ibis import doubles_of, is_number
from freegap.tables.conditions import ComparedColumns, Every, Opposite, RowCondition, Some, Value
from freegap.tables.kinds import NUMBERS, column_kind, has_coarse_times, type_kind

_READ_AS = {
    "integer": "DOUBLE",
    "number": "DOUBLE",
    "date": "DATE",
    "date and time": "TIMESTAMP",
    "truth value": "BOOLEAN",
}
_EXACT = 2**53
_CONVERTED = frozenset({"decimal", "date and time", "time", "duration"})
"""Kinds with several types: an engine converts one to another, and fails on a value that does not fit."""
_Places = dict[tuple[str, str | None], str]


def columns_of(condition: RowCondition | None) -> list[str]:
    """The columns that a condition looks at, each once."""
    return [] if condition is None else list(dict.fromkeys(name for name, _, _ in condition.looks()))


def filtered(frame: Any, condition: RowCondition, places: Mapping[str, str], *, typed: bool) -> Any:
    """The rows of a narwhals frame for which the condition holds.

    places: column of the table → what it is called in the frame.
    typed: False where all columns are texts, in a DuckDB of ours.
    """
    if typed:
        _require_kinds(frame, condition, places)
        where: _Places = {(name, None): place for name, place in places.items()}
    else:
        frame, where = _read(frame, condition, places)
    if frame.implementation.is_ibis():
        frame = nw.from_native(doubles_of(nw.to_native(frame), list(places.values())))
    schema = frame.collect_schema()

    def look(name: str, value: Value | None) -> tuple[nw.Expr, Any]:
        place = where[name, None if typed else _type_for(value)]
        dtype, column = schema[place], nw.col(place)
        if dtype.is_float() or dtype == nw.Decimal:
            # As doubles: engines convert a number to the column's type or the column to the number's, and
            # some fail on values that do not fit. NaN is a missing value.
            column = column.cast(nw.Float64)
            column = nw.when(is_number(frame, column)).then(column)
            value = float(value) if isinstance(value, int) else value
        elif dtype.is_integer() and isinstance(value, float):
            value = int(value)
        elif dtype in (nw.Categorical, nw.Enum):
            column = column.cast(nw.String)
        if dtype == nw.Datetime and type(value) is datetime.date:
            return column, datetime.datetime.combine(value, datetime.time())
        return column, value

    true, _ = condition.verdict(look)
    return frame.filter(true)


def _type_for(value: Value | None) -> str | None:
    return None if value is None else _READ_AS.get(type_kind(type(value)))


def _read(frame: Any, condition: RowCondition, places: Mapping[str, str]) -> tuple[Any, _Places]:
    """A frame of texts, and beside them a column for each type that one of them is read as."""
    where: _Places = {(name, None): place for name, place in places.items()}
    made: list[str] = []
    for name, value, ordered in condition.looks():
        if value is None and ordered:
            raise InvalidArgument(
                "where",
                str(condition),
                f"cannot order {name!r} against another column: in this format all columns are texts",
                "Compare it with a value, which says what to read it as.",
            )
        if isinstance(value, int) and abs(value) > _EXACT:
            raise InvalidArgument(
                "where",
                str(condition),
                f"has a number beyond 2^53 for {name!r}, a text",
                "Compare it with a text.",
            )
        if isinstance(value, datetime.datetime) and value.tzinfo is not None:
            raise _zoned(condition, name)
        type_ = _type_for(value)
        if type_ is not None and (name, type_) not in where:
            where[name, type_] = f"freegap_where_{len(made)}"
            made.append(f"TRY_CAST({places[name]} AS {type_}) AS {where[name, type_]}")
    if made:
        frame = nw.from_native(nw.to_native(frame).project(", ".join(("*", *made))))
    return frame, where


def _require_kinds(frame: Any, condition: RowCondition, places: Mapping[str, str]) -> None:
    """Refuse what no value of a column could answer, or what could fail on one, by the schema alone."""
    schema = frame.collect_schema()
    kinds = {name: _kind(frame, name, place, schema[place]) for name, place in places.items()}
    for name, value, ordered in condition.looks():
        kind, dtype = kinds[name], schema[places[name]]
        if kind == "other" and (ordered or (value is not None and type_kind(type(value)) != "text")):
            raise _misfit(condition, name, "holds Python objects: only = and IN with texts are sure to work")
        if value is None or kind == "other":
            continue
        wanted = type_kind(type(value))
        if kind == "number":
            raise _misfit(condition, name, "holds whole numbers of more than 64 bits, or without a sign")
        if kind == "integer" and isinstance(value, float) and not (value.is_integer() and abs(value) < 2**63):
            raise _misfit(condition, name, "holds whole numbers, and is compared with another one")
        dated = wanted == "date" and kind == "date and time"
        if not (wanted == kind or dated or (wanted in NUMBERS and kind in NUMBERS)):
            raise _misfit(condition, name, f"holds values of the kind {kind}, and is compared with {wanted}")
        if kind == "date and time":
            zone = getattr(dtype, "time_zone", None) is not None
            if zone != (isinstance(value, datetime.datetime) and value.tzinfo is not None):
                raise _zoned(condition, name)
            if has_coarse_times(frame, dtype):
                raise _misfit(condition, name, "holds times in seconds, which may not fit into microseconds")
    for pair in _pairs(condition):
        left, right = (schema[places[name]] for name in (pair.left, pair.right))
        zones = [getattr(dtype, "time_zone", None) for dtype in (left, right)]
        if (
            kinds[pair.left] != kinds[pair.right]
            or kinds[pair.left] in ("number", "other")
            or len({*zones}) > 1
            or (left != right and kinds[pair.left] in _CONVERTED)
        ):
            raise _misfit(
                condition, pair.left, f"is of another kind than {pair.right!r}, or of one that is not sure"
            )


def _kind(frame: Any, name: str, place: str, dtype: Any) -> str:
    if frame.implementation.is_pandas_like() and nw.to_native(frame)[place].dtype == object:
        return "other"  # narwhals would call it text by its values, which are private
    if dtype in (nw.Categorical, nw.Enum):
        return "text"
    if dtype.is_nested():
        raise InvalidArgument(
            "where", name, "is a column of lists or structures", "Compare columns of plain values."
        )
    return column_kind(dtype, name)


def _pairs(condition: RowCondition) -> Iterator[ComparedColumns]:
    if isinstance(condition, ComparedColumns):
        yield condition
    elif isinstance(condition, Every | Some):
        for part in condition.parts:
            yield from _pairs(part)
    elif isinstance(condition, Opposite):
        yield from _pairs(condition.part)


def _misfit(condition: RowCondition, name: str, why: str) -> InvalidArgument:
    return InvalidArgument(
        "where",
        str(condition),
        f"cannot be asked: column {name!r} {why}",
        "Nothing is converted to make it fit: write 'B' for texts, 18 for numbers, TRUE for truth values, "
        "DATE '2026-01-31' for dates.",
    )


def _zoned(condition: RowCondition, name: str) -> InvalidArgument:
    return InvalidArgument(
        "where",
        str(condition),
        f"compares {name!r} with a time in a zone where the other has none",
        "Write TIMESTAMP '2026-01-31 12:00:00+01:00' for columns with a time zone, and no offset for others.",
    )
