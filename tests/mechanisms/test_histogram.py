"""Histograms: the scale, the law of the noise, its program on the same digits, the proof, intervals."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.bits import SeededBits
from freegap.estimate.noise_laws import half_width
from freegap.exact.digits import KeyedDigits
from freegap.exact.integers import discrete_gaussian
from freegap.exact.reals import Real, Variable
from freegap.laws import DISCRETE_LAPLACE, EXPONENTIAL
from freegap.mechanisms.histogram import HistogramPlan, form, noisy_bins
from freegap.values.answers import read_answers


def plan(**more: Any) -> HistogramPlan:
    return HistogramPlan.read(**({"bins": 4, "items_per_person": 1, "epsilon": 1} | more))


def test_the_noise_is_for_as_many_bins_as_one_person_can_change() -> None:
    assert plan().scale == 1
    assert plan(bins=10**6).scale == 1
    assert plan(items_per_person=3, sensitivity=5, epsilon="1/2").scale == 30
    assert plan(items_per_person=None).scale == plan(items_per_person=99).scale == 4
    assert plan(items_per_person=None).scale == fg.measure([0] * 4, epsilon=1, bits=SeededBits(1)).scale


def test_under_rho_the_noise_grows_with_the_root() -> None:
    for m, sensitivity in ((1, 1), (2, 3), (4, 1)):
        made = plan(epsilon=None, rho="1/2", items_per_person=m, sensitivity=sensitivity)
        assert made.charge == m * Fraction(sensitivity) ** 2 / (2 * made.scale**2)
        assert Fraction(1, 2) * Fraction(99999, 100000) < made.charge <= Fraction(1, 2)


def test_the_noise_by_hand_on_the_same_bits() -> None:
    """Two geometric variables for each bin, on exact reals; discrete Gaussian ones, one after the other."""
    answers = [5, 0, 7, 2]
    for steps, grid in ((Fraction(3, 7), 1), (Fraction(900), 1), (Fraction(50), Fraction(1, 4))):
        made = plan(epsilon=1 / (steps * grid), resolution=grid)
        digits = KeyedDigits(SeededBits(4), 8)
        drawn = [
            Real(Fraction(0), {Variable(EXPONENTIAL, digits.stream(i, 1)): steps}).floor() for i in range(8)
        ]
        wanted = [int(a / grid) + drawn[i] - drawn[4 + i] for i, a in enumerate(answers)]
        assert list(noisy_bins(made, read_answers(answers, made.resolution), SeededBits(4))) == wanted
    normal, bits = plan(epsilon=None, rho=1, resolution="1/4"), SeededBits(4)
    wanted = [4 * a + discrete_gaussian((normal.scale * 4) ** 2, bits) for a in answers]
    assert list(noisy_bins(normal, read_answers(answers, normal.resolution), SeededBits(4))) == wanted


def distance(scale: str, draws: int = 40_000) -> float:
    """The largest difference between the frequencies of the noise at ε = 1/2 and the law of this scale."""
    made = plan(bins=draws, epsilon="1/2")
    noise = np.array(noisy_bins(made, read_answers(np.zeros(draws, int), made.resolution), SeededBits(9)))
    q = math.exp(-1 / Fraction(scale))
    law = [(1 - q) / (1 + q) * q ** abs(z) for z in range(-12, 13)]
    found = [np.mean(noise == z) for z in range(-12, 13)]
    return float(max(abs(a - b) for a, b in zip(law, found, strict=True)))


def test_the_law_of_the_noise() -> None:
    """By Hoeffding's bound a frequency errs by 0.0187 with probability 2e-12, 25 of them with 5e-11."""
    assert distance("2") < 0.0187
    assert distance("7/4") > 0.0187


def test_a_disjoint_histogram_is_proved_for_every_number_of_bins() -> None:
    proof = fg.prove(form(2), epsilon="1/2", neighbours="one", resolution=1)
    assert proof.holds
    assert not fg.prove(form(2), epsilon="2/5", neighbours="one", resolution=1).holds
    assert not fg.prove(form(2), epsilon="1/2", neighbours="each", resolution=1).holds


@pytest.mark.parametrize("steps", [Fraction(1, 3), Fraction(2), Fraction(75)])
@pytest.mark.parametrize("level", [0.05, 0.3])
def test_intervals_are_as_wide_as_they_must_be(steps: Fraction, level: float) -> None:
    """By summing the law: not more than `level` is outside, and one step less would leave out too much."""
    q = math.exp(-1 / steps)
    width = round(half_width(DISCRETE_LAPLACE, steps, Fraction(1), level))
    inside = sum((1 - q) / (1 + q) * q ** abs(z) for z in range(-width, width + 1))
    assert inside >= 1 - level
    assert width == 0 or inside - 2 * (1 - q) / (1 + q) * q**width < 1 - level
    finer = half_width(DISCRETE_LAPLACE, steps / 8, Fraction(1, 8), level)
    assert finer == pytest.approx(width / 8)


def test_lists_arrays_dicts_and_series() -> None:
    asked: dict[str, Any] = {"items_per_person": 1, "epsilon": 10**4}
    assert [*fg.histogram(np.array([3, 1, 2]), bits=SeededBits(1), **asked).values] == [3, 1, 2]
    named = fg.histogram({"b": 5, "a": 3}, bits=SeededBits(1), **asked)
    assert named.labels == ("a", "b")
    assert named.intervals() == ((3.0, 3.0), (5.0, 5.0))
    weighted = fg.histogram([0.5, 2.25], sensitivity="0.25", resolution="1/8", bits=SeededBits(1), **asked)
    assert weighted.values == (Fraction(1, 2), Fraction(9, 4))
    assert weighted.standard_error < 0.01
    huge = fg.histogram([10**30, -(10**30)], items_per_person=1, epsilon=1, bits=SeededBits(1))
    small = fg.histogram([0, 0], items_per_person=1, epsilon=1, bits=SeededBits(1))
    assert [a - b for a, b in zip(huge.values, small.values, strict=True)] == [10**30, -(10**30)]


def test_what_it_says() -> None:
    release = fg.histogram({"a": 3, "b": 4}, items_per_person=None, epsilon=1, bits=SeededBits(1))
    assert "One person changes at most 2 bins, each by at most 1." in str(release)
    again = fg.Release.from_json(release.to_json())
    assert again.rows() == release.rows()
    assert list(release.to_pandas().columns) == ["item", "value", "standard_error", "low", "high"]


@pytest.mark.parametrize(
    ("answers", "options", "names"),
    [
        ([1], {"items_per_person": 0}, "items_per_person"),
        ([1], {"items_per_person": "1"}, "items_per_person"),
        ([1], {"epsilon": None}, "epsilon"),
        ([1], {"epsilon": 0}, "epsilon"),
        ([1], {"sensitivity": "0.5"}, "sensitivity.*resolution"),
        ([1], {"resolution": 2}, "resolution"),
        ([], {}, "empty"),
        ([math.nan], {}, "answers"),
        ([1], {"domain": ["a"]}, "domain.*is for a table"),
        ([1], {"value": "cost"}, "value.*is for a table"),
        ([1], {"normalize": True}, "normalize.*is for a table"),
        ([1], {"item": "a", "person": "b"}, "table"),
        ("a.csv", {"sensitivity": 2}, "sensitivity.*counts"),
    ],
)
def test_bad_arguments(answers: Any, options: dict[str, Any], names: str) -> None:
    asked: dict[str, Any] = {"items_per_person": 1, "epsilon": 1} | options
    with pytest.raises(fg.InvalidArgument, match=names):
        fg.histogram(answers, **asked)
