"""Answers for a domain too large to list: distinct values, and how many items have each.

Ten to the twelfth products of which a million were ever sold is an ordinary input: a million answers
of one item each, and one group of almost 10^12 items with the answer zero. The domain is never
listed; an item of a group gets its name only when it is selected.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.errors import REDACTED, InvalidArgument
from freegap.values.answers import (
    MOST_ITEMS,
    Answers,
    GridValues,
    as_array,
    exact_singles,
    read_numbers,
    require_countable,
)


class Counts:
    """Groups of items with equal answers.

    values: the answer of each group.
    sizes: how many items have it.
    name: a function (group, member) → label, member from 0 to the group's size − 1. It is called for selected
        items only. It must not tell the group: a group's number goes with its answer, which is private.
        For the same reason a release on `Counts` has labels but no `indices`.

    >>> counts = Counts([812, 0], [1, 10**12], name=lambda group, member: ("flu", "rare")[group])
    >>> counts.items
    1000000000001
    """

    def __init__(
        self,
        values: Sequence[Any] | NDArray[Any],
        sizes: Sequence[int] | NDArray[Any],
        *,
        name: Callable[[int, int], Any],
    ) -> None:
        _require_sized("values", values)
        self._values = values
        self._sizes = _read_sizes(sizes)
        if len(self._sizes) != len(values):
            raise InvalidArgument(
                "sizes",
                REDACTED,
                "must be as many as the values",
                "Pass one size for each value.",
            )
        self.items = int(self._sizes.sum(dtype=object)) if len(self._sizes) else 0
        if self.items > MOST_ITEMS:
            raise InvalidArgument(
                "sizes", REDACTED, "must add up to at most 2^62 items", "Use a smaller domain."
            )
        if not callable(name):
            raise InvalidArgument(
                "name",
                REDACTED,
                "must be a function of (group, member) that gives an item's label",
                "Or use Counts.over(domain, counts), which names the items of a domain.",
            )
        self._name = name
        self._names: Callable[[NDArray[np.intp], NDArray[np.int64]], tuple[Any, ...]] | None = None
        self._read: dict[Fraction, Answers] | None = None

    @classmethod
    def over(
        cls,
        domain: Sequence[Any],
        counts: Mapping[Any, Any] | None = None,
        *,
        items: Sequence[Any] | NDArray[Any] | None = None,
        values: Sequence[Any] | NDArray[Any] | None = None,
    ) -> Counts:
        """Counts over a public domain: the items that occur, with their values; all others have zero.

        Give either a mapping from item to value, or `items` and `values` in parallel. The domain is
        anything sized and indexable, such as `range(10**12)`; items outside it are an error.

        >>> Counts.over(range(10**12), {17: 3, 99: 5}).items
        1000000000000
        """
        if isinstance(counts, Mapping):
            # An array is read once and for all; a list would be at each release.
            items, values = list(counts), as_array(list(counts.values()), "counts")
        elif counts is not None:
            raise InvalidArgument(
                "counts", REDACTED, "must be a mapping from item to value", "Or pass items= and values=."
            )
        if items is None or values is None:
            raise InvalidArgument("counts", counts, "is missing", "Pass a dict, or items= and values=.")
        for argument, given in (("domain", domain), ("items", items), ("values", values)):
            _require_sized(argument, given)
        positions = _positions(domain, items)
        absent = len(domain) - len(positions)
        if absent == 0:
            return cls(values, np.ones(len(positions), np.int64), name=lambda group, _: items[group])
        # A zero of the same kind: with another, NumPy would turn uint64 into doubles, and round.
        zero = np.zeros(1, values.dtype) if isinstance(values, np.ndarray) else [0]
        padded = np.append(values, zero) if isinstance(values, np.ndarray) else [*values, *zero]
        sizes = np.ones(len(positions) + 1, np.int64)
        sizes[-1] = absent
        # How many absent places come before each present one: never falls.
        absent_before = positions - np.arange(len(positions))
        every_so_many = absent_before[::_STRIDE].copy()

        def name(group: int, member: int) -> Any:
            if group < len(positions):
                return items[group]
            return domain[member + int(absent_before.searchsorted(member, side="right"))]

        def names(groups: NDArray[np.intp], members: NDArray[np.int64]) -> tuple[Any, ...]:
            places = members + _numbers_up_to(members, absent_before, every_so_many)
            found = _members_of_domain(domain, places)
            for place in np.flatnonzero(groups < len(positions)).tolist():
                found[place] = items[groups.item(place)]
            return tuple(found)

        over = cls(padded, sizes, name=name)
        over._names = names
        over._read = {}  # nobody else has the values: what they are on a grid need not be asked again
        return over

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many items each group has."""
        return self._sizes

    @cached_property
    def large(self) -> NDArray[np.intp]:
        """The places of the groups of more than one item."""
        return np.flatnonzero(self._sizes > 1)

    def read(self, resolution: Fraction) -> Answers:
        """The groups' answers on the grid; see `freegap.values.answers`."""
        known = None if self._read is None else self._read.get(resolution)
        if known is not None:
            return known
        values: GridValues
        values, grain = read_numbers(self._values, resolution)
        if self.items == 0:
            raise InvalidArgument("answers", REDACTED, "must not be empty", "Pass at least two items.")
        if self._read is None:
            return Answers(values, grain, None)
        singles = None
        if isinstance(values, np.ndarray):
            values.setflags(write=False)
            singles = exact_singles(values)
            if singles is not None:
                singles.setflags(write=False)
        answers = Answers(values, grain, None, singles)
        self._read = {resolution: answers}
        return answers

    def label(self, group: int, member: int) -> Any:
        """The name of one item."""
        return self._name(group, member)

    def labels(self, groups: NDArray[np.intp], members: NDArray[np.int64]) -> tuple[Any, ...]:
        """The names of many items, each as `label` gives it."""
        if self._names is None:
            return tuple(map(self._name, groups.tolist(), members.tolist()))
        return self._names(groups, members)

    def __repr__(self) -> str:
        return f"<Counts: {self.items} items>"  # how many groups there are is private


