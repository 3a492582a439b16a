"""Events beside the one that was confirmed: what the same runs say of them, for a search that goes on.

A confirmation counts more runs than a search ever has, and not its event alone: all the bars of its picture.
Where it settles nothing, another cut of the same numbers, or other values, may be what patience can show. A
search on samples five times as few could not tell. The runs that are counted here choose an event; they have
no part in the verdict on it, which takes fresh ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from freegap.auditor.confirm import Confirmation
from freegap.auditor.events import Between, Clause, Event, Histogram, OneOf
from freegap.auditor.families import Finding
from freegap.auditor.features import Whole
from freegap.auditor.outputs import Label
from freegap.auditor.plan import Plan
from freegap.auditor.search import Lead

CAUTION = 1.0  # neighbouring cuts have most runs in common: the best of them was hardly lucky


def lead_beside(result: Confirmation, plan: Plan) -> Lead | None:
    """The event that promises the most with patience, of those that the bars of a confirmation make up; None
    where none looks like a violation."""
    histogram, lead = result.histogram, result.lead
    if histogram is None or min(histogram.runs) == 0:
        return None
    conditions, first, second = [], [], []
    for condition, hits1, hits2 in _unions(histogram, lead.finding.event):
        conditions.append(condition)
        first.append(hits1)
        second.append(hits2)
    if not conditions:
        return None
    counts = np.array([first, second])
    forecast = plan.forecast(min(histogram.runs), CAUTION)
    scores = forecast.bound(counts, counts[::-1])
    side, at = np.unravel_index(int(np.argmax(scores)), scores.shape)
    if not scores[side, at] > plan.claim.amount:
        return None
    swapped = lead.finding.swapped != bool(side)
    hits1, hits2 = int(counts[0, at]), int(counts[1, at])
    if lead.finding.swapped:
        hits1, hits2 = hits2, hits1
    clauses = lead.finding.event.clauses
    event = Event((*clauses[:-1], Clause(clauses[-1].feature, conditions[at])))
    if (event, swapped) == (lead.finding.event, lead.finding.swapped):
        return None
    return replace(lead, finding=Finding(event, swapped, hits1, hits2, float(scores[side, at])))


def _unions(histogram: Histogram, event: Event) -> Iterator[tuple[Between | OneOf, int, int]]:
    """Both tails at every edge and every number, and single values, with how often they happened on the two
    inputs."""
    if isinstance(event.clauses[-1].feature, Whole):  # of which only equality means anything
        return
    first, second = np.array(histogram.first), np.array(histogram.second)
    starts = {at: value for at, value in enumerate(histogram.values) if not isinstance(value, Label)}
    starts |= {at: bar.low for at, bar in enumerate(histogram.bars) if bar.low is not None}
    for edge in sorted({start for start in starts.values() if math.isfinite(start)}):
        below = [at for at, start in starts.items() if start < edge]
        above = [at for at, start in starts.items() if start >= edge]
        for condition, bars in ((Between(high=edge), below), (Between(low=edge), above)):
            yield condition, int(first[bars].sum()), int(second[bars].sum())
    for at, value in enumerate(histogram.values):
        yield OneOf((value,)), int(first[at]), int(second[at])
