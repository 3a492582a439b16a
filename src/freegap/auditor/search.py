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

import numpy as np

from freegap.auditor.computed import floating_features, learn_score
from freegap.auditor.event_search import find_events, score_event
from freegap.auditor.families import Finding, rarest
from freegap.auditor.features import Distance
from freegap.auditor.inputs import Pair, SearchCandidate, set_apart
from freegap.auditor.outputs import Outputs
from freegap.auditor.parameters import mutations
from freegap.auditor.plan import Plan, Round
from freegap.auditor.sampling import OutputSource, Workers
from freegap.errors import MechanismFailed

SEARCH_KEY = 1
MOST_LEARNED = 3
MOST_NEAR = 3
MOST_TEXTS = 0.5  # different ones, of the outputs
LEAST_HEAT = 200_000  # samples of a last round that is worth a heat before it
HALFWAY = 0.85  # of what is enough, after a part of the samples
MOST_IN_FINAL, MOST_EVENTS_IN_FINAL = 3, 4


@dataclass(frozen=True)
class Scouted:
    """What a candidate looked like: its best events, and whether its outputs ever changed."""

    candidate: SearchCandidate
    findings: tuple[Finding, ...]
    refused: bool = False
    random: bool = True
    remarks: frozenset[str] = frozenset()
    near: float = -math.inf
    """The merit of the best event on the pair itself, not stretched."""

    @property
    def merit(self) -> float:
        """The merit of the best event."""
        return max((finding.merit for finding in self.findings), default=-np.inf)


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


def scout(source: OutputSource, task: tuple[SearchCandidate, Round, int, tuple[Finding, ...]]) -> Scouted:
    """Try one candidate, on its pair and on the stretched pair: weigh the events known so far, look for
    others."""
    candidate, round_ = task[:2]
    if round_.apart_alone and round_.stretch > 1 and not candidate.pair.given:
        try:
            return _scout(source, task, candidate.pair.stretched(round_.stretch), round_.apart)
        except MechanismFailed:  # on an input that nobody asked for
            pass
    plain = _scout(source, task, candidate.pair, replace(round_, stretch=1))
    if round_.stretch == 1 or plain.refused or candidate.pair.given:
        return plain
    plain = replace(plain, near=plain.merit)
    try:
        apart = _scout(source, task, candidate.pair.stretched(round_.stretch), round_.apart)
    except MechanismFailed:  # on an input that nobody asked for
        return plain
    if round_.only_known:  # what the usual samples can show is judged on the pair itself
        soon = {(f.event, f.swapped): f.soon for f in plain.findings}
        both = sorted((*plain.findings, *apart.findings), key=lambda finding: finding.merit)
        best = {(f.event, f.swapped): replace(f, soon=soon[f.event, f.swapped]) for f in both}
        return replace(plain, findings=tuple(best.values()))
    half = round_.keep // 2
    return replace(plain, findings=tuple(dict.fromkeys((*plain.findings[:half], *apart.findings[:half]))))


def _scout(
    source: OutputSource,
    task: tuple[SearchCandidate, Round, int, tuple[Finding, ...]],
    pair: Pair,
    round_: Round,
) -> Scouted:
    candidate, _, index, known = task
    key = (SEARCH_KEY, round_.key, round_.number, index, round_.stretch)
    try:
        first = source.draw(pair.first, candidate.parameters, round_.size, key)
        second = source.draw(pair.second, candidate.parameters, round_.size, key)
    except MechanismFailed:
        if pair.unusual or all(source.refuses(x, candidate.parameters) for x in (pair.first, pair.second)):
            return Scouted(candidate, (), refused=True)
        raise
    forecast = round_.effort.forecast
    found = [score_event(f.event, first, second, forecast, swapped=f.swapped) for f in known]
    if not round_.only_known:
        found += _look(source, candidate, round_, first, second, place=index)
    best = found if round_.only_known else _varied(found, round_.keep)
    moved, remarks = _is_random(first) or _is_random(second), first.remarks | second.remarks
    if len(first.labels) > MOST_TEXTS * len(first):
        remarks |= {"Nearly all texts in the outputs were different: texts are compared as wholes alone."}
    return Scouted(candidate, tuple(best), random=moved, remarks=remarks)


def _varied(found: Sequence[Finding], most: int) -> list[Finding]:
    """The best few, but no more than two that look at the same features in the same way."""
    kept: list[Finding] = []
    seen: dict[tuple[object, ...], int] = {}
    for finding in sorted(found, key=lambda finding: -finding.merit):
        kinds = tuple((type(c.feature), type(c.condition)) for c in finding.event.clauses)
        if seen.get(kinds, 0) < 2 and finding not in kept:
            seen[kinds] = seen.get(kinds, 0) + 1
            kept.append(finding)
            if len(kept) == most:
                break
    return [*kept, *(finding for finding in rarest(found) if finding not in kept)]


