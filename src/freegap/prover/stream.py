"""Proofs for every number of answers, one step at a time.

The state after any number of steps has a skeleton (everything discrete: counters, budgets spent) and
numbers. The invariant, by induction over the steps: *after the same outputs so far, both runs are in states
with the same skeleton, and the neighbour's numbers are the others plus known offsets δ; the draws so far are
one-to-one and cost at most `worst[situation]`.*

Start: the shifts are constants, so the offsets are what they add to the numbers of the first state (checked
to be constants). Step: for each situation that can be reached (a skeleton and its offsets; a finite
worklist), the step is proved like a mechanism of its own on one answer (`freegap.prover.steps`), where the
numbers of the state count as further answers, whose neighbours are the same plus δ. What must come out equal
is the entry, the skeleton of the next state, whether it stops, and the next numbers up to the next offsets,
which are read off one path and then proved for all of them. So the invariant holds again. The next skeleton
and the draws must be determined by the entry, so that the number of draws is determined by the output. A
shift may use the state, that is, earlier draws: recovered already, so one step at a time, each acyclic by
itself, H' determines H.

One answer moves ("one"): a difference that is spent once. Let d be what that answer is larger by on the
neighbour, |d| ≤ Δ. Before its step both runs see the same answers; at its step the neighbour's is the other
plus d; from then on they see the same again, but the numbers of the state may differ by polynomials in d. So
offsets are polynomials in d, the situation says whether d was seen, and each of the three kinds of steps is
proved for all d.

Cost: worst[next] ≥ worst[situation] + the supremum of the step's cost. If this has a finite solution, its
largest value bounds the cost of every run on every number of answers. A loop with a positive cost has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Any

import z3

from freegap.forms import Stream
from freegap.prover.check import check_laws
from freegap.prover.classes import OutputClass, classes_of
from freegap.prover.outputs import count_holes, flatten, half_holes, is_processed, rebuild, show
from freegap.prover.pieces import Piece, on_lattice, pieces_of
from freegap.prover.prices import require_price, scale_of
from freegap.prover.problem import NeighbourCase, Problem
from freegap.prover.report import Proof, Tightness
from freegap.prover.steps import (
    established,
    kept_numbers,
    offset_formulas,
    proved,
    require_typed_entry,
    step_alignment,
    step_program,
    with_offsets,
)
from freegap.prover.tightness import Suprema
from freegap.symbolic import NotDecided, Path, Symbol, SymbolicNoise, SymbolicVariable, integer, real
from freegap.symbolic.subset import Trusted, follow, parameter
from freegap.symbolic.symbols import constant
from freegap.values.neighbours import directions_of

_MOST_STATES = 1000


def prove_stream(problem: Problem, form: Stream) -> Proof:
    """A proof for all n, or why there is none."""
    reason = None
    worst = Fraction(0)
    states = 0
    laws: set[str] = set()
    try:
        for direction in directions_of(problem.neighbours):
            induction = Induction(problem, form, direction)
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
    return Proof(
        holds=True if reason is None else None,
        claim=(
            f"stream is private at ε = {_claimed(problem, form)} for all n "
            f"({problem.neighbours}, Δ = {problem.sensitivity})"
        ),
        conditions=established(how, reason),
        reason=reason,
        outputs=states,
        tightness=Tightness(worst, problem.epsilon, {}) if reason is None else None,
    )


def most_chosen(problem: Problem, form: Stream) -> Fraction:
    """How many entries of an output are not None, at most, for all n; `NotDecided` if there is no bound."""
    found = Fraction(0)
    for direction in directions_of(problem.neighbours):
        induction = Induction(problem, form, direction)
        induction.run()
        found = max(found, induction.chosen())
    return found


def _claimed(problem: Problem, form: Stream) -> str:
    return f"{problem.epsilon}" if form.entry_charge is None else f"its charge, at most {problem.epsilon}"


def _charged(form: Stream) -> str:
    return "" if form.entry_charge is None else ", and no more than the charge of each output"


@dataclass(frozen=True, eq=False)
class Situation:
    """A kind of state, and what the neighbour's is."""

    skeleton: Any
    offsets: tuple[Symbol, ...]
    seen: bool
    """Whether the one answer that differs was seen; False for ever where each may differ."""
    ended: bool = False

    @property
    def key(self) -> Any:
        """Equal for situations that are proved at once."""
        return self.skeleton, tuple(offset.key for offset in self.offsets), self.seen, self.ended


