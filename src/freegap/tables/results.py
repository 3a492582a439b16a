"""What a release from a table returns: items, gaps and estimates, and what exactly is protected.

These records hold nothing but what was released and public parameters. In particular they do not have
the positions of the selected items among the counts, which the mechanisms know and which are private.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from freegap.estimate.intervals import Interval
from freegap.mechanisms.unknown_domain import everything_else
from freegap.tables.grouping import Grouping
from freegap.tables.sources import TableSource
from freegap.tables.values import ClippedValue
from freegap.values.columns import Column, items_in_parts, one_each, ranks
from freegap.values.measures import Measure
from freegap.values.remarks import remarks_on
from freegap.values.results import Release
from freegap.values.written import as_double, jsonable, readable

_EMPTY = (
    "No item came out. If that is a surprise, compare the spelling of the domain with that of the table, and "
    "the threshold with the number of people."
)

_PEOPLE = (
    "two tables of which one has all rows of one more person; an item counts its distinct "
    "people, so each count differs by at most one, and all in the same direction"
)
_ROW = (
    "one row, as was asked for: somebody with several rows is not protected as a whole",
    "two tables of which one has one row more; an item counts its rows, so one count differs by one",
)

_EACH_ONE = ("people", "rows")
"""What is counted one by one, and has a number."""

Intervals = tuple[tuple[float, float], ...]


def of_people(intervals: Iterable[Interval]) -> Intervals:
    """Intervals of numbers of people, which are not negative: where nothing is known below, that is."""
    return tuple((max(low or 0.0, 0.0), max(high or 0.0, 0.0)) for low, high in intervals)


def of_totals(value: ClippedValue | None, intervals: Iterable[Interval]) -> Intervals:
    """Intervals of totals from those of their units, rounded outwards; of people, where there is no value."""
    if value is None:
        return of_people(intervals)
    least, most = value.range
    unit = float(value.unit)

    def end(units: float | None, unknown: float, way: float) -> float:
        number = unknown if units is None else math.nextafter(units * unit, way)
        return min(max(number, least), most)

    return tuple((end(low, least, -math.inf), end(high, most, math.inf)) for low, high in intervals)


@dataclass(frozen=True)
class PrivacyUnit:
    """What ε protects.

    unit: what one person is. neighbours: which tables may not be told apart.
    domain: where the items come from. filter: which rows were looked at; None for all.
    groups: where the groups come from, and in how many of them a person counts; None without groups.
    clipped: what was, also by leaving out rows of a person who counts for some of them only.
    items: the columns that make up an item, where there are several.
    """

    unit: str
    neighbours: str
    domain: str
    groups: str | None = None
    clipped: str = "nothing"
    filter: str | None = None
    items: tuple[str, ...] | None = None

    def clipping(self, *what: str) -> Self:
        """The same where this was clipped too, which is then said first."""
        before = () if self.clipped == PrivacyUnit.clipped else (self.clipped,)
        return replace(self, clipped="; ".join((*what, *before)) or PrivacyUnit.clipped)

    def bounded(self, items_per_person: int | None, where: str = "") -> Self:
        """The same where a person counts for so many items only, if that is said. where: in what."""
        if items_per_person is None:
            return self
        most = f"each person to at most {items_per_person:,} of their items{where}"
        return self.clipping(f"{most}, those with the least digests")

    def lines(self) -> list[str]:
        """For people."""
        lines = [f"One person is {self.unit}.", f"Neighbours: {self.neighbours}.", f"Domain: {self.domain}."]
        of = None if self.items is None else f"one value of each of the columns {', '.join(self.items)}"
        more = {"Items": of, "Groups": self.groups, "Clipped": self.clipped}
        lines += [f"{name}: {said}." for name, said in more.items() if said is not None]
        return lines if self.filter is None else [*lines, f"Rows: those where {self.filter}."]

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        said = asdict(self) | {"items": None if self.items is None else list(self.items)}
        return {name: value for name, value in said.items() if value is not None}

    def jsonable(self, labels: tuple[Any, ...]) -> list[Any]:
        """Items as JSON can hold them; those of several columns as lists."""
        if self.items is None:
            return [jsonable(label) for label in labels]
        return [[jsonable(part) for part in label] for label in labels]


def privacy_of(table: TableSource, domain: str, groups: str | None = None, touched: int = 0) -> PrivacyUnit:
    """What is protected in a table, of which people and items are counted.

    touched: in how many groups a person counts, where there are groups.
    """
    unit = "one line of the file" if table.by_line else f"one value of the column {table.person!r}"
    if table.by_row:
        unit, neighbours = _ROW
    elif groups is None:
        neighbours = _PEOPLE
    else:
        neighbours = (
            "two tables of which one has all rows of one more person; in a group an item counts its distinct "
            f"people, so counts differ in at most {touched:,} of the groups, each by at most one, and all in "
            "the same direction"
        )
    clipped = []
    if table.value is not None:
        neighbours = table.value.neighbours(by_row=table.by_row, touched=touched)
        clipped = [table.value.clipped(grouped=groups is not None)]
    if table.by_window is not None and not table.by_row:
        unit = f"{unit}, in one {table.by_window}: somebody who is in several is not protected as a whole"
        neighbours = neighbours.replace("all rows of one more person;", "one more person in one window;")
    items = tuple(part.column for part in table.parts) or None
    said = PrivacyUnit(unit, neighbours, domain, groups, filter=table.where, items=items)
    return said.clipping(*clipped)


def privacy_in_groups(table: TableSource, domain: str, grouping: Grouping, asked: Measure) -> PrivacyUnit:
    """What is protected in a table of which the groups are released one by one."""
    said = grouping.line(asked)
    if table.by_window is not None:
        declared = "each person is in one of them only, which was declared and not checked"
        said = said.replace(declared, "what a person does in one of them is protected by itself")
    protected = privacy_of(table, domain, said, grouping.touched)
    if not grouping.enforced or table.by_row:
        return protected
    return protected.clipping(f"each person to at most {grouping.touched:,} of their groups")


@dataclass(frozen=True, kw_only=True)
class TableRelease(Release):
    """What releases from a table share.

    labels: the selected items, the largest first.
    gap_multiples: their gaps as whole multiples of `resolution`.
    estimates: of the number of people of each item; None where there are none.
    standard_errors: of the estimates.
    intervals: of the numbers of people, at 95 %: of the selected items, at most 5 % are outside on average.
    privacy: what ε protects.
    groups: into which groups it is divided, where it is; the items of each come one after the other.
    counted: what the numbers are of: people, or rows where each is protected by itself; or the total of a
        column.
    """

    labels: tuple[Any, ...]
    gap_multiples: tuple[int, ...]
    resolution: Fraction
    estimates: tuple[Fraction, ...] | None
    standard_errors: tuple[float, ...] | None
    intervals: Intervals | None
    privacy: PrivacyUnit
    groups: Grouping | None = None
    counted: str = "people"

    gap_title = "gap"

    @property
    def everything_else(self) -> str | None:
        """A line about what was not released, where there is anything to say."""
        return None

    @cached_property
    def gaps(self) -> tuple[Fraction, ...]:
        """The gap of each selected item, rounded down to the resolution."""
        return tuple(multiple * self.resolution for multiple in self.gap_multiples)

    @cached_property
    def by_group(self) -> dict[Any, list[Any]]:
        """The rows of each group; of a release without groups, all rows under None."""
        return {None: self.rows()} if self.groups is None else self.groups.divided(self.rows())

    def columns(self) -> list[Column]:
        """Group where there are any, rank, item, gap, and estimates where there are any."""
        rows = len(self.labels)
        gaps = one_each(self.gaps, rows) if self.groups is None else self.groups.spread(self.gaps)
        columns = [
            *([ranks(rows)] if self.groups is None else self.groups.columns()),
            *items_in_parts(self.labels, self.privacy.items),
            Column(self.gap_title, gaps, float, "gap", unit=self.counted),
        ]
        if self.estimates is not None and self.standard_errors is not None and self.intervals is not None:
            columns.append(Column(self.counted, self.estimates, float, "estimate", ",.1f"))
            columns.append(Column("std. error", self.standard_errors, float, "standard_error", ",.1f"))
            columns.append(Column("95 % interval", self.intervals, tuple, form=",.0f"))
        return columns

    def footnotes(self) -> list[str]:
        """What was spent, what is protected, and a warning where the noise was not private."""
        _, *warnings = super().footnotes()
        rest = [] if self.everything_else is None else [f"Everything else: {self.everything_else}"]
        if not self.labels:
            rest.append(_EMPTY)
        return [*rest, self.cost(readable), *remarks_on(self.asked), *self.privacy.lines(), *warnings]

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        estimates = None if self.estimates is None else [as_double(estimate) for estimate in self.estimates]
        return {
            "labels": self.privacy.jsonable(self.labels),
            "gaps": [as_double(gap) for gap in self.gaps],
            "estimates": estimates,
            "standard_errors": None if self.standard_errors is None else list(self.standard_errors),
            "intervals": None if self.intervals is None else [list(pair) for pair in self.intervals],
            "resolution": jsonable(self.resolution),
            "privacy": self.privacy.to_dict(),
            **({} if self.groups is None else {"groups": self.groups.to_dict()}),
            "remarks": remarks_on(self.asked),
            **self._common(),
        }


@dataclass(frozen=True, kw_only=True)
class TopItems(TableRelease):
    """The items with the most people, each with its gap to the next, and estimates if asked for.

    complete: of an unknown domain, whether fewer than k were found; None where the domain is known.
    """

    complete: bool | None = None

    gap_title = "gap to next"

    @property
    def title(self) -> str:
        """One line that says what this is."""
        by = f"number of {self.counted}" if self.counted in _EACH_ONE else self.counted
        if self.groups is None:
            return f"Private top {len(self.labels)}, by {by}"
        k, groups = self.parameters["k"], len(self.groups.labels)
        return f"Private top {k} in each of {groups:,} groups, by {by}"

    @property
    def everything_else(self) -> str | None:
        """Of an unknown domain, what can be said of the items that are not named."""
        return None if self.complete is None else everything_else(self.complete, self.parameters["k"])

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        found = {} if self.complete is None else {"complete": self.complete}
        return {"release": "top_k", **found, **super().to_dict()}


@dataclass(frozen=True, kw_only=True)
class ItemsAbove(TableRelease):
    """The items with more people than a threshold, the largest first, each with its gap to the threshold.

    complete: fewer than k were found, in each group, so these are all that the release says are above.
    rest: of an unknown domain, what can be said of the items that are not named.
    """

    threshold: Fraction
    complete: bool
    rest: str | None = None

    gap_title = "above by"

    @property
    def title(self) -> str:
        """One line that says what this is."""
        extent = "all" if self.complete else "the first"
        more = f"more than {self.threshold}"
        over = f"{more} {self.counted}" if self.counted in _EACH_ONE else f"a {self.counted} of {more}"
        among = "" if self.groups is None else f" in {len(self.groups.labels):,} groups"
        return f"{len(self.labels)} items with {over}{among} ({extent}), privately"

    @property
    def everything_else(self) -> str | None:
        """Of an unknown domain, what can be said of the items that are not named."""
        return self.rest

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        extra = {"threshold": str(self.threshold), "complete": self.complete}
        return {"release": "above", **extra, **super().to_dict()}
