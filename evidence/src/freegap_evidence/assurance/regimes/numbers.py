"""The numbers of a case: grids, scales and answers, each by its level; and what holds them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

import numpy as np

from freegap_evidence.assurance.regimes.cells import Cell, Levels, apart
from freegap_evidence.assurance.regimes.choices import Choices

GRIDS = {
    "1": Fraction(1),
    "1/2": Fraction(1, 2),
    "2^-10": Fraction(1, 2**10),
    "2^-50": Fraction(1, 2**50),
    "1/3": Fraction(1, 3),
    "1/10": Fraction(1, 10),
    "1/1000": Fraction(1, 1000),
    "10^-20": Fraction(1, 10**20),
    "10^-60": Fraction(1, 10**60),
}

_EXPONENTS = (-90, -30, -9, -2, 0, 2, 9, 30, 90)
SCALES = (*(f"10^{e}" for e in _EXPONENTS), "any")
_ANY = 900  # tenths of powers of ten, on either side

VALUES = ("close", "ties", "one tall", "int64", "at 2^53", "at 2^62", "at 2^63", "beyond", "fine")
"""Answers: so close that noise decides; few different; one above all by some scales; large; at the edges of
what doubles and int64 hold; beyond; and off the grid."""

_EDGES = {"at 2^53": 2**53, "at 2^62": 2**62, "at 2^63": 2**63}
_FARTHEST = 10**400
_FINE = 2**32

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_SHORT = tuple(kind for kind in _INTEGERS if not kind.endswith("64"))
_FLOATS = ("float16", "float32", "float64", "longdouble")
_DIGITS: dict[type[Any], int] = {float: 53, np.float64: 53, np.float32: 24, np.float16: 11}
_WHOLE = ("list", "tuple", *_INTEGERS)  # hold integers alone
LABELLED = ("dict", *(("Series",) if find_spec("pandas") else ()))
INPUTS = (
    "list",
    "tuple",
    "list of floats",
    "Fractions",
    "Decimals",
    "mixed list",
    "object array",
    *LABELLED,
    *_INTEGERS,
    *_FLOATS,
)

DIMENSIONS = {"values": VALUES, "input": INPUTS, "grid": tuple(GRIDS), "scale": SCALES}


def unholdable() -> set[Cell]:
    """Answers that an input cannot hold."""
    return (
        apart("input", _WHOLE, "values", ["fine"])
        | apart("input", _SHORT, "values", ["int64", "at 2^53", "at 2^62", "beyond"])
        | apart("input", ["int64"], "values", ["beyond"])
        | apart("input", ["float16"], "values", ["int64", "at 2^53", "at 2^62", "at 2^63", "beyond"])
    )


def scale_at(level: str, choices: Choices) -> Fraction:
    """A scale of this order of magnitude; "any" is one between 10^-90 and 10^90."""
    lead = Fraction(choices.between(100, 999), 100)
    if level == "any":
        tenths = choices.between(-_ANY, _ANY - 10)
        return lead * Fraction(10) ** (tenths // 10)
    exponent = int(level.removeprefix("10^"))
    return Fraction(10) ** exponent * (lead if exponent < 0 else 1 / lead)  # within 10^-90 … 10^90


def on_grid(value: Fraction, grid: Fraction) -> Fraction:
    """Rounded down to a multiple of the grid (Ding et al. 2023, lemma 4.2); a whole number is one."""
    steps = value.numerator * grid.denominator // (value.denominator * grid.numerator)
    return steps * grid


# Answers --------------------------------------------------------------------------------------


def answers_in(
    level: str, lifts: Sequence[float], *, scale: Fraction, grid: Fraction, choices: Choices
) -> list[Fraction]:
    """One answer for each lift, which is how far below the others an answer is meant to be, in scales.

    A group of m items has its largest noise about ln m higher than an item has: with that lift it competes.
    """
    if level in _EDGES:
        return _at_edge(_EDGES[level], len(lifts), choices)
    if level == "ties":
        first = choices.between(-3, 3)
        second = first + choices.of((0, 1, math.floor(scale * 2)))
        return [Fraction(choices.of((first, second))) for _ in lifts]
    if level == "one tall":
        low = Fraction(choices.between(-3, 3))
        answers = [low] * len(lifts)
        answers[choices.below(len(answers))] += scale * Fraction(max(lifts) + choices.between(-5, 20))
        return answers
    close = [
        scale * Fraction(6 * part - 3 * _FINE - round(lift * _FINE), _FINE)
        for part, lift in zip(choices.parts(len(lifts), _FINE), lifts, strict=True)
    ]
    if level == "int64":
        offset = choices.of((-1, 1)) * choices.between(2**55, 2**61)
        spread = choices.of((0, 2**28))
        parts = choices.parts(len(close), _FINE)
        return [x + (offset + spread * part) for x, part in zip(close, parts, strict=True)]
    if level == "beyond":
        offset = choices.of((2**63, 2**64 - 20, 10**30, _FARTHEST)) * choices.of((1, 1, -1))
        return [x + offset * choices.of((1, 1, 1, 0)) for x in close]
    if level == "fine":
        parts = choices.parts(len(close), _FINE)
        return [x + grid * Fraction(3 * part, _FINE) for x, part in zip(close, parts, strict=True)]
    return close


def _at_edge(edge: int, n: int, choices: Choices) -> list[Fraction]:
    """Some of ±edge and their neighbours; among many, one at the one edge and all others at the other."""
    near = [edge, -edge, edge - 1, 1 - edge, edge + 1, -edge - 1, 0]
    if n > len(near):
        return choices.shuffled([Fraction(edge), *(Fraction(-edge) for _ in range(n - 1))])
    kinds = choices.of((near[:2], near[:4], near[:4], near[:6], [edge - 1, -edge], near))
    return [Fraction(kinds[i]) if i < 2 else Fraction(choices.of(kinds)) for i in range(n)]


# What holds them ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Input:
    """Answers as a user passes them, each of them alone, what they are exactly, and what names the i-th.

    Labelled answers are passed in the wrong order: they must be taken in that of their labels.
    """

    answers: Any
    elements: list[Any]
    exact: list[Fraction]
    label: Callable[[int], Any]

    def on(self, grid: Fraction) -> list[Fraction]:
        """Rounded down to multiples of the grid."""
        return [on_grid(value, grid) for value in self.exact]


def given_at(
    levels: Levels, lifts: Sequence[float], *, scale: Fraction, grid: Fraction, choices: Choices
) -> Input:
    """By the levels of "values" and "input"; lifts as for `answers_in`."""
    return held(
        levels["input"],
        answers_in(levels["values"], lifts, scale=scale, grid=grid, choices=choices),
        grid,
    )


def held(kind: str, values: Sequence[Fraction], grid: Fraction) -> Input:
    """The values in a container of this kind, as far as it can hold them; grid: what floats are read on."""
    elements = _elements(kind, values)
    exact = [_exactly(element, grid) for element in elements]
    if kind in LABELLED:
        named = {_name(i): element for i, element in reversed([*enumerate(elements)])}
        return Input(named if kind == "dict" else _series(named), elements, exact, _name)
    answers: Any = tuple(elements) if kind == "tuple" else elements
    if kind in _INTEGERS or kind in _FLOATS:
        answers = np.array(elements, dtype=kind)
    if kind == "object array":
        answers = np.empty(len(elements), dtype=object)
        answers[:] = elements
    return Input(answers, elements, exact, lambda i: i)


def _name(i: int) -> str:
    return f"item {i:04}"


def _series(named: Mapping[str, Any]) -> Any:
    import pandas as pd

    elements = list(named.values())
    dtype = "object"
    if all(isinstance(e, int) and abs(e) < 2**63 for e in elements):
        dtype = "int64"
    elif all(isinstance(e, float) for e in elements):
        dtype = "float64"
    return pd.Series(elements, index=list(named), dtype=dtype)


def _elements(kind: str, values: Iterable[Fraction]) -> list[Any]:
    if kind in _INTEGERS:
        limits = np.iinfo(kind)
        return [np.dtype(kind).type(max(min(math.floor(v), limits.max), limits.min)) for v in values]
    if kind in _FLOATS or kind == "list of floats":
        dtype = np.dtype(kind if kind in _FLOATS else "float64")
        most = Fraction(float(np.finfo(dtype if dtype.itemsize <= 8 else np.float64).max))
        numbers = [float(max(min(v, most), -most)) for v in values]
        return numbers if kind == "list of floats" else [dtype.type(number) for number in numbers]
    if kind == "Fractions":
        return list(values)
    if kind == "Decimals":
        return [_decimal(v) for v in values]
    if kind == "mixed list":
        makers: list[Callable[[Fraction], Any]] = [math.floor, Fraction, _decimal, _double, _np_integer]
        return [makers[i % len(makers)](v) for i, v in enumerate(values)]
    if kind in ("list", "tuple"):
        return [math.floor(v) for v in values]
    return [int(v) if v.denominator == 1 else _double(v) if kind == "Series" else v for v in values]


def _decimal(value: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = 450
        return Decimal(value.numerator) / Decimal(value.denominator)


def _double(value: Fraction) -> float:
    most = Fraction(1.7e308)
    return float(max(min(value, most), -most))


def _np_integer(value: Fraction) -> Any:
    return np.int64(max(min(math.floor(value), 2**63 - 1), -(2**63)))


def _exactly(element: Any, grid: Fraction) -> Fraction:
    """What an element means: itself, or for a float the grid point whose nearest float it is.

    The latter only where floats of this size are closer together than grid points (`freegap.values.floats`).
    """
    if isinstance(element, np.integer):
        return Fraction(int(element))
    if not isinstance(element, float | np.floating):
        return Fraction(element)
    numerator, denominator = element.as_integer_ratio()
    exact = Fraction(int(numerator), int(denominator))
    per_unit = grid.denominator
    digits = _DIGITS.get(type(element), 0)
    if per_unit <= 2**digits and abs(exact) * per_unit < 2 ** (digits - 1):
        above = Fraction(math.floor(exact * per_unit) + 1, per_unit)
        if type(element)(float(above)) == element:
            return above
    return exact
