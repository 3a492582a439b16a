"""count(distinct person) group by group, item: one query, whatever the number of groups.

With a value it is the sum of what each person adds in the group (`freegap.tables.values`).

Rows     whose group is not listed, like those whose item is not, are left out, and nothing tells how many
Bound    each person in at most m groups: of the listed groups in which that person has rows, those with the m
         smallest digests MD5(person, newline, group), as `freegap.tables.bounded` chooses items
Theorem  a row stays by its own group and by the rows of its own person: so one person more or less changes
         the counts of at most m groups, each count by at most one, all in one direction (each total as
         `freegap.tables.values` says), and leaves the rows of everybody else as they were

Groups and items that occur travel here with their counts. DuckDB, files with it, and Spark choose the groups
of a person by themselves, among whole numbers and texts; elsewhere each group and item of a person travels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from freegap.errors import InvalidArgument
from freegap.tables.bounded import can_choose, chosen_in_engine, of_one, persons_here
from freegap.tables.domains import (
    OBSERVED,
    UNKNOWN,
    Domain,
    HeldDomain,
    ListedDomain,
    listed_in_order,
    read_domain,
)
from freegap.tables.engine_errors import ask_engine
from freegap.tables.kinds import ENGINE_KINDS, type_kind
from freegap.tables.sources import Frame, TableSource
from freegap.tables.spelling import normalized, warn_of_spellings
from freegap.tables.tallies import positions
from freegap.values.labels import key_of_label

Places = NDArray[np.int64]

_MOST_GROUPS = 10**7


@dataclass(frozen=True)
class GroupItems:
    """The public items of each group.

    listed: all of them. own: where not every group has all, the places in that list of those that each has,
        one group after the other; group g has own[starts[g]:starts[g + 1]].
    """

    listed: ListedDomain
    own: tuple[Places, Places] | None = None

    def lengths(self, groups: int) -> Places:
        """How many items each of so many groups has."""
        if self.own is None:
            return np.full(groups, len(self.listed.items), dtype=np.int64)
        return np.diff(self.own[0])

    def names(self, group: Places, place: Sequence[int]) -> tuple[Any, ...]:
        """The items at these places of these groups."""
        items = self.listed.items
        if self.own is None:
            return tuple(items[at] for at in place)
        starts, own = self.own
        return tuple(items[at] for at in own[starts[group] + np.asarray(place, dtype=np.int64)].tolist())

    def within(self, group: Places, item: Places) -> Places:
        """The place of each item, given by its place in the whole list, in its group; -1 outside it."""
        if self.own is None:
            return item
        starts, own = self.own
        whole = len(self.listed.items)
        keys = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * whole + own
        order = np.argsort(keys)
        wanted = group * whole + item
        at = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
        found: Places = np.where((item >= 0) & (keys[at] == wanted), at - starts[group], -1)
        return found


@dataclass(frozen=True)
class GroupCounts:
    """How many people have an item in a group, where anybody has; or what they add up to.

    group: a place in the list of groups. item: a place among the items of that group. Where an engine tells
        apart what Python calls equal a pair occurs twice; of its numbers the larger holds, as in
        `freegap.tables.tallies`.
    lengths: how many items each group has in all.
    """

    lengths: Places
    group: Places
    item: Places
    people: Places

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.lengths)

    def flat(self) -> tuple[NDArray[np.int64], Places]:
        """The number of each item, one group after the other; and where each begins, and the end."""
        offsets = np.concatenate([[0], np.cumsum(self.lengths)])
        nobody = np.iinfo(np.int64).min  # less than any total
        numbers = np.full(offsets[-1], nobody, dtype=np.int64)
        np.maximum.at(numbers, offsets[self.group] + self.item, self.people)
        numbers[numbers == nobody] = 0
        return numbers, offsets

    def sorted(self) -> GroupCounts:
        """By group and item, each pair once, and none of which nothing is to be told from nobody's."""
        order = np.lexsort((-self.people, self.item, self.group))
        group, item, people = self.group[order], self.item[order], self.people[order]
        first = people != 0
        first[1:] &= (group[1:] != group[:-1]) | (item[1:] != item[:-1])
        return GroupCounts(self.lengths, group[first], item[first], people[first])

    def starts(self) -> Places:
        """Of sorted cells, where each group begins, and the end of the last."""
        return np.searchsorted(self.group, np.arange(self.groups + 1))


