"""Top-k, the hybrids and the exponential mechanism, many runs at once.

Twins of the programs in `freegap.mechanisms.top_k` and `freegap.mechanisms.hybrids`, and of algorithm 22.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap_evidence.experiments.simulate.above import ThresholdNoise
from freegap_evidence.experiments.simulate.noise import Floats

Places = NDArray[np.intp]


@dataclass(frozen=True)
class RankedRuns:
    """What each run released, as arrays of runs × k.

    items: by rank; only those with `released` were released.
    gaps: to the next item (top-k, hybrid top-k) or to the noisy threshold (hybrid sparse vector).
    reached: hybrid top-k: whether the threshold was reached, and charged.
    """

    items: Places
    gaps: Floats
    released: NDArray[np.bool_]
    reached: NDArray[np.bool_] | None = None


def largest(noisy: Floats, count: int) -> tuple[Places, Floats]:
    """The places and values of the largest of each row, in decreasing order."""
    n = noisy.shape[1]
    some = np.argpartition(noisy, n - count, axis=1)[:, n - count :] if count < n else _all(noisy)
    values = np.take_along_axis(noisy, some, axis=1)
    order = np.argsort(-values, axis=1)
    return np.take_along_axis(some, order, axis=1), np.take_along_axis(values, order, axis=1)


def _all(noisy: Floats) -> Places:
    return np.broadcast_to(np.arange(noisy.shape[1]), noisy.shape)


def top_k(answers: Floats, k: int, noise: Floats) -> RankedRuns:
    """Ding 2020, algorithm 18: noise is runs × answers."""
    places, values = largest(answers + noise, k + 1)
    gaps = values[:, :-1] - values[:, 1:]
    return RankedRuns(places[:, :k], gaps, np.ones(gaps.shape, dtype=np.bool_))


def hybrid_top_k(answers: Floats, threshold: float, k: int, noise: Floats) -> RankedRuns:
    """Ding 2020, algorithm 19: the noise of the threshold, which is item 0, comes first."""
    places, values = largest(np.concatenate([[threshold], answers]) + noise, k + 1)
    gaps = values[:, :-1] - values[:, 1:]
    is_line = places[:, :k] == 0
    released = ~np.logical_or.accumulate(is_line, axis=1)
    return RankedRuns(places[:, :k] - 1, gaps, released, is_line.any(axis=1))


def hybrid_sparse_vector(
    answers: Floats, threshold: float, plan: ThresholdPlan, noise: ThresholdNoise
) -> RankedRuns:
    """Ding 2020, algorithm 20: the k largest, as far as they are above the noisy threshold."""
    places, values = largest(answers + noise.answers[-1] - float(plan.branches[-1].shift), plan.k)
    gaps = values - (threshold + noise.threshold)[:, None]
    return RankedRuns(places, gaps, gaps >= 0)


def choose(exponents: Floats, noise: Floats) -> tuple[Places, Floats]:
    """Ding 2020, algorithm 22: the choice of the exponential mechanism and its gap; the noise is Gumbel's."""
    places, values = largest(exponents + noise, 2)
    return places[:, 0], values[:, 0] - values[:, 1]
