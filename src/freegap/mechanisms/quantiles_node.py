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

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from freegap.bits import BitSource
from freegap.exact.digits import KeyedDigits
from freegap.exact.integers import bernoulli_exp, uniform_below
from freegap.exact.ranking import NoisyRanking
from freegap.laws import GUMBEL
from freegap.values.rationals import double

PLACES = 1024
"""M: so many places has a cell, and so finely those can be divided who share a value."""

_FAR = 60.0
"""Of so many noise scales below the best, all places together are chosen once in 10^18 tries."""
_FLAT = 0.5
"""Within a cell whose utilities differ by so many noise scales, more than half of the tries are kept."""
_FITS = 2**60

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
    def nearest(self) -> Integers:
        """How far the nearest place of each is from the target: the largest utility, without its sign."""
        first, last = self.distances, self.distances + self.steps * (self.sizes - 1)
        least = np.where(first >= 0, first, -last)
        across = np.flatnonzero((first < 0) & (last > 0))
        for at in across.tolist():  # one at most: the only cell with the target in it
            over = int(first[at]) % int(self.steps[at])
            least[at] = min(over, int(self.steps[at]) - over)
        return least

    def utility(self, group: int, member: int) -> int:
        """u of one place."""
        return -abs(int(self.distances[group]) + member * int(self.steps[group]))

    def taken_apart(self, scale: float) -> Self:
        """Groups near the target whose utilities differ by much, place by place."""
        nearest = self.nearest.astype(float)
        differ = (self.steps * (self.sizes - 1)).astype(float) > _FLAT * scale
        apart = np.flatnonzero(differ & (nearest - nearest.min() < _FAR * scale))
        if not len(apart):
            return self
        kept = np.delete(np.arange(len(self.sizes)), apart)
        sizes = self.sizes[apart].astype(np.int64)
        at = np.repeat(apart, sizes)
        members = (np.arange(len(at)) - np.repeat(np.cumsum(sizes) - sizes, sizes)).astype(
            self.distances.dtype
        )
        alone = (
            self.starts[at] + members,
            np.ones_like(members),
            self.distances[at] + members * self.steps[at],
            np.zeros_like(members),
        )
        rest = (self.starts[kept], self.sizes[kept], self.distances[kept], self.steps[kept])
        return type(self)(*(np.concatenate(columns) for columns in zip(rest, alone, strict=True)))


def draw_place(
    spread: Spread, first: int, last: int, share: Fraction, epsilon: Fraction, source: BitSource
) -> int:
    """The place of a quantile between two places, of the law above; share: p."""
    scale = 2 * PLACES * max(share.numerator, share.denominator - share.numerator) / epsilon
    groups = _grouped(spread, first, last, share).taken_apart(double(scale))
    values = -groups.nearest
    sizes = groups.sizes.astype(np.int64)
    while True:
        ranking = NoisyRanking(
            values if values.dtype == np.int64 else values.tolist(),
            grain=Fraction(1),
            scale=scale,
            resolution=Fraction(1),
            law=GUMBEL,
            digits=KeyedDigits(source, len(values)),
            sizes=sizes,
        )
        (group,) = ranking.largest(1).items
        member = uniform_below(int(sizes[group]), source)
        behind = int(values[group]) - groups.utility(group, member)
        if behind == 0 or bernoulli_exp(behind / scale, source):
            return int(groups.starts[group]) + member


def _grouped(spread: Spread, first: int, last: int, share: Fraction) -> _Groups:
    """All places from first to last: each cell with people in it, and what lies between and around them."""
    low, high = np.searchsorted(spread.cells, [first // PLACES, last // PLACES + 1]).tolist()
    weight, whole = spread.weight(first), spread.weight(last) - spread.weight(first)
    cells, counts = spread.cells[low:high], spread.counts[low:high]
    starts = np.maximum(cells * PLACES, first)
    ends = np.minimum((cells + 1) * PLACES, last + 1)
    # What lies between the cells has the weight of all that is before it.
    gap_starts, gap_ends = np.append(first, ends), np.append(starts, last + 1)
    kind: Any = np.int64 if share.denominator * (spread.weight(spread.end) + PLACES) < _FITS else object
    before = PLACES * spread.before[low : high + 1].astype(kind)
    inside = before[:-1] + (starts - cells * PLACES) * counts.astype(kind)
    weights = np.concatenate([before, inside]) - weight
    steps = np.concatenate([np.zeros(len(before), kind), counts.astype(kind)]) * share.denominator
    groups = (
        np.concatenate([gap_starts, starts]),
        np.concatenate([gap_ends - gap_starts, ends - starts]),
        weights * share.denominator - share.numerator * whole,
        steps,
    )
    present = groups[1] > 0
    return _Groups(*(column[present] for column in groups))
