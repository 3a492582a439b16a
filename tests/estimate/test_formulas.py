"""Bounds, moments and fused estimates against formulas written out here, to the last digits."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

import freegap as fg
from freegap.bits import RecordedBits, SeededBits
from freegap.errors import InvalidArgument
from freegap.estimate.bounds import confidence_argument, expected_gap
from freegap.estimate.noise_laws import GapNoise, WeightedNoise, tail_bound, variance
from freegap.estimate.selecting import Estimates

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


def test_confidences_at_the_edges() -> None:
    near = Fraction(1, 10**12)
    assert confidence_argument(near) == near
    assert confidence_argument(1 - near) == 1 - near
    for beyond in (near / 2, 1 - near / 2):
        with pytest.raises(InvalidArgument, match=r"at least 10\^-12 away from 0 and 1"):
            confidence_argument(beyond)


@pytest.mark.parametrize(
    "theta", ["-800", "-40", "-31", "-30.01", "-29.99", "-5", "-0.5", "0", "0.5", "5", "35", "800"]
)
def test_the_expected_gap(theta: str) -> None:
    """(1 + e^−θ)·ln(1 + e^θ), in ball arithmetic of many digits."""
    from flint import ctx

    exact, digits = Fraction(theta), ctx.prec
    try:
        ctx.prec = 4000
        x = arb(fmpq(exact.numerator, exact.denominator))
        truth = float((1 + (-x).exp()) * (1 + x.exp()).log())
    finally:
        ctx.prec = digits
    assert expected_gap(theta) == pytest.approx(truth, rel=4e-15)


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
    found = GapNoise("exponential", s, r).quantile(confidence)
    assert abs(true) * 2**-42 < found - true < abs(true) * 2**-38 + 1e-22


@pytest.mark.parametrize("apart", ["1e-3", "1e-4", "1e-5", "2e-6", "9e-7", "1e-9", "-2e-6", "-9e-7", "-1e-4"])
@pytest.mark.parametrize("size", [Fraction(1, 10**9), Fraction(1), Fraction(10**9)])
def test_laplace_scales_that_are_close(apart: str, size: Fraction) -> None:
    """Lemma 5.4 in many digits: never below the truth by more than rounding, and close to it."""
    from flint import ctx

    s, r = size, size * (1 + Fraction(apart))
    law, digits = GapNoise("laplace", s, r), ctx.prec
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


@pytest.mark.parametrize("noise", ["laplace", "exponential", "geometric"])
@pytest.mark.parametrize("weight", [1.0, 0.3, -0.7])
def test_moments_are_those_of_centred_noise(noise: str, weight: float) -> None:
    """ln E[e^(sw(X − EX))], from the series or the textbook's formula."""
    scale = 2.0
    s = np.array([0.01, 0.2, 0.45])
    z = s * weight
    if noise == "laplace":
        expected = -np.log(1 - (z * scale) ** 2)
    elif noise == "exponential":
        expected = -np.log(1 - z * scale) - z * scale
    else:
        x = np.arange(4000)
        mean = 1 / math.expm1(1 / scale)
        sums = [float(np.exp(each * (x - mean) - x / scale).sum()) for each in z]
        expected = np.log(sums) + math.log(-math.expm1(-1 / scale))
    assert WeightedNoise(noise, scale, weight).log_moment(s) == pytest.approx(expected, rel=1e-9)


