"""Programs whose noise does not meet the answers: coins, choices, and what they are tossed for.

If every comparison of a program is either about the answers or about the noise, as in randomised response,
then the answers decide which of finitely many regions they lie in, and on each region an output has one
probability, a number that is computed (`freegap.prover.probability`). Privacy is then a finite table: for
each pair of regions and each output, either its probabilities are within e^ε, or z3 shows that no two
neighbours lie in these regions, or it gives two that do, and they are a counterexample. No alignment is
needed, and the answer is yes or no.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import z3

from freegap.prover.check import claim_of
from freegap.prover.classes import OutputClass, formula
from freegap.prover.climbing import Trial
from freegap.prover.counterexample import certified
from freegap.prover.events import ExactViolation
from freegap.prover.kinds import Kind, kinds_of, require_certain
from freegap.prover.pieces import value_of
from freegap.prover.problem import Problem
from freegap.prover.report import Established, Proof, Refutation
from freegap.symbolic import Condition, NotDecided
from freegap.values.balls import as_ball, at_precision

_MOST_REGIONS = 64


@dataclass(frozen=True)
class _Region:
    """Where the answers make these truths; `answers` is a point of it."""

    truths: tuple[bool, ...]
    answers: tuple[Fraction, ...]


def prove_apart(problem: Problem, classes: list[OutputClass]) -> Proof | None:
    """Proved, or refuted by a counterexample; None if this is no such program."""
    atoms = _answer_atoms(classes)
    if atoms is None or any(draw.resolution is not None for output in classes for draw in output.draws):
        return None
    kinds = kinds_of(problem, classes)
    regions = _regions(problem, atoms)
    chances = [[kind.chance(region.answers, (), problem.limits) for kind in kinds] for region in regions]
    for row in chances:
        require_certain(row)
    asked = 0
    for case in problem.cases:
        for one, other in product(range(len(regions)), repeat=2):
            wrong = [k for k, kind in enumerate(kinds) if _exceeds(kind, chances[one][k], chances[other][k])]
            if not wrong:
                continue
            asked += 1
            found = _neighbours(problem, case.formula, atoms, regions[one], regions[other])
            if found is not None:
                return _refuted(problem, kinds, wrong[0], *found)
    how = f"{len(kinds)} outputs on {len(regions)} regions of answers; {asked} pairs hold no neighbours (z3)"
    return Proof(
        holds=True,
        claim=claim_of(problem),
        conditions=(
            Established("termination", True, f"all {sum(len(o.paths) for o in classes)} paths are finite"),
            Established("probabilities", True, how),
        ),
        queries=problem.queries,
        paths=sum(len(output.paths) for output in classes),
        outputs=len(kinds),
    )


def _answer_atoms(classes: list[OutputClass]) -> dict[Any, Condition] | None:
    """The comparisons of answers; None if one is of answers with noise, or numbers are released."""
    found: dict[Any, Condition] = {}
    for output in classes:
        if output.released:
            return None
        noise = frozenset(v for path in output.paths for draw in path.draws for v in draw.value.variables)
        for condition in (c for path in output.paths for c in path.conditions):
            if not condition.variables & noise:
                if (~condition).key not in found:
                    found[condition.key] = condition
            elif condition.variables - noise:
                return None
    return found


def _regions(problem: Problem, atoms: dict[Any, Condition]) -> list[_Region]:
    """All regions that are not empty."""
    solver = problem.limits.solver("no answers lie in another region")
    truths = [z3.Bool(f"truth {i}") for i in range(len(atoms))]
    for truth, atom in zip(truths, atoms.values(), strict=True):
        solver.add(truth == atom.z3)
    found: list[_Region] = []
    while (answer := solver.check()) == z3.sat:
        if len(found) == _MOST_REGIONS:
            raise NotDecided(f"the answers are told apart in more than {_MOST_REGIONS} regions")
        model = solver.model()
        taken = tuple(z3.is_true(model.eval(truth, model_completion=True)) for truth in truths)
        found.append(_Region(taken, tuple(value_of(model, q) for q in problem.answers)))
        solver.add(z3.Or([truth != value for truth, value in zip(truths, taken, strict=True)]))
    if answer != z3.unsat:
        raise NotDecided("z3 did not decide on the regions of the answers")
    return found


def _exceeds(kind: Kind, here: Any, there: Any) -> bool:
    """Whether the first probability is more than e^charge times the second, for all that is known of them."""
    return not at_precision(192, lambda: here <= as_ball(kind.charge).exp() * there)


def _neighbours(
    problem: Problem, near: Any, atoms: dict[Any, Condition], one: _Region, other: _Region
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]] | None:
    """Neighbours in these regions; None if there are none."""
    solver = problem.limits.solver("no neighbours lie in two regions whose probabilities differ by more")
    solver.add(near)
    for place, atom in enumerate(atoms.values()):
        moved = formula(atom.substitute(problem.to_neighbour))
        solver.add(atom.z3 if one.truths[place] else z3.Not(atom.z3))
        solver.add(moved if other.truths[place] else z3.Not(moved))
    answer = solver.check()
    if answer == z3.unsat:
        return None
    if answer != z3.sat:
        raise NotDecided("z3 did not decide whether two regions hold neighbours")
    model = solver.model()
    first, second = (tuple(value_of(model, q) for q in side) for side in (problem.answers, problem.neighbour))
    return first, second


def _refuted(
    problem: Problem,
    kinds: list[Kind],
    wrong: int,
    answers: tuple[Fraction, ...],
    neighbour: tuple[Fraction, ...],
) -> Proof:
    change = tuple(b - a for a, b in zip(answers, neighbour, strict=True))
    trial = Trial(wrong, answers, change, ())
    found: ExactViolation | None = certified(problem, kinds, trial, kinds[wrong].charge)
    if found is None:
        raise NotDecided("two probabilities are too near to what is claimed to tell")
    return Proof(
        holds=False,
        claim=claim_of(problem),
        conditions=(Established("probabilities", False, "refuted"),),
        queries=problem.queries,
        refutation=Refutation("privacy", answers, neighbour, {}, None, counterexample=found),
        outputs=len(kinds),
    )
