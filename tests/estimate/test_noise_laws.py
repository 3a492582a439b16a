"""Closed forms of the noise in a gap, against numerical integration; tail bounds, against the truth."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from freegap_evidence.assurance.densities import NoiseDensity, integral
from numpy.typing import NDArray

import freegap as fg
from freegap.estimate.noise_laws import GapNoise, WeightedNoise, tail_bound
from freegap.laws import GEOMETRIC, LAPLACE, LAWS

NOISES = ["laplace", "exponential", "geometric"]
SCALES = [
    (Fraction(3), Fraction(1)),
    (Fraction(1), Fraction(4)),
    (Fraction(2), Fraction(2)),
    (Fraction(2), Fraction(2000001, 1000000)),
]


def tail_by_integration(law: GapNoise, t: float) -> float:
    s, r = float(law.scale), float(law.threshold_scale)
    x = t + law.shift
    if law.law is GEOMETRIC:
        p, q = -math.expm1(-1 / s), -math.expm1(-1 / r)
        return sum(
            q * (1 - q) ** m * (1 - p) ** max(math.floor(x + m) + 1, 0) for m in range(int(60 * r) + 60)
        )
    answer, bar = NoiseDensity(law.law.name, s), NoiseDensity(law.law.name, r)
    low = 0.0 if law.law.one_sided else -60 * r
    step = 4 * min(s, r)
    return integral(lambda y: bar.density(y) * (1 - answer.cdf(x + y)), [0.0, -x], low, 60 * r, step)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("scale", "threshold_scale"), SCALES)
def test_tails_against_integration(noise: str, scale: Fraction, threshold_scale: Fraction) -> None:
    law = GapNoise(LAWS[noise], scale, threshold_scale)
    for t in (-9.5, -3.0, -0.25, 0.0, 0.75, 2.0, 11.0):
        assert law.upper_tail(t) == pytest.approx(tail_by_integration(law, t), abs=2e-6)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("scale", "threshold_scale"), SCALES)
def test_quantiles_invert_the_tail(noise: str, scale: Fraction, threshold_scale: Fraction) -> None:
    law = GapNoise(LAWS[noise], scale, threshold_scale)
    for confidence in (0.01, 0.5, 0.95, 0.999):
        t = law.quantile(confidence)
        assert law.upper_tail(t) <= 1 - confidence
        step = 1 + 1e-6 if noise == "geometric" else 1e-6 * max(1, abs(t))
        assert law.upper_tail(t - step) > 1 - confidence - 1e-9


@pytest.mark.parametrize("noise", NOISES)
def test_mean_and_variance_against_simulation(noise: str) -> None:
    law = GapNoise(LAWS[noise], Fraction(5), Fraction(3))
    generator = np.random.default_rng(1)

    def draw(scale: float) -> NDArray[np.float64]:
        if noise == "laplace":
            return generator.laplace(scale=scale, size=10**6)
        drawn = generator.exponential(scale=scale, size=10**6)
        return np.floor(drawn) if noise == "geometric" else drawn

    d = draw(5.0) - draw(3.0) - law.shift
    assert d.mean() == pytest.approx(law.mean, abs=6 * math.sqrt(law.variance / 10**6))
    assert d.var() == pytest.approx(law.variance, rel=0.02)
    assert abs(law.mean) <= 0.5


@pytest.mark.parametrize("noise", NOISES)
def test_tail_bounds_hold_and_are_not_far_off(noise: str) -> None:
    terms = (
        WeightedNoise(LAPLACE, 3.0, 0.4),
        WeightedNoise(LAWS[noise], 5.0, 0.6),
        WeightedNoise(LAWS[noise], 2.0, -0.6),
    )
    generator = np.random.default_rng(2)
    total = np.zeros(10**6)
    for term in terms:
        if term.law is LAPLACE:
            drawn = generator.laplace(scale=term.scale, size=10**6)
        else:
            drawn = generator.exponential(scale=term.scale, size=10**6)
            drawn = np.floor(drawn) if term.law is GEOMETRIC else drawn
        total += term.weight * (drawn - (drawn.mean() if term.law is not LAPLACE else 0.0))
    for level in (0.1, 0.025, 0.001):
        t = tail_bound(terms, level)
        seen = float((total > t).mean())
        assert seen <= level
        assert t < 3 * float(np.quantile(total, 1 - level))


def test_a_sum_without_noise_has_no_tail() -> None:
    assert tail_bound((WeightedNoise(LAPLACE, 3.0, 0.0),), 0.05) == 0.0


@pytest.mark.parametrize("epsilon", [5000, 10**20])
def test_geometric_noise_that_is_nearly_always_zero(epsilon: int) -> None:
    """With a huge ε, means, variances and bounds are those of no noise, and nothing fails after the draw."""
    release = fg.sparse_vector(
        [5, 900], 10, k=1, epsilon=epsilon, monotonic=True, noise="geometric", bits=fg.SeededBits(1)
    )
    assert release.gaps == (None, Fraction(890))
    assert fg.gap_variances(release) == (0.0,)
    assert fg.lower_bounds(release) == (900.0,)
    assert tail_bound((WeightedNoise(GEOMETRIC, 1 / epsilon, 1.0),), 0.01) < 0.01
