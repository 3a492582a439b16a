"""The price of a shift bounds the log ratio of the density, and no smaller price would do."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from freegap.laws import LAWS
from freegap.laws.law import ShiftPrice

SCALE, STEP = Fraction(3, 2), Fraction(1, 2)


def staircase(x: float) -> float:
    """Stairs of width 1/2, of which the first half is high; falls by e^(−step/scale) a step."""
    stair, rest = divmod(abs(x), float(STEP))
    return -float(STEP / SCALE) * (stair + (rest >= float(STEP) / 2))


LOG_DENSITIES: dict[str, tuple[Callable[[float], float], list[float]]] = {
    "laplace": (lambda x: -abs(x) / float(SCALE), [i / 16 for i in range(-80, 81)]),
    "exponential": (lambda x: -x / float(SCALE), [i / 16 for i in range(161)]),
    "geometric": (lambda x: -x / float(SCALE), [float(i) for i in range(20)]),
    "discrete_laplace": (lambda x: -abs(x) / float(SCALE), [float(i) for i in range(-10, 11)]),
    "logistic": (
        lambda x: -x / float(SCALE) - 2 * math.log1p(math.exp(-x / float(SCALE))),
        [i / 4 for i in range(-240, 241)],
    ),
    "staircase": (staircase, [i / 16 for i in range(-80, 81)]),
}


@pytest.mark.parametrize("name", LOG_DENSITIES)
def test_the_price_is_the_largest_log_ratio(name: str) -> None:
    log_density, points = LOG_DENSITIES[name]
    step = STEP if name == "staircase" else None
    closest = 0.0
    for x in points:
        for y in points:
            price = float(LAWS[name].price.of(Fraction(y) - Fraction(x), SCALE, step))
            ratio = log_density(x) - log_density(y)
            assert ratio <= price + 1e-9
            if x != y:
                closest = max(closest, ratio / price)
    assert closest > 0.999


def test_the_staircase_is_not_log_lipschitz() -> None:
    """A tiny shift across the edge of a stair costs a whole step: Ding et al. 2019 and Ding et al. 2023 list
    it wrongly."""
    edge = float(STEP) / 2
    ratio = staircase(edge - 1e-9) - staircase(edge)
    assert ratio > 1e6 * (1e-9 / float(SCALE))
    assert LAWS["staircase"].price.of(Fraction(1, 10**9), SCALE, STEP) == STEP / SCALE


def test_only_stairs_are_paid_by_the_step() -> None:
    shift, scale, step = Fraction(3, 2), Fraction(4), Fraction(1)
    assert ShiftPrice.DISTANCE.of(shift, scale, step) == Fraction(3, 8)
    assert ShiftPrice.STAIRS.of(shift, scale, step) == Fraction(2, 4)
    assert ShiftPrice.STAIRS.of(shift, scale) == Fraction(3, 8)
