"""The syntax tree of a function, and that it is the tree of what runs.

The file is compiled again, and the function's own code object must be found among the code that comes out,
at the place of the tree that is returned. So a file that was edited after it was imported, a wrapper that
carries the name of what it wraps, and a function whose code was exchanged are all refused.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import copy
import functools
import inspect
import linecache
import operator
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from freegap.symbolic.undecided import NotDecided, SourceLine

_FUTURE = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)

_NONE = type(None)
_MARK = "the body of the function that is looked for"


@dataclass(frozen=True, eq=False)
class Definition:
    """A function as text: its tree, and the file that the lines are in."""

    node: ast.FunctionDef | ast.Lambda
    file: str

    @property
    def name(self) -> str:
        """The name, `<lambda>` for a lambda."""
        return self.node.name if isinstance(self.node, ast.FunctionDef) else "<lambda>"


def remember_source(file: str, text: str) -> None:
    """Text that was compiled under this name, for functions that come from no file."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


_OWN = dict(vars(builtins))


def _exchanged() -> bool:
    """Whether somebody gave one of Python's own functions another meaning."""
    return any(vars(builtins).get(name) is not _OWN[name] for name in _READ)


_READ = (
    "abs", "all", "any", "enumerate", "getattr", "len", "list", "max", "min", "range", "sorted", "sum",
    "tuple",
)  # fmt: skip
"""Those that some readers of a text take for what they are by their names."""


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """What a function takes, by its code: not what `functools.wraps` or a `__signature__` says of it."""
    if type(function) is FunctionType:
        bare = FunctionType(
            function.__code__, {}, function.__name__, function.__defaults__, function.__closure__
        )
        bare.__kwdefaults__ = function.__kwdefaults__
        return inspect.signature(bare)
    return inspect.signature(function)


def definition_of(function: FunctionType) -> Definition:
    """The definition of a function; `NotDecided` where it is not known to be what runs."""
    code = function.__code__
    where = SourceLine(code.co_filename, code.co_firstlineno)
    known: Any = getattr(function, "__builtins__")  # noqa: B009 - typeshed lacks it
    if type(function.__globals__) is not dict or known is not builtins.__dict__ or _exchanged():
        raise NotDecided(f"the names around {function.__name__} are not those of Python's own modules", where)
    if not _is_plain(function):
        raise NotDecided(
            f"defaults or closure of {function.__name__} are of a class of their own, which may show others "
            "than Python takes",
            where,
        )
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    if not text:
        raise NotDecided(f"the source of {function.__name__} is not known: write it in a file", where)
    found = _located(code, code.co_filename, text)
    if found is None:
        raise NotDecided(f"the source of {function.__name__} is not what runs: was the file changed?", where)
    return Definition(found, code.co_filename)


def _is_plain(function: FunctionType) -> bool:
    """Whether what is read of it by Python's means is what Python takes itself, past all methods."""
    tuples = (function.__defaults__, function.__closure__)
    words = function.__kwdefaults__
    named = all(type(name) is str for name in function.__globals__)
    return (
        named and all(part is None or type(part) is tuple for part in tuples) and type(words) in (dict, _NONE)
    )


@functools.lru_cache(maxsize=1024)
def _located(code: CodeType, file: str, text: str) -> ast.FunctionDef | ast.Lambda | None:
    flags = code.co_flags & _FUTURE  # a notebook or a doctest can have them from an earlier cell
    parsed = _parsed(file, text, flags)
    if parsed is None:
        return None
    tree, compiled = parsed
    same_line = [node for node in _functions(tree) if _first_line(node) == code.co_firstlineno]
    candidates = [node for node in same_line if _name(node) == code.co_name]
    if len(candidates) == 1:
        return candidates[0] if any(_same_code(other, code) for _, other in _codes(compiled)) else None
    # Lambdas on one line: each in turn gets a body that is recognised, to see where its code is.
    codes = dict(_codes(compiled))
    for node in candidates:
        place = _place_of(tree, node, file, flags)
        if place is not None and place in codes and _same_code(codes[place], code):
            return node
    return None


_PARTS = (
    "co_name", "co_qualname", "co_flags", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount",
    "co_nlocals", "co_firstlineno", "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars",
    "co_linetable", "co_exceptiontable",
)  # fmt: skip


def _same_code(one: CodeType, other: CodeType) -> bool:
    """Whether two pieces of code are the same in all that Python goes by, and in the code within them."""
    if any(getattr(one, part) != getattr(other, part) for part in _PARTS):
        return False
    return len(one.co_consts) == len(other.co_consts) and all(
        map(_same_constant, one.co_consts, other.co_consts)
    )


def _same_constant(one: Any, other: Any) -> bool:
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is CodeType:
        return _same_code(one, other)
    if kind is tuple:
        return len(one) == len(other) and all(map(_same_constant, one, other))
    if kind is frozenset:
        return len(one) == len(other) and all(any(_same_constant(a, b) for b in other) for a in one)
    plain = kind in (type(None), type(...), bool, int, float, complex, str, bytes)
    return plain and repr(one) == repr(other)  # which tells 0.0 from -0.0


@functools.lru_cache(maxsize=64)
def _parsed(file: str, text: str, flags: int) -> tuple[ast.Module, CodeType] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the text, which has been compiled before
        try:
            tree = ast.parse(text)
            return tree, compile(tree, file, "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError):
            return None


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.Lambda]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda))


def _first_line(node: ast.FunctionDef | ast.Lambda) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _name(node: ast.FunctionDef | ast.Lambda) -> str:
    return node.name if isinstance(node, ast.FunctionDef) else "<lambda>"


def _codes(code: CodeType, at: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], CodeType]]:
    """The code and all code inside it, each with its place."""
    yield at, code
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    for place, constant in enumerate(inner):
        yield from _codes(constant, (*at, place))


def _place_of(
    tree: ast.Module, node: ast.FunctionDef | ast.Lambda, file: str, flags: int
) -> tuple[int, ...] | None:
    place = next(i for i, other in enumerate(_functions(tree)) if other is node)
    marked = copy.deepcopy(tree)
    target = next(other for i, other in enumerate(_functions(marked)) if i == place)
    body = ast.copy_location(ast.Constant(_MARK), node)
    if isinstance(target, ast.Lambda):
        target.body = body
    else:
        target.body = [ast.copy_location(ast.Return(body), node)]
    for at, code in _codes(compile(marked, file, "exec", flags, dont_inherit=True)):
        if _MARK in code.co_consts:
            return at
    return None
