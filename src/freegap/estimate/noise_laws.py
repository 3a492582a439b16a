"""The laws of the noise in a gap: tails, quantiles, variances and tail bounds of weighted sums.

A sparse-vector gap is q − T + D, where D = s·X − s₀·Y − shift is the answer's noise less the threshold's,
centred as the mechanism centres it. The tails of D have closed forms for every kind of noise:

    laplace      Ding 2020, lemma 5.4, with the rates 1/s and 1/s₀ that the algorithms really use (erratum 3)
    exponential  P(sX − s₀Y > t) = s/(s + s₀)·e^(−t/s) for t ≥ 0, and 1 − s₀/(s + s₀)·e^(t/s₀) below
    geometric    P(N − M ≥ j) = (1−β)α^j/(1−αβ) for j ≥ 0, with α = e^(−1/s), β = e^(−1/s₀)

Weighted sums of independent noises have no such form; `tail_bound` is Chernoff's bound, which always holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from freegap.mechanisms.threshold_plan import mean_difference

__all__ = ["GapNoise", "WeightedNoise", "tail_bound", "variance"]

Floats = NDArray[np.float64]


def variance(noise: str, scale: float) -> float:
    """Of one noise variable."""
    if noise == "laplace":
        return 2 * scale**2
    if noise == "exponential":
        return scale**2
    return math.exp(-1 / scale) / math.expm1(-1 / scale) ** 2


def _geometric_mean(scale: float) -> float:
    """e^−θ/(1 − e^−θ), θ = 1/scale; by e^−θ, which no ε makes too large."""
    return -math.exp(-1 / scale) / math.expm1(-1 / scale)


@dataclass(frozen=True)
class GapNoise:
    """D, the noise in a gap to a threshold: answer's noise − threshold's noise − shift."""

    noise: str
    scale: Fraction
    threshold_scale: Fraction

    @property
    def shift(self) -> float:
        """What the mechanism subtracted: the difference of the means, or a whole number near it."""
        return float(mean_difference(self.noise, self.scale, self.threshold_scale))

    @property
    def mean(self) -> float:
        """E[D]: zero but for geometric noise, where the shift is a whole number."""
        if self.noise != "geometric":
            return 0.0
        return _geometric_mean(float(self.scale)) - _geometric_mean(float(self.threshold_scale)) - self.shift

    @property
    def variance(self) -> float:
        """Var[D]."""
        return variance(self.noise, float(self.scale)) + variance(self.noise, float(self.threshold_scale))

    def upper_tail(self, t: float) -> float:
        """P(D > t)."""
        s, r = float(self.scale), float(self.threshold_scale)
        x = t + self.shift
        if self.noise == "laplace":
            above = _laplace_difference_tail(abs(x), s, r)
            return above if x >= 0 else 1 - above
        if self.noise == "exponential":
            return s / (s + r) * math.exp(-x / s) if x >= 0 else 1 - r / (s + r) * math.exp(x / r)
        j = math.floor(x) + 1  # P(N − M > x) = P(N − M ≥ j)
        alpha, beta = -1 / s, -1 / r
        rest = -math.expm1(alpha + beta)
        if j >= 0:
            return -math.expm1(beta) * math.exp(alpha * j) / rest
        return 1 + math.expm1(alpha) * math.exp(beta * (1 - j)) / rest

    def quantile(self, confidence: float) -> float:
        """A t with P(D ≤ t) ≥ confidence, the least such t but for a relative 2^-40."""
        low, high = -1.0, 1.0
        while self.upper_tail(high) > 1 - confidence:
            high *= 2
        while self.upper_tail(low) <= 1 - confidence:
            low *= 2
        for _ in range(80):
            middle = (low + high) / 2
            if self.upper_tail(middle) > 1 - confidence:
                low = middle
            else:
                high = middle
        return high + abs(high) * 2.0**-40


def _laplace_difference_tail(t: float, s: float, r: float) -> float:
    """P(sX − rY > t) for t ≥ 0: Ding 2020, lemma 5.4, with ε₀ = 1/r and ε* = 1/s."""
    if abs(s - r) < 1e-6 * s:
        # Close scales: the formula divides by their difference. The larger scale bounds both.
        u = t / max(s, r)
        return (2 + u) / 4 * math.exp(-u)
    return (s * s * math.exp(-t / s) - r * r * math.exp(-t / r)) / (2 * (s * s - r * r))


@dataclass(frozen=True)
class WeightedNoise:
    """One term of a weighted sum of independent, centred noises."""

    noise: str
    scale: float
    weight: float

    def log_moment(self, s: Floats) -> Floats:
        """ln E[e^(s·weight·(noise − mean))], infinite where it does not exist."""
        z = s * self.weight * self.scale
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.noise == "laplace":
                return np.where(np.abs(z) < 1, -np.log1p(-np.minimum(z * z, 1.0)), np.inf)
            if self.noise == "exponential":
                return np.where(z < 1, -z - np.log1p(-np.minimum(z, 1.0)), np.inf)
            theta = 1 / self.scale
            rate = theta - s * self.weight
            moment = math.log(-math.expm1(-theta)) - np.log(-np.expm1(-rate))
            return np.where(rate > 0, moment - s * self.weight * _geometric_mean(self.scale), np.inf)


@lru_cache(maxsize=256)  # the items of one release, and releases alike, have the same terms
def tail_bound(terms: tuple[WeightedNoise, ...], level: float) -> float:
    """A t with P(sum of the terms > t) ≤ level: Chernoff's bound, at nearly the best exponent.

    P(S > t) ≤ E[e^(sS)]·e^(−st) for every s > 0, so every s gives a valid t; the least of many is taken.
    """
    reach = max(abs(term.weight) * term.scale for term in terms)
    if reach == 0:
        return 0.0
    s = np.geomspace(1e-4, 1.0, 2000) / reach
    logs = sum((term.log_moment(s) for term in terms), np.zeros_like(s))
    return float(np.min((logs - math.log(level)) / s))
