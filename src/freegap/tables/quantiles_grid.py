"""Numbers of a table on a public grid: which cell a row is in, one cell for each person, people in each cell.

    row      the cell of its number, clipped to [low, high] and rounded down. A double stands for the grid
             point that it is the nearest double of; a row without a number (null, NaN, a text that is none)
             is left out
    person   of the cells of their rows the smallest, the largest, or the lower median
    cell     how many people it has

What becomes of a row depends on that row alone, and which cell a person has on that person's rows alone. So
one person more or less adds one to one count, or takes one away, and changes nothing else.

The cell of a double x is the largest k for which the double nearest to k·γ is at most x. With γ = g₁/g₂, all
of k·g₁ and g₂ whole numbers below 2^50, fl(k·g₁/g₂) is that double: a product without an error, and one
quotient, rounded to the nearest. ⌊x·g₂/g₁⌋ in doubles is off by at most one, and is corrected by comparing x
with the grid points on either side. Every engine does the same in doubles (IEEE 754), so all of them agree.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, get_args

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from freegap.errors import REDACTED, InvalidArgument
from freegap.mechanisms.quantiles import Grid
from freegap.mechanisms.quantiles_node import Integers
from freegap.tables.engine_errors import ask_engine
from freegap.tables.quantiles_range import RangeSearch
from freegap.tables.sources import Frame, TableSource, frame_of
from freegap.tables.values import as_doubles
from freegap.values.answers import as_array, is_missing_number

PerPerson = Literal["median", "smallest", "largest"]
Tally = tuple[Integers, Integers]
"""Cells, or zones, in order, and how many people are in each."""

_FEW = 1000
"""Of so many numbers each by itself is faster."""
_NUMBERS = frozenset({"integer", "number", "float", "decimal"})
_RULES: dict[str, Callable[[nw.Expr], nw.Expr]] = {"smallest": nw.Expr.min, "largest": nw.Expr.max}


def per_person_argument(rule: Any) -> PerPerson:
    """The name of a rule."""
    if not isinstance(rule, str) or rule not in get_args(PerPerson):
        known = ", ".join(map(repr, get_args(PerPerson)))
        raise InvalidArgument("per_person", rule, f"must be one of {known}", "Pass per_person='median'.")
    return rule  # type: ignore[return-value]


def numbers_of(source: TableSource) -> TableSource:
    """A table whose items are numbers; text, in formats without types, read row by row.

    Only the schema is looked at, which is public, and never a row.
    """
    read = source.read_as("number")
    if read.kind not in _NUMBERS:
        raise InvalidArgument(
            "value",
            source.item,
            "must be a column of numbers",
            "Convert the column first; in pandas, table.astype({…: float}).",
        )
    return replace(read, frame=ask_engine(lambda: as_doubles(read.frame, "item")))


class PeopleInTable:
    """The people of a table, each with one of their rows."""

    def __init__(self, source: TableSource, rule: PerPerson) -> None:
        self._rows = ask_engine(source.rows)
        self._rule = rule

    def cells(self, grid: Grid) -> Tally:
        """How many people are in each cell."""
        return self._tally(cell_expression("item", grid))

    def zones(self, search: RangeSearch) -> Tally:
        """How many people are in each zone."""
        return self._tally(search.zone_expression("item"))

    def _tally(self, cell: nw.Expr) -> Tally:
        rows = self._rows
        return ask_engine(lambda: people_in_cells(rows.select("person", cell.alias("cell")), self._rule))


class PeopleListed:
    """People of whom each is one number of a list."""

    def __init__(self, table: Any) -> None:
        if isinstance(table, list | tuple) and any(isinstance(one, bool) for one in table):
            raise _not_numbers()
        array = as_array(table.to_numpy() if hasattr(table, "to_numpy") else table, "table")
        plain = array.dtype.kind in "iuf" and array.ndim == 1
        self._array = array if plain and len(array) > _FEW else None
        self._others = [] if self._array is not None else _numbers_among(array)

    def cells(self, grid: Grid) -> Tally:
        """How many people are in each cell."""
        return self._tally(cell_expression("item", grid), [cell_of(one, grid) for one in self._others])

    def zones(self, search: RangeSearch) -> Tally:
        """How many people are in each zone."""
        return self._tally(search.zone_expression("item"), [search.zone_of(one) for one in self._others])

    def _tally(self, cell: nw.Expr, others: list[int]) -> Tally:
        if self._array is None:
            return np.unique(np.array(others, dtype=np.int64), return_counts=True)
        # Zeros have one sign, as in a table.
        present = self._array[~np.isnan(self._array)].astype(np.float64) + 0.0
        frame = frame_of(pa.table({"item": present}))
        return np.unique(
            frame.select(cell.alias("cell")).lazy().collect()["cell"].to_numpy(), return_counts=True
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
        point = math.floor(Fraction(double) / grid.step)
        return point + (float((point + 1) * grid.step) <= double) - grid.first
    return math.floor(Fraction(number) / grid.step) - grid.first


def cell_expression(column: str, grid: Grid) -> nw.Expr:
    """The cell of a row, of a column of doubles without missing ones."""
    up, down = float(grid.step.numerator), float(grid.step.denominator)
    number = nw.col(column).clip(float(grid.low), float(grid.high))
    near = (number * down / up).floor()
    # As a column: Polars multiplies by the reciprocal of a constant instead, which is rounded twice.
    divisor = number * 0.0 + down
    over = nw.when((near + 1.0) * up / divisor <= number).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
    under = nw.when(near * up / divisor > number).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
    return (near + over - under - float(grid.first)).cast(nw.Int64)


def people_in_cells(cells: Frame, rule: PerPerson) -> Tally:
    """Of a frame of "person" and "cell": the cells that people have, in order, and how many have each."""
    if rule == "median" and isinstance(cells, nw.DataFrame):
        return np.unique(_medians_here(cells), return_counts=True)
    one: Frame = (
        _medians(cells) if rule == "median" else cells.group_by("person").agg(_RULES[rule](nw.col("cell")))
    )
    rows = one.group_by("cell").agg(nw.len().alias("people")).lazy().collect()
    found, people = (np.asarray(rows[name].to_list(), dtype=np.int64) for name in ("cell", "people"))
    order = np.argsort(found)
    return found[order], people[order]


def _medians(cells: Frame) -> Frame:
    """The lower median of each person's rows, by an engine: of r rows, the ⌈r/2⌉-th in order."""
    rows = nw.len().over("person")
    place = nw.col("cell").cum_count().over("person", order_by="cell")
    numbered: Frame = cells.with_columns(rows.alias("rows"), (place * 2).alias("twice"))
    above = nw.col("twice").cast(nw.Int64) - nw.col("rows").cast(nw.Int64)
    chosen: Frame = numbered.filter((above >= 0) & (above <= 1))
    return chosen


def _medians_here(cells: nw.DataFrame[Any]) -> Integers:
    """The same of rows in this process, whose engines do not number the rows of a person in order."""
    people = cells.group_by("person").agg(nw.len().alias("rows")).with_row_index("number")
    numbered = cells.join(people, on="person", how="inner")
    number, cell = (np.asarray(numbered[name].to_numpy(), dtype=np.int64) for name in ("number", "cell"))
    order = np.lexsort((cell, number))
    rows = np.bincount(number)
    first = np.cumsum(rows) - rows
    return np.asarray(cell[order][first + (rows - 1) // 2])
