"""Runs in bulk, and which answers noise can lift over a line at all."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_CELLS = 1 << 20  # of the largest array at once: it stays in the cache of the processor or near it
_NEGLIGIBLE = 1e-6


def reach(scale: float, threshold_scale: float, *, chances: int) -> float:
    """How far below a line an answer may be left out.

    That an answer so far below comes over the line has a chance of at most 2·e^(−reach/(both scales
    together)); over all `chances` (answers times runs) it is below a millionth that leaving it out changes
    anything.
    """
    return (scale + threshold_scale) * math.log(2 * chances / _NEGLIGIBLE)


def chunks(runs: int, cells: int) -> Iterator[int]:
    """Numbers of runs that add up to `runs`, each small enough for arrays of `cells` per run."""
    most = max(1, _CELLS // max(1, cells))
    for begin in range(0, runs, most):
        yield min(most, runs - begin)
