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

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import z3

from freegap.prove.classes import OutputClass, classes_of
from freegap.prove.forms import Stream
from freegap.prove.injective import check_injective
from freegap.prove.laws import LAWS
from freegap.prove.outputs import flatten, rebuild, show
from freegap.prove.pieces import PieceChecks, on_lattice, pieces_of, scale_of
from freegap.prove.problem import Case, Problem
from freegap.prove.prover import check_laws
from freegap.prove.report import CONDITIONS, Established, Proof, Tightness
from freegap.prove.tightness import Suprema
from freegap.symbolic import NotDecided, Symbol, SymbolicNoise, explore

__all__ = ["prove_stream"]

_MOST_STATES = 1000


def prove_stream(problem: Problem, form: Stream) -> Proof:
    """A proof for all n, or why there is none."""
    reason = None
    worst = Fraction(0)
    states = 0
    laws: set[str] = set()
    try:
        names = {"monotonic": ["increasing", "decreasing"], "one": ["each"]}
        for direction in names.get(problem.relation, [problem.relation]):
            induction = _Induction(problem, form, direction)
            worst = max(worst, induction.run())
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
        "cost": f"{text}; at most {worst} on any number of answers",
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
            f"stream is private at ε = {problem.epsilon} for all n "
            f"({problem.relation}, Δ = {problem.sensitivity})"
        ),
        conditions=conditions,
        reason=reason,
        outputs=states,
        tightness=Tightness(worst, problem.epsilon, {}) if reason is None else None,
    )


@dataclass(frozen=True)
class _Edge:
    target: Any
    cost: Fraction
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
        first, cost = self._start()
        ahead = [first]
        while ahead:
            skeleton = ahead.pop()
            if skeleton in self.edges:
                continue
            if len(self.edges) >= _MOST_STATES:
                raise NotDecided(f"more than {_MOST_STATES} kinds of state")
            self.edges[skeleton] = self._steps(skeleton)
            ahead += [edge.target for edge in self.edges[skeleton] if not edge.stops]
        return self._longest(first, cost)

    def _start(self) -> tuple[Any, Fraction]:
        noise = SymbolicNoise(prefix="start")
        paths = explore(self.form.start, [noise], limits=self.problem.limits)
        if len(paths) != 1:
            raise NotDecided("the start branches on its noise")
        shifts = {label: Symbol.of(s) for label, s in self.form.start_shifts(self.direction).items()}
        cost, moved = Fraction(0), {}
        for draw in paths[0].draws:
            law = LAWS.get(draw.law)
            shift = shifts.get(draw.label, Symbol.of(0)).as_constant()
            if law is None or shift is None:
                raise NotDecided(f"the draw {draw.label!r} at the start: no bound, or no constant shift")
            if (law.one_sided and shift < 0) or (draw.grid and (shift / draw.grid).denominator != 1):
                raise NotDecided(f"the draw {draw.label!r} at the start is moved off its support")
            self.laws.add(f"{draw.law}: {law.bound}")
            cost += law.price(shift, scale_of(draw), draw.step)
            moved[next(iter(draw.value.variables))] = draw.value + shift
        skeleton, numbers = flatten(paths[0].result)
        offsets = [(number.substitute(moved) - number).as_constant() for number in numbers]
        if any(offset is None for offset in offsets):
            raise NotDecided("the states of the two runs do not differ by constants at the start")
        self.offsets = tuple(offset for offset in offsets if offset is not None)
        self._require_lattice(numbers)
        return skeleton, cost

    def _require_lattice(self, numbers: Iterable[Symbol]) -> None:
        """With a grid, the numbers of a state are taken for multiples of it: so they must be."""
        grid = self.problem.grid
        if grid is not None and not all(on_lattice(number, grid) for number in numbers):
            raise NotDecided("the numbers of a state leave the grid")

    def _steps(self, skeleton: Any) -> list[_Edge]:
        step = self._step_problem(skeleton)
        classes = classes_of(step)
        self.laws.update(check_laws(classes).split("; "))
        edges: dict[Any, _Edge] = {}
        suprema = Suprema()
        for output in classes:
            entry, target, stops = self._parts(output)
            edge = _Edge(target, self._prove_step(step, skeleton, output, suprema), stops, output.kinds)
            if entry in edges and not edges[entry].agrees(edge):
                raise NotDecided(f"the entry {show(entry)} does not determine the draws and the next state")
            edges[entry] = max(edge, edges.get(entry, edge), key=lambda e: e.cost)
        return list(edges.values())

    def _parts(self, output: OutputClass) -> tuple[Any, Any, bool]:
        """Entry, next state and whether to stop, as skeletons; the next state has the offsets' numbers."""
        entry, state, stop = output.skeleton.children
        for released in output.numbers:
            self._require_lattice([] if state is None else released[-len(self.offsets) :])
        skeleton, numbers = flatten(rebuild(state, output.released))
        if not isinstance(stop, bool):
            raise NotDecided("whether to stop must be True or False")
        if not stop and len(numbers) != len(self.offsets):
            raise NotDecided("the numbers of the state do not stay as many as at the start")
        return flatten(rebuild(entry, output.released))[0], skeleton, stop

    def _step_problem(self, skeleton: Any) -> Problem:
        """One step as a mechanism: the answer, and the numbers of the state as further answers."""

        def mechanism(answers: list[Any], noise: Any) -> tuple[Any, Any, bool]:
            state, entry, stop = self.form.step(rebuild(skeleton, answers[1:]), answers[0], noise)
            return entry, None if stop else state, bool(stop)

        step = replace(
            self.problem,
            mechanism=mechanism,
            queries=1 + len(self.offsets),
            relation=self.direction,
            parameters={},
            charge=None,
        )
        moves = replace(step, queries=1).cases[0].formula
        kept = [
            p.z3 == (q + offset).z3
            for q, p, offset in zip(step.answers[1:], step.neighbour[1:], self.offsets, strict=True)
        ]
        return replace(step, custom_cases=(Case(self.direction, z3.And(moves, *kept)),))

    def _prove_step(self, step: Problem, skeleton: Any, output: OutputClass, suprema: Suprema) -> Fraction:
        """The largest cost of this step with this entry, which is proved to be aligned."""

        def alignment(answers: list[Any], neighbour: list[Any], value: Any, noise: dict[Any, Any]) -> Any:
            shifts = self.form.step_shifts(
                self.direction, rebuild(skeleton, answers[1:]), value[0], answers[0], neighbour[0]
            )
            return {label: noise[label] + shift for label, shift in shifts.items()}

        _, state, _ = output.skeleton.children
        entry_numbers = len(output.released) - (0 if state is None else len(self.offsets))
        offsets = (Fraction(0),) * entry_numbers + (() if state is None else self.offsets)
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

    def _longest(self, first: Any, cost: Fraction) -> Fraction:
        worst = {first: cost}
        largest = cost
        for _ in range(len(self.edges) + 1):
            changed = False
            for source, edges in self.edges.items():
                if source not in worst:
                    continue
                for edge in edges:
                    total = worst[source] + edge.cost
                    largest = max(largest, total)
                    if not edge.stops and total > worst.get(edge.target, Fraction(-1)):
                        worst[edge.target] = total
                        changed = True
            if not changed:
                return largest
        raise NotDecided("the cost grows with the number of answers")
