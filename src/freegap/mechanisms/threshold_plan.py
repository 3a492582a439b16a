"""How the sparse-vector mechanisms divide their budget, and what noise follows from that.

ε₀ = θε is for the threshold, ε₁ = (1 − θ)ε/k for each answer above it. Further branches try first with half,
a quarter, … of ε₁, and take what is above by a margin (Ding 2020, algorithm 16 and the remark below it).
With c = 1 if monotonic, else 2:

    threshold   noise of scale Δ/ε₀
    branch j    noise of scale cΔ/(ε₁/2^j); margin = `margin` standard deviations of it; none for j = 0

Under ρ the theorems are those in ε, with the ε that ρ allows by the conversion from pure privacy (Bun and
Steinke 2016, proposition 1.4). What is charged is then the price of all of that ε, whatever is found: a
charge that depends on the output has a theorem in ε alone.

Every number here is public and a rational, so that charges are exact. The optimal θ and a standard deviation
of Laplace or geometric noise are irrational; a rational near them is taken, which is as private: the proofs
hold for every share and every public margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from freegap.errors import InvalidArgument
from freegap.exact.noisy_threshold import Branch
from freegap.laws import NOISES, Law
from freegap.mechanisms.arguments import (
    DEFAULT_RESOLUTION,
    flag_argument,
    noise_argument,
    remembered,
    require_whole_sensitivity,
)
from freegap.values.balls import as_ball
from freegap.values.measures import Pure, ZeroConcentrated, converted, measure_argument, pure_within
from freegap.values.rationals import (
    count_argument,
    proper_fraction,
    rational,
    require_scale,
    resolution_argument,
    sensitivity_argument,
)

_MOST_HALVINGS = 64  # of ε₁; beyond that a branch finds nothing
_FINE = 2**20  # irrational parameters become multiples of 1/_FINE


@dataclass(frozen=True, kw_only=True)
class ThresholdPlan:
    """The budget of one sparse-vector release, divided; the cheapest branch comes first.

    epsilon: what is divided: the ε that was asked for, or the one that ρ allows.
    """

    mechanism: str
    asked: Pure | ZeroConcentrated
    epsilon: Fraction
    k: int
    share: Fraction
    sensitivity: Fraction
    monotonic: bool
    law: Law
    resolution: Fraction
    threshold_budget: Fraction
    threshold_scale: Fraction
    branches: tuple[Branch, ...]
    gap: bool
    stop_after: int | None

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
        noise: Any = "exponential",
        resolution: Any = DEFAULT_RESOLUTION,
        share: Any = None,
        gap: Any = True,
        branches: Any = 0,
        margin: Any = 2,
        stop_after: Any = None,
    ) -> Self:
        """Read the arguments of the sparse-vector mechanisms, and divide the budget."""
        k = count_argument("k", k)
        asked = measure_argument(epsilon=epsilon, rho=rho)
        budget = pure_within(asked).epsilon
        grid = resolution_argument(resolution)
        delta = sensitivity_argument(sensitivity, grid)
        law = noise_argument(noise, NOISES, asked)
        flag = flag_argument("monotonic", monotonic)
        halvings = count_argument("branches", branches, least=0)
        if halvings > _MOST_HALVINGS:
            raise InvalidArgument(
                "branches", halvings, f"must be at most {_MOST_HALVINGS}", "The paper has 1."
            )
        deviations = rational("margin", margin)
        if deviations < 0:
            raise InvalidArgument("margin", margin, "must be at least 0", "Pass for example margin=2.")
        if law.lattice:
            require_whole_sensitivity(delta, sensitivity)
            grid = Fraction(1)  # gaps are whole numbers
        theta = _share_argument(share, k, flag, halvings)
        first, each = theta * budget, (1 - theta) * budget / k
        scale = (1 if flag else 2) * delta / each
        threshold_scale = delta / first
        for width in (scale, threshold_scale):
            require_scale(width, rho if epsilon is None else epsilon, *asked.arguments())
        return cls(
            mechanism=mechanism,
            asked=asked,
            epsilon=budget,
            k=k,
            share=theta,
            sensitivity=delta,
            monotonic=flag,
            law=law,
            resolution=grid,
            threshold_budget=first,
            threshold_scale=threshold_scale,
            branches=tuple(
                Branch(
                    budget=each / 2**j,
                    scale=scale * 2**j,
                    shift=mean_difference(law, scale * 2**j, threshold_scale),
                    margin=_deviations(law, scale * 2**j, deviations) if j else Fraction(0),
                )
                for j in range(halvings, -1, -1)
            ),
            gap=flag_argument("gap", gap),
            stop_after=None if stop_after is None else count_argument("stop_after", stop_after),
        )

    @property
    def answer_budget(self) -> Fraction:
        """ε₁, the most that one answer above the threshold costs."""
        return self.branches[-1].budget

    def ends(self, spent: Fraction, above: int) -> bool:
        """Whether no further question is answered: less than ε₁ is left, or enough answers were above."""
        return spent > self.epsilon - self.answer_budget or above == self.stop_after

    def charge(self, used: Fraction) -> Fraction:
        """What is charged for an output that costs `used` in ε, in the measure that was asked for."""
        if isinstance(self.asked, Pure):
            return used
        return converted(Pure(self.epsilon), ZeroConcentrated).rho

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters, for the record."""
        return {
            "k": self.k,
            "noise": self.law.name,
            "share": self.share,
            "sensitivity": self.sensitivity,
            "monotonic": self.monotonic,
            "threshold_scale": self.threshold_scale,
            "scales": [str(branch.scale) for branch in self.branches],
        }


