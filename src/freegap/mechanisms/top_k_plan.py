"""The arguments that the top-k mechanisms share, and the noise that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.laws import CONTINUOUS_NOISES, NOISES, Law
from freegap.mechanisms.arguments import flag_argument, noise_argument, require_whole_sensitivity
from freegap.values.rationals import (
    count_argument,
    positive_rational,
    require_scale,
    resolution_argument,
    sensitivity_argument,
)

__all__ = ["TopKPlan", "plan_top_k"]


@dataclass(frozen=True, kw_only=True)
class TopKPlan:
    """Noise of scale cΔk/ε for each answer; c = 1 if monotonic, else 2.

    Geometric noise is for the order alone, and is drawn as the exponential noise that it rounds down: on
    whole answers, with ties broken by coin, that selects alike (see `freegap.mechanisms.top_k`).
    """

    k: int
    epsilon: Fraction
    sensitivity: Fraction
    monotonic: bool
    law: Law
    resolution: Fraction
    gap: bool = True

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
    *, k: Any, epsilon: Any, sensitivity: Any, monotonic: Any, noise: Any, resolution: Any, gap: Any = True
) -> TopKPlan:
    """Read the arguments; an error names the one that cannot be used."""
    grid = resolution_argument(resolution)
    delta = sensitivity_argument(sensitivity, grid)
    with_gap = flag_argument("gap", gap)
    law = noise_argument(noise, CONTINUOUS_NOISES if with_gap else NOISES)
    if law.lattice:
        require_whole_sensitivity(delta, sensitivity)
        grid = Fraction(1)  # answers are rounded down to whole numbers
    plan = TopKPlan(
        k=count_argument("k", k),
        epsilon=positive_rational("epsilon", epsilon),
        sensitivity=delta,
        monotonic=flag_argument("monotonic", monotonic),
        law=law,
        resolution=grid,
        gap=with_gap,
    )
    require_scale(plan.scale, epsilon)
    return plan
