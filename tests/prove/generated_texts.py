"""Random programs of what the subset has of Python: names, closures, lists that share items, views, `match`.

They are no mechanisms. What the interpreter says of each is compared with what Python does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from freegap.symbolic.subset import remember_source

_HEAD = """def program(answers, noise):
    a, b = answers
    n = noise.laplace(1, label=0)
    x, y, i, j, z = a, b + 1, 0, 1, 2
    xs, ys, held = [a, 1], [b], {0: a, "k": 2}
    seen = held.values()
    rest = (z for z in xs)

    def f(q):
        return q + 1

    def g():
        return x

    def h():
        return ys

"""
_TAIL = "    return [x, y, [z for z in xs], [z for z in ys], list(held.items()), len(list(rest))]\n"

_NAMES = ["a", "b", "x", "y", "1", "2", "0", "-1", "n"]
_LISTS = ["xs", "ys", "[a, b]", "list(seen)", "list(held.values())", "h()", "list(rest)"]

_NUMBERS = [
    "(N + N)",
    "(N - N)",
    "(N * N)",
    "abs(N)",
    "max(N, N)",
    "min([N, N, N])",
    "sum(L)",
    "(N if C else N)",
    "L[0]",
    "L[-1]",
    "L[i]",
    "len(L)",
    "(y := N)",
    "(lambda q, r=N: q + r)(N)",
    "(N or N)",
    "(N and N)",
    "held.get(1, N)",
    "held.get('k', N)",
    "next(iter(L), N)",
    "L.count(N)",
    "f(N)",
    "int(C)",
    "g()",
    "(xs.pop() if xs else N)",
    "held.setdefault(i, N)",
    "max(L, key=lambda t: N, default=N)",
]
_TESTS = [
    "N > N",
    "N <= N < N",
    "N == N",
    "not N",
    "any(L)",
    "all(L)",
    "(N > 0) is True",
    "N in L",
    "L == L",
    "L < L",
    "bool(N)",
    "(N) is None",
    "i in held",
    "xs",
]
_SEQUENCES = [
    "[N, N]",
    "[N for z in L]",
    "[z for z in L if C]",
    "sorted(L)",
    "sorted(L, key=lambda t: N)",
    "L[1:]",
    "L[::-1]",
    "sorted(L, reverse=True)",
    "list(reversed(L))",
    "[*L, N]",
    "list(map(f, L))",
    "[p + q for p, q in zip(L, L)]",
    "[p for _, p in enumerate(L)]",
    "(L + L)",
    "[w for z in L if (w := z) != 0]",
    "(L if C else L)",
    "list(filter(lambda t: C, L))",
]
_LINES = [
    "x = N",
    "y += N",
    "y *= N",
    "xs.append(N)",
    "xs += L",
    "xs = L",
    "held[0] = N",
    "held[i] = N",
    "ys = xs",
    "xs = ys",
    "ys = list(xs)",
    "xs, ys = ys, xs",
    "ys.extend(xs)",
    "ys.extend(z for z in xs[:3])",
    "xs.sort()",
    "xs.reverse()",
    "xs.sort(key=lambda t: len(xs))",
    "ys.insert(0, x)",
    "rest = (N for z in L)",
    "x, *xs = [N, N, N]",
    "*ys, y = [*L, N]",
    "xs[0:] and xs",
    "x = y = N",
    "seen = held.values()",
    "seen = held.keys()",
    "held.pop(0, 0)",
    "held.update({1: x})",
]
_BLOCKS = [
    "if C:\n  B\nelse:\n  B",
    "for i in range(2):\n  B",
    "for z in L:\n  B\n  break\nelse:\n  B",
    "for z in L[:2]:\n  B\n  continue",
    "def g():\n  return N",
    "def h():\n  return L",
    "def f(q, kept=[]):\n  kept.append(q)\n  return kept[0] + len(kept)",
    "match L:\n  case [x, 1]:\n    B\n  case [x, _] if C:\n    B\n  case _:\n    B",
    "match N:\n  case 0 | 2:\n    B\n  case x:\n    B",
]


class Grammar:
    """Makes texts of lines and blocks in which a letter that stands alone is a place for something."""

    letters: str
    plain_lines: Sequence[str]
    blocks: Sequence[str]
    indent = 2  # spaces for each space of a block

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def one(self, letter: str, depth: int) -> str:
        """What may stand in the place of a letter."""
        raise NotImplementedError

    def filled(self, text: str, depth: int) -> str:
        """The text with something in the place of each letter that stands alone."""
        return "".join(
            self.one(part, depth - 1) if part in self.letters and self.alone(text, at) else part
            for at, part in enumerate(text)
        )

    def alone(self, text: str, at: int) -> bool:
        around = text[max(at - 1, 0) : at] + text[at + 1 : at + 2]
        return not any(part.isalnum() or part == "_" for part in around)

    def lines(self, count: int, depth: int) -> list[str]:
        made: list[str] = []
        for _ in range(count):
            if depth and self.chance.random() < 0.3:
                made += self.block(depth)
            else:
                made.append(self.filled(self.chance.choice(self.plain_lines), 3))
        return made

    def block(self, depth: int) -> list[str]:
        made: list[str] = []
        for line in self.chance.choice(self.blocks).split("\n"):
            inside = len(line) - len(line.lstrip())
            body = self.lines(2, depth - 1) if line.strip() == "B" else [self.filled(line.strip(), 2)]
            made += [" " * (self.indent * inside) + part for part in body]
        return made

    def body(self) -> str:
        """The lines of a function."""
        return "".join(f"    {line}\n" for line in self.lines(self.chance.randrange(3, 9), 2))


class _Numbers(Grammar):
    """N is a number, L a list, C a test."""

    letters, plain_lines, blocks = "NLC", _LINES, _BLOCKS

    def one(self, letter: str, depth: int) -> str:
        if letter == "C":
            return self.filled(self.chance.choice(_TESTS), depth)
        short, long = (_NAMES, _NUMBERS) if letter == "N" else (_LISTS, _SEQUENCES)
        if depth <= 0 or self.chance.random() < 0.35:
            return self.chance.choice(short)
        return self.filled(self.chance.choice(long), depth)


def program_text(seed: int) -> str:
    """The text of a program; the same for the same seed."""
    return _HEAD + _Numbers(seed).body() + _TAIL


def program_of(seed: int) -> Callable[..., Any] | None:
    """The program; None if its text is none to Python."""
    return program_made_of(program_text(seed), f"<text {seed}>")


def program_made_of(text: str, file: str) -> Callable[..., Any] | None:
    """The function `program` of a text, to be read under a name; None if it is no Python."""
    space: dict[str, Any] = {}
    try:
        exec(compile(text, file, "exec", dont_inherit=True), space)  # noqa: S102 - our own text
    except SyntaxError:
        return None
    remember_source(file, text)
    made: Callable[..., Any] = space["program"]
    return made
