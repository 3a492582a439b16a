"""What is added for rounding: enough, and no more than that, on either side of 0."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from flint import arb
from scipy.stats import chi2

from freegap.estimate.correction import threshold_shift
from freegap.estimate.expected import selection_plan, top_k_errors
from freegap.estimate.fusion import expected_ratio, fused
from freegap.estimate.intervals import error_bars
from freegap.estimate.noise_laws import GapNoise, _least, exceeded, half_width
from freegap.laws import DISCRETE_LAPLACE, EXPONENTIAL, GEOMETRIC, LAPLACE, LAWS, NORMAL, Law
from freegap.mechanisms.measurement import measured_law, measured_scale
from freegap.values.balls import as_ball, at_precision
from freegap.values.measures import Pure, ZeroConcentrated

LEVEL = Fraction(1, 8)


@pytest.mark.parametrize("place", [-300, -2, Fraction(-1, 3), Fraction(1, 3), 1, 2, 300], ids=str)
def test_a_quantile_is_that_of_a_level_a_little_smaller_and_rounded_up(place: Fraction) -> None:
    """A tail that is a straight line, which passes the level at this place."""
    slope = Fraction(1, 4096)

    def tail(t: float) -> float:
        return float(LEVEL + slope * (Fraction(place) - Fraction(t)))

    exact = place + LEVEL / slope / 2**28
    expected = exact + abs(exact) / 2**40
    # The tail is a double next to 1/8, and so its place is known to 2^-56·4096 of the line.
    assert abs(Fraction(_least(tail, float(LEVEL))) - expected) < Fraction(1, 2**43) + abs(exact) / 2**50


@pytest.mark.parametrize("level", [0.5, 0.05, 1e-9])
@pytest.mark.parametrize("step", [Fraction(1, 1024), Fraction(3)])
def test_a_width_is_rounded_up_by_a_relative_two_to_the_minus_forty(level: float, step: Fraction) -> None:
    scale = Fraction(10)
    plain = 10 * math.log(1 / level) + float(step) / 2
    assert half_width(LAPLACE, scale, step, level) / plain - 1 == pytest.approx(2.0**-40, rel=2.0**-10)


@pytest.mark.parametrize("level", [0.9, 0.5, 0.05, 1e-6])
@pytest.mark.parametrize(
    ("scale", "step"),
    [(Fraction(10), Fraction(1)), (Fraction(1, 3), Fraction(1)), (Fraction(5), Fraction(1, 4))],
)
def test_a_width_of_discrete_laplace_noise_is_the_least_number_of_steps(
    scale: Fraction, step: Fraction, level: float
) -> None:
    """P(|N| > t steps) = 2q^(t + 1)/(1 + q)."""
    q = math.exp(-float(step / scale))
    width = half_width(DISCRETE_LAPLACE, scale, step, level)
    steps = round(width / float(step))
    assert width == steps * float(step) * (1 + 2.0**-40)
    assert 2 * q ** (steps + 1) / (1 + q) <= level
    assert steps == 0 or 2 * q**steps / (1 + q) > level


@pytest.mark.parametrize("step", [Fraction(0), Fraction(1, 8), Fraction(2)])
def test_a_width_of_normal_noise_is_its_quantile_and_a_step(step: Fraction) -> None:
    width = half_width(NORMAL, Fraction(7), step, 0.05) - float(step)
    assert math.erfc(width / (7 * math.sqrt(2))) == pytest.approx(0.05 * (1 - 2.0**-28), rel=1e-11)


@pytest.mark.parametrize("name", ["exponential", "laplace", "geometric", "gumbel", "logistic"])
@pytest.mark.parametrize("level", [Fraction(1, 50), Fraction(1, 2), Fraction(49, 50), Fraction(1, 10**12)])
def test_a_quantile_of_one_noise_is_the_next_double_above(name: str, level: Fraction) -> None:
    law = LAWS[name]
    found = exceeded(law, Fraction(3), level)

    def held() -> bool:
        exact = law.continuous.quantile(as_ball(level)) * 3
        return bool(arb(found) > exact and arb(found) - exact <= arb(2 * math.ulp(found)))

    assert at_precision(400, held)


def test_noise_that_is_centred_by_a_number_near_its_means() -> None:
    """Geometric noise has no rational mean: the mechanism subtracts one near it, and knows what is left."""
    law = GapNoise(GEOMETRIC, Fraction(3), Fraction(2))
    means = [math.exp(-1 / s) / -math.expm1(-1 / s) for s in (3, 2)]
    assert law.mean == pytest.approx(means[0] - means[1] - law.shift, abs=1e-15)
    assert GapNoise(EXPONENTIAL, Fraction(3), Fraction(2)).mean == 0
    assert GapNoise(EXPONENTIAL, Fraction(3), Fraction(2)).shift == 1
    assert GapNoise(EXPONENTIAL, Fraction(2), Fraction(3)).shift == -1
    assert GapNoise(LAPLACE, Fraction(3), Fraction(2)).shift == 0


def test_what_is_fused_on_either_side_of_how_far_it_may_go() -> None:
    """Six away in all is the limit of σ² = 4, w = 1/2 and m = 4; there all of the way is gone."""
    for away in (Fraction(1), Fraction(5, 4), Fraction(2), Fraction(4)):
        made = fused(
            [Fraction(9)] * 4, [9 - away] * 4, variance=Fraction(4), weight=Fraction(1, 2), dimension=4
        )
        part = min(Fraction(1), 6 / (4 * away**2))
        assert list(made.estimates) == [9 - Fraction(math.floor(part * 2**40), 2**40) * away] * 4
        if part < 1:
            assert made.error == pytest.approx(float(4 - 2 * part / 4))


@pytest.mark.parametrize(("dimension", "total", "error"), [(4, 0, 2), (4, 6, 2), (3, 0, 2.5), (3, 3, 2.5)])
def test_the_error_of_what_is_fused_wholly_is_within_what_is_possible(
    dimension: int, total: int, error: float
) -> None:
    """σ²·(1 − w·m/n) at least: that of the best estimates; Stein's estimate is below it where all agree."""
    best = [Fraction(9)] * 3 + [Fraction(9) - Fraction(math.isqrt(total))]
    given = {"variance": Fraction(4), "weight": Fraction(1, 2)}
    assert fused([Fraction(9)] * 4, best, dimension=dimension, **given).error == error


