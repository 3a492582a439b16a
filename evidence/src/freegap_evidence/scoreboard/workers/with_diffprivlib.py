"""Mechanisms and models of diffprivlib."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Mechanism = Callable[[list[Any]], Any]


def _noise(name: str, kind: type = float, **settings: Any) -> Callable[[float], Mechanism]:
    """A mechanism that adds noise to a number of sensitivity 1."""

    def make(epsilon: float) -> Mechanism:
        from diffprivlib import mechanisms

        made = getattr(mechanisms, name)(epsilon=epsilon, sensitivity=kind(1), **settings)
        return lambda answers: made.randomise(kind(sum(answers)))

    return make


def _choice(name: str) -> Callable[[float], Mechanism]:
    """A choice of one of the answers, each of which moves by at most 1."""

    def make(epsilon: float) -> Mechanism:
        from diffprivlib import mechanisms

        kind = getattr(mechanisms, name)
        return lambda answers: int(kind(epsilon=epsilon, sensitivity=1.0, utility=answers).randomise())

    return make


def binary(epsilon: float) -> Mechanism:
    """`Binary`: randomised response."""
    from diffprivlib import mechanisms

    made = mechanisms.Binary(epsilon=epsilon, value0="no", value1="yes")
    return lambda answers: made.randomise("yes" if sum(answers) > 0 else "no")


def linear_regression(epsilon: float) -> Mechanism:
    """`LinearRegression` without an intercept, on points (x, y) with bounds from 0 to 10."""
    import numpy as np
    from diffprivlib.models import LinearRegression

    def fit(answers: list[Any]) -> float:
        points = np.array(answers, dtype=float).reshape(-1, 2)
        model = LinearRegression(
            epsilon=epsilon, bounds_X=(0.0, 10.0), bounds_y=(0.0, 10.0), fit_intercept=False
        )
        model.fit(points[:, :1], points[:, 1])
        return float(np.ravel(model.coef_)[0])

    return fit


MECHANISMS: dict[str, Callable[[float], Mechanism]] = {
    "laplace": _noise("Laplace"),
    "laplace_truncated": _noise("LaplaceTruncated", lower=0.0, upper=3.0),
    "snapping": _noise("Snapping", lower=-10.0, upper=10.0),
    "geometric": _noise("Geometric", int),
    "geometric_truncated": _noise("GeometricTruncated", int, lower=0, upper=5),
    "gaussian": _noise("GaussianAnalytic", delta=1e-5),
    "exponential": _choice("Exponential"),
    "permute_and_flip": _choice("PermuteAndFlip"),
    "binary": binary,
    "linear_regression": linear_regression,
}
