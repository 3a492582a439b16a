"""A search for an alignment: propose one that works at all points seen so far, refute it, and repeat.

Local alignments of different outputs have nothing to do with each other, so each kind of output is
searched by itself, and each case of the neighbours too. A proposal is a solution, over the
choices of the template, of: the neighbour gives the same output at every point seen so far, the noise is
possible, and the cost is within the bound. The checks of a proof then confirm it everywhere or give a new
point. A confirmed proposal lowers the bound below its largest cost, until none is left: the last one is
optimal in the template.

The whole is then written as Python text, compiled, and proved like an alignment that a person wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import z3

from freegap.prover.check import Progress, check_draws, check_laws, claim_of, prove_alignment
from freegap.prover.classes import classes_of
from freegap.prover.pieces import Piece, PieceChecks, Point, pieces_of
from freegap.prover.prices import scale_of
from freegap.prover.problem import Alignment, NeighbourCase, Problem
from freegap.prover.replay import replay_or_refuse
from freegap.prover.report import CONDITIONS, Established, Proof, Refutation
from freegap.prover.templates import Shift, Template, compiled, source_of, templates_of
from freegap.prover.tightness import NEAR, Suprema
from freegap.symbolic import NotDecided, OutOfTime, Symbol

_MOST_ROUNDS = 400


def synthesise(problem: Problem, *, tightness: bool = True, progress: Progress | None = None) -> Proof:
    """A proof with an alignment that was found, or why none was found.

    That the template has no alignment is no refutation of the mechanism: `holds` is then None.
    """
    report = progress or (lambda what, done, total: None)
    given = problem
    problem = replace(given, limits=replace(given.limits, certificate=None))  # a search proves nothing
    templates: list[Template] = []
    found: list[list[tuple[Template, Mapping[Any, Shift]]]] = []
    try:
        classes = classes_of(problem)
        check_draws(classes)
        check_laws(classes)
        templates = templates_of(classes)
        for place, case in enumerate(problem.cases):
            found.append([])
            for done, template in enumerate(templates):
                report("search", place * len(templates) + done, len(problem.cases) * len(templates))
                search = _ShiftSearch(template, case)
                chosen = search.best()
                if chosen is None:
                    return _nothing(problem, template, search)
                found[-1].append((template, chosen))
        source = source_of([case.name for case in problem.cases], found)
    except OutOfTime as late:
        kinds = len(templates) * len(problem.cases)
        known = f"an alignment is known for {sum(map(len, found))} of {kinds} kinds of output"
        return _undecided(problem, f"{late}; {known if kinds else 'not all paths are known'}")
    except NotDecided as undecided:
        return _undecided(problem, str(undecided))
    proof = prove_alignment(given, compiled(source), tightness=tightness, progress=progress)
    if proof.holds is False:
        return _undecided(problem, "the alignment that was found does not hold as a whole", proof.refutation)
    return replace(proof, alignment_source=source)


def _undecided(problem: Problem, reason: str, refutation: Refutation | None = None) -> Proof:
    conditions = tuple(Established(name, None, "no alignment was found") for name in CONDITIONS)
    return Proof(
        None, claim_of(problem), conditions, refutation=refutation, reason=reason, queries=problem.queries
    )


def _nothing(problem: Problem, template: Template, search: _ShiftSearch) -> Proof:
    reason = (
        f"no alignment in the template gives {template.output.name} on all neighbours within its charge "
        f"({len(search.points)} points rule all of them out). If you know one, pass it: fg.prove(mechanism, "
        "alignment, …), where alignment(answers, neighbour, output, noise) is for instance "
        "{'x': noise['x'] + answers[0] - neighbour[0]}"
    )
    return _undecided(problem, reason, search.refutation)


@dataclass(frozen=True)
class _Proposal:
    chosen: Mapping[Any, Shift]
    alignment: Alignment


class _ShiftSearch:
    """Proposals and points for one kind of output and one case of the neighbours."""

    def __init__(self, template: Template, case: NeighbourCase) -> None:
        self.template, self.case = template, case
        self.output = template.output
        self.problem = template.output.problem
        self.points: list[Point] = []
        self.refutation: Refutation | None = None
        self._picks = {
            label: [z3.Bool(f"pick[{label!r}][{c}]") for c in range(len(choices))]
            for label, choices in template.choices.items()
        }
        self._plain = [
            z3.Not(pick)
            for label, picks in self._picks.items()
            for pick, choice in zip(picks, template.choices[label], strict=True)
            if choice.uses_rise
        ]
        self._solver = self.problem.limits.solver("a search")
        for picks in self._picks.values():
            self._solver.add(z3.PbEq([(pick, 1) for pick in picks], 1))

    def best(self) -> Mapping[Any, Shift] | None:
        """The choices of smallest largest cost; None if no choices work."""
        best = None
        bound: Fraction | None = None
        for _ in range(_MOST_ROUNDS):
            proposal = self._propose()
            if proposal is None:
                return best
            point, largest = self._verify(proposal, bound)
            if point is not None:
                self._learn(point, bound)
                if best is None:
                    self._remember(proposal, point)
                continue
            best, bound = proposal.chosen, largest - NEAR
            for known in self.points:
                self._bound_cost(known, bound)
            self._forbid(proposal)
        raise NotDecided(f"the search for {self.output.name} did not end after {_MOST_ROUNDS} proposals")

    def _propose(self) -> _Proposal | None:
        """Choices that work at all points so far; without a maximum, which has many pieces, if there are."""
        answer = self._solver.check(*self._plain)
        if answer != z3.sat:
            answer = self._solver.check()
        if answer == z3.unknown:
            raise NotDecided(f"z3 did not decide which alignment of {self.output.name} to try")
        if answer == z3.unsat:
            return None
        model = self._solver.model()
        chosen = {
            label: next(c for c, pick in zip(self.template.choices[label], picks, strict=True) if model[pick])
            for label, picks in self._picks.items()
        }
        return _Proposal(chosen, self.template.alignment(chosen))

    def _verify(self, proposal: _Proposal, bound: Fraction | None) -> tuple[Point | None, Fraction]:
        """A point at which the proposal fails or costs more than the bound; else its largest cost."""
        checks = PieceChecks(self.output, self.case)
        suprema = Suprema()
        for piece in self._pieces(proposal):
            limited = piece if bound is None else replace(piece, charge=Symbol.of(bound))
            with checks.at(limited):
                found = checks.violation(limited)
                if found is not None:
                    return found[1], Fraction(0)
                suprema.add(checks, limited)
        return None, suprema.of(self.output)

    def _pieces(self, proposal: _Proposal) -> list[Piece]:
        if self.problem.charge is not None:
            return pieces_of(self.output, self.case, proposal.alignment)
        return self.template.pieces(proposal.chosen, Symbol.of(self.problem.epsilon))

    def _learn(self, point: Point, bound: Fraction | None) -> None:
        """Only choices that work at this point from now on."""
        place = len(self.points)
        self.points.append(point)
        values = self.template.values(point.answers, point.neighbour, point.noise)
        problem, output = self.problem, self.output
        known = [
            *zip(problem.answers, point.answers, strict=True),
            *zip(problem.neighbour, point.neighbour, strict=True),
            *((output.noise[label], value) for label, value in point.noise.items()),
        ]
        substitution = [_numeral_pair(symbol, value) for symbol, value in known]
        for i, released in enumerate(output.released):
            substitution.append((released.z3, z3.Real(f"point {place}, output {i}")))
        for draw in output.draws:
            total = z3.Real(f"point {place}, aligned {draw.label!r}")
            substitution.append((output.aligned[draw.label].z3, total))
            drawn = point.noise[draw.label]
            for pick, shift in zip(self._picks[draw.label], values[draw.label], strict=True):
                self._solver.add(z3.Implies(pick, total == Symbol.of(drawn + shift).z3))
                off = draw.resolution is not None and (shift / draw.resolution).denominator != 1
                if off or (draw.law.one_sided and drawn + shift < 0):
                    self._solver.add(z3.Not(pick))
        for formula in (output.before, output.after):
            self._solver.add(z3.substitute(formula, *substitution))
        self._bound_cost(point, self._charge(point) if bound is None else bound)

    def _charge(self, point: Point) -> Fraction:
        if self.problem.charge is None:
            return self.problem.epsilon
        return replay_or_refuse(
            self.problem, lambda *_: {}, point.answers, point.neighbour, point.noise
        ).charge

    def _bound_cost(self, point: Point, bound: Fraction) -> None:
        values = self.template.values(point.answers, point.neighbour, point.noise)
        terms = []
        for draw in self.output.draws:
            law, scale = draw.law, scale_of(draw)
            for pick, shift in zip(self._picks[draw.label], values[draw.label], strict=True):
                terms.append(
                    z3.If(pick, Symbol.of(law.price.of(shift, scale, draw.step)).z3, Symbol.of(0).z3)
                )
        self._solver.add(z3.Sum(terms) <= Symbol.of(bound).z3)

    def _forbid(self, proposal: _Proposal) -> None:
        taken = [
            pick
            for label, picks in self._picks.items()
            for pick, choice in zip(picks, self.template.choices[label], strict=True)
            if choice is proposal.chosen[label]
        ]
        self._solver.add(z3.Not(z3.And(taken)))

    def _remember(self, proposal: _Proposal, point: Point) -> None:
        try:
            run = replay_or_refuse(
                self.problem, proposal.alignment, point.answers, point.neighbour, point.noise
            )
        except NotDecided:  # a point at which post-processing has no value is no example to show
            return
        condition = "support" if run.off_support else "cost" if run.same_output else "output"
        self.refutation = Refutation.of(condition, run)


def _numeral_pair(symbol: Symbol, value: Fraction) -> tuple[Any, Any]:
    (variable,) = symbol.variables
    if variable.resolution is None:
        return variable.z3, Symbol.of(value).z3
    return z3.Int(variable.name), z3.IntVal(int(value / variable.resolution))
