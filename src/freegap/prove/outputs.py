"""Outputs as a skeleton (everything discrete) with holes for the symbolic numbers.

Two runs can have the same output only if their skeletons are equal, or differ where one has a hole and
the other a number (`half_holes`); the latter are made holes everywhere, and then equal skeletons it is.
The skeleton is what a local alignment may depend on without becoming uncountably many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.symbolic import NotDecided, Symbol
from freegap.symbolic.symbols import constant

__all__ = [
    "Hole",
    "Position",
    "flatten",
    "half_holes",
    "outline",
    "pattern",
    "rebuild",
    "show",
    "whole_numbers",
]


@dataclass(frozen=True)
class Hole:
    """The place of the i-th symbolic number."""

    place: int


@dataclass(frozen=True)
class _Node:
    """A list, tuple, dict or dataclass: its kind, and its children in order."""

    kind: type
    names: tuple[Any, ...] | None
    children: tuple[Any, ...]


Position = tuple[int, ...]
"""Where in an output: the child to take, level by level."""


def flatten(output: Any, holes: frozenset[Position] = frozenset()) -> tuple[Any, list[Symbol]]:
    """The skeleton of an output and its symbolic numbers, in order; numbers at `holes` count as symbolic.

    >>> from freegap.symbolic import real
    >>> skeleton, numbers = flatten([("above", real("gap")), ("below", None)])
    >>> show(skeleton), numbers
    ("[('above', _), ('below', None)]", [gap])
    """
    numbers: list[Symbol] = []
    return _flatten(output, (), holes, numbers), numbers


def _flatten(value: Any, at: Position, holes: frozenset[Position], numbers: list[Symbol]) -> Any:
    def children(values: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(_flatten(v, (*at, i), holes, numbers) for i, v in enumerate(values))

    if is_dataclass(value) and not isinstance(value, type):
        names = tuple(f.name for f in fields(value))
        return _Node(type(value), names, children(getattr(value, name) for name in names))
    if isinstance(value, dict):
        return _Node(dict, tuple(value), children(value.values()))
    if isinstance(value, list | tuple):
        return _Node(type(value), None, children(value))
    if value is None or isinstance(value, bool | np.bool_ | str | bytes):
        return bool(value) if isinstance(value, np.bool_) else value
    number = value.as_constant() if isinstance(value, Symbol) else constant(value)
    if (isinstance(value, Symbol) and number is None) or (number is not None and at in holes):
        numbers.append(Symbol.of(value))
        return Hole(len(numbers) - 1)
    if number is not None:
        return number
    # An object that compares by identity would make any two outputs different.
    compares = "__eq__" in {name for kind in type(value).__mro__[:-1] for name in vars(kind)}
    if not (compares or isinstance(value, Enum | type)) or type(value).__hash__ is None:
        raise NotDecided(f"an output of type {type(value).__name__} cannot be compared")
    return value


def rebuild(skeleton: Any, numbers: Sequence[Any]) -> Any:
    """The output with these numbers in the holes; whole numbers come back as ints."""
    if isinstance(skeleton, Hole):
        return numbers[skeleton.place]
    if isinstance(skeleton, _Node):
        children = [rebuild(child, numbers) for child in skeleton.children]
        if skeleton.kind is dict:
            return dict(zip(skeleton.names or (), children, strict=True))
        if skeleton.names is not None:
            return skeleton.kind(**dict(zip(skeleton.names, children, strict=True)))
        return skeleton.kind(*children) if hasattr(skeleton.kind, "_fields") else skeleton.kind(children)
    if isinstance(skeleton, Fraction) and skeleton.denominator == 1:
        return int(skeleton)
    return skeleton


def outline(skeleton: Any) -> Any:
    """The skeleton with all numbers as holes: two outputs that can be equal have equal outlines."""
    if isinstance(skeleton, _Node):
        return _Node(skeleton.kind, skeleton.names, tuple(map(outline, skeleton.children)))
    return Hole(0) if isinstance(skeleton, Fraction | Hole) else (type(skeleton), skeleton)


def half_holes(left: Any, right: Any) -> list[Position] | None:
    """Where one skeleton has a hole and the other a number; None if the outputs differ in any case."""
    return _half_holes(left, right, ())


def _half_holes(left: Any, right: Any, at: Position) -> list[Position] | None:
    if isinstance(left, Hole) or isinstance(right, Hole):
        if isinstance(left, Hole) and isinstance(right, Hole):
            return []
        return [at] if all(isinstance(side, Hole | Fraction) for side in (left, right)) else None
    if isinstance(left, _Node) and isinstance(right, _Node):
        same = left.kind is right.kind and left.names == right.names
        if not same or len(left.children) != len(right.children):
            return None
        found: list[Position] = []
        for i, (a, b) in enumerate(zip(left.children, right.children, strict=True)):
            positions = _half_holes(a, b, (*at, i))
            if positions is None:
                return None
            found += positions
        return found
    return [] if type(left) is type(right) and left == right else None


def show(skeleton: Any) -> str:
    """The skeleton as text, with `_` for each number that varies."""
    if isinstance(skeleton, Hole):
        return "_"
    if not isinstance(skeleton, _Node):
        return str(skeleton) if isinstance(skeleton, Fraction) else repr(skeleton)
    children = [show(child) for child in skeleton.children]
    if skeleton.names is not None:
        inside = ", ".join(f"{n}={c}" for n, c in zip(skeleton.names, children, strict=True))
        return f"{skeleton.kind.__name__}({inside})"
    if skeleton.kind is list:
        return f"[{', '.join(children)}]"
    return f"({', '.join(children)}{',' if len(children) == 1 else ''})"


def whole_numbers(skeleton: Any) -> list[Fraction]:
    """The discrete numbers of a skeleton."""
    if isinstance(skeleton, _Node):
        return [number for child in skeleton.children for number in whole_numbers(child)]
    return [skeleton] if isinstance(skeleton, Fraction) else []


def pattern(skeleton: Any) -> tuple[str, str]:
    """The skeleton as a Python pattern for `match`, and the guard that it needs."""
    guards: list[str] = []
    text = _pattern(skeleton, guards)
    return text, f" if {' and '.join(guards)}" if guards else ""


def _pattern(skeleton: Any, guards: list[str]) -> str:
    if isinstance(skeleton, Hole):
        return "_"
    if isinstance(skeleton, _Node):
        children = [_pattern(child, guards) for child in skeleton.children]
        if skeleton.kind is dict:
            return (
                "{"
                + ", ".join(f"{n!r}: {c}" for n, c in zip(skeleton.names or (), children, strict=True))
                + "}"
            )
        if skeleton.names is not None:
            raise NotDecided(f"no pattern is written for outputs of type {skeleton.kind.__name__}")
        return "[" + ", ".join(children) + "]"
    if isinstance(skeleton, Fraction):
        if skeleton.denominator == 1:
            return str(skeleton)
        name = f"number{len(guards)}"
        guards.append(f"{name} == {skeleton!r}")
        return name
    if skeleton is None or isinstance(skeleton, bool | str | bytes):
        return repr(skeleton)
    raise NotDecided(f"no pattern is written for outputs of type {type(skeleton).__name__}")
