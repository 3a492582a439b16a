"""Coins whose chances are exponentials of the answers: permute-and-flip, by its probabilities.

Each draw is compared by itself: uniform noise with numbers, exponential noise with a sum x of answers, which
is a coin of probability e^(−x), or 1 where x < 0. Comparisons of answers cut their space into finitely many
regions, and on each the probability of an output is a polynomial in e^(±g·qᵢ), for a number g that all
exponents are whole multiples of. Let it be P on a region, as a function of u with uᵢ = e^(g·qᵢ) > 0. z3 shows

    continuity   P of two regions is the same wherever their closures meet
    slope        Σᵢ dᵢ·g·uᵢ·∂P/∂uᵢ ≤ charge·P on each region, for each corner d of q − q'

The slope is linear in d, so it holds for all changes d from a neighbour to the answers. On the way q' + s·d
from a neighbour q' to q, s from 0 to 1, P is then continuous, and dP/ds ≤ charge·P but for finitely many s:
so P(q) is at most e^charge times P(q'), by Grönwall's inequality, also where P is 0.

Conditions on answers must have no constant: Σ cᵢqᵢ ≤ 0 is Π uᵢ^(cᵢ/g) ≤ 1, for whole multiples cᵢ of g.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations, product
from typing import Any

import z3

from freegap.laws import EXPONENTIAL, UNIFORM
from freegap.prover.check import claim_of
from freegap.prover.classes import OutputClass
from freegap.prover.kinds import charge_of
from freegap.prover.prices import scale_of
from freegap.prover.problem import Problem
from freegap.prover.report import Established, Proof
from freegap.symbolic import Condition, Draw, NotDecided, Path, Symbol, SymbolicVariable

_MOST_ANSWERS = 4
_MOST_REGIONS = 64

Form = tuple[Fraction, ...]
"""The coefficients of the answers in a sum of them."""
Polynomial = Mapping[tuple[int, ...], Fraction]
"""By the exponents of the u, which may be negative."""


class _NoFlips(Exception):
    """The program is another."""


def prove_flips(problem: Problem, classes: list[OutputClass]) -> Proof | None:
    """The proof, or None: if this is no such program, or it is not shown."""
    if problem.queries > _MOST_ANSWERS or problem.resolution is not None:
        return None
    try:
        table = _FlipTable(problem, classes)
        regions = table.regions()
        if not table.holds(regions):
            return None
    except _NoFlips:
        return None
    how = (
        f"{len(table.kinds)} outputs on {len(regions)} regions of answers: continuous, and no slope is "
        "larger than the charge (z3)"
    )
    return Proof(
        holds=True,
        claim=claim_of(problem),
        conditions=(
            Established("termination", True, f"all {sum(len(o.paths) for o in classes)} paths are finite"),
            Established("probabilities", True, how),
        ),
        queries=problem.queries,
        paths=sum(len(output.paths) for output in classes),
        outputs=len(table.kinds),
    )


@dataclass(frozen=True)
class _AnswerAtom:
    """A sum of answers, and its relation to 0."""

    form: Form
    relation: str

    @property
    def opposite(self) -> _AnswerAtom:
        if self.relation in ("<", "<="):
            return _AnswerAtom(tuple(-c for c in self.form), "<=" if self.relation == "<" else "<")
        return _AnswerAtom(self.form, "!=" if self.relation == "==" else "==")


@dataclass(frozen=True)
class _Flip:
    """An exponential draw that is at least this sum of answers, over its scale; or that is smaller."""

    form: Form
    smaller: bool


@dataclass(frozen=True)
class _Way:
    """One path: what it asks of the answers, its flips, and the chance of the rest."""

    atoms: tuple[_AnswerAtom, ...]
    flips: tuple[_Flip, ...]
    chance: Fraction


class _FlipTable:
    """The paths of each kind of output, and their probabilities on each region."""

    def __init__(self, problem: Problem, classes: list[OutputClass]) -> None:
        self.problem = problem
        self.places: dict[SymbolicVariable, int] = {
            next(iter(q.variables)): i for i, q in enumerate(problem.answers)
        }
        found: dict[Any, list[_Way]] = {}
        for output in classes:
            if output.released:
                raise _NoFlips
            found.setdefault(output.skeleton, []).extend(map(self._way, output.paths))
        self.kinds = [(charge_of(problem, skeleton), ways) for skeleton, ways in found.items()]
        ways = [way for _, group in self.kinds for way in group]
        flips = [flip for way in ways for flip in way.flips]
        if not flips:
            raise _NoFlips
        atoms = [atom for way in ways for atom in way.atoms] + [_at_least_zero(flip.form) for flip in flips]
        self.atoms: list[_AnswerAtom] = []
        for atom in atoms:
            if any(atom.form) and atom not in self.atoms and atom.opposite not in self.atoms:
                self.atoms.append(atom)
        forms = [*(atom.form for atom in atoms), *(flip.form for flip in flips)]
        self.unit = reduce(_common, (abs(c) for form in forms for c in form if c), Fraction(0)) or Fraction(1)
        self.u = [z3.Real(f"e^q[{i}]") for i in range(problem.queries)]

    # Paths -----------------------------------------------------------------------------------------------

    def _way(self, path: Path) -> _Way:
        draws = {v: draw for draw in path.draws for v in draw.value.variables}
        atoms, flips, chance = [], [], Fraction(1)
        by_draw: dict[SymbolicVariable, list[Condition]] = {}
        for condition in path.conditions:
            noise = condition.variables & draws.keys()
            if len(noise) > 1 or condition.symbol is None:
                raise _NoFlips
            if noise:
                by_draw.setdefault(next(iter(noise)), []).append(condition)
            else:
                atoms.append(_AnswerAtom(self._form(condition.symbol), condition.relation))
        for variable, conditions in by_draw.items():
            draw = draws[variable]
            if draw.law is UNIFORM:
                chance *= self._interval(draw, variable, conditions)
            elif draw.law is EXPONENTIAL and len(conditions) == 1:
                flips.append(self._flip(draw, variable, conditions[0]))
            else:
                raise _NoFlips
        return _Way(tuple(atoms), tuple(flips), chance)

    def _form(self, symbol: Symbol) -> Form:
        """A sum of answers, without a constant."""
        form = [Fraction(0)] * self.problem.queries
        for monomial, c in symbol.terms.items():
            if len(monomial) != 1 or monomial[0] not in self.places:
                raise _NoFlips
            form[self.places[monomial[0]]] = c
        return tuple(form)

    def _split(self, variable: SymbolicVariable, condition: Condition) -> tuple[bool, Symbol]:
        """Whether the draw is above a bound, and the bound."""
        symbol = condition.symbol
        if symbol is None or condition.relation not in ("<", "<="):
            raise _NoFlips
        weight = symbol.terms.get((variable,))
        rest = Symbol({monomial: c for monomial, c in symbol.terms.items() if monomial != (variable,)})
        if weight is None or variable in rest.variables:
            raise _NoFlips
        return weight < 0, rest / -weight

    def _interval(self, draw: Draw, variable: SymbolicVariable, conditions: Sequence[Condition]) -> Fraction:
        """The chance of uniform noise between numbers."""
        low, high = Fraction(0), scale_of(draw)
        for condition in conditions:
            above, bound = self._split(variable, condition)
            value = bound.as_constant()
            if value is None:
                raise _NoFlips
            low, high = (max(low, value), high) if above else (low, min(high, value))
        return max(Fraction(0), high - low) / scale_of(draw)

    def _flip(self, draw: Draw, variable: SymbolicVariable, condition: Condition) -> _Flip:
        above, bound = self._split(variable, condition)
        return _Flip(self._form(bound / scale_of(draw)), smaller=not above)

    # Regions ---------------------------------------------------------------------------------------------

    def regions(self) -> list[tuple[_AnswerAtom, ...]]:
        """What holds of the answers on each region that is not empty."""
        solver = self.problem.limits.solver("no answers lie in another region")
        formulas = [self._on_answers(atom) for atom in self.atoms]
        found: list[tuple[_AnswerAtom, ...]] = []
        while (answer := solver.check()) == z3.sat:
            if len(found) == _MOST_REGIONS:
                raise _NoFlips
            model = solver.model()
            truths = [z3.is_true(model.eval(f, model_completion=True)) for f in formulas]
            found.append(tuple(a if t else a.opposite for a, t in zip(self.atoms, truths, strict=True)))
            solver.add(z3.Or([f != t for f, t in zip(formulas, truths, strict=True)]))
        if answer != z3.unsat:
            raise NotDecided("z3 did not decide on the regions of the answers")
        return found

    def _on_answers(self, atom: _AnswerAtom) -> Any:
        total = Symbol.of(0)
        for c, q in zip(atom.form, self.problem.answers, strict=True):
            total = total + c * q
        condition = Condition(atom.relation, total)
        return condition.z3

    def _chance(self, ways: Sequence[_Way], region: Sequence[_AnswerAtom]) -> Polynomial:
        """The probability of a kind of output on a region."""
        total: dict[tuple[int, ...], Fraction] = {}
        for way in ways:
            if not all(_true(atom, region) for atom in way.atoms):
                continue
            product_: dict[tuple[int, ...], Fraction] = {(0,) * self.problem.queries: way.chance}
            for flip in way.flips:
                product_ = _times(product_, self._flip_chance(flip, region))
            for exponents, c in product_.items():
                total[exponents] = total.get(exponents, Fraction(0)) + c
        return {exponents: c for exponents, c in total.items() if c}

    def _flip_chance(self, flip: _Flip, region: Sequence[_AnswerAtom]) -> Polynomial:
        zero = (0,) * self.problem.queries
        exponents = zero  # a coin of probability 1, where the sum is not positive
        if any(flip.form) and _true(_at_least_zero(flip.form), region):
            exponents = tuple(int(-c / self.unit) for c in flip.form)
        if not flip.smaller:
            return {exponents: Fraction(1)}
        return {} if exponents == zero else {zero: Fraction(1), exponents: Fraction(-1)}

    # Questions -------------------------------------------------------------------------------------------

    def holds(self, regions: Sequence[tuple[_AnswerAtom, ...]]) -> bool:
        chances = [[self._chance(ways, region) for _, ways in self.kinds] for region in regions]
        closures = [[self._closed(atom) for atom in region] for region in regions]
        for one, other in combinations(range(len(regions)), 2):
            apart = [p for p in zip(chances[one], chances[other], strict=True) if p[0] != p[1]]
            for here, there in apart:
                minus = {e: -c for e, c in there.items()}
                difference = self._whole(_plus(here, minus)) != 0
                meaning = "the probability is continuous where two regions meet"
                if not self._never(meaning, [*closures[one], *closures[other], difference]):
                    return False
        for place in range(len(regions)):
            for (charge, _), chance in zip(self.kinds, chances[place], strict=True):
                for corner in self._corners():
                    slope = {
                        e: c * (self.unit * sum(d * n for d, n in zip(corner, e, strict=True)) - charge)
                        for e, c in chance.items()
                    }
                    steep = self._whole(slope) > 0
                    meaning = "no probability rises by more than e^charge along the way to a neighbour"
                    if not self._never(meaning, [*closures[place], steep]):
                        return False
        return True

    def _never(self, meaning: str, formulas: Sequence[Any]) -> bool:
        solver = self.problem.limits.solver(meaning)
        solver.add(*(u > 0 for u in self.u), *formulas)
        return bool(solver.check() == z3.unsat)

    def _closed(self, atom: _AnswerAtom) -> Any:
        """The closure of where it holds, in terms of the u."""
        minus_one: Polynomial = {(0,) * self.problem.queries: Fraction(-1)}
        exponents = tuple(int(c / self.unit) for c in atom.form)
        value = self._whole(_plus({exponents: Fraction(1)}, minus_one))
        if atom.relation == "!=":
            return z3.BoolVal(True)
        return value == 0 if atom.relation == "==" else value <= 0

    def _whole(self, polynomial: Polynomial) -> Any:
        """A term with the same sign, without negative exponents."""
        lowest = [min((e[i] for e in polynomial), default=0) for i in range(self.problem.queries)]
        terms = []
        for exponents, c in polynomial.items():
            term = z3.RealVal(f"{c.numerator}/{c.denominator}")
            for u, n, low in zip(self.u, exponents, lowest, strict=True):
                for _ in range(n - low):
                    term = term * u
            terms.append(term)
        return z3.Sum(terms) if terms else z3.RealVal(0)

    def _corners(self) -> list[tuple[Fraction, ...]]:
        """The corners of the ways that lead from a neighbour to the answers."""
        n, delta, zero = self.problem.queries, self.problem.sensitivity, Fraction(0)
        if self.problem.neighbours == "one":
            return [tuple(s * delta * (i == j) for j in range(n)) for i in range(n) for s in (1, -1)]
        steps = {
            "each": [(delta, -delta)],
            "monotonic": [(delta, zero), (-delta, zero)],
            "increasing": [(-delta, zero)],  # the neighbour is the larger, and the way leads back
            "decreasing": [(delta, zero)],
        }[self.problem.neighbours]
        return [corner for step in steps for corner in product(step, repeat=n)]


def _at_least_zero(form: Form) -> _AnswerAtom:
    return _AnswerAtom(tuple(-c for c in form), "<=")


def _true(atom: _AnswerAtom, region: Sequence[_AnswerAtom]) -> bool:
    """Whether an atom holds on a region, which says of each atom whether it does."""
    if not any(atom.form):
        return atom.relation in ("<=", "==")
    return atom in region


def _common(one: Fraction, other: Fraction) -> Fraction:
    """The largest number that both are whole multiples of."""
    bottom = math.lcm(one.denominator, other.denominator)
    return Fraction(math.gcd(int(one * bottom), int(other * bottom)), bottom)


def _plus(one: Polynomial, other: Polynomial) -> Polynomial:
    total = dict(one)
    for exponents, c in other.items():
        total[exponents] = total.get(exponents, Fraction(0)) + c
    return {exponents: c for exponents, c in total.items() if c}


def _times(one: Polynomial, other: Polynomial) -> dict[tuple[int, ...], Fraction]:
    total: dict[tuple[int, ...], Fraction] = {}
    for (a, c), (b, d) in product(one.items(), other.items()):
        exponents = tuple(x + y for x, y in zip(a, b, strict=True))
        total[exponents] = total.get(exponents, Fraction(0)) + c * d
    return total