@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_nothing_is_expected_of_fewer_than_three(dimension: int) -> None:
    assert expected_ratio(4, weight=0.5, dimension=dimension) == 1.0
    assert expected_ratio(4, weight=0.5, dimension=3) < 1.0


@pytest.mark.parametrize(("dimension", "n", "weight"), [(3, 4, 0.5), (9, 10, 0.25), (49, 50, 0.9)])
def test_the_expected_error_of_fused_estimates_by_simulation_of_its_law(
    dimension: int, n: int, weight: float
) -> None:
    """Q has the χ² law: its quantiles, in equal parts."""
    q = chi2.ppf([(i + 0.5) / 20_000 for i in range(20_000)], dimension)
    part = [min(1.0, 1.5 * (dimension - 2) / one) for one in q]
    saved = sum((2 * t - t * t) * one for t, one in zip(part, q, strict=True)) / 20_000
    assert expected_ratio(n, weight=weight, dimension=dimension) == pytest.approx(
        1 - weight / n * saved, abs=2e-5
    )


def test_as_many_false_alarms_as_questions_need_no_shift() -> None:
    assert threshold_shift(questions=7, k=2, epsilon=1, false_alarms=7) == 0
    assert threshold_shift(questions=7, k=2, epsilon=1, false_alarms=6) == 0
    assert threshold_shift(questions=70, k=2, epsilon=1, false_alarms=1) > 0


@pytest.mark.parametrize("law", [EXPONENTIAL, LAPLACE], ids=str)
@pytest.mark.parametrize("confidence", ["0.01", "0.5", "0.95"])
def test_error_bars_are_as_wide_as_the_noise(law: Law, confidence: str) -> None:
    """With noise that is smaller by 2^-30 all of them are: none has a size of its own."""
    given: dict[str, Any] = {"found": 2, "among": 9}
    wide = error_bars(GapNoise(law, Fraction(6), Fraction(3)), confidence, **given)
    small = Fraction(1, 2**30)
    narrow = error_bars(GapNoise(law, 6 * small, 3 * small), confidence, **given)
    for name in ("below", "above", "excess", "floor"):
        assert getattr(narrow, name) * 2**30 == pytest.approx(getattr(wide, name), rel=1e-7, abs=1e-7), name
    assert wide.excess >= 0


@pytest.mark.parametrize("asked", [Pure(Fraction(2)), ZeroConcentrated(Fraction(1, 2))], ids=str)
@pytest.mark.parametrize("measured", [False, True])
def test_the_errors_that_are_expected_are_those_of_the_noise(asked: Any, measured: bool) -> None:
    """Half of what is asked selects where the other half measures."""
    errors = top_k_errors(asked, 6, None, measured=measured, sensitivity=3, monotonic=False)
    spent = asked.spent / 2 if measured else asked.spent
    plan = selection_plan(asked, 6, None, measured=measured, sensitivity=3, monotonic=False)
    assert errors.selection == plan
    assert (plan.sensitivity, plan.monotonic, plan.asked.spent) == (Fraction(3), False, spent)
    assert plan.last_gap is (not measured or isinstance(asked, Pure))
    variance = float(plan.law.variance(float(plan.scale)))
    assert errors.gap == pytest.approx(math.sqrt(2 * variance))
    if not measured:
        assert (errors.charge, errors.estimate, errors.measured, errors.width) == (
            plan.charge,
            None,
            None,
            None,
        )
        return
    scale, cost = measured_scale(asked.of(spent), 6, Fraction(3))
    own = float(measured_law(asked).variance(float(scale)))
    assert errors.charge == plan.charge + cost
    assert errors.measured == pytest.approx(math.sqrt(own))
    ratio = expected_ratio(6, weight=own / (own + variance), dimension=5)
    assert errors.estimate == pytest.approx(math.sqrt(own * ratio))
    assert errors.width == half_width(measured_law(asked), scale, plan.resolution, 0.05)
