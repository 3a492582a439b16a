"""Mechanisms and models of diffprivlib."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import metadata
from types import ModuleType
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


def _leave_out_models() -> None:
    """Version 0.4.0 has models that ask a recent scikit-learn for names that are gone; they are left out."""
    if metadata.version("diffprivlib") == "0.4.0":
        for module, name in (
            ("logistic_regression", "LogisticRegression"),
            ("k_means", "KMeans"),
            ("pca", "PCA"),
        ):
            stand_in: Any = ModuleType(module)
            setattr(stand_in, name, None)
            sys.modules[f"diffprivlib.models.{module}"] = stand_in


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


def regression_objective(epsilon: float) -> Mechanism:
    """The first coefficient of the objective of `LinearRegression`, on the same points: in version 0.4.0 the
    model itself asks a recent scikit-learn for what is gone."""
    import numpy as np

    _leave_out_models()
    from diffprivlib.models.linear_regression import _construct_regression_obj as objective

    bounds = np.array([0.0]), np.array([10.0])

    def first(answers: list[Any]) -> float:
        points = np.array(answers, dtype=float).reshape(-1, 2)
        return float(objective(points[:, :1], points[:, 1], bounds, bounds, epsilon, 0)[1][0][0])

    return first


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
    "regression_objective": regression_objective,
}
