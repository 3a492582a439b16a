"""Random forms for every n, right and wrong ones, and what they tell at two answers.

Noise is discrete and is provided by label, so that two draws of one label are one and the same: what is
proved must hold then, too. Scales are small, so that all noise up to a bound can be enumerated, beyond which
there is less than `TAIL`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from freegap import Composition, Ranking, Stream
from freegap.symbolic.subset import remember_source

from .generated import looks

FARTHEST = 5
WIDEST = Fraction(1, 2)
MOST = 4
TAIL = MOST * 2 * math.exp(-(FARTHEST + 1) / WIDEST)
"""More than the probability that one of four draws, none of a larger scale, is beyond: small beside e^−ε."""


@dataclass(frozen=True)
class GeneratedForm:
    """A form, from one text, and the claim."""

    text: str
    form: Any
    epsilon: int
    neighbours: str


class FormWriter:
    """Writes the parts of forms, each of which is now and then a wrong one.

    wrong, shared: how often; and how often a label is one that another draw may have.
    """

    def __init__(self, seed: int, wrong: float = 0.08, shared: float = 0.08) -> None:
        self.random, self.wrong, self.shared = random.Random(seed), wrong, shared

    def one(self, *options: str) -> str:
        return self.random.choice(options)

    def rarely(self, wrong: str, right: str) -> str:
        return wrong if self.random.random() < self.wrong else right

    def label(self, right: str, *others: str) -> str:
        return self.one(*others) if self.random.random() < self.shared else right

    def stream(self, name: str, *, charged: bool) -> str:
        """Something like a sparse vector, a sum or a list of measured answers."""
        kind = self.one("above", "above", "above", "sum", "each")
        parts = {"above": self.above, "sum": self.total, "each": self.each}[kind](charged)
        return f"{name} = Stream({', '.join(parts)})\n"

    def draw(self, label: str) -> str:
        wide = self.rarely("Fraction(1, 4)", "Fraction(1, 2)")
        named = "" if label == "None" else f", label={label}"
        return f"noise.discrete_laplace({wide}{named})"

    def above(self, charged: bool) -> list[str]:
        own = self.label("'x'", "None")
        bar = self.label("'bar'", f"(0, {own})", f"(1, {own})", "0", "None")
        moved = {"None": "0"}.get(bar, bar), {"None": "0"}.get(own, own)
        hit = f"a + {self.draw(own)} {self.one('>=', '>=', '>', '<')} s[0]"
        if self.random.random() < 0.1:
            hit = f"{hit} + {self.draw(self.label(repr('y'), own))}"
        drawn = self.draw(bar)
        if self.random.random() < self.shared / 2:
            drawn = f"{drawn} - {self.draw(self.label(repr('more'), bar))}"
        count = self.one("1", "1", "2")
        left = self.rarely(self.one("s[1]", "s[1] - 1", "s[1] - (a > 0)"), "s[1] - h")
        kept = self.rarely(self.one("s[0] + 1", "a", "0"), "s[0]")
        told = self.rarely(self.one("a > 0", "s[1]", "s[0] > 0"), self.one("h", "1 if h else 0"))
        end = self.rarely(self.one("False", "s[1] < 1", "h"), "s[1] - h < 1")
        lift = self.rarely(self.one("0", "-1"), "1")
        shift = self.rarely(self.one("a - n", "0", "2"), "1 + a - n")
        when = self.rarely("True", "e")
        parts = [
            f"lambda noise: ({drawn}, {count})",
            f"lambda s, a, noise: (lambda h: (({kept}, {left}), {told}, {end}))({hit})",
            f"lambda d: {{{moved[0]}: {lift}}}",
            f"lambda d, s, e, a, n: {{{moved[1]}: {shift}}} if {when} else {{}}",
        ]
        return parts + self.charges(charged, "2", f"{self.rarely('2', '4')} if e else 0") + self.alone()

    def total(self, charged: bool) -> list[str]:
        label = self.label("'x'", "None")
        moved = {"None": "0"}.get(label, label)
        added = self.rarely(self.one("2 * s + a", "a", "s + 2 * a", "s + a * a"), "s + a")
        parts = [
            f"lambda noise: {self.one('0', self.draw(self.label(repr('x'), _end(label), _end(label), '0')))}",
            f"lambda s, a, noise: ({added}, {self.rarely('a', 'None')}, False)",
            "lambda d: {}",
            "lambda d, s, e, a, n: {}",
            f"finish=lambda s, noise: s + {self.draw(label)}",
            f"finish_shifts=lambda d, s, e, o: {{{moved}: {self.rarely('o - s', 's - o')}}}",
        ]
        return parts + self.charges(charged, "0", f"{self.rarely('1', '2')}") + self.alone()

    def each(self, charged: bool) -> list[str]:
        own = self.label("'x'", "None")
        moved = {"None": "0"}.get(own, own)
        told = f"a + {self.draw(own)}"
        if self.random.random() < 0.4:
            told = self.one(
                f"{told} - {self.draw(self.label(repr('y'), own))}", f"{told} - s[0]", f"[{told}]"
            )
        start = self.one("0", self.draw(self.label("'bar'", f"(0, {own})", f"(1, {own})", "0", "None")))
        parts = [
            f"lambda noise: ({start}, {self.one('1', '2')})",
            f"lambda s, a, noise: ((s[0], s[1] - 1), {told}, {self.rarely('False', 's[1] <= 1')})",
            "lambda d: {}",
            f"lambda d, s, e, a, n: {{{moved}: {self.rarely('n - a', 'a - n')}}}",
        ]
        if charged:  # all states of one kind
            parts[0] = f"lambda noise: {start}"
            parts[1] = f"lambda s, a, noise: (s, {told.replace('s[0]', 's')}, False)"
        return parts + self.charges(charged, "0", self.rarely("1", "2")) + self.alone()

    def charges(self, charged: bool, start: str, entry: str) -> list[str]:
        if not charged and self.random.random() < 0.7:
            return []
        return [f"start_charge={self.rarely('0', start)}", f"entry_charge=lambda e: {entry}"]

    def alone(self) -> list[str]:
        return ["place_alone=True"] if self.random.random() < 0.2 else []

    def ranking(self, name: str) -> str:
        shift = self.rarely(self.one("a - n", "0", "1"), "1 + a - n")
        law = self.one("discrete_laplace", "discrete_laplace", "geometric")
        scale = self.rarely("Fraction(1, 4)", "Fraction(1, 2)")
        bar = ""
        if self.random.random() < 0.5:
            bar = f", threshold=0, threshold_scale=Fraction(1, 2), lift=lambda d: {self.rarely('0', '1')}, "
            bar += f"start_charge={self.rarely('0', '2')}"
        charge = self.rarely("2", "4")
        k = self.one("1", "1", "1", "2")
        return f"{name} = Ranking({k}, {law!r}, {scale}, lambda d, a, n: {shift}, {charge}{bar})\n"

    def program(self) -> str:
        kind = self.one("stream", "stream", "ranking", "both", "both")
        if kind == "stream":
            return self.stream("form", charged=False)
        if kind == "ranking":
            return self.ranking("form")
        first = self.ranking("one") if self.random.random() < 0.5 else self.stream("one", charged=False)
        second = self.stream("two", charged=self.random.random() < 0.9)
        budgets = self.one("(4, 2)", "(6, 2)", "(6, 2)", "(4, 4)")
        chosen = self.one("True", "True", "False")
        return f"{first}{second}form = Composition(one, two, budgets={budgets}, chosen={chosen})\n"


def _end(label: str) -> str:
    return f"('end', {label})"


def generated_forms(
    count: int, seed: int = 1, *, wrong: float = 0.08, shared: float = 0.08
) -> Iterator[GeneratedForm]:
    """So many forms."""
    for place in range(count):
        writer = FormWriter(seed * 1_000_003 + place, wrong, shared)
        text = writer.program()
        file = f"<generated form {seed} {place}>"
        remember_source(file, text)
        space: dict[str, Any] = {f.__name__: f for f in (Composition, Fraction, Ranking, Stream)}
        exec(compile(text, file, "exec", dont_inherit=True), space)  # noqa: S102 - our own text
        form = space["form"]
        epsilon = sum(form.budgets) if isinstance(form, Composition) else writer.random.choice([4, 6, 6, 8])
        yield GeneratedForm(text, form, epsilon, writer.one("each", "each", "one", "monotonic"))


# What a form tells ------------------------------------------------------------------------------------------


class _MoreNoise(BaseException):
    """A draw that has no value yet."""


class TooManyDraws(Exception):
    """To be enumerated."""


class _ByLabel:
    """Noise by its label, in the order in which labels come; a draw without one has its place for a label."""

    def __init__(self, values: tuple[int, ...]) -> None:
        self.given, self.made, self.mass = values, 0, 1.0
        self.values: dict[Any, int] = {}

    def discrete_laplace(self, scale: Any, label: Any = None) -> Fraction:
        return Fraction(self._drawn(scale, label, range(-FARTHEST, FARTHEST + 1)))

    def geometric(self, scale: Any, label: Any = None) -> Fraction:
        return Fraction(self._drawn(scale, label, range(FARTHEST + 1)))

    def _drawn(self, scale: Any, label: Any, places: range) -> int:
        key = self.made if label is None else label
        self.made += 1
        if key not in self.values:
            if len(self.values) == len(self.given):
                raise _MoreNoise
            value = self.given[len(self.values)]
            total = sum(math.exp(-abs(n) / scale) for n in places)
            self.mass *= math.exp(-abs(value) / scale) / total if value in places else 0.0
            self.values[key] = value
        return self.values[key]


def told(program: Callable[..., Any], answers: tuple[int, ...]) -> dict[Any, tuple[Any, float]]:
    """Each output by its looks, with its probability up to `TAIL`."""
    found: dict[Any, tuple[Any, float]] = {}
    ahead: list[tuple[int, ...]] = [()]
    while ahead:
        values = ahead.pop()
        noise = _ByLabel(values)
        try:
            output = program([Fraction(a) for a in answers], noise)
        except _MoreNoise:
            if len(values) == MOST:
                raise TooManyDraws from None
            ahead += [(*values, n) for n in range(-FARTHEST, FARTHEST + 1)]
            continue
        if noise.mass:
            seen = looks(output)
            found[seen] = (output, noise.mass + found.get(seen, (None, 0.0))[1])
    return found


def form_violation(case: GeneratedForm) -> str | None:
    """Neighbours at two answers and an output that refute the claim beyond the tail, if there are any."""
    tables = {q: told(case.form.program, q) for q in product((0, 1), repeat=2)}
    for q, p in product(tables, repeat=2):
        if not _near(case.neighbours, [b - a for a, b in zip(q, p, strict=True)]):
            continue
        for seen, (output, mass) in tables[q].items():
            charge = case.epsilon if case.form.charge is None else case.form.charge(output)
            there = tables[p].get(seen, (None, 0.0))[1]
            if mass - TAIL > math.exp(min(charge, case.epsilon)) * (there + TAIL):
                return f"{seen}: {mass} at {q}, {there} at {p}\n{case.text}"
    return None


def _near(neighbours: str, moves: list[int]) -> bool:
    if max(map(abs, moves)) > 1:
        return False
    if neighbours == "one":
        return sum(map(bool, moves)) == 1
    return neighbours == "each" or min(moves) >= 0 or max(moves) <= 0
