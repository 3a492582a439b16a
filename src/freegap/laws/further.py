"""Laws that no mechanism here draws: programs that are tested or proved may.

Uniform on (0, s) and normal of standard deviation s: a shift has no price, since the density of one ends and
that of the other falls ever faster.

Staircase: a density that is constant on stairs and falls by e^(−step/s) from x to x + step, not faster. Over
any distance of at most `step` it can fall by that much at once, so its price counts whole steps, rounded up.
(It is not log-Lipschitz, although Ding et al. 2019 and Ding et al. 2023 list it with the laws that are.)
"""

from __future__ import annotations

import numpy as np

from freegap.laws.law import ExactLaw, Floats, Law, ShiftPrice, Singles

_UNIFORM_ERROR = 2.0**-15


def _uniform_estimate(u: Floats, minus_log_rest: Floats) -> Floats:
    return 1.0 - u


def _uniform_survival(r: Singles) -> None:
    """1 + ln r within [0, 1] has an unbounded condition number at its lower end.

    There the error is absolute, at most 2^-16 + 16w + 2w < 2^-15, and it is added: ŝ ≥ S always.
    """
    with np.errstate(divide="ignore"):
        np.log(r, out=r)
    r += np.float32(1 + _UNIFORM_ERROR)
    np.clip(r, 0, 1, out=r)


def _uniform_log_moment(t: Floats, scale: float) -> Floats:
    """sinh(z/2)/(z/2) with z = t·s, by what no z makes too large."""
    z = np.abs(t * scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(z > 0, z / 2 + np.log(-np.expm1(-z) / z), 0.0)


UNIFORM = ExactLaw(
    name="uniform",
    one_sided=True,
    price=ShiftPrice.UNBOUNDED,
    mean=lambda s: s / 2,
    variance=lambda s: s**2 / 12,
    log_moment=_uniform_log_moment,
    sample=lambda rng, s, size: rng.uniform(0.0, s, size),
    quantile=lambda u: 1 - u,
    estimate=_uniform_estimate,
    survival=_uniform_survival,
    uses_complement=False,
)
NORMAL = Law(
    name="normal",
    one_sided=False,
    price=ShiftPrice.UNBOUNDED,
    mean=lambda s: 0 * s,
    variance=lambda s: s**2,
    log_moment=lambda t, s: (t * s) ** 2 / 2,
    sample=lambda rng, s, size: rng.normal(0.0, s, size),
)
STAIRCASE = Law(name="staircase", one_sided=False, price=ShiftPrice.STAIRS, needs="step")
