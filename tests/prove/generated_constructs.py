"""Random programs of every construct of the subset, on numbers: what the interpreter makes of each is compared
with what Python does, in which order (`note` writes down what it is asked for) and with which types.

Letters stand for what is filled in: N a number, I a whole number, C a test, L a list, T a text, D a dict, S a
set, K a key, V any value, B a block of lines.
"""

# ruff: noqa: E501 - tables of pieces of text
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .generated_texts import Grammar, program_made_of

_HEAD = """import itertools
from fractions import Fraction
from functools import partial

OUTSIDE = (1, 2.5, "t", None, True, (3, Fraction(1, 4)))


def program(answers, noise):
    a, b = answers
    n = noise.laplace(1, label=0)
    trace = []
    x, y, z = a, b, 0
    i, j, k = 0, 1, 2
    xs, ys = [a, 1, b], [2, True, 0]
    zs = xs
    d, e = {"p": 1, "q": a, 3: b}, {}
    s, t = {1, 2, "u"}, set()
    w, v = "word", ""
    fs = []

    def note(value):
        trace.append(value)
        return value

    def f(p, q=1, *more, r=2, **named):
        return note(p) + q + len(more) + r + len(named)

    def g():
        return x

    def kept(p, seen=[]):
        seen.append(p)
        return len(seen)

"""
_TAIL = (
    "    return [trace, x, y, z, i, j, k, list(xs), list(ys), list(zs), list(d.items()), dict(e), "
    "1 in s, len(s), len(t), w, v, [q() for q in fs]]\n"
)

