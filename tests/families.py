"""The sparse-vector family in floating point, by NumPy: for checking the laws and the power of the tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from freegap_evidence.assurance.threshold_laws import ThresholdSetting


def simulate_sparse_vector(
    setting: ThresholdSetting, offsets: list[float], grid: float, runs: int, seed: int
) -> list[tuple[Any, ...]]:
    """Sparse vectors, adaptive or not."""
    generator = np.random.default_rng(seed)

    def draw(scale: float, shape: Any) -> Any:
        scale *= setting.wrong_scale
        if setting.noise == "geometric":
            return np.floor(generator.exponential(scale, shape))
        return getattr(generator, setting.noise)(scale=scale, size=shape)

    n = len(offsets)
    bar = draw(setting.threshold_scale, runs)
    noises = [draw(scale, (runs, n)) for scale in setting.scales()]
    outputs: list[Any] = [()] * runs
    spent = np.zeros(runs)
    active = np.ones(runs, dtype=bool)
    for i in range(n):
        entries: list[Any] = [None] * runs
        open_ = active.copy()
        for place, scale in enumerate(setting.scales()):
            v = offsets[i] + noises[place][:, i] - bar - setting.shift(scale)
            hit = open_ & (v >= setting.margin(place))
            for r in np.flatnonzero(hit).tolist():
                entries[r] = (place, math.floor(v[r] / grid))
            spent[hit] += setting.each / 2 ** (setting.halvings - place)
            open_ &= ~hit
        for r in np.flatnonzero(active).tolist():
            outputs[r] = (*outputs[r], entries[r])
        active &= spent <= (setting.k - 1) * setting.each + 1e-9
    return outputs


def simulate_hybrid_sparse_vector(
    setting: ThresholdSetting, offsets: list[float], grid: float, runs: int, seed: int
) -> list[Any]:
    """The hybrid sparse vector on two answers."""
    generator = np.random.default_rng(seed)
    (scale,) = setting.scales()
    draw = getattr(generator, setting.noise)
    bar = draw(scale=setting.threshold_scale * setting.wrong_scale, size=(runs, 1))
    values = np.array(offsets) + draw(scale=scale * setting.wrong_scale, size=(runs, 2)) - bar
    values -= setting.shift(scale)
    outputs = []
    for a, b in values.tolist():
        ranked = sorted(((a, 0), (b, 1)), reverse=True)[: setting.k]
        above = [(item, math.floor(value / grid)) for value, item in ranked if value >= 0]
        outputs.append((tuple(item for item, _ in above), tuple(cell for _, cell in above)))
    return outputs
