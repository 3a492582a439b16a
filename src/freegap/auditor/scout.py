"""Try one candidate of a search: draw samples of both inputs, weigh the events known so far, look for others.

Both inputs of a pair are run on the same noise, and for a small ε the pair is tried in a stretched form as
well (`freegap.auditor.search`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from freegap.auditor.computed import floating_features, learn_score
from freegap.auditor.event_search import find_events, score_event
from freegap.auditor.families import Finding, rarest
from freegap.auditor.features import Distance
from freegap.auditor.inputs import Pair, SearchCandidate
from freegap.auditor.outputs import Outputs
from freegap.auditor.plan import Round
from freegap.auditor.sampling import OutputSource
from freegap.errors import MechanismFailed

SEARCH_KEY = 1
MOST_LEARNED = 3
FEW = 50
MOST_TEXTS = 0.5  # different ones, of the outputs


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


def scout(source: OutputSource, task: tuple[SearchCandidate, Round, int, tuple[Finding, ...]]) -> Scouted:
    """Try one candidate, on its pair and on the stretched pair: weigh the events known so far, look for
    others."""
    candidate, round_ = task[:2]
    plain = _scout(source, task, candidate.pair, replace(round_, stretch=1))
    if round_.stretch == 1 or plain.refused or candidate.pair.given:
        return plain
    plain = replace(plain, near=plain.merit)
    try:
        apart = _scout(source, task, candidate.pair.stretched(round_.stretch), round_.apart)
    except MechanismFailed:  # on an input that nobody asked for
        return plain
    if apart.refused:
        return plain
    if round_.only_known:  # what the usual samples can show is judged on the pair itself, what may be afar
        soon = {(f.event, f.swapped): f.soon for f in plain.findings}
        at_best = {(f.event, f.swapped): f.at_best for f in apart.findings}
        both = sorted((*plain.findings, *apart.findings), key=lambda finding: finding.merit)
        keys = [(f, (f.event, f.swapped)) for f in both]
        best = {key: replace(f, soon=soon[key], at_best=at_best[key]) for f, key in keys}
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
    """Whether the outputs ever change; seldom must more than a few be looked at."""
    for some in (outputs.part(0, FEW), outputs):
        if len(some):
            differs = (some.codes != some.codes[0]) | (some.numbers != some.numbers[0])
            differs |= np.signbit(some.numbers) != np.signbit(some.numbers[0])
            if differs.any():
                return True
    return False