def read_groups(groups: Any, source: TableSource, *, normalize: bool) -> tuple[ListedDomain, TableSource]:
    """The public groups, and the source with its groups read as their kind."""
    if groups is None:
        raise InvalidArgument(
            "groups",
            None,
            "is needed: releasing only the groups that occur would reveal one that one person alone has",
            "Pass a public list of groups, a range, a file, or a column of another table. Where nobody has a "
            f'list there is groups="{UNKNOWN}", with a delta.',
        )
    if isinstance(groups, str) and groups == OBSERVED:
        raise InvalidArgument(
            "groups",
            groups,
            "would tell which groups occur, and one person alone may have brought a group in",
            f'Pass a public list of groups, or groups="{UNKNOWN}" with a delta.',
        )
    try:
        chosen, turned = read_domain(groups, None, source.turned(), observed_keys_are_public=False)
        if normalize:
            chosen, turned = normalized(chosen, turned)
        else:
            warn_of_spellings(chosen, "list of groups")
    except InvalidArgument as error:
        if error.argument != "domain":
            raise
        said = (error.value, error.constraint, error.remedy.replace("domain_column='…'", "groups=[…]"))
    else:
        known = listed(chosen, turned)
        if len(known.items) > _MOST_GROUPS:
            said = (len(known.items), f"are more groups than {_MOST_GROUPS:,}", "Divide the release.")
            raise InvalidArgument("groups", *said)
        return known, turned.turned()
    raise InvalidArgument("groups", *said)


def groups_named(labels: Iterable[Any]) -> ListedDomain:
    """Groups that a release has named, in an order of their own; what Python calls equal is one."""
    items = list(dict.fromkeys(sorted(labels, key=lambda label: key_of_label(label) or ())))  # all have keys
    places = {label: place for place, label in enumerate(items)}
    kinds = frozenset(map(type_kind, map(type, items)))
    return ListedDomain(items, places.__getitem__, kinds, hashed=True)


def listed(domain: Domain, source: TableSource) -> ListedDomain:
    """A domain as a list: items that are held, or are declared to be known, are fetched."""
    if isinstance(domain, ListedDomain):
        return domain
    frame = domain.frame if isinstance(domain, HeldDomain) else source.rows()
    once = frame.group_by("item").agg(nw.len().alias("rows")).select("item")
    return listed_in_order(ask_engine(lambda: once.lazy().collect()["item"].to_list()))


def count_groups(
    source: TableSource, groups: ListedDomain, items: GroupItems, most: int | None
) -> GroupCounts:
    """The people of each item in each group, or what they add up to; each counts in `most` groups at most."""
    rows = ask_engine(source.rows)
    if most is not None:
        bounded = ask_engine(lambda: in_chosen_groups(rows, source, groups, most))
        if bounded is None:
            return ask_engine(lambda: _chosen_here(rows, source, groups, items, most))
        rows = bounded
    pairs = ask_engine(lambda: _of_people(rows, source))
    people = nw.len() if source.value is None else nw.col("value").sum()
    counts = ask_engine(lambda: pairs.group_by("cohort", "item").agg(people.alias("people")))
    # Sums of 64-bit numbers are wider in some engines.
    whole = ask_engine(lambda: counts.with_columns(nw.col("people").cast(nw.Int64)))
    return ask_engine(lambda: _bring(whole, source, groups, items))


