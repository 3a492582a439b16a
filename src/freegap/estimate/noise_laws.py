"""The noise in a gap: its tail, its quantiles and its variance, and tail bounds of weighted sums of noises.

A sparse-vector gap is q − T + D, where D = s·X − s₀·Y − shift is the answer's noise less the threshold's,
centred as the mechanism centres it. The tails of D have closed forms for every kind of noise that a sparse
vector draws (`difference_tail` of its law). Weighted sums of independent noises have no such form;
`tail_bound` is Chernoff's bound, which always holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from freegap.errors import InvalidArgument
from freegap.laws import Law
from freegap.laws.law import Floats
from freegap.mechanisms.threshold_plan import mean_difference

__all__ = ["GapNoise", "WeightedNoise", "tail_bound"]


@dataclass(frozen=True)
class GapNoise:
    """D, the noise in a gap to a threshold: answer's noise − threshold's noise − shift."""

    law: Law
    scale: Fraction
    threshold_scale: Fraction

    @property
    def shift(self) -> float:
        """What the mechanism subtracted: the difference of the means, or a number near it."""
        return float(mean_difference(self.law, self.scale, self.threshold_scale))

    @property
    def mean(self) -> float:
        """E[D]: zero where the means are rational, since the mechanism then subtracts them exactly."""
        if isinstance(self.law.mean(self.scale), Fraction):
            return 0.0
        means = self.law.mean(float(self.scale)), self.law.mean(float(self.threshold_scale))
        return float(means[0] - means[1] - self.shift)

    @property
    def variance(self) -> float:
        """Var[D]."""
        return float(self.law.variance(float(self.scale)) + self.law.variance(float(self.threshold_scale)))

    def upper_tail(self, t: float) -> float:
        """P(D > t)."""
        if self.law.difference_tail is None:
            raise InvalidArgument(
                "noise",
                self.law.name,
                "has no known law of the difference of two",
                "Ask for variances instead.",
            )
        return self.law.difference_tail(t + self.shift, float(self.scale), float(self.threshold_scale))

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


@dataclass(frozen=True)
class WeightedNoise:
    """One term of a weighted sum of independent, centred noises."""

    law: Law
    scale: float
    weight: float

    def log_moment(self, s: Floats) -> Floats:
        """ln E[e^(s·weight·(noise − mean))], infinite where it does not exist."""
        return self.law.log_moment(s * self.weight, self.scale)


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
