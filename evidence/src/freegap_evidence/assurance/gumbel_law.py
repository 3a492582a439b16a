"""The exact law of the largest of answers with Gumbel noise and their gaps, by arrival times.

With λ_i = e^(q_i/b), the items arrive at independent exponential times of rates λ_i, the largest first, and a
gap of x between two places is a ratio e^(x/b) of their times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np


def gumbel_cells(
    answers: Sequence[float], k: int, scale: float, cells: int, *, width: float = 1.0, last_gap: bool = True
) -> dict[Any, float]:
    """P(the first k in order, cells of their gaps), k ≤ 2; the last cell is open, so that the sum is 1."""
    weights = [math.exp((answer - max(answers)) / scale) for answer in answers]
    ratios = np.exp(np.arange(cells) * width / scale)
    return _first(weights, ratios) if k == 1 else _first_two(weights, ratios, last_gap)


def _first(weights: list[float], ratios: Any) -> dict[Any, float]:
    """P(s, gap ≥ x) = λ_s/(λ_s + R·e^(x/b)), R the other rates: s arrives that much earlier than the rest."""
    law: dict[Any, float] = {}
    for s, weight in enumerate(weights):
        tail = np.append(weight / (weight + (sum(weights) - weight) * ratios), 0.0)
        law |= {((s,), (j,)): float(p) for j, p in enumerate(tail[:-1] - tail[1:])}
    return law


def _first_two(weights: list[float], ratios: Any, last_gap: bool) -> dict[Any, float]:
    """P(s, t, gaps ≥ x, y) = λ_t·(1/(λ_t + Rv) − 1/(λ_t + Rv + λ_s/u)), u = e^(x/b), v = e^(y/b).

    t arrives at a time τ, s before τ/u, and nobody of the rest before vτ: an integral over τ.
    """
    law: dict[Any, float] = {}
    for s, t in permutations(range(len(weights)), 2):
        rest = sum(weights) - weights[s] - weights[t]
        base = weights[t] + rest * (ratios[None, :] if last_gap else np.ones((1, 1)))
        tail = np.pad(weights[t] * (1 / base - 1 / (base + weights[s] / ratios[:, None])), (0, 1))
        mass = tail[:-1, :-1] - tail[1:, :-1] - tail[:-1, 1:] + tail[1:, 1:]
        for (i, j), p in np.ndenumerate(mass):
            law[(s, t), (i, j) if last_gap else (i,)] = float(p)
    return law
