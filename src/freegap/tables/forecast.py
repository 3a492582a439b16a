"""What a release would cost and how exact it would be, from its public parameters alone.

No table is opened and no bit is drawn: the noise does not depend on the data, so its size is known
beforehand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.estimate.bounds import gap_noise
from freegap.estimate.fusion import blue_variance_ratio
from freegap.laws import CONTINUOUS_NOISES, EXPONENTIAL, LAPLACE
from freegap.mechanisms.arguments import noise_argument
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.unknown_domain import UnknownPlan
from freegap.tables.results import readable
from freegap.tables.unknown import is_unknown, refuse_with_known, refuse_with_unknown
from freegap.values.rationals import Rational, count_argument, positive_rational, require_scale

__all__ = ["Forecast", "forecast_above", "forecast_top_k"]


@dataclass(frozen=True)
class Forecast:
    """What a release would charge, and the standard errors of what it would say.

    least, most: the ε that would be charged, at least and at most.
    gap_error: of each gap. estimate_error: of each estimated number of people, None without estimates.
    unknown: the plan, where the domain is unknown.
    """

    what: str
    least: Fraction
    most: Fraction
    gap_error: float
    estimate_error: float | None
    unknown: UnknownPlan | None = None

    def lines(self) -> list[str]:
        """For people."""
        most = readable(self.most)
        charge = most if self.least == self.most else f"{readable(self.least)} at least, {most} at most"
        lines = [
            f"Dry run of {self.what}: nothing was read, drawn or charged.",
            f"ε charged: {charge}",
            f"standard error of a gap: {self.gap_error:,.1f} people",
        ]
        if self.unknown is not None:
            lines[1] += f"; δ: {readable(self.unknown.delta)}; noise: {self.unknown.law.name}"
            return [
                *lines,
                f"an item comes out, more likely than not, with {math.ceil(self.unknown.lift):,} people more "
                f"than the item in place {self.unknown.pool + 1:,} has (0 if fewer occur)",
            ]
        if self.estimate_error is None:
            return [*lines, "no estimates of the number of people (ask with --measure)"]
        return [*lines, f"standard error of an estimate: {self.estimate_error:,.1f} people"]

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        unknown = self.unknown
        of_unknown = {} if unknown is None else {"delta": str(unknown.delta), "lift": float(unknown.lift)}
        return {
            "dry_run": self.what,
            **of_unknown,
            "charged_at_least": str(self.least),
            "charged_at_most": str(self.most),
            "gap_standard_error": self.gap_error,
            "estimate_standard_error": self.estimate_error,
        }


def forecast_top_k(
    *,
    k: int,
    epsilon: Rational,
    measure: bool = False,
    noise: str | None = None,
    domain: Any = None,
    delta: Rational | None = None,
    people: int | None = None,
    pool: int | None = None,
) -> Forecast:
    """What `top_k` with these parameters would cost and say.

    domain: looked at only to see whether it is "unknown".

    >>> forecast_top_k(k=10, epsilon=1).gap_error  # two exponential noises of scale 10
    14.142135623730951
    >>> float(forecast_top_k(k=10, epsilon=1, domain="unknown", delta="1e-8").unknown.lift)
    238.7724609375
    """
    if is_unknown(domain):
        refuse_with_unknown(measure=measure)
        plan = UnknownPlan.read(k=k, epsilon=epsilon, delta=delta, people=people, pool=pool, noise=noise)
        gap_error = math.sqrt(2 * plan.law.variance(float(plan.scale)))
        return Forecast("top-k", plan.epsilon, plan.epsilon, gap_error, None, plan)
    refuse_with_known(delta=delta, people=people, pool=pool)
    k = count_argument("k", k)
    budget = positive_rational("epsilon", epsilon)
    law = noise_argument(EXPONENTIAL.name if noise is None else noise, CONTINUOUS_NOISES)
    selecting = budget / 2 if measure else budget
    scale = k / selecting
    require_scale(scale, epsilon)
    gap_error = math.sqrt(2 * law.variance(float(scale)))
    if not measure:
        return Forecast("top-k", budget, budget, gap_error, None)
    measured = LAPLACE.variance(k / (budget - selecting))
    fused = measured * blue_variance_ratio(k, law.variance(scale) / measured)
    return Forecast("top-k", budget, budget, gap_error, math.sqrt(fused))


def forecast_above(*, k: int, epsilon: Rational, noise: str = "exponential") -> Forecast:
    """What `above` with these parameters would cost and say: the fewer items are found, the less.

    >>> forecast_above(k=20, epsilon=1).least < Fraction(1, 8)
    True
    """
    noise_argument(noise, CONTINUOUS_NOISES)
    plan = ThresholdPlan.read("hybrid_sparse_vector", k=k, epsilon=epsilon, monotonic=True, noise=noise)
    error = math.sqrt(gap_noise(plan, 0).variance)
    return Forecast("above", plan.threshold_budget, plan.epsilon, error, error)
