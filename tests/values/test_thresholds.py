"""Thresholds of their own, beyond what an int64 holds."""

from __future__ import annotations

from fractions import Fraction

import pytest

import freegap as fg
from freegap.values.answers import read_answers
from freegap.values.thresholds import subtract_threshold


@pytest.mark.parametrize("far", [2**61, 2**62, 2**63 - 1, 2**63, 2**70])
def test_far_thresholds_do_not_wrap(far: int) -> None:
    answers = read_answers([-(2**60), 2**60, 5], Fraction(1))
    for sign in (1, -1):
        offsets = subtract_threshold(answers, [sign * far, 0, 7], Fraction(1), discrete=True)
        assert [int(value) for value in offsets.values] == [-(2**60) - sign * far, 2**60, -2]
        assert offsets.grain == 1


def test_a_far_threshold_is_not_reached() -> None:
    release = fg.sparse_vector(
        [-(2**60), 2**60], [2**63 - 1, 0], k=1, epsilon=1, noise="geometric", bits=fg.SeededBits(1)
    )
    assert release.indices == (1,)
