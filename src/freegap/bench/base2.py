"""Base-2 sparse vectors: threshold questions a second, all at once and one at a time.

All answers are far enough below the threshold that a run gets through nearly all of its questions; the
time includes settling the precision, the table and reading the answers.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap import base2
from freegap.bench.timing import interleaved_ms

__all__ = ["run"]

QUESTIONS = 10**6
ONLINE_QUESTIONS = 2_000
TARGET = 10**5
# (k, width, granularity): from a short table to a precision of hundreds of thousands of bits
CASES = ((1, 400, Fraction(1)), (100, 2_000, Fraction(1)), (10, 1_000, Fraction(1, 16)))

Progress = Callable[[str], None]


def run(
    *,
    questions: int = QUESTIONS,
    cases: Iterable[tuple[int, int, Fraction]] = CASES,
    rounds: int = 5,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Time both mechanisms; the result is what `freegap bench base2 --json` prints."""
    answers = np.random.default_rng(20260101).integers(0, 200, questions)
    rows = []
    for k, width, granularity in cases:
        progress(f"k = {k}, width = {width:,}, granularity = {granularity}")
        rows.append(_row(answers, k, width, granularity, rounds))
    return {
        "benchmark": "base2",
        "epsilon": 1,
        "questions": questions,
        "target_per_second": TARGET,
        "rows": rows,
        "machine": {"python": platform.python_version(), "numpy": np.__version__},
    }


def _row(
    answers: NDArray[np.int64], k: int, width: int, granularity: Fraction, rounds: int
) -> dict[str, Any]:
    # Answers lie below 200 and the noises have scales of about 2 and 4k: 20 and 50 scales away.
    threshold = 200 + 20 * 2 + 50 * 4 * k
    setting: dict[str, Any] = {
        "k": k,
        "eta": base2.share_epsilon(1, k=k, granularity=granularity),
        "low": 0,
        "high": 1000,
        "width": width,
        "granularity": granularity,
    }
    released = base2.sparse_vector(answers, threshold, **setting)
    online = base2.SparseVector(threshold, **setting)
    few = answers[:ONLINE_QUESTIONS].tolist()
    gaps = range(1, 100)
    times = interleaved_ms(
        {
            "plain": lambda: base2.sparse_vector(answers, threshold, **setting),
            "gap": lambda: base2.sparse_vector_with_gap(answers, threshold, gaps=gaps, **setting),
            "online": lambda: [online.ask(answer) for answer in few],
        },
        rounds=rounds,
    )
    return {
        "k": k,
        "width": width,
        "granularity": str(granularity),
        "precision_bits": released.parameters["precision_bits"],
        "asked": released.asked,
        "batch_per_second": round(1000 * released.asked / times["plain"]),
        "gap_per_second": round(1000 * released.asked / times["gap"]),
        "online_per_second": round(1000 * len(few) / times["online"]),
    }
