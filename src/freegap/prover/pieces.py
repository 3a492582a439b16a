"""The alignment as a finite table, and the checks of each entry.

For one output class and one case of what neighbours may be, exploring the alignment's own program gives
its pieces: on each, every shift H'ⱼ − Hⱼ is one polynomial. A check asks z3 for a point of
{(q, q', H, ω) : q ∼ q', M(q, H) = ω, the piece's conditions} that breaks it, so "unsat" on all pieces of
all classes and cases is the statement for all answers, all neighbours, all noise (up to a null set) and
all outputs of this size:

    support   H' lies in the support of its laws (definition 5.1, part 1)
    output    M(q', H') = ω (definition 5.2)
    cost      Σ price(H'ⱼ − Hⱼ) ≤ charge(ω) (definition 5.4; condition 4 of lemma 5.1)

"sat" is a point that is replayed on the real programs; "unknown" is `NotDecided`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import z3

from freegap.errors import InvalidArgument
from freegap.prover.classes import OutputClass, formula, generic
from freegap.prover.outputs import rebuild
from freegap.prover.prices import price_term
from freegap.prover.problem import Alignment, NeighbourCase
from freegap.symbolic import Condition, NotDecided, Symbol, both, either
from freegap.symbolic.subset import Trusted, follow
from freegap.symbolic.subset.machine import Machine
from freegap.symbolic.symbols import added, constant


@dataclass(frozen=True)
class Point:
    """Concrete answers, neighbour and noise."""

    answers: tuple[Fraction, ...]
    neighbour: tuple[Fraction, ...]
    noise: Mapping[Any, Fraction]


@dataclass(frozen=True, eq=False)
class Piece:
    """Where the condition holds, the alignment adds these shifts; the output is charged so much."""

    condition: Condition | bool
    shifts: Mapping[Any, Symbol]
    charge: Symbol

    @cached_property
    def where(self) -> Any:
        """The condition as a z3 formula."""
        return formula(self.condition)

    @property
    def key(self) -> Any:
        """Equal for pieces that shift and charge alike."""
        return tuple(shift.key for shift in self.shifts.values()), self.charge.key


def pieces_of(output: OutputClass, case: NeighbourCase, alignment: Alignment) -> list[Piece]:
    """All pieces of the alignment on one output class and one case of the neighbours."""
    problem = output.problem
    paths = follow(
        _local(output, alignment),
        [list(problem.answers), list(problem.neighbour), list(output.released), dict(output.noise)],
        assuming=[case.formula, output.before],
        limits=problem.limits,
        confirm=problem.concrete,
    )
    pieces: dict[Any, Piece] = {}
    for path in paths:
        where = both(generic(c, output.continuous) for c in path.conditions)
        piece = Piece(where, _shifts(output, path.result[0]), _charge(output, path.result[1]))
        same = pieces.get(piece.key)  # paths that shift alike are one piece: there are fewer to check
        pieces[piece.key] = (
            piece if same is None else replace(same, condition=either([same.condition, where]))
        )
    return list(pieces.values())


def _local(output: OutputClass, alignment: Alignment) -> Trusted:
    """The alignment and the charge of one kind of output, as a function of the numbers that vary."""
    problem, skeleton = output.problem, output.skeleton

    def meaning(
        machine: Machine, answers: Any, neighbour: Any, released: Any, noise: Mapping[Any, Any]
    ) -> Any:
        given = [answers, neighbour, rebuild(skeleton, released), noise]
        moved = machine.call(alignment, given, machine.parameters(problem.keywords(alignment)))
        if problem.charge is None:
            return moved, problem.epsilon
        words = machine.parameters(problem.keywords(problem.charge))
        charge = machine.call(problem.charge, [rebuild(skeleton, released)], words)
        return moved, machine.smaller(charge, problem.epsilon)

    def real(answers: Any, neighbour: Any, released: Any, noise: Mapping[Any, Any]) -> Any:
        moved = problem.align(alignment, answers, neighbour, rebuild(skeleton, released), noise)
        return moved, problem.charged(rebuild(skeleton, released))

    return Trusted(meaning, real)


def _charge(output: OutputClass, charge: Any) -> Symbol:
    if type(charge) is not Symbol and constant(charge) is None:
        raise InvalidArgument(
            "charge", charge, f"is not a number for the output {output.name}", "Return what the output costs."
        )
    return Symbol.of(charge)


def _shifts(output: OutputClass, aligned: Any) -> dict[Any, Symbol]:
    remedy = "Return a dict from the label of each moved draw to its aligned value."
    if not isinstance(aligned, Mapping):
        raise InvalidArgument("alignment", type(aligned).__name__, "must return a mapping", remedy)
    for label, value in aligned.items():
        if label not in output.noise:
            raise InvalidArgument(
                "alignment",
                label,
                f"is not a draw of the output {output.name}",
                f"Draws: {list(output.noise)}.",
            )
        if not isinstance(value, Symbol) and constant(value) is None:
            raise InvalidArgument("alignment", value, f"is not a number for the draw {label!r}", remedy)
    return {label: Symbol.of(aligned.get(label, drawn)) - drawn for label, drawn in output.noise.items()}


def value_of(model: Any, symbol: Symbol) -> Fraction:
    """The value of a symbol in a model."""
    value = model.eval(symbol.z3, model_completion=True)
    if not z3.is_rational_value(value):
        raise NotDecided(f"z3 gives {value} for {symbol}, which is not rational")
    return Fraction(value.numerator_as_long(), value.denominator_as_long())


class PieceChecks:
    """A solver that holds the premises of one output class and one case; one check after the other."""

    def __init__(self, output: OutputClass, case: NeighbourCase) -> None:
        self.output = output
        self.case = case
        self._solver = output.problem.limits.solver("")
        self._solver.add(case.formula, output.before)

    @contextmanager
    def at(self, piece: Piece) -> Iterator[None]:
        """Within: the piece's conditions hold, and the aligned unknowns have their values."""
        self._solver.push()
        self._solver.add(piece.where)
        for label, shift in piece.shifts.items():
            self._solver.add(self.output.aligned[label].z3 == (self.output.noise[label] + shift).z3)
        try:
            yield
        finally:
            self._solver.pop()

    def _questions(self, piece: Piece) -> dict[str, Any]:
        """What may not be, condition by condition."""
        cost, definitions = self.cost(piece)
        return {
            "support": z3.Or(self._off_support(piece)),
            "output": z3.Not(self.output.after),
            "cost": z3.And(*definitions, cost > piece.charge.z3),
        }

    def broken(self, piece: Piece) -> str | None:
        """The first condition of the piece that is not established, without a point."""
        for name, wrong in self._questions(piece).items():
            self._about(f"a failure of the {name}")
            if self._solver.check(wrong) != z3.unsat:
                return name
        return None

    def violation(self, piece: Piece) -> tuple[str, Point] | None:
        """The first condition of the piece that fails, with a point; one question if none does."""
        questions = self._questions(piece)
        self._about("impossible aligned noise, another output, or a cost above the charge")
        if self._solver.check(z3.Or(list(questions.values()))) == z3.unsat:
            return None
        for name, wrong in questions.items():
            point = self._point(wrong, name)
            if point is not None:
                return name, point
        return None

    def _off_support(self, piece: Piece) -> list[Any]:
        """That some aligned noise is impossible."""
        bad = []
        for draw in self.output.draws:
            shift = piece.shifts[draw.label]
            if draw.law.one_sided and shift.terms:
                bad.append(self.output.aligned[draw.label].z3 < 0)
            if draw.resolution is not None and not on_lattice(shift, draw.resolution):
                steps = shift / draw.resolution
                bad.append(z3.Not(z3.IsInt(steps.z3)))
        return bad

    def over(self, piece: Piece, bound: Fraction) -> Point | None:
        """A point at which the cost is larger than this."""
        cost, definitions = self.cost(piece)
        self._about(f"a cost above {bound}")
        return self._point(z3.And(*definitions, cost > Symbol.of(bound).z3), "cost")

    def cost(self, piece: Piece) -> tuple[Any, list[Any]]:
        """The cost of the alignment as a z3 term, with the conditions that define it."""
        terms, definitions = [], []
        for draw in self.output.draws:
            price, defined = price_term(draw, piece.shifts[draw.label])
            terms.append(price)
            definitions += defined
        return added(terms), definitions

    def _about(self, wrong: str) -> None:
        self._solver.meaning = (
            f"neighbours {self.case.name}: no answers, neighbour and noise with the output "
            f"{self.output.name} on this piece of the alignment have {wrong}"
        )

    @property
    def assertions(self) -> list[Any]:
        """The premises that hold now, for another solver."""
        return list(self._solver.assertions())

    def _point(self, wrong: Any, what: str) -> Point | None:
        answer = self._solver.check(wrong)
        if answer == z3.unsat:
            return None
        if answer == z3.unknown:
            raise NotDecided(
                f"z3 did not decide the {what} of {self.output.name} ({self._solver.reason_unknown()})"
            )
        model = self._solver.model()
        problem = self.output.problem
        return Point(
            tuple(value_of(model, q) for q in problem.answers),
            tuple(value_of(model, p) for p in problem.neighbour),
            {label: value_of(model, drawn) for label, drawn in self.output.noise.items()},
        )


def on_lattice(shift: Symbol, resolution: Fraction) -> bool:
    """Whether the shift is a multiple of the resolution, term by term: a sufficient condition."""
    for monomial, coefficient in shift.terms.items():
        unit = coefficient
        for variable in monomial:
            if variable.resolution is None:
                return False
            unit *= variable.resolution
        if (unit / resolution).denominator != 1:
            return False
    return True
