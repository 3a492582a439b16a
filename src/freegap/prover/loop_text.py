"""The text of a program that is a loop over its answers: its parts, and the names in them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any


class NoLoop(Exception):
    """The program has another shape."""


STRANGE = (
    ast.NamedExpr, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Delete,
    ast.Try, ast.TryStar, ast.With, ast.Import, ast.ImportFrom, ast.Yield, ast.YieldFrom, ast.Await,
    ast.Match,
)  # fmt: skip
"""What assigns names in ways that are not looked for, or is outside the subset."""


def split(body: list[ast.stmt]) -> tuple[list[ast.stmt], ast.For, list[ast.stmt]]:
    """What comes before the loop, the loop, and what comes after it; copies, which may be changed."""
    body = ast.parse(ast.unparse(ast.Module(body, []))).body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # its description
    places = [i for i, line in enumerate(body) if isinstance(line, ast.For | ast.While)]
    if not places and body and isinstance(body[-1], ast.Return):
        return _comprehension(body)
    if len(places) != 1:
        raise NoLoop
    prefix, loop, suffix = body[: places[0]], body[places[0]], body[places[0] + 1 :]
    if not isinstance(loop, ast.For) or loop.orelse or not all(plain_targets(line) for line in prefix):
        raise NoLoop
    return prefix, loop, suffix


def _comprehension(body: list[ast.stmt]) -> tuple[list[ast.stmt], ast.For, list[ast.stmt]]:
    """A list of something about each answer, as a loop."""
    *prefix, last = body
    made = last.value if isinstance(last, ast.Return) else None
    if not isinstance(made, ast.ListComp) or len(made.generators) != 1:
        raise NoLoop
    (over,) = made.generators
    if over.ifs or over.is_async or not all(plain_targets(line) for line in prefix):
        raise NoLoop
    name = "comprehended"
    if name in names_in(body):
        raise NoLoop
    append = ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load())
    loop = ast.For(over.target, over.iter, [ast.Expr(ast.Call(append, [made.elt], []))], [])
    prefix.append(ast.Assign([ast.Name(name, ast.Store())], ast.List([], ast.Load())))
    return prefix, loop, [ast.Return(ast.Name(name, ast.Load()))]


def plain_targets(line: ast.stmt) -> list[str]:
    """The names that an assignment assigns; none if it is no plain assignment of names."""
    if isinstance(line, ast.Assign):
        targets = line.targets
    elif isinstance(line, ast.AnnAssign | ast.AugAssign) and line.value is not None:
        targets = [line.target]
    else:
        return []
    items = [item for t in targets for item in (t.elts if isinstance(t, ast.Tuple | ast.List) else [t])]
    names = [item.id for item in items if isinstance(item, ast.Name)]
    return names if len(names) == len(items) else []


def empty_list(line: ast.stmt) -> str | None:
    """The name that an empty list is assigned to."""
    value = line.value if isinstance(line, ast.Assign | ast.AnnAssign) else None
    names = plain_targets(line)
    plain = isinstance(line, ast.AnnAssign) or (isinstance(line, ast.Assign) and len(line.targets) == 1)
    empty = isinstance(value, ast.List) and not value.elts
    return names[0] if empty and plain and len(names) == 1 else None


def names_in(lines: Iterable[ast.AST]) -> set[str]:
    """The names that occur."""
    return {part.id for line in lines for part in ast.walk(line) if isinstance(part, ast.Name)}


def stored_in(line: ast.AST) -> set[str]:
    """The names that are assigned."""
    return {p.id for p in ast.walk(line) if isinstance(p, ast.Name) and not isinstance(p.ctx, ast.Load)}


def bound_name(part: ast.AST) -> str | None:
    """The name that a part of the text binds, in whatever scope."""
    if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
        return part.id
    return part.arg if isinstance(part, ast.arg) else None


def is_plain_label(label: ast.expr, allowed: set[str]) -> bool:
    """These names, constants, and tuples, texts and sums of them: nothing that could do something besides.

    A label that depends on an answer is used twice where two answers are equal, and that is an error.
    """
    plain = (
        ast.Name, ast.Constant, ast.Tuple, ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.operator,
        ast.Load,
    )  # fmt: skip
    return all(isinstance(part, plain) for part in ast.walk(label)) and names_in([label]) <= allowed


def plain_names(given: Mapping[str, Any]) -> set[str]:
    """The parameters that are numbers or texts, which do nothing when they are part of a label."""
    return {name for name, value in given.items() if type(value) in (bool, int, str, Fraction)}


_TOLD = (
    ast.Name,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.Call,
    ast.Load,
    ast.Subscript,
    ast.UnaryOp,
    ast.USub,
)
FUNCTIONS_OF_LISTS = frozenset({"len", "sum", "max", "min", "sorted", "tuple", "list", "any", "all"})
"""What may be done with what was told, after the loop; nobody may have given them another meaning."""


def is_plain_end(value: ast.expr | None, lists: set[str]) -> bool:
    """Whether a value is made of these lists by functions that see nothing else.

    Nobody interprets it, so it must be plain to see: no name from outside, no attribute, none of Python's
    functions that look around (`locals`, `eval`).
    """
    if value is None:
        return True
    parts = list(ast.walk(value))
    called = [part.func for part in parts if isinstance(part, ast.Call)]
    named = all(isinstance(part, ast.Name) and part.id in FUNCTIONS_OF_LISTS for part in called)
    return (
        named
        and all(isinstance(part, _TOLD) for part in parts)
        and all(isinstance(part.slice, ast.Constant) for part in parts if isinstance(part, ast.Subscript))
        and {p.id for p in parts if isinstance(p, ast.Name) and p not in called} <= lists
    )


def is_rounded(value: float) -> bool:
    """Whether a float is another number than its shortest decimal."""
    return Fraction(value) != Fraction(repr(value))
