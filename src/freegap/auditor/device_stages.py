"""One audit whose runs are made on a device: the search goes on there, and so does the confirmation.

The usual search, on few samples in this process, leaves pairs of inputs, parameters and events. On the device
they are weighed on a thousand times as many runs, with whole outputs that are rarer than those samples could
show; the best are moved about (parameters, answers, the ends of intervals) as long as that helps. What comes
out is a lead like any other. The verdict takes fresh runs, by the same test (`freegap.auditor.statistics`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from freegap.auditor.confirm import BLOCKS, CONFIRM_KEY, Confirmation, carried
from freegap.auditor.device import DeviceSource, countable, happened
from freegap.auditor.event_search import names_of
from freegap.auditor.events import Between, Clause, Event, OneOf
from freegap.auditor.families import Family, Finding
from freegap.auditor.features import Component, Distance, Whole, whole_keys
from freegap.auditor.inputs import SearchCandidate
from freegap.auditor.outputs import Outputs, join
from freegap.auditor.plan import BoundForecast
from freegap.auditor.rare import plain_candidates, rare_events
from freegap.auditor.sampling import Progress
from freegap.auditor.search import Lead, mutated
from freegap.auditor.stages import BOUND_SHARE, Stages
from freegap.auditor.statistics import EventCounts, Look, Spending
from freegap.errors import MechanismFailed

WEIGH_KEY = 6
POOL, KEPT, MOST_EVENTS, ROUNDS = 10, 3, 16, 4
MOST_OUTPUTS = 4096
SEARCH_PART, WEIGHED_RUNS = 0.4, 60  # of the time; how many candidates are weighed in it, about
RARE_PART = 0.3
LEAST_WEIGHED = 2**14
CHOICES = 30  # events that a round weighs of a candidate, about: the best of them was lucky

Known = tuple[Event, bool]


@dataclass
class Weighed:
    """A candidate, and what its events came to on so many runs of each side."""

    candidate: SearchCandidate
    findings: list[Finding]
    runs: int
    seconds: float

    @property
    def pace(self) -> float:
        """Seconds a run."""
        return self.seconds / (2 * self.runs)

    @property
    def merit(self) -> float:
        """That of the best event."""
        return self.findings[0].merit if self.findings else -math.inf

    @property
    def known(self) -> list[Known]:
        """The best events, each with its direction."""
        return [(finding.event, finding.swapped) for finding in self.findings[:MOST_EVENTS]]


@dataclass
class _Tally:
    """Counts of whole outputs, one side beside the other."""

    rows: dict[Any, Outputs] = field(default_factory=dict)
    counts: dict[Any, list[int]] = field(default_factory=dict)

    def add(self, key: Any, one: Outputs, side: int, runs: int) -> None:
        if key in self.counts or len(self.counts) < MOST_OUTPUTS:
            self.rows.setdefault(key, one)
            self.counts.setdefault(key, [0, 0])[side] += runs

    @property
    def columns(self) -> tuple[Any, Any]:
        table = np.array(list(self.counts.values()), dtype=np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]


@dataclass
class DeviceStages(Stages):
    """The stages of an audit on a device."""

    on: DeviceSource | None = None
    seconds: float | None = None
    started: float = field(default_factory=time.monotonic)
    deep: bool = False
    weighings: int = 0
    pace: float = 0.0
    """Seconds a run, as last seen."""

    @property
    def there(self) -> DeviceSource:
        """Where the runs are made."""
        if self.on is None:
            raise ValueError("an audit on a device has one")
        return self.on

    def search(self, progress: Progress) -> None:
        """The usual search, and then on the device."""
        if self.seconds is not None:  # how many runs there will be, for the forecasts
            first = self.proposals.candidates()[0]
            for _ in range(2):  # the first makes the library ready
                self.pace = self.weigh(first, [], self.there.batch(first.pair.first)).pace
            self.plan = replace(self.plan, confirm=self._affordable(1 - SEARCH_PART))
        super().search(progress)
        leads = self.refine(progress)
        if self.deep:
            leads += self.search_rare(progress)
        self.state.leads = sorted(leads, key=lambda lead: -lead.merit) or self.state.leads

    def search_rare(self, progress: Progress) -> list[Lead]:
        """Leads to what happens hardly ever, on a few plain pairs."""
        leads = []
        candidates = plain_candidates(self.proposals.candidates())
        for number, candidate in enumerate(candidates):
            runs = self.plan.samples
            if self.seconds is not None:
                runs = self._affordable(RARE_PART) // (2 * len(candidates))
            forecast = self.plan.forecast(runs, 1.0)
            found = rare_events(self.there, candidate, runs, forecast, number)
            known = [(f.event, f.swapped) for f in found if countable(f.event)][:MOST_EVENTS]
            weighed = self.weigh(candidate, known, runs)
            leads += [Lead(candidate, finding) for finding in weighed.findings[:1]]
            self.workers.runs += 2 * runs
            progress.update("search for what is rare", number, len(candidates), weighed.merit)
        return leads

    def search_deeper(self, progress: Progress) -> None:
        """Nothing more: what is rare was looked for before."""

    def _affordable(self, part: float) -> int:
        """How many runs of each side fit into a part of the time."""
        return max(100, int(part * (self.seconds or 0.0) / max(2 * self.pace, 1e-12)))

    # Search ------------------------------------------------------------------------------------------

    def refine(self, progress: Progress) -> list[Lead]:
        """The leads of the search, weighed and moved about on the device; best first."""
        best: list[Weighed] = []
        seen: set[tuple[SearchCandidate, frozenset[Known]]] = set()
        waiting = self._pool()
        for number in range(ROUNDS + 1):
            for done, (candidate, known) in enumerate(waiting):
                if (candidate, frozenset(known)) in seen:
                    continue
                seen.add((candidate, frozenset(known)))
                try:
                    best.append(self.weigh(candidate, known, self._size(candidate)))
                except MechanismFailed:
                    if number == 0:
                        raise
                    continue  # on inputs that nobody asked for
                best = sorted(best, key=lambda weighed: -weighed.merit)[: POOL + KEPT]
                if self.seconds is not None:
                    self.pace = best[0].pace
                progress.update("search on the device", done, len(waiting), best[0].merit)
                if self._over(self._search_part):
                    break
            if self._over(self._search_part) or number == ROUNDS:
                break
            waiting = [
                moved
                for weighed in best[:KEPT]
                for moved in self._moved(weighed, self.proposals.scale / 2**number)
            ]
        return [Lead(weighed.candidate, finding) for weighed in best for finding in weighed.findings[:1]]

    @property
    def _search_part(self) -> float:
        """What of the time the search has, before that for what is rare."""
        return SEARCH_PART / 2 if self.deep else SEARCH_PART

    def _over(self, part: float) -> bool:
        return self.seconds is not None and time.monotonic() - self.started > part * self.seconds

    def _size(self, candidate: SearchCandidate) -> int:
        """Runs of each side on which a candidate is weighed: about as many as the time allows."""
        if self.seconds is None:
            return self.plan.samples
        return max(LEAST_WEIGHED, self._affordable(self._search_part) // WEIGHED_RUNS)

    def _pool(self) -> list[tuple[SearchCandidate, list[Known]]]:
        """The best candidates of the search, with their events."""
        found: dict[SearchCandidate, list[Known]] = {}
        for lead in self.state.leads:
            if countable(lead.finding.event):
                found.setdefault(lead.candidate, []).append((lead.finding.event, lead.finding.swapped))
        for candidate in self.state.finalists:
            found.setdefault(candidate, [])
        return [(candidate, known[:MOST_EVENTS]) for candidate, known in list(found.items())[:POOL]]

    def _moved(self, weighed: Weighed, scale: float) -> Iterator[tuple[SearchCandidate, list[Known]]]:
        """The same candidate with its events moved, and then moved itself."""
        known = weighed.known
        yield weighed.candidate, [*known[:4], *_moved_events(known, scale)]
        for candidate in mutated(weighed.candidate, self.source.mechanism.found, scale):
            yield candidate, known[:4]

    def weigh(self, candidate: SearchCandidate, known: Sequence[Known], runs: int) -> Weighed:
        """How often these events happen on the device, and the whole outputs of both sides."""
        self.weighings += 1
        started = time.perf_counter()
        hits = [[0, 0] for _ in known]
        outputs, kinds = _Tally(), _Tally()
        for side, answers in enumerate((candidate.pair.first, candidate.pair.second)):
            batch = self.there.batch(answers)
            for piece, size in enumerate(_sizes(runs, batch)):
                key = (WEIGH_KEY, self.weighings, side, piece)
                found: list[Any] = [0] * len(known)
                for path in self.there.run(answers, candidate.parameters, size, key):
                    for i, (event, _) in enumerate(known):
                        found[i] = found[i] + happened(event, path, self.there.device.xp)
                    if len(path.one) == 1:
                        tally = kinds if path.columns else outputs
                        tally.add(_key(path.one, bool(path.columns)), path.one, side, path.runs.shape[0])
                for i, count in enumerate(found):
                    hits[i][side] += int(count)
        self.workers.runs += 2 * runs
        seconds = time.perf_counter() - started
        forecast = self.plan.forecast(runs, 1.0)
        findings = [
            _scored(event, swapped, count[0], count[1], forecast)
            for (event, swapped), count in zip(known, hits, strict=True)
        ]
        findings += _whole(outputs, forecast) + _of_kinds(kinds, forecast)
        unique = {(f.event, f.swapped): f for f in findings if f.score > -math.inf}
        return Weighed(candidate, sorted(unique.values(), key=lambda f: -f.merit), runs, seconds)

    # Confirmation ------------------------------------------------------------------------------------

    def confirm(self, progress: Progress) -> None:
        """Confirm the best lead, on as many runs as there are or as the time allows."""
        if not self.state.leads:
            return
        lead = self.state.leads[0]
        if self.seconds is not None:
            left = 0.92 - (time.monotonic() - self.started) / self.seconds
            self.plan = replace(self.plan, confirm=self._affordable(max(0.05, left)), patience=1)
        self._confirm(self._begin(lead), self.plan, BOUND_SHARE, 0, progress, "confirm on the device")

    def _run_confirmation(
        self,
        result: Confirmation,
        spending: Spending,
        *,
        number: int,
        settled: Callable[[Confirmation], bool],
        promising: Callable[[Confirmation], bool],
        report: Callable[[int, int], None],
    ) -> None:
        if not countable(result.lead.finding.event):
            super()._run_confirmation(
                result, spending, number=number, settled=settled, promising=promising, report=report
            )
            return
        confirm_there(
            self.there, result, spending, number=number, settled=settled, promising=promising, report=report
        )
        counts = result.counts
        self.workers.runs += counts.runs1 + counts.runs2


def confirm_there(
    source: DeviceSource,
    result: Confirmation,
    spending: Spending,
    *,
    number: int,
    settled: Callable[[Confirmation], bool],
    promising: Callable[[Confirmation], bool],
    report: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """As `freegap.auditor.confirm.confirm`: fresh runs, each on the side that it tossed, look by look.

    A block is one batch for each input. How many of its runs go to which was tossed, and which comes first.
    """
    lead = result.lead
    inputs, parameters, event = (lead.first, lead.second), lead.candidate.parameters, lead.finding.event
    coin = np.random.default_rng(np.random.SeedSequence(source.seed, spawn_key=(CONFIRM_KEY, number)))
    counts, piece = EventCounts(0, 0, 0, 0), 0
    most = 2 * source.batch(lead.first)
    for until, share in zip(spending.trials, spending.shares, strict=True):
        if until > spending.usual and not promising(result):
            break
        trials = until - counts.runs1 - counts.runs2
        block = most if source.mechanism.noise == "noise" else min(most, 1 + trials // BLOCKS)
        for size in _sizes(trials, block):
            first = int(coin.binomial(size, 0.5))
            runs, hits = (first, size - first), [0, 0]
            for side in (0, 1) if coin.random() < 0.5 else (1, 0):
                if runs[side]:
                    key = (CONFIRM_KEY, number, piece, side)
                    hits[side] = source.count(inputs[side], parameters, [event], runs[side], key)[0]
            piece += 1
            result.blocks.append(EventCounts(hits[0], hits[1], *runs))
            counts = counts + result.blocks[-1]
            report(counts.runs1 + counts.runs2, max(until, spending.usual))
        if result.dependent:
            raise carried(lead)
        result.looks.append(Look(counts, share))
        if settled(result):
            break


def _sizes(runs: int, most: int) -> list[int]:
    return [min(most, runs - start) for start in range(0, runs, most)]


def _key(one: Outputs, with_numbers: bool) -> Any:
    return one.rows(1)[0] if with_numbers else int(whole_keys(one)[0])


def _scored(event: Event, swapped: bool, hits1: int, hits2: int, forecast: BoundForecast) -> Finding:
    high, low = (hits2, hits1) if swapped else (hits1, hits2)
    score = float(forecast.bound(high, low, CHOICES))
    return Finding(event, swapped, hits1, hits2, score, score)


def _whole(tally: _Tally, forecast: BoundForecast) -> list[Finding]:
    """Whole outputs, and sets of them."""
    found: list[Finding] = []
    if len(tally.counts) > 1:
        values = np.array(list(tally.counts), dtype=np.uint64).view(np.float64)
        names = names_of(values, join(list(tally.rows.values())))
        Family(Whole(), (), forecast, found).sets([float(v) for v in values], names, *tally.columns)
    return found


def _of_kinds(tally: _Tally, forecast: BoundForecast) -> list[Finding]:
    """Outputs with numbers in them, whatever these are."""
    found = []
    for reference, (hits1, hits2) in tally.counts.items():
        event = Event.of(Distance(reference), OneOf((0.0,)))
        found += [_scored(event, swapped, hits1, hits2, forecast) for swapped in (False, True)]
    return found


def _moved_events(known: Sequence[Known], scale: float) -> list[Known]:
    """Intervals with an end moved or left out, and two conditions at once."""
    moved: list[Known] = []
    for event, swapped in known[:3]:
        clause = event.clauses[-1]
        if isinstance(clause.condition, Between):
            for condition in _moved_ends(clause.condition, scale):
                moved.append((Event((*event.clauses[:-1], Clause(clause.feature, condition))), swapped))
    single = [
        (event, swapped)
        for event, swapped in known
        if len(event.clauses) == 1 and isinstance(event.clauses[0].condition, Between)
    ]
    for (one, swapped), (two, other) in combinations(single[:5], 2):
        features = [part.clauses[0].feature for part in (one, two)]
        places = features[0] != features[1] and all(isinstance(f, Component) for f in features)
        if swapped == other and places:
            moved.append((Event((*one.clauses, *two.clauses)), swapped))
    return list(dict.fromkeys(moved))


def _moved_ends(condition: Between, scale: float) -> Iterator[Between]:
    for by in (scale, -scale, scale / 4, -scale / 4):
        if math.isfinite(condition.low) and condition.low + by < condition.high:
            yield Between(condition.low + by, condition.high)
        if math.isfinite(condition.high) and condition.low < condition.high + by:
            yield Between(condition.low, condition.high + by)
    if math.isfinite(condition.low) and math.isfinite(condition.high):
        yield Between(condition.low, math.inf)
        yield Between(-math.inf, condition.high)
