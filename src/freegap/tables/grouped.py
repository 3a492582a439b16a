"""`top_k` and `above` in each group of a table, as one release.

How the budget is divided, what is charged, and why: `freegap.tables.grouping`. Within a group the theorems
are those of `freegap.tables.releases`. All groups are one draw (`freegap.mechanisms.batches`,
`freegap.mechanisms.batched_hybrid`), and so is what measures them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.bits import BitSource
from freegap.charges import LedgerAndDataset, charged
from freegap.estimate.expected import selection_plan
from freegap.estimate.in_groups import EstimatedRows, above_rows, fused_rows
from freegap.mechanisms.batched_hybrid import draw_largest_above
from freegap.mechanisms.batches import draw_top_k_batch
from freegap.mechanisms.hybrids import sparse_vector_charge
from freegap.mechanisms.measurement import measured_law, measured_scale, measuring_noise
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.mechanisms.unknown_counts import UnknownCountsPlan, draw_counts
from freegap.mechanisms.unknown_slots import occurring
from freegap.tables.column_names import ItemColumns
from freegap.tables.domains import ListedDomain, ObservedDomain, read_domain
from freegap.tables.group_domains import (
    MOST_LISTED,
    all_items,
    items_of_groups,
    lists_of_groups,
    refuse_lists,
)
from freegap.tables.grouping import GroupArguments, Grouping, whole_of
from freegap.tables.groups import (
    GroupCounts,
    GroupItems,
    Places,
    count_groups,
    groups_named,
    listed,
    read_groups,
)
from freegap.tables.results import ItemsAbove, PrivacyUnit, TopItems, of_totals, privacy_in_groups
from freegap.tables.sources import TableSource, open_source
from freegap.tables.spelling import normalized, warn_of_spellings
from freegap.tables.tallies import require_items
from freegap.tables.unknown import counts_above
from freegap.tables.values import ClippedValue, how_moved, in_values, unit_of, what_is_counted
from freegap.values.measures import Measure, Pure, ZeroConcentrated
from freegap.values.plans import PlainPlan


@dataclass(frozen=True)
class GroupedTable:
    """A table in groups, of which all that is public has been read."""

    source: TableSource
    grouping: Grouping
    groups: ListedDomain
    items: GroupItems
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
    def fewest(self) -> int:
        """How many items the smallest group has."""
        return int(self.items.lengths(max(len(self.groups.items), 1)).min())

    @property
    def privacy(self) -> PrivacyUnit:
        """What is protected."""
        return privacy_in_groups(self.source, self.domain, self.grouping, self.asked)

    @property
    def parameters(self) -> dict[str, Any]:
        """For the record."""
        source = self.source
        return {
            **source.public(),
            **({} if source.value is None else source.value.parameters),
            "domain": self.domain,
            **self.grouping.parameters,
        }


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
    value: ClippedValue | None = None,
) -> Iterator[GroupedTable]:
    """The table in its groups; it can be counted until the context ends."""
    with open_source(table, item, person, of.group, value) as source:
        if value is not None:
            value.require_items(str(source.group), source.group_kind)
        lists, groups = None, groups_named(())
        if naming is None:
            if of.groups is not None:
                groups, source = read_groups(of.groups, source, normalize=normalize)
            lists = lists_of_groups(domain, domain_column, of.domain_group, source)
            if of.groups is None:
                of_lists = None if lists is None else list(lists)
                groups, source = read_groups(of_lists, source, normalize=normalize)
            grouping = of.grouping(groups.items, by_row=source.by_row)
        else:
            refuse_lists(domain, of.domain_group)
            declared = of.one_group_per_person
            grouping = Grouping(
                source.group or "", (), naming.items_per_person, declared, not declared, naming.reach + 1
            )
        chosen, source = read_domain(
            domain if lists is None else all_items(lists),
            domain_column if lists is None else None,
            source,
            observed_keys_are_public=observed_keys_are_public,
        )
        if normalize:
            chosen, source = normalized(chosen, source)
        else:
            warn_of_spellings(chosen)
        known = listed(chosen, source)
        items = GroupItems(known) if lists is None else items_of_groups(lists, groups, known)
        own = "in each group" if lists is None else "of which each group has its own"
        said = f"{len(known.items):,} public items, {own}"
        if isinstance(chosen, ObservedDomain):
            said = "the items that occur, declared to be public"
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
    summed = within.source.value
    plan = selection_plan(
        within.share, k, noise, measured=measured, resolution=resolution, **how_moved(summed)
    )
    reason = "the last gap is to a runner-up" if plan.last_gap else "k of them are selected"
    require_items(k, within.fewest, plan.places, reason)
    prepared = within.prepared()
    parameters = {"measure": measured} | plan.parameters | within.parameters
    whole = in_values(PlainPlan("top_k", within.whole, parameters), summed)

    def release() -> TopItems:
        found, cells = prepared(source)
        drawn = _selected(plan, cells, source)
        charge, made = plan.charge, None
        if measured:
            made, cost = _measured(plan, found.share, drawn, source)
            charge += cost
        group = np.repeat(np.arange(cells.groups), k)
        return TopItems(
            plan=whole,
            labels=found.source.named(found.items.names(group, drawn.places)),
            gap_multiples=tuple(drawn.gaps.ravel().tolist()),
            resolution=plan.resolution * unit_of(summed),
            **_estimated(made, summed),
            counted=what_is_counted(summed, by_row=within.source.by_row),
            privacy=found.privacy,
            groups=replace(found.grouping, sizes=(k,) * cells.groups),
            spent=found.spent([charge] * found.grouping.touched),
            private=source.private,
        )

    return charged(account, whole, release)


@dataclass(frozen=True)
class _SelectedItems:
    """What was selected in each group: the places of its items, their numbers, and the gaps."""

    places: list[int]
    numbers: NDArray[np.int64]
    gaps: NDArray[Any]


def _selected(plan: TopKPlan, cells: GroupCounts, source: BitSource) -> _SelectedItems:
    answers, offsets, sizes = _answers(cells)
    if not cells.groups:
        return _SelectedItems([], np.zeros((0, plan.k), np.int64), np.zeros((0, plan.k), np.int64))
    drawn = draw_top_k_batch(plan, answers, offsets, source, sizes=sizes)
    group = np.repeat(np.arange(cells.groups), plan.k)
    members = None if drawn.members is None else drawn.members.ravel()
    places = _places_in_groups(cells, group, drawn.places.ravel(), members)
    return _SelectedItems(places, answers[drawn.places + offsets[:-1, None]], np.asarray(drawn.gaps))


def _answers(cells: GroupCounts) -> tuple[NDArray[np.int64], Places, Places | None]:
    """The answers of all groups, where each begins; and of many how many items have each: those of nobody are
    then one answer of their group, the last."""
    if cells.lengths.sum(dtype=np.float64) <= MOST_LISTED:  # public numbers
        return *cells.flat(), None
    some = cells.sorted()
    starts = some.starts()
    present = np.diff(starts)
    absent = cells.lengths - present
    ends = np.cumsum(present + (absent > 0))
    values, sizes = np.zeros(ends[-1], np.int64), np.ones(ends[-1], np.int64)
    sizes[ends[absent > 0] - 1] = absent[absent > 0]
    offsets = np.append(0, ends)
    values[np.arange(len(some.people)) + (offsets[:-1] - starts[:-1])[some.group]] = some.people
    return values, offsets, sizes


def _places_in_groups(cells: GroupCounts, group: Places, place: Places, members: Places | None) -> list[int]:
    """The places of answers, and of members of those that are nobody's, among the items of their groups."""
    if members is None:
        listed_places: list[int] = place.tolist()
        return listed_places
    some = cells.sorted()
    items = [some.item[begin:end] for begin, end in pairwise(some.starts().tolist())]
    return [
        int(items[g][at]) if at < len(items[g]) else _absent(items[g], member)
        for g, at, member in zip(group.tolist(), place.tolist(), members.tolist(), strict=True)
    ]


