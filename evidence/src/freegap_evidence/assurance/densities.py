"""Noise laws from the textbook, and integrals over them: nothing here uses the library's own samplers."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.integrate import quad

__all__ = ["NoiseDensity", "integral"]


class NoiseDensity:
    """Density and distribution function of one noise, from the textbook."""

    def __init__(self, kind: str, scale: float) -> None:
        self.kind, self.scale = kind, scale

    def density(self, x: float) -> float:
        """At x."""
        t = x / self.scale
        if self.kind == "exponential":
            return math.exp(-t) / self.scale if t >= 0 else 0.0
        return math.exp(-abs(t)) / (2 * self.scale)

    def cdf(self, x: float) -> float:
        """P(noise ≤ x)."""
        t = x / self.scale
        if self.kind == "exponential":
            return -math.expm1(-t) if t > 0 else 0.0
        return math.exp(t) / 2 if t < 0 else 1 - math.exp(-t) / 2


def integral(f: Callable[[float], float], points: list[float], low: float, high: float) -> float:
    """A one-dimensional integral, split where the integrand has kinks."""
    inner = sorted({p for p in points if low < p < high})
    total = 0.0
    for a, b in zip([low, *inner], [*inner, high], strict=True):
        total += quad(f, a, b, epsabs=1e-12, epsrel=1e-10, limit=200)[0]
    return total
