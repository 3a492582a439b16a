"""Dry runs: what each release would cost and how exact it would be, in each of its ways."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from freegap.tables.forecast import forecast_above, forecast_top_k, forecast_watch
from freegap.tables.histogram_forecast import forecast_histogram
from freegap.tables.quantiles_forecast import forecast_quantiles
from tests.recorded.tables.numbers_of_people import OF_QUANTILES, OF_TABLES
from tests.recorded.tables.selection import ABOVE, TOP_K
from tests.recorded.tables.told import Journal
from tests.recorded.tables.variations import Question, Way, questions_of

GROUPS: Way = {"group": "ward", "groups_per_person": 2}
NAMED: Way = {"group": "ward", "groups": "unknown", "groups_per_person": 3, "delta": "1e-6"}
UNKNOWN: Way = {"domain": "unknown", "delta": "1e-6", "epsilon": 2}
VALUE: Way = {"value": "cost", "low": -5, "high": 20, "unit": "1/4"}

WAYS: dict[str, Way] = {
    "of people": {"epsilon": 2},
    "under rho": {"rho": "1/2"},
    "of totals": {"epsilon": 2} | VALUE,
    "in groups": {"epsilon": 2} | GROUPS,
    "in listed groups": {"epsilon": 2, "group": "ward", "groups": ["a", "b", "c"]},
    "of totals in groups under rho": {"rho": 2} | GROUPS | VALUE,
    "in one group each": {"rho": 2, "group": "ward", "groups": "<file>", "one_group_per_person": True},
    "in groups that are named": {"epsilon": 4} | NAMED,
    "of unknown items": UNKNOWN,
    "of unknown items in groups": UNKNOWN | GROUPS,
    "of unknown items in groups that are named": UNKNOWN | NAMED | {"epsilon": 9},
}
_SHARED: tuple[str, ...] = (
    "k",
    "epsilon",
    "rho",
    "noise",
    "domain",
    "delta",
    "people",
    "items_per_person",
    "value",
    "low",
)
_SHARED += ("high", "unit", "group", "groups", "groups_per_person", "one_group_per_person")
DATED = {"low": "2026-01-01", "high": "2026-06-30"}


def _asked(function: Callable[..., Any], way: Way) -> Question:
    def ask(_: Path, __: Journal) -> Any:
        made = function(**way)
        return {"shown": made.lines(), **made.to_dict(), "whole": str(made)}

    return ask


def questions() -> dict[str, Question]:
    """All of them, by what they are called."""
    read: dict[str, list[Any]] = {
        "domain": ["unknown", None],
        "groups": [["north", "attic"], "unknown", None, range(4)],
    }
    top_k = {name: TOP_K[name] for name in (*_SHARED, "measure", "pool")} | read
    above = {name: ABOVE[name] for name in (*_SHARED, "threshold")} | read
    of_k = {name: way | {"k": 4} for name, way in WAYS.items()}
    measured = {f"measured, {name}": way | {"measure": True} for name, way in of_k.items()}
    of_unknown = {name: way | {"items_per_person": 2} for name, way in of_k.items() if "domain" in way}
    bins = ("epsilon", "rho", "value", "low", "high", "unit", "items_per_person", "mean")
    numbers = {name: values for name, values in OF_QUANTILES.items() if name not in _OF_TABLES}
    grid: Way = {"q": [0.25, 0.5], "low": 0, "high": 99, "epsilon": 1}
    of_bins: Way = {"items_per_person": 3, "epsilon": 2}
    watches: dict[str, list[Any]] = {"epsilon": [3, 0], "k": [2, 0], "threshold": [7, "x"]}
    return dict(
        [
            *questions_of("dry run of top_k", forecast_top_k, of_k | measured, top_k, _asked),
            *questions_of("dry run of above", forecast_above, of_k | of_unknown, above, _asked),
            *questions_of(
                "dry run of histogram",
                forecast_histogram,
                {
                    "of people": of_bins,
                    "under rho": {"items_per_person": 3, "rho": 2},
                    "of totals": of_bins | VALUE,
                    "of means": of_bins | VALUE | {"mean": True},
                },
                {name: OF_TABLES[name] for name in bins},
                _asked,
            ),
            *questions_of(
                "dry run of quantiles",
                forecast_quantiles,
                {
                    "of people": grid,
                    "without a range": {"q": 0.5, "rho": 1},
                    "in groups": grid | GROUPS | {"intervals": True},
                    "in groups, without a range": {"q": 0.5, "epsilon": 1} | GROUPS,
                    "of dates": grid | DATED,
                    "of spreads": grid | {"per_person": "spread"},
                },
                numbers,
                _asked,
            ),
            *questions_of(
                "dry run of watch",
                forecast_watch,
                {"of people": {"k": 1, "epsilon": 1, "threshold": 9}},
                watches,
                _asked,
            ),
        ]
    )


_OF_TABLES = ("value", "person", "protect", "where", "ledger", "bits")
