"""Search for inputs, parameters and an event that look like a violation (Ding 2020 algorithms 1, 3 and 4).

A race: every candidate is tried on a few samples, the better ones on more, with fresh samples in each
round, so that what was merely lucky drops out. On the way, parameters near the good ones join in. The last
round only weighs events found before, on samples that played no part in finding them.

Two things make few samples go far. The two inputs of a pair are run on the same noise, so that chance moves
both counts alike. And for a small ε each pair is tried in a stretched form as well: inputs five times as far
apart lose about five times as much, which shows in a twenty-fifth of the samples. Neither touches the
verdict, which rests on independent runs on neighbouring inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from freegap.auditor.families import Finding
from freegap.auditor.inputs import SearchCandidate, set_apart
from freegap.auditor.parameters import mutations
from freegap.auditor.plan import Plan, Round
from freegap.auditor.sampling import OutputSource, Workers
from freegap.auditor.scout import Scouted, scout

MOST_NEAR = 3
LEAST_HEAT = 200_000  # samples of a last round that is worth heats before it
HEATS = (32, 4)  # parts of its samples
LEAST_APART = 15_000  # samples of judges that are worth trying the finalists one after the other
HALFWAY = 0.85  # of what is enough, after a part of the samples
RACES_APART = 10_000  # keys of the races of one audit
JUDGES_APART = 100  # keys of finalists that are judged one after the other, each on samples of its own
MOST_IN_FINAL, MOST_EVENTS_IN_FINAL = 3, 4


@dataclass(frozen=True)
class Lead:
    """A candidate with one event: what a confirmation is about. The event is likelier on `first`."""

    candidate: SearchCandidate
    finding: Finding

    @property
    def merit(self) -> float:
        """The merit of the event, a little less for inputs that are long to read."""
        pair = self.candidate.pair
        return self.finding.merit - abs(self.finding.merit) * (0.01 * math.log10(pair.size) + 0.01 * pair.far)

    @property
    def soon(self) -> float:
        """The same for what the usual samples can show."""
        return replace(self, finding=replace(self.finding, score=self.finding.soon)).merit

    @property
    def first(self) -> tuple[float, ...]:
        """The input on which the event is likelier."""
        pair = self.candidate.pair
        return pair.second if self.finding.swapped else pair.first

    @property
    def second(self) -> tuple[float, ...]:
        """The neighbouring input."""
        pair = self.candidate.pair
        return pair.first if self.finding.swapped else pair.second


@dataclass
class Race:
    """The state of a search, so that an interruption keeps the best found so far."""

    leads: list[Lead] = field(default_factory=list)
    random: bool = False
    remarks: frozenset[str] = frozenset()
    tried: int = 0
    refused: tuple[SearchCandidate, ...] = ()
    finalists: list[SearchCandidate] = field(default_factory=list)
    first_look: dict[SearchCandidate, float] = field(default_factory=dict)
    """The merit of each candidate in the first round."""

    @property
    def best(self) -> float:
        """The bound that the best lead promises."""
        return self.leads[0].finding.score if self.leads else 0.0

    def notice(self, result: Scouted) -> None:
        """Take in what a candidate showed."""
        if result.refused:
            self.refused += (result.candidate,)
            return
        self.random |= result.random
        self.remarks |= result.remarks
        mine = _leads([result])[:1]
        if mine and (not self.leads or mine[0].merit > self.leads[0].merit):
            self.leads = mine


def race(
    source: OutputSource,
    workers: Workers,
    candidates: Sequence[SearchCandidate],
    plan: Plan,
    *,
    scale: float,
    state: Race,
    report: Callable[[str, int, int, float], None],
    start: int = 0,
    key: int = 0,
    enough: float = math.inf,
) -> list[Lead]:
    """The leads of the search, most promising first; `state` has what was found until an interruption.

    scale: the noise scale to be expected, by which parameters are moved.
    start: the round to begin with; key: the number of the race, which tells those of one audit apart.
    enough: a score that makes further search needless; only the last round follows then.
    """
    key *= RACES_APART
    runners: list[tuple[SearchCandidate, tuple[Finding, ...]]] = [(candidate, ()) for candidate in candidates]
    results: list[Scouted] = []
    few = len(candidates) <= plan.survivors[2]
    if len(candidates) <= plan.survivors[1]:  # so few need no elimination, which loses what is rare
        start = 2
    glances = plan.glances if start == 0 and not plan.costly and math.isfinite(enough) else ()
    glances = tuple(plan for plan in glances if plan.round(0, len(runners)).size >= LEAST_GLANCE)
    if glances and _at_a_glance(source, workers, runners, glances, scale, state, report, key + 20, enough):
        return state.leads
    for number in range(start, 4):
        round_ = plan.round(number, len(runners), few=few, glanced=bool(glances))
        round_ = replace(round_, key=key, first=number == start)
        if number == 3 and not few:
            results = _last_round(source, workers, runners, round_, plan, state, report)
        else:
            results = _run_round(source, workers, runners, round_, state, report)
        if number == max(1, start):
            state.finalists = [result.candidate for result in sorted(results, key=lambda r: -r.merit)[:12]]
        if number < 2 and state.best > enough:
            # blatant, unless it was luck: the last round is the judge of that
            judges = replace(plan.judging, key=key + 10 + number)
            finalists = _next_runners(results, 2, plan, source.mechanism.found, scale)[: plan.survivors[2]]
            judged = _judged(source, workers, finalists, judges, state, report, enough)
            if judged:
                results = [Scouted(lead.candidate, (lead.finding,)) for lead in judged]
                break
        runners = _next_runners(results, number, plan, source.mechanism.found, scale)
        if not runners:
            break
    state.leads = _leads(results)
    return state.leads


def _last_round(
    source: OutputSource,
    workers: Workers,
    runners: Sequence[tuple[SearchCandidate, tuple[Finding, ...]]],
    round_: Round,
    plan: Plan,
    state: Race,
    report: Callable[[str, int, int, float], None],
) -> list[Scouted]:
    """The events found so far on fresh samples. Where these are many, as for a small ε, parts of them first,
    which leave a few candidates, and the whole only where one of them may be a violation, or the bound shall
    be tight."""
    if round_.size < LEAST_HEAT:
        return _run_round(source, workers, runners, round_, state, report)
    for part in HEATS:
        results = _run_round(source, workers, runners, plan.heat(round_, part), state, report)
        runners = _finalists(results)
    hopes = [max(f.score, f.at_best) for _, findings in runners for f in findings]
    if not plan.tight and not any(hope > plan.claim.amount for hope in hopes):
        return results
    return _run_round(source, workers, runners, round_, state, report)


def _judged(
    source: OutputSource,
    workers: Workers,
    finalists: Sequence[tuple[SearchCandidate, tuple[Finding, ...]]],
    judges: Round,
    state: Race,
    report: Callable[[str, int, int, float], None],
    enough: float,
) -> list[Lead]:
    """The leads that fresh samples bear out; none where a few of them do not, since most were luck. Where
    samples are many, the finalists that did best on the few are tried first: one that holds is enough."""
    groups = [finalists]
    if judges.size >= LEAST_APART:
        few = replace(judges, size=judges.size // 5, key=judges.key + 40)
        held = _leads(_run_round(source, workers, finalists, few, state, report))
        if not held or held[0].finding.score <= HALFWAY * enough:
            return []
        order = dict.fromkeys(lead.candidate for lead in held)
        groups = [[runner] for candidate in order for runner in finalists if runner[0] == candidate]
    judged: list[Lead] = []
    for number, group in enumerate(groups):
        apart = replace(judges, key=judges.key + JUDGES_APART * number)
        judged += _leads(_run_round(source, workers, group, apart, state, report))
        judged.sort(key=lambda lead: -lead.merit)
        if judged and judged[0].finding.score > enough:
            return judged
    return []


LEAST_GLANCE = 200  # samples of a candidate, below which a glance tells nothing


def _at_a_glance(
    source: OutputSource,
    workers: Workers,
    runners: Sequence[tuple[SearchCandidate, tuple[Finding, ...]]],
    glances: Sequence[Plan],
    scale: float,
    state: Race,
    report: Callable[[str, int, int, float], None],
    key: int,
    enough: float,
) -> bool:
    """Whether a first look at all candidates on few samples, or a second one at the better half, shows what
    fresh ones bear out; else nothing of it is kept."""
    for number, glance in enumerate(glances):
        first = not state.first_look
        look = replace(glance.round(0, len(runners)), key=key + 2 * number, first=first)
        looked_at = runners if first else _better_half(runners, state)
        results = _run_round(source, workers, looked_at, look, state, report)
        if _plain(source, workers, results, glance, scale, state, report, look.key + 1, enough):
            return True
    state.tried, state.refused, state.first_look = 0, (), {}
    return False


def _better_half(
    runners: Sequence[tuple[SearchCandidate, tuple[Finding, ...]]], state: Race
) -> list[tuple[SearchCandidate, tuple[Finding, ...]]]:
    """Those that the first look liked better."""
    looked_at = [runner for runner in runners if runner[0] not in state.refused]
    return sorted(looked_at, key=lambda runner: -state.first_look[runner[0]])[: (len(runners) + 1) // 2]


def _plain(
    source: OutputSource,
    workers: Workers,
    results: Sequence[Scouted],
    few: Plan,
    scale: float,
    state: Race,
    report: Callable[[str, int, int, float], None],
    key: int,
    enough: float,
) -> list[Lead]:
    """The leads of a glance, if what it showed is enough and fresh samples bear it out; else none."""
    if state.best <= enough:
        return []
    finalists = _next_runners(results, 2, few, source.mechanism.found, scale)[: few.survivors[2]]
    judges = replace(few.judging, key=key)
    judged = _judged(source, workers, finalists, judges, state, report, enough)
    if judged:  # else what was found so far stays there, for an interruption
        state.leads, state.finalists = judged, [lead.candidate for lead in judged]
    return judged


def _run_round(
    source: OutputSource,
    workers: Workers,
    runners: Sequence[tuple[SearchCandidate, tuple[Finding, ...]]],
    round_: Round,
    state: Race,
    report: Callable[[str, int, int, float], None],
) -> list[Scouted]:
    tasks = [(candidate, round_, index, known) for index, (candidate, known) in enumerate(runners)]
    results: list[Scouted] = []
    before, state.leads = state.leads, []
    forms = 2 if round_.stretch > 1 and not all(candidate.pair.given for candidate, _ in runners) else 1
    try:
        for result in workers.map(partial(scout, source), tasks, 2 * forms * round_.size):
            results.append(result)
            if round_.first:
                state.tried += 1
                state.first_look[result.candidate] = result.merit
            state.notice(result)
            report(f"search, round {round_.number + 1} of 4", len(results), len(tasks), state.best)
    except KeyboardInterrupt:
        state.leads = state.leads or before
        raise
    return results


def _finalists(results: Sequence[Scouted]) -> list[tuple[SearchCandidate, tuple[Finding, ...]]]:
    """Those that a quarter of the samples leaves in the last round: by what patience could show, and by what
    the usual samples can; each with its better events."""
    leads = [lead for lead in _leads(results) if lead.finding.score > -math.inf]
    by_both = [leads, sorted(leads, key=lambda lead: -lead.soon)]
    chosen: dict[SearchCandidate, None] = {}
    for order in by_both:
        for candidate in list(dict.fromkeys(lead.candidate for lead in order))[: MOST_IN_FINAL - 1]:
            chosen[candidate] = None
    return [
        (candidate, tuple(dict.fromkeys(lead.finding for o in by_both for lead in _of(candidate, o))))
        for candidate in chosen
    ]


def _of(candidate: SearchCandidate, leads: Sequence[Lead]) -> list[Lead]:
    return [lead for lead in leads if lead.candidate == candidate][:MOST_EVENTS_IN_FINAL]


def _leads(results: Sequence[Scouted]) -> list[Lead]:
    leads = [Lead(result.candidate, finding) for result in results for finding in result.findings]
    return sorted(leads, key=lambda lead: -lead.merit)


def _next_runners(
    results: Sequence[Scouted], number: int, plan: Plan, found: Any, scale: float
) -> list[tuple[SearchCandidate, tuple[Finding, ...]]]:
    """Who goes on: the best of each pair, a few plain pairs whatever they showed, and mutated parameters."""
    fit = sorted((r for r in results if not r.refused), key=lambda result: -result.merit)
    chosen: list[Scouted] = []
    most, per_pair = plan.survivors[number], (3, 2, 2, 0)[number]
    for result in fit:
        if sum(other.candidate.pair == result.candidate.pair for other in chosen) < per_pair:
            chosen.append(result)
        if len(chosen) >= most:
            break
    # stretched pairs see what patience can show; the usual samples may show more elsewhere
    near = [r for r in sorted(fit, key=lambda result: -result.near) if r.near > -math.inf and r not in chosen]
    chosen += near[:MOST_NEAR]
    # A rare event shows only in many samples: keep one plain pair of each kind in the race. Where runs are
    # many, the last round has no use for it: what is rare is looked for when the race has settled nothing.
    if number < (3 if plan.costly else 2):
        for category in ("one above", "all above"):
            plain = [r for r in fit if r.candidate.pair.category == category]
            plain.sort(key=lambda result: result.candidate.pair.size)
            chosen += [r for r in plain[:1] if r not in chosen]
    runners = [(result.candidate, result.findings) for result in chosen]
    if number < 2:
        known = {candidate for candidate, _ in runners}
        for result in chosen[: (3, 2)[number]]:
            for moved in mutated(result.candidate, found, scale / (1, 2)[number]):
                if moved not in known:
                    known.add(moved)
                    runners.append((moved, ()))
    return runners


def mutated(candidate: SearchCandidate, found: Any, scale: float) -> Iterator[SearchCandidate]:
    """Other parameters, and the answers that rise or fall set apart from the rest."""
    for parameters in mutations(candidate.parameters, found, scale):
        yield replace(candidate, parameters=parameters)
    for pair in () if candidate.pair.given else set_apart(candidate.pair, max(1, round(scale))):
        yield replace(candidate, pair=pair)
