"""One text for one JSON value: RFC 8785, and a reader that takes that text and no other.

- UTF-8, no white space, names of an object in the order of their UTF-16 code units, each once.
- In texts only `"`, `\\` and control characters are escaped, the short way where JSON has one. Texts are not
  normalised: two spellings that look alike are two texts. Half a character (a lone surrogate) has no text.
- Whole numbers up to 2^53 and finite doubles, written as ECMAScript writes them. A receipt itself has whole
  numbers only; exact rationals are texts such as "1/3", as everywhere in freegap.

A reader that accepts other spellings of a value has to say which of two equal names counts, what `1e999` is,
and whether `\\u0041` is `A`; whoever answers otherwise reads another receipt. Here there is nothing to
answer: what is not byte for byte the canonical text of what it says is refused.
"""

from __future__ import annotations

import json
import math
from typing import Any

_LARGEST = 2**53
_DEEPEST = 40
_DIGITS = 400
"""Of a number in a text: more than any double that is written out has."""


class NotCanonical(ValueError):
    """A value that has no canonical text, or a text that is not one."""


def canonical(value: Any) -> bytes:
    """The canonical text of a value.

    >>> canonical({"b": [1, 1.5, 1e21, None], "a": "é\\n"}).decode()
    '{"a":"é\\\\n","b":[1,1.5,1e+21,null]}'
    """
    try:
        return _text(value, 0).encode("utf-8")
    except UnicodeEncodeError:
        raise NotCanonical("a text has half a character in it, a lone surrogate") from None


def parsed(data: bytes) -> Any:
    """The value of a canonical text.

    >>> parsed(b'{"a":1}')
    {'a': 1}
    >>> parsed(b'{"a": 1}')
    Traceback (most recent call last):
        ...
    freegap.receipts.canonical.NotCanonical: it is not the canonical text of what it says
    """
    value = read_json(data)
    if canonical(value) != data:
        raise NotCanonical("it is not the canonical text of what it says")
    return value


def read_json(data: bytes) -> Any:
    """The value of any JSON text that says one thing: no name twice, no number beyond doubles."""
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object,
            parse_int=_whole,
            parse_float=_double,
            parse_constant=_constant,
        )
    except NotCanonical:
        raise
    except (ValueError, RecursionError):
        raise NotCanonical("it is not JSON in UTF-8") from None


def _text(value: Any, depth: int) -> str:
    if depth > _DEEPEST:
        raise NotCanonical(f"it is nested more than {_DEEPEST} deep")
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int):
        if abs(value) > _LARGEST:
            raise NotCanonical("a whole number is beyond 2^53; it must be written as text")
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list | tuple):
        return "[" + ",".join(_text(part, depth + 1) for part in value) + "]"
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{_quoted(name)}:{_text(value[name], depth + 1)}" for name in names) + "}"
    raise NotCanonical(f"JSON has no {type(value).__name__}")


def _quoted(text: str) -> str:
    # Python escapes as RFC 8785 asks for, but for the character 127, which it leaves as it is, as asked.
    return json.dumps(text, ensure_ascii=False)


def _number(value: float) -> str:
    """A double as ECMAScript writes it: the shortest digits that mean it, which Python finds as well.

    >>> [_number(x) for x in (0.1, -0.0, 1e20, 1e21, 1e-6, 1e-7, 333333333.33333329)]
    ['0.1', '0', '100000000000000000000', '1e+21', '0.000001', '1e-7', '333333333.3333333']
    """
    if not math.isfinite(value):
        raise NotCanonical("JSON has no infinity and no NaN")
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, part = mantissa.partition(".")
    part = part.rstrip("0")
    digits = (whole + part).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + part) - len(digits))
    digits = digits.rstrip("0")
    sign = "-" if value < 0 else ""
    if len(digits) <= point <= 21:
        return sign + digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    shown = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{sign}{shown}e{point - 1:+d}"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise NotCanonical("an object has a name twice")
    return made


def _whole(digits: str) -> int | float:
    """A whole number; from 2^53 on only a double is written without a point."""
    if len(digits) > _DIGITS:
        raise NotCanonical("a number has too many digits")
    number = int(digits)
    return number if abs(number) <= _LARGEST else _double(digits)


def _double(digits: str) -> float:
    if len(digits) > _DIGITS or not math.isfinite(float(digits)):
        raise NotCanonical("a number is beyond all doubles")
    return float(digits)


def _constant(name: str) -> float:
    raise NotCanonical(f"JSON has no {name}")