def _of_people(rows: Frame, source: TableSource) -> Frame:
    """Each person with each item in each group, once; and "value", what the person adds to its total."""
    if source.value is not None:
        return source.value.of_people(rows, "cohort")
    once: Frame = rows.group_by("cohort", "item", "person").agg(nw.len().alias("rows"))
    return once


def in_chosen_groups(rows: Frame, source: TableSource, groups: ListedDomain, most: int) -> Frame | None:
    """The rows in the groups that the engine chooses for each person; None where it cannot choose."""
    of_groups: Frame = rows.select(nw.col("cohort").alias("item"), "person")
    if source.group_kind not in ENGINE_KINDS or not groups.kinds <= {source.group_kind}:
        return None
    if not can_choose(of_groups):
        return None
    can_occur = [group for group in groups.items if _can_occur(group)]
    known = of_groups.filter(nw.col("item").is_in(can_occur)) if can_occur else of_groups.head(0)
    pairs: Frame = known.group_by("item", "person").agg(nw.len().alias("rows")).select("item", "person")
    chosen: Any = chosen_in_engine(pairs, most).select(nw.col("item").alias("cohort"), "person")
    within: Any = rows
    joined: Frame = within.join(chosen, on=["cohort", "person"], how="semi")
    return joined


def _can_occur(group: Any) -> bool:
    """Whether a column of an engine can hold it: engines fail on numbers and texts that are none to them."""
    if not isinstance(group, str):
        return bool(-(2**63) <= group < 2**63)
    return not any("\ud800" <= letter <= "\udfff" for letter in group)


def _bring(counts: Frame, source: TableSource, groups: ListedDomain, items: GroupItems) -> GroupCounts:
    here = counts.lazy().collect()
    group = places_of(here["cohort"], groups, source.group_kind)
    item = places_of(here["item"], items.listed, source.kind)
    return _counted(groups, items, group, item, here["people"].to_numpy())


def _counted(
    groups: ListedDomain, items: GroupItems, group: Places, item: Places, people: Places
) -> GroupCounts:
    """The cells of which group and item are listed."""
    known = group >= 0
    group, people = group[known], people[known]
    place = items.within(group, item[known])
    inside = place >= 0
    return GroupCounts(items.lengths(len(groups.items)), group[inside], place[inside], people[inside])


def places_of(column: nw.Series[Any], domain: ListedDomain, kind: str) -> Places:
    """The place of each value in a list; -1 outside it. A value that occurs often is looked up once."""
    if kind in ENGINE_KINDS:
        encoded = column.to_arrow().dictionary_encode()
        values, codes = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
    else:
        codes_of: dict[Any, int] = {}
        codes = np.array([codes_of.setdefault(v, len(codes_of)) for v in column.to_list()], dtype=np.int64)
        values = list(codes_of)
    found: Places = positions(domain, values)[codes]
    return found


def _chosen_here(
    rows: Frame, source: TableSource, groups: ListedDomain, items: GroupItems, most: int
) -> GroupCounts:
    """As the engine does it, here: each person's groups, those that count of them, and their items."""
    here = _of_people(rows, source).lazy().collect()
    group = places_of(here["cohort"], groups, "").tolist()
    item = places_of(here["item"], items.listed, "").tolist()
    worth = repeat(1) if source.value is None else here["value"].to_list()
    has: dict[Any, dict[int, dict[int, int]]] = {}
    for person, g, i, number in zip(persons_here(here["person"]), group, item, worth, strict=False):
        if g >= 0:
            of_group = has.setdefault(person, {}).setdefault(g, {})
            of_group[i] = max(of_group.get(i, number), number)
    people: dict[tuple[int, int], int] = {}
    for person, by_group in has.items():
        for g, _ in of_one(person, {g: groups.items[g] for g in by_group}, most):
            for i, number in by_group[g].items():
                people[g, i] = people.get((g, i), 0) + number
    cells = np.array([(*cell, number) for cell, number in people.items()], dtype=np.int64)
    return _counted(groups, items, *cells.reshape(-1, 3).T)
