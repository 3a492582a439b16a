"""A release that was kept as JSON, in a file or a ledger: its table again, and all that was said."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from freegap.errors import InvalidArgument
from freegap.values.columns import KINDS, PARTS, Column
from freegap.values.measures import Measure, measure_argument
from freegap.values.plans import PlainPlan
from freegap.values.results import NOT_PRIVATE, Release

_KIND_OF = {name: kind for kind, name in KINDS.items()}
_AMOUNTS = ("epsilon", "rho", "delta")
_FORM = re.compile(r",?(\.\d{1,2})?[a-z]?")
_HUGE = re.compile(r"e[-+]?[\d_]{6,}", re.IGNORECASE)  # a short text of more digits than any memory has


@dataclass(frozen=True, kw_only=True)
class KeptRelease(Release):
    """A release as it was kept: its table, what it spent, and its public parameters.

    record: what `to_dict` said of the release, which has more where more was released.

    >>> import freegap as fg
    >>> release = fg.noisy_top_k({"a": 1, "b": 90}, 1, epsilon=9, bits=fg.SeededBits(1))
    >>> fg.Release.from_json(release.to_json()).record["labels"]
    ['b']
    """

    record: dict[str, Any] = field(hash=False)

    @property
    def title(self) -> str:
        """One line that says what this is."""
        return str(self.record["table"]["title"])

    def columns(self) -> list[Column]:
        """The released table, column by column."""
        return [_column(column) for column in self.record["table"]["columns"]]

    def footnotes(self) -> list[str]:
        """Lines below the table."""
        return [str(note) for note in self.record["table"]["notes"]]

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values, as it was kept."""
        return dict(self.record)


def read_json(text: str) -> KeptRelease:
    """The release that a text of `to_json` holds."""
    try:
        record = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise _not_a_release() from None
    return kept(record)


def kept(record: Any) -> KeptRelease:
    """The release that a record of `to_dict` tells of."""
    try:
        release = KeptRelease(
            plan=PlainPlan(
                str(record.get("mechanism", record.get("release"))),
                _asked(record),
                dict(record["parameters"]),
            ),
            spent=_rational(record["spent"]),
            private=record["private"] is True,
            record=record,
        )
        # What cannot be shown is found out here.
        sound = len({len(column.cells) for column in release.columns()}) <= 1
        sound = sound and bool(release.title) and release.private == (NOT_PRIVATE not in release.footnotes())
    except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError, InvalidArgument):
        sound = False
    if not sound:
        raise _not_a_release()
    return release


def _asked(record: dict[str, Any]) -> Measure:
    asked: Measure = measure_argument(**{name: record[name] for name in _AMOUNTS if name in record})
    return asked


def _column(said: dict[str, Any]) -> Column:
    kind = _KIND_OF[said["kind"]]
    if _FORM.fullmatch(said["form"]) is None:  # a form may ask for a million digits
        raise ValueError
    read: Any = {str: _name, int: int, float: _number, tuple: _ends}[kind]
    values = tuple(None if value is None else read(value) for value in said["values"])
    return Column(values=values, kind=kind, **{part: str(said[part]) for part in PARTS})


def _name(value: Any) -> Any:
    if isinstance(value, list | dict):
        raise TypeError
    return value


def _number(value: Any) -> Fraction | float:
    """A rational, which is a text; or a float. An infinite one is a text too."""
    if isinstance(value, str) and value.strip("-") not in ("inf", "nan"):
        return _rational(value)
    return float(value)


def _rational(value: Any) -> Fraction:
    if isinstance(value, str) and _HUGE.search(value):
        raise ValueError
    return Fraction(value)


def _ends(pair: Any) -> tuple[Any, Any]:
    low, high = (None if end is None else float(_number(end)) for end in pair)
    return low, high


def _not_a_release() -> InvalidArgument:
    return InvalidArgument(
        "text", "<JSON>", "must be a release as to_json writes it", "Pass the text of `release.to_json()`."
    )
