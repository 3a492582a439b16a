"""How far an exploration or a proof goes before it answers "not decided": no program makes it hang."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, Self

import z3

from freegap.symbolic.certificate import Certificate
from freegap.symbolic.undecided import OutOfTime


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
    relaxed: bool = False
    """Take whole unknowns for real ones: there are more points, so that "unsat" is "unsat" all the more, and
    solvers are better at it where unknowns are multiplied."""

    def within(self, seconds: float) -> Self:
        """The same, for so many seconds from now at most."""
        return replace(self, until=min(self.until, monotonic() + seconds))

    def require_time(self) -> None:
        """`OutOfTime` if none is left."""
        if monotonic() > self.until:
            raise OutOfTime("the time limit was reached")

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
            # rounded up: where that ends it, no time is left
            solver.set("timeout", max(1, math.ceil(1000 * (self.until - monotonic()))))
        return solver


class _Solver(z3.Solver):  # type: ignore[misc]
    def __init__(self, limits: Limits, meaning: str) -> None:
        super().__init__()
        self._limits, self.meaning = limits, meaning
        limits._bounded(self)

    def assert_exprs(self, *formulas: Any) -> None:
        super().assert_exprs(*(map(_relaxed, formulas) if self._limits.relaxed else formulas))

    def check(self, *assumptions: Any) -> Any:
        self._limits.require_time()
        if self._limits.relaxed:
            assumptions = tuple(map(_relaxed, assumptions))
        answer = super().check(*assumptions)
        if answer == z3.unknown:  # the clock may have ended it
            self._limits.require_time()
        if answer == z3.unsat and self._limits.certificate is not None:
            self._limits.certificate.add(self.meaning, [*self.assertions(), *assumptions])
        return answer


def _relaxed(formula: Any) -> Any:
    """With a real unknown in the place of each whole one."""
    if not isinstance(formula, z3.ExprRef):
        return formula
    found: dict[int, tuple[Any, Any]] = {}
    seen: set[int] = set()
    ahead = [formula]
    while ahead:
        term = ahead.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        if (
            z3.is_to_real(term)
            and z3.is_const(term.arg(0))
            and term.arg(0).decl().kind() == z3.Z3_OP_UNINTERPRETED
        ):
            found[term.get_id()] = (term, z3.Real(term.arg(0).decl().name()))
        ahead += term.children()
    return z3.substitute(formula, *found.values()) if found else formula