_TABLES: dict[str, list[str]] = {
    "N": [
        "a", "b", "x", "y", "n", "z", "I", "I", "0.5", "Fraction(1, 3)", "OUTSIDE[1]", "OUTSIDE[5][1]",
        "(N + N)", "(N - N)", "(N * N)", "(N / 2)", "(N / 4)", "abs(N)", "-N", "+N", "max(N, N)", "min(N, N, N)",
        "max(L, key=lambda q: note(q) * N, default=N)", "min(L, default=N)", "sum(L)", "sum(L, N)",
        "(N if C else N)", "L[I]", "L[-1]", "(x := N)", "(lambda p, q=N: p + q)(N)", "(N or N)", "(N and N)",
        "d.get(K, N)", "next(iter(L), N)", "f(N)", "f(N, N)", "f(N, N, N, r=N)", "f(q=N, p=N)", "f(*[N, N], **{'r': N})",
        "f(N, u=1)", "g()", "note(N)", "(xs.pop() if xs else N)", "d.setdefault(K, N)", "N ** 2", "N ** I",
        "partial(f, N)()", "partial(f, r=N)(N)", "Fraction(I, 3)", "float(I)", "Fraction(N)",
        "sum(q for q in L if C)", "[N, N][C]", "(N, N)[-1]", "kept(N)", "d.pop(K, N)", "max([N, N], key=lambda q: 0)",
        "min([N, N], key=lambda q: -q)", "(lambda *p: p[-1])(N, N)", "(lambda **p: len(p))(q=N)",
    ],
    "I": [
        "i", "j", "k", "0", "1", "2", "-1", "3", "True", "False", "(I + I)", "(I - I)", "(I * I)", "I // 2", "I % 3",
        "I // -2", "I % -3", "-I // 2", "-I % 3", "I & 3", "I | 1", "I ^ 2", "I ** 2", "len(L)", "len(D)", "len(S)",
        "len(T)", "int(C)", "L.count(N)", "[1, 2, 1].index(1)", "abs(I)", "-I", "+I", "bool(I)", "(i := I)", "sum([C, C])",
        "note(I)", "min(I, I)", "max([I, I, I])", "range(5)[I]", "len(range(I))", "int(I)", "round(I)", "(1, 2).count(I)", "(2, 1).index(1)",
        "max(range(1, 4), key=lambda q: -q)", "kept(I)",
    ],
    "C": [
        "N > N", "N <= N < N", "N == N", "N != N", "not N", "not L", "any(L)", "all(L)", "any(note(q) for q in L)",
        "all(note(q) for q in L)", "(N > 0) is True", "C is False", "N in L", "N not in L", "L == L", "L < L", "L >= L",
        "(N, N) < (N, N)", "bool(V)", "V is None", "V is not None", "K in d", "K not in D", "T in w", "T == T", "T < T",
        "I in range(4)", "C and C", "C or C", "note(C) and note(C)", "note(C) or note(C)", "(C) == (C)", "(C) + 1 > 1",
        "isinstance(I, int)", "isinstance(T, str)", "isinstance(L, (list, tuple))", "isinstance(C, bool)", "D == D",
        "S == S", "I in S", "note(N) < note(N) < note(N)", "D.keys() is None", "N in d.values()", "I < I <= I != I",
        "(1, 'a') == (1, 'a')", "[] == ()", "1 == True", "N == 'a'", "None == 0",
    ],
    "L": [
        "xs", "ys", "zs", "[a, b]", "[N, N]", "[]", "[N for q in L]", "[q for q in L if C]", "sorted(L)",
        "sorted(L, key=lambda q: note(q) * 0)", "sorted(L, key=lambda q: -q)", "sorted(L, reverse=True)",
        "sorted([3, 1, 2, 1, True], key=lambda q: q == 1, reverse=C)", "L[1:]", "L[:-1]", "L[::-1]", "L[::2]", "L[-2:]",
        "L[I:I]", "L[5:1:-1]", "list(reversed(L))", "[*L, N]", "[*L, *L]", "list(map(f, L))", "list(map(lambda p, q: p, L, L))",
        "[p + q for p, q in zip(L, L)]", "[p + q for p, q in enumerate(L)]", "[p for p, _ in enumerate(L, I)]", "(L + L)",
        "[q for q in L if (y := q) != 0]", "(L if C else L)", "list(filter(lambda q: C, L))", "list(filter(None, L))", "L * 2",
        "[N] * 2", "list(range(I))", "list(range(3, 0, -1))", "list(itertools.chain(L, L))", "list(itertools.islice(L, 2))",
        "list(itertools.islice(L, 1, 3))", "[p - q for p, q in itertools.pairwise(L)]", "[p for p, q in itertools.product(L, [1, 2])]",
        "[p for p, q in itertools.combinations(L, 2)]", "list(L)", "L.copy()", "[p for q in [L, L] for p in q]",
        "[p for p in (q for q in L)]", "list(d.values())[:0]", "[x for x in L]", "[j for j in range(3) for k in range(j)]",
        "[len(q) for q in d if isinstance(q, str)]", "list(tuple(L))", "[q + 1 for q in L][:2]",
    ],
    "T": ["w", "v", "'a'", "'b'", "''", "T + T", "T * 2", "f'{I}'", "f'<{T}>'", "str(I)", "str(T)", "w[0]", "w[::-1]", "w[1:]",
          "('p' if C else 'q')", "[T, T][C]", "note(T)", "OUTSIDE[2]"],
    "K": ["'p'", "'q'", "3", "1", "T", "I", "(1, 'a')", "None", "True"],
    "D": ["d", "e", "{'p': N}", "{K: N, K: N}", "{**D, K: N}", "{**D, **D}", "{q: N for q in [1, 2, 1]}", "dict(p=N)", "d.copy()",
          "dict([('p', N), ('q', N)])", "D | D", "{str(p): q for p, q in enumerate(L)}", "dict(zip(['p', 'q'], L))", "dict(d)"],
    "S": ["s", "t", "{1, 2}", "{I, I}", "set()", "{q for q in [1, 2, 1]}", "S | S", "S & S", "S - S", "S ^ S", "set([I, I])",
          "s.copy()", "{True, 1}"],
    "V": ["N", "I", "L", "T", "D", "None", "C", "(N, T)", "(L, [N])", "OUTSIDE[3]", "tuple(L)", "((N,), [])", "note(V)"],
    "line": [
        "x = N", "y = N", "z = I", "x += N", "y -= N", "z *= I", "y /= 2", "i //= 2", "i += I", "j %= 3", "xs.append(N)",
        "xs += L", "ys += [N]", "zs += L", "ys += (N, N)", "xs = L", "zs = xs", "xs = zs", "xs = xs + L", "zs = list(xs)", "ys = xs.copy()", "zs = ys.copy()",
        "xs, ys = ys, xs", "x, y = y, x", "x = y = N", "x, *ys = [N, N, N]", "*xs, y = [*L, N]", "(x, y), z = (N, N), I",
        "[x, y] = N, N", "xs.extend(L)", "ys.extend(q for q in xs[:3])", "xs.sort()", "xs.sort(key=lambda q: -q)",
        "xs.reverse()", "xs.insert(I, N)", "xs.remove(xs[0]) if xs else None", "xs.clear()", "xs[0:] and xs.pop()",
        "xs.pop(0) if len(xs) > 1 else None", "xs[-1] = N", "xs[0] += N", "xs[note(0)] = note(N)", "d[note(K)] = note(N)",
        "d[K] = N", "d['p'] = N", "d['p'] = d.pop('p', 0)", "e = d", "e = D", "d.update(D)", "d = D", "s.add(K)", "s.discard(K)",
        "t = S", "s = S", "w = T", "w += T", "v = w", "fs.append(lambda: x)", "fs.append(lambda x=x: x)", "fs.append(g)",
        "fs.append(lambda: note(i))", "note(V)", "note(N)", "k: int = I", "y: float", "assert C or True", "pass", "note([*d])",
        "note([*d.items()])", "note(list(d.keys()))", "d.setdefault(K, N)", "note(xs.index(N)) if N in xs else None",
        "_ = [fs.append(lambda: q) for q in [1, 2]]", "_ = [(x := q) for q in L]", "it = iter(L); x = next(it, N)",
        "gen = (note(q) for q in L); note(1); y = sum(gen)", "x = (lambda: y)()",
    ],
    "block": [
        "if C:\n  B\nelse:\n  B", "if C:\n  B\nelif C:\n  B", "for i in range(2):\n  B", "for i in range(I):\n  B",
        "for q in L[:3]:\n  if C:\n    break\n  B\nelse:\n  B", "for q in L[:3]:\n  if C:\n    continue\n  B",
        "for p, q in zip(L, L[1:]):\n  B", "for j, x in enumerate(L[:2]):\n  B", "for q in d:\n  note(q)\nelse:\n  B",
        "i = 0\nwhile i < 3:\n  i += 1\n  if C:\n    break\n  B\nelse:\n  B", "i = 0\nwhile i < 2:\n  i += 1\n  B",
        "for p in range(2):\n  for q in range(2):\n    if C:\n      break\n    B\n  else:\n    continue\n  B",
        "def g():\n  return N", "def g(x=N):\n  return note(x)", "def f(p, q=1, *more, r=2, **named):\n  return p - q",
        "def kept(p, seen=[N]):\n  seen.append(p)\n  return len(seen)", "def g():\n  x = N\n  return x\nnote(g())",
        "def g():\n  def h():\n    return x\n  return h()", "for q in [1, 2]:\n  fs.append(lambda: q)",
        "for q in [1, 2]:\n  def g():\n    return q\n  fs.append(g)", "match L:\n  case [x, 1]:\n    B\n  case [x, _] if C:\n    B\n  case _:\n    B",
        "match I:\n  case 0 | 2:\n    B\n  case True:\n    B\n  case i:\n    B", "match (N, T):\n  case (x, 'a'):\n    B\n  case (x, 'word' | 'b' as v):\n    B\n  case _:\n    B",
        "match d:\n  case {'p': x, 'q': y}:\n    B\n  case {}:\n    B", "match V:\n  case None:\n    B\n  case [x, y]:\n    B\n  case other:\n    note(other is None)",
        "if (x := N) > (y := N):\n  B", "if not C:\n  return [trace, x]", "xs = [N, N]\nfor q in xs:\n  if len(xs) < 5:\n    xs.append(q)",
    ],
}  # fmt: skip


class _Constructs(Grammar):
    letters, plain_lines, blocks, indent = "NICLTKDSV", _TABLES["line"], _TABLES["block"], 1

    def one(self, letter: str, depth: int) -> str:
        table = _TABLES[letter]
        if depth <= 0:
            table = [
                text
                for text in table
                if not any(self.alone(text, at) for at, part in enumerate(text) if part in self.letters)
            ]
        made = self.filled(self.chance.choice(table), depth)
        return f"({made})" if letter in "NICT" else made


def construct_text(seed: int) -> str:
    """The text of a program; the same for the same seed."""
    return _HEAD + _Constructs(seed).body() + _TAIL


def construct_program(seed: int) -> Callable[..., Any] | None:
    """The program; None if its text is none to Python."""
    return program_made_of(construct_text(seed), f"<constructs {seed}>")
