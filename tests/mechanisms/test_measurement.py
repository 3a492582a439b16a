from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import freegap as fg
from freegap.bits import SeededBits
from freegap.errors import InvalidArgument
from freegap.exact.digits import KeyedDigits
from freegap.exact.grid_noise import floored_noise
from freegap.laws import LAPLACE


def test_low_precision_gives_the_same() -> None:
    def noise(**precision: int) -> list[int]:
        return floored_noise(
            LAPLACE,
            60,
            factor=Fraction(700),
            offset=Fraction(1, 2),
            digits=KeyedDigits(SeededBits(1), 60),
            **precision,
        )

    assert noise(filter_bits=1, start_digits=1) == noise()


def test_the_scale_divides_the_budget_among_the_answers() -> None:
    release = fg.measure([1, 2, 3, 4], epsilon=2, sensitivity=3, bits=SeededBits(1))
    assert release.scale == 6
    assert release.variance == 72
    assert release.spent == 2
    assert all((value * 1024).denominator == 1 for value in release.values)


def test_large_answers_and_fine_grids() -> None:
    big = fg.measure([10**40, 5], epsilon=1, bits=SeededBits(1))
    small = fg.measure([0, 5], epsilon=1, bits=SeededBits(1))
    assert big.values[0] - 10**40 == small.values[0]
    fine = fg.measure([0, 5], epsilon=1, resolution=Fraction(1, 2**70), bits=SeededBits(1))
    assert all(abs(a - b) < Fraction(1, 1000) for a, b in zip(fine.values, small.values, strict=True))


def test_labels_and_renderings() -> None:
    release = fg.measure({"a": 3.25, "b": 4}, epsilon=100, bits=SeededBits(1))
    assert release.labels == ("a", "b")
    assert "noisy answer" in str(release)
    assert '"values"' in release.to_json()
    assert abs(float(release.values[0]) - 3.25) < 1


@pytest.mark.parametrize("answers", [[], [float("nan")], "text"])
def test_bad_answers(answers: object) -> None:
    with pytest.raises(InvalidArgument):
        fg.measure(answers, epsilon=1)


def test_a_million_measurements_are_quick_and_exact() -> None:
    """All by the filter but a handful; here only that the path for large inputs holds together."""
    release = fg.measure(np.zeros(10**5, dtype=np.int64), epsilon=10**5, bits=SeededBits(2))
    assert abs(np.mean(release.multiples)) < 6 * 1024 * 2**0.5 / 10**2.5
