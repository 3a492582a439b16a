"""Whether two programs are the same function of answers and noise, at a bounded size.

It ties a form (`freegap.prove.forms`), which is proved for all n, to the program that is released.
"""

from __future__ import annotations

import z3

from freegap.prove.classes import classes_of
from freegap.prove.problem import Problem
from freegap.symbolic import NotDecided

__all__ = ["require_same"]


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
