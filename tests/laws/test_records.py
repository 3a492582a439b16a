"""What a record says of its law is true of it: by its quantile where it has one, by sums otherwise."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from scipy.integrate import quad

from freegap.errors import FreegapError, InvalidArgument
from freegap.estimate.noise_laws import GapNoise
from freegap.laws import (
    DISCRETE_LAPLACE,
    GEOMETRIC,
    GUMBEL,
    LAPLACE,
    LAWS,
    LOGISTIC,
    NORMAL,
    STAIRCASE,
    UNIFORM,
    ExactLaw,
    Law,
    ShiftPrice,
    law_named,
)
from freegap.values.balls import at_precision
from tests.laws import EXACT_LAWS

SCALE = 1.5
KNOWN = [law for law in LAWS.values() if law is not STAIRCASE]


def expectation(law: Law, function: Callable[[float], float]) -> float:
    """E[function(N)] for N of scale 3/2, from the definition of the law."""
    if isinstance(law, ExactLaw):
        quantile = law.quantile

        def at(u: Any) -> float:
            return function(SCALE * float(quantile(u).mid()))

        def whole() -> float:
            """Both ends by e^−v: that is where the noise is large."""
            near_zero = quad(lambda v: at((-arb(v)).exp()) * math.exp(-v), math.log(2), 80, limit=400)[0]
            near_one = quad(lambda v: at(1 - (-arb(v)).exp()) * math.exp(-v), math.log(2), 80, limit=400)[0]
            return float(near_zero + near_one)

        return float(at_precision(256, whole))
    if law is NORMAL:
        width = SCALE * math.sqrt(2 * math.pi)
        return float(quad(lambda x: function(x) * math.exp(-((x / SCALE) ** 2) / 2) / width, -30, 30)[0])
    places = range(0 if law.one_sided else -200, 200)
    weights = [math.exp(-abs(x) / SCALE) for x in places]
    return sum(w * function(float(x)) for w, x in zip(weights, places, strict=True)) / sum(weights)


@pytest.mark.parametrize("law", KNOWN, ids=str)
def test_moments(law: Law) -> None:
    mean = expectation(law, lambda x: x)
    assert law.mean(SCALE) == pytest.approx(mean, abs=1e-8)
    variance = expectation(law, lambda x: (x - mean) ** 2)
    assert law.variance(SCALE) == pytest.approx(variance, rel=1e-7)
    for t in (-0.4, -0.01, 0.0, 0.2, 0.4):
        moment = expectation(law, lambda x, t=t: math.exp(t * (x - mean)))  # type: ignore[misc]
        assert law.log_moment(np.array([t]), SCALE)[0] == pytest.approx(math.log(moment), abs=1e-7)


BY_INVERSION = [replace(law, sample=STAIRCASE.sample) for law in EXACT_LAWS.values()]


@pytest.mark.parametrize("law", [*KNOWN, *BY_INVERSION], ids=str)
def test_samples_in_doubles_have_the_moments(law: Law) -> None:
    """Within six standard errors of the mean; the variance within a twentieth, which a wrong law misses."""
    drawn = law.sample(np.random.default_rng(1), SCALE, (400, 500))
    spread = float(law.variance(SCALE))
    assert abs(float(drawn.mean()) - law.mean(SCALE)) < 6 * math.sqrt(spread / drawn.size)
    assert float(drawn.var()) == pytest.approx(spread, rel=0.05)
    assert not law.lattice or (drawn == np.floor(drawn)).all()
    assert not law.one_sided or (drawn >= 0).all()


@pytest.mark.parametrize("law", KNOWN, ids=str)
def test_moments_of_a_rational_scale_are_exact(law: Law) -> None:
    scale = Fraction(3, 2)
    for moment in (law.mean, law.variance):
        exact = moment(scale)
        if isinstance(exact, Fraction):
            assert float(exact) == moment(SCALE)
        else:
            assert exact.rad() < 1e-12
            assert float(exact.mid()) == pytest.approx(moment(SCALE), rel=1e-13)


@pytest.mark.parametrize(
    ("law", "low", "high"),
    [
        (LAPLACE, -1 / SCALE, 1 / SCALE),
        (LAWS["logistic"], -1 / SCALE, 1 / SCALE),
        (DISCRETE_LAPLACE, -1 / SCALE, 1 / SCALE),
        (LAWS["exponential"], -math.inf, 1 / SCALE),
        (GEOMETRIC, -math.inf, 1 / SCALE),
        (GUMBEL, -math.inf, 1 / SCALE),
        (NORMAL, -math.inf, math.inf),
        (UNIFORM, -math.inf, math.inf),
    ],
    ids=str,
)
def test_moments_exist_where_they_should(law: Law, low: float, high: float) -> None:
    t = np.array([-50.0, -1.0, -0.6, 0.0, 0.6, 1.0, 50.0])
    assert np.isfinite(law.log_moment(t, SCALE)).tolist() == [bool(low < x < high) for x in t]


def test_nothing_is_made_up_where_nothing_is_known() -> None:
    for unknown in (STAIRCASE.mean, STAIRCASE.variance):
        with pytest.raises(FreegapError, match="neither the moments"):
            unknown(1.0)
    with pytest.raises(FreegapError, match="nor how to draw"):
        STAIRCASE.sample(np.random.default_rng(1), 1.0, 3)
    with pytest.raises(InvalidArgument, match="cannot be drawn exactly"):
        _ = NORMAL.continuous
    with pytest.raises(InvalidArgument, match="no known law of the difference"):
        GapNoise(LOGISTIC, Fraction(2), Fraction(1)).upper_tail(0.0)
    for name in ("gauss", "Laplace", "", None, 3):
        with pytest.raises(InvalidArgument, match="is not a known law"):
            law_named(name)


@pytest.mark.parametrize("law", LAWS.values(), ids=str)
def test_there_is_one_record_of_each(law: Law) -> None:
    assert LAWS[law.name] is law_named(law.name) is law
    assert pickle.loads(pickle.dumps(law)) is copy.deepcopy(law) is law  # noqa: S301
    assert str(law) == law.name
    assert law.lattice == (law.needs == "resolution")


@pytest.mark.parametrize("law", EXACT_LAWS.values(), ids=str)
def test_the_screen_may_rely_on_the_tail(law: ExactLaw) -> None:
    """S(x) ≤ e^−x, that is Q(u) ≤ −ln u, and one-sided noise is not below 0."""

    def held() -> bool:
        for digits in (1, 3, 10, 40, 200):
            for u in (arb(2) ** -digits, 1 - arb(2) ** -digits):
                noise = law.quantile(u)
                if not noise <= -(u.log()) + arb(2) ** -100 or (law.one_sided and not noise >= 0):
                    return False
        return True

    assert at_precision(512, held)


def choice(answers: list[float]) -> list[float]:
    """By integration: the chance of each answer to be the largest with Gumbel noise of scale 3/2.

    f(x) = e^(−x/s − e^(−x/s))/s, and each other noise is below x + q_i − q_j with chance exp(−e^(−(…)/s)).
    """

    def chance(i: int) -> float:
        def integrand(x: float) -> float:
            below = (math.exp(-(x + answers[i] - answer) / SCALE) for answer in answers)
            return math.exp(-sum(below) - x / SCALE) / SCALE

        return float(quad(integrand, -10, 60, limit=200)[0])

    return [chance(i) for i in range(len(answers))]


def test_gumbel_noise_selects_within_a_bounded_range() -> None:
    answers, neighbour = [0.0, 0.7, 2.0, 1.0], [1.0, -0.3, 3.0, 0.0]  # each moves by Δ = 1
    ratios = [math.log(a / b) for a, b in zip(choice(answers), choice(neighbour), strict=True)]
    assert max(ratios) - min(ratios) == pytest.approx(2 / SCALE, abs=1e-6)
    assert GUMBEL.bounded_range
    assert not LAPLACE.bounded_range


def test_a_shift_of_gumbel_noise_has_no_price() -> None:
    """ln f(x)/f(x − 1) for ever smaller x."""
    log_density: Callable[[float], float] = lambda x: -x - math.exp(-x)  # noqa: E731
    ratios: list[Any] = [log_density(x) - log_density(x - 1) for x in (0.0, -5.0, -10.0, -20.0)]
    assert ratios[-1] > 1e8
    assert ratios == sorted(ratios)
    for law in (GUMBEL, UNIFORM, NORMAL):
        assert law.price is ShiftPrice.UNBOUNDED
        with pytest.raises(FreegapError, match="no finite price"):
            law.price.of(Fraction(1), Fraction(1))
