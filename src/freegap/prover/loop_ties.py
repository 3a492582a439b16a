"""That a program and the loop that was read in it do the same, at several sizes: one more reason to trust it.

Both are run on the same numbers: the program as it is, and the start, the steps and the end of the loop, from
whose entries the output is put together again (`freegap.prover.loops` says why that can be done for all n).
Outputs and draws, in their order, must be the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from freegap.laws import UNIFORM, Law
from freegap.laws.labelled import LabelledNoise
from freegap.prover.loops import Loop
from freegap.symbolic.subset import agree

_SIZES = (1, 2, 3, 5)
_WIDTHS = (Fraction(1), Fraction(40), Fraction(3000))


class NoiseInOrder(LabelledNoise[Fraction]):
    """Noise by its place in the order, whatever its label: the same for both."""

    def __init__(self, seed: int, width: Fraction) -> None:
        self.seed, self.width = seed, width
        self.drawn: list[tuple[Law, Fraction, Any, Any]] = []
        self.values: list[Fraction] = []
        self.labels: list[Any] = []

    @property
    def told_apart(self) -> bool:
        """Whether no two draws have one label: who provides noise may take them for one."""
        return len({*self.labels}) == len(self.labels)

    def draw(
        self, law: Law, scale: Any, label: Any = None, *, resolution: Any = None, step: Any = None
    ) -> Fraction:
        """The next number, as noise of this law."""
        digits = _digits(self.seed + len(self.drawn), 1024)
        self.labels.append(len(self.drawn) if label is None else label)
        self.drawn.append((law, Fraction(scale), resolution, step))
        value = self.width * (digits - (0 if law.one_sided else Fraction(1, 2)))
        if law is UNIFORM:
            value = Fraction(scale) * digits
        elif resolution is not None:
            value = value // Fraction(resolution) * Fraction(resolution)
        self.values.append(value)
        return value


def is_tied(loop: Loop, program: Any, given: Mapping[str, Any], resolution: Fraction | None) -> bool:
    """Whether the program and the loop agree wherever they are run."""
    for answers, seed, width in inputs(resolution):
        whole, parts = NoiseInOrder(seed, width), NoiseInOrder(seed, width)
        try:
            same = agree(_told(loop, answers, parts), program(list(answers), whole, **given))
        except Exception:  # of the program, on these numbers: then nothing is said for all n
            return False
        if not same or whole.drawn != parts.drawn or not whole.told_apart:
            return False
    return True


def draws_apart(program: Any, resolution: Fraction | None) -> bool:
    """Whether no two draws have one label wherever the program is run: what was read of labels, by another
    way."""
    for answers, seed, width in inputs(resolution):
        noise = NoiseInOrder(seed, width)
        try:
            program(list(answers), noise)
        except Exception:  # of the program, on these numbers: then nothing is said for all n
            return False
        if not noise.told_apart:
            return False
    return True


def inputs(resolution: Fraction | None) -> Iterator[tuple[list[Fraction], int, Fraction]]:
    """Answers of several sizes, near and far from each other, and what to make noise of."""
    for (seed, width), size in product(enumerate(_WIDTHS), _SIZES):
        answers = [width * (_digits(7 * size + 3 * i + seed, 1024) - Fraction(1, 2)) for i in range(size)]
        if resolution is not None:
            answers = [answer // resolution * resolution for answer in answers]
        yield answers, seed, width


def _digits(place: int, whole: int) -> Fraction:
    """A number between 0 and 1, another one for each place."""
    return Fraction((389 * place + 211 * place * place + 97) % whole, whole)


def _told(loop: Loop, answers: list[Fraction], noise: NoiseInOrder) -> Any:
    """What the program puts out, from what the loop does."""
    state = loop.start(noise)
    lists: dict[str, list[Any]] = {name: [] for name in loop.outs}
    for place, answer in enumerate(answers):
        state, (*made, how, value), stop = loop.step(state, answer, noise)
        for name, items in zip(loop.outs, made, strict=True):
            lists[name] += [_part(item, place, lists) for item in items]
        if how == "return":
            return _part(value, place, lists)
        if stop:
            break
    return loop.end(**lists) if loop.finish is None else loop.finish(state, noise)


def _part(told: Any, place: int, lists: dict[str, list[Any]]) -> Any:
    """What was told, with the place and the lists in their places again."""
    if type(told) is tuple and told[:1] == ("place",):
        return place
    if type(told) is tuple and told[:1] == ("list",):
        return lists[told[1]]
    if type(told) is tuple and told[:1] == ("value",):
        return told[1]
    return type(told)(_part(part, place, lists) for part in told)
