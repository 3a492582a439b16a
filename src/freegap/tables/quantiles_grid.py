"""Numbers on a public grid: which cell a number is in.

The cell is that of the number, clipped to [low, high] and rounded down. A double stands for the grid point
that it is the nearest double of. What becomes of a number depends on that number alone.

Where the step is 1/g and every grid point comes out right, the cell of a double x is ⌊x·g⌋ in doubles: one
product and a rounding. That it does is tried on all points of the grid, which is public (`is_plain`). Then a
double that is the last one before a grid point may count as that point.

Else the cell of a double x is the largest k for which the double nearest to k·γ is at most x. With γ = g₁/g₂,
all of k·g₁ and g₂ whole numbers below 2^50, fl(k·g₁/g₂) is that double: a product without an error, and one
quotient, rounded to the nearest. ⌊⌊x·g₂⌋/g₁⌋ in doubles is off by at most one, and is corrected by comparing
x with the grid points on either side. Of a tiny number nothing but ⌊x·g₂⌋ is divided: PostgreSQL fails where
a quotient is below all doubles.

Every engine does the same in doubles (IEEE 754), so all of them agree; and cells rise with their numbers.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from freegap.errors import REDACTED, InvalidArgument
from freegap.mechanisms.quantiles import Grid
from freegap.tables.engine_errors import ask_engine
from freegap.tables.quantiles_dates import Calendar
from freegap.tables.quantiles_range import RangeSearch, Tally
from freegap.tables.sources import TableSource, frame_of
from freegap.tables.values import as_doubles
from freegap.values.answers import as_array, is_missing_number

_FEW = 1000
"""Of so many numbers each by itself is faster."""
_NUMBERS = frozenset({"integer", "number", "float", "decimal"})


def numbers_of(source: TableSource, calendar: Calendar | None = None) -> TableSource:
    """A table whose items are numbers; text, in formats without types, read row by row.

    Only the schema is looked at, which is public, and never a row.
    calendar: of dates and times, what they are counted in.
    """
    if calendar is not None:
        return replace(source, frame=ask_engine(lambda: calendar.numbers_of(source)), kind="float")
    read = source.read_as("number")
    if read.kind not in _NUMBERS:
        raise InvalidArgument(
            "value",
            source.item,
            "must be a column of numbers; or of dates, where low and high are dates",
            "Convert the column first; in pandas, table.astype({…: float}).",
        )
    return replace(read, frame=ask_engine(lambda: as_doubles(read.frame, "item")))


class PeopleListed:
    """People of whom each is one number of a list."""

    def __init__(self, table: Any) -> None:
        if isinstance(table, list | tuple) and any(isinstance(one, bool) for one in table):
            raise _not_numbers()
        array = as_array(table.to_numpy() if hasattr(table, "to_numpy") else table, "table")
        plain = array.dtype.kind in "iuf" and array.ndim == 1
        self._array = array if plain and len(array) > _FEW else None
        self._others = [] if self._array is not None else _numbers_among(array)

    def cells(self, grid: Grid) -> Sequence[Tally]:
        """How many people are in each cell: one tally, of all."""
        return [self._tally(lambda: cell_expression("item", grid), lambda one: cell_of(one, grid))]

    def zones(self, search: RangeSearch) -> Sequence[Tally]:
        """How many people are in each zone, likewise."""
        return [self._tally(lambda: search.zone_expression("item"), search.zone_of)]

    def _tally(self, expression: Callable[[], nw.Expr], cell: Callable[[Any], int]) -> Tally:
        if self._array is None:
            # By type as well: a double stands for the grid point next to it. Of other types nothing is
            # assumed, not even that they can be looked up.
            known: dict[tuple[type, Any], int] = {}
            found = []
            for one in self._others:
                if type(one) not in (int, float):
                    found.append(cell(one))
                    continue
                key = type(one), one
                if key not in known:
                    known[key] = cell(one)
                found.append(known[key])
            return np.unique(np.array(found, np.int64), return_counts=True)
        # Zeros have one sign, as in a table.
        present = self._array[~np.isnan(self._array)].astype(np.float64) + 0.0
        frame = frame_of(pa.table({"item": present}))
        return np.unique(
            frame.select(expression().alias("cell")).lazy().collect()["cell"].to_numpy(), return_counts=True
        )


def _numbers_among(array: Any) -> list[Any]:
    """What is not missing, all of it numbers that Python computes with exactly."""
    if array.ndim != 1:
        raise _not_numbers()
    plain = [one.item() if isinstance(one, np.number) else one for one in array.tolist()]
    # A signalling NaN must not be compared: that would be an error, which tells of one person.
    present = [
        one
        for one in plain
        if not (one.is_nan() if isinstance(one, Decimal) else is_missing_number(one) or one != one)
    ]
    if any(isinstance(one, bool) or not isinstance(one, numbers.Real | Decimal) for one in present):
        raise _not_numbers()
    return present


def _not_numbers() -> InvalidArgument:
    return InvalidArgument("table", REDACTED, "must be numbers", "Pass one number for each person.")


def cell_of(number: Any, grid: Grid) -> int:
    """The cell of one number."""
    if number <= grid.low or number >= grid.high:
        return 0 if number <= grid.low else grid.cells - 1
    if isinstance(number, float | np.floating):
        double = float(number)
        if is_plain(grid):
            return math.floor(double * grid.step.denominator) - grid.first
        point = math.floor(Fraction(double) / grid.step)
        return point + (float((point + 1) * grid.step) <= double) - grid.first
    return math.floor(Fraction(number) / grid.step) - grid.first


def cell_expression(column: str, grid: Grid, *, in_duckdb: bool = False) -> nw.Expr:
    """The cell of a row, of a column of doubles without missing ones.

    in_duckdb: whether it is computed there, where `clip` would ask of each row whether it is missing.
    """
    up, down = float(grid.step.numerator), float(grid.step.denominator)
    low, high = float(grid.low), float(grid.high)
    if in_duckdb:
        number = nw.min_horizontal(nw.max_horizontal(nw.col(column), nw.lit(low)), nw.lit(high))
    else:
        number = nw.col(column).clip(low, high)
    if is_plain(grid):
        point = (number if down == 1.0 else number * down).floor()
        return (point - float(grid.first) if grid.first else point).cast(nw.Int64)
    near = ((number * down).floor() / up).floor()
    # As a column: Polars multiplies by the reciprocal of a constant instead, which is rounded twice.
    divisor = number * 0.0 + down
    over = nw.when((near + 1.0) * up / divisor <= number).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
    under = nw.when(near * up / divisor > number).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
    return (near + over - under - float(grid.first)).cast(nw.Int64)


@lru_cache(maxsize=64)
def is_plain(grid: Grid) -> bool:
    """Whether the step is 1/g, and ⌊x·g⌋ in doubles is k where x is the double of the k-th grid point.

    >>> [is_plain(Grid.read(0, 1000, step)) for step in (1, "1/10", "1/49", 10)]
    [True, True, False, False]
    """
    if grid.step.numerator != 1:
        return False
    parts = float(grid.step.denominator)
    k = np.arange(grid.first, grid.first + grid.cells, dtype=np.float64)
    return bool((np.floor(k / parts * parts) == k).all())
