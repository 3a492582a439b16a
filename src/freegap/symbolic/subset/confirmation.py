"""That the real function does on each path what the interpreter says.

The real function is run on points of the path: one that z3 gives, and some beside it, where the numbers have
nothing to do with each other, so that what differs by a multiple of an answer shows. The output of each run,
of the same types, and its draws must be the ones that the interpreter has; otherwise nothing is decided. What
a function remembers from one run to the next shows as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import z3

from freegap.laws import UNIFORM
from freegap.symbolic.conditions import Condition
from freegap.symbolic.draws import Draw, SymbolicNoise
from freegap.symbolic.given import GivenNoise, Varying
from freegap.symbolic.paths import VARYING, Path
from freegap.symbolic.subset.machine import Machine
from freegap.symbolic.subset.processing import Processed
from freegap.symbolic.subset.values import Record
from freegap.symbolic.symbols import Symbol, SymbolicVariable
from freegap.symbolic.undecided import NotDecided

_NEAR = Fraction(1, 10**9)
_SIZES = (Fraction(1000), Fraction(7), Fraction(1), Fraction(1, 64), Fraction(1, 4096))

_Point = Mapping[SymbolicVariable, Fraction]


def confirmed(
    machine: Machine, function: Any, inputs: Sequence[Any], keywords: Mapping[str, Any], path: Path
) -> Path:
    """Run the real function on points of the path; `NotDecided` where it does something else there. The path,
    with the types that Python has for its numbers."""
    model = _model(machine, path)
    if model is None:
        return path  # no input takes this path: z3 did not see that at its branches
    variables = _variables([*inputs, path.result, *(draw.value for draw in path.draws)])
    variables |= {v for branch in path.branches for v in branch.condition.variables}
    point = {variable: _of_model(model, variable) for variable in sorted(variables, key=lambda v: v.name)}
    near_by = machine.floats or machine.rounded
    types = _run_at(point, machine, function, inputs, keywords, path, near=near_by)
    for beside, near in _points_beside(point, path, floats=machine.floats):
        if not any(_is_zero(divisor, beside) for divisor in machine.divisors):
            _run_at(beside, machine, function, inputs, keywords, path, near=near or machine.rounded)
    return replace(path, types=types)


def _points_beside(point: _Point, path: Path, *, floats: bool) -> Iterator[tuple[_Point, bool]]:
    """More points of the path, and whether floats are rounded there; the last is near by, where what floats
    lose of a small number shows."""
    ways = [(1024, 1, _SIZES, floats), (1009, -1, _SIZES, True)]
    if floats:
        ways.append((997, 1, _SIZES[::-1], True))
    for denominator, first, sizes, near in ways:
        found = _beside(point, path, denominator, first, sizes)
        if found is not None:
            yield found, near


def _run_at(
    point: _Point,
    machine: Machine,
    function: Any,
    inputs: Sequence[Any],
    keywords: Mapping[str, Any],
    path: Path,
    *,
    near: bool,
) -> tuple[str, ...] | None:
    noise = GivenNoise({draw.label: Varying(_value(point, draw.value)) for draw in path.draws})
    real = [noise if isinstance(v, SymbolicNoise) else _number(point, v, Varying) for v in inputs]
    try:
        found = function(*real, **keywords)
    except ZeroDivisionError as error:
        if any(type(divisor) is Processed for divisor in machine.divisors):
            return None  # it is told, so that the error is a function of what is told
        raise _raised(error) from error
    except Exception as error:
        raise _raised(error) from error
    if not agree(_number(point, path.result), found, near=near):
        raise _disagreement(machine, "output")
    if not _same_draws(path.draws, noise, near=near):
        raise _disagreement(machine, "draws")
    return tuple(_types(path.result, found))


def _disagreement(machine: Machine, what: str) -> NotDecided:
    hint = ": a float is rounded there, or is a key. Write Fraction(1, 10) for 0.1" if machine.floats else ""
    return NotDecided(f"the interpreter and Python disagree about the {what} of a path{hint}")


def _raised(error: Exception) -> NotDecided:
    return NotDecided(
        f"the program raised {type(error).__name__} where it was run to confirm a path: {error}"
    )


# Points ----------------------------------------------------------------------------------------------


def _model(machine: Machine, path: Path) -> Any:
    """A point of the path; away from its edges, if floats would round there."""
    solver = machine.exploration.solver
    inside = (
        [_open(condition).z3 for condition in path.conditions] if machine.floats or machine.rounded else []
    )
    inside += [divisor.z3 != 0 for divisor in machine.divisors if isinstance(divisor, Symbol)]
    answer = solver.check(*inside)
    if answer != z3.sat and inside:
        answer = solver.check()
    if answer == z3.unknown:
        raise NotDecided("z3 did not decide on a point of a path in time, so that it is not confirmed")
    return solver.model() if answer == z3.sat else None


def _open(condition: Condition) -> Condition:
    return Condition("<", condition.symbol) if condition.relation == "<=" else condition


def _variables(values: Iterable[Any]) -> set[SymbolicVariable]:
    found: set[SymbolicVariable] = set()
    for value in values:
        if type(value) is Symbol:
            found |= value.variables
        elif type(value) is dict:
            found |= _variables(value.values())
        elif type(value) is Record:
            found |= _variables(value.values)
        elif isinstance(value, list | tuple):
            found |= _variables(value)
    return found


def _of_model(model: Any, variable: SymbolicVariable) -> Fraction:
    value = model.eval(variable.z3, model_completion=True)
    if not z3.is_rational_value(value):
        raise NotDecided(f"z3 gives {value} for {variable}, which is not rational: a path is not confirmed")
    return Fraction(value.numerator_as_long(), value.denominator_as_long())


def _beside(
    point: _Point, path: Path, denominator: int, first: int, sizes: Sequence[Fraction]
) -> _Point | None:
    """A point of the same path, by the first of these distances, with digits of its own for each number."""
    for size, signs in product(sizes, ((first, first), (-first, -first), (first, -first), (-first, first))):
        moved = {}
        for place, (variable, value) in enumerate(point.items()):
            step = signs[place % 2] * size * (1 + Fraction((389 + 211 * place) % denominator, denominator))
            if variable.resolution is not None:
                step = round(step / variable.resolution) * variable.resolution
            moved[variable] = value + step
        if _is_on(moved, path):
            return moved
    return None


def _is_on(point: _Point, path: Path) -> bool:
    """Whether the program takes this path there."""
    possible = all(_is_possible(draw, _value(point, draw.value)) for draw in path.draws)
    return possible and all(_holds(branch.condition, point) == branch.direction for branch in path.branches)


def _is_possible(draw: Draw, value: Fraction) -> bool:
    if draw.law is UNIFORM:
        return bool(0 <= value <= draw.scale)
    return value >= 0 or not draw.law.one_sided


def _holds(condition: Condition, point: _Point) -> bool:
    if condition.symbol is None:
        return (all if condition.relation == "and" else any)(_holds(part, point) for part in condition.parts)
    value = _value(point, condition.symbol)
    return {"<": value < 0, "<=": value <= 0, "==": value == 0, "!=": value != 0}[condition.relation]


def _is_zero(divisor: Symbol | Processed, point: _Point) -> bool:
    return type(divisor) is Symbol and _value(point, divisor) == 0


def _value(point: _Point, symbol: Symbol) -> Fraction:
    """The value of a symbol at a point."""
    total = Fraction(0)
    for monomial, coefficient in symbol.terms.items():
        for variable in monomial:
            coefficient *= point[variable]
        total += coefficient
    return total


def _number(point: _Point, value: Any, kind: type[Fraction] = Fraction) -> Any:
    """The value with numbers in the place of symbols, of this kind; containers are copied."""
    if type(value) is Symbol:
        return kind(_value(point, value))
    if type(value) is list:
        return [_number(point, item, kind) for item in value]
    if type(value) is Processed:
        return value
    if type(value) is tuple:
        return tuple(_number(point, item, kind) for item in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_number(point, item, kind) for item in value))
    if type(value) is Record:
        return value.kind(*(_number(point, item, kind) for item in value.values))
    if type(value) is dict:
        return {key: _number(point, item, kind) for key, item in value.items()}
    return value


# What was found ----------------------------------------------------------------------------------------


def agree(ours: Any, found: Any, *, near: bool = False) -> bool:
    """Whether Python's value is the interpreter's, types included; a real number may be a float there."""
    kind = type(ours)
    if kind is Processed:  # any function of its numbers is as private
        return type(found) in (int, Fraction, Varying, float)
    if kind is Fraction:
        if type(found) not in (Fraction, Varying, float) or (type(found) is float and str(found) == "-0.0"):
            return False
        return _close(ours, found, near)
    if kind in (list, tuple):
        return (
            type(found) is kind
            and len(ours) == len(found)
            and all(agree(a, b, near=near) for a, b in zip(ours, found, strict=True))
        )
    if kind is dict:
        return (
            type(found) is dict
            and [(type(key), key) for key in ours] == [(type(key), key) for key in found]
            and all(agree(ours[key], found[key], near=near) for key in ours)
        )
    return type(found) is kind and bool(ours == found)


def _types(ours: Any, found: Any) -> Iterator[str]:
    """What Python has for each number that is real or rounded, in the order of the output."""
    kind = type(ours)
    if kind in (Symbol, Fraction, Processed):
        yield VARYING if type(found) is Varying else type(found).__name__
    elif kind in (list, tuple):
        for one, other in zip(ours, found, strict=True):
            yield from _types(one, other)
    elif kind is dict:
        for key in ours:
            yield from _types(ours[key], found[key])


def _close(ours: Fraction, found: Any, near: bool) -> bool:
    try:
        other = Fraction(found)
    except (ValueError, OverflowError):  # NaN, infinity
        return False
    return other == ours or (near and abs(other - ours) <= _NEAR * max(abs(ours), abs(other), Fraction(1)))


def _same_draws(draws: Sequence[Draw], noise: GivenNoise, *, near: bool) -> bool:
    if [draw.label for draw in draws] != list(noise.drawn):
        return False
    for draw in draws:
        law, scale, resolution, step = noise.drawn[draw.label]
        if law != draw.law or not _close(Fraction(draw.scale), scale, near):
            return False
        for ours, found in ((draw.resolution, resolution), (draw.step, step)):
            if (ours is None) != (found is None):
                return False
            if ours is not None and not _close(ours, found, near):
                return False
    return True
