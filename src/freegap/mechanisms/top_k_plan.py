"""The arguments that the top-k mechanisms share, and the noise that follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Self

from freegap.errors import InvalidArgument
from freegap.laws import CONTINUOUS_NOISES, EXPONENTIAL, GEOMETRIC, GUMBEL, NOISES, Law
from freegap.mechanisms.arguments import (
    DEFAULT_RESOLUTION,
    flag_argument,
    noise_argument,
    remembered,
    require_whole_sensitivity,
)
from freegap.values.formatted import formatted
from freegap.values.measures import Pure, ZeroConcentrated, measure_argument
from freegap.values.rationals import (
    count_argument,
    require_scale,
    resolution_argument,
    root_above,
    sensitivity_argument,
)


@dataclass(frozen=True, kw_only=True)
class TopKPlan:
    """Noise of one scale b for each answer; c = 1 if monotonic, else 2.

    Under ε, b = cΔk/ε. Geometric noise is for the order alone, and is drawn as the exponential noise that it
    rounds down: on whole answers, with ties broken by coin, that selects alike (see
    `freegap.mechanisms.top_k`).

    Under ρ, Gumbel noise of a rational scale b ≥ cΔ·√(K/8ρ), where K counts the places that the release tells
    of: k, and one more for the runner-up where the gap to it is released. What is charged is what that b
    costs, K·(cΔ/b)²/8 (docs/mathematics/concentrated.md); it is ρ itself where the root is rational.
    """

    mechanism: str = field(compare=False)  # noisy max is noisy top-k with k = 1
    k: int
    asked: Pure | ZeroConcentrated
    sensitivity: Fraction
    monotonic: bool
    law: Law
    resolution: Fraction
    gap: bool
    last_gap: bool = True

    @classmethod
    @remembered
    def read(
        cls,
        mechanism: str,
        *,
        k: Any,
        epsilon: Any = None,
        rho: Any = None,
        sensitivity: Any = 1,
        monotonic: Any = False,
        noise: Any = None,
        resolution: Any = DEFAULT_RESOLUTION,
        gap: Any = True,
        last_gap: Any = True,
    ) -> Self:
        """Read the arguments; an error names the one that cannot be used."""
        asked = measure_argument(epsilon=epsilon, rho=rho)
        grid = resolution_argument(resolution)
        delta = sensitivity_argument(sensitivity, grid)
        with_gap = flag_argument("gap", gap)
        law = _noise_argument(noise, asked, with_gap=with_gap)
        if law.lattice:
            require_whole_sensitivity(delta, sensitivity)
            grid = Fraction(1)  # answers are rounded down to whole numbers
        plan = cls(
            mechanism=mechanism,
            k=count_argument("k", k),
            asked=asked,
            sensitivity=delta,
            monotonic=flag_argument("monotonic", monotonic),
            law=law,
            resolution=grid,
            gap=with_gap,
            last_gap=flag_argument("last_gap", last_gap) and with_gap,
        )
        require_scale(plan.scale, rho if epsilon is None else epsilon, *asked.arguments())
        return plan

    @property
    def places(self) -> int:
        """How many of the largest noisy answers the release tells of."""
        return self.k + self.last_gap

    @property
    def _reach(self) -> Fraction:
        """cΔ, by how much one person can move two answers apart."""
        return (1 if self.monotonic else 2) * self.sensitivity

    @cached_property
    def scale(self) -> Fraction:
        """Of the noise in each answer."""
        if isinstance(self.asked, Pure):
            return self._reach * self.k / self.asked.epsilon
        return self._reach * _scale_and_charge(self.places, self.asked.rho)[0]

    @property
    def charge(self) -> Fraction:
        """What is spent, whatever is released (a hybrid may spend less under ε)."""
        if isinstance(self.asked, Pure):
            return self.asked.epsilon
        return _scale_and_charge(self.places, self.asked.rho)[1]

    @cached_property
    def written(self) -> tuple[Fraction, Fraction]:
        """The charge and the resolution, as a record has them."""
        return formatted(self.charge), formatted(self.resolution)

    def require_enough(self, n: int) -> None:
        """There are k answers, and a runner-up where the last gap is released."""
        if not self.last_gap:
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
    def parameters(self) -> dict[str, Any]:
        """The public parameters, for the record."""
        return {
            "k": self.k,
            "noise": self.law.name,
            "scale": self.scale,
            "sensitivity": self.sensitivity,
            "monotonic": self.monotonic,
        }


@lru_cache(maxsize=64)  # releases alike have the same
def _scale_and_charge(places: int, rho: Fraction) -> tuple[Fraction, Fraction]:
    """Under ρ, the scale of the noise in units of cΔ, and what that costs: K/8s² ≤ ρ."""
    scale = root_above(places / (8 * rho))
    return scale, places / (8 * scale**2)


def _noise_argument(noise: Any, asked: Pure | ZeroConcentrated, *, with_gap: bool) -> Law:
    if isinstance(asked, ZeroConcentrated):
        return noise_argument(GUMBEL.name if noise is None else noise, [GUMBEL.name], asked)
    if with_gap and noise == GEOMETRIC.name:
        raise InvalidArgument(
            "noise",
            noise,
            "has ties, and a gap would tell how they were broken",
            'Pass gap=False with it, or noise="exponential".',
        )
    if noise == GUMBEL.name:
        raise InvalidArgument(
            "noise",
            noise,
            f"has no theorem here for the measure {asked.name}",
            "Pass rho instead of epsilon; or call exponential_mechanism, which has one for a single choice.",
        )
    known = CONTINUOUS_NOISES if with_gap else NOISES
    return noise_argument(EXPONENTIAL.name if noise is None else noise, known)
