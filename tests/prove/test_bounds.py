"""What is proved of one size is said to be of one size, and nothing takes forever."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from freegap_evidence.catalogue import broken

import freegap as fg
from freegap.symbolic import Limits, NotDecided, OutOfTime, limits, z3

from . import programs

pytestmark = pytest.mark.usefixtures("without_search")


def each_costs(answers: Any, noise: Any) -> list[bool]:
    """Nothing ends it: each answer costs an eighth."""
    bar = noise.laplace(4, label="threshold")
    return [answer + noise.laplace(8, label=i) >= bar for i, answer in enumerate(answers)]


def make_up(answers: Any, neighbour: Any, output: Any, noise: Any) -> dict[Any, Any]:
    return {i: noise[i] + answers[i] - neighbour[i] for i in range(len(answers))}


def test_a_cost_that_grows_is_a_warning() -> None:
    proof = fg.prove(each_costs, make_up, epsilon=1, queries=2)
    assert proof.holds
    first, second = str(proof).splitlines()[:2]
    assert first.startswith("proved for n = 2 only: each_costs() on 2 answers")
    assert second == "  warning: the smallest ε grows with n, from 1/4 to 3/8 for 3 answers"


@pytest.mark.parametrize(
    "mechanism", [broken.sparse_vector_releases_answers, broken.gap_sparse_vector_plain_threshold]
)
def test_broken_mechanisms_that_keep_their_promise_at_two_answers(mechanism: Any) -> None:
    proof = fg.prove(mechanism, epsilon=1, queries=2, parameters={"threshold": 0, "bound": 1})
    assert proof.holds
    assert str(proof.growth).startswith("warning: not proved for 3 answers: no alignment in the template")


def test_an_alignment_that_fails_with_one_answer_more() -> None:
    proof = fg.prove(each_costs, make_up, epsilon="1/4", queries=2)
    assert proof.holds
    assert proof.growth == "warning: not proved for 3 answers: the cost fails"


def test_a_right_mechanism_costs_the_same() -> None:
    parameters = {"k": 1, "share": Fraction(1, 4)}
    given: dict[str, Any] = {"epsilon": 1, "queries": 1, "parameters": parameters}
    alignment = programs.sparse_vector_alignment
    proof = fg.prove(programs.sparse_vector, alignment, **given)
    assert str(proof.growth).startswith("for 2 answers as well, at the same smallest ε")
    unknown = fg.prove(programs.sparse_vector, alignment, tightness=False, **given)
    assert "is not known" in str(unknown.growth)
    assert fg.prove(programs.sparse_vector, alignment, growth=False, **given).growth is None


# Time ----------------------------------------------------------------------------------------------------


class Clock:
    """Each look at it takes a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.mark.parametrize(
    ("seconds", "left"),
    [
        (3, "no path is known"),
        (12, "paths are known, and there are more"),
        (60, "of 8 kinds of output are left"),
    ],
)
def test_the_time_limit_says_what_is_left(seconds: int, left: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "monotonic", Clock())
    proof = fg.prove(each_costs, make_up, epsilon=1, queries=3, seconds=seconds)
    assert proof.holds is None
    assert str(proof.reason).startswith("not decided: the time limit was reached; ")
    assert str(proof.reason).endswith(left)


def test_the_time_limit_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "monotonic", Clock())
    proof = fg.prove(each_costs, epsilon=1, queries=2, seconds=60, growth=False)
    assert "the time limit was reached; an alignment is known for" in str(proof.reason)


@pytest.mark.parametrize("left", [0.0, 0.0005])
def test_what_the_clock_ended_is_out_of_time(left: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that is stopped by the time limit does not say that it could not decide."""
    times = iter([5.0 - left, 5.0 - left, 5.001])
    monkeypatch.setattr(limits, "monotonic", lambda: next(times))
    x, y = z3.Ints("x y")
    solver = Limits(until=5.0).solver("")
    with pytest.raises(OutOfTime, match="the time limit was reached"):
        solver.check(x > 1, y > 1, x * y == 1_000_003 * 999_983, x < y)


def test_z3_counts_its_own_steps() -> None:
    """The same on every machine: too few steps are "unknown", whatever the clock says."""
    x, y = z3.Ints("x y")
    hard = [x > 1, y > 1, x * y == 1_000_003 * 999_983, x < y]
    solver = Limits(effort=1000).solver("")
    assert solver.check(*hard) == z3.unknown
    assert "resource" in solver.reason_unknown() or "cancel" in solver.reason_unknown()
    with pytest.raises(NotDecided, match="the time limit was reached"):
        Limits(until=0).solver("").check()
