"""What each expression of the subset means. An expression that is not here is refused."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from freegap.symbolic.subset import arithmetic, order
from freegap.symbolic.subset.attributes import attribute
from freegap.symbolic.subset.frames import Frame, target_names
from freegap.symbolic.subset.machine import Machine
from freegap.symbolic.subset.source import Definition
from freegap.symbolic.subset.values import (
    Closure,
    Lazy,
    Record,
    is_number,
    shown,
)


def evaluate(machine: Machine, frame: Frame, node: ast.expr) -> Any:
    """The value of an expression."""
    machine.file, machine.line = frame.file, node.lineno
    meaning = _MEANINGS.get(type(node))
    if meaning is None:
        raise machine.refusal(f"{_NAMES.get(type(node), type(node).__name__)} is outside the subset")
    return meaning(machine, frame, node)


def _back(machine: Machine, frame: Frame, node: ast.expr) -> None:
    """The parts are evaluated: what happens now happens at the line of the whole."""
    machine.file, machine.line = frame.file, node.lineno


# Constants and names --------------------------------------------------------------------------------


def _constant(machine: Machine, frame: Frame, node: ast.Constant) -> Any:
    if type(node.value) not in (bool, int, float, str, type(None)):
        raise machine.refusal(f"a constant of type {type(node.value).__name__} is outside the subset")
    return machine.outside(node.value)


def _name(machine: Machine, frame: Frame, node: ast.Name) -> Any:
    holder = frame.holder(node.id)
    if holder is None:
        try:
            value = frame.outer(node.id)
        except (NameError, ValueError) as error:  # ValueError: a variable around it that is not bound yet
            raise machine.refusal(str(error)) from None
        return machine.outside(value, f"the outer name {node.id}")
    if node.id not in holder.values:
        raise machine.refusal(f"{node.id} is not bound yet")
    return holder.values[node.id]


def _text(machine: Machine, frame: Frame, node: ast.JoinedStr) -> str:
    """f"answer {i}": whole numbers and texts only, as they are."""
    parts = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
            continue
        if not isinstance(part, ast.FormattedValue) or part.format_spec is not None or part.conversion != -1:
            raise machine.refusal("a format in a text is outside the subset")
        parts.append(machine.text(evaluate(machine, frame, part.value)))
    machine.require_short(sum(map(len, parts)))
    return "".join(parts)


# Operators --------------------------------------------------------------------------------------------


def _binary(machine: Machine, frame: Frame, node: ast.BinOp) -> Any:
    left, right = evaluate(machine, frame, node.left), evaluate(machine, frame, node.right)
    _back(machine, frame, node)
    return arithmetic.binary(machine, type(node.op), left, right)


def _unary(machine: Machine, frame: Frame, node: ast.UnaryOp) -> Any:
    value = evaluate(machine, frame, node.operand)
    _back(machine, frame, node)
    if isinstance(node.op, ast.Not):
        return not order.true(machine, value)
    if isinstance(node.op, ast.USub):
        return -value if type(value) is float else arithmetic.negative(machine, value)
    if isinstance(node.op, ast.UAdd) and is_number(value):
        return int(value) if type(value) is bool else value
    raise machine.refusal(f"{type(node.op).__name__} of {shown(value)}")


def _boolean(machine: Machine, frame: Frame, node: ast.BoolOp) -> Any:
    """`and`, `or`: the first value that settles it, as in Python, else the last."""
    value = None
    for part in node.values[:-1]:
        value = evaluate(machine, frame, part)
        if order.true(machine, value) == isinstance(node.op, ast.Or):
            return value
    return evaluate(machine, frame, node.values[-1])


def _compare(machine: Machine, frame: Frame, node: ast.Compare) -> bool:
    left = evaluate(machine, frame, node.left)
    for operator, part in zip(node.ops, node.comparators, strict=True):
        right = evaluate(machine, frame, part)
        _back(machine, frame, node)
        if not _RELATIONS[type(operator)](machine, left, right):
            return False
        left = right
    return True


_RELATIONS: dict[type[ast.cmpop], Callable[[Machine, Any, Any], bool]] = {
    ast.Eq: order.equal,
    ast.NotEq: lambda machine, a, b: not order.equal(machine, a, b),
    ast.Lt: order.less,
    ast.LtE: lambda machine, a, b: order.less(machine, a, b, or_equal=True),
    ast.Gt: lambda machine, a, b: order.less(machine, b, a),
    ast.GtE: lambda machine, a, b: order.less(machine, b, a, or_equal=True),
    ast.Is: order.same,
    ast.IsNot: lambda machine, a, b: not order.same(machine, a, b),
    ast.In: order.contains,
    ast.NotIn: lambda machine, a, b: not order.contains(machine, a, b),
}


def _choice(machine: Machine, frame: Frame, node: ast.IfExp) -> Any:
    taken = order.true(machine, evaluate(machine, frame, node.test))
    return evaluate(machine, frame, node.body if taken else node.orelse)


def _named(machine: Machine, frame: Frame, node: ast.NamedExpr) -> Any:
    value = evaluate(machine, frame, node.value)
    frame.bind(node.target.id, value)
    return value


# Containers --------------------------------------------------------------------------------------------


def _items(machine: Machine, frame: Frame, nodes: list[ast.expr]) -> list[Any]:
    items: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            items += machine.iterate(evaluate(machine, frame, node.value))
        else:
            items.append(evaluate(machine, frame, node))
    return items


def _list(machine: Machine, frame: Frame, node: ast.List) -> list[Any]:
    return _items(machine, frame, node.elts)


def _tuple(machine: Machine, frame: Frame, node: ast.Tuple) -> tuple[Any, ...]:
    return tuple(_items(machine, frame, node.elts))


def _set(machine: Machine, frame: Frame, node: ast.Set) -> set[Any]:
    return {machine.key(item) for item in _items(machine, frame, node.elts)}


def _dict(machine: Machine, frame: Frame, node: ast.Dict) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            more = evaluate(machine, frame, value)
            if type(more) is not dict:
                raise machine.refusal(f"** of {shown(more)}")
            made.update(more)
        else:
            name = machine.key(evaluate(machine, frame, key))
            made[name] = evaluate(machine, frame, value)
    return made


def _rounds(
    machine: Machine, frame: Frame, generators: list[ast.comprehension], first: Iterator[Any] | None = None
) -> Iterator[None]:
    """Bind the targets of a comprehension, one after the other; the first items may be given."""
    head, *rest = generators
    if head.is_async:
        raise machine.refusal("async is outside the subset")
    items = first if first is not None else machine.iterate(evaluate(machine, frame, head.iter))
    for item in items:
        assign(machine, frame, head.target, item)
        if all(order.true(machine, evaluate(machine, frame, test)) for test in head.ifs):
            if rest:
                yield from _rounds(machine, frame, rest)
            else:
                yield


def _inside(
    machine: Machine, frame: Frame, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
) -> tuple[Frame, Iterator[None]]:
    """The frame of a comprehension and its rounds; the first items are evaluated outside of it, at once."""
    first = machine.iterate(evaluate(machine, frame, node.generators[0].iter))
    own = target_names(generator.target for generator in node.generators)
    inner = Frame(frame.file, own, frame.outside, frame, comprehension=True)
    return inner, _rounds(machine, inner, node.generators, first)


def _list_comprehension(machine: Machine, frame: Frame, node: ast.ListComp) -> list[Any]:
    inner, rounds_ = _inside(machine, frame, node)
    return [evaluate(machine, inner, node.elt) for _ in rounds_]


def _set_comprehension(machine: Machine, frame: Frame, node: ast.SetComp) -> set[Any]:
    inner, rounds_ = _inside(machine, frame, node)
    return {machine.key(evaluate(machine, inner, node.elt)) for _ in rounds_}


def _dict_comprehension(machine: Machine, frame: Frame, node: ast.DictComp) -> dict[Any, Any]:
    inner, rounds_ = _inside(machine, frame, node)
    made: dict[Any, Any] = {}
    for _ in rounds_:
        key = machine.key(evaluate(machine, inner, node.key))
        made[key] = evaluate(machine, inner, node.value)
    return made


def _generator(machine: Machine, frame: Frame, node: ast.GeneratorExp) -> Lazy:
    inner, rounds_ = _inside(machine, frame, node)
    return Lazy(evaluate(machine, inner, node.elt) for _ in rounds_)


def _subscript(machine: Machine, frame: Frame, node: ast.Subscript) -> Any:
    owner = evaluate(machine, frame, node.value)
    if isinstance(node.slice, ast.Slice):
        bounds = [
            None if part is None else evaluate(machine, frame, part)
            for part in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        _back(machine, frame, node)
        cut = slice(*(None if b is None else machine.integer(b, "a slice") for b in bounds))
        if type(owner) in (list, tuple, str, range):
            return owner[cut]
        if type(owner) is Record:
            return owner.values[cut]
        raise machine.refusal(f"a slice of {shown(owner)}")
    place = evaluate(machine, frame, node.slice)
    _back(machine, frame, node)
    if type(owner) is dict:
        return owner[machine.key(place)]
    if type(owner) in (list, tuple, str, range):
        return owner[machine.integer(place, "an index")]
    if type(owner) is Record:
        return owner.values[machine.integer(place, "an index")]
    raise machine.refusal(f"an item of {shown(owner)}")


# Functions and attributes ------------------------------------------------------------------------------


def _lambda(machine: Machine, frame: Frame, node: ast.Lambda) -> Closure:
    return make_closure(machine, frame, node)


def make_closure(machine: Machine, frame: Frame, node: ast.Lambda | ast.FunctionDef) -> Closure:
    """The function that a definition makes here; its defaults are evaluated now."""
    defaults = tuple(evaluate(machine, frame, default) for default in node.args.defaults)
    words = {
        argument.arg: evaluate(machine, frame, default)
        for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if default is not None
    }
    return Closure(Definition(node, frame.file), frame, defaults, words)


def _call(machine: Machine, frame: Frame, node: ast.Call) -> Any:
    function = evaluate(machine, frame, node.func)
    arguments = _items(machine, frame, node.args)
    keywords: dict[str, Any] = {}
    for keyword in node.keywords:
        value = evaluate(machine, frame, keyword.value)
        if keyword.arg is None and type(value) is not dict:
            raise machine.refusal(f"** of {shown(value)}")
        for name, item in value.items() if keyword.arg is None else [(keyword.arg, value)]:
            if type(name) is not str or name in keywords:
                raise machine.refusal("an argument twice, or one whose name is not a text")
            keywords[name] = item
    _back(machine, frame, node)
    result = machine.call(function, arguments, keywords)
    _back(machine, frame, node)
    return result


def _attribute(machine: Machine, frame: Frame, node: ast.Attribute) -> Any:
    owner = evaluate(machine, frame, node.value)
    _back(machine, frame, node)
    return attribute(machine, owner, node.attr)


def assign(machine: Machine, frame: Frame, target: ast.expr, value: Any) -> None:
    """Bind a target: a name, an item of a list or dict, or a tuple of targets."""
    if isinstance(target, ast.Name):
        frame.bind(target.id, value)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(machine, frame, target.elts, list(machine.iterate(value)))
    elif isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
        owner = evaluate(machine, frame, target.value)
        place = evaluate(machine, frame, target.slice)
        _back(machine, frame, target)
        if type(owner) is dict:
            owner[machine.key(place)] = value
        elif type(owner) is list:
            owner[machine.integer(place, "an index")] = value
        else:
            raise machine.refusal(f"an assignment to an item of {shown(owner)}")
    else:
        raise machine.refusal("an assignment to an attribute or a slice is outside the subset")


def _unpack(machine: Machine, frame: Frame, targets: list[ast.expr], values: list[Any]) -> None:
    starred = [i for i, target in enumerate(targets) if isinstance(target, ast.Starred)]
    if not starred:
        if len(targets) != len(values):
            raise ValueError(f"{len(values)} values for {len(targets)} names")
        for target, value in zip(targets, values, strict=True):
            assign(machine, frame, target, value)
        return
    at = starred[0]
    after = len(targets) - at - 1
    if len(values) < len(targets) - 1:
        raise ValueError(f"{len(values)} values for {len(targets)} names")
    middle = targets[at]
    assert isinstance(middle, ast.Starred)  # noqa: S101 - as `starred` says
    _unpack(machine, frame, targets[:at], values[:at])
    assign(machine, frame, middle.value, values[at : len(values) - after])
    _unpack(machine, frame, targets[at + 1 :], values[len(values) - after :])


_MEANINGS: dict[type[ast.expr], Callable[..., Any]] = {
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.Call: _call,
    ast.Compare: _compare,
    ast.Constant: _constant,
    ast.Dict: _dict,
    ast.DictComp: _dict_comprehension,
    ast.GeneratorExp: _generator,
    ast.IfExp: _choice,
    ast.JoinedStr: _text,
    ast.Lambda: _lambda,
    ast.List: _list,
    ast.ListComp: _list_comprehension,
    ast.Name: _name,
    ast.NamedExpr: _named,
    ast.Set: _set,
    ast.SetComp: _set_comprehension,
    ast.Subscript: _subscript,
    ast.Tuple: _tuple,
    ast.UnaryOp: _unary,
}

_NAMES: dict[type[ast.expr], str] = {
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield from",
    ast.FormattedValue: "a format",
}
