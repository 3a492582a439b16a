"""`histogram` and `quantiles`, of lists and of tables."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import freegap as fg
from tests.recorded.tables.rows import ITEMS, WARDS
from tests.recorded.tables.selection import CHANGES, ROWS, VALUE
from tests.recorded.tables.variations import Question, Way, asked, questions_of

BINS: Way = {"item": "item", "person": "person", "domain": ITEMS, "items_per_person": 1, "epsilon": 2}
COUNTS = {"a": 5, "b": 0, "c": 17}

HISTOGRAMS: dict[str, Way] = {
    "of people": BINS,
    "of two items of a person": BINS | {"items_per_person": 2, "epsilon": None, "rho": "1/2"},
    "of all items of a person": BINS | {"items_per_person": None},
    "of rows": BINS | ROWS,
    "of totals": BINS | VALUE,
    "of means": BINS | VALUE | {"mean": True, "items_per_person": 2},
    "of means of what is positive": BINS | {"value": "cost", "low": 1, "high": 30, "unit": 1, "mean": True},
    "of codes": BINS | {"item": "code", "domain": range(-3, 8), "items_per_person": 3},
    "of what occurs": BINS | {"domain": "observed", "observed_keys_are_public": True},
    "of two columns": {"item": ["ward", "flag"], "person": "person", "epsilon": 2, "items_per_person": 2}
    | {"domain": {"ward": WARDS, "flag": [True, False]}},
}
_TABLES: tuple[str, ...] = ("item", "person", "protect", "where", "epsilon", "rho", "domain", "domain_column")
_TABLES += ("observed_keys_are_public", "normalize", "value", "low", "high", "unit", "ledger", "bits")
OF_TABLES: dict[str, list[Any]] = {name: CHANGES[name] for name in _TABLES} | {
    "items_per_person": [2, 5, None, 0, "x"],
    "mean": [True, 1, {"value": "cost", "low": 3, "high": 3, "mean": True}],
    "sensitivity": [2],
    "resolution": ["1/2"],
}
OF_COUNTS: dict[str, list[Any]] = OF_TABLES | {
    "sensitivity": [2, "1/2", 0, {"sensitivity": "1/2", "resolution": "1/2"}],
    "resolution": ["1/2", 3, {"sensitivity": 3, "resolution": 3}],
}

AGES: Way = {"value": "cost", "person": "person", "q": [0.25, 0.5], "low": -10, "high": 30, "epsilon": 3}
DAYS: Way = AGES | {"value": "day", "low": "2026-01-01", "high": "2026-06-30"}
TIMES: Way = AGES | {
    "value": "at",
    "low": "2026-01-01T00:00:00",
    "high": "2026-06-30T00:00:00",
    "resolution": 3600,
}
IN_WARDS: Way = {"group": "ward", "groups": WARDS}
QUANTILES: dict[str, Way] = {
    "of people": AGES,
    "under rho": AGES | {"epsilon": None, "rho": 1},
    "with intervals": AGES | {"intervals": True},
    "of rows": AGES | ROWS,
    "without a range": AGES | {"low": None, "high": None},
    "of spreads": AGES | {"per_person": "spread"},
    "in groups": AGES | IN_WARDS | {"groups_per_person": 2},
    "in groups, without a range": AGES | IN_WARDS | {"low": None, "high": None, "intervals": True},
    "in groups, of rows": AGES | IN_WARDS | ROWS,
    "of dates": DAYS | {"intervals": True},
    "of dates in groups": DAYS | IN_WARDS | {"groups_per_person": 1, "per_person": "largest"},
    "of spreads of dates": DAYS | {"per_person": "spread"},
    "of times": TIMES,
    "of spreads of times": TIMES | {"per_person": "spread"},
}
_DAY = datetime.timedelta(days=1)
OF_QUANTILES: dict[str, list[Any]] = {
    "value": ["pieces", "weight", "price", "day", "item", "nothing", None, "flag", "zoned", "took"],
    "person": ["customer", None],
    "protect": [ROWS, "rows", "windows"],
    "where": ["pieces > 3", "nothing = 1"],
    "q": [0.5, [0.9, 0.1, 0.5], 0, 1, 2, [], "x", ["1/3", "2/3"]],
    "low": [0, 30, "2026-01-01", datetime.date(2026, 2, 1), None, {"low": "1", "high": "x"}],
    "high": [20, -20, "2026-09-30", None, datetime.datetime(2026, 6, 30, 12)],
    "resolution": ["1/4", 5, 7, 0, "x", _DAY, _DAY * 30, _DAY / 3, "1e-20"],
    "per_person": ["spread", "largest", "mean", "smallest", 3],
    "intervals": [True, False, 1],
    "epsilon": [1, 0, None],
    "rho": [{"epsilon": None, "rho": 2}, 2],
    "group": ["customer", "nothing", None, {"group": "flag", "groups": [True, False]}],
    "groups": [["north"], ["north", "attic"], [], "unknown", "observed", None, ["north", "north"]],
    "groups_per_person": [1, 3, 0],
    "one_group_per_person": [True, {"one_group_per_person": True, "groups_per_person": None}],
    "ledger": ["none", None],
    "bits": CHANGES["bits"],
}  # fmt: skip

LISTS: dict[str, Any] = {
    "whole numbers": [3, 1, 4, 1, 5, 9, 2, 6],
    "doubles": [0.5, float("nan"), -3.25, 29.99, float("inf"), 7.1, 0.1 + 0.2],
    "rationals": [Fraction(1, 3), Decimal("2.5"), Decimal("NaN"), 7, None],
    "many": np.arange(1500) % 37 - 3.5,
    "many whole ones": np.arange(1500, dtype=np.int16) % 37,
    "an object": np.array([1, 2.5, None], dtype=object),
    "pandas": pd.Series([1.5, None, 7.25]),
    "polars": pl.Series([1, None, 7]),
    "nothing": [],
    "truth values": [True, False],
    "texts": ["a", "b"],
    "a matrix": np.ones((2, 2)),
    "a dict": {"a": 1},
    "none": None,
}
HOW: dict[str, Way] = {
    "on a grid": {"q": 0.5, "low": 0, "high": 20, "epsilon": 8},
    "on a fine grid": {"q": [0.3, 0.8], "low": -1, "high": 12, "resolution": "1/49", "epsilon": 8},
    "on a coarse grid": {"q": 0.5, "low": -20, "high": 40, "resolution": 10, "rho": 8},
    "without a range": {"q": 0.5, "epsilon": 8, "resolution": "1/4"},
    "with columns": {"q": 0.5, "low": 0, "high": 9, "epsilon": 1, "value": "a", "person": "b"},
    "in groups": {"q": 0.5, "low": 0, "high": 9, "epsilon": 1, "group": "a", "groups": [1]},
    "of dates": {"q": 0.5, "low": "2026-01-01", "high": "2026-02-01", "epsilon": 1},
    "of rows": {"q": 0.5, "low": 0, "high": 9, "epsilon": 1, "protect": "rows"},
    "of spreads": {"q": 0.5, "low": 0, "high": 9, "epsilon": 1, "per_person": "spread"},
}


def _of(table: Any) -> Callable[[Callable[..., Any], Way], Question]:
    return lambda function, way: asked(function, way, table)


def questions() -> dict[str, Question]:
    """All of them, by what they are called."""
    counts: Way = {"items_per_person": 1, "epsilon": 2}
    ways = {"in bins": counts, "in all bins": counts | {"items_per_person": None, "epsilon": None, "rho": 2}}
    lists = {
        f"quantiles of {name}, {how}": asked(fg.quantiles, way, lambda one=one: one)
        for name, one in LISTS.items()
        for how, way in HOW.items()
    }
    return dict(
        [
            *questions_of("histogram", fg.histogram, HISTOGRAMS, OF_TABLES),
            *questions_of("histogram of counts", fg.histogram, ways, OF_COUNTS, _of(lambda: COUNTS)),
            *questions_of("quantiles", fg.quantiles, QUANTILES, OF_QUANTILES),
            *lists.items(),
        ]
    )
