"""Proofs of a `Stream` for every number of answers and for all parameters at once: those are symbols.

A schema is a form whose plan has symbols for its numbers (budgets, scales, margins, Δ, ε), and facts that
hold of them. The numbers of a state are unknown as well, what was spent among them, so one step is proved
from any state, for all parameters of which the facts hold: both runs give the same entry and states that
differ by the same offsets, and the step costs at most what its entry is charged. Besides
`freegap.prover.stream`:

*charge*: some number of the state is what the outputs so far are charged (it is start_charge at first, and
each entry adds its charge). Let M be the largest charge of an entry. If charged + M ≤ ε at the start, and
after every step that does not end the stream, then no output is charged more than ε. So the number of entries
that are charged, which k bounds, plays no part.

*draws*: all steps draw alike, so that the number of entries determines the draws.

The price of a shift x of noise of scale s is |x|·(1/s), where 1/s is a symbol of its own: the proof holds
whatever it is, so for the reciprocal of s. Programs are not run to confirm the paths, as they have no numbers
to be run on; the same text is confirmed where it is proved with numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import z3

from freegap.forms import Stream
from freegap.prover.classes import OutputClass, classes_of
from freegap.prover.injective import check_injective
from freegap.prover.outputs import flatten, half_holes, rebuild, seal, show, unseal
from freegap.prover.pieces import PieceChecks, pieces_of
from freegap.prover.prices import rate_of, require_price
from freegap.prover.problem import NeighbourCase, Problem
from freegap.prover.report import Proof
from freegap.prover.steps import established, offset_formulas, step_alignment, step_program, with_offsets
from freegap.symbolic import Condition, Limits, NotDecided, Symbol, SymbolicNoise, is_public
from freegap.symbolic.subset import Trusted, follow
from freegap.symbolic.subset.machine import Machine
from freegap.values.neighbours import directions_of

__all__ = ["Schema", "prove_schema"]


@dataclass(frozen=True)
class Schema:
    """A form on symbols, and what holds of them."""

    form: Stream
    epsilon: Symbol
    sensitivity: Symbol
    facts: tuple[Condition, ...]
    claim: str


def prove_schema(schema: Schema, neighbours: str, limits: Limits) -> Proof:
    """A proof for all parameters and all n, or why there is none."""
    reason = None
    try:
        for direction in directions_of("each" if neighbours == "one" else neighbours):
            _AnyState(schema, direction, limits).check()
    except NotDecided as undecided:
        reason = str(undecided)
    text = "z3, one step from any state, for all parameters; induction over the steps"
    how = {
        "termination": "each step is finite",
        "draws": "the number of entries determines the draws",
        "noise": "ln f(x)/f(y) ≤ |x−y|/scale",
        "support": text,
        "output": text,
        "cost": f"{text}; no more than the charge of each output, which is at most ε",
        "injective": "one step at a time, each by earlier draws",
        "countable": "finitely many for each n",
    }
    holds = True if reason is None else None
    return Proof(holds, f"{schema.claim} ({neighbours})", established(how, reason), reason=reason)


class _AnyState:
    """The start, and one step from any state, under one direction."""

    def __init__(self, schema: Schema, direction: str, limits: Limits) -> None:
        self.schema, self.form, self.direction, self.limits = schema, schema.form, direction, limits
        self.facts = [fact.z3 for fact in schema.facts]

    def check(self) -> None:
        """`NotDecided` where something is not established."""
        if self.form.entry_charge is None:
            raise NotDecided("a form without entry_charge")
        self._start()
        step = self._step()
        reached = [output for output in classes_of(step) if self._feasible(output)]
        charges = [self._proved(step, output) for output in reached]
        self._check_draws(reached)
        self._check_charges(step, reached, charges)

    def _require(self, wrong: Sequence[Any], what: str) -> None:
        """No parameters of which the facts hold make all of this true."""
        solver = self.limits.solver(f"for all parameters, neighbours {self.direction}: {what}")
        solver.add(*self.facts, *wrong)
        if solver.check() != z3.unsat:
            raise NotDecided(f"{what} is not established for all parameters")

    def _one(self, function: Any, inputs: Sequence[Any]) -> Any:
        paths = follow(function, inputs, assuming=self.facts, limits=self.limits, confirm=False)
        if len(paths) != 1:
            raise NotDecided("the start branches")
        return paths[0]

    def _start(self) -> None:
        path = self._one(self.form.start, [SymbolicNoise(prefix="start")])
        shifts = self._one(self.form.start_shifts, [self.direction]).result
        if type(shifts) is not dict or not shifts.keys() <= {draw.label for draw in path.draws}:
            raise NotDecided("start_shifts must return shifts of the draws of the start")
        cost, moved = Symbol.of(0), {}
        for draw in path.draws:
            require_price(draw.law, f"draw {draw.label!r} at the start")
            shift = Symbol.of(shifts.get(draw.label, 0))
            if draw.resolution is not None or not is_public(shift):
                raise NotDecided(f"the draw {draw.label!r} at the start: a lattice, or a shift that varies")
            self._require([shift.z3 < 0], "that a shift at the start is not negative")
            cost += shift * rate_of(draw)
            moved[next(iter(draw.value.variables))] = draw.value + shift
        self.skeleton, self.numbers = flatten(path.result)
        self.offsets = tuple(number.substitute(moved) - number for number in self.numbers)
        if not all(map(is_public, self.offsets)):
            raise NotDecided("the states of the two runs do not differ by constants at the start")
        self.start_charge = Symbol.of(self.form.start_charge)
        if not is_public(self.start_charge):
            raise NotDecided("the charge of the start is not a number")
        self._require([cost.z3 > self.start_charge.z3], "that the start costs no more than its charge")

    def _step(self) -> Problem:
        """One step as a mechanism: the answer, and the numbers of the state as further answers."""

        def charge(machine: Machine, output: Any) -> Any:
            return machine.call(self.form.entry_charge, [unseal(output[0])])

        problem = Problem(
            step_program(self.form, self.skeleton, seal=seal),
            self.schema.epsilon,  # type: ignore[arg-type]
            1 + len(self.offsets),
            self.schema.sensitivity,  # type: ignore[arg-type]
            self.direction,
            charge=Trusted(charge, None),
            limits=self.limits,
        )
        moves = replace(problem, queries=1).cases[0].formula
        case = NeighbourCase(
            self.direction, z3.And(*self.facts, moves, *offset_formulas(problem, self.offsets))
        )
        return replace(problem, custom_cases=(case,))

    def _feasible(self, output: OutputClass) -> bool:
        solver = self.limits.solver(f"for all parameters: no step has the output {output.name}")
        solver.add(*self.facts, output.exactly)
        return bool(solver.check() != z3.unsat)

    def _proved(self, step: Problem, output: OutputClass) -> Symbol:
        """The charge of this kind of entry, which the step is proved not to exceed."""

        _, state, stop = output.skeleton.children
        if not stop.value and flatten(rebuild(state, output.released))[0] != self.skeleton:
            raise NotDecided("the state does not stay of one kind")
        shifted = with_offsets(output, () if stop.value else self.offsets)
        (case,) = step.cases
        pieces = pieces_of(
            shifted, case, step_alignment(self.form, self.direction, self.skeleton, unseal=unseal)
        )
        checks = PieceChecks(shifted, case)
        for piece in pieces:
            with checks.at(piece):
                found = checks.broken(piece)
            if found is not None:
                raise NotDecided(f"the {found} is not established for the entry {output.name}")
        if check_injective(shifted, case, pieces) != "acyclic":
            raise NotDecided(f"the alignment for the entry {output.name} is not acyclic")
        charges = {piece.charge.key: piece.charge for piece in pieces}
        if len(charges) != 1 or not all(map(is_public, charges.values())):
            raise NotDecided(f"the charge of the entry {output.name} varies")
        return next(iter(charges.values()))

    def _check_draws(self, reached: Sequence[OutputClass]) -> None:
        for one in reached:
            for other in reached:
                entries = [output.skeleton.children[0] for output in (one, other)]
                if half_holes(*entries) is not None and one.kinds != other.kinds:
                    raise NotDecided(f"the entry {show(entries[0])} does not determine the draws")

    def _check_charges(
        self, step: Problem, reached: Sequence[OutputClass], charges: Sequence[Symbol]
    ) -> None:
        """What is charged is kept in the state, and never more than ε."""
        states = step.answers[1:]
        for place, number in enumerate(self.numbers):
            if number.key == self.start_charge.key and self._tracks(place, reached, charges, states[place]):
                break
        else:
            raise NotDecided("no number of the state is what the outputs so far are charged")
        most = next((c for c in charges if self._largest(c, charges)), None)
        if most is None:
            raise NotDecided("no entry has the largest charge for all parameters")
        epsilon = self.schema.epsilon
        self._require(
            [(self.start_charge + most).z3 > epsilon.z3], "that the start leaves enough for an entry"
        )
        for output in reached:
            if output.skeleton.children[2].value:
                continue
            for path, numbers in zip(output.paths, output.numbers, strict=True):
                spent = numbers[len(numbers) - len(states) + place]
                left = [*path.condition, (states[place] + most).z3 <= epsilon.z3]
                self._require([*left, (spent + most).z3 > epsilon.z3], "that enough is left after each entry")

    def _tracks(
        self, place: int, reached: Sequence[OutputClass], charges: Sequence[Symbol], before: Symbol
    ) -> bool:
        for output, charge in zip(reached, charges, strict=True):
            if not output.skeleton.children[2].value:
                at = len(output.numbers[0]) - len(self.offsets) + place
                if any((numbers[at] - before).key != charge.key for numbers in output.numbers):
                    return False
        return bool(self.offsets[place].as_constant() == 0)

    def _largest(self, charge: Symbol, charges: Sequence[Symbol]) -> bool:
        try:
            for other in charges:
                self._require([other.z3 > charge.z3], "that no entry is charged more")
        except NotDecided:
            return False
        return True
