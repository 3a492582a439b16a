"""Exact laws of the sparse-vector family on tiny cases, by integration over the threshold's noise.

Given the threshold's noise, the questions are independent, and each entry's probability is a difference of
distribution functions. For geometric noise the integral is a sum. Nothing here uses the library's formulas:
scales, shifts and margins are worked out again from the papers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from freegap.laws import NoiseName
from freegap_evidence.assurance.densities import Floats, NoiseDensity, between, integral


@dataclass(frozen=True)
class ThresholdSetting:
    """ε, k, θ, Δ, c of one run, and the branches (scale, margin), cheapest first."""

    noise: NoiseName
    epsilon: float
    k: int
    share: float
    sensitivity: float = 1.0
    c: float = 2.0
    halvings: int = 0
    deviations: float = 2.0
    wrong_scale: float = 1.0  # for power checks: all noise is this much too wide

    @property
    def threshold_scale(self) -> float:
        """Δ/(θε)."""
        return self.sensitivity / (self.share * self.epsilon)

    @property
    def each(self) -> float:
        """(1 − θ)ε/k, for one answer above the threshold."""
        return (1 - self.share) * self.epsilon / self.k

    def scales(self) -> list[float]:
        """Of the branches, the cheapest first."""
        return [self.c * self.sensitivity / (self.each / 2**j) for j in range(self.halvings, -1, -1)]

    def mean(self, scale: float) -> float:
        """Of the noise."""
        if self.noise == "laplace":
            return 0.0
        return scale if self.noise == "exponential" else 1 / math.expm1(1 / scale)

    def shift(self, scale: float) -> float:
        """What is taken off so that one-sided noise is fair: the difference of the means."""
        difference = self.mean(scale) - self.mean(self.threshold_scale)
        return float(round(difference)) if self.noise == "geometric" else difference

    def margin(self, place: int) -> float:
        """Of the branch in this place; none for the last."""
        scale = self.scales()[place]
        if place == self.halvings:
            return 0.0
        if self.noise == "geometric":
            deviation = math.exp(0.5 / scale) / math.expm1(1 / scale)
            return math.ceil(self.deviations * deviation)
        return self.deviations * scale * (math.sqrt(2) if self.noise == "laplace" else 1)

    def cdf(self, x: ArrayLike, scale: float) -> Any:
        """P(noise < x) for whole x (geometric), P(noise ≤ x) otherwise."""
        scale *= self.wrong_scale
        if self.noise == "geometric":
            return -np.expm1(-np.maximum(np.ceil(np.asarray(x) - 1e-9), 0.0) / scale)
        return NoiseDensity(self.noise, scale).cdf(x)


def entry_probability(setting: ThresholdSetting, offset: float, bar: Floats, entry: Any, grid: float) -> Any:
    """P(entry | threshold noise), for each noise: of None, or (branch place, gap cell)."""
    missed: Any = 1.0
    for place, scale in enumerate(setting.scales()):
        # v = offset + x − bar − shift ≥ margin  ⟺  x ≥ margin − offset + bar + shift
        base = bar + setting.shift(scale) - offset
        if entry is not None and entry[0] == place:
            low = max(entry[1] * grid, setting.margin(place))
            high = max((entry[1] + 1) * grid, setting.margin(place))
            return missed * (setting.cdf(base + high, scale) - setting.cdf(base + low, scale))
        missed *= setting.cdf(base + setting.margin(place), scale)
    return missed if entry is None else 0.0


def sparse_vector_law(
    setting: ThresholdSetting, offsets: list[float], grid: float, cells: int
) -> dict[Any, float]:
    """P(output) for every output whose gaps are below `cells` multiples of the grid."""
    alphabet = [None, *itertools.product(range(setting.halvings + 1), range(cells))]
    law: dict[Any, float] = {}

    def stops(prefix: tuple[Any, ...]) -> bool:
        spent = sum(setting.each / 2 ** (setting.halvings - e[0]) for e in prefix if e is not None)
        return bool(spent > (setting.k - 1) * setting.each + 1e-9)

    def extend(prefix: tuple[Any, ...]) -> None:
        if len(prefix) == len(offsets) or (prefix and stops(prefix)):
            law[prefix] = _over_bar(setting, offsets, prefix, grid)
            return
        for entry in alphabet:
            extend((*prefix, entry))

    extend(())
    return law


def _over_bar(setting: ThresholdSetting, offsets: list[float], output: tuple[Any, ...], grid: float) -> float:
    def given(bar: Floats) -> Any:
        return math.prod(
            entry_probability(setting, offset, bar, entry, grid)
            for offset, entry in zip(offsets, output, strict=False)
        )

    scale = setting.threshold_scale * setting.wrong_scale
    if setting.noise == "geometric":
        p, bars = -math.expm1(-1 / scale), np.arange(int(40 * scale) + 2.0)
        return float((p * (1 - p) ** bars * given(bars)).sum())
    noise = NoiseDensity(setting.noise, scale)
    kinks = [0.0]
    for offset, entry in zip(offsets, output, strict=False):
        for place, branch in enumerate(setting.scales()):
            edges = [setting.margin(place)]
            if entry is not None:
                edges += [entry[1] * grid, (entry[1] + 1) * grid]
            kinks += [offset - setting.shift(branch) - edge for edge in edges]
    low = 0.0 if setting.noise == "exponential" else -40 * scale
    step = 4 * min(scale, *setting.scales())
    return integral(lambda y: noise.density(y) * given(y), kinks, low, 40 * scale, step)


class HybridSparseVector:
    """P(ranked items above the threshold, their gap cells) for two answers, k = 1 or 2.

    With v_i = offset_i + x_i − y − shift, the output lists the v_i ≥ 0 from the largest down, at most k.
    """

    def __init__(self, setting: ThresholdSetting, offsets: list[float], grid: float) -> None:
        (scale,) = setting.scales()
        self.k, self.offsets, self.grid = setting.k, offsets, grid
        self.answer = NoiseDensity(setting.noise, scale * setting.wrong_scale)
        self.bar = NoiseDensity(setting.noise, setting.threshold_scale * setting.wrong_scale)
        self.shift = setting.shift(scale)

    def law(self, cells: int) -> dict[Any, float]:
        """P(items, gap cells) for gaps below so many cells."""
        law: dict[Any, float] = {}
        law[(), ()] = self._over_bar(lambda y: self._cdf(0, 0.0, y) * self._cdf(1, 0.0, y), [0.0])
        for i, j in ((0, 1), (1, 0)):
            for a in range(cells):
                window = (a * self.grid, (a + 1) * self.grid)
                if self.k == 1:
                    law[(i,), (a,)] = self._over_bar(self._ordered(i, j, window, -math.inf), window)
                    continue
                law[(i,), (a,)] = self._over_bar(self._apart((i, window), (j, (-math.inf, 0.0))), window)
                for b in range(a):
                    below = (b * self.grid, (b + 1) * self.grid)
                    both = self._apart((i, window), (j, below))
                    law[(i, j), (a, b)] = self._over_bar(both, [*window, *below])
                law[(i, j), (a, a)] = self._over_bar(self._ordered(i, j, window, window[0]), window)
        return law

    def _cdf(self, i: int, v: float | Floats, y: Floats) -> Any:
        return self.answer.cdf(v + y + self.shift - self.offsets[i])

    def _apart(self, *windows: tuple[int, tuple[float, float]]) -> Callable[[Floats], Any]:
        """P(each value is in its window | y)."""
        return lambda y: math.prod(self._cdf(i, high, y) - self._cdf(i, low, y) for i, (low, high) in windows)

    def _ordered(self, i: int, j: int, window: tuple[float, float], least: float) -> Callable[[Floats], Any]:
        """P(v_i is in the window, and v_j between `least` and v_i | y)."""

        def given(y: Floats) -> Floats:
            inner = y[..., None, None]

            def density(v: Floats) -> Floats:
                at = self.answer.density(v + inner + self.shift - self.offsets[i])
                return np.asarray(at * (self._cdf(j, v, inner) - self._cdf(j, least, inner)))

            kinks = [np.clip(o - y - self.shift, *window) for o in self.offsets]
            ends = [np.full_like(y, end) for end in window]
            return between(np.sort(np.stack([*ends, *kinks], axis=-1), axis=-1), density)

        return given

    def _over_bar(self, given: Callable[[Floats], Any], edges: Sequence[float]) -> float:
        low = 0.0 if self.bar.kind == "exponential" else -40 * self.bar.scale
        kinks = [o - self.shift - e for o in self.offsets for e in (0.0, *edges)]
        high, step = 40 * self.bar.scale, 4 * min(self.bar.scale, self.answer.scale)
        return integral(lambda y: self.bar.density(y) * given(y), [0.0, *kinks], low, high, step)
