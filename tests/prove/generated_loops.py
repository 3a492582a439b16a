"""Random programs that go through their answers, in the shape of a loop and beside it, and what they tell.

Loops draw at most once before and once in each round, on the whole numbers, so that two answers can be
enumerated: all noise up to a bound, beyond which there is less than `TAIL`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from freegap.symbolic.subset import remember_source

from .generated import Generated, looks

FARTHEST = 5
TAIL = 3 * 2 * math.exp(-(FARTHEST + 1))
"""More than the probability that one of three draws of scale 1 is beyond."""


class LoopWriter:
    """Writes loops, of which about half leak."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one(self, *options: str) -> str:
        return self.random.choice(options)

    def value(self) -> str:
        if self.random.random() < 0.15:
            return self.one("a", "last", "seen", "i", "a - bar", "len(out)")
        return self.one("v", "v", "bar", "0", "1", "v - bar")

    def truth(self) -> str:
        if self.random.random() < 0.15:
            return self.one("seen > 0", "a > 0", "i > 0", "len(out) > 0", "last > 0", "bar > 0")
        return self.one("v >= bar", "v > bar", "v < bar", "v > 0")

    def told(self) -> str:
        plain = self.one(self.truth(), self.truth(), self.value(), "True", "None")
        return self.one(plain, plain, f"(i, {plain})", f"[{plain}]", f"{plain} if {self.truth()} else None")

    def line(self, deep: int = 1) -> list[str]:
        if deep and self.random.random() < 0.5:
            inside = [f"    {line}" for line in self.line(0)]
            other = ["else:", *(f"    {line}" for line in self.line(0))] if self.random.random() < 0.5 else []
            return [f"if {self.truth()}:", *inside, *other]
        if self.random.random() < 0.6:
            return [f"out.append({self.told()})"]
        more = self.one("seen += 1", f"last = {self.value()}", "pass", "bar = 0", "i = 0", "a = 0")
        return [self.one("break", "continue", f"return {self.told()}", "return out", more, more)]

    def found(self) -> list[str]:
        """The middle of a sparse vector, or of something like it."""
        last = self.one("break", "return out", "return i", "seen += 1", "pass")
        above = f"if {self.truth()}:", f"    out.append({self.told()})", f"    {last}"
        return [*above, "else:", f"    out.append({self.told()})"]

    def program(self) -> str:
        start = ["out = []", f"seen = {self.one('0', '0', 'False')}", "last = 0"]
        bar = "noise.discrete_laplace(1, label='bar')"
        start.insert(self.random.randrange(4), f"bar = {self.one(bar, bar, bar, '0', 'len(answers)')}")
        if self.random.random() < 0.1:
            start.append(self.one("other = out", "last = [0]", "last = answers[0]"))
        over = self.one(
            "i, a in enumerate(answers)", "i, a in enumerate(answers)", "i in range(len(answers))"
        )
        label = self.one("i", "('x', i)")
        drawn = f"noise.discrete_laplace({self.one('1', '1', '2')}, label={label})"
        body = [f"v = a + {self.one(drawn, drawn, drawn, '0')}"]
        if over.startswith("i in"):
            body.insert(0, "a = answers[i]")
        if self.random.random() < 0.1:
            body.insert(1, self.one("seen = seen + v", "u = last", "last = v"))
        body += self.found() if self.random.random() < 0.5 else self.line()
        if self.random.random() < 0.3:
            body += self.line()
        end = self.one(*["return out"] * 12, "return None", "return seen", "return last",
                       "return out, bar", "return len(out)", "return answers", "return a")  # fmt: skip
        lines = [*start, f"for {over}:", *(f"    {line}" for line in body), end]
        return "def program(answers, noise):\n" + "\n".join(f"    {line}" for line in lines) + "\n"


def generated_loops(count: int, seed: int = 1) -> Iterator[Generated]:
    """So many loops."""
    for place in range(count):
        writer = LoopWriter(seed * 1_000_003 + place)
        text = writer.program()
        file = f"<generated loop {seed} {place}>"
        remember_source(file, text)
        space: dict[str, Any] = {}
        exec(compile(text, file, "exec", dont_inherit=True), space)  # noqa: S102 - our own text
        epsilon = writer.random.choice(
            [Fraction(1, 10**6), Fraction(1), Fraction(1), Fraction(2), Fraction(3)]
        )
        yield Generated(text, space["program"], None, epsilon)


class _InOrder:
    """Given values, one after the other; the law of each is kept."""

    def __init__(self, values: tuple[int, ...]) -> None:
        self.values = iter(values)
        self.scales: list[int] = []

    def discrete_laplace(self, scale: int, label: Any = None) -> Fraction:
        self.scales.append(scale)
        return Fraction(next(self.values))


def told(program: Any, answers: tuple[int, ...]) -> dict[Any, float]:
    """The probability of each output, up to `TAIL`."""
    found: dict[Any, float] = {}
    places = range(-FARTHEST, FARTHEST + 1)
    totals = {scale: sum(math.exp(-abs(n) / scale) for n in places) for scale in (1, 2)}
    for values in product(places, repeat=len(answers) + 1):
        noise = _InOrder(values)
        try:
            output = looks(program([Fraction(a) for a in answers], noise))
        except Exception as error:
            output = ("raised", type(error).__name__)
        unused = [1] * (len(values) - len(noise.scales))
        mass = math.prod(
            math.exp(-abs(n) / scale) / totals[scale]
            for n, scale in zip(values, [*noise.scales, *unused], strict=True)
        )
        found[output] = found.get(output, 0.0) + mass
    return found


def loop_violation(case: Generated) -> str | None:
    """Neighbours at two answers and an output that refute the claim beyond the tail, if there are any."""
    wide = 4 * math.exp(-(FARTHEST + 1) / 2) if "discrete_laplace(2" in case.text else 0.0
    tail = TAIL + wide
    tables = {q: told(case.program, q) for q in product((-1, 0, 1), repeat=2)}
    for q, p in product(tables, repeat=2):
        if max(abs(a - b) for a, b in zip(q, p, strict=True)) != 1:
            continue
        for output, mass in tables[q].items():
            if mass - tail > math.exp(case.epsilon) * (tables[p].get(output, 0.0) + tail):
                return f"{output}: {mass} at {q}, {tables[p].get(output, 0.0)} at {p}\n{case.text}"
    return None
