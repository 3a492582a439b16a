"""The state of one run through a program: the path that it is on, the line, and how far it may go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from freegap.symbolic.conditions import Condition
from freegap.symbolic.paths import Exploration
from freegap.symbolic.subset.door import NotReadable, fresh, read
from freegap.symbolic.subset.processing import Processed
from freegap.symbolic.subset.values import (
    KnownNoise,
    Lazy,
    NoiseInterface,
    Record,
    View,
    holds_float,
    holds_rounding,
    shown,
)
from freegap.symbolic.symbols import Symbol
from freegap.symbolic.undecided import NotDecided, SourceLine

_DEEPEST = 40
_LONGEST = 100_000
_KEYS = (bool, int, str, Fraction, type(None))


class Machine:
    """Goes through a program on one path; the exploration answers its comparisons."""

    def __init__(self, exploration: Exploration) -> None:
        self.exploration = exploration
        self.file = ""
        self.line = 0
        self.steps = 0
        self.depth = 0
        self.floats = False
        """Whether some number is a float in Python."""
        self.rounded = False
        """Whether Python's own floats would round where this machine does not."""
        self.errors: dict[Fraction, Fraction] = {}
        """Of numbers that Python rounds, by their size: a bound on what is lost (`floats`)."""
        self.divisors: list[Symbol | Processed] = []
        """What post-processing divides by: whether one is 0 shows, and so each must be told (`follow`)."""
        self.converted: list[Symbol | Processed] = []
        """What `float` is called with: an error shows whether one is too large, and so each must be told."""

    @property
    def where(self) -> SourceLine | None:
        """The line of the program."""
        return SourceLine(self.file, self.line) if self.file else None

    def refusal(self, reason: str) -> NotDecided:
        """The exception for what has no meaning here."""
        return NotDecided(reason, self.where)

    def step(self, file: str, line: int) -> None:
        """One more statement or call."""
        self.file, self.line = file, line
        self.steps += 1
        most = self.exploration.limits.lines
        if self.steps > most:
            raise self.refusal(f"more than {most} lines on one path: a loop without end?")

    def require_short(self, length: int) -> None:
        """A list or text that is doubled again and again must not take all memory."""
        if length > _LONGEST:
            raise self.refusal(f"more than {_LONGEST} items")

    def deeper(self) -> None:
        """One more call inside a call."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.refusal("a recursion without a bound")

    def decide(self, condition: Condition | bool) -> bool:
        """The truth of a comparison on this path."""
        if isinstance(condition, bool):
            return condition
        return self.exploration.decide(condition, self.where)

    def call(self, function: Any, arguments: Sequence[Any], keywords: Mapping[str, Any] | None = None) -> Any:
        """What a function of the subset returns on these values."""
        from freegap.symbolic.subset.calls import call  # which needs this class

        return call(self, function, list(arguments), dict(keywords or {}))

    def outside(self, value: Any, what: str = "") -> Any:
        """A value from outside the program; refused if it can change."""
        try:
            found = read(value)
        except NotReadable as reason:
            raise self.refusal(f"{what}: {reason}" if what else str(reason)) from None
        self.floats = self.floats or holds_float(value)
        self.rounded = self.rounded or holds_rounding(value)
        return found

    def parameters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters of a program, which come from outside; a list among them may only be read."""
        known: dict[int, Any] = {}
        return {
            name: fresh(value, partial(self.outside, what=f"the parameter {name}"), known)
            for name, value in given.items()
        }

    def smaller(self, value: Any, bound: Fraction) -> Any:
        """The value, or the bound if that is smaller."""
        from freegap.symbolic.subset.order import less  # which needs this class

        return value if less(self, value, bound, or_equal=True) else bound

    def equal(self, one: Any, other: Any) -> bool:
        """Whether two values are equal on this path."""
        from freegap.symbolic.subset.order import equal  # which needs this class

        return equal(self, one, other)

    def key(self, value: Any) -> Any:
        """The value as a key of a dict or a label; what depends on answers or noise is none."""
        if type(value) is Fraction and self.rounded:
            raise self.refusal("a real number as a key, where floats are rounded: Python may find another")
        if type(value) in _KEYS:
            return value
        if type(value) is tuple:
            self.step(self.file, self.line)
            return tuple(map(self.key, value))
        raise self.refusal(f"{shown(value)} as a key or label: TypeError, or it would show its identity")

    def text(self, value: Any) -> str:
        """The text of a whole number or of a text; nothing else has one."""
        if type(value) in (int, str):
            return str(value)
        raise self.refusal(f"the text of {shown(value)}: only whole numbers have one here")

    def iterate(self, value: Any) -> Iterator[Any]:
        """Go through the items of a value, in an order that the program may know."""
        kind = type(value)
        if kind in (list, tuple, str, range, dict):
            return self._counted(iter(value))
        if kind is Lazy or kind is View:
            return self._counted(iter(value.items))
        if kind is Record:
            return iter(value.values)
        if kind in (set, frozenset):
            raise self.refusal("the order of a set: go through sorted(…) of it")
        raise self.refusal(f"{shown(value)} has no items to go through")

    def _counted(self, items: Iterator[Any]) -> Iterator[Any]:
        for item in items:
            self.step(self.file, self.line)
            yield item

    def integer(self, value: Any, what: str) -> int:
        """A whole number that does not depend on answers or noise."""
        if type(value) in (int, bool):
            return int(value)
        raise self.refusal(
            f"{what}: an index, a length or a range must be a whole number, not {shown(value)}"
        )

    def noise(self, value: Any) -> NoiseInterface | KnownNoise:
        """The value as a noise interface."""
        if isinstance(value, NoiseInterface | KnownNoise):
            return value
        raise self.refusal(f"{shown(value)} is not a noise interface")
