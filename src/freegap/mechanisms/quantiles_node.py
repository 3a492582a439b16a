"""One quantile of a part of the people, by the exponential mechanism, sampled exactly.

People stand in cells 0, 1, …, each spread evenly over the M places of their cell: a place holds 1/M of each
person of its cell. W(t) is how much of people stands before place t, in units of 1/M of a person. Between
two places a ≤ b, and for 0 < p = p₁/p₂ < 1:

Utility  u(t) = −|p₂·(W(t) − W(a)) − p₁·(W(b) − W(a))|, for every place a ≤ t ≤ b
Release  t with probability proportional to exp(ε·u(t)/2S), S = M·max(p₁, p₂ − p₁)
Theorem  of a person let the share s stand between a and b, and the share x ≤ s before t. Without that person
         u(t) changes by at most M·|p₂·x − p₁·s| ≤ s·S. So the release is s·ε-private for that person (the
         exponential mechanism: McSherry and Talwar 2007), where s may be any share from 0 to 1: how many
         people there are is not used, and nobody need be wholly inside or outside.

Sampling. Places with the same W are one group of equal answers. So is each cell with people in it, with the
largest utility of its places for all of them: then the cell is chosen by noisy max with Gumbel noise
(`freegap.exact.ranking`), a place in it uniformly, and that is kept with probability exp(−ε·(largest −
u(t))/2S), else all is drawn again. The kept place has the law above exactly, whichever places are taken
together; so cells near the target whose utilities differ by much are taken apart, and few tries are rejected.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.bits import BitSource
from freegap.exact.digits import KeyedDigits
from freegap.exact.integers import bernoulli_exp, uniform_below
from freegap.exact.ranking import NoisyRanking, Screened
from freegap.laws import GUMBEL
from freegap.values.rationals import double

PLACES = 1024
"""M: so many places has a cell, and so finely those can be divided who share a value."""

_FAR = 60.0
"""Of so many noise scales below the best, all places together are chosen once in 10^18 tries."""
_FLAT = 0.5
"""Within a cell whose utilities differ by so many noise scales, more than half of the tries are kept."""
_FITS = 2**60
_ONE = Fraction(1)
_MOST_RANKED = 4

Integers = NDArray[Any]


@dataclass(frozen=True)
class Spread:
    """People on the places: the cells with people in them, in order, and how many people each has.

    size: how many cells there are in all.
    """

    cells: Integers
    counts: Integers
    size: int

    @cached_property
    def before(self) -> Integers:
        """How many people stand in cells before each of these; at the end, how many there are."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    @cached_property
    def ranked(self) -> dict[tuple[Fraction, Fraction], _Items]:
        """What was ranked of all places, by share and scale, for whoever draws from the same people again."""
        return {}

    @property
    def end(self) -> int:
        """The last place: behind all cells."""
        return self.size * PLACES

    def weight(self, place: int) -> int:
        """W: how much of people stands before a place, in units of 1/M."""
        cell, within = divmod(place, PLACES)
        at = int(np.searchsorted(self.cells, cell))
        inside = int(self.counts[at]) if at < len(self.cells) and self.cells[at] == cell else 0
        return PLACES * int(self.before[at]) + within * inside


@dataclass(frozen=True)
class _Groups:
    """Runs of places: where each starts, how many it has, and how far its first place is from the target.

    distances: p₂·(W(t) − W(a)) − p₁·(W(b) − W(a)) of the first place t.
    steps: by how much that rises from one place to the next.
    """

    starts: Integers
    sizes: Integers
    distances: Integers
    steps: Integers

    @cached_property
    def rises(self) -> Integers:
        """By how much the distance rises from the first place of each to its last."""
        rises: Integers = self.steps * (self.sizes - 1)
        return rises

    @cached_property
    def nearest(self) -> Integers:
        """How far the nearest place of each is from the target: the largest utility, without its sign."""
        least: Integers = np.maximum(self.distances, -self.distances - self.rises)
        for at in np.flatnonzero(least < 0).tolist():  # one at most: the only cell with the target in it
            step = int(self.steps[at])
            over = int(self.distances[at]) % step
            least[at] = min(over, step - over)
        return least

    def utility(self, group: int, member: int) -> int:
        """u of one place."""
        return -abs(int(self.distances[group]) + member * int(self.steps[group]))

    def taken_apart(self, noise: Fraction) -> _Items:
        """What is ranked: groups, but those near the target whose utilities differ by much place by place.

        noise: the scale of the noise.
        """
        scale = double(noise)
        nearest = self.nearest.astype(float)
        differ = self.rises.astype(float) > _FLAT * scale
        apart = np.flatnonzero(differ & (nearest - nearest.min() < _FAR * scale))
        together = np.ones(len(differ), bool)
        together[apart] = False
        kept, divided = np.flatnonzero(together), apart.tolist()
        bounds = list(accumulate((int(self.sizes[group]) for group in divided), initial=len(kept)))
        utilities = np.empty(bounds[-1], self.distances.dtype)
        sizes = np.ones(bounds[-1], np.int64)
        utilities[: len(kept)], sizes[: len(kept)] = self.nearest[kept], self.sizes[kept]
        for group, (begin, end) in zip(divided, pairwise(bounds), strict=True):
            members = np.arange(end - begin).astype(utilities.dtype, copy=False)
            utilities[begin:end] = members * self.steps[group] + self.distances[group]
        np.abs(utilities, out=utilities)
        np.negative(utilities, out=utilities)
        return _Items(self, noise, kept, divided, bounds, utilities, sizes)


