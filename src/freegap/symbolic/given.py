"""Noise whose values are given: for runs of the real program."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from freegap.laws import Law
from freegap.laws.labelled import LabelledNoise


class GivenNoise(LabelledNoise[Fraction]):
    """Noise whose values are given by label (0 for any other); records the law and scale of each draw.

    >>> noise = GivenNoise({"threshold": Fraction(1, 2)})
    >>> noise.laplace(2, label="threshold")
    Fraction(1, 2)
    """

    def __init__(self, values: Mapping[Any, Fraction]) -> None:
        self.values = values
        self.drawn: dict[Any, tuple[Law, Fraction, Fraction | None, Fraction | None]] = {}

    def draw(
        self, law: Law, scale: Any, label: Any = None, *, resolution: Any = None, step: Any = None
    ) -> Fraction:
        """The given value, as noise of this law."""
        key = len(self.drawn) if label is None else label
        unit, width = (None if value is None else Fraction(value) for value in (resolution, step))
        self.drawn[key] = (law, Fraction(scale), unit, width)
        return self.values.get(key, Fraction(0))
