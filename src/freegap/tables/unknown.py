"""A table whose items nobody has listed: of its counts, only the largest leave the engine.

The items of the k̄ + 1 largest counts are a function of the counts and of an order of labels that no data
changes (`freegap.mechanisms.unknown_domain`). An engine may put items in order itself where all engines
agree on that order: whole numbers, and texts compared byte by byte. Elsewhere every item whose count ties
with the last one travels too, and the order is made here; of a table in this process all counts do.

Where each person counts for at most m items, `freegap.tables.bounded` says which: the theorem then has m in
place of the whole pool, and what is measured has m for the number of counts that one person changes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import narwhals.stable.v2 as nw

from freegap.bits import BitSource
from freegap.charges import LedgerAndDataset, charged, require
from freegap.errors import InvalidArgument
from freegap.estimate.noise_laws import half_width
from freegap.mechanisms.arguments import DEFAULT_RESOLUTION
from freegap.mechanisms.measurement import measuring_noise
from freegap.mechanisms.unknown_domain import UnknownPlan, draw_unknown
from freegap.mechanisms.unknown_slots import occurring, slots_of
from freegap.tables.bounded import can_choose, chosen_here, persons_here
from freegap.tables.column_names import ItemColumns
from freegap.tables.domains import UNKNOWN
from freegap.tables.engine_errors import ask_engine
from freegap.tables.in_engine import can_keep, keep
from freegap.tables.kinds import ENGINE_KINDS
from freegap.tables.people import count_people, pairs_of, without_rows
from freegap.tables.results import Intervals, TopItems, privacy_of
from freegap.tables.sources import TableSource, open_source
from freegap.tables.values import what_is_counted
from freegap.values.labels import key_of_label
from freegap.values.plans import PlainPlan

TAIL = (1 - 0.95) / 2

Pairs = tuple[list[Any], list[int]]
Estimated = tuple[tuple[Fraction, ...] | None, tuple[float, ...] | None, Intervals | None]


def is_unknown(domain: Any) -> bool:
    """Whether a domain is said to be unknown."""
    return isinstance(domain, str) and domain == UNKNOWN


_ALONE: dict[str, tuple[Any, str]] = {
    "domain_column": (None, "it names a column of a public domain, and there is none"),
    "domain_group": (None, "it names a column of a public domain, and there is none"),
    "observed_keys_are_public": (False, "it need not be said: the items are private"),
    "normalize": (False, "there is no public spelling to compare with"),
    "value": (None, "the theorem is about numbers of people"),
    "noise": ("exponential", "the noise in a count is two-sided and geometric"),
    "resolution": (DEFAULT_RESOLUTION, "the noise in a count is a whole number"),
    "rho": (None, "there is no theorem for it in the measure rho; it is released under (ε, δ)"),
}


def refuse_with_unknown(**arguments: Any) -> None:
    """What has no meaning, or no theorem, where the domain is unknown."""
    for argument, value in arguments.items():
        usual, reason = _ALONE[argument]
        if value != usual:
            raise InvalidArgument(
                argument, value, f'cannot go with domain="{UNKNOWN}": {reason}', f"Leave out {argument}."
            )


def refuse_with_known(**arguments: Any) -> None:
    """What has a meaning only where the domain is unknown."""
    for argument, value in arguments.items():
        if value is not None:
            raise InvalidArgument(
                argument,
                value,
                "has a meaning only where the items are not known",
                f'Leave it out, or pass domain="{UNKNOWN}".',
            )


def top_k_of_unknown(
    plan: UnknownPlan,
    table: Any,
    *,
    item: ItemColumns,
    person: str | None,
    account: LedgerAndDataset | None,
    source: BitSource,
) -> TopItems:
    """The release of `top_k` with domain="unknown"."""
    require(account, plan.price)
    with open_source(table, item, person) as opened:
        labels, people = largest_counts(opened, plan.pool + 1, plan.items_per_person)
    slots = slots_of(labels, people, plan.pool)
    which = f"{UNKNOWN}; the {plan.pool:,} items with the most people can come out"
    privacy = privacy_of(opened, which).bounded(None if opened.by_row else plan.items_per_person)

    def release() -> TopItems:
        found = draw_unknown(plan, slots, source)
        counts = dict(zip(map(key_of_label, slots.labels), slots.counts, strict=True))
        measured = [counts[key_of_label(label)] for label in found.labels]
        number = len(measured)
        estimates = measured_counts(plan, number, measured, source) if plan.measured else (None, None, None)
        return TopItems(
            plan=plan,
            labels=opened.named(found.labels),
            gap_multiples=found.gap_multiples or (),
            resolution=found.resolution,
            estimates=estimates[0],
            standard_errors=estimates[1],
            intervals=estimates[2],
            counted=what_is_counted(None, by_row=opened.by_row),
            privacy=privacy,
            complete=found.complete,
            spent=found.spent,
            private=found.private,
        )

    public = {**opened.public(), "domain": UNKNOWN}
    return charged(account, PlainPlan("top_k", plan.asked, plan.parameters | public, plan.price), release)


def measured_counts(plan: UnknownPlan, found: int, counts: list[int], source: BitSource) -> Estimated:
    """Fresh noise in the counts of what came out, with half of the budget; see the theorem.

    found: how many came out; in groups in each of those that these are of.
    """
    if not counts:
        return (), (), ()
    law, scale = plan.measuring(found)
    noise = measuring_noise(law, len(counts), scale / plan.resolution, source)
    estimates = tuple(count + step * plan.resolution for count, step in zip(counts, noise, strict=True))
    far = half_width(law, scale, plan.resolution, 2 * TAIL)
    intervals = tuple((float(estimate) - far, float(estimate) + far) for estimate in estimates)
    return estimates, (math.sqrt(law.variance(float(scale))),) * len(counts), intervals


def largest_counts(source: TableSource, number: int, most: int | None = None) -> Pairs:
    """Items and how many people each has: at least the `number` largest, ties by the order of the items.

    most: for how many items each person counts at most.
    """
    frame = _counts(source, most)
    if isinstance(frame, tuple):
        return frame
    if not source.lazy:
        return ask_engine(lambda: _pairs(frame))
    if source.kind in ENGINE_KINDS and (source.kind == "integer" or not frame.implementation.is_ibis()):
        return ask_engine(lambda: _pairs(frame.sort("people", "item", descending=[True, False]).head(number)))
    if not can_keep(ask_engine(lambda: without_rows(source))):
        return ask_engine(lambda: _pairs(frame))
    with keep(frame) as kept:
        return ask_engine(lambda: _with_ties(kept, number))


def counts_above(source: TableSource, bar: int, most: int | None) -> Pairs:
    """Items and for how many people each counts, where these are more than `bar`."""
    frame = _counts(source, most)
    if isinstance(frame, tuple):
        return frame
    return ask_engine(lambda: _pairs(frame.filter(nw.col("people") > bar)))


def _counts(source: TableSource, most: int | None) -> nw.LazyFrame[Any] | Pairs:
    """A frame of "item" and "people"; or, where the engine cannot choose for whom to count, all counts.

    Of objects of several types pandas takes equal ones for one (1, 1.0 and True) and names it by the first
    that it meets, which one person may bring: so they are counted here. Of texts alone it gets the same.
    """
    objects = source.kind == "other" and not source.lazy and not ask_engine(lambda: all_texts(source.rows()))
    if most is None and not objects:
        return ask_engine(lambda: count_people(source).lazy())
    pairs = ask_engine(lambda: source.rows() if objects else pairs_of(source))
    if ask_engine(lambda: can_choose(pairs)):
        return ask_engine(lambda: count_people(source, most).lazy())
    rows = ask_engine(lambda: pairs.lazy().collect())
    columns = ask_engine(lambda: (rows["item"].to_list(), persons_here(rows["person"])))
    return ask_engine(lambda: chosen_here(zip(*columns, strict=True), most))


def all_texts(rows: Any) -> bool:
    """Whether the items of a table in this process are texts alone."""
    return set(map(type, rows["item"].to_list())) <= {str}


def _with_ties(kept: nw.LazyFrame[Any], number: int) -> Pairs:
    """The largest and what ties with them; or all, where fewer are left of these than could be selected from.

    Infinity has no key and cannot come out, and Python may take two of the engine's items for one.
    """
    highest = kept.select("people").sort("people", descending=True).head(number).collect()
    least = min(highest["people"].to_list(), default=1)
    largest = _pairs(kept.filter(nw.col("people") >= least))
    return largest if len(occurring(zip(*largest, strict=True))) >= number else _pairs(kept)


def _pairs(frame: nw.LazyFrame[Any]) -> Pairs:
    rows = frame.collect()
    return rows["item"].to_list(), [int(people) for people in rows["people"].to_list()]
