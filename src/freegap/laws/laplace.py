"""Laplace noise, density e^(−|x|/s)/(2s), and its discrete form, mass proportional to e^(−|x|/s) on a grid.

Both have ln f = −|x|/s + c, and |x| is 1-Lipschitz: a shift costs its size over s.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.laws.exponential import GEOMETRIC, powers
from freegap.laws.law import ExactLaw, Floats, Law, ShiftPrice, Singles
from freegap.values.balls import as_ball

_LN2 = float(np.log(2.0))


def _quantile(u: Any) -> Any:
    half = as_ball(Fraction(1, 2))
    upper, lower = -((2 * u).log()), (2 * (1 - u)).log()
    if u <= half:
        return upper
    # A ball that straddles one half may lie on either branch.
    return lower if u > half else upper.union(lower)


def _estimate(u: Floats, minus_log_rest: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.where(u <= 0.5, -np.log(u) - _LN2, _LN2 - minus_log_rest)


def _survival(r: Singles) -> None:
    """½·(min(r, 1) + (1 − 1/max(r, 1))), that is r/2 up to 1 and 1 − 1/(2r) above.

    For r ≤ 1 the second term is 1 − 1 = 0 without rounding, so nothing cancels and nothing is rounded: 2^-16.
    For r > 1 both terms lie in [0, 1] and their sum in [1, 2]: the reciprocal errs by w, the difference by
    2w, the sum by 4w absolutely, which is as much relatively; the condition number 1/(2r − 1) is at most 1:
    2^-16 + 4w.
    """
    upper = np.maximum(r, 1)
    np.divide(1, upper, out=upper)
    np.subtract(1, upper, out=upper)  # exactly 0 for r ≤ 1: adding 1 only afterwards would round r away
    np.minimum(r, 1, out=r)
    r += upper
    r *= np.float32(0.5)


def _log_moment(t: Floats, scale: float) -> Floats:
    z = t * scale
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(z) < 1, -np.log1p(-np.minimum(z * z, 1.0)), np.inf)


def _tail(x: Floats) -> Floats:
    half = np.exp(-np.abs(x)) / 2
    return np.where(x >= 0, half, 1 - half)


def _difference_tail(x: float, s: float, r: float) -> float:
    """Ding 2020, lemma 5.4, with ε₀ = 1/r and ε* = 1/s, the rates that the algorithms use (erratum 3)."""
    above = _above(abs(x), s, r)
    return above if x >= 0 else 1 - above


def _above(x: float, s: float, r: float) -> float:
    if abs(s - r) < 1e-6 * s:
        # Close scales: the formula divides by their difference. The larger scale bounds both.
        u = x / max(s, r)
        return (2 + u) / 4 * math.exp(-u)
    return (s * s * math.exp(-x / s) - r * r * math.exp(-x / r)) / (2 * (s * s - r * r))


LAPLACE = ExactLaw(
    name="laplace",
    one_sided=False,
    price=ShiftPrice.DISTANCE,
    mean=lambda s: 0 * s,
    variance=lambda s: 2 * s**2,
    log_moment=_log_moment,
    tail=_tail,
    difference_tail=_difference_tail,
    sample=lambda rng, s, size: rng.laplace(0.0, s, size),
    quantile=_quantile,
    estimate=_estimate,
    survival=_survival,
)


def _discrete_variance(scale: Fraction | float) -> Any:
    p, rest = powers(scale)
    return 2 * p / rest**2


def _discrete_log_moment(t: Floats, scale: float) -> Floats:
    """(1 − p)²/((1 − p·e^t)(1 − p·e^−t)) with p = e^(−1/s), for |t| < 1/s."""
    theta = 1 / scale
    near = np.minimum(np.abs(t), theta)
    with np.errstate(divide="ignore"):
        ends = np.log(-np.expm1(near - theta)) + np.log(-np.expm1(-near - theta))
    return np.where(np.abs(t) < theta, 2 * math.log(-math.expm1(-theta)) - ends, np.inf)


DISCRETE_LAPLACE = Law(
    name="discrete_laplace",
    one_sided=False,
    lattice=True,
    needs="resolution",
    price=ShiftPrice.DISTANCE,
    mean=lambda s: 0 * s,
    variance=_discrete_variance,
    log_moment=_discrete_log_moment,
    sample=lambda rng, s, size: GEOMETRIC.sample(rng, s, size) - GEOMETRIC.sample(rng, s, size),
)
