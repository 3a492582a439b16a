"""Quantiles and tails against formulas written out here; defaults; what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx, fmpq

import freegap as fg
from freegap.bits import RecordedBits, SeededBits
from freegap.errors import InvalidArgument
from freegap.estimate.noise_laws import GapNoise
from freegap.laws import EXPONENTIAL, LAPLACE

# The noise in a gap -----------------------------------------------------------------------------


def exponential_quantile(scale: Fraction, threshold_scale: Fraction, level: float) -> float:
    """t with P(sX − rY − (s − r) > t) = s/(s + r)·e^(−(t + s − r)/s) = level, for level ≤ s/(s + r)."""
    s, r = float(scale), float(threshold_scale)
    return -s * math.log(level * (s + r) / s) - (s - r)


@pytest.mark.parametrize("theta", ["-34", "-31", "-30.01", "-29.99", "-20", "-5", "-3.5"])
def test_the_expected_gap_of_a_choice_that_is_hardly_ahead(theta: str) -> None:
    """What it is above 1: e^θ/2 − e^(2θ)/6 + …, to the digits that a double next to 1 has."""
    number, digits = Fraction(theta), ctx.prec
    try:
        ctx.prec = 400
        x = arb(fmpq(number.numerator, number.denominator))
        above = float((1 + (-x).exp()) * (1 + x.exp()).log() - 1)
    finally:
        ctx.prec = digits
    assert fg.expected_gap(theta) - 1 == pytest.approx(above, rel=1e-9, abs=1e-15)


# Laws of a gap's noise ----------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.01, 0.2, 0.5, 0.95, 0.999])
@pytest.mark.parametrize("scales", [(3, 1), (1, 4), (Fraction(1, 10**9), Fraction(3, 10**9))])
def test_quantiles_are_a_little_above_the_true_ones(confidence: float, scales: tuple[Any, Any]) -> None:
    """By what rounding to doubles may take, and hardly more; on both sides of 0."""
    s, r = Fraction(scales[0]), Fraction(scales[1])
    level, shift = 1 - confidence, float(s - r)
    if level <= float(s / (s + r)):
        true = exponential_quantile(s, r, level)
    else:
        true = float(r) * math.log((1 - level) * float((s + r) / r)) - shift
    found = GapNoise(EXPONENTIAL, s, r).quantile(confidence)
    assert abs(true) * 2**-42 < found - true < (abs(true) + float(s + r)) * 2**-20


@pytest.mark.parametrize("apart", ["1e-3", "1e-4", "1e-5", "2e-6", "9e-7", "1e-9", "-2e-6", "-9e-7", "-1e-4"])
@pytest.mark.parametrize("size", [Fraction(1, 10**9), Fraction(1), Fraction(10**9)])
def test_laplace_scales_that_are_close(apart: str, size: Fraction) -> None:
    """Lemma 5.4 in many digits: never below the truth by more than rounding, and close to it."""
    s, r = size, size * (1 + Fraction(apart))
    law, digits = GapNoise(LAPLACE, s, r), ctx.prec
    for times in (0, 1, 5, 20):
        try:
            ctx.prec = 400
            t = size * times
            tails = [(-arb(fmpq((t / b).numerator, (t / b).denominator))).exp() for b in (s, r)]
            squares = [arb(fmpq((b * b).numerator, (b * b).denominator)) for b in (s, r)]
            truth = float((squares[0] * tails[0] - squares[1] * tails[1]) / (2 * (squares[0] - squares[1])))
        finally:
            ctx.prec = digits
        found = law.upper_tail(float(t))
        assert truth * (1 - 1e-9) <= found <= truth * (1 + 3e-5)


# Fused estimates ----------------------------------------------------------------------------------

ANSWERS = [900, 20, 700, 30, 500]


def test_the_parameters_of_both_halves() -> None:
    """ε = 2, of which a fifth selects: Δ = 3, k = 3."""
    options: dict[str, Any] = {"sensitivity": 3, "split": "1/5", "monotonic": True}
    release = fg.select_and_measure(ANSWERS, 3, epsilon=2, **options, bits=SeededBits(1))
    assert release.selection.parameters["scale"] == 3 * 3 / Fraction(2, 5)
    assert release.measurement is not None
    assert release.measurement.scale == 3 * 3 / Fraction(8, 5)
    assert release.to_dict()["mechanism"] == "select_and_measure"
    expected = {"k": 3, "split": Fraction(1, 5), "noise": "exponential", "monotonic": True}
    assert {name: release.parameters[name] for name in expected} == expected
    even = fg.select_and_measure(ANSWERS, 3, epsilon=2, bits=SeededBits(1))
    assert even.parameters["split"] == Fraction(1, 2)
    assert even.selection.parameters["scale"] == 2 * 3  # not monotonic, Δ = 1, ε = 1


def test_fractions_are_measured_as_they_are() -> None:
    """With next to no noise, what is measured is the answer, rounded down to the grid."""
    release = fg.select_and_measure([0.25, 900.5, 3], 1, epsilon=10**6, bits=SeededBits(1))
    assert [round(float(value), 2) for value in release.measured] == [900.5]
    coarse = fg.select_and_measure([1.5, 99.75], 1, epsilon=10**6, resolution="1/2", bits=SeededBits(1))
    assert coarse.measured == (Fraction(199, 2),)


def test_a_budget_that_measuring_could_not_be_given_is_refused_before_anything_is_drawn() -> None:
    """500 digits are allowed; a 999th part of this budget has more."""
    source = RecordedBits(SeededBits(1))
    epsilon = 1 + Fraction(1, 10**498)
    with pytest.raises(InvalidArgument) as caught:
        fg.select_and_measure(list(range(1001)), 999, epsilon=epsilon, bits=source)
    assert caught.value.argument == "split"
    assert source.record == ""
