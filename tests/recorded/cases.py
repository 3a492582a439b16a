"""The recorded runs: every public mechanism, on every kind of input, noise and path through the core."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import freegap as fg
from freegap import base2
from tests.recorded import formerly

__all__ = ["CASES", "Case"]

Case = Callable[[fg.SeededBits], Iterator[Any]]
"""Makes releases, one after the other, from one source."""

WITH_GAPS = ("exponential", "laplace")
NOISES = (*WITH_GAPS, "geometric")
ADJACENCY: tuple[dict[str, Any], ...] = ({"monotonic": False}, {"monotonic": True})
COUNTS: dict[str, Any] = {"monotonic": True}


def numbers(n: int, spread: int, salt: int = 0) -> NDArray[np.int64]:
    """n whole numbers below `spread`, the same on every machine."""
    return (np.arange(1, n + 1) * 2654435761 + salt * 40503) % 4294967291 % spread


def listed(salt: int) -> list[tuple[str, Any]]:
    """One list of answers in each form that answers may have."""
    whole = numbers(12, 40, salt)
    return [
        ("list", whole.tolist()),
        ("array", whole),
        ("doubles", whole / 8 + 0.3),
        ("dict", {f"item {i}": int(v) for i, v in enumerate(whole)}),
        ("series", pd.Series(whole, index=[f"row {i}" for i in range(12)])),
        ("rationals", [Fraction(int(v), 3) for v in whole]),
        ("huge", [10**30 + int(v) for v in whole]),
    ]


def grouped(salt: int) -> fg.Counts:
    return fg.Counts.over(range(10**9), {7 * i: int(v) for i, v in enumerate(numbers(30, 25, salt))})


# -- top-k ---------------------------------------------------------------------------------------------------


def top_k(noise: str, gap: bool, bits: fg.SeededBits) -> Iterator[Any]:
    options: dict[str, Any] = {"noise": noise, "gap": gap, "bits": bits}
    for salt, adjacency in product(range(6), ADJACENCY):
        for kind, answers in listed(salt):
            if kind == "rationals" and noise == "geometric":
                continue
            for k, epsilon in ((1, 1), (3, "0.5"), (11, 20)):
                yield fg.noisy_top_k(answers, k, epsilon=epsilon, **adjacency, **options)
        yield fg.noisy_max(listed(salt)[0][1], epsilon="2/3", **adjacency, **options)
        for k in (1, 5):
            yield fg.noisy_top_k(grouped(salt), k, epsilon="0.1", **adjacency, **options)
            yield fg.noisy_top_k(grouped(salt), k, epsilon=30, **adjacency, **options)
            few = fg.Counts(numbers(4, 5, salt), [2, 1, 3, 7], name=lambda g, m: f"{g}/{m}")
            yield fg.noisy_top_k(few, k, epsilon=k, **adjacency, **options)
            if noise != "geometric":
                fine = Fraction(1, 2**70)
                yield fg.noisy_top_k(few, k, epsilon=k, resolution=fine, **adjacency, **options)
    if noise != "geometric":
        answers = numbers(12, 40)
        yield fg.noisy_top_k(answers, 4, epsilon=1, resolution=Fraction(1, 2**70), **options)
        yield fg.noisy_top_k(answers, 4, epsilon=1, sensitivity="1/2", resolution="1/2", **options)
    if not gap:
        yield fg.noisy_top_k([5, 4, 9], 3, epsilon=1, **options)
    for spread in (3, 60, 10**6):  # screened
        for n, k in ((1023, 2), (1024, 2), (5000, 40)):
            yield fg.noisy_top_k(numbers(n, spread), k, epsilon=k, **COUNTS, **options)
    for k, epsilon in ((3, "0.001"), (40, 400)):
        many = fg.Counts(numbers(3000, 50), 1 + numbers(3000, 10**6, 5), name=lambda g, m: f"{g}/{m}")
        yield fg.noisy_top_k(many, k, epsilon=epsilon, **COUNTS, **options)


def hybrid_top_k(noise: str, bits: fg.SeededBits) -> Iterator[Any]:
    options: dict[str, Any] = {"noise": noise, "bits": bits}
    for salt, adjacency in product(range(8), ADJACENCY):
        for _, answers in listed(salt)[:-1]:
            yield fg.hybrid_top_k(answers, 25, k=4, epsilon=4, **adjacency, **options)
        yield fg.hybrid_top_k(grouped(salt), "20.5", k=5, epsilon=40, **adjacency, **options)
    yield fg.hybrid_top_k(numbers(4000, 99), 97, k=60, epsilon=60, **COUNTS, **options)


# -- thresholds ----------------------------------------------------------------------------------------------


def sparse_vector(noise: str, gap: bool, bits: fg.SeededBits) -> Iterator[Any]:
    options: dict[str, Any] = {"noise": noise, "gap": gap, "bits": bits}
    for salt, adjacency in product(range(8), ADJACENCY):
        for kind, answers in listed(salt):
            line = 10**30 + 20 if kind == "huge" else 20
            yield fg.sparse_vector(answers, line, k=3, epsilon=6, **adjacency, **options)
        # If monotonic, both noises have one scale.
        release = fg.sparse_vector(
            numbers(12, 40, salt), 20, k=2, epsilon=1, share="1/3", **adjacency, **options
        )
        yield release
        if gap:
            yield [formerly.lower_bounds(release), formerly.lower_bounds(release, 0.99)]
            yield fg.gap_variances(release)
    each = numbers(12, 40, 77).tolist()
    yield fg.sparse_vector(numbers(12, 40), each, k=3, epsilon=6, **options)
    yield fg.sparse_vector(numbers(5000, 400), 390, k=30, epsilon=90, **COUNTS, **options)
    yield fg.sparse_vector(numbers(5000, 400), 450, k=3, epsilon=2, **COUNTS, **options)
    if noise != "geometric":
        yield fg.sparse_vector(numbers(12, 40), 20, k=3, epsilon=6, resolution=Fraction(1, 2**70), **options)


def adaptive_sparse_vector(noise: str, bits: fg.SeededBits) -> Iterator[Any]:
    options: dict[str, Any] = {"noise": noise, "bits": bits}
    for salt, adjacency, branches in product(range(6), ADJACENCY, (0, 1, 3)):
        answers = numbers(40, 200, salt)
        for share in (None, "top", "1/4"):
            yield fg.adaptive_sparse_vector(
                answers, 120, k=4, epsilon=2, branches=branches, share=share, **adjacency, **options
            )
        yield fg.adaptive_sparse_vector(
            answers, 90, k=4, epsilon=8, branches=branches, margin="1.5", stop_after=3, **adjacency, **options
        )
    yield fg.adaptive_sparse_vector(numbers(3000, 900), 800, k=50, epsilon=90, **COUNTS, **options)


def hybrid_sparse_vector(noise: str, bits: fg.SeededBits) -> Iterator[Any]:
    options: dict[str, Any] = {"noise": noise, "bits": bits}
    for salt, adjacency in product(range(8), ADJACENCY):
        for _, answers in listed(salt)[:-1]:
            yield fg.hybrid_sparse_vector(answers, 25, k=4, epsilon=6, **adjacency, **options)
        release = fg.hybrid_sparse_vector(grouped(salt), "20.5", k=5, epsilon=40, share="1/5", **options)
        yield release
        yield [formerly.lower_bounds(release), fg.gap_variances(release)]
    yield fg.hybrid_sparse_vector(numbers(4000, 99), 90, k=60, epsilon=90, **COUNTS, **options)


def online(noise: str, bits: fg.SeededBits) -> Iterator[Any]:
    options: dict[str, Any] = {"noise": noise, "bits": bits}
    for salt, adjacency in product(range(6), ADJACENCY):
        yield from _asked(fg.SparseVector(20, k=3, epsilon=6, **adjacency, **options), salt)
        yield from _asked(fg.SparseVector(20, k=3, epsilon=6, gap=False, **adjacency, **options), salt)
        yield from _asked(
            fg.AdaptiveSparseVector(20, k=2, epsilon=6, branches=2, **adjacency, **options), salt
        )
        own = fg.AdaptiveSparseVector(k=2, epsilon=6, stop_after=1, **adjacency, **options)
        yield from (own.ask(int(v), 7 * i) for i, v in enumerate(numbers(3, 9, salt)) if not own.exhausted)
        yield own.spent


def _asked(run: Any, salt: int) -> Iterator[Any]:
    for answer in numbers(20, 40, salt).tolist():
        if run.exhausted:
            break
        yield run.ask(answer)
    yield [run.asked, run.spent, run.remaining, run.exhausted]


# -- the others ----------------------------------------------------------------------------------------------


def exponential_mechanism(gap: bool, bits: fg.SeededBits) -> Iterator[Any]:
    options: dict[str, Any] = {"gap": gap, "bits": bits}
    for salt, adjacency in product(range(12), ADJACENCY):
        for _, utilities in listed(salt):
            yield fg.exponential_mechanism(utilities, epsilon="0.7", **adjacency, **options)
            largest = lambda exponents: max(range(len(exponents)), key=exponents.__getitem__)  # noqa: E731
            yield fg.exponential_mechanism(utilities, epsilon=1, sampler=largest, **adjacency, **options)
    for spread in (5, 10**4):
        yield fg.exponential_mechanism(numbers(4000, spread), epsilon=1, **COUNTS, **options)


def measure(bits: fg.SeededBits) -> Iterator[Any]:
    for salt in range(20):
        for _, answers in listed(salt):
            yield fg.measure(answers, epsilon="1.5", bits=bits)
        yield fg.measure(numbers(12, 40, salt), epsilon=9, sensitivity=2, resolution="1/3", bits=bits)
    yield fg.measure(numbers(2000, 40), epsilon=9, resolution=Fraction(1, 2**60), bits=bits)


def select_and_measure(noise: str, bits: fg.SeededBits) -> Iterator[Any]:
    options: dict[str, Any] = {"epsilon": 6, "noise": noise, "bits": bits}
    for salt, adjacency in product(range(3), ADJACENCY):
        for kind, answers in listed(salt):
            if noise != "geometric":
                yield fg.select_and_measure(answers, 3, **adjacency, **options)
            line = 10**30 + 20 if kind == "huge" else 20
            yield fg.select_and_measure(answers, 3, threshold=line, split="1/3", **adjacency, **options)
        if noise != "geometric":
            yield fg.select_and_measure(grouped(salt), 3, **adjacency, **options)


def private_candidates(bits: fg.SeededBits) -> Iterator[Any]:
    data = {"a": 40, "b": 60, "c": 35}
    mechanisms = {e: partial(fg.noisy_max, data, epsilon=e) for e in ("0.1", "0.5")}
    candidates = {e: lambda bits, m=m: m(bits=bits) for e, m in mechanisms.items()}
    first_gap = lambda release: release.gaps[0]  # noqa: E731
    noisy = fg.NoisyScore(lambda release: data[release.labels[0]], epsilon="0.5", low=0, high=100)
    for score, hard_stop in product((first_gap, noisy), (None, "0.2")):
        options: dict[str, Any] = {"epsilon": "0.5", "stop": "0.2", "hard_stop": hard_stop, "bits": bits}
        for given in (candidates, list(candidates.values())):
            for _ in range(10):
                yield fg.select_private_candidate(given, score, 42, **options)
                yield fg.best_private_candidate(given, score, **options)


def in_base_2(bits: fg.SeededBits) -> Iterator[Any]:
    for salt, k in product(range(8), (1, 3)):
        eta = base2.share_epsilon(3, k=k)
        options: dict[str, Any] = {"k": k, "eta": eta, "low": 0, "high": 50, "width": 60, "bits": bits}
        for kind, answers in listed(salt):
            yield base2.sparse_vector(answers, 30, **options)
            yield base2.sparse_vector_with_gap(answers, 30, gaps=range(2, 50, 2), **options)
            if kind != "huge":
                yield base2.unclamped_sparse_vector(answers, 30, k=k, eta=eta, bits=bits)
        plain = base2.DiscreteSparseVector(30, **options)
        with_gap = base2.DiscreteSparseVectorWithGap(30, gaps=(1, 5, 10), **options)
        for run in (plain, with_gap):
            for answer in numbers(12, 40, salt).tolist():
                if not run.exhausted:
                    yield run.ask(answer)
            yield run.release()
    yield base2.sparse_vector(numbers(3000, 50), 49, **options)


def draws_in_base_2(bits: fg.SeededBits) -> Iterator[Any]:
    for eta, i in product((base2.Eta(1, 1, 1), base2.Eta(3, 2, 4)), range(60)):
        yield base2.clamped_laplace(eta, -8, 8, bits=bits)
        yield base2.lazy_threshold(eta, i % 5 - 2, reach=9, bits=bits)
        yield base2.conditional_lazy_threshold(eta, i % 5 + 1, i % 3, reach=9, bits=bits)


def tables(noise: str, bits: fg.SeededBits) -> Iterator[Any]:
    rows = pd.DataFrame({"item": numbers(900, 30) ** 2 // 60, "person": numbers(900, 400, 3)})
    columns: dict[str, Any] = {"item": "item", "person": "person", "noise": noise, "bits": bits}
    for domain, epsilon in product((range(20), range(10**6)), (1, 5)):
        for _ in range(5):
            yield fg.top_k(rows, k=3, epsilon=epsilon, domain=domain, **columns)
            yield fg.top_k(rows, k=2, epsilon=epsilon, domain=domain, measure=True, **columns)
            yield fg.above(rows, threshold=60, k=4, epsilon=epsilon, domain=domain, **columns)


def _every_case() -> Iterator[tuple[str, Case]]:
    for noise in NOISES:
        yield f"noisy_top_k without gap, {noise}", partial(top_k, noise, False)
        for gap in (True, False):
            yield f"sparse_vector, gap={gap}, {noise}", partial(sparse_vector, noise, gap)
        yield f"adaptive_sparse_vector, {noise}", partial(adaptive_sparse_vector, noise)
        yield f"SparseVector and AdaptiveSparseVector, {noise}", partial(online, noise)
        yield f"select_and_measure, {noise}", partial(select_and_measure, noise)
    for noise in WITH_GAPS:
        yield f"noisy_top_k with gap, {noise}", partial(top_k, noise, True)
        yield f"hybrid_top_k, {noise}", partial(hybrid_top_k, noise)
        yield f"hybrid_sparse_vector, {noise}", partial(hybrid_sparse_vector, noise)
        yield f"tables, {noise}", partial(tables, noise)
    for gap in (True, False):
        yield f"exponential_mechanism, gap={gap}", partial(exponential_mechanism, gap)
    yield "measure", measure
    yield "private candidates", private_candidates
    yield "base2", in_base_2
    yield "base2 draws", draws_in_base_2


CASES: dict[str, Case] = dict(_every_case())
