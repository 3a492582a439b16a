"""Synthetic transactions by the procedure of Agrawal and Srikant (1994), as IBM's Quest generator runs it.

A transaction is filled with *patterns* (itemsets that tend to occur together), drawn by their weights:

    patterns      |L| of them, of size 1 + Poisson(I − 1); a part of each, of exponential size with mean
                  `correlation`, is taken from the pattern before; other items by their weights
    weights       of items and of patterns: exponential with mean 1, divided by their sum
    corruption    one level c for each pattern, normal with mean 1/2 and variance 0.1; each time a pattern
                  is used, items are dropped from it as long as a uniform number is below c
    transactions  of size 1 + Poisson(T − 1); a pattern that does not fit any more goes in all the same in
                  half of the cases, and is kept for the next transaction in the others

TxIyDz means T = x, I = y and z transactions. The paper's text leaves two things open that the published
files decide: 870 and 942 of 1,000 items occur in T10I4D100K and T40I10D100K, which is what exponential item
weights and a correlation of 1/4 give (858 and 938 expected), whereas equal weights give over 980.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class QuestShape:
    """The parameters of the generator, by the letters of Agrawal and Srikant.

    seed: chosen so that as many items occur as in the published file of that name.
    """

    transactions: int
    length: int
    pattern_length: int
    seed: int
    items: int = 1000
    patterns: int = 2000
    correlation: float = 0.25
    corruption: float = 0.5
    corruption_variance: float = 0.1


T10I4D100K = QuestShape(100_000, 10, 4, seed=45)
T40I10D100K = QuestShape(100_000, 40, 10, seed=18)


def generate(shape: QuestShape) -> list[list[int]]:
    """The transactions, each a list of different items in increasing order.

    >>> baskets = generate(QuestShape(transactions=500, length=10, pattern_length=4, seed=1))
    >>> len(baskets), 9 < sum(map(len, baskets)) / 500 < 11
    (500, True)
    """
    rng = np.random.default_rng(shape.seed)
    patterns = _patterns(shape, rng)
    used = _uses(shape, patterns, rng)
    sizes = 1 + rng.poisson(shape.length - 1, shape.transactions)
    kept: list[int] | None = None
    transactions = []
    for size in sizes.tolist():
        basket: set[int] = set()
        while len(basket) < size:
            pattern = next(used) if kept is None else kept
            kept = None
            if basket and len(basket) + len(pattern) > size:
                if rng.random() < 0.5:
                    basket.update(pattern)
                else:
                    kept = pattern
                break
            basket.update(pattern)
        transactions.append(sorted(basket))
    return transactions


def _patterns(shape: QuestShape, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    weights = rng.exponential(size=shape.items)
    cumulative = np.cumsum(weights / weights.sum())
    cumulative[-1] = 1.0
    sizes = 1 + rng.poisson(shape.pattern_length - 1, shape.patterns)
    shared = np.minimum(rng.exponential(shape.correlation, shape.patterns), 1.0)
    patterns: list[NDArray[np.int64]] = []
    before = np.empty(0, dtype=np.int64)
    for size, part in zip(np.minimum(sizes, shape.items).tolist(), shared.tolist(), strict=True):
        taken = rng.permutation(before)[: round(part * size)]
        chosen = dict.fromkeys(taken.tolist())  # in the order of choosing, each item once
        while len(chosen) < size:
            chosen.setdefault(int(np.searchsorted(cumulative, rng.random(), side="right")))
        before = np.array(list(chosen), dtype=np.int64)
        patterns.append(before)
    return patterns


def _uses(
    shape: QuestShape, patterns: list[NDArray[np.int64]], rng: np.random.Generator
) -> Iterator[list[int]]:
    """The patterns as transactions use them, without end: drawn by weight, each with some items dropped."""
    weights = rng.exponential(size=shape.patterns)
    cumulative = np.cumsum(weights / weights.sum())
    cumulative[-1] = 1.0
    levels = rng.normal(shape.corruption, math.sqrt(shape.corruption_variance), shape.patterns)
    levels = np.clip(levels, 1e-9, 1 - 1e-9)
    while True:
        drawn = np.searchsorted(cumulative, rng.random(4096), side="right")
        # Dropping as long as a uniform number is below c drops a geometric number of items.
        dropped = np.floor(np.log1p(-rng.random(4096)) / np.log(levels[drawn])).astype(np.int64)
        for number, lost in zip(drawn.tolist(), dropped.tolist(), strict=True):
            pattern = patterns[number]
            if lost < len(pattern):
                yield rng.permutation(pattern)[lost:].tolist()
