"""The noise of a release: tails and exact quantiles, rounded to the safe side.

A gap to a threshold is q − T + D, where D = N − M − shift is the answer's noise less the threshold's, centred
as the mechanism centres it. The tails of D have closed forms (`difference_tail` of its law), which doubles
compute to a relative 2^-28; quantiles are those of a level that is smaller by so much, rounded up.

A measurement has one noise, whose quantile is a logarithm, or a normal one with a grid step on top.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from freegap.errors import InvalidArgument
from freegap.laws import DISCRETE_LAPLACE, LAPLACE, NORMAL, Law
from freegap.mechanisms.threshold_plan import mean_difference
from freegap.values.balls import as_ball, at_precision

_DOUBTFUL = 2.0**-28  # relative: twice what cancellation leaves of Laplace tails with scales that are close


def _least(tail: Callable[[float], float], level: float) -> float:
    """The least t with tail(t) ≤ level, of a tail that falls; rounded up."""
    level *= 1 - _DOUBTFUL
    low, high = -1.0, 1.0
    while tail(high) > level:
        high *= 2
    while tail(low) <= level:
        low *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > level else (low, middle)
    return high + abs(high) * 2.0**-40


@dataclass(frozen=True)
class GapNoise:
    """D, the noise in a gap to a threshold: answer's noise − threshold's noise − shift."""

    law: Law
    scale: Fraction
    threshold_scale: Fraction

    @cached_property
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
        return self._difference(t + self.shift, self.scale, self.threshold_scale)

    def lower_tail(self, t: float) -> float:
        """P(D < −t)."""
        return self._difference(t - self.shift, self.threshold_scale, self.scale)

    def _difference(self, x: float, first: Fraction, second: Fraction) -> float:
        if self.law.difference_tail is None:
            raise InvalidArgument(
                "noise",
                self.law.name,
                "has no known law of the difference of two",
                "Ask for variances instead.",
            )
        return self.law.difference_tail(x, float(first), float(second))

    def over(self, level: float) -> float:
        """The least t with P(D > t) ≤ level, rounded up.

        >>> from freegap.laws import EXPONENTIAL
        >>> round(GapNoise(EXPONENTIAL, Fraction(2), Fraction(2)).over(0.05), 6)  # 2·ln 10
        4.60517
        """
        return _least(self.upper_tail, level)

    def under(self, level: float) -> float:
        """The least t with P(D < −t) ≤ level, rounded up."""
        return _least(self.lower_tail, level)

    def quantile(self, confidence: float) -> float:
        """A t with P(D ≤ t) ≥ confidence, the least such t but for rounding."""
        return self.over(1 - confidence)


def exceeded(law: Law, scale: Fraction, level: Fraction) -> float:
    """A t with P(N > t) ≤ level for noise N of this law and scale, as it is drawn: not centred; rounded up.

    >>> from freegap.laws import EXPONENTIAL
    >>> round(exceeded(EXPONENTIAL, Fraction(3), Fraction(1, 20)), 6)  # 3·ln 20
    8.987197
    """
    # Noise on a grid is the same rounded down, so that it exceeds t more rarely.
    top = at_precision(100, lambda: (law.continuous.quantile(as_ball(level)) * as_ball(scale)).upper())
    return math.nextafter(float(top), math.inf)


def half_width(law: Law, scale: Fraction, resolution: Fraction, level: float) -> float:
    """A t such that a measurement errs by more than t with probability at most `level`; rounded up.

    Laplace noise of scale b exceeds b·ln(1/level) on either side with just this probability, and rounding to
    the nearest adds half a step. Discrete Gaussian noise exceeds a step more than normal noise does no more
    often: for m ≥ 1 the sum of e^(−j²/2σ²) over j ≥ m is at most the integral from m − 1, and the sum over
    all j at least the integral over all, by Poisson's formula (Canonne, Kamath and Steinke 2020). Discrete
    Laplace noise exceeds t steps with probability 2q^(t+1)/(1 + q), q = e^(−γ/b): the least whole t.

    >>> half_width(LAPLACE, Fraction(10), Fraction(1, 1024), 0.05)  # 10·ln 20
    29.957811...
    """
    width = float(scale)
    if law is LAPLACE:
        return (width * math.log(1 / level) + float(resolution) / 2) * (1 + 2.0**-40)
    if law is NORMAL:
        return _least(lambda t: math.erfc(t / (width * math.sqrt(2))), level) + float(resolution)
    if law is DISCRETE_LAPLACE:
        step = float(resolution / scale)
        steps = math.ceil((math.log(2 / level) - math.log1p(math.exp(-step))) / step * (1 + 2.0**-40) - 1)
        return max(steps, 0) * float(resolution) * (1 + 2.0**-40)
    raise InvalidArgument("noise", law.name, "does not measure", "Ask for a measurement's own law.")
