"""Make a counterexample minimal: shorter inputs, smaller numbers, plainer parameters, a simpler event.

Smaller variants are tried in order of size on samples of their own; the first that still looks like a
violation is taken, and the shrinking starts again from it. Where the user gave the inputs, only those are
tried. What comes out is a lead: the verdict on it takes a confirmation on fresh samples, like any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from freegap.auditor.events import Between, Clause, Event, OneOf
from freegap.auditor.families import Finding
from freegap.auditor.features import value_text
from freegap.auditor.inputs import Pair, SearchCandidate
from freegap.auditor.mechanism import Parameters, freeze
from freegap.auditor.parameters import is_count, parameter_grid
from freegap.auditor.plan import Effort, Plan, Round
from freegap.auditor.sampling import OutputSource, Workers
from freegap.auditor.scout import Scouted, scout
from freegap.auditor.search import Lead

BATCH, FEW = 16, 6  # candidates that are tried beside each other; of what is rare
MOST_STEPS = 12
MOST_TRIED = 112
MOST_RUNS = 40  # times the samples of the search, in all: what is rare takes many to be seen at all
LEAST_RUNS = 10_000
GLIMPSE = 4  # a part of the samples, in which what is rare shows at least once
FIRST_ROUND = 100  # keys of the search end well below this
MARGIN = 1.02
HOPELESS = 0.5
ENOUGH_HITS, LEANING = 60, 3  # of those expected, a part that is not luck


@dataclass
class _Shrinker:
    source: OutputSource
    workers: Workers
    plan: Plan
    pairs: Sequence[Pair]
    scale: float
    first_look: Mapping[SearchCandidate, float]
    rate: float
    """How often the event happens."""
    seen: int
    """Samples that show the event often enough, or as many as there may be."""
    rounds: int = FIRST_ROUND
    spent: int = 0
    """Runs that were made."""

    @property
    def rare(self) -> bool:
        """Whether a candidate takes more samples than a look at one usually has."""
        return self.seen > self.plan.samples // 2

    @property
    def caution(self) -> float:
        """Who has few hits, and doubts them all, sees nothing."""
        return 1.0 if self.rare else 2.0

    def afford(self, size: int) -> int:
        """Of how many candidates so many samples fit into what is left."""
        return max(0, max(LEAST_RUNS, MOST_RUNS * self.plan.samples) - self.spent) // (2 * size)

    def violates(self, finding: Finding) -> bool:
        return finding.score > self.plan.claim.amount * MARGIN

    def quick(self, lead: Lead) -> Round:
        """A look for events that are no harder to read than this one, on samples enough to see this one."""
        event = lead.finding.event
        size = max(50, self.plan.samples // 20, self.seen)
        groups = 2 if len(event.clauses) > 1 else 0
        effort = Effort(self.plan.forecast(size, self.caution), cuts=20, groups=groups, light=True)
        return Round(self.next_number(), size, effort, keep=8, floating=self.plan.floating)

    def glimpse(self) -> Round:
        """A look for the event itself, on samples in which it happens at all."""
        size = max(50, self.seen // GLIMPSE)
        effort = Effort(self.plan.forecast(size, 0.0))
        return Round(self.next_number(), size, effort, keep=1, only_known=True)

    @property
    def careful_size(self) -> int:
        return max(50, self.plan.samples // 2, self.seen if self.rare else 2 * self.seen)

    def careful(self) -> Round:
        effort = Effort(self.plan.forecast(self.careful_size, self.caution))
        return Round(self.next_number(), self.careful_size, effort, keep=40, only_known=True)

    def next_number(self) -> int:
        self.rounds += 1
        return self.rounds

    def tried(
        self, candidates: Sequence[SearchCandidate], round_: Round, known: tuple[Finding, ...]
    ) -> list[Scouted]:
        """What these candidates look like."""
        self.spent += 2 * round_.size * len(candidates)
        tasks = [(candidate, round_, index, known) for index, candidate in enumerate(candidates)]
        return list(self.workers.map(partial(scout, self.source), tasks, 2 * round_.size))

    def accepted(self, candidate: SearchCandidate, findings: Sequence[Finding]) -> Lead | None:
        """The lead with the simplest of these events that holds up on more samples."""
        simpler = [
            replace(finding, event=event) for finding in findings for event in _simpler_events(finding.event)
        ]
        known = tuple(dict.fromkeys([*findings, *simpler]))
        (checked,) = self.tried([candidate], self.careful(), known)
        holding = [finding for finding in checked.findings if self.violates(finding)]
        if not holding:
            return None
        return Lead(candidate, min(holding, key=lambda f: (f.event.complexity, -f.score)))

    def plainer(self, lead: Lead) -> Lead:
        """The same inputs and parameters with the simplest event that will do."""
        (others,) = self.tried([lead.candidate], self.quick(lead), ())
        promising = [finding for finding in others.findings if self.violates(finding)]
        return self.accepted(lead.candidate, [lead.finding, *promising]) or lead

    def first_smaller(self, lead: Lead, seen: set[SearchCandidate]) -> Lead | None:
        candidates = [
            candidate
            for candidate in dict.fromkeys(self.smaller(lead.candidate))
            if _size(candidate) < _size(lead.candidate) and candidate not in seen and self.may(candidate)
        ]
        candidates.sort(key=_size)
        batch = FEW if self.rare else BATCH
        for start in range(0, len(candidates), batch):
            if len(seen) >= MOST_TRIED:
                return None
            some = candidates[start : start + batch]
            if not self.rare:
                seen.update(some)
                if found := self.holding(lead, some):
                    return found
                continue
            for candidate in self.not_hopeless(lead, some, seen):
                if found := self.holding(lead, [candidate]):
                    return found
        return None

    def holding(self, lead: Lead, candidates: Sequence[SearchCandidate]) -> Lead | None:
        """The first of these, of as many as can be afforded, on which there is a violation."""
        round_ = self.quick(lead)
        for result in self.tried(candidates[: self.afford(round_.size)], round_, (lead.finding,)):
            promising = [finding for finding in result.findings if self.violates(finding)]
            if not promising or not self.afford(self.careful_size):
                continue
            if found := self.accepted(result.candidate, promising):
                return found
        return None

    def not_hopeless(
        self, lead: Lead, candidates: Sequence[SearchCandidate], seen: set[SearchCandidate]
    ) -> list[SearchCandidate]:
        """Those on which a rare event happens, and not as often on both sides; of as many as can be afforded.
        Most inputs do not have it at all, and a part of the samples says so."""
        round_ = self.glimpse()
        some = candidates[: self.afford(round_.size)]
        seen.update(some)
        results = self.tried(some, round_, (lead.finding,))
        enough = round_.size * self.rate / LEANING
        return [r.candidate for r in results if any(abs(f.hits1 - f.hits2) >= enough for f in r.findings)]

    def may(self, candidate: SearchCandidate) -> bool:
        """Whether it is worth another look: the search may have seen that there is nothing."""
        return self.first_look.get(candidate, math.inf) > HOPELESS * self.plan.claim.amount

    def smaller(self, candidate: SearchCandidate) -> Iterator[SearchCandidate]:
        pair, parameters = candidate.pair, candidate.parameters
        names = self.source.mechanism.found
        for other in self.pairs:
            if len(other.first) <= len(pair.first) and not other.far:
                for plain in dict.fromkeys([parameters, parameter_grid(names, other, self.scale)[0]]):
                    yield SearchCandidate(other, plain)
        for smaller in () if pair.given else _smaller_pairs(pair):
            yield SearchCandidate(smaller, parameters)
        for plainer in _plainer_parameters(parameters, names):
            yield SearchCandidate(pair, plainer)


def shrink(
    source: OutputSource,
    workers: Workers,
    lead: Lead,
    *,
    plan: Plan,
    scale: float,
    pairs: Sequence[Pair],
    first_look: Mapping[SearchCandidate, float],
    rate: float,
) -> Lead:
    """A smaller lead that still looks like a violation, or the same one.

    scale: the noise scale to be expected.
    first_look: what the search thought of candidates at first.
    rate: how often the event of the lead happens.
    """
    seen = min(2 * plan.samples, int(ENOUGH_HITS / max(rate, 1e-9)))
    shrinker = _Shrinker(source, workers, plan, pairs, scale, first_look, rate, seen)
    seen_before: set[SearchCandidate] = set()
    current = shrinker.plainer(lead)
    for _ in range(MOST_STEPS):
        smaller = shrinker.first_smaller(current, seen_before)
        if smaller is None:
            return current
        current = smaller
    return current


def _size(candidate: SearchCandidate) -> float:
    return candidate.pair.size + sum(_digits(value) for _, value in candidate.parameters)


def _digits(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 1.0
    return 4 * max(0, len(value_text(value).partition(".")[2])) + math.log1p(abs(value))


def _smaller_pairs(pair: Pair) -> Iterator[Pair]:
    """The same pair with an answer less, a change less, or numbers nearer to zero."""
    length = len(pair.first)
    for i in range(length if length > 1 else 0):
        yield _zipped(pair, lambda j, a, b, i=i: None if j == i else (a, b))
    for i in range(length):
        if pair.first[i] != pair.second[i]:
            yield _zipped(pair, lambda j, a, b, i=i: (a, a) if j == i else (a, b))
        low = min(pair.first[i], pair.second[i])
        if low != 0:
            yield _zipped(pair, lambda j, a, b, i=i, low=low: (a - low, b - low) if j == i else (a, b))
    least = min((*pair.first, *pair.second))
    if least != 0:
        yield pair.shifted(-least)


def _zipped(pair: Pair, change: Any) -> Pair:
    kept = [change(j, a, b) for j, (a, b) in enumerate(zip(pair.first, pair.second, strict=True))]
    both = [entry for entry in kept if entry is not None]
    return Pair(tuple(a for a, _ in both), tuple(b for _, b in both), pair.category)


def _plainer_parameters(parameters: Parameters, found: Mapping[str, Any]) -> Iterator[Parameters]:
    for name, value in parameters:
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        options = [1] if is_count(name, found.get(name)) else [0, 1, round(value), round(value, 1)]
        for option in options:
            yield freeze({**dict(parameters), name: option})


def _simpler_events(event: Event) -> Iterator[Event]:
    """The event with a clause less, one end of an interval less, or rounder numbers."""
    for i, clause in enumerate(event.clauses):
        others = (*event.clauses[:i], *event.clauses[i + 1 :])
        if others:
            yield Event(others)
        for condition in _simpler_conditions(clause.condition):
            yield Event((*event.clauses[:i], Clause(clause.feature, condition), *event.clauses[i + 1 :]))


def _simpler_conditions(condition: Between | OneOf) -> Iterator[Between | OneOf]:
    if isinstance(condition, OneOf):
        for i, value in enumerate(condition.values if len(condition.values) > 1 else ()):
            yield OneOf((value,), condition.names[i : i + 1])
        return
    if math.isfinite(condition.low) and math.isfinite(condition.high):
        yield Between(high=condition.high)
        yield Between(low=condition.low)
    for places in (0, 1):
        for low in {condition.low, _rounded(condition.low, places)}:
            for high in {condition.high, _rounded(condition.high, places)}:
                if low < high:
                    yield Between(low, high)
                    yield Between(high=high)
                    yield Between(low=low)


def _rounded(value: float, places: int) -> float:
    return round(value, places) + 0.0 if math.isfinite(value) else value
