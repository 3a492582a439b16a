"""Exact laws of selection from private candidates (Ilvento 2020, algorithms 6 and 7), in closed form.

`draw` is the law of one draw, by (output, score). The derivation is in
`freegap.mechanisms.private_candidates`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

Draw = Mapping[tuple[Any, Any], Fraction]


def selected_law(
    draw: Draw, threshold: Any, stop: Fraction, steps: int | None
) -> dict[tuple[Any, Any] | None, Fraction]:
    """Algorithm 6: the first draw that reaches the threshold; None where none did in time.

    >>> fair = {("good", 1): Fraction(1, 2), ("bad", 0): Fraction(1, 2)}
    >>> selected_law(fair, 1, Fraction(1, 2), None)[None]
    Fraction(1, 3)
    """
    good = {drawn: p for drawn, p in draw.items() if drawn[1] >= threshold}
    reached = sum(good.values(), Fraction(0))
    again = (1 - stop) * (1 - reached)
    tried = (1 - (Fraction(0) if steps is None else again**steps)) / (1 - again)
    return {**{drawn: p * tried for drawn, p in good.items()}, None: 1 - reached * tried}


def best_law(draw: Draw, stop: Fraction, steps: int | None) -> dict[tuple[Any, Any], Fraction]:
    """Algorithm 7: the best of a geometric number of draws.

    >>> fair = {("good", 1): Fraction(1, 2), ("bad", 0): Fraction(1, 2)}
    >>> best_law(fair, Fraction(1, 2), None)["good", 1]
    Fraction(2, 3)
    """
    beta = 1 - stop
    law = {}
    for (output, score), p in draw.items():
        below = sum((q for (_, s), q in draw.items() if s < score), Fraction(0))
        upto = sum((q for (_, s), q in draw.items() if s <= score), Fraction(0))
        rest = Fraction(0)
        if steps is not None:
            tail = (upto**steps - below**steps) / (upto - below)
            rest = beta**steps * ((1 - beta * below) * (1 - upto) * tail / stop - below**steps)
        law[output, score] = p * stop / ((1 - beta * below) * (1 - beta * upto)) * (1 + rest)
    return law


def best_of_logarithmic(draw: Draw, stop: Fraction) -> dict[tuple[Any, Any], float]:
    """The best of N draws with P(N = j) proportional to (1 − γ)^j/j.

    >>> fair = {("good", 1): Fraction(1, 2), ("bad", 0): Fraction(1, 2)}
    >>> best_of_logarithmic(fair, Fraction(1, 2))["good", 1]  # 1 − ln(3/4)/ln(1/2)
    0.584962500721156...
    """
    law = {}
    for (output, score), p in draw.items():
        below = sum((q for (_, s), q in draw.items() if s < score), Fraction(0))
        upto = sum((q for (_, s), q in draw.items() if s <= score), Fraction(0))
        longer = math.log1p((1 - stop) * (upto - below) / (1 - (1 - stop) * upto))
        law[output, score] = float(p / (upto - below)) * longer / -math.log(stop)
    return law
