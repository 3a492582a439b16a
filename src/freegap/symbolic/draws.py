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

from freegap.symbolic.symbols import Symbol, constant, integer, real
from freegap.symbolic.undecided import NotDecided, calling_line

__all__ = ["Draw", "SymbolicGenerator", "SymbolicNoise"]


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw of noise: its label (or its place in the order), its law and what the program got."""

    label: Any
    law: str
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

    def _record(self, law: str, scale: Any, label: Any, resolution: Any = None, step: Any = None) -> Any:
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


class SymbolicNoise(_Recorder):
    """The labelled noise interface of a mechanism's program, on symbols.

    >>> noise = SymbolicNoise()
    >>> noise.laplace(2, label="threshold") + 1
    noise['threshold'] + 1
    >>> noise.draws[0].law, noise.draws[0].scale
    ('laplace', 2)
    """

    def laplace(self, scale: Any, label: Any = None) -> Any:
        """Density e^(−|x|/scale)/(2·scale)."""
        return self._record("laplace", scale, label)

    def exponential(self, scale: Any, label: Any = None) -> Any:
        """Density e^(−x/scale)/scale on x ≥ 0."""
        return self._record("exponential", scale, label)

    def geometric(self, scale: Any, label: Any = None, *, resolution: Any = 1) -> Any:
        """Mass proportional to e^(−x/scale) on x = 0, γ, 2γ, … for the resolution γ."""
        return self._record("geometric", scale, label, resolution)

    def discrete_laplace(self, scale: Any, label: Any = None, *, resolution: Any = 1) -> Any:
        """Mass proportional to e^(−|x|/scale) on the multiples of the resolution."""
        return self._record("discrete_laplace", scale, label, resolution)

    def staircase(self, scale: Any, label: Any = None, *, step: Any) -> Any:
        """Density constant on stairs, that falls by e^(−step/scale) from x to x + step and not faster."""
        return self._record("staircase", scale, label, step=step)

    def gumbel(self, scale: Any, label: Any = None) -> Any:
        """Distribution function exp(−e^(−x/scale))."""
        return self._record("gumbel", scale, label)

    def logistic(self, scale: Any, label: Any = None) -> Any:
        """Distribution function 1/(1 + e^(−x/scale))."""
        return self._record("logistic", scale, label)

    def uniform(self, scale: Any = 1, label: Any = None) -> Any:
        """Uniform on (0, scale)."""
        return self._record("uniform", scale, label)


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
        return self._draws("laplace", loc, scale, size)

    def exponential(self, scale: Any = 1.0, size: int | None = None) -> Any:
        """As `numpy.random.Generator.exponential`."""
        return self._draws("exponential", 0, scale, size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: int | None = None) -> Any:
        """As `numpy.random.Generator.gumbel`."""
        return self._draws("gumbel", loc, scale, size)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: int | None = None) -> Any:
        """As `numpy.random.Generator.logistic`."""
        return self._draws("logistic", loc, scale, size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: int | None = None) -> Any:
        """As `numpy.random.Generator.normal`."""
        return self._draws("normal", loc, scale, size)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: int | None = None) -> Any:
        """As `numpy.random.Generator.uniform`."""
        return self._draws("uniform", low, high - low, size)

    def random(self, size: int | None = None) -> Any:
        """As `numpy.random.Generator.random`."""
        return self._draws("uniform", 0, 1, size)

    def _draws(self, law: str, loc: Any, scale: Any, size: int | None) -> Any:
        if size is None:
            return self._record(law, scale, None) + loc
        drawn = np.empty(size, dtype=object)
        for place in np.ndindex(drawn.shape):
            drawn[place] = self._record(law, scale, None)
        return drawn + loc
