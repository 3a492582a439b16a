"""What a program of the subset can hold, and what it may read from outside.

A value is None, a truth value, a whole number (int), a real number (`Fraction`, or `Symbol` where it is not
known), ±infinity, text, a list, tuple, dict or set of values, a function, or one of the classes here. The
interpreter makes all of them itself, so `type` tells exactly what a value is: no subclass, no object of the
user's, no hidden attribute gets in.

Floats are read as the rationals that their shortest decimals denote: 0.1 is 1/10. They are *real*, and are
told apart from whole numbers in an output, as `1` and `1.0` are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import FunctionType, GetSetDescriptorType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from freegap.symbolic.draws import SymbolicNoise
from freegap.symbolic.subset.processing import Processed
from freegap.symbolic.subset.source import Definition
from freegap.symbolic.symbols import Symbol, is_public
from freegap.values.rationals import rational

if TYPE_CHECKING:
    from freegap.symbolic.subset.frames import Frame

NUMBERS = (bool, int, Fraction, Symbol)

RECORDS: set[type] = set()
"""Named tuples of freegap's own whose fields a program may read."""

MODELS: dict[Any, Any] = {}
"""Classes and functions of freegap's own that are no part of the subset, with what they mean here."""


class NotReadable(Exception):
    """A value from outside that may not be used; the text says why."""


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


_OURS = (Closure, Partial, Method, Lazy, View, Record, NoiseInterface, KnownNoise, Trusted, Processed)
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


def read(value: Any) -> Any:
    """A value from outside the program, if it cannot change: a constant or a function; else `NotReadable`."""
    kind = type(value)
    if value is None or kind in (bool, int, str, Fraction):
        return value
    if kind is float:
        return _decimal(value)
    if kind is Symbol and is_public(value):
        return value
    if kind is tuple:
        return tuple(map(read, value))
    if kind is frozenset and all(map(_is_key, value)):
        return frozenset(map(read, value))
    if any(kind is known for known in RECORDS):
        return Record(kind, tuple(map(read, value)))
    if kind in (FunctionType, ModuleType):
        return value
    if kind is partial:
        words = {name: read(item) for name, item in value.keywords.items()}
        return Partial(read(value.func), tuple(map(read, value.args)), words)
    if kind is MethodType and _is_method(value):
        return value
    if is_ours(value):
        raise NotReadable(f"a {kind.__name__} is a piece of the prover")
    if is_frozen(value) or _known(value):
        return value
    if isinstance(value, np.ndarray):
        raise NotReadable(
            "+, * and == mean other things for NumPy arrays: pass array.tolist() as a parameter"
        )
    raise NotReadable(
        f"a {kind.__name__} can change or hide something: from outside, a program may use numbers, truth "
        "values, text, tuples and frozen dataclasses of them, and functions"
    )


def _is_method(value: MethodType) -> bool:
    """A function with a text, of a frozen dataclass of the user's: `__func__` can be any object."""
    owner = value.__self__
    return type(value.__func__) is FunctionType and is_frozen(owner) and not is_ours(owner)


def _is_key(value: Any) -> bool:
    """Whether Python compares it as the interpreter does: by no method of a class of the user's."""
    if type(value) is tuple:
        return all(map(_is_key, value))
    return value is None or type(value) in (bool, int, float, str, Fraction)


def parameter(value: Any) -> Any:
    """A parameter, or an item of one, as it is passed to programs: every kind of number as an exact one."""
    kind = type(value)
    if kind is np.bool_:
        return bool(value)
    if isinstance(value, np.integer) and not isinstance(value, np.timedelta64):
        return int(value)
    if kind is Decimal and value.is_finite():
        return rational("parameters", value)
    if (kind is float or isinstance(value, np.floating)) and math.isfinite(value):
        return rational("parameters", value)
    return value


def fresh(value: Any, leaf: Callable[[Any], Any], known: dict[int, Any]) -> Any:
    """A copy of lists and tuples, with `leaf` of what is in them; a list that occurs twice stays one."""
    if type(value) is tuple:
        return tuple(fresh(item, leaf, known) for item in value)
    if type(value) is not list:
        return leaf(value)
    if id(value) not in known:
        copied: list[Any] = []
        known[id(value)] = copied
        copied.extend(fresh(item, leaf, known) for item in value)
    return known[id(value)]


def is_frozen(value: Any) -> bool:
    """A frozen dataclass with Python's own way of finding attributes."""
    kind = type(value)
    settings = kind.__dict__.get("__dataclass_params__")
    finds: Any = kind.__getattribute__
    plain = finds is object.__getattribute__ and not hasattr(kind, "__getattr__") and type(kind) is type
    return settings is not None and settings.frozen and plain and _has_plain_fields(value)


def _has_plain_fields(value: Any) -> bool:
    """Whether its `__dict__` is where Python looks for fields, and a dict: Python looks past all methods."""
    shown = [vars(base)["__dict__"] for base in type(value).__mro__ if "__dict__" in vars(base)]
    real = all(type(found) is GetSetDescriptorType for found in shown)
    return real and type(getattr(value, "__dict__", {})) is dict


def _known(value: Any) -> bool:
    from freegap.symbolic.subset.builtins import meaning_of  # which needs the machine, which needs this

    return meaning_of(value) is not None or any(value is kind for kind in RECORDS)


def _decimal(value: float) -> Any:
    if math.isnan(value):
        raise NotReadable("NaN is not a number")
    if math.isinf(value):
        return value
    if value == 0 and math.copysign(1, value) < 0:
        raise NotReadable("-0.0 looks different from 0.0, and is the same number")
    return Fraction(repr(value))


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
    return words.get(type(value), f"a {type(value).__name__}")
