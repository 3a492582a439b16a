"""All paths of a program, by going through it again for each: the decisions, and who remembers them.

Why the list of paths is complete: a path is left out only where z3 answers "unsat" for a side of a
branch, that is, where the conditions taken so far exclude that side. "unknown" keeps the side. Any other
trouble (a limit, an exception, a program that behaves differently when run again) raises `NotDecided`.
So the disjunction of the paths' conditions covers all inputs that meet the assumptions, and on each
path the program returns `result` exactly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import z3

from freegap.symbolic.conditions import Condition
from freegap.symbolic.draws import Draw
from freegap.symbolic.limits import Limits
from freegap.symbolic.undecided import NotDecided, SourceLine, calling_line

VARYING = "varying"


@dataclass(frozen=True)
class BranchTaken:
    """A symbolic truth value that the program asked for, and the side it took."""

    where: SourceLine | None
    direction: bool
    condition: Condition


@dataclass(frozen=True, eq=False)
class Path:
    """One way through the program: what holds of the inputs, and what it returned and drew."""

    conditions: tuple[Condition, ...]
    branches: tuple[BranchTaken, ...]
    result: Any
    draws: tuple[Draw, ...]
    types: tuple[str, ...] | None = None
    """What Python has for each number of the result that is real or rounded, where it was run: the name of a
    type, or `VARYING` where that is the type of the answers and of the noise."""

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


class Exploration:
    """The decisions of the current run, and the solver that holds those that were free."""

    def __init__(self, assuming: Iterable[Any], limits: Limits) -> None:
        self.limits = limits
        self.solver = limits.solver("no input that comes to a comparison by these branches takes this one")
        for assumption in assuming:
            self.solver.add(assumption.z3 if isinstance(assumption, Condition) else assumption)
        self.trace: list[_Decision] = []
        self.opposites: list[Any] = []  # of the open decisions, in order
        self.restart()

    def restart(self) -> None:
        """Forget the decisions of the last run; the trace of what is to be tried stays."""
        self.position = 0
        self.fault: NotDecided | None = None
        self.known: dict[tuple[Any, ...], bool] = {}
        self.conditions: list[Condition] = []
        self.branches: list[BranchTaken] = []

    def decide(self, condition: Condition, where: SourceLine | None = None) -> bool:
        """The side to take now, at this line (that of the Python program that is running, if not given)."""
        if condition.key in self.known:
            return self.known[condition.key]
        where = where or calling_line()
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
        self.branches.append(BranchTaken(where, decision.taken, condition))
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
