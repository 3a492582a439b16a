"""Estimates from measurements and gaps, many runs at once (twin of `freegap.estimate.fusion`)."""

from __future__ import annotations

import numpy as np

from freegap_evidence.experiments.simulate.noise import Floats


def blue(measurements: Floats, gaps: Floats, variance_ratio: float) -> Floats:
    """Ding 2020, theorem 5.9, on each row: gaps are those between the items, one fewer than measurements."""
    relative = np.zeros_like(measurements)
    relative[:, 1:] = -gaps.cumsum(axis=1)
    offset = (measurements - relative).mean(axis=1, keepdims=True)
    return np.asarray((variance_ratio * measurements + relative + offset) / (1 + variance_ratio))


def inverse_variance(measured: Floats, variance: float, by_gap: Floats, gap_variance: float) -> Floats:
    """Ding 2020, section 5.4.3: the weighted mean of two independent estimates."""
    weight = gap_variance / (variance + gap_variance)
    return weight * measured + (1 - weight) * by_gap


def fused(measured: Floats, best: Floats, *, variance: float, weight: float, dimension: int) -> Floats:
    """From the measurements to the best estimates, on each row only as far as it does no harm."""
    away = measured - best
    limit = 1.5 * max(dimension - 2, 0) * variance * weight
    part = np.minimum(1.0, limit / np.maximum((away**2).sum(axis=1, keepdims=True), 1e-300))
    return np.asarray(measured - part * away)
