"""All paths of a function, by running it again for each.

Why the list of paths is complete: a path is left out only where z3 answers "unsat" for a side of a
branch, that is, where the conditions taken so far exclude that side. "unknown" keeps the side. Any other
trouble (a limit, an exception, a program that behaves differently when run again) raises `NotDecided`.
So the disjunction of the paths' conditions covers all inputs that meet the assumptions, and on each
path the program returns `result` exactly.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import z3

from freegap.symbolic.draws import Draw
from freegap.symbolic.symbols import Condition, running
from freegap.symbolic.undecided import NotDecided, SourceLine, calling_line, is_internal, raising_line

__all__ = ["Branch", "Limits", "Path", "explore"]


@dataclass(frozen=True)
class Limits:
    """How far an exploration goes before it answers "not decided"."""

    paths: int = 20_000
    branches: int = 400
    """Branches on one path: a loop that keeps branching on symbols is taken for unbounded."""
    lines: int = 200_000
    """Lines of the program run on one path: a loop without end."""
    milliseconds: int = 10_000
    """For one question to z3."""


@dataclass(frozen=True)
class Branch:
    """A symbolic truth value that the program asked for, and the side it took."""

    where: SourceLine | None
    direction: bool
    condition: Condition


@dataclass(frozen=True, eq=False)
class Path:
    """One way through the program: what holds of the inputs, and what it returned and drew."""

    conditions: tuple[Condition, ...]
    branches: tuple[Branch, ...]
    result: Any
    draws: tuple[Draw, ...]

    @property
    def condition(self) -> list[Any]:
        """The conditions as z3 formulas."""
        return [condition.z3 for condition in self.conditions]


@dataclass
class _Decision:
    key: tuple[Any, ...]
    taken: bool
    forced: bool  # the other side cannot happen: nothing to assert, nothing to come back to
    open: bool  # the other side is still to be explored


class _Exploration:
    """The decisions of the current run, and the solver that holds those that were free."""

    def __init__(self, assuming: Iterable[Any], limits: Limits) -> None:
        self.limits = limits
        self.solver = z3.Solver()
        self.solver.set("timeout", limits.milliseconds)
        for assumption in assuming:
            self.solver.add(assumption.z3 if isinstance(assumption, Condition) else assumption)
        self.trace: list[_Decision] = []
        self.opposites: list[Any] = []  # of the open decisions, in order
        self.restart()

    def restart(self) -> None:
        self.position = 0
        self.fault: NotDecided | None = None
        self.known: dict[tuple[Any, ...], bool] = {}
        self.conditions: list[Condition] = []
        self.branches: list[Branch] = []

    def decide(self, condition: Condition) -> bool:
        if condition.key in self.known:
            return self.known[condition.key]
        where = calling_line()
        if self.position == len(self.trace):
            if len(self.trace) >= self.limits.branches:
                most = self.limits.branches
                raise self._stop(f"more than {most} branches on one path: a loop without a bound?", where)
            self.trace.append(self._fresh(condition))
        decision = self.trace[self.position]
        if decision.key != condition.key:
            raise self._stop("the program behaves differently when it is run again", where)
        self.position += 1
        opposite = ~condition
        self.known[condition.key] = decision.taken
        self.known[opposite.key] = not decision.taken
        if not decision.forced:
            self.conditions.append(condition if decision.taken else opposite)
        self.branches.append(Branch(where, decision.taken, condition))
        return decision.taken

    def _stop(self, reason: str, where: SourceLine | None) -> NotDecided:
        self.fault = self.fault or NotDecided(reason, where)
        return self.fault

    def _fresh(self, condition: Condition) -> _Decision:
        if self.solver.check(condition.z3) == z3.unsat:
            return _Decision(condition.key, taken=False, forced=True, open=False)
        if self.solver.check((~condition).z3) == z3.unsat:
            return _Decision(condition.key, taken=True, forced=True, open=False)
        self.solver.push()
        self.solver.add(condition.z3)
        self.opposites.append((~condition).z3)
        return _Decision(condition.key, taken=True, forced=False, open=True)

    def backtrack(self) -> bool:
        """Turn the last decision whose other side is open; False when there is none."""
        while self.trace and not self.trace[-1].open:
            if not self.trace.pop().forced:
                self.solver.pop()
        if not self.trace:
            return False
        self.solver.pop()
        self.solver.push()
        self.solver.add(self.opposites.pop())
        self.trace[-1].taken = False
        self.trace[-1].open = False
        return True


def explore(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    keywords: Mapping[str, Any] | None = None,
    *,
    assuming: Iterable[Any] = (),
    limits: Limits | None = None,
    progress: Callable[[Path], None] | None = None,
) -> list[Path]:
    """All paths of `function(*inputs, **keywords)` under the assumptions.

    inputs: symbols, numbers, lists and dicts of them (each run gets a fresh copy), and sources of draws
        (`SymbolicNoise`, `SymbolicGenerator`: anything with `begin()` and `draws`), which start afresh.
    assuming: conditions or z3 formulas that hold of the inputs.
    progress: called with each path when it is finished.

    >>> from freegap.symbolic import SymbolicNoise, explore, real
    >>> def above(answer, noise):
    ...     return answer + noise.laplace(2) >= 0
    >>> def program(answer, noise):
    ...     return "above" if above(answer, noise) else "below"
    >>> [path.result for path in explore(program, [real("q"), SymbolicNoise()])]
    ['above', 'below']
    """
    limits = limits or Limits()
    exploration = _Exploration(assuming, limits)
    recorders = [value for value in inputs if hasattr(value, "begin") and hasattr(value, "draws")]
    paths: list[Path] = []
    while True:
        exploration.restart()
        for recorder in recorders:
            recorder.begin()
        result = _run(function, [_fresh(v) for v in inputs], keywords or {}, exploration)
        path = Path(
            tuple(exploration.conditions),
            tuple(exploration.branches),
            result,
            tuple(draw for recorder in recorders for draw in recorder.draws),
        )
        paths.append(path)
        if progress is not None:
            progress(path)
        if len(paths) > limits.paths:
            raise NotDecided(f"more than {limits.paths} paths")
        if not exploration.backtrack():
            return paths


def _run(
    function: Callable[..., Any], inputs: list[Any], keywords: Mapping[str, Any], exploration: _Exploration
) -> Any:
    token = running.set(exploration)
    tracer = sys.gettrace()
    sys.settrace(_line_counter(exploration.limits.lines))
    try:
        result = function(*inputs, **keywords)
        if exploration.fault is not None:  # the program caught it and went on
            raise exploration.fault
        return result
    except NotDecided:
        raise
    except RecursionError as error:
        raise NotDecided("a recursion without a bound", raising_line(error.__traceback__)) from error
    except Exception as error:
        reason = f"the program raised {type(error).__name__}: {error}"
        raise NotDecided(reason, raising_line(error.__traceback__)) from error
    finally:
        sys.settrace(tracer)
        running.reset(token)


def _line_counter(most: int) -> Callable[[FrameType, str, Any], Any]:
    """A trace function that stops the program after this many lines; the executor's own do not count."""
    count = 0

    def each_line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count > most:
                where = SourceLine(frame.f_code.co_filename, frame.f_lineno)
                raise NotDecided(f"more than {most} lines on one path: a loop without end?", where)
        return each_line

    def each_call(frame: FrameType, event: str, argument: Any) -> Any:
        return None if is_internal(frame.f_code.co_filename) else each_line(frame, event, argument)

    return each_call


def _fresh(value: Any) -> Any:
    """A copy of the containers, so that a program that changes its arguments changes only its own."""
    if type(value) is list:
        return [_fresh(item) for item in value]
    if type(value) is dict:
        return {key: _fresh(item) for key, item in value.items()}
    return value
