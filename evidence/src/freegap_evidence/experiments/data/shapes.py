"""Histograms in the shape of data sets that cannot be handed on: Kosarak and BMS-POS, and two further ones.

Only counts enter the experiments, so that a histogram stands for a data set. All follow a power law whose
parameters come from published numbers alone:

    Kosarak    990,002 records, 41,270 items, 8,019,015 item occurrences, the most frequent item in 601,374
               records. The law c(r) = 601,374·r^−s with that sum has s ≈ 0.965. Where the head of the real
               histogram is at hand (a file of item,count), it is used, and the law continues from its end.
    BMS-POS    515,597 records, 1,657 items, 6.5 per record. The law c(r) = c₁·((1 + r₀)/(r + r₀))^s with
               r₀ = 5 and c₁ = 200,000 has the sum for s ≈ 1.30; its two largest answers average 1.8·10⁵ and
               its 24 largest 0.7·10⁵, inside the axis of Ding 2020, figure 5-8 (0.5 to 2.0·10⁵).
    Retail     88,162 baskets, 16,470 items, 908,576 item occurrences, the most frequent item in 50,675. The
               law c(r) = 50,675·r^−s with that sum.
    Ratings    as of the small MovieLens data set: 610 people, 9,724 films, 100,836 ratings, of the film with
               the most 329. The law c(r) = 329·((1 + r₀)/(r + r₀))^s with r₀ = 30 and that sum.

Which item has which count does not matter to any experiment: questions are asked in a random order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

KOSARAK = {"records": 990_002, "items": 41_270, "occurrences": 8_019_015, "largest": 601_374}
BMS_POS = {"records": 515_597, "items": 1_657, "occurrences": 3_351_381, "largest": 200_000}
RETAIL = {"records": 88_162, "items": 16_470, "occurrences": 908_576, "largest": 50_675}
RATINGS = {"records": 610, "items": 9_724, "occurrences": 100_836, "largest": 329}

Counts = NDArray[np.int64]


def kosarak(head: Counts | None = None) -> Counts:
    """The Kosarak-shaped histogram, largest count first.

    >>> counts = kosarak()
    >>> len(counts), int(counts[0]), bool(counts.min() >= 1)
    (41270, 601374, True)
    """
    first = np.array([KOSARAK["largest"]]) if head is None else np.sort(np.asarray(head))[::-1]
    ranks = np.arange(len(first) + 1, KOSARAK["items"] + 1)
    wanted = KOSARAK["occurrences"] - int(first.sum())

    def tail(exponent: float) -> NDArray[np.float64]:
        return np.asarray(np.maximum(first[-1] * (len(first) / ranks) ** exponent, 1.0))

    return np.concatenate([first, _with_sum(tail, wanted)])


def bms_pos() -> Counts:
    """The BMS-POS-shaped histogram, largest count first.

    >>> counts = bms_pos()
    >>> len(counts), int(counts[0])
    (1657, 200000)
    """
    return _power_law(BMS_POS, 5.0)


def retail() -> Counts:
    """The Retail-shaped histogram, largest count first."""
    return _power_law(RETAIL, 0.0)


def ratings() -> Counts:
    """A histogram of film ratings, largest count first.

    >>> counts = ratings()
    >>> len(counts), int(counts[0]), int((counts > 150).sum())
    (9724, 329, 49)
    """
    return _power_law(RATINGS, 30.0)


def _power_law(sizes: dict[str, int], offset: float) -> Counts:
    ranks = np.arange(1, sizes["items"] + 1)

    def law(exponent: float) -> NDArray[np.float64]:
        return np.asarray(sizes["largest"] * ((1 + offset) / (ranks + offset)) ** exponent)

    return _with_sum(law, sizes["occurrences"])


def _with_sum(law: Callable[[float], NDArray[np.float64]], wanted: int) -> Counts:
    """The law with the exponent for which its counts add up to what is wanted, but for rounding."""
    low, high = 0.0, 10.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if law(middle).sum() > wanted else (low, middle)
    return np.rint(law(high)).astype(np.int64)
