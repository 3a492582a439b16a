"""`top_k` and `above`: listed, observed and unknown items, in groups and without, of people and of totals."""

from __future__ import annotations

from functools import partial
from typing import Any

import narwhals as nw
import pyarrow as pa

import freegap as fg
from tests.recorded.tables.rows import ITEMS, WARDS
from tests.recorded.tables.variations import Question, Way, other_bits, questions_of

LISTED: Way = {"item": "item", "person": "person", "domain": ITEMS}
UNKNOWN: Way = {"item": "item", "person": "person", "domain": "unknown", "delta": "1e-6", "epsilon": 9}
GROUPS: Way = {"group": "ward", "groups": WARDS}
NAMED: Way = {"group": "ward", "groups": "unknown", "groups_per_person": 1, "delta": "1e-6"}
VALUE: Way = {"value": "cost", "low": -5, "high": 20, "unit": "1/4"}
ROWS: Way = {"person": None, "protect": "rows"}
PAIRS = pa.table(
    {"what": ["tea", "milk", "tea", "rice", None], "where": ["north", "north", "south", "south", "north"]}
)

WAYS: dict[str, Way] = {
    "of people": LISTED | {"epsilon": 2},
    "under rho": LISTED | {"rho": "1/2"},
    "of rows": LISTED | ROWS | {"epsilon": 2},
    "of totals": LISTED | VALUE | {"epsilon": 2},
    "of what occurs": LISTED | {"domain": "observed", "observed_keys_are_public": True, "epsilon": 2},
    "of two columns": {"item": ["ward", "flag"], "person": "person", "epsilon": 2}
    | {"domain": {"ward": WARDS, "flag": [True, False]}},
    "in groups": LISTED | GROUPS | {"epsilon": 6},
    "in two groups of a person": LISTED | GROUPS | {"rho": 3, "groups_per_person": 2},
    "of totals in groups": LISTED | GROUPS | VALUE | {"epsilon": 6, "groups_per_person": 2},
    "in groups with items of their own": LISTED
    | {"group": "ward", "domain": {"north": ["tea", "milk", "oats"], "south": ["rice", "tea", "salt"]}}
    | {"epsilon": 6, "one_group_per_person": True},
    "in groups that are named": LISTED | NAMED | {"epsilon": 30},
    "of totals in groups that are named": LISTED | NAMED | VALUE | {"epsilon": 30},
    "of unknown items": UNKNOWN,
    "of unknown rows": UNKNOWN | ROWS,
    "of unknown items in groups": UNKNOWN | GROUPS | {"groups_per_person": 2, "epsilon": 20},
    "of unknown items in groups that are named": UNKNOWN | NAMED | {"epsilon": 60},
}

CHANGES: dict[str, list[Any]] = {
    "item": ["customer", "code", "nothing", None, ["item", "item"], ["ward", "item"], 3],
    "person": ["customer", None],
    "protect": [ROWS, "rows", "windows", "persons"],
    "where": ["pieces > 3", nw.col("ward") == "north", "pieces >", "nothing = 1", 7],
    "k": [1, 3, 5, 6, 0, "two"],
    "epsilon": [3, "1/3", 0, None],
    "rho": [{"epsilon": None, "rho": 1}, 2],
    "domain": [["tea", "rice", "milk"], ["tea"], [], range(4), ["tea", "Tea"], ["tea", None], ["tea", "tea"],
               "<here>/items.csv", "observed", "unknown", None, 5, "<here>/none.csv",
               {"north": ["tea", "milk"], "south": ["salt", "rice"]}, {"north": "tea"}],
    "domain_column": ["item", {"domain": "<here>/items.csv", "domain_column": "price"},
                      {"domain": PAIRS, "domain_column": "what"}, {"domain": PAIRS, "domain_column": "none"}],
    "domain_group": ["ward", {"domain": PAIRS, "domain_group": "where", "domain_column": "what",
        "groups": None},
                     {"domain": PAIRS, "domain_group": "none", "domain_column": "what"},
                     {"domain": "<here>/pairs.csv", "domain_group": "ward", "groups": None, "group": "ward"}],
    "observed_keys_are_public": [True, {"domain": "observed", "observed_keys_are_public": True}, False, 1],
    "normalize": [True, {"domain": ["TEA", "rice", "milk"], "normalize": True}, {"domain": ["Tea", "tea",
        "x"], "normalize": True}, 1],
    "value": ["pieces", {"value": "cost", "low": 0, "high": 9}, {"value": "item", "low": 0, "high": 9},
              {"value": "price", "low": 0, "high": 9, "unit": "0.1"}, {"value": 4, "low": 0, "high": 9}],
    "low": [0, {"value": "cost", "low": -40, "high": -1}, {"value": "cost", "high": 5, "low": None}],
    "high": [7, {"value": "cost", "low": 6, "high": 5}, {"value": "cost", "low": 0, "high": "1/3",
        "unit": 1}],
    "unit": [1, {"value": "cost", "low": 0, "high": 10, "unit": "2/3"}, {"value": "cost", "low": 0,
        "high": 10, "unit": "1e-16"}],
    "group": ["customer", "nothing", None],
    "groups": [["north", "attic"], ["north"], [], "observed", None, ["north", "north"], "<here>/none.csv",
               {"group": "code", "groups": range(3), "groups_per_person": 1},
               {"group": "flag", "groups": [True, False]}, {"group": "day", "groups": ["north"]}],
    "groups_per_person": [1, 3, 0, "x", {"group": "ward", "groups": WARDS, "groups_per_person": None}],
    "one_group_per_person": [True, {"one_group_per_person": True, "groups_per_person": None}, False, 1],
    "delta": ["1e-9", None, 2, "1e-5"],
    "people": [100, {"people": 5000, "delta": "1e-4"}],
    "items_per_person": [1, 2, 0],
    "noise": ["laplace", "gumbel", "geometric", "none"],
    "resolution": ["1/8", "2/3", 0],
    "ledger": ["none", None],
    "bits": ["none", partial(other_bits)],
}  # fmt: skip
TOP_K: dict[str, list[Any]] = CHANGES | {"measure": [True, 1], "pool": [3, 20, 0]}
_NUMBERS = (
    "k",
    "epsilon",
    "rho",
    "value",
    "low",
    "unit",
    "group",
    "groups_per_person",
    "one_group_per_person",
)
_NOISES = ("delta", "people", "items_per_person", "noise", "resolution", "pool", "protect", "domain")
MEASURED = {name: TOP_K[name] for name in (*_NUMBERS, *_NOISES)}
"""What a measured release could lose on its way beside what the same without measuring does."""
ABOVE: dict[str, list[Any]] = CHANGES | {"threshold": ["25/2", 1000, -1, 20, 2**63, "x"]}


def _measured() -> dict[str, Way]:
    return {f"measured, {name}": way | {"k": 2, "measure": True} for name, way in WAYS.items()}


def _above_ways() -> dict[str, Way]:
    made = {name: way | {"k": 3, "threshold": 4 if "named" in name else 9} for name, way in WAYS.items()}
    of_unknown = {name for name, way in made.items() if way["domain"] == "unknown"}
    return {name: way | ({"items_per_person": 2} if name in of_unknown else {}) for name, way in made.items()}


def questions() -> dict[str, Question]:
    """All of them, by what they are called."""
    return dict(
        [
            *questions_of("top_k", fg.top_k, {name: way | {"k": 2} for name, way in WAYS.items()}, TOP_K),
            *questions_of("top_k", fg.top_k, _measured(), MEASURED),
            *questions_of("above", fg.above, _above_ways(), ABOVE),
        ]
    )
