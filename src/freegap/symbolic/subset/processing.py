"""Post-processing: what a program may do with numbers that are not known beyond polynomials of them.

`round(x)`, `x // 2`, `x / y` and so on have no value here. They are kept as what they are, functions of the
numbers in them, and a program may put them out, calculate on with them, and do nothing else: to compare one,
or to look at its type or its text, is refused. What is proved is the program that puts out those numbers
themselves. If that is private, so is every function of its output.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.symbolic.symbols import Symbol

OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "round": round,
    "floor": math.floor,
    "ceil": math.ceil,
    "int": int,
    "float": float,
}


@dataclass(frozen=True, eq=False)
class Processed:
    """An operation on numbers of which some are not known, or are themselves `Processed`."""

    operation: str
    parts: tuple[Any, ...]


def processed(operation: str, parts: Iterable[Any]) -> Any:
    """The operation on these numbers: done, where all of them are known and it has a value."""
    given = tuple(parts)
    if any(type(part) in (Symbol, Processed) for part in given):
        return Processed(operation, given)
    exact = [Fraction(part) if operation == "/" else part for part in given]  # not rounded to a float
    try:
        return OPERATIONS[operation](*exact)
    except ZeroDivisionError:
        return Processed(operation, given)
