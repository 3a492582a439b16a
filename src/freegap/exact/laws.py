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
Singles = NDArray[np.float32]

_LN2 = float(np.log(2.0))


@dataclass(frozen=True, slots=True)
class Law:
    """A noise law with scale 1.

    quantile: Q in ball arithmetic, for U strictly between 0 and 1.
    estimate: Q in floating point, from (u, −ln(1−u)); the error is in the lemma of `doubles`.
    survival: replaces r = e^−x by S(x), in single precision and in place; for `screening`.
    guarded_below: whether X ≥ 0 always, so that an answer above a line stays above it.
    looks_at_rest: whether `estimate` uses its second argument.
    """

    name: str
    quantile: Callable[[Any], Any]
    estimate: Callable[[Floats, Floats], Floats]
    survival: Callable[[Singles], None]
    guarded_below: bool = False
    looks_at_rest: bool = True


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


def _laplace_survival(r: Singles) -> None:
    # r/2 for r ≤ 1 and 1 − 1/(2r) above: half of min(r, 1) + 1 − 1/max(r, 1).
    reciprocal = np.maximum(r, 1)
    np.divide(1, reciprocal, out=reciprocal)
    np.minimum(r, 1, out=r)
    r -= reciprocal
    r += 1
    r *= np.float32(0.5)


def _exponential_estimate(u: Floats, minus_log_rest: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return -np.log(u)


def _exponential_survival(r: Singles) -> None:
    np.minimum(r, 1, out=r)


def _gumbel_estimate(u: Floats, minus_log_rest: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return -np.log(minus_log_rest)


def _gumbel_survival(r: Singles) -> None:
    np.negative(r, out=r)
    np.expm1(r, out=r)
    np.negative(r, out=r)


def _logistic_estimate(u: Floats, minus_log_rest: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return -minus_log_rest - np.log(u)


def _logistic_survival(r: Singles) -> None:
    r /= r + 1


def _uniform_estimate(u: Floats, minus_log_rest: Floats) -> Floats:
    return 1.0 - u


def _uniform_survival(r: Singles) -> None:
    with np.errstate(divide="ignore"):
        np.log(r, out=r)
    r += 1
    np.clip(r, 0, 1, out=r)


EXPONENTIAL = Law(
    "exponential",
    quantile=lambda u: -(u.log()),
    estimate=_exponential_estimate,
    survival=_exponential_survival,
    guarded_below=True,
    looks_at_rest=False,
)
LAPLACE = Law("laplace", quantile=_laplace_quantile, estimate=_laplace_estimate, survival=_laplace_survival)
GUMBEL = Law(
    "gumbel",
    quantile=lambda u: -((-((1 - u).log())).log()),
    estimate=_gumbel_estimate,
    survival=_gumbel_survival,
)
LOGISTIC = Law(
    "logistic",
    quantile=lambda u: ((1 - u) / u).log(),
    estimate=_logistic_estimate,
    survival=_logistic_survival,
)
UNIFORM = Law(
    "uniform",
    quantile=lambda u: 1 - u,
    estimate=_uniform_estimate,
    survival=_uniform_survival,
    guarded_below=True,
    looks_at_rest=False,
)

LAWS = {law.name: law for law in (EXPONENTIAL, LAPLACE, GUMBEL, LOGISTIC, UNIFORM)}
