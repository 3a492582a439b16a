"""Histograms of tables: people, totals and means in public bins.

Each bin has noise of its own. So one call on a table of as many bins as there are copies, with people who are
in one bin, is as many releases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

import freegap as fg
from freegap.bits import BitSource
from freegap_evidence.assurance.row import ENOUGH, EPSILON, Cited, NoFastPath, Row, releasing
from freegap_evidence.assurance.rows.tables import CLIPPED, COUNTS, MOST, row_of_counts

_OWN_NOISE = NoFastPath("each bin has noise of its own, as those of the histogram that is compared")


def rows() -> Iterator[Row]:
    """Of people, of totals, and of means."""
    yield _counts()
    yield _totals()
    yield _means()


@lru_cache(maxsize=4)
def _people(answers: tuple[int, int], size: int) -> pa.Table:
    """In each of so many bins so many people who add the most and so many who add the least that one may."""
    costs = [9.0] * answers[0] + [-9.0] * answers[1]
    return pa.table(
        {
            "item": np.repeat(np.arange(size), len(costs)),
            "person": np.arange(size * len(costs)),
            "cost": np.tile(np.array(costs, dtype=float), size),
        }
    )


def _asking(answers: Sequence[float], size: int = 1, **options: Any) -> Any:
    above, below = (int(answer) for answer in answers)
    options |= {"item": "item", "person": "person", "domain": range(size), "items_per_person": 1}
    return fg.histogram(_people((above, below), size), **options)


def _geometric(epsilon: float) -> dict[int, float]:
    q = math.exp(-epsilon)
    return {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-30, 31)}


def _row(variant: str, theorem: str, proof: str, law_at: Any, options: Mapping[str, Any]) -> Row:
    def output(found: Any) -> Any:
        return (*getattr(found, "counts", ()), *found.multiples)

    def at_once(answers: Sequence[float], epsilon: Fraction, bits: BitSource, size: int) -> Any:
        found = _asking(answers, size, epsilon=epsilon, bits=bits, **options)
        parts = (*([found.counts] if hasattr(found, "counts") else []), found.multiples)
        return np.array(parts, dtype=np.int64).T

    return row_of_counts(
        function="histogram",
        noise="discrete laplace",
        variant=variant,
        theorem=theorem,
        proof=Cited(proof),
        release=releasing(_asking, output, **options),
        at_once=at_once,
        pairs=(((1, 1), (2, 1)), ((1, 1), (1, 2))),
        law=lambda: law_at(COUNTS, EPSILON),
        law_at=law_at,
        regimes=_OWN_NOISE,
        most_at_once=ENOUGH,
    )


def _counts() -> Row:
    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        return {(int(sum(answers)) + x,): p for x, p in _geometric(float(epsilon)).items()}

    return _row(
        "of a table",
        "as histogram, disjoint",
        "each person counts in as many bins as is asked, chosen by a digest; then the histogram proved here",
        law_at,
        {},
    )


def _totals() -> Row:
    """One who adds the most is worth two units, and the noise is as wide."""

    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        total = MOST * int(answers[0])
        return {(total + x,): p for x, p in _geometric(float(epsilon) / MOST).items()}

    return _row(
        "by total",
        "as histogram, disjoint, with the sensitivity that the bounds give; docs/sums.md",
        "what a person adds to a bin is clipped to [low, high]; then the histogram that is proved here",
        law_at,
        CLIPPED,
    )


def _means() -> Row:
    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        noise = _geometric(
            float(epsilon) / 2
        )  # half of ε for the people, and half for what they have above 1
        number, sum_ = int(sum(answers)), int(answers[0] - answers[1])
        return {(number + x, sum_ + y): p * r for (x, p), (y, r) in product(noise.items(), noise.items())}

    return _row(
        "means",
        "composition of two histograms; docs/sums.md",
        "two histograms of disjoint bins, which are proved here: of people, and of sums about the middle",
        law_at,
        {**CLIPPED, "mean": True},
    )
