"""All paths of a program of the subset, each confirmed by the real function.

The paths are complete and right by the meaning of the subset alone; that the real function does the same on
points of each path (`confirmation`) is a second reason to believe it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from freegap.symbolic.draws import SymbolicNoise
from freegap.symbolic.limits import Limits
from freegap.symbolic.paths import Exploration, Path
from freegap.symbolic.subset.confirmation import confirmed
from freegap.symbolic.subset.machine import Machine
from freegap.symbolic.subset.processing import Processed
from freegap.symbolic.subset.values import NoiseInterface, Record
from freegap.symbolic.symbols import Symbol
from freegap.symbolic.undecided import NotDecided

_DEEPEST = 100


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
    confirm: run the real function on points of each path. It cannot be where parameters are symbols.

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
            path = confirmed(machine, function, inputs, keywords or {}, path)
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
        parts = list(_parts(result, machine))
        _require_told(machine, parts)
        _require_one_of_each(machine, parts, [part for part in _parts(given, machine) if _is_list(part)])
        return result
    except NotDecided:
        raise
    except RecursionError as error:
        raise machine.refusal("a recursion without a bound") from error
    except Exception as error:  # what Python raises on known values; a program cannot catch it
        raise machine.refusal(f"the program raised {type(error).__name__}: {error}") from error


def _require_told(machine: Machine, told: list[Any]) -> None:
    """Where a program divides by a number, an error shows whether it is 0: so it must be put out as well."""
    if any(all(divisor is not part for part in told) for divisor in machine.divisors):
        raise machine.refusal(
            "a division by a number that is not put out: by an error it tells whether that number is 0. Put "
            "the quotient out, on this path too"
        )
    if any(all(number is not part for part in told) for number in machine.converted):
        raise machine.refusal(
            "a float of a number that is not put out: by an error it tells whether that number is too large "
            "for one. Put the float out, on this path too"
        )


def _require_one_of_each(machine: Machine, told: list[Any], given: list[Any]) -> None:
    """A list that is put out twice is not two equal ones: who changes one of them sees whether it is."""
    known = {id(part) for part in given}
    for part in filter(_is_list, told):
        if id(part) in known:
            raise machine.refusal("a list or dict is put out twice, or is a parameter: put out a copy of it")
        known.add(id(part))


def _is_list(value: Any) -> bool:
    return type(value) in (list, dict)


def _parts(value: Any, machine: Machine, depth: int = 0) -> Iterator[Any]:
    """A value, and all that is in it."""
    machine.step(machine.file, machine.line)
    if depth > _DEEPEST:
        raise machine.refusal(f"an output of more than {_DEEPEST} lists within each other")
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
        yield from _parts(part, machine, depth + 1)


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
