"""Measures at their edges: what is asked for in which words, and conversions of nothing and of very much."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import pytest

from freegap.errors import InvalidArgument
from freegap.values import measures
from freegap.values.measures import (
    Approximate,
    ApproximateConcentrated,
    Measure,
    Pure,
    ZeroConcentrated,
    converted,
    measure_argument,
    rho_within,
)

TINY = Fraction(1, 10**6)


def test_what_is_asked_for() -> None:
    assert measure_argument(epsilon="1/2") == Pure(Fraction(1, 2))
    assert measure_argument(rho="1/8") == ZeroConcentrated(Fraction(1, 8))
    assert measure_argument(epsilon=1, delta="1e-6") == Approximate(Fraction(1), TINY)
    assert measure_argument(rho=1, delta="1e-6") == ApproximateConcentrated(Fraction(1), TINY)
    wrong: dict[str, dict[str, Any]] = {
        "and neither is given": {},
        "and both are given": {"epsilon": 1, "rho": 1},
        "delta = 1: must lie strictly between 0 and 1": {"rho": 1, "delta": 1},
        "epsilon = 0: must be greater than 0": {"epsilon": 0},
        "rho = -1: must be greater than 0": {"rho": -1},
        "delta = 0: must lie strictly between 0 and 1": {"epsilon": 1, "delta": 0},
    }
    for message, given in wrong.items():
        with pytest.raises(InvalidArgument, match=message):
            measure_argument(**given)
    long = Fraction(1, 10**600)
    for name in ("epsilon", "rho"):
        given = {name: long}
        with pytest.raises(InvalidArgument, match="more than 500 digits"):
            measure_argument(**given)
        assert measure_argument(**given, digits=600).spent == long


def test_the_parts_of_a_measure() -> None:
    both = Approximate(Fraction(1), TINY)
    assert both.arguments() == {"epsilon": 1, "delta": TINY}
    assert (Pure(Fraction(2)).arguments(), ZeroConcentrated(Fraction(2)).arguments()) == (
        {"epsilon": Fraction(2)}, {"rho": Fraction(2)},
    )  # fmt: skip
    for measure, symbol, text in (
        (Pure(Fraction(1, 2)), "ε", "ε = 1/2"),
        (ZeroConcentrated(Fraction(1, 2)), "ρ", "ρ = 1/2"),
        (both, "ε", "ε = 1, δ = 1/1000000"),
    ):
        assert (measure.symbol, str(measure)) == (symbol, text)
        assert type(measure).of(measure.spent, measure.delta) == measure
    assert Approximate.of(Fraction(1)).delta == Pure.of(Fraction(1), TINY).delta == 0
    assert both <= both
    assert not Approximate(Fraction(2), TINY) <= both
    assert not Approximate(Fraction(1), 2 * TINY) <= both


def test_conversions_of_nothing_and_to_the_same() -> None:
    nothing = ZeroConcentrated(Fraction(0))
    assert converted(nothing, Approximate, delta=TINY) == Approximate(Fraction(0), TINY)
    assert converted(Pure(Fraction(3)), Approximate) == Approximate(Fraction(3), Fraction(0))
    assert converted(Pure(Fraction(2)), ZeroConcentrated) == ZeroConcentrated(Fraction(2))
    assert converted(Pure(Fraction(21, 10)), ZeroConcentrated) == ZeroConcentrated(Fraction(21, 10))
    same: Measure = Pure(Fraction(1))
    assert converted(same, Pure) is same
    for delta in (0, 1, 2):
        with pytest.raises(InvalidArgument, match=r"delta.*must lie strictly between 0 and 1"):
            converted(same, Pure, delta=delta)


@pytest.mark.parametrize("rho", ["1e-9", "1/1000", "1/8", "3", "1e6"])
def test_the_best_order_is_found_and_its_epsilon_rounded_up_a_little(rho: str) -> None:
    """Against the least ε over many orders, by formula: not below it, and not far above."""
    amount = Fraction(rho)
    found = converted(ZeroConcentrated(amount), Approximate, delta=TINY).epsilon

    def epsilon_at(beta: Any) -> Any:
        alpha = 1 + beta
        ball = flint.arb(flint.fmpq(amount.numerator, amount.denominator))
        delta = flint.arb(1) / 10**6
        return ball * alpha + (1 - 1 / alpha).log() - (delta * alpha).log() / beta

    with flint.ctx.workprec(1000):
        grid = [flint.arb(10) ** (flint.arb(i) / 20) for i in range(-180, 241)]
        least = min(float(epsilon_at(beta) / (1 + ball_of(amount))) for beta in grid)
    near = max(least, 0.0)
    assert float(found / (1 + amount)) <= near * 1.01 + 1e-9
    assert float(found / (1 + amount)) >= near * 0.98 - 1e-9


def ball_of(number: Fraction) -> Any:
    return flint.arb(flint.fmpq(number.numerator, number.denominator))


def test_budgets_that_no_rho_stays_within() -> None:
    with pytest.raises(InvalidArgument, match=r"epsilon = .*is too small for this delta"):
        rho_within(Fraction(1, 10**300), Fraction(1, 10**300))
    large = rho_within(10**250, TINY)
    assert 0 < large <= 10**200
    assert converted(ZeroConcentrated(large), Approximate, delta=TINY).epsilon <= 10**200


@pytest.mark.parametrize("rho", ["1e-9", "1/1000", "1/8", "3", "1e6"])
def test_a_conversion_has_few_digits(rho: str) -> None:
    """Upwards to thirteen of them, which a person can read and a ledger can add up."""
    epsilon = converted(ZeroConcentrated(Fraction(rho)), Approximate, delta=TINY).epsilon
    decimals = next(number for number in range(400) if (epsilon * 10**number).denominator == 1)
    assert len(str(int(epsilon * 10**decimals)).rstrip("0")) <= 13
    budget = rho_within(epsilon, TINY) if epsilon else Fraction(0)
    decimals = next(number for number in range(400) if (budget * 10**number).denominator == 1)
    assert len(str(int(budget * 10**decimals)).rstrip("0")) <= 13


def test_what_another_measure_must_say_of_itself() -> None:
    assert Measure.__abstractmethods__ == {"spent"}


@pytest.mark.parametrize("rho", ["1e-9", "1/8", "3", "1e6"])
def test_a_conversion_is_rounded_up_by_little(rho: str) -> None:
    """Not below the ball at the order that was found, and above it by less than its last digit."""
    amount = Fraction(rho)
    epsilon = converted(ZeroConcentrated(amount), Approximate, delta=TINY).epsilon
    order = measures._best_order(float(amount), TINY)
    with flint.ctx.workprec(500):
        exact = measures._epsilon_at(order, amount, TINY)
        over = ball_of(epsilon) - exact
        assert over >= 0
        assert over < ball_of(epsilon) / 10**12 * 2
    assert exact.rad() < 1e-60


def test_small_numbers_are_rounded_up_and_down_as_large_ones_are() -> None:
    up = measures._rounded_up
    with flint.ctx.workprec(2000):
        for power in (-299, -250, -13, -1, 0, 5):
            number = (flint.arb(10) ** power) / 3
            found = up(number)
            assert ball_of(found) >= number
            assert ball_of(found) <= number * (1 + flint.arb(10) ** -11)
        tiny = flint.arb(10) ** -310
        assert ball_of(up(tiny)) >= tiny
        assert up(tiny) == Fraction(10**10 + 1, 10**320)  # the next step above the ball
        assert up(flint.arb(0)) == 0
        assert up(flint.arb(-2)) == -2
    third = Fraction(1, 3)
    assert measures._few_digits(third) == Fraction(333333333333, 10**12) + Fraction(3, 10**13)
    assert measures._few_digits(third / 10**250) == third / 10**250
    assert measures._few_digits(third * 10**20) == Fraction(3333333333333) * 10**7


def test_a_budget_as_large_as_it_can_be() -> None:
    """Found by halving, to a dozen digits: a little more would be too much."""
    for epsilon in (Fraction(1, 100), Fraction(1), Fraction(50)):
        rho = rho_within(epsilon, TINY)
        more = rho * (1 + Fraction(1, 10**10))
        assert converted(ZeroConcentrated(rho), Approximate, delta=TINY).epsilon <= epsilon
        assert converted(ZeroConcentrated(more), Approximate, delta=TINY).epsilon > epsilon
    for wrong in (0, 1):
        with pytest.raises(InvalidArgument, match="delta"):
            rho_within(1, wrong)
    with pytest.raises(InvalidArgument, match="epsilon"):
        rho_within(0, TINY)
