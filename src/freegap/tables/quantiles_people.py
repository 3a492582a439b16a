"""People on the grid of quantiles: one cell for each person, and how many people each cell has.

    row      the cell of its number (`freegap.tables.quantiles_grid`); one without a number (null, NaN, a text
             that is none) is left out
    person   of the cells of their rows the smallest, the largest, or the lower median; or their spread, how
             many cells the largest is above the smallest
    cell     how many people it has

What becomes of a row depends on that row alone, and which cell a person has on that person's rows alone. So
one person more or less adds one to one count, or takes one away, and changes nothing else.

With groups a person has a cell in each group in which they have rows: of these rows alone. Rows in groups
that are not listed are left out; and of the listed ones a person counts in at most m, chosen as
`freegap.tables.groups` chooses them. So one person more or less changes at most m groups, each by one in one
cell. Where an engine may tell groups apart that are equal here, each person's cells travel, so that nobody
has two in one group: of such two the smaller counts.

A cell rises with its number, so that the cell of a person's largest number is the largest of their cells, and
so on: the engine chooses among the numbers, and computes one cell for each person.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import narwhals.stable.v2 as nw
import numpy as np

from freegap.errors import InvalidArgument
from freegap.mechanisms.quantiles import Grid
from freegap.tables.bounded import of_one, persons_here
from freegap.tables.domains import ListedDomain
from freegap.tables.engine_errors import ask_engine
from freegap.tables.groups import in_chosen_groups, places_of
from freegap.tables.kinds import OFTEN_ALIKE
from freegap.tables.quantiles_grid import cell_expression
from freegap.tables.quantiles_range import RangeSearch, Tally
from freegap.tables.sources import Frame, TableSource

CellOf = Callable[[str], nw.Expr]
"""The cell, or the zone, of a column of numbers."""

PerPerson = Literal["median", "smallest", "largest", "spread"]

_RULES: dict[str, Callable[[nw.Expr], nw.Expr]] = {"smallest": nw.Expr.min, "largest": nw.Expr.max}


def per_person_argument(rule: Any) -> PerPerson:
    """The name of a rule."""
    if not isinstance(rule, str) or rule not in get_args(PerPerson):
        known = ", ".join(map(repr, get_args(PerPerson)))
        raise InvalidArgument("per_person", rule, f"must be one of {known}", "Pass per_person='median'.")
    return rule  # type: ignore[return-value]


@dataclass(frozen=True)
class GroupsOfPeople:
    """The listed groups, and in how many of them a person counts at most; None for all."""

    listed: ListedDomain
    most: int | None


class PeopleInTable:
    """The people of a table, each with one of their rows; or with one in each group."""

    def __init__(self, source: TableSource, rule: PerPerson, groups: GroupsOfPeople | None = None) -> None:
        self._alike = groups is not None and source.group_kind in OFTEN_ALIKE
        # Where each row is somebody, numbers tell them apart that the engine need not make but for this.
        numbered = not source.by_row or self._alike
        plain = not numbered and groups is None
        self._rows = ask_engine(source.rows if numbered else lambda: source.present(keys=not plain))
        self._source = source
        self._rule = rule
        self._groups = groups

    def cells(self, grid: Grid) -> Sequence[Tally]:
        """How many people are in each cell, group by group; without groups, of all."""
        in_duckdb = self._rows.implementation.is_duckdb()
        return self._tallies(lambda column: cell_expression(column, grid, in_duckdb=in_duckdb))

    def zones(self, search: RangeSearch) -> Sequence[Tally]:
        """How many people are in each zone, likewise."""
        return self._tallies(search.zone_expression)

    def _tallies(self, cell: CellOf) -> Sequence[Tally]:
        groups = self._groups
        if groups is None:
            return [ask_engine(lambda: _counted(self._each(self._rows, cell)))]
        return ask_engine(lambda: self._in_groups(groups, cell))

    def _in_groups(self, groups: GroupsOfPeople, cell: CellOf) -> Sequence[Tally]:
        """The tallies of all groups."""
        rows, source, listed, most = self._rows, self._source, groups.listed, groups.most
        counted = rows if most is None else in_chosen_groups(rows, source, listed, most)
        if counted is None or self._alike:
            here = self._each(rows, cell, "cohort").lazy().collect()
            return _divided(*_chosen_here(here, listed, most), len(listed.items))
        pairs = self._each(counted, cell, "cohort").group_by("cohort", "cell").agg(nw.len().alias("people"))
        found = pairs.lazy().collect()
        group = places_of(found["cohort"], listed, source.group_kind)
        cells, people = (np.asarray(found[name].to_list(), dtype=np.int64) for name in ("cell", "people"))
        known = group >= 0
        return _divided(group[known], cells[known], people[known], len(listed.items))

    def _each(self, rows: Frame, cell: CellOf, *further: str) -> Frame:
        """One "cell" of each "person", in each of what is further named."""
        keys = (*further, "person")
        if self._source.by_row:
            return rows.select(*(keys if self._alike else further), cell("item").alias("cell"))
        if self._rule == "spread":
            number = nw.col("item")
            ends = rows.group_by(*keys).agg(number.max().alias("most"), number.min().alias("least"))
            return ends.select(*keys, (cell("most") - cell("least")).alias("cell"))
        return _of_each(rows, self._rule, keys).select(*keys, cell("item").alias("cell"))


def _chosen_here(here: nw.DataFrame[Any], listed: ListedDomain, most: int | None) -> tuple[Any, Any, Any]:
    """As the engine does it, here: of each person's groups those that count; one cell in each."""
    group = places_of(here["cohort"], listed, "").tolist()
    has: dict[Any, dict[int, int]] = {}
    for person, g, cell in zip(persons_here(here["person"]), group, here["cell"].to_list(), strict=True):
        if g >= 0:
            of_person = has.setdefault(person, {})
            of_person[g] = min(of_person.get(g, cell), cell)
    chosen = [
        (g, by_group[g])
        for person, by_group in has.items()
        for g, _ in of_one(person, {g: listed.items[g] for g in by_group}, most)
    ]
    pairs = np.array(chosen, dtype=np.int64).reshape(-1, 2)
    once, people = np.unique(pairs, axis=0, return_counts=True)
    return once[:, 0], once[:, 1], people


