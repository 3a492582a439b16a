"""How values are written: as texts, as doubles, as JSON. Whatever a label is, it can be shown."""

from __future__ import annotations

import json
import math
import numbers
import re
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

LARGEST_IN_FULL = 10**15
"""From here on rationals are shown to people as powers of ten."""

_JSON_SAFE_INTEGER = 2**53
_LONG_DENOMINATOR = 1000


def as_double(number: Fraction) -> float | str:
    """A rational as the nearest double, and as its exact text where it is beyond all doubles."""
    try:
        return float(number)
    except OverflowError:
        return plain(number)


def json_text(value: Any, *, indent: int | None = None) -> str:
    """JSON that people can read and no terminal obeys: what is not printable is escaped.

    JSON itself escapes only the characters below the blank; a terminal also obeys some above it, and a lone
    surrogate cannot even be printed.

    >>> print(json_text({"naïve": "\\x9b31m\\u202e"}))
    {"naïve": "\\u009b31m\\u202e"}
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=str)
    return re.sub(r"[^\n\x20-\x7e]", lambda c: c[0] if c[0].isprintable() else json.dumps(c[0])[1:-1], text)


def jsonable(value: Any) -> Any:
    """A value that JSON can hold: rationals and integers beyond doubles as strings."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, numbers.Integral):
        return int(value) if abs(int(value)) <= _JSON_SAFE_INTEGER else plain(Fraction(int(value)))
    if isinstance(value, Fraction):
        return plain(value)
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(value) else str(value)
    return text_of(value)


def brief(number: Fraction) -> str:
    """A rational as it is, or to nine decimals and upwards where that would fill the line."""
    exact = plain(number)
    if len(exact) <= 24:
        return exact
    if number >= LARGEST_IN_FULL:
        return f"{decimal_of(number, 12):.9E}"
    return f"{math.ceil(number * 10**9) / 10**9:.9f}"


def readable(number: Fraction) -> str:
    """A rational for people: with decimals too where its fraction says nothing to them."""
    if number.denominator < _LONG_DENOMINATOR:
        return str(number)
    return f"about {float(number):.4g} (exactly {number})"


def decimal_of(number: Fraction, digits: int) -> Decimal:
    """A rational to so many digits, upwards: for sizes that doubles do not have."""
    context = Context(prec=digits, rounding=ROUND_CEILING)
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def plain(number: Any) -> str:
    """A rational as text; to 30 digits where it has more than Python would turn into text."""
    try:
        return str(number)
    except ValueError:
        return str(decimal_of(number, 30))


def text_of(value: Any, written: Callable[[Any], str] = str) -> str:
    """What a label is called; the kind of thing it is where it has no text."""
    try:
        return written(value)
    except Exception:  # a label may be any object, and a release that was paid for must be shown
        return f"<{type(value).__name__}>"
