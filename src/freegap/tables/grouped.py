"""`top_k` and `above` in each group of a table, as one release.

How the budget is divided, what is charged, and why: `freegap.tables.grouping`. Within a group the theorems
are those of `freegap.tables.releases`. Noisy top-k of all groups is one draw (`freegap.mechanisms.batches`);
what is measured, and `above`, is drawn group by group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, pairwise
from typing import Any

import numpy as np

from freegap.bits import BitSource
from freegap.charges import LedgerAndDataset, charged
from freegap.estimate.bounds import gap_variances
from freegap.estimate.expected import selection_plan
from freegap.estimate.intervals import confidence_intervals
from freegap.estimate.selection import select_and_measure
from freegap.mechanisms.batches import draw_top_k_batch
from freegap.mechanisms.hybrids import hybrid_sparse_vector
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.mechanisms.unknown_counts import UnknownCountsPlan, draw_counts
from freegap.mechanisms.unknown_slots import occurring
from freegap.tables.column_names import ItemColumns
from freegap.tables.domains import UNKNOWN, ListedDomain, ObservedDomain, read_domain
from freegap.tables.grouping import GroupArguments, Grouping, whole_of
from freegap.tables.groups import GroupCounts, Places, count_groups, groups_named, listed, read_groups
from freegap.tables.results import ItemsAbove, PrivacyUnit, TopItems, of_people, privacy_of
from freegap.tables.sources import TableSource, open_source
from freegap.tables.spelling import normalized, warn_of_spellings
from freegap.tables.tallies import Tally, require_items, tally_places
from freegap.tables.unknown import counts_above
from freegap.values.measures import Measure, Pure, ZeroConcentrated
from freegap.values.plans import PlainPlan

_LISTED = 1 << 26
"""So many counts are listed one by one; of more, those that are 0 are counted by group."""


@dataclass(frozen=True)
class GroupedTable:
    """A table in groups, of which all that is public has been read."""

    source: TableSource
    grouping: Grouping
    groups: ListedDomain
    items: ListedDomain
    domain: str
    asked: Pure | ZeroConcentrated
    naming: UnknownCountsPlan | None

    @property
    def whole(self) -> Measure:
        """What the release may cost."""
        return whole_of(self.asked, self.naming)

    @property
    def share(self) -> Pure | ZeroConcentrated:
        """What each group may spend."""
        named = Fraction(0) if self.naming is None else self.naming.epsilon
        return self.grouping.share(self.asked.of(self.asked.spent - named))

    def spent(self, of_groups: Sequence[Fraction]) -> Fraction:
        """What the release has cost; with a δ what it may cost, as no theorem says less."""
        return self.grouping.charge(of_groups) if self.naming is None else self.asked.spent

    def prepared(self) -> Callable[[BitSource], tuple[GroupedTable, GroupCounts]]:
        """Count what can be counted before anything is drawn; then, of a source of bits, the rest of it."""
        if self.naming is None:
            counts = self.count()
            return lambda _: (self, counts)
        naming, most = self.naming, self.grouping.touched if self.grouping.enforced else None
        occurs = occurring(zip(*counts_above(self.source.turned(), 0, most), strict=True))

        def named(bits: BitSource) -> tuple[GroupedTable, GroupCounts]:
            groups = groups_named(draw_counts(naming, occurs, naming.reach, bits).labels)
            found = replace(self, groups=groups, grouping=replace(self.grouping, labels=groups.items))
            return found, found.count()

        return named

    def count(self) -> GroupCounts:
        """The people of each item in each group."""
        bounded = self.grouping.enforced and not self.source.by_row  # a row is in one group
        most = self.grouping.touched if bounded else None
        return count_groups(self.source, self.groups, self.items, most)

    @property
    def privacy(self) -> PrivacyUnit:
        """What is protected."""
        said = self.grouping.line(self.asked)
        if self.source.by_window is not None:
            declared = "each person is in one of them only, which was declared and not checked"
            said = said.replace(declared, "what a person does in one of them is protected by itself")
        return privacy_of(self.source, self.domain, said, self.grouping.touched)

    @property
    def parameters(self) -> dict[str, Any]:
        """For the record."""
        grouping, source = self.grouping, self.source
        rule = "declared" if grouping.declared else "enforced" if grouping.enforced else "any"
        return {
            **source.public(),
            "domain": self.domain,
            "group": source.group,
            "groups": len(grouping.labels) if self.naming is None else UNKNOWN,
            "groups_per_person": grouping.touched,
            "groups_of_a_person": rule,
        }

    def tallies(self, cells: GroupCounts) -> Iterator[Tally]:
        """The counts of each group, in groups of equal ones."""
        by_group = cells.sorted()
        for begin, end in pairwise(by_group.starts().tolist()):
            yield tally_places(self.items.items, by_group.item[begin:end], by_group.people[begin:end])


@contextmanager
def grouped(
    table: Any,
    of: GroupArguments,
    asked: Pure | ZeroConcentrated,
    naming: UnknownCountsPlan | None,
    *,
    item: ItemColumns,
    person: str | None,
    domain: Any,
    domain_column: str | None,
    observed_keys_are_public: bool,
    normalize: bool,
) -> Iterator[GroupedTable]:
    """The table in its groups; it can be counted until the context ends."""
    with open_source(table, item, person, of.group) as opened:
        if naming is None:
            groups, source = read_groups(of.groups, opened, normalize=normalize)
            grouping = of.grouping(groups.items, by_row=source.by_row)
        else:
            groups, source, declared = groups_named(()), opened, of.one_group_per_person
            grouping = Grouping(
                source.group or "", (), naming.items_per_person, declared, not declared, naming.reach + 1
            )
        chosen, source = read_domain(
            domain, domain_column, source, observed_keys_are_public=observed_keys_are_public
        )
        if normalize:
            chosen, source = normalized(chosen, source)
        else:
            warn_of_spellings(chosen)
        items = listed(chosen, source)
        observed = isinstance(chosen, ObservedDomain)
        said = f"{len(items.items):,} public items, in each group"
        said = "the items that occur, declared to be public" if observed else said
        yield GroupedTable(source, grouping, groups, items, said, asked, naming)


def top_k_in_groups(
    within: GroupedTable,
    *,
    k: int,
    measured: bool,
    noise: Any,
    resolution: Fraction,
    account: LedgerAndDataset | None,
    source: BitSource,
) -> TopItems:
    """The release of `top_k` with groups."""
    plan = selection_plan(within.share, k, noise, measured=measured, resolution=resolution)
    reason = "the last gap is to a runner-up" if plan.last_gap else "k of them are selected"
    require_items(k, len(within.items.items), plan.places, reason)
    prepared = within.prepared()
    parameters = {"measure": measured} | plan.parameters | within.parameters
    whole = PlainPlan("top_k", within.whole, parameters)

    def release() -> TopItems:
        found, cells = prepared(source)
        if measured:
            return _measured(found, plan, whole, cells, source)
        places, gaps = _drawn(plan, cells, source) if cells.groups else ([], [])
        items = found.items.items
        return TopItems(
            plan=whole,
            labels=found.source.named(items[place] for place in places),
            gap_multiples=tuple(gaps),
            resolution=plan.resolution,
            estimates=None,
            standard_errors=None,
            intervals=None,
            privacy=found.privacy,
            groups=replace(found.grouping, sizes=(k,) * cells.groups),
            spent=found.spent([plan.charge] * found.grouping.touched),
            private=source.private,
        )

    return charged(account, whole, release)


def _drawn(plan: TopKPlan, cells: GroupCounts, source: BitSource) -> tuple[list[int], list[int]]:
    """The places of the selected items in the domain, group by group, and their gaps."""
    if cells.groups * cells.items <= _LISTED:  # public numbers
        offsets = np.arange(cells.groups + 1, dtype=np.int64) * cells.items
        drawn = draw_top_k_batch(plan, cells.matrix().ravel(), offsets, source)
        places = drawn.places.ravel().tolist()
    else:
        some = cells.sorted()
        starts = some.starts()
        present = np.diff(starts)
        absent = cells.items - present
        ends = np.cumsum(present + (absent > 0))
        values, sizes = np.zeros(ends[-1], np.int64), np.ones(ends[-1], np.int64)
        sizes[ends[absent > 0] - 1] = absent[absent > 0]
        offsets = np.append(0, ends)
        values[np.arange(len(some.people)) + (offsets[:-1] - starts[:-1])[some.group]] = some.people
        drawn = draw_top_k_batch(plan, values, offsets, source, sizes=sizes)
        rows = zip(drawn.places.tolist(), np.asarray(drawn.members).tolist(), strict=True)
        items = (some.item[begin:end] for begin, end in pairwise(starts.tolist()))
        places = [
            int(of_group[place]) if place < len(of_group) else _absent(of_group, member)
            for of_group, row in zip(items, rows, strict=True)
            for place, member in zip(*row, strict=True)
        ]
    return places, np.asarray(drawn.gaps).ravel().tolist()


def _absent(present: Places, member: int) -> int:
    """The member-th place that none of the rising places occupies."""
    return member + int(np.searchsorted(present - np.arange(len(present)), member, side="right"))


def _measured(
    within: GroupedTable, plan: TopKPlan, whole: PlainPlan, cells: GroupCounts, source: BitSource
) -> TopItems:
    options: dict[str, Any] = {"monotonic": True, "noise": plan.law.name, "resolution": plan.resolution}
    options |= within.share.arguments()
    tallies = list(within.tallies(cells))
    made = [select_and_measure(tally.counts, plan.k, bits=source, **options) for tally in tallies]
    return TopItems(
        plan=whole,
        labels=within.source.named(_names(tallies, made)),
        gap_multiples=_joined(fused.selection.gap_multiples or () for fused in made),
        resolution=plan.resolution,
        estimates=_joined(fused.estimates for fused in made),
        standard_errors=_joined(fused.standard_errors for fused in made),
        intervals=of_people(_joined(fused.intervals() for fused in made)),
        privacy=within.privacy,
        groups=replace(within.grouping, sizes=(plan.k,) * len(made)),
        spent=within.spent([fused.spent for fused in made]),
        private=source.private,
    )


def above_in_groups(
    within: GroupedTable,
    *,
    threshold: Fraction,
    k: int,
    noise: Any,
    resolution: Fraction,
    account: LedgerAndDataset | None,
    source: BitSource,
) -> ItemsAbove:
    """The release of `above` with groups. What a group does not find it does not spend, under ε."""
    options: dict[str, Any] = {"k": k, "monotonic": True, "noise": noise, "resolution": resolution}
    options |= within.share.arguments()
    plan = ThresholdPlan.read("hybrid_sparse_vector", **options)
    require_items(k, len(within.items.items), k, "k items cannot be above")
    prepared = within.prepared()
    parameters = {"threshold": threshold} | plan.parameters | within.parameters
    whole = PlainPlan("above", within.whole, parameters)

    def release() -> ItemsAbove:
        found_in, cells = prepared(source)
        tallies = list(found_in.tallies(cells))
        made = [hybrid_sparse_vector(tally.counts, threshold, bits=source, **options) for tally in tallies]
        half = plan.resolution / 2  # a gap was rounded down: half a step is missing on average
        return ItemsAbove(
            plan=whole,
            labels=found_in.source.named(_names(tallies, made)),
            gap_multiples=_joined(found.gap_multiples or () for found in made),
            resolution=plan.resolution,
            estimates=tuple(estimate + half for found in made for estimate in found.estimates),
            standard_errors=tuple(math.sqrt(v) for found in made for v in gap_variances(found)),
            intervals=of_people(_joined(confidence_intervals(found) for found in made)),
            privacy=found_in.privacy,
            groups=replace(found_in.grouping, sizes=tuple(len(found.labels) for found in made)),
            spent=found_in.spent([found.spent for found in made]),
            private=source.private,
            threshold=threshold,
            complete=all(len(found.labels) < k for found in made),
        )

    return charged(account, whole, release)


def _names(tallies: Sequence[Tally], made: Sequence[Any]) -> tuple[Any, ...]:
    return _joined(tally.names(found.labels) for tally, found in zip(tallies, made, strict=True))


def _joined(parts: Iterable[Iterable[Any]]) -> tuple[Any, ...]:
    return tuple(chain.from_iterable(parts))
