"""The mechanism as a finite table: for each kind of output, the paths that lead to it.

A local alignment belongs to one output ω. All outputs with the same skeleton share the paths that lead
to them and one alignment program, so a proof goes skeleton by skeleton (an `OutputClass`), with the
released numbers as unknowns `output[i]`.

Two formulas say everything about a class. `before` holds of (q, H, ω) iff M(q, H) = ω with this skeleton.
`after` holds of (q', H', ω) only if M(q', H') = ω.

Null sets. For continuous noise, theorem 5.15 allows conditions to fail on a set of measure 0. So `before`
(a premise) is taken without the boundary of a comparison p ≤ 0 where p is a polynomial in which some
continuous noise has a nonzero constant as its derivative: for fixed answers, {H : p = 0} has measure 0 by
Fubini. Ties are excluded that way, as in the papers. `after` (a conclusion) is never weakened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import z3

from freegap.prover.outputs import Position, flatten, half_holes, outline, require_one_type, show
from freegap.prover.problem import Problem
from freegap.symbolic import (
    Condition,
    Draw,
    Path,
    Symbol,
    SymbolicNoise,
    SymbolicVariable,
    both,
    either,
    real,
)
from freegap.symbolic.subset import follow


def formula(condition: Condition | bool) -> Any:
    """A condition or a plain truth value as a z3 formula."""
    return condition.z3 if isinstance(condition, Condition) else z3.BoolVal(condition)


def generic(condition: Condition | bool, noise: frozenset[SymbolicVariable]) -> Condition | bool:
    """The condition without a null set of its boundary; `noise` are the continuous draws."""
    if not isinstance(condition, Condition):
        return condition
    if condition.symbol is None:
        parts = [generic(part, noise) for part in condition.parts]
        return both(parts) if condition.relation == "and" else either(parts)
    if not any(condition.symbol.derivative(v).as_constant() for v in condition.symbol.variables & noise):
        return condition
    if condition.relation == "==":
        return False
    return Condition("<", condition.symbol) if condition.relation == "<=" else condition


@dataclass(frozen=True, eq=False)
class OutputClass:
    """All paths whose outputs have one skeleton and that draw the same noise."""

    problem: Problem
    skeleton: Any
    draws: tuple[Draw, ...]
    paths: tuple[Path, ...]
    numbers: tuple[tuple[Symbol, ...], ...]
    """The released numbers, path by path."""
    offsets: tuple[Symbol, ...] = ()
    """By how much the neighbour's numbers must be larger, where they are not released but kept."""

    @cached_property
    def name(self) -> str:
        """The skeleton as text."""
        return show(self.skeleton)

    @cached_property
    def released(self) -> list[Symbol]:
        """The unknowns output[i] that stand for the released numbers."""
        return [real(f"output[{i}]") for i in range(len(self.numbers[0]))]

    @cached_property
    def noise(self) -> dict[Any, Symbol]:
        """The draws by label."""
        return {draw.label: draw.value for draw in self.draws}

    @cached_property
    def aligned(self) -> dict[Any, Symbol]:
        """The unknowns that stand for the aligned noise; reals, so that leaving the lattice shows."""
        return {label: real(f"aligned[{label!r}]") for label in self.noise}

    @cached_property
    def continuous(self) -> frozenset[SymbolicVariable]:
        """The noise variables that have densities."""
        return frozenset(v for d in self.draws if d.resolution is None for v in d.value.variables)

    @cached_property
    def noise_variables(self) -> frozenset[SymbolicVariable]:
        """All noise variables."""
        return frozenset(v for draw in self.draws for v in draw.value.variables)

    @cached_property
    def support(self) -> Any:
        """H lies in the support of its laws (the lattice is in the sort of the variables)."""
        return z3.And([d.value.z3 >= 0 for d in self.draws if d.law.one_sided])

    @cached_property
    def before(self) -> Any:
        """M(q, H) = ω, up to a null set of H."""
        sides = []
        for path, numbers in zip(self.paths, self.numbers, strict=True):
            taken = [formula(generic(c, self.continuous)) for c in path.conditions]
            sides.append(z3.And(taken + self._values(numbers)))
        return z3.And(self.support, z3.Or(sides))

    @cached_property
    def after(self) -> Any:
        """M(q', H') = ω, for the aligned unknowns as H'."""
        moved = self.problem.to_neighbour | {
            next(iter(d.value.variables)): self.aligned[d.label] for d in self.draws
        }
        sides = []
        for path, numbers in zip(self.paths, self.numbers, strict=True):
            taken = [formula(c.substitute(moved)) for c in path.conditions]
            again = [n.substitute(moved) for n in numbers]
            if self.offsets:
                again = [n - offset for n, offset in zip(again, self.offsets, strict=True)]
            sides.append(z3.And(taken + self._values(tuple(again))))
        return z3.Or(sides)

    @cached_property
    def kinds(self) -> tuple[Any, ...]:
        """Label, law, scale and resolution of each draw, in order."""
        return tuple(draw.kind for draw in self.draws)

    @cached_property
    def exactly(self) -> Any:
        """M(q, H) = ω, null sets included."""
        return z3.Or(
            [z3.And(p.condition + self._values(ns)) for p, ns in zip(self.paths, self.numbers, strict=True)]
        )

    def same_output(self, other: OutputClass) -> Any:
        """Both classes have a point with one and the same output: for condition 2, where draws differ."""
        theirs = []
        for path, numbers in zip(other.paths, other.numbers, strict=True):
            apart = {v: real(v.name + "″") for v in _all_variables(path, numbers)}
            taken = [formula(c.substitute(apart)) for c in path.conditions]
            theirs.append(z3.And(taken + self._values(tuple(n.substitute(apart) for n in numbers))))
        return z3.And(self.exactly, z3.Or(theirs))

    def _values(self, numbers: tuple[Symbol, ...]) -> list[Any]:
        return [w.z3 == v.z3 for w, v in zip(self.released, numbers, strict=True)]


