"""The recorded runs under ρ: each mechanism, on items and groups, small and screened."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pandas as pd

import freegap as fg
from tests.recorded.cases import ADJACENCY, COUNTS, Case, grouped, listed, numbers

__all__ = ["CASES_IN_RHO"]


def _with_measure(release: Any) -> Iterator[Any]:
    yield release
    yield [release.measure, release.asked.spent]


def top_k(bits: fg.SeededBits) -> Iterator[Any]:
    forms: list[dict[str, Any]] = [{}, {"last_gap": False}, {"gap": False}]
    for salt, adjacency, form in product(range(3), ADJACENCY, forms):
        shared: dict[str, Any] = {**adjacency, **form, "bits": bits}
        for _, answers in listed(salt):
            for k, rho in ((1, 1), (3, "0.01"), (11, 20)):
                yield from _with_measure(fg.noisy_top_k(answers, k, rho=rho, **shared))
        yield from _with_measure(fg.noisy_max(listed(salt)[0][1], rho="2/3", **shared))
        for k in (1, 5):
            yield from _with_measure(fg.noisy_top_k(grouped(salt), k, rho="0.001", **shared))
            few = fg.Counts(numbers(4, 5, salt), [2, 1, 3, 7], name=lambda g, m: f"{g}/{m}")
            yield from _with_measure(fg.noisy_top_k(few, k, rho=k, resolution="1/1000", **shared))
    for spread, (n, k) in product((3, 60, 10**6), ((1023, 2), (1024, 2), (5000, 40))):
        yield from _with_measure(fg.noisy_top_k(numbers(n, spread), k, rho=1, **COUNTS, bits=bits))


def rest(bits: fg.SeededBits) -> Iterator[Any]:
    for salt, adjacency in product(range(4), ADJACENCY):
        shared: dict[str, Any] = {**adjacency, "bits": bits}
        for _, answers in listed(salt)[:4]:
            yield from _with_measure(fg.hybrid_top_k(answers, 20, k=3, rho="1/2", **shared))
            yield from _with_measure(fg.sparse_vector(answers, 20, k=3, rho=8, **shared))
            yield from _with_measure(fg.adaptive_sparse_vector(answers, 20, k=3, rho=8, **shared))
            yield from _with_measure(fg.hybrid_sparse_vector(answers, 20, k=3, rho="1/3", **shared))
            for gap in (True, False):
                yield from _with_measure(fg.exponential_mechanism(answers, rho="1/8", gap=gap, **shared))
            yield from _with_measure(fg.measure(answers, rho=salt + 1, bits=bits))
            for threshold in (None, 15):
                yield from _with_measure(
                    fg.select_and_measure(answers, 3, rho=2, threshold=threshold, **shared)
                )


def tables(bits: fg.SeededBits) -> Iterator[Any]:
    rows = pd.DataFrame({"item": numbers(900, 30) ** 2 // 60, "person": numbers(900, 400, 3)})
    columns: dict[str, Any] = {"item": "item", "person": "person", "bits": bits}
    for domain, rho in product((range(20), range(10**6)), ("1/10", "2")):
        yield from _with_measure(fg.top_k(rows, k=3, rho=rho, domain=domain, **columns))
        yield from _with_measure(fg.top_k(rows, k=2, rho=rho, domain=domain, measure=True, **columns))
        yield from _with_measure(fg.above(rows, threshold=60, k=4, rho=rho, domain=domain, **columns))


CASES_IN_RHO: dict[str, Case] = {"noisy_top_k": top_k, "the others": rest, "tables": tables}
