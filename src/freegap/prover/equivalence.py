"""Whether two programs are the same function of answers and noise, at a bounded size.

It ties a form (`freegap.prover.forms`), which is proved for all n, to the program that is released: by z3 for
all answers and noise at small sizes, and on samples, in exact arithmetic, at sizes beyond.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import z3

from freegap.prover.classes import classes_of
from freegap.prover.forms import Stream
from freegap.prover.outputs import rebuild
from freegap.prover.problem import Problem
from freegap.prover.sampled import sampled_runs
from freegap.symbolic import NotDecided
from freegap.symbolic.subset import Trusted, agree, follow

__all__ = ["require_same", "require_same_charge", "require_same_on_samples"]


def require_same(one: Problem, other: Problem) -> None:
    """`NotDecided` unless z3 shows that both make the same draws and give the same output, always."""
    theirs = classes_of(other)
    for output in classes_of(one):
        matching = [c for c in theirs if c.skeleton == output.skeleton and c.kinds == output.kinds]
        solver = z3.Solver()
        solver.set("timeout", one.limits.milliseconds)
        solver.add(output.exactly)
        solver.add(z3.Not(z3.Or([c.exactly for c in matching])))
        if solver.check() != z3.unsat:
            raise NotDecided(f"the two programs are not shown to agree on the output {output.name}")


def require_same_charge(problem: Problem, form: Stream) -> None:
    """`NotDecided` unless the form charges every output of the program what the program charges."""
    charge = problem.charge
    if charge is None:
        return
    for output in classes_of(problem):

        def meaning(machine: Any, released: Any, skeleton: Any = output.skeleton) -> Any:
            words = machine.parameters(problem.keywords(charge))
            ours = machine.call(form.charge, [rebuild(skeleton, released)])
            return machine.equal(ours, machine.call(charge, [rebuild(skeleton, released)], words))

        def real(released: Any, skeleton: Any = output.skeleton) -> Any:
            theirs = charge(rebuild(skeleton, released), **problem.keywords(charge))
            return bool(form.charge(rebuild(skeleton, released)) == theirs)

        paths = follow(Trusted(meaning, real), [list(output.released)], limits=problem.limits)
        if not all(path.result is True for path in paths):
            raise NotDecided(f"the form does not charge the output {output.name} what the program charges")


def require_same_on_samples(one: Problem, other: Problem, sizes: Iterable[int], samples: int) -> None:
    """`NotDecided` if the two differ on one of so many inputs of each size, random and adversarial ones."""
    for size in sizes:
        runs = zip(
            sampled_runs(replace(one, queries=size), samples),
            sampled_runs(replace(other, queries=size), samples),
            strict=True,
        )
        for first, second in runs:
            if not agree(first.output, second.output) or first.draws != second.draws:
                raise NotDecided(
                    f"the form is not the released program at n = {size}: they differ on a sample"
                )
