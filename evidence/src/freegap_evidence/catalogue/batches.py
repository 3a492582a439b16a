"""A twin that makes many runs at once, of the mechanism that the audit cannot run like that by itself: it has
a path for each way in which ten answers can fall into three classes.

A test compares it with its mechanism, on the same noise. Lists of booleans and numbers that end early are a
pair of masked arrays: which answers were above, and the numbers that came with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from freegap_evidence.catalogue.entry import GRID

Answers = Sequence[Any]


def adaptive_sparse_vector_second_try_free(
    answers: Answers, threshold: float, bound: int, epsilon: float, rng: Any, size: int
) -> tuple[Any, Any]:
    """Twin."""
    middle = epsilon / (2 * bound)
    top = middle / 2
    margin = 4 * 1.4142 / top
    line = threshold + rng.laplace(scale=2 / epsilon, size=size)
    shape = (size, len(answers))
    above = np.ma.array(np.zeros(shape, dtype=np.bool_), mask=True)
    numbers = np.ma.array(np.zeros(shape), mask=True)
    running, spent = np.ones(size, dtype=np.bool_), np.full(size, epsilon / 2)
    for place, answer in enumerate(answers):
        noise = rng.laplace(size=(int(running.sum()), 2)) * [2 / top, 2 / middle]
        gaps = answer + noise - line[running][:, None]
        far, near = gaps[:, 0] >= margin, gaps[:, 1] >= 0
        above[running, place] = far | near
        shown = np.floor(np.where(far, gaps[:, 0], gaps[:, 1]) * GRID) / GRID
        numbers[running, place] = np.ma.array(shown, mask=~(far | near))
        spent[running] += np.where(far, top, 0.0)
        running &= spent <= epsilon - middle + 1e-9 * epsilon
    return above, numbers
