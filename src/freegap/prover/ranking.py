"""Proofs of a `Ranking` for every number of answers and of selected ones: two items at a time.

Write v = q + η for a noisy answer, v* = q' + η + shift for that of a selected item on the neighbour with its
aligned noise, v' = q' + η for that of any other, and b, b* for the bar on both sides. x ranks before y if
x > y, or x = y and its place (or whatever order was fixed beforehand) is the first. z3 is asked for selected
items i and j, and an item l that is not selected, of any answers, noise and order of places:

*order*: where i ranks before j, v*_i ranks before v*_j. *rest*: where i ranks before l, v*_i ranks before
v'_l. So on the neighbour the selected items come first as well, and in the same order. *bar*: v_i ≥ b gives
v*_i ≥ b*, with the same distance. If fewer than k are selected, each l is below the bar: v_l < b gives
v'_l < b*. If k are, the others rank after k items and do not matter. So the output is the same, for all n.

*cost*: the shift of an item costs at most what it is charged, the lift of the bar what the start is charged,
and both charges together, for k items, are at most ε. *one-to-one*: shifts see answers only; a translation
keeps volume. There is one for each list of items. No null set is left out, so ties may have probability:
noise may be discrete, as long as shifts stay on its lattice.

Parameters may be symbols, of which facts hold (`freegap.prover.schema`); the proof is then for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import z3

from freegap.forms import Ranking
from freegap.laws import LAWS, Law, ShiftPrice
from freegap.prover.pieces import on_lattice
from freegap.prover.prices import rate_of
from freegap.prover.report import Proof
from freegap.prover.schema import Schema, require_parameters
from freegap.prover.steps import established
from freegap.symbolic import Draw, Limits, NotDecided, Symbol, integer, is_public, real
from freegap.symbolic.subset import follow
from freegap.symbolic.symbols import constant
from freegap.values.neighbours import directions_of


def prove_ranking(schema: Schema[Ranking], neighbours: str, limits: Limits) -> Proof:
    """A proof for all n, or why there is none."""
    form, reason = schema.form, None
    try:
        law = LAWS.get(form.law)
        if law is None or law.price is not ShiftPrice.DISTANCE:
            raise NotDecided(f"{form.law} noise is not log-Lipschitz")
        if schema.resolution != (1 if law.lattice else None):
            raise NotDecided(
                f"{form.law} noise: answers must be whole (resolution 1) for discrete noise only"
            )
        require_parameters(schema, limits)
        for direction in directions_of("each" if neighbours == "one" else neighbours):
            _Pairs(schema, law, direction, limits).check()
    except NotDecided as undecided:
        reason = str(undecided)
    text = "z3, for any two items of all n and any order of places"
    how = {
        "termination": "one pass over the answers and one sort",
        "draws": "one for each answer, and one for the threshold if there is one",
        "noise": f"{form.law}: ln f(x)/f(y) ≤ |x−y|/scale",
        "support": text,
        "output": text,
        "cost": f"{text}; no more than the charge of each item and of the start, which are at most ε",
        "injective": "shifts see answers only: a translation",
        "countable": "finitely many for each n",
    }
    holds = True if reason is None else None
    return Proof(holds, f"{schema.claim} ({neighbours})", established(how, reason), reason=reason)


@dataclass(frozen=True)
class _Item:
    """An answer on both sides, and its noise; where the condition holds, it is moved by the shift."""

    answer: Symbol
    neighbour: Symbol
    noise: Symbol
    where: Any
    shift: Symbol

    @property
    def value(self) -> Symbol:
        found: Symbol = self.answer + self.noise
        return found

    @property
    def moved(self) -> Symbol:
        found: Symbol = self.neighbour + self.noise + self.shift
        return found


class _Pairs:
    """The questions about two items, under one direction."""

    def __init__(self, schema: Schema[Ranking], law: Law, direction: str, limits: Limits) -> None:
        self.schema, self.form, self.law = schema, schema.form, law
        self.direction, self.limits = direction, limits
        self.delta = schema.sensitivity
        self.facts = [fact.z3 for fact in schema.facts]
        self.first = z3.Bool("ranks first where equal")

    def check(self) -> None:
        """`NotDecided` where something is not established."""
        lift = self._lift()
        start, each, most = map(self._number, (self.form.start_charge, self.form.item_charge, self.form.k))
        rate = self._rate(self.form.scale)
        bar = None if self.form.threshold is None else real("bar") + self._number(self.form.threshold)
        selected, others = (self._selected(name) for name in "ij")
        rest = self._unknown("l")
        for i in selected:
            noise = self._possible(i)
            self._require([*noise, i.where, self._off_support(i)], "the support")
            self._require([*noise, i.where, _size(i.shift) * rate.z3 > each.z3], "the cost of an item")
            self._require(
                [*noise, *self._possible(rest), i.where, *self._swapped(i, rest)], "the place before the rest"
            )
            for j in others:
                self._require(
                    [*noise, *self._possible(j), i.where, j.where, *self._swapped(i, j)], "the order"
                )
            if bar is not None:
                apart = (i.value - bar).z3 != (i.moved - bar - lift).z3
                below = i.moved.z3 < (bar + lift).z3
                self._require(
                    [*noise, i.where, i.value.z3 >= bar.z3, z3.Or(below, apart)], "the distance to the bar"
                )
        if bar is not None:
            risen = [rest.value.z3 < bar.z3, rest.moved.z3 >= (bar + lift).z3]
            self._require([*self._possible(rest), *risen], "that the rest stays below the bar")
            paid = _size(lift) * self._rate(self.form.threshold_scale).z3
            self._require([paid > start.z3], "the cost of the start")
        self._require([start.z3 < 0], "that no charge is negative")
        self._require([most.z3 < 1], "that k is at least 1")
        self._require([(start + each * most).z3 > self.schema.epsilon.z3], "that the charges are at most ε")

    # What is asked --------------------------------------------------------------------------

    def _require(self, wrong: Sequence[Any], what: str) -> None:
        """No parameters, answers and noise make all of this true."""
        solver = replace(self.limits, relaxed=True).solver(
            f"for all n, neighbours {self.direction}: {what} does not fail"
        )
        solver.add(self.delta.z3 > 0, *self.facts, *wrong)
        if solver.check() != z3.unsat:
            raise NotDecided(f"{what} is not established for all n")

    def _swapped(self, x: _Item, y: _Item) -> list[Any]:
        """x ranks before y, and does not on the neighbour."""
        return [self._before(x.value, y.value), z3.Not(self._before(x.moved, y.moved))]

    def _before(self, x: Symbol, y: Symbol) -> Any:
        return z3.Or(x.z3 > y.z3, z3.And(x.z3 == y.z3, self.first))

    def _possible(self, item: _Item) -> list[Any]:
        """The neighbour is one, and the noise is possible."""
        change = (item.neighbour - item.answer).z3
        low = 0 if self.direction == "increasing" else -self.delta.z3
        high = 0 if self.direction == "decreasing" else self.delta.z3
        return [low <= change, change <= high, *([item.noise.z3 >= 0] if self.law.one_sided else [])]

    def _off_support(self, item: _Item) -> Any:
        if self.schema.resolution is not None and not on_lattice(item.shift, self.schema.resolution):
            return z3.BoolVal(True)
        return (item.noise + item.shift).z3 < 0 if self.law.one_sided else z3.BoolVal(False)

    # What is known -----------------------------------------------------------------------------

    def _unknown(self, name: str) -> _Item:
        """An item that stays as it is."""
        width = self.schema.resolution
        answer, neighbour, noise = (
            real(f"{kind}[{name}]") if width is None else integer(f"{kind}[{name}]", width)
            for kind in ("answers", "neighbour", "noise")
        )
        return _Item(answer, neighbour, noise, z3.BoolVal(True), Symbol.of(0))

    def _selected(self, name: str) -> list[_Item]:
        """A selected item, on each piece of its shift."""
        item = self._unknown(name)
        premises = [self.delta.z3 > 0, *self.facts, *self._possible(item)]
        return [
            replace(item, where=z3.And(path.condition), shift=self._symbol(path.result))
            for path in self._paths(self.form.shift, [self.direction, item.answer, item.neighbour], premises)
        ]

    def _lift(self) -> Symbol:
        paths = self._paths(self.form.lift, [self.direction], self.facts)
        if len(paths) != 1:
            raise NotDecided("the lift of the threshold branches")
        lift = self._number(paths[0].result)
        if self.schema.resolution is not None and not on_lattice(lift, self.schema.resolution):
            raise NotDecided("the threshold is moved off its lattice")
        if self.law.one_sided:
            self._require([lift.z3 < 0], "the support of the threshold")
        return lift

    def _paths(self, function: Callable[..., Any], inputs: list[Any], premises: list[Any]) -> list[Any]:
        concrete = self.delta.as_constant() is not None
        return follow(function, inputs, assuming=premises, limits=self.limits, confirm=concrete)

    def _symbol(self, value: Any) -> Symbol:
        if type(value) is not Symbol and constant(value) is None:
            raise NotDecided("a shift, a charge or k is not a number")
        return Symbol.of(value)

    def _number(self, value: Any) -> Symbol:
        """A number that is the same in both runs."""
        found = self._symbol(value)
        if not is_public(found):
            raise NotDecided("a lift, a charge or k depends on the answers")
        return found

    def _rate(self, scale: Any) -> Symbol:
        return rate_of(Draw("noise", self.law, scale, self.schema.resolution, Symbol.of(0)))


def _size(shift: Symbol) -> Any:
    return z3.If(shift.z3 >= 0, shift.z3, -shift.z3)
