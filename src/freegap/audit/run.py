"""`audit` and `assert_private`: search, confirm, shrink, report."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import special

from freegap.audit.arguments import argument_grid
from freegap.audit.branches import Analysis, analyse
from freegap.audit.confirm import Confirmation, confirm
from freegap.audit.histogram import Bins
from freegap.audit.inputs import LENGTHS, Pair, check_relation, own_pairs, table_pairs
from freegap.audit.mechanism import Arguments, Mechanism
from freegap.audit.progress import Progress
from freegap.audit.report import AuditReport, Counterexample
from freegap.audit.sampling import Source, Workers
from freegap.audit.search import Candidate, Lead, Plan, Race, race
from freegap.audit.settings import MOST_SEED, at_least, below_one, inside, lengths_argument, positive
from freegap.audit.shrink import shrink as shrink_lead
from freegap.audit.statistics import Spending
from freegap.errors import InvalidArgument, MechanismFailed, PrivacyViolated

__all__ = ["assert_private", "audit"]

# How the level is shared among the confirmations of one audit, whether they take place or not
BOUND_SHARE, DEEP_SHARE, SHRUNK_SHARE = 0.7, 0.2, 0.1
DEEPER = 16
BLATANT = 1.3
MOST_CANDIDATES = 120
MOST_EPSILON = 500
BINS_KEY = 4


def audit(
    mechanism: Callable[..., Any],
    *,
    epsilon: float,
    neighbours: str = "all",
    sensitivity: float = 1,
    arguments: Mapping[str, Any] | None = None,
    inputs: Any = None,
    lengths: Iterable[int] = LENGTHS,
    vectorized: bool | None = None,
    scalar: Callable[..., Any] | None = None,
    samples: int = 500_000,
    search_samples: int = 100_000,
    confidence: float = 1 - 1e-6,
    delta: float = 0.0,
    stop_early: bool = True,
    deep: bool = False,
    shrink: bool = True,
    jobs: int = -1,
    run_limit: float | None = 10.0,
    seed: int | None = None,
    progress: bool | None = None,
) -> AuditReport:
    """Search for a counterexample to the claim that a mechanism is ε-differentially private.

    mechanism: a callable whose first argument is the list of answers; see `freegap.audit.mechanism`.
    epsilon: the ε that the mechanism claims.
    neighbours: "one" if one answer changes between neighbouring databases, "all" if every answer may.
    sensitivity: how much one person can change an answer.
    arguments: values for further parameters; those without a default that are not given are found.
    inputs: your own pairs of neighbouring inputs, a function of an rng, or a hypothesis strategy.
    lengths: of the inputs to try.
    vectorized: the mechanism takes `size` and returns that many outputs; detected by default.
    scalar: the same mechanism as ordinary Python code, one run at a time, whose source is analysed for
        good arguments; by default the mechanism itself, unless it is vectorised.
    samples: runs on each input that confirm a finding.
    search_samples: runs on each input in the last round of the search.
    confidence: of the verdict and of the bound.
    delta: audit (ε, δ) instead of ε.
    stop_early: stop as soon as a violation is certain; False for the tightest bound.
    deep: where nothing was found, look again for rarer events, with up to sixteen times the samples.
    shrink: make the counterexample minimal.
    jobs: worker processes (threads for vectorised mechanisms), as joblib counts them.
    run_limit: seconds that a single run may take.
    seed: replays an audit of a mechanism that takes an rng.
    progress: a progress bar; by default, on a terminal.

    >>> import freegap as fg
    >>> def no_noise(answers):
    ...     return sum(answers)
    >>> report = fg.audit(no_noise, epsilon=1, samples=2000, search_samples=500, seed=1, jobs=1)
    >>> report.violated, report.deterministic, report.counterexample.event.text
    (True, True, 'output = 1')
    """
    claim = positive("epsilon", epsilon)
    check_relation(neighbours)
    change = positive("sensitivity", sensitivity)
    step = sensitivity if isinstance(sensitivity, int) else change  # whole answers stay whole
    alpha = 1 - inside("confidence", confidence)
    delta = below_one("delta", delta)
    if claim > MOST_EPSILON:
        raise InvalidArgument(
            "epsilon", epsilon, f"must be at most {MOST_EPSILON}", "A larger one claims nothing at all."
        )
    at_least("samples", samples, 100)
    at_least("search_samples", search_samples, 50)
    entropy = int(np.random.SeedSequence().generate_state(1, np.uint64)[0]) if seed is None else seed
    at_least("seed", entropy, 0, MOST_SEED)
    wrapped = Mechanism.of(
        mechanism, epsilon=claim, sensitivity=step, arguments=arguments, vectorized=vectorized
    )
    pairs = (
        table_pairs(neighbours, lengths=lengths_argument(lengths), sensitivity=step)
        if inputs is None
        else own_pairs(inputs, neighbours=neighbours, sensitivity=step, seed=entropy)
    )
    run = _Audit(
        source=Source(wrapped, entropy, run_limit),
        workers=Workers(jobs, wrapped.vectorized, run_limit),
        plan=Plan(search_samples, samples, _z(alpha), costly=not wrapped.vectorized),
        epsilon=claim,
        delta=delta,
        alpha=alpha,
        neighbours=neighbours,
        sensitivity=change,
        pairs=pairs,
        stop_early=stop_early,
        scalar=scalar or (None if wrapped.vectorized else mechanism),
    )
    with Progress(progress, run.workers) as shown:
        return run.report(shown, deep=deep, shrink=shrink)


def assert_private(mechanism: Callable[..., Any], *, epsilon: float, **settings: Any) -> AuditReport:
    """Raise `PrivacyViolated`, an AssertionError, if an audit finds a counterexample. For test suites.

    >>> import freegap as fg
    >>> def coin(answers, rng):
    ...     return bool(rng.integers(2))
    >>> fg.assert_private(coin, epsilon=1, samples=2000, search_samples=500, seed=1, jobs=1).violated
    False
    """
    report = audit(mechanism, epsilon=epsilon, **settings)
    if report.interrupted:
        raise KeyboardInterrupt
    if report.violated:
        raise PrivacyViolated(str(report), report)
    return report


class _Audit:
    """One audit, step by step."""

    def __init__(
        self,
        *,
        source: Source,
        workers: Workers,
        plan: Plan,
        epsilon: float,
        delta: float,
        alpha: float,
        neighbours: str,
        sensitivity: float,
        pairs: list[Pair],
        stop_early: bool,
        scalar: Callable[..., Any] | None,
    ) -> None:
        self.source = source
        self.workers = workers
        self.plan = plan
        self.epsilon = epsilon
        self.delta = delta
        self.alpha = alpha
        self.neighbours = neighbours
        self.sensitivity = sensitivity
        self.pairs = pairs
        self.stop_early = stop_early
        self.scalar = scalar
        self.state = Race()
        self.notes: list[str] = []
        self.confirmed: list[Confirmation] = []
        self.shrunk: Confirmation | None = None

    def report(self, progress: Progress, *, deep: bool, shrink: bool) -> AuditReport:
        """Run the audit; an interruption (Ctrl-C) ends it early and keeps what was paid for."""
        started = time.perf_counter()
        interrupted = False
        try:
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

    def candidates(self) -> list[Candidate]:
        """Pairs with arguments: the best arguments of every pair first, then more of them for long pairs."""
        longest = max(len(pair.first) for pair in self.pairs)
        grids = []
        for pair in self.pairs:
            grid = argument_grid(
                self.source.mechanism.found, pair, epsilon=self.epsilon, sensitivity=self.sensitivity
            )
            short = pair.far or len(pair.first) < longest // 2
            grids.append(list(dict.fromkeys([*self.analysed(pair), *grid[: 1 if short else None]])))
        deepest = max(map(len, grids))
        ordered = [
            Candidate(pair, grid[depth])
            for depth in range(deepest)
            for pair, grid in zip(self.pairs, grids, strict=True)
            if depth < len(grid)
        ]
        return list(dict.fromkeys(ordered))[:MOST_CANDIDATES]

    def analysed(self, pair: Pair) -> tuple[Arguments, ...]:
        """What the source suggests (000, algorithm 4), until it turns out that it cannot be analysed."""
        mechanism = self.source.mechanism
        if not mechanism.found or self.scalar is None:
            return ()
        if not mechanism.takes_rng:
            found = Analysis((), "the mechanism makes its own noise, which cannot be set to zero")
        else:
            found = analyse(self.scalar, mechanism.found, mechanism.fixed, pair)
        if found.trouble is not None:
            self.scalar = None
            self.notes.append(f"The arguments come from a grid alone: {found.trouble}.")
        return found.arguments

    def search(self, progress: Progress) -> None:
        race(
            self.source,
            self.workers,
            self.candidates(),
            self.plan,
            scale=self.sensitivity / self.epsilon,
            state=self.state,
            report=progress.update,
            enough=BLATANT * self.epsilon if self.stop_early else math.inf,
        )
        refused = self.state.refused
        if self.state.tried and len(refused) == self.state.tried:
            last = refused[-1]
            raise MechanismFailed(
                "turned down every input, the last time", list(last.pair.first), dict(last.arguments)
            )
        if refused:
            first = refused[0]
            self.notes.append(
                f"The mechanism turned down {len(refused)} of the inputs with a ValueError, "
                f"for example {list(first.pair.first)}; they were left out."
            )

    def confirm(self, progress: Progress) -> None:
        if self.state.leads:
            self._confirm(self._begin(self.state.leads[0]), self.plan, BOUND_SHARE, 0, progress, "confirm")

    def search_deeper(self, progress: Progress) -> None:
        """The candidates again, with more samples and an eye for rarer events. Where runs are made one by
        one, only the best candidates."""
        plan = replace(self.plan, samples=DEEPER // 2 * self.plan.samples, confirm=DEEPER * self.plan.confirm)
        state = Race()
        leads = race(
            self.source,
            self.workers,
            self.state.finalists if plan.costly else self.candidates(),
            plan,
            scale=self.sensitivity / self.epsilon,
            state=state,
            report=progress.update,
            start=1 if plan.costly else 0,
            key=1,
            enough=BLATANT * self.epsilon if self.stop_early else math.inf,
        )
        if leads and leads[0].finding.score > self.epsilon:
            self._confirm(self._begin(leads[0]), plan, DEEP_SHARE, 2, progress, "confirm, deeper")

    def _begin(self, lead: Lead) -> Confirmation:
        self.confirmed.append(Confirmation(lead))
        return self.confirmed[-1]

    def _confirm(
        self, result: Confirmation, plan: Plan, share: float, number: int, progress: Progress, stage: str
    ) -> None:
        spending = Spending.of(2 * plan.confirm, share)

        def settled(so_far: Confirmation) -> bool:
            return self.stop_early and self._bound(so_far) > self.epsilon

        def show(done: int, total: int) -> None:
            progress.update(stage, done, total, self._bound(result))

        confirm(
            self.source,
            self.workers,
            result,
            spending,
            number=number,
            settled=settled,
            bins=self._bins(result.lead, number),
            report=show,
        )

    def _bins(self, lead: Lead, number: int) -> Bins:
        size = min(4000, self.plan.samples)
        parts = [
            self.source.draw(answers, lead.candidate.arguments, size, (BINS_KEY, number, side))
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
        return self.strongest is not None and self._bound(self.strongest) > self.epsilon

    def shrink(self, progress: Progress) -> None:
        found = self.strongest
        if found is None:
            return
        plan = (
            self.plan
            if found is self.confirmed[0]
            else replace(self.plan, confirm=DEEPER * self.plan.confirm)
        )
        progress.update("shrink", 0, 1, self._bound(found))
        smaller = shrink_lead(
            self.source,
            self.workers,
            found.lead,
            plan=plan,
            epsilon=self.epsilon,
            sensitivity=self.sensitivity,
            pairs=self.pairs,
        )
        result = Confirmation(smaller)
        self._confirm(result, plan, SHRUNK_SHARE, 1, progress, "confirm the shrunk counterexample")
        self.shrunk = result

    def record(self, seconds: float, interrupted: bool) -> AuditReport:
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
        looks = tuple(look for result in self.confirmed for look in result.looks)
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
            notes=tuple([*self.notes, *self._plain_words(deterministic)]),
        )

    def _plain_words(self, deterministic: bool) -> list[str]:
        notes = []
        if deterministic and self.violated:
            notes.append("The mechanism is not random: its output gives the input away.")
        elif deterministic:
            notes.append(
                "The mechanism is not random: it returned the same output every time, which is private."
            )
        if not self.source.mechanism.replayable:
            notes.append("It has no parameter `rng`, so this audit cannot be replayed from its seed.")
        return notes

    def _counterexample(self, result: Confirmation) -> Counterexample:
        return Counterexample(
            first=result.lead.first,
            second=result.lead.second,
            arguments=result.lead.candidate.arguments,
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


def _z(alpha: float) -> float:
    """Standard deviations that belong to the share of the level at the last look."""
    return float(-special.ndtri(alpha * BOUND_SHARE * 0.8))
