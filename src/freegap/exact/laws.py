"""The noise laws, each with scale 1, as decreasing functions of a uniform variable.

A noise variable is X = Q(U), U uniform on (0, 1) and Q the inverse of the survival function
S(x) = P(X > x). Large noise comes from small U. Given the first digits of U, X lies between Q at
the two ends of what is known of U: `quantile` computes that in ball arithmetic (rigorous), `estimate`
in floating point (with the bound stated in `ranking`).

The largest of m independent copies has S₁ = 1 − (1 − U)^(1/m), and so is Q(S₁): that is all that a
group of items with equal answers needs (see `ranking`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

__all__ = ["EXPONENTIAL", "GUMBEL", "LAPLACE", "LAWS", "LOGISTIC", "UNIFORM", "Law"]

Floats = NDArray[np.float64]

_LN2 = float(np.log(2.0))


@dataclass(frozen=True, slots=True)
class Law:
    """A noise law with scale 1.

    quantile: Q in ball arithmetic, for U strictly between 0 and 1.
    estimate: Q in floating point, from (u, −ln(1−u)); the second argument keeps its relative
        precision where u is close to 1. Within 2^-47·(1 + |Q|) of the truth for inputs that are
        within 2^-49 of theirs, relatively.
    survival: S as a function of r = e^−x, in single precision, for choosing and screening only.
    guarded_below: whether X ≥ 0 always, so that k+1 answers of at least τ stay at least τ.
    """

    name: str
    quantile: Callable[[Any], Any]
    estimate: Callable[[Floats, Floats], Floats]
    survival: Callable[[NDArray[np.float32]], NDArray[np.float32]]
    guarded_below: bool


def _laplace_quantile(u: Any) -> Any:
    half = arb(1) / 2
    upper, lower = -((2 * u).log()), (2 * (1 - u)).log()
    if u <= half:
        return upper
    # A ball that straddles one half may lie on either branch.
    return lower if u > half else upper.union(lower)


def _laplace_estimate(u: Floats, minus_log_rest: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.where(u <= 0.5, -np.log(u) - _LN2, _LN2 - minus_log_rest)


def _laplace_survival(r: NDArray[np.float32]) -> NDArray[np.float32]:
    with np.errstate(divide="ignore"):
        return np.where(r <= 1, r / 2, 1 - 1 / (2 * r))


def _exponential_estimate(u: Floats, minus_log_rest: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return -np.log(u)


def _gumbel_estimate(u: Floats, minus_log_rest: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return -np.log(minus_log_rest)


def _logistic_estimate(u: Floats, minus_log_rest: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return -minus_log_rest - np.log(u)


def _uniform_estimate(u: Floats, minus_log_rest: Floats) -> Floats:
    return 1.0 - u


EXPONENTIAL = Law(
    "exponential",
    quantile=lambda u: -(u.log()),
    estimate=_exponential_estimate,
    survival=lambda r: np.minimum(r, np.float32(1)),
    guarded_below=True,
)
LAPLACE = Law(
    "laplace",
    quantile=_laplace_quantile,
    estimate=_laplace_estimate,
    survival=_laplace_survival,
    guarded_below=False,
)
GUMBEL = Law(
    "gumbel",
    quantile=lambda u: -((-((1 - u).log())).log()),
    estimate=_gumbel_estimate,
    survival=lambda r: -np.expm1(-r),
    guarded_below=False,
)
LOGISTIC = Law(
    "logistic",
    quantile=lambda u: ((1 - u) / u).log(),
    estimate=_logistic_estimate,
    survival=lambda r: r / (1 + r),
    guarded_below=False,
)
UNIFORM = Law(
    "uniform",
    quantile=lambda u: 1 - u,
    estimate=_uniform_estimate,
    survival=lambda r: np.clip(1 + np.log(r), 0, 1),
    guarded_below=True,
)

LAWS = {law.name: law for law in (EXPONENTIAL, LAPLACE, GUMBEL, LOGISTIC, UNIFORM)}
