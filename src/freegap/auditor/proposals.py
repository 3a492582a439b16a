"""What the race starts from: pairs of inputs, each with the arguments that look best for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from freegap.auditor.arguments import argument_grid
from freegap.auditor.branches import analyse
from freegap.auditor.inputs import Pair
from freegap.auditor.mechanism import Arguments, Mechanism
from freegap.auditor.search import SearchCandidate

__all__ = ["Proposals"]

MOST_CANDIDATES = 100
LONGEST_ANALYSED = 5
MOST_ANALYSED = 30


@dataclass
class Proposals:
    """Pairs with arguments, from the source where it can be followed (Ding 2020, algorithm 4) and from a
    grid.

    scalar: the mechanism as plain code, one run at a time; None where there is none to follow.
    trouble: why the source could not be followed.
    """

    mechanism: Mechanism
    pairs: Sequence[Pair]
    epsilon: float
    sensitivity: float
    scalar: Callable[..., Any] | None
    trouble: str | None = None
    _known: dict[object, tuple[Arguments, ...]] = field(default_factory=dict)

    def candidates(self) -> list[SearchCandidate]:
        """The best arguments of every pair first, then more of them for long pairs."""
        longest = max(len(pair.first) for pair in self.pairs)
        # of each pattern a short pair is analysed, and the longer ones take over what it says
        for pair in sorted(self.pairs, key=lambda pair: -len(pair.first)):
            if len(pair.first) <= LONGEST_ANALYSED and not pair.far:
                self.suggested(pair)
        grids = []
        for pair in self.pairs:
            grid = argument_grid(
                self.mechanism.found, pair, epsilon=self.epsilon, sensitivity=self.sensitivity
            )
            short = pair.far or len(pair.first) < longest // 2
            grids.append(list(dict.fromkeys([*self.suggested(pair), *grid[: 1 if short else None]])))
        deepest = max(map(len, grids))
        ordered = [
            SearchCandidate(pair, grid[depth])
            for depth in range(deepest)
            for pair, grid in zip(self.pairs, grids, strict=True)
            if depth < len(grid)
        ]
        return list(dict.fromkeys(ordered))[:MOST_CANDIDATES]

    def suggested(self, pair: Pair) -> tuple[Arguments, ...]:
        """What the source suggests, until it turns out that it cannot be followed."""
        if not self.mechanism.found or self.scalar is None or self.trouble is not None:
            return ()
        pattern = pair if pair.given else (pair.category, pair.far)
        if pattern in self._known:
            return self._known[pattern]
        if len(self._known) >= MOST_ANALYSED:
            return ()
        if self.mechanism.noise is None:
            self.trouble = "the mechanism makes its own noise, which cannot be set to zero"
            return ()
        found = analyse(self.scalar, self.mechanism.found, self.mechanism.fixed, pair)
        self.trouble = found.trouble
        self._known[pattern] = found.arguments
        return found.arguments
