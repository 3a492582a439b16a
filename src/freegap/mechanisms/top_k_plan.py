"""The arguments that the top-k mechanisms share, and the noise that follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

from freegap.errors import InvalidArgument
from freegap.laws import CONTINUOUS_NOISES, GEOMETRIC, NOISES, Law
from freegap.mechanisms.arguments import (
    DEFAULT_RESOLUTION,
    flag_argument,
    noise_argument,
    require_whole_sensitivity,
)
from freegap.values.measures import Measure, Pure
from freegap.values.rationals import (
    count_argument,
    positive_rational,
    require_scale,
    resolution_argument,
    sensitivity_argument,
)

__all__ = ["TopKPlan"]


@dataclass(frozen=True, kw_only=True)
class TopKPlan:
    """Noise of scale cΔk/ε for each answer; c = 1 if monotonic, else 2.

    Geometric noise is for the order alone, and is drawn as the exponential noise that it rounds down: on
    whole answers, with ties broken by coin, that selects alike (see `freegap.mechanisms.top_k`).
    """

    mechanism: str = field(compare=False)  # noisy max is noisy top-k with k = 1
    k: int
    epsilon: Fraction
    sensitivity: Fraction
    monotonic: bool
    law: Law
    resolution: Fraction
    gap: bool

    @classmethod
    def read(
        cls,
        mechanism: str,
        *,
        k: Any,
        epsilon: Any,
        sensitivity: Any = 1,
        monotonic: Any = False,
        noise: Any = "exponential",
        resolution: Any = DEFAULT_RESOLUTION,
        gap: Any = True,
    ) -> Self:
        """Read the arguments; an error names the one that cannot be used."""
        grid = resolution_argument(resolution)
        delta = sensitivity_argument(sensitivity, grid)
        with_gap = flag_argument("gap", gap)
        if with_gap and noise == GEOMETRIC.name:
            raise InvalidArgument(
                "noise",
                noise,
                "has ties, and a gap would tell how they were broken",
                'Pass gap=False with it, or noise="exponential".',
            )
        law = noise_argument(noise, CONTINUOUS_NOISES if with_gap else NOISES)
        if law.lattice:
            require_whole_sensitivity(delta, sensitivity)
            grid = Fraction(1)  # answers are rounded down to whole numbers
        plan = cls(
            mechanism=mechanism,
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

    @property
    def scale(self) -> Fraction:
        """Of the noise in each answer."""
        return (1 if self.monotonic else 2) * self.sensitivity * self.k / self.epsilon

    def require_enough(self, n: int) -> None:
        """There are k answers, and a runner-up where the last gap is released."""
        if not self.gap:
            if self.k > n:
                raise InvalidArgument(
                    "k", self.k, f"must be at most the number of answers, {n}", f"Pass k={n}."
                )
        elif self.k >= n:
            raise InvalidArgument(
                "k",
                self.k,
                f"must be smaller than the number of answers, which is {n}: the last gap is to a runner-up",
                f"Pass k={n - 1}." if n > 1 else "Pass at least two answers.",
            )

    @property
    def asked(self) -> Measure:
        """The most that the release may be charged."""
        return Pure(self.epsilon)

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters, for the record."""
        return {
            "k": self.k,
            "noise": self.law.name,
            "scale": self.scale,
            "sensitivity": self.sensitivity,
            "monotonic": self.monotonic,
        }
