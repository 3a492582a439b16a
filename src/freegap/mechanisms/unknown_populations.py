"""The largest counts of many populations at once, where nobody knows which items there are.

Input    for each population the pool of its counts (`freegap.mechanisms.unknown_slots`)
Noise    of each as in `freegap.mechanisms.unknown_domain`, independent of that of all others: population g
         has a range of streams of one key to itself (`freegap.exact.parts`), its bar the last of them
Release  of each population what `unknown_top_k` releases on its part of the digits, bit for bit
Charge   ε and δ, where the plan divides them among the m populations that one person can change (`touched`)
Theorem  docs/mathematics/groups.md ("Items that nobody has listed"): m independent releases that are each
         (ε/m, δ/m)-private, or ρ/m-zCDP but for chances of δ/2m, beside others whose counts are the same

Of each population only what stands above its bar is wanted, and what comes next. So as many places are asked
for as have answers above the bar, and one; and more, where these were not enough. How many are asked for does
not change which ones come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.bits import BitSource
from freegap.exact.batched_ranking import BatchedRanking
from freegap.exact.digits import KeyedDigits
from freegap.exact.parts import Batch, Whole
from freegap.mechanisms.unknown_domain import UnknownPlan
from freegap.mechanisms.unknown_slots import Slots
from freegap.values.answers import GridValues


@dataclass(frozen=True, slots=True)
class DrawnUnknown:
    """What came out of one population: places in its pool, the largest first, and the gap of each to the
    next slot, in multiples of the plan's resolution."""

    places: list[int]
    gaps: list[int]


def draw_unknown_each(plan: UnknownPlan, pools: Sequence[Slots], source: BitSource) -> list[DrawnUnknown]:
    """One release for each population."""
    if not pools:
        return []
    batch = _batch(plan, pools)
    digits = KeyedDigits(source, batch.streams)
    named = [len(slots.labels) for slots in pools]
    bars = [slots.outside + plan.lift for slots in pools]
    above = (sum(count > bar for count in slots.counts) for slots, bar in zip(pools, bars, strict=True))
    wanted = np.array([min(plan.k, number) + 1 for number in above], dtype=np.int64)
    drawn: dict[int, DrawnUnknown] = {}
    while len(drawn) < len(pools):
        for top in np.unique(wanted[wanted > 0]).tolist():
            rows = np.flatnonzero(wanted == top)
            places, gaps = _ranked(plan, batch, rows, digits, top)
            for row, own, between in zip(rows.tolist(), places, gaps, strict=True):
                stop = next((at for at, item in enumerate(own[: plan.k]) if item >= named[row]), None)
                if stop is None and top <= plan.k:
                    wanted[row] = min(2 * top, plan.k + 1)
                    continue
                end = plan.k if stop is None else stop
                wanted[row] = 0
                drawn[row] = DrawnUnknown(own[:end], between[:end])
    return [drawn[row] for row in range(len(pools))]


def _batch(plan: UnknownPlan, pools: Sequence[Slots]) -> Batch:
    """The slots of each population: those with names, those without, and the bar; in multiples of γ."""
    values: list[int] = []
    sizes: list[int] = []
    ends = [0]
    fine = int(1 / plan.resolution)
    for slots in pools:
        missing = [plan.pool - len(slots.labels)] if plan.pool > len(slots.labels) else []
        values += [*(count * fine for count in slots.counts), *(0 for _ in missing)]
        values.append(int((slots.outside + plan.lift) * fine))
        sizes += [*(1 for _ in slots.labels), *missing, 1]
        ends.append(len(values))
    fits = max(values) < 2**61  # so that differences fit an int64
    answers: GridValues = np.array(values, dtype=np.int64) if fits else values
    return Batch.flat(answers, np.array(ends, dtype=np.int64), np.array(sizes, dtype=np.int64))


def _ranked(plan: UnknownPlan, batch: Batch, rows: Whole, digits: KeyedDigits, top: int) -> tuple[Any, Any]:
    """The `top` largest slots of these populations, and the gaps between them."""
    some = Batch(batch.values, batch.sizes, batch.begins[rows], batch.lengths[rows], batch.addresses[rows])
    ranking = BatchedRanking(
        some,
        grain=Fraction(plan.resolution),
        scale=plan.scale,
        resolution=plan.resolution,
        law=plan.law.continuous,
        digits=digits,
    )
    places, gaps = ranking.largest(top, gaps=True)
    return places.tolist(), [] if gaps is None else gaps.tolist()
