"""How far an exploration or a proof goes before it answers "not decided": no program makes it hang."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Self

import z3

from freegap.symbolic.undecided import OutOfTime

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """What ends with "not decided"."""

    paths: int = 20_000
    branches: int = 400
    """Branches on one path: a loop that keeps branching on symbols is taken for unbounded."""
    lines: int = 200_000
    """Lines of the program run on one path: a loop without end."""
    effort: int = 20_000_000
    """For one question to z3, in steps that z3 counts itself: the same on every machine; some ten seconds."""
    until: float = math.inf
    """The time, by `time.monotonic`, at which all of it ends."""

    def within(self, seconds: float) -> Self:
        """The same, for so many seconds from now at most."""
        return replace(self, until=min(self.until, monotonic() + seconds))

    def solver(self) -> z3.Solver:
        """A solver that keeps to these limits."""
        return _Solver(self)

    def optimiser(self) -> z3.Optimize:
        """The same for the largest value of something."""
        return self._bounded(z3.Optimize())

    def _bounded(self, solver: Any) -> Any:
        solver.set("rlimit", self.effort)
        if self.until < math.inf:  # for what z3 does not count
            solver.set("timeout", max(1, int(1000 * (self.until - monotonic()))))
        return solver


class _Solver(z3.Solver):  # type: ignore[misc]
    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self._until = limits.until
        limits._bounded(self)

    def check(self, *assumptions: Any) -> Any:
        if monotonic() > self._until:
            raise OutOfTime("the time limit was reached")
        return super().check(*assumptions)
