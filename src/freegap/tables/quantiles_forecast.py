"""What quantiles would cost and how exact they would be, from public parameters alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from freegap.mechanisms.quantiles import MOST_CELLS, Grid, QuantilesPlan
from freegap.tables.quantiles import read_plan
from freegap.tables.quantiles_grid import per_person_argument
from freegap.tables.quantiles_range import RangeSearch
from freegap.values.rationals import Rational
from freegap.values.remarks import remarks_on
from freegap.values.written import readable


@dataclass(frozen=True)
class QuantilesForecast:
    """What would be charged, and by how many people the ranks would be off."""

    plan: QuantilesPlan
    range_: Grid | RangeSearch

    @property
    def rank_error(self) -> float:
        """As of the release; where the range is to be found, of the finest grid that there is."""
        return self.plan.rank_error(self.range_.cells if isinstance(self.range_, Grid) else MOST_CELLS)

    def lines(self) -> list[str]:
        """For people."""
        found = [] if isinstance(self.range_, Grid) else ["the range is found first, for an eighth of that"]
        return [
            "Dry run of quantiles: nothing was read, drawn or charged.",
            f"ε charged: {readable(self.plan.asked.epsilon)}",
            *found,
            f"ranks: with probability 95 % all are off by at most {self.rank_error:,.0f} people, and by "
            f"{self.plan.tied:.2%} of all",
            *remarks_on(self.plan.asked),
        ]

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        charged = str(self.plan.asked.epsilon)
        return {
            "dry_run": "quantiles",
            "measure": "epsilon",
            "remarks": remarks_on(self.plan.asked),
            "charged_at_least": charged,
            "charged_at_most": charged,
            "rank_error": self.rank_error,
            "tied": self.plan.tied,
        }


def forecast_quantiles(
    *,
    q: Any,
    low: Rational | None = None,
    high: Rational | None = None,
    resolution: Rational = 1,
    per_person: str = "median",
    intervals: bool = False,
    epsilon: Rational | None = None,
) -> QuantilesForecast:
    """What `quantiles` with these parameters would cost and say.

    >>> round(forecast_quantiles(q=0.5, low=0, high=99, epsilon=1).rank_error)
    15
    """
    per_person_argument(per_person)
    return QuantilesForecast(*read_plan(q, low, high, resolution, intervals=intervals, epsilon=epsilon))
