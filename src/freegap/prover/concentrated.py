"""Proofs in ρ (zero-concentrated differential privacy): Gaussian sums, and what is made of them.

Let each draw ηⱼ go with a sum aⱼ(q) of answers such that every comparison and every released number of the
program is a function of the vⱼ = aⱼ(q) + ηⱼ alone: with vⱼ − aⱼ(q) in the place of ηⱼ, no answer is left,
which is checked term by term. Then the program is post-processing of the independent vⱼ, and costs at most

    ρ = Σⱼ (aⱼ(q) − aⱼ(q'))²/(2·scaleⱼ²)

For Gaussian noise that is the cost of a shift itself (Bun and Steinke 2016, proposition 1.6); Laplace noise
is ε-private for ε = |shift|/scale, and so ε²/2-concentrated (proposition 1.4). A draw of another law must not
move. The sum is convex in q − q', so that its largest value is at a corner of what neighbours may do.

The place of the largest value with Gumbel noise has a bounded range ε, and is ε²/8-concentrated (Cesar and
Rogers 2021, lemma 3.4).

Noise that is compared, as in a sparse vector, counts in full, for every answer: no better theorem is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from freegap.laws import NORMAL, Law, ShiftPrice
from freegap.prover.check import claim_of
from freegap.prover.classes import OutputClass, classes_of
from freegap.prover.elimination import reduced
from freegap.prover.largest import largest_of
from freegap.prover.outputs import Node
from freegap.prover.pieces import on_lattice
from freegap.prover.prices import scale_of
from freegap.prover.problem import Problem
from freegap.prover.report import Established, Proof, Refutation
from freegap.symbolic import Draw, NotDecided, OutOfTime, Symbol, SymbolicVariable

_MOST_TOGETHER = 14


def prove_concentrated(problem: Problem, rho: Fraction) -> Proof:
    """Proved at ρ, refuted where the cost is exact, or not decided with the reason."""
    try:
        classes = classes_of(problem)
        largest = largest_of(classes)
        if largest is not None:
            found = _softmax_cost(problem, [v - largest.values[0] for v in largest.values], largest.scale)
            how = "the place of the largest value with gumbel noise, ε²/8 for its bounded range"
            return _result(problem, rho, found, how, exact=False)
        sums = _sums(problem, classes)
    except OutOfTime as late:
        return _undecided(problem, str(late))
    except NotDecided as undecided:
        return _undecided(problem, str(undecided))
    how = "a function of sums with noise of their own; Σ shift²/(2·scale²) at every corner of the neighbours"
    return _result(problem, rho, _largest_cost(problem, sums), how, exact=_exact(classes, sums))


@dataclass(frozen=True)
class _Cost:
    """The largest ρ, and a change of the answers that has it."""

    rho: Fraction
    change: tuple[Fraction, ...]


@dataclass(frozen=True)
class _NoisySum:
    """A draw and the coefficients of the answers in its sum."""

    draw: Draw
    weights: tuple[Fraction, ...]

    def cost(self, change: Sequence[Fraction]) -> Fraction:
        shift = sum((w * c for w, c in zip(self.weights, change, strict=True)), Fraction(0))
        return shift**2 / (2 * scale_of(self.draw) ** 2)


def _result(problem: Problem, rho: Fraction, found: _Cost, how: str, *, exact: bool) -> Proof:
    holds: bool | None = found.rho <= rho
    reason = refutation = None
    if not holds:
        reason = f"this argument gives ρ = {found.rho}, and not ρ = {rho}"
        if exact:
            zero = (Fraction(0),) * problem.queries
            reason = f"the Rényi divergence of any order α between these neighbours is {found.rho}·α"
            refutation = Refutation("privacy", zero, found.change, {}, None, divergence=found.rho)
        holds = False if exact else None
    return Proof(
        holds=holds,
        claim=claim_of(problem),
        conditions=(Established("concentrated", holds, f"{how}: ρ = {found.rho}"),),
        refutation=refutation,
        reason=reason,
        queries=problem.queries,
        rho=found.rho,
    )


def _undecided(problem: Problem, reason: str) -> Proof:
    conditions = (Established("concentrated", None, "not established"),)
    return Proof(None, claim_of(problem), conditions, reason=reason, queries=problem.queries)


# The sums ------------------------------------------------------------------------------------------------


def _sums(problem: Problem, classes: list[OutputClass]) -> list[_NoisySum]:
    """For each draw its sum of answers: `NotDecided` if the program is no function of such sums."""
    draws = _draws(classes)
    told = [number for output in classes for numbers in output.numbers for number in numbers]
    for output in classes:
        for condition in (c for path in output.paths for c in path.conditions):
            if condition.symbol is None:
                raise NotDecided("a path has a condition with an alternative in it")
            told.append(condition.symbol)
    noise = [_variable(draw.value) for draw in draws]
    weights = _solved(problem, draws, told)
    sums = [_NoisySum(draw, row) for draw, row in zip(draws, weights, strict=True)]
    answers = frozenset(_variable(q) for q in problem.answers)
    moved = {
        v: Symbol.of(d.value) - _combined(problem, s) for v, d, s in zip(noise, draws, weights, strict=True)
    }
    for symbol in told:
        if symbol.substitute(moved).variables & answers:
            raise NotDecided("what is compared or put out is no function of answers with noise of their own")
    for found in sums:
        _require_shift(problem, found)
    return sums


def _draws(classes: list[OutputClass]) -> list[Draw]:
    """All draws by label, each of one law and scale."""
    found: dict[Any, Draw] = {}
    for draw in (draw for output in classes for path in output.paths for draw in path.draws):
        scale_of(draw)
        if found.setdefault(draw.label, draw).kind != draw.kind:
            raise NotDecided(f"the draw {draw.label!r} has another law or scale on another path")
    return list(found.values())


def _combined(problem: Problem, weights: Sequence[Fraction]) -> Symbol:
    total = Symbol.of(0)
    for weight, answer in zip(weights, problem.answers, strict=True):
        total = total + weight * answer
    return total


def _require_shift(problem: Problem, found: _NoisySum) -> None:
    """A draw that moves has a law whose shifts have a price, and stays on its lattice."""
    draw = found.draw
    if not any(found.weights):
        return
    if not _has_price(draw.law):
        raise NotDecided(f"a shift of {draw.law} noise has no price in ρ (draw {draw.label!r})")
    if draw.resolution is not None and not on_lattice(_combined(problem, found.weights), draw.resolution):
        raise NotDecided(f"the draw {draw.label!r} would be moved off its lattice")


def _has_price(law: Law) -> bool:
    return law is NORMAL or (law.price is ShiftPrice.DISTANCE and not law.one_sided)


def _solved(problem: Problem, draws: Sequence[Draw], told: Sequence[Symbol]) -> list[tuple[Fraction, ...]]:
    """For each draw the weights of the answers in its sum: of all that fit, those of the least square.

    Each linear number told is Σ cⱼηⱼ + Σ lᵢqᵢ, and needs Σ cⱼ·weightⱼᵢ = lᵢ for each answer i.
    """
    noise = [_variable(draw.value) for draw in draws]
    answers = [_variable(q) for q in problem.answers]
    rows = []
    for symbol in told:
        if all(len(monomial) <= 1 for monomial in symbol.terms):
            rows.append([symbol.terms.get((v,), Fraction(0)) for v in [*noise, *answers]])
    rows = _independent(rows, len(noise))
    squares = [scale_of(draw) ** 2 for draw in draws]
    gram = [
        [
            sum((a * b * s for a, b, s in zip(one, other, squares, strict=False)), Fraction(0))
            for other in rows
        ]
        + one[len(noise) :]
        for one in rows
    ]
    solved = _independent(gram, len(rows))
    return [
        tuple(
            sum(
                (squares[j] * row[j] * part[len(rows) + i] for row, part in zip(rows, solved, strict=True)),
                Fraction(0),
            )
            for i in range(len(answers))
        )
        for j in range(len(noise))
    ]


def _independent(rows: Sequence[Sequence[Fraction]], width: int) -> list[list[Fraction]]:
    """The rows in reduced form, by their first `width` columns; a row without these must be 0 throughout."""
    done, left = reduced(rows, width)
    if any(any(row) for row in left):
        raise NotDecided("an answer is compared or put out without noise, or with the same noise as another")
    return done


# Its cost ------------------------------------------------------------------------------------------------


def _largest_cost(problem: Problem, sums: Sequence[_NoisySum]) -> _Cost:
    """The largest cost of any neighbours: answers that share no sum are looked at apart."""
    n, delta = problem.queries, _reach(problem)
    ways: list[_Cost] = []
    for group in _groups(sums, n):
        own = [s for s in sums if any(s.weights[i] for i in group)]
        ways.append(
            max(
                (
                    _Cost(sum((s.cost(change) for s in own), Fraction(0)), change)
                    for change in _corners(problem, group, delta)
                ),
                key=lambda cost: cost.rho,
            )
        )
    if problem.neighbours == "one":
        return max(ways, key=lambda cost: cost.rho)
    total = tuple(sum((way.change[i] for way in ways), Fraction(0)) for i in range(n))
    return _Cost(sum((way.rho for way in ways), Fraction(0)), total)


def _reach(problem: Problem) -> Fraction:
    unit = problem.resolution
    return problem.sensitivity if unit is None else problem.sensitivity // unit * unit


def _groups(sums: Sequence[_NoisySum], n: int) -> list[list[int]]:
    """The answers, in groups that share no sum."""
    groups = [[i] for i in range(n)]
    for found in sums:
        joined = [g for g in groups if any(found.weights[i] for i in g)]
        groups = [g for g in groups if g not in joined] + [sorted(i for g in joined for i in g)] * bool(
            joined
        )
    return groups


def _corners(problem: Problem, group: Sequence[int], delta: Fraction) -> list[tuple[Fraction, ...]]:
    """Where a convex function of the change of these answers is largest; the cost is even."""
    n = problem.queries
    if problem.neighbours == "one":
        return [tuple(delta if i == j else Fraction(0) for i in range(n)) for j in group]
    if len(group) > _MOST_TOGETHER:
        raise NotDecided(f"more than {_MOST_TOGETHER} answers share sums: too many corners of neighbours")
    steps = (delta, -delta) if problem.neighbours == "each" else (delta, Fraction(0))
    sign = -1 if problem.neighbours == "decreasing" else 1
    found = []
    for chosen in product(steps, repeat=len(group)):
        by_place = dict(zip(group, chosen, strict=True))
        found.append(tuple(sign * by_place.get(i, Fraction(0)) for i in range(n)))
    return found


def _softmax_cost(problem: Problem, values: Sequence[Symbol], scale: Fraction) -> _Cost:
    """ε²/8, for the largest difference ε of the changes of two values."""
    answers = [_variable(q) for q in problem.answers]
    best = _Cost(Fraction(0), (Fraction(0),) * problem.queries)
    delta = _reach(problem)
    for one, other in product(values, repeat=2):
        difference = one - other
        if any(len(monomial) > 1 for monomial in difference.terms):
            raise NotDecided("what gets gumbel noise is not linear in the answers")
        weights = [difference.terms.get((v,), Fraction(0)) for v in answers]
        parts = {
            "each": sum(map(abs, weights), Fraction(0)),
            "one": max(map(abs, weights), default=Fraction(0)),
        }
        rises = sum((w for w in weights if w > 0), Fraction(0))
        falls = -sum((w for w in weights if w < 0), Fraction(0))
        largest = parts.get(problem.neighbours, max(rises, falls)) * delta / scale
        if largest**2 / 8 > best.rho:
            best = replace(best, rho=largest**2 / 8)
    return best


def _exact(classes: Sequence[OutputClass], sums: Sequence[_NoisySum]) -> bool:
    """Whether all noisy sums that move are put out, with Gaussian noise: then ρ is what it costs, no less."""
    if len(classes) != 1 or len(classes[0].paths) != 1 or classes[0].paths[0].conditions:
        return False
    if _processed(classes[0].skeleton):
        return False
    moving = [s.draw for s in sums if any(s.weights)]
    if any(draw.law is not NORMAL for draw in moving):
        return False
    numbers = classes[0].numbers[0]
    linear = [number for number in numbers if all(len(monomial) <= 1 for monomial in number.terms)]
    alone = [number.variables & classes[0].noise_variables for number in linear]
    return all(draw.value.variables in alone for draw in moving)


def _processed(skeleton: Any) -> bool:
    if isinstance(skeleton, Node):
        return isinstance(skeleton.kind, str) or any(map(_processed, skeleton.children))
    return False


def _variable(symbol: Symbol) -> SymbolicVariable:
    (variable,) = symbol.variables
    return variable
