"""The time of an audit on a device is used, by a clock of the test's own."""

from __future__ import annotations

from typing import Any

import array_api_strict
import pytest

import freegap as fg
from freegap.auditor import device_pace, device_stages
from freegap.auditor.confirm import CONFIRM_KEY
from freegap.auditor.device_runs import DeviceSource

SECONDS = 60.0
SEARCH_PACE, COUNT_PACE = 5e-3, 5e-4  # seconds a run: weighing takes ten times as long as counting


class Clock:
    """Goes on with the runs that are made."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pace = SEARCH_PACE

    def monotonic(self) -> float:
        return self.now

    perf_counter = monotonic


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    run, count = DeviceSource.run, DeviceSource.count

    def timed_run(self: DeviceSource, answers: Any, parameters: Any, size: int, key: Any) -> Any:
        made.now += size * made.pace
        return run(self, answers, parameters, size, key)

    def timed_count(self: DeviceSource, *given: Any) -> Any:
        made.pace = COUNT_PACE
        try:
            return count(self, *given)
        finally:
            made.pace = SEARCH_PACE

    for module in (device_pace, device_stages):
        monkeypatch.setattr(module, "time", made)
    monkeypatch.setattr(device_pace, "LEAST_WEIGHED", 200)
    monkeypatch.setattr(DeviceSource, "batch", lambda self, answers: 500)
    monkeypatch.setattr(DeviceSource, "run", timed_run)
    monkeypatch.setattr(DeviceSource, "count", timed_count)
    return made


def noisy(answers: Any, epsilon: float, rng: Any, size: int, xp: Any) -> Any:
    return xp.floor(answers[0] + rng.laplace(scale=1 / epsilon, size=size))


def of_labelled_noise(answers: Any, noise: Any, *, epsilon: float) -> Any:
    return answers[0] + noise.laplace(1 / epsilon)


def test_a_confirmation_takes_the_time_that_is_left(clock: Clock) -> None:
    settings: dict[str, Any] = {"inputs": [([0], [1])], "search_samples": 1000, "seed": 1, "jobs": 1}
    report = fg.audit(
        noisy,
        epsilon=1,
        device=array_api_strict,
        time_limit=SECONDS,
        stop_early=False,
        shrink=False,
        **settings,
    )
    taken = clock.now - 100.0
    assert 0.9 * SECONDS < taken < 0.96 * SECONDS
    assert report.closest is not None
    counts = report.closest.counts
    confirming = (counts.runs1 + counts.runs2) * COUNT_PACE
    assert confirming > SECONDS / 4  # by the pace of the search it was a tenth of what was left


def test_a_confirmation_does_not_look_before_a_batch_is_full(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch takes a GPU as long as a few runs: looks at less than that would take the time of the rest."""
    sizes: list[int] = []
    count = DeviceSource.count

    def noted(self: DeviceSource, answers: Any, parameters: Any, events: Any, size: int, key: Any) -> Any:
        if key[0] == CONFIRM_KEY:
            sizes.append(size)
        return count(self, answers, parameters, events, size, key)

    monkeypatch.setattr(DeviceSource, "count", noted)
    settings: dict[str, Any] = {"inputs": [([0], [1])], "search_samples": 1000, "seed": 1, "jobs": 1}
    fg.audit(
        of_labelled_noise, epsilon=1, device=array_api_strict, time_limit=SECONDS, shrink=False, **settings
    )
    assert sizes[0] + sizes[1] == 2 * 500  # a batch for each input


def test_candidates_are_weighed_on_as_many_runs_as_cost_nothing(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To start a batch takes a second here, and its runs take nothing, up to ten thousand of them."""
    stages: list[device_stages.DeviceStages] = []
    try_out = device_stages.DeviceStages._try_out

    def started(self: DeviceSource, answers: Any, parameters: Any, size: int, key: Any) -> Any:
        clock.now += 1.0 + max(0, size - 10_000)
        return iter(())

    def noted(self: device_stages.DeviceStages, candidate: Any) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(DeviceSource, "run", started)
            patched.setattr(DeviceSource, "batch", lambda self, answers: 100_000)
            try_out(self, candidate)
        stages.append(self)

    monkeypatch.setattr(device_stages.DeviceStages, "_try_out", noted)
    settings: dict[str, Any] = {"inputs": [([0], [1])], "search_samples": 1000, "seed": 1, "jobs": 1}
    fg.audit(noisy, epsilon=1, device=array_api_strict, time_limit=SECONDS, shrink=False, **settings)
    assert stages[0].least == 200 * 4**2  # the next, 12,800, would take 2,800 seconds
    assert stages[0].shortest == pytest.approx(2.0)


def test_what_the_first_looks_found_is_looked_at_further(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not what was known before them: the best of them would be judged by worse events."""
    clock.pace = 1e-5
    seen: list[tuple[Any, set[Any]]] = []
    best: list[Any] = []
    first_looks = device_stages.DeviceStages._first_looks
    looked_at = device_stages.DeviceStages._looked_at

    def noted(self: device_stages.DeviceStages, progress: Any) -> Any:
        best.extend(first_looks(self, progress))
        seen.clear()
        return list(best)

    def looking(self: device_stages.DeviceStages, candidate: Any, known: Any, *more: Any) -> Any:
        seen.append((candidate, set(known)))
        return looked_at(self, candidate, known, *more)

    monkeypatch.setattr(device_stages.DeviceStages, "_first_looks", noted)
    monkeypatch.setattr(device_stages.DeviceStages, "_looked_at", looking)
    settings: dict[str, Any] = {"inputs": [([0], [1])], "search_samples": 1000, "seed": 1, "jobs": 1}
    fg.audit(
        of_labelled_noise, epsilon=1, device=array_api_strict, time_limit=SECONDS, shrink=False, **settings
    )
    assert best
    candidate, known = seen[0]
    assert candidate == best[0].candidate
    assert known > set(best[0].known)
