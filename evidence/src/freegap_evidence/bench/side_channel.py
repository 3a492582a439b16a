"""How much the time of a release tells about the answers, bare and padded.

For each mechanism two inputs that an attacker would like to tell apart: neighbours, and a pair as unlike as
can be. Releases on both are timed in random order. The best an attacker can do with one time is to compare
it with a threshold; how much better than guessing that is, is the Kolmogorov–Smirnov distance of the two
samples: 0 for times that tell nothing, 1 for times that tell all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap import base2
from freegap.bits import SystemBits
from freegap.mechanisms.reference import secure_top_k
from freegap.mechanisms.sparse_vector import sparse_vector
from freegap.mechanisms.top_k import noisy_top_k
from freegap.padding import pad_to
from freegap.report.pictures import BLUE, ORANGE, legend, panels, save
from freegap_evidence.bench.timing import record

Times = NDArray[np.float64]
Progress = Callable[[str, int, int], None]

LEVEL = 1e-6
SHARES = np.linspace(0, 0.99, 100)


@dataclass(frozen=True)
class Contest:
    """A mechanism, and two inputs that time might tell apart."""

    mechanism: str
    pair: str
    first: Callable[[], Any]
    second: Callable[[], Any]

    @property
    def title(self) -> str:
        """In a few words."""
        return f"{self.mechanism}, {self.pair}"


def contests() -> Iterator[Contest]:
    """Four mechanisms, each on neighbours and on a pair as unlike as can be."""
    source = SystemBits()
    n = 4000
    flat = np.ones(n, dtype=np.int64)
    few = flat.copy()
    few[:10] = 0

    def fast(answers: Any) -> Callable[[], Any]:
        return lambda: noisy_top_k(answers, 10, epsilon=1, monotonic=True, bits=source)

    # NumPy's partition, which finds a first cut, is slow where a few stand below many equal answers.
    yield Contest("top-k, fast core", "neighbours", fast(flat), fast(few))
    yield Contest("top-k, fast core", "far apart or all equal", fast(np.arange(n) * 1000), fast(flat))

    # On so coarse a grid equal answers tie and must be refined, which answers far apart never are.
    equal = [0] * 20

    def paper(answers: list[int]) -> Callable[[], Any]:
        return lambda: secure_top_k(answers, 5, rate=Fraction(1), source=source)

    name = "top-k, paper's algorithm"
    yield Contest(name, "neighbours", paper(equal), paper([0, 1] * 10))
    yield Contest(name, "far apart or all equal", paper([50 * place for place in range(20)]), paper(equal))

    below = np.zeros(2000, dtype=np.int64)
    at_once, nearly = below.copy(), below.copy()
    at_once[0], nearly[0] = 10_000, 5_000

    def vector(answers: Any) -> Callable[[], Any]:
        return lambda: sparse_vector(answers, 5000, k=1, epsilon=1, monotonic=True, bits=source)

    # It ends with the answer found: the first one, more or less often, or none of all.
    yield Contest("sparse vector", "neighbours", vector(nearly), vector(nearly + 1))
    yield Contest("sparse vector", "found early or never", vector(below), vector(at_once))

    eta = base2.share_epsilon(4, k=1)
    rest = [0] * 199

    def binary(answers: list[int]) -> Callable[[], Any]:
        return lambda: base2.sparse_vector(answers, 30, k=1, eta=eta, low=0, high=64, width=40, bits=source)

    name = "sparse vector in base 2"
    yield Contest(name, "neighbours", binary([30, *rest]), binary([31, *rest]))
    yield Contest(name, "found early or never", binary([0, *rest]), binary([60, *rest]))


def draw(
    contest: Contest, trials: int, *, padded: Fraction | None = None, seed: int = 1
) -> tuple[Times, Times]:
    """The times of `trials` releases in all, on either input in random order, in seconds."""
    order = np.random.default_rng(seed).integers(0, 2, trials)
    releases = (contest.first, contest.second)
    times = np.empty(trials)
    clock = time.perf_counter_ns
    for place, side in enumerate(order.tolist()):
        release = releases[side]
        # What was released is given back between two measurements: how long that takes goes with its size,
        # which everybody sees anyway.
        released = None
        start = clock()
        released = release() if padded is None else pad_to(padded, release)
        times[place] = (clock() - start) / 1e9
    del released
    return times[order == 0], times[order == 1]


def advantage(first: Times, second: Times) -> float:
    """The Kolmogorov–Smirnov distance: what the best threshold gains over guessing.

    >>> advantage(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    1.0
    """
    every = np.concatenate([first, second])
    below = [np.searchsorted(np.sort(side), every, side="right") / len(side) for side in (first, second)]
    return float(np.abs(below[0] - below[1]).max())


def critical(first: int, second: int) -> float:
    """What chance alone exceeds with probability LEVEL at most (Kolmogorov's limit; Smirnov 1939)."""
    return math.sqrt(-math.log(LEVEL / 2) / 2 * (first + second) / (first * second))


def run(
    *, trials: int = 2_000, padded_trials: int = 2_000, seconds: Fraction | None = None, progress: Progress
) -> dict[str, Any]:
    """Every contest bare, and padded to several times what its mechanism usually takes (or to `seconds`)."""
    rows = []
    everything = list(contests())
    for done, contest in enumerate(everything):
        progress(contest.title, done, len(everything))
        bare = draw(contest, trials)
        usual = float(max(np.median(side) for side in bare))
        pad = seconds if seconds is not None else Fraction(math.ceil(4000 * usual), 1000)
        padded = draw(contest, padded_trials, padded=pad)
        rows.append(
            {
                "mechanism": contest.mechanism,
                "pair": contest.pair,
                "bare": _record(bare),
                "padded": _record(padded) | {"pad_to": float(pad), "late": _late(padded, float(pad))},
                "quantiles_ms": [[round(1000 * t, 4) for t in np.quantile(side, SHARES)] for side in bare],
            }
        )
    return record("timing", rows, level=LEVEL)


def _record(times: tuple[Times, Times]) -> dict[str, Any]:
    distance, limit = advantage(*times), critical(len(times[0]), len(times[1]))
    return {
        "trials": len(times[0]) + len(times[1]),
        "median_ms": [round(1000 * float(np.median(side)), 4) for side in times],
        "advantage": round(distance, 4),
        "critical": round(limit, 4),
        "told_apart": distance > limit,
    }


def _late(times: tuple[Times, Times], pad: float) -> int:
    """How many were not ready at the first multiple."""
    return int(sum(np.count_nonzero(side > 1.5 * pad) for side in times))


def chart(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the distribution functions of the times of both inputs, one panel a contest.

    rows: those of `run`, with the times below which each hundredth part lies.
    """
    figure, axes = panels(-(-len(rows) // 2), 2, size=(4.5, 1.9))
    for axis, row in zip(axes, rows, strict=False):
        sides = row["quantiles_ms"]
        for times, colour, name in zip(sides, (BLUE, ORANGE), ("one input", "the other"), strict=True):
            axis.step(times, [place / len(times) for place in range(len(times))], color=colour, label=name)
        axis.set_xlim(0.98 * min(times[0] for times in sides), 1.02 * max(times[80] for times in sides))
        axis.set_title(f"{row['mechanism']}: {row['pair']}", fontsize=9)
        axis.set_xlabel("time of a release, ms", fontsize=8)
        axis.set_ylabel("share done", fontsize=8)
        axis.tick_params(labelsize=7)
    legend(figure, axes[0], columns=2)
    save(figure, path)
