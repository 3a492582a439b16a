"""The stages of an audit: what the race starts from, then search, confirm, look deeper, shrink, record."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from scipy import special

from freegap.auditor.beside import lead_beside
from freegap.auditor.carried import NOT_REPLAYED, carried_notes
from freegap.auditor.computed import LowestBit, ZeroSign
from freegap.auditor.confirm import Confirmation, Test, confirm
from freegap.auditor.counterexample import Counterexample
from freegap.auditor.events import Bins
from freegap.auditor.inputs import Pair, SearchCandidate
from freegap.auditor.one_sided import one_sided_leads, plain_candidates
from freegap.auditor.parameters import Proposals
from freegap.auditor.plan import Plan
from freegap.auditor.prospect import prospect
from freegap.auditor.report import AuditReport
from freegap.auditor.sampling import AuditOutOfTime, OutputSource, Progress, Workers
from freegap.auditor.search import Lead, Race, race
from freegap.auditor.shrink import shrink as shrink_lead
from freegap.auditor.statistics import Spending, TestedClaim
from freegap.auditor.whole_inputs import shown
from freegap.errors import MechanismFailed

# How the level is shared among the confirmations of one audit, whether they take place or not
BOUND_SHARE, HOPE_SHARE, DEEP_SHARE, SHRUNK_SHARE, LOGIC_SHARE = 0.65, 0.15, 0.07, 0.07, 0.05
RARE_SHARE = 0.01
PATIENT = 0.5  # of the level of a confirmation that will need patience, for its later looks
DEEPER, DARING = 16, 0.35
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
    claim: TestedClaim
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
    logic: Confirmation | None = None
    until_verdict: int | None = None  # runs

    def report(self, progress: Progress, *, deep: bool, shrink: bool) -> AuditReport:
        """Run the audit; an interruption (Ctrl-C) ends it early and keeps what was paid for."""
        started = time.perf_counter()
        interrupted = False
        try:
            if self.source.mechanism.one_by_one:
                self._look_ahead(progress)
            self.search(progress)
            self.confirm(progress)
            if deep and not self.violated:
                self.search_deeper(progress)
            self.until_verdict = self.workers.runs
            if shrink and self.violated and not progress.hurried:
                self.shrink(progress)
            if self.by_low_digits:
                self.search_logic(progress)
        except KeyboardInterrupt as why:
            interrupted = True
            ended = "Out of time" if isinstance(why, AuditOutOfTime) else "Interrupted"
            self.notes.append(f"{ended}: this is the best found so far.")
            self._confirm_in_short(progress)
        return self.record(time.perf_counter() - started, interrupted)

    def search(self, progress: Progress) -> None:
        """Find leads; refuse to go on where the mechanism took no input at all."""
        self._race(self.plan, self.proposals.candidates(), self.state, progress)
        if self.proposals.trouble is not None:
            self.notes.append(f"The parameters come from a grid alone: {self.proposals.trouble}.")
        refused = self.state.refused
        if self.state.tried and len(refused) == self.state.tried:
            last = refused[-1]
            raise MechanismFailed(
                "turned down every input, the last time", shown(last.pair.first), dict(last.parameters)
            )
        if refused:
            first = refused[0]
            self.notes.append(
                f"The mechanism turned down {len(refused)} of the inputs (by a ValueError, or any error if "
                f"they are unusual), for example {shown(first.pair.first)}; they were left out."
            )

    def _race(
        self,
        plan: Plan,
        candidates: Sequence[SearchCandidate],
        state: Race,
        progress: Progress,
        *,
        start: int = 0,
        key: int = 0,
    ) -> list[Lead]:
        return race(
            self.source,
            self.workers,
            candidates,
            plan,
            scale=self.proposals.scale,
            state=state,
            report=progress.update,
            start=start,
            key=key,
            enough=BLATANT * self.claim.amount if self.stop_early else math.inf,
        )

    def confirm(self, progress: Progress) -> None:
        """Confirm the lead with the best bound; then, if that settles nothing, the one that patience could
        show to be a violation."""
        if not self.state.leads:
            return
        hopeful = self.state.leads[0]
        best = max(self.state.leads, key=lambda lead: lead.soon)
        hope = hopeful.finding.score > self.claim.amount
        same = hopeful is best
        self._confirm(
            self._begin(best), self.plan, BOUND_SHARE, 0, progress, "confirm", expected=hope and same
        )
        if not self.violated:  # what a confirmation has counted says more than what a search has
            beside = lead_beside(self.confirmed[0], self.plan) if self.stop_early else None
            later = beside or (hopeful if hope and not same else None)
            if later is not None:
                words = "confirm, patiently"
                self._confirm(self._begin(later), self.plan, HOPE_SHARE, 3, progress, words, late=PATIENT)
        if not self.violated and not self.plan.costly:
            self._confirm_rare(progress)

    def _confirm_rare(self, progress: Progress) -> None:
        """Where all that settled nothing: what happens rarely, and on one input alone."""
        candidates = plain_candidates(self.proposals.candidates(), self.state.refused)
        leads = one_sided_leads(self.source, self.workers, candidates, self.plan, progress.update)
        if leads:
            self._confirm(self._begin(leads[0]), self.plan, RARE_SHARE, 5, progress, "confirm what is rare")

    def search_deeper(self, progress: Progress) -> None:
        """The candidates again, with more samples and an eye for rarer events. Where runs are made one by
        one, only the best candidates."""
        plan = replace(
            self.plan,
            samples=DEEPER // 2 * self.plan.samples,
            confirm=DEEPER * self.plan.confirm,
            patience=1,
            daring=DARING,
        )
        candidates = self.state.finalists if plan.costly else self.proposals.candidates()
        leads = self._race(plan, candidates, Race(), progress, start=1 if plan.costly else 0, key=1)
        if leads and leads[0].finding.score > self.claim.amount:
            self.deeper = self._begin(leads[0])
            self._confirm(self.deeper, plan, DEEP_SHARE, 2, progress, "confirm, deeper")

    def _look_ahead(self, progress: Progress) -> None:
        """Where a call is a run: how long one takes, what so many can show, and what is carried between."""
        source, pair, parameters = self.source, self.pairs[0], self.proposals.first
        pace = self.workers.pace = source.pace(pair.first, parameters)
        if self.claim.epsilon is not None:
            share = Spending.of(2 * self.plan.confirm, BOUND_SHARE, self.plan.patience).usual_share
            self.notes += prospect(
                self.claim.epsilon,
                runs=self.plan.confirm,
                level=self.alpha * share,
                pace=pace,
                seconds=progress.seconds,
            )
            progress.say(self.notes)
        carried = carried_notes(source, pair, parameters, pace)
        self.notes += carried
        if NOT_REPLAYED in carried:
            self.source = replace(source, mechanism=replace(source.mechanism, replayable=False))

    @property
    def by_low_digits(self) -> bool:
        """Whether the violation lies in the low digits of floating-point numbers, which would hide others."""
        found = self.strongest if self.violated else None
        if self.shrunk is not None and self._bound(self.shrunk) > self.claim.amount:
            found = self.shrunk
        clauses = () if found is None else found.lead.finding.event.clauses
        return any(isinstance(clause.feature, LowestBit | ZeroSign) for clause in clauses)

    def search_logic(self, progress: Progress) -> None:
        """Look for a violation of another kind."""
        plan = replace(self.plan, floating=False)
        leads = self._race(plan, self.proposals.candidates(), Race(), progress, key=2)
        if leads and leads[0].finding.score > self.claim.amount:
            self.logic = Confirmation(leads[0])
            self._confirm(self.logic, plan, LOGIC_SHARE, 4, progress, "confirm, apart from low digits")
        if self.logic is None or self._bound(self.logic) <= self.claim.amount:
            self.notes.append("Apart from the low digits of floating-point numbers, no violation was found.")

    def _confirm_in_short(self, progress: Progress) -> None:
        """Where the search was interrupted: a short confirmation of the best lead so far, unless that is
        interrupted as well."""
        if self.confirmed or not self.state.leads:
            return
        plan = replace(self.plan, confirm=max(100, self.plan.confirm // 16), patience=1)
        try:
            self._confirm(
                self._begin(self.state.leads[0]), plan, BOUND_SHARE, 0, progress, "confirm, in short"
            )
        except KeyboardInterrupt:
            return

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
        late: float = 0.2,
    ) -> None:
        """expected: the search expects a violation to show in time; late: see `Spending.of`."""
        spending = Spending.of(2 * plan.confirm, share, plan.patience, late=late)

        def settled(so_far: Confirmation) -> bool:
            return self.stop_early and so_far.refuted

        def promising(so_far: Confirmation) -> bool:
            return not so_far.refuted and so_far.promising(self.claim, spending.usual, expected=expected)

        def show(done: int, total: int) -> None:
            progress.update(stage, done, total, self._bound(result) if progress.watched else 0.0)

        self._run_confirmation(
            result, spending, number=number, settled=settled, promising=promising, report=show
        )

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
        confirm(
            self.source,
            self.workers,
            result,
            spending,
            Test(self.claim, self.alpha),
            number=number,
            settled=settled,
            promising=promising,
            bins=self._bins(result.lead, number),
            report=report,
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
        return Spending.lower_bound(result.looks, self.claim, self.alpha)

    @property
    def strongest(self) -> Confirmation | None:
        """The confirmation with the largest bound."""
        return max(self.confirmed, key=self._bound, default=None)

    @property
    def violated(self) -> bool:
        """Whether a confirmation contradicts the claim."""
        return self.strongest is not None and self._bound(self.strongest) > self.claim.amount

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
            scale=self.proposals.scale,
            pairs=self.pairs,
            first_look=self.state.first_look,
            rate=found.counts.rate1,
        )
        if (smaller.candidate, smaller.finding.event) == (found.lead.candidate, found.lead.finding.event):
            return
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
            if small > self.claim.amount:
                counterexample = self._counterexample(self.shrunk)
        logic = None
        if self.logic is not None and self._bound(self.logic) > self.claim.amount:
            logic = self._counterexample(self.logic)
        others = [result for result in (self.shrunk, self.logic) if result is not None]
        looks = tuple(look for result in (*self.confirmed, *others) for look in result.looks)
        deterministic = self.state.tried > 0 and not self.state.random
        return AuditReport(
            mechanism=mechanism.name,
            claim=self.claim,
            neighbours=self.neighbours,
            sensitivity=self.sensitivity,
            confidence=1 - self.alpha,
            violated=self.violated,
            lower_bound=bound,
            counterexample=counterexample,
            closest=closest,
            logic=logic,
            looks=looks,
            seed=self.source.seed,
            replayable=mechanism.replayable,
            deterministic=deterministic,
            interrupted=interrupted,
            candidates=self.state.tried,
            runs=self.workers.runs,
            runs_after=0 if self.until_verdict is None else self.workers.runs - self.until_verdict,
            seconds=seconds,
            notes=tuple([*self.notes, *self.workers.notes, *self._plain_words(deterministic)]),
        )

    def _plain_words(self, deterministic: bool) -> list[str]:
        notes = sorted(self.state.remarks)
        if deterministic and self.violated:
            kept = "(Unless it keeps its first answers: an audit assumes that every run draws anew.)"
            notes.append(f"The mechanism is not random: its output gives the input away. {kept}")
        elif deterministic:
            same = "it returned the same output every time"
            seen = "as far as that was looked at" if self.state.remarks else "which is private"
            notes.append(f"The mechanism is not random: {same}, {seen}.")
        if self.source.mechanism.one_by_one and any(result.dependent for result in self.confirmed):
            notes.append(
                "It carries something from one call to the next: what this audit says holds if that does not "
                "depend on earlier inputs."
            )
        if not self.source.mechanism.replayable and NOT_REPLAYED not in self.notes:
            notes.append("It has no parameter `rng`, so this audit cannot be replayed from its seed.")
        return notes

    def _counterexample(self, result: Confirmation) -> Counterexample:
        return Counterexample(
            first=result.lead.first,
            second=result.lead.second,
            parameters=result.lead.candidate.parameters,
            event=result.lead.finding.event,
            looks=tuple(result.looks),
            claim=self.claim,
            confidence=1 - self.alpha,
            source=self.source,
            histogram=result.histogram,
            parts=() if result.latest is None else ((self.source.seed, result.latest.counts),),
        )
