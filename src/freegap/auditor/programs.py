"""A program of labelled noise, as `freegap.prove` takes it, as a mechanism that can be audited.

A refutation of a proof is a point: two neighbouring inputs at which an alignment fails. Whether the
mechanism itself leaks there is another question, which the audit can look into. Numbers in the output are
rounded down to 1/1024, so that what is found is a fault of the program, and not of the doubles in which its
noise is drawn here.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["GeneratorNoise", "mechanism_of", "pairs_around"]

_GRID = 1024


class GeneratorNoise:
    """The labelled noise interface on a NumPy generator, in floating point: for audits, not for releases.

    >>> GeneratorNoise(np.random.default_rng(1)).exponential(2, label="threshold") > 0
    True
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def laplace(self, scale: Any, label: Any = None) -> float:
        """Density e^(−|x|/scale)/(2·scale)."""
        return float(self._rng.laplace(scale=float(scale)))

    def exponential(self, scale: Any, label: Any = None) -> float:
        """Density e^(−x/scale)/scale on x ≥ 0."""
        return float(self._rng.exponential(float(scale)))

    def geometric(self, scale: Any, label: Any = None, *, resolution: Any = 1) -> float:
        """Mass proportional to e^(−x/scale) on x = 0, γ, 2γ, … for the resolution γ."""
        return float(resolution) * math.floor(self.exponential(scale) / float(resolution))

    def discrete_laplace(self, scale: Any, label: Any = None, *, resolution: Any = 1) -> float:
        """Mass proportional to e^(−|x|/scale) on the multiples of the resolution, as a difference."""
        return self.geometric(scale, resolution=resolution) - self.geometric(scale, resolution=resolution)

    def gumbel(self, scale: Any, label: Any = None) -> float:
        """Distribution function exp(−e^(−x/scale))."""
        return float(self._rng.gumbel(scale=float(scale)))

    def logistic(self, scale: Any, label: Any = None) -> float:
        """Distribution function 1/(1 + e^(−x/scale))."""
        return float(self._rng.logistic(scale=float(scale)))

    def uniform(self, scale: Any = 1, label: Any = None) -> float:
        """Uniform on (0, scale)."""
        return float(self._rng.uniform(0.0, float(scale)))


def mechanism_of(
    program: Callable[..., Any], parameters: Mapping[str, Any] | None = None
) -> Callable[[Sequence[float], np.random.Generator], Any]:
    """A function of the answers and of a generator that runs the program.

    >>> def noisy_sum(answers, noise, *, scale):
    ...     return sum(answers) + noise.laplace(scale)
    >>> mechanism = mechanism_of(noisy_sum, {"scale": 2})
    >>> mechanism([1.0, 2.0], np.random.default_rng(1)) * 1024 % 1
    0.0
    """
    given = dict(parameters or {})

    def mechanism(answers: Sequence[float], rng: np.random.Generator) -> Any:
        return _rounded(program(list(answers), GeneratorNoise(rng), **given))

    mechanism.__name__ = mechanism.__qualname__ = getattr(program, "__name__", "program")
    return mechanism


def pairs_around(
    answers: Sequence[float], neighbour: Sequence[float], sensitivity: float, neighbours: str
) -> list[tuple[list[float], list[float]]]:
    """Inputs to audit where a proof failed: the point itself, and its answers moved as far as may be.

    A refutation is a corner of an argument, not of the mechanism: its two inputs may even be equal.

    >>> pairs_around([0.0, 0.0], [0.0, 0.0], 1.0, "increasing")
    [([0.0, 0.0], [0.0, 0.0]), ([0.0, 0.0], [1.0, 1.0])]
    """
    n = len(answers)
    ups = [[1.0] * n]
    mixed = [[1.0 if i == 0 else -1.0 for i in range(n)], [1.0 if i % 2 else -1.0 for i in range(n)]]
    single = [[float(i == j) for j in range(n)] for i in range(n)]
    signs = {"increasing": ups, "decreasing": ups, "monotonic": ups, "one": single}.get(
        neighbours, ups + mixed
    )
    both = (1.0,) if neighbours == "increasing" else (-1.0,) if neighbours == "decreasing" else (1.0, -1.0)
    moved = [
        [a + side * sign * sensitivity for a, sign in zip(answers, pattern, strict=True)]
        for pattern in signs
        for side in both
    ]
    return [(list(answers), list(other)) for other in (neighbour, *moved)]


def _rounded(output: Any) -> Any:
    """The output with its numbers on the grid; whole numbers (positions) and all else as they are."""
    if isinstance(output, list):
        return [_rounded(part) for part in output]
    if isinstance(output, tuple):
        return tuple(_rounded(part) for part in output)
    if isinstance(output, numbers.Real) and not isinstance(output, numbers.Integral | np.bool_):
        return math.floor(float(output) * _GRID) / _GRID
    return output
