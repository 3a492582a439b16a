"""How many items have each count: all that a selection needs, and the names only of what it selects.

    value → how many items of the domain have it, falling, zero last (totals may be negative, and still)
    (value, member) → the member-th item with that value, in the order of the domain

The groups and the order of their members depend on the counts and the domain alone, never on the
engine or the order of rows, so that the same bits give the same release everywhere. A member's index is
drawn with freegap's own bits; an engine is only ever asked for "the i-th".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.errors import InvalidArgument
from freegap.tables.domains import ListedDomain
from freegap.values.counts import Counts
from freegap.values.thresholds import read_threshold

_MOST_PEOPLE = 2**62

Member = tuple[int, int]
"""A value, and which of the items that have it."""


@dataclass(frozen=True)
class Tally:
    """Groups of items with equal counts.

    values: the distinct counts, falling. sizes: how many items have each.
    find: the items at these places, in one go. It is asked for selected items only.
    """

    values: NDArray[np.int64]
    sizes: NDArray[np.int64]
    find: Callable[[Sequence[Member]], list[Any]]

    @property
    def items(self) -> int:
        """The size of the domain."""
        return int(self.sizes.sum(dtype=object))

    @property
    def counts(self) -> Counts:
        """As answers, whose labels are places (group, member): never released, as a group tells its count."""
        return Counts(self.values, self.sizes, name=lambda group, member: (group, member))

    def names(self, places: Sequence[tuple[int, int]]) -> tuple[Any, ...]:
        """The items at places (group, member)."""
        return tuple(self.find([(int(self.values[group]), member) for group, member in places]))


def number_of_people(threshold: Any) -> Fraction:
    """A threshold that counts may exceed."""
    bar = read_threshold(threshold, discrete=False)
    if abs(bar) > _MOST_PEOPLE:
        raise InvalidArgument("threshold", threshold, "must be a number of people", "Pass for example 500.")
    return bar


def require_items(k: int, items: int, needed: int, reason: str) -> None:
    """Refuse a domain of too few items, which is a public number."""
    if items < needed:
        raise InvalidArgument(
            "k",
            k,
            f"needs a domain of at least {needed} items, and this one has {items}: {reason}",
            "Pass a smaller k or a larger domain.",
        )


def tally_pairs(domain: ListedDomain, items: Sequence[Any] | NDArray[Any], counts: Any) -> Tally:
    """A tally from each item that occurs and its count; items outside the domain are dropped."""
    return tally_places(
        domain.items, *occupied(*in_domain(domain, items, np.asarray(counts, dtype=np.int64)))
    )


def occupied(
    places: NDArray[np.int64], people: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same without totals of 0, which are as if nobody had the item."""
    some = people != 0
    return places[some], people[some]


def tally_places(items: Sequence[Any], places: NDArray[np.int64], people: NDArray[np.int64]) -> Tally:
    """A tally from the places in a list of items that occur, each once, and their counts, none of them 0."""
    rising, sizes = np.unique(people, return_counts=True)
    values, sizes = rising[::-1], sizes[::-1].astype(np.int64)
    absent = len(items) - len(places)
    if absent:
        values, sizes = np.append(values, 0), np.append(sizes, absent)

    def find(members: Sequence[Member]) -> list[Any]:
        # Most items have other counts than the few that are asked for: only those are put in order.
        wanted = np.isin(people, [value for value, _ in members])
        some_places, some_people = places[wanted], people[wanted]
        order = np.lexsort((some_places, some_people))  # by count; then in the order of the domain
        some_places, some_people = some_places[order], some_people[order]
        occupied = np.sort(places) if any(value == 0 for value, _ in members) else places[:0]
        absent_before = occupied - np.arange(len(occupied))
        found = []
        for value, member in members:
            if value == 0:  # the member-th place that no item occupies
                place = member + int(absent_before.searchsorted(member, side="right"))
            else:
                place = int(some_places[int(some_people.searchsorted(value)) + member])
            found.append(items[place])
        return found

    return Tally(values, sizes, find)


def in_domain(
    domain: ListedDomain, items: Sequence[Any] | NDArray[Any], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions in the domain, each once, and their counts.

    Where an engine tells items apart that Python calls equal, two counts meet at one position. The
    larger is kept: a maximum of counts moves by at most one with a person, as each of them does; a sum
    could move by two.
    """
    if isinstance(items, np.ndarray) and isinstance(domain.items, range) and domain.items.step == 1:
        inside = (items >= domain.items.start) & (items < domain.items.stop)
        places, people = items[inside].astype(np.int64) - domain.items.start, counts[inside]
    else:
        all_places = positions(domain, items)
        inside = all_places >= 0
        places, people = all_places[inside], counts[inside]
    order = np.lexsort((-people, places))
    places, people = places[order], people[order]
    first = np.ones(len(places), dtype=bool)
    first[1:] = places[1:] != places[:-1]
    return places[first], people[first]


def positions(domain: ListedDomain, items: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """The items' places in the domain; -1 outside it."""
    plain = domain.hashed and set(map(type, items)) <= {str, int}
    numbers = dict(zip(items, range(len(items)), strict=True)) if plain else {}
    if len(numbers) != len(items):  # also where an engine tells items apart that are equal here
        return np.fromiter((_position(domain, item) for item in items), dtype=np.int64, count=len(items))
    # A dict of what occurs is small, and the domain, which may be large, is gone through once.
    at = np.fromiter(map(numbers.get, domain.items, repeat(-1)), dtype=np.int64, count=len(domain.items))
    occupied = np.flatnonzero(at >= 0)
    found = np.full(len(items), -1, dtype=np.int64)
    found[at[occupied]] = occupied
    return found


def _position(domain: ListedDomain, item: Any) -> int:
    """The item's place in the domain; -1 outside it."""
    try:
        place = domain.find(item)
        return place if 0 <= place < len(domain.items) and domain.items[place] == item else -1
    except (KeyError, ValueError, TypeError, IndexError, OverflowError):
        return -1
