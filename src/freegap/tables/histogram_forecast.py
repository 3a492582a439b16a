"""What a histogram of a table would cost and how exact it would be, from its public parameters alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.errors import InvalidArgument
from freegap.estimate.noise_laws import half_width
from freegap.mechanisms.histogram import HistogramPlan
from freegap.tables.histograms import reach_of
from freegap.tables.means import plans_of_means, require_means
from freegap.tables.values import ClippedValue, unit_of, what_is_counted
from freegap.values.measures import Measure
from freegap.values.rationals import Rational, count_argument
from freegap.values.remarks import remarks_on
from freegap.values.written import readable

_PEOPLE = (100, 1_000, 10_000, 100_000)
"""Of so many people the error of a mean is said."""


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


@dataclass(frozen=True)
class MeansForecast:
    """What means would cost, and how exact they would be, by how many people a bin has.

    spread: by how much a value is away from the centre at most.
    """

    of_counts: HistogramPlan
    of_sums: HistogramPlan
    asked: Measure
    spread: Fraction
    counted: str

    @property
    def charge(self) -> Fraction:
        """Of both histograms."""
        return self.of_counts.charge + self.of_sums.charge

    @property
    def people(self) -> float:
        """How far a 95 % interval of the number of people reaches to either side."""
        return half_width(self.of_counts.law, self.of_counts.scale, self.of_counts.resolution, 0.05)

    def interval(self, people: int) -> float | None:
        """How far a 95 % interval of the mean of so many people reaches to either side, at most, where the
        noise is 0; None where it may be all of the range.

        With p and w for the reaches of count and sum, c + (s ± w)/(n ± p) is away from c + s/n by at most
        (w + p·spread)/(n − p), as s is at most n·spread in size.
        """
        of_people, of_sums = (reach_of(plan, 0.025) for plan in (self.of_counts, self.of_sums))
        if people <= of_people:
            return None
        away = (of_sums + of_people * self.spread) / (people - of_people)
        return None if away >= 2 * self.spread else float(away)

    def lines(self) -> list[str]:
        """For people."""
        ends = {people: self.interval(people) for people in _PEOPLE}
        return [
            "Dry run of histogram: nothing was read, drawn or charged.",
            f"{self.asked.symbol} charged: {readable(self.charge)}",
            f"95 % interval of the number of people: {self.people:,.1f} to either side",
            *(
                f"95 % interval of the {self.counted} of {people:,} people: "
                + ("anything" if end is None else f"at most about {end:,.4g} to either side")
                for people, end in ends.items()
            ),
            *remarks_on(self.asked),
        ]

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "dry_run": "histogram",
            "mean": True,
            "measure": self.asked.name,
            "remarks": remarks_on(self.asked),
            "charged_at_least": str(self.charge),
            "charged_at_most": str(self.charge),
            "interval_of_people": self.people,
            "intervals": {str(people): self.interval(people) for people in _PEOPLE},
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
    mean: bool = False,
) -> HistogramForecast | MeansForecast:
    """What `histogram` of a table with these parameters would cost and say.

    >>> forecast_histogram(items_per_person=1, epsilon=1).interval
    3.0...
    >>> costs = {"value": "cost", "low": 0, "high": 400, "mean": True}
    >>> forecast_histogram(items_per_person=1, epsilon=1, **costs).interval(1000)
    2.8...
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
    if mean:
        by = require_means(summed, mean)
        centre, of_counts, of_sums = plans_of_means(by, plan)
        spread = max(by.high - centre, centre - by.low)
        return MeansForecast(of_counts, of_sums, plan.asked, spread, f"mean {by.column}")
    return HistogramForecast(plan, what_is_counted(summed))
