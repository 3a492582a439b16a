"""Cases of `measure`: noise added and rounded to the nearest multiple of the grid."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction

import freegap as fg
from freegap.bits import BitSource
from freegap.exact.digits import KeyedDigits
from freegap.exact.reals import Variable
from freegap.laws import LAPLACE
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


def measure() -> Matrix:
    """Against its program."""
    impossible = unholdable() | apart("number", ["many"], "precision", ["one bit"])
    dimensions = {
        "number": tuple(NUMBERS),
        **DIMENSIONS,
        "precision": tuple(PRECISIONS),
    }
    return Matrix(Cells(dimensions, frozenset(impossible)), _case)


def _case(levels: Levels, seed: str) -> RegimeCase:
    choices = Choices(f"{seed} {sorted(levels.items())}")
    grid, scale = GRIDS[levels["grid"]], scale_at(levels["scale"], choices)
    n = NUMBERS[levels["number"]]
    given = given_at(levels, [0.0] * n, scale=scale, grid=grid, choices=choices)
    answers = given.on(grid)
    sensitivity = grid * choices.of((1, 3, grid.denominator))
    epsilon = n * sensitivity / scale

    def released(bits: BitSource) -> Hashable:
        with at_precision(levels["precision"]):
            found = fg.measure(
                given.answers, epsilon=epsilon, sensitivity=sensitivity, resolution=grid, bits=bits
            )
        return found.labels, found.multiples, found.spent

    def expected(record: str, twin: bool) -> Hashable:
        labels = tuple(given.label(i) for i in range(n))
        return labels, measured(answers, keyed(record, n), scale, grid, twin), epsilon

    return RegimeCase(released, expected, f"scale={scale}, grid={grid}, exactly={[*map(str, answers)][:9]}")