@dataclass(frozen=True)
class _Items:
    """What is ranked: the groups that are kept, and behind them each place of those that are divided.

    bounds: where, among all items, the places of each divided group begin, and where the last ones end.
    utilities: of a group the largest. sizes: how many places each item stands for.
    scale: of the noise. screened: what earlier draws have found out about the utilities.
    """

    groups: _Groups
    scale: Fraction
    kept: Integers
    divided: list[int]
    bounds: list[int]
    utilities: Integers
    sizes: Integers
    screened: dict[int, Screened] = field(default_factory=dict)

    @cached_property
    def _values(self) -> Any:
        """The utilities as they are ranked."""
        return self.utilities if self.utilities.dtype == np.int64 else self.utilities.tolist()

    @cached_property
    def _several(self) -> Integers:
        """Which stand for more than one place."""
        several: Integers = (self.sizes[: len(self.kept)] > 1).nonzero()[0]
        return several

    def ranking(self, source: BitSource) -> NoisyRanking:
        """All of them with noise."""
        return NoisyRanking(
            self._values,
            grain=_ONE,
            scale=self.scale,
            resolution=_ONE,
            law=GUMBEL,
            digits=KeyedDigits(source, len(self.utilities)),
            sizes=self.sizes,
            groups=self._several,
            screened=self.screened,
        )

    def drawn(self, item: int, source: BitSource) -> tuple[int, int]:
        """One of the places that an item stands for, uniformly, and by how much its utility is below."""
        groups = self.groups
        if item >= len(self.kept):
            at = bisect_right(self.bounds, item) - 1
            return int(groups.starts[self.divided[at]]) + item - self.bounds[at], 0
        group = int(self.kept[item])
        member = uniform_below(int(groups.sizes[group]), source)
        behind = int(self.utilities[item]) - groups.utility(group, member)
        return int(groups.starts[group]) + member, behind


def draw_place(
    spread: Spread, first: int, last: int, share: Fraction, epsilon: Fraction, source: BitSource
) -> int:
    """The place of a quantile between two places, of the law above; share: p."""
    scale = 2 * PLACES * max(share.numerator, share.denominator - share.numerator) / epsilon
    whole = first == 0 and last == spread.end  # as every release from these people begins
    items = spread.ranked.get((share, scale)) if whole else None
    if items is None:
        items = _grouped(spread, first, last, share).taken_apart(scale)
        if whole and len(spread.ranked) < _MOST_RANKED:
            spread.ranked[share, scale] = items
    while True:
        (item,) = items.ranking(source).largest(1).items
        place, behind = items.drawn(item, source)
        if behind == 0 or bernoulli_exp(behind / scale, source):
            return place


def _grouped(spread: Spread, first: int, last: int, share: Fraction) -> _Groups:
    """All places from first to last: what lies between and around the cells with people, then these cells."""
    low, high = spread.cells.searchsorted([first // PLACES, last // PLACES + 1]).tolist()
    weight = spread.weight(first)
    whole = spread.weight(last) - weight
    cells = spread.cells[low:high] * PLACES
    starts = np.maximum(cells, first)
    ends = np.minimum(cells + PLACES, last + 1)
    kind: Any = np.int64 if share.denominator * (spread.weight(spread.end) + PLACES) < _FITS else object
    between = len(cells) + 1
    runs = np.empty((4, between + len(cells)), kind)
    begins, sizes, distances, steps = runs
    begins[0], begins[1:between], begins[between:] = first, ends, starts
    sizes[: between - 1], sizes[between - 1], sizes[between:] = starts, last + 1, ends
    sizes -= begins
    steps[:between], steps[between:] = 0, spread.counts[low:high]
    # What lies between the cells has the weight of all that is before it.
    distances[:between], distances[between:] = spread.before[low : high + 1], spread.before[low:high]
    distances *= PLACES
    distances[between:] += (starts - cells) * steps[between:]
    distances -= weight
    distances *= share.denominator
    distances -= share.numerator * whole
    steps *= share.denominator
    return _Groups(*runs[:, sizes > 0])
