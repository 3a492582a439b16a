"""`top_k` and `above` in groups, of items that nobody has listed.

Rows     those of each listed group; a person counts in at most m of them (`freegap.tables.groups`), and in
         each of these for at most r items, where `items_per_person` says so: those with the r smallest
         digests MD5(person, newline, item), as without groups (`freegap.tables.bounded`)
Release  in each group what the ungrouped release is, with ε/m (with Gumbel noise ρ/m) and δ/m. Of `above`
         that is one draw over all pairs of group and item: nobody changes more than m·r of these
Charge   ε and δ
Theorem  docs/mathematics/groups.md ("Items that nobody has listed")

Where nobody has listed the groups either, half of ε and half of δ name them, and the other halves are for
the above (`freegap.tables.grouping`).

The counts of all pairs of group and item that occur travel here, of `above` those that can come out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby, repeat
from typing import Any

import narwhals.stable.v2 as nw

from freegap.bits import BitSource
from freegap.charges import LedgerAndDataset, charged, require
from freegap.mechanisms.unknown_counts import UnknownCountsPlan, draw_counts
from freegap.mechanisms.unknown_domain import UnknownPlan
from freegap.mechanisms.unknown_populations import DrawnUnknown, draw_unknown_each
from freegap.mechanisms.unknown_slots import Slots, occurring, slots_of
from freegap.tables.bounded import can_choose, chosen_here, chosen_in_engine, of_one, persons_here
from freegap.tables.column_names import ItemColumns
from freegap.tables.domains import UNKNOWN, ListedDomain
from freegap.tables.engine_errors import ask_engine
from freegap.tables.grouping import GroupArguments, Grouping
from freegap.tables.groups import groups_named, in_chosen_groups, places_of, read_groups
from freegap.tables.kinds import OFTEN_ALIKE
from freegap.tables.results import Intervals, ItemsAbove, PrivacyUnit, TopItems, privacy_in_groups
from freegap.tables.sources import Frame, TableSource, open_source
from freegap.tables.unknown import Estimated, Pairs, all_texts, counts_above, measured_counts
from freegap.tables.unknown_above import bar_of, intervals_above
from freegap.tables.values import what_is_counted
from freegap.values.measures import Approximate, Pure
from freegap.values.plans import PlainPlan

Prepared = Callable[[BitSource], tuple[Grouping, list[Pairs]]]


def top_k_of_unknown_in_groups(
    plan: UnknownPlan,
    noise: Any,
    table: Any,
    of: GroupArguments,
    *,
    item: ItemColumns,
    person: str | None,
    people: int | None,
    account: LedgerAndDataset | None,
    source: BitSource,
) -> TopItems:
    """The release of `top_k` with groups and domain="unknown"; plan: of the whole, noise: as it was given."""
    naming = naming_of(of, plan.asked, people)
    with _opened(table, of, naming, item, person) as within:
        part = Fraction(1) if naming is None else Fraction(1, 2)
        each = plan.in_parts(within.grouping.touched, noise, part)
        price = each.price if naming is None else plan.asked
        require(account, price)
        prepared = within.prepared(each.items_per_person, 0)
        which = f"in each group the {plan.pool:,} items with the most people can come out"
        parameters = {**each.parameters, **within.parameters}
        whole = PlainPlan("top_k", plan.asked, parameters, price)

        def release() -> TopItems:
            grouping, counted = prepared(source)
            pools = [slots_of(*own, each.pool) for own in counted]
            drawn = draw_unknown_each(each, pools, source)
            found = [len(own.places) for own in drawn]
            pairs = list(zip(pools, drawn, strict=True))
            estimates, errors, intervals = _measured(each, pairs, source)
            labels = [pool.labels[place] for pool, own in pairs for place in own.places]
            return TopItems(
                plan=whole,
                labels=within.source.named(labels),
                gap_multiples=tuple(gap for own in drawn for gap in own.gaps),
                resolution=each.resolution,
                estimates=estimates,
                standard_errors=errors,
                intervals=intervals,
                counted=what_is_counted(None, by_row=within.source.by_row),
                privacy=within.privacy(grouping, which, plan.asked, each.items_per_person),
                groups=replace(grouping, sizes=tuple(found)),
                complete=all(number < each.k for number in found),
                spent=plan.epsilon,
                private=source.private,
            )

        return charged(account, whole, release)


def above_of_unknown_in_groups(
    plan: UnknownCountsPlan,
    table: Any,
    of: GroupArguments,
    *,
    item: ItemColumns,
    person: str | None,
    people: int | None,
    threshold: Fraction,
    k: int,
    account: LedgerAndDataset | None,
    source: BitSource,
) -> ItemsAbove:
    """The release of `above` with groups and domain="unknown"; plan: of the whole."""
    naming = naming_of(of, plan.asked, people)
    with _opened(table, of, naming, item, person) as within:
        part = Fraction(1) if naming is None else Fraction(1, 2)
        each = plan.in_parts(within.grouping.touched, part)
        require(account, plan.asked)
        bar = bar_of(each, threshold)
        prepared = within.prepared(each.items_per_person, bar - each.reach)
        which = "each item of a group is judged by itself"
        parameters = {"k": k, "threshold": bar, **each.parameters, **within.parameters}
        whole = PlainPlan("above", plan.asked, parameters)

        def release() -> ItemsAbove:
            grouping, counted = prepared(source)
            # In one draw: the group stands before the key of the item, and with its name.
            found = {
                (g, *key): (count, (g, label))
                for g, own in enumerate(counted)
                for key, (count, label) in occurring(zip(*own, strict=True)).items()
            }
            drawn = draw_counts(each, found, bar, source)
            named: list[list[tuple[Any, int]]] = [[] for _ in counted]
            for (g, label), count in zip(drawn.labels, drawn.counts, strict=True):
                named[g].append((label, count))
            first = [some[:k] for some in named]
            counts = [count for some in first for _, count in some]
            return ItemsAbove(
                plan=whole,
                labels=within.source.named([label for some in first for label, _ in some]),
                gap_multiples=tuple(count - bar for count in counts),
                resolution=Fraction(1),
                estimates=tuple(map(Fraction, counts)),
                standard_errors=(drawn.standard_error,) * len(counts),
                intervals=_intervals(each, [[count for _, count in some] for some in first], bar, k),
                counted=what_is_counted(None, by_row=within.source.by_row),
                privacy=within.privacy(grouping, which, plan.asked, each.items_per_person),
                groups=replace(grouping, sizes=tuple(map(len, first))),
                threshold=Fraction(bar),
                complete=all(len(some) < k for some in first),
                rest=f"items whose noisy count is {bar:,} or less; how many there are is not said.",
                spent=plan.epsilon,
                private=source.private,
            )

        return charged(account, whole, release)


def naming_of(of: GroupArguments, asked: Approximate, people: int | None) -> UnknownCountsPlan | None:
    """How groups are named that nobody has listed: with half of ε and half of δ."""
    return of.naming(Pure(asked.epsilon), asked.delta / 2, people)


@dataclass(frozen=True)
class _Within:
    """A table in groups, of which all that is public has been read."""

    source: TableSource
    groups: ListedDomain
    grouping: Grouping
    naming: UnknownCountsPlan | None

    @property
    def parameters(self) -> dict[str, Any]:
        """For the record."""
        return {**self.source.public(), "domain": UNKNOWN, **self.grouping.parameters}

    def privacy(
        self, grouping: Grouping, which: str, asked: Approximate, items_per_person: int | None
    ) -> PrivacyUnit:
        """What is protected. which: of the items that nobody has listed come out."""
        said = privacy_in_groups(self.source, f"{UNKNOWN}; {which}", grouping, asked)
        return said.bounded(None if self.source.by_row else items_per_person, " in a group")

    def prepared(self, per_group: int | None, bar: int) -> Prepared:
        """Count before anything is drawn what can be; then, of a source of bits, items and counts by group.

        per_group: for how many items each person counts in a group. bar: lesser or equal counts may be left.
        """
        grouping, naming = self.grouping, self.naming
        most = grouping.touched if grouping.enforced and not self.source.by_row else None
        if naming is None:
            counts = _counts(self.source, self.groups, most, per_group, bar)
            return lambda _: (grouping, counts)
        occurs = occurring(zip(*counts_above(self.source.turned(), 0, most), strict=True))

        def named(bits: BitSource) -> tuple[Grouping, list[Pairs]]:
            groups = groups_named(draw_counts(naming, occurs, naming.reach, bits).labels)
            found = _counts(self.source, groups, most, per_group, bar)
            return replace(grouping, labels=groups.items), found

        return named


@contextmanager
def _opened(
    table: Any, of: GroupArguments, naming: UnknownCountsPlan | None, item: ItemColumns, person: str | None
) -> Iterator[_Within]:
    with open_source(table, item, person, of.group) as source:
        if naming is None:
            groups, source = read_groups(of.groups, source, normalize=False)
            yield _Within(source, groups, of.grouping(groups.items, by_row=source.by_row), None)
            return
        declared = of.one_group_per_person
        grouping = Grouping(
            source.group or "", (), naming.items_per_person, declared, not declared, naming.reach + 1
        )
        yield _Within(source, groups_named(()), grouping, naming)


def _counts(
    source: TableSource, groups: ListedDomain, most: int | None, per_group: int | None, bar: int
) -> list[Pairs]:
    """For each group the items that people have there, and how many people count for each."""
    rows = ask_engine(source.rows)
    objects = source.kind == "other" and not source.lazy and not ask_engine(lambda: all_texts(rows))
    chosen = rows if most is None else ask_engine(lambda: in_chosen_groups(rows, source, groups, most))
    limit = None if source.by_row else per_group  # a row has one item
    # Of groups that an engine tells apart though they are equal here a person would have so many items each.
    here = objects or (limit is not None and source.group_kind in OFTEN_ALIKE)
    if here or chosen is None or (limit is not None and not ask_engine(lambda: can_choose(chosen))):
        return ask_engine(lambda: _counted_here(rows, groups, most, limit))
    return ask_engine(lambda: _counted_there(chosen, source, groups, limit, bar))


def _counted_there(
    rows: Frame, source: TableSource, groups: ListedDomain, limit: int | None, bar: int
) -> list[Pairs]:
    """By the engine, which chooses the items of each person in each group."""
    pairs: Frame = rows.group_by("cohort", "item", "person").agg(nw.len().alias("rows"))
    pairs = pairs.select("cohort", "item", "person")
    if limit is not None:
        pairs = chosen_in_engine(pairs, limit, within=("cohort",))
    counts = pairs.group_by("cohort", "item").agg(nw.len().alias("people"))
    found = counts.filter(nw.col("people") > bar).lazy().collect()
    places = places_of(found["cohort"], groups, source.group_kind).tolist()
    divided: list[Pairs] = [([], []) for _ in groups.items]
    for g, item, people in zip(places, found["item"].to_list(), found["people"].to_list(), strict=True):
        if g >= 0:
            divided[g][0].append(item)
            divided[g][1].append(int(people))
    return divided


def _counted_here(rows: Frame, groups: ListedDomain, most: int | None, limit: int | None) -> list[Pairs]:
    """As the engine does it, here: each person's groups, those that count of them, and their items there."""
    found = rows.lazy().collect()
    places = places_of(found["cohort"], groups, "").tolist()
    has: dict[Any, dict[int, list[Any]]] = defaultdict(dict)
    for person, g, item in zip(persons_here(found["person"]), places, found["item"].to_list(), strict=True):
        if g >= 0:
            has[person].setdefault(g, []).append(item)
    counting: list[list[tuple[Any, Any]]] = [[] for _ in groups.items]
    for person, by_group in has.items():
        for g, _ in of_one(person, {g: groups.items[g] for g in by_group}, most):
            counting[g].extend(zip(by_group[g], repeat(person)))
    return [chosen_here(pairs, limit) for pairs in counting]


