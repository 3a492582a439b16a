"""Numbers that a float cannot hold: Python has inf, NaN or 0 there, or raises an error, and any of these
would tell of an answer what the exact number does not. Answers and noise are taken to be between 10^-20
and 10^20; what can be beyond the range of floats from there is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import freegap as fg

Program = Callable[[Any, Any], Any]


def nan_of_large_answers(answers: Any, noise: Any) -> Any:
    """179769313 * 1e300 is a float, and 179769314 * 1e300 is inf: the difference is NaN."""
    large = answers[0] * 1e300
    return large - large + noise.laplace(1, label="x")


def error_of_large_answers(answers: Any, noise: Any) -> Any:
    """65535.0 ** 64 is a float, and 65536.0 ** 64 an error."""
    large = answers[0] ** 64
    return noise.laplace(1, label="x") if large - large == 0 else None


def nothing_of_small_answers(answers: Any, noise: Any) -> Any:
    small = answers[0] * 1e-200 * 1e-200
    return noise.laplace(1, label="x") if small == small else small * 1e200


def inf_by_division(answers: Any, noise: Any) -> Any:
    large = answers[0] / 1e-300
    return large - large + noise.laplace(1, label="x")


def inf_beside_a_constant(answers: Any, noise: Any) -> Any:
    large = 1e300 * 1e8 + answers[0] * 1e279
    return large - large + noise.laplace(1, label="x")


@pytest.mark.parametrize(
    "program",
    [
        nan_of_large_answers, error_of_large_answers, nothing_of_small_answers, inf_by_division,
        inf_beside_a_constant,
    ],
)  # fmt: skip
def test_numbers_beyond_floats(program: Program) -> None:
    proof = fg.prove(program, epsilon=1, queries=1, counterexample=False, growth=False)
    assert proof.holds is None
    assert "beyond the range of floats" in str(proof.reason)


def test_python_tells_what_the_exact_number_does_not() -> None:
    class Silent:
        def laplace(self, scale: Any, label: Any) -> float:
            return 0.0

    told = [nan_of_large_answers([float(answer)], Silent()) for answer in (179769313, 179769314)]
    assert told[0] == 0
    assert told[1] != told[1]
    assert error_of_large_answers([65535.0], Silent()) == 0
    with pytest.raises(OverflowError):
        error_of_large_answers([65536.0], Silent())


def test_numbers_within_floats() -> None:
    def program(answers: Any, noise: Any) -> Any:
        large, power = answers[0] * 1e250, answers[0] ** 15
        small, quotient = answers[0] * 1e-250, answers[0] / 1e200
        fits = large == large and power == power and small == small and quotient == quotient
        return noise.laplace(1, label="x") if fits else None

    assert fg.prove(program, epsilon=1, queries=1, growth=False).holds


def test_a_state_that_grows_beyond_all_digits() -> None:
    """What the one answer that moves makes of it is another number after each step."""
    form = fg.Stream(
        lambda noise: 0,
        lambda state, answer, noise: (state * 1e200 + answer, None, False),
        lambda direction: {},
        lambda *context: {},
        finish=lambda state, noise: state - state + noise.laplace(1, label="x"),
        finish_shifts=lambda *context: {},
    )
    proof = fg.prove(form, epsilon=1, neighbours="one", counterexample=False)
    assert proof.holds is None
    assert "too many digits" in str(proof.reason)
