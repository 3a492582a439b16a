"""A violation of privacy: neighbours and an event whose probabilities differ by more than e^ε.

Whatever a search looks at (`freegap.prover.climbing`), what is returned is certain: both probabilities are
balls that hold them (`freegap.prover.kinds`), the ratio is a lower bound, it is larger than an upper bound of
e^ε, and the probabilities of all kinds of output add up to 1 on both sides, as far as the balls tell. That
none is found says nothing.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from freegap.prover.classes import OutputClass
from freegap.prover.climbing import Search, Trial
from freegap.prover.events import Bounds, ExactViolation
from freegap.prover.kinds import Kind, kinds_of, require_certain
from freegap.prover.problem import Problem
from freegap.prover.report import Refutation
from freegap.values.balls import as_ball, at_precision


def find_counterexample(
    problem: Problem, classes: list[OutputClass], hint: Refutation | None = None
) -> ExactViolation | None:
    """A violation, or None if none was found; `NotDecided` where chances cannot be computed, in time."""
    kinds = kinds_of(problem, classes)

    def accept(at: Trial) -> ExactViolation | None:
        return certified(problem, kinds, at, kinds[at.kind].charge)

    return Search(problem, kinds, lambda kind: kind.charge, accept, hint).run()


def certified(problem: Problem, kinds: list[Kind], at: Trial, charge: Fraction) -> ExactViolation | None:
    """The trial as a violation of privacy at this charge, if it certainly is one."""
    kind, limits = kinds[at.kind], problem.limits
    most = _bounds(at_precision(192, lambda: as_ball(charge).exp())).upper
    first, second = (_bounds(kind.chance(side, at.box, limits)) for side in (at.answers, at.neighbour))
    ratio = None if second.upper == 0 else _shortened(first.lower / second.upper)
    if first.lower == 0 or (ratio is not None and ratio <= most):
        return None
    for side in (at.answers, at.neighbour):
        require_certain(k.chance(side, k.anything, limits) for k in kinds)
    return ExactViolation(at.answers, at.neighbour, kind.event(at.box), first, second, ratio, charge)


def loss_of(found: ExactViolation) -> Fraction | float:
    """ln of the ratio, rounded down; infinite where the neighbour never shows the event."""
    ratio = found.ratio
    if ratio is None:
        return math.inf
    return _shortened(_rational(at_precision(192, lambda: as_ball(ratio).log()).lower()))


def _bounds(ball: Any) -> Bounds:
    """The ends of a ball, as rationals."""
    return Bounds(max(Fraction(0), _rational(ball.lower())), _rational(ball.upper()))


def _rational(end: Any) -> Fraction:
    mantissa, exponent = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _shortened(ratio: Fraction) -> Fraction:
    """A rational of few digits, and not larger."""
    size = Fraction(2) ** (ratio.numerator.bit_length() - ratio.denominator.bit_length() - 60)
    return ratio // size * size
