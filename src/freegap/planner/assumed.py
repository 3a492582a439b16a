"""What is assumed of the counts. All of it is public: made up, released before, or declared to be public."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from freegap.errors import REDACTED, InvalidArgument, MissingExtra
from freegap.laws.law import Floats
from freegap.planner.crowds import Crowd
from freegap.values.rationals import Rational, count_argument, positive_rational

_ONE_BY_ONE = 4096  # of a power law; later ranks come in blocks, each as long as a thousandth of its first
_MOST_LISTED = 10**8
DECLARE = (
    "Pass public=True if anybody may know it; else plan from an old release or a power law: a plan that is "
    "made from private counts tells of them."
)


@dataclass(frozen=True)
class Assumed:
    """The counts that a plan is made for.

    what: one line for people. relative: only how far they are apart is known.
    """

    counts: Crowd
    what: str
    relative: bool = False
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class PowerLaw:
    """Assumed counts: the item of rank r has largest·r^(−exponent) people.

    items: how many items the public domain has. largest: how many people the first one has.
    exponent: how fast the counts fall: near 1 for words, products and places, less where items are alike.

    >>> PowerLaw(items=1000, largest=5000)
    PowerLaw(items=1000, largest=5000, exponent=1)
    """

    items: int
    largest: Rational
    exponent: Rational = 1

    def __post_init__(self) -> None:
        count_argument("items", self.items)
        self._numbers()

    def _numbers(self) -> tuple[float, float]:
        found = []
        for name, value in (("largest", self.largest), ("exponent", self.exponent)):
            number = positive_rational(name, value)
            if number > 10**18:
                raise InvalidArgument(name, value, "must be at most 10^18", f"Pass for example {name}=1.")
            found.append(float(number))
        return found[0], found[1]

    def assumed(self) -> Assumed:
        """The counts; far ranks in blocks, each at a rank in its middle."""
        largest, exponent = self._numbers()
        ranks, sizes = ranks_from(1, int(self.items))
        what = (
            f"a power law of {self.items:,} items, {largest:,.10g} people at the first, exponent {exponent:g}"
        )
        return Assumed(Crowd(largest * ranks**-exponent, sizes), what)


def ranks_from(first: int, last: int) -> tuple[Floats, Floats]:
    """The ranks from first to last, and how many there are at each: blocks where there are very many."""
    listed = np.arange(first, min(last, max(first, _ONE_BY_ONE)) + 1, dtype=float)
    if last <= listed[-1]:
        return listed, np.ones_like(listed)
    steps = math.ceil(math.log(last / listed[-1]) / math.log1p(1e-3))
    edges = np.unique(np.geomspace(listed[-1], last, steps + 1).round())
    middles = np.sqrt((edges[:-1] + 1) * edges[1:])
    return np.append(listed, middles), np.append(np.ones_like(listed), np.diff(edges))


def crowd_of(values: Any, sizes: Any = None) -> Crowd:
    """Counts in any order as groups of equal ones, from the largest down.

    An error shows none of them: they might be private by mistake.
    """
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        numbers = np.full(1, math.nan)
    if numbers.ndim != 1 or not 0 < len(numbers) <= _MOST_LISTED or not (np.abs(numbers) < 1e18).all():
        raise InvalidArgument(
            "counts", REDACTED, "must be one finite number for each item", "Pass for example [900, 700, 650]."
        )
    distinct, places = np.unique(numbers, return_inverse=True)
    return Crowd(distinct[::-1], np.bincount(places, sizes)[::-1].astype(float))


def listed_counts(values: Any, items: Any, what: str, sizes: Any = None) -> Assumed:
    """These counts, and 0 for every other item of the domain."""
    crowd = crowd_of(values, sizes)
    listed = crowd.items
    total = listed if items is None else count_argument("items", items)
    if total < listed:
        raise InvalidArgument(
            "items", items, f"must be at least the {listed} that are given", "Leave it out."
        )
    if total == listed:
        return Assumed(crowd, f"{what}: {listed:,} items")
    values, sizes = np.append(crowd.values, 0.0), np.append(crowd.sizes, float(total - listed))
    return Assumed(
        crowd_of(values, sizes), f"{what}: {listed:,} items, and {total - listed:,} that nobody has"
    )


def declared_public(
    source: Any, items: Any, *, item: str | None, person: str | None, count: str | None
) -> Assumed:
    """The counts of a file or a table that its owner declared public."""
    named = f"the file {Path(source).name}" if isinstance(source, str | Path) else "a table"
    if count is not None:
        return listed_counts(_column(source, count, named), items, f"the counts of {named}, declared public")
    if isinstance(source, Mapping):
        return listed_counts(list(source.values()), items, "labelled counts, declared public")
    if isinstance(source, np.ndarray):
        return listed_counts(source, items, "counts, declared public")
    if hasattr(source, "to_list"):  # a Series
        return listed_counts(source.to_list(), items, "counts, declared public")
    try:
        from freegap.tables.people import counted
    except ModuleNotFoundError:
        raise MissingExtra("narwhals", "tables") from None
    with counted(
        source,
        item=item,
        person=person,
        domain="observed",
        domain_column=None,
        observed_keys_are_public=True,
        normalize=False,
    ) as people:
        tally = people.tally
    return listed_counts(tally.values, items, f"the people in {named}, declared public", tally.sizes)


def _column(source: Any, count: str, named: str) -> list[float]:
    """A column of counts, of a CSV file or of a data frame."""
    try:
        if not isinstance(source, str | Path):
            return [float(value) for value in source[count]]
        with Path(source).open(encoding="utf-8-sig", newline="") as lines:
            return [float(row[count]) for row in csv.DictReader(lines)]
    except Exception as error:  # whatever a data frame or a file says: it is public
        raise InvalidArgument(
            "count",
            count,
            f"is no column of numbers of {named} ({type(error).__name__})",
            "Pass the name of a column of a CSV file with a heading, or of a data frame.",
        ) from None
