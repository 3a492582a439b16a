"""All rows of the assurance table. A released mechanism without one fails the tests."""

from __future__ import annotations

from freegap_evidence.assurance.row import Row
from freegap_evidence.assurance.rows import (
    bins,
    candidates,
    concentrated,
    groups,
    quantiles,
    selection,
    tables,
    thresholds,
    unknown,
)

__all__ = ["ROWS"]

ROWS: tuple[Row, ...] = (
    *selection.rows(),
    *concentrated.rows(),
    *thresholds.rows(),
    *candidates.rows(),
    *tables.rows(),
    *bins.rows(),
    *groups.rows(),
    *unknown.rows(),
    *quantiles.rows(),
)
