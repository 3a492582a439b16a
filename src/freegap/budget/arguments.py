"""Reading what a caller tells the ledger: names and public parameters."""

from __future__ import annotations

import functools
import getpass
import importlib.metadata
import json
import numbers
import platform
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import freegap
from freegap.errors import REDACTED, InvalidArgument
from freegap.values.measures import Measure
from freegap.values.rationals import Rational, rational
from freegap.values.results import Release
from freegap.values.written import jsonable

_LONGEST_NAME = 200
_LONGEST_PARAMETERS = 20_000
_LONGEST_RELEASE = 4_000_000


def name_argument(argument: str, value: object) -> str:
    """A short text on one line, that any database can hold and any terminal can show.

    In Unicode's composed form (NFC), so that one name, however it was typed, is one text. Refusing the other
    forms would ask of people to mend what they cannot see: macOS hands them out for file names.
    """
    if not isinstance(value, str):
        raise InvalidArgument(argument, value, "must be text", f'Pass for example {argument}="shop".')
    if not value or value != value.strip() or not value.isprintable() or len(value) > _LONGEST_NAME:
        raise InvalidArgument(
            argument,
            value,
            f"must be 1 to {_LONGEST_NAME} printable characters, without blanks at its ends",
            f'Pass for example {argument}="shop".',
        )
    return unicodedata.normalize("NFC", value)


def time_argument(argument: str, value: object) -> str:
    """A time as the journal writes it, in UTC and whole seconds; without a zone it is taken as UTC.

    >>> time_argument("since", "2026-11-16T09:30+01:00")
    '2026-11-16T08:30:00+00:00'
    """
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(time, datetime):
            time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
            return time.isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        pass
    raise InvalidArgument(argument, value, "must be a time", 'Pass for example "2026-11-16T08:30".')


def parameters_text(parameters: Mapping[str, Any] | None) -> str:
    """Public parameters as JSON with sorted names.

    Only plain values are taken, and not many: an object whose text is unknown here, or a long list, may well
    be the private data itself, which must not end up in a journal.

    >>> from fractions import Fraction
    >>> parameters_text({"k": 3, "epsilon": Fraction(1, 3)})
    '{"epsilon":"1/3","k":3}'
    """
    if parameters is None:
        return "{}"
    if not isinstance(parameters, Mapping):
        raise InvalidArgument("parameters", REDACTED, "must be a mapping", 'Pass for example {"k": 10}.')
    text = json.dumps(_plain(parameters), sort_keys=True, separators=(",", ":"), allow_nan=False)
    if len(text) > _LONGEST_PARAMETERS:
        raise InvalidArgument(
            "parameters",
            REDACTED,
            f"must fit in {_LONGEST_PARAMETERS} characters of JSON",
            "Pass the public parameters of the release, not data.",
        )
    return text


def release_text(release: object) -> str:
    """What is kept of a release, as parameters: all that it tells, if it is one that is private.

    It has been paid for, so whoever may read the journal may read it. In ASCII: any database can hold it.
    With it the versions that made it, which nobody could tell later.
    """
    if not isinstance(release, Release) or not release.private:
        return "{}"
    try:
        text = json.dumps({"release": release.to_dict(), "versions": versions()}, default=str)
    except Exception:  # whatever the text of a label does: what was paid for is not lost for it
        return "{}"
    return text if len(text) <= _LONGEST_RELEASE else "{}"


@functools.cache
def versions() -> dict[str, str]:
    """What a release is computed with: freegap, Python, and the packages that noise goes through.

    >>> sorted(versions())
    ['cryptography', 'freegap', 'numpy', 'python', 'python-flint']
    """
    packages = ("cryptography", "numpy", "python-flint")
    others = {name: importlib.metadata.version(name) for name in packages}
    return {"freegap": freegap.__version__, "python": platform.python_version(), **others}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise _not_plain()
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, str | bool | numbers.Real | Decimal):
        return jsonable(value)
    raise _not_plain()


def _not_plain() -> InvalidArgument:
    return InvalidArgument(
        "parameters",
        REDACTED,
        "must hold only text, numbers, truth values, None, and lists and mappings of them",
        "Pass the public parameters of the release, as text where they are something else.",
    )


def own_delta_argument(value: Rational | None, total: Measure) -> Fraction | None:
    """The part of a budget's δ for releases that have one of their own: less than all of it."""
    if value is None:
        return None
    own = rational("own_delta", value)
    if not 0 <= own < total.delta:
        raise InvalidArgument(
            "own_delta",
            value,
            "must be at least 0 and less than the delta of the budget",
            "Leave it out for half of delta; a budget without a delta has none.",
        )
    return own


def who() -> str:
    """user@host, for the record. Whoever sets the environment can choose it, so it proves nothing."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):  # no name for this user id, as in many containers
        user = "unknown"
    name = f"{user}@{platform.node() or 'unknown'}"
    return "".join(c if c.isprintable() else "?" for c in name)[:_LONGEST_NAME]
