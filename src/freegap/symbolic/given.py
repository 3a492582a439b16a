"""Noise whose values are given: for runs of the real program."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

__all__ = ["GivenNoise"]


class GivenNoise:
    """Noise whose values are given by label (0 for any other); records the law and scale of each draw.

    >>> noise = GivenNoise({"threshold": Fraction(1, 2)})
    >>> noise.laplace(2, label="threshold")
    Fraction(1, 2)
    """

    def __init__(self, values: Mapping[Any, Fraction]) -> None:
        self._values = values
        self.drawn: dict[Any, tuple[str, Fraction, Fraction | None, Fraction | None]] = {}

    def _draw(self, law: str, scale: Any, label: Any, resolution: Any = None, step: Any = None) -> Fraction:
        key = len(self.drawn) if label is None else label
        unit, width = (None if value is None else Fraction(value) for value in (resolution, step))
        self.drawn[key] = (law, Fraction(scale), unit, width)
        return self._values.get(key, Fraction(0))

    def laplace(self, scale: Any, label: Any = None) -> Fraction:
        """The given value, as Laplace noise."""
        return self._draw("laplace", scale, label)

    def exponential(self, scale: Any, label: Any = None) -> Fraction:
        """The given value, as exponential noise."""
        return self._draw("exponential", scale, label)

    def geometric(self, scale: Any, label: Any = None, *, resolution: Any = 1) -> Fraction:
        """The given value, as geometric noise."""
        return self._draw("geometric", scale, label, resolution)

    def discrete_laplace(self, scale: Any, label: Any = None, *, resolution: Any = 1) -> Fraction:
        """The given value, as discrete Laplace noise."""
        return self._draw("discrete_laplace", scale, label, resolution)

    def staircase(self, scale: Any, label: Any = None, *, step: Any) -> Fraction:
        """The given value, as staircase noise."""
        return self._draw("staircase", scale, label, step=step)

    def gumbel(self, scale: Any, label: Any = None) -> Fraction:
        """The given value, as Gumbel noise."""
        return self._draw("gumbel", scale, label)

    def uniform(self, scale: Any = 1, label: Any = None) -> Fraction:
        """The given value, as uniform noise."""
        return self._draw("uniform", scale, label)

    def logistic(self, scale: Any, label: Any = None) -> Fraction:
        """The given value, as logistic noise."""
        return self._draw("logistic", scale, label)
