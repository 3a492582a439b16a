"""Noisy top-k: ours in ε and in ρ, the paper's algorithm, and an insecure NumPy baseline, in one run.

Sizes as in Ding et al. 2023, table 4. The baseline is what one would write without thinking of floating
point: exponential noise from a NumPy generator, argpartition, and a sort of the k + 1 largest.

Of few items most of the time is no work on items. `least` shows how much no program on the same parts can do
without: the same steps with noise from a fresh key.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from freegap.bits import SystemBits
from freegap.mechanisms.reference import secure_top_k
from freegap.mechanisms.top_k import noisy_top_k
from freegap.values.counts import Counts
from freegap.values.measures import rho_within
from freegap_evidence.bench.timing import (
    Contestants,
    interleaved_ms,
    keep_freed_memory,
    record,
    secure_and_insecure,
)

SIZES = (942, 1_657, 41_270)
KS = (25, 50, 100, 200, 400, 800)
LARGE = 10**6
SMALL = (
    (5, 1),
    (10, 1),
    (100, 1),
    (100, 25),
    (1_000, 1),
    (1_000, 25),
    (1_000, 400),
    (10_000, 25),
    (10_000, 800),
)
"""(n, k), beside the sizes of the paper."""
RHO = rho_within(1, "1e-6")
"""What ε = 1 is with δ = 10⁻⁶."""

HUGE = 10**12

_COUNTERS = memoryview(b"".join(place.to_bytes(16, "big") for place in range(max(n for n, _ in SMALL))))
_ECB = modes.ECB()  # noqa: S305 (different blocks, as in `freegap.exact.digits`)
_WORD, _ONE = np.dtype("<u8"), np.uint64(1)

Progress = Callable[[str], None]


def heavy_tailed(n: int, *, largest: int = 600_000) -> NDArray[np.int64]:
    """Counts that fall like the click counts of a news portal: largest/rank, in a mixed order."""
    counts = (largest / np.arange(1, n + 1)).astype(np.int64)
    return np.random.default_rng(20260101).permutation(counts)


def insecure_top_k(
    answers: NDArray[np.int64], k: int, scale: float, generator: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The textbook program in floating point. Fast, and not private: see docs/limitations.md."""
    noisy = answers + generator.exponential(scale, len(answers))
    top = np.argpartition(noisy, len(noisy) - k - 1)[len(noisy) - k - 1 :]
    top = top[np.argsort(noisy[top])[::-1]]
    return top[:k], noisy[top[:-1]] - noisy[top[1:]]


def least(answers: NDArray[np.int64], k: int, scale: float) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The insecure program with digits of a cipher under a fresh key: what a release takes in any case.

    It checks no argument, proves no order, rounds no gap, keeps no account, returns no record. Not private.
    """
    cipher = Cipher(algorithms.AES(os.urandom(32)), _ECB).encryptor()
    digits = np.frombuffer(cipher.update(_COUNTERS[: 16 * len(answers)]), _WORD)[::2]
    u = (digits >> _ONE).view(np.int64) * 2.0**-63
    noisy = answers - np.log(u, u) * scale
    top = np.argpartition(noisy, len(noisy) - k - 1)[len(noisy) - k - 1 :]
    top = top[np.argsort(noisy[top])[::-1]]
    return top[:k], noisy[top[:-1]] - noisy[top[1:]]


def run(
    *,
    sizes: Iterable[int] = SIZES,
    ks: Iterable[int] = KS,
    rounds: int = 40,
    reference: bool = True,
    large: int = LARGE,
    huge: int = HUGE,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Time all contestants; the result is what `freegap bench top-k --json` prints."""
    rows = []
    for n in sizes:
        answers = heavy_tailed(n)
        for k in ks:
            progress(f"n = {n:,}, k = {k}")
            contestants = _contestants(answers, k)
            contestants["gumbel"] = lambda a=answers, k=k: noisy_top_k(a, k, rho=RHO, monotonic=True)  # type: ignore[misc]
            row = {"n": n, "k": k, **secure_and_insecure(contestants, rounds=rounds)}
            row["gumbel_ratio"] = row["gumbel_ms"] / row["secure_ms"]
            if reference:
                row["reference_ms"] = _reference_ms(answers, k)
            rows.append(row)
    small = []
    for n, k in SMALL:
        progress(f"n = {n:,}, k = {k}")
        answers = heavy_tailed(n)
        contestants = _contestants(answers, k)
        times = secure_and_insecure(contestants, rounds=10 * rounds)
        small.append({"n": n, "k": k, **times, **_least_ms(answers, k, contestants["insecure"], 10 * rounds)})
    return record("top-k", rows, epsilon=1, monotonic=True, small=small, large=_large(large, huge, progress))


def _contestants(answers: NDArray[np.int64], k: int) -> Contestants:
    generator = np.random.default_rng(1)
    return {
        "secure": lambda: noisy_top_k(answers, k, epsilon=1, monotonic=True),
        "insecure": lambda: insecure_top_k(answers, k, float(k), generator),
    }


def _least_ms(
    answers: NDArray[np.int64], k: int, insecure: Callable[[], object], rounds: int
) -> dict[str, float]:
    """By turns with the insecure program alone, so that nothing else is nearer at hand for it."""
    times = interleaved_ms(
        {"least": lambda: least(answers, k, float(k)), "insecure": insecure}, rounds=rounds
    )
    return {"least_ms": times["least"], "least_ratio": times["least"] / times["insecure"]}


def _reference_ms(answers: NDArray[np.int64], k: int) -> float:
    """Ding et al. 2023's algorithm 4 with γ* = 1/10 and M = 10, as in its section 6; one round is enough."""
    values = [10 * int(answer) for answer in answers]
    source = SystemBits()
    rate = Fraction(1, 10 * k)
    run: Contestants = {"reference": lambda: secure_top_k(values, k, rate=rate, source=source)}
    return interleaved_ms(run, rounds=1)["reference"]


def _large(n: int, domain: int, progress: Progress) -> list[dict[str, Any]]:
    """n explicit answers, and the same n items within a domain of which all others have zero."""
    rows = []
    keep_freed_memory()
    answers = heavy_tailed(n)
    places = np.random.default_rng(2).choice(domain // n, size=n) + np.arange(n) * (domain // n)
    counts = Counts.over(range(domain), items=places, values=answers)
    for k in (25, 100, 800):
        progress(f"n = {n:,} and a domain of {domain:,}, k = {k}")
        contestants = _contestants(answers, k)
        contestants["domain"] = lambda k=k: noisy_top_k(counts, k, epsilon=1, monotonic=True)  # type: ignore[misc]
        times = secure_and_insecure(contestants, rounds=15)
        ratio = times["domain_ms"] / times["secure_ms"]
        rows.append({"n": n, "k": k, **times, "domain": domain, "domain_ratio": ratio})
    return rows
