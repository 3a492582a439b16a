"""A table whose items nobody has listed: of its counts, only the largest leave the engine.

The items of the k̄ + 1 largest counts are a function of the counts and of an order of labels that no data
changes (`freegap.mechanisms.unknown_domain`). An engine may put items in order itself where all engines
agree on that order: whole numbers, and texts compared byte by byte. Elsewhere every item whose count ties
with the last one travels too, and the order is made here; of a table in this process all counts do.
"""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from freegap.bits import BitSource
from freegap.charges import LedgerAndDataset, charged
from freegap.errors import InvalidArgument
from freegap.mechanisms.unknown_domain import UnknownPlan, draw_unknown, slots_of
from freegap.tables.domains import UNKNOWN
from freegap.tables.engine_errors import ask_engine
from freegap.tables.in_engine import can_keep, keep
from freegap.tables.kinds import ENGINE_KINDS
from freegap.tables.people import count_people, without_rows
from freegap.tables.results import TopItems, privacy_of
from freegap.tables.sources import TableSource, open_source
from freegap.values.plans import PlainPlan

__all__ = ["is_unknown", "largest_counts", "refuse_with_known", "refuse_with_unknown", "top_k_of_unknown"]

Pairs = tuple[list[Any], list[int]]


def is_unknown(domain: Any) -> bool:
    """Whether a domain is said to be unknown."""
    return isinstance(domain, str) and domain == UNKNOWN


_ALONE: dict[str, tuple[Any, str]] = {
    "domain_column": (None, "it names a column of a public domain, and there is none"),
    "observed_keys_are_public": (False, "it need not be said: the items are private"),
    "measure": (False, "there is no theorem for it under (ε, δ)"),
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
    item: str | None,
    person: str | None,
    account: LedgerAndDataset | None,
    source: BitSource,
) -> TopItems:
    """The release of `top_k` with domain="unknown"."""
    with open_source(table, item, person) as opened:
        labels, people = largest_counts(opened, plan.pool + 1)
    slots = slots_of(labels, people, plan.pool)
    privacy = privacy_of(opened, f"unknown; the {plan.pool:,} items with the most people can come out")

    def release() -> TopItems:
        found = draw_unknown(plan, slots, source)
        return TopItems(
            plan=plan,
            labels=found.labels,
            gap_multiples=found.gap_multiples or (),
            resolution=found.resolution,
            estimates=None,
            standard_errors=None,
            intervals=None,
            privacy=privacy,
            complete=found.complete,
            spent=found.spent,
            private=found.private,
        )

    public = {"item": opened.item, "person": opened.person, "domain": UNKNOWN}
    return charged(account, PlainPlan("top_k", plan.asked, plan.parameters | public), release)


def largest_counts(source: TableSource, number: int) -> Pairs:
    """Items and how many people each has: at least the `number` largest, ties by the order of the items."""
    frame = ask_engine(lambda: count_people(source).lazy())
    if not source.lazy:
        return ask_engine(lambda: _pairs(frame))
    if source.kind in ENGINE_KINDS and (source.kind == "integer" or not frame.implementation.is_ibis()):
        return ask_engine(lambda: _pairs(frame.sort("people", "item", descending=[True, False]).head(number)))
    if not can_keep(ask_engine(lambda: without_rows(source))):
        return ask_engine(lambda: _pairs(frame))
    with keep(frame) as kept:
        return ask_engine(lambda: _with_ties(kept, number))


def _with_ties(kept: nw.LazyFrame[Any], number: int) -> Pairs:
    highest = kept.select("people").sort("people", descending=True).head(number).collect()
    least = min(highest["people"].to_list(), default=1)
    return _pairs(kept.filter(nw.col("people") >= least))


def _pairs(frame: nw.LazyFrame[Any]) -> Pairs:
    rows = frame.collect()
    return rows["item"].to_list(), [int(people) for people in rows["people"].to_list()]
