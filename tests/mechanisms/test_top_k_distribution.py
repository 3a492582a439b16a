"""The exact law of (indices, rounded gaps), against integrals worked out independently.

Both implementations are drawn from: the fast core for exponential and Laplace noise, and the paper's
algorithm 4 for exponential noise. Answers are close to each other compared with the noise, and the grid
is coarse, so that ties of the rounded answers and gaps of zero are frequent. The same test must
reject noise whose scale is 2 % off; that is shown on a million draws made by NumPy.

The default run has some thousand draws per case, which must reject a scale that is 10 or 15 % off;
`make test-long` has one million.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from freegap_evidence.assurance.densities import NoiseDensity
from freegap_evidence.assurance.fit import ALPHA, fit_p
from freegap_evidence.assurance.top_k_law import top_k_cells

from freegap.bits import SeededBits
from freegap.exact.digits import KeyedDigits
from freegap.exact.ranking import NoisyRanking
from freegap.mechanisms.reference import Counters, secure_top_k
from tests.distributions import counted
from tests.laws import EXACT_LAWS as LAWS

MILLION = 1_000_000
FAST, REFERENCE = 20_000, 8_000  # draws of the default run
GRID = Fraction(1, 2)
SCALE = Fraction(3, 2)
CELLS = 24
CASES = {(2, 1): [2, 1], (3, 1): [0, 1, 1], (3, 2): [1, 0, 2]}  # (n, k): answers in units of the grid


@cache
def law(n: int, k: int, noise: str, scale: float = float(SCALE)) -> dict[Any, float]:
    answers = [float(v * GRID) for v in CASES[n, k]]
    # Two-dimensional tables need fewer cells a side: the rest is one pooled cell.
    return top_k_cells(answers, k, NoiseDensity(noise, scale), float(GRID), CELLS if k == 1 else 10)


def fast(n: int, k: int, noise: str, draws: int) -> Counter[Any]:
    values = np.array(CASES[n, k], dtype=np.int64)
    source = SeededBits(f"fast {n} {k} {noise}")
    seen: Counter[Any] = Counter()
    for _ in range(draws):
        found = NoisyRanking(
            values,
            grain=GRID,
            scale=SCALE,
            resolution=GRID,
            law=LAWS[noise],
            digits=KeyedDigits(source, n),
        ).largest(k + 1)
        seen[tuple(found.items[:k]), tuple(found.gaps)] += 1
    return seen


def reference(n: int, k: int, draws: int, **options: Any) -> Counter[Any]:
    source = SeededBits(f"reference {n} {k} {options}")
    seen: Counter[Any] = Counter()
    for _ in range(draws):
        items, gaps = secure_top_k(CASES[n, k], k, rate=GRID / SCALE, source=source, **options)
        seen[tuple(items), tuple(gaps)] += 1
    return seen


def by_numpy(n: int, k: int, noise: str, scale: float, draws: int = MILLION) -> Counter[Any]:
    generator = np.random.default_rng(n * 10 + k)
    answers = np.array(CASES[n, k]) * float(GRID)
    noisy = answers + getattr(generator, noise)(scale=scale, size=(draws, n))
    order = np.argsort(-noisy, axis=1)[:, : k + 1]
    ranked = np.take_along_axis(noisy, order, axis=1)
    gaps = np.floor((ranked[:, :-1] - ranked[:, 1:]) / float(GRID)).astype(int)
    return counted(order[:, :k], gaps)


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
@pytest.mark.parametrize(("n", "k"), CASES)
def test_the_tables_are_right_and_the_test_has_power(n: int, k: int, noise: str) -> None:
    """A million draws in floating point fit the integrals; with the scale 2 % off they do not. Nor do as many
    draws as the default run has, with the scale 10 % off (15 % for the reference)."""
    assert 0.9 < sum(law(n, k, noise).values()) < 1 + 1e-9
    assert fit_p(by_numpy(n, k, noise, float(SCALE)), law(n, k, noise)) > ALPHA
    assert fit_p(by_numpy(n, k, noise, float(SCALE) * 1.02), law(n, k, noise)) < ALPHA
    assert fit_p(by_numpy(n, k, noise, float(SCALE) * 0.98), law(n, k, noise)) < ALPHA
    for off, draws in ((0.1, FAST), (0.15, REFERENCE)):
        for scale in (float(SCALE) * (1 - off), float(SCALE) * (1 + off)):
            assert fit_p(by_numpy(n, k, noise, scale, draws), law(n, k, noise)) < ALPHA


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
@pytest.mark.parametrize(("n", "k"), CASES)
def test_fast_core(n: int, k: int, noise: str) -> None:
    assert fit_p(fast(n, k, noise, FAST), law(n, k, noise)) > ALPHA


@pytest.mark.parametrize(("n", "k"), CASES)
@pytest.mark.parametrize("options", [{}, {"prune": False}, {"refine_by": 2}])
def test_reference(n: int, k: int, options: dict[str, Any]) -> None:
    assert fit_p(reference(n, k, REFERENCE, **options), law(n, k, "exponential")) > ALPHA


@pytest.mark.long
@pytest.mark.parametrize("noise", ["exponential", "laplace"])
@pytest.mark.parametrize(("n", "k"), CASES)
def test_fast_core_on_a_million_draws(n: int, k: int, noise: str) -> None:
    assert fit_p(fast(n, k, noise, MILLION), law(n, k, noise)) > ALPHA


@pytest.mark.long
@pytest.mark.parametrize(("n", "k"), CASES)
def test_reference_on_a_million_draws(n: int, k: int) -> None:
    assert fit_p(reference(n, k, MILLION), law(n, k, "exponential")) > ALPHA


def test_the_counters_of_the_reference() -> None:
    """Pruning refines k + 2 or a few more queries a round, as in Ding et al. 2023, table 6; without it,
    all."""
    answers = [10 * v for v in range(200)]
    pruned, unpruned = Counters(), Counters()
    for prune, counters in ((True, pruned), (False, unpruned)):
        for seed in range(5):
            secure_top_k(
                answers, 60, rate=Fraction(1, 30), source=SeededBits(seed), prune=prune, counters=counters
            )
    for counters in (pruned, unpruned):
        assert counters.refinements == len(counters.survivors) > 0
        assert counters.refinement_samples == sum(counters.survivors)
        assert counters.samples == 5 * 200 + counters.refinement_samples
    assert set(unpruned.survivors) == {200}
    assert all(61 <= survivors <= 70 for survivors in pruned.survivors)
