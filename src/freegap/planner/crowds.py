"""How many of a crowd of noisy counts are above a line: the law of that number.

The number is a sum of independent coins, one for each item. Where few of them are undecided, its law is
computed by adding one coin after the other; coins that hardly ever fall are one Poisson variable (Le Cam
1960). Where many are undecided, it is nearly normal, and is taken so with its skewness (Volkova 1996).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from freegap.laws.law import Floats, Law

Ranks = NDArray[np.int64]

_FAR = 5.0  # so many scales below the line an item passes it with e^-5 at most, and its tail is exponential
_FINE = 32  # bins in one scale, where there are many different counts
_MOST_GROUPS = 600
_MOST_COINS = 150
_MOST_RANKS = 600
_CERTAIN = 1e-7


@dataclass(frozen=True)
class Crowd:
    """Counts in units of the scale of their noise, from the largest down, and how many items have each."""

    values: Floats
    sizes: Floats

    @property
    def items(self) -> int:
        """How many items there are."""
        return int(self.sizes.sum())

    def seen_from(self, line: float, scale: float) -> Crowd:
        """The same counts in another unit, and from another zero: what is near to it keeps its digits."""
        return Crowd((self.values - line) / scale, self.sizes)

    def split(self, first: int) -> tuple[Crowd, Crowd]:
        """The first items, and the others; of equal ones, any."""
        before = np.append(0.0, np.cumsum(self.sizes)[:-1])
        own = np.clip(first - before, 0, self.sizes)
        return self._sized(own), self._sized(self.sizes - own)

    def largest(self, first: int) -> Crowd:
        """The first items."""
        return self.split(first)[0]

    def place(self, rank: int) -> float:
        """The count of this rank."""
        return float(self.values[np.searchsorted(np.cumsum(self.sizes), rank)])

    def number_above(self, line: float) -> int:
        """How many counts are greater than this."""
        return int(self.sizes[self.values > line].sum())

    def _sized(self, sizes: Floats) -> Crowd:
        return Crowd(self.values[sizes > 0], sizes[sizes > 0])

    def near(self, low: float) -> tuple[Crowd, Crowd]:
        """Those that may be above a line from `low` on, at most so many groups of them; and those far below.

        Counts that differ by less than a 32nd of the scale are put together at their mean.
        """
        above = self.values >= low - _FAR
        near = Crowd(self.values[above], self.sizes[above])
        far = Crowd(self.values[~above], self.sizes[~above])
        if len(near.values) <= _MOST_GROUPS:
            return near, far
        _, places = np.unique(np.floor(near.values * _FINE), return_inverse=True)
        sizes = np.bincount(places, near.sizes).astype(float)
        return Crowd(np.bincount(places, near.sizes * near.values) / sizes, sizes), far


@dataclass(frozen=True)
class Heads:
    """For each x of a grid, how many of a crowd are above x: coins of these chances, and a Poisson rest."""

    chances: Floats  # groups × grid
    sizes: Floats
    rest: Floats  # the mean of the Poisson variable, on the grid

    @classmethod
    def of(cls, crowd: Crowd, law: Law, grid: Floats) -> Heads:
        """The coins of a crowd whose counts have noise of this law and of scale 1."""
        low = float(grid[0])
        near, far = crowd.near(low)
        chances = law.tail(grid[None, :] - near.values[:, None])
        once = float((far.sizes * law.tail(low - far.values)).sum())
        return cls(chances, near.sizes, once * np.exp(low - grid))  # every tail here is exponential

    def none(self) -> Floats:
        """P(none is above x)."""
        with np.errstate(divide="ignore"):
            return np.exp(self.sizes @ np.log1p(-np.minimum(self.chances, 1.0)) - self.rest)

    def at_least(self, ranks: Ranks) -> Floats:
        """P(at least w are above x) for each w of these, which rise: ranks × grid."""
        sure = self.chances[:, -1] >= 1 - _CERTAIN  # chances fall with x
        wanted = np.maximum(ranks - int(self.sizes[sure].sum()), 0)
        chances, sizes = self.chances[~sure], self.sizes[~sure]
        coins, rest = int(sizes.sum()), float(self.rest.max())
        size = min(int(wanted[-1]), coins + math.ceil(rest + 8 * math.sqrt(rest) + 20))  # more never happens
        if coins > _MOST_COINS or size > _MOST_RANKS:
            return _nearly(chances, sizes, self.rest, wanted)
        known = _exactly(chances, sizes, self.rest, size)
        never = np.zeros_like(self.rest)
        return np.vstack([np.ones_like(never), known, never])[np.minimum(wanted, size + 1)]


def all_above(crowd: Crowd, law: Law, grid: Floats) -> Floats:
    """P(every count of the crowd is above x)."""
    found = np.ones_like(grid)
    for value, size in zip(crowd.values, crowd.sizes, strict=True):
        found *= law.tail(grid - value) ** size
    return found


def _exactly(chances: Floats, sizes: Floats, rest: Floats, most: int) -> Floats:
    """P(at least w) for w = 1 … most, one coin after the other; what is beyond never comes back."""
    mass = np.zeros((most, len(rest)))
    if most == 0:
        return mass
    mass[0] = np.exp(-rest)
    for w in range(1, most):
        mass[w] = mass[w - 1] * rest / w
    for chance in np.repeat(chances, sizes.astype(np.int64), axis=0):
        moved = mass * chance
        mass -= moved
        mass[1:] += moved[:-1]
    return np.clip(1 - np.cumsum(mass, axis=0), 0, 1)


def _nearly(chances: Floats, sizes: Floats, rest: Floats, ranks: Ranks) -> Floats:
    """The normal law of the same mean, variance and skewness, with a correction for whole numbers."""
    mean = sizes @ chances + rest
    variance = sizes @ (chances * (1 - chances)) + rest
    third = sizes @ (chances * (1 - chances) * (1 - 2 * chances)) + rest
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    z = (ranks[:, None] - 0.5 - mean) / deviation
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    below = _normal(z) + third / deviation**3 * (1 - z**2) * density / 6
    found: Floats = np.where(ranks[:, None] > 0, np.clip(1 - below, 0, 1), 1.0)
    return found


def _normal(z: Floats) -> Floats:
    """The distribution function of the normal law, to six digits."""
    places, heights = _table()
    return np.interp(z, places, heights)


@cache
def _table() -> tuple[Floats, Floats]:
    places = np.linspace(-8, 8, 4001)
    return places, np.array([(1 + math.erf(z / math.sqrt(2))) / 2 for z in places])
