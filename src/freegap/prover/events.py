"""Events of a program's output, and a violation of privacy by one: the certificate of a broken mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.prover.outputs import Hole, Leaf, RoundedHole, count_holes, show
from freegap.prover.probability import Interval


@dataclass(frozen=True)
class EventBox:
    """That the output is of a kind, with its numbers in intervals.

    >>> from freegap.prover.outputs import flatten
    >>> from freegap.symbolic import real
    >>> event = EventBox(flatten((0, real("gap")))[0], ((Fraction(1), None),))
    >>> print(event), event.contains((0, 1.5)), event.contains((0, 0.5)), event.contains((1, 1.5))
    the output is (0, a) with 1 ≤ a
    (None, True, False, False)
    """

    skeleton: Any
    box: tuple[Interval, ...]

    def contains(self, output: Any) -> bool:
        """Whether an output of the real program belongs to it; kinds are told apart as in a proof."""
        return _matches(self.skeleton, output, self.box)

    def __str__(self) -> str:
        names = [chr(ord("a") + i) if i < 26 else f"x{i}" for i in range(count_holes(self.skeleton))]
        text = show(self.skeleton, names)
        limits = []
        for name, (low, high) in zip(names, self.box, strict=True):
            if low is not None and low == high:
                limits.append(f"{name} = {low}")
            elif low is not None or high is not None:
                left = "" if low is None else f"{low} ≤ "
                limits.append(left + name + ("" if high is None else f" ≤ {high}"))
        return f"the output is {text}" + (f" with {', '.join(limits)}" if limits else "")


def _matches(skeleton: Any, value: Any, box: Sequence[Interval]) -> bool:
    if isinstance(skeleton, Hole):
        low, high = box[skeleton.place]
        kinds = (Fraction, float, int) if isinstance(skeleton, RoundedHole) else (Fraction, float)
        if type(value) not in kinds:
            return False
        return (low is None or low <= value) and (high is None or value <= high)
    if isinstance(skeleton, Leaf):
        if skeleton.kind is Fraction:
            return type(value) in (Fraction, float) and bool(value == skeleton.value)
        if skeleton.kind is tuple:
            return (
                type(value) is tuple
                and len(value) == len(skeleton.value)
                and all(_matches(part, item, box) for part, item in zip(skeleton.value, value, strict=True))
            )
        return type(value) is skeleton.kind and bool(value == skeleton.value)
    if type(value) is not skeleton.kind or len(value) != len(skeleton.children):
        return False
    items = list(value)
    if skeleton.names is not None:
        if not all(_matches(name, key, box) for name, key in zip(skeleton.names, value, strict=True)):
            return False
        items = list(value.values())
    return all(_matches(child, item, box) for child, item in zip(skeleton.children, items, strict=True))


@dataclass(frozen=True)
class Bounds:
    """Two rationals with a number between them, which is proved."""

    lower: Fraction
    upper: Fraction

    def __str__(self) -> str:
        if self.upper == 0:
            return "0"
        return f"{float(self.lower):.10g}" if self.lower > 0 else f"at most {float(self.upper):.3g}"


@dataclass(frozen=True)
class ExactViolation:
    """Two neighbours and an event that tells them apart by more than the claim allows: the mechanism is not
    private, whatever the alignment. The probabilities are computed in exact and in ball arithmetic."""

    answers: tuple[Fraction, ...]
    neighbour: tuple[Fraction, ...]
    event: EventBox
    probability: Bounds
    """Of the event on the answers."""
    probability_of_neighbour: Bounds
    ratio: Fraction | None
    """At least so large is the first over the second; None if the second is 0."""
    charge: Fraction
    """What the event may cost: the ratio may be at most e^charge."""

    def __str__(self) -> str:
        rows = [
            f"answers    {_row(self.answers)}",
            f"neighbour  {_row(self.neighbour)}",
            f"event      {self.event}",
            f"chance     {self.probability}, and {self.probability_of_neighbour} on the neighbour",
        ]
        size = "infinite" if self.ratio is None else f"at least {float(self.ratio):.8g}"
        return "\n".join([*rows, f"ratio      {size}; private at ε = {self.charge} is e^ε at most"])


def _row(values: tuple[Fraction, ...]) -> str:
    return "(" + ", ".join(map(str, values)) + ("," if len(values) == 1 else "") + ")"
