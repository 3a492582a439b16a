"""Samples: their counts, and Pearson's test that two come from one distribution, with the constants of the
assurance table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np
from freegap_evidence.assurance.fit import SMALLEST_CELL
from numpy.typing import NDArray
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


def counted(order: NDArray[Any], gaps: NDArray[Any]) -> Counter[Any]:
    """How often each row of the one array comes with each row of the other; as whole numbers, since a million
    tuples take seconds to count."""
    rows = np.concatenate([order, gaps], axis=1).astype(np.int64)
    low, high = rows.min(axis=0), rows.max(axis=0)
    codes = np.ravel_multi_index(tuple((rows - low).T), tuple(high - low + 1))
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    cut = order.shape[1]
    cells = ((tuple(row[:cut]), tuple(row[cut:])) for row in rows[first].tolist())
    return Counter(dict(zip(cells, counts.tolist(), strict=True)))
