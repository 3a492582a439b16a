"""What a program of the subset can hold.

A value is None, a truth value, a whole number (int), a real number (`Fraction`, or `Symbol` where it is not
known), ±infinity, text, a list, tuple, dict or set of values, a function, or one of the classes here. The
interpreter makes all of them itself, so `type` tells exactly what a value is: no subclass, no object of the
user's, no hidden attribute gets in.

Floats are read as the rationals that their shortest decimals denote: 0.1 is 1/10. They are *real*, and are
told apart from whole numbers in an output, as `1` and `1.0` are.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

from freegap.symbolic.draws import SymbolicNoise
from freegap.symbolic.subset.processing import Processed
from freegap.symbolic.subset.source import Definition
from freegap.symbolic.symbols import Symbol

if TYPE_CHECKING:
    from freegap.symbolic.subset.frames import Frame

NUMBERS = (bool, int, Fraction, Symbol)

RECORDS: set[type] = set()
"""Named tuples of freegap's own whose fields a program may read."""

MODELS: dict[Any, Any] = {}
"""Classes and functions of freegap's own that are no part of the subset, with what they mean here."""


@dataclass(frozen=True, eq=False)
class Closure:
    """A function that the program defined, with the frame that it was defined in."""

    definition: Definition
    frame: Frame
    defaults: tuple[Any, ...]
    keyword_defaults: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Partial:
    """A function with some of its arguments."""

    function: Any
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Method:
    """A method of a list, a dict and so on, or of a noise interface."""

    owner: Any
    name: str


@dataclass(frozen=True, eq=False)
class Lazy:
    """What is gone through once: a generator expression, `zip`, `enumerate`, …"""

    items: Iterator[Any]


@dataclass(frozen=True, eq=False)
class View:
    """The keys, values or items of a dict: as they are now, whenever one looks."""

    items: Collection[Any]


@dataclass(frozen=True, eq=False)
class Record:
    """A named tuple of `RECORDS`."""

    kind: type
    values: tuple[Any, ...]

    def field(self, name: str) -> Any:
        """The value of a field; KeyError if there is none."""
        names: tuple[str, ...] = self.kind._fields  # type: ignore[attr-defined]
        return dict(zip(names, self.values, strict=True))[name]


@dataclass(frozen=True, eq=False)
class Structure:
    """A frozen dataclass from outside, as it was when it was read: what it has by each name. The values of
    fields are read when they are asked for."""

    name: str
    fields: Mapping[str, Any]
    functions: Mapping[str, FunctionType]
    properties: Mapping[str, FunctionType]


@dataclass(frozen=True, eq=False)
class NoiseInterface:
    """The noise interface: draws go to the recorder, under the label that `rename` makes of theirs, and with
    their scales times `factor`."""

    recorder: SymbolicNoise
    rename: Any = None
    factor: Fraction = Fraction(1)


@dataclass(frozen=True, eq=False)
class KnownNoise:
    """A noise interface whose draws are known already, by label."""

    values: Mapping[Any, Any]
    rename: Any = None


@dataclass(frozen=True, eq=False)
class Trusted:
    """A piece of the prover that stands where a program does: what it means on values, and on numbers.

    meaning: meaning(machine, *arguments, **keywords); it calls programs by `machine.call`.
    real: the same on numbers, where it calls the real programs.
    """

    meaning: Any
    real: Any

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """On numbers."""
        return self.real(*arguments, **keywords)


_OURS = (
    Closure, Partial, Method, Lazy, View, Record, Structure, NoiseInterface, KnownNoise, Trusted, Processed,
)  # fmt: skip
"""What the interpreter alone makes, and a program cannot bring along."""


def is_ours(value: Any) -> bool:
    """Whether it is a piece of the prover, which means whatever it says it means."""
    return type(value) in _OURS


def is_number(value: Any) -> bool:
    """Whether it is a finite number, known or not; truth values are whole numbers, as in Python."""
    return type(value) in NUMBERS


def holds_float(value: Any) -> bool:
    """Whether there is a finite float in it."""
    if type(value) in (tuple, frozenset):
        return any(map(holds_float, value))
    if type(value) is partial:
        return any(map(holds_float, [*value.args, *value.keywords.values()]))
    return type(value) is float and math.isfinite(value)


def holds_rounding(value: Any) -> bool:
    """Whether a float in it is not the number that its shortest decimal denotes."""
    if type(value) is float:
        return math.isfinite(value) and Fraction(repr(value)) != Fraction(value)
    if type(value) in (tuple, frozenset):
        return any(map(holds_rounding, value))
    if type(value) is partial:
        return any(map(holds_rounding, [*value.args, *value.keywords.values()]))
    return False


def shown(value: Any) -> str:
    """What a value is, in words, without its content."""
    words = {
        Symbol: "a number that depends on answers or noise",
        Fraction: "a real number",
        bool: "a truth value",
        int: "a whole number",
        str: "a text",
        Closure: "a function",
        FunctionType: "a function",
        NoiseInterface: "the noise interface",
        Processed: "a number that was rounded or divided",
        type(None): "None",
    }
    if type(value) is Structure:
        return f"a {value.name}"
    return words.get(type(value), f"a {type(value).__name__}")
