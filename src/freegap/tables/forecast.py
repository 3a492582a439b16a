"""What a release would cost and how exact it would be, from its public parameters alone.

No table is opened and no bit is drawn: the noise does not depend on the data, so its size is known
beforehand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from freegap.estimate.bounds import gap_noise
from freegap.estimate.expected import top_k_errors
from freegap.laws import CONTINUOUS_NOISES
from freegap.mechanisms.arguments import noise_argument
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.unknown_domain import UnknownPlan
from freegap.tables.unknown import is_unknown, refuse_with_known, refuse_with_unknown
from freegap.values.measures import (
    Measure,
    Pure,
    ZeroConcentrated,
    measure_argument,
    pure_within,
    rho_within,
)
from freegap.values.rationals import Rational
from freegap.values.written import readable

__all__ = ["Forecast", "forecast_above", "forecast_top_k"]


@dataclass(frozen=True)
class Forecast:
    """What a release would charge, and the standard errors of what it would say.

    asked: what would be asked for, in its measure.
    least, most: what would be charged, at least and at most.
    gap_error: of each gap. estimate_error: of each estimated number of people, None without estimates.
    unknown: the plan, where the domain is unknown.
    instead: the same release in the other measure: under ρ what ε promises with δ = 10⁻⁶, and for a release
        under ρ the ε that costs as much there.
    """

    what: str
    asked: Measure
    least: Fraction
    most: Fraction
    gap_error: float
    estimate_error: float | None
    unknown: UnknownPlan | None = None
    instead: Forecast | None = None

    def lines(self) -> list[str]:
        """For people."""
        most = readable(self.most)
        charge = most if self.least == self.most else f"{readable(self.least)} at least, {most} at most"
        lines = [
            f"Dry run of {self.what}: nothing was read, drawn or charged.",
            f"{self.asked.symbol} charged: {charge}",
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
            lines.append("no estimates of the number of people (ask with --measure)")
        else:
            lines.append(f"standard error of an estimate: {self.estimate_error:,.1f} people")
        return lines if self.instead is None else [*lines, self._in_other_words(self.instead)]

    def _in_other_words(self, other: Forecast) -> str:
        amount = f"with {other.asked.symbol} = {float(other.asked.spent):.6g} instead, which"
        is_ = f"is {self.asked} with δ = 10^-6" if isinstance(self.asked, Pure) else f"costs {self.asked}"
        error = f"standard error of a gap {other.gap_error:,.1f} people"
        if other.estimate_error is not None:
            error += f", of an estimate {other.estimate_error:,.1f} people"
        return f"{amount} {is_}: {error}"

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        unknown = self.unknown
        of_unknown = {} if unknown is None else {"delta": str(unknown.delta), "lift": float(unknown.lift)}
        return {
            "dry_run": self.what,
            "measure": self.asked.name,
            **of_unknown,
            "charged_at_least": str(self.least),
            "charged_at_most": str(self.most),
            "gap_standard_error": self.gap_error,
            "estimate_standard_error": self.estimate_error,
            **({} if self.instead is None else {"instead": self.instead._short()}),
        }

    def _short(self) -> dict[str, Any]:
        return {
            self.asked.name: float(self.asked.spent),
            "gap_standard_error": self.gap_error,
            "estimate_standard_error": self.estimate_error,
        }


def forecast_top_k(
    *,
    k: int,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
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
        refuse_with_unknown(measure=measure, rho=rho)
        plan = UnknownPlan.read(k=k, epsilon=epsilon, delta=delta, people=people, pool=pool, noise=noise)
        gap_error = math.sqrt(2 * plan.law.variance(float(plan.scale)))
        return Forecast("top-k", plan.asked, plan.epsilon, plan.epsilon, gap_error, None, plan)
    refuse_with_known(delta=delta, people=people, pool=pool)
    asked = measure_argument(epsilon=epsilon, rho=rho)
    made = _top_k(asked, k, noise, measure)
    return replace(made, instead=_top_k(_other(asked), k, None, measure))


def _other(asked: Pure | ZeroConcentrated) -> Pure | ZeroConcentrated:
    """The same budget in the other measure."""
    if isinstance(asked, Pure):
        return ZeroConcentrated(rho_within(asked.epsilon, Fraction(1, 10**6)))
    return pure_within(asked)


def _top_k(asked: Pure | ZeroConcentrated, k: int, noise: str | None, measure: bool) -> Forecast:
    made = top_k_errors(asked, k, noise, measured=measure)
    return Forecast("top-k", asked, made.charge, made.charge, made.gap, made.estimate)


def forecast_above(
    *, k: int, epsilon: Rational | None = None, rho: Rational | None = None, noise: str = "exponential"
) -> Forecast:
    """What `above` with these parameters would cost and say: the fewer items are found, the less.

    >>> forecast_above(k=20, epsilon=1).least < Fraction(1, 8)
    True
    """
    noise_argument(noise, CONTINUOUS_NOISES)
    plan = ThresholdPlan.read(
        "hybrid_sparse_vector", k=k, epsilon=epsilon, rho=rho, monotonic=True, noise=noise
    )
    error = math.sqrt(gap_noise(plan, 0).variance)
    least, most = plan.charge(plan.threshold_budget), plan.charge(plan.epsilon)
    return Forecast("above", plan.asked, least, most, error, error)
