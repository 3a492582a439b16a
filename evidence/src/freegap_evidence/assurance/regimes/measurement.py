"""Cases of `measure`, noise rounded to the nearest multiple of the grid, and of `histogram`, noise on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import freegap as fg
from freegap.bits import BitSource
from freegap.exact.digits import KeyedDigits
from freegap.exact.reals import Real, Variable
from freegap.laws import EXPONENTIAL, LAPLACE
from freegap.mechanisms import measurement
from freegap_evidence.assurance.regimes.case import PRECISIONS, Matrix, RegimeCase, at_precision
from freegap_evidence.assurance.regimes.cells import Cells, Levels, apart
from freegap_evidence.assurance.regimes.choices import Choices
from freegap_evidence.assurance.regimes.numbers import DIMENSIONS, GRIDS, given_at, scale_at, unholdable
from freegap_evidence.assurance.regimes.reference import draws, floored, keyed

NUMBERS = {"one": 1, "few": 5, "many": 100}


def measured(
    answers: Sequence[Fraction], digits: KeyedDigits, scale: Fraction, grid: Fraction, twin: bool
) -> tuple[int, ...]:
    """The program of `measure`, rounded to the nearest multiple of the grid, halves up."""
    noise = draws(lambda i: Variable(LAPLACE, digits.stream(i, 1)), twin=twin)
    noisy = measurement.form(scale, 1 / scale).program(answers, noise)
    return tuple(floored(value + grid / 2, grid) for value in noisy)


def binned(
    answers: Sequence[Fraction], digits: KeyedDigits, scale: Fraction, grid: Fraction, twin: bool
) -> tuple[int, ...]:
    """The same of `histogram`: the difference of two geometric variables, each an exact real rounded down."""
    steps, n = scale / grid, len(answers)

    def geometric(i: int) -> int:
        noise = Variable(EXPONENTIAL, digits.stream(i, 1))
        return (
            math.floor(float(Real(0, {noise: Fraction(1)})) * float(steps)) if twin else _floor(noise, steps)
        )

    sign = -1 if twin else 1
    return tuple(int(a / grid) + sign * (geometric(i) - geometric(n + i)) for i, a in enumerate(answers))


def _floor(noise: Variable, steps: Fraction) -> int:
    return Real(0, {noise: steps}).floor()


Program = Callable[[Sequence[Fraction], KeyedDigits, Fraction, Fraction, bool], tuple[int, ...]]


def measure() -> Matrix:
    """Against its program."""
    return _matrix(fg.measure, measured, draws_each=1)


def histogram() -> Matrix:
    """Of disjoint bins, against its program."""
    return _matrix(partial(fg.histogram, items_per_person=1), binned, draws_each=2)


def _matrix(function: Callable[..., Any], program: Program, draws_each: int) -> Matrix:
    impossible = unholdable() | apart("number", ["many"], "precision", ["one bit"])
    dimensions = {
        "number": tuple(NUMBERS),
        **DIMENSIONS,
        "precision": tuple(PRECISIONS),
    }
    case = partial(_case, function, program, draws_each)
    return Matrix(Cells(dimensions, frozenset(impossible)), case)


def _case(
    function: Callable[..., Any], program: Program, draws_each: int, levels: Levels, seed: str
) -> RegimeCase:
    choices = Choices(f"{seed} {sorted(levels.items())}")
    grid, scale = GRIDS[levels["grid"]], scale_at(levels["scale"], choices)
    n = NUMBERS[levels["number"]]
    given = given_at(levels, [0.0] * n, scale=scale, grid=grid, choices=choices)
    answers = given.on(grid)
    sensitivity = grid * choices.of((1, 3, grid.denominator))
    epsilon = (n if draws_each == 1 else 1) * sensitivity / scale  # one person is in one bin

    def released(bits: BitSource) -> Hashable:
        with at_precision(levels["precision"]):
            found = function(
                given.answers, epsilon=epsilon, sensitivity=sensitivity, resolution=grid, bits=bits
            )
        return found.labels, found.multiples, found.spent

    def expected(record: str, twin: bool) -> Hashable:
        labels = tuple(given.label(i) for i in range(n))
        return labels, program(answers, keyed(record, draws_each * n), scale, grid, twin), epsilon

    return RegimeCase(released, expected, f"scale={scale}, grid={grid}, exactly={[*map(str, answers)][:9]}")
