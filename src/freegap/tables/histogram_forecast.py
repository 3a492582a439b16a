"""What a histogram of a table would cost and how exact it would be, from its public parameters alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from freegap.errors import InvalidArgument
from freegap.estimate.noise_laws import half_width
from freegap.mechanisms.histogram import HistogramPlan
from freegap.tables.values import ClippedValue, unit_of, what_is_counted
from freegap.values.rationals import Rational, count_argument
from freegap.values.remarks import remarks_on
from freegap.values.written import readable


@dataclass(frozen=True)
class HistogramForecast:
    """What would be charged, and the error of a bin: all bins have the same noise."""

    plan: HistogramPlan
    counted: str

    @property
    def standard_error(self) -> float:
        """Of each bin."""
        return self.plan.standard_error

    @property
    def interval(self) -> float:
        """How far a 95 % interval reaches to either side."""
        return half_width(self.plan.law, self.plan.scale, self.plan.resolution, 0.05)

    def lines(self) -> list[str]:
        """For people."""
        asked = self.plan.asked
        of = " people" if self.counted == "people" else f" of the {self.counted}"
        return [
            "Dry run of histogram: nothing was read, drawn or charged.",
            f"{asked.symbol} charged: {readable(self.plan.charge)}",
            f"standard error of a bin: {self.standard_error:,.1f}{of}",
            f"95 % interval: {self.interval:,.1f}{of} to either side",
            *remarks_on(asked),
        ]

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "dry_run": "histogram",
            "measure": self.plan.asked.name,
            "remarks": remarks_on(self.plan.asked),
            "charged_at_least": str(self.plan.charge),
            "charged_at_most": str(self.plan.charge),
            "standard_error": self.standard_error,
            "interval": self.interval,
        }


def forecast_histogram(
    *,
    items_per_person: int | None,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    value: str | None = None,
    low: Rational | None = None,
    high: Rational | None = None,
    unit: Rational | None = None,
) -> HistogramForecast:
    """What `histogram` of a table with these parameters would cost and say.

    >>> forecast_histogram(items_per_person=1, epsilon=1).interval
    3.0...
    """
    if items_per_person is None:
        raise InvalidArgument(
            "items_per_person",
            None,
            "must be a number for a dry run: any number means all bins, which are not looked at",
            "Pass the number of bins.",
        )
    summed = ClippedValue.read(value, low, high, unit)
    grid = unit_of(summed)
    plan = HistogramPlan.read(
        bins=count_argument("items_per_person", items_per_person),
        items_per_person=items_per_person,
        epsilon=epsilon,
        rho=rho,
        sensitivity=1 if summed is None else summed.sensitivity * grid,
        resolution=grid,
    )
    return HistogramForecast(plan, what_is_counted(summed))
