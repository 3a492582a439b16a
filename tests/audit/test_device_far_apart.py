"""For a small ε the search on a device looks at inputs farther apart than neighbours; verdicts never do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from freegap_evidence.catalogue import CATALOGUE

import freegap as fg
from freegap.auditor.device_moves import uncut
from freegap.auditor.device_runs import DeviceSource
from freegap.auditor.device_stages import DeviceStages
from freegap.auditor.device_weighed import Weighed, best_of_each
from freegap.auditor.events import Between, Clause, Event, OneOf
from freegap.auditor.families import Finding
from freegap.auditor.features import Component, Distance
from freegap.auditor.inputs import SearchCandidate, table_pairs

SETTINGS: dict[str, Any] = {
    "epsilon": 0.2,
    "samples": 20_000,
    "search_samples": 2000,
    "lengths": (2,),
    "device": "cpu",
    "stop_early": False,
    "shrink": False,
    "seed": 1,
    "jobs": 1,
}


class Seen:
    """How far apart an audit has weighed inputs, and what it has run and counted on the device."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times: set[int] = set()
        self.last = 0
        self.run: set[tuple[float, ...]] = set()
        self.counted: set[tuple[float, ...]] = set()
        weigh, run, count = DeviceStages.weigh, DeviceSource.run, DeviceSource.count

        def weighing(stages: Any, *args: Any, times: int = 1, **named: Any) -> Any:
            self.last = args[4] if len(args) > 4 else times
            self.times.add(self.last)
            return weigh(stages, *args, **(named if len(args) > 4 else named | {"times": times}))

        def running(there: Any, answers: Any, *args: Any) -> Any:
            self.run.add(tuple(answers))
            return run(there, answers, *args)

        def counting(there: Any, answers: Any, *args: Any) -> Any:
            self.counted.add(tuple(answers))
            return count(there, answers, *args)

        monkeypatch.setattr(DeviceStages, "weigh", weighing)
        monkeypatch.setattr(DeviceSource, "run", running)
        monkeypatch.setattr(DeviceSource, "count", counting)


def test_the_search_looks_far_apart_and_the_verdict_at_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Seen(monkeypatch)
    more = {"samples": 100_000, "search_samples": 50_000}  # so many bear it out
    report = fg.audit(CATALOGUE["noisy_max_exponential"].batch, neighbours="each", **(SETTINGS | more))
    assert seen.times == {1, 7}
    assert seen.last == 1  # the choice is between neighbours again
    assert report.closest is not None
    first, second = report.closest.first, report.closest.second
    assert max(abs(a - b) for a, b in zip(first, second, strict=True)) == 1
    assert seen.counted == {tuple(first), tuple(second)}


def test_at_a_large_epsilon_neighbours_are_far_enough_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Seen(monkeypatch)
    fg.audit(CATALOGUE["noisy_max_laplace"].batch, neighbours="each", **(SETTINGS | {"epsilon": 1.5}))
    assert seen.times == {1}


def test_pairs_that_were_given_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Seen(monkeypatch)
    pairs = [([3, 1], [2, 2]), ([0, 0], [1, 1])]
    settings = {name: value for name, value in SETTINGS.items() if name != "lengths"}
    fg.audit(CATALOGUE["noisy_max_laplace"].batch, neighbours="each", inputs=pairs, **settings)
    assert seen.times == {1}
    assert seen.run == {tuple(one) for pair in pairs for one in pair}


def test_inputs_that_are_refused_far_apart_are_audited_as_neighbours() -> None:
    """Without a device as well: a search that had no findings far apart ended in a KeyError."""
    settings = SETTINGS | {"device": None, "leave_out": ["floating-point"]}
    report = fg.audit(few_answers, neighbours="one", **settings)
    assert not report.violated
    assert report.lower_bound > 0.05


def few_answers(answers: Any, epsilon: float, rng: Any, size: int) -> Any:
    """Takes no other answers than the patterns have."""
    if not {0, 1, 2}.issuperset(answers):
        raise ValueError("no such answers")
    return answers[0] + rng.laplace(scale=1 / epsilon, size=size) > 1


def test_a_mechanism_that_takes_no_such_inputs_is_asked_about_neighbours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = Seen(monkeypatch)
    pairs: Any = {"lengths": (2,), "leave_out": ["floating-point"]}
    report = fg.audit(few_answers, neighbours="one", **(SETTINGS | pairs))
    assert not report.violated
    assert report.lower_bound > 0.05
    assert 7 in seen.times  # tried once, and refused


@pytest.mark.parametrize(("merit", "found"), [(0.1, 0), (0.05, 1)])
def test_what_is_lost_far_apart_alone_is_behind_what_was_best_before(merit: float, found: int) -> None:
    """The winner of the search, on neighbours, against what was best before it, which has 0.1."""
    kinds = [SearchCandidate(pair, ()) for pair in table_pairs("each", lengths=[2])[:2]]
    event = Event.of(Component(()), Between(high=1.0))
    merits = dict(zip(kinds, (merit, 0.1), strict=True))

    def weighed(candidate: SearchCandidate, known: Any, runs: int) -> Weighed:
        assert known[0] == (event, False)
        return Weighed(candidate, [Finding(event, False, 1, 1, merits[candidate], merits[candidate])], [])

    stages: Any = SimpleNamespace(
        weigh=weighed, proposals=SimpleNamespace(scale=5.0), _run_off_size=lambda candidate, parts: 1000
    )
    far = [Weighed(kinds[0], [Finding(event, False, 9, 1, 0.9, 0.9)], [])]
    (best,) = DeviceStages._as_neighbours(stages, far, [(kinds[1], [(event, False)])])
    assert best.candidate == kinds[found]


def test_one_candidate_of_each_pattern_is_moved() -> None:
    pairs = table_pairs("each", lengths=[2, 3])
    event = Event.of(Component(()), Between(high=1.0))
    latest = {
        candidate: Weighed(candidate, [Finding(event, False, 1, 1, float(i), float(i))], [])
        for i, candidate in enumerate(SearchCandidate(pair, ()) for pair in pairs)
    }
    found = best_of_each(latest, 3)
    assert [weighed.merit for weighed in found] == sorted((w.merit for w in found), reverse=True)
    assert found[0].merit == max(weighed.merit for weighed in latest.values())
    assert len({weighed.candidate.pair.category for weighed in found}) == 3


def test_numbers_are_cut_anew_where_neighbours_have_them() -> None:
    kind, cut = Clause(Distance(()), OneOf((0.0,))), Clause(Component((0,)), Between(low=7.0))
    assert uncut([(Event((kind, cut)), True), (Event((kind,)), False), (Event((cut,)), False)]) == [
        (Event((kind,)), True)
    ]


def test_a_mechanism_that_loses_otherwise_far_apart_is_searched_by_neighbours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A count that is clamped to few values: farther apart, its inputs are at the ends."""
    searched: list[int] = []
    climb = DeviceStages._climb

    def climbing(stages: Any, *args: Any) -> Any:
        searched.append(stages.times)
        return climb(stages, *args)

    monkeypatch.setattr(DeviceStages, "_climb", climbing)
    entry = CATALOGUE["truncated_geometric"]
    more: Any = {"samples": 200_000, "search_samples": 20_000}
    report = fg.audit(entry.batch, neighbours=entry.neighbours, **(SETTINGS | more))
    assert searched == [1]
    assert report.lower_bound > 0.12
