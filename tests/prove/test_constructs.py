"""The interpreter of the subset and Python do the same, on thousands of programs of all of its constructs."""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import pytest

from freegap.symbolic import Limits, NotDecided, SymbolicNoise
from freegap.symbolic.given import GivenNoise
from freegap.symbolic.subset import (
    agree,
    arithmetic,
    builtins,
    calls,
    expressions,
    follow,
    methods,
    order,
    statements,
    values,
)

from .generated_constructs import construct_program, construct_text

POINTS = (
    (Fraction(3, 2), Fraction(-2), Fraction(1, 4)),
    (Fraction(0), Fraction(1), Fraction(-3)),
)


def interpreted(program: Any, point: tuple[Fraction, ...]) -> Any:
    """What the interpreter says, of numbers that are known; `NotDecided` where it refuses."""
    first, second, drawn = point
    noise = SymbolicNoise(value=lambda draw: drawn)
    (path,) = follow(program, [[first, second], noise], confirm=False, limits=Limits(lines=3000))
    return path.result


def run(program: Any, point: tuple[Fraction, ...]) -> Any:
    first, second, drawn = point
    try:
        return program([first, second], GivenNoise({0: drawn}))
    except Exception as error:
        return f"raised {type(error).__name__}"


def compared(seeds: range, *, one: bool = False) -> tuple[list[str], int]:
    """The programs on which they do not agree, and how many were understood. one: it is enough."""
    found, understood = [], 0
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `is` with a literal
            program = construct_program(seed)
        if program is None:
            continue
        point = POINTS[seed % len(POINTS)]
        try:
            ours = interpreted(program, point)
        except NotDecided:
            continue
        understood += 1
        python = run(program, point)
        if not agree(ours, python, near=True):
            found.append(f"{ours}\n{python}\n{construct_text(seed)}")
            if one:
                break
    return found, understood


def test_they_do_the_same() -> None:
    found, understood = compared(range(2000))
    assert not found, found[0]
    assert understood >= 1200


@pytest.mark.long
@pytest.mark.parametrize("start", range(10_000, 90_000, 10_000))
def test_they_do_the_same_among_many(start: int) -> None:
    found, _ = compared(range(start, start + 10_000))
    assert not found, found[0]


class _Counted(dict[Any, Any]):
    """A table that notes what is asked of it."""

    def __init__(self, table: Mapping[Any, Any], seen: set[Any]) -> None:
        super().__init__(table)
        self.seen = seen

    def get(self, key: Any, default: Any = None) -> Any:
        self.seen.add(key)
        return super().get(key, default)

    def __getitem__(self, key: Any) -> Any:
        self.seen.add(key)
        return super().__getitem__(key)


NOWHERE = {ast.Raise, getattr, math.ceil, math.floor, math.trunc}
"""Without an output, for the noise interface, or of numbers that are not known."""


def test_every_construct_is_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is in the tables that the programs do not use: an entry that is added must be added there."""
    seen: set[Any] = set()
    tables: list[tuple[Any, str]] = [
        (expressions, "_MEANINGS"), (expressions, "_RELATIONS"), (statements, "_MEANINGS"),
        (arithmetic, "_POLYNOMIAL"), (arithmetic, "_WHOLE"), (arithmetic, "_SETS"),
    ]  # fmt: skip
    wanted: set[Any] = set()
    for module, name in tables:
        table = getattr(module, name)
        wanted |= {*table}
        monkeypatch.setattr(module, name, _Counted(table, seen))
    for kind, table in methods.METHODS.items():
        wanted |= {(kind, name) for name in table}
    plain = methods.call_method

    def call_method(machine: Any, method: Any, *rest: Any) -> Any:
        seen.add((type(method.owner), method.name))
        return plain(machine, method, *rest)

    meaning_of = builtins.meaning_of

    def called(function: Any) -> Any:
        found = meaning_of(function)
        if found is not None:
            seen.add(function)
        return found

    monkeypatch.setattr(calls, "call_method", call_method)
    monkeypatch.setattr(calls, "meaning_of", called)
    wanted |= {*builtins.BUILTINS}
    for _ in parts_of_range(seen, wanted):
        pass
    assert wanted - seen <= NOWHERE, wanted - seen - NOWHERE


def parts_of_range(seen: set[Any], wanted: set[Any]) -> Iterator[None]:
    """Some programs at a time, until all of it was seen."""
    for start in range(0, 3000, 100):
        compared(range(start, start + 100))
        if wanted - seen <= NOWHERE:
            return
        yield


def _first_of_all(machine: Any, items: Any, keys: Any, largest: bool) -> Any:
    place = 0
    for i in range(1, len(items)):
        pair = (keys[place], keys[i]) if largest else (keys[i], keys[place])
        if order.less(machine, *pair, or_equal=True):
            place = i
    return items[place]


def _grown_anew(machine: Any, node: Any, old: Any, value: Any) -> Any:
    return arithmetic.binary(machine, type(node.op), old, value)


def _else_always(machine: Any, frame: Any, node: Any) -> Any:
    for item in machine.iterate(expressions.evaluate(machine, frame, node.iter)):
        expressions.assign(machine, frame, node.target, item)
        left = statements.execute(machine, frame, node.body)
        if left is statements.BREAK:
            break
        if isinstance(left, statements.Returned):
            return left
    return statements.execute(machine, frame, node.orelse)


def _both_sides(machine: Any, frame: Any, node: Any) -> Any:
    values = [expressions.evaluate(machine, frame, part) for part in node.values]
    for value in values[:-1]:
        if order.true(machine, value) == isinstance(node.op, ast.Or):
            return value
    return values[-1]


def _kept(machine: Any, owner: Any, key: Any, *default: Any) -> Any:
    return owner.get(machine.key(key), *default)


@pytest.mark.parametrize(
    ("module", "name", "wrong"),
    [
        (order, "best", _first_of_all),
        (statements, "_combined", _grown_anew),
        (statements._MEANINGS, ast.For, _else_always),
        (expressions._MEANINGS, ast.BoolOp, _both_sides),
        (arithmetic._WHOLE, ast.FloorDiv, lambda left, right: int(Fraction(left) / Fraction(right))),
        (builtins.BUILTINS, reversed, lambda machine, items: values.Lazy(iter(items))),
        (methods.METHODS[dict], "pop", _kept),
        (methods.METHODS[list], "copy", lambda machine, owner: owner),
    ],
    ids=["ties", "aliases", "else", "short circuit", "division", "reversed", "pop", "copy"],
)  # fmt: skip
def test_a_wrong_meaning_is_found(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: Any, wrong: Any
) -> None:
    if isinstance(module, dict):
        monkeypatch.setitem(module, name, wrong)
    else:
        monkeypatch.setattr(module, name, wrong)
    found, _ = compared(range(1000), one=True)
    assert found