def optimal_share(k: int, *, monotonic: bool = False, halvings: int = 0) -> Fraction:
    """The θ that makes the variance of a gap least: 1/(1 + ∛(c²k²4^halvings)) (Ding 2020, section 5.4.1).

    halvings: 0 for gaps of the base branch, j for those of a branch with budget ε₁/2^j.

    >>> float(optimal_share(4, monotonic=True))  # 1/(1 + ∛16)
    0.2841...
    """
    c = 1 if monotonic else 2
    return Fraction(round(_FINE / (1 + math.cbrt(c * c * k * k * 4**halvings))) or 1, _FINE)


def _share_argument(share: Any, k: int, monotonic: bool, halvings: int) -> Fraction:
    if share is None or share == "middle":
        return optimal_share(k, monotonic=monotonic)
    if share == "top":
        return optimal_share(k, monotonic=monotonic, halvings=halvings)
    remedy = 'Leave it out, or pass "middle" or "top", for the one that makes the gaps most accurate.'
    return proper_fraction("share", share, remedy)


def mean_difference(law: Law, scale: Fraction, threshold_scale: Fraction) -> Fraction:
    """E[answer's noise] − E[threshold's noise]; for noise on a grid the nearest whole number to it.

    A gap that must be a whole number can only be shifted by one; what is left of the mean is at most
    one half, and `freegap.estimate` corrects for it.
    """
    difference = law.mean(scale) - law.mean(threshold_scale)
    if isinstance(difference, Fraction):
        return difference
    unit = 1 if law.lattice else _FINE
    return Fraction(round(float((difference * unit).mid())), unit)


def _deviations(law: Law, scale: Fraction, number: Fraction) -> Fraction:
    """`number` standard deviations of noise of this scale; rounded up where that is irrational."""
    variance = law.variance(scale)
    if isinstance(variance, Fraction):
        square = number**2 * variance
        exact = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
        if exact**2 == square:
            return exact
        square *= _FINE**2
        root = math.isqrt(math.ceil(square))
        return Fraction(root if root * root >= square else root + 1, _FINE)
    unit = 1 if law.lattice else _FINE
    return Fraction(math.ceil(float((variance.upper().sqrt() * as_ball(number * unit)).upper())), unit)
