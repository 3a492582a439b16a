"""The exact law of the noisy top-k with gap on two or three answers, by one integral for each cell."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

from freegap.assurance.densities import NoiseLaw, integral

__all__ = ["top_k_cells"]


def top_k_cells(
    answers: list[float], k: int, noise: NoiseLaw, resolution: float, cells: int
) -> dict[Any, float]:
    """P(order of the first k, gaps in multiples of γ) of the ideal noisy top-k with gap, n ≤ 3.

    By one integral over the noisy answer t of the second place: given it, the others are independent.
    """
    law: dict[Any, float] = {}
    for first, second in permutations(range(len(answers)), 2):
        others = [i for i in range(len(answers)) if i not in (first, second)]
        for j in range(cells):
            window = (j * resolution, (j + 1) * resolution)
            if k == 1:
                rest = (0.0, math.inf)  # the others are anywhere below the second
                p = _second_at(answers, noise, (first, window), second, [(i, rest) for i in others])
                law[(first,), (j,)] = law.get(((first,), (j,)), 0.0) + p
                continue
            for j2 in range(cells):
                below = (j2 * resolution, (j2 + 1) * resolution)
                p = _second_at(answers, noise, (first, window), second, [(i, below) for i in others])
                law[(first, second), (j, j2)] = p
    return law


Window = tuple[int, tuple[float, float]]


def _second_at(
    answers: list[float], noise: NoiseLaw, above: Window, second: int, below: list[Window]
) -> float:
    """P(one item is above the second by an amount in its window, the others below it in theirs)."""
    first, (low, high) = above

    def integrand(t: float) -> float:
        over = noise.cdf(t + high - answers[first]) - noise.cdf(t + low - answers[first])
        under = math.prod(
            noise.cdf(t - a - answers[i]) - noise.cdf(t - b - answers[i]) for i, (a, b) in below
        )
        return noise.density(t - answers[second]) * over * under

    shifts = [0.0, -low, -high, *(s for _, window in below for s in window if math.isfinite(s))]
    kinks = [q + shift for q in answers for shift in shifts]
    reach = 45 * noise.scale + max(map(abs, answers))
    return integral(integrand, kinks, -reach, reach)
