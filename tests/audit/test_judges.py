"""What looks blatant before the last round is judged on fresh samples, the best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from freegap.auditor import search
from freegap.auditor.events import Clause, Event, OneOf
from freegap.auditor.families import Finding
from freegap.auditor.features import Whole
from freegap.auditor.inputs import Pair, SearchCandidate
from freegap.auditor.plan import Plan, Round
from freegap.auditor.scout import Scouted
from freegap.auditor.statistics import PureClaim

ENOUGH = 0.8
PLAN = Plan(100_000, 500_000, 5.0, PureClaim(0.7))
CANDIDATES = [SearchCandidate(Pair((n,), (n + 1,), "one above"), ()) for n in range(3)]


def found(score: float) -> Finding:
    event = Event((Clause(Whole(), OneOf((1.0,))),))
    return Finding(event, False, 10, 1, score, score)


class Rounds:
    """Stands in for the runs: who was tried on how many samples, with which key; and what they showed."""

    def __init__(self, few: Sequence[float], many: Sequence[float]) -> None:
        self.scores = {PLAN.judging.size: many, PLAN.judging.size // 5: few}
        self.tried: list[tuple[int, int, int]] = []

    def __call__(self, source: Any, workers: Any, runners: Any, round_: Round, *_: Any) -> list[Scouted]:
        scores = self.scores[round_.size]
        places = [CANDIDATES.index(candidate) for candidate, _ in runners]
        self.tried += [(place, round_.size, round_.key) for place in places]
        return [Scouted(CANDIDATES[place], (found(scores[place]),)) for place in places]


def judged(monkeypatch: pytest.MonkeyPatch, rounds: Rounds, judges: Round = PLAN.judging) -> list[int]:
    monkeypatch.setattr(search, "_run_round", rounds)
    runners = [(candidate, (found(1.0),)) for candidate in CANDIDATES]
    any_: Any = None
    leads = search._judged(any_, any_, runners, judges, search.Race(), any_, ENOUGH)
    return [CANDIDATES.index(lead.candidate) for lead in leads]


def test_the_best_of_a_few_samples_is_judged_first_and_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = Rounds(few=(0.9, 1.5, 1.2), many=(9.0, 1.0, 9.0))
    assert judged(monkeypatch, rounds) == [1]
    assert [place for place, size, _ in rounds.tried if size == PLAN.judging.size] == [1]


def test_where_it_does_not_hold_the_next_has_samples_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds = Rounds(few=(0.9, 1.5, 1.2), many=(9.0, 0.1, 1.0))
    assert judged(monkeypatch, rounds) == [2, 1]
    full = [(place, key) for place, size, key in rounds.tried if size == PLAN.judging.size]
    assert [place for place, _ in full] == [1, 2]
    assert len({key for _, key in full}) == 2


def test_where_none_holds_nothing_is_judged_blatant(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(monkeypatch, Rounds(few=(0.9, 1.5, 1.2), many=(0.7, 0.8, 0.1))) == []
    hopeless = Rounds(few=(0.1, 0.2, 0.68), many=(9.0, 9.0, 9.0))  # 0.85 of what is enough
    assert judged(monkeypatch, hopeless) == []
    assert len(hopeless.tried) == 3
    assert judged(monkeypatch, Rounds(few=(0.1, 0.2, 0.69), many=(9.0, 9.0, 9.0))) == [2]


def test_of_few_samples_all_have_theirs_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(PLAN.judging, size=1000)
    rounds = Rounds((), ())
    rounds.scores = {1000: (0.9, 1.5, 0.1)}
    assert judged(monkeypatch, rounds, small) == [1, 0, 2]
    assert len(rounds.tried) == 3
