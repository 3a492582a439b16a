"""Questions as the papers' experiments ask them: counts in a random order, against a random threshold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from freegap.experiments.simulate.above import Answered, answer, draw_threshold_noise
from freegap.experiments.simulate.noise import Floats, chunks, reach
from freegap.mechanisms.threshold_plan import ThresholdPlan

__all__ = ["Asked", "asked", "threshold_ranks"]

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Asked:
    """Some runs: the counts in the order asked, the thresholds (one a run), and what was answered."""

    counts: Floats
    thresholds: Floats
    answered: Answered


def threshold_ranks(counts: Counts, k: int) -> tuple[int, int]:
    """The threshold is "randomly picked from the top 2k to top 8k" (000, section 5.8.1)."""
    return min(2 * k, len(counts) - 1), min(8 * k, len(counts) - 1)


def asked(
    counts: Counts, plan: ThresholdPlan, ranks: tuple[int, int], *, runs: int, rng: np.random.Generator
) -> Iterator[Asked]:
    """Runs in pieces. Each asks all counts in a fresh random order against the count of a random rank.

    counts: largest first. Those that no noise lifts over the lowest threshold are left out, which a whole
    figure would show with a chance of less than a millionth (see `reach`).
    """
    lowest = float(counts[ranks[1] - 1])
    widest = max(float(branch.scale) for branch in plan.branches)
    floor = lowest - reach(widest, float(plan.threshold_scale), chances=runs * len(counts))
    near = counts[counts >= floor].astype(np.float64)
    for size in chunks(runs, len(near)):
        ordered = rng.permuted(np.broadcast_to(near, (size, len(near))), axis=1)
        thresholds = counts[rng.integers(ranks[0], ranks[1] + 1, size) - 1].astype(np.float64)
        noise = draw_threshold_noise(plan, size, len(near), rng)
        yield Asked(ordered, thresholds, answer(ordered - thresholds[:, None], plan, noise))
