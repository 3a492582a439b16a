"""Families of events about one feature: single values, sets of values, both tails, intervals.

Each family is weighed as a whole, in both directions at once, and only its best is kept: the one whose
confirmation promises the largest bound on ε.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.auditor.events import Between, Clause, Condition, Event, OneOf
from freegap.auditor.features import Feature, Reading
from freegap.auditor.outputs import INTEGER, Floats
from freegap.auditor.plan import BoundForecast

LARGEST_SET = 64
MOST_BINS = 4096
OUTLIERS = 200
FEW_HITS = 5
UNSCORED = -1e9

Tally = NDArray[np.int64]

_TAIL = np.array([0.0003, 0.001, 0.003, 0.01, 0.02])


@dataclass(frozen=True)
class Finding:
    """An event and how it came out on the samples of the search.

    swapped: the event is the likelier one on the second input.
    score: the bound on ε that a confirmation could expect, more where patience could show a violation.
    soon: the bound to be expected without patience.
    at_best: what the score would be if chance had been against the event.
    """

    event: Event
    swapped: bool
    hits1: int
    hits2: int
    score: float = field(compare=False)
    soon: float = field(compare=False, default=-math.inf)
    at_best: float = field(compare=False, default=-math.inf)

    @property
    def one_sided(self) -> int:
        """How often it happened, where that was on one side alone; 0 else."""
        return max(self.hits1, self.hits2) if min(self.hits1, self.hits2) == 0 else 0

    @cached_property
    def merit(self) -> float:
        """The score, a little less for an event that is hard to read."""
        return self.score - 0.004 * self.event.complexity * abs(self.score)


def rarest(found: Iterable[Finding]) -> list[Finding]:
    """Of each kind of condition, the event that happened the most often on one side alone."""
    best: dict[type, Finding] = {}
    for finding in found:
        kind = type(finding.event.clauses[-1].condition)
        if finding.one_sided > (best[kind].one_sided if kind in best else 0):
            best[kind] = finding
    return list(best.values())


@dataclass(frozen=True)
class Ordered:
    """The numbers of one side in order; where they are few whole numbers, each once with its count.

    before: how many numbers stand before each place of `values`, and how many there are in all.
    """

    values: Floats
    before: Tally

    @classmethod
    def of(cls, reading: Reading) -> Ordered:
        """The numbers that a feature read."""
        here = reading.is_number
        numbers = reading.numbers if here.all() else reading.numbers[here]
        if len(numbers) and not (reading.codes[here] != INTEGER).any():
            low = numbers.min()
            if numbers.max() - low < MOST_BINS:
                counts = np.bincount((numbers - low).astype(np.int64))
                seen = np.flatnonzero(counts)
                return cls(seen + low, np.concatenate([[0], np.cumsum(counts[seen])]))
        return cls(np.sort(numbers), np.arange(len(numbers) + 1))

    @property
    def count(self) -> int:
        """How many numbers there are."""
        return int(self.before[-1])

    def below(self, cuts: Floats) -> Tally:
        """How many are below each cut."""
        return self.before[np.searchsorted(self.values, cuts)]

    def tally(self, values: Floats) -> Tally:
        """How often each of these occurs."""
        return self.before[np.searchsorted(self.values, values, side="right")] - self.below(values)


def distinct(one: Ordered, two: Ordered) -> Floats:
    """The distinct values of both sides."""
    pool = np.sort(np.concatenate([one.values, two.values]), kind="stable")  # merges what is in order
    return pool[np.concatenate([[True], pool[1:] != pool[:-1]])] if len(pool) else pool


def cut_points(one: Ordered, two: Ordered, *, cuts: int, natural: Sequence[float]) -> Floats:
    """Quantiles of both sides together, denser in the tails, rounded so that they can be read aloud."""
    stride = max(1, (len(one.values) + len(two.values)) // 20_000)
    pool = np.sort(np.concatenate([one.values[::stride], two.values[::stride]]), kind="stable")
    inner = np.linspace(0.04, 0.96, max(2, cuts - 10))
    levels = np.concatenate([_TAIL, inner, 1 - _TAIL, [0.25, 0.75]])
    found = pool[(levels * (len(pool) - 1)).astype(np.int64)]
    chosen, (lower, upper) = found[:-2], found[-2:]
    spread = float(upper - lower) or float(pool[-1] - pool[0]) or 1.0
    step = 10.0 ** math.floor(math.log10(spread / 8))
    plain = [cut for cut in natural if pool[0] < cut < pool[-1]]
    apart = [_widest(one, two, lowest=lowest) for lowest in (True, False)]
    return np.unique(np.concatenate([np.round(chosen / step) * step + 0.0, plain, *apart]))


def _widest(one: Ordered, two: Ordered, *, lowest: bool) -> Floats:
    """The middle of the widest gap among the lowest, or the highest, values, where outliers begin."""
    ends = [part.values[:OUTLIERS] if lowest else part.values[-OUTLIERS:] for part in (one, two)]
    pool: Floats = np.sort(np.concatenate(ends)) / 2  # halved, the sum and the difference of two are doubles
    if len(pool) < 2:
        return 2 * pool
    at = int(np.argmax(np.diff(pool)))
    return np.array([pool[at] + pool[at + 1]])


@dataclass(frozen=True)
class Family:
    """Collects the best events about one feature, in each direction.

    before: conditions that hold besides.
    """

    feature: Feature
    before: tuple[Clause, ...]
    forecast: BoundForecast
    found: list[Finding]

    def keep(self, condition: Condition, swapped: bool, hits1: int, hits2: int, score: Any) -> None:
        """Take in an event, unless there is nothing to expect of it."""
        if score > -math.inf:
            event = Event((*self.before, Clause(self.feature, condition)))
            self.found.append(Finding(event, swapped, hits1, hits2, float(score)))

    def keep_one_sided(self, conditions: Callable[[int], Condition], c1: Tally, c2: Tally) -> None:
        """The event that happened the most often on one side and never on the other: perhaps a rare leak, of
        which these samples show too little for any score."""
        for swapped, high, low in ((False, c1, c2), (True, c2, c1)):
            alone = np.where(low == 0, high, 0)
            best = int(np.argmax(alone)) if len(alone) else 0
            if len(alone) and alone[best] >= FEW_HITS:
                self.keep(conditions(best), swapped, int(c1[best]), int(c2[best]), UNSCORED)

    def _both_ways(self, c1: Tally, c2: Tally, choices: Any = 1) -> Floats:
        """Scores for the event being likelier on the first input, and on the second."""
        return self.forecast.bound(np.stack([c1, c2]), np.stack([c2, c1]), choices)

    def _keep_best(
        self, conditions: Callable[[int], Condition], c1: Tally, c2: Tally, scores: Floats
    ) -> None:
        """The event with the best score, in each direction."""
        for swapped, score in zip((False, True), scores, strict=True):
            best = int(np.argmax(score))
            self.keep(conditions(best), swapped, int(c1[best]), int(c2[best]), score[best])

    def anything(self, one: Ordered, two: Ordered) -> None:
        """The event that there is a number at all."""
        c1, c2 = np.array([one.count]), np.array([two.count])
        self._keep_best(lambda at: Between(), c1, c2, self._both_ways(c1, c2))

    def sets(self, values: Sequence[Any], name: Callable[[int], str], c1: Tally, c2: Tally) -> None:
        """Single values, and unions taken in order of the ratio of the counts.

        name: how the value at a place is written; asked of the few that make an event.

        For a union the counts are split in two: one half gives the order, the other is counted. Else a
        union would collect whatever was lucky.
        """

        def one_of(chosen: Sequence[int]) -> OneOf:
            return OneOf(tuple(values[i] for i in chosen), tuple(map(name, chosen)))

        self._keep_best(lambda at: one_of([at]), c1, c2, self._both_ways(c1, c2, len(values)))
        if len(values) <= 2:  # the union of two is everything
            return
        some1, some2 = _halves(c1, c2)
        rest1, rest2 = c1 - some1, c2 - some2
        ratio = (some1 + 0.5) / (some2 + 0.5)
        orders = [np.argsort(sign * ratio, kind="stable")[:LARGEST_SET] for sign in (-1, 1)]
        more = np.stack([np.cumsum(rest1[orders[0]]), np.cumsum(rest2[orders[1]])])
        less = np.stack([np.cumsum(rest2[orders[0]]), np.cumsum(rest1[orders[1]])])
        choices = max(1, more.shape[1] // 8)  # the luckiest is taken, of unions that have much in common
        unions = replace(self.forecast, grow=2 * self.forecast.grow).bound(more, less, choices)
        for swapped, union, order in zip((False, True), unions, orders, strict=True):
            most = int(np.argmax(union))
            if most:
                chosen = [int(i) for i in order[: most + 1]]
                hits1, hits2 = int(c1[chosen].sum()), int(c2[chosen].sum())
                self.keep(one_of(chosen), swapped, hits1, hits2, union[most])

    def atoms(self, values: Floats, one: Ordered, two: Ordered, *, choices: int) -> None:
        """Exact values. choices: how many there were to pick from by their luck."""
        if not len(values):
            return
        c1, c2 = one.tally(values), two.tally(values)

        def value(at: int) -> OneOf:
            return OneOf((float(values[at]),))

        self._keep_best(value, c1, c2, self._both_ways(c1, c2, choices))
        self.keep_one_sided(value, c1, c2)

    def intervals(self, cuts: Floats, one: Ordered, two: Ordered) -> None:
        """Both tails at every cut point, and every interval between two of them."""
        low, high = _pairs(len(cuts) + 1)
        starts, ends = np.concatenate([[-np.inf], cuts]), np.concatenate([cuts, [np.inf]])
        below1 = np.concatenate([[0], one.below(cuts), [one.count]])
        below2 = np.concatenate([[0], two.below(cuts), [two.count]])
        h1, h2 = below1[high + 1] - below1[low], below2[high + 1] - below2[low]
        tails = (low == 0) | (high == len(ends) - 1)
        inner = len(tails) - int(tails.sum())
        choices = np.where(tails, (len(tails) - inner) // 4, inner // 4)
        scores = self._both_ways(h1, h2, choices)

        def between(places: Tally) -> Callable[[int], Condition]:
            return lambda at: Between(float(starts[low[places[at]]]), float(ends[high[places[at]]]))

        outer, within = np.flatnonzero(tails), np.flatnonzero(~tails)
        for part in (outer, within):
            if len(part):
                self._keep_best(between(part), h1[part], h2[part], scores[:, part])
        self.keep_one_sided(between(outer), h1[outer], h2[outer])


@lru_cache(maxsize=256)
def _pairs(count: int) -> tuple[Tally, Tally]:
    """All pairs of places, the first not after the second."""
    return np.triu_indices(count)


def _halves(c1: Tally, c2: Tally) -> tuple[Tally, Tally]:
    """A random half of each count."""
    toss = np.random.default_rng(1)
    return toss.binomial(c1, 0.5), toss.binomial(c2, 0.5)
