"""The exponential mechanism: the place of the largest value with Gumbel noise, by its probabilities.

Shifts of Gumbel noise have no price, so that there is no alignment. But the place of the largest aⱼ + Gⱼ, for
noise of scale s, has the probability e^(aᵢ/s)/Σⱼ e^(aⱼ/s) (`freegap.prover.largest`), and so

    ln P(i)/P'(i) ≤ (aᵢ − a'ᵢ)/s + maxⱼ (a'ⱼ − aⱼ)/s

since Σⱼ e^(a'ⱼ/s) is at most Σⱼ e^(aⱼ/s) times the largest of its factors. z3 shows that no neighbours make
the bound larger than what the output is charged.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import z3

from freegap.prover.check import claim_of
from freegap.prover.classes import OutputClass
from freegap.prover.kinds import charge_of
from freegap.prover.largest import largest_of
from freegap.prover.problem import Problem
from freegap.prover.report import Established, Proof
from freegap.symbolic import Symbol


def prove_softmax(problem: Problem, classes: list[OutputClass]) -> Proof | None:
    """The proof, or None: if this is no such program, or the bound is larger than the charge."""
    largest = largest_of(classes)
    if largest is None:
        return None
    for output, place in zip(classes, largest.places, strict=True):
        charge = charge_of(problem, output.skeleton)
        if not _bounded(problem, largest.values, place, largest.scale, charge):
            return None
    paths = sum(len(output.paths) for output in classes)
    return Proof(
        holds=True,
        claim=claim_of(problem),
        conditions=(
            Established("termination", True, f"all {paths} paths are finite"),
            Established(
                "probabilities",
                True,
                f"each of {len(classes)} outputs is the place of the largest value with gumbel noise (z3); "
                "ln P(i)/P'(i) ≤ (aᵢ − a'ᵢ)/s + maxⱼ (a'ⱼ − aⱼ)/s is at most its charge (z3)",
            ),
        ),
        queries=problem.queries,
        paths=paths,
        outputs=len(classes),
    )


def _bounded(
    problem: Problem, values: tuple[Symbol, ...], place: int, scale: Fraction, charge: Fraction
) -> bool:
    """That no neighbours make the bound on ln P/P' larger than the charge."""
    rises = [value.substitute(problem.to_neighbour) - value for value in values]
    wrong: list[Any] = [((rise - rises[place]) / scale - charge).z3 > 0 for rise in rises]
    for case in problem.cases:
        solver = problem.limits.solver(
            "no neighbours change the logarithm of a chance by more than the charge"
        )
        solver.add(case.formula)
        if solver.check(z3.Or(wrong)) != z3.unsat:
            return False
    return True
