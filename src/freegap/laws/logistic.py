"""Logistic noise: distribution function 1/(1 + e^(−x/s)).

d ln f/dx = −tanh(x/(2s))/s lies in [−1/s, 1/s]: a shift costs its size over s.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.laws.law import ExactLaw, Floats, ShiftPrice, Singles
from freegap.values.balls import as_ball


def _estimate(u: Floats, minus_log_rest: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return -minus_log_rest - np.log(u)


def _survival(r: Singles) -> None:
    """1/(1 + 1/r): condition number 1/(1 + r) ≤ 1, three roundings of positive numbers: 2^-16 + 3w.

    r = ∞ gives 1, where r/(1 + r) would be undefined.
    """
    with np.errstate(divide="ignore", over="ignore"):
        np.divide(1, r, out=r)
    r += 1
    np.divide(1, r, out=r)


def _variance(scale: Fraction | float) -> Any:
    """π²/3·s²."""
    if isinstance(scale, float):
        return math.pi**2 / 3 * scale**2
    from flint import arb

    return arb.pi() ** 2 / 3 * as_ball(Fraction(scale)) ** 2


def _log_moment(t: Floats, scale: float) -> Floats:
    """E[e^(zX)] = πz/sin(πz) for |z| < 1, z = t·s."""
    z = t * scale
    exists = np.abs(z) < 1
    return np.where(exists, -np.log(np.sinc(np.where(exists, z, 0.0))), np.inf)


LOGISTIC = ExactLaw(
    name="logistic",
    one_sided=False,
    price=ShiftPrice.DISTANCE,
    mean=lambda s: 0 * s,
    variance=_variance,
    log_moment=_log_moment,
    sample=lambda rng, s, size: rng.logistic(0.0, s, size),
    quantile=lambda u: ((1 - u) / u).log(),
    estimate=_estimate,
    survival=_survival,
)
