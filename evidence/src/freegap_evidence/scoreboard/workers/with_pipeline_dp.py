"""PipelineDP, whose noise is that of python-dp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Mechanism = Callable[[list[Any]], Any]


def laplace(epsilon: float) -> Mechanism:
    """`LaplaceMechanism` of `pipeline_dp.dp_computations`."""
    from pipeline_dp import dp_computations

    noisy = dp_computations.LaplaceMechanism.create_from_epsilon(epsilon, 1.0)
    return lambda answers: noisy.add_noise(float(sum(answers)))


MECHANISMS: dict[str, Callable[[float], Mechanism]] = {"laplace": laplace}
