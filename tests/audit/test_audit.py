"""How an audit behaves: crashes, hangs, odd outputs, replay, interruption, the caller's own inputs."""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import signal
import sys
import threading
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import strategies as st

import freegap as fg
from freegap.auditor import sampling
from freegap.auditor.inputs import table_pairs
from freegap.auditor.programs import RunTookTooLong, limit_runs

SMALL: dict[str, Any] = {"samples": 4000, "search_samples": 1000, "seed": 1, "jobs": 1}


@pytest.fixture
def spread(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Work is spread over two processors, however small it is; each time: whether over threads."""
    seen: list[bool] = []
    real = sampling.Workers._spread

    def noted(self: sampling.Workers, *what: Any, threads: bool) -> Any:
        seen.append(threads)
        return real(self, *what, threads=threads)

    monkeypatch.setattr("joblib.effective_n_jobs", lambda jobs: jobs)
    monkeypatch.setattr(sampling, "_SMALL", 0.0)
    monkeypatch.setattr(sampling.Workers, "_spread", noted)
    return seen


def laplace(answers: list[float], epsilon: float, rng: np.random.Generator) -> float:
    return math.floor(1024 * (sum(answers) + rng.laplace(scale=1 / epsilon))) / 1024


def half_noise(answers: list[float], epsilon: float, rng: np.random.Generator) -> float:
    return laplace(answers, 4 * epsilon, rng)


def test_a_constant_is_private_and_named_as_not_random() -> None:
    report = fg.audit(lambda answers: 7, epsilon=1, **SMALL)
    assert not report.violated
    assert report.deterministic
    assert "not random" in str(report)


def test_an_output_that_gives_the_input_away_is_the_counterexample() -> None:
    bounds = []
    for samples in (1000, 10_000, 100_000):
        report = fg.audit(
            lambda answers: list(answers), epsilon=1, **{**SMALL, "samples": samples, "stop_early": False}
        )
        assert report.violated
        assert report.deterministic
        assert report.counterexample is not None
        assert len(report.counterexample.first) == 1
        bounds.append(report.epsilon_lower_bound)
    assert bounds[2] > bounds[1] + 2 > bounds[0] + 4
    assert bounds[2] > math.log(100)


@pytest.mark.parametrize("what", ["None", "nan", "type", "list"])
def test_odd_outputs_are_outputs_like_any_other(what: str) -> None:
    def odd(answers: list[float], rng: np.random.Generator) -> Any:
        leak = rng.random() < 0.3 * (sum(answers) > 1)
        other = {"None": None, "nan": math.nan, "type": 1.0, "list": [1]}[what]
        return other if leak else 1

    report = fg.audit(odd, epsilon=0.5, **{**SMALL, "samples": 20_000})
    assert report.violated, report


def test_a_crash_is_a_message_with_the_input_and_no_verdict() -> None:
    def crashes(answers: list[float], rng: np.random.Generator) -> float:
        if len(answers) == 3:
            raise ZeroDivisionError("a bin of width 0")
        return rng.laplace()

    with pytest.raises(
        fg.MechanismFailed, match=r"ZeroDivisionError: a bin of width 0.*\[1, 1, 1\]"
    ) as caught:
        fg.audit(crashes, epsilon=1, **SMALL)
    assert caught.value.answers == [1, 1, 1]


def test_what_is_raised_is_an_output_where_it_is_returned() -> None:
    """A mechanism that raises on some inputs alone has no verdict; the message says how to get one."""

    def refuses_two(answers: list[float]) -> float:
        if answers[0] > 1:
            raise ValueError("too many")
        return 0.0

    def says_so(answers: list[float]) -> Any:
        try:
            return refuses_two(answers)
        except ValueError as error:
            return error

    with pytest.raises(
        fg.MechanismFailed, match=r"raised ValueError: too many.*return it, and it is audited"
    ):
        fg.audit(refuses_two, epsilon=1, **SMALL)
    assert fg.audit(says_so, epsilon=1, **SMALL).violated


def test_an_input_that_is_always_turned_down_is_left_out() -> None:
    def picky(answers: list[float], epsilon: float, rng: np.random.Generator) -> float:
        if len(answers) < 2:
            raise ValueError("at least two answers")
        return laplace(answers, epsilon, rng)

    report = fg.audit(picky, epsilon=1, neighbours="one", **SMALL)
    assert not report.violated
    assert "turned down" in str(report)

    def never(answers: list[float]) -> float:
        raise ValueError("no")

    with pytest.raises(fg.MechanismFailed, match="turned down every input"):
        fg.audit(never, epsilon=1, **SMALL)


def test_a_hang_is_a_message_with_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """The alarm of the operating system is set, and rung here: twice in one run means a hang."""
    set_to: list[tuple[float, ...]] = []
    monkeypatch.setattr(signal, "setitimer", lambda which, *times: set_to.append((which, *times)))

    def rings(times: int) -> Any:
        def mechanism(answers: list[float], rng: np.random.Generator) -> float:
            for _ in range(times if len(answers) == 2 else 1):
                signal.raise_signal(signal.SIGALRM)
            return rng.laplace()

        return mechanism

    before = signal.getsignal(signal.SIGALRM)
    assert not fg.audit(rings(1), epsilon=1, run_limit=0.2, **SMALL).violated
    with pytest.raises(fg.MechanismFailed, match=r"within 0\.2 s.*\[1, 1\]"):
        fg.audit(rings(2), epsilon=1, run_limit=0.2, **SMALL)
    assert signal.getsignal(signal.SIGALRM) is before
    assert set(set_to) == {(signal.ITIMER_REAL, 0.2, 0.2), (signal.ITIMER_REAL, 0)}
    assert set_to[-1] == (signal.ITIMER_REAL, 0)


def test_the_alarm_rings() -> None:
    """By the operating system itself: a run that would never end does, whenever that is."""
    ended = threading.Event()
    with pytest.raises(RunTookTooLong), limit_runs(0.001):
        ended.wait()


def test_a_wrong_number_of_outputs_is_named() -> None:
    with pytest.raises(fg.MechanismFailed, match="asked for"):
        fg.audit(lambda answers, size, rng: rng.laplace(size=3), epsilon=1, **SMALL)


def test_an_audit_replays_from_its_seed_on_any_number_of_cores(spread: list[bool]) -> None:
    first = fg.audit(half_noise, epsilon=1, neighbours="one", **SMALL)
    assert not spread
    again = fg.audit(half_noise, epsilon=1, neighbours="one", **{**SMALL, "jobs": 2})
    other = fg.audit(half_noise, epsilon=1, neighbours="one", **{**SMALL, "seed": 2})
    assert set(spread) == {False}  # over processes
    assert first.violated
    assert first.replayable
    assert first.counterexample is not None
    assert again.counterexample is not None
    assert first.counterexample.counts == again.counterexample.counts
    assert first.looks == again.looks
    assert other.looks != first.looks

    def own_noise(answers: list[float]) -> float:
        return float(np.random.default_rng().laplace())

    report = fg.audit(own_noise, epsilon=1, **SMALL)
    assert not report.replayable
    assert "cannot be replayed" in str(report)


def test_a_blatant_violation_stops_early_and_a_tight_bound_does_not() -> None:
    settings = {**SMALL, "samples": 50_000, "shrink": False}
    early = fg.audit(half_noise, epsilon=1, neighbours="one", **settings)
    tight = fg.audit(half_noise, epsilon=1, neighbours="one", stop_early=False, **settings)
    assert early.violated
    assert tight.violated
    assert early.looks[-1].counts.runs1 < tight.looks[-1].counts.runs1 / 2
    assert tight.epsilon_lower_bound > early.epsilon_lower_bound


def test_counterexamples_are_minimal() -> None:
    """Ding 2020 table 4-2 has five or ten answers; one is enough here."""
    report = fg.audit(half_noise, epsilon=1, neighbours="one", **{**SMALL, "samples": 20_000})
    found = report.counterexample
    assert found is not None
    assert sorted([found.first, found.second]) == [(0,), (1,)]
    assert found.event.text in ("output < 0", "output ≥ 1", "output < 1", "output ≥ 0.9", "output ≥ 0")
    assert len(str(found).splitlines()) <= 8


def response(answers: list[float], rng: np.random.Generator, size: int) -> Any:
    """Randomised response that loses 1.2."""
    truth = sum(answers) > 1
    return np.where(rng.random(size) < 1 / (1 + math.exp(-1.2)), truth, not truth)


def test_patience_settles_what_looks_like_a_violation() -> None:
    settings = {**SMALL, "samples": 2000, "inputs": [([1], [2])], "shrink": False, "seed": 2}
    hasty = fg.audit(response, epsilon=1, patience=1, **settings)
    patient = fg.audit(response, epsilon=1, **settings)
    assert not hasty.violated
    assert patient.violated
    assert max(look.counts.runs1 for look in hasty.looks) < 2 * 2000
    assert max(look.counts.runs1 for look in patient.looks) > 2 * 2000
    exact = fg.audit(response, epsilon=1.2, **settings)
    assert not exact.violated


def test_kinds_of_events_can_be_left_out() -> None:
    def textbook(answers: list[float], epsilon: float, rng: np.random.Generator, size: int) -> Any:
        return sum(answers) + rng.laplace(scale=1 / epsilon, size=size)

    settings = {**SMALL, "samples": 20_000, "search_samples": 4000, "neighbours": "one"}
    found = fg.audit(textbook, epsilon=1, **settings).counterexample
    assert found is not None
    assert "lowest set bit" in found.event.text
    report = fg.audit(textbook, epsilon=1, leave_out=["floating-point", "learned"], **settings)
    assert not report.violated
    assert report.epsilon_lower_bound > 0.7


def test_own_pairs_functions_and_strategies() -> None:
    pairs = [([5, 5], [5, 6])]
    report = fg.audit(laplace, epsilon=1, neighbours="one", inputs=pairs, **SMALL)
    assert report.closest is not None
    assert {report.closest.first, report.closest.second} == {(5, 5), (5, 6)}

    def random_pair(rng: np.random.Generator) -> tuple[list[int], list[int]]:
        x = int(rng.integers(5))
        return [x], [x + 1]

    assert not fg.audit(laplace, epsilon=1, inputs=random_pair, **SMALL).violated
    strategy = st.integers(0, 9).map(lambda x: ([x], [x + 1]))
    assert not fg.audit(laplace, epsilon=1, inputs=strategy, **SMALL).violated


def test_on_a_single_processor_there_are_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    def spread(self: sampling.Workers, *_: Any, **__: Any) -> None:
        raise NotImplementedError

    def geometric(answers: list[float], epsilon: float, rng: np.random.Generator, size: int) -> Any:
        p = 1 - math.exp(-epsilon)
        return sum(answers) + rng.geometric(p, size) - rng.geometric(p, size)

    monkeypatch.setattr(sampling.Workers, "_spread", spread)
    settings = {**SMALL, "jobs": 2, "samples": 100_000, "search_samples": 20_000}
    with pytest.raises(NotImplementedError):
        fg.audit(geometric, epsilon=1, neighbours="one", **settings)
    monkeypatch.setattr("joblib.effective_n_jobs", lambda jobs: 1)
    assert not fg.audit(geometric, epsilon=1, neighbours="one", **settings).violated


def test_own_pairs_are_the_only_inputs_that_are_tried() -> None:
    """Others may be impossible: the mechanism may fail there, or give away what it never has to keep."""

    def of_bits(answers: list[float], rng: np.random.Generator) -> tuple[bool, float]:
        assert set(answers) <= {0, 1}
        return bool(answers[0]) ^ bool(rng.random() < 0.25), sum(answers[1:]) * 0.0

    def leaking(answers: list[float], rng: np.random.Generator) -> tuple[float, bool]:
        assert set(answers) <= {0, 1}
        assert len(answers) == 3
        return answers[2], bool(rng.random() < 0.5)

    pairs = [([0, 0, 1], [1, 1, 0]), ([0, 1, 1], [1, 0, 1])]
    assert not fg.audit(of_bits, epsilon=math.log(3), inputs=pairs, **SMALL).violated
    found = fg.audit(leaking, epsilon=1, inputs=[*pairs, ([0, 0, 0], [1, 0, 1])], **SMALL).counterexample
    assert found is not None
    assert {found.first, found.second} == {(0, 0, 0), (1, 0, 1)}  # the smaller one of the two that show it


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": "much"}, "epsilon"),
        ({"neighbours": "some"}, "neighbours"),
        ({"sensitivity": -1}, "sensitivity"),
        ({"samples": 5}, "samples"),
        ({"confidence": 1.0}, "confidence"),
        ({"delta": 1.0}, "delta"),
        ({"parameters": {"nonsense": 1}}, "parameters"),
        ({"vectorized": True}, "vectorized"),
        ({"inputs": [([1], [1, 2])]}, "inputs"),
        ({"inputs": [([1], [3])]}, "inputs"),
        ({"inputs": [([1, 1], [2, 2])], "neighbours": "one"}, "inputs"),
        ({"inputs": [([1, 1], [2, 0])], "neighbours": "monotonic"}, "inputs"),
        ({"neighbours": "increasing"}, "neighbours"),
        ({"confidence": "1"}, "confidence"),
        ({"confidence": "0." + 30 * "9"}, "confidence"),
        ({"jobs": -1}, "jobs"),
        ({"run_limit": 0}, "run_limit"),
        ({"inputs": []}, "inputs"),
        ({"inputs": [([1], [math.nan])]}, "inputs"),
        ({"inputs": 3}, "inputs"),
        ({"patience": 0}, "patience"),
        ({"leave_out": ["floating"]}, "leave_out"),
    ],
)
def test_bad_settings_are_refused_by_name(changes: dict[str, Any], argument: str) -> None:
    with pytest.raises(fg.InvalidArgument) as caught:
        fg.audit(laplace, **{"epsilon": 1, **SMALL, **changes})
    assert caught.value.argument == argument


def test_numbers_are_read_as_everywhere_else() -> None:
    """A number, a text and a fraction that mean the same audit the same."""
    plain = fg.audit(laplace, epsilon=0.5, sensitivity=1, confidence=0.99, delta=0.25, **SMALL)
    texts = fg.audit(
        laplace, epsilon="1/2", sensitivity="1", confidence="0.99", delta=Fraction(1, 4), **SMALL
    )
    assert plain.to_dict() | {"seconds": 0} == texts.to_dict() | {"seconds": 0}


def test_monotonic_answers_need_half_the_noise() -> None:
    """The noise for answers that all move the same way is right for those, and too little for others."""

    def best(answers: list[float], epsilon: float, rng: np.random.Generator, size: int) -> Any:
        return (answers + rng.laplace(scale=1 / epsilon, size=(size, len(answers)))).argmax(axis=1)

    settings: dict[str, Any] = {**SMALL, "lengths": (5,), "samples": 40_000, "search_samples": 8000}
    assert fg.audit(best, epsilon=1, neighbours="each", **settings).violated
    assert not fg.audit(best, epsilon=1, neighbours="monotonic", **settings).violated
    moves = {
        tuple(b - a for a, b in zip(pair.first, pair.second, strict=True))
        for pair in table_pairs("monotonic", lengths=[3])
    }
    assert (1, 1, 1) in moves
    assert (1, 0, 0) in moves
    assert all(min(move) >= 0 or max(move) <= 0 for move in moves)
    assert any(
        min(move) < 0 < max(move)
        for pair in table_pairs("each", lengths=[3])
        for move in [[b - a for a, b in zip(pair.first, pair.second, strict=True)]]
    )


def test_assert_private_is_an_assertion() -> None:
    fg.assert_private(laplace, epsilon=1, neighbours="one", **SMALL)
    with pytest.raises(AssertionError, match=r"event +output") as caught:
        fg.assert_private(half_noise, epsilon=1, neighbours="one", **SMALL)
    assert isinstance(caught.value, fg.PrivacyViolated)


def test_delta_is_taken_into_account() -> None:
    def leak(answers: list[float], rng: np.random.Generator) -> float:
        return sum(answers) if rng.random() < 0.01 else 0

    settings = {**SMALL, "samples": 30_000}
    assert fg.audit(leak, epsilon=1, **settings).violated
    assert not fg.audit(leak, epsilon=1, delta=0.02, **settings).violated


def test_an_interruption_keeps_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: Any, stage: str, done: int, total: int, best: float) -> None:
        if stage == "confirm" and done > 2000:
            raise KeyboardInterrupt

    monkeypatch.setattr(sampling.Progress, "update", stop)
    report = fg.audit(half_noise, epsilon=1, neighbours="one", **{**SMALL, "stop_early": False})
    assert report.interrupted
    assert report.looks
    assert report.epsilon_lower_bound > 0
    assert "Interrupted" in str(report)


def test_worker_processes_run_scalar_mechanisms(spread: list[bool]) -> None:
    """A function that cannot be imported by its name, as it is defined here."""

    def local(answers: list[float], epsilon: float, rng: np.random.Generator) -> float:
        return half_noise(answers, epsilon, rng)

    report = fg.audit(local, epsilon=1, neighbours="one", **{**SMALL, "jobs": 2})
    assert report.violated
    assert set(spread) == {False}


def test_small_work_stays_here_and_large_work_is_spread(
    monkeypatch: pytest.MonkeyPatch, spread: list[bool]
) -> None:
    """Six items are done here, in 6 s by the given clock; so 94 to come would take 94 s, and one 1 s."""
    seconds = iter(range(1000))
    monkeypatch.setattr(sampling, "time", SimpleNamespace(perf_counter=lambda: 6 * next(seconds)))
    for limit, number, others in ((94.5, 100, []), (93.5, 100, [False]), (1.5, 7, []), (0.5, 7, [False])):
        spread.clear()
        monkeypatch.setattr(sampling, "_SMALL", limit)
        workers = sampling.Workers(jobs=2, threads=False, run_limit=None)
        assert list(workers.map(abs, range(-number, 0), 1)) == list(range(number, 0, -1))
        assert spread == others


def test_a_module_that_workers_cannot_import_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "only_here.py"
    source.write_text("def constant(answers, rng):\n    return rng.integers(2)\n")
    spec = importlib.util.spec_from_file_location("only_here", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "only_here", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sampling, "_SMALL", 0.0)
    report = fg.audit(module.constant, epsilon=1, **{**SMALL, "samples": 2000, "jobs": 2})
    assert not report.violated
    assert "cannot import only_here" in str(report)


def test_the_callers_joblib_backend_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    places: set[tuple[int, int]] = set()

    def noisy(answers: list[float], epsilon: float, rng: np.random.Generator) -> float:
        places.add((os.getpid(), threading.get_ident()))
        return laplace(answers, epsilon, rng)

    monkeypatch.setattr(sampling, "_SMALL", 0.0)
    with joblib.parallel_config(backend="threading"):
        fg.audit(
            noisy, epsilon=1, neighbours="one", **{**SMALL, "samples": 2000, "jobs": 2, "run_limit": None}
        )
    assert {process for process, _ in places} == {os.getpid()}
    assert {thread for _, thread in places} - {threading.get_ident()}


def test_table_4_1_is_complete() -> None:
    five = table_pairs("each", lengths=[5])
    shapes = {(pair.first, pair.second) for pair in five}
    ones = (1,) * 5
    for second in [(2, 1, 1, 1, 1), (0, 1, 1, 1, 1), (2, 0, 0, 0, 0), (0, 2, 2, 2, 2), (0, 0, 0, 2, 2)]:
        assert (ones, second) in shapes
    assert (ones, (2,) * 5) in shapes
    assert (ones, (0,) * 5) in shapes
    assert ((1, 1, 0, 0, 0), (0, 0, 1, 1, 1)) in shapes
    assert all(sum(a != b for a, b in zip(p.first, p.second, strict=True)) == 1 for p in table_pairs("one"))
    wide = table_pairs("each", lengths=[5], sensitivity=3)
    assert any(pair.second == (4,) * 5 for pair in wide)
    assert all(abs(a - b) <= 3 for pair in wide for a, b in zip(pair.first, pair.second, strict=True))


def test_freegaps_own_mechanism_passes() -> None:
    report = fg.audit(fg.noisy_max, epsilon=1, lengths=[2], samples=400, search_samples=100, seed=1, jobs=1)
    assert not report.violated
    assert not report.replayable


def test_the_report_says_how_often_the_mechanism_was_run() -> None:
    called = 0

    def counted(answers: list[float], rng: np.random.Generator) -> float:
        nonlocal called
        called += 1
        return round(answers[0] + rng.laplace(), 1)

    report = fg.audit(
        counted, epsilon=1, inputs=[([0.0], [1.0])], samples=2_000, search_samples=500, seed=1, jobs=1
    )
    assert report.runs <= called <= 1.1 * report.runs  # some more to learn what the output is
