"""Several quantiles at once: halves of halves, each by the exponential mechanism.

Input    one number for each person, on a public grid: clipped to [low, high], rounded down to a multiple of γ
Noise    the quantile in the middle of the list is drawn first, among all people; then the middle ones of
         those below it among the people below what was drawn, of those above it among the people above; and
         so on, each by `quantiles_node` with ε/L, where L = ⌊log₂ m⌋ + 1 is how often m quantiles can be
         halved. Between q' and q'' the quantile q is the share p = (q − q')/(q'' − q') of the people there.
Release  for each q the grid point of the place that was drawn; they rise with q
Charge   ε
Theorem  Kaplan, Schnapp and Stemmer 2022. On one level the parts are disjoint, so the shares of one person
         in them add up to at most 1, and the level costs that person at most ε/L in all (parallel
         composition); where the parts lie, earlier levels have said, and the L levels add up to ε.

Under ρ   each level has ε_L = √(8ρ/L), rounded down, and costs ε_L²/8: a draw is an exponential mechanism of
         range s·ε_L for a person of whom the share s stands in its part, and so s²·ε_L²/8-zCDP (Cesar and
         Rogers 2021; docs/mathematics/concentrated.md); and Σ s² ≤ 1 where Σ s ≤ 1. The charge is L·ε_L²/8.
         What finds a range and what counts the people is ε-private, and costs ε²/2 (Bun and Steinke 2016).

A person of whom part stands below what was drawn, and part above, is what makes ties harmless: the places of
one grid point (`quantiles_node.PLACES`) divide those who share it. Were they all put on one side, half of all
people at one value would leave the other side empty.

Ranks    Let n be the number of people, and T the number of places. Each draw misses its target by more than
         x + n/2M people with probability at most T·e^(−x·ε/2SL), S = max(p, 1 − p): some place is within
         n/2M of it, and T places at most are worse. What a draw misses, and a mean of what the two before it
         have missed, which stand on its sides, add up: so with probability 1 − β all m are within the sum of
         x = 2SL/ε·ln(mT/β) over the levels, and L·n/2M. The first part is `rank_error`, in people, and does
         not depend on the data.

Intervals (`intervals=True`)

Noise    n̂ = n + Z, Z two-sided geometric of rate ε/16, is a count of the people; n̂ less its 99 % quantile is
         at most n with probability 99 %. Of the rest of ε, q − t, q and q + t are drawn for each q as above,
         t so large that what can be missed with probability 96 % is less than t·n.
Release  the three grid points for each q; where q − t or q + t leaves (0, 1), low or high
Charge   ε: ε/16 and 15/16·ε add up; under ρ likewise
Theorem  with probability 95 % all m intervals hold the quantile of the people that were counted
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from freegap.bits import BitSource
from freegap.errors import InvalidArgument
from freegap.exact.integers import two_sided_geometric
from freegap.mechanisms.arguments import flag_argument
from freegap.mechanisms.quantiles_node import PLACES, Spread, draw_place
from freegap.values.measures import Pure, ZeroConcentrated, converted, pure_within
from freegap.values.rationals import positive_rational, rational, require_scale, root_below

MOST_CELLS = 2**18
MOST_QUANTILES = 1000
_MOST_DENOMINATOR = 10**6
LARGEST = 2**50
"""Of bounds, in units of the grid's denominator: up to there doubles tell its points apart."""

COUNTING = Fraction(1, 16)
"""The part of the budget that counts the people, where there are intervals."""
_MISCOUNTED = Fraction(1, 100)
_MISSED = Fraction(4, 100)
_FINE = 2**16
"""Of intervals, t is a multiple of about 1/_FINE."""

Bounds = tuple[Fraction, Fraction]


class _Half(NamedTuple):
    """Between which two of the quantiles, −1 and m for the ends, one is drawn: the share of people there."""

    low: int
    middle: int
    high: int
    share: Fraction