def _look(
    source: OutputSource,
    candidate: SearchCandidate,
    round_: Round,
    first: Outputs,
    second: Outputs,
    *,
    place: int,
) -> list[Finding]:
    """place: of the candidate in its round; the survivors of the last get the whole effort."""
    effort = round_.effort if place < round_.thorough else round_.effort.eased()
    extra: list[Any] = []
    if round_.floating:
        extra += floating_features(first, second, 1 if effort.light else 2)
    answers = (*candidate.pair.first, *candidate.pair.second)
    numbers = [value for _, value in candidate.parameters if isinstance(value, int | float)]
    if (
        round_.learn and place < MOST_LEARNED and _worth_learning(first)
    ):  # taught on one half, looked at on the other
        half = len(first) // 2
        score = learn_score(first.part(0, half), second.part(0, half), answers)
        if score is not None:
            extra.append(score)
            first, second = first.part(half, len(first)), second.part(half, len(second))
    effort = replace(
        effort,
        forecast=replace(effort.forecast, grow=effort.forecast.grow * round_.size / max(1, len(first))),
        natural=tuple(sorted({float(x) for x in (*answers, *numbers)})),
        references=_references(source, candidate, first),
        extra=tuple(extra),
    )
    return find_events(first, second, effort)


def _worth_learning(outputs: Outputs) -> bool:
    """Whether numbers stand in several places: a single number has intervals, labels have sets."""
    return int(outputs.is_number.any(axis=0).sum()) > 1


def _references(source: OutputSource, candidate: SearchCandidate, outputs: Outputs) -> tuple[Distance, ...]:
    """The noiseless outputs of both inputs, where outputs are lists of labels (Ding 2020 §4.3.3, case 1)."""
    if len(outputs.paths) < 2 or not outputs.labels:
        return ()
    found = []
    for answers in (candidate.pair.first, candidate.pair.second):
        noiseless = source.mechanism.noiseless(answers, candidate.parameters)
        if noiseless is not None and len(noiseless):
            found.append(Distance(noiseless.rows(1)[0]))
    return tuple(dict.fromkeys(found))


def _is_random(outputs: Outputs) -> bool:
    if not len(outputs):
        return False
    differs = (outputs.codes != outputs.codes[0]) | (outputs.numbers != outputs.numbers[0])
    differs |= np.signbit(outputs.numbers) != np.signbit(outputs.numbers[0])
    return bool(differs.any())


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
    start: the round to begin with; key: tells the races of one audit apart.
    enough: a score that makes further search needless; only the last round follows then.
    """
    runners: list[tuple[SearchCandidate, tuple[Finding, ...]]] = [(candidate, ()) for candidate in candidates]
    results: list[Scouted] = []
    few = len(candidates) <= plan.survivors[2]
    if len(candidates) <= plan.survivors[1]:  # so few need no elimination, which loses what is rare
        start = 2
    if start == 0 and not plan.costly and math.isfinite(enough):
        plain = _glance(source, workers, runners, plan.glance, scale, state, report, key + 20, enough)
        if plain:
            state.leads = plain
            return plain
    for number in range(start, 4):
        round_ = replace(plan.round(number, len(runners), few=few), key=key, first=number == start)
        if number == 3 and round_.size >= LEAST_HEAT and len(runners) > MOST_IN_FINAL:
            heat = replace(round_, size=round_.size // 4, key=key + 30)
            runners = _finalists(_run_round(source, workers, runners, heat, state, report))
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


def _judged(
    source: OutputSource,
    workers: Workers,
    finalists: Sequence[tuple[SearchCandidate, tuple[Finding, ...]]],
    judges: Round,
    state: Race,
    report: Callable[[str, int, int, float], None],
    enough: float,
) -> list[Lead]:
    """The leads that fresh samples bear out; none where a few of them do not, since most were luck."""
    if judges.size >= LEAST_HEAT // 4:
        few = replace(judges, size=judges.size // 5, key=judges.key + 40)
        held = _leads(_run_round(source, workers, finalists, few, state, report))
        if not held or held[0].finding.score <= HALFWAY * enough:
            return []
    judged = _leads(_run_round(source, workers, finalists, judges, state, report))
    return judged if judged and judged[0].finding.score > enough else []


LEAST_GLANCE = 200  # samples of a candidate, below which a glance tells nothing


def _glance(
    source: OutputSource,
    workers: Workers,
    runners: Sequence[tuple[SearchCandidate, tuple[Finding, ...]]],
    few: Plan,
    scale: float,
    state: Race,
    report: Callable[[str, int, int, float], None],
    key: int,
    enough: float,
) -> list[Lead]:
    """The leads of a first look at all candidates on few samples, if fresh ones bear them out; else none."""
    first = replace(few.round(0, len(runners)), key=key, first=True)
    first = replace(first, apart_alone=True)
    if first.size < LEAST_GLANCE:
        return []
    results = _run_round(source, workers, runners, first, state, report)
    if state.best > enough:
        finalists = _next_runners(results, 2, few, source.mechanism.found, scale)[: few.survivors[2]]
        judges = replace(few.judging, key=key + 1)
        judged = _leads(_run_round(source, workers, finalists, judges, state, report))
        if judged and judged[0].finding.score > enough:
            state.finalists = [lead.candidate for lead in judged]
            return judged
    state.tried, state.refused, state.first_look = 0, (), {}
    return []


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
    try:
        for result in workers.map(partial(scout, source), tasks, 2 * round_.size):
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
    if number < 3:  # a rare event shows only in many samples: keep one plain pair of each kind in the race
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
