"""All paths of a program of the subset, each confirmed by the real function.

On each path the interpreter's result is compared with Python's own: z3 gives answers and noise that take the
path, the real function runs on them, and its output, of the same types, and its draws must be the ones
that the interpreter has. Where they differ, nothing is decided. (The paths are complete and right by the
meaning of the subset alone; this is a second reason to believe it.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import z3

from freegap.symbolic.conditions import Condition
from freegap.symbolic.draws import Draw, SymbolicNoise
from freegap.symbolic.given import GivenNoise
from freegap.symbolic.limits import Limits
from freegap.symbolic.paths import Exploration, Path
from freegap.symbolic.subset.machine import Machine
from freegap.symbolic.subset.processing import Processed
from freegap.symbolic.subset.values import NoiseInterface, Record
from freegap.symbolic.symbols import Symbol, SymbolicVariable
from freegap.symbolic.undecided import NotDecided

_NEAR = Fraction(1, 10**9)


def follow(
    function: Any,
    inputs: Sequence[Any],
    keywords: Mapping[str, Any] | None = None,
    *,
    assuming: Iterable[Any] = (),
    limits: Limits | None = None,
    progress: Callable[[Path], None] | None = None,
    confirm: bool = True,
) -> list[Path]:
    """All paths of `function(*inputs, **keywords)` under the assumptions; `NotDecided` where it is no program
    of the subset.

    inputs: symbols, numbers, lists, tuples, dicts and records of them, and a `SymbolicNoise`.
    keywords: from outside, so constants.
    assuming: conditions or z3 formulas that hold of the inputs.
    progress: called with each path when it is finished.
    confirm: run the real function on a point of each path. It cannot be where parameters are symbols.

    >>> from freegap.symbolic import SymbolicNoise, real
    >>> def above(answer, noise):
    ...     return "above" if answer + noise.laplace(2) >= 0 else "below"
    >>> [path.result for path in follow(above, [real("q"), SymbolicNoise()])]
    ['above', 'below']
    """
    exploration = Exploration(assuming, limits or Limits())
    recorders = [value for value in inputs if isinstance(value, SymbolicNoise)]
    paths: list[Path] = []
    while True:
        exploration.restart()
        for recorder in recorders:
            recorder.begin()
        machine = Machine(exploration)
        result = _interpreted(machine, function, inputs, keywords or {})
        draws = tuple(draw for recorder in recorders for draw in recorder.draws)
        path = Path(tuple(exploration.conditions), tuple(exploration.branches), result, draws)
        if confirm:
            _confirm(machine, function, inputs, keywords or {}, path)
        paths.append(path)
        if progress is not None:
            progress(path)
        if len(paths) > exploration.limits.paths:
            raise NotDecided(f"more than {exploration.limits.paths} paths")
        if not exploration.backtrack():
            return paths


def _interpreted(machine: Machine, function: Any, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    given = machine.parameters(keywords)
    try:
        result = machine.call(function, [_input(value) for value in inputs], given)
        if not _unchanged(given, machine.parameters(keywords)):
            raise machine.refusal("the program changes a parameter, which whoever passed it can see")
        _require_told(machine, result)
        return result
    except NotDecided:
        raise
    except RecursionError as error:
        raise machine.refusal("a recursion without a bound") from error
    except Exception as error:  # what Python raises on known values; a program cannot catch it
        raise machine.refusal(f"the program raised {type(error).__name__}: {error}") from error


def _require_told(machine: Machine, result: Any) -> None:
    """Where a program divides by a number, an error shows whether it is 0: so it must be put out as well."""
    told = list(_parts(result))
    if any(all(divisor is not part for part in told) for divisor in machine.divisors):
        raise machine.refusal(
            "a division by a number that is not put out: by an error it tells whether that number is 0. Put "
            "the quotient out, on this path too"
        )


def _parts(value: Any) -> Iterator[Any]:
    """A value, and all that is in it."""
    yield value
    within: Iterable[Any] = ()
    if type(value) is Processed:
        within = value.parts
    elif type(value) is Record:
        within = value.values
    elif type(value) is dict:
        within = value.values()
    elif isinstance(value, list | tuple):
        within = value
    for part in within:
        yield from _parts(part)


def _unchanged(now: Any, before: Any) -> bool:
    if type(now) is not type(before):
        return False
    if type(now) in (list, tuple):
        return len(now) == len(before) and all(map(_unchanged, now, before))
    if type(now) is dict:
        return all(_unchanged(now[name], before[name]) for name in before)
    return type(now) is not Symbol and (now is before or bool(now == before))


def _input(value: Any) -> Any:
    """A fresh copy, in the interpreter's own terms."""
    if type(value) is list:
        return [_input(item) for item in value]
    if type(value) is dict:
        return {key: _input(item) for key, item in value.items()}
    if isinstance(value, SymbolicNoise):
        return NoiseInterface(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return Record(type(value), tuple(map(_input, value)))
    if type(value) is tuple:
        return tuple(map(_input, value))
    if type(value) is Symbol:
        known = value.as_constant()
        return value if known is None else known
    return value


# The real function -----------------------------------------------------------------------------------


def _confirm(
    machine: Machine, function: Any, inputs: Sequence[Any], keywords: Mapping[str, Any], path: Path
) -> None:
    model = _model(machine, path)
    if model is None:
        return  # no input takes this path: z3 did not see that at its branches
    values = {draw.label: _value(model, draw.value) for draw in path.draws}
    noise = GivenNoise(values)
    real = [noise if isinstance(v, SymbolicNoise) else _number(model, v) for v in inputs]
    try:
        found = function(*real, **keywords)
    except Exception as error:
        raise NotDecided(
            f"the program raised {type(error).__name__} where it was run to confirm a path: {error}"
        ) from error
    near = machine.rounded
    if not agree(_number(model, path.result), found, near=near):
        raise NotDecided("the interpreter and Python disagree about the output of a path")
    if not _same_draws(path.draws, noise, near=near):
        raise NotDecided("the interpreter and Python disagree about the draws of a path")


def _model(machine: Machine, path: Path) -> Any:
    """A point of the path; away from its edges, if floats would round there."""
    solver = machine.exploration.solver
    inside = [_open(condition).z3 for condition in path.conditions] if machine.rounded else []
    inside += [divisor.z3 != 0 for divisor in machine.divisors if isinstance(divisor, Symbol)]
    answer = solver.check(*inside)
    if answer != z3.sat and inside:
        answer = solver.check()
    if answer == z3.unknown:
        raise NotDecided("z3 did not decide on a point of a path in time, so that it is not confirmed")
    return solver.model() if answer == z3.sat else None


def _open(condition: Condition) -> Condition:
    return Condition("<", condition.symbol) if condition.relation == "<=" else condition


def _value(model: Any, symbol: Symbol) -> Fraction:
    """The value of a symbol in a model, from the values of its variables."""
    total = Fraction(0)
    for monomial, coefficient in symbol.terms.items():
        for variable in monomial:
            coefficient *= _variable(model, variable)
        total += coefficient
    return total


def _variable(model: Any, variable: SymbolicVariable) -> Fraction:
    value = model.eval(variable.z3, model_completion=True)
    if not z3.is_rational_value(value):
        raise NotDecided(f"z3 gives {value} for {variable}, which is not rational: a path is not confirmed")
    return Fraction(value.numerator_as_long(), value.denominator_as_long())


def _number(model: Any, value: Any) -> Any:
    """The value with numbers in the place of symbols; containers are copied."""
    if type(value) is Symbol:
        return _value(model, value)
    if type(value) is list:
        return [_number(model, item) for item in value]
    if type(value) is Processed:
        return value
    if type(value) is tuple:
        return tuple(_number(model, item) for item in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_number(model, item) for item in value))
    if type(value) is Record:
        return value.kind(*(_number(model, item) for item in value.values))
    if type(value) is dict:
        return {key: _number(model, item) for key, item in value.items()}
    return value


def agree(ours: Any, found: Any, *, near: bool = False) -> bool:
    """Whether Python's value is the interpreter's, types included; a real number may be a float there."""
    kind = type(ours)
    if kind is Processed:  # any function of its numbers is as private
        return type(found) in (int, Fraction, float)
    if kind is Fraction:
        if type(found) not in (Fraction, float) or (type(found) is float and str(found) == "-0.0"):
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
