"""What a text may not hold even where nobody comes by: it changes what the rest of the text means. It is:

global, nonlocal    a name is another's, also where the statement is never reached
__name              in a class, Python reads it as _Class__name
annotations         of a function inside are evaluated where it is defined
assert, __debug__   with `python -O` assertions are not evaluated: so they must do nothing but ask
class, import, del, try, with, async, type parameters
                    bind names that the interpreter does not know of
"""

from __future__ import annotations
import __future__

import ast
from collections.abc import Iterator
from functools import lru_cache

STRANGE: dict[type[ast.AST], str] = {
    ast.AsyncFunctionDef: "async",
    ast.ClassDef: "a class",
    ast.Delete: "del",
    ast.Global: "global",
    ast.Import: "an import inside a function",
    ast.ImportFrom: "an import inside a function",
    ast.Nonlocal: "nonlocal",
    ast.Try: "try",
    ast.TryStar: "try",
    ast.With: "with",
}
"""Statements that are refused wherever they stand, and what they are called."""


@lru_cache(maxsize=4096)
def strange_part(node: ast.FunctionDef | ast.Lambda, flags: int) -> tuple[str, int] | None:
    """What is wrong with the text of a function, wherever in it, and its line; None if nothing is.

    flags: those of its code.
    """
    body: list[ast.AST] = list(node.body) if isinstance(node, ast.FunctionDef) else [node.body]
    evaluated = not flags & __future__.annotations.compiler_flag
    for part in (part for statement in [node.args, *body] for part in ast.walk(statement)):
        reason = _reason(part, evaluated)
        if reason is not None:
            return reason, getattr(part, "lineno", node.lineno)
    return None


def _reason(part: ast.AST, evaluated: bool) -> str | None:
    if type(part) in STRANGE:
        return f"{STRANGE[type(part)]} is outside the subset"
    if getattr(part, "type_params", None):
        return "a type parameter is outside the subset"
    if isinstance(part, ast.MatchMapping) and part.rest is not None:
        return "** in a pattern is outside the subset"
    if isinstance(part, ast.Assert) and not all(map(_only_asks, ast.walk(part.test))):
        return "an assertion that may do more than ask, which python -O leaves out"
    if isinstance(part, ast.Name) and part.id == "__debug__":
        return "__debug__ is another with python -O"
    if any(name.startswith("__") and not name.endswith("__") for name in _names(part)):
        return "a name that starts with __ is another one in a class"
    if evaluated and isinstance(part, ast.FunctionDef) and not all(map(_is_plain, _annotations(part))):
        return (
            "an annotation that is evaluated where the function is defined, and does more than name a type: "
            "write `from __future__ import annotations`, or leave it out"
        )
    if isinstance(part, ast.AnnAssign) and part.value is None and not isinstance(part.target, ast.Name):
        return "an annotation of what is no name is outside the subset"
    return None


_ASK = frozenset(
    {"abs", "all", "any", "bool", "float", "int", "isinstance", "len", "max", "min", "range", "sum"}
)


def _only_asks(part: ast.AST) -> bool:
    if isinstance(part, ast.Call):
        return isinstance(part.func, ast.Name) and part.func.id in _ASK
    return not isinstance(part, ast.NamedExpr)


def _names(part: ast.AST) -> Iterator[str]:
    """The names in a part of the text, of whatever kind: not those of parts within it."""
    for field in ("id", "arg", "attr", "name"):
        name = getattr(part, field, None)
        if isinstance(name, str):
            yield name


def _annotations(node: ast.FunctionDef) -> Iterator[ast.expr]:
    given = node.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    yield from (a.annotation for a in arguments if a is not None and a.annotation is not None)
    if node.returns is not None:
        yield node.returns


def _is_plain(annotation: ast.expr) -> bool:
    return isinstance(annotation, ast.Name | ast.Constant)
