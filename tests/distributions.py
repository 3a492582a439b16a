"""Chi-square tests with documented constants, and exact cell probabilities worked out independently.

ALPHA is the false-alarm rate of every statistical test; seeds are fixed, so that a test that passes
once passes always. A test is worth having only with its power: each is also run on a distribution
that is slightly wrong, which it must reject at the same level.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from itertools import permutations
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.stats import chi2

ALPHA = 1e-9
SMALLEST_CELL = 20.0  # cells expected less often are pooled: the chi-square law needs some counts


def fit_p(observed: Mapping[Any, int], law: Mapping[Any, float]) -> float:
    """The p-value of Pearson's test that counts follow a law; what the law leaves out is one cell."""
    draws = sum(observed.values())
    expected = {cell: draws * p for cell, p in law.items() if draws * p >= SMALLEST_CELL}
    statistic = sum((observed.get(cell, 0) - e) ** 2 / e for cell, e in expected.items())
    rest = draws - sum(expected.values())
    seen = draws - sum(observed.get(cell, 0) for cell in expected)
    if rest < SMALLEST_CELL / 4:
        assert seen < 4 * SMALLEST_CELL + 4 * rest, "mass outside the law"
        return float(chi2.sf(statistic, len(expected) - 1))
    return float(chi2.sf(statistic + (seen - rest) ** 2 / rest, len(expected)))


def same_distribution_p(a: Counter[Any], b: Counter[Any]) -> float:
    """The p-value of Pearson's test that two samples come from one distribution."""
    cells: dict[Hashable, list[int]] = {}
    rest = [0, 0]
    for cell in a.keys() | b.keys():
        pair = [a[cell], b[cell]]
        if sum(pair) >= 2 * SMALLEST_CELL:
            cells[cell] = pair
        else:
            rest = [rest[0] + pair[0], rest[1] + pair[1]]
    table = np.array([*cells.values(), *([rest] if sum(rest) else [])], dtype=float)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    statistic = float(((table - expected) ** 2 / expected).sum())
    return float(chi2.sf(statistic, len(table) - 1))


class NoiseLaw:
    """Density and distribution function of one noise, from the textbook."""

    def __init__(self, kind: str, scale: float) -> None:
        self.kind, self.scale = kind, scale

    def density(self, x: float) -> float:
        t = x / self.scale
        if self.kind == "exponential":
            return math.exp(-t) / self.scale if t >= 0 else 0.0
        return math.exp(-abs(t)) / (2 * self.scale)

    def cdf(self, x: float) -> float:
        t = x / self.scale
        if self.kind == "exponential":
            return -math.expm1(-t) if t > 0 else 0.0
        return math.exp(t) / 2 if t < 0 else 1 - math.exp(-t) / 2


def integral(f: Callable[[float], float], points: list[float], low: float, high: float) -> float:
    """A one-dimensional integral, split where the integrand has kinks."""
    inner = sorted({p for p in points if low < p < high})
    total = 0.0
    for a, b in zip([low, *inner], [*inner, high], strict=True):
        total += quad(f, a, b, epsabs=1e-12, epsrel=1e-10, limit=200)[0]
    return total


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
