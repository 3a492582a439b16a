"""What a selection with noise gets right: integrals over one variable, for any independent noise.

Let U be the counts that ought to come out and V the others, each with noise of its own, and θ a noisy
threshold, below which nothing comes out (−∞ where there is none); at most k come out. At least w of U do if
and only if the w-th largest of U is above θ and above the (k − w + 1)-th largest of V. U, V and θ are
independent, so that

    P(at least w of U come out) = ∫ P(U_(w) > x) d[ P(θ ≤ x)·P(V_(k−w+1) ≤ x) ]

and the sum over w is the expected number. Every selection of this library that looks at all counts at once is
of this form: noisy top-k, both hybrids, and the top k of an unknown domain, whose bar is θ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from freegap.laws.law import Floats, Law
from freegap.planner.crowds import Crowd, Heads, Ranks, all_above

_STEP = 1 / 16  # of the integrals, in scales: errors below 0.1 %
_MOST_BLOCKS = 500  # of ranks: what comes out is then known to a thousandth
_REACH = 14.0  # noise beyond it, in scales, has a chance of e^-14


@dataclass(frozen=True)
class NoisyLine:
    """A threshold with noise, in units of the answers' noise."""

    level: float
    scale: float


@dataclass(frozen=True)
class Rivalry:
    """U and V in units of the noise, of which at most k come out, none below the line.

    law: of the noise in each count, of scale 1, and of that in the line.
    """

    law: Law
    k: int
    right: Crowd
    wrong: Crowd
    line: NoisyLine | None = None

    def expected(self) -> float:
        """The expected number of items of U that come out."""
        most = min(self.k, self.right.items)
        if most == 0:
            return 0.0
        grid = self._grid()
        ranks, times = _ranks(most)
        above = Heads.of(self.right, self.law, grid).at_least(ranks)
        others = Heads.of(self.wrong, self.law, grid).at_least((self.k - ranks + 1)[::-1])[::-1]
        allowed = (1 - others) * self._line_below(grid)
        return float((times * _integral(above, allowed)).sum())

    def swapped(self) -> Rivalry:
        """The same with the others as those that are asked for."""
        return Rivalry(self.law, self.k, self.wrong, self.right, self.line)

    def exactly(self) -> float:
        """The chance that all of U comes out, and nothing else. U has k items, or at most k and a line."""
        if self.right.items == self.k:  # whether V is above the line does not matter
            grid = self._grid()
            others = Heads.of(self.wrong, self.law, grid).none()
            return float(_integral(all_above(self.right, self.law, grid), others * self._line_below(grid)))
        if self.line is None:
            raise AssertionError("without a line k items come out")
        grid = _steps(*self._reach_of(self.line))
        separated = all_above(self.right, self.law, grid) * Heads.of(self.wrong, self.law, grid).none()
        return float(_integral(separated, self._line_below(grid)))

    def _line_below(self, grid: Floats) -> Floats:
        """P(θ ≤ x)."""
        if self.line is None:
            return np.ones_like(grid)
        return 1 - self.law.tail((grid - self.line.level) / self.line.scale)

    def _reach_of(self, line: NoisyLine) -> tuple[float, float]:
        down = 0.0 if self.law.one_sided else _REACH
        return line.level - down * line.scale, line.level + _REACH * line.scale

    def _grid(self) -> Floats:
        """From where U is surely above x, or the line surely not below it, to where nothing changes.

        Steps are as wide as the noise in U wants them: however narrow that of the line is, what is integrated
        hardly changes within one.
        """
        up = _REACH + math.log(self.right.items + self.wrong.items)
        down = 0.0 if self.law.one_sided else up
        low = float(self.right.values[-1]) - down
        high = float(self.wrong.values[0]) + up if self.wrong.items else low
        if self.line is not None:
            first, last = self._reach_of(self.line)
            low, high = max(low, first), max(high, last)
        if self.wrong.items >= self.k:  # below all of its k largest nothing of U comes out
            low = max(low, self.wrong.place(self.k) - down)
        return _steps(low, min(high, float(self.right.values[0]) + up))


def _ranks(most: int) -> tuple[Ranks, Floats]:
    """The ranks from 1 on, and how many each stands for: where there are many, the middle one of a block."""
    edges = np.unique(np.linspace(0, most, min(most, _MOST_BLOCKS) + 1).round().astype(np.int64))
    return (edges[:-1] + edges[1:] + 1) // 2, np.diff(edges).astype(float)


def _steps(low: float, high: float) -> Floats:
    end = max(high, low + 1)
    return np.linspace(low, end, math.ceil((end - low) / _STEP) + 1)


def _integral(above: Floats, allowed: Floats) -> Floats:
    """∫ above d(allowed) along the grid; what lies before it counts as at its first point."""
    middle = (above[..., 1:] + above[..., :-1]) / 2
    first = above[..., 0] * allowed[..., 0]
    found: Floats = first + (middle * np.diff(allowed)).sum(axis=-1)
    return found
