"""Every result says, in each form, what one person is, which tables are neighbours and what was clipped."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import freegap as fg
from freegap.tables.watch import watch

TABLE = pa.table(
    {
        "item": ["tea", "milk", "tea", "rice"] * 9,
        "person": [number % 11 for number in range(36)],
        "ward": ["north", "south", "east"] * 12,
        "cost": [float(number) for number in range(36)],
    }
)
DOMAIN = ["milk", "rice", "tea"]
LISTED: dict[str, Any] = {"item": "item", "person": "person", "domain": DOMAIN}
UNKNOWN: dict[str, Any] = {"item": "item", "person": "person", "domain": "unknown", "delta": "1e-6"}
GROUPS: dict[str, Any] = {"group": "ward", "groups": ["north", "south"]}
VALUE: dict[str, Any] = {"value": "cost", "low": 0, "high": 5}
QUANTILES: dict[str, Any] = {"value": "cost", "person": "person", "q": 0.5, "low": 0, "high": 9}
ROWS: dict[str, Any] = {"person": None, "protect": "rows"}
ONE_GROUP = {**GROUPS, "groups_per_person": 1}

Ask = Callable[..., Any]
GROUPS_CLIPPED = "each person to at most 1 of their groups"
ITEMS_CLIPPED = "each person to at most 1 of their items"
VALUES_CLIPPED = "the values of the column 'cost'"
NUMBERS_CLIPPED = "what is outside the domain to its ends"
MEDIAN_CLIPPED = "the lower median of a person's rows counts"

RELEASES: dict[str, tuple[Ask, dict[str, Any], list[str]]] = {
    "top_k": (fg.top_k, LISTED | {"k": 1}, []),
    "top_k of rows": (fg.top_k, LISTED | ROWS | {"k": 1}, []),
    "top_k by total": (fg.top_k, LISTED | VALUE | {"k": 1}, [VALUES_CLIPPED]),
    "top_k in groups": (fg.top_k, LISTED | ONE_GROUP | {"k": 1}, [GROUPS_CLIPPED]),
    "top_k in all groups": (fg.top_k, LISTED | GROUPS | {"k": 1}, []),
    "top_k in groups of rows": (fg.top_k, LISTED | ONE_GROUP | ROWS | {"k": 1}, []),
    "totals in groups": (fg.top_k, LISTED | ONE_GROUP | VALUE | {"k": 1}, [GROUPS_CLIPPED, VALUES_CLIPPED]),
    "unknown": (fg.top_k, UNKNOWN | {"k": 1, "items_per_person": 1}, [ITEMS_CLIPPED]),
    "unknown rows": (fg.top_k, UNKNOWN | ROWS | {"k": 1, "items_per_person": 1}, []),
    "unknown in groups": (fg.top_k, UNKNOWN | ONE_GROUP | {"k": 1}, [GROUPS_CLIPPED]),
    "above": (fg.above, LISTED | {"k": 1, "threshold": 3}, []),
    "above in groups": (fg.above, LISTED | ONE_GROUP | {"k": 1, "threshold": 3}, [GROUPS_CLIPPED]),
    "above, unknown": (
        fg.above,
        UNKNOWN | {"k": 1, "threshold": 3, "items_per_person": 1},
        [ITEMS_CLIPPED],
    ),
    "above, unknown in groups": (
        fg.above,
        UNKNOWN | ONE_GROUP | {"k": 1, "threshold": 3, "items_per_person": 1},
        [ITEMS_CLIPPED + " in a group", GROUPS_CLIPPED],
    ),
    "histogram": (fg.histogram, LISTED | {"items_per_person": 1}, [ITEMS_CLIPPED]),
    "histogram of all items": (fg.histogram, LISTED | {"items_per_person": None}, []),
    "histogram of rows": (fg.histogram, LISTED | ROWS | {"items_per_person": 1}, []),
    "means": (
        fg.histogram,
        LISTED | VALUE | {"items_per_person": 1, "mean": True},
        [ITEMS_CLIPPED, VALUES_CLIPPED],
    ),
    "quantiles": (fg.quantiles, QUANTILES, [NUMBERS_CLIPPED, MEDIAN_CLIPPED]),
    "quantiles of rows": (fg.quantiles, QUANTILES | ROWS, [NUMBERS_CLIPPED]),
    "quantiles in groups": (
        fg.quantiles,
        QUANTILES | ONE_GROUP,
        [NUMBERS_CLIPPED, MEDIAN_CLIPPED, GROUPS_CLIPPED],
    ),
    "quantiles without a range": (
        fg.quantiles,
        QUANTILES | {"low": None, "high": None},
        [NUMBERS_CLIPPED, MEDIAN_CLIPPED],
    ),
}
ALL = [MEDIAN_CLIPPED, GROUPS_CLIPPED, ITEMS_CLIPPED, VALUES_CLIPPED, NUMBERS_CLIPPED]


@pytest.mark.parametrize("name", RELEASES)
def test_every_result_says_who_which_and_what(name: str) -> None:
    ask, options, clipped = RELEASES[name]
    release = ask(TABLE, epsilon=1, bits=fg.SeededBits(1), **options)
    _states(release, clipped)
    said = release.to_dict()["privacy"]["clipped"]
    assert all(part in said for part in clipped), said
    assert [part for part in ALL if part in said and not any(part in one for one in clipped)] == []
    assert (said == "nothing") == (clipped == [])
    by_row = options.get("protect") == "rows"
    assert release.privacy.unit.startswith("one row" if by_row else "one value of the column 'person'")
    assert not by_row or "people" not in f"{release.title}{release.columns()}{release.footnotes()[0]}"


def test_a_watch_says_it_too(tmp_path: Path) -> None:
    release = watch(
        TABLE,
        item="item",
        of="tea",
        person="person",
        threshold=3,
        k=1,
        epsilon=1,
        state=tmp_path / "tea.watch",
        question="monday",
        bits=fg.SeededBits(1),
    )
    _states(release, [])


def _states(release: Any, clipped: list[str]) -> None:
    said = release.to_dict()["privacy"]
    lines = [
        f"One person is {said['unit']}.",
        f"Neighbours: {said['neighbours']}.",
        f"Clipped: {said['clipped']}.",
    ]
    shown, page = str(release), html.unescape(release._repr_html_())
    for line in lines:
        assert line in shown
        assert line in page
        assert line in release.to_dict()["table"]["notes"]
    assert fg.Release.from_json(release.to_json()).to_dict()["privacy"] == said
