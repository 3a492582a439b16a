"""Truth, equality and order. A comparison of symbols is decided at once: it is True or False on each path."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from freegap.symbolic.conditions import Condition
from freegap.symbolic.subset.arithmetic import difference
from freegap.symbolic.subset.values import Record, View, is_number, shown
from freegap.symbolic.symbols import Symbol

if TYPE_CHECKING:
    from freegap.symbolic.subset.machine import Machine


def true(machine: Machine, value: Any) -> bool:
    """What `if` makes of a value."""
    kind = type(value)
    if kind is Symbol:
        return machine.decide(Condition.compare(value, "!="))
    if value is None or is_number(value):
        if type(value) is Fraction:
            _require_exact(machine, value, value)  # 1e-200 * 1e-200 is 0.0
        return bool(value)
    if kind is float:
        return True  # infinity
    if kind in (str, list, tuple, dict, set, frozenset, range):
        return len(value) > 0
    raise machine.refusal(f"the truth of {shown(value)}")


def same(machine: Machine, left: Any, right: Any) -> bool:
    """`is`, where one side is None or a truth value: identity of other values has no meaning."""
    for one, other in ((left, right), (right, left)):
        if one is None or type(one) is bool:
            return type(one) is type(other) and one == other
    raise machine.refusal(f"`is` of {shown(left)} and {shown(right)}: only with None, True or False")


def equal(machine: Machine, left: Any, right: Any) -> bool:
    """`==`. A number is not a text, not a list and not None."""
    if is_number(left) and is_number(right):
        if Symbol in (type(left), type(right)):
            return machine.decide(Condition.compare(difference(machine, left, right), "=="))
        _require_exact(machine, left, right)
        return bool(left == right)
    kinds = (_category(machine, left), _category(machine, right))
    if kinds[0] is not kinds[1]:
        return False
    machine.step(machine.file, machine.line)
    if kinds[0] in (list, tuple):
        return len(left) == len(right) and all(equal(machine, a, b) for a, b in zip(left, right, strict=True))
    if kinds[0] is dict:
        return left.keys() == right.keys() and all(equal(machine, left[key], right[key]) for key in left)
    return bool(left == right)


def _require_exact(machine: Machine, left: Any, right: Any) -> None:
    if machine.rounded and Fraction in (type(left), type(right)):
        raise machine.refusal(
            "a comparison of constants, of which some are rounded as floats: the rounding may decide it. "
            "Write Fraction(1, 10) for 0.1, or pass it as a parameter"
        )


def _category(machine: Machine, value: Any) -> type:
    kind = type(value)
    if is_number(value):
        return Symbol
    if kind in (str, list, tuple, dict, set, range, float, type(None)):
        return kind
    if kind is frozenset:
        return set
    raise machine.refusal(f"a comparison of {shown(value)}")


def less(machine: Machine, left: Any, right: Any, *, or_equal: bool = False) -> bool:
    """`<`, or `<=`: of numbers, of texts, and of tuples or lists item by item."""
    if is_number(left) and is_number(right):
        if Symbol in (type(left), type(right)):
            apart = difference(machine, left, right)
            return machine.decide(Condition.compare(apart, "<=" if or_equal else "<"))
        _require_exact(machine, left, right)
        return bool(left <= right if or_equal else left < right)
    kinds = (type(left), type(right))
    if float in kinds and all(
        kind is float or is_number(v) for kind, v in zip(kinds, (left, right), strict=True)
    ):
        return _infinite(left, right, or_equal)
    if kinds == (str, str):
        return bool(left <= right if or_equal else left < right)
    if kinds in ((list, list), (tuple, tuple)):
        for a, b in zip(left, right, strict=False):
            if not equal(machine, a, b):
                return less(machine, a, b, or_equal=or_equal)
        return len(left) <= len(right) if or_equal else len(left) < len(right)
    raise machine.refusal(f"a symbol compared: {shown(left)} and {shown(right)} have no order")


def _infinite(left: Any, right: Any, or_equal: bool) -> bool:
    """One side is ±infinity; every number is between."""
    sides = [math.copysign(1, v) if type(v) is float else 0.0 for v in (left, right)]
    return sides[0] <= sides[1] if or_equal else sides[0] < sides[1]


def contains(machine: Machine, item: Any, items: Any) -> bool:
    """`item in items`."""
    kind = type(items)
    if kind in (list, tuple):
        return any(equal(machine, other, item) for other in items)
    if kind is Record:
        return any(equal(machine, other, item) for other in items.values)
    if kind is View:
        return any(equal(machine, other, item) for other in items.items)
    if kind in (dict, set, frozenset):
        return machine.key(item) in items
    if kind is str and type(item) is str:
        return item in items
    if kind is range and type(item) in (int, bool):
        return item in items
    raise machine.refusal(f"{shown(item)} in {shown(items)}")


def ordered(machine: Machine, items: Sequence[Any], keys: Sequence[Any], reverse: bool) -> list[Any]:
    """The items by their keys, as Python sorts: those with equal keys stay in order."""
    by_key: Callable[[int], Any] = cmp_to_key(lambda i, j: -1 if less(machine, keys[i], keys[j]) else 1)
    return [items[i] for i in sorted(range(len(items)), key=by_key, reverse=reverse)]


def best(machine: Machine, items: Sequence[Any], keys: Sequence[Any], largest: bool) -> Any:
    """The first item with the largest (or smallest) key."""
    place = 0
    for i in range(1, len(items)):
        pair = (keys[place], keys[i]) if largest else (keys[i], keys[place])
        if less(machine, *pair):
            place = i
    return items[place]
