"""Concrete runs: the real mechanism on rational answers and given noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.prove.laws import LAWS
from freegap.prove.problem import Alignment, Problem

__all__ = ["GivenNoise", "Replay", "replay"]


class GivenNoise:
    """Noise whose values are given by label (0 for any other); records the law and scale of each draw.

    >>> noise = GivenNoise({"threshold": Fraction(1, 2)})
    >>> noise.laplace(2, label="threshold")
    Fraction(1, 2)
    """

    def __init__(self, values: Mapping[Any, Fraction]) -> None:
        self._values = values
        self.drawn: dict[Any, tuple[str, Fraction, Fraction | None, Fraction | None]] = {}

    def _draw(self, law: str, scale: Any, label: Any, grid: Any = None, step: Any = None) -> Fraction:
        key = len(self.drawn) if label is None else label
        unit, width = (None if value is None else Fraction(value) for value in (grid, step))
        self.drawn[key] = (law, Fraction(scale), unit, width)
        return self._values.get(key, Fraction(0))

    def laplace(self, scale: Any, label: Any = None) -> Fraction:
        """The given value, as Laplace noise."""
        return self._draw("laplace", scale, label)

    def exponential(self, scale: Any, label: Any = None) -> Fraction:
        """The given value, as exponential noise."""
        return self._draw("exponential", scale, label)

    def geometric(self, scale: Any, label: Any = None, *, grid: Any = 1) -> Fraction:
        """The given value, as geometric noise."""
        return self._draw("geometric", scale, label, grid)

    def discrete_laplace(self, scale: Any, label: Any = None, *, grid: Any = 1) -> Fraction:
        """The given value, as discrete Laplace noise."""
        return self._draw("discrete_laplace", scale, label, grid)

    def staircase(self, scale: Any, label: Any = None, *, step: Any) -> Fraction:
        """The given value, as staircase noise."""
        return self._draw("staircase", scale, label, step=step)

    def logistic(self, scale: Any, label: Any = None) -> Fraction:
        """The given value, as logistic noise."""
        return self._draw("logistic", scale, label)


@dataclass(frozen=True)
class Replay:
    """Both runs of the real mechanism, and what the alignment did between them."""

    answers: tuple[Fraction, ...]
    neighbour: tuple[Fraction, ...]
    noise: Mapping[Any, Fraction]
    output: Any
    aligned: Mapping[Any, Fraction]
    output_of_neighbour: Any
    cost: Fraction
    charge: Fraction
    off_support: tuple[Any, ...]

    @property
    def same_output(self) -> bool:
        """Whether the neighbour gave the same output."""
        return bool(self.output == self.output_of_neighbour)

    @property
    def violated(self) -> bool:
        """Whether this point breaks a condition: support, output or cost."""
        return bool(self.off_support) or not self.same_output or self.cost > self.charge


def replay(
    problem: Problem,
    alignment: Alignment,
    answers: list[Fraction],
    neighbour: list[Fraction],
    noise: Mapping[Any, Fraction],
) -> Replay:
    """Run the mechanism on both inputs, the second time on the aligned noise."""
    first = GivenNoise(noise)
    output = problem.run(list(answers), first)
    drawn = {label: noise[label] for label in first.drawn}
    moved = problem.align(alignment, list(answers), list(neighbour), output, dict(drawn))
    aligned = {label: Fraction(moved.get(label, value)) for label, value in drawn.items()}
    cost = Fraction(0)
    off = []
    for label, (law, scale, grid, step) in first.drawn.items():
        cost += LAWS[law].price(aligned[label] - drawn[label], scale, step)
        on_lattice = grid is None or (aligned[label] / grid).denominator == 1
        if not on_lattice or (LAWS[law].one_sided and aligned[label] < 0):
            off.append(label)
    # Off its support the noise has probability zero: there is no second run to show.
    again = None if off else problem.run(list(neighbour), GivenNoise(aligned))
    return Replay(
        answers=tuple(answers),
        neighbour=tuple(neighbour),
        noise=drawn,
        output=output,
        aligned=aligned,
        output_of_neighbour=again,
        cost=cost,
        charge=Fraction(problem.charged(output)),
        off_support=tuple(off),
    )
