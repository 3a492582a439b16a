"""No release warns, whatever the answers and however large or small the noise: a warning of an overflow
would tell how large an answer is. Warnings are errors in these tests."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import freegap as fg

ANSWERS: dict[str, Callable[[int], Any]] = {
    "small": lambda n: np.arange(n) % 7,
    "near the ends of 64 bits": lambda n: np.where(np.arange(n) % 3 == 1, 2**62 - 5, -(2**62) + 9),
    "beyond 64 bits": lambda n: [(-1) ** i * 10**30 * (i % 5) for i in range(n)],
    "beyond doubles": lambda n: [(-1) ** i * 10**400 * (i % 3) for i in range(n)],
    "one far above": lambda n: [10**300, *range(n - 1)],
    "one far below": lambda n: [-(10**300), *range(n - 1)],
    "large doubles": lambda n: np.where(np.arange(n) % 2 == 0, 1e300, -1e300),
    "tiny doubles": lambda n: np.where(np.arange(n) % 2 == 0, 1e-300, -1e-300),
}
EPSILONS = [Fraction(10) ** power for power in (-90, -9, 0, 9, 90)]


def few_and_many(release: Callable[..., Any], *sizes: int, **options: Any) -> Callable[[Any, Any], None]:
    def call(make: Any, epsilon: Fraction) -> None:
        for size in sizes:
            release(make(size), epsilon=epsilon, bits=fg.SeededBits(size), **options)

    return call


def asked_one_by_one(answers: Any, **options: Any) -> None:
    with fg.SparseVector(0, k=2, **options) as asking:
        for answer in list(answers)[:90]:
            if asking.exhausted:
                break
            asking.ask(answer)


def asked_at_once(answers: Any, **options: Any) -> None:
    with fg.SparseVector(0, k=2, **options) as asking:
        asking.ask_many(answers)


def of_groups(answers: Any, **options: Any) -> None:
    listed = list(answers)
    fg.noisy_top_k(
        fg.Counts(listed, [1 + 10**12 * (i % 2) for i in range(len(listed))], name=lambda g, m: m),
        2,
        **options,
    )


def of_populations(answers: Any, **options: Any) -> None:
    listed = list(answers)
    populations = [listed[start : start + 9] for start in range(0, len(listed), 9)]
    fg.noisy_top_k_each(populations, 2, populations_per_person=1, **options)
    fg.sparse_vector_each(populations, 5, k=2, populations_per_person=1, **options)


CALLS: dict[str, Callable[[Any, Any], None]] = {
    "top k": few_and_many(fg.noisy_top_k, 5, 30, 1500, 9000, k=2),
    "top k, many of them": few_and_many(fg.noisy_top_k, 1500, k=40),
    "top k, Laplace": few_and_many(fg.noisy_top_k, 5, 1500, k=2, noise="laplace"),
    "top k, in order": few_and_many(fg.noisy_top_k, 5, 1500, k=2, noise="geometric", gap=False),
    "top k, often": few_and_many(fg.noisy_top_k, 5, 40, k=2, size=4),
    "top k, of groups": few_and_many(of_groups, 5, 1500),
    "of many populations": few_and_many(of_populations, 45, 900),
    "sparse vector": few_and_many(fg.sparse_vector, 5, 400, 3000, threshold=3, k=2),
    "sparse vector, Laplace": few_and_many(fg.sparse_vector, 5, 400, threshold=3, k=2, noise="laplace"),
    "sparse vector, geometric": few_and_many(fg.sparse_vector, 5, 400, threshold=3, k=2, noise="geometric"),
    "sparse vector, often": few_and_many(fg.sparse_vector, 5, 40, threshold=3, k=2, size=4),
    "adaptive": few_and_many(fg.adaptive_sparse_vector, 5, 400, threshold=3, k=2),
    "adaptive, often": few_and_many(fg.adaptive_sparse_vector, 5, 40, threshold=3, k=2, size=4),
    "hybrid top k": few_and_many(fg.hybrid_top_k, 5, 1500, threshold=3, k=2),
    "hybrid sparse vector": few_and_many(fg.hybrid_sparse_vector, 5, 1500, threshold=3, k=2),
    "one by one": few_and_many(asked_one_by_one, 90),
    "at once": few_and_many(asked_at_once, 5, 900),
    "measurements": few_and_many(fg.measure, 5, 900),
    "a histogram": few_and_many(fg.histogram, 5, 900, items_per_person=1),
    "a choice": few_and_many(fg.exponential_mechanism, 5, 1500),
    "estimates": few_and_many(fg.select_and_measure, 9, k=5),
}


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("name", CALLS)
def test_nothing_warns(name: str, kind: str) -> None:
    for epsilon in EPSILONS:
        CALLS[name](ANSWERS[kind], epsilon)


@pytest.mark.parametrize("kind", ["small", "near the ends of 64 bits", "beyond doubles", "one far above"])
def test_nothing_warns_under_rho(kind: str) -> None:
    for rho in (Fraction(10) ** power for power in (-150, -9, 0, 9, 150)):
        for n in (5, 1500):
            fg.noisy_top_k(ANSWERS[kind](n), 2, rho=rho, bits=fg.SeededBits(n))
            fg.measure(ANSWERS[kind](n), rho=rho, bits=fg.SeededBits(n))
