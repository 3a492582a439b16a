"""The noise that a program draws, as symbols: a labelled interface, and a NumPy-like generator.

Both record each draw in order. What a draw returns is a fresh symbol by default; `value` replaces it,
for instance `value=lambda draw: 0` for a run without noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.laws import EXPONENTIAL, GUMBEL, LAPLACE, LOGISTIC, NORMAL, UNIFORM, Law
from freegap.laws.labelled import LabelledNoise
from freegap.symbolic.symbols import Symbol, constant, integer, real
from freegap.symbolic.undecided import NotDecided, calling_line


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw of noise: its label (or its place in the order), its law and what the program got."""

    label: Any
    law: Law
    scale: Any
    resolution: Fraction | None
    value: Any
    step: Fraction | None = None
    """The width of a stair, for staircase noise."""

    @property
    def kind(self) -> tuple[Any, ...]:
        """Label, law, scale, resolution and step: what two draws of one random variable agree in."""
        scale = self.scale.key if isinstance(self.scale, Symbol) else self.scale
        return (self.label, self.law, scale, self.resolution, self.step)


class _Recorder:
    """Makes the draws; `begin` forgets them, before each run of the program."""

    def __init__(self, value: Callable[[Draw], Any] | None = None, *, prefix: str = "noise") -> None:
        self._value = value
        self._prefix = prefix
        self.begin()

    def begin(self) -> None:
        """Forget all draws: the program starts again."""
        self.draws: list[Draw] = []
        self._names: set[str] = set()

    def _record(self, law: Law, scale: Any, label: Any, resolution: Any = None, step: Any = None) -> Any:
        key = len(self.draws) if label is None else label
        if any(draw.label == key for draw in self.draws):
            raise NotDecided(f"two draws have the label {key!r}", calling_line())
        width = constant(resolution)
        name = f"{self._prefix}[{key!r}]"
        if name in self._names:
            raise NotDecided(f"two draws have labels that look alike: {key!r}", calling_line())
        self._names.add(name)
        symbol = real(name) if width is None else integer(name, width)
        draw = Draw(key, law, scale, width, symbol, constant(step))
        if self._value is not None:
            draw = replace(draw, value=self._value(draw))
        self.draws.append(draw)
        return draw.value


class SymbolicNoise(_Recorder, LabelledNoise[Any]):
    """The labelled noise interface of a mechanism's program, on symbols.

    >>> noise = SymbolicNoise()
    >>> noise.laplace(2, label="threshold") + 1
    noise['threshold'] + 1
    >>> noise.draws[0].law.name, noise.draws[0].scale
    ('laplace', 2)
    """

    def draw(
        self, law: Law, scale: Any, label: Any = None, *, resolution: Any = None, step: Any = None
    ) -> Any:
        """A fresh symbol, or the value that stands for it; recorded."""
        return self._record(law, scale, label, resolution, step)


class SymbolicGenerator(_Recorder):
    """Stands where a mechanism takes a NumPy generator: `rng.laplace(loc, scale, size)` and so on.

    >>> rng = SymbolicGenerator()
    >>> rng.laplace(loc=5, scale=2) - 5
    noise[0]
    >>> len(rng.exponential(scale=1, size=3))
    3
    """

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: int | None = None) -> Any:
        """As `numpy.random.Generator.laplace`."""
        return self._draws(LAPLACE, loc, scale, size)

    def exponential(self, scale: Any = 1.0, size: int | None = None) -> Any:
        """As `numpy.random.Generator.exponential`."""
        return self._draws(EXPONENTIAL, 0, scale, size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: int | None = None) -> Any:
        """As `numpy.random.Generator.gumbel`."""
        return self._draws(GUMBEL, loc, scale, size)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: int | None = None) -> Any:
        """As `numpy.random.Generator.logistic`."""
        return self._draws(LOGISTIC, loc, scale, size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: int | None = None) -> Any:
        """As `numpy.random.Generator.normal`."""
        return self._draws(NORMAL, loc, scale, size)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: int | None = None) -> Any:
        """As `numpy.random.Generator.uniform`."""
        return self._draws(UNIFORM, low, high - low, size)

    def random(self, size: int | None = None) -> Any:
        """As `numpy.random.Generator.random`."""
        return self._draws(UNIFORM, 0, 1, size)

    def _draws(self, law: Law, loc: Any, scale: Any, size: int | None) -> Any:
        if size is None:
            return self._record(law, scale, None) + loc
        drawn = np.empty(size, dtype=object)
        for place in np.ndindex(drawn.shape):
            drawn[place] = self._record(law, scale, None)
        return drawn + loc
