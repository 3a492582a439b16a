"""Proofs for every number of answers, one step at a time.

The state after any number of steps has a skeleton (everything discrete: counters, budgets spent) and
numbers. The invariant, by induction over the steps: *after the same outputs so far, both runs are in states
with the same skeleton, and the neighbour's numbers are the others plus fixed offsets δ; the draws so far are
one-to-one and cost at most `worst[skeleton]`.*

Start: the shifts are constants, so the offsets are what they add to the numbers of the first state (checked
to be constants). Step: for each skeleton that can be reached (a finite worklist), the step is proved like a
mechanism of its own on one answer, where the numbers of the state count as further answers, whose neighbours
are the same plus δ. What must come out equal is the entry, the skeleton of the next state, whether it stops,
and the next numbers up to δ. So the invariant holds again. The next skeleton and the draws must be
determined by the entry, so that the number of draws is determined by the output. A shift may use the state,
that is, earlier draws: recovered already, so one step at a time, each acyclic by itself, H' determines H.

Cost: worst[next] ≥ worst[skeleton] + the supremum of the step's cost. If this has a finite solution, its
largest value bounds the cost of every run on every number of answers. A loop with a positive cost has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import z3

from freegap.forms import Stream
from freegap.laws.labelled import LabelledNoise
from freegap.prover.check import check_laws
from freegap.prover.classes import OutputClass, classes_of
from freegap.prover.injective import check_injective
from freegap.prover.outputs import count_holes, flatten, half_holes, rebuild, show
from freegap.prover.pieces import PieceChecks, on_lattice, pieces_of
from freegap.prover.prices import require_price, scale_of
from freegap.prover.problem import NeighbourCase, Problem
from freegap.prover.report import CONDITIONS, Established, Proof, Tightness
from freegap.prover.tightness import Suprema
from freegap.symbolic import NotDecided, Path, Symbol, SymbolicNoise, real
from freegap.symbolic.subset import NoiseInterface, Trusted, follow, parameter
from freegap.symbolic.subset.machine import Machine
from freegap.symbolic.symbols import constant

__all__ = ["prove_stream"]

_MOST_STATES = 1000


def prove_stream(problem: Problem, form: Stream) -> Proof:
    """A proof for all n, or why there is none."""
    reason = None
    worst = Fraction(0)
    states = 0
    laws: set[str] = set()
    try:
        for direction in problem.directions:
            induction = _Induction(problem, form, direction)
            worst = max(worst, induction.run())
            over = induction.overcharge()
            if over > 0:
                raise NotDecided(f"some run costs {over} more than it is charged")
            states = max(states, len(induction.edges))
            laws |= induction.laws
        if worst > problem.epsilon:
            raise NotDecided(f"some run costs {worst}; prove a bounded size for a refutation")
    except NotDecided as undecided:
        reason = str(undecided)
    text = f"z3, one step from each of {states} kinds of state; induction over the steps"
    how = {
        "termination": "each step is finite",
        "draws": "the entries determine the state's skeleton and the draws",
        "noise": "; ".join(sorted(laws)),
        "support": text,
        "output": text,
        "cost": f"{text}; at most {worst} on any number of answers{_charged(form)}",
        "injective": "one step at a time, each by earlier draws",
        "countable": "finitely many for each n",
    }
    conditions = tuple(
        Established(
            name, True if reason is None else None, how[name] if reason is None else "not established"
        )
        for name in CONDITIONS
    )
    return Proof(
        holds=True if reason is None else None,
        claim=(
            f"stream is private at ε = {_claimed(problem, form)} for all n "
            f"({problem.neighbours}, Δ = {problem.sensitivity})"
        ),
        conditions=conditions,
        reason=reason,
        outputs=states,
        tightness=Tightness(worst, problem.epsilon, {}) if reason is None else None,
    )


def _claimed(problem: Problem, form: Stream) -> str:
    return f"{problem.epsilon}" if form.entry_charge is None else f"its charge, at most {problem.epsilon}"


def _charged(form: Stream) -> str:
    return "" if form.entry_charge is None else ", and no more than the charge of each output"


@dataclass(frozen=True)
class _Edge:
    target: Any
    cost: Fraction
    charge: Fraction
    stops: bool
    kinds: tuple[Any, ...]

    def agrees(self, other: _Edge) -> bool:
        """The same next state, from the same draws."""
        return (self.target, self.stops, self.kinds) == (other.target, other.stops, other.kinds)


class _Induction:
    """The reachable skeletons under one direction, and the costs of the steps between them."""

    def __init__(self, problem: Problem, form: Stream, direction: str) -> None:
        self.problem, self.form, self.direction = problem, form, direction
        self.edges: dict[Any, list[_Edge]] = {}
        self.laws: set[str] = set()

    def run(self) -> Fraction:
        """The largest cost of any run on any number of answers."""
        self.first, self.start_cost = self._start()
        ahead = [self.first]
        while ahead:
            skeleton = ahead.pop()
            if skeleton in self.edges:
                continue
            if len(self.edges) >= _MOST_STATES:
                raise NotDecided(f"more than {_MOST_STATES} kinds of state")
            self.edges[skeleton] = self._steps(skeleton)
            ahead += [edge.target for edge in self.edges[skeleton] if not edge.stops]
        return self._longest(self.start_cost, [edge.cost for edges in self.edges.values() for edge in edges])

    def overcharge(self) -> Fraction:
        """By how much some run, on any number of answers, costs more than its output is charged."""
        if self.form.entry_charge is None:
            return Fraction(0)
        (path,) = follow(_start_charge(self.form), [], limits=self.problem.limits)
        start = constant(path.result)
        if start is None:
            raise NotDecided("the charge of the start is not a number")
        weights = [edge.cost - edge.charge for edges in self.edges.values() for edge in edges]
        return self._longest(self.start_cost - start, weights)

    def _start(self) -> tuple[Any, Fraction]:
        noise = SymbolicNoise(prefix="start")
        paths = follow(self.form.start, [noise], limits=self.problem.limits)
        if len(paths) != 1:
            raise NotDecided("the start branches on its noise")
        shifts = self._start_shifts(paths[0])
        cost, moved = Fraction(0), {}
        for draw in paths[0].draws:
            law = draw.law
            require_price(law, f"draw {draw.label!r} at the start")
            shift = shifts.get(draw.label, Symbol.of(0)).as_constant()
            if shift is None:
                raise NotDecided(f"the draw {draw.label!r} at the start has no constant shift")
            if (law.one_sided and shift < 0) or (
                draw.resolution and (shift / draw.resolution).denominator != 1
            ):
                raise NotDecided(f"the draw {draw.label!r} at the start is moved off its support")
            self.laws.add(f"{law}: {law.price.value}")
            cost += law.price.of(shift, scale_of(draw), draw.step)
            moved[next(iter(draw.value.variables))] = draw.value + shift
        skeleton, numbers = flatten(paths[0].result)
        offsets = [(number.substitute(moved) - number).as_constant() for number in numbers]
        if any(offset is None for offset in offsets):
            raise NotDecided("the states of the two runs do not differ by constants at the start")
        self.offsets = tuple(offset for offset in offsets if offset is not None)
        self._require_lattice(numbers)
        return skeleton, cost

    def _start_shifts(self, start: Path) -> dict[Any, Symbol]:
        (path,) = follow(self.form.start_shifts, [self.direction], limits=self.problem.limits)
        labels = {draw.label for draw in start.draws}
        if type(path.result) is not dict or not path.result.keys() <= labels:
            raise NotDecided(
                f"start_shifts must return shifts of the draws of the start: {sorted(map(str, labels))}"
            )
        if any(constant(shift) is None for shift in path.result.values()):
            raise NotDecided("a shift at the start is not a number")
        return {label: Symbol.of(shift) for label, shift in path.result.items()}

    def _require_lattice(self, numbers: Iterable[Symbol]) -> None:
        """With a resolution, the numbers of a state are taken for multiples of it: so they must be."""
        resolution = self.problem.resolution
        if resolution is not None and not all(on_lattice(number, resolution) for number in numbers):
            raise NotDecided("the numbers of a state are not multiples of the resolution")

    def _steps(self, skeleton: Any) -> list[_Edge]:
        step = self._step_problem(skeleton)
        classes = classes_of(step)
        self.laws.update(check_laws(classes).split("; "))
        edges: list[tuple[Any, _Edge]] = []
        suprema = Suprema()
        for output in classes:
            entry, target, stops = self._parts(output)
            cost = self._prove_step(step, skeleton, output, suprema)
            edge = _Edge(target, cost, self._charge(entry), stops, output.kinds)
            for other, known in edges:
                # Not only equal entries: a number that varies can be the number that another entry has.
                if half_holes(entry, other) is not None and not known.agrees(edge):
                    raise NotDecided(
                        f"the entry {show(entry)} does not determine the draws and the next state"
                    )
            edges.append((entry, edge))
        return [edge for _, edge in edges]

    def _charge(self, entry: Any) -> Fraction:
        """The least that this kind of entry is charged."""
        if self.form.entry_charge is None:
            return Fraction(0)
        numbers = [real(f"released[{i}]") for i in range(count_holes(entry))]
        paths = follow(self.form.entry_charge, [rebuild(entry, numbers)], limits=self.problem.limits)
        charges = [constant(path.result) for path in paths]
        if any(charge is None for charge in charges):
            raise NotDecided(f"the charge of the entry {show(entry)} depends on the released numbers")
        return min(charge for charge in charges if charge is not None)

    def _parts(self, output: OutputClass) -> tuple[Any, Any, bool]:
        """Entry, next state and whether to stop, as skeletons; the next state has the offsets' numbers."""
        entry, state, stop = output.skeleton.children
        for released in output.numbers:
            self._require_lattice([] if stop.value else released[-len(self.offsets) :])
        skeleton, numbers = flatten(rebuild(state, output.released))
        if not stop.value and len(numbers) != len(self.offsets):
            raise NotDecided("the numbers of the state do not stay as many as at the start")
        return flatten(rebuild(entry, output.released))[0], skeleton, stop.value

    def _step_problem(self, skeleton: Any) -> Problem:
        """One step as a mechanism: the answer, and the numbers of the state as further answers."""

        def parts(found: Any) -> tuple[Any, Any, bool]:
            if type(found) is not tuple or len(found) != 3 or type(found[2]) is not bool:
                raise NotDecided("a step must return (state, entry, whether to stop: True or False)")
            state, entry, stop = found
            return entry, None if stop else state, stop

        def meaning(machine: Machine, answers: list[Any], noise: NoiseInterface) -> Any:
            state = rebuild(skeleton, answers[1:])
            return parts(machine.call(self.form.step, [state, answers[0], noise]))

        def on_numbers(answers: list[Any], noise: LabelledNoise[Any]) -> Any:
            return parts(self.form.step(rebuild(skeleton, answers[1:]), answers[0], noise))

        step = replace(
            self.problem,
            mechanism=Trusted(meaning, on_numbers),
            queries=1 + len(self.offsets),
            neighbours=self.direction,
            parameters={},
            charge=None,
        )
        moves = replace(step, queries=1).cases[0].formula
        kept = [
            p.z3 == (q + offset).z3
            for q, p, offset in zip(step.answers[1:], step.neighbour[1:], self.offsets, strict=True)
        ]
        return replace(step, custom_cases=(NeighbourCase(self.direction, z3.And(moves, *kept)),))

    def _prove_step(self, step: Problem, skeleton: Any, output: OutputClass, suprema: Suprema) -> Fraction:
        """The largest cost of this step with this entry, which is proved to be aligned."""

        def moved(shifts: Any, noise: Mapping[Any, Any]) -> Any:
            if type(shifts) is not dict or not shifts.keys() <= noise.keys():
                raise NotDecided(
                    f"step_shifts must return shifts of the draws of the step: {sorted(map(str, noise))}"
                )
            if not all(type(shift) is Symbol or constant(shift) is not None for shift in shifts.values()):
                raise NotDecided("a shift of a step is not a number")
            return {label: noise[label] + shift for label, shift in shifts.items()}

        def meaning(
            machine: Machine, answers: Any, neighbour: Any, value: Any, noise: Mapping[Any, Any]
        ) -> Any:
            state = rebuild(skeleton, answers[1:])
            given = [self.direction, state, value[0], answers[0], neighbour[0]]
            return moved(machine.call(self.form.step_shifts, given), noise)

        def on_numbers(answers: Any, neighbour: Any, value: Any, noise: Mapping[Any, Any]) -> Any:
            state = rebuild(skeleton, answers[1:])
            given = [self.direction, state, value[0], answers[0], neighbour[0]]
            return moved(self.form.step_shifts(*given), noise)

        alignment = Trusted(meaning, on_numbers)
        _, _, stop = output.skeleton.children
        entry_numbers = len(output.released) - (0 if stop.value else len(self.offsets))
        offsets = (Fraction(0),) * entry_numbers + (() if stop.value else self.offsets)
        shifted = replace(output, offsets=offsets)
        (case,) = step.cases
        pieces = pieces_of(shifted, case, alignment)
        checks = PieceChecks(shifted, case)
        for piece in pieces:
            with checks.at(piece):
                found = checks.violation(piece)
                if found is not None:
                    raise NotDecided(
                        f"the {found[0]} is not established for the entry {output.name}; "
                        "prove a bounded size for a refutation"
                    )
                suprema.add(checks, piece)
        # Acyclic, and not only one-to-one for the same next state, which is not released.
        if check_injective(shifted, case, pieces) != "acyclic":
            raise NotDecided(f"the alignment for the entry {output.name} is not acyclic")
        return suprema.of(shifted)

    def _longest(self, start: Fraction, weights: Iterable[Fraction]) -> Fraction:
        """The largest sum along any run, with one weight for each edge in order."""
        given = iter(weights)
        weighted = {source: [(edge, next(given)) for edge in edges] for source, edges in self.edges.items()}
        worst = {self.first: start}
        largest = start
        for _ in range(len(self.edges) + 1):
            changed = False
            for source, edges in weighted.items():
                if source not in worst:
                    continue
                for edge, weight in edges:
                    total = worst[source] + weight
                    largest = max(largest, total)
                    if not edge.stops and (edge.target not in worst or total > worst[edge.target]):
                        worst[edge.target] = total
                        changed = True
            if not changed:
                return largest
        raise NotDecided("the cost grows with the number of answers")


def _start_charge(form: Stream) -> Trusted:
    def meaning(machine: Any) -> Any:
        return machine.outside(form.start_charge, "start_charge")

    return Trusted(meaning, lambda: parameter(form.start_charge))
