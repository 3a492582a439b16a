"""Base-2 sparse vectors: threshold questions per second, all at once and one at a time.

In most cases the answers lie so far below the threshold that a run gets through all of its questions; in
one there are hundreds of ⊤. The time includes settling the precision, the table and reading the answers.
The bits are seeded, so that every round of a case does the same work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from freegap import base2
from freegap.bits import SeededBits
from freegap.values.above import AboveThreshold
from freegap_evidence.bench.timing import interleaved_ms, record


class BenchCase(NamedTuple):
    """What is varied: how many ⊤ there may be, and what drives the precision."""

    k: int
    width: int
    resolution: Fraction
    threshold: int


QUESTIONS = 10**6
ONLINE_QUESTIONS = 20_000
GAPS = range(25, 500, 25)
TARGET = 10**5
# (k, width, resolution, threshold): the answers lie below 200, the noises have scales of about 2 and 4k
CASES = (
    BenchCase(1, 400, Fraction(1), 700),
    BenchCase(25, 5_000, Fraction(1), 6_000),
    BenchCase(200, 3_000, Fraction(1), 4_000),
    BenchCase(10, 1_000, Fraction(1, 16), 1_500),
)

Progress = Callable[[str], None]


def run(
    *,
    questions: int = QUESTIONS,
    cases: Iterable[BenchCase] = CASES,
    rounds: int = 5,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Time both mechanisms; the result is what `freegap bench base2 --json` prints."""
    answers = np.random.default_rng(20260101).integers(0, 200, questions)
    rows = []
    for case in cases:
        progress(f"k = {case.k}, width = {case.width:,}, resolution = {case.resolution}")
        rows.append(_row(answers, case, rounds))
    return record("base2", rows, epsilon=1, questions=questions, target_per_second=TARGET)


def _row(answers: NDArray[np.int64], case: BenchCase, rounds: int) -> dict[str, Any]:
    setting: dict[str, Any] = {
        "k": case.k,
        "eta": base2.share_epsilon(1, k=case.k, resolution=case.resolution),
        "low": 0,
        "high": 1000,
        "width": case.width,
        "resolution": case.resolution,
    }
    few = answers[:ONLINE_QUESTIONS].tolist()

    def plain() -> AboveThreshold:
        return base2.sparse_vector(answers, case.threshold, bits=SeededBits(1), **setting)

    def gap() -> AboveThreshold:
        return base2.sparse_vector_with_gap(answers, case.threshold, gaps=GAPS, bits=SeededBits(1), **setting)

    def online() -> AboveThreshold:
        run = base2.DiscreteSparseVector(case.threshold, bits=SeededBits(1), **setting)
        for answer in few:
            if run.exhausted:
                break
            run.ask(answer)
        return run.release()

    times = interleaved_ms({"plain": plain, "gap": gap, "online": online}, rounds=rounds)
    return {
        "k": case.k,
        "width": case.width,
        "resolution": str(case.resolution),
        "precision_bits": plain().parameters["precision_bits"],
        "answered": plain().answered,
        "found": len(plain().indices),
        "batch_per_second": round(1000 * plain().answered / times["plain"]),
        "gap_per_second": round(1000 * gap().answered / times["gap"]),
        "online_per_second": round(1000 * online().answered / times["online"]),
    }
