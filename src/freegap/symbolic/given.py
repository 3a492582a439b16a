"""Noise whose values are given: for runs of the real program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from freegap.laws import Law
from freegap.laws.labelled import LabelledNoise


class Varying(Fraction):
    """An answer, noise, or what is computed of one and of exact numbers: so that a run of a program shows
    which of its numbers are of the type that the answers have, whatever that is. With a float it is a float.

    >>> type(2 * Varying(3) + Fraction(1, 2)).__name__, type(Varying(3) * 0.5).__name__
    ('Varying', 'float')
    """

    __slots__ = ()


def _varying(name: str) -> Callable[..., Any]:
    operation = getattr(Fraction, name)

    def method(*numbers: Any) -> Any:
        found = operation(*numbers)
        return Varying(found) if type(found) is Fraction else found

    return method


for _name in ("add", "sub", "mul", "truediv", "mod"):
    setattr(Varying, f"__{_name}__", _varying(f"__{_name}__"))
    setattr(Varying, f"__r{_name}__", _varying(f"__r{_name}__"))
for _name in ("neg", "pos", "abs", "pow"):
    setattr(Varying, f"__{_name}__", _varying(f"__{_name}__"))


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
