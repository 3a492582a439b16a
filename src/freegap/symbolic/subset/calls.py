"""Calls: of the program's own functions, of functions outside whose text is in the subset, and the rest."""

from __future__ import annotations

import ast
from functools import lru_cache, partial
from types import FunctionType, MethodType
from typing import Any

from freegap.symbolic.subset.builtins import meaning_of
from freegap.symbolic.subset.expressions import evaluate
from freegap.symbolic.subset.frames import Frame, bound_names
from freegap.symbolic.subset.machine import Machine
from freegap.symbolic.subset.methods import call_method
from freegap.symbolic.subset.plain import strange_part
from freegap.symbolic.subset.source import Definition, definition_of
from freegap.symbolic.subset.statements import Returned, execute
from freegap.symbolic.subset.values import RECORDS, Closure, Method, Partial, Record, Trusted, shown


def call(machine: Machine, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """What the function returns."""
    kind = type(function)
    meaning = meaning_of(function)
    if meaning is not None:
        return meaning(machine, *arguments, **keywords)
    if kind is Closure:
        outside = function.frame.outside
        frame = Frame(
            function.definition.file, bound_names(function.definition.node), outside, function.frame
        )
        bound = _bound(machine, function.definition.node, function.defaults, function.keyword_defaults)
        return _run(machine, function.definition, frame, bound, arguments, keywords)
    if kind is FunctionType:
        return _call_outer(machine, function, arguments, keywords)
    if kind is Partial:
        words = {**function.keywords, **keywords}
        return call(machine, function.function, [*function.arguments, *arguments], words)
    if kind in (partial, MethodType):  # as it was passed to the prover
        return call(machine, machine.outside(function), arguments, keywords)
    if kind is Method:
        return call_method(machine, function, arguments, keywords)
    if kind is Trusted:
        return function.meaning(machine, *arguments, **keywords)
    if any(function is record for record in RECORDS):
        return _record(machine, function, arguments, keywords)
    raise machine.refusal(f"a call of {shown(function)} is outside the subset")


def _call_outer(
    machine: Machine, function: FunctionType, arguments: list[Any], keywords: dict[str, Any]
) -> Any:
    definition = definition_of(function)
    defaults = tuple(machine.outside(v, "a default argument") for v in function.__defaults__ or ())
    words = {
        name: machine.outside(v, "a default argument") for name, v in (function.__kwdefaults__ or {}).items()
    }
    frame = Frame(definition.file, bound_names(definition.node), function)
    bound = _bound(machine, definition.node, defaults, words)
    return _run(machine, definition, frame, bound, arguments, keywords)


def _run(
    machine: Machine,
    definition: Definition,
    frame: Frame,
    bound: _Signature,
    arguments: list[Any],
    keywords: dict[str, Any],
) -> Any:
    frame.values.update(bound.bind(arguments, keywords, definition.name))
    machine.deeper()
    node = definition.node
    machine.step(definition.file, node.lineno)
    _require_plain(machine, node, frame)
    if isinstance(node, ast.Lambda):
        value = evaluate(machine, frame, node.body)
    else:
        left = execute(machine, frame, node.body)
        value = left.value if isinstance(left, Returned) else None
    machine.depth -= 1
    return value


def _require_plain(machine: Machine, node: ast.FunctionDef | ast.Lambda, frame: Frame) -> None:
    if _yields(node):
        raise machine.refusal("yield is outside the subset")
    strange = strange_part(node, 0 if frame.outside is None else frame.outside.__code__.co_flags)
    if strange is not None:
        reason, machine.line = strange
        raise machine.refusal(reason)


@lru_cache(maxsize=4096)
def _yields(node: ast.FunctionDef | ast.Lambda) -> bool:
    ahead: list[ast.AST] = list(node.body) if isinstance(node, ast.FunctionDef) else [node.body]
    while ahead:
        part = ahead.pop()
        if isinstance(part, ast.Yield | ast.YieldFrom | ast.Await):
            return True
        if not isinstance(part, ast.FunctionDef | ast.Lambda):
            ahead += ast.iter_child_nodes(part)
    return False


class _Signature:
    """The arguments of a function, and how a call gives them their values."""

    def __init__(self, given: ast.arguments, defaults: tuple[Any, ...], words: Any) -> None:
        self.given, self.defaults, self.words = given, defaults, words

    def bind(self, arguments: list[Any], keywords: dict[str, Any], name: str) -> dict[str, Any]:
        """The values by name; TypeError as Python has it."""
        given = self.given
        placed = [a.arg for a in [*given.posonlyargs, *given.args]]
        by_name = {a.arg for a in [*given.args, *given.kwonlyargs]}
        values = dict(zip(placed, arguments, strict=False))
        rest = arguments[len(placed) :]
        if given.vararg is not None:
            values[given.vararg.arg] = tuple(rest)
        elif rest:
            raise TypeError(f"{name} takes {len(placed)} arguments and got {len(arguments)}")
        more = {}
        for word, value in keywords.items():
            if word in by_name:
                if word in values:
                    raise TypeError(f"{name} got two values for {word}")
                values[word] = value
            elif given.kwarg is not None:
                more[word] = value
            else:
                raise TypeError(f"{name} takes no argument {word}")
        if given.kwarg is not None:
            values[given.kwarg.arg] = more
        first = len(placed) - len(self.defaults)
        usual = {**dict(zip(placed[first:], self.defaults, strict=True)), **self.words}
        for word in [*placed, *(a.arg for a in given.kwonlyargs)]:
            if word not in values:
                if word not in usual:
                    raise TypeError(f"{name} is missing the argument {word}")
                values[word] = usual[word]
        return values


def _bound(
    machine: Machine, node: ast.FunctionDef | ast.Lambda, defaults: tuple[Any, ...], words: Any
) -> _Signature:
    if len(defaults) > len(node.args.posonlyargs) + len(node.args.args):
        raise machine.refusal("the defaults of a function were exchanged")
    return _Signature(node.args, defaults, words)


def _record(machine: Machine, kind: Any, arguments: list[Any], keywords: dict[str, Any]) -> Record:
    names = kind._fields
    values = dict(zip(names, arguments, strict=False)) | keywords
    if set(values) != set(names) or len(arguments) + len(keywords) != len(names):
        raise TypeError(f"{kind.__name__} needs {', '.join(names)}")
    return Record(kind, tuple(values[name] for name in names))
