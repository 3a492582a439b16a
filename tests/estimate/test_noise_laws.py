"""Closed forms of the noise in a gap, against numerical integration."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from freegap_evidence.assurance.densities import NoiseDensity, integral
from numpy.typing import NDArray

import freegap as fg
from freegap.estimate.noise_laws import GapNoise
from freegap.laws import GEOMETRIC, LAWS

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
        assert law.lower_tail(law.under(confidence)) <= confidence
        assert law.lower_tail(t) == pytest.approx(1 - law.upper_tail(-t - 1e-9), abs=1e-6)
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


@pytest.mark.parametrize("epsilon", [5000, 10**20])
def test_geometric_noise_that_is_nearly_always_zero(epsilon: int) -> None:
    """With a huge ε, means, variances and bounds are those of no noise, and nothing fails after the draw."""
    release = fg.sparse_vector(
        [5, 900], 10, k=1, epsilon=epsilon, monotonic=True, noise="geometric", bits=fg.SeededBits(1)
    )
    assert release.gaps == (None, Fraction(890))
    assert fg.gap_variances(release) == (0.0,)
    assert fg.lower_bounds(release) == pytest.approx((900.0,), abs=1e-9)
