"""Events of outputs that were rounded: steps of a number with noise, and what is seen of them.

`round(x)`, `x // c`, `math.floor(x)` and so on, and what is made of one of these by adding and multiplying
numbers, are step functions of x. An interval of x whose ends are edges of steps is an event of the output,
and its probability is that of the interval: an edge itself is a null set where x has continuous noise. Other
functions, two numbers in one, and the remainder, have no such events here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from freegap.prover.outputs import Hole, Leaf, Node, RoundedHole, count_holes, rebuild
from freegap.prover.probability import Interval
from freegap.symbolic import NotDecided

_STEPS = {
    "round": Fraction(1, 2),
    "floor": Fraction(0),
    "ceil": Fraction(0),
    "int": Fraction(0),
    "//": Fraction(0),
}
"""Where the first edge is, in steps."""


@dataclass(frozen=True)
class Steps:
    """The steps of one number of an output: edges at offset + k·width, but none at 0 for `int`."""

    node: Any
    place: int
    offset: Fraction
    width: Fraction
    across_zero: bool

    def is_edge(self, value: Fraction) -> bool:
        """Whether two steps meet here."""
        return (value - self.offset) % self.width == 0 and not (self.across_zero and value == 0)

    def widened(self, interval: Interval) -> Interval:
        """The smallest union of steps that holds the interval, up to edges."""
        low, high = interval
        if low is not None:
            low = math.floor((low - self.offset) / self.width) * self.width + self.offset
            low -= 0 if self.is_edge(low) else self.width
        if high is not None:
            high = math.ceil((high - self.offset) / self.width) * self.width + self.offset
            if low is not None and high <= low:
                high = low + self.width
            high += 0 if self.is_edge(high) else self.width
        return low, high

    def seen(self, interval: Interval) -> Interval:
        """The values that the output has on a union of steps."""
        half = self.width / 2
        low, high = (
            None if end is None else end + way * half for end, way in zip(interval, (1, -1), strict=True)
        )
        first, last = (None if end is None else self._value(end) for end in (low, high))
        return (first, last) if self._value(Fraction(0)) <= self._value(8 * self.width) else (last, first)

    def _value(self, at: Fraction) -> Fraction:
        return Fraction(rebuild(self.node, {self.place: at}))  # type: ignore[arg-type]


def steps_of(skeleton: Any) -> dict[int, Steps]:
    """The steps of the numbers that are rounded, by their places; `NotDecided` if they are no steps."""
    if not isinstance(skeleton, Node):
        return {}
    if not isinstance(skeleton.kind, str):
        return {place: steps for child in skeleton.children for place, steps in steps_of(child).items()}
    inner = _innermost(skeleton)
    (hole, *rest) = inner.children
    if inner.kind not in _STEPS or not isinstance(hole, Hole) or not all(map(_is_number, rest)):
        raise NotDecided("an output is divided, or made of several numbers that were rounded")
    width = Fraction(1)
    if inner.kind == "round" and rest:
        width = Fraction(10) ** -int(rest[0].value)
    elif inner.kind == "//":
        width = abs(Fraction(rest[0].value))
    if width == 0:
        raise NotDecided("an output is divided by 0")
    return {hole.place: Steps(skeleton, hole.place, _STEPS[inner.kind] * width, width, inner.kind == "int")}


def _innermost(node: Node) -> Node:
    """What rounds, below what adds, multiplies and divides by numbers that are not 0."""
    moving = [child for child in node.children if isinstance(child, Node) or count_holes(child)]
    if len(moving) != 1:
        raise NotDecided("an output is divided, or made of several numbers that were rounded")
    (child,) = moving
    if not isinstance(child, Node):
        return node
    others = [other for other in node.children if other is not child]
    known = len(others) == 1 and _is_number(others[0])
    scaled = node.kind == "*" or (node.kind == "/" and node.children[0] is child)
    if not known or not (node.kind in ("+", "-") or (scaled and others[0].value != 0)):
        raise NotDecided("an output is divided, or made of several numbers that were rounded")
    return _innermost(child)


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, Leaf) and leaf.kind in (int, Fraction)


def told(skeleton: Any, steps: dict[int, Steps]) -> Any:
    """The skeleton with a number in the place of each that was rounded."""
    if not isinstance(skeleton, Node):
        return skeleton
    for place, one in steps.items():
        if one.node is skeleton:
            return RoundedHole(place)
    return Node(skeleton.kind, skeleton.names, tuple(told(child, steps) for child in skeleton.children))


def require_told_apart(skeletons: Iterable[Any]) -> None:
    """`NotDecided` if outputs of two kinds can look alike: a rounded number, and another one."""
    for one, other in combinations(skeletons, 2):
        if _alike(one, other):
            raise NotDecided("an output is rounded or divided, and one of another kind can look like it")


def _alike(one: Any, other: Any) -> bool:
    rounded = [isinstance(side, Node) and isinstance(side.kind, str) for side in (one, other)]
    if any(rounded):
        return all(
            r or _is_number(s) or isinstance(s, Hole) for r, s in zip(rounded, (one, other), strict=True)
        )
    if isinstance(one, Node) and isinstance(other, Node):
        same = (
            one.kind == other.kind and one.names == other.names and len(one.children) == len(other.children)
        )
        return same and all(map(_alike, one.children, other.children))
    if isinstance(one, Hole) or isinstance(other, Hole):
        sides = (one, other)
        return all(isinstance(s, Hole) or (isinstance(s, Leaf) and s.kind is Fraction) for s in sides)
    return bool(one == other)


def widened(box: Sequence[Interval], steps: dict[int, Steps]) -> tuple[Interval, ...]:
    """The box, with unions of steps for numbers that were rounded."""
    return tuple(steps[i].widened(one) if i in steps else one for i, one in enumerate(box))
