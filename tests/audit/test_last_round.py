"""The last round of a search: what its parts leave, and when it is made in full."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from freegap.auditor import search
from freegap.auditor.event_search import find_events, score_event
from freegap.auditor.events import Clause, Event, OneOf
from freegap.auditor.families import Finding
from freegap.auditor.features import Component, Whole
from freegap.auditor.inputs import Pair, SearchCandidate
from freegap.auditor.plan import BoundForecast, Effort, Plan, Round
from freegap.auditor.reading import from_batch
from freegap.auditor.scout import Scouted
from freegap.auditor.statistics import PureClaim

PLAN = Plan(100_000, 500_000, 5.0, PureClaim(0.2), patience=16)
LAST = PLAN.round(3, 7)
CANDIDATES = [SearchCandidate(Pair((n,), (n + 1,), "one above"), ()) for n in range(7)]
EVENT = Event((Clause(Whole(), OneOf((1.0,))),))


class Rounds:
    """Stands in for the runs: what each candidate shows, and who was tried on how many samples."""

    def __init__(self, score: Sequence[float], soon: Sequence[float], at_best: float = 0.1) -> None:
        self.score, self.soon, self.at_best = score, soon, at_best
        self.tried: list[tuple[int, list[int]]] = []
        self.keys: list[int] = []

    def __call__(self, source: Any, workers: Any, runners: Any, round_: Round, *_: Any) -> list[Scouted]:
        places = [CANDIDATES.index(candidate) for candidate, _ in runners]
        self.tried.append((round_.size, places))
        self.keys.append(round_.key)
        return [
            Scouted(CANDIDATES[n], (Finding(EVENT, False, 9, 5, self.score[n], self.soon[n], self.at_best),))
            for n in places
        ]


def last_round(
    monkeypatch: pytest.MonkeyPatch, rounds: Rounds, plan: Plan = PLAN, size: int = 0
) -> list[int]:
    monkeypatch.setattr(search, "_run_round", rounds)
    any_: Any = None
    runners = [(candidate, (Finding(EVENT, False, 9, 5, 1.0),)) for candidate in CANDIDATES]
    round_ = replace(LAST, size=size or LAST.size)
    found = search._last_round(any_, any_, runners, round_, plan, search.Race(), any_)
    return [CANDIDATES.index(result.candidate) for result in found]


SCORES = (0.11, 0.17, 0.12, 0.16, 0.10, 0.10, 0.10)
SOON = (0.10, 0.10, 0.15, 0.10, 0.13, 0.10, 0.10)


def test_without_hope_a_quarter_of_the_samples_is_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LAST.size == 400_000
    rounds = Rounds(SCORES, SOON)
    assert last_round(monkeypatch, rounds) == [1, 3, 2, 4]  # the best two by score, the best two by soon
    assert rounds.tried == [(12_500, [0, 1, 2, 3, 4, 5, 6]), (100_000, [1, 3, 2, 4])]
    assert len(set(rounds.keys)) == 2


@pytest.mark.parametrize(
    "rounds",
    [
        Rounds(tuple(0.201 if n == 3 else x for n, x in enumerate(SCORES)), SOON),
        Rounds(SCORES, SOON, at_best=0.201),
    ],
    ids=["by its score", "if chance was against it"],
)
def test_what_may_be_a_violation_has_the_whole_round(monkeypatch: pytest.MonkeyPatch, rounds: Rounds) -> None:
    last_round(monkeypatch, rounds)
    assert [size for size, _ in rounds.tried] == [12_500, 100_000, 400_000]
    assert len(set(rounds.keys)) == 3


def test_what_is_claimed_exactly_is_no_hope(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = Rounds(SCORES, SOON, at_best=0.2)
    last_round(monkeypatch, rounds)
    assert len(rounds.tried) == 2


def test_a_tight_bound_has_the_whole_round_whatever_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = Rounds(SCORES, SOON)
    last_round(monkeypatch, rounds, replace(PLAN, tight=True))
    assert [size for size, _ in rounds.tried] == [12_500, 100_000, 400_000]


@pytest.mark.parametrize(("size", "sizes"), [(199_999, [199_999]), (200_000, [6_250, 50_000])])
def test_few_samples_are_made_at_once(monkeypatch: pytest.MonkeyPatch, size: int, sizes: list[int]) -> None:
    rounds = Rounds(SCORES, SOON)
    last_round(monkeypatch, rounds, size=size)
    assert [size for size, _ in rounds.tried] == sizes


def test_a_part_of_the_round_is_judged_by_what_it_has() -> None:
    heat = PLAN.heat(LAST, 16)
    assert heat.effort.forecast.grow == 20  # 25,000 samples for 500,000
    assert LAST.effort.forecast.grow == 1.25
    assert heat.only_known


def test_who_is_daring_is_not_so_in_the_parts_of_the_last_round() -> None:
    """Else an event that happened three times by chance is before one that happened 80 times against 130."""
    daring = replace(PLAN, daring=0.7)
    assert daring.round(2, 30).effort.forecast.caution < PLAN.round(2, 30).effort.forecast.caution
    part = daring.heat(daring.round(3, 7), 8)
    assert part.effort.forecast == PLAN.heat(LAST, 8).effort.forecast
    by_chance, there = part.effort.forecast.bound([3, 128], [0, 80])
    assert by_chance < 0 < there
    by_chance, there = daring.forecast(part.size, 1.0).bound([3, 128], [0, 80])
    assert by_chance > there


def test_at_best_is_as_far_above_the_estimate_as_the_score_is_below() -> None:
    forecast = BoundForecast(grow=1, caution=1, z=0, claim=PureClaim(0.2))
    first, second = (from_batch(np.arange(10_000) % 10 < share, 10_000) for share in (5, 4))
    event = Event((Clause(Component(first.paths[0]), OneOf((first.labels[first.codes[0, 0]],))),))
    finding = score_event(event, first, second, forecast, swapped=False)
    assert (finding.hits1, finding.hits2) == (5000, 4000)
    middle, apart = (finding.at_best + finding.score) / 2, (finding.at_best - finding.score) / 2
    assert middle == pytest.approx(math.log(5 / 4), abs=1e-3)
    assert apart == pytest.approx(1 / math.sqrt(5000) + 1 / math.sqrt(4000), abs=1e-3)


def test_numbers_that_hardly_repeat_make_no_sets() -> None:
    """Of nine numbers that stand there once each a set is luck, and pushed what tells more out of a race."""
    rng = np.random.default_rng(1)
    parts = []
    for seen in (9, 2):
        numbers = np.full(250, np.nan)
        numbers[:seen] = rng.normal(size=seen)
        parts.append(np.ma.masked_invalid(numbers))
    effort = Effort(BoundForecast(grow=200, caution=1.3, z=5, distance=5.0, claim=PureClaim(0.2)))
    found = find_events(from_batch(parts[0], 250), from_batch(parts[1], 250), effort)
    conditions = [clause.condition for finding in found for clause in finding.event.clauses]
    assert not [c for c in conditions if isinstance(c, OneOf) and len(c.values) > 1]
    many = [np.repeat([1.0, 2.0, 3.0], times) for times in ([100, 100, 50], [30, 40, 180])]
    found = find_events(from_batch(many[0], 250), from_batch(many[1], 250), effort)
    assert [f for f in found if isinstance(f.event.clauses[0].condition, OneOf) and f.score > 0]


def test_glances_get_longer_and_the_first_round_is_shorter_after_them() -> None:
    assert [(plan.samples, plan.confirm, plan.patience) for plan in PLAN.glances] == [
        (10_000, 50_000, 1),
        (33_333, 166_666, 1),
    ]
    assert PLAN.round(0, 23).size == 10_000
    assert PLAN.round(0, 23, glanced=True).size == 8_000


def test_pairs_in_two_forms_have_as_many_samples_as_others() -> None:
    plain = replace(PLAN, claim=PureClaim(0.7))
    assert (PLAN.stretch, plain.stretch) == (5, 1)
    for number in (1, 2):
        assert 2 * PLAN.round(number, 20).size == plain.round(number, 20).size


class Looks(Rounds):
    """What candidates show at first, at a second glance, and when they are judged."""

    def __call__(self, source: Any, workers: Any, runners: Any, round_: Round, state: Any, *_: Any) -> Any:
        results = super().__call__(source, workers, runners, round_)
        if round_.only_known:
            results = [Scouted(r.candidate, (replace(r.findings[0], score=9.0),)) for r in results]
        if round_.first:
            state.first_look = {result.candidate: result.merit for result in results}
        state.leads = search._leads(results)
        return results


def at_a_glance(monkeypatch: pytest.MonkeyPatch, looks: Looks, plan: Plan, enough: float) -> search.Race:
    monkeypatch.setattr(search, "_run_round", looks)
    monkeypatch.setattr(
        search, "_next_runners", lambda results, *_: [(r.candidate, r.findings) for r in results]
    )
    any_: Any = None
    source: Any = type("Source", (), {"mechanism": type("Mechanism", (), {"found": ()})})
    runners: Any = [(candidate, ()) for candidate in CANDIDATES]
    state = search.Race()
    found = search._at_a_glance(source, any_, runners, plan.glances, 1.0, state, any_, 20, enough)
    assert found is bool(state.leads and state.finalists)
    return state


def test_the_second_glance_is_at_the_better_half(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks(SCORES, SOON)
    state = at_a_glance(monkeypatch, looks, PLAN, 0.5)
    assert looks.tried == [(1_000, [0, 1, 2, 3, 4, 5, 6]), (3_333, [1, 3, 2, 0])]
    assert looks.keys == [20, 22]
    assert state.first_look == {}  # the rounds that follow begin anew


def test_what_is_plain_at_a_glance_is_judged_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks(SCORES, SOON)
    state = at_a_glance(monkeypatch, looks, PLAN, 0.165)
    assert looks.keys == [20, 21]
    assert len(state.first_look) == len(CANDIDATES)
