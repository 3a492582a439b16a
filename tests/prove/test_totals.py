"""Functions of the answers, by cases, with noise of their own: proved at what they change by, not below."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import freegap as fg

pytestmark = pytest.mark.usefixtures("without_search")


def largest(answers: Any, noise: Any) -> Any:
    return max(answers) + noise.laplace(1, label="x")


def largest_without_a_label(answers: Any, noise: Any) -> Any:
    return max(answers) + noise.laplace(1)


def median(answers: Any, noise: Any, *, scale: Any = 1) -> Any:
    return sorted(answers)[1] + noise.laplace(scale, label="x")


def spread(answers: Any, noise: Any) -> Any:
    return max(answers) - min(answers) + noise.laplace(1, label="x")


def ends(answers: Any, noise: Any) -> Any:
    return {"least": min(answers) + noise.laplace(1, label="a"), "most": max(answers) + noise.laplace(1)}


def clipped(answers: Any, noise: Any) -> Any:
    return sum(min(max(answer, 0), 10) for answer in answers) + noise.laplace(1, label="x")


def above(answers: Any, noise: Any) -> Any:
    return sum(1 for answer in answers if answer > 0) + noise.laplace(1, label="x")


def with_a_jump(answers: Any, noise: Any) -> Any:
    first = answers[0]
    return (first if first < 5 else first + 1) + noise.laplace(1, label="x")


def ends_by_labels(answers: Any, noise: Any) -> Any:
    return min(answers) + noise.laplace(1, label="a"), max(answers) + noise.laplace(1, label="b")


@pytest.mark.parametrize(
    ("program", "neighbours", "smallest"),
    [
        (largest, "each", 1),
        (largest_without_a_label, "each", 1),
        (median, "each", 1),
        (spread, "each", 2),
        (spread, "one", 1),
        (ends_by_labels, "each", 2),
        (clipped, "one", 1),
        (clipped, "each", 3),
        (above, "one", 1),
        (above, "each", 3),
        (with_a_jump, "each", 2),
    ],
)
def test_what_it_changes_by(program: Any, neighbours: Any, smallest: int) -> None:
    proof = fg.prove(program, epsilon=smallest, queries=3, neighbours=neighbours, growth=False)
    assert proof.holds
    assert proof.tightness is not None
    assert proof.tightness.epsilon == smallest
    less = smallest - Fraction(1, 100)
    assert not fg.prove(program, epsilon=less, queries=3, neighbours=neighbours, growth=False).holds


def test_parameters_are_passed_on() -> None:
    for scale, epsilon in ((2, Fraction(1, 2)), (Fraction(1, 2), 2)):
        proof = fg.prove(median, epsilon=epsilon, queries=3, parameters={"scale": scale}, growth=False)
        assert proof.holds
        assert proof.tightness is not None
        assert proof.tightness.epsilon == epsilon


def _noise_shared(answers: Any, noise: Any) -> Any:
    shared = noise.laplace(1, label="x")
    return min(answers) + shared, max(answers) + shared


def _one_raw(answers: Any, noise: Any) -> Any:
    return min(answers) + noise.laplace(1, label="x"), max(answers)


def _one_sided(answers: Any, noise: Any) -> Any:
    return max(answers) + noise.exponential(1, label="x")


def _jump(answers: Any, noise: Any) -> Any:
    first = answers[0]
    return (first if first < 5 else first * first) + noise.laplace(1, label="x")


@pytest.mark.parametrize("program", [_noise_shared, _one_raw, _one_sided, _jump, ends])
def test_what_is_no_such_program(program: Any) -> None:
    proof = fg.prove(program, epsilon=100 if program is not ends else 1, queries=3, growth=False)
    assert not proof.holds


def test_what_is_not_found_says_how_to_pass_an_alignment() -> None:
    proof = fg.prove(_one_sided, epsilon=1, queries=2, growth=False)
    assert "If you know one, pass it: fg.prove(mechanism, alignment, …)" in str(proof.reason)