def _measured(plan: UnknownPlan, drawn: Sequence[tuple[Slots, DrawnUnknown]], source: BitSource) -> Estimated:
    """Of what came out in each group, measured with its share; those with as many items at once."""
    if not plan.measured:
        return None, None, None
    counts = [[pool.counts[place] for place in own.places] for pool, own in drawn]
    made: dict[int, Any] = {}
    by_number = sorted(range(len(counts)), key=lambda g: len(counts[g]))
    for number, rows in groupby(by_number, key=lambda g: len(counts[g])):
        some = list(rows)
        flat = [count for g in some for count in counts[g]]
        parts = [list(column or ()) for column in measured_counts(plan, number, flat, source)]
        for at, g in enumerate(some):
            made[g] = [column[at * number : (at + 1) * number] for column in parts]
    columns = zip(*(made[g] for g in range(len(counts))), strict=True) if made else ((), (), ())
    estimates, errors, intervals = (tuple(one for part in column for one in part) for column in columns)
    return estimates, errors, intervals


def _intervals(plan: UnknownCountsPlan, counts: Sequence[Sequence[int]], bar: int, k: int) -> Intervals:
    """In each group by itself, as without groups."""
    of_groups = (intervals_above(plan, own, bar, bar if len(own) < k else own[-1]) for own in counts)
    return tuple(pair for own in of_groups for pair in own)
