"""Names: the variables of a call, those of the calls around it, and what the program may see outside."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from types import FunctionType
from typing import Any


@dataclass(eq=False)
class Frame:
    """The variables of one call (or comprehension)."""

    file: str
    own: frozenset[str]
    """The names that the function binds: local everywhere in it, as in Python."""
    outside: FunctionType | None
    """The real function that the text belongs to: its closure and its module's names are outside."""
    parent: Frame | None = None
    comprehension: bool = False
    values: dict[str, Any] = field(default_factory=dict)

    def holder(self, name: str) -> Frame | None:
        """The frame in which a name is local; None if it is none of the program's."""
        frame: Frame | None = self
        while frame is not None and name not in frame.own:
            frame = frame.parent
        return frame

    def outer(self, name: str) -> Any:
        """The object that a name has outside of the program, whatever it is."""
        function = self.outside
        if function is not None:
            free = function.__code__.co_freevars
            if name in free and function.__closure__ is not None:
                return function.__closure__[free.index(name)].cell_contents
            if name in function.__globals__:
                return function.__globals__[name]
            known: dict[str, Any] = getattr(function, "__builtins__")  # noqa: B009 - typeshed lacks it
            if name in known:  # those of its module, which need not be Python's own
                return known[name]
        raise NameError(f"{name} is not defined")

    def bind(self, name: str, value: Any) -> None:
        """Assign to a local name; an assignment expression in a comprehension binds in the function."""
        frame = self
        while frame.comprehension and name not in frame.own and frame.parent is not None:
            frame = frame.parent
        frame.values[name] = value


@lru_cache(maxsize=4096)
def bound_names(node: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    """The names that a function binds: its arguments, and what its own body assigns."""
    given = node.args
    names = {a.arg for a in [*given.posonlyargs, *given.args, *given.kwonlyargs]}
    names |= {a.arg for a in (given.vararg, given.kwarg) if a is not None}
    body: Iterable[ast.AST] = node.body if isinstance(node, ast.FunctionDef) else [node.body]
    for statement in body:
        names |= _bound(statement, inner=False)
    return frozenset(names)


def target_names(targets: Iterable[ast.AST]) -> frozenset[str]:
    """The names in the targets of a comprehension."""
    return frozenset(n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _bound(node: ast.AST, inner: bool) -> set[str]:
    """`inner`: within a comprehension, whose targets are its own, but whose `:=` are the function's."""
    if isinstance(node, ast.FunctionDef):
        names = {node.name}
        for part in [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]:
            names |= _bound(part, inner)
        return names
    if isinstance(node, ast.Lambda):
        defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        return set().union(*(_bound(part, inner) for part in defaults))
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Store) and not inner else set()
    if isinstance(node, ast.NamedExpr):
        return {node.target.id} | _bound(node.value, inner)
    names = set()
    if isinstance(node, ast.MatchAs | ast.MatchStar) and node.name is not None:
        names.add(node.name)
    inner = inner or isinstance(node, _COMPREHENSIONS)
    for child in ast.iter_child_nodes(node):
        names |= _bound(child, inner)
    return names
