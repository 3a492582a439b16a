"""Dates and times as the numbers of quantiles: how many days, or microseconds, after the least that counts.

    row      its time, clipped to [low, high], less low, in whole units: days where the bounds are dates,
             microseconds where they are times. On a grid of days a time stands for the day that it is in, and
             a date stands for its first moment
    release  low and so many units, a date or a time again

All of that is computed in whole numbers of 64 bits; a time is clipped before anything is computed of it, so
that none is too far away (infinity, the year 200,000), and what becomes of a row depends on that row alone.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from freegap.errors import InvalidArgument
from freegap.mechanisms.quantiles import LARGEST, MOST_CELLS, Grid
from freegap.tables.behind_ibis import backend_name, with_columns
from freegap.tables.kinds import has_coarse_times
from freegap.tables.sources import Frame, TableSource, frame_of
from freegap.values.rationals import positive_rational

_DAY = 86_400 * 10**6
_EPOCH = datetime.datetime(1970, 1, 1)
_WRITTEN = re.compile(r"\d{4}-\d\d-\d\d")
_PER_UNIT = {"s": 10**6, "ms": 1000, "us": 1}
_EXAMPLE = 'Pass for example low="2024-01-01", high="2025-01-01".'

# A date is clipped as a date first, since not every date is a time; {first} and {last} are days outside.
_MOMENT = {
    "date": "CAST(least(greatest(item, DATE '{first}'), DATE '{last}') AS timestamp)",
    "time": "CAST(item AS timestamp)",
}
_CLIPPED = "least(greatest({moment}, TIMESTAMP '{low}'), TIMESTAMP '{high}')"
_COUNTED = {
    "duckdb": "(epoch_us({clipped}) - {origin}) // {unit}",
    "postgres": "(CAST(extract(epoch FROM {clipped}) * 1000000 AS bigint) - {origin}) / {unit}",
}


@dataclass(frozen=True)
class Calendar:
    """What the numbers of a grid mean: so many units after `origin`.

    origin, end: in microseconds after 1970. unit: a day or a microsecond, in microseconds.
    """

    origin: int
    end: int
    unit: int

    @classmethod
    def read(cls, low: Any, high: Any, resolution: Any) -> tuple[Self, Grid] | None:
        """A calendar and the grid on it, where the bounds are dates or times; None where they are not.

        resolution: a timedelta; or a number of days where the bounds are dates, else of seconds.

        >>> calendar, grid = Calendar.read("2024-02-28", "2024-03-01", 1)
        >>> [str(calendar.named(Fraction(number))) for number in range(grid.cells)]
        ['2024-02-28', '2024-02-29', '2024-03-01']
        """
        if not (_is_time(low) or _is_time(high)):
            return None
        first, days = _moment("low", low)
        last, also_days = _moment("high", high)
        if not first < last:
            raise InvalidArgument("high", str(high), "must be after low", _EXAMPLE)
        unit = _DAY if days and also_days else 1
        step = _step(resolution, unit)
        if (last - first) % (step * unit):
            raise InvalidArgument(
                "resolution",
                str(resolution),
                "must divide the time from low to high",
                "It is a number of days where both are dates, else of seconds; or a timedelta.",
            )
        calendar = cls(first, last, unit)
        steps = Fraction(step)
        cells = (last - first) // (step * unit) + 1
        if last - first > LARGEST * unit:
            raise InvalidArgument("high", str(high), "must be at most 35 years after low", "Pass dates.")
        if cells > MOST_CELLS:
            raise InvalidArgument(
                "resolution",
                str(resolution),
                f"must leave at most {MOST_CELLS:,} times from low to high",
                "Pass a coarser one: it is in days where both are dates, else in seconds; or a timedelta.",
            )
        return calendar, Grid(Fraction(0), (cells - 1) * steps, steps)

    def named(self, number: Fraction) -> datetime.date:
        """The date or the time of a number on the grid."""
        moment = _EPOCH + datetime.timedelta(microseconds=self.origin + int(number) * self.unit)
        return moment.date() if self.unit == _DAY else moment

    def length(self, number: Fraction) -> Fraction:
        """A difference of two numbers in days, or in seconds where the bounds are times."""
        return number if self.unit == _DAY else number / 10**6

    @property
    def length_unit(self) -> str:
        """What `length` is in."""
        return "days" if self.unit == _DAY else "seconds"

    def numbers_of(self, source: TableSource) -> Frame:
        """The frame of a source with whole units after low, as doubles, for "item"; rows without a time left.

        Only the schema is looked at before, which is public.
        """
        if not source.typed and source.kind not in ("date", "date and time"):
            native = nw.to_native(source.frame)
            frame = frame_of(native.project("* REPLACE (TRY_CAST(item AS TIMESTAMP) AS item)"))
        else:
            frame = source.frame
        dtype = frame.collect_schema()["item"]
        if dtype not in (nw.Date, nw.Datetime) or getattr(dtype, "time_zone", None) is not None:
            raise InvalidArgument(
                "value",
                source.item,
                "must be a column of dates, or of times without a zone, where low and high are dates",
                "Convert the column; times with a zone to those of one zone, without it.",
            )
        present: Frame = frame.filter(~nw.col("item").is_null())
        whole = self._counted(present, dtype, source.item)
        doubles: Frame = whole.with_columns(nw.col("item").cast(nw.Float64))
        return doubles

    def _counted(self, frame: Frame, dtype: Any, column: str) -> Frame:
        native, engine = nw.to_native(frame), frame.implementation
        if isinstance(frame, nw.DataFrame):
            numbers = self._of_arrow(frame["item"].to_arrow())
            series = nw.new_series("item", numbers.tolist(), nw.Int64, backend=engine)
            return frame.with_columns(series)
        if engine.is_polars():
            return frame_of(native.with_columns(item=self._of_polars(dtype)))
        database = backend_name(native) if engine.is_ibis() else "duckdb" if engine.is_duckdb() else ""
        if database not in _COUNTED or has_coarse_times(frame, dtype):
            raise InvalidArgument(
                "value",
                column,
                "holds dates or times that are not read in this engine, or not in seconds or milliseconds",
                "Convert it there to microseconds, or to numbers; or pass a table of another engine.",
            )
        sql = self._sql(database, dtype)
        if engine.is_duckdb():
            return frame_of(native.project(f"* REPLACE (CAST({sql} AS BIGINT) AS item)"))
        return frame_of(with_columns(native, {"item": f"CAST({sql} AS BIGINT)"}, {"item": "int64"}))

    def _sql(self, database: str, dtype: Any) -> str:
        low, high = (_EPOCH + datetime.timedelta(microseconds=end) for end in (self.origin, self.end))
        day = datetime.timedelta(days=1)
        outside = {"first": low.date() - day, "last": high.date() + day}
        moment = _MOMENT["date" if dtype == nw.Date else "time"].format(**outside)
        clipped = _CLIPPED.format(moment=moment, low=low.isoformat(sep=" "), high=high.isoformat(sep=" "))
        return _COUNTED[database].format(clipped=clipped, origin=self.origin, unit=self.unit)

    def _of_arrow(self, column: Any) -> NDArray[np.int64]:
        """The same here: of whole numbers of days, or of whatever the column counts in."""
        type_ = column.type
        if pa.types.is_date32(type_):
            column, per = column.cast(pa.int32()).cast(pa.int64()), _DAY
        else:
            per = 1000 if pa.types.is_date64(type_) else _PER_UNIT.get(type_.unit, 0)
            column = column.cast(pa.int64())
        numbers = column.to_numpy()
        if not per:
            numbers, per = numbers // 1000, 1  # nanoseconds
        near = np.clip(numbers, self.origin // per - 1, self.end // per + 1) * per
        counted: NDArray[np.int64] = (np.clip(near, self.origin, self.end) - self.origin) // self.unit
        return counted

    def _of_polars(self, dtype: Any) -> Any:
        import polars

        number = polars.col("item").to_physical().cast(polars.Int64)
        per = _DAY if dtype == nw.Date else _PER_UNIT.get(dtype.time_unit, 0)
        if not per:
            number, per = number // 1000, 1
        near = number.clip(self.origin // per - 1, self.end // per + 1) * per
        return (near.clip(self.origin, self.end) - self.origin) // self.unit


def _is_time(bound: Any) -> bool:
    return isinstance(bound, datetime.date) or (isinstance(bound, str) and _WRITTEN.match(bound) is not None)


def _moment(argument: str, bound: Any) -> tuple[int, bool]:
    """In microseconds after 1970, and whether it is a date without a time."""
    read = bound
    if isinstance(bound, str):
        try:
            read = datetime.date.fromisoformat(bound)
        except ValueError:
            try:
                read = datetime.datetime.fromisoformat(bound)
            except ValueError:
                read = None
    zone = isinstance(read, datetime.datetime) and read.tzinfo is not None
    if not isinstance(read, datetime.date) or zone or not 1000 <= read.year <= 9000:
        raise InvalidArgument(
            argument,
            None if bound is None else str(bound),
            "must be a date or a time without a zone, of the years 1000 to 9000, where the other bound is",
            _EXAMPLE,
        )
    days = not isinstance(read, datetime.datetime)
    moment = read if isinstance(read, datetime.datetime) else datetime.datetime.combine(read, datetime.time())
    return (moment - _EPOCH) // datetime.timedelta(microseconds=1), days


def _step(resolution: Any, unit: int) -> int:
    """The resolution in units."""
    if isinstance(resolution, datetime.timedelta):
        step = Fraction(resolution // datetime.timedelta(microseconds=1), unit)
    else:
        step = positive_rational("resolution", resolution) * (1 if unit == _DAY else 10**6)
    if step.denominator != 1 or step <= 0:
        what = "whole days, where low and high are dates" if unit == _DAY else "whole microseconds"
        raise InvalidArgument("resolution", str(resolution), f"must be {what}", "Pass for example 1.")
    return int(step)
