"""The arguments that the top-k mechanisms share, and the noise that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.exact.laws import EXPONENTIAL, LAPLACE, Law
from freegap.mechanisms.arguments import flag_argument, noise_argument, require_whole_sensitivity
from freegap.values.rationals import (
    count_argument,
    positive_rational,
    require_scale,
    resolution_argument,
    sensitivity_argument,
)

__all__ = ["LAWS", "TopKPlan", "plan_top_k"]

LAWS: dict[str, Law] = {"exponential": EXPONENTIAL, "laplace": LAPLACE}
WITHOUT_GAP: dict[str, Law] = {**LAWS, "geometric": EXPONENTIAL}
"""What may be asked for where no gap is released. On whole answers geometric noise with ties broken by coin
selects as exponential noise does: see `freegap.mechanisms.top_k`."""


@dataclass(frozen=True, kw_only=True)
class TopKPlan:
    """Noise of scale cΔk/ε for each answer; c = 1 if monotonic, else 2."""

    k: int
    epsilon: Fraction
    sensitivity: Fraction
    monotonic: bool
    noise: str
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
            "noise": self.noise,
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
    name = noise_argument(noise, LAWS if with_gap else WITHOUT_GAP)
    if name == "geometric":
        require_whole_sensitivity(delta, sensitivity)
        grid = Fraction(1)  # answers are rounded down to whole numbers
    plan = TopKPlan(
        k=count_argument("k", k),
        epsilon=positive_rational("epsilon", epsilon),
        sensitivity=delta,
        monotonic=flag_argument("monotonic", monotonic),
        noise=name,
        law=WITHOUT_GAP[name],
        resolution=grid,
        gap=with_gap,
    )
    require_scale(plan.scale, epsilon)
    return plan
