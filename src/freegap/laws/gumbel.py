"""Gumbel noise: distribution function exp(−e^(−x/s)).

The largest of answers with Gumbel noise is the choice of the exponential mechanism: it is i with probability
proportional to e^(q_i/s). Between neighbours the logarithm of that changes by (q_i' − q_i)/s, which lies in
[−Δ/s, Δ/s], and by the logarithm of the sum over all j, which is the same for every output: bounded range.

A shift has no price: ln f = −x/s − e^(−x/s) + c falls doubly exponentially to the left. So no alignment uses
this noise; the exponential mechanism has a proof of its own (Ding 2020, theorem 5.19).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.errors import FreegapError
from freegap.laws.law import ExactLaw, Floats, ShiftPrice, Singles
from freegap.values.balls import as_ball


def _estimate(u: Floats, minus_log_rest: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return -np.log(minus_log_rest)


def _survival(r: Singles) -> None:
    """2r/(2 + r) up to r = 2, where it is 1: above 1 − e^(−r), by at most a sixth, and faster.

    It is above: e^(−r)·(2 + r) − (2 − r) is 0 at 0, and its derivative 1 − (1 + r)e^(−r) is not negative. It
    rises with r, and r does not rise faster in proportion: an r that is too small by 2^-16 makes it too small
    by no more, and one that is too large does not. A sum and a quotient: 2^-16 + 2w.
    """
    np.minimum(r, 2, out=r)
    below = r + np.float32(2)
    r += r
    r /= below


def _mean(scale: Fraction | float) -> Any:
    """γ·s, with Euler's γ."""
    if isinstance(scale, float):
        return np.euler_gamma * scale
    from flint import arb

    return arb.const_euler() * as_ball(Fraction(scale))


def _variance(scale: Fraction | float) -> Any:
    """π²/6·s²."""
    if isinstance(scale, float):
        return math.pi**2 / 6 * scale**2
    from flint import arb

    return arb.pi() ** 2 / 6 * as_ball(Fraction(scale)) ** 2


def _tail(x: Floats) -> Floats:
    """1 − exp(−e^(−x)), without what cancels; e^700 is as good as any larger."""
    return -np.expm1(-np.exp(-np.maximum(x, -700.0)))


def _log_moment(t: Floats, scale: float) -> Floats:
    """E[e^(zX)] = Γ(1 − z) for z = t·s < 1."""
    z = t * scale
    exists = z < 1
    logs = np.vectorize(math.lgamma, otypes=[float])(1 - np.where(exists, z, 0.0))
    return np.where(exists, logs - np.euler_gamma * z, np.inf)


def _difference_tail(x: float, s: float, r: float) -> float:
    """1/(1 + e^(x/s)), the logistic law, for equal scales."""
    if s != r:
        raise FreegapError("the difference of Gumbel noises is known for equal scales alone")
    small = math.exp(-abs(x) / s)
    return small / (1 + small) if x >= 0 else 1 / (1 + small)


GUMBEL = ExactLaw(
    name="gumbel",
    one_sided=False,
    price=ShiftPrice.UNBOUNDED,
    bounded_range=True,
    mean=_mean,
    variance=_variance,
    log_moment=_log_moment,
    difference_tail=_difference_tail,
    tail=_tail,
    sample=lambda rng, s, size: rng.gumbel(0.0, s, size),
    quantile=lambda u: -((-((1 - u).log())).log()),
    estimate=_estimate,
    survival=_survival,
    max_stable=True,
)
