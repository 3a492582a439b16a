"""The cells of a matrix: levels of dimensions, and lists of cases in which every pair of levels occurs.

A cell is a pair of levels of two dimensions, such as (many groups, grid 10^-20). Some cannot be: an int8
array holds nothing beyond int64. All others are visited.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

from freegap_evidence.assurance.regimes.choices import Choices

Level = tuple[str, str]
"""A dimension and one of its levels."""

Cell = frozenset[Level]
"""Levels of two dimensions."""

Levels = Mapping[str, str]
"""One level of each dimension."""

_ATTEMPTS = 200
_SELDOM = 8  # of so many drawn cases, one has a costly level


def apart(first: str, its_levels: Iterable[str], second: str, other_levels: Iterable[str]) -> set[Cell]:
    """Cells that cannot be: none of these levels of one dimension goes with any of those of the other."""
    pairs = product(its_levels, other_levels)
    return {frozenset({(first, a), (second, b)}) for a, b in pairs}


@dataclass(frozen=True)
class Cells:
    """Dimensions with their levels.

    impossible: the cells that cannot be. costly: levels that take long, and are visited seldom.
    corners: where three or more levels meet at which something is known to be hard.
    """

    dimensions: Mapping[str, tuple[str, ...]]
    impossible: frozenset[Cell] = frozenset()
    costly: frozenset[Level] = frozenset()
    corners: tuple[Levels, ...] = ()

    @cached_property
    def all(self) -> frozenset[Cell]:
        """Every cell that must be visited."""
        found = set()
        for a, b in combinations(self.dimensions, 2):
            for x, y in product(self.dimensions[a], self.dimensions[b]):
                found.add(frozenset({(a, x), (b, y)}))
        return frozenset(found - self.impossible)

    def of(self, levels: Levels) -> set[Cell]:
        """The cells that a case visits."""
        return {frozenset(pair) for pair in combinations(levels.items(), 2)}

    def covering(self, seed: str) -> list[dict[str, str]]:
        """Cases that visit every corner and every cell: each begins at one, and visits many cells more."""
        choices = Choices(f"covering {seed}")
        missing = dict.fromkeys(choices.shuffled(sorted(self.all, key=sorted)))
        cases = []
        corners = list(self.corners)
        while corners or missing:
            start = corners.pop() if corners else dict(next(iter(missing)))
            cases.append(self._case(choices, start, missing))
            for cell in self.of(cases[-1]):
                missing.pop(cell, None)
        return cases

    def sampled(self, seed: str) -> Iterator[dict[str, str]]:
        """Cases without end, each level drawn."""
        choices = Choices(f"sampled {seed}")
        while True:
            yield self._case(choices, {}, {})

    def _case(self, choices: Choices, start: Levels, missing: Mapping[Cell, None]) -> dict[str, str]:
        for _ in range(_ATTEMPTS):
            levels = dict(start)
            for name in choices.shuffled([name for name in self.dimensions if name not in start]):
                possible = [level for level in self.dimensions[name] if self._fits((name, level), levels)]
                if not possible:
                    break
                levels[name] = self._best(choices, name, possible, levels, missing)
            else:
                return {name: levels[name] for name in self.dimensions}
        raise AssertionError(f"no case has {dict(start)}: say so in `impossible`")

    def _fits(self, new: Level, levels: Levels) -> bool:
        return all(frozenset({new, old}) not in self.impossible for old in levels.items())

    def _best(
        self,
        choices: Choices,
        name: str,
        possible: list[str],
        levels: Levels,
        missing: Mapping[Cell, None],
    ) -> str:
        """A level with which the most missing cells are visited; a costly one only for many of them."""
        cheap = [level for level in possible if (name, level) not in self.costly]
        if not missing:
            return choices.of(cheap if cheap and choices.below(_SELDOM) else possible)
        gained = {
            level: sum(frozenset({(name, level), old}) in missing for old in levels.items())
            for level in possible
        }
        enough = max((gained[level] for level in cheap), default=-1) + len(levels) // 2
        worth = [level for level in possible if level in cheap or gained[level] > enough]
        most = max(gained[level] for level in worth)
        return choices.of([level for level in worth if gained[level] == most])
