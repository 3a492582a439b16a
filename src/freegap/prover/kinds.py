"""The kinds of output of a program, and the chance of each on answers that are known.

Programs that put out the place of the largest value with Gumbel noise have their chances in closed form
(`freegap.prover.largest`); the conditions of all others are gone through (`freegap.prover.probability`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from flint import arb

from freegap.errors import InvalidArgument
from freegap.prover.classes import OutputClass
from freegap.prover.events import EventBox
from freegap.prover.largest import Softmax, largest_of
from freegap.prover.outputs import count_holes, is_processed, rebuild, show
from freegap.prover.probability import Interval, LinearPath, linear_paths, probability_of
from freegap.prover.problem import Problem
from freegap.prover.rounding import Steps, require_told_apart, steps_of, told, widened
from freegap.symbolic import Limits, NotDecided
from freegap.symbolic.subset import follow
from freegap.symbolic.symbols import constant

_MOST_KINDS = 400


@dataclass(frozen=True)
class Kind:
    """All paths whose outputs have one skeleton, whatever they draw."""

    skeleton: Any
    charge: Fraction
    paths: tuple[LinearPath, ...] = ()
    softmax: Softmax | None = None
    """In place of the paths, where it is the place of the largest value with Gumbel noise."""

    @cached_property
    def numbers(self) -> int:
        """How many numbers vary."""
        return count_holes(self.skeleton)

    @property
    def anything(self) -> tuple[Interval, ...]:
        """The event that this is put out, whatever its numbers."""
        return ((None, None),) * self.numbers

    @cached_property
    def steps(self) -> dict[int, Steps]:
        """Of the numbers that are rounded, by place."""
        return steps_of(self.skeleton)

    def event(self, box: Sequence[Interval]) -> EventBox:
        """What is seen of this kind with its numbers within the box, widened to whole steps."""
        wide = widened(box, self.steps)
        shown = (self.steps[i].seen(one) if i in self.steps else one for i, one in enumerate(wide))
        return EventBox(told(self.skeleton, self.steps), tuple(shown))

    def chance(self, answers: Sequence[Fraction], box: Sequence[Interval], limits: Limits) -> Any:
        """The probability of this kind on these answers, with its numbers within the box, widened to whole
        steps of those that are rounded: a ball."""
        if self.softmax is not None:
            return self.softmax.chance(answers)
        if self.steps and self._on_an_edge(answers):
            return arb(0.5, 0.5)  # nothing is known: an edge belongs to one of two steps
        return probability_of(self.paths, answers, widened(box, self.steps), limits)

    def _on_an_edge(self, answers: Sequence[Fraction]) -> bool:
        numbers = ((path.numbers[place], steps) for path in self.paths for place, steps in self.steps.items())
        return any(not number.noise and steps.is_edge(number.at(answers)) for number, steps in numbers)

    def pull(self, box: Sequence[Interval], queries: int) -> tuple[int, ...]:
        """For each answer, the way to move it that makes this kind less probable; 0 where none is known."""
        if self.softmax is not None:
            return self.softmax.pull(queries)
        total = [Fraction(0)] * queries
        for path in self.paths:  # one alone may favour places that are alike
            for relation, form in path.conditions:
                for i, c in form.answers if relation in ("<", "<=") else ():
                    total[i] += c
            for form, (low, high) in zip(path.numbers, box, strict=False):
                for i, c in form.answers:
                    total[i] += c * ((high is not None and high <= 0) - (low is not None and low >= 0))
        return tuple((t > 0) - (t < 0) for t in total)


def kinds_of(problem: Problem, classes: list[OutputClass]) -> list[Kind]:
    """The kinds of output of a program, whose probabilities add up to 1."""
    largest = largest_of(classes)
    if largest is not None:
        return [
            Kind(output.skeleton, charge_of(problem, output.skeleton), softmax=largest.linear(problem, place))
            for output, place in zip(classes, largest.places, strict=True)
        ]
    found: dict[Any, list[LinearPath]] = {}
    for output in classes:
        found.setdefault(output.skeleton, []).extend(linear_paths(output))
    if len(found) > _MOST_KINDS:
        raise NotDecided(f"there are more than {_MOST_KINDS} kinds of output")
    if any(map(is_processed, found)):
        require_told_apart(found)
    for skeleton, paths in found.items():
        for path in paths:
            _require_edges_are_null(path, steps_of(skeleton))
    return [Kind(skeleton, charge_of(problem, skeleton), tuple(paths)) for skeleton, paths in found.items()]


def _require_edges_are_null(path: LinearPath, steps: Mapping[int, Steps]) -> None:
    """A number with discrete noise lies on an edge of its steps with a probability above 0."""
    for place in steps:
        if any(path.draws[draw].resolution is not None for draw, _ in path.numbers[place].noise):
            raise NotDecided("an output with discrete noise is rounded or divided")


def charge_of(problem: Problem, skeleton: Any) -> Fraction:
    """What this kind of output is charged; ε where that depends on its numbers."""
    if problem.charge is None or count_holes(skeleton):
        return problem.epsilon
    words = problem.keywords(problem.charge)
    (path,) = follow(problem.charge, [rebuild(skeleton, ())], words, limits=problem.limits)
    charge = constant(path.result)
    if charge is None:
        constraint = f"is not a number for the output {show(skeleton)}"
        raise InvalidArgument("charge", path.result, constraint, "Return what the output costs.")
    return min(charge, problem.epsilon)


def require_certain(chances: Iterable[Any]) -> None:
    """The probabilities of all outputs add up to 1, as far as the balls tell: a check of what made them."""
    total = sum(chances, arb(0))
    if not total.contains(arb(1)):
        raise NotDecided(f"the probabilities of all outputs add up to {total}, and not to 1")
