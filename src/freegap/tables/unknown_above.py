"""`above` of a table whose items nobody has listed, and whose people each count for at most m items.

Release  of the noisy counts of `freegap.mechanisms.unknown_counts`, which are all above K, those above the
         threshold, and of these the k largest: so the threshold is raised to K where it is below
Charge   ε and δ
Theorem  docs/mathematics/unknown.md ("Where nobody has many items"), and post-processing

Intervals are for what was selected. An item is shown because its noisy count Y is above some bar, so that
Y has the law of h + X given h + X > bar, which rises with h: its tails at Y are inverted. Where fewer than k
came out the bar is the threshold; where k did, it lies between that and the least of them. The higher the
bar, the larger is Y: so lower ends take the highest that it may be, and upper ends the lowest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from freegap.bits import BitSource
from freegap.charges import LedgerAndDataset, charged, require
from freegap.mechanisms.unknown_counts import UnknownCountsPlan, draw_counts
from freegap.mechanisms.unknown_slots import occurring
from freegap.tables.column_names import ItemColumns
from freegap.tables.domains import UNKNOWN
from freegap.tables.results import Intervals, ItemsAbove, privacy_of
from freegap.tables.sources import open_source
from freegap.tables.unknown import TAIL, counts_above
from freegap.tables.values import what_is_counted
from freegap.values.plans import PlainPlan


def bar_of(plan: UnknownCountsPlan, threshold: Fraction) -> int:
    """What a noisy count must exceed: the threshold, or K where that is more. Counts are whole numbers."""
    return max(math.floor(threshold), plan.reach)


def above_of_unknown(
    plan: UnknownCountsPlan,
    table: Any,
    *,
    item: ItemColumns,
    person: str | None,
    threshold: Fraction,
    k: int,
    account: LedgerAndDataset | None,
    source: BitSource,
) -> ItemsAbove:
    """The release of `above` with domain="unknown"."""
    bar = bar_of(plan, threshold)
    require(account, plan.asked)
    with open_source(table, item, person) as opened:
        pairs = counts_above(opened, bar - plan.reach, plan.items_per_person)
    found = occurring(zip(*pairs, strict=True))
    bounded = None if opened.by_row else plan.items_per_person  # a row has one item
    privacy = privacy_of(opened, f"{UNKNOWN}; each item is judged by itself").bounded(bounded)

    def release() -> ItemsAbove:
        drawn = draw_counts(plan, found, bar, source)
        counts = drawn.counts[:k]
        complete = len(counts) < k
        return ItemsAbove(
            plan=plan,
            labels=opened.named(drawn.labels[:k]),
            gap_multiples=tuple(count - bar for count in counts),
            resolution=Fraction(1),
            estimates=tuple(Fraction(count) for count in counts),
            standard_errors=(drawn.standard_error,) * len(counts),
            intervals=intervals_above(plan, counts, bar, bar if complete else counts[-1]),
            counted=what_is_counted(None, by_row=opened.by_row),
            privacy=privacy,
            threshold=Fraction(bar),
            complete=complete,
            rest=f"items whose noisy count is {bar:,} or less; how many there are is not said.",
            spent=drawn.spent,
            private=drawn.private,
        )

    public = {"k": k, "threshold": bar, **opened.public(), "domain": UNKNOWN}
    return charged(account, PlainPlan("above", plan.asked, plan.parameters | public), release)


def intervals_above(plan: UnknownCountsPlan, counts: Sequence[int], bar: int, highest: int) -> Intervals:
    """95 % intervals for the people of each item, given that its noisy count was above a bar; see above.

    bar, highest: the lowest and the highest that it may have been.
    """
    theta = float(plan.rate)

    def log_tail(x: int) -> float:
        """ln P(X ≥ x) of the noise before it is bounded, which differs by no more than δ."""
        if x >= 0:
            return -theta * x - math.log1p(math.exp(-theta))
        return math.log1p(-math.exp(theta * (x - 1)) / (1 + math.exp(-theta)))

    def chance_above(noisy: int, bar: int, people: int) -> float:
        """P(Y > noisy | Y > bar) with so many people."""
        return math.exp(log_tail(max(noisy, bar) + 1 - people) - log_tail(bar + 1 - people))

    def interval(noisy: int) -> tuple[float, float]:
        least, most = max(noisy - plan.reach, 1), noisy + plan.reach
        low = _first(least, noisy, lambda people: chance_above(noisy - 1, highest, people) >= TAIL)
        high = _first(noisy, most, lambda people: chance_above(noisy, bar, people) > 1 - TAIL)
        return float(low), float(max(high - 1, noisy))

    return tuple(interval(noisy) for noisy in counts)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first number from `low` on at which a condition holds that then goes on to hold; `high` at most."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
