"""Outputs that are equal as numbers, and look different in Python: none is proved."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import freegap as fg
from freegap.forms import Selection, Stream

pytestmark = pytest.mark.usefixtures("without_search")


def a_fraction_or_a_float(answers: Any, noise: Any) -> Any:
    return Fraction(1, 2) if answers[0] > 0 else 0.5


def a_quotient_or_a_fraction(answers: Any, noise: Any) -> Any:
    return 6 / 2 if answers[0] > 0 else Fraction(3)


def a_power_or_a_fraction(answers: Any, noise: Any) -> Any:
    return 2**-1 if answers[0] > 0 else Fraction(1, 2)


def a_parameter_or_a_float(answers: Any, noise: Any, *, epsilon: Any) -> Any:
    return epsilon if answers[0] > 0 else 1.0


def what_is_left_or_a_float(answers: Any, noise: Any) -> Any:
    """Of whole answers it is 0, and not 0.0."""
    return answers[0] - answers[0] if answers[0] > 0 else 0.0


def what_is_left_or_a_fraction(answers: Any, noise: Any) -> Any:
    """Of answers that are floats it is 0.0, and not Fraction(0)."""
    return answers[0] - answers[0] if answers[0] > 0 else Fraction(0)


def rounded_and_multiplied(answers: Any, noise: Any) -> Any:
    x = noise.laplace(1, label="x")
    return round(x) * Fraction(2) if answers[0] > 0 else round(x) * 2.0


def in_a_dict(answers: Any, noise: Any) -> Any:
    return {"a": [Fraction(1, 2)]} if answers[0] > 0 else {"a": [0.5]}


def where_another_varies(answers: Any, noise: Any) -> Any:
    if noise.coin(0.5, label="c"):
        return noise.laplace(1, label="x")
    return Fraction(1, 2) if answers[0] > 0 else 0.5


@pytest.mark.parametrize(
    "program",
    [
        a_fraction_or_a_float, a_quotient_or_a_fraction, a_power_or_a_fraction, a_parameter_or_a_float,
        what_is_left_or_a_float, what_is_left_or_a_fraction, rounded_and_multiplied, in_a_dict,
        where_another_varies,
    ],
)  # fmt: skip
def test_a_type_tells_nothing_that_the_number_does_not(program: Any) -> None:
    proof = fg.prove(program, epsilon=1, queries=1)
    assert proof.holds is None
    assert proof.reason is not None
    assert "different types" in proof.reason


def test_numbers_that_vary_may_be_of_the_type_of_a_constant() -> None:
    def cut(answers: Any, noise: Any) -> Any:
        return min(2.0, answers[0] + noise.laplace(1, label="x"))

    def twice(answers: Any, noise: Any) -> Any:
        x = answers[0] + noise.laplace(1, label="x")
        return x * 2 if x > 0 else x * 2.0

    def cut_on_both_sides(answers: Any, noise: Any, *, epsilon: Any) -> Any:
        return min(max(answers[0] + noise.laplace(1 / epsilon, label="x"), 0.0), 1 / epsilon)

    assert fg.prove(cut, epsilon=1, queries=1).holds
    assert fg.prove(cut_on_both_sides, epsilon=1, queries=1).holds
    assert fg.prove(twice, epsilon=1, queries=1).holds


def test_of_a_selection() -> None:
    def release(value: Any, following: Any) -> Any:
        return Fraction(1, 2) if value > 0 else 0.5

    def plain(value: Any, following: Any) -> Any:
        return 0.5

    def shift(item: Any, least: Any, runner_up: Any, best: Any) -> Any:
        needed = least + best - (runner_up.answer + runner_up.noise)
        return item.answer - item.neighbour - least + (needed if needed > 0 else 0)

    assert fg.prove(Selection(1, "laplace", 2, plain, shift), epsilon=1).holds
    assert fg.prove(Selection(1, "laplace", 2, release, shift), epsilon=1).holds is None


def by_a_state(answers: Any, noise: Any) -> Any:
    half, told = 0.5, []
    for answer in answers:
        told.append(half if answer > 0 else Fraction(1, 2))
    return told


def by_two_numbers_of_a_state(answers: Any, noise: Any) -> Any:
    half, other, told = 0.5, Fraction(1, 2), []
    for answer in answers:
        told.append(half if answer > 0 else other)
    return told


@pytest.mark.parametrize("program", [by_a_state, by_two_numbers_of_a_state])
def test_a_loop_for_all_n(program: Any) -> None:
    """What is kept from one step to the next is known by its value: its type must not be told."""
    proof = fg.prove(program, epsilon=1, queries=2)
    assert proof.holds is None
    assert "different types" in str(proof.reason)


@pytest.mark.parametrize("first", [0.5, (0.5, Fraction(1, 2))])
def test_a_stream(first: Any) -> None:
    def step(state: Any, answer: Any, noise: Any) -> Any:
        one, other = (state, Fraction(1, 2)) if first == 0.5 else state
        return state, one if answer > 0 else other, False

    form = Stream(lambda noise: first, step, lambda direction: {}, lambda direction, *change: {})
    assert fg.prove(form, epsilon=1).holds is None
