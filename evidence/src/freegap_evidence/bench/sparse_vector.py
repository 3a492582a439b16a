"""Sparse vector: questions per second, in batch and online, against an insecure NumPy loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.mechanisms.online import SparseVector
from freegap.mechanisms.sparse_vector import sparse_vector
from freegap_evidence.bench.timing import Contestants, record, secure_and_insecure

_ROUNDS = 5
_K = 10
_THRESHOLD = 10**6  # nothing comes near: all questions are answered


def insecure_batch(answers: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.intp]:
    """The textbook program in floating point, all questions at once. Not private."""
    bar = _THRESHOLD + generator.exponential(2.0)
    above: NDArray[np.intp] = np.flatnonzero(answers + generator.exponential(2.0 * _K, len(answers)) >= bar)
    return above[:_K]


def insecure_online(answers: list[int], generator: np.random.Generator) -> int:
    """The textbook program in floating point, one question at a time. Not private."""
    bar = _THRESHOLD + generator.exponential(2.0)
    above = 0
    for answer in answers:
        if answer + generator.exponential(2.0 * _K) >= bar:
            above += 1
    return above


def run(
    *,
    batch: int = 2_000_000,
    online: int = 50_000,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Time both forms; the result is what `freegap bench sparse-vector --json` prints."""
    rows = []
    generator = np.random.default_rng(1)
    answers = generator.integers(0, 1000, batch)
    listed: list[int] = answers[:online].tolist()
    for noise in ("laplace", "exponential", "geometric"):
        options: dict[str, Any] = {"k": _K, "epsilon": 1, "monotonic": True, "noise": noise}

        def at_once(options: dict[str, Any] = options) -> object:
            return sparse_vector(answers, _THRESHOLD, **options)

        def one_by_one(options: dict[str, Any] = options) -> object:
            asking = SparseVector(_THRESHOLD, **options)
            for answer in listed:
                asking.ask(answer)
            return asking

        def by_the_hundred(options: dict[str, Any] = options) -> object:
            asking = SparseVector(_THRESHOLD, **options)
            for begin in range(0, online, 100):
                asking.ask_many(listed[begin : begin + 100])
            return asking

        both: Contestants = {"secure": at_once, "insecure": lambda: insecure_batch(answers, generator)}
        single: Contestants = {"secure": one_by_one, "insecure": lambda: insecure_online(listed, generator)}
        many: Contestants = single | {"secure": by_the_hundred}
        forms = (("batch", batch, both), ("online", online, single), ("ask_many, 100", online, many))
        for form, questions, contestants in forms:
            progress(f"{form}, {noise}")
            row: dict[str, Any] = {"form": form, "noise": noise, "questions": questions}
            row |= secure_and_insecure(contestants, rounds=_ROUNDS)
            rows.append(row | {"per_second": 1000 * questions / row["secure_ms"]})
    return record("sparse-vector", rows)
