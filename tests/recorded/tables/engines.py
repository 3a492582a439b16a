"""The same questions of every engine and every file, and of every kind of column."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import freegap as fg
from tests.recorded.tables import numbers_of_people as numbers
from tests.recorded.tables import selection
from tests.recorded.tables.rows import ENGINES, FILES, ITEMS, WARDS, arrow
from tests.recorded.tables.variations import Question, Way, asked

_UTC = datetime.UTC
CODES: Way = {"item": "code", "person": "person", "domain": range(-2, 9), "k": 3, "epsilon": 2}
ASKED: dict[str, tuple[Callable[..., Any], Way]] = {
    **{f"top_k {name}": (fg.top_k, way | {"k": 2}) for name, way in selection.WAYS.items()},
    "top_k of codes": (fg.top_k, CODES),
    "top_k of many codes": (fg.top_k, CODES | {"domain": range(-(10**6), 10**6), "epsilon": "1/9", "k": 9}),
    "top_k of a few codes": (fg.top_k, CODES | {"domain": [7, 3, 1, 0, 4], "k": 2}),
    "top_k of codes that occur": (
        fg.top_k,
        CODES | {"domain": "observed", "observed_keys_are_public": True, "epsilon": "1/9", "k": 9},
    ),
    "top_k of codes in a file": (fg.top_k, CODES | {"domain": "<here>/codes.csv"}),
    "top_k of items in a file": (
        fg.top_k,
        selection.LISTED | {"domain": "<here>/items.csv", "k": 2, "epsilon": 2},
    ),
    "top_k of items spelt otherwise": (
        fg.top_k,
        selection.LISTED | {"domain": ["TEA", "Rice", "milk"], "normalize": True, "k": 1, "epsilon": 2},
    ),
    "top_k of two columns in a list": (
        fg.top_k,
        {"item": ["ward", "code"], "person": "person", "k": 2, "epsilon": 2}
        | {"domain": [("north", 1), ("south", 2), ("east", 7)]},
    ),
    "top_k of unknown codes": (fg.top_k, CODES | {"domain": "unknown", "delta": "1e-6", "epsilon": 40}),
    "top_k of unknown codes of some": (
        fg.top_k,
        CODES | {"domain": "unknown", "delta": "1e-6", "epsilon": 40, "items_per_person": 2},
    ),
    "above of codes": (fg.above, CODES | {"threshold": 9}),
    "above of unknown items": (
        fg.above,
        selection.UNKNOWN | {"k": 3, "threshold": 4, "items_per_person": 2},
    ),
    "above of unknown items in groups": (
        fg.above,
        selection.UNKNOWN | selection.GROUPS | {"epsilon": 20, "k": 3, "threshold": 4, "items_per_person": 2},
    ),
    **{f"histogram {name}": (fg.histogram, way) for name, way in numbers.HISTOGRAMS.items()},
    "histogram of many codes": (
        fg.histogram,
        {"item": "code", "person": "person", "domain": [*range(-2, 12)], "items_per_person": 2, "epsilon": 2},
    ),
    **{f"quantiles {name}": (fg.quantiles, way) for name, way in numbers.QUANTILES.items()},
    **{
        f"quantiles of the {rule}": (fg.quantiles, numbers.AGES | {"per_person": rule, "resolution": "1/4"})
        for rule in ("smallest", "largest", "median", "spread")
    },
    "quantiles of pieces": (fg.quantiles, numbers.AGES | {"value": "pieces"}),
    "quantiles of weights": (
        fg.quantiles,
        numbers.AGES | {"value": "weight", "resolution": "1/49", "low": 0, "high": 2},
    ),
    "quantiles of prices": (fg.quantiles, numbers.AGES | {"value": "price"}),
}
_THE_SAME = ("pandas of arrow", "pandas of objects", "ibis")
"""Engines that go the way of others; what is asked of them is what they could do otherwise."""
_FEW = ("top_k of people", "top_k of codes", "top_k of many codes", "top_k of unknown items",
    "top_k in groups",
        "top_k of totals", "histogram of people", "quantiles of people", "quantiles of dates",
            "above of unknown items")  # fmt: skip

KINDS: dict[str, list[Any]] = {
    "code": [3, 1, 0, 7],
    "pieces": [3, 1, 0, 7],
    "cost": [-5.5, 2.25, 0.0, 12],
    "weight": [0.25, 0.5, 1.5, 0],
    "price": [Decimal("0.31"), Decimal("6.2"), Decimal("0"), Decimal("9.3")],
    "day": [datetime.date(2026, 1, 1) + datetime.timedelta(days=n) for n in (0, 9, 28, 60)],
    "at": [datetime.datetime(2026, 1, 1) + datetime.timedelta(hours=17 * n) for n in (0, 13, 26, 39)],
    "zoned": [
        datetime.datetime(2026, 1, 1, tzinfo=_UTC) + datetime.timedelta(hours=17 * n) for n in (0, 13, 26)
    ],
    "took": [datetime.timedelta(minutes=n) for n in (0, 1, 3)],
    "flag": [True, False],
    "raw": [b"A", b"C", b"E"],
    "item": ITEMS,
}
"""Items of each kind of column."""

_UNKNOWN: Way = {"person": "person", "domain": "unknown", "delta": "1e-6", "epsilon": 40}


def _of_kinds() -> dict[str, tuple[Callable[..., Any], Way]]:
    made: dict[str, tuple[Callable[..., Any], Way]] = {}
    for column, items in KINDS.items():
        listed: Way = {"item": column, "person": "person", "domain": items, "epsilon": 3}
        made |= {
            f"top_k, {column} listed": (fg.top_k, listed | {"k": 1}),
            f"top_k, {column} of another kind": (fg.top_k, listed | {"domain": ["a", "b", "c"], "k": 1}),
            f"top_k, {column} observed": (
                fg.top_k,
                listed | {"domain": "observed", "observed_keys_are_public": True, "k": 1},
            ),
            f"top_k, {column} unknown": (fg.top_k, _UNKNOWN | {"item": column, "k": 2}),
            f"above, {column} unknown": (
                fg.above,
                _UNKNOWN | {"item": column, "k": 2, "threshold": 3, "items_per_person": 2},
            ),
            f"top_k, {column} for persons": (
                fg.top_k,
                selection.LISTED | {"person": column, "k": 1, "epsilon": 3},
            ),
            f"top_k, {column} for groups": (
                fg.top_k,
                selection.LISTED
                | {"group": column, "groups": items, "groups_per_person": 2, "k": 1, "epsilon": 9},
            ),
            f"top_k, {column} for unknown groups": (
                fg.top_k,
                selection.LISTED | selection.NAMED | {"group": column, "k": 1, "epsilon": 40},
            ),
            f"top_k, totals of {column}": (
                fg.top_k,
                selection.LISTED
                | {"value": column, "low": 0, "high": 5, "unit": "1/100", "k": 1, "epsilon": 3},
            ),
            f"top_k, totals that may be negative, {column}": (fg.top_k, listed | selection.VALUE | {"k": 1}),
            f"histogram, {column}": (fg.histogram, listed | {"items_per_person": 1}),
            f"histogram, means by {column}": (
                fg.histogram,
                listed | {"value": "pieces", "low": 0, "high": 9, "mean": True, "items_per_person": 2},
            ),
            f"top_k, {column} and ward": (
                fg.top_k,
                listed | {"item": [column, "ward"], "domain": {column: items, "ward": WARDS}, "k": 1},
            ),
            f"quantiles, {column}": (fg.quantiles, numbers.AGES | {"value": column}),
        }
    return made


def _none(how: str) -> Any:
    """The table without a row, or with nothing in its columns."""
    return arrow().slice(0, 0) if how == "empty" else _missing(arrow())


def _missing(table: Any) -> Any:
    import pyarrow as pa

    columns = [pa.nulls(9, field.type) for field in table.schema]
    return pa.table(columns, schema=table.schema)


def questions() -> dict[str, Question]:
    """All of them, by what they are called."""
    made: dict[str, Question] = {}
    for engine, table in ENGINES.items():
        for name, (function, way) in ASKED.items():
            if engine not in _THE_SAME or name in _FEW:
                made[f"{engine}, as it is: {name}"] = asked(function, way, table)
        if engine in ("pandas", "polars", "duckdb"):
            for number, (name, (function, way)) in enumerate(_of_kinds().items()):
                if engine == "duckdb" and number % 2:
                    continue
                made[f"{engine}, kinds: {name}"] = asked(function, way, table)
    for called, file in FILES.items():
        for number, (name, (function, way)) in enumerate(ASKED.items()):
            if name in _FEW or (called == "csv" and number % 2):
                made[f"{called} file: {name}"] = asked(function, way, partial(_opened, called, file))
    for how in ("empty", "of nothing"):
        for name, (function, way) in ASKED.items():
            made[f"{how}: {name}"] = asked(function, way, partial(_rows, how))
    return made


def _rows(how: str, _: Path) -> Any:
    return _none(how)


def _opened(called: str, file: str, place: Path) -> Any:
    said: dict[str, dict[str, Any]] = {
        "semicolons": {"format": "csv", "delimiter": ";"},
        "folders": {"partitions": ["ward"]},
        "excel": {"sheet": "rows"},
        "latin": {"encoding": "latin-1"},
        "duckdb": {"name": "visits"},
        "sqlite": {"query": "SELECT * FROM visits WHERE pieces < 8"},
    }
    return fg.source(str(place / file), **said.get(called, {}))
