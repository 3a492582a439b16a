"""What a browser sends, as the verbs of the service take it. They check it: nothing is checked twice here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from freegap.errors import InvalidArgument
from freegap.serve.questions import FIELDS

_ASSUMED = ("largest", "exponent", "items")
_MOST_FIELDS = 40
_WHOLE = re.compile(r"[0-9]{1,18}")


def fields_of(text: bytes) -> dict[str, str]:
    """The fields of a form or an address. One that is there twice is no field of ours.

    >>> fields_of(b"a=1&b=%3Cx%3E&c=")
    {'a': '1', 'b': '<x>', 'c': ''}
    """
    try:
        pairs = parse_qsl(
            text.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError:
        pairs = [("", ""), ("", "")]
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise InvalidArgument("question", "<form>", "cannot be read", "Go back and fill it in again.")
    return fields


def question_of(fields: Mapping[str, str]) -> dict[str, Any]:
    """The question of a form: what was left empty is not in it.

    >>> question_of({"source": "shop", "k": "3", "epsilon": " 1/2 ", "measure": "yes", "threshold": ""})
    {'source': 'shop', 'k': 3, 'epsilon': '1/2', 'measure': True}
    """
    texts = {name: fields[name].strip() for name in FIELDS if fields.get(name, "").strip()}
    asked: dict[str, Any] = {name: number_of(text) if name == "k" else text for name, text in texts.items()}
    if asked.get("mechanism") != "above":  # the form has one field for each mechanism's own
        asked.pop("threshold", None)
    else:
        asked.pop("measure", None)
    if "measure" in asked:
        asked["measure"] = True
    return asked


def plan_of(fields: Mapping[str, str]) -> dict[str, Any]:
    """What is to be planned, of the same form.

    >>> plan_of({"source": "shop", "k": "3", "largest": "1000", "target": "0.95"})
    {'source': 'shop', 'k': 3, 'assume': {'largest': 1000}, 'target': '0.95'}
    >>> plan_of({"source": "shop", "k": "3", "largest": "1000", "group": "city"})  # a dry run alone
    {'source': 'shop', 'group': 'city', 'k': 3}
    """
    asked = question_of(fields)
    texts = {name: fields.get(name, "").strip() for name in (*_ASSUMED, "target")}
    assumed = {name: number_of(texts[name]) for name in _ASSUMED if texts[name]}
    if "largest" in assumed and "group" not in asked:
        asked["assume"] = assumed
        if texts["target"]:
            asked["target"] = texts["target"]
    return asked


def number_of(text: str) -> int | str:
    """A whole number, or the text that is none and will be refused.

    >>> number_of(" 12 "), number_of("1e3")
    (12, '1e3')
    """
    return int(text) if _WHOLE.fullmatch(text.strip()) else text
