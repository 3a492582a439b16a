"""Batches: many releases at once, against an insecure vectorised NumPy program that does the same job.

The insecure programs are what one would write for many rows without thinking of floating point: noise from a
NumPy generator for all rows at once, and selection along an axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.mechanisms.many_populations import noisy_top_k_each, sparse_vector_each
from freegap.mechanisms.sparse_vector import sparse_vector
from freegap.mechanisms.top_k import noisy_max
from freegap_evidence.bench.timing import Contestants, record, secure_and_insecure

GROUPS, ITEMS, K = 100_000, 50, 5
RELEASES, FEW = 1_000_000, 10
_THRESHOLD = 20

Doubles = NDArray[np.float64]


def insecure_top_k(
    answers: NDArray[np.int64], k: int, rows: int, generator: np.random.Generator
) -> tuple[NDArray[np.intp], Doubles]:
    """The k largest of each row and the gaps to the next. Fast, and not private."""
    noisy = answers + generator.exponential(float(k), (rows, answers.shape[-1]))
    top = np.argpartition(noisy, -k - 1, axis=1)[:, -k - 1 :]
    values = np.take_along_axis(noisy, top, axis=1)
    order = np.argsort(values, axis=1)[:, ::-1]
    values = np.take_along_axis(values, order, axis=1)
    return np.take_along_axis(top, order, axis=1)[:, :k], values[:, :-1] - values[:, 1:]


def insecure_max(
    answers: NDArray[np.int64], rows: int, generator: np.random.Generator
) -> tuple[NDArray[np.intp], Doubles]:
    """The largest of each row and its gap to the runner-up. Fast, and not private."""
    noisy = answers + generator.exponential(1.0, (rows, answers.shape[-1]))
    chosen = noisy.argmax(axis=1)
    two = np.partition(noisy, -2, axis=1)[:, -2:]
    return chosen, two[:, 1] - two[:, 0]


def insecure_runs(
    answers: NDArray[np.int64], rows: int, generator: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp], Doubles]:
    """The first question above the threshold in each row, and its gap. Fast, and not private."""
    bars = _THRESHOLD + generator.exponential(2.0, (rows, 1))
    gaps = answers + generator.exponential(2.0, (rows, answers.shape[-1])) - bars
    above = gaps >= 0
    chosen = above.argmax(axis=1)
    lines = np.flatnonzero(above.any(axis=1))
    return lines, chosen[lines], gaps[lines, chosen[lines]]


def run(
    *,
    groups: int = GROUPS,
    releases: int = RELEASES,
    rounds: int = 5,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Time all forms; the result is what `freegap bench batches --json` prints."""
    generator = np.random.default_rng(1)
    tall = generator.integers(0, 100, (groups, ITEMS))
    wide = generator.integers(0, 20, (releases, FEW))
    few = wide[0]
    told: dict[str, Any] = {"epsilon": 1, "monotonic": True}
    each: dict[str, Any] = {"populations_per_person": 1, **told}
    cases: list[tuple[str, int, int, int, Contestants]] = [
        (
            "top-k of each group",
            groups,
            ITEMS,
            K,
            {
                "secure": lambda: noisy_top_k_each(tall, K, **each),
                "insecure": lambda: insecure_top_k(tall, K, groups, generator),
            },
        ),
        (
            "noisy max, the same answers",
            releases,
            FEW,
            1,
            {
                "secure": lambda: noisy_max(few, size=releases, **told),
                "insecure": lambda: insecure_max(few, releases, generator),
            },
        ),
        (
            "noisy max of each row",
            releases,
            FEW,
            1,
            {
                "secure": lambda: noisy_top_k_each(wide, 1, **each),
                "insecure": lambda: insecure_max(wide, releases, generator),
            },
        ),
        (
            "sparse vector, the same answers",
            releases,
            FEW,
            1,
            {
                "secure": lambda: sparse_vector(few, _THRESHOLD, k=1, size=releases, **told),
                "insecure": lambda: insecure_runs(few, releases, generator),
            },
        ),
        (
            "sparse vector on each row",
            releases,
            FEW,
            1,
            {
                "secure": lambda: sparse_vector_each(wide, _THRESHOLD, k=1, **each),
                "insecure": lambda: insecure_runs(wide, releases, generator),
            },
        ),
    ]
    rows = []
    for form, number, n, k, contestants in cases:
        progress(form)
        row: dict[str, Any] = {"form": form, "releases": number, "n": n, "k": k}
        row |= secure_and_insecure(contestants, rounds=rounds)
        rows.append(row | {"per_second": 1000 * number / row["secure_ms"]})
    return record("batches", rows, epsilon=1, monotonic=True)
