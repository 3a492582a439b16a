"""Checks of what a caller of the audit passes in: a bad value is refused before anything runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from freegap.errors import InvalidArgument
from freegap.values.rationals import whole

__all__ = [
    "EVENT_KINDS",
    "MOST_RUNS",
    "MOST_SEED",
    "at_least",
    "below_one",
    "event_kinds",
    "inside",
    "lengths_argument",
    "positive",
]

EVENT_KINDS = ("floating-point", "learned")
MOST_RUNS = 10**10
MOST_LENGTH = 10**6
MOST_SEED = 2**128


def positive(argument: str, value: Any) -> float:
    """A positive finite number."""
    number = _number(value)
    if not 0 < number < math.inf:
        raise InvalidArgument(argument, value, "must be a positive number", f"Pass for example {argument}=1.")
    return number


def inside(argument: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    if not isinstance(value, float) or not 0 < value < 1:
        raise InvalidArgument(argument, value, "must lie between 0 and 1", "Pass for example 0.999.")
    return value


def below_one(argument: str, value: Any) -> float:
    """A number of at least 0 and below 1."""
    number = _number(value)
    if not 0 <= number < 1:
        raise InvalidArgument(argument, value, "must be at least 0 and below 1", "Leave it out for pure ε.")
    return number


def at_least(argument: str, value: Any, least: int, most: int = MOST_RUNS) -> None:
    """Refuse what is not a whole number, too small a one, or one that cannot be meant."""
    number = None if isinstance(value, bool) else whole(value)
    if number is None or not least <= number <= most:
        raise InvalidArgument(
            argument,
            value,
            f"must be a whole number from {least} to {most}",
            f"Pass {argument}={least} or more.",
        )


def event_kinds(argument: str, value: Any) -> frozenset[str]:
    """Kinds of events that can be left out."""
    given = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    for kind in given:
        if kind not in EVENT_KINDS:
            known = ", ".join(EVENT_KINDS)
            raise InvalidArgument(argument, kind, "is no kind of event to leave out", f"Known: {known}.")
    return frozenset(given)


def lengths_argument(lengths: Any) -> tuple[int, ...]:
    """How long inputs are: whole numbers."""
    if not isinstance(lengths, Iterable) or isinstance(lengths, str | bytes):
        raise InvalidArgument("lengths", lengths, "must be whole numbers", "Pass for example (1, 2, 5).")
    given = tuple(lengths)
    for length in given:
        at_least("lengths", length, 1, MOST_LENGTH)
    return given


def _number(value: Any) -> float:
    """A number as a double; NaN for what is none, texts among them."""
    try:
        return math.nan if isinstance(value, str | bytes | bytearray) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
