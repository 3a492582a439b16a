"""The stages of an audit: what the race starts from, then search, confirm, look deeper, shrink, record."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scipy import special

from freegap.auditor.events import Bins
from freegap.auditor.inputs import Pair
from freegap.auditor.mechanism import Mechanism, Parameters
from freegap.auditor.parameters import analyse, parameter_grid
from freegap.auditor.plan import Plan
from freegap.auditor.report import AuditReport, Counterexample
from freegap.auditor.sampling import OutputSource, Progress, Workers
from freegap.auditor.search import Lead, Race, SearchCandidate, race
from freegap.auditor.shrink import shrink as shrink_lead
from freegap.auditor.statistics import Confirmation, Spending, confirm
from freegap.errors import MechanismFailed

__all__ = ["Proposals", "Stages", "deviations"]

MOST_CANDIDATES = 100
LONGEST_ANALYSED = 5
MOST_ANALYSED = 30
# How the level is shared among the confirmations of one audit, whether they take place or not
BOUND_SHARE, HOPE_SHARE, DEEP_SHARE, SHRUNK_SHARE = 0.65, 0.15, 0.1, 0.1
DEEPER = 16
BLATANT = 1.04
BINS_KEY = 4


def deviations(alpha: float, patience: int) -> float:
    """Standard deviations that belong to the share of the level at the last of the usual looks."""
    return float(-special.ndtri(alpha * Spending.of(64, BOUND_SHARE, patience).usual_share))


@dataclass
class Stages:
    """One audit, step by step; each step leaves behind what it found, for an interruption."""

    source: OutputSource
    workers: Workers
    plan: Plan
    proposals: Proposals
    epsilon: float
    delta: float
    alpha: float
    neighbours: str
    sensitivity: float
    pairs: list[Pair]
    stop_early: bool
    state: Race = field(default_factory=Race)
    notes: list[str] = field(default_factory=list)
    confirmed: list[Confirmation] = field(default_factory=list)
    deeper: Confirmation | None = None
    shrunk: Confirmation | None = None

    def report(self, progress: Progress, *, deep: bool, shrink: bool) -> AuditReport:
        """Run the audit; an interruption (Ctrl-C) ends it early and keeps what was paid for."""
        started = time.perf_counter()
        interrupted = False
        try:
            if self.source.mechanism.one_by_one:
                self.workers.pace = self.source.pace(self.pairs[0].first, self.proposals.first)
            self.search(progress)
            self.confirm(progress)
            if deep and not self.violated:
                self.search_deeper(progress)
            if shrink and self.violated:
                self.shrink(progress)
        except KeyboardInterrupt:
            interrupted = True
            self.notes.append("Interrupted: this is the best found so far.")
        return self.record(time.perf_counter() - started, interrupted)

    def search(self, progress: Progress) -> None:
        """Find leads; refuse to go on where the mechanism took no input at all."""
        race(
            self.source,
            self.workers,
            self.proposals.candidates(),
            self.plan,
            scale=self.sensitivity / self.epsilon,
            state=self.state,
            report=progress.update,
            enough=BLATANT * self.epsilon if self.stop_early else math.inf,
        )
        if self.proposals.trouble is not None:
            self.notes.append(f"The parameters come from a grid alone: {self.proposals.trouble}.")
        refused = self.state.refused
        if self.state.tried and len(refused) == self.state.tried:
            last = refused[-1]
            raise MechanismFailed(
                "turned down every input, the last time", list(last.pair.first), dict(last.parameters)
            )
        if refused:
            first = refused[0]
            self.notes.append(
                f"The mechanism turned down {len(refused)} of the inputs with a ValueError, "
                f"for example {list(first.pair.first)}; they were left out."
            )

    def confirm(self, progress: Progress) -> None:
        """Confirm the lead with the best bound; then, if that settles nothing, the one that patience could
        show to be a violation."""
        if not self.state.leads:
            return
        hopeful = self.state.leads[0]
        best = max(self.state.leads, key=lambda lead: lead.soon)
        hope = hopeful.finding.score > self.epsilon
        same = hopeful is best
        self._confirm(
            self._begin(best), self.plan, BOUND_SHARE, 0, progress, "confirm", expected=hope and same
        )
        if hope and not same and not self.violated:
            self._confirm(
                self._begin(hopeful), self.plan, HOPE_SHARE, 3, progress, "confirm, patiently", expected=True
            )

    def search_deeper(self, progress: Progress) -> None:
        """The candidates again, with more samples and an eye for rarer events. Where runs are made one by
        one, only the best candidates."""
        plan = replace(
            self.plan,
            samples=DEEPER // 2 * self.plan.samples,
            confirm=DEEPER * self.plan.confirm,
            patience=1,
        )
        state = Race()
        leads = race(
            self.source,
            self.workers,
            self.state.finalists if plan.costly else self.proposals.candidates(),
            plan,
            scale=self.sensitivity / self.epsilon,
            state=state,
            report=progress.update,
            start=1 if plan.costly else 0,
            key=1,
            enough=BLATANT * self.epsilon if self.stop_early else math.inf,
        )
        if leads and leads[0].finding.score > self.epsilon:
            self.deeper = self._begin(leads[0])
            self._confirm(self.deeper, plan, DEEP_SHARE, 2, progress, "confirm, deeper")

    def _begin(self, lead: Lead) -> Confirmation:
        self.confirmed.append(Confirmation(lead))
        return self.confirmed[-1]

    def _confirm(
        self,
        result: Confirmation,
        plan: Plan,
        share: float,
        number: int,
        progress: Progress,
        stage: str,
        *,
        expected: bool = True,
    ) -> None:
        """expected: the search expects a violation to show in time."""
        spending = Spending.of(2 * plan.confirm, share, plan.patience)

        def settled(so_far: Confirmation) -> bool:
            return self.stop_early and self._bound(so_far) > self.epsilon

        def promising(so_far: Confirmation) -> bool:
            undecided = self._bound(so_far) <= self.epsilon
            return undecided and so_far.promising(self.epsilon, self.delta, expected=expected)

        def show(done: int, total: int) -> None:
            progress.update(stage, done, total, self._bound(result))

        confirm(
            self.source,
            self.workers,
            result,
            spending,
            number=number,
            settled=settled,
            promising=promising,
            bins=self._bins(result.lead, number),
            report=show,
        )

    def _bins(self, lead: Lead, number: int) -> Bins:
        size = min(4000, self.plan.samples)
        self.workers.runs += 2 * size
        parts = [
            self.source.draw(answers, lead.candidate.parameters, size, (BINS_KEY, number, side))
            for side, answers in enumerate((lead.first, lead.second))
        ]
        return Bins.of(lead.finding.event, *parts)

    def _bound(self, result: Confirmation) -> float:
        return result.lower_bound(self.alpha, self.delta)

    @property
    def strongest(self) -> Confirmation | None:
        """The confirmation with the largest bound."""
        return max(self.confirmed, key=self._bound, default=None)

    @property
    def violated(self) -> bool:
        """Whether a confirmation contradicts the claim."""
        return self.strongest is not None and self._bound(self.strongest) > self.epsilon

    def shrink(self, progress: Progress) -> None:
        """Make the counterexample small, and confirm the small one on samples of its own."""
        found = self.strongest
        if found is None:
            return
        deep = found is self.deeper
        plan = replace(self.plan, confirm=DEEPER * self.plan.confirm, patience=1) if deep else self.plan
        progress.update("shrink", 0, 1, self._bound(found))
        smaller = shrink_lead(
            self.source,
            self.workers,
            found.lead,
            plan=plan,
            epsilon=self.epsilon,
            sensitivity=self.sensitivity,
            pairs=self.pairs,
            first_look=self.state.first_look,
        )
        result = Confirmation(smaller)
        self._confirm(result, plan, SHRUNK_SHARE, 1, progress, "confirm the shrunk counterexample")
        self.shrunk = result

    def record(self, seconds: float, interrupted: bool) -> AuditReport:
        """What the audit came to, as far as it got."""
        mechanism = self.source.mechanism
        strongest = self.strongest
        bound = self._bound(strongest) if strongest else 0.0
        closest = self._counterexample(strongest) if strongest else None
        counterexample = closest if self.violated else None
        if self.shrunk is not None:
            small = self._bound(self.shrunk)
            bound = max(bound, small)
            if small > self.epsilon:
                counterexample = self._counterexample(self.shrunk)
        results = [*self.confirmed, *([self.shrunk] if self.shrunk is not None else [])]
        looks = tuple(look for result in results for look in result.looks)
        deterministic = self.state.tried > 0 and not self.state.random
        return AuditReport(
            mechanism=mechanism.name,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
            sensitivity=self.sensitivity,
            confidence=1 - self.alpha,
            violated=self.violated,
            epsilon_lower_bound=bound,
            counterexample=counterexample,
            closest=closest,
            looks=looks,
            seed=self.source.seed,
            replayable=mechanism.replayable,
            deterministic=deterministic,
            interrupted=interrupted,
            candidates=self.state.tried,
            runs=self.workers.runs,
            seconds=seconds,
            notes=tuple([*self.notes, *self.workers.notes, *self._plain_words(deterministic)]),
        )

    def _plain_words(self, deterministic: bool) -> list[str]:
        notes = []
        if deterministic and self.violated:
            notes.append(
                "The mechanism is not random: its output gives the input away. (Unless it keeps its first "
                "answers: an audit assumes that every run draws anew.)"
            )
        elif deterministic:
            notes.append(
                "The mechanism is not random: it returned the same output every time, which is private."
            )
        if self.source.mechanism.one_by_one and any(result.dependent for result in self.confirmed):
            notes.append(
                "It carries something from one call to the next: what this audit says holds if that does not "
                "depend on earlier inputs."
            )
        if not self.source.mechanism.replayable:
            notes.append("It has no parameter `rng`, so this audit cannot be replayed from its seed.")
        return notes

    def _counterexample(self, result: Confirmation) -> Counterexample:
        return Counterexample(
            first=result.lead.first,
            second=result.lead.second,
            parameters=result.lead.candidate.parameters,
            event=result.lead.finding.event,
            counts=result.counts,
            epsilon=self.epsilon,
            delta=self.delta,
            epsilon_lower_bound=self._bound(result),
            p_value=result.p_value(self.epsilon, self.delta),
            confidence=1 - self.alpha,
            seed=self.source.seed,
            replayable=self.source.mechanism.replayable,
            histogram=result.histogram,
        )


# What the race starts from -------------------------------------------------------------------------------


@dataclass
class Proposals:
    """Pairs with parameters, from the source where it can be followed (Ding 2020, algorithm 4) and from a
    grid.

    scalar: the mechanism as plain code, one run at a time; None where there is none to follow.
    trouble: why the source could not be followed.
    """

    mechanism: Mechanism
    pairs: Sequence[Pair]
    epsilon: float
    sensitivity: float
    scalar: Callable[..., Any] | None
    trouble: str | None = None
    _known: dict[object, tuple[Parameters, ...]] = field(default_factory=dict)

    @property
    def first(self) -> Parameters:
        """The first of the grid of the first pair."""
        return parameter_grid(
            self.mechanism.found, self.pairs[0], epsilon=self.epsilon, sensitivity=self.sensitivity
        )[0]

    def candidates(self) -> list[SearchCandidate]:
        """The best parameters of every pair first, then more of them for long pairs."""
        longest = max(len(pair.first) for pair in self.pairs)
        # of each pattern a short pair is analysed, and the longer ones take over what it says
        for pair in sorted(self.pairs, key=lambda pair: -len(pair.first)):
            if len(pair.first) <= LONGEST_ANALYSED and not pair.far:
                self.suggested(pair)
        grids = []
        for pair in self.pairs:
            grid = parameter_grid(
                self.mechanism.found, pair, epsilon=self.epsilon, sensitivity=self.sensitivity
            )
            short = pair.far or len(pair.first) < longest // 2
            grids.append(list(dict.fromkeys([*self.suggested(pair), *grid[: 1 if short else None]])))
        deepest = max(map(len, grids))
        ordered = [
            SearchCandidate(pair, grid[depth])
            for depth in range(deepest)
            for pair, grid in zip(self.pairs, grids, strict=True)
            if depth < len(grid)
        ]
        return list(dict.fromkeys(ordered))[:MOST_CANDIDATES]

    def suggested(self, pair: Pair) -> tuple[Parameters, ...]:
        """What the source suggests, until it turns out that it cannot be followed."""
        if not self.mechanism.found or self.scalar is None or self.trouble is not None:
            return ()
        pattern = pair if pair.given else (pair.category, pair.far)
        if pattern in self._known:
            return self._known[pattern]
        if len(self._known) >= MOST_ANALYSED:
            return ()
        if self.mechanism.noise is None:
            self.trouble = "the mechanism makes its own noise, which cannot be set to zero"
            return ()
        found = analyse(self.scalar, self.mechanism.found, self.mechanism.fixed, pair)
        self.trouble = found.trouble
        self._known[pattern] = found.parameters
        return found.parameters
