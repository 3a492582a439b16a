"""Proofs for every number of answers: the k best, with the rest summarised in one maximum.

Fix k. Let I be the selected items, s the best unselected one on the answers, m = q_s + η_s, and B =
max_{l ∉ I} (q'_l + η_l). A `Selection` and its alignment see the rest only through (q_s, q'_s, η_s) and
B. What can these be, over all n > k and all answers of the rest? Exactly

    q'_s + η_s ≤ B ≤ m + u,      u = Δ, or 0 where no answer rises,

since s is among the rest, and q'_l + η_l ≤ q_l + η_l + u ≤ m + u for each l (lemma 5.6 of Ding 2020). z3 is
asked about all such values, so "unsat" is a proof for all n:

*output, support, cost*: after the shift a_s ≥ 0 of s, the largest unselected noisy answer of the neighbour is
max(B, q'_s + η_s + a_s), as all other unselected noise stays. The k best must stay in their order above
it, and `release` must say the same.

*one-to-one*: let H and K have the same output and the same aligned noise. If s is the same for both, they
differ, among the unselected, at s only; if it is s for H and r for K, at s and r only. The others enter
through two more maxima, R on the answers and R' ≤ R + u on the neighbour. z3 shows for both cases that
there are no such H and K; so the unselected noise is determined. The shifts of the selected are functions
of it (checked: no selected noise occurs in them), so H is determined.

*volume*: a_s is a polynomial in answers only on each piece (checked), so the Jacobian is triangular with
ones.

Continuous log-Lipschitz noise only: ties, a null set there, would matter for discrete noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import z3

from freegap.forms import Change, Selection
from freegap.laws import LAWS, Law, ShiftPrice
from freegap.prover.classes import formula, holes_of
from freegap.prover.outputs import flatten
from freegap.prover.prices import price_term
from freegap.prover.problem import Problem
from freegap.prover.report import CONDITIONS, Established, Proof
from freegap.symbolic import Condition, NotDecided, Symbol, SymbolicVariable, real
from freegap.symbolic.subset import follow
from freegap.symbolic.symbols import constant

__all__ = ["prove_selection"]


def prove_selection(problem: Problem, form: Selection) -> Proof:
    """A proof for all n > k, or why there is none."""
    how: dict[str, str] = {}
    reason = None
    pieces = 0
    try:
        law = LAWS.get(form.law)
        scale = constant(form.scale)
        priced = law is not None and not law.lattice and law.price is ShiftPrice.DISTANCE
        if law is None or not priced or scale is None or scale <= 0:
            raise NotDecided(
                f"{form.law} noise of scale {form.scale}: not a continuous law that is log-Lipschitz"
            )
        for case in problem.directions:
            pieces += _Summary(problem, form, law, scale, case).check()
        text = f"z3, {pieces} pieces, the rest as one maximum that moves by at most Δ (lemma 5.6)"
        how = {
            "termination": "one pass over the answers and one sort",
            "draws": "one for each answer",
            "noise": f"{form.law}: {law.price.value}",
            "support": text,
            "output": text,
            "cost": text,
            "injective": "z3, with the others as two maxima; determinant 1 (Ding 2020, theorem 5.15)",
            "countable": "finitely many for each n",
        }
    except NotDecided as undecided:
        reason = str(undecided)
    conditions = tuple(
        Established(name, True if name in how else None, how.get(name, "not established"))
        for name in CONDITIONS
    )
    claim = (
        f"selection of the {form.k} best, {form.law} noise of scale {form.scale}, is private at "
        f"ε = {problem.epsilon} for all n > {form.k} ({problem.neighbours}, Δ = {problem.sensitivity})"
    )
    return Proof(True if reason is None else None, claim, conditions, reason=reason, pieces=pieces)


@dataclass(frozen=True)
class _Piece:
    conditions: tuple[Condition, ...]
    selected: tuple[Symbol, ...]
    runner_up: Symbol

    def where(self, values: dict[SymbolicVariable, Any]) -> Any:
        return z3.And([formula(c.substitute(values)) for c in self.conditions])


class _Summary:
    """The unknowns of one case of the neighbours, and the questions about them."""

    def __init__(self, problem: Problem, form: Selection, law: Law, scale: Fraction, case: str) -> None:
        self.problem, self.form, self.law, self.scale, self.case = problem, form, law, scale, case
        self.selected = [_change(f"{i}") for i in range(form.k)]
        self.second = _change("s")
        self.best = real("best")
        self.top = self.second.answer + self.second.noise
        self.values = [item.answer + item.noise for item in self.selected]
        self.pieces = self._pieces()

    def check(self) -> int:
        """The number of pieces, all of them checked; `NotDecided` where one fails."""
        self._check_dependencies()
        for piece in self.pieces:
            self._ask(
                [*self._premises(), piece.where({}), self._broken(piece)],
                "the output, the support or the cost",
            )
        for one in self.pieces:
            for other in self.pieces:
                self._ask(self._same_runner_up(one, other), "one-to-one")
                self._ask(self._different_runner_up(one, other), "one-to-one")
        return len(self.pieces)

    def _ask(self, formulas: list[Any], what: str) -> None:
        solver = self.problem.limits.solver()
        solver.add(*formulas)
        answer = solver.check()
        if answer == z3.unknown:
            raise NotDecided(f"z3 did not decide {what} for all n")
        if answer == z3.sat:
            raise NotDecided(f"{what} is not established for all n; prove a bounded size for a refutation")

    def _moves(self, item: Change) -> Any:
        delta = Symbol.of(self.problem.sensitivity)
        low = Symbol.of(0) if self.case == "increasing" else -delta
        high = Symbol.of(0) if self.case == "decreasing" else delta
        rise = (item.neighbour - item.answer).z3
        return z3.And(low.z3 <= rise, rise <= high.z3)

    @property
    def _most(self) -> Fraction:
        """u: how far an answer can rise."""
        return Fraction(0) if self.case == "decreasing" else self.problem.sensitivity

    def _premises(self) -> list[Any]:
        order = [*self.values, self.top]
        premises = [self._moves(item) for item in [*self.selected, self.second]]
        premises += [a.z3 > b.z3 for a, b in pairwise(order)]
        premises += self._possible([item.noise for item in [*self.selected, self.second]])
        premises += [
            (self.second.neighbour + self.second.noise).z3 <= self.best.z3,
            self.best.z3 <= (self.top + self._most).z3,
        ]
        return premises

    def _possible(self, noise: list[Symbol]) -> list[Any]:
        return [value.z3 >= 0 for value in noise] if self.law.one_sided else []

    def _pieces(self) -> list[_Piece]:
        paths = follow(
            self.form.shifts,
            [list(self.selected), self.second, self.best],
            assuming=self._premises(),
            limits=self.problem.limits,
        )
        found = []
        for path in paths:
            moves, last = self._checked(path.result)
            # Not without null sets: where s is the best of the neighbour too, `best` and the noise of s
            # cancel, and an equation between them can hold for all noise.
            found.append(_Piece(path.conditions, tuple(map(Symbol.of, moves)), Symbol.of(last)))
        return found

    def _checked(self, result: Any) -> tuple[Any, Any]:
        """What `shifts` returned, if it is what it should."""
        if type(result) is not tuple or len(result) != 2 or type(result[0]) not in (list, tuple):
            raise NotDecided("shifts must return (a list of shifts, the shift of the runner-up)")
        moves, last = result
        if len(moves) != self.form.k:
            raise NotDecided(f"{len(moves)} shifts for {self.form.k} selected answers")
        if not all(type(move) is Symbol or constant(move) is not None for move in [*moves, last]):
            raise NotDecided("a shift is not a number")
        return moves, last

    @property
    def _noise(self) -> frozenset[SymbolicVariable]:
        return frozenset(v for item in [*self.selected, self.second] for v in item.noise.variables)

    def _check_dependencies(self) -> None:
        own = frozenset(v for item in self.selected for v in item.noise.variables)
        for piece in self.pieces:
            used = frozenset().union(
                *(shift.variables for shift in [*piece.selected, piece.runner_up]),
                *(c.variables for c in piece.conditions),
            )
            if used & own:
                raise NotDecided("a shift depends on the noise of a selected answer")
            if piece.runner_up.variables & (self._noise | self.best.variables):
                raise NotDecided("the shift of the runner-up depends on noise")

    def _broken(self, piece: _Piece) -> Any:
        """Some condition fails at this piece."""
        lifted = self.second.neighbour + self.second.noise + piece.runner_up
        top = real("aligned best")
        highest = z3.If(lifted.z3 > self.best.z3, lifted.z3, self.best.z3)
        moved = [
            item.neighbour + item.noise + shift
            for item, shift in zip(self.selected, piece.selected, strict=True)
        ]
        order = [*moved, top]
        aligned = [
            item.noise + shift
            for item, shift in zip(
                [*self.selected, self.second], [*piece.selected, piece.runner_up], strict=True
            )
        ]
        terms, definitions = [], [top.z3 == highest]
        for place, shift in enumerate([*piece.selected, piece.runner_up]):
            price, defined = price_term(self.law, shift, self.scale, None, str(place))
            terms.append(price)
            definitions += defined
        broken = [
            z3.Not(z3.And([a.z3 > b.z3 for a, b in pairwise(order)])),
            z3.Not(self._same_release(moved, top)),
            z3.Not(z3.And(self._possible(aligned))),
            piece.runner_up.z3 < 0,
            z3.Sum(terms) > Symbol.of(self.problem.epsilon).z3,
        ]
        return z3.And(*definitions, z3.Or(broken))

    def _same_release(self, moved: list[Symbol], top: Symbol) -> Any:
        """`release` says the same about the aligned values of the neighbour."""
        values, last = [real(f"value[{i}]") for i in range(self.form.k)], real("runner_up")
        paths = follow(self.form.release, [values, last], limits=self.problem.limits)
        names = [next(iter(v.variables)) for v in [*values, last]]
        here = dict(zip(names, [*self.values, self.top], strict=True))
        there = dict(zip(names, [*moved, top], strict=True))
        holes = holes_of([flatten(path.result)[0] for path in paths])
        flat = [(path, *flatten(path.result, holes[flatten(path.result)[0]])) for path in paths]
        same = []
        for path, skeleton, numbers in flat:
            taken = [formula(c.substitute(here)) for c in path.conditions]
            for other, other_skeleton, other_numbers in flat:
                if other_skeleton == skeleton:
                    also = [formula(c.substitute(there)) for c in other.conditions]
                    equal = [
                        a.substitute(here).z3 == b.substitute(there).z3
                        for a, b in zip(numbers, other_numbers, strict=True)
                    ]
                    same.append(z3.And(taken + also + equal))
        return z3.Or(same)

    def _at(self, item: Change, best: Symbol) -> dict[SymbolicVariable, Any]:
        """The substitution that makes `item` the runner-up and `best` the best of the neighbour."""
        pairs = [*zip(self.second, item, strict=True), (self.best, best)]
        return {next(iter(old.variables)): new for old, new in pairs}

    def _same_runner_up(self, one: _Piece, other: _Piece) -> list[Any]:
        """Two noises of s, both with s as the runner-up, aligned to one."""
        s = self.second
        twin = Change(s.answer, s.neighbour, real("noise[s]″"))
        rest, rest_after = real("rest"), real("rest after")
        bests = [real("best of H"), real("best of K")]
        formulas = [self._moves(item) for item in [*self.selected, s]]
        formulas.append(rest_after.z3 <= (rest + self._most).z3)
        formulas += self._possible([s.noise, twin.noise])
        for item, best, piece in ((s, bests[0], one), (twin, bests[1], other)):
            formulas.append((item.answer + item.noise).z3 >= rest.z3)
            formulas.append(best.z3 == _largest([item.neighbour + item.noise, rest_after]))
            formulas.append(piece.where(self._at(item, best)))
        shifts = [
            piece.runner_up.substitute(self._at(item, best))
            for item, best, piece in ((s, bests[0], one), (twin, bests[1], other))
        ]
        formulas.append(s.noise.z3 != twin.noise.z3)
        formulas.append((s.noise + shifts[0]).z3 == (twin.noise + shifts[1]).z3)
        return formulas

    def _different_runner_up(self, one: _Piece, other: _Piece) -> list[Any]:
        """s is the runner-up on H, r on K, and both are aligned to one."""
        s, r = self.second, _change("r")
        s_twin, r_twin = (
            Change(i.answer, i.neighbour, real(f"noise[{n}]″")) for i, n in ((s, "s"), (r, "r"))
        )
        rest, rest_after = real("rest"), real("rest after")
        bests = [real("best of H"), real("best of K")]
        formulas = [self._moves(item) for item in [*self.selected, s, r]]
        formulas.append(rest_after.z3 <= (rest + self._most).z3)
        formulas += self._possible([s.noise, r.noise, s_twin.noise, r_twin.noise])
        shifts = []
        for first, second, best, piece in ((s, r, bests[0], one), (r_twin, s_twin, bests[1], other)):
            top = first.answer + first.noise
            formulas += [top.z3 > (second.answer + second.noise).z3, top.z3 >= rest.z3]
            after = [first.neighbour + first.noise, second.neighbour + second.noise, rest_after]
            formulas.append(best.z3 == _largest(after))
            formulas.append(piece.where(self._at(first, best)))
            shifts.append(piece.runner_up.substitute(self._at(first, best)))
        formulas.append((s.noise + shifts[0]).z3 == s_twin.noise.z3)
        formulas.append(r.noise.z3 == (r_twin.noise + shifts[1]).z3)
        return formulas


def _change(name: str) -> Change:
    return Change(real(f"answers[{name}]"), real(f"neighbour[{name}]"), real(f"noise[{name}]"))


def _largest(values: list[Symbol]) -> Any:
    term = values[0].z3
    for value in values[1:]:
        term = z3.If(value.z3 > term, value.z3, term)
    return term
