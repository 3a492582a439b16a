"""A range for quantiles where nobody has one: the online sparse vector, on counts of people further out.

    R_j = γ·4^j for j = 0, 1, …: is the number of people above R_j less than s? The first R_j of which the
    sparse vector says so is high. Below zero the same: are there fewer than s people below 0? Then low is 0.
    Else R_j is asked for people below −R_j, and the first is −low.

Charge   ε₀, an eighth of what the quantiles are asked for; under ρ ε₀²/2, likewise an eighth at most
Theorem  Ding 2020, theorem 5.3, for each of the two: the counts have sensitivity 1 and are monotonic, and
         questions may depend on earlier replies. A person has one number: whoever has one below 0 is in no
         count of the first, and everybody else in none of the second. So both together cost ε₀ (parallel
         composition).
Groups   there is one range for all of them, by counts over all groups: of a person who counts in m of them a
         numbers are not below 0 and b are, a + b ≤ m. The noise is that for the sensitivity m, so the first
         costs that person ε₀·a/m at most and the second ε₀·b/m, and both together ε₀.

The threshold s is four noise scales, a public number. The grid is then that of the range, γ·4^i with the
least i that leaves few enough cells. Durfee 2023 finds quantiles themselves in this way; here it finds but
the range, for the exponential mechanism needs but its order of magnitude.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np

from freegap.bits import BitSource
from freegap.errors import InvalidArgument
from freegap.mechanisms.online import SparseVector
from freegap.mechanisms.quantiles import LARGEST, MOST_CELLS, Grid
from freegap.mechanisms.quantiles_node import Integers
from freegap.values.rationals import positive_rational

SEARCHING = Fraction(1, 8)
"""The part of the budget that finds the range."""

_FURTHEST = 20

Tally = tuple[Integers, Integers]
"""Cells, or zones, in order, and how many people are in each."""


@dataclass(frozen=True)
class RangeSearch:
    """What ranges there are to find.

    step: γ. epsilon: what the search costs. touched: in how many groups a person counts; without groups, 1.
    """

    step: Fraction
    epsilon: Fraction
    touched: int = 1

    @classmethod
    def read(cls, resolution: Any, epsilon: Fraction) -> Self:
        """Read the arguments; epsilon: what the search may cost."""
        step = positive_rational("resolution", resolution)
        if max(step.numerator, step.denominator) * 4 > LARGEST:
            raise InvalidArgument(
                "resolution", resolution, "must have at most 15 digits", "Pass for example resolution=1."
            )
        return cls(step, epsilon)

    @cached_property
    def reaches(self) -> tuple[Fraction, ...]:
        """R_0, R_1, … as far as doubles tell the cells apart."""
        reach = (self.step * 4**j for j in range(_FURTHEST + 1))
        return tuple(one for one in reach if one * self.step.denominator <= LARGEST)

    @cached_property
    def _ends(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The reaches as doubles, and on the other side of 0, both rising."""
        doubles = tuple(map(float, self.reaches))
        return doubles, tuple(-reach for reach in reversed(doubles))

    @property
    def few(self) -> int:
        """s: so many people may be outside."""
        return math.ceil(4 * self.touched / self.epsilon)

    def zone_expression(self, column: str) -> nw.Expr:
        """How far out a row is: j where it is above R_0, …, R_(j−1) alone; −1 below 0, −1 − j below −R_(j−1).

        It rises with the number, so that it picks the same row of a person as the number itself does.
        """
        number = nw.col(column)
        zone = nw.when(number < 0.0).then(nw.lit(-1)).otherwise(nw.lit(0))
        for reach in self._ends[0]:
            zone = zone + nw.when(number > reach).then(nw.lit(1)).otherwise(nw.lit(0))
            zone = zone - nw.when(number < -reach).then(nw.lit(1)).otherwise(nw.lit(0))
        return zone.cast(nw.Int64)

    def zone_of(self, number: Any) -> int:
        """The zone of one number."""
        above, below = self._ends
        if number < 0:
            return bisect_right(below, number) - len(below) - 1
        return bisect_left(above, number)

    def find(self, tallies: Sequence[Tally], source: BitSource) -> Grid:
        """The grid, from how many people are in each zone, group by group."""
        reaches = self.reaches
        zones, people = (np.concatenate(columns) for columns in zip(*tallies, strict=True))
        above = (int(people[zones > j].sum()) for j in range(len(reaches)))
        below = (int(people[zones < -j].sum()) for j in range(len(reaches) + 1))
        high = reaches[self._first(above, source)]
        place = self._first(below, source)
        low = reaches[place - 1] if place else Fraction(0)
        step = self.step
        while (low + high) / step >= MOST_CELLS - 2:
            step *= 4
        return Grid(-(math.ceil(low / step) * step), math.ceil(high / step) * step, step)

    def _first(self, outside: Iterable[int], source: BitSource) -> int:
        """The first place with few people outside, as the sparse vector sees it; else the last."""
        with SparseVector(
            -self.few,
            k=1,
            epsilon=self.epsilon,
            sensitivity=self.touched,
            monotonic=True,
            gap=False,
            bits=source,
        ) as ask:
            place = 0
            for place, many in enumerate(outside):
                if ask.ask(-many):
                    return place
            return place
