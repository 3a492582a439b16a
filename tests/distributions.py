"""Two samples from one distribution: Pearson's test, with the constants of the assurance table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np
from freegap_evidence.assurance.fit import SMALLEST_CELL
from scipy.stats import chi2


def same_distribution_p(a: Counter[Any], b: Counter[Any]) -> float:
    """The p-value of Pearson's test that two samples come from one distribution."""
    cells: dict[Hashable, list[int]] = {}
    rest = [0, 0]
    for cell in a.keys() | b.keys():
        pair = [a[cell], b[cell]]
        if sum(pair) >= 2 * SMALLEST_CELL:
            cells[cell] = pair
        else:
            rest = [rest[0] + pair[0], rest[1] + pair[1]]
    table = np.array([*cells.values(), *([rest] if sum(rest) else [])], dtype=float)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    statistic = float(((table - expected) ** 2 / expected).sum())
    return float(chi2.sf(statistic, len(table) - 1))