@dataclass(frozen=True)
class Edge:
    """A step, or the end: where it leads, and what it costs and is charged."""

    target: Situation | None
    cost: Fraction
    charge: Fraction
    chosen: bool
    """Whether it is the entry of an answer, and not None."""


@dataclass(frozen=True)
class Move:
    """How the answer of a step differs on the neighbour.

    there: the neighbour's answer in terms of the answer and d; None where it is any that is near.
    seen: whether d was seen, after the step.
    """

    name: str
    formula: Any
    there: Symbol | None
    seen: bool


class Induction:
    """The situations that can be reached under one direction, and the costs of the steps between them."""

    def __init__(self, problem: Problem, form: Stream, direction: str) -> None:
        self.problem, self.form = problem, form
        self.one = direction == "one"
        self.direction = "each" if self.one else direction
        width = problem.resolution
        self.change = real("change") if width is None else integer("change", width)
        self.edges: dict[Any, list[Edge]] = {}
        self.laws: set[str] = set()
        self._classes: dict[Any, list[OutputClass]] = {}

    def run(self) -> Fraction:
        """The largest cost of any run on any number of answers."""
        self.first, self.start_cost = self._start()
        ahead = [self.first]
        while ahead:
            here = ahead.pop()
            if here.key in self.edges:
                continue
            if len(self.edges) >= _MOST_STATES:
                raise NotDecided(f"more than {_MOST_STATES} kinds of state")
            self.edges[here.key] = list(self._steps(here))
            ahead += [edge.target for edge in self.edges[here.key] if edge.target is not None]
        return self._longest(self.start_cost, [edge.cost for edge in self._all_edges()])

    def _all_edges(self) -> Iterator[Edge]:
        return chain.from_iterable(self.edges.values())

    def chosen(self) -> Fraction:
        """How many entries of any run are not None, at most."""
        return self._longest(Fraction(0), [Fraction(edge.chosen) for edge in self._all_edges()])

    def overcharge(self) -> Fraction:
        """By how much some run, on any number of answers, costs more than its output is charged."""
        if self.form.entry_charge is None:
            return Fraction(0)
        (path,) = follow(_start_charge(self.form), [], limits=self.problem.limits)
        start = constant(path.result)
        if start is None:
            raise NotDecided("the charge of the start is not a number")
        weights = [edge.cost - edge.charge for edge in self._all_edges()]
        return self._longest(self.start_cost - start, weights)

    def _start(self) -> tuple[Situation, Fraction]:
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
        offsets = tuple(number.substitute(moved) - number for number in numbers)
        if any(offset.variables for offset in offsets):
            raise NotDecided("the states of the two runs do not differ by constants at the start")
        self._require_lattice(numbers)
        return Situation(skeleton, offsets, seen=False), cost

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

    # Steps -----------------------------------------------------------------------------------------------

    def _steps(self, here: Situation) -> Iterator[Edge]:
        """What can follow: a step, however its answer may move, and the end."""
        if not here.ended:
            for move in self._moves(here):
                yield from self._edges(here, move, ending=False)
        if self.form.finish is not None:
            yield from self._edges(here, self._move("the end", here, Symbol.of(0), here.seen), ending=True)

    def _moves(self, here: Situation) -> list[Move]:
        step = self._problem(here.skeleton, ending=False)
        if not self.one:
            return [Move(self.direction, replace(step, queries=1).cases[0].formula, None, seen=False)]
        moves = [self._move("one, and this answer stays", here, Symbol.of(0), here.seen)]
        if not here.seen:
            moves.append(self._move("one, and this answer moves", here, self.change, seen=True))
        return moves

    def _move(self, name: str, here: Situation, by: Symbol, seen: bool) -> Move:
        step = self._problem(here.skeleton, ending=False)
        delta = Symbol.of(self.problem.sensitivity).z3
        there = step.answers[0] + by
        sizes = [self.change.z3 <= delta, (-self.change).z3 <= delta]
        return Move(name, z3.And(step.neighbour[0].z3 == there.z3, *sizes), there, seen)

    def _problem(self, skeleton: Any, *, ending: bool) -> Problem:
        return replace(
            self.problem,
            mechanism=step_program(self.form, skeleton, ending=ending),
            queries=1 + count_holes(skeleton),
            neighbours=self.direction,
            parameters={},
            charge=None,
        )

    def _edges(self, here: Situation, move: Move, *, ending: bool) -> Iterator[Edge]:
        alignment = step_alignment(self.form, self.direction, here.skeleton, ending=ending)
        suprema = Suprema()
        for output in self._outputs(here.skeleton, ending=ending):
            step = output.problem
            case = NeighbourCase(move.name, z3.And(move.formula, *offset_formulas(step, here.offsets)))
            pieces = pieces_of(output, case, alignment)
            entry, skeleton, stops = parts_of(output)
            offsets = self._offsets(here, move, output, pieces)
            cost = proved(with_offsets(output, offsets), case, pieces, suprema)
            last = ending or (stops and self.form.finish is None)
            target = None if last else Situation(skeleton, offsets, move.seen, ended=stops)
            chosen = not ending and entry != flatten(None)[0]
            yield Edge(target, cost, self._charge(entry), chosen)

    def _outputs(self, skeleton: Any, *, ending: bool) -> list[OutputClass]:
        """The kinds of output of a step, of which the entry determines the draws and the next skeleton."""
        found = self._classes.get((skeleton, ending))
        if found is not None:
            return found
        found = classes_of(self._problem(skeleton, ending=ending))
        self.laws.update(check_laws(found).split("; "))
        for one, other in combinations(found, 2):
            # Not only equal entries: a number that varies can be the number that another entry has.
            (entry, *after), (other_entry, *other_after) = parts_of(one), parts_of(other)
            alike = (after, one.kinds) == (other_after, other.kinds)
            if half_holes(entry, other_entry) is not None and not alike:
                raise NotDecided(f"the entry {show(entry)} does not determine the draws and the next state")
        for output in found:
            require_typed_entry(output)
            for numbers in output.numbers:
                self._require_lattice(numbers[len(numbers) - kept_numbers(output) :])
        self._classes[skeleton, ending] = found
        return found

    def _offsets(
        self, here: Situation, move: Move, output: OutputClass, pieces: list[Piece]
    ) -> tuple[Symbol, ...]:
        """By how much the neighbour's next numbers are larger, if one path tells: to be proved for all."""
        step, kept = output.problem, kept_numbers(output)
        back = {
            _variable(p): q + offset
            for q, p, offset in zip(step.answers[1:], step.neighbour[1:], here.offsets, strict=True)
        }
        if move.there is not None:
            back[_variable(step.neighbour[0])] = move.there
        known = self.change.variables if move.seen else frozenset()
        for piece, numbers in product(pieces, output.numbers):
            moved = {_variable(draw.value): draw.value + piece.shifts[draw.label] for draw in output.draws}
            next_numbers = numbers[len(numbers) - kept :]
            found = tuple(n.substitute(step.to_neighbour | moved).substitute(back) - n for n in next_numbers)
            if all(offset.variables <= known for offset in found):
                self._require_lattice(found)
                return found
        raise NotDecided(f"the states of the two runs do not differ by constants after {output.name}")

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

    def _longest(self, start: Fraction, weights: Iterable[Fraction]) -> Fraction:
        """The largest sum along any run, with one weight for each edge in order."""
        given = iter(weights)
        weighted = {source: [(edge, next(given)) for edge in edges] for source, edges in self.edges.items()}
        worst = {self.first.key: start}
        largest = start
        for _ in range(len(self.edges) + 1):
            changed = False
            for source, edges in weighted.items():
                if source not in worst:
                    continue
                for edge, weight in edges:
                    total = worst[source] + weight
                    largest = max(largest, total)
                    target = None if edge.target is None else edge.target.key
                    if target is not None and (target not in worst or total > worst[target]):
                        worst[target] = total
                        changed = True
            if not changed:
                return largest
        raise NotDecided("the cost, or what is chosen, grows with the number of answers")


def parts_of(output: OutputClass) -> tuple[Any, Any, bool]:
    """Entry, next state and whether to stop, as skeletons."""
    entry, state, stop = output.skeleton.children
    if is_processed(state):
        raise NotDecided("a state holds a number that was rounded or divided: it is told when it is put out")
    entry, state = (flatten(rebuild(part, output.released))[0] for part in (entry, state))
    return entry, state, stop.value


def _variable(symbol: Symbol) -> SymbolicVariable:
    (variable,) = symbol.variables
    return variable


def _start_charge(form: Stream) -> Trusted:
    def meaning(machine: Any) -> Any:
        return machine.outside(form.start_charge, "start_charge")

    return Trusted(meaning, lambda: parameter(form.start_charge))
