"""Quantiles, tail bounds and intervals against formulas written out here; defaults; what is refused."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq

import freegap as fg
from freegap.bits import RecordedBits, SeededBits
from freegap.errors import InvalidArgument
from freegap.estimate.noise_laws import GapNoise, WeightedNoise, tail_bound
from freegap.laws import EXPONENTIAL, LAPLACE, LAWS

# Lower bounds -------------------------------------------------------------------------------------


def exponential_quantile(scale: Fraction, threshold_scale: Fraction, level: float) -> float:
    """t with P(sX − rY − (s − r) > t) = s/(s + r)·e^(−(t + s − r)/s) = level, for level ≤ s/(s + r)."""
    s, r = float(scale), float(threshold_scale)
    return -s * math.log(level * (s + r) / s) - (s - r)


def laplace_quantile(scale: Fraction, level: float) -> float:
    """The same where both scales are s: (2 + t/s)/4·e^(−t/s) = level, by bisection."""
    low, high = 0.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if (2 + middle) / 4 * math.exp(-middle) > level else (low, middle)
    return float(scale) * high


@pytest.mark.parametrize("confidence", [None, "0.95", "0.99", 0.5])
def test_lower_bounds_of_the_branch_that_answered(confidence: Any) -> None:
    """ε₀ = 1/2, ε₁ = 1/4: scales 2 for the threshold; 32, 16 and 8, each with a third of the error."""
    options: dict[str, Any] = {"k": 2, "epsilon": 1, "share": "1/2", "branches": 2}
    release = fg.adaptive_sparse_vector([10**6, 60, 15], 0, **options, bits=SeededBits(2))
    assert release.branches == (2, 1, 0)
    given = {} if confidence is None else {"confidence": confidence}
    level = (1 - float(Fraction(confidence or "0.95"))) / 3
    expected = [
        float(estimate) - exponential_quantile(Fraction(8) * 2**branch, Fraction(2), level)
        for estimate, branch in zip(release.estimates, release.branches, strict=True)
    ]
    assert fg.lower_bounds(release, **given) == pytest.approx(expected, rel=1e-9)


def test_lower_bounds_of_laplace_noise_with_equal_scales() -> None:
    """Monotonic, k = 1, half for the threshold: both scales are 2."""
    release = fg.sparse_vector(
        [900], 0, k=1, epsilon=1, share="1/2", monotonic=True, noise="laplace", bits=SeededBits(1)
    )
    (bound,) = fg.lower_bounds(release)
    assert bound == pytest.approx(
        float(release.estimates[0]) - laplace_quantile(Fraction(2), 0.05), rel=1e-12
    )


def test_a_lower_bound_of_what_no_double_holds_is_a_double() -> None:
    release = fg.sparse_vector([10**400], 0, k=1, epsilon=1, bits=SeededBits(1))
    (bound,) = fg.lower_bounds(release)
    assert bound == sys.float_info.max


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
    """By 2^−40 of their size, which covers what rounding to doubles took; on both sides of 0."""
    s, r = Fraction(scales[0]), Fraction(scales[1])
    level, shift = 1 - confidence, float(s - r)
    if level <= float(s / (s + r)):
        true = exponential_quantile(s, r, level)
    else:
        true = float(r) * math.log((1 - level) * float((s + r) / r)) - shift
    found = GapNoise(EXPONENTIAL, s, r).quantile(confidence)
    assert abs(true) * 2**-42 < found - true < abs(true) * 2**-38 + 1e-22


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


def test_moments_exist_on_one_side_only_for_one_sided_noise() -> None:
    s = np.array([0.5, 1.0, 3.0])  # of scale 1: from 1 on there is no moment to the right
    for noise in ("exponential", "geometric"):
        assert np.isfinite(WeightedNoise(LAWS[noise], 1.0, 1.0).log_moment(s)).tolist() == [
            True,
            False,
            False,
        ]
        assert np.isfinite(WeightedNoise(LAWS[noise], 1.0, -1.0).log_moment(s)).all()
    for weight in (1.0, -1.0):
        assert np.isfinite(WeightedNoise(LAPLACE, 1.0, weight).log_moment(s)).tolist() == [
            True,
            False,
            False,
        ]


def chernoff(terms: tuple[WeightedNoise, ...], level: float, most: float) -> float:
    """The least of (ln E[e^(sS)] + ln(1/level))/s over a grid of its own."""
    s = np.linspace(1e-3, 1, 200_001)[:-1] * most
    logs = sum(term.log_moment(s) for term in terms)
    return float(np.min((logs + math.log(1 / level)) / s))


@pytest.mark.parametrize("level", [0.1, 0.025, 1e-6])
@pytest.mark.parametrize("noise", ["laplace", "exponential", "geometric"])
@pytest.mark.parametrize("weights", [(1.0,), (-1.0,), (0.5, -0.25), (-0.5, -0.25), (1.0, 1e-7)])
def test_tail_bounds_are_nearly_the_best_of_their_kind(
    level: float, noise: str, weights: tuple[float, ...]
) -> None:
    terms = tuple(WeightedNoise(LAWS[noise], 2.0, weight) for weight in weights)
    best = chernoff(terms, level, 1 / (2 * max(map(abs, weights))))
    assert best * (1 - 1e-4) <= tail_bound(terms, level) <= best * (1 + 1e-4)


# Fused estimates ----------------------------------------------------------------------------------

ANSWERS = [900, 20, 700, 30, 500]


@pytest.mark.parametrize("threshold", [None, 400])
def test_intervals_are_estimate_and_tails(threshold: int | None) -> None:
    """Half of the error to each side; the noise is not symmetric, so that the sides differ."""
    release = fg.select_and_measure(ANSWERS, 3, epsilon=2, threshold=threshold, bits=SeededBits(1))
    rounding = 4 / 1024  # three items and one
    for given, tail in (({}, 0.025), ({"confidence": "0.5"}, 0.25)):
        for (low, high), estimate, terms in zip(
            release.intervals(**given),
            release.estimates,
            release.terms,
            strict=True,
        ):
            turned = tuple(WeightedNoise(t.law, t.scale, -t.weight) for t in terms)
            over, under = tail_bound(terms, tail), tail_bound(turned, tail)
            assert over != pytest.approx(under, rel=1e-3)
            assert low == pytest.approx(float(estimate) - over - rounding, abs=1e-9)
            assert high == pytest.approx(float(estimate) + under + rounding, abs=1e-9)


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
