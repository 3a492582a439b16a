"""Do releases follow the law that they should? Pearson's chi-square test, with documented constants.

ALPHA is the false-alarm rate of every statistical test of a distribution; seeds are fixed, so that a test
that passes once passes always. A test is worth having only with its power: each is also run on releases
that are slightly wrong, which it must reject at the same level.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scipy.stats import chi2

ALPHA = 1e-9
SMALLEST_CELL = 20.0  # cells expected less often are pooled: the chi-square law needs some counts


def fit_p(observed: Mapping[Any, int], law: Mapping[Any, float]) -> float:
    """The p-value of Pearson's test that counts follow a law; what the law leaves out is one cell.

    >>> fit_p({0: 5_000, 1: 5_000}, {0: 0.5, 1: 0.5})
    1.0
    >>> fit_p({0: 5_500, 1: 4_500}, {0: 0.5, 1: 0.5}) < ALPHA
    True
    """
    draws = sum(observed.values())
    expected = {cell: draws * p for cell, p in law.items() if draws * p >= SMALLEST_CELL}
    statistic = sum((observed.get(cell, 0) - e) ** 2 / e for cell, e in expected.items())
    rest = draws - sum(expected.values())
    seen = draws - sum(observed.get(cell, 0) for cell in expected)
    if rest < SMALLEST_CELL / 4:
        if seen >= 4 * SMALLEST_CELL + 4 * rest:
            return 0.0  # mass where the law has none
        return float(chi2.sf(statistic, len(expected) - 1))
    return float(chi2.sf(statistic + (seen - rest) ** 2 / rest, len(expected)))