@dataclass(frozen=True)
class Grid:
    """The numbers that may come out: low, low + γ, …, high; each is a cell."""

    low: Fraction
    high: Fraction
    step: Fraction

    @classmethod
    def read(cls, low: Any, high: Any, resolution: Any) -> Self:
        """Read the arguments; what cannot be a grid is refused.

        >>> Grid.read(0, 120, 1).cells
        121
        """
        step = positive_rational("resolution", resolution)
        ends = []
        for argument, given in (("low", low), ("high", high)):
            if given is None:
                raise InvalidArgument(
                    argument,
                    None,
                    "is missing",
                    "Pass both low= and high=, chosen without looking at the data, or neither.",
                )
            end = rational(argument, given)
            if (end / step).denominator != 1:
                raise InvalidArgument(
                    argument,
                    given,
                    f"must be a multiple of the resolution, {step}",
                    "Pass for example low=0, high=5000, resolution=10.",
                )
            ends.append(end)
        grid = cls(ends[0], ends[1], step)
        if not grid.low < grid.high:
            raise InvalidArgument(
                "high", high, "must be greater than low", "Pass for example low=0, high=100."
            )
        if grid.cells > MOST_CELLS:
            raise InvalidArgument(
                "resolution",
                resolution,
                f"must leave at most {MOST_CELLS:,} numbers from low to high",
                f"Pass a coarser one, such as {(grid.high - grid.low) / 10**4}.",
            )
        largest = max(-grid.low, grid.high) * step.denominator
        if largest > LARGEST or step.denominator > LARGEST:
            raise InvalidArgument(
                "high" if grid.high >= -grid.low else "low",
                high if grid.high >= -grid.low else low,
                "must have at most 15 digits, those behind the point with it",
                "Pass other bounds, or subtract the same from every value first.",
            )
        return grid

    @cached_property
    def cells(self) -> int:
        """How many numbers there are."""
        return int((self.high - self.low) / self.step) + 1

    @cached_property
    def first(self) -> int:
        """Of which multiple of the step the first cell is."""
        return int(self.low / self.step)

    def value(self, place: int) -> Fraction:
        """The number of the cell that a place is in; of the last place, the last."""
        return self.low + min(place // PLACES, self.cells - 1) * self.step


@dataclass(frozen=True)
class QuantilesPlan:
    """What quantiles are going to be drawn, settled from public arguments.

    asked: of the whole release. search: the ε of what finds a range first; 0 where one is given.
    q: the quantiles, rising. intervals: whether each gets an interval.
    share: what drawing them may cost. touched: in groups, in how many of them a person can pay that.
    """

    asked: Pure | ZeroConcentrated
    q: tuple[Fraction, ...]
    intervals: bool
    search: Fraction
    share: Pure | ZeroConcentrated
    parameters: Mapping[str, Any]
    touched: int = 1
    mechanism: str = "quantiles"

    @classmethod
    def read(cls, q: Any, asked: Pure | ZeroConcentrated, intervals: Any, searching: Fraction) -> Self:
        """Read the arguments. searching: the part of the budget that finds a range first.

        >>> QuantilesPlan.read(["0.25", 0.5], Pure(Fraction(1)), False, Fraction(0)).levels
        2
        """
        wanted = _quantiles_argument(q)
        flag = flag_argument("intervals", intervals)
        search = pure_within(asked.of(asked.spent * searching)).epsilon if searching else Fraction(0)
        share = asked.of(asked.spent * (1 - searching))
        plan = cls(asked, wanted, flag, search, share, {"q": _listed(wanted), "intervals": flag})
        return plan.in_parts(1)

    def in_parts(self, touched: int) -> Self:
        """The same in each of several groups, of which one person can change so many."""
        plan = replace(self, share=self.share.of(self.share.spent / touched), touched=touched)
        require_scale(2 / plan.each, self.asked.spent, self.asked.name)
        return plan

    @cached_property
    def levels(self) -> int:
        """L: how often as many quantiles as are drawn can be halved."""
        return (len(self.q) * (3 if self.intervals else 1)).bit_length()

    @cached_property
    def counting(self) -> Fraction:
        """θ: the ε of what counts the people; 0 where there are no intervals."""
        if not self.intervals:
            return Fraction(0)
        return pure_within(self.share.of(self.share.spent * COUNTING)).epsilon

    @cached_property
    def each(self) -> Fraction:
        """ε of each level."""
        level = self.share.spent * ((1 - COUNTING) if self.intervals else 1) / self.levels
        return level if isinstance(self.share, Pure) else root_below(8 * level)

    @cached_property
    def _order(self) -> tuple[_Half, ...]:
        """In which order the quantiles are drawn, without intervals: the same in all groups."""
        return _halves(self.q)

    @property
    def charge(self) -> Fraction:
        """What the release costs, in the measure that was asked for: never more than that."""
        level = self.each if isinstance(self.share, Pure) else self.each**2 / 8
        drawn = self._price(self.counting) + self.levels * level
        return self._price(self.search) + self.touched * drawn

    def _price(self, epsilon: Fraction) -> Fraction:
        """Of something that is known to be ε-private."""
        return converted(Pure(epsilon), type(self.asked)).spent

    @property
    def tied(self) -> float:
        """The part of all people by which ranks may be off, however large ε is: L/2M."""
        return self.levels / (2 * PLACES)

    def rank_error(self, cells: int) -> float:
        """By how many people all quantiles are off at most, with probability 95 %, ties aside; see above."""
        drawn = len(self.q) * (3 if self.intervals else 1)
        # With intervals the shares are not known beforehand; none is more than 1.
        widest = self.levels if self.intervals else max(_paths(self.q, Fraction(0), Fraction(1)))
        return 2 * float(widest / self.each) * math.log(20 * drawn * (cells * PLACES + 1))


@dataclass(frozen=True)
class DrawnQuantiles:
    """The drawn quantiles, and an interval for each where there are intervals."""

    values: tuple[Fraction, ...]
    intervals: tuple[Bounds, ...] | None


def draw_quantiles(plan: QuantilesPlan, grid: Grid, spread: Spread, source: BitSource) -> DrawnQuantiles:
    """The mechanism itself: see the module's docstring."""
    if not plan.intervals:
        places = _draw_halves(spread, plan._order, plan.each, source)
        return DrawnQuantiles(tuple(grid.value(place) for place in places), None)
    counted = int(spread.before[-1]) + two_sided_geometric(plan.counting, source)
    margin = _margin(plan, counted, spread.end)
    around = [(q - margin, q, q + margin) for q in plan.q]
    wanted = sorted({q for three in around for q in three if 0 < q < 1})
    drawn = dict(zip(wanted, draw_places(spread, wanted, plan.each, source), strict=True))
    values = {q: grid.value(place) for q, place in drawn.items()}
    bounds = tuple((values.get(below, grid.low), values.get(over, grid.high)) for below, _, over in around)
    return DrawnQuantiles(tuple(values[q] for q in plan.q), bounds)


def draw_places(spread: Spread, q: Sequence[Fraction], each: Fraction, source: BitSource) -> list[int]:
    """A place for each of the rising quantiles; each: ε of a level."""
    return _draw_halves(spread, _halves(q), each, source)


def _draw_halves(spread: Spread, halves: Sequence[_Half], each: Fraction, source: BitSource) -> list[int]:
    """The same, in this order."""
    places: dict[int, int] = {-1: 0, len(halves): spread.end}
    for low, middle, high, share in halves:
        places[middle] = draw_place(spread, places[low], places[high], share, each, source)
    return [places[number] for number in range(len(halves))]


def _halves(q: Sequence[Fraction]) -> tuple[_Half, ...]:
    """Level by level the quantile in the middle of each part, and which share of the people there it is."""
    targets = {-1: Fraction(0), len(q): Fraction(1), **dict(enumerate(q))}
    found: list[_Half] = []
    level = [(-1, len(q))]
    while level:
        level = [(low, high) for low, high in level if high - low > 1]
        halves = [(low, (low + high) // 2, high) for low, high in level]
        for low, middle, high in halves:
            share = (targets[middle] - targets[low]) / (targets[high] - targets[low])
            found.append(_Half(low, middle, high, share))
        level = [pair for three in halves for pair in pairwise(three)]
    return tuple(found)


def _margin(plan: QuantilesPlan, counted: int, places: int) -> Fraction:
    """t: so large a part of all people that no draw misses by as much; 1 or more where there are too few."""
    # P(Z ≥ k) ≤ e^(−θk); and each level misses by at most x + n/2M, S ≤ 1.
    least = counted - math.ceil(math.log(1 / _MISCOUNTED) / plan.counting)
    if least < 1:
        return Fraction(1)
    drawn = 3 * len(plan.q)
    missed = 2 * plan.levels / float(plan.each) * math.log(drawn * (places + 1) / _MISSED)
    share = missed / least + plan.tied
    common = math.lcm(*(q.denominator for q in plan.q))
    fine = common * -(-_FINE // common)
    return Fraction(math.floor(share * fine) + 2, fine)  # one more for the rounding of doubles


def _paths(q: Sequence[Fraction], low: Fraction, high: Fraction) -> list[Fraction]:
    """Of each way through the halves the sum of max(p, 1 − p)."""
    if not q:
        return [Fraction(0)]
    middle = (len(q) - 1) // 2
    share = (q[middle] - low) / (high - low)
    below, above = _paths(q[:middle], low, q[middle]), _paths(q[middle + 1 :], q[middle], high)
    return [max(share, 1 - share) + rest for rest in (*below, *above)]


def _quantiles_argument(q: Any) -> tuple[Fraction, ...]:
    remedy = "Pass for example q=[0.25, 0.5, 0.75]."
    given = list(q) if isinstance(q, Sequence | np.ndarray) and not isinstance(q, str) else [q]
    read = sorted(rational("q", one) for one in given)
    if not 1 <= len(read) <= MOST_QUANTILES:
        raise InvalidArgument("q", f"<{len(read)} numbers>", f"must be 1 to {MOST_QUANTILES} numbers", remedy)
    if not 0 < read[0] <= read[-1] < 1:
        raise InvalidArgument("q", q, "must lie strictly between 0 and 1", remedy)
    if len(set(read)) != len(read):
        raise InvalidArgument("q", q, "must not have a number twice", remedy)
    if math.lcm(*(one.denominator for one in read)) > _MOST_DENOMINATOR:
        raise InvalidArgument("q", q, "must have a common denominator of at most 10^6", remedy)
    return tuple(read)


def _listed(q: Sequence[Fraction]) -> str:
    return ", ".join(map(str, q))
