"""The functions of Python that have a meaning in the subset. Any other is refused."""

from __future__ import annotations

import ast
import functools
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from freegap.symbolic.subset import arithmetic, order
from freegap.symbolic.subset.attributes import attribute
from freegap.symbolic.subset.machine import Machine
from freegap.symbolic.subset.processing import Processed
from freegap.symbolic.subset.values import MODELS, Lazy, Partial, Record, View, is_number, shown
from freegap.symbolic.symbols import Symbol


def meaning_of(function: Any) -> Callable[..., Any] | None:
    """What a function or class of Python, or of freegap, means; found by identity, which cannot be faked."""
    for table in (BUILTINS, MODELS):
        for known, meaning in table.items():
            if known is function:
                return meaning
    return None


def _all_items(machine: Machine, items: Any) -> list[Any]:
    return list(machine.iterate(items))


def _len(machine: Machine, items: Any) -> int:
    if type(items) in (list, tuple, dict, str, range, set, frozenset):
        return len(items)
    if type(items) is View:
        return len(items.items)
    if type(items) is Record:
        return len(items.values)
    raise machine.refusal(f"the length of {shown(items)}")


def _range(machine: Machine, *bounds: Any) -> range:
    return range(*(machine.integer(bound, "a range") for bound in bounds))


def _enumerate(machine: Machine, items: Any, start: Any = 0) -> Lazy:
    return Lazy(enumerate(machine.iterate(items), machine.integer(start, "enumerate")))


def _zip(machine: Machine, *items: Any, strict: Any = False) -> Lazy:
    return Lazy(zip(*map(machine.iterate, items), strict=order.true(machine, strict)))


def _map(machine: Machine, function: Any, *items: Any) -> Lazy:
    rows = zip(*map(machine.iterate, items), strict=False)
    return Lazy(machine.call(function, row) for row in rows)


def _filter(machine: Machine, function: Any, items: Any) -> Lazy:
    kept = machine.iterate(items)
    if function is None:
        return Lazy(item for item in kept if order.true(machine, item))
    return Lazy(item for item in kept if order.true(machine, machine.call(function, [item])))


def _reversed(machine: Machine, items: Any) -> Lazy:
    if type(items) not in (list, tuple, range, str):
        raise machine.refusal(f"reversed({shown(items)})")
    return Lazy(reversed(items))


def _iter(machine: Machine, items: Any) -> Lazy:
    return items if type(items) is Lazy else Lazy(machine.iterate(items))


_NOTHING = object()


def _next(machine: Machine, items: Any, default: Any = _NOTHING) -> Any:
    if type(items) is not Lazy:
        raise machine.refusal(f"next({shown(items)})")
    found = next(items.items, default)
    if found is _NOTHING:
        raise machine.refusal("the program raised StopIteration")
    return found


def _sorted(machine: Machine, items: Any, *, key: Any = None, reverse: Any = False) -> list[Any]:
    listed = sorted(items, key=repr) if type(items) in (set, frozenset) else _all_items(machine, items)
    keys = listed if key is None else [machine.call(key, [item]) for item in listed]
    if key is not None and type(items) in (set, frozenset):
        raise machine.refusal("sorted of a set with a key: items with the same key have no order")
    return order.ordered(machine, listed, keys, order.true(machine, reverse))


def _extreme(largest: bool) -> Callable[..., Any]:
    def find(machine: Machine, *given: Any, key: Any = None, default: Any = _NOTHING) -> Any:
        items, keys = [], []
        for item in machine.iterate(given[0]) if len(given) == 1 else given:
            items.append(item)
            keys.append(item if key is None else machine.call(key, [item]))
        if not items:
            if default is _NOTHING:
                raise ValueError("the largest or smallest of nothing")
            return default
        return order.best(machine, items, keys, largest)

    return find


def _sum(machine: Machine, items: Any, start: Any = 0) -> Any:
    total = start
    for item in machine.iterate(items):
        if not is_number(item) or not is_number(total):
            raise machine.refusal(f"a sum of {shown(total)} and {shown(item)}")
        total = arithmetic.binary(machine, ast.Add, total, item)
    return total


def _abs(machine: Machine, value: Any) -> Any:
    if type(value) is Symbol:
        return arithmetic.negative(machine, value) if order.less(machine, value, 0) else value
    if is_number(value) or type(value) is float:
        return abs(value)
    raise machine.refusal(f"abs({shown(value)})")


def _any(machine: Machine, items: Any) -> bool:
    return any(order.true(machine, item) for item in machine.iterate(items))


def _all(machine: Machine, items: Any) -> bool:
    return all(order.true(machine, item) for item in machine.iterate(items))


def _list(machine: Machine, items: Any = ()) -> list[Any]:
    return _all_items(machine, items)


def _tuple(machine: Machine, items: Any = ()) -> tuple[Any, ...]:
    return tuple(_all_items(machine, items))


def _set(machine: Machine, items: Any = ()) -> set[Any]:
    if type(items) in (set, frozenset):
        return set(items)
    return {machine.key(item) for item in machine.iterate(items)}


