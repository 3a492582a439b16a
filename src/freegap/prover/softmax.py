"""Programs that put out the place of the largest value with Gumbel noise: the exponential mechanism.

Shifts of Gumbel noise have no price, so that there is no alignment. But the place of the largest aⱼ + Gⱼ, for
noise of scale s, has the probability e^(aᵢ/s)/Σⱼ e^(aⱼ/s), and so

    ln P(i)/P'(i) ≤ (aᵢ − a'ᵢ)/s + maxⱼ (a'ⱼ − aⱼ)/s

since Σⱼ e^(a'ⱼ/s) is at most Σⱼ e^(aⱼ/s) times the largest of its factors. z3 shows two things: that each
output is put out where one aᵢ + Gᵢ is the largest, up to a null set, and that no neighbours make the bound
larger than what the output is charged. What each aⱼ is, as a function of the answers, is read off the
comparisons; that it was read rightly is part of the first.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import z3

from freegap.laws import GUMBEL
from freegap.prover.check import claim_of
from freegap.prover.classes import OutputClass
from freegap.prover.counterexample import kinds_of
from freegap.prover.prices import scale_of
from freegap.prover.problem import Problem
from freegap.prover.report import Established, Proof
from freegap.symbolic import Condition, NotDecided, Symbol


def prove_softmax(problem: Problem, classes: list[OutputClass]) -> Proof | None:
    """The proof, or None: if this is no such program, or the bound is larger than the charge."""
    draws = classes[0].draws
    same = all(output.kinds == classes[0].kinds and not output.released for output in classes)
    if not same or len(draws) < 2 or {draw.law for draw in draws} != {GUMBEL}:
        return None
    if len({scale_of(draw) for draw in draws}) > 1:
        return None
    noise = [draw.value for draw in draws]
    values = _values(classes, noise)
    if values is None:
        return None
    charges = {kind.skeleton: kind.charge for kind in kinds_of(problem, classes)}
    for output in classes:
        place = _largest(output, values, noise)
        if place is None or not _bounded(
            problem, values, place, scale_of(draws[0]), charges[output.skeleton]
        ):
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


def _values(classes: list[OutputClass], noise: list[Symbol]) -> list[Symbol] | None:
    """aⱼ − a₀ for each draw, from comparisons of two of them; None if some are never compared."""
    places = {next(iter(drawn.variables)): place for place, drawn in enumerate(noise)}
    differences: list[tuple[int, int, Symbol]] = []
    for symbol in (_compared(c) for output in classes for path in output.paths for c in path.conditions):
        found = {places[v]: symbol.terms.get((v,), Fraction(0)) for v in symbol.variables if v in places}
        if len(found) != 2:
            return None
        (i, c), (j, d) = found.items()
        if c + d or not c:
            return None
        rest = symbol / c - noise[i] + noise[j]  # (aᵢ + Gᵢ) − (aⱼ + Gⱼ), without its noise
        if rest.variables & places.keys():
            return None
        differences.append((i, j, rest))
    known = {0: Symbol.of(0)}
    for _ in noise:
        for i, j, rest in differences:
            if j in known and i not in known:
                known[i] = known[j] + rest
            elif i in known and j not in known:
                known[j] = known[i] - rest
    return [known[place] for place in range(len(noise))] if len(known) == len(noise) else None


def _compared(condition: Condition) -> Symbol:
    if condition.symbol is None:
        raise NotDecided("a path has a condition with an alternative in it")
    return condition.symbol


def _largest(output: OutputClass, values: list[Symbol], noise: list[Symbol]) -> int | None:
    """The place whose noisy value is the largest where this is put out, and only there, up to a null set."""
    put_out = z3.Or([z3.And(path.condition) for path in output.paths])
    noisy = [(value + drawn).z3 for value, drawn in zip(values, noise, strict=True)]
    solver = output.problem.limits.solver(f"{output.name} is put out where one noisy value is the largest")
    for place, value in enumerate(noisy):
        others = noisy[:place] + noisy[place + 1 :]
        outside = z3.And(put_out, z3.Or([value < other for other in others]))
        missing = z3.And(z3.And([value > other for other in others]), z3.Not(put_out))
        if solver.check(outside) == z3.unsat and solver.check(missing) == z3.unsat:
            return place
    return None


def _bounded(problem: Problem, values: list[Symbol], place: int, scale: Fraction, charge: Fraction) -> bool:
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