def _absent(present: Places, member: int) -> int:
    """The member-th place that none of the rising places occupies."""
    return member + int(np.searchsorted(present - np.arange(len(present)), member, side="right"))


def _measured(
    plan: TopKPlan, share: Pure | ZeroConcentrated, drawn: _SelectedItems, source: BitSource
) -> tuple[EstimatedRows, Fraction]:
    """Measurements of what was selected, with half of what each group may spend, and what that cost it.

    As `select_and_measure` measures in one group; here all have noise from one key.
    """
    half = share.of(share.spent / 2)
    scale, cost = measured_scale(half, plan.k, plan.sensitivity)
    law, step = measured_law(half), plan.resolution
    number = drawn.numbers.size
    noise = measuring_noise(law, number, scale / step, source) if number else []
    exact = drawn.numbers.astype(object) * int(1 / step)
    measured = exact + np.array(noise, dtype=object).reshape(exact.shape)
    return fused_rows(plan, law, scale, measured, drawn.gaps), cost


def _estimated(made: EstimatedRows | None, summed: ClippedValue | None) -> dict[str, Any]:
    """What is said of estimates, in the unit of the values."""
    if made is None:
        return {"estimates": None, "standard_errors": None, "intervals": None}
    unit = unit_of(summed)
    return {
        "estimates": made.estimates if unit == 1 else tuple(unit * one for one in made.estimates),
        "standard_errors": tuple(error * float(unit) for error in made.standard_errors),
        "intervals": of_totals(summed, made.intervals),
    }


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
    summed = within.source.value
    amounts: dict[str, Any] = within.share.arguments()
    plan = ThresholdPlan.read(
        "hybrid_sparse_vector", k=k, noise=noise, resolution=resolution, **how_moved(summed), **amounts
    )
    require_items(k, within.fewest, k, "k items cannot be above")
    prepared = within.prepared()
    parameters = {"threshold": threshold} | plan.parameters | within.parameters
    whole = in_values(PlainPlan("above", within.whole, parameters), summed)
    unit = unit_of(summed)

    def release() -> ItemsAbove:
        found_in, cells = prepared(source)
        answers, offsets, sizes = _answers(cells)
        drawn = draw_largest_above(plan, answers, offsets, threshold / unit, source, sizes=sizes)
        group = np.repeat(np.arange(cells.groups), drawn.found)
        places = _places_in_groups(cells, group, drawn.places, drawn.members)
        found = drawn.found.tolist()
        charges = {number: plan.charge(_charge(plan, number)) for number in set(found)}
        return ItemsAbove(
            plan=whole,
            labels=found_in.source.named(found_in.items.names(group, places)),
            gap_multiples=tuple(drawn.gaps.tolist()),
            resolution=plan.resolution * unit,
            **_estimated(above_rows(plan, threshold / unit, drawn.found, drawn.gaps, cells.lengths), summed),
            counted=what_is_counted(summed, by_row=within.source.by_row),
            privacy=found_in.privacy,
            groups=replace(found_in.grouping, sizes=tuple(found)),
            spent=found_in.spent([charges[number] for number in found]),
            private=source.private,
            threshold=threshold,
            complete=all(number < k for number in found),
        )

    return charged(account, whole, release)


def _charge(plan: ThresholdPlan, found: int) -> Fraction:
    return sparse_vector_charge(plan, (range(found), ()))
