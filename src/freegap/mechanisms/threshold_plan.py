"""How the sparse-vector mechanisms divide their budget, and what noise follows from that.

ε₀ = θε is for the threshold, ε₁ = (1 − θ)ε/k for each answer above it. Further branches try first with half,
a quarter, … of ε₁, and take what is above by a margin (Ding 2020, algorithm 16 and the remark below it).
With c = 1 if monotonic, else 2:

    threshold   noise of scale Δ/ε₀
    branch j    noise of scale cΔ/(ε₁/2^j); margin = `margin` standard deviations of it; none for j = 0

Every number here is public and a rational, so that charges are exact. The optimal θ and a standard deviation
of Laplace or geometric noise are irrational; a rational near them is taken, which is as private: the proofs
hold for every share and every public margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from freegap.errors import InvalidArgument
from freegap.exact.comparing import Branch
from freegap.exact.laws import EXPONENTIAL, LAPLACE, Law
from freegap.mechanisms.arguments import flag_argument, noise_argument, require_whole_sensitivity
from freegap.values.rationals import (
    count_argument,
    positive_rational,
    proper_fraction,
    rational,
    require_scale,
    resolution_argument,
    sensitivity_argument,
)

__all__ = ["NOISES", "ThresholdPlan", "mean_difference", "optimal_share", "plan_threshold"]

NOISES = ("laplace", "exponential", "geometric")

_MOST_HALVINGS = 64  # of ε₁; beyond that a branch finds nothing
_FINE = 2**20  # irrational parameters become multiples of 1/_FINE


@dataclass(frozen=True, kw_only=True)
class ThresholdPlan:
    """The budget of one sparse-vector release, divided; the cheapest branch comes first."""

    epsilon: Fraction
    k: int
    share: Fraction
    sensitivity: Fraction
    monotonic: bool
    noise: str
    resolution: Fraction
    threshold_budget: Fraction
    threshold_scale: Fraction
    branches: tuple[Branch, ...]

    @property
    def law(self) -> Law:
        """The continuous law that the noise is made from."""
        return LAPLACE if self.noise == "laplace" else EXPONENTIAL

    @property
    def discrete(self) -> bool:
        """Whether noise, answers and gaps are whole numbers."""
        return self.noise == "geometric"

    @property
    def answer_budget(self) -> Fraction:
        """ε₁, the most that one answer above the threshold costs."""
        return self.branches[-1].budget

    def parameters(self) -> dict[str, Any]:
        """The public parameters, for the record."""
        return {
            "k": self.k,
            "noise": self.noise,
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


def plan_threshold(
    *,
    k: Any,
    epsilon: Any,
    sensitivity: Any,
    monotonic: Any,
    noise: Any,
    resolution: Any,
    share: Any,
    halvings: Any = 0,
    margin: Any = 2,
) -> ThresholdPlan:
    """Read the arguments that the sparse-vector mechanisms share, and divide the budget."""
    k = count_argument("k", k)
    budget = positive_rational("epsilon", epsilon)
    grid = resolution_argument(resolution)
    delta = sensitivity_argument(sensitivity, grid)
    name = noise_argument(noise, NOISES)
    flag = flag_argument("monotonic", monotonic)
    halvings = count_argument("branches", halvings, least=0)
    if halvings > _MOST_HALVINGS:
        raise InvalidArgument("branches", halvings, f"must be at most {_MOST_HALVINGS}", "The paper has 1.")
    deviations = rational("margin", margin)
    if deviations < 0:
        raise InvalidArgument("margin", margin, "must be at least 0", "Pass for example margin=2.")
    if name == "geometric":
        require_whole_sensitivity(delta, sensitivity)
        grid = Fraction(1)  # gaps are whole numbers
    theta = _share_argument(share, k, flag, halvings)
    first, each = theta * budget, (1 - theta) * budget / k
    scale = (1 if flag else 2) * delta / each
    threshold_scale = delta / first
    require_scale(scale, epsilon)
    require_scale(threshold_scale, epsilon)
    branches = tuple(
        Branch(
            budget=each / 2**j,
            scale=scale * 2**j,
            shift=mean_difference(name, scale * 2**j, threshold_scale),
            margin=_deviations(name, scale * 2**j, deviations) if j else Fraction(0),
        )
        for j in range(halvings, -1, -1)
    )
    return ThresholdPlan(
        epsilon=budget,
        k=k,
        share=theta,
        sensitivity=delta,
        monotonic=flag,
        noise=name,
        resolution=grid,
        threshold_budget=first,
        threshold_scale=threshold_scale,
        branches=branches,
    )


def _share_argument(share: Any, k: int, monotonic: bool, halvings: int) -> Fraction:
    if share is None or share == "middle":
        return optimal_share(k, monotonic=monotonic)
    if share == "top":
        return optimal_share(k, monotonic=monotonic, halvings=halvings)
    remedy = 'Leave it out, or pass "middle" or "top", for the one that makes the gaps most accurate.'
    return proper_fraction("share", share, remedy)


def _geometric(scale: Fraction) -> tuple[Any, Any]:
    """Mean and standard deviation of ⌊scale·Exp(1)⌋: e^−θ/(1 − e^−θ) and e^(−θ/2)/(1 − e^−θ), θ = 1/scale.

    By powers of e^−θ, which no θ > 0 makes too large: with an ε in the thousands, θ is too.
    """
    theta = arb(fmpq(scale.denominator, scale.numerator))
    rest = -((-theta).expm1())
    return (-theta).exp() / rest, (-theta / 2).exp() / rest


def mean_difference(noise: str, scale: Fraction, threshold_scale: Fraction) -> Fraction:
    """E[answer's noise] − E[threshold's noise], for geometric noise the nearest whole number to it.

    A gap that must be a whole number can only be shifted by one; what is left of the mean is at most
    one half, and `freegap.estimate` corrects for it.
    """
    if noise == "laplace":
        return Fraction(0)
    if noise == "exponential":
        return scale - threshold_scale
    difference = _geometric(scale)[0] - _geometric(threshold_scale)[0]
    return Fraction(round(float(difference.mid())))


def _deviations(noise: str, scale: Fraction, number: Fraction) -> Fraction:
    """`number` standard deviations of noise of this scale, rounded up to a rational."""
    if noise == "exponential":
        return number * scale
    if noise == "laplace":
        square = 2 * (number * scale * _FINE) ** 2
        root = math.isqrt(math.ceil(square))
        return Fraction(root if root * root >= square else root + 1, _FINE)
    deviation = _geometric(scale)[1] * arb(fmpq(number.numerator, number.denominator))
    return Fraction(math.ceil(float(deviation.upper())))
