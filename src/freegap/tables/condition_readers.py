"""Conditions written with narwhals or Ibis, read as what they say and not run.

An expression of either is a small program. What it does is looked up step by step, and only steps that stand
in `freegap.tables.conditions` are taken over: an aggregate, a window, a function of one's own, a conversion
that can fail are none. What is filtered by is then that condition, in the same words for every engine.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import narwhals as nw_main
import numpy as np

from freegap.errors import InvalidArgument
from freegap.tables.condition_text import ColumnName, read_condition_text
from freegap.tables.conditions import (
    MIRRORED,
    Among,
    Compared,
    ComparedColumns,
    Every,
    Matching,
    Missing,
    Opposite,
    RowCondition,
    Some,
    Value,
)

Read = RowCondition | ColumnName | Value

_SIGNS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_OF_IBIS = {
    "Equals": "=", "NotEquals": "<>", "Less": "<", "LessEqual": "<=", "Greater": ">", "GreaterEqual": ">=",
}  # fmt: skip
_CLOSED = {"both": (">=", "<="), "left": (">=", "<"), "right": (">", "<="), "none": (">", "<")}
_PLACES = {"str.starts_with": "start", "str.ends_with": "end", "str.contains": "anywhere"}


def read_where(where: Any, table: Any) -> RowCondition | None:
    """The condition of `where=`: a text, or an expression of narwhals or, for a table of Ibis, of Ibis.

    >>> import narwhals as nw
    >>> str(read_where((nw.col("age") >= 18) & nw.col("ward").is_in(["A", "B"]), None))
    "age >= 18 AND ward IN ('A', 'B')"
    """
    if where is None or isinstance(where, RowCondition):
        return where
    if isinstance(where, str):
        return read_condition_text(where)
    if isinstance(where, nw_main.Expr):
        return _condition(_of_narwhals(where))
    if type(where).__module__.startswith("ibis."):
        return _condition(_of_ibis(_bound(where, table), table))
    raise InvalidArgument(
        "where",
        f"<{type(where).__name__}>",
        "must be a condition as SQL writes it, or an expression of narwhals or Ibis",
        "Write for example where=\"age >= 18 AND ward = 'B'\".",
    )


def _refused(what: str) -> InvalidArgument:
    return InvalidArgument(
        "where",
        f"<{what}>",
        "is no comparison of one row's values: it may look at other rows, or fail on a value",
        "Use =, <, is_in, is_between, is_null, starts_with and the like, joined by &, | and ~; compute "
        "anything else as a column in the engine that holds the table.",
    )


def _condition(read: Read) -> RowCondition:
    if isinstance(read, ColumnName):
        return Compared(read.name, "=", True)
    if isinstance(read, RowCondition):
        return read
    raise _refused("a value")


def _compared(left: Read, sign: str, right: Read) -> RowCondition:
    if isinstance(left, RowCondition) or isinstance(right, RowCondition):
        raise _refused("a comparison of conditions")
    if isinstance(left, ColumnName):
        if isinstance(right, ColumnName):
            return ComparedColumns(left.name, sign, right.name)
        return Compared(left.name, sign, right)
    if isinstance(right, ColumnName):
        return Compared(right.name, MIRRORED[sign], left)
    raise _refused("a comparison of two values")


def _name(read: Read, what: str) -> str:
    if isinstance(read, ColumnName):
        return read.name
    raise _refused(what)


def _value(value: Any) -> Value:
    """A plain Python value, from whatever number NumPy or a library made of it."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, Decimal):
        plain = int(plain) if plain == plain.to_integral_value() else float(plain)
    if isinstance(plain, float) and not math.isfinite(plain):
        raise _refused("NaN or an infinity")
    small = isinstance(plain, int) and abs(plain) < 2**63
    if small or isinstance(plain, bool | str | float | datetime.date):
        return plain  # type: ignore[no-any-return]
    raise _refused(type(value).__name__)


