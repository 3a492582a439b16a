"""The smallest ε for which an alignment works: the largest cost of any output.

For each kind of output, the supremum of the cost over all neighbours and noise: the charge itself if some
point comes within 10⁻⁹ of it (that nothing costs more was proved), else by z3's optimisation over linear
real arithmetic. The optimiser's value is not trusted: an ordinary query shows that no point costs more,
and another that some point comes within 10⁻⁹.
"""

from __future__ import annotations

from fractions import Fraction

import z3

from freegap.prover.classes import OutputClass
from freegap.prover.pieces import Piece, PieceChecks
from freegap.prover.problem import Problem
from freegap.prover.report import Tightness
from freegap.symbolic import NotDecided

NEAR = Fraction(1, 10**9)


class Suprema:
    """The largest cost seen so far, for each kind of output."""

    def __init__(self) -> None:
        self._largest: dict[OutputClass, Fraction] = {}
        self._charge: dict[OutputClass, Fraction] = {}

    def add(self, checks: PieceChecks, piece: Piece) -> None:
        """Take a piece into account; the solver must be at this piece."""
        charge = piece.charge.as_constant()
        if charge is None:
            raise NotDecided(f"the charge for {checks.output.name} depends on the released numbers")
        self._charge[checks.output] = max(charge, self._charge.get(checks.output, Fraction(0)))
        best = self._largest.get(checks.output, Fraction(0))
        if best == charge:  # the cost check has shown that nothing costs more than the charge
            return
        if checks.over(piece, best) is not None:
            best = _supremum(checks, piece, charge)
        self._largest[checks.output] = best

    def of(self, output: OutputClass) -> Fraction:
        """The largest cost of this kind of output."""
        return self._largest.get(output, Fraction(0))

    def tightness(self, problem: Problem) -> Tightness:
        """The largest of all, and where the charge is larger."""
        over = {
            output.name: (largest, self._charge[output])
            for output, largest in self._largest.items()
            if largest < self._charge[output]
        }
        return Tightness(
            epsilon=max(self._largest.values(), default=Fraction(0)),
            charged=max(self._charge.values(), default=problem.epsilon),
            overcharged=over,
        )


def _supremum(checks: PieceChecks, piece: Piece, charge: Fraction) -> Fraction:
    """The largest cost on a piece on which nothing costs more than the charge."""
    if checks.over(piece, charge - NEAR) is not None:
        return charge
    value = _optimised(checks, piece)
    if checks.over(piece, value) is not None or checks.over(piece, value - NEAR) is None:
        raise NotDecided(f"z3's largest cost {value} of {checks.output.name} was not confirmed")
    return value


def _optimised(checks: PieceChecks, piece: Piece) -> Fraction:
    limits = checks.output.problem.limits
    optimiser = limits.optimiser()
    cost, definitions = checks.cost(piece)
    optimiser.add(*checks.assertions, *definitions)
    goal = optimiser.maximize(cost)
    if optimiser.check() != z3.sat:
        limits.require_time()  # the clock may have ended it
        raise NotDecided(f"z3 did not find the largest cost of {checks.output.name}")
    infinite, finite, _ = map(str, optimiser.upper_values(goal))  # the third is for open ends
    if infinite != "0":
        raise NotDecided(f"the cost of {checks.output.name} has no largest value")
    return Fraction(finite)
