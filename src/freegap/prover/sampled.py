"""A property test of an alignment, for sizes that symbolic execution does not reach.

The alignment is replayed in exact arithmetic on random and on adversarial inputs. This can refute; it
cannot prove. Adversarial: equal answers, answers in a row of steps of Δ, neighbours at the ends of their
intervals, all up or all down or in turns, and noise so small that every comparison is close.

Noise is not sampled from its law: an alignment must hold for all noise of positive density, so any values
will do, as long as ties of continuous noise, a null set, are avoided (each draw has 64 random low digits).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.bits import BitSource, SeededBits
from freegap.laws import UNIFORM, Law
from freegap.laws.labelled import LabelledNoise
from freegap.prover.check import claim_of
from freegap.prover.problem import Alignment, Problem
from freegap.prover.replay import replay
from freegap.prover.report import CONDITIONS, Established, Proof, Refutation
from freegap.symbolic import NotDecided

_UNIT = 1 << 64


@dataclass
class _Numbers:
    """Random rationals from a source of bits."""

    source: BitSource

    def below(self, most: int) -> int:
        """A whole number in 0 … most − 1, near enough to uniform for a search."""
        return self.source.bits(64) * most >> 64

    def between(self, low: Fraction, high: Fraction) -> Fraction:
        return low + (high - low) * Fraction(self.source.bits(64), _UNIT)


class _SearchNoise(LabelledNoise[Fraction]):
    """Draws any values in the support of each law; small ones, or of the size of the scale."""

    def __init__(self, numbers: _Numbers, small: bool) -> None:
        self._numbers, self._small = numbers, small
        self.values: dict[Any, Fraction] = {}

    def draw(
        self, law: Law, scale: Any, label: Any = None, *, resolution: Any = None, step: Any = None
    ) -> Fraction:
        """Any value in the support of the law, which is where a proof must hold."""
        if law is UNIFORM:
            value = self._numbers.between(Fraction(0), Fraction(scale))
        else:
            size = Fraction(scale) * (Fraction(1, 1000) if self._small else 3)
            value = self._numbers.between(Fraction(0) if law.one_sided else -size, size)
        unit = Fraction(1 if resolution is None else resolution) if law.lattice else None
        if unit is not None:
            value = round(value / unit) * unit
        self.values[len(self.values) if label is None else label] = value
        return value


def sample_alignment(problem: Problem, alignment: Alignment, *, samples: int, seed: int = 0) -> Proof:
    """A refutation by one of the samples, or None with how many were tried."""
    numbers = _Numbers(SeededBits(seed))
    for answers, neighbour, small in _inputs(problem, numbers, samples):
        noise = _SearchNoise(numbers, small)
        try:
            problem.run(list(answers), noise)
            run = replay(problem, alignment, answers, neighbour, noise.values)
        except NotDecided:
            raise
        except Exception as error:  # whatever the user's programs raise on numbers
            return _result(problem, None, None, f"the programs raised {type(error).__name__}: {error}")
        if run.violated:
            condition = "support" if run.off_support else "output" if not run.same_output else "cost"
            return _result(problem, False, Refutation.of(condition, run), None)
    reason = f"no counterexample in {samples} samples, which is not a proof"
    return _result(problem, None, None, reason)


def _inputs(
    problem: Problem, numbers: _Numbers, samples: int
) -> Iterator[tuple[list[Fraction], list[Fraction], bool]]:
    n, delta = problem.queries, problem.sensitivity
    shapes: list[Callable[[int], Fraction]] = [
        lambda i: numbers.between(-10 * delta, 10 * delta),
        lambda i: Fraction(0),
        lambda i: i * delta,
        lambda i: Fraction(numbers.below(3)) * delta,
    ]
    moves: list[Callable[[int], Fraction]] = [
        lambda i: numbers.between(Fraction(-1), Fraction(1)),
        lambda i: Fraction(numbers.below(3) - 1),
        lambda i: Fraction((-1) ** i),
    ]
    for sample in range(samples):
        shape, move = shapes[sample % len(shapes)], moves[sample // len(shapes) % len(moves)]
        answers = [_on_grid(problem, shape(i)) for i in range(n)]
        steps = [move(i) * delta for i in range(n)]
        if problem.neighbours == "one":
            place = numbers.below(n)
            steps = [step if i == place else Fraction(0) for i, step in enumerate(steps)]
        elif problem.neighbours != "each":
            up = sample % 2 == 0 if problem.neighbours == "monotonic" else problem.neighbours == "increasing"
            steps = [abs(step) if up else -abs(step) for step in steps]
        neighbour = [a + _towards_zero(problem, step) for a, step in zip(answers, steps, strict=True)]
        yield answers, neighbour, sample % 5 == 4


def _on_grid(problem: Problem, value: Fraction) -> Fraction:
    return value if problem.resolution is None else (value // problem.resolution) * problem.resolution


def _towards_zero(problem: Problem, step: Fraction) -> Fraction:
    return -_on_grid(problem, -step) if step < 0 else _on_grid(problem, step)


def _result(problem: Problem, holds: bool | None, refutation: Refutation | None, reason: str | None) -> Proof:
    failed = refutation.condition if refutation is not None else None
    conditions = tuple(
        Established(name, False if name == failed else None, "refuted" if name == failed else "only sampled")
        for name in CONDITIONS
    )
    return Proof(
        holds, claim_of(problem), conditions, refutation=refutation, reason=reason, queries=problem.queries
    )
