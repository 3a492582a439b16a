"""Confirm a lead on fresh samples, look by look, and stop as soon as the matter is settled.

Nothing is chosen here: inputs, arguments, event and direction come from the search, and the looks and
their shares of the level are fixed before the first run. Every trial tosses for its side, which is what
the test of `freegap.auditor.statistics` rests on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from freegap.auditor.events import Bins, Histogram
from freegap.auditor.sampling import CHUNK, OutputSource, Workers
from freegap.auditor.search import Lead
from freegap.auditor.statistics import EventCounts, Look, Spending

__all__ = ["Confirmation", "confirm"]

CONFIRM_KEY, TOSS_KEY = 2, 3
LIKELY, UNLIKELY = 0.7, 1.5  # standard deviations above the claim


@dataclass
class Confirmation:
    """A lead and the looks at its fresh samples."""

    lead: Lead
    looks: list[Look] = field(default_factory=list)
    histogram: Histogram | None = None

    @property
    def counts(self) -> EventCounts:
        """The counts at the last look."""
        return self.looks[-1].counts if self.looks else EventCounts(0, 0, 0, 0)

    def p_value(self, epsilon: float, delta: float = 0.0) -> float:
        """Valid for the claim that the mechanism is ε-private on this pair and event."""
        return float(Spending.p_value(self.looks, epsilon, delta=delta))

    def lower_bound(self, alpha: float, delta: float = 0.0) -> float:
        """A lower confidence bound for ε at level α."""
        return Spending.lower_bound(self.looks, alpha, delta=delta)

    def promising(self, epsilon: float, delta: float = 0.0, *, expected: bool) -> bool:
        """Whether the counts lean towards a violation, more so where the search did not expect one. It
        decides about more samples, never the verdict."""
        counts = self.counts
        excess = counts.rate1 - delta
        if excess <= 0 or counts.hits2 == 0:
            return excess > 0
        deviations = (LIKELY if expected else UNLIKELY) * math.sqrt(1 / counts.hits1 + 1 / counts.hits2)
        return math.log(excess / counts.rate2) > epsilon + deviations


def confirm(
    source: OutputSource,
    workers: Workers,
    result: Confirmation,
    spending: Spending,
    *,
    number: int,
    settled: Callable[[Confirmation], bool],
    promising: Callable[[Confirmation], bool],
    bins: Bins | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Confirmation:
    """Draw fresh samples until all looks are made or `settled`, after the usual ones only while `promising`;
    fills `result`, so that an interruption keeps the looks made so far.

    number: tells the confirmations of one audit apart, so that each has samples of its own.
    """
    toss = np.random.Generator(
        np.random.SFC64(np.random.SeedSequence(source.seed, spawn_key=(TOSS_KEY, number)))
    )
    counts, trials, chunk = EventCounts(0, 0, 0, 0), 0, 0
    for until, share in zip(spending.trials, spending.shares, strict=True):
        if until > spending.usual and not promising(result):
            break
        tasks = []
        while trials < until:
            size = min(CHUNK, until - trials)
            first = int(toss.binomial(size, 0.5))
            tasks.append((first, size - first, (CONFIRM_KEY, number, chunk)))
            trials, chunk = trials + size, chunk + 1
        work = partial(_count, source, result.lead, bins)
        sizes = [first + second for first, second, _ in tasks]
        for part, histogram in workers.map(work, tasks, max(sizes, default=0), total=sum(sizes)):
            counts = counts + part
            result.histogram = histogram if result.histogram is None else result.histogram + histogram
            report(counts.runs1 + counts.runs2, max(until, spending.usual))
        result.looks.append(Look(counts, share))
        if settled(result):
            break
    return result


def _count(
    source: OutputSource, lead: Lead, bins: Bins | None, task: tuple[int, int, tuple[int, ...]]
) -> tuple[EventCounts, Histogram]:
    runs1, runs2, key = task
    arguments = lead.candidate.arguments
    first = source.draw(lead.first, arguments, runs1, (*key, 0))
    second = source.draw(lead.second, arguments, runs2, (*key, 1))
    event = lead.finding.event
    counts = EventCounts(event.hits(first), event.hits(second), runs1, runs2)
    if bins is None:
        return counts, Histogram((), (), ())
    return counts, bins.tally(first, second)
