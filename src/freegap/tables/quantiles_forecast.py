"""What quantiles would cost and how exact they would be, from public parameters alone."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from freegap.mechanisms.quantiles import MOST_CELLS, Grid, QuantilesPlan
from freegap.tables.forecast import touched_by
from freegap.tables.quantiles import in_parts, read_grouping, read_plan, rule_on
from freegap.tables.quantiles_range import RangeSearch
from freegap.values.measures import measure_argument
from freegap.values.rationals import Rational
from freegap.values.remarks import remarks_on
from freegap.values.written import readable


@dataclass(frozen=True)
class QuantilesForecast:
    """What would be charged, and by how many people the ranks would be off.

    touched: where there are groups, the number of parts into which the budget is divided; else 0.
    """

    plan: QuantilesPlan
    range_: Grid | RangeSearch
    touched: int = 0

    @property
    def rank_error(self) -> float:
        """As of the release; where the range is to be found, of the finest grid that there is."""
        return self.plan.rank_error(self.range_.cells if isinstance(self.range_, Grid) else MOST_CELLS)

    def lines(self) -> list[str]:
        """For people."""
        found = [] if isinstance(self.range_, Grid) else ["the range is found first, for an eighth of that"]
        part = "all" if self.touched == 1 else f"1/{self.touched:,}"
        groups = f"; each group has {part} of {'the rest' if found else 'it'}" if self.touched else ""
        whose, all_ = ("all of a group", "its people") if self.touched else ("all", "all")
        return [
            "Dry run of quantiles: nothing was read, drawn or charged.",
            f"{self.plan.asked.symbol} charged: {readable(self.plan.charge)}{groups}",
            *found,
            f"ranks: with probability 95 % {whose} are off by at most {self.rank_error:,.0f} people, and by "
            f"{self.plan.tied:.2%} of {all_}",
            *remarks_on(self.plan.asked),
        ]

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        charged = str(self.plan.charge)
        return {
            "dry_run": "quantiles",
            "measure": self.plan.asked.name,
            "remarks": remarks_on(self.plan.asked),
            "charged_at_least": charged,
            "charged_at_most": charged,
            "rank_error": self.rank_error,
            "tied": self.plan.tied,
            **({"groups_per_person": self.touched} if self.touched else {}),
        }


def forecast_quantiles(
    *,
    q: Any,
    low: Rational | datetime.date | None = None,
    high: Rational | datetime.date | None = None,
    resolution: Rational | datetime.timedelta = 1,
    per_person: str = "median",
    intervals: bool = False,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    group: str | None = None,
    groups: Any = None,
    groups_per_person: int | None = None,
    one_group_per_person: bool = False,
) -> QuantilesForecast:
    """What `quantiles` with these parameters would cost and say.

    >>> round(forecast_quantiles(q=0.5, low=0, high=99, epsilon=1).rank_error)
    15
    >>> in_two = forecast_quantiles(q=0.5, low=0, high=99, epsilon=1, group="ward", groups_per_person=2)
    >>> round(in_two.rank_error)
    29
    """
    asked = measure_argument(epsilon=epsilon, rho=rho)
    _, plan, range_ = read_plan(q, low, high, resolution, intervals=intervals, asked=asked)
    rule_on(range_, per_person)
    touched = touched_by(read_grouping(group, groups, groups_per_person, one_group_per_person))
    return QuantilesForecast(*in_parts(plan, range_, max(touched, 1)), touched)
