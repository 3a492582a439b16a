"""Parameters by symbolic execution: the paper's example, and what cannot be followed."""

from __future__ import annotations

from typing import Any

import freegap as fg
from freegap.auditor.inputs import Pair
from freegap.auditor.parameters import analyse, is_count, mutations, parameter_grid

ONES_AND_TWOS = Pair((1, 1, 1, 1, 1), (2, 2, 2, 2, 2), "all above")


def sparse(answers: list[float], T: float, N: int, epsilon: float, rng: Any) -> list[bool]:
    out = []
    line = T + rng.laplace(scale=2 / epsilon)
    for answer in answers:
        above = answer + rng.laplace(scale=4 * N / epsilon) >= line
        out.append(bool(above))
        if sum(out) >= N:
            break
    return out


def test_the_example_of_section_4_3_4() -> None:
    """The threshold comes out between 1 and 2, and N = 1 has the least noise."""
    found = analyse(sparse, {"T": float, "N": int}, {"epsilon": 0.7}, ONES_AND_TWOS)
    assert found.trouble is None
    parameters = dict(found.parameters[0])
    assert parameters["N"] == 1
    assert 1 < parameters["T"] <= 2


def test_the_most_branches_win() -> None:
    """At 10 one answer parts, at 0.5 three do."""
    pair = Pair((0, 0, 0, 10), (1, 1, 1, 11), "given")
    parameters = dict(analyse(sparse, {"T": float, "N": int}, {"epsilon": 1.0}, pair).parameters[0])
    assert 0 < parameters["T"] <= 1

    def unbounded(answers: list[float], T: float, rng: Any) -> list[bool]:
        return [bool(answer >= T) for answer in answers]

    assert 0 < dict(analyse(unbounded, {"T": float}, {}, pair).parameters[0])["T"] <= 1


def test_what_cannot_be_followed_is_said_plainly() -> None:
    def opaque(answers: list[float], shift: float, epsilon: float, rng: Any) -> Any:
        import math

        return math.floor(math.exp(shift) * 0 + sum(answers) + rng.laplace(scale=1 / epsilon))

    found = analyse(opaque, {"shift": float}, {"epsilon": 1.0}, ONES_AND_TWOS)
    assert found.parameters == ()
    assert found.trouble is not None
    assert "exp" in found.trouble
    report = fg.audit(opaque, epsilon=1, neighbours="one", samples=500, search_samples=100, seed=1, jobs=1)
    assert any("grid alone" in note and "exp" in note for note in report.notes)


def test_the_grid_reaches_far_and_moves() -> None:
    grid = [dict(parameters) for parameters in parameter_grid({"T": float}, ONES_AND_TWOS, 2.0)]
    thresholds = [parameters["T"] for parameters in grid]
    assert thresholds[0] == 1.5
    assert max(thresholds) > 30
    assert min(thresholds) < -30
    assert parameter_grid({}, ONES_AND_TWOS, 1.0) == [()]
    assert is_count("N", int)
    assert not is_count("T", float)
    assert (("N", 1), ("T", 2.0)) in mutations((("N", 1), ("T", 1)), {"N": int, "T": float}, 1.0)
    flags = parameter_grid({"fast": bool}, ONES_AND_TWOS, 1.0)
    assert {dict(parameters)["fast"] for parameters in flags} == {True, False}
