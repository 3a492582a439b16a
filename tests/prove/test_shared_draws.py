"""Draws that are shared among what is put out: the shifts solve linear equations."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import freegap as fg


def one_within_the_other(answers: Any, noise: Any) -> Any:
    inner, outer = noise.laplace(2, label="inner"), noise.laplace(2, label="outer")
    return [answers[0] + inner + outer, answers[1] + inner]


def three_of_three(answers: Any, noise: Any) -> Any:
    left, right = (answers[i] + noise.laplace(3, label=i) for i in range(2))
    total = noise.laplace(3, label="total")
    return [left + total, right - total, answers[0] + answers[1] + total]


def by_sum_and_difference(answers: Any, noise: Any) -> Any:
    total = answers[0] + answers[1] + noise.laplace(2, label="sum")
    apart = answers[0] - answers[1] + noise.laplace(2, label="difference")
    return (total + apart) / 2, (total - apart) / 2


def in_three_ways(answers: Any, noise: Any) -> Any:
    total = sum(answers) + noise.laplace(1, label="sum")
    return [total, total / 2, round(total)]


@pytest.mark.parametrize(
    ("program", "neighbours", "smallest"),
    [
        (one_within_the_other, "each", Fraction(3, 2)),  # (|d₀ − d₁| + |d₁|)/2
        (one_within_the_other, "one", 1),
        (three_of_three, "each", 2),  # (|d₁| + |2d₁ + d₀| + |d₀ + d₁|)/3
        (by_sum_and_difference, "each", 1),  # max(|d₀|, |d₁|)
        (by_sum_and_difference, "one", 1),
        (in_three_ways, "one", 1),
        (in_three_ways, "each", 2),
    ],
)
def test_shifts_that_solve_equations(program: Any, neighbours: Any, smallest: Any) -> None:
    options: dict[str, Any] = {"queries": 2, "neighbours": neighbours, "growth": False}
    proof = fg.prove(program, epsilon=3, **options)
    assert proof.holds
    assert proof.tightness is not None
    assert proof.tightness.epsilon == smallest
    assert fg.prove(program, epsilon=smallest, **options).holds
    assert not fg.prove(program, epsilon=smallest - Fraction(1, 100), counterexample=False, **options)


def one_draw_for_two_answers(answers: Any, noise: Any) -> Any:
    drawn = noise.laplace(100, label="x")
    return [answers[0] + drawn, answers[1] + drawn]


def three_sums_of_two_draws(answers: Any, noise: Any) -> Any:
    one, two = noise.laplace(100, label="one"), noise.laplace(100, label="two")
    return [answers[0] + one, answers[1] + two, answers[0] + 2 * answers[1] + one + two]


def beside_the_noise(answers: Any, noise: Any) -> Any:
    one = answers[0] + noise.laplace(100, label="one")
    return [one, one + answers[1]]


@pytest.mark.parametrize("program", [one_draw_for_two_answers, three_sums_of_two_draws, beside_the_noise])
def test_too_few_draws_are_refuted(program: Any) -> None:
    """What is put out tells a difference of answers exactly."""
    proof = fg.prove(program, epsilon=10, queries=2, growth=False)
    assert proof.counterexample is not None
