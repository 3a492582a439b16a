"""The theorem on free gaps under ρ (docs/mathematics/concentrated.md), against exact moments of the loss.

E[e^(βL)] = Σ over names s of P(s)·e^(−βΣδ)·E[X^(Kβ)], X = Σ w_j a_j, w uniform on the simplex. The last
expectation has a closed form (a divided difference) for K = 2, and is a smooth integral for K = 3.
"""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

ORDERS = (0.05, 0.5, 1.0, 3.0, 20.0)  # β = α − 1


def moment_bound(r: float, beta: float) -> float:
    """log M."""
    p = np.linspace(0, 1, 20_001)[:-1]
    logs = beta * np.log1p(p * math.expm1(r)) + np.log1p(p * math.expm1(-beta * r))
    return float(logs.max())


def simplex_moment(a: list[float], power: float) -> float:
    """E[(Σ w_j a_j)^power] for w uniform on the simplex."""
    if len(a) == 1:
        return math.pow(a[0], power)
    if len(a) == 2:
        low, high = sorted(a)
        if high - low < 1e-9:
            return math.pow(low, power)
        return (math.pow(high, power + 1) - math.pow(low, power + 1)) / ((power + 1) * (high - low))
    # The largest of two uniforms is at x with density 2x; the other splits what is below it evenly.
    nodes, weights = np.polynomial.legendre.leggauss(24)
    x, y = np.meshgrid((nodes + 1) / 2, (nodes + 1) / 2)
    area = np.outer(weights, weights) / 4
    mixed = a[0] * (1 - x) + a[1] * x * y + a[2] * x * (1 - y)
    return float((area * 2 * x * mixed**power).sum())


def log_moment(weights: np.ndarray, delta: np.ndarray, names: int, beta: float) -> float:
    """log E[e^(βL)] of the names and gaps of the first so many, exactly but for doubles."""
    total = 0.0
    for s in permutations(range(len(weights)), names):
        left, chance, ratios = np.ones(len(weights), dtype=bool), 1.0, []
        for item in s:
            rest = weights[left].sum()
            chance *= weights[item] / rest
            ratios.append(float((weights * np.exp(delta))[left].sum() / rest))
            left[item] = False
        total += chance * math.exp(-beta * delta[list(s)].sum()) * simplex_moment(ratios, names * beta)
    return math.log(total)


@pytest.mark.parametrize("names", [1, 2, 3])
def test_no_moment_is_above_the_bound(names: int) -> None:
    generator = np.random.default_rng(5)
    nearest = 0.0
    for _ in range(60 if names < 3 else 12):
        r = float(generator.choice([0.1, 0.7, 2.0]))
        n = int(generator.integers(names, names + 3))
        weights = np.exp(generator.normal(0, generator.choice([0.1, 1.0, 3.0]), n))
        delta = generator.choice([0.0, r], n) if generator.random() < 0.7 else generator.uniform(0, r, n)
        for beta in ORDERS:
            bound = names * moment_bound(r, beta)
            found = log_moment(weights, delta, names, beta)
            assert found <= bound * (1 + 1e-6) + 1e-12, (weights, delta, beta)
            nearest = max(nearest, found / bound)
    assert nearest > 0.8  # the cases come near the bound: a bound for fewer names would fail
    assert nearest <= 1 + 1e-6


@pytest.mark.parametrize(("r", "beta"), [(0.3, 1.0), (1.0, 3.0)])
def test_the_bound_is_attained_in_the_limit(r: float, beta: float) -> None:
    """Many equal items of which a share p moves: two names with their gap cost twice what one costs."""
    p = np.linspace(0, 1, 20_001)[:-1]
    logs = beta * np.log1p(p * math.expm1(r)) + np.log1p(p * math.expm1(-beta * r))
    share, n = float(p[logs.argmax()]), 60
    delta = np.where(np.arange(n) < round(share * n), r, 0.0)
    found = log_moment(np.ones(n), delta, 2, beta)
    assert found > 0.95 * 2 * moment_bound(r, beta)


@pytest.mark.parametrize("r", [0.01, 0.5, 2.0, 8.0])
@pytest.mark.parametrize("beta", ORDERS)
def test_the_price_in_rho_covers_every_order(r: float, beta: float) -> None:
    assert moment_bound(r, beta) <= beta * (beta + 1) * r * r / 8 * (1 + 1e-9)


def test_gaps_of_exponential_noise_have_no_such_price() -> None:
    """Two items, one name, exponential noise of scale 1/r: the average loss alone is above r²/8."""
    r = 0.5
    # P(first wins) moves from 1/2 to e^(−r)/2, so the other's from 1/2 to 1 − e^(−r)/2.
    p, q = np.array([0.5, 0.5]), np.array([math.exp(-r) / 2, 1 - math.exp(-r) / 2])
    kl = float((p * np.log(p / q)).sum())
    assert kl > r * r / 8
