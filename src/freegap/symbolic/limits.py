"""How far an exploration or a proof goes before it answers "not decided": no program makes it hang."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, Self

import z3

from freegap.symbolic.certificate import Certificate
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
    certificate: Certificate | None = field(default=None, compare=False)
    """Where every "unsat" that a proof rests on is written down."""

    def within(self, seconds: float) -> Self:
        """The same, for so many seconds from now at most."""
        return replace(self, until=min(self.until, monotonic() + seconds))

    def solver(self, meaning: str) -> z3.Solver:
        """A solver that keeps to these limits.

        meaning: what it says if there is no solution, for the certificate; `solver.meaning` can be changed.
        """
        return _Solver(self, meaning)

    def optimiser(self) -> z3.Optimize:
        """The same for the largest value of something."""
        return self._bounded(z3.Optimize())

    def _bounded(self, solver: Any) -> Any:
        solver.set("rlimit", self.effort)
        if self.until < math.inf:  # for what z3 does not count
            solver.set("timeout", max(1, int(1000 * (self.until - monotonic()))))
        return solver


class _Solver(z3.Solver):  # type: ignore[misc]
    def __init__(self, limits: Limits, meaning: str) -> None:
        super().__init__()
        self._until, self._certificate, self.meaning = limits.until, limits.certificate, meaning
        limits._bounded(self)

    def check(self, *assumptions: Any) -> Any:
        if monotonic() > self._until:
            raise OutOfTime("the time limit was reached")
        answer = super().check(*assumptions)
        if answer == z3.unsat and self._certificate is not None:
            self._certificate.add(self.meaning, [*self.assertions(), *assumptions])
        return answer
