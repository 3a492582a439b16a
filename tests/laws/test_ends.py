"""Laws where they end: no digit drawn, all of them ones, a scale that no double holds; and without a warning,
which are errors in these tests."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from freegap.laws import (
    DISCRETE_LAPLACE,
    EXPONENTIAL,
    GEOMETRIC,
    GUMBEL,
    LAPLACE,
    LAWS,
    LOGISTIC,
    NORMAL,
    UNIFORM,
    ExactLaw,
    Law,
)
from freegap.laws.exponential import powers
from freegap.laws.labelled import LabelledNoise
from tests.laws import EXACT_LAWS

INF, LN2 = math.inf, math.log(2)


@pytest.mark.parametrize(
    ("law", "at_no_digit", "at_all_of_them"),
    [
        (EXPONENTIAL, INF, 0.0),
        (LAPLACE, INF, -INF),
        (GUMBEL, INF, -INF),
        (LOGISTIC, INF, -INF),
        (UNIFORM, 1.0, 0.0),
    ],
    ids=str,
)
def test_an_estimate_at_both_ends(law: ExactLaw, at_no_digit: float, at_all_of_them: float) -> None:
    ends = law.estimate(np.array([0.0, 1.0]), np.array([0.0, INF]))
    assert ends.tolist() == [at_no_digit, at_all_of_them]
    half = float(law.estimate(np.array([0.5]), np.array([LN2]))[0])
    assert half == pytest.approx(float(law.quantile(_ball(Fraction(1, 2))).mid()), abs=1e-15)


def _ball(value: Fraction) -> Any:
    from freegap.values.balls import as_ball

    return as_ball(value)


@pytest.mark.parametrize(
    ("law", "tails"),
    [
        # of r = e^−x: 0, one that is denormal, 1/2, 1, 2, 2^20, infinity
        (EXPONENTIAL, [0, 2.0**-140, 0.5, 1, 1, 1, 1]),
        (LAPLACE, [0, 2.0**-141, 0.25, 0.5, 0.75, 1 - 2.0**-21, 1]),
        (LOGISTIC, [0, 0, 1 / 3, 0.5, 2 / 3, 1 - 2.0**-20, 1]),
        (GUMBEL, [0, 2.0**-140, 0.4, 2 / 3, 1, 1, 1]),
        (UNIFORM, [0, 0, 1 - LN2 + 2.0**-15, 1, 1, 1, 1]),
    ],
    ids=str,
)
def test_what_the_screen_asks_at_both_ends(law: ExactLaw, tails: list[float]) -> None:
    rests = np.array([0, 2.0**-140, 0.5, 1, 2, 2.0**20, INF], np.float32)
    law.survival(rests)
    assert rests.dtype == np.float32
    assert rests.tolist() == pytest.approx(tails, rel=2.0**-22)


@pytest.mark.parametrize("law", EXACT_LAWS.values(), ids=str)
def test_noise_by_inversion_where_the_generator_draws_zero(law: ExactLaw) -> None:
    class Zeros:
        def random(self, size: Any) -> Any:
            return np.zeros(size)

    drawn = law._inverted(Zeros(), 3.0, (2, 2))  # type: ignore[arg-type]
    largest = law.estimate(np.array([2.0**-54]), np.array([2.0**-54]))
    assert drawn.tolist() == [[3 * largest[0]] * 2] * 2
    assert np.isfinite(drawn).all()


@pytest.mark.parametrize(
    ("law", "below", "above"),
    [
        (EXPONENTIAL, True, False),
        (GEOMETRIC, True, False),
        (LAPLACE, False, False),
        (DISCRETE_LAPLACE, False, False),
        (LOGISTIC, False, False),
        (GUMBEL, True, False),
        (UNIFORM, True, True),
        (NORMAL, True, True),
    ],
    ids=str,
)
def test_a_moment_at_the_last_t_that_has_none_and_beyond(law: Law, below: bool, above: bool) -> None:
    t = np.array([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0])
    for scale in (0.5, 1.0, 2.0):
        moments = law.log_moment(t / scale, scale)
        assert np.isfinite(moments).tolist() == [below] * 2 + [True] * 3 + [above] * 2
        assert (moments[~np.isfinite(moments)] == INF).all()
        assert moments[3] == 0
        assert above or law.log_moment(np.array([INF]), scale).tolist() == [INF]
        assert (moments[[2, 4]] > 0).all()


@pytest.mark.parametrize("law", [law for law in LAWS.values() if law.needs != "step"], ids=str)
def test_of_no_numbers_at_all(law: Law) -> None:
    assert law.log_moment(np.empty(0), 2.0).tolist() == []
    assert law.sample(np.random.default_rng(1), 2.0, 0).tolist() == []


def test_the_law_of_the_difference_of_two_noises() -> None:
    """By its definition: P(N − M > x) is the mean of P(N > x + M), for scales of 2 and 3, and of 2 and 2."""
    for law, scales in product(
        (EXPONENTIAL, LAPLACE, GEOMETRIC, GUMBEL), ((2.0, 3.0), (3.0, 2.0), (2.0, 2.0))
    ):
        assert law.difference_tail is not None
        if law is GUMBEL and scales[0] != scales[1]:
            continue
        for x in (-4.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.5, 6.0):
            assert law.difference_tail(x, *scales) == pytest.approx(_difference(law, x, *scales), abs=2e-4)


def _difference(law: Law, x: float, s: float, r: float) -> float:
    steps = (np.arange(200_000) + 0.5) / 200_000
    if law is GEOMETRIC:
        others = np.arange(400.0)
        chances = np.exp(-others / r) * -np.expm1(-1 / r)
        above = np.exp(-np.maximum(np.floor(x + others) + 1, 0) / s)
        return float((chances * above).sum())
    assert isinstance(law, ExactLaw)
    return float(law.tail((x + r * law.estimate(steps, -np.log1p(-steps))) / s).mean())


def test_the_difference_of_laplace_noises_of_almost_equal_scales() -> None:
    """There the formula for others would divide by almost nothing: it is not used below a millionth."""
    assert LAPLACE.difference_tail is not None
    for nearly in (1.0, 1 + 1e-9, 1 - 1e-9, 1 + 9e-7, 1 + 2e-6, 1 - 2e-6):
        for x in (0.0, 1.0, 5.0):
            for s, r in ((1.0, nearly), (nearly, 1.0), (7.0, 7.0 * nearly)):
                u = x / s
                assert LAPLACE.difference_tail(x, s, r) == pytest.approx((2 + u) / 4 * math.exp(-u), rel=1e-5)
    larger = 1 + 9e-7
    near = LAPLACE.difference_tail(5.0, 1.0, larger)
    assert near == LAPLACE.difference_tail(5.0, larger, larger)  # the larger scale bounds both


@pytest.mark.parametrize("scale", [1e-3, 0.5, 1.0, 3.0, 1e6, 1e18], ids=str)
def test_the_ratio_of_masses_in_doubles_and_in_balls(scale: float) -> None:
    for double, ball in zip(powers(scale), powers(Fraction(scale)), strict=True):
        assert double == pytest.approx(float(ball.mid()), rel=1e-12, abs=1e-300)
    assert sum(powers(scale)) == pytest.approx(1)


@pytest.mark.parametrize("x", [-1e9, -700.0, -699.0, -2.0, -0.5, 0.0, 0.5, 2.0, 40.0, 1e9])
def test_the_tail_of_each_law_that_has_one(x: float) -> None:
    tails = {
        "exponential": math.exp(-max(x, 0)),
        "laplace": math.exp(-x) / 2 if x >= 0 else 1 - math.exp(x) / 2,
        "gumbel": 1 - math.exp(-math.exp(-max(x, -300))) if x < 20 else math.exp(-x),
    }
    for name, tail in tails.items():
        assert float(LAWS[name].tail(np.array([x]))[0]) == pytest.approx(tail, rel=1e-12, abs=0)


class Asked(LabelledNoise[Any]):
    """It keeps what it is asked for."""

    def draw(self, law: Law, scale: Any, label: Any = None, **needs: Any) -> Any:
        return law.name, scale, label, needs


@pytest.mark.parametrize("name", LAWS)
def test_a_draw_hands_on_its_law_scale_and_label_and_what_the_law_needs(name: str) -> None:
    needs = {"resolution": {"resolution": 7}, "step": {"step": 7}, None: {}}[LAWS[name].needs]
    draw = getattr(Asked(), name)
    assert draw(3, "a", **needs) == (name, 3, "a", needs)
    assert draw(3, **needs) == (name, 3, None, needs)


def test_what_is_drawn_unless_a_caller_says_otherwise() -> None:
    assert Asked().uniform() == ("uniform", 1, None, {})
    for name in ("geometric", "discrete_laplace"):
        assert getattr(Asked(), name)(3) == (name, 3, None, {"resolution": 1})


def test_coins_are_one_draw_of_scale_one() -> None:
    class Fixed(LabelledNoise[Any]):
        def draw(self, law: Law, scale: Any, label: Any = None, **needs: Any) -> Any:
            assert (scale, label) == (1, "a")
            return {"uniform": Fraction(1, 2), "exponential": 2}[law.name]

    noise = Fixed()
    assert [noise.coin(Fraction(p, 4), "a") for p in (1, 2, 3)] == [False, False, True]
    assert [noise.exponential_coin(x, "a") for x in (-1, 1, 2, 3)] == [True, True, True, False]