def test_moments_exist_on_one_side_only_for_one_sided_noise() -> None:
    s = np.array([0.5, 1.0, 3.0])  # of scale 1: from 1 on there is no moment to the right
    for noise in ("exponential", "geometric"):
        assert np.isfinite(WeightedNoise(noise, 1.0, 1.0).log_moment(s)).tolist() == [True, False, False]
        assert np.isfinite(WeightedNoise(noise, 1.0, -1.0).log_moment(s)).all()
    for weight in (1.0, -1.0):
        assert np.isfinite(WeightedNoise("laplace", 1.0, weight).log_moment(s)).tolist() == [
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
    terms = tuple(WeightedNoise(noise, 2.0, weight) for weight in weights)
    best = chernoff(terms, level, 1 / (2 * max(map(abs, weights))))
    assert best * (1 - 1e-4) <= tail_bound(terms, level) <= best * (1 + 1e-4)


def test_variances() -> None:
    x = np.arange(4000)
    mass = -math.expm1(-1 / 3) * np.exp(-x / 3)
    mean = (mass * x).sum()
    assert variance("geometric", 3.0) == pytest.approx(float((mass * (x - mean) ** 2).sum()), rel=1e-12)
    assert (variance("laplace", 3.0), variance("exponential", 3.0)) == (18, 9)
    law = GapNoise("geometric", Fraction(3), Fraction(7))
    assert law.variance == variance("geometric", 3.0) + variance("geometric", 7.0)
    means = [1 / math.expm1(1 / 3), 1 / math.expm1(1 / 7)]
    assert law.shift == round(means[0] - means[1]) == -4
    assert law.mean == pytest.approx(means[0] - means[1] + 4, rel=1e-12)


# Fused estimates ----------------------------------------------------------------------------------

ANSWERS = [900, 20, 700, 30, 500]


def errors_are_those_of_the_terms(release: Estimates) -> None:
    for terms, error in zip(release.terms, release.standard_errors, strict=True):
        spread = sum(term.weight**2 * variance(term.noise, term.scale) for term in terms)
        assert error == pytest.approx(math.sqrt(spread))


@pytest.mark.parametrize("noise", ["laplace", "exponential"])
@pytest.mark.parametrize("monotonic", [True, False])
def test_estimates_after_top_k(noise: str, monotonic: bool) -> None:
    """Theorem 5.9 from the released gaps and measurements, with λ from the parameters."""
    options: dict[str, Any] = {"sensitivity": 3, "split": "1/5", "noise": noise, "monotonic": monotonic}
    release = fg.select_and_measure(ANSWERS, 3, epsilon=2, **options, bits=SeededBits(1))
    k, c, grid = 3, 1 if monotonic else 2, Fraction(1, 1024)
    selecting, measuring = Fraction(2, 5), Fraction(8, 5)
    assert release.measurement is not None
    assert release.measurement.scale == k * 3 / measuring
    scale = c * 3 * k / selecting
    ratio = (2 if noise == "laplace" else 1) * scale**2 / (2 * release.measurement.scale**2)
    gaps = [gap + grid / 2 for gap in release.selection.gaps[:2]]  # type: ignore[operator]
    noisy = [gaps[0] + gaps[1], gaps[1], Fraction(0)]
    alpha = release.measured
    offset = sum(alpha, Fraction(0)) / k - sum(noisy) / k
    assert release.estimates == tuple(
        (ratio * a + n + offset) / (1 + ratio) for a, n in zip(alpha, noisy, strict=True)
    )
    reduced = release.measurement.variance * (1 + ratio * k) / (k + ratio * k)
    assert release.standard_errors == pytest.approx([math.sqrt(reduced)] * k)
    assert sum(term.weight for term in release.terms[0][:k]) == pytest.approx(1)
    assert sum(term.weight for term in release.terms[0][k:]) == pytest.approx(0, abs=1e-12)
    kinds = [(term.noise, term.scale, term.weight > 0) for term in release.terms[0]]
    measured = ("laplace", float(release.measurement.scale), True)
    assert kinds == [measured] * k + [(noise, float(scale), True)] + [(noise, float(scale), False)] * (k - 1)
    errors_are_those_of_the_terms(release)
    assert release.parameters == {"k": 3, "split": Fraction(1, 5), "noise": noise, "monotonic": monotonic}
    assert release.to_dict()["mechanism"] == "select_and_measure"


@pytest.mark.parametrize("noise", ["laplace", "exponential", "geometric"])
def test_estimates_after_sparse_vector(noise: str) -> None:
    """Section 5.4.3: weights inverse to the variances of the measurement and of threshold plus gap."""
    release = fg.select_and_measure(
        ANSWERS, 4, epsilon=2, split="1/4", threshold=400, sensitivity=2, noise=noise, bits=SeededBits(1)
    )
    assert release.indices == (0, 2, 4)
    selection, measurement = release.selection, release.measurement
    assert isinstance(selection, fg.AboveThreshold)
    assert measurement is not None
    assert measurement.scale == 4 * 2 / Fraction(3, 2)  # three of four, at 3/8 each
    assert release.spent == selection.spent + Fraction(9, 8) < 2
    theta = selection.parameters["share"]
    threshold_scale = Fraction(2) / (theta / 2)
    scale = Fraction(2 * 2) / ((1 - theta) / 2 / 4)
    spread = variance(noise, float(scale)) + variance(noise, float(threshold_scale))
    one, two = 1 / measurement.variance, 1 / Fraction(spread)
    half = 0 if noise == "geometric" else Fraction(1, 2048)
    mean = Fraction(0)
    if noise == "geometric":
        means = [1 / math.expm1(1 / float(b)) for b in (scale, threshold_scale)]
        mean = Fraction(means[0] - means[1] - round(means[0] - means[1]))
        assert abs(mean) > Fraction(1, 1000)  # else its sign would not show
    for estimate, alpha, by_gap in zip(release.estimates, release.measured, selection.estimates, strict=True):
        expected = (one * alpha + two * (by_gap + half - mean)) / (one + two)
        assert float(estimate) == pytest.approx(float(expected), rel=1e-12)
    assert release.standard_errors == pytest.approx([math.sqrt(1 / (one + two))] * 3)
    weight = float(one / (one + two))
    for terms in release.terms:
        assert [(t.noise, t.scale) for t in terms] == [
            ("laplace", float(measurement.scale)),
            (noise, float(scale)),
            (noise, float(threshold_scale)),
        ]
        assert [t.weight for t in terms] == pytest.approx([weight, 1 - weight, weight - 1])
    errors_are_those_of_the_terms(release)


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
            turned = tuple(WeightedNoise(t.noise, t.scale, -t.weight) for t in terms)
            over, under = tail_bound(terms, tail), tail_bound(turned, tail)
            assert over != pytest.approx(under, rel=1e-3)
            assert low == pytest.approx(float(estimate) - over - rounding, abs=1e-9)
            assert high == pytest.approx(float(estimate) + under + rounding, abs=1e-9)


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
