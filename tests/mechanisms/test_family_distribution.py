"""Exact distributions of the free-gap family on tiny cases, against independent integrals.

α = 1e-9 throughout. Power: the same tests reject noise 2 % too wide, a swapped θ, and a wrong c.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from freegap_evidence.assurance.densities import NoiseDensity
from freegap_evidence.assurance.fit import ALPHA, fit_p
from freegap_evidence.assurance.gumbel_law import gumbel_cells
from freegap_evidence.assurance.rows.selection import weighted_choice
from freegap_evidence.assurance.threshold_laws import HybridSparseVector, ThresholdSetting, sparse_vector_law
from freegap_evidence.assurance.top_k_law import top_k_cells

import freegap as fg
from freegap.bits import SeededBits
from freegap.laws import ContinuousNoiseName
from tests.distributions import counted
from tests.families import simulate_hybrid_sparse_vector, simulate_sparse_vector

GRID = 1.0
MILLION = 1_000_000
SOME, MANY = 6_000, 200_000
TOO_NARROW = 0.8  # noise that so few releases must be told from
SHARE = Fraction(2, 5)
EPSILON = Fraction(3, 2)
ANSWERS, THRESHOLD = [1, -1], 0
CASES = {
    f"{noise} k={k} branches={halvings}": ThresholdSetting(
        noise, float(EPSILON), k, float(SHARE), halvings=halvings
    )
    for noise in ("laplace", "exponential", "geometric")
    for k, halvings in ((1, 0), (2, 0), (1, 1))
}


def cells(setting: ThresholdSetting) -> int:
    return 26 if setting.k == 1 else 16


@cache
def law_of(setting: ThresholdSetting) -> dict[Any, float]:
    return sparse_vector_law(setting, [float(a - THRESHOLD) for a in ANSWERS], GRID, cells(setting))


def released(setting: ThresholdSetting, runs: int) -> Counter[Any]:
    source = SeededBits(repr(setting))
    seen: Counter[Any] = Counter()
    for _ in range(runs):
        release = fg.adaptive_sparse_vector(
            ANSWERS,
            THRESHOLD,
            k=setting.k,
            epsilon=EPSILON,
            share=SHARE,
            branches=setting.halvings,
            noise=setting.noise,
            resolution=1,
            bits=source,
        )
        output: list[Any] = [None] * release.answered
        for i, multiple, branch in zip(
            release.indices, release.gap_multiples or (), release.branches, strict=True
        ):
            output[i] = (setting.halvings - branch, multiple)
        seen[tuple(output)] += 1
    return seen


@pytest.mark.parametrize("name", CASES)
def test_sparse_vector(name: str) -> None:
    assert fit_p(released(CASES[name], SOME), law_of(CASES[name])) > ALPHA


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_sparse_vector_on_many_runs(name: str) -> None:
    assert fit_p(released(CASES[name], MANY), law_of(CASES[name])) > ALPHA


@pytest.mark.parametrize("name", CASES)
def test_the_tables_are_right_and_the_test_has_power(name: str) -> None:
    """By NumPy: the right law is accepted; 2 % wider noise, θ swapped for 1−θ, and c = 1 are rejected."""
    setting = CASES[name]
    offsets = [float(a - THRESHOLD) for a in ANSWERS]
    assert 0.8 < sum(law_of(setting).values()) < 1 + 1e-6

    def p(simulated: ThresholdSetting, runs: int) -> float:
        outputs = simulate_sparse_vector(simulated, offsets, GRID, runs, seed=3)
        return fit_p(Counter(outputs), law_of(setting))

    assert p(setting, 300_000) > ALPHA
    assert p(replace(setting, wrong_scale=1.02), 600_000) < ALPHA
    assert p(replace(setting, wrong_scale=TOO_NARROW), SOME) < ALPHA
    assert p(replace(setting, share=1 - setting.share), 40_000) < ALPHA
    assert p(replace(setting, c=1.0), 40_000) < ALPHA


HYBRIDS = [(noise, k) for noise in ("exponential", "laplace") for k in (1, 2)]


@cache
def hybrid_top_k_law(noise: ContinuousNoiseName, k: int) -> dict[Any, float]:
    """Three items of which the last is the threshold: the law of top-k, cut at the threshold.

    Cells that the cut sums over a truncated second gap are left out: they are only bounded below.
    """
    scale = 2 * k / float(EPSILON)
    full = top_k_cells([1.0, -1.0, 0.0], k, NoiseDensity(noise, scale), GRID, 22 if k == 1 else 14)
    return {(order, gaps): p for (order, gaps), p in full.items() if 2 not in order[:-1]}


def hybrid_top_k_output(order: tuple[int, ...], gaps: tuple[int, ...]) -> Any:
    stop = order.index(2) + 1 if 2 in order else len(order)
    return order[:stop], gaps[:stop]


def hybrid_top_k_releases(noise: ContinuousNoiseName, k: int, runs: int) -> Counter[Any]:
    source = SeededBits(f"hybrid {noise} {k}")
    seen: Counter[Any] = Counter()
    for _ in range(runs):
        release = fg.hybrid_top_k(
            ANSWERS, THRESHOLD, k=k, epsilon=EPSILON, noise=noise, resolution=1, bits=source
        )
        order = release.indices + ((2,) if release.reached else ())
        assert release.spent == EPSILON * len(order) / k
        seen[order, release.gap_multiples] += 1
    return seen


@pytest.mark.parametrize(("noise", "k"), HYBRIDS)
def test_hybrid_top_k(noise: ContinuousNoiseName, k: int) -> None:
    assert fit_p(hybrid_top_k_releases(noise, k, SOME), hybrid_top_k_law(noise, k)) > ALPHA


@pytest.mark.long
@pytest.mark.parametrize(("noise", "k"), HYBRIDS)
def test_hybrid_top_k_on_many_runs(noise: ContinuousNoiseName, k: int) -> None:
    assert fit_p(hybrid_top_k_releases(noise, k, MANY), hybrid_top_k_law(noise, k)) > ALPHA


@pytest.mark.parametrize(("noise", "k"), HYBRIDS)
def test_the_test_of_hybrid_top_k_has_power(noise: ContinuousNoiseName, k: int) -> None:
    def p(factor: float, runs: int) -> float:
        generator = np.random.default_rng(k)
        scale = factor * 2 * k / float(EPSILON)
        noisy = np.array([1.0, -1.0, 0.0]) + getattr(generator, noise)(scale=scale, size=(runs, 3))
        order = np.argsort(-noisy, axis=1)[:, : k + 1]
        ranked = np.take_along_axis(noisy, order, axis=1)
        gaps = np.floor(ranked[:, :-1] - ranked[:, 1:]).astype(int)
        seen: Counter[Any] = Counter()
        for output, count in counted(order[:, :k], gaps).items():
            seen[hybrid_top_k_output(*output)] += count
        return fit_p(seen, hybrid_top_k_law(noise, k))

    assert p(1.0, 300_000) > ALPHA
    assert p(1.02, MILLION) < ALPHA
    assert p(0.5, 40_000) < ALPHA  # c forgotten
    assert p(TOO_NARROW, SOME) < ALPHA


COARSE = 3.0


@cache
def hybrid_sparse_vector_law(noise: ContinuousNoiseName, k: int) -> dict[Any, float]:
    setting = ThresholdSetting(noise, float(EPSILON), k, float(SHARE))
    return HybridSparseVector(setting, [float(a) for a in ANSWERS], COARSE).law(8)


def hybrid_sparse_vector_releases(noise: ContinuousNoiseName, k: int, runs: int) -> Counter[Any]:
    source = SeededBits(f"hybrid sparse vector {noise} {k}")
    seen: Counter[Any] = Counter()
    for _ in range(runs):
        release = fg.hybrid_sparse_vector(
            ANSWERS, THRESHOLD, k=k, epsilon=EPSILON, share=SHARE, noise=noise, resolution=1, bits=source
        )
        gaps = tuple(int(gap // int(COARSE)) for gap in release.selected_gaps)
        assert release.spent == SHARE * EPSILON + (1 - SHARE) * EPSILON * len(gaps) / k
        seen[release.indices, gaps] += 1
    return seen


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
@pytest.mark.parametrize("k", [1, pytest.param(2, marks=pytest.mark.long)])
def test_hybrid_sparse_vector(noise: ContinuousNoiseName, k: int) -> None:
    law = hybrid_sparse_vector_law(noise, k)
    assert fit_p(hybrid_sparse_vector_releases(noise, k, SOME), law) > ALPHA
    setting = ThresholdSetting(noise, float(EPSILON), k, float(SHARE))

    def p(simulated: ThresholdSetting, runs: int) -> float:
        outputs = simulate_hybrid_sparse_vector(simulated, [float(a) for a in ANSWERS], COARSE, runs, seed=k)
        return fit_p(Counter(outputs), law)

    assert p(setting, 300_000) > ALPHA
    assert p(replace(setting, wrong_scale=TOO_NARROW), SOME) < ALPHA
    wrong, runs = (1.02, MILLION) if k == 1 else (1.05, 200_000)  # the same power for less time
    assert p(replace(setting, wrong_scale=wrong), runs) < ALPHA
    assert p(replace(setting, share=1 - setting.share), 100_000) < ALPHA
    assert p(replace(setting, c=1.0), 100_000) < ALPHA


@pytest.mark.long
@pytest.mark.parametrize(("noise", "k"), HYBRIDS)
def test_hybrid_sparse_vector_on_many_runs(noise: ContinuousNoiseName, k: int) -> None:
    seen = hybrid_sparse_vector_releases(noise, k, MANY)
    assert fit_p(seen, hybrid_sparse_vector_law(noise, k)) > ALPHA


def exponential_releases(form: str, monotonic: bool, runs: int) -> Counter[Any]:
    source = SeededBits(f"{form} {monotonic}")

    seen: Counter[Any] = Counter()
    for _ in range(runs):
        choice = fg.exponential_mechanism(
            [2, 0, 1],
            epsilon=EPSILON,
            monotonic=monotonic,
            resolution=1,
            sampler=partial(weighted_choice, bits=source) if form == "black box" else None,
            bits=source,
        )
        assert choice.utility_gap is not None
        seen[(choice.index,), (int(choice.utility_gap),)] += 1
    return seen


@pytest.mark.parametrize("form", ["Gumbel", "black box"])
@pytest.mark.parametrize("monotonic", [False, True])
def test_exponential_mechanism(form: str, monotonic: bool) -> None:
    rate = float(EPSILON) / (1 if monotonic else 2)
    law = gumbel_cells([2, 0, 1], 1, 1 / rate, 30)
    assert fit_p(exponential_releases(form, monotonic, SOME), law) > ALPHA

    def p(factor: float, runs: int) -> float:
        noise = np.random.default_rng(1).gumbel(scale=factor / rate, size=(runs, 3))
        ranked = np.sort(np.array([2.0, 0.0, 1.0]) + noise, axis=1)
        chosen = np.argmax(np.array([2.0, 0.0, 1.0]) + noise, axis=1)
        gaps = np.floor(ranked[:, 2] - ranked[:, 1]).astype(int)
        return fit_p(counted(chosen[:, None], gaps[:, None]), law)

    assert p(1.0, 300_000) > ALPHA
    assert p(1.02, MILLION) < ALPHA
    assert p(2.0, 40_000) < ALPHA  # the wrong c
    assert p(TOO_NARROW, SOME) < ALPHA


@pytest.mark.long
@pytest.mark.parametrize("form", ["Gumbel", "black box"])
@pytest.mark.parametrize("monotonic", [False, True])
def test_exponential_mechanism_on_many_runs(form: str, monotonic: bool) -> None:
    rate = float(EPSILON) / (1 if monotonic else 2)
    law = gumbel_cells([2, 0, 1], 1, 1 / rate, 30)
    assert fit_p(exponential_releases(form, monotonic, MANY), law) > ALPHA


def test_measure() -> None:
    """A million answers in one call: the Laplace law, rounded to the nearest multiple of the grid."""
    n = MILLION
    scale = 2.0
    release = fg.measure([0] * n, epsilon=n // 2, resolution=1, bits=SeededBits("measure"))
    seen = Counter(release.multiples)

    def law(scale: float) -> dict[int, float]:
        noise = NoiseDensity("laplace", scale)
        return {j: noise.cdf(j + 0.5) - noise.cdf(j - 0.5) for j in range(-30, 31)}

    assert release.scale == 2
    assert fit_p(seen, law(scale)) > ALPHA
    assert fit_p(seen, law(scale * 1.02)) < ALPHA
    assert fit_p(seen, law(scale * 0.98)) < ALPHA
