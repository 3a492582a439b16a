from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from freegap.errors import InvalidArgument
from freegap.values.rationals import (
    count_argument,
    positive_rational,
    rational,
    resolution_argument,
    sensitivity_argument,
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (1, Fraction(1)),
        (0.1, Fraction(1, 10)),
        (1e-3, Fraction(1, 1000)),
        ("0.7", Fraction(7, 10)),
        ("1/3", Fraction(1, 3)),
        ("2e-2", Fraction(1, 50)),
        (Decimal("0.25"), Fraction(1, 4)),
        (Fraction(2, 3), Fraction(2, 3)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.int16(3), Fraction(3)),
    ],
)
def test_a_number_is_what_a_person_means_by_it(given: object, expected: Fraction) -> None:
    found = rational("epsilon", given)
    assert found == expected
    assert type(found) is Fraction


@pytest.mark.parametrize(
    ("given", "constraint"),
    [
        (float("nan"), "must be finite"),
        (float("inf"), "must be finite"),
        (Decimal("NaN"), "must be finite"),
        ("seven", "is not a number"),
        ("", "is not a number"),
        ("1/0", "is not a number"),
        ("1e999999999", "is not a number"),
        ("9" * 2000, "is not a number"),
        (True, "must be a number, not a truth value"),
        (None, "must be a number"),
        (1j, "must be a number"),
        ([1], "must be a number"),
    ],
)
def test_what_is_not_a_number_is_refused(given: object, constraint: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        rational("epsilon", given)
    assert str(caught.value).startswith("epsilon = ")
    assert constraint in str(caught.value)
    assert 'Pass a number such as 1, "0.7" or "1/3".' in str(caught.value)


@pytest.mark.parametrize("given", [0, -1, "-0.5", Fraction(0)])
def test_positive(given: object) -> None:
    with pytest.raises(InvalidArgument, match=r"must be greater than 0\. Pass for example epsilon=1"):
        positive_rational("epsilon", given)


@pytest.mark.parametrize("given", [0, -3])
def test_counts_have_a_least(given: int) -> None:
    with pytest.raises(InvalidArgument, match=f"k = {given}: must be at least 1"):
        count_argument("k", given)


@pytest.mark.parametrize("given", [1.0, "1", None, True])
def test_counts_are_whole_numbers(given: object) -> None:
    with pytest.raises(InvalidArgument, match="must be a whole number"):
        count_argument("k", given)
    assert count_argument("k", np.int64(3)) == 3


@pytest.mark.parametrize("given", ["1/1024", 0.1, 1, Fraction(1, 3)])
def test_resolutions(given: object) -> None:
    assert resolution_argument(given).numerator == 1


@pytest.mark.parametrize("given", ["2/3", 2, 1 / 3])
def test_a_resolution_is_a_reciprocal(given: object) -> None:
    with pytest.raises(InvalidArgument, match="must be the reciprocal of a whole number"):
        resolution_argument(given)


def test_the_resolution_divides_the_sensitivity() -> None:
    assert sensitivity_argument("3/2", Fraction(1, 2)) == Fraction(3, 2)
    with pytest.raises(InvalidArgument) as caught:
        sensitivity_argument("0.3", Fraction(1, 1024))
    assert str(caught.value) == (
        "sensitivity = '0.3': must be a multiple of the resolution 1/1024. Pass resolution=Fraction(1, 10), "
        'or a sensitivity rounded up, Fraction("77/256").'
    )


def test_the_finest_resolution() -> None:
    """Finer ones would underflow in the ratio to a scale, where winners were wrong and gaps negative."""
    assert resolution_argument(Fraction(1, 10**60)) == Fraction(1, 10**60)
    with pytest.raises(InvalidArgument, match=r"resolution = .*must be at least 10\^-60"):
        resolution_argument(Fraction(1, 10**60 + 1))
