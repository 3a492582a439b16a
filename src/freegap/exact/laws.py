"""The noise laws, each with scale 1, as decreasing functions of a uniform variable.

A noise variable is X = Q(U), U uniform on (0, 1) and Q the inverse of the survival function
S(x) = P(X > x). Large noise comes from small U. Given the first digits of U, X lies between Q at
the two ends of what is known of U: `quantile` computes that in ball arithmetic (rigorous), `estimate`
in floating point (with the bound stated in `ranking`).

The largest of m independent copies has S₁ = 1 − (1 − U)^(1/m), and so is Q(S₁): that is all that a
group of items with equal answers needs (see `ranking`).

`survival` is for the screen, which must never pass over an item that is above its bar. What it is given is
r̂ = e^−x·(1 + δ) in single precision with |δ| ≤ 2^-16, or infinity where that is beyond single precision;
what it returns is ŝ with

    S(x) ≤ (1 + 2^-15)·ŝ   wherever S(x) ≥ 2^-80      (smaller ones decide nothing: see `screening`)

A group multiplies this by its size, up to 2^62, so that a *relative* error is wanted down to 2^-80: a formula
that is exact to the last bit near 1 and cancels near 0 is of no use. Write w = 2^-24 for half a unit in the
last place of a number next to 1. An arithmetic operation errs relatively by at most w; exp, expm1 and log by
at most 8 units in the last place, 16w = 2^-20 (`arithmetic` looks whether they do). A function f of r changes
by at most |f's condition number|·|δ| when r does.

    exponential  min(r, 1): condition number at most 1, no rounding: 2^-16
    laplace      ½·(min(r, 1) + (1 − 1/max(r, 1))), that is r/2 up to 1 and 1 − 1/(2r) above. For r ≤ 1 the
                 second term is 1 − 1 = 0 without rounding, so nothing cancels and nothing is rounded: 2^-16.
                 For r > 1 both terms lie in [0, 1] and their sum in [1, 2]: the reciprocal errs by w, the
                 difference by 2w, the sum by 4w absolutely, which is as much relatively; the condition
                 number 1/(2r − 1) is at most 1: 2^-16 + 4w
    gumbel       −expm1(−r): condition number r/(e^r − 1) ≤ 1, one expm1: 2^-16 + 16w
    logistic     1/(1 + 1/r): condition number 1/(1 + r) ≤ 1, three roundings of positive numbers: 2^-16 + 3w;
                 r = ∞ gives 1, where r/(1 + r) would be undefined
    uniform      1 + ln r within [0, 1] has an unbounded condition number at its lower end. There the error is
                 absolute, at most 2^-16 + 16w + 2w < 2^-15, and it is added: ŝ ≥ S always

each below 2^-15 in all. Tests compare every law with ball arithmetic for all 65,536 possible first digits.
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
_UNIFORM_ERROR = 2.0**-15


@dataclass(frozen=True, slots=True)
class Law:
    """A noise law with scale 1.

    quantile: Q in ball arithmetic, for U strictly between 0 and 1.
    estimate: Q in floating point, from (u, −ln(1−u)); the error is in the lemma of `doubles`.
    survival: replaces r = e^−x by S(x), in single precision and in place, with the bound stated above.
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
    upper = np.maximum(r, 1)
    np.divide(1, upper, out=upper)
    np.subtract(1, upper, out=upper)  # exactly 0 for r ≤ 1: adding 1 only afterwards would round r away
    np.minimum(r, 1, out=r)
    r += upper
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
    with np.errstate(divide="ignore", over="ignore"):
        np.divide(1, r, out=r)
    r += 1
    np.divide(1, r, out=r)


def _uniform_estimate(u: Floats, minus_log_rest: Floats) -> Floats:
    return 1.0 - u


def _uniform_survival(r: Singles) -> None:
    with np.errstate(divide="ignore"):
        np.log(r, out=r)
    r += np.float32(1 + _UNIFORM_ERROR)
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
