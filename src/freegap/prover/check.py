"""`prove`: all conditions of lemma 5.1 (Ding 2020), or of theorem 5.5 (Ilvento 2020) for discrete noise, by
machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import z3

from freegap.errors import InvalidArgument
from freegap.laws import UNIFORM, Law
from freegap.prover.classes import OutputClass, classes_of
from freegap.prover.injective import NotInjective, check_injective
from freegap.prover.pieces import Piece, PieceChecks, Point, pieces_of
from freegap.prover.prices import require_price, scale_of
from freegap.prover.problem import WORDS, Alignment, Charge, Mechanism, NeighbourCase, Problem
from freegap.prover.replay import Replay, replay_or_refuse
from freegap.prover.report import CONDITIONS, Established, Proof, Refutation
from freegap.prover.tightness import Suprema
from freegap.symbolic import Certificate, Limits, NotDecided, OutOfTime
from freegap.symbolic.subset import fresh, parameter
from freegap.values.neighbours import neighbours_argument
from freegap.values.rationals import Rational, count_argument, positive_rational

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many are done, and how many there are (0 if not known)."""


def problem_of(
    mechanism: Mechanism,
    *,
    epsilon: Rational | None,
    rho: Rational | None = None,
    queries: int,
    sensitivity: Rational = 1,
    neighbours: str = "each",
    parameters: Mapping[str, Any] | None = None,
    charge: Charge | None = None,
    resolution: Rational | None = None,
    seconds: Rational = 120,
    certificate: Certificate | None = None,
) -> Problem:
    """The arguments of `prove`, read and checked."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise InvalidArgument("parameters", parameters, "must be a mapping", 'Pass for example {"k": 2}.')
    words = dict(parameters or {})
    if not all(type(name) is str for name in words):
        raise InvalidArgument(
            "parameters", parameters, "must have texts for names", 'Pass for example {"k": 2}.'
        )
    if (epsilon is None) == (rho is None):
        given = "are both given" if rho is not None else "are both missing"
        raise InvalidArgument("epsilon", epsilon, f"and rho {given}", "Pass the one that is claimed.")
    known: dict[int, Any] = {}
    problem = Problem(
        mechanism=mechanism,
        epsilon=Fraction(1) if epsilon is None else positive_rational("epsilon", epsilon),
        rho=None if rho is None else positive_rational("rho", rho),
        queries=count_argument("queries", queries),
        sensitivity=positive_rational("sensitivity", sensitivity),
        neighbours=neighbours_argument(neighbours, WORDS),
        parameters={name: fresh(value, parameter, known) for name, value in words.items()},
        charge=charge,
        resolution=None if resolution is None else positive_rational("resolution", resolution),
        limits=Limits(certificate=certificate).within(float(positive_rational("seconds", seconds))),
    )
    if problem.resolution is not None and problem.resolution > problem.sensitivity:
        constraint = f"is larger than the sensitivity {problem.sensitivity}: no two inputs are neighbours"
        raise InvalidArgument("resolution", resolution, constraint, "Pass one that the answers can move by.")
    problem.require_callable("mechanism", mechanism, "answers", "noise")
    if charge is not None:
        problem.require_callable("charge", charge, "output")
    return problem


def prove_alignment(
    problem: Problem,
    alignment: Alignment,
    *,
    tightness: bool = True,
    progress: Progress | None = None,
) -> Proof:
    """The proof for this alignment, or its refutation, or why neither."""
    attempt = _Attempt(problem, alignment, progress)
    try:
        attempt.run(tightness)
    except OutOfTime as late:
        return attempt.result(None, reason=f"{late}; {attempt.left}")
    except NotDecided as undecided:
        return attempt.result(None, reason=str(undecided))
    except _Refuted as refuted:
        found = refuted.refutation
        return attempt.result(False, refutation=found, reason=rounded_cost(found))
    return attempt.result(True)


ROUNDED = (
    "a scale or a charge that was rounded as a float, such as 1/0.3? Pass exact numbers: Fraction(10, 3), or "
    "epsilon, with 1 / epsilon in the text"
)
ROUNDING = Fraction(1, 10**9)


def rounded_cost(found: Refutation) -> str | None:
    """What happened, where the cost is too large only by what a float loses."""
    if found.condition != "cost" or found.cost is None or found.charge is None or found.charge <= 0:
        return None
    over = found.cost / found.charge - 1
    if not 0 < over <= ROUNDING:
        return None
    return f"the cost is {float(over):.1g} of the charge too large: {ROUNDED}"


class _Refuted(Exception):
    """Carries a refutation out of the checks."""

    def __init__(self, refutation: Refutation) -> None:
        super().__init__(refutation.condition)
        self.refutation = refutation


@dataclass
class _Counts:
    paths: int = 0
    outputs: int = 0
    pieces: int = 0
    acyclic: int = 0
    direct: int = 0


class _Attempt:
    """One pass through the conditions, in order; each is recorded when it is established."""

    def __init__(self, problem: Problem, alignment: Alignment, progress: Progress | None) -> None:
        self.problem = problem
        self.alignment = alignment
        self.report = progress or (lambda what, done, total: None)
        self.counts = _Counts()
        self.current = "termination"
        self.how: dict[str, str] = {}
        self.suprema: Suprema | None = None
        self.discrete = False
        self.left = "no path is known"
        """How far it is, in words."""

    def run(self, tightness: bool) -> None:
        classes = self.explored()
        self.current = "draws"
        self.how["draws"] = check_draws(classes)
        self.current = "noise"
        self.how["noise"] = check_laws(classes)
        self.discrete = not any(output.continuous for output in classes)
        steps = [(output, case) for output in classes for case in self.problem.cases]
        self.suprema = Suprema() if tightness else None
        for done, (output, case) in enumerate(steps):
            self.report("outputs", done, len(steps))
            self.left = f"{len(steps) - done} of {len(steps)} kinds of output are left"
            self.check_output(output, case)
        self.report("outputs", len(steps), len(steps))
        self.conclude()

    def explored(self) -> list[OutputClass]:
        def count(path: object) -> None:
            self.counts.paths += 1
            self.left = f"{self.counts.paths} paths are known, and there are more"
            self.report("paths", self.counts.paths, 0)

        classes = classes_of(self.problem, count)
        self.left = "no output was checked"
        self.counts.outputs = len(classes)
        self.how["termination"] = (
            f"all {self.counts.paths} paths at {self.problem.queries} answers are finite"
        )
        return classes

    def check_output(self, output: OutputClass, case: NeighbourCase) -> None:
        self.current = "output"
        pieces = pieces_of(output, case, self.alignment)
        checks = PieceChecks(output, case)
        for piece in pieces:
            with checks.at(piece):
                self.counts.pieces += 1
                self.check_piece(checks, piece)
        self.current = "injective"
        found = check_injective(output, case, pieces)
        if isinstance(found, NotInjective):
            raise _Refuted(self.collision(found))
        if found == "acyclic":
            self.counts.acyclic += 1
        else:
            self.counts.direct += 1

    def check_piece(self, checks: PieceChecks, piece: Piece) -> None:
        found = checks.violation(piece)
        if found is not None:
            raise _Refuted(self.confirmed(*found))
        if self.suprema is not None:
            try:
                self.suprema.add(checks, piece)
            except NotDecided as undecided:  # the proof stands; only the smallest ε is not known
                self.suprema = None
                self.how["tightness"] = str(undecided)

    def confirmed(self, condition: str, point: Point) -> Refutation:
        """The point, replayed on the real mechanism; a point that breaks nothing there decides nothing."""
        run = self.replayed(point.answers, point.neighbour, point.noise)
        broken = {
            "support": bool(run.off_support),
            "output": not run.off_support and not run.same_output,
            "cost": run.cost > run.charge,
        }
        if not broken[condition]:
            raise NotDecided(f"a counterexample to {condition!r} was not confirmed by the real mechanism")
        return Refutation.of(condition, run)

    def replayed(
        self, answers: Sequence[Fraction], neighbour: Sequence[Fraction], noise: Mapping[Any, Fraction]
    ) -> Replay:
        return replay_or_refuse(self.problem, self.alignment, answers, neighbour, noise)

    def collision(self, found: NotInjective) -> Refutation:
        """Two noise vectors that are aligned to the same one, replayed."""
        if found.other_noise is None:
            return Refutation(
                "injective", found.answers, found.neighbour, {}, None, determinant=found.determinant
            )
        first, second = (
            self.replayed(found.answers, found.neighbour, noise) for noise in (found.noise, found.other_noise)
        )
        if first.aligned != second.aligned or first.output != second.output or first.noise == second.noise:
            raise NotDecided("a collision of two noise vectors was not confirmed by the real mechanism")
        return replace(Refutation.of("injective", first), other_noise=dict(second.noise))

    def conclude(self) -> None:
        counts, cases = self.counts, ", ".join(case.name for case in self.problem.cases)
        sort = "whole multiples" if self.problem.resolution is not None else "real numbers"
        everywhere = f"z3, {counts.pieces} pieces of {counts.outputs} outputs, neighbours: {cases}"
        self.how["support"] = everywhere
        self.how["output"] = f"{everywhere}; all answers ({sort}), all noise"
        self.how["cost"] = everywhere
        if counts.direct:
            theorem = "Ilvento 2020, theorem 5.5" if self.discrete else "Ding 2020, theorem 5.15"
            self.how["injective"] = (
                f"{counts.acyclic} acyclic, {counts.direct} one-to-one by z3 with determinant 1 ({theorem})"
            )
        else:
            self.how["injective"] = f"acyclic, all {counts.acyclic} (definition 5.3)"
        self.how["countable"] = (
            "discrete noise" if self.discrete else f"{counts.outputs}, one for each kind of output"
        )

    def result(
        self, holds: bool | None, *, refutation: Refutation | None = None, reason: str | None = None
    ) -> Proof:
        failed = refutation.condition if refutation is not None else self.current
        conditions = []
        for name in CONDITIONS:
            if name in self.how:
                conditions.append(Established(name, True, self.how[name]))
            elif holds is False and name == failed:
                conditions.append(Established(name, False, "refuted"))
            else:
                how = reason if name == failed and reason else "not reached"
                conditions.append(Established(name, None, how))
        problem = self.problem
        tight = self.suprema.tightness(problem) if holds and self.suprema is not None else None
        return Proof(
            holds=holds,
            claim=claim_of(problem),
            conditions=tuple(conditions),
            queries=problem.queries,
            refutation=refutation,
            reason=self.how.get("tightness") if holds else reason,
            tightness=tight,
            paths=self.counts.paths,
            outputs=self.counts.outputs,
            pieces=self.counts.pieces,
            parameters={name: _short(value) for name, value in problem.parameters.items()},
        )


def claim_of(problem: Problem, *, for_all: bool = False) -> str:
    """What is claimed, in words: for this number of answers, or for all n."""
    name = getattr(problem.mechanism, "__name__", str(problem.mechanism))
    values = ", ".join(f"{key}={_short(value)}" for key, value in problem.parameters.items())
    answers = "1 answer" if problem.queries == 1 else f"{problem.queries} answers"
    cost = f"{problem.epsilon}" if problem.charge is None else f"its charge, at most {problem.epsilon}"
    answers = "any number of answers" if for_all else answers
    measure = f"ε = {cost}" if problem.rho is None else f"ρ = {problem.rho}"
    whole = "" if problem.resolution is None else f", for whole multiples of {problem.resolution}"
    return (
        f"{name}({values}) on {answers} is private at {measure}, where "
        f"{WORDS[problem.neighbours]} ({problem.sensitivity}){whole}"
    )


def _short(value: Any) -> str:
    try:
        text = str(value)
    except ValueError:  # a number of more digits than Python shows
        text = ""
    return text if 0 < len(text) <= 40 else f"{type(value).__name__}(…)"


def check_draws(classes: list[OutputClass]) -> str:
    """Condition 2: outputs that can be equal come with the same draws, in number, law and scale.

    Where they do not, the list of draws is taken for a part of the output: each list has its own alignment,
    under which the neighbour makes the same draws, and who sees the list as well learns no less.
    """
    skeletons: dict[Any, list[OutputClass]] = {}
    for output in classes:
        skeletons.setdefault(output.skeleton, []).append(output)
    compared = shared = 0
    for group in skeletons.values():
        for one, other in combinations(group, 2):
            compared += 1
            solver = one.problem.limits.solver(f"no output {one.name} comes from two lists of draws")
            shared += solver.check(one.same_output(other)) != z3.unsat
    apart = f", {compared - shared} pairs told apart by their numbers" if compared > shared else ""
    shown = f", {shared} pairs as if the list were released too" if shared else ""
    kinds = len(classes) if shared else len(skeletons)
    return f"one list of draws for each of {kinds} kinds of output{apart}{shown}"


def check_laws(classes: list[OutputClass]) -> str:
    """Condition 3: each law is known to have its bound, and each scale is a positive number."""
    seen: dict[Law, str] = {}
    for output in classes:
        for draw in output.draws:
            scale_of(draw)
            if draw.law is UNIFORM:  # coins and choices, which are the same on the neighbour
                seen[draw.law] = "no bound, so it must stay as it is"
                continue
            require_price(draw.law, f"draw {draw.label!r}")
            seen[draw.law] = draw.law.price.value
    return "; ".join(f"{law}: {bound}" for law, bound in seen.items()) or "no noise is drawn"
