"""Programs of labelled noise `(answers, noise, *, epsilon, …)`, the text that `freegap.prove` takes as well.

All randomness must come from the noise, as in a proof. Real numbers in an output are rounded down to 1/1024,
so that what an audit finds is a fault of the program, and not of the doubles in which its noise is drawn
here. `freegap.auditor.columns` makes many runs at once.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from freegap.auditor import watch
from freegap.auditor.outputs import Outputs, from_objects
from freegap.laws import Law
from freegap.laws.labelled import LabelledNoise

__all__ = ["DrawnNoise", "Program", "Sampler", "released", "rounded", "run_singly", "without_noise"]

GRID = 1024

Sampler = Callable[[int | None], Any]
Program = Callable[..., Any]


class DrawnNoise(LabelledNoise[Any]):
    """Labelled noise in floating point, for audits: `made` says what comes of a draw.

    >>> rng = np.random.default_rng(1)
    >>> DrawnNoise(rng, lambda sample: float(sample(None))).exponential(2, label="threshold") > 0
    True
    """

    def __init__(self, rng: np.random.Generator, made: Callable[[Sampler], Any]) -> None:
        self._rng = rng
        self._made = made

    def draw(
        self, law: Law, scale: Any, label: Any = None, *, resolution: Any = None, step: Any = None
    ) -> Any:
        """What is made of noise of this law."""
        unit = 1.0 if resolution is None else float(resolution)
        return self._made(lambda size: unit * law.sample(self._rng, float(scale) / unit, size))


def without_noise(program: Program, answers: Sequence[float], keywords: Mapping[str, Any]) -> Outputs:
    """The output with every draw at its centre."""
    noise = DrawnNoise(np.random.default_rng(0), lambda sample: 0.0)
    return from_objects([released(program(list(answers), noise, **keywords))])


def run_singly(
    program: Program,
    answers: Sequence[float],
    keywords: Mapping[str, Any],
    size: int,
    rng: np.random.Generator,
) -> Outputs:
    """The outputs of so many runs, made one by one."""
    noise = DrawnNoise(rng, lambda sample: float(sample(None)))
    outputs: list[Any] = []
    with watch.running(outputs):
        for _ in range(size):
            outputs.append(released(program(list(answers), noise, **keywords)))
    return from_objects(outputs)


def released(output: Any, change: Callable[[Any], Any] = lambda leaf: leaf) -> Any:
    """The output with its real numbers on the grid; whole numbers (positions) and all else as they are.

    change: what is done with every part that has no parts, before.
    """
    if isinstance(output, tuple) and hasattr(output, "_fields"):
        return type(output)(*(released(part, change) for part in output))
    if isinstance(output, list | tuple):
        return type(output)(released(part, change) for part in output)
    if isinstance(output, dict):
        return {key: released(part, change) for key, part in output.items()}
    leaf = change(output)
    if isinstance(leaf, numbers.Real) and not isinstance(leaf, numbers.Integral | np.bool_):
        return float(rounded(float(leaf)))
    return leaf


def rounded(number: Any) -> Any:
    """A number, or each of an array, rounded down to the grid."""
    return np.floor(number * GRID) / GRID
