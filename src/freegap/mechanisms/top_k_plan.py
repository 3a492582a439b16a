"""The arguments that the top-k mechanisms share, and the noise that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.exact.laws import EXPONENTIAL, LAPLACE, Law
from freegap.mechanisms.arguments import flag_argument, noise_argument
from freegap.values.rationals import (
    count_argument,
    positive_rational,
    require_scale,
    resolution_argument,
    sensitivity_argument,
)

__all__ = ["LAWS", "TopKPlan", "plan_top_k"]

LAWS: dict[str, Law] = {"exponential": EXPONENTIAL, "laplace": LAPLACE}


@dataclass(frozen=True, kw_only=True)
class TopKPlan:
    """Noise of scale cΔk/ε for each answer; c = 1 if monotonic, else 2."""

    k: int
    epsilon: Fraction
    sensitivity: Fraction
    monotonic: bool
    law: Law
    resolution: Fraction

    @property
    def scale(self) -> Fraction:
        """Of the noise in each answer."""
        return (1 if self.monotonic else 2) * self.sensitivity * self.k / self.epsilon

    def parameters(self) -> dict[str, Any]:
        """The public parameters, for the record."""
        return {
            "k": self.k,
            "noise": self.law.name,
            "scale": self.scale,
            "sensitivity": self.sensitivity,
            "monotonic": self.monotonic,
        }


def plan_top_k(
    *, k: Any, epsilon: Any, sensitivity: Any, monotonic: Any, noise: Any, resolution: Any
) -> TopKPlan:
    """Read the arguments; an error names the one that cannot be used."""
    grid = resolution_argument(resolution)
    plan = TopKPlan(
        k=count_argument("k", k),
        epsilon=positive_rational("epsilon", epsilon),
        sensitivity=sensitivity_argument(sensitivity, grid),
        monotonic=flag_argument("monotonic", monotonic),
        law=LAWS[noise_argument(noise, LAWS)],
        resolution=grid,
    )
    require_scale(plan.scale, epsilon)
    return plan
