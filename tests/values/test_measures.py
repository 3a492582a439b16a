"""Measures: sums, conversions never below their theorems, and errors where there is no theorem."""

from __future__ import annotations

import math
import operator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from freegap.errors import InvalidArgument
from freegap.values.measures import (
    CONVERSIONS,
    Approximate,
    Measure,
    Pure,
    ZeroConcentrated,
    converted,
    rho_within,
)

rhos = st.fractions(min_value=Fraction(1, 10**6), max_value=50, max_denominator=10**6)
deltas = st.integers(1, 15).map(lambda power: Fraction(1, 10**power))


def gaussian_delta(rho: float, epsilon: float) -> float:
    """The exact δ of Gaussian noise, which is ρ-zCDP and no better (Balle and Wang 2018)."""
    shift = math.sqrt(2 * rho)  # Δ/σ
    below = norm.cdf(shift / 2 - epsilon / shift)
    return float(below - math.exp(epsilon) * norm.cdf(-shift / 2 - epsilon / shift))


@given(rhos, deltas)
def test_concentrated_to_approximate_covers_gaussian_noise(rho: Fraction, delta: Fraction) -> None:
    epsilon = converted(ZeroConcentrated(rho), Approximate, delta=delta).epsilon
    assert gaussian_delta(float(rho), float(epsilon)) <= float(delta) * (1 + 1e-9)


@pytest.mark.parametrize(("rho", "delta"), [("1/100", "1e-6"), ("1/8", "1e-9"), ("2", "1e-6")])
def test_the_conversion_is_not_loose(rho: str, delta: str) -> None:
    """With 0.85 of the ε Gaussian noise already breaks the promise: a smaller one would be wrong."""
    value = ZeroConcentrated(Fraction(rho))
    epsilon = float(converted(value, Approximate, delta=delta).epsilon)
    assert gaussian_delta(float(value.rho), 0.85 * epsilon) > float(delta)
    simple = float(value.rho) + 2 * math.sqrt(float(value.rho) * math.log(1 / float(delta)))
    assert epsilon < simple  # Bun and Steinke 2016, proposition 1.3


@given(rhos, deltas)
def test_the_conversion_is_the_formula_of_the_paper(rho: Fraction, delta: Fraction) -> None:
    """δ(α, ε) = e^((α−1)(αρ−ε))/(α−1)·(1−1/α)^α is at most δ at some order."""
    epsilon = float(converted(ZeroConcentrated(rho), Approximate, delta=delta).epsilon)

    def log_delta(alpha: float) -> float:
        exponent = (alpha - 1) * (alpha * float(rho) - epsilon)
        return exponent - math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)

    orders = [1 + math.exp(x / 40) for x in range(-600, 1000)]
    least = min(log_delta(alpha) for alpha in orders)
    assert least <= math.log(delta) + 1e-2 * max(1, -math.log(delta)) or epsilon == 0


@given(st.fractions(min_value=Fraction(1, 1000), max_value=20))
def test_pure_to_concentrated_covers_randomised_response(epsilon: Fraction) -> None:
    """The ε-private release with the largest Rényi divergences: a coin of odds e^ε."""
    rho = converted(Pure(epsilon), ZeroConcentrated).rho
    odds = float(epsilon)
    p = 1 / (1 + math.exp(-odds))
    for alpha in (1.001, 1.1, 2, 5, 30):
        total = p * math.exp(odds * (alpha - 1)) + (1 - p) * math.exp(-odds * (alpha - 1))
        assert math.log(total) / (alpha - 1) <= float(rho) * alpha * (1 + 1e-6)
    assert rho == min(epsilon**2 / 2, epsilon)


@given(st.fractions(min_value=Fraction(1, 100), max_value=10), deltas)
def test_a_budget_in_rho_is_within_epsilon_and_delta(epsilon: Fraction, delta: Fraction) -> None:
    rho = rho_within(epsilon, delta)
    assert converted(ZeroConcentrated(rho), Approximate, delta=delta).epsilon <= epsilon
    wider = ZeroConcentrated(rho * Fraction(1001, 1000))
    assert converted(wider, Approximate, delta=delta).epsilon > epsilon


def test_values_add_up_within_a_measure() -> None:
    assert Pure(Fraction(1)) + Pure(Fraction(1, 2)) == Pure(Fraction(3, 2))
    assert ZeroConcentrated(Fraction(1)) + ZeroConcentrated(Fraction(1, 2)) == ZeroConcentrated(
        Fraction(3, 2)
    )
    both = Approximate(Fraction(1), Fraction(1, 100)) + Approximate(Fraction(2), Fraction(1, 50))
    assert both == Approximate(Fraction(3), Fraction(3, 100))
    assert Pure(Fraction(1)) <= Pure(Fraction(2))
    assert not Approximate(Fraction(1), Fraction(1, 2)) <= Approximate(Fraction(2), Fraction(1, 3))


def test_other_measures_neither_add_nor_compare() -> None:
    one: Measure = Pure(Fraction(1))
    for operation in (operator.add, operator.le):
        with pytest.raises(InvalidArgument, match=r"rho.*is not epsilon"):
            operation(one, ZeroConcentrated(Fraction(1)))


def test_what_has_no_theorem_is_an_error() -> None:
    values: tuple[Measure, ...] = (
        Pure(Fraction(1)),
        ZeroConcentrated(Fraction(1)),
        Approximate(Fraction(1), Fraction(1, 10)),
    )
    known = {(way.source, way.target) for way in CONVERSIONS}
    for value in values:
        for target in (Pure, ZeroConcentrated, Approximate):
            if (type(value), target) in known or isinstance(value, target):
                assert isinstance(converted(value, target, delta="1/10"), target)
            else:
                with pytest.raises(InvalidArgument, match="no proved conversion"):
                    converted(value, target, delta="1/10")
    assert all(way.theorem for way in CONVERSIONS)
    with pytest.raises(InvalidArgument, match=r"delta.*is missing"):
        converted(ZeroConcentrated(Fraction(1)), Approximate)


@pytest.mark.parametrize("rho", ["1e-400", "1e-30", "1e30"])
def test_extreme_amounts_convert(rho: str) -> None:
    epsilon = converted(ZeroConcentrated(Fraction(rho)), Approximate, delta="1e-6").epsilon
    assert epsilon >= 0
    assert epsilon >= Fraction(rho) or epsilon < Fraction(1, 10**6)


def test_json_says_the_measure() -> None:
    assert Pure(Fraction(1, 3)).to_dict() == {"measure": "epsilon", "spent": "1/3"}
    assert ZeroConcentrated(Fraction(1, 8)).to_dict() == {"measure": "rho", "spent": "1/8"}
    both = Approximate(Fraction(1), Fraction(1, 10**6)).to_dict()
    assert both == {"measure": "epsilon-delta", "spent": "1", "delta": "1/1000000"}
