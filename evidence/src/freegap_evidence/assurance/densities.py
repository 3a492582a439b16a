"""Noise laws from the textbook, and integrals over them: nothing here uses the library's own samplers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


class NoiseDensity:
    """Density and distribution function of one noise, from the textbook, of a number or an array."""

    def __init__(self, kind: str, scale: float) -> None:
        self.kind, self.scale = kind, scale

    def density(self, x: ArrayLike) -> Any:
        """At x."""
        t = np.asarray(x) / self.scale
        if self.kind == "exponential":
            return np.exp(-np.abs(t)) * (t >= 0) / self.scale
        return np.exp(-np.abs(t)) / (2 * self.scale)

    def cdf(self, x: ArrayLike) -> Any:
        """P(noise ≤ x)."""
        t = np.asarray(x) / self.scale
        if self.kind == "exponential":
            return -np.expm1(-np.maximum(t, 0.0))
        half = np.exp(-np.abs(t)) / 2
        return np.where(t < 0, half, 1 - half)


def between(edges: Floats, f: Callable[[Floats], Floats]) -> Floats:
    """The integral of f from the first to the last of the edges, which stand along the last axis: by the
    Gauss-Legendre rule from each to the next. f is given an array with two more axes."""
    low, high = edges[..., :-1, None], edges[..., 1:, None]
    half = (high - low) / 2
    return np.asarray((f(low + half * (1 + _NODES)) * half * _WEIGHTS).sum(axis=(-2, -1)))


def pieces(points: Iterable[float], low: float, high: float, step: float) -> Floats:
    """Edges from low to high: where an integrand has kinks, and in steps over which it is near a polynomial.

    In steps of s scales the rule errs by less than 1e-12 for products of exponentials with s·rates up to 20.
    """
    inner = [p for p in points if low < p < high]
    return np.unique(np.concatenate([np.arange(low, high, step), inner, [high]]))


def integral(f: Callable[[Any], Any], points: Iterable[float], low: float, high: float, step: float) -> float:
    """A one-dimensional integral of f, which takes arrays.

    >>> integral(NoiseDensity("laplace", 2.0).density, [0.0], -90.0, 90.0, 4.0)
    1.0
    """
    return float(between(pieces(points, low, high, step), f))
