"""Dates and times that Python does not have: a row with one is as one without, so that it makes nothing fail.

Engines hold the year 20260, and infinity. To Python years are from 1 to 9999, and to make a Python value of
another is an error, which would tell that somebody has it. Whether a row has one depends on that row alone.

Times are compared in the unit of their column: an engine that converts units fails on times too far away. Of
times with a zone the first day and the last are left out too, as in some zone they are in another year.
"""

from __future__ import annotations

import datetime
from typing import Any

import narwhals.stable.v2 as nw

_PER_SECOND = {"s": 1, "ms": 1000, "us": 10**6}
_EPOCH = datetime.datetime(1970, 1, 1)
_DAY = datetime.timedelta(days=1)
_FIRST, _LAST = datetime.datetime.min, datetime.datetime.max.replace(microsecond=0)


def without_far_times(frame: Any) -> Any:
    """The rows of a narwhals frame without nulls whose dates and times are all of the years 1 to 9999."""
    near = [
        expression
        for column, dtype in frame.collect_schema().items()
        if (expression := _near(frame, column, dtype)) is not None
    ]
    return frame.filter(*near) if near else frame


def _near(frame: Any, name: str, dtype: Any) -> nw.Expr | None:
    column = nw.col(name)
    if _in_milliseconds(frame, name):
        return _between(column, "ms", _FIRST, _LAST)
    if dtype == nw.Date:
        days = [nw.lit(end.date()) for end in (_FIRST, _LAST)]
        if frame.implementation.is_pyspark() or frame.implementation.is_pyspark_connect():
            days = [nw.lit(str(end.date())).cast(nw.Date) for end in (_FIRST, _LAST)]
        return (column >= days[0]) & (column <= days[1])
    unit = getattr(dtype, "time_unit", None)
    if dtype != nw.Datetime or unit not in _PER_SECOND:  # nanoseconds do not reach so far
        return None
    zone = getattr(dtype, "time_zone", None)
    first, last = (_FIRST, _LAST) if zone is None else (_FIRST + _DAY, _LAST - _DAY)
    if isinstance(frame, nw.DataFrame) or frame.implementation.is_polars():
        return _between(column, unit, first, last)
    last = last.replace(microsecond={"s": 0, "ms": 999_000}.get(unit, 999_999))  # a cast would round up
    ends = [nw.lit(end.replace(tzinfo=None if zone is None else datetime.UTC)) for end in (first, last)]
    if unit != "us":
        ends = [end.cast(dtype) for end in ends]
    return (column >= ends[0]) & (column <= ends[1])


def _between(column: nw.Expr, unit: str, first: datetime.datetime, last: datetime.datetime) -> nw.Expr:
    """As whole numbers of the unit, which every engine in this process makes of times."""
    number, per = column.cast(nw.Int64), _PER_SECOND[unit]
    low, high = ((end - _EPOCH) // datetime.timedelta(seconds=1) * per for end in (first, last))
    return (number >= nw.lit(low)) & (number < nw.lit(high + per))


def _in_milliseconds(frame: Any, name: str) -> bool:
    """Whether it is a column of Arrow's dates of 64 bits, which narwhals does not know."""
    native = nw.to_native(frame)
    if frame.implementation.is_pyarrow():
        return str(native.schema.field(name).type).startswith("date64")
    return bool(frame.implementation.is_pandas_like() and str(native[name].dtype).startswith("date64"))
