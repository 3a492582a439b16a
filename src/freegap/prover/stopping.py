"""Programs that draw in rounds until one ends them, or keep the best of a number that is drawn by coins.

One round is a program of its own (`freegap.prover.rounds`), and is proved like any other: at ε₁, for what it
puts out and for whether it ends. How many rounds there were is not put out. Let R be the law of one round.

Until one ends it. With s the chance that a round ends it, an output x has the probability P with
P = R(x) + (1 − s)·P, so R(x)/s. On the neighbour R(x) changes by a factor of e^ε₁ at most, and so does s, as
an event of the round: 2ε₁ together (Liu and Talwar 2019, theorem 3.1, in the form of Ilvento 2020, algorithm
6). Where z3 shows that s does not depend on the answers, ε₁ is all of it. A program of this kind ends with
probability 1: s > 0 holds on some answers, as z3 shows by noise that is no boundary, so on their neighbours,
where s is at least e^−ε₁ times as much, so on all answers.

The best of N. After each round a coin ends it with the chance γ; what is put out is made of the round with
the largest score. With a = P(score < s) and b = P(score ≤ s) for the score s of x, and K the probability that
x, once kept, is kept to the end if the coin does not end it now,

    K = b·c        c = γ + (1 − γ)·K        P = R(x)·c + a·(1 − γ)·P

where a round of the same score does not take its place (with ≥ in the place of > it does, and a and b change
their roles). So P = R(x)·γ/((1 − βa)(1 − βb)), β = 1 − γ; 1 − βa = γ + β·P(score ≥ s) and 1 − βb change by
e^ε₁ at most: 3ε₁ together (Liu and Talwar 2019, theorem 3.2; Ilvento 2020, algorithm 7).

z3 proves the steps from these equations to both inequalities, and so can another solver; for outputs with
densities they are about those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import z3
from flint import arb

from freegap.laws import UNIFORM
from freegap.prover.check import claim_of, prove_alignment
from freegap.prover.classes import OutputClass, classes_of
from freegap.prover.climbing import Search, Trial
from freegap.prover.counterexample import certified
from freegap.prover.events import ExactViolation
from freegap.prover.kinds import Kind, kinds_of, require_certain
from freegap.prover.outputs import Hole, Leaf, Node, is_processed
from freegap.prover.problem import Problem
from freegap.prover.report import Established, Proof, Tightness
from freegap.prover.rounds import Rounds
from freegap.symbolic import Condition, Draw, Limits, NotDecided, OutOfTime
from freegap.symbolic.subset import Trusted
from freegap.symbolic.subset.machine import Machine

_TIMES = 2
"""What an output costs in rounds: as much as in one, and as much again for how often a round ends it."""

ProveRound = Callable[[Problem], Proof]


def prove_rounds(problem: Problem, rounds: Rounds, prove: ProveRound) -> Proof:
    """The proof of the program by that of one round, which `prove` looks for."""
    try:
        return _until(problem, rounds, prove) if rounds.stop is None else _best_of(problem, rounds, prove)
    except OutOfTime as late:
        return _undecided(problem, str(late))
    except NotDecided as undecided:
        return _undecided(problem, str(undecided))


def _one(problem: Problem, rounds: Rounds, epsilon: Fraction) -> Problem:
    """One round, at this ε."""
    return replace(problem, mechanism=rounds.program, parameters=dict(rounds.given), epsilon=epsilon)


def _until(problem: Problem, rounds: Rounds, prove: ProveRound) -> Proof:
    if problem.neighbours in ("increasing", "decreasing"):
        raise NotDecided(
            "for a program that draws until a round ends it, both directions of the neighbours are needed: "
            "one bounds what is put out, the other how often a round ends it"
        )
    if problem.resolution is not None and problem.sensitivity < problem.resolution:
        raise NotDecided("the sensitivity is less than the resolution, so that no two inputs are neighbours")
    quiet = replace(problem, limits=replace(problem.limits, certificate=None))
    if not any(map(_can_happen, _ends(classes_of(_one(quiet, rounds, problem.epsilon))))):
        raise NotDecided("no round ends it: the program need not terminate")
    always = prove_alignment(_one(quiet, _whether(rounds), Fraction(0)), _stays, tightness=False).holds
    if always:  # once more, for the certificate
        always = prove_alignment(_one(problem, _whether(rounds), Fraction(0)), _stays, tightness=False).holds
    times = 1 if always else _TIMES
    round_proof = prove(_one(problem, rounds, problem.epsilon / times))
    one_way = "the chance that a round ends it does not depend on the answers"
    how = one_way if always else "an output and the end of a round, each within e^(ε/2)"
    return _result(problem, round_proof, times, how, lambda limits: _renewal(limits, always=bool(always)))


def _best_of(problem: Problem, rounds: Rounds, prove: ProveRound) -> Proof:
    one = _one(problem, rounds, problem.epsilon / 3)
    if problem.neighbours in ("increasing", "decreasing"):
        raise NotDecided(
            "for the best of a random number of rounds, both directions of the neighbours are needed"
        )
    for output in classes_of(replace(one, limits=replace(one.limits, certificate=None))):
        score = output.skeleton.children[0]
        number = isinstance(score, Hole) or (isinstance(score, Leaf) and score.kind in (bool, int, Fraction))
        if not number or is_processed(output.skeleton):
            raise NotDecided(
                "the score of a round, of which the best is kept, is not a number, or was rounded or divided"
            )
    how = f"an output, and two chances of scores, each within e^(ε/3), whatever the coin ({rounds.stop})"
    return _result(problem, prove(one), 3, how, _best_of_bound)


def _result(problem: Problem, one: Proof, times: int, how: str, theorem: Callable[[Limits], None]) -> Proof:
    """What the proof of one round makes of the program."""
    if not one.holds:
        why = (one.reason or "no proof of it was found").removeprefix("not decided: ")
        return _undecided(problem, f"one round is not proved at ε = {problem.epsilon / times}: {why}")
    theorem(problem.limits)
    smallest = None
    if one.tightness is not None:
        smallest = Tightness(times * one.tightness.epsilon, problem.epsilon, {})
    rest = [replace(c, how=f"one round: {c.how}") for c in one.conditions if c.name != "termination"]
    ended = "a round ends it with a probability above 0, on all answers" if times < 3 else "a coin ends it"
    return replace(
        one,
        claim=claim_of(problem),
        conditions=(Established("termination", True, ended), *rest, Established("rounds", True, how)),
        tightness=smallest,
    )


def _undecided(problem: Problem, reason: str) -> Proof:
    """With the program in the place of a line of its round, which is a text of ours."""
    code = getattr(problem.mechanism, "__code__", None)
    if code is not None:
        where = f"a round of {code.co_name}, {Path(code.co_filename).name}:{code.co_firstlineno}"
        reason = re.sub(r"<rounds [0-9a-f]+>:\d+", where, reason)
    conditions = (Established("rounds", None, "not established"),)
    return Proof(None, claim_of(problem), conditions, reason=reason, queries=problem.queries)


# The end -------------------------------------------------------------------------------------------------


def _ends(classes: list[OutputClass]) -> list[OutputClass]:
    """Those kinds of output that end it."""
    return [output for output in classes if output.skeleton.children[0] == Leaf(bool, True)]


def _can_happen(output: OutputClass) -> bool:
    """Whether it has a positive probability on some answers: a point inside, where noise is continuous."""
    return any(output.problem.limits.solver("").check(inside) == z3.sat for inside in _insides(output))


def _insides(output: OutputClass) -> Iterator[Any]:
    for path in output.paths:
        opened = [_opened(condition, output) for condition in path.conditions]
        yield z3.And([*opened, *map(_possible, path.draws)])


def _opened(condition: Condition, output: OutputClass) -> Any:
    if not condition.variables & output.continuous:
        return condition.z3
    if condition.symbol is None or condition.relation == "==":
        return z3.BoolVal(False)
    return Condition("<", condition.symbol).z3 if condition.relation == "<=" else condition.z3


def _possible(draw: Draw) -> Any:
    value = draw.value.z3
    if draw.law is UNIFORM:
        return z3.And(value > 0, value < draw.scale)
    if not draw.law.one_sided:
        return z3.BoolVal(True)
    return value > 0 if draw.resolution is None else value >= 0


def _whether(rounds: Rounds) -> Rounds:
    """A round that puts out whether it ends the program, and nothing else."""
    program = rounds.program

    def meaning(machine: Machine, *given: Any, **words: Any) -> Any:
        return program.meaning(machine, *given, **words)[0]

    return replace(rounds, program=Trusted(meaning, lambda *given, **words: program(*given, **words)[0]))


_stays = Trusted(lambda machine, *context, **words: {}, lambda *context, **words: {})
"""The alignment that moves nothing: at ε = 0 it shows that an output does not depend on the answers."""


# The theorems --------------------------------------------------------------------------------------------


def _renewal(limits: Limits, *, always: bool) -> None:
    """P·s = R: P ≤ e^(2ε₁)·P', or e^ε₁ where s' = s. In steps that are plain to any solver."""
    p, r, s = z3.Reals("P R s")
    _step(limits, "P = R + (1 - s) P is P s = R", [p == r + (1 - s) * p], p * s == r)
    if always:
        e, p2 = z3.Reals("E P2")
        _cancel(limits)
        _step(
            limits, "with the same s, P is at most E times P2", [p * s <= e * (p2 * s)], p * s <= (e * p2) * s
        )
        return
    _quotient(limits)


def _best_of_bound(limits: Limits) -> None:
    """c, the probability that x is kept to the end once it is kept, and then P: three factors in all."""
    a, b, c, g, p, r = z3.Reals("a b c gamma P R")
    k = z3.Real("K")
    _step(limits, "c = g + (1 - g) K", [k == b * c, c == g + (1 - g) * k], c == g + (1 - g) * (b * c))
    _step(limits, "c (1 - (1 - g) b) = g", [c == g + (1 - g) * (b * c)], c * (1 - (1 - g) * b) == g)
    again = p == r * c + a * (1 - g) * p
    _step(limits, "P (1 - (1 - g) a) = R c", [again], p * (1 - (1 - g) * a) == r * c)
    e, x, x2, r2, c2 = z3.Reals("E x x2 R2 c2")  # x is 1 − a or 1 − b
    _rises(limits)
    risen = [(1 - g) * x2 <= (1 - g) * (e * x), g <= g * e]
    change = g + (1 - g) * x2 <= e * (g + (1 - g) * x)
    _step(limits, "a factor of what is kept changes by at most E", risen, change)
    _quotient(limits)  # for c, with F = 1
    risen = [r * c <= c * (e * r2), c * (e * r2) <= (e * r2) * (e * c2)]
    _step(limits, "R c changes by at most E twice", risen, r * c <= (e * e) * (r2 * c2))
    # once more for P, with F = E²


def _quotient(limits: Limits) -> None:
    """P·x = u and P'·x' = u' with u ≤ F·u' and x' ≤ E·x: P ≤ F·E·P'."""
    e, f, p, x, p2, x2 = z3.Reals("E F P x P2 x2")
    _rises(limits)
    risen = [p * x <= f * (p2 * x2), (f * p2) * x2 <= (f * p2) * (e * x)]
    _step(limits, "P x is at most F E P2 x", risen, p * x <= (f * e * p2) * x)
    _cancel(limits)


def _rises(limits: Limits) -> None:
    a, x, y = z3.Reals("a x y")
    _step(limits, "a product rises with a factor", [a >= 0, x <= y], a * x <= a * y)


def _cancel(limits: Limits) -> None:
    p, q, s = z3.Reals("P Q s")
    _step(limits, "a positive factor can be left out", [s > 0, p * s <= q * s], p <= q)


def _step(limits: Limits, meaning: str, premises: list[Any], conclusion: Any) -> None:
    """z3 confirms that this follows."""
    solver = limits.solver(f"rounds: {meaning}")
    solver.add(*premises, z3.Not(conclusion))
    if solver.check() != z3.unsat:
        raise NotDecided("z3 did not confirm the theorem on rounds")


# A violation ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _EndingKind(Kind):
    """A kind of output of rounds until one ends it: its chance in one round, over that of all ends."""

    ends: tuple[Kind, ...] = ()

    def chance(self, answers: Any, box: Any, limits: Limits) -> Any:
        total = sum((kind.chance(answers, kind.anything, limits) for kind in self.ends), arb(0))
        if not total > 0:
            raise NotDecided("the chance that a round ends it is too near to 0 to tell")
        return super().chance(answers, box, limits) / total


def find_in_rounds(problem: Problem, rounds: Rounds) -> ExactViolation | None:
    """A violation of privacy of a program that draws until a round ends it, or None if none was found."""
    if rounds.stop is not None:
        raise NotDecided("the chances of the best of a random number of rounds are not computed")
    one = _one(problem, rounds, problem.epsilon)
    round_kinds = kinds_of(one, classes_of(one))
    ends = tuple(k for k in round_kinds if k.skeleton.children[0] == Leaf(bool, True))
    kinds: list[Kind] = [
        _EndingKind(_what(k.skeleton), problem.epsilon, k.paths, k.softmax, ends) for k in ends
    ]

    def accept(at: Trial) -> ExactViolation | None:
        for side in (at.answers, at.neighbour):
            require_certain(k.chance(side, k.anything, problem.limits) for k in round_kinds)
        return certified(problem, kinds, at, problem.epsilon)

    return Search(problem, kinds, lambda kind: kind.charge, accept).run()


def _what(skeleton: Node) -> Any:
    """What the program puts out, of what the round does."""
    return skeleton.children[1]