def _values(values: Any) -> tuple[Value, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise _refused("is_in without a list")
    listed = tuple(map(_value, values))
    if not listed:
        raise _refused("is_in of nothing")
    return listed


def _of_narwhals(expression: Any) -> Read:
    """The steps of a narwhals expression, in their order."""
    steps = getattr(expression, "_nodes", None)
    if not steps:
        raise InvalidArgument(
            "where",
            "<Expr>",
            "cannot be read: this version of narwhals does not tell what an expression does",
            "Write the condition as a text.",
        )
    read: Read | None = None
    for step in steps:
        read = _step(read, step)
    if read is None:
        raise _refused("nothing")
    return read


def _step(read: Read | None, step: Any) -> Read:
    name, given = str(step.name), [_given(value) for value in step.exprs]
    if read is None:
        return _first(name, step.kwargs)
    if name in ("__and__", "__or__") and len(given) == 1:
        joined = (_condition(read), _condition(given[0]))
        return Every(joined) if name == "__and__" else Some(joined)
    if name == "__invert__":
        return Opposite(_condition(read))
    if name.strip("_") in _SIGNS and len(given) == 1:
        return _compared(read, _SIGNS[name.strip("_")], given[0])
    if name == "is_null":
        return Missing(_name(read, name))
    if name == "is_in":
        return Among(_name(read, name), _values(step.kwargs["other"]))
    if name == "is_between" and len(given) == 2:
        low, high = _CLOSED[step.kwargs["closed"]]
        return Every((_compared(read, low, given[0]), _compared(read, high, given[1])))
    if name in _PLACES:
        return _matching(read, name, given, step.kwargs)
    raise _refused(name)


def _given(value: Any) -> Read:
    return _of_narwhals(value) if isinstance(value, nw_main.Expr) else _value(value)


def _first(name: str, kwargs: dict[str, Any]) -> Read:
    if name == "col" and len(kwargs["names"]) == 1:
        return ColumnName(str(kwargs["names"][0]))
    if name == "lit":
        return _value(kwargs["value"])
    raise _refused(name)


def _matching(read: Read, name: str, given: list[Read], kwargs: dict[str, Any]) -> RowCondition:
    texts = [*given, *(kwargs[key] for key in ("prefix", "suffix", "pattern") if key in kwargs)]
    if len(texts) != 1 or not isinstance(texts[0], str) or not texts[0]:
        raise _refused(name)
    if name == "str.contains" and kwargs.get("literal") is not True:
        raise _refused("str.contains of a regular expression; say literal=True")
    return Matching(_name(read, name), _PLACES[name], texts[0])


def _bound(where: Any, table: Any) -> Any:
    """An Ibis expression as its operation; one that begins with `_` is about the table that is asked."""
    if not type(table).__module__.startswith("ibis."):
        raise InvalidArgument(
            "where", "<an Ibis expression>", "is for tables of Ibis", "Write the condition as a text."
        )
    resolved = where.resolve(table) if hasattr(where, "resolve") else where
    if not hasattr(resolved, "op"):
        raise _refused(type(where).__name__)
    return resolved.op()


def _of_ibis(operation: Any, table: Any) -> Read:
    name, parts = type(operation).__name__, operation.args
    if name == "Field":
        if operation.rel != table.op():
            raise _refused("a column of another table")
        return ColumnName(str(operation.name))
    if name == "Literal":
        return _value(operation.value)
    if name in _OF_IBIS:
        return _compared(_of_ibis(parts[0], table), _OF_IBIS[name], _of_ibis(parts[1], table))
    if name in ("And", "Or"):
        joined = (_condition(_of_ibis(parts[0], table)), _condition(_of_ibis(parts[1], table)))
        return Every(joined) if name == "And" else Some(joined)
    if name == "Not":
        return Opposite(_condition(_of_ibis(parts[0], table)))
    if name in ("IsNull", "NotNull"):
        missing = Missing(_name(_of_ibis(parts[0], table), name))
        return missing if name == "IsNull" else Opposite(missing)
    if name == "InValues":
        options = [_of_ibis(option, table) for option in operation.options]
        return Among(_name(_of_ibis(operation.value, table), name), _values(options))
    if name == "Between":
        column, low, high = (_of_ibis(part, table) for part in parts)
        return Every((_compared(column, ">=", low), _compared(column, "<=", high)))
    if name in ("StartsWith", "EndsWith", "StringContains"):
        column, text = (_of_ibis(part, table) for part in parts)
        place = {"StartsWith": "start", "EndsWith": "end", "StringContains": "anywhere"}[name]
        if not isinstance(text, str) or not text:
            raise _refused(name)
        return Matching(_name(column, name), place, text)
    raise _refused(name)
