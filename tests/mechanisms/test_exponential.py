from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.bits import SeededBits
from freegap.errors import InvalidArgument


@pytest.mark.parametrize("size", [10**6, 10**9, 10**30, 10**400])
@pytest.mark.parametrize("sampler", [None, lambda exponents: max(range(3), key=exponents.__getitem__)])
def test_utilities_of_any_size(size: int, sampler: Any) -> None:
    """Differences of 10^6 and far more in the exponent neither overflow nor underflow."""
    choice = fg.exponential_mechanism([0, 2 * size, -size], epsilon=1, sampler=sampler, bits=SeededBits(1))
    assert choice.index == 1
    assert choice.gap is not None
    assert abs(choice.gap - size) < 100
    if size <= 10**9:
        assert choice.p_value is not None
        assert choice.p_value < 1e-300


def test_a_small_choice_far_down() -> None:
    """A sampler that returns an absurd candidate still gets a gap: the law is then Exp(1)."""
    gaps = []
    for seed in range(400):
        choice = fg.exponential_mechanism(
            [0, 10**6], epsilon=1, sampler=lambda exponents: 0, bits=SeededBits(seed)
        )
        assert choice.gap is not None
        gaps.append(float(choice.gap))
    assert abs(np.mean(gaps) - 1) < 6 / 20


def test_the_gap_in_both_units() -> None:
    choice = fg.exponential_mechanism([3, 90, 5], epsilon="1/2", sensitivity=2, bits=SeededBits(4))
    assert choice.gap == choice.utility_gap * Fraction(1, 8)  # type: ignore[operator]
    monotonic = fg.exponential_mechanism(
        [3, 90, 5], epsilon="1/2", sensitivity=2, monotonic=True, bits=SeededBits(4)
    )
    assert monotonic.gap == monotonic.utility_gap * Fraction(1, 4)  # type: ignore[operator]


def test_without_gap() -> None:
    choice = fg.exponential_mechanism({"a": 1, "b": 90}, epsilon=1, gap=False, bits=SeededBits(4))
    assert (choice.label, choice.gap, choice.utility_gap, choice.p_value) == ("b", None, None, None)
    assert "gap" not in str(choice)


def test_p_value_is_two_over_one_plus_e_to_the_gap() -> None:
    for seed in range(5):
        choice = fg.exponential_mechanism([3, 5, 4], epsilon=1, bits=SeededBits(seed))
        assert choice.gap is not None
        assert choice.p_value == pytest.approx(2 / (1 + math.exp(choice.gap)))


def test_type_one_error_is_below_its_level() -> None:
    """Of the choices that are not the best, at most α have a p-value of α or less (Ding 2020, theorem
    5.14)."""
    utilities = np.array([10, 10, 9, 8, 0, 3, 10])
    best = {0, 1, 6}
    source = SeededBits("type one")
    p_values: list[float] = []
    while len(p_values) < 2000:
        choice = fg.exponential_mechanism(utilities, epsilon=1, bits=source)
        if choice.index not in best:
            assert choice.p_value is not None
            p_values.append(choice.p_value)
    for alpha in (0.01, 0.05, 0.2):
        seen = sum(p <= alpha for p in p_values)
        # Six standard deviations above the bound would be a violation.
        assert seen <= alpha * 2000 + 6 * math.sqrt(alpha * 2000)


@pytest.mark.parametrize("theta", [-40.0, -3.0, 0.0, 2.0, 50.0])
def test_expected_gap_is_the_mean_of_the_truncated_logistic(theta: float) -> None:
    from scipy.integrate import quad

    # E = ∫ P(gap > x) dx with P = (1 + e^−θ)/(1 + e^(x−θ)), written without overflow.
    def survival(x: float) -> float:
        return math.exp(-x) * (math.exp(theta) + 1) / (math.exp(theta - x) + 1)

    mean = (
        quad(survival, 0, max(theta, 0), epsabs=1e-12)[0]
        + quad(survival, max(theta, 0), 800, epsabs=1e-12)[0]
    )
    assert fg.expected_gap(theta) == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"utilities": [1]}, "utilities = '<1 utility>': must be at least two"),
        ({"utilities": []}, "must not be empty"),
        ({"utilities": [1, float("inf")]}, "must not contain NaN, infinity"),
        ({"epsilon": 0}, "epsilon = 0: must be greater than 0"),
        ({"sampler": 3}, "sampler: must be a function from exponents to an index"),
        ({"sampler": lambda e: 7}, "must return an index from 0 to 1"),
        ({"sampler": lambda e: "a"}, "must return an index from 0 to 1"),
        ({"gap": "no"}, "gap = 'no': must be True or False"),
    ],
)
def test_bad_input(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"utilities": [1, 2], "epsilon": 1, **options}
    with pytest.raises(InvalidArgument) as caught:
        fg.exponential_mechanism(arguments.pop("utilities"), **arguments)
    assert message in str(caught.value)


def test_renderings() -> None:
    choice = fg.exponential_mechanism({"a": 1, "b": 90}, epsilon=1, bits=SeededBits(4))
    for text in (str(choice), choice._repr_html_(), choice.to_json()):
        assert "b" in text
    assert "p-value" in str(choice)
