"""Outputs as a skeleton (everything discrete) with holes for the symbolic numbers.

An output is None, a truth value, text, a whole or a real number, or a list, tuple or dict of outputs, and
nothing else. Kinds are told apart: True is not 1, and the whole number 1 is not the real number 1.0. So two
runs can have the same output only if their skeletons are equal, or differ where one has a hole and the
other a real number (`half_holes`); the latter are made holes everywhere, and then equal skeletons it is.
The skeleton is what a local alignment may depend on without becoming uncountably many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from freegap.symbolic import NotDecided, Symbol, is_public
from freegap.symbolic.subset.processing import Processed, processed


@dataclass(frozen=True)
class Hole:
    """The place of the i-th symbolic number."""

    place: int


@dataclass(frozen=True)
class RoundedHole(Hole):
    """The place of a number that was rounded, in an event: it may be whole."""


@dataclass(frozen=True)
class Leaf:
    """A discrete value, with its type: to Python True, 1 and Fraction(1) are equal, but they differ."""

    kind: type
    value: Any


@dataclass(frozen=True)
class Node:
    """A list, tuple or dict: its kind, its keys as leaves, and its children in order. A text for its kind is
    an operation on the numbers in it: post-processing of them (`freegap.symbolic.subset.processing`)."""

    kind: type | str
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

    kind = type(value)
    if kind is dict:
        return Node(dict, tuple(map(_leaf, value)), children(value.values()))
    if kind in (list, tuple):
        return Node(kind, None, children(value))
    if kind is Processed:
        return Node(value.operation, None, children(value.parts))
    if kind is Symbol or (kind is Fraction and at in holes):
        numbers.append(Symbol.of(value))
        return Hole(len(numbers) - 1)
    return _leaf(value)


def is_processed(skeleton: Any) -> bool:
    """Whether something in an output is an operation on numbers."""
    if not isinstance(skeleton, Node):
        return False
    return isinstance(skeleton.kind, str) or any(map(is_processed, skeleton.children))


def _leaf(value: Any) -> Leaf:
    kind = type(value)
    if kind is tuple:  # a key of a dict
        return Leaf(tuple, tuple(map(_leaf, value)))
    if value is not None and kind not in (bool, int, Fraction, str, Sealed):
        raise NotDecided(
            f"an output of type {kind.__name__}: it must be None, a truth value, a number, text, or a list, "
            "tuple or dict of these"
        )
    return Leaf(kind, value)


@dataclass(frozen=True)
class Sealed:
    """A number made of public parameters, in an output: told apart by what it is made of, and not a number
    that varies. That two of them can be equal for some parameters only makes the output that is proved tell
    more."""

    key: Any
    symbol: Symbol = field(compare=False)

    def __repr__(self) -> str:
        return str(self.symbol)


def seal(value: Any) -> Any:
    """The value with its numbers that are made of public parameters sealed."""
    if type(value) in (list, tuple):
        return type(value)(map(seal, value))
    return Sealed(value.key, value) if type(value) is Symbol and is_public(value) else value


def unseal(value: Any) -> Any:
    """The value with these numbers as symbols again."""
    if type(value) in (list, tuple):
        return type(value)(map(unseal, value))
    return value.symbol if type(value) is Sealed else value


def rebuild(skeleton: Any, numbers: Sequence[Any]) -> Any:
    """The output with these numbers in the holes."""
    if isinstance(skeleton, Hole):
        return numbers[skeleton.place]
    if isinstance(skeleton, Node):
        children = [rebuild(child, numbers) for child in skeleton.children]
        if skeleton.names is not None:
            return dict(zip((rebuild(name, ()) for name in skeleton.names), children, strict=True))
        if isinstance(skeleton.kind, str):
            return processed(skeleton.kind, children)
        return skeleton.kind(children)
    if skeleton.kind is tuple:
        return tuple(rebuild(part, ()) for part in skeleton.value)
    return skeleton.value


def require_one_type(told: Iterable[tuple[Any, Sequence[Symbol], Sequence[str] | None]]) -> None:
    """Of outputs, by skeleton and numbers, and the types that Python has for these: where two count as equal,
    none tells by its type what it does not tell by its value, as Fraction(1, 2) in the place of 0.5 would.
    Numbers that vary are taken to be of the type of a constant in their place."""
    found: dict[Any, str] = {}
    for skeleton, numbers, types in told:
        for place, (value, name) in enumerate(
            zip(constants_of(skeleton, numbers), types or (), strict=types is not None)
        ):
            if value is None or found.setdefault((skeleton, place, value), name) == name:
                continue
            kinds = " and ".join(sorted({name, found[skeleton, place, value]}))
            raise NotDecided(
                f"an output {show(skeleton)} has a number of different types, {kinds}, on two paths, which "
                "look different: write it in one way"
            )


def constants_of(skeleton: Any, numbers: Sequence[Symbol]) -> Iterator[Any]:
    """For each number of an output that is real or rounded, in order, what it is: None if it varies."""
    if isinstance(skeleton, Hole):
        yield numbers[skeleton.place].as_constant()
    elif isinstance(skeleton, Leaf) and skeleton.kind is Fraction:
        yield skeleton.value
    elif isinstance(skeleton, Node) and isinstance(skeleton.kind, str):
        yield skeleton.kind  # of the same numbers the same, if of one type
    elif isinstance(skeleton, Node):
        for child in skeleton.children:
            yield from constants_of(child, numbers)


def count_holes(skeleton: Any) -> int:
    """How many numbers vary."""
    if isinstance(skeleton, Node):
        return sum(map(count_holes, skeleton.children))
    return int(isinstance(skeleton, Hole))


def outline(skeleton: Any) -> Any:
    """The skeleton with all real numbers as holes: two outputs that can be equal have equal outlines."""
    if isinstance(skeleton, Node):
        return Node(skeleton.kind, skeleton.names, tuple(map(outline, skeleton.children)))
    return Hole(0) if _is_real(skeleton) else skeleton


def _is_real(skeleton: Any) -> bool:
    return isinstance(skeleton, Hole) or (isinstance(skeleton, Leaf) and skeleton.kind is Fraction)


def half_holes(left: Any, right: Any) -> list[Position] | None:
    """Where one skeleton has a hole and the other a real number; None if the outputs differ in any case."""
    return _half_holes(left, right, ())


def _half_holes(left: Any, right: Any, at: Position) -> list[Position] | None:
    if isinstance(left, Hole) or isinstance(right, Hole):
        if isinstance(left, Hole) and isinstance(right, Hole):
            return []
        return [at] if _is_real(left) and _is_real(right) else None
    if isinstance(left, Node) and isinstance(right, Node):
        same = left.kind == right.kind and left.names == right.names
        if not same or len(left.children) != len(right.children):
            return None
        found: list[Position] = []
        for i, (a, b) in enumerate(zip(left.children, right.children, strict=True)):
            positions = _half_holes(a, b, (*at, i))
            if positions is None:
                return None
            found += positions
        return found
    return [] if left == right else None


def show(skeleton: Any, names: Sequence[str] | None = None) -> str:
    """The skeleton as text, with a name, or `_`, for each number that varies."""
    if isinstance(skeleton, Hole):
        return "_" if names is None else names[skeleton.place]
    if isinstance(skeleton, Leaf):
        return str(skeleton.value) if skeleton.kind is Fraction else repr(rebuild(skeleton, ()))
    children = [show(child, names) for child in skeleton.children]
    if skeleton.names is not None:
        return f"{{{', '.join(f'{show(n)}: {c}' for n, c in zip(skeleton.names, children, strict=True))}}}"
    if isinstance(skeleton.kind, str):
        return f"({skeleton.kind} {' '.join(children)})"
    if skeleton.kind is list:
        return f"[{', '.join(children)}]"
    return f"({', '.join(children)}{',' if len(children) == 1 else ''})"


def whole_numbers(skeleton: Any) -> list[int]:
    """The whole numbers of a skeleton."""
    if isinstance(skeleton, Node):
        named = () if isinstance(skeleton.kind, str) else skeleton.children
        return [number for child in named for number in whole_numbers(child)]
    return [skeleton.value] if isinstance(skeleton, Leaf) and skeleton.kind is int else []


def pattern(skeleton: Any) -> tuple[str, str]:
    """The skeleton as a Python pattern for `match`, and the guard that it needs."""
    guards: list[str] = []
    text = _pattern(skeleton, guards)
    return text, f" if {' and '.join(guards)}" if guards else ""


def _pattern(skeleton: Any, guards: list[str]) -> str:
    if isinstance(skeleton, Hole) or (isinstance(skeleton, Node) and isinstance(skeleton.kind, str)):
        return "_"
    if isinstance(skeleton, Node):
        children = [_pattern(child, guards) for child in skeleton.children]
        if skeleton.names is None:
            return "[" + ", ".join(children) + "]"
        if any(name.kind not in (int, str) for name in skeleton.names):
            raise NotDecided("no pattern is written for a dict whose keys are not whole numbers or texts")
        return "{" + ", ".join(f"{show(n)}: {c}" for n, c in zip(skeleton.names, children, strict=True)) + "}"
    if skeleton.kind is Fraction:
        name = f"number{len(guards)}"
        guards.append(f"{name} == {skeleton.value!r}")
        return name
    return repr(skeleton.value)
