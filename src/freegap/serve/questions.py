"""What an analyst sends, held against what the owner allows.

Of a question nothing reaches an engine but the name of a column that the owner has listed, and numbers that
this module has read. Whatever it refuses depends on the question and on the settings, never on the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from freegap.errors import InvalidArgument
from freegap.serve.settings import Source
from freegap.values.rationals import count_argument, positive_rational, rational

FIELDS = ("source", "mechanism", "item", "k", "epsilon", "threshold", "measure", "noise")
_LARGEST_K = 1000
_NOISES = ("exponential", "laplace")


@dataclass(frozen=True)
class AllowedQuestion:
    """A question that the owner allows: which source, and the arguments of the library's function."""

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
    source = sources[_one_of("source", asked.get("source"), sources)]
    mechanism = _one_of("mechanism", asked.get("mechanism"), source.mechanisms)
    item = _one_of("item", asked.get("item"), source.items)
    k = count_argument("k", asked.get("k"))
    if k > _LARGEST_K:
        raise InvalidArgument("k", k, f"must be at most {_LARGEST_K}", "Ask for fewer.")
    epsilon = positive_rational("epsilon", asked.get("epsilon"), digits=50)
    least, most = source.epsilon
    if not least <= epsilon <= most:
        raise InvalidArgument(
            "epsilon", str(epsilon), f"must lie between {least} and {most} here", "The owner has set that."
        )
    arguments: dict[str, Any] = {"item": item, "k": k, "epsilon": epsilon}
    if asked.get("noise") is not None:
        arguments["noise"] = _one_of("noise", asked["noise"], _NOISES)
    for name, belongs in (("measure", "top_k"), ("threshold", "above")):
        if asked.get(name) is not None and mechanism != belongs:
            raise InvalidArgument(name, asked[name], f"is for {belongs} only", "Leave it out.")
    if mechanism == "above":
        arguments["threshold"] = rational("threshold", asked.get("threshold"), digits=50)
    elif asked.get("measure") is not None:
        if not isinstance(asked["measure"], bool):
            raise InvalidArgument("measure", asked["measure"], "must be true or false", "Leave it out.")
        arguments["measure"] = asked["measure"]
    return AllowedQuestion(source.name, mechanism, arguments)


def _one_of(field: str, value: Any, known: Any) -> str:
    if not isinstance(value, str) or value not in known:
        raise InvalidArgument(
            field, value, "is not one that may be asked for", f"Known are {', '.join(known)}."
        )
    return value
