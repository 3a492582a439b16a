"""Random programs in and outside of the subset, and the exact distribution of their outputs.

A program reads one answer on the whole numbers, draws at most two discrete variables, and puts out something
made of them: by constructs of the subset, and by others that would leak if they were followed wrongly. What
it tells is computed by enumeration: all noise up to a bound, beyond which there is less than `TAIL`.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from freegap.laws import UNIFORM
from freegap.laws.labelled import LabelledNoise
from freegap.symbolic.subset import remember_source

FARTHEST = 8
TAIL = 2 * 3 * math.exp(-(FARTHEST + 1) / 1.0)
"""More than the probability that one of two draws of scale 1 is beyond."""

_HEAD = "import math\nfrom collections import Counter\nfrom fractions import Fraction\n"


_COINS = (
    "noise.coin(Fraction(1, 4), label='c')",
    "noise.coin(0.75, label='c')",
    "noise.uniform(1, label='c') < Fraction(1, 2)",
    "noise.uniform(4, label='c') >= 3",
    "noise.coin(x, label='c')",  # which depends on the answer
    "(noise.coin(Fraction(3, 4), label='c') == (x > 0))",
)
_CHOICES = (
    "noise.choice([1, 3], label='w')",
    "noise.choice([2, 1, 1], label='w')",
    "noise.choice([1, x], label='w')",
    "(0 if x > 1 else noise.choice([2, 2], label='w'))",
)


class Writer:
    """Writes programs; each choice from one source."""

    def __init__(self, seed: int, *, tossing: bool = False) -> None:
        self.random = random.Random(seed)
        self.tossing = tossing
        """Whether programs toss coins, `c`, and make choices, `w`."""

    def one(self, *options: str) -> str:
        return self.random.choice(options)

    def number(self, deep: int = 2) -> str:
        simple = self.one("x", "y", "y", "z", "0", "1", "-1", "Fraction(1, 2)", "0.5", "2")
        if self.tossing and self.random.random() < 0.2:
            simple = self.one("w", "int(c)")
        if deep == 0 or self.random.random() < 0.3:
            return simple
        a, b, c = self.number(deep - 1), self.number(deep - 1), self.truth(deep - 1)
        if self.random.random() < 0.06:
            return self.one(
                f"round({a})", f"({a}) // 1", f"int({a})", f"hash({a})", f"float(str({a}))", f"({a}) % 2",
                f"math.floor({a})", f"len(str({a}))", f"Counter([{c}])[True]", f"len({{{a}, {b}}})",
                f"abs(complex({a}))",
                f"({a}).numerator", f"{{{a}: 1}}.get(0, 0)", f"len(repr({a}))",
            )  # fmt: skip
        return self.one(
            f"({a} + {b})", f"({a} - {b})", f"2 * ({a})", f"({a}) / 2", f"max({a}, {b})", f"min({a}, {b})",
            f"abs({a})", f"sum([{a}, {b}])", f"sorted([{a}, {b}])[0]", f"({a} if {c} else {b})", f"int({c})",
            f"float({a})", f"[{a}, {b}][{c}]", f"{{True: {a}, False: {b}}}[{c}]",
            f"next((v for v in [{a}, {b}] if v > 0), {a})", f"len([v for v in [{a}, {b}] if v > 0])",
            f"(lambda v: v + 1)({a})", f"[{a}, {b}].index(max({a}, {b}))", f"({a}) * ({b})", f"({c}) + 1",
        )  # fmt: skip

    def truth(self, deep: int = 2) -> str:
        a, b = self.number(max(deep - 1, 0)), self.number(max(deep - 1, 0))
        plain = self.one(f"{a} > {b}", f"{a} >= {b}", f"{a} == {b}", f"{a} != {b}", f"{a} < {b}")
        if self.tossing and self.random.random() < 0.3:
            plain = self.one("c", "not c", "w == 1", "c == (x > 0)")
        if deep == 0 or self.random.random() < 0.3:
            return f"({plain})"
        c, d = self.truth(deep - 1), self.truth(deep - 1)
        if self.random.random() < 0.06:
            return self.one(
                f"(str({a}) == '1')", f"isinstance({a}, int)", f"({a} in {{0, 1}})", f"(type({a}) is int)",
                f"(id({a}) == 1)", f"hasattr({a}, 'numerator')", f"({a} is {b})", f"(f'{{{a}}}' == '1')",
            )  # fmt: skip
        return self.one(
            f"({c} and {d})", f"({c} or {d})", f"(not {c})", f"({c} == True)", f"({c} is True)",
            f"(True in [{c}])", f"([{c}, {d}].count(True) > 0)", f"any([{c}, {d}])", f"all([{c}, {d}])",
            f"({a} in [{b}, 0])", f"bool({a})", f"(0 < {a} <= 1)", f"({{True: {c}}}.get({d}, False))",
            f"({c} if {d} else {c})", f"any(v > 0 for v in [{a}, {b}])", f"len({{{c}, {d}}}) == 2",
        )  # fmt: skip

    def output(self, deep: int = 1) -> str:
        c, a = self.truth(), self.number()
        if deep and self.random.random() < 0.2:
            return self.one(f"[{self.output(0)}, {self.output(0)}]", f"({self.output(0)}, {self.output(0)})")
        if self.random.random() < 0.08:
            return self.one(f"str({a})", f"f'{{{a}}}'", f"repr({a})", f"{{{a}}}", f"(v for v in [{a}])")
        return self.one(
            c, c, a, a, "y", "None", f"'a' if {c} else 'b'", f"1 if {c} else True", f"1 if {c} else 1.0",
            f"0.0 if {c} else -0.0", f"[1] if {c} else (1,)", f"int({c})", f"None if {c} else {a}",
            f"{{1: 0}} if {c} else {{True: 0}}", f"({a}) - ({a})", f"min(2.0, {a})", f"y if {c} else y",
            f"round({a})", f"({a}) // 2", f"int({a}) % 2", f"({a}) / ({self.number()})",
            f"round({a}) if {c} else 0",
        )  # fmt: skip

    def program(self) -> str:
        """The text of a program and of an alignment."""
        y = self.one(
            "0", "x", *(["x + noise.discrete_laplace(1, label='y')"] * 4), "noise.geometric(1, label='y')"
        )
        z = self.one(
            "0", "1", "x", "noise.discrete_laplace(1, label='z')", "x + noise.discrete_laplace(1, label='z')"
        )
        if self.tossing:  # mostly without other noise
            y, z = self.one("0", "x", "x", y), self.one("0", "x", "1")
        lines = [
            f"    x = {self.one('answers[0]', 'answers[0]', 'answers[-1]')}",
            f"    y = {y}",
            f"    z = {z}",
        ]
        if self.tossing:
            lines += [f"    c = {self.one(*_COINS)}", f"    w = {self.one(*_CHOICES)}"]
        for name in "ab"[: self.random.randrange(3)]:
            lines.append(f"    {name} = {self.number()}")
        ways = self.random.random()
        if ways < 0.3:
            lines += [f"    if {self.truth()}:", f"        return {self.output()}"]
        elif ways < 0.4:
            lines += [
                "    try:",
                f"        return {self.output()}",
                "    except Exception:",
                "        return 0",
            ]
        elif ways < 0.5:
            loop = f"{self.one('y', 'x')} > count"
            lines += [
                "    count = 0",
                f"    while count < 2 and {loop}:",
                "        count += 1",
                "    z = count",
            ]
        lines.append(f"    return {self.output()}")
        change = "answers[0] - neighbour[0]"
        labels = [label for label in "yz" if f"label='{label}'" in y + z]
        moved = ", ".join(
            f"{label!r}: noise[{label!r}] + {self.one('0', '1', change, change)}" for label in labels
        )
        body = "\n".join(lines)
        return (
            f"{_HEAD}\n\ndef program(answers, noise):\n{body}\n\n\n"
            f"def alignment(answers, neighbour, output, noise):\n    return {{{moved}}}\n"
        )


@dataclass(frozen=True)
class Generated:
    """A program and an alignment, from one text."""

    text: str
    program: Any
    alignment: Any
    epsilon: Fraction


def generated(count: int, seed: int = 1, *, tossing: bool = False) -> Iterator[Generated]:
    """So many programs."""
    for place in range(count):
        writer = Writer(seed * 1_000_003 + place, tossing=tossing)
        text = writer.program()
        file = f"<generated {seed} {place} {tossing}>"
        remember_source(file, text)
        space: dict[str, Any] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `is` with a literal
            try:
                exec(compile(text, file, "exec", dont_inherit=True), space)  # noqa: S102 - our own text
            except SyntaxError:  # quotes or braces inside an f-string
                continue
        epsilon = writer.random.choice([Fraction(1, 10**6), Fraction(1), Fraction(1), Fraction(2)])
        yield Generated(text, space["program"], space["alignment"], epsilon)


# What a program tells -----------------------------------------------------------------------------------


class _Noise(LabelledNoise[Any]):
    """Given values; uniform noise in quarters of its scale, which is all that programs ask for."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def draw(self, law: Any, scale: Any, label: Any = None, **options: Any) -> Any:
        assert law is UNIFORM
        return self.values[label] * scale

    def discrete_laplace(self, scale: Any, label: Any = None, *, resolution: Any = 1) -> Any:
        return self.values[label]

    def geometric(self, scale: Any, label: Any = None, *, resolution: Any = 1) -> Any:
        return abs(self.values[label])


