"""Google's library through python-dp (PyDP)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Mechanism = Callable[[list[Any]], Any]


def laplace(epsilon: float) -> Mechanism:
    """`LaplaceMechanism`."""
    from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

    noisy = LaplaceMechanism(epsilon, 1.0)
    return lambda answers: noisy.add_noise(float(sum(answers)))


def gaussian(epsilon: float) -> Mechanism:
    """`GaussianMechanism` at δ = 1e-5."""
    from pydp.algorithms.numerical_mechanisms import GaussianMechanism

    noisy = GaussianMechanism(epsilon, 1e-5, 1.0)
    return lambda answers: noisy.add_noise(float(sum(answers)))


def count(epsilon: float) -> Mechanism:
    """`Count` of as many rows as the answer says."""
    from pydp.algorithms.laplacian import Count

    counted = Count(epsilon=epsilon, dtype="int")
    return lambda answers: counted.quick_result([1] * max(0, int(sum(answers))))


MECHANISMS: dict[str, Callable[[float], Mechanism]] = {
    "laplace": laplace,
    "gaussian": gaussian,
    "count": count,
}
