"""What each statement of the subset means. A statement that is not here is refused."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from freegap.symbolic.subset import arithmetic, order
from freegap.symbolic.subset.expressions import assign, evaluate, make_closure
from freegap.symbolic.subset.frames import Frame
from freegap.symbolic.subset.machine import Machine
from freegap.symbolic.subset.matching import matches
from freegap.symbolic.subset.methods import METHODS
from freegap.symbolic.subset.plain import STRANGE
from freegap.symbolic.subset.values import shown


class Returned:
    """The function returns."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


BREAK, CONTINUE = object(), object()
"""How a block ends, other than at its end or with a `Returned`."""


def execute(machine: Machine, frame: Frame, body: list[ast.stmt]) -> Any:
    """Go through statements; None at the end, else how they were left."""
    for node in body:
        machine.step(frame.file, node.lineno)
        meaning = _MEANINGS.get(type(node))
        if meaning is None:
            raise machine.refusal(f"{STRANGE.get(type(node), type(node).__name__)} is outside the subset")
        left = meaning(machine, frame, node)
        if left is not None:
            return left
    return None


def _expression(machine: Machine, frame: Frame, node: ast.Expr) -> None:
    evaluate(machine, frame, node.value)


def _assignment(machine: Machine, frame: Frame, node: ast.Assign) -> None:
    value = evaluate(machine, frame, node.value)
    for target in node.targets:
        assign(machine, frame, target, value)


def _annotated(machine: Machine, frame: Frame, node: ast.AnnAssign) -> None:
    if node.value is not None:
        assign(machine, frame, node.target, evaluate(machine, frame, node.value))


def _augmented(machine: Machine, frame: Frame, node: ast.AugAssign) -> None:
    """`+=`: a list grows in place, everything else is bound anew."""
    if isinstance(node.target, ast.Name):
        old = evaluate(machine, frame, ast.copy_location(ast.Name(node.target.id, ast.Load()), node))
        value = evaluate(machine, frame, node.value)
        new = _combined(machine, node, old, value)
        frame.bind(node.target.id, new)
        return
    if not isinstance(node.target, ast.Subscript) or isinstance(node.target.slice, ast.Slice):
        raise machine.refusal("an assignment to an attribute or a slice is outside the subset")
    owner = evaluate(machine, frame, node.target.value)
    place = evaluate(machine, frame, node.target.slice)
    if type(owner) not in (list, dict):
        raise machine.refusal(f"an assignment to an item of {shown(owner)}")
    place = machine.key(place) if type(owner) is dict else machine.integer(place, "an index")
    old = owner[place]
    value = evaluate(machine, frame, node.value)
    owner[place] = _combined(machine, node, old, value)


def _combined(machine: Machine, node: ast.AugAssign, old: Any, value: Any) -> Any:
    machine.line = node.lineno
    if type(old) is list and isinstance(node.op, ast.Add):
        METHODS[list]["extend"](machine, old, value)
        return old
    if type(old) in (list, dict, set):
        raise machine.refusal(f"an operator with = on {shown(old)} is outside the subset")
    return arithmetic.binary(machine, type(node.op), old, value)


def _if(machine: Machine, frame: Frame, node: ast.If) -> Any:
    taken = order.true(machine, evaluate(machine, frame, node.test))
    return execute(machine, frame, node.body if taken else node.orelse)


def _for(machine: Machine, frame: Frame, node: ast.For) -> Any:
    for item in machine.iterate(evaluate(machine, frame, node.iter)):
        assign(machine, frame, node.target, item)
        left = execute(machine, frame, node.body)
        if left is BREAK:
            return None
        if isinstance(left, Returned):
            return left
    return execute(machine, frame, node.orelse)


_MOST_ROUNDS = 16
"""Of `while True`, with a comparison of unknown numbers in each."""


def _while(machine: Machine, frame: Frame, node: ast.While) -> Any:
    open_rounds = 0
    while order.true(machine, evaluate(machine, frame, node.test)):
        machine.step(frame.file, node.lineno)
        decided = len(machine.exploration.branches)
        left = execute(machine, frame, node.body)
        open_rounds += len(machine.exploration.branches) > decided
        if isinstance(node.test, ast.Constant) and open_rounds > _MOST_ROUNDS:
            machine.step(frame.file, node.lineno)
            raise machine.refusal(
                "a loop that ends at random: no bound on its rounds is known, and it is none of those whose "
                "rounds are alike, which docs/prove.md has"
            )
        if left is BREAK:
            return None
        if isinstance(left, Returned):
            return left
    return execute(machine, frame, node.orelse)


def _return(machine: Machine, frame: Frame, node: ast.Return) -> Returned:
    return Returned(None if node.value is None else evaluate(machine, frame, node.value))


def _assert(machine: Machine, frame: Frame, node: ast.Assert) -> None:
    if not order.true(machine, evaluate(machine, frame, node.test)):
        machine.step(frame.file, node.lineno)
        raise AssertionError("an assertion fails on some input")


def _raise(machine: Machine, frame: Frame, node: ast.Raise) -> None:
    raise machine.refusal("the program raised an exception: on some input it has no output")


def _function(machine: Machine, frame: Frame, node: ast.FunctionDef) -> None:
    if node.decorator_list:
        raise machine.refusal("a decorator is outside the subset")
    frame.bind(node.name, make_closure(machine, frame, node))


def _match(machine: Machine, frame: Frame, node: ast.Match) -> Any:
    subject = evaluate(machine, frame, node.subject)
    for case in node.cases:
        machine.step(frame.file, case.pattern.lineno)
        if not matches(machine, frame, case.pattern, subject):
            continue
        if case.guard is None or order.true(machine, evaluate(machine, frame, case.guard)):
            return execute(machine, frame, case.body)
    return None


_MEANINGS: dict[type[ast.stmt], Callable[..., Any]] = {
    ast.AnnAssign: _annotated,
    ast.Assert: _assert,
    ast.Assign: _assignment,
    ast.AugAssign: _augmented,
    ast.Break: lambda machine, frame, node: BREAK,
    ast.Continue: lambda machine, frame, node: CONTINUE,
    ast.Expr: _expression,
    ast.For: _for,
    ast.FunctionDef: _function,
    ast.If: _if,
    ast.Match: _match,
    ast.Pass: lambda machine, frame, node: None,
    ast.Raise: _raise,
    ast.Return: _return,
    ast.While: _while,
}
