"""Proofs for every number of answers and of selected ones: the rest is summarised in one maximum.

Let I be the selected items, s the best unselected one on the answers, m = q_s + η_s, B = max_{l ∉ I} (q'_l +
η_l), and d the least of the changes q_i − q'_i of the selected. A `Selection` and its alignment see the rest
only through (q_s, q'_s, η_s) and B, and other selected items only through d. What can these be, over all
n > k and all answers of the rest? Exactly

    q'_s + η_s ≤ B ≤ m + u,      u = Δ, or 0 where no answer rises,

since s is among the rest, and q'_l + η_l ≤ q_l + η_l + u ≤ m + u for each l (lemma 5.6 of Ding 2020); and d
is the change of some selected item, at most that of each. z3 is asked about all such values and all Δ > 0,
for one selected item, and for two that follow each other in rank, so "unsat" is a proof for all n > k ≥ 1:

*output, support*: after the shift a_s ≥ 0 of s, the largest unselected noisy answer of the neighbour is
max(B, q'_s + η_s + a_s), as all other unselected noise stays. Each selected item must stay above the next,
the last above that maximum, and `release` must say the same of each. So all k stay, in their order.

*cost*: with noise of scale c·k·Δ/ε, each selected item moves by at most cΔ, and the one whose change is d by
at most cΔ together with s. So all of them move by at most k·cΔ, which costs ε, whatever k, Δ and ε are.

*fewer than k*: where a public threshold takes part, only the t items down to it are released, and all others
are the rest. The above holds for t in the place of k, on the same noise: it costs t·ε/k. The items say
whether the threshold is among them, so t is the same on the neighbour. A threshold is an item that does not
move.

*one-to-one*: let H and K have the same output and the same aligned noise; then I and d are the same. If s is
the same for both, they differ, among the unselected, at s only; if it is s for H and r for K, at s and r
only. The others enter through two more maxima, R on the answers and R' ≤ R + u on the neighbour. z3 shows for
both cases that there are no such H and K; so the unselected noise is determined. The shifts of the selected
are functions of it (checked: no selected noise occurs in them), so H is determined.

*volume*: a_s is a polynomial in answers only on each piece (checked), so the Jacobian is triangular with
ones.

Continuous log-Lipschitz noise only: ties, a null set there, would matter for discrete noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import z3

from freegap.forms import Change, Selection
from freegap.laws import LAWS, Law, ShiftPrice
from freegap.prover.classes import formula, holes_of
from freegap.prover.outputs import flatten, require_one_type
from freegap.prover.problem import Problem
from freegap.prover.report import CONDITIONS, Established, Proof
from freegap.symbolic import Condition, NotDecided, Symbol, SymbolicVariable, real
from freegap.symbolic.subset import follow
from freegap.symbolic.symbols import constant


def prove_selection(problem: Problem, form: Selection) -> Proof:
    """A proof for all n > k ≥ 1 and all ε and Δ, or why there is none."""
    how: dict[str, str] = {}
    reason = None
    pieces = 0
    unit = constant(form.scale)
    sizes = "all Δ > 0"
    try:
        law = LAWS.get(form.law)
        priced = law is not None and not law.lattice and law.price is ShiftPrice.DISTANCE
        if law is None or not priced or unit is None or unit <= 0:
            raise NotDecided(
                f"{form.law} noise of scale {form.scale}: not a continuous law that is log-Lipschitz"
            )
        if form.threshold is not None and constant(form.threshold) is None:
            raise NotDecided("the threshold is not a finite number, so that it has no rank among the items")
        share = problem.epsilon / form.k if form.item_charge is None else constant(form.item_charge)
        if share is None or share * form.k > problem.epsilon:
            raise NotDecided(f"k items are charged {form.item_charge} each, which is more than ε")
        unit *= share / problem.sensitivity
        try:
            pieces = _checked(problem, form, law, unit, real("Δ"))
        except NotDecided:  # shifts that name Δ as a number
            pieces = _checked(problem, form, law, unit, Symbol.of(problem.sensitivity))
            sizes = f"Δ = {problem.sensitivity}"
        text = f"z3, {pieces} pieces, the rest as one maximum that moves by at most Δ (lemma 5.6)"
        how = {
            "termination": "one pass over the answers and one sort",
            "draws": "one for each answer",
            "noise": f"{form.law}: {law.price.value}",
            "support": text,
            "output": text,
            "cost": f"{text}: at most {unit}·Δ for each of k, the runner-up included",
            "injective": "z3, with the others as two maxima; determinant 1 (Ding 2020, theorem 5.15)",
            "countable": "finitely many for each n",
        }
    except NotDecided as undecided:
        reason = str(undecided)
    conditions = tuple(
        Established(name, True if name in how else None, how.get(name, "not established"))
        for name in CONDITIONS
    )
    more = "n > k" if form.threshold is None else "n ≥ k"
    claim = (
        f"selection of the k best, {form.law} noise of scale {unit}·k·Δ/ε, is private at {_charged(form)} "
        f"for all {more} ≥ 1, all ε > 0 and {sizes} ({problem.neighbours})"
    )
    return Proof(True if reason is None else None, claim, conditions, reason=reason, pieces=pieces)


def _charged(form: Selection) -> str:
    until = "" if form.threshold is None else " down to a public threshold"
    return "ε" if form.item_charge is None else f"ε/k for each item that is released{until}"


def _checked(problem: Problem, form: Selection, law: Law, unit: Fraction, delta: Symbol) -> int:
    return sum(_Summary(problem, form, law, unit * delta, delta, case).check() for case in problem.directions)


@dataclass(frozen=True)
class _Piece:
    """Where the conditions hold, the shift is this polynomial."""

    conditions: tuple[Condition, ...]
    shift: Symbol

    def at(self, values: dict[SymbolicVariable, Any]) -> tuple[Any, Symbol]:
        """The conditions as a formula, and the shift, with other unknowns."""
        where = z3.And([formula(c.substitute(values)) for c in self.conditions])
        return where, self.shift.substitute(values)

    @property
    def variables(self) -> frozenset[SymbolicVariable]:
        return self.shift.variables.union(*(c.variables for c in self.conditions))


@dataclass(frozen=True)
class _Selected:
    """A selected item, where its conditions hold: its noisy values on both sides, and its shift."""

    item: Change
    where: Any
    shift: Symbol

    @property
    def value(self) -> Any:
        return self.item.answer + self.item.noise

    @property
    def moved(self) -> Any:
        return self.item.neighbour + self.item.noise + self.shift


class _Summary:
    """The unknowns of one case of the neighbours, and the questions about them."""

    def __init__(
        self, problem: Problem, form: Selection, law: Law, most: Symbol, delta: Symbol, case: str
    ) -> None:
        self.problem, self.form, self.law, self.case = problem, form, law, case
        self.most, self.delta = most, delta
        self.item, self.second = _change("i"), _change("s")
        self.least, self.best = real("least"), real("best")
        self.top = self.second.answer + self.second.noise
        context = [self.least, self.second, self.best]
        self.shifts = self._pieces(form.shift, [self.item, *context])
        self.lasts = self._pieces(form.last_shift, context)
        self.releases = self._releases()

    def check(self) -> int:
        """The number of pieces, all of them checked; `NotDecided` where one fails."""
        self._check_dependencies()
        one, other = (list(self._selected(name)) for name in "ij")
        for last in self.lasts:
            where, shift = last.at({})
            for first in one:
                self._ask([where, *self._broken(first, shift)], "the output, the support or the cost")
        for first in one:
            for second in other:
                self._ask(self._out_of_order(first, second), "the order")
        for pair in ((a, b) for a in self.lasts for b in self.lasts):
            self._ask(self._same_runner_up(*pair), "one-to-one")
            self._ask(self._different_runner_up(*pair), "one-to-one")
        return len(self.shifts) + len(self.lasts)

    def _ask(self, formulas: list[Any], what: str) -> None:
        solver = self.problem.limits.solver(
            f"for all n > k ≥ 1 and all Δ, neighbours {self.case}: {what} does not fail on this piece"
        )
        solver.add(self.delta.z3 > 0, *formulas)
        answer = solver.check()
        if answer == z3.unknown:
            raise NotDecided(f"z3 did not decide {what} for all n")
        if answer == z3.sat:
            raise NotDecided(f"{what} is not established for all n; prove a bounded size for a refutation")

    def _pieces(self, function: Callable[..., Any], inputs: list[Any]) -> list[_Piece]:
        """The pieces of a shift; with their boundaries, since where s is the best of the neighbour too,
        `best` and the noise of s cancel, and an equation between them can hold for all noise."""
        premises = [self.delta.z3 > 0, *self._premises(), *self._of(self.item)]
        found = []
        for path in follow(function, inputs, assuming=premises, limits=self.problem.limits):
            if type(path.result) is not Symbol and constant(path.result) is None:
                raise NotDecided("a shift is not a number")
            found.append(_Piece(path.conditions, Symbol.of(path.result)))
        return found

    def _selected(self, name: str) -> Iterator[_Selected]:
        item = _change(name)
        for piece in self.shifts:
            yield _Selected(item, *piece.at(_renamed(self.item, item)))

    # What holds ----------------------------------------------------------------------------------------

    def _moves(self, change: Symbol) -> Any:
        """How far an answer can fall."""
        low = Symbol.of(0) if self.case == "decreasing" else -self.delta
        high = Symbol.of(0) if self.case == "increasing" else self.delta
        return z3.And(low.z3 <= change.z3, change.z3 <= high.z3)

    @property
    def _rise(self) -> Symbol:
        """u: how far an answer can rise."""
        return Symbol.of(0) if self.case == "decreasing" else self.delta

    def _possible(self, noise: list[Symbol]) -> list[Any]:
        return [value.z3 >= 0 for value in noise] if self.law.one_sided else []

    def _premises(self) -> list[Any]:
        """Of the runner-up, of the best of the neighbour and of the least change."""
        s = self.second
        return [
            self._moves(s.answer - s.neighbour),
            self._moves(self.least),
            *self._possible([s.noise]),
            (s.neighbour + s.noise).z3 <= self.best.z3,
            self.best.z3 <= (self.top + self._rise).z3,
        ]

    def _of(self, item: Change) -> list[Any]:
        """Of a selected item."""
        change = item.answer - item.neighbour
        return [
            self._moves(change),
            self.least.z3 <= change.z3,
            *self._possible([item.noise]),
            (item.answer + item.noise).z3 > self.top.z3,
        ]

    # What may not be -----------------------------------------------------------------------------------

    def _check_dependencies(self) -> None:
        (own,) = self.item.noise.variables
        if any(own in piece.variables for piece in self.shifts):
            raise NotDecided("a shift depends on the noise of a selected answer")
        noise = self.second.noise.variables | self.best.variables
        if any(piece.shift.variables & noise for piece in self.lasts):
            raise NotDecided("the shift of the runner-up depends on noise")

    def _broken(self, x: _Selected, last: Symbol) -> list[Any]:
        """Some condition fails at a selected item that may be the last: support, cost, or that it stays above
        the rest with the same release."""
        top = real("aligned best")
        lifted = (self.second.neighbour + self.second.noise + last).z3
        sizes = [_size(x.shift), _size(last)]
        is_least = (x.item.answer - x.item.neighbour).z3 == self.least.z3
        broken = [
            z3.Not(x.moved.z3 > top.z3),
            z3.Not(self._same_release((x.value, self.top), (x.moved, top))),
            z3.Not(z3.And(self._possible([x.item.noise + x.shift, self.second.noise + last]))),
            last.z3 < 0,
            sizes[0] > self.most.z3,
            z3.And(is_least, z3.Sum(sizes) > self.most.z3),
        ]
        highest = top.z3 == z3.If(lifted > self.best.z3, lifted, self.best.z3)
        return [*self._premises(), *self._of(x.item), x.where, highest, z3.Or(broken)]

    def _out_of_order(self, x: _Selected, y: _Selected) -> list[Any]:
        """x, of the next higher rank, does not stay above y with the same release."""
        broken = [
            z3.Not(x.moved.z3 > y.moved.z3),
            z3.Not(self._same_release((x.value, y.value), (x.moved, y.moved))),
        ]
        premises = [*self._premises(), *self._of(x.item), *self._of(y.item), x.where, y.where]
        return [*premises, x.value.z3 > y.value.z3, z3.Or(broken)]

    def _releases(self) -> list[tuple[tuple[Condition, ...], Any, list[Symbol]]]:
        if self.form.release is None:
            return []
        self._given = [real("value"), real("following")]
        paths = follow(self.form.release, self._given, limits=self.problem.limits)
        holes = holes_of([flatten(path.result)[0] for path in paths])
        found = [(p.conditions, *flatten(p.result, holes[flatten(p.result)[0]])) for p in paths]
        require_one_type((*told, p.types) for (_, *told), p in zip(found, paths, strict=True))
        return found

    def _same_release(self, here: tuple[Symbol, Symbol], there: tuple[Symbol, Symbol]) -> Any:
        """`release` says the same about a noisy value and the next, here and on the neighbour."""
        if self.form.release is None:
            return z3.BoolVal(True)
        names = [next(iter(v.variables)) for v in self._given]
        sides = [dict(zip(names, side, strict=True)) for side in (here, there)]
        same = []
        for conditions, skeleton, numbers in self.releases:
            for other_conditions, other_skeleton, other_numbers in self.releases:
                if other_skeleton == skeleton:
                    taken = [formula(c.substitute(sides[0])) for c in conditions]
                    also = [formula(c.substitute(sides[1])) for c in other_conditions]
                    equal = [
                        a.substitute(sides[0]).z3 == b.substitute(sides[1]).z3
                        for a, b in zip(numbers, other_numbers, strict=True)
                    ]
                    same.append(z3.And(taken + also + equal))
        return z3.Or(same)

    def _at(self, piece: _Piece, item: Change, best: Symbol) -> tuple[Any, Symbol]:
        """A piece of the runner-up's shift, where `item` is it and `best` the best of the neighbour."""
        return piece.at(_renamed(self.second, item) | _renamed((self.best,), (best,)))

    def _same_runner_up(self, one: _Piece, other: _Piece) -> list[Any]:
        """Two noises of s, both with s as the runner-up, aligned to one."""
        s = self.second
        twin = Change(s.answer, s.neighbour, real("noise[s]″"))
        rest, rest_after = real("rest"), real("rest after")
        formulas = [self._moves(s.answer - s.neighbour), self._moves(self.least)]
        formulas.append(rest_after.z3 <= (rest + self._rise).z3)
        formulas += self._possible([s.noise, twin.noise])
        aligned = []
        for item, piece, name in ((s, one, "H"), (twin, other, "K")):
            best = real(f"best of {name}")
            where, shift = self._at(piece, item, best)
            formulas.append((item.answer + item.noise).z3 >= rest.z3)
            formulas.append(best.z3 == _largest([item.neighbour + item.noise, rest_after]))
            formulas.append(where)
            aligned.append(item.noise + shift)
        return [*formulas, s.noise.z3 != twin.noise.z3, aligned[0].z3 == aligned[1].z3]

    def _different_runner_up(self, one: _Piece, other: _Piece) -> list[Any]:
        """s is the runner-up on H, r on K, and both are aligned to one."""
        s, r = self.second, _change("r")
        s_twin, r_twin = (
            Change(i.answer, i.neighbour, real(f"noise[{n}]″")) for i, n in ((s, "s"), (r, "r"))
        )
        rest, rest_after = real("rest"), real("rest after")
        formulas = [
            self._moves(change) for change in (s.answer - s.neighbour, r.answer - r.neighbour, self.least)
        ]
        formulas.append(rest_after.z3 <= (rest + self._rise).z3)
        formulas += self._possible([s.noise, r.noise, s_twin.noise, r_twin.noise])
        shifts = []
        for first, second, piece, name in ((s, r, one, "H"), (r_twin, s_twin, other, "K")):
            best = real(f"best of {name}")
            where, shift = self._at(piece, first, best)
            top = first.answer + first.noise
            formulas += [top.z3 > (second.answer + second.noise).z3, top.z3 >= rest.z3, where]
            after = [first.neighbour + first.noise, second.neighbour + second.noise, rest_after]
            formulas.append(best.z3 == _largest(after))
            shifts.append(shift)
        formulas.append((s.noise + shifts[0]).z3 == s_twin.noise.z3)
        formulas.append(r.noise.z3 == (r_twin.noise + shifts[1]).z3)
        return formulas


def _change(name: str) -> Change:
    return Change(real(f"answers[{name}]"), real(f"neighbour[{name}]"), real(f"noise[{name}]"))


def _renamed(old: tuple[Symbol, ...], new: tuple[Symbol, ...]) -> dict[SymbolicVariable, Symbol]:
    return {next(iter(a.variables)): b for a, b in zip(old, new, strict=True)}


def _size(shift: Symbol) -> Any:
    return z3.If(shift.z3 >= 0, shift.z3, -shift.z3)


def _largest(values: list[Symbol]) -> Any:
    term = values[0].z3
    for value in values[1:]:
        term = z3.If(value.z3 > term, value.z3, term)
    return term