def _divided(group: Any, cell: Any, people: Any, number: int) -> Sequence[Tally]:
    """One tally for each of so many groups; each pair of group and cell occurs once."""
    order = np.lexsort((cell, group))
    ends = np.searchsorted(group[order], np.arange(1, number))
    return list(zip(np.split(cell[order], ends), np.split(people[order], ends), strict=True))


def _counted(each: Frame) -> Tally:
    """The cells that people have, in order, and how many have each."""
    rows = each.group_by("cell").agg(nw.len().alias("people")).lazy().collect()
    found, people = (np.asarray(rows[name].to_list(), dtype=np.int64) for name in ("cell", "people"))
    order = np.argsort(found)
    return found[order], people[order]


def _of_each(rows: Frame, rule: PerPerson, keys: Sequence[str]) -> Frame:
    """One "item" of each person's rows."""
    if rule != "median":
        one: Frame = rows.group_by(*keys).agg(_RULES[rule](nw.col("item")))
        return one
    if isinstance(rows, nw.DataFrame):
        return _medians_here(rows, keys)
    return _medians(rows, keys) if _has_windows(rows, keys) else _medians_here(rows.collect(), keys)


def _has_windows(rows: nw.LazyFrame[Any], keys: Sequence[str]) -> bool:
    """Whether the engine can number the rows of a person; of databases behind Ibis, tried without rows."""
    if not rows.implementation.is_ibis():
        return True
    try:
        _medians(rows.head(0), keys).lazy().collect()
    except Exception:  # each database has its own way of refusing
        return False
    return True


def _medians(rows: Frame, keys: Sequence[str]) -> Frame:
    """The lower median of each person's rows, by an engine: of r rows, the ⌈r/2⌉-th in order."""
    place = nw.col("item").cum_count().over(*keys, order_by="item")
    numbered: Frame = rows.with_columns(nw.len().over(*keys).alias("rows"), (place * 2).alias("twice"))
    above = nw.col("twice").cast(nw.Int64) - nw.col("rows").cast(nw.Int64)
    chosen: Frame = numbered.filter((above >= 0) & (above <= 1))
    return chosen


def _medians_here(rows: nw.DataFrame[Any], keys: Sequence[str]) -> Frame:
    """The same of rows in this process, whose engines do not number the rows of a person in order."""
    people = rows.group_by(*keys).agg(nw.len().alias("rows")).with_row_index("number")
    numbered = rows.join(people, on=list(keys), how="inner")
    number, item = (np.asarray(numbered[name].to_numpy()) for name in ("number", "item"))
    order = np.lexsort((item, number))
    each = np.bincount(number, minlength=len(people))
    first = np.cumsum(each) - each
    chosen = item[order][first + (each - 1) // 2]
    series = nw.new_series("item", chosen.tolist(), nw.Float64, backend=rows.implementation)
    return people.select(*keys).with_columns(series)
