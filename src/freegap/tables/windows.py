"""Time in windows: days, months, quarters or years, of which each is a group of rows
(`freegap.tables.grouping`).

The windows are public: they begin and end with the range that the caller names, and not with the data. In
which window a row is depends on its time alone. A row without a time, or outside the range, is left out.

What one person loses follows from the theorem on groups. A person may be in every one of the n windows, so
that each of them has 1/n of the budget; or counts in at most m of them, which is enforced. Where what is
protected is what one person does in one window (protect="windows"), neighbours differ in one window alone,
and each has the whole budget: in all, a person may then lose n times as much, and the result says so.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import narwhals.stable.v2 as nw

from freegap.errors import InvalidArgument
from freegap.tables.kinds import has_coarse_times

WindowName = Literal["day", "month", "quarter", "year"]
_MOST = 1000


@dataclass(frozen=True)
class TimeWindows:
    """The windows of a release: their labels, and where each begins; the last ends with the range.

    column: of times. starts: rising.
    """

    every: str
    column: str
    starts: tuple[datetime.date, ...]
    end: datetime.date

    @classmethod
    def read(cls, every: Any, time: Any, since: Any, until: Any) -> Self | None:
        """Read the arguments of a release; None where there are no windows.

        >>> TimeWindows.read("month", "day", "2026-01-15", "2026-03-01").labels
        ['2026-01', '2026-02']
        """
        said = {"time": time, "since": since, "until": until}
        if every is None:
            for argument, given in said.items():
                if given is not None:
                    raise InvalidArgument(
                        argument,
                        given,
                        "has a meaning only with windows",
                        "Leave it out, or say every='month'.",
                    )
            return None
        if every not in get_args(WindowName):
            names = ", ".join(get_args(WindowName))
            raise InvalidArgument(
                "every", every, f"must be one of {names}", "Pass for example every='month'."
            )
        if not isinstance(time, str):
            raise InvalidArgument("time", time, "must name a column of times", "Pass time='…'.")
        first, end = _date("since", since), _date("until", until)
        if first >= end:
            raise InvalidArgument("until", str(until), "must be after since", "It is the first day left out.")
        starts = [first]
        while (begin := _next(every, starts[-1])) < end:
            starts.append(begin)
            if len(starts) > _MOST:
                raise InvalidArgument(
                    "every",
                    every,
                    f"makes more than {_MOST:,} windows",
                    "Pass longer windows or a shorter range.",
                )
        return cls(every, time, tuple(starts), end)

    @property
    def title(self) -> str:
        """What the column of windows is called."""
        return f"{self.every} of {self.column}"

    @property
    def labels(self) -> list[str]:
        """The windows, as they are called."""
        return [_label(self.every, start) for start in self.starts]

    def labelled(self, frame: Any, *, typed: bool) -> Any:
        """A frame with the labels of windows in place of times, in "cohort"; rows outside are left out.

        typed: False where all columns are texts, in a DuckDB of ours.
        """
        if not typed:
            native = nw.to_native(frame).project("* REPLACE (TRY_CAST(cohort AS TIMESTAMP) AS cohort)")
            frame = nw.from_native(native)
        dtype = frame.collect_schema()["cohort"]
        if has_coarse_times(frame, dtype):  # a time that does not fit would make the release fail
            raise InvalidArgument(
                "time", self.column, "holds times in seconds or milliseconds", "Convert it to microseconds."
            )
        if dtype not in (nw.Date, nw.Datetime) or getattr(dtype, "time_zone", None) is not None:
            raise InvalidArgument(
                "time",
                self.column,
                "must be a column of dates, or of times without a zone",
                "Convert the column.",
            )

        def at(day: datetime.date) -> Any:
            if dtype == nw.Date:
                return nw.lit(day)
            return nw.lit(datetime.datetime.combine(day, datetime.time()))

        time = nw.col("cohort")
        inside = ~time.is_null() & (time >= at(self.starts[0])) & (time < at(self.end))
        return frame.filter(inside).with_columns(cohort=self._chosen(time, at, 0, len(self.starts)))

    def _chosen(self, time: nw.Expr, at: Callable[[datetime.date], Any], first: int, last: int) -> nw.Expr:
        """The label of the window, by halves: engines recurse into what they are asked."""
        if last - first == 1:
            return nw.lit(_label(self.every, self.starts[first]))
        middle = (first + last) // 2
        before = self._chosen(time, at, first, middle)
        return (
            nw.when(time < at(self.starts[middle]))
            .then(before)
            .otherwise(self._chosen(time, at, middle, last))
        )


def _date(argument: str, value: Any) -> datetime.date:
    try:
        read = datetime.date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        read = None
    if type(read) is not datetime.date or not 1000 <= read.year <= 9000:
        raise InvalidArgument(
            argument,
            None if value is None else str(value),
            "must be a date: the windows are public, and do not begin or end with the data",
            f"Pass for example {argument}='2026-01-01'.",
        )
    return read


def _next(every: str, day: datetime.date) -> datetime.date:
    """The first day of the window after the one that this day is in."""
    if every == "day":
        return day + datetime.timedelta(days=1)
    months = {"month": 1, "quarter": 3, "year": 12}[every]
    place = (day.year * 12 + day.month - 1) // months * months + months
    return datetime.date(place // 12, place % 12 + 1, 1)


def _label(every: str, day: datetime.date) -> str:
    quarter = f"{day.year:04}-Q{(day.month + 2) // 3}"
    return {"day": str(day), "month": str(day)[:7], "quarter": quarter, "year": str(day)[:4]}[every]