def _members_of_domain(domain: Sequence[Any], places: NDArray[np.int64]) -> list[Any]:
    """domain[place] for each of the places."""
    if isinstance(domain, range) and domain.start > -_FAR and domain.stop < _FAR and domain.step == 1:
        listed: list[int] = (places + domain.start).tolist()
        return listed
    return list(map(domain.__getitem__, places.tolist()))


_FAR = 2**63
_STRIDE = 256


def _numbers_up_to(
    members: NDArray[np.int64], among: NDArray[np.int64], sample: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How many of the numbers, which never fall, are up to each member; as `searchsorted` on its right side.

    sample: every 256th of the numbers. A search jumps about in the memory and waits for each jump; so of many
        members all jump together, from the last in the sample that is up to each.
    """
    if len(members) < _STRIDE or len(among) < _STRIDE**2:
        return among.searchsorted(members, side="right")
    blocks = sample.searchsorted(members, side="right")
    last = np.maximum(blocks - 1, 0) * _STRIDE
    step = _STRIDE // 2
    while step:
        further = last + step  # beyond the end, the last of all stands for it
        np.copyto(last, further, where=among.take(further, mode="clip") <= members)
        step //= 2
    return np.where(blocks > 0, np.minimum(last + 1, len(among)), 0)


def _require_sized(argument: str, value: Any) -> None:
    require_countable(argument, value)
    if not hasattr(value, "__len__") or not hasattr(value, "__getitem__"):
        raise InvalidArgument(
            argument, f"<{type(value).__name__}>", "must be a sequence", "Pass a list or a NumPy array."
        )


def _read_sizes(sizes: Any) -> NDArray[np.int64]:
    try:
        array = np.asarray(sizes)
    except ValueError:  # lists of lists of different lengths
        array = np.empty((0, 0))
    if array.ndim != 1 or (len(array) and array.dtype.kind not in "iu"):
        raise InvalidArgument(
            "sizes",
            REDACTED,
            "must be a sequence of whole numbers",
            "Pass one size for each value.",
        )
    if len(array) and (int(array.min()) < 1 or int(array.max()) > MOST_ITEMS):
        raise InvalidArgument(
            "sizes", REDACTED, "must each be between 1 and 2^62", "Leave out groups without items."
        )
    return array.astype(np.int64, copy=False)


def _positions(domain: Sequence[Any], items: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """The places of the items in the domain, sorted; every item must be in it, once."""
    if isinstance(domain, range) and domain.step == 1 and isinstance(items, np.ndarray):
        positions = _positions_in_range(domain, items)
    else:
        find = _place_in(domain) if isinstance(domain, range) else _lookup(domain)
        positions = np.array([_find(find, item) for item in items], dtype=np.int64)
    if (positions < 0).any():
        raise _outside()
    positions = np.sort(positions)
    if (positions[1:] == positions[:-1]).any():
        raise InvalidArgument(
            "items",
            REDACTED,
            "must not name an item twice",
            "Add up the counts of each item first.",
        )
    return positions


def _positions_in_range(domain: range, items: NDArray[Any]) -> NDArray[np.int64]:
    """Items minus the start of a range with step 1; a negative number where one is outside of it."""
    if items.ndim != 1 or (len(items) and items.dtype.kind not in "iu"):
        return np.array([-1])
    if len(items) == 0:
        return np.empty(0, dtype=np.int64)
    low, high = int(items.min()), int(items.max())  # Python's: the largest unsigned ones are no int64
    if low < domain.start or high >= domain.stop:
        return np.array([-1])
    if min(low, domain.start) >= -(2**63) and high < 2**63:
        return items.astype(np.int64) - domain.start
    return np.array([int(item) - domain.start for item in items], dtype=np.int64)


def _place_in(domain: range) -> Callable[[Any], int]:
    """As `domain.index`, which goes through all of the domain for what is no integer of Python's own."""

    def find(item: Any) -> int:
        if type(item) is int:
            return domain.index(item)
        is_number = isinstance(item, numbers.Real | Decimal) and not isinstance(item, np.timedelta64)
        if not is_number or item != int(item):
            raise ValueError
        return domain.index(int(item))

    return find


def _lookup(domain: Sequence[Any]) -> Callable[[Any], int]:
    try:
        places = {item: place for place, item in enumerate(domain)}
    except TypeError:
        raise InvalidArgument(
            "domain", domain, "must contain hashable items", "Use tuples in place of lists."
        ) from None
    if len(places) != len(domain):
        raise InvalidArgument("domain", domain, "must not name an item twice", "Remove the duplicates.")
    return places.__getitem__


def _find(find: Callable[[Any], int], item: Any) -> int:
    """The item's place; -1 outside the domain. An error raised here would carry the item in its context."""
    try:
        return find(item)
    except (KeyError, ValueError, TypeError, ArithmeticError):  # it is not there, or no number
        return -1


def _outside() -> InvalidArgument:
    return InvalidArgument(
        "items",
        REDACTED,
        "must all be in the domain",
        "Drop what is outside the public domain before counting; do not report how much it was.",
    )
