"""Exponential noise, and geometric noise, which is that rounded down.

Exponential: density e^(−x/s)/s on x ≥ 0. Geometric: ⌊s·X⌋ for X exponential, P(m) proportional to e^(−m/s) on
{0, 1, …} (Ding et al. 2023, lemma 5.4). Both have ln f = −x/s + c on their support, so that a shift costs
its size over s.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.laws.law import ExactLaw, Floats, Law, ShiftPrice, Singles
from freegap.values.balls import as_ball


def _estimate(u: Floats, minus_log_rest: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return -np.log(u)


def _survival(r: Singles) -> None:
    """min(r, 1): condition number at most 1, no rounding: 2^-16."""
    np.minimum(r, 1, out=r)


def _log_moment(t: Floats, scale: float) -> Floats:
    z = t * scale
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(z < 1, -z - np.log1p(-np.minimum(z, 1.0)), np.inf)


def _difference_tail(x: float, s: float, r: float) -> float:
    """s/(s + r)·e^(−x/s) for x ≥ 0, and 1 − r/(s + r)·e^(x/r) below."""
    return s / (s + r) * math.exp(-x / s) if x >= 0 else 1 - r / (s + r) * math.exp(x / r)


EXPONENTIAL = ExactLaw(
    name="exponential",
    one_sided=True,
    price=ShiftPrice.DISTANCE,
    mean=lambda s: s,
    variance=lambda s: s**2,
    log_moment=_log_moment,
    tail=lambda x: np.exp(-np.maximum(x, 0.0)),
    difference_tail=_difference_tail,
    sample=lambda rng, s, size: rng.exponential(s, size),
    quantile=lambda u: -(u.log()),
    estimate=_estimate,
    survival=_survival,
    uses_complement=False,
    exponential_tail=True,
)


def powers(scale: Fraction | float) -> tuple[Any, Any]:
    """p = e^(−1/scale) and 1 − p, in doubles or in balls; no scale makes them too large."""
    if isinstance(scale, float):
        return math.exp(-1 / scale), -math.expm1(-1 / scale)
    rate = as_ball(-1 / Fraction(scale))
    return rate.exp(), -(rate.expm1())


def _geometric_mean(scale: Fraction | float) -> Any:
    p, rest = powers(scale)
    return p / rest


def _geometric_variance(scale: Fraction | float) -> Any:
    p, rest = powers(scale)
    return p / rest**2


def _geometric_log_moment(t: Floats, scale: float) -> Floats:
    theta = 1 / scale
    rate = theta - t
    with np.errstate(divide="ignore", invalid="ignore"):
        moment = math.log(-math.expm1(-theta)) - np.log(-np.expm1(-rate))
        return np.where(rate > 0, moment - t * _geometric_mean(scale), np.inf)


def _geometric_difference_tail(x: float, s: float, r: float) -> float:
    """P(N − M ≥ j) = (1−β)α^j/(1−αβ) for j ≥ 0, with α = e^(−1/s), β = e^(−1/r), j = ⌊x⌋ + 1."""
    j = math.floor(x) + 1
    alpha, beta = -1 / s, -1 / r
    rest = -math.expm1(alpha + beta)
    if j >= 0:
        return -math.expm1(beta) * math.exp(alpha * j) / rest
    return 1 + math.expm1(alpha) * math.exp(beta * (1 - j)) / rest


GEOMETRIC = Law(
    name="geometric",
    one_sided=True,
    lattice=True,
    needs="resolution",
    price=ShiftPrice.DISTANCE,
    mean=_geometric_mean,
    variance=_geometric_variance,
    log_moment=_geometric_log_moment,
    difference_tail=_geometric_difference_tail,
    sample=lambda rng, s, size: rng.exponential(s, size) // 1,  # of any array library
    floor_of=EXPONENTIAL,
)