def _all_variables(path: Path, numbers: tuple[Symbol, ...]) -> frozenset[SymbolicVariable]:
    found: frozenset[SymbolicVariable] = frozenset()
    return found.union(*(c.variables for c in path.conditions), *(n.variables for n in numbers))


def classes_of(problem: Problem, progress: Callable[[Path], None] | None = None) -> list[OutputClass]:
    """All output classes of the mechanism at this size; `NotDecided` if it cannot be followed."""
    paths = follow(
        problem.mechanism,
        [list(problem.answers), SymbolicNoise()],
        problem.keywords(problem.mechanism, all_given=True),
        limits=problem.limits,
        progress=progress,
        confirm=problem.concrete,
    )
    groups: dict[Any, list[tuple[Path, tuple[Symbol, ...]]]] = {}
    holes = holes_of([flatten(path.result)[0] for path in paths])
    for path in paths:
        shape, _ = flatten(path.result)
        skeleton, numbers = flatten(path.result, holes[shape])
        group = groups.setdefault((skeleton, tuple(d.kind for d in path.draws)), [])
        group.append((path, tuple(numbers)))
    require_one_type((kind[0], numbers, p.types) for kind, group in groups.items() for p, numbers in group)
    return [
        OutputClass(
            problem,
            skeleton,
            group[0][0].draws,
            tuple(path for path, _ in group),
            tuple(numbers for _, numbers in group),
        )
        for (skeleton, _), group in groups.items()
    ]


def holes_of(skeletons: list[Any]) -> dict[Any, frozenset[Position]]:
    """For each skeleton, the numbers that another output of the same kind has as a symbol.

    A released number can be a constant on one path and an expression on another, as in min(cap, gap). Both
    paths can then give the same output, so both must be in one class.
    """
    found: dict[Any, frozenset[Position]] = {skeleton: frozenset() for skeleton in skeletons}
    groups: dict[Any, list[Any]] = {}
    for skeleton in found:
        groups.setdefault(outline(skeleton), []).append(skeleton)
    changed = True
    while changed:
        changed = False
        for left, right in (pair for group in groups.values() for pair in combinations(group, 2)):
            positions = half_holes(left, right)
            if positions is not None:
                joined = found[left].union(found[right], positions)
                changed = changed or joined != found[left] or joined != found[right]
                found[left] = found[right] = joined
    return found
