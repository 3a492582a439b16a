"""How fast an audit is: the eleven mechanisms of Ding 2020, table 4-3, and the overhead on a scalar
mechanism."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from freegap.auditor import AuditReport, audit
from freegap_evidence.catalogue import CATALOGUE

SECONDS_LIMIT = 2.0
OVERHEAD_LIMIT = 0.3
SEARCH_SAMPLES, SAMPLES = 100_000, 500_000

TABLE_4_3 = {
    # entry of the catalogue: seconds in the paper, on 32 logical cores
    "noisy_max_laplace": 4.32,
    "noisy_max_value_laplace": 9.49,
    "noisy_max_exponential": 4.25,
    "noisy_max_value_exponential": 8.70,
    "histogram": 10.39,
    "histogram_inverted_scale": 11.28,
    "sparse_vector": 1.99,
    "sparse_vector_no_query_noise": 1.62,
    "sparse_vector_no_bound": 4.56,
    "sparse_vector_noise_ignores_bound": 2.56,
    "sparse_vector_releases_answers": 22.97,
}


def timed(run: Callable[[], AuditReport]) -> tuple[AuditReport, float, float]:
    """An audit, its seconds and its processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    report = run()
    return report, time.perf_counter() - wall, time.process_time() - processor


def measure(epsilon: float = 0.7, *, seed: int = 1) -> Iterator[dict[str, Any]]:
    """Audit each mechanism of table 4-3, vectorised, at the paper's numbers of samples."""
    audit(CATALOGUE["histogram"].batch, epsilon=1, samples=1000, search_samples=5000, seed=0)  # imports
    for name, paper in TABLE_4_3.items():
        entry = CATALOGUE[name]
        report, wall, processor = timed(
            lambda entry=entry: audit(  # type: ignore[misc]
                entry.batch,
                scalar=entry.mechanism,
                epsilon=epsilon,
                neighbours=entry.neighbours,
                samples=SAMPLES,
                search_samples=SEARCH_SAMPLES,
                seed=seed,
            )
        )
        yield {
            "name": name,
            "epsilon": epsilon,
            "seconds": round(wall, 3),
            "processor_seconds": round(processor, 3),
            "paper_seconds": paper,
            "runs": report.runs,
            "violated": report.violated,
            "epsilon_lower_bound": report.epsilon_lower_bound,
            "within_limit": wall <= SECONDS_LIMIT,
        }


def noisy_max(answers: list[float], epsilon: float, rng: np.random.Generator) -> int:
    """Noisy max with Laplace noise, on a generator: a mechanism that is run one by one."""
    noisy = [answer + rng.laplace(scale=2 / epsilon) for answer in answers]
    return max(range(len(noisy)), key=lambda i: noisy[i])


def overhead(*, samples: int = 100_000) -> dict[str, Any]:
    """Audit a mechanism that is run one by one in one process, and merely call it that many times."""
    report, wall, processor = timed(
        lambda: audit(
            noisy_max,
            epsilon=0.7,
            samples=samples,
            search_samples=samples // 5,
            lengths=[5],
            seed=1,
            jobs=1,
        )
    )
    rng = np.random.default_rng(1)
    answers = [1.0, 1.0, 1.0, 1.0, 1.0]
    calls = 50_000
    started = time.process_time()
    for _ in range(calls):
        noisy_max(list(answers), epsilon=0.7, rng=rng)
    merely = (time.process_time() - started) / calls * report.runs
    return {
        "name": noisy_max.__name__,
        "runs": report.runs,
        "seconds": round(wall, 3),
        "processor_seconds": round(processor, 3),
        "merely_calling_seconds": round(merely, 3),
        "overhead": round(processor / merely - 1, 4),
        "within_limit": processor / merely - 1 <= OVERHEAD_LIMIT,
    }


def summary(rows: list[dict[str, Any]], scalar: dict[str, Any]) -> dict[str, Any]:
    """All of it, as plain values."""
    return {
        "search_samples": SEARCH_SAMPLES,
        "samples": SAMPLES,
        "seconds_limit": SECONDS_LIMIT,
        "rows": rows,
        "total_seconds": round(sum(row["seconds"] for row in rows), 3),
        "total_processor_seconds": round(sum(row["processor_seconds"] for row in rows), 3),
        "scalar_overhead": scalar,
    }
