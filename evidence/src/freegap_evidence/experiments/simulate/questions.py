"""Questions as the papers' experiments ask them: counts in a random order, against a random threshold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap_evidence.experiments.simulate.above import Answered, answer, draw_threshold_noise
from freegap_evidence.experiments.simulate.noise import Floats, chunks, reach

Counts = NDArray[np.int64]

_MOST_ASKED = 4096  # questions at the 95 % quantile


@dataclass(frozen=True)
class Asked:
    """Some runs: the counts in the order asked, the thresholds (one per run), and what was answered."""

    counts: Floats
    thresholds: Floats
    answered: Answered


def random_lines(counts: Counts, k: int) -> Floats:
    """Thresholds to draw from: "randomly picked from the top 2k to top 8k" (Ding 2020, section 5.8.1)."""
    last = min(8 * k, len(counts) - 1)
    return counts[min(2 * k, last) - 1 : last].astype(np.float64)


def quantile_line(counts: Counts) -> Floats:
    """The one threshold of Ding et al. 2019 (arXiv), section 7: the 95 % quantile of the counts."""
    return np.array([np.quantile(counts, 0.95, method="lower")], dtype=np.float64)


def lines_of(rule: str, counts: Counts, k: int) -> tuple[Floats, int | None]:
    """The thresholds, "random" as in Ding 2020 and Ding et al. 2019 or the "quantile" of Ding et al. 2019
    (arXiv), and how many questions a run asks at most: it has found its k long before."""
    return (random_lines(counts, k), None) if rule == "random" else (quantile_line(counts), _MOST_ASKED)


def asked(
    counts: Counts,
    plan: ThresholdPlan,
    lines: Floats,
    *,
    runs: int,
    rng: np.random.Generator,
    most: int | None = None,
) -> Iterator[Asked]:
    """Runs in pieces. Each asks all counts in a fresh random order against one of the lines, at random.

    most: only the first so many of that order are asked, where a run has long stopped by then.

    counts: largest first. Those that no noise lifts over the lowest threshold are left out, which a whole
    figure would show with a chance of less than a millionth (see `reach`).
    """
    widest = max(float(branch.scale) for branch in plan.branches)
    floor = lines.min() - reach(widest, float(plan.threshold_scale), chances=runs * len(counts))
    near = counts[counts >= floor].astype(np.float64)
    length = len(near) if most is None else min(most, len(near))
    for size in chunks(runs, length):
        if length == len(near):
            ordered = rng.permuted(np.broadcast_to(near, (size, length)), axis=1)
        else:
            ordered = np.stack([near[rng.choice(len(near), length, replace=False)] for _ in range(size)])
        thresholds = rng.choice(lines, size)
        noise = draw_threshold_noise(plan, size, length, rng)
        yield Asked(ordered, thresholds, answer(ordered - thresholds[:, None], plan, noise))
