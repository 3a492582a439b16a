"""The threshold among the answers, in common units: exact, however large either is."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import freegap as fg
from freegap.bits import SeededBits
from freegap.mechanisms.population import read_population

GRID = Fraction(1, 1024)
POWERS = (0, 1, 50, 51, 52, 57, 60, 61)
LARGE = sorted({sign * (2**power + near) for power in POWERS for near in (-1, 0, 1) for sign in (-1, 1)})


@pytest.mark.parametrize(
    "bar", [Fraction(1, 2), Fraction(7), *(Fraction(v) for v in LARGE), Fraction(-(2**70))]
)
def test_answers_and_threshold_are_what_they_were(bar: Fraction) -> None:
    for answer in LARGE:
        for answers in ([answer, 3], [3, answer], [answer, -answer]):
            values, grain = read_population(answers, GRID).with_threshold(bar, GRID)
            assert [int(value) * grain for value in values] == [*answers, bar]


@pytest.mark.parametrize(("sign", "beyond"), list(product((-1, 1), (False, True))))
def test_arrays_are_left_before_differences_overflow(sign: int, beyond: bool) -> None:
    largest = 2**61 - (0 if beyond else 1)
    for answers, bar in (([sign * largest, 0], 5), ([1, 2], sign * largest)):
        values, grain = read_population(answers, GRID).with_threshold(Fraction(bar), GRID)
        assert isinstance(values, np.ndarray) != beyond
        assert [int(value) * grain for value in values] == [*answers, bar]
    # In units of the grid there are 2^10 for each unit of an answer.
    largest = 2**51 - (0 if beyond else 1)
    values, _ = read_population([sign * largest, 0], GRID).with_threshold(Fraction(1, 2), GRID)
    assert isinstance(values, np.ndarray) != beyond


def test_a_very_negative_answer_is_not_released_first() -> None:
    """In units of the grid −2^57 would wrap around to something else."""
    answers = [-(2**57), -(2**57) - 1, 900, 700]
    release = fg.hybrid_top_k(answers, "400.5", k=4, epsilon=1, bits=SeededBits(1))
    assert release.indices == (2, 3)
    assert release.reached
