"""What an audit assumes of the runs: that a state which they carry does not depend on earlier inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.auditor.confirm import Confirmation
from freegap.auditor.mechanism import Mechanism
from freegap.auditor.sampling import OutputSource
from freegap.auditor.statistics import EventCounts

SETTINGS: dict[str, Any] = {"epsilon": 1, "samples": 30_000, "search_samples": 2000, "jobs": 1}
HALF = 12_500


class Drifting:
    """Ignores its data, and changes its mind now and then."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, answers: list[float]) -> int:
        self.calls += 1
        return self.calls // HALF % 2


class DriftingInBatches:
    """The same, many runs a call."""

    def __init__(self, every: int) -> None:
        self.calls = 0
        self.every = every

    def __call__(self, answers: list[float], size: int) -> Any:
        self.calls += size if self.every > 1 else 1
        return np.full(size, self.calls // self.every % 2)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_state_that_ignores_the_data_is_no_violation(seed: int) -> None:
    report = fg.audit(Drifting(), seed=seed, **SETTINGS)
    assert not report.violated, report
    assert any("from one call to the next" in note for note in report.notes)


@pytest.mark.parametrize("every", [1, HALF])
def test_where_a_call_makes_many_runs_a_state_is_refused(every: int) -> None:
    with pytest.raises(fg.MechanismFailed, match=r"from one call to the next.*leave out `size`"):
        fg.audit(DriftingInBatches(every), seed=1, **SETTINGS)


def test_the_inputs_follow_each_other_as_they_were_tossed() -> None:
    seen: list[float] = []

    def noted(answers: list[float], rng: np.random.Generator) -> float:
        seen.append(answers[0])
        return answers[0]

    source = OutputSource(Mechanism.of(noted, claimed={"epsilon": 1.0}), 7, None)
    ((first, second),) = source.toss(((0,), (1,)), (), 1000, 1, (1,))
    assert len(first) + len(second) == 1000
    assert (len(second), second.numbers.min(), first.numbers.max(initial=0)) == (sum(seen), 1.0, 0.0)
    changes = np.count_nonzero(np.diff(seen))
    assert 400 < changes < 600  # binomial(999, ½): six standard deviations
    assert 400 < sum(seen) < 600


def test_the_order_of_the_two_calls_of_a_block_is_tossed() -> None:
    seen: list[float] = []

    def noted(answers: list[float], size: int) -> Any:
        seen.append(answers[0])
        return np.full(size, answers[0])

    source = OutputSource(Mechanism.of(noted, claimed={"epsilon": 1.0}), 7, None)
    blocks = source.toss(((0,), (1,)), (), 20_000, 400, (1,))
    firsts = [seen[2 * i] for i in range(400)]
    assert all(sorted(seen[2 * i : 2 * i + 2]) == [0, 1] for i in range(400))
    assert 120 < sum(firsts) < 280
    assert all(len(one) + len(two) == 50 for one, two in blocks)
    assert len({len(one) for one, _ in blocks}) > 10  # tossed, not halved


def test_heaps_of_hits_are_seen_and_chance_is_not() -> None:
    rng = np.random.default_rng(3)

    def dependent(rates: Any) -> bool:
        blocks = [EventCounts(int(rng.binomial(500, rate)), 0, 500, 500) for rate in rates]
        return Confirmation(None, blocks=blocks).dependent  # type: ignore[arg-type]

    for rate in (0.0, 0.001, 0.03, 0.5, 1.0):
        assert not any(dependent(np.full(50, rate)) for _ in range(400))
    assert dependent(np.repeat([0.0, 1.0], 12))
    assert dependent(np.tile([0.4, 0.6], 12))
    assert not Confirmation(None).dependent  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["eps", "epsilon1", "noise_scale", "sigma", "b", "privacy_budget", "delta"])
def test_a_privacy_parameter_is_asked_for(name: str) -> None:
    space: dict[str, Any] = {}
    exec(f"def noisy(answers, {name}, rng):\n    return answers[0] + rng.laplace()", space)  # noqa: S102
    with pytest.raises(fg.InvalidArgument, match=rf"no value for '{name}'.*Pass parameters=") as caught:
        fg.audit(space["noisy"], epsilon=1)
    assert caught.value.argument == "parameters"
    given = fg.audit(space["noisy"], seed=1, **{**SETTINGS, "samples": 500}, parameters={name: 1})
    assert not given.interrupted


def test_a_parameter_that_scales_noise_is_asked_for_and_a_place_is_not() -> None:
    def by_rng(answers: list[float], width: float, rng: np.random.Generator) -> float:
        return answers[0] + float(rng.laplace(0, width))

    def by_label(answers: list[float], noise: Any, *, width: float) -> Any:
        return answers[0] + noise.laplace(width)

    def in_batches(answers: list[float], width: float, rng: np.random.Generator, size: int) -> Any:
        return answers[0] + rng.laplace(scale=width, size=size)

    def placed(answers: list[float], start: float, rng: np.random.Generator) -> float:
        return answers[0] + round(float(rng.laplace(start, 1)))

    for mechanism in (by_rng, by_label, in_batches):
        with pytest.raises(fg.InvalidArgument, match=r"'width', and the scale of the noise depends on it"):
            fg.audit(mechanism, epsilon=1)
    assert not fg.audit(placed, seed=1, **{**SETTINGS, "samples": 500}).violated
