"""Checks of what a caller of the audit passes in: a bad value is refused before anything runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from freegap.errors import InvalidArgument

__all__ = ["EVENT_KINDS", "at_least", "event_kinds", "inside", "positive"]

EVENT_KINDS = ("floating-point", "learned")


def positive(argument: str, value: Any) -> float:
    """A positive finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 < number < math.inf:
        raise InvalidArgument(argument, value, "must be a positive number", f"Pass for example {argument}=1.")
    return number


def inside(argument: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    if not isinstance(value, float) or not 0 < value < 1:
        raise InvalidArgument(argument, value, "must lie between 0 and 1", "Pass for example 0.999.")
    return value


def at_least(argument: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number, or too small a one."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidArgument(
            argument, value, f"must be a whole number of at least {least}", f"Pass {argument}={least}."
        )


def event_kinds(argument: str, value: Iterable[str]) -> frozenset[str]:
    """Kinds of events that can be left out."""
    kinds = frozenset([value] if isinstance(value, str) else value)
    unknown = kinds.difference(EVENT_KINDS)
    if unknown:
        raise InvalidArgument(
            argument,
            min(unknown),
            "is no kind of event that can be left out",
            f"Known: {', '.join(EVENT_KINDS)}.",
        )
    return kinds
