"""The paper's programs on exact reals whose digits are those that the fast path reads.

Every draw of a program carries a label; here a label is mapped to a stream of digits (`exact.digits`), and
the draw is the exact real that these digits are. A group of equal items takes part through its largest
members, as order statistics, of which there are at most as many as places to be had.

Listing a thousand exact reals is quick, sorting them is not. So before the program runs, items that cannot
be among the largest are left out: by bounds in ball arithmetic on their first 64 digits. No double decides
anything here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from freegap.bits import ReplayedBits
from freegap.exact.digits import KeyedDigits
from freegap.exact.reals import LazyNoise, OrderStatistic, Real, Variable
from freegap.laws import ExactLaw, Law
from freegap.laws.labelled import LabelledNoise
from freegap.values.balls import as_ball, at_precision

_PRECISION = 2048  # of the bounds, in bits; a lower one would leave out less
KEY = 256  # bits that a release takes from its source for all of its digits


def keyed(record: str, n: int, *, last: bool = False) -> KeyedDigits:
    """The digits of a release, from the bits that it took: its key came first, or last if it measured."""
    return KeyedDigits(ReplayedBits(record[-KEY:] if last else record[:KEY]), n)


class _ExactDraws(LazyNoise):
    """The noise of a program: a label's draw is the exact real that is found under it."""

    def __init__(self, find: Callable[[Any], Any]) -> None:
        super().__init__(reader=lambda label: lambda n: 0)
        self._find = find

    def _variable(self, law: ExactLaw, label: Any) -> Any:
        return self._find(label)


class _DoubleDraws(LabelledNoise[float]):
    """The twin: the same draws with the other sign, in double precision.

    Rounding alone shows in a gap. Where only the choice is released, it nearly never does.
    """

    def __init__(self, find: Callable[[Any], Any]) -> None:
        self._find = find

    def draw(
        self, law: Law, scale: Any, label: Any = None, *, resolution: Any = None, step: Any = None
    ) -> float:
        """The real of this label, with the other sign."""
        drawn = float(Real(0, {self._find(label): Fraction(-1)})) * float(scale)
        return float(math.floor(drawn)) if law.lattice else drawn


def draws(find: Callable[[Any], Any], *, twin: bool) -> LabelledNoise[Any]:
    """The noise of a program, by label: exact, or turned round and in doubles for the twin."""
    return _DoubleDraws(find) if twin else _ExactDraws(find)


def floored(value: Any, grid: Fraction) -> int:
    """How many multiples of the grid fit below a value: exactly, or in doubles for the twin."""
    return value.floor(grid) if isinstance(value, Real) else math.floor(value / float(grid))


@dataclass(frozen=True, slots=True)
class Member:
    """The rank-th largest of a group (or an item alone), with bounds on its noisy answer in scales."""

    group: int
    rank: int
    noise: Variable | OrderStatistic
    low: Any
    high: Any


_LEAST = arb("-inf")


def contenders(
    answers: Sequence[Fraction],
    sizes: Sequence[int] | None,
    *,
    law: ExactLaw,
    scale: Fraction,
    digits: KeyedDigits,
    top: int,
    always: Collection[int] = (),
) -> list[Member]:
    """All that can be among the `top` largest noisy answers; `always` names groups that are kept.

    The r-th largest of a group is looked at where the one before it may be among the `top` largest.
    """

    def member(group: int, rank: int) -> Member:
        streams = [digits.stream(group, place) for place in range(rank)]
        noise = (
            Variable(law, streams[0])
            if sizes is None or sizes[group] == 1
            else OrderStatistic(law, sizes[group], streams)
        )
        ball = noise.enclosure()
        if ball is None:  # not bounded yet by what is known of its digits
            return Member(group, rank, noise, _LEAST, -_LEAST)

        def bounds() -> tuple[Any, Any]:
            noisy = ball + as_ball(answers[group] / scale)
            return noisy.lower(), noisy.upper()

        return Member(group, rank, noise, *at_precision(_PRECISION, bounds))

    found = [member(group, 1) for group in range(len(answers))]
    newest = found
    while True:
        lows = sorted((m.low for m in found), reverse=True)
        bar = lows[top - 1] if len(lows) >= top else _LEAST
        newest = [
            member(m.group, m.rank + 1)
            for m in newest
            if sizes is not None and m.rank < min(sizes[m.group], top) and not m.high < bar
        ]
        if not newest:
            return [m for m in found if not m.high < bar or m.group in always]
        found = found + newest
