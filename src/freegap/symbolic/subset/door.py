"""The one door: every value that comes from outside of a program's text goes through `read`. What it lets in,
by exact type, so that no subclass and no class of the user's can answer for itself:

    None, bool, int, str        as they are: they cannot change
    float                       the rational that its shortest decimal denotes, or ±infinity
    Fraction                    made anew of its two numbers, which must be Python's own
    tuple, frozenset            made anew, of what may come in
    functions                   of Python's own kind: called by the text that is theirs (`source`)
    functools.partial, methods  the function, with what it is bound to, made anew
    modules                     their names are read one by one, through this door
    frozen dataclasses          a `Structure` of the fields as they are now, read one by one through this door
    named tuples of RECORDS, functions and classes in MODELS or with a meaning in the subset    by identity

All else is refused. Nothing that may change is shared with whoever passed it: lists come in as parameters
only, as copies (`fresh`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import (
    BuiltinFunctionType,
    BuiltinMethodType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from freegap.symbolic.subset.values import RECORDS, Partial, Record, Structure, is_ours
from freegap.symbolic.symbols import Symbol, is_public
from freegap.values.rationals import rational


class NotReadable(Exception):
    """A value from outside that may not be used; the text says why."""


_AS_THEY_ARE = (type(None), bool, int, str, FunctionType, ModuleType)


def read(value: Any) -> Any:
    """A value from outside the program, in the interpreter's terms; `NotReadable` if it may not come in."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    made = _MADE_ANEW.get(kind)
    if made is not None:
        return made(value)
    if any(kind is known for known in RECORDS):
        return Record(kind, tuple(map(read, value)))
    if is_ours(value):
        raise NotReadable(f"a {kind.__name__} is a piece of the prover")
    if _known(value):
        return value
    if _is_frozen(value):
        return _structure(value)
    if isinstance(value, np.ndarray):
        raise NotReadable(
            "+, * and == mean other things for NumPy arrays: pass array.tolist() as a parameter"
        )
    if value is itertools.count:
        raise NotReadable(
            "of itertools.count() only `for turn in count():` is read, in a program whose rounds are alike "
            "and in which no two draws have the label of one (docs/prove.md, loops that end at random)"
        )
    if kind in (type, BuiltinFunctionType, BuiltinMethodType):
        raise NotReadable(
            f"{value.__name__} has no meaning here: of classes and of Python's functions, "
            "a program may use those in the table of docs/prove.md"
        )
    raise NotReadable(
        f"a {kind.__name__} can change or hide something: from outside, a program may use numbers, truth "
        "values, text, tuples and frozen dataclasses of them, and functions"
    )


def is_plain_number(value: Any) -> bool:
    """Whether it is one of Python's own numbers, all the way down."""
    if type(value) is Fraction:
        return type(value._numerator) is int and type(value._denominator) is int  # type: ignore[attr-defined]
    return type(value) in (bool, int, float)


def _decimal(value: float) -> Any:
    if math.isnan(value):
        raise NotReadable("NaN is not a number")
    if math.isinf(value):
        return value
    if value == 0 and math.copysign(1, value) < 0:
        raise NotReadable("-0.0 looks different from 0.0, and is the same number")
    return Fraction(repr(value))


def _fraction(value: Fraction) -> Fraction:
    if not is_plain_number(value):
        raise NotReadable("a Fraction of numbers that are not Python's own")
    made = Fraction(value.numerator, value.denominator)
    if (made.numerator, made.denominator) != (value.numerator, value.denominator):
        raise NotReadable("a Fraction that was changed, and is not in lowest terms")
    return made


def _parameter(value: Symbol) -> Symbol:
    if not is_public(value):
        raise NotReadable("a Symbol is a piece of the prover")
    return value  # of a schema, for all parameters; where programs are run, it is no number


def _tuple(value: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(read, value))


def _frozenset(value: frozenset[Any]) -> frozenset[Any]:
    if not all(map(_is_key, value)):
        raise NotReadable("a frozenset of objects that Python may compare by methods of their own")
    return frozenset(map(read, value))


def _partial(value: partial[Any]) -> Partial:
    words = {name: read(item) for name, item in value.keywords.items()}
    if not all(type(name) is str for name in words):
        raise NotReadable("a partial whose arguments have names that are not Python's own texts")
    return Partial(read(value.func), tuple(map(read, value.args)), words)


def _method(value: MethodType) -> Partial:
    """A function with a text, of a frozen dataclass: `__func__` can be any object."""
    owner = value.__self__
    if type(value.__func__) is not FunctionType or is_ours(owner) or not _is_frozen(owner):
        raise NotReadable("a method can change or hide something, unless it is that of a frozen dataclass")
    return Partial(value.__func__, (_structure(owner),), {})


_MADE_ANEW: dict[type, Callable[[Any], Any]] = {
    float: _decimal,
    Fraction: _fraction,
    Symbol: _parameter,
    tuple: _tuple,
    frozenset: _frozenset,
    partial: _partial,
    MethodType: _method,
}


def _is_key(value: Any) -> bool:
    """Whether Python compares it as the interpreter does: by no method of a class of the user's."""
    if type(value) is tuple:
        return all(map(_is_key, value))
    return value is None or type(value) is str or is_plain_number(value)


def _known(value: Any) -> bool:
    from freegap.symbolic.subset.builtins import meaning_of  # which needs the machine, which needs this

    return meaning_of(value) is not None or any(value is kind for kind in RECORDS)


# Frozen dataclasses ----------------------------------------------------------------------------------------


def _is_frozen(value: Any) -> bool:
    """A frozen dataclass with Python's own way of finding attributes."""
    kind = type(value)
    if type(kind) is not type:
        return False
    settings = kind.__dict__.get("__dataclass_params__")
    finds: Any = kind.__getattribute__
    plain = finds is object.__getattribute__ and not hasattr(kind, "__getattr__")
    return settings is not None and bool(settings.frozen) and plain and _has_plain_fields(value)


def _has_plain_fields(value: Any) -> bool:
    """Whether its `__dict__` is where Python looks for fields, and a dict: Python looks past all methods."""
    shown = [vars(base)["__dict__"] for base in type(value).__mro__ if "__dict__" in vars(base)]
    real = all(type(found) is GetSetDescriptorType for found in shown)
    return real and type(getattr(value, "__dict__", {})) is dict


def _structure(value: Any) -> Structure:
    """What Python finds by each name: in its class a function, a property or a place for a field, and else
    in its own dict. What else a class has that computes is left out, and so refused when it is asked for."""
    own: dict[str, Any] = dict(getattr(value, "__dict__", {}))
    fields: dict[str, Any] = {}
    functions: dict[str, FunctionType] = {}
    properties: dict[str, FunctionType] = {}
    names = {name for base in type(value).__mro__ for name in vars(base)} | own.keys()
    for name in names:
        found = next((vars(base)[name] for base in type(value).__mro__ if name in vars(base)), None)
        if type(found) is property and type(found.fget) is FunctionType:
            properties[name] = found.fget
        elif type(found) is MemberDescriptorType:  # of a dataclass with slots
            fields[name] = found.__get__(value)
        elif type(found) is not FunctionType and hasattr(type(found), "__get__"):
            continue
        elif name in own and name in type(value).__dataclass_fields__:
            fields[name] = own[name]
        elif type(found) is FunctionType and name not in own:
            functions[name] = found
    return Structure(type(value).__name__, fields, functions, properties)


# Parameters ------------------------------------------------------------------------------------------------


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
    if kind is Fraction and is_plain_number(value):
        return Fraction(value.numerator, value.denominator)
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
