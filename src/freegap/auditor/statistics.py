"""The test on which a verdict rests: exact, free of nuisance parameters, valid at every look.

One trial is: toss a fair coin for a side, run the mechanism on the input of that side, see whether the
output falls into the event E. The sides are tossed, trial by trial, and that is what makes the test
exact: given that E happened s times in all, the number of times on side 1 is binomial with parameters s
and θ = P1/(P1 + P2), whatever P1 and P2 are. The hypothesis P1 ≤ e^ε·P2 says no more and no less than
θ ≤ 1/(1 + e^-ε), so

    p(ε) = P(Binomial(s, 1/(1 + e^-ε)) ≥ hits on side 1)

satisfies P(p ≤ α | hypothesis) ≤ α for every α, and inverting it (Clopper and Pearson) gives a lower
confidence bound for ε that has no ceiling: without a hit on side 2 it grows like the log of the hits.

P1 and P2 may change from trial to trial, by a state that the mechanism carries or a clock that it reads, as
long as they do not depend on the tosses of other trials and respect ε at each: given in which trials E
happened, the sides of those are independent, each side 1 with a probability of at most 1/(1 + e^-ε), so that
their number is stochastically no more than binomial. Where one call makes many runs, the runs of a call have
one side, and must be independent: that is assumed, and tested by how even the hits are over the calls, whose
order is tossed.

Ding 2020 §4.3.2 thins the hits by a random reduction and averages the p-values of many reductions; an average
of p-values is not a p-value (erratum 5). This test reduces nothing, and one set of counts serves every ε
of a curve (erratum 9).

For δ > 0 the hypothesis P1 ≤ e^ε·P2 + δ has no such conditional form; there, two Clopper–Pearson bounds
at half the level each are combined, which is valid given the tosses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freegap.auditor.events import Bins, Histogram
from freegap.auditor.outputs import Outputs, join
from freegap.auditor.sampling import CHUNK, OutputSource, Workers
from freegap.auditor.search import Lead
from freegap.errors import MechanismFailed, MissingExtra

try:
    from scipy import special
except ImportError as missing:  # the light core does without
    raise MissingExtra("scipy", "audit") from missing

__all__ = ["Confirmation", "EventCounts", "Look", "Spending", "confirm", "lower_bound", "p_value"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EventCounts:
    """How often the event happened on each side, of how many runs. Side 1 is the more likely one."""

    hits1: int
    hits2: int
    runs1: int
    runs2: int

    def __add__(self, other: EventCounts) -> EventCounts:
        return EventCounts(
            self.hits1 + other.hits1,
            self.hits2 + other.hits2,
            self.runs1 + other.runs1,
            self.runs2 + other.runs2,
        )

    @property
    def rate1(self) -> float:
        """Share of runs on side 1 in which the event happened."""
        return self.hits1 / self.runs1 if self.runs1 else 0.0

    @property
    def rate2(self) -> float:
        """Share of runs on side 2 in which the event happened."""
        return self.hits2 / self.runs2 if self.runs2 else 0.0


def p_value(counts: EventCounts, epsilon: ArrayLike, *, delta: float = 0.0) -> Any:
    """A valid p-value for P1 ≤ e^ε·P2 + δ: P(p ≤ α | hypothesis) ≤ α for every α in [0, 1].

    >>> round(float(p_value(EventCounts(30, 0, 100, 100), 0.0)), 12) == round(0.5 ** 30, 12)
    True
    """
    levels = np.asarray(epsilon, dtype=np.float64)
    if counts.hits1 == 0:
        found: Floats = np.ones_like(levels)
    elif delta == 0.0:
        found = special.betainc(counts.hits1, counts.hits2 + 1, special.expit(levels))
    else:
        found = np.vectorize(lambda level: _p_value_with_delta(counts, float(level), delta))(levels)
    return found if found.ndim else float(found)


def lower_bound(counts: EventCounts, alpha: float, *, delta: float = 0.0) -> float:
    """A lower confidence bound for the true ε: P(bound > ε | P1 ≤ e^ε·P2 + δ) ≤ α. At least 0.

    >>> few, many = EventCounts(1000, 0, 1000, 1000), EventCounts(9000, 0, 9000, 9000)
    >>> lower_bound(few, 1e-6) < lower_bound(many, 1e-6)
    True
    """
    if counts.hits1 == 0:
        return 0.0
    if delta > 0.0:
        low, high = _bounds(counts, alpha / 2)
        return float(max(0.0, np.log(low - delta) - np.log(high))) if low > delta else 0.0
    other = special.betainccinv(counts.hits2 + 1, counts.hits1, alpha)  # 1 - θ, exact near 0 too
    return float(max(0.0, np.log1p(-other) - np.log(other)))


def _bounds(counts: EventCounts, level: float) -> tuple[float, float]:
    """Clopper–Pearson: a lower bound for P1 and an upper bound for P2, each at the level."""
    low = special.betaincinv(counts.hits1, counts.runs1 - counts.hits1 + 1, level) if counts.hits1 else 0.0
    missed = counts.runs2 - counts.hits2
    high = special.betainccinv(counts.hits2 + 1, missed, level) if missed else 1.0
    return float(low), float(high)


def _p_value_with_delta(counts: EventCounts, epsilon: float, delta: float) -> float:
    """The smallest level at which the two bounds contradict the hypothesis, rounded up."""

    def rejects(log_level: float) -> bool:
        low, high = _bounds(counts, float(np.exp(log_level)) / 2)
        return bool(low > np.exp(epsilon) * high + delta)

    accepted, rejected = -700.0, 0.0
    if not rejects(rejected):
        return 1.0
    if rejects(accepted):
        return float(np.exp(accepted))
    for _ in range(60):
        middle = (accepted + rejected) / 2
        accepted, rejected = (accepted, middle) if rejects(middle) else (middle, rejected)
    return float(np.exp(rejected))


@dataclass(frozen=True)
class Look:
    """One look at the counts: what they were, and the share of the level that this look may use."""

    counts: EventCounts
    share: float


@dataclass(frozen=True)
class Spending:
    """A sequential test by alpha spending: the looks are fixed before, and share the level.

    The smallest of p/share over the looks is a valid p-value, and the largest of the bounds at level
    α·share a valid bound at level α, by the union bound; so the test may stop after any look.

    trials: the number of trials (both sides together) at each look, increasing.
    shares: positive, at most 1 in sum.
    usual: the number of trials after which only a test that looks promising goes on.
    """

    trials: tuple[int, ...]
    shares: tuple[float, ...]
    usual: int

    @classmethod
    def of(cls, trials: int, share: float = 1.0, patience: int = 1) -> Spending:
        """Looks after 1/64, 1/16, 1/4 and all of the trials, and after four, sixteen, … times as many up to
        `patience` times; most of the level is kept for the look after all trials.

        >>> Spending.of(6400).trials, Spending.of(6400, patience=16).trials
        ((100, 400, 1600, 6400), (100, 400, 1600, 6400, 25600, 102400))
        """
        plan = {trials // 64: 0.05, trials // 16: 0.05, trials // 4: 0.1, trials: 0.8}
        later = [4**i * trials for i in range(1, 32) if 4**i <= patience]
        if later:
            plan |= {trials: 0.6} | dict.fromkeys(later, 0.2 / len(later))
        kept = {count: part for count, part in plan.items() if count > 0}
        return cls(tuple(kept), tuple(share * part for part in kept.values()), trials)

    @property
    def usual_share(self) -> float:
        """The share of the level of the look after all of the usual trials."""
        return self.shares[self.trials.index(self.usual)]

    @staticmethod
    def p_value(looks: Sequence[Look], epsilon: ArrayLike, *, delta: float = 0.0) -> Any:
        """The p-value over the looks made so far, corrected for having looked."""
        levels = np.asarray(epsilon, dtype=np.float64)
        best: Floats = np.ones_like(levels)
        for look in looks:
            best = np.minimum(best, p_value(look.counts, levels, delta=delta) / look.share)
        return best if best.ndim else float(best)

    @staticmethod
    def lower_bound(looks: Sequence[Look], alpha: float, *, delta: float = 0.0) -> float:
        """The lower bound for ε over the looks made so far, corrected for having looked."""
        return max((lower_bound(look.counts, alpha * look.share, delta=delta) for look in looks), default=0.0)


# Fresh samples -------------------------------------------------------------------------------------------
#
# Nothing is chosen here: inputs, parameters, event and direction come from the search, and the looks and
# their shares of the level are fixed before the first run.


CONFIRM_KEY = 2
LIKELY, UNLIKELY = 0.7, 1.5  # standard deviations above the claim
PIECE = 500  # trials on one generator, where a call is a run
BLOCKS = 24  # at least so many in a look, where a call makes many runs
LEAST_IN_BLOCK = 8
TASK = 0.5  # seconds that one should take
DEPENDENT = 1e-12
LEAST_EXPECTED = 10


@dataclass
class Confirmation:
    """A lead and the looks at its fresh samples."""

    lead: Lead
    looks: list[Look] = field(default_factory=list)
    histogram: Histogram | None = None
    blocks: list[EventCounts] = field(default_factory=list)

    @property
    def dependent(self) -> bool:
        """Whether hits come in heaps, by the chi-squared test of equal rates in all blocks: then something is
        carried from one call to the next."""
        sides = ([(b.hits1, b.runs1) for b in self.blocks], [(b.hits2, b.runs2) for b in self.blocks])
        return any(_uneven(np.array(side, dtype=np.float64).reshape(-1, 2)) for side in sides)

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
    one_by_one = source.mechanism.one_by_one
    counts, trials, piece = EventCounts(0, 0, 0, 0), 0, 0
    for until, share in zip(spending.trials, spending.shares, strict=True):
        if until > spending.usual and not promising(result):
            break
        sizes = _sizes(until - trials, PIECE if one_by_one else CHUNK)
        blocks = 1 if one_by_one or source.mechanism.noise == "noise" else max(4, BLOCKS // len(sizes))
        pieces = [(size, blocks, (CONFIRM_KEY, number, piece + i)) for i, size in enumerate(sizes)]
        trials, piece = until, piece + len(pieces)
        together = min(100, max(1, int(TASK / (PIECE * workers.pace)))) if one_by_one and workers.pace else 1
        tasks = [pieces[i : i + together] for i in range(0, len(pieces), together)]
        work = partial(_count, source, result.lead, bins)
        for part, histogram in workers.map(work, tasks, sizes[0] * together, total=sum(sizes)):
            result.blocks += part
            counts = sum(part, counts)
            result.histogram = histogram if result.histogram is None else result.histogram + histogram
            report(counts.runs1 + counts.runs2, max(until, spending.usual))
        if not one_by_one and result.dependent:
            raise MechanismFailed(
                "carries something from one call to the next, so that the runs are not independent and no "
                "verdict would be valid (leave out `size`: where a call is a run, what is carried does no "
                "harm); seen",
                list(result.lead.first),
                dict(result.lead.candidate.parameters),
            )
        result.looks.append(Look(counts, share))
        if settled(result):
            break
    return result


def _sizes(trials: int, most: int) -> list[int]:
    return [min(most, trials - start) for start in range(0, trials, most)]


def _count(
    source: OutputSource, lead: Lead, bins: Bins | None, task: list[tuple[int, int, tuple[int, ...]]]
) -> tuple[list[EventCounts], Histogram]:
    """How often the event happened in every block of a few pieces of trials, and the histogram of all."""
    parameters, inputs = lead.candidate.parameters, (lead.first, lead.second)
    blocks: list[tuple[Outputs, Outputs]] = []
    for size, most, key in task:
        blocks += source.toss(inputs, parameters, size, max(1, min(most, size // LEAST_IN_BLOCK)), key)
    first, second = join([one for one, _ in blocks]), join([two for _, two in blocks])
    hits1 = _by_block(lead.finding.event.holds(first), [len(one) for one, _ in blocks])
    hits2 = _by_block(lead.finding.event.holds(second), [len(two) for _, two in blocks])
    counts = [
        EventCounts(h1, h2, len(one), len(two))
        for h1, h2, (one, two) in zip(hits1, hits2, blocks, strict=True)
    ]
    return counts, Histogram((), (), ()) if bins is None else bins.tally(first, second)


def _by_block(holds: NDArray[np.bool_], sizes: Sequence[int]) -> list[int]:
    before = np.concatenate([[0], np.cumsum(holds)])
    ends = np.concatenate([[0], np.cumsum(sizes)])
    return [int(n) for n in np.diff(before[ends])]


def _uneven(blocks: Floats) -> bool:
    """Whether these (hits, runs) are too uneven for one rate; neighbouring blocks are taken together until
    enough is expected of each."""
    hits, runs = blocks.sum(axis=0)
    rarer = min(hits, runs - hits)
    number = min(len(blocks), int(rarer / LEAST_EXPECTED))
    if number < 2:
        return False
    parts = np.array([part.sum(axis=0) for part in np.array_split(blocks, number)])
    parts = parts[parts[:, 1] > 0]
    expected = parts[:, 1] * hits / runs
    squares = (parts[:, 0] - expected) ** 2 / (expected * (1 - hits / runs))
    return bool(special.chdtrc(len(parts) - 1, squares.sum()) < DEPENDENT)
