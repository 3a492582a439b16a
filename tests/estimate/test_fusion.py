from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freegap.errors import InvalidArgument
from freegap.estimate.fusion import Fused, blue, blue_variance_ratio, fused, inverse_variance

RATIONALS = st.fractions(-100, 100, max_denominator=20)


@given(st.lists(RATIONALS, min_size=1, max_size=6), st.data(), st.fractions(Fraction(1, 10), 10))
def test_blue_is_the_papers_matrix(alpha: list[Fraction], data: st.DataObject, ratio: Fraction) -> None:
    """Ding 2020, theorem 5.9: β = (Xα + Yg)/((1 + λ)k)."""
    k = len(alpha)
    gaps = data.draw(st.lists(RATIONALS, min_size=k - 1, max_size=k - 1))
    expected = []
    for i in range(k):
        total = sum((((1 + ratio * k) if i == j else 1) * alpha[j] for j in range(k)), Fraction(0))
        total += sum((k - 1 - j - (k if j < i else 0)) * gaps[j] for j in range(k - 1))
        expected.append(total / ((1 + ratio) * k))
    assert blue(alpha, gaps, ratio) == expected


def test_blue_has_the_least_variance() -> None:
    """Against generalised least squares on the covariance of (α, g)."""
    k, ratio = 4, 0.5
    design = np.vstack([np.eye(k), np.eye(k)[:-1] - np.eye(k)[1:]])
    differences = np.eye(k)[:-1] - np.eye(k)[1:]
    covariance = np.zeros((2 * k - 1, 2 * k - 1))
    covariance[:k, :k] = np.eye(k)
    covariance[k:, k:] = ratio * differences @ differences.T
    inverse = np.linalg.inv(covariance)
    variance = np.linalg.inv(design.T @ inverse @ design)
    assert np.allclose(np.diag(variance), float(blue_variance_ratio(k, Fraction(1, 2))))


@pytest.mark.parametrize(("ratio", "limit"), [(Fraction(1), 0.5), (Fraction(1, 2), 1 / 3)])
def test_error_reduction_in_the_limit(ratio: Fraction, limit: float) -> None:
    assert float(blue_variance_ratio(10**6, ratio)) == pytest.approx(limit, abs=1e-5)
    assert blue_variance_ratio(1, ratio) == 1


def test_inverse_variance_of_one_is_itself() -> None:
    assert inverse_variance([(Fraction(3), Fraction(2))]) == (Fraction(3), Fraction(2))


def test_wrong_number_of_gaps() -> None:
    with pytest.raises(InvalidArgument, match="must be one fewer than the 2 measurements"):
        blue([Fraction(1), Fraction(2)], [], Fraction(1))


@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_where_gaps_say_too_little_measurements_are_left_alone(dimension: int) -> None:
    """Also where the two agree, as they may on a grid: the error is that of a measurement."""
    known: dict[str, Any] = {"variance": Fraction(4), "weight": Fraction(1, 2), "dimension": dimension}
    alpha = [Fraction(9), Fraction(5), Fraction(3)]
    for best in (alpha, [Fraction(8), Fraction(6), Fraction(3)]):
        assert fused(alpha, best, **known) == Fused(tuple(alpha), 4.0)


@pytest.mark.parametrize("distance", [Fraction(9, 4), Fraction(5, 2), Fraction(21, 8)])
def test_stein_s_estimate_of_the_error_between_its_ends(distance: Fraction) -> None:
    """variance + (total - 2·w·m·variance)/n, where that is neither below the least nor above the most."""
    n, variance, weight = 20, Fraction(9), Fraction(2, 3)
    made = fused([distance] * n, [Fraction(0)] * n, variance=variance, weight=weight, dimension=n - 1)
    expected = variance + (n * distance**2 - 2 * weight * (n - 1) * variance) / n
    least = variance * (1 - weight * (n - 1) / n)
    assert n * distance**2 <= Fraction(3, 2) * (n - 3) * variance * weight
    assert made.estimates == (Fraction(0),) * n
    assert made.error == float(min(max(expected, least), variance))
    assert (expected > least) == (distance > Fraction(9, 4))
