"""Checks of what a caller of the audit passes in: a bad value is refused before anything runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from freegap.errors import InvalidArgument
from freegap.values.rationals import double, positive_rational, proper_fraction, rational, whole

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
    """A positive number, as a double."""
    number = double(positive_rational(argument, value))
    if not 0 < number < math.inf:
        raise InvalidArgument(argument, value, "must be within the range of doubles", "Pass for example 1.")
    return number


def inside(argument: str, value: Any) -> float:
    """A number strictly between 0 and 1, as a double."""
    remedy = "Pass for example 0.999."
    number = double(proper_fraction(argument, value, remedy))
    if not 0 < number < 1:
        raise InvalidArgument(argument, value, "is too near to 0 or 1 for a double", remedy)
    return number


def below_one(argument: str, value: Any) -> float:
    """A number of at least 0 and below 1, as a double."""
    number = double(rational(argument, value))
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
            raise InvalidArgument(argument, kind, "is not a kind of event", f"Known: {known}.")
    return frozenset(given)


def lengths_argument(lengths: Any) -> tuple[int, ...]:
    """How long inputs are: whole numbers."""
    if not isinstance(lengths, Iterable) or isinstance(lengths, str | bytes):
        raise InvalidArgument("lengths", lengths, "must be whole numbers", "Pass for example (1, 2, 5).")
    given = tuple(lengths)
    for length in given:
        at_least("lengths", length, 1, MOST_LENGTH)
    return given