def _dict(machine: Machine, items: Any = (), **words: Any) -> dict[Any, Any]:
    if type(items) is dict:
        return dict(items) | words
    made: dict[Any, Any] = {}
    for pair in machine.iterate(items):
        key, value = machine.iterate(pair)
        made[machine.key(key)] = value
    return made | words


def _bool(machine: Machine, value: Any = False) -> bool:
    return order.true(machine, value)


def _int(machine: Machine, value: Any = 0) -> Any:
    if type(value) in (int, bool):
        return int(value)
    return _rounded("int")(machine, value)


def _rounded(operation: str) -> Callable[..., Any]:
    """Of a number that is not known: post-processing. Of a known real number Python's floats may err."""

    def rounding(machine: Machine, value: Any, *digits: Any) -> Any:
        if type(value) in (Symbol, Processed):
            return Processed(operation, (value, *(machine.integer(d, "the digits") for d in digits)))
        if type(value) in (int, bool) and not digits:
            return int(value)
        raise machine.refusal(f"{operation} of {shown(value)}")

    return rounding


def _float(machine: Machine, value: Any = Fraction(0)) -> Any:
    """The number as a real one; exact, where Python rounds."""
    if type(value) is str and value.strip().lower().lstrip("+-") in ("inf", "infinity"):
        return float(value)
    if type(value) is float:
        return value
    if type(value) in (Symbol, Processed):
        machine.converted.append(value)
        return Processed("float", (value,))
    if is_number(value):
        found = arithmetic.real(value)
        machine.floats = True
        machine.rounded = machine.rounded or arithmetic.rounds_to_float(found)
        return found
    raise machine.refusal(f"a float of {shown(value)}")


def _fraction(machine: Machine, value: Any = 0, denominator: Any = None) -> Any:
    if denominator is not None:
        if not (is_number(value) and is_number(denominator)) or Symbol in (type(value), type(denominator)):
            raise machine.refusal(f"a fraction of {shown(value)} and {shown(denominator)}")
        return Fraction(value) / Fraction(denominator)
    if type(value) is str:
        return Fraction(value)
    if is_number(value):
        return arithmetic.real(value)
    raise machine.refusal(f"a fraction of {shown(value)}")


def _str(machine: Machine, value: Any) -> str:
    return machine.text(value)


_KINDS = (int, bool, str, tuple, list, dict)


def _isinstance(machine: Machine, value: Any, kinds: Any) -> bool:
    """For whole numbers, truth values, texts and containers: the kind of a real number is not to be seen."""
    asked = kinds if type(kinds) is tuple else (kinds,)
    plain = value is None or type(value) in _KINDS
    if not plain or not all(type(kind) is type and kind in _KINDS for kind in asked):
        raise machine.refusal(f"the type of {shown(value)} is not to be seen")
    return isinstance(value, asked)


def _getattr(machine: Machine, owner: Any, name: Any) -> Any:
    if type(name) is not str:
        raise machine.refusal(f"getattr with {shown(name)}")
    return attribute(machine, machine.noise(owner), name)


def _partial(machine: Machine, function: Any, *arguments: Any, **keywords: Any) -> Partial:
    return Partial(function, arguments, keywords)


def _pairwise(machine: Machine, items: Any) -> Lazy:
    return Lazy(itertools.pairwise(machine.iterate(items)))


def _chain(machine: Machine, *parts: Any) -> Lazy:
    def items() -> Iterator[Any]:
        for part in parts:
            yield from machine.iterate(part)

    return Lazy(items())


def _islice(machine: Machine, items: Any, *bounds: Any) -> Lazy:
    cut = [None if bound is None else machine.integer(bound, "islice") for bound in bounds]
    return Lazy(itertools.islice(machine.iterate(items), *cut))


def _product(machine: Machine, *parts: Any) -> Lazy:
    return Lazy(itertools.product(*(_all_items(machine, part) for part in parts)))


def _combinations(machine: Machine, items: Any, count: Any) -> Lazy:
    return Lazy(itertools.combinations(_all_items(machine, items), machine.integer(count, "combinations")))


BUILTINS: dict[Any, Callable[..., Any]] = {
    Fraction: _fraction,
    abs: _abs,
    all: _all,
    any: _any,
    bool: _bool,
    dict: _dict,
    enumerate: _enumerate,
    filter: _filter,
    float: _float,
    functools.partial: _partial,
    getattr: _getattr,
    int: _int,
    isinstance: _isinstance,
    iter: _iter,
    itertools.chain: _chain,
    itertools.combinations: _combinations,
    itertools.islice: _islice,
    itertools.pairwise: _pairwise,
    itertools.product: _product,
    len: _len,
    list: _list,
    map: _map,
    math.ceil: _rounded("ceil"),
    math.floor: _rounded("floor"),
    math.trunc: _rounded("int"),
    max: _extreme(largest=True),
    min: _extreme(largest=False),
    next: _next,
    range: _range,
    reversed: _reversed,
    round: _rounded("round"),
    set: _set,
    sorted: _sorted,
    str: _str,
    sum: _sum,
    tuple: _tuple,
    zip: _zip,
}
