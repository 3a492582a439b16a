"""Sizes of groups, by level, with at most 2^62 items in all."""

from __future__ import annotations

import math
from collections.abc import Sequence

from freegap.values.answers import MOST_ITEMS
from freegap_evidence.assurance.regimes.choices import Choices

SIZES = ("ones", "twos and threes", "log-uniform", "one dominant", "2^62 in all")


def sizes_at(level: str, n: int, choices: Choices) -> list[int]:
    """The sizes of n groups."""
    if level == "ones":
        return [1] * n
    if level == "twos and threes":
        # Few, so that a bar that is chosen without their sizes is not lower for it, and misses them.
        return [choices.of((1, 1, 1, 1, 1, 1, 2, 3)) for _ in range(n)]
    if level == "one dominant":
        sizes = [choices.of((1, 1, 2)) for _ in range(n - 1)]
        return choices.shuffled([choices.log_uniform(2**50) + 2**10, *sizes])
    sizes = [choices.log_uniform(MOST_ITEMS // n) for _ in range(n - 1)]
    rest = MOST_ITEMS - sum(sizes)
    return choices.shuffled([*sizes, choices.log_uniform(rest) if level == "log-uniform" else rest])


def absent_at(level: str, present: int, choices: Choices) -> int:
    """How many items of a domain do not occur, where `present` do."""
    return {
        "ones": choices.below(2),
        "log-uniform": choices.log_uniform(MOST_ITEMS - present),
        "one dominant": choices.between(10**6, 10**12),
        "2^62 in all": MOST_ITEMS - present,
    }[level]


def lifts(sizes: Sequence[int]) -> list[float]:
    """How far the largest noise of each group is above that of an item, in scales: about ln m.

    The largest group gets as much as all others have together, so that it wins about as often as not.
    """
    found = [math.log(size) for size in sizes]
    largest = found.index(max(found))
    found[largest] = max(found[largest] - math.log(len(found)), 0.0)
    return found
