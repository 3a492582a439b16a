"""Proofs of a `Stream` for every number of answers and for all parameters at once: those are symbols.

A schema is a form whose plan has symbols for its numbers (budgets, scales, margins, Δ, ε), and facts that
hold of them. The numbers of a state are unknown as well, what was spent among them, so one step is proved
from any state, for all parameters of which the facts hold: both runs give the same entry and states that
differ by the same offsets, and the step costs at most what its entry is charged. Besides
`freegap.prover.stream`:

*charge*: let M be the largest charge of an entry. That no output is charged more than ε is shown in one of
three ways. Some number of the state is what the outputs so far are charged (it is start_charge at first, and
each entry adds its charge), and charged + M ≤ ε at the start and after every step that does not end the
stream; so the number of entries that are charged, which k bounds, plays no part. Or some whole number of the
state counts down from a first one, N, by 1 with each entry that is charged, and is at least 1 after every
step that does not end the stream; then N entries are charged at most, and start_charge + N·M ≤ ε. Or the
number of answers n is a parameter, and start_charge + n·M ≤ ε.

*draws*: all steps draw alike, so that the number of entries determines the draws; no two draws of the form's
program have one label (`freegap.prover.stream_labels`).

The price of a shift x of noise of scale s is |x|·(1/s), where 1/s is a symbol of its own: the proof holds
whatever it is, so for the reciprocal of s. Programs on symbols are not run to confirm the paths, as they have
no numbers to be run on; the same text is confirmed where it is proved with numbers.

A number of a state that is whole at the start (a count, a discrete noise) is taken for whole in every step,
and is proved to stay so, as its offset is. With discrete noise, no null set is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, TypeVar

import z3

from freegap.forms import Ranking, Selection, Stream
from freegap.laws import ShiftPrice
from freegap.prover.classes import OutputClass, classes_of
from freegap.prover.injective import check_injective
from freegap.prover.outputs import flatten, half_holes, rebuild, seal, show, unseal
from freegap.prover.pieces import PieceChecks, on_lattice, pieces_of
from freegap.prover.prices import rate_of
from freegap.prover.problem import NeighbourCase, Problem
from freegap.prover.report import Proof
from freegap.prover.steps import established, offset_formulas, step_alignment, step_program, with_offsets
from freegap.prover.stream_labels import with_own_labels
from freegap.symbolic import Condition, Draw, Limits, NotDecided, Symbol, SymbolicNoise, is_public
from freegap.symbolic.subset import Trusted, follow, parameter
from freegap.symbolic.subset.machine import Machine
from freegap.values.neighbours import directions_of

_ONE = Fraction(1)

FormOf = TypeVar("FormOf", Stream, Ranking, Selection)


@dataclass(frozen=True)
class Schema(Generic[FormOf]):
    """A form on symbols, and what holds of them.

    resolution: 1, if answers and noise are whole.
    answers: the number of answers, where the charge of an output depends on it.
    """

    form: FormOf
    epsilon: Symbol
    sensitivity: Symbol
    facts: tuple[Condition, ...]
    claim: str
    resolution: Fraction | None = None
    answers: Symbol | None = None


@dataclass(frozen=True)
class Composed:
    """Parts that follow each other (`freegap.prover.composition`), each for all parameters."""

    parts: tuple[Schema[Any], ...]
    claim: str


def require_parameters(schema: Schema[Any], limits: Limits) -> None:
    """There are parameters of which the facts hold: of none, everything would be proved."""
    solver = replace(limits, relaxed=True).solver("the facts of a schema exclude each other")
    solver.add(schema.sensitivity.z3 > 0, *(fact.z3 for fact in schema.facts))
    if solver.check() != z3.sat:
        raise NotDecided("no parameters are known of which the facts hold")


def prove_schema(schema: Schema[Stream], neighbours: str, limits: Limits) -> Proof:
    """A proof for all parameters and all n, or why there is none."""
    reason = None
    try:
        require_parameters(schema, limits)
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

    def __init__(self, schema: Schema[Stream], direction: str, limits: Limits) -> None:
        self.schema, self.form, self.direction = schema, with_own_labels(schema.form), direction
        self.whole, self.limits = limits, replace(limits, relaxed=True)
        self.facts = [fact.z3 for fact in schema.facts]
        self.concrete = (
            schema.epsilon.as_constant() is not None and schema.sensitivity.as_constant() is not None
        )
        """Whether the parameters are numbers: then programs are run to confirm each path."""

    def check(self) -> None:
        """`NotDecided` where something is not established."""
        if self.form.entry_charge is None:
            raise NotDecided("a form without entry_charge")
        if self.form.finish is not None:
            raise NotDecided("a form with a last entry, which no step releases")
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
        paths = follow(function, inputs, assuming=self.facts, limits=self.limits, confirm=self.concrete)
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
            if draw.law.price is not ShiftPrice.DISTANCE:  # a shift of staircase noise costs whole stairs
                raise NotDecided(f"{draw.law} noise at the start is not log-Lipschitz")
            shift = Symbol.of(shifts.get(draw.label, 0))
            self._require_grid(draw)
            if not is_public(shift) or (draw.resolution and not on_lattice(shift, draw.resolution)):
                raise NotDecided(f"the draw {draw.label!r} at the start is moved off its lattice, or varies")
            self._require([shift.z3 < 0], "that a shift at the start is not negative")
            cost += shift * rate_of(draw)
            moved[next(iter(draw.value.variables))] = draw.value + shift
        self.skeleton, self.numbers = flatten(path.result)
        self.offsets = tuple(number.substitute(moved) - number for number in self.numbers)
        if not all(map(is_public, self.offsets)):
            raise NotDecided("the states of the two runs do not differ by constants at the start")
        self.widths = tuple(_ONE if on_lattice(number, _ONE) else None for number in self.numbers)
        self._require_whole(self.offsets)
        self.start_charge = Symbol.of(self.form.start_charge)
        if not is_public(self.start_charge):
            raise NotDecided("the charge of the start is not a number")
        self._require([cost.z3 > self.start_charge.z3], "that the start costs no more than its charge")

    def _require_grid(self, draw: Draw) -> None:
        if draw.resolution != self.schema.resolution:
            raise NotDecided(f"the draw {draw.label!r} is not on the lattice of the answers")

    def _require_whole(self, numbers: Sequence[Symbol]) -> None:
        """What is taken for whole in a state is whole."""
        for number, width in zip(numbers, self.widths, strict=True):
            if width is not None and not on_lattice(number, width):
                raise NotDecided("a number of the state does not stay whole")

    def _step(self) -> Problem:
        """One step as a mechanism: the answer, and the numbers of the state as further answers."""

        def charge(machine: Machine, output: Any) -> Any:
            return machine.call(self.form.entry_charge, [unseal(output[0])])

        def charged(output: Any) -> Any:
            return parameter(self.form.entry_charge(output[0]))  # type: ignore[misc]

        numbers: list[Any] = [self.schema.epsilon, self.schema.sensitivity]
        if self.concrete:
            numbers = [number.as_constant() for number in numbers]
        problem = Problem(
            step_program(self.form, self.skeleton, seal=seal),
            numbers[0],
            1 + len(self.offsets),
            numbers[1],
            self.direction,
            charge=Trusted(charge, charged),
            resolution=self.schema.resolution,
            limits=self.whole if self.concrete else self.limits,
            resolutions=(self.schema.resolution, *self.widths),
        )
        moves = replace(problem, queries=1, resolutions=None).cases[0].formula
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
        for numbers in () if stop.value else output.numbers:
            self._require_whole(numbers[len(numbers) - len(self.offsets) :])
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
            for draw in one.draws:
                self._require_grid(draw)
            for other in reached:
                entries = [output.skeleton.children[0] for output in (one, other)]
                if half_holes(*entries) is not None and one.kinds != other.kinds:
                    raise NotDecided(f"the entry {show(entries[0])} does not determine the draws")

    def _check_charges(
        self, step: Problem, reached: Sequence[OutputClass], charges: Sequence[Symbol]
    ) -> None:
        """No output is charged more than ε."""
        most = next((c for c in charges if self._largest(c, charges)), None)
        if most is None:
            raise NotDecided("no entry has the largest charge for all parameters")
        going = [
            (path.condition, numbers[len(numbers) - len(self.offsets) :], charge)
            for output, charge in zip(reached, charges, strict=True)
            if not output.skeleton.children[2].value
            for path, numbers in zip(output.paths, output.numbers, strict=True)
        ]
        states = step.answers[1:]
        places = [p for p, offset in enumerate(self.offsets) if offset.as_constant() == 0]
        if self.schema.answers is not None:
            self._check_total(self.schema.answers, most)
        elif spent := [p for p in places if self._tracks(p, going, states[p])]:
            self._check_spent(spent[0], going, states[spent[0]], most)
        elif left := [p for p in places if self._counts(p, going, states[p])]:
            self._check_total(self.numbers[left[0]], most)
        else:
            raise NotDecided("no number of the state is what the outputs so far are charged, or counts down")

    def _check_total(self, entries: Symbol, most: Symbol) -> None:
        """So many entries are charged, at most."""
        total = self.start_charge + entries * most
        self._require([total.z3 > self.schema.epsilon.z3], "that all entries are charged at most ε")

    def _tracks(self, place: int, going: Sequence[_Going], before: Symbol) -> bool:
        """The number is what was charged so far."""
        started = self.numbers[place].key == self.start_charge.key
        return started and all((after[place] - before).key == charge.key for _, after, charge in going)

    def _check_spent(self, place: int, going: Sequence[_Going], before: Symbol, most: Symbol) -> None:
        epsilon = self.schema.epsilon.z3
        self._require([(self.start_charge + most).z3 > epsilon], "that the start leaves enough for an entry")
        for conditions, after, _ in going:
            left = [*conditions, (before + most).z3 <= epsilon]
            self._require([*left, (after[place] + most).z3 > epsilon], "that enough is left after each entry")

    def _counts(self, place: int, going: Sequence[_Going], before: Symbol) -> bool:
        """The number counts down by 1 with each entry that is charged, and is at least 1 where it goes on."""
        first = self.numbers[place]
        if self.widths[place] is None or not is_public(first):
            return False
        try:
            self._require([first.z3 < 1], "that something is left to count at the start")
            for conditions, after, charge in going:
                change = (after[place] - before).as_constant()
                if change != -1 and not (change == 0 and charge.as_constant() == 0):
                    return False
                solver = self.whole.solver("for all parameters: something is left to count after each entry")
                solver.add(*conditions, before.z3 >= 1, after[place].z3 < 1)
                if solver.check() != z3.unsat:
                    return False
        except NotDecided:
            return False
        return True

    def _largest(self, charge: Symbol, charges: Sequence[Symbol]) -> bool:
        try:
            for other in charges:
                self._require([other.z3 > charge.z3], "that no entry is charged more")
        except NotDecided:
            return False
        return True


_Going = tuple[list[Any], Sequence[Symbol], Symbol]
"""Of a path that does not end the stream: its conditions, the numbers of the next state, and the charge."""
