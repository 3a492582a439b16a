"""What an analyst sends, held against what the owner allows.

Of a question nothing reaches an engine but the names of columns that the owner has listed, and numbers that
this module has read. Whatever it refuses depends on the question and on the settings, never on the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.errors import InvalidArgument
from freegap.serve.sources import Source
from freegap.tables.tallies import number_of_people, require_items
from freegap.values.rationals import count_argument, positive_rational, rational

FIELDS = ("source", "mechanism", "item", "group", "k", "epsilon", "rho", "threshold", "measure", "noise")
_LARGEST_K = 1000
_DIGITS = 50


@dataclass(frozen=True)
class AllowedQuestion:
    """A question that the owner allows: which source, and what was asked, as arguments of the library."""

    source: str
    mechanism: str
    arguments: Mapping[str, Any]


def read_question(asked: Any, sources: Mapping[str, Source]) -> AllowedQuestion:
    """A question from what was sent, or an error that names the field."""
    if not isinstance(asked, dict):
        raise InvalidArgument(
            "question", f"<{type(asked).__name__}>", "must be an object", "Send its fields."
        )
    for name in asked:
        if name not in FIELDS:
            raise InvalidArgument("question", name, "is not a field", f"Fields are {', '.join(FIELDS)}.")
    given = {name: value for name, value in asked.items() if value is not None}
    source = sources[_one_of("source", given.get("source"), sources)]
    mechanism = _one_of("mechanism", given.get("mechanism"), source.mechanisms)
    item = _one_of("item", given.get("item"), source.items)
    k = count_argument("k", given.get("k"))
    if k > _LARGEST_K:
        raise InvalidArgument("k", k, f"must be at most {_LARGEST_K}", "Ask for fewer.")
    unknown = source.items[item].delta is not None
    measure, amount = _amount(given, source, unknown=unknown)
    arguments: dict[str, Any] = {"item": item, "k": k, measure: amount}
    if "group" in given:
        arguments["group"] = _one_of("group", given["group"], source.groups)
        if unknown:
            raise InvalidArgument("group", given["group"], "cannot go with unknown items", "Leave it out.")
    if "noise" in given:
        noises = ("exponential", "gumbel") if unknown else ("exponential", "laplace")
        arguments["noise"] = _one_of("noise", given["noise"], ("gumbel",) if measure == "rho" else noises)
    for name, belongs in (("measure", "top_k"), ("threshold", "above")):
        if name in given and mechanism != belongs:
            raise InvalidArgument(name, given[name], f"is for {belongs} only", "Leave it out.")
    if mechanism == "above":
        arguments["threshold"] = number_of_people(
            rational("threshold", given.get("threshold"), digits=_DIGITS)
        )
        if "noise" in given and (unknown or measure == "rho"):
            raise InvalidArgument("noise", given["noise"], "is fixed for this question", "Leave it out.")
    elif "measure" in given:
        if not isinstance(given["measure"], bool):
            raise InvalidArgument("measure", given["measure"], "must be true or false", "Leave it out.")
        arguments["measure"] = given["measure"]
    _require_enough(mechanism, arguments, source.items[item].size)
    return AllowedQuestion(source.name, mechanism, arguments)


def _require_enough(mechanism: str, asked: Mapping[str, Any], items: int | None) -> None:
    """Refuse here what the library would refuse after it has counted: whoever asks would learn for nothing
    how long that takes, and the journal would keep what was reserved and given back."""
    if items is None:
        return
    if mechanism == "above":
        require_items(asked["k"], items, asked["k"], "k items cannot be above")
        return
    without = "rho" in asked and asked.get("measure", False)  # the last gap is then not released
    reason = "k of them are selected" if without else "the last gap is to a runner-up"
    require_items(asked["k"], items, asked["k"] + (not without), reason)


def _amount(given: Mapping[str, Any], source: Source, *, unknown: bool) -> tuple[str, Fraction]:
    """In ε or in ρ, within what the owner allows."""
    measure = "rho" if "rho" in given else "epsilon"
    if "rho" in given and "epsilon" in given:
        raise InvalidArgument("rho", given["rho"], "cannot go with epsilon", "Send one of the two.")
    if measure not in source.bounds or (unknown and measure == "rho"):
        raise InvalidArgument(measure, given.get(measure), "is not a measure for this", "Send the other one.")
    amount = positive_rational(measure, given.get(measure), digits=_DIGITS)
    least, most = source.bounds[measure]
    if not least <= amount <= most:
        raise InvalidArgument(
            measure, str(amount), f"must lie between {least} and {most} here", "The owner has set that."
        )
    return measure, amount


def _one_of(field: str, value: Any, known: Any) -> str:
    if not isinstance(value, str) or value not in known:
        remedy = f"Known are {', '.join(known)}." if known else "There is none here for you."
        raise InvalidArgument(field, value, "is not one that may be asked for", remedy)
    return value