def distribution(program: Any, text: str, answer: int, kind: type) -> dict[Any, float]:
    """The probability of each output, types and signs of zeros included, up to `TAIL`."""
    found: dict[Any, float] = {}
    for output, mass in outcomes(program, text, answer, kind):
        seen = looks(output)
        found[seen] = found.get(seen, 0.0) + mass
    return found


_QUARTERS = {Fraction(2 * i + 1, 8): 0.25 for i in range(4)}


def outcomes(program: Any, text: str, answer: Any, kind: type) -> Iterator[tuple[Any, float]]:
    """Outputs of the program with their probabilities, in pieces."""
    geometric = "geometric" in text
    places = range(-FARTHEST, FARTHEST + 1)
    weight = {n: math.exp(-abs(n)) for n in places}
    half = {n: weight[n] for n in places if n >= 0}
    used = [label for label in "yz" if f"label='{label}'" in text]
    sides: list[dict[Any, float]] = [half if geometric and label == "y" else weight for label in used]
    tossed = [label for label in "cw" if f"label='{label}'" in text]
    sides += [_QUARTERS] * len(tossed)
    totals = [sum(side.values()) for side in sides]
    for values in product(*sides):
        mass = math.prod(side[n] / total for side, n, total in zip(sides, values, totals, strict=True))
        noise = _Noise({label: kind(n) for label, n in zip(used + tossed, values, strict=True)})
        try:
            output = program([kind(answer)], noise)
        except Exception as error:
            output = ("raised", type(error).__name__)
        yield output, mass


def looks(value: Any) -> Any:
    """What an output looks like; equal only for outputs that nobody can tell apart."""
    if isinstance(value, list | tuple):
        return (type(value).__name__, *map(looks, value))
    if isinstance(value, dict):
        return ("dict", *((looks(k), looks(v)) for k, v in value.items()))
    if isinstance(value, Fraction | float):
        return ("real", Fraction(value), math.copysign(1, value) if value == 0 else 0)
    return (type(value).__name__, repr(value))


def violation(case: Generated) -> str | None:
    """Neighbours and an output that refute the claim beyond the tail, if there are any."""
    for kind in (Fraction, float):
        tables = {q: distribution(case.program, case.text, q, kind) for q in (-2, -1, 0, 1, 2, 3)}
        for q, p in product(tables, repeat=2):
            if abs(q - p) != 1:
                continue
            for output, mass in tables[q].items():
                if mass - TAIL > math.exp(case.epsilon) * (tables[p].get(output, 0.0) + TAIL):
                    return f"{output}: {mass} at {q}, {tables[p].get(output, 0.0)} at {p}\n{case.text}"
    return None
