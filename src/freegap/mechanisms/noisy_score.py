"""Scores of private candidates: of the output alone, or of private data and then with noise of their own."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from freegap.base2.arguments import answer_units, multiple_argument
from freegap.base2.draws import Draws
from freegap.base2.eta import Eta
from freegap.base2.samplers import clamped_laplace_at
from freegap.base2.weights import Weights
from freegap.errors import REDACTED, InvalidArgument
from freegap.values.rationals import Rational, positive_rational

Score = Callable[[Any], Any]


@dataclass(frozen=True)
class NoisyScore:
    """A score that looks at private data, made private with clamped discrete Laplace noise.

    Ilvento 2020, algorithm 7, GETSAMPLE, lines 23–25: the score is rounded down to the resolution and
    clamped to [low, high]; discrete Laplace noise is added, and the sum clamped again. For a fixed output
    that is ε-private (lemma 6.1, which is for a sensitivity of 1; here the noise is scaled by it).

    function: from an output of a candidate to a number. For a fixed output, one person can change it by
        at most `sensitivity`.
    epsilon: what each noisy score may cost.
    low, high: the public range of scores.
    resolution: the grid of scores, of which all of these are multiples.

    >>> right = NoisyScore(len, epsilon="0.5", low=0, high=100)
    >>> right.steps
    (0, 100)
    """

    function: Score
    epsilon: Rational
    low: Rational
    high: Rational
    sensitivity: Rational = 1
    resolution: Rational = 1

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidArgument(
                "function",
                REDACTED,
                "must be callable",
                "Pass a function of a candidate's output.",
            )
        if self.steps[0] >= self.steps[1]:
            raise InvalidArgument("low", self.low, f"must be below high = {self.high}", "Swap them.")
        multiple_argument("sensitivity", self.sensitivity, self.grid)
        _ = self.weights  # settles the precision, or says that it cannot be had

    @cached_property
    def grid(self) -> Fraction:
        """γ as a rational."""
        return positive_rational("resolution", self.resolution)

    @cached_property
    def steps(self) -> tuple[int, int]:
        """low and high in steps of the resolution."""
        return multiple_argument("low", self.low, self.grid), multiple_argument("high", self.high, self.grid)

    @cached_property
    def weights(self) -> Weights:
        """The weights of noise within ±(high − low): beyond that, only the last clamp counts."""
        delta = positive_rational("sensitivity", self.sensitivity)
        eta = Eta.from_epsilon(self.epsilon, resolution=self.grid, divisor=delta)
        return Weights(eta.adjusted(self.grid / delta).base, self.steps[1] - self.steps[0])

    def draw(self, output: Any, draws: Draws) -> Fraction:
        """The noisy score of an output."""
        low, high = self.steps
        quality = answer_units(self.function(output), self.grid, low, high, argument="score")
        noise = clamped_laplace_at(self.weights, low - high, high - low, draws)
        return max(low, min(high, quality + noise)) * self.grid


def exact_score(value: Any) -> Fraction | float:
    """A score as an exact number; what is not a number is below everything (an error would be a channel)."""
    if isinstance(value, numbers.Rational) and not isinstance(value, np.timedelta64):
        return Fraction(int(value.numerator), int(value.denominator))
    try:
        if value is None or math.isnan(value):
            return -math.inf
        return Fraction(value) if math.isfinite(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        pass  # raised below, so that its context does not hold the value
    raise InvalidArgument("score", REDACTED, "must return a number", "Return an int, a float or a Fraction.")
