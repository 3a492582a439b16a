"""The exact law of the noisy top-k on two or three answers: with gaps by one integral for each cell, without
gaps and with geometric noise by enumeration."""

from __future__ import annotations

import math
from itertools import pairwise, permutations
from typing import Any

import numpy as np

from freegap_evidence.assurance.densities import Floats, NoiseDensity, integral


def top_k_cells(
    answers: list[float], k: int, noise: NoiseDensity, resolution: float, cells: int
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
    answers: list[float], noise: NoiseDensity, above: Window, second: int, below: list[Window]
) -> float:
    """P(one item is above the second by an amount in its window, the others below it in theirs)."""
    first, (low, high) = above

    def integrand(t: Floats) -> Floats:
        over = noise.cdf(t + high - answers[first]) - noise.cdf(t + low - answers[first])
        under = math.prod(
            noise.cdf(t - a - answers[i]) - noise.cdf(t - b - answers[i]) for i, (a, b) in below
        )
        return np.asarray(noise.density(t - answers[second]) * over * under)

    shifts = [0.0, -low, -high, *(s for _, window in below for s in window if math.isfinite(s))]
    kinks = [q + shift for q in answers for shift in shifts]
    reach = 45 * noise.scale + max(map(abs, answers))
    return integral(integrand, kinks, -reach, reach, 4 * noise.scale)


def coin_top_k_law(answers: list[int], k: int, rate: float, most: int) -> dict[tuple[int, ...], float]:
    """P(order of the first k) of Ding et al. 2023, lemma 4.1: geometric noise, equal ones in a uniformly
    random order.

    rate: P(Y ≥ m) = e^(−rate·m). most: noise beyond it is left out, so that the sum is a little below 1.
    """
    noise = np.indices((most + 1,) * len(answers))
    mass = np.prod((1 - math.exp(-rate)) * np.exp(-rate * noise), axis=0)
    noisy = [a + y for a, y in zip(answers, noise, strict=True)]
    fits = {
        order: np.logical_and.reduce([noisy[a] >= noisy[b] for a, b in pairwise(order)])
        for order in permutations(range(len(answers)))
    }
    chance = mass / np.sum(list(fits.values()), axis=0)  # of each order that fits
    law: dict[tuple[int, ...], float] = {}
    for order, fitting in fits.items():
        law[order[:k]] = law.get(order[:k], 0.0) + float(chance[fitting].sum())
    return law
