"""Arguments that several mechanisms share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from freegap.errors import InvalidArgument
from freegap.laws import LAWS, Law, law_named
from freegap.values.measures import Measure

DEFAULT_RESOLUTION = Fraction(1, 1024)

_PLAIN = frozenset({int, bool, float, str, type(None), Fraction})
"""Of which an equal one is the same. Not `Decimal`: its signalling NaN cannot be looked up."""

P = ParamSpec("P")
T = TypeVar("T")


def remembered(read: Callable[P, T]) -> Callable[P, T]:
    """Of a function that makes a frozen plan of public arguments: releases alike have the same plan.

    Only for arguments of plain types, and apart for each type: 1, 1.0 and True may mean different things.
    What is refused is not remembered.
    """
    known = lru_cache(maxsize=256, typed=True)(read)

    @wraps(read)
    def reading(*args: P.args, **options: P.kwargs) -> T:
        if options.get("resolution") is DEFAULT_RESOLUTION:
            del options["resolution"]  # it is the default of all plans, and hashing it takes long
        if _PLAIN.issuperset(map(type, options.values())):
            return known(*args, **options)  # type: ignore[arg-type]
        return read(*args, **options)

    return reading


def noise_argument(noise: Any, known: Sequence[str], asked: Measure | None = None) -> Law:
    """The law of this name, if the mechanism knows it.

    asked: the measure in which the mechanism has theorems for the known ones.
    """
    if not isinstance(noise, str) or noise not in known:
        if asked is not None and isinstance(noise, str) and noise in LAWS:
            raise InvalidArgument(
                "noise",
                noise,
                f"has no theorem here for the measure {asked.name}",
                f"Leave it out, or pass one of {', '.join(map(repr, known))}.",
            )
        raise InvalidArgument(
            "noise", noise, "is not a known noise", f"Pass one of {', '.join(map(repr, known))}."
        )
    return law_named(noise)


def flag_argument(argument: str, value: Any) -> bool:
    """True or False, and nothing that merely counts as one of them."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidArgument(
            argument, value, "must be True or False", f"Pass {argument}=True only if it is so."
        )
    return bool(value)


def require_whole_sensitivity(sensitivity: Fraction, given: Any) -> None:
    """Geometric noise is for whole numbers: rounding answers down to them must keep the sensitivity."""
    if sensitivity.denominator != 1:
        raise InvalidArgument(
            "sensitivity",
            given,
            "must be a whole number with geometric noise",
            'Pass a whole number, or noise="exponential".',
        )
