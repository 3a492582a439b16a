"""Programs that put out the place of the largest value with Gumbel noise, and the chance of each place.

The place of the largest aⱼ + Gⱼ, for noise of scale s, is i with the probability e^(aᵢ/s)/Σⱼ e^(aⱼ/s). What
each aⱼ is, as a function of the answers, is read off the comparisons; z3 shows that each output is put out
where one aᵢ + Gᵢ is the largest, up to a null set, and so that they were read rightly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import z3
from flint import arb

from freegap.laws import GUMBEL
from freegap.prover.classes import OutputClass
from freegap.prover.prices import scale_of
from freegap.prover.problem import Problem
from freegap.symbolic import Condition, NotDecided, Symbol
from freegap.values.balls import as_ball, at_precision

_PRECISION = 192


@dataclass(frozen=True)
class Softmax:
    """The chance of one place, 1/Σⱼ e^((aⱼ − aᵢ)/s).

    differences: the (aⱼ − aᵢ)/s of the others, as coefficients of the answers with a constant behind them.
    """

    differences: tuple[tuple[Fraction, ...], ...]

    def chance(self, answers: Sequence[Fraction]) -> Any:
        """On these answers, a ball."""

        def compute() -> Any:
            total = arb(1)
            for form in self.differences:
                exponent = form[-1] + sum((c * a for c, a in zip(form, answers, strict=False)), Fraction(0))
                total += as_ball(exponent).exp()
            return 1 / total

        return at_precision(_PRECISION, compute)

    def pull(self, queries: int) -> tuple[int, ...]:
        """For each answer, the way to move it that makes this place less probable."""
        total = [sum((form[i] for form in self.differences), Fraction(0)) for i in range(queries)]
        return tuple((t > 0) - (t < 0) for t in total)


@dataclass(frozen=True)
class Largest:
    """Of each kind of output the place of the value that is the largest, the values without their noise (as
    differences to the first), and the scale."""

    places: tuple[int, ...]
    values: tuple[Symbol, ...]
    scale: Fraction

    def linear(self, problem: Problem, place: int) -> Softmax:
        """The chance of a place, where the values are linear in the answers."""
        known = {next(iter(q.variables)): i for i, q in enumerate(problem.answers)}
        forms = []
        for other, value in enumerate(self.values):
            if other == place:
                continue
            form = [Fraction(0)] * (problem.queries + 1)
            for monomial, c in (value - self.values[place]).terms.items():
                if len(monomial) > 1 or any(v not in known for v in monomial):
                    raise NotDecided("what gets gumbel noise is not linear in the answers")
                form[known[monomial[0]] if monomial else -1] += c / self.scale
            forms.append(tuple(form))
        return Softmax(tuple(forms))


def largest_of(classes: list[OutputClass]) -> Largest | None:
    """What a program of this kind is, or None if it is another."""
    draws = classes[0].draws
    same = all(output.kinds == classes[0].kinds and not output.released for output in classes)
    if not same or len(draws) < 2 or {draw.law for draw in draws} != {GUMBEL}:
        return None
    if len({scale_of(draw) for draw in draws}) > 1:
        return None
    noise = [draw.value for draw in draws]
    values = _values(classes, noise)
    if values is None:
        return None
    places = []
    for output in classes:
        place = _largest(output, values, noise)
        if place is None:
            return None
        places.append(place)
    return Largest(tuple(places), tuple(values), scale_of(draws[0]))


def _values(classes: list[OutputClass], noise: list[Symbol]) -> list[Symbol] | None:
    """aⱼ − a₀ for each draw, from comparisons of two of them; None if some are never compared."""
    places = {next(iter(drawn.variables)): place for place, drawn in enumerate(noise)}
    differences: list[tuple[int, int, Symbol]] = []
    for symbol in (_compared(c) for output in classes for path in output.paths for c in path.conditions):
        found = {places[v]: symbol.terms.get((v,), Fraction(0)) for v in symbol.variables if v in places}
        if len(found) != 2:
            return None
        (i, c), (j, d) = found.items()
        if c + d or not c:
            return None
        rest = symbol / c - noise[i] + noise[j]  # (aᵢ + Gᵢ) − (aⱼ + Gⱼ), without its noise
        if rest.variables & places.keys():
            return None
        differences.append((i, j, rest))
    known = {0: Symbol.of(0)}
    for _ in noise:
        for i, j, rest in differences:
            if j in known and i not in known:
                known[i] = known[j] + rest
            elif i in known and j not in known:
                known[j] = known[i] - rest
    return [known[place] for place in range(len(noise))] if len(known) == len(noise) else None


def _compared(condition: Condition) -> Symbol:
    if condition.symbol is None:
        raise NotDecided("a path has a condition with an alternative in it")
    return condition.symbol


def _largest(output: OutputClass, values: list[Symbol], noise: list[Symbol]) -> int | None:
    """The place whose noisy value is the largest where this is put out, and only there, up to a null set."""
    put_out = z3.Or([z3.And(path.condition) for path in output.paths])
    noisy = [(value + drawn).z3 for value, drawn in zip(values, noise, strict=True)]
    solver = output.problem.limits.solver(f"{output.name} is put out where one noisy value is the largest")
    for place, value in enumerate(noisy):
        others = noisy[:place] + noisy[place + 1 :]
        outside = z3.And(put_out, z3.Or([value < other for other in others]))
        missing = z3.And(z3.And([value > other for other in others]), z3.Not(put_out))
        if solver.check(outside) == z3.unsat and solver.check(missing) == z3.unsat:
            return place
    return None
