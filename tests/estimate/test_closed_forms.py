"""Every number of an estimate by its formula, from the releases behind it, in rationals or balls."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from flint import arb

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.estimate.bounds import confidence_argument, gap_noise
from freegap.estimate.noise_laws import GapNoise
from freegap.estimate.selection import form
from freegap.laws import EXPONENTIAL, GEOMETRIC, LAPLACE, NoiseName
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.values.balls import at_precision

ANSWERS = [40, 35, 12, 9, 8, 2, 1, 0]
HIGH = [40, 35, 32, 29, 38, 2, 1, 0]


def weight_rows(k: int, ratio: Fraction) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
    """Ding 2020, theorem 5.9: the weights of the measurements, and those of the noisy answers behind the
    gaps."""
    whole = (1 + ratio) * k
    of_measurements = [[((1 + ratio * k) if i == j else 1) / whole for j in range(k)] for i in range(k)]
    of_gaps = [[(k - 1 - j - (k if j < i else 0)) / whole for j in range(k - 1)] for i in range(k)]
    # Gap j is the j-th noisy answer less the next one.
    of_noise = [
        [(row[j] if j < k - 1 else Fraction(0)) - (row[j - 1] if j else 0) for j in range(k)]
        for row in of_gaps
    ]
    return of_measurements, of_noise


def partly_towards(r: fg.Estimates, best: list[Fraction], *, weight: Fraction, dimension: int) -> None:
    """From the measurements to the best estimates, the part of the way that James and Stein allow."""
    assert r.measurement is not None
    variance = r.measurement.variance
    away = [a - b for a, b in zip(r.measured, best, strict=True)]
    total, limit = sum(d * d for d in away), Fraction(3, 2) * max(dimension - 2, 0) * variance * weight
    part = min(Fraction(1), limit / total) if total else Fraction(0)
    for estimate, measured, distance in zip(r.estimates, r.measured, away, strict=True):
        assert abs(estimate - (measured - part * distance)) <= abs(distance) / 2**40
    if part < 1:
        assert r.standard_errors[0] ** 2 == pytest.approx(
            float(variance - limit * part / 3 / len(best)), rel=1e-12
        )


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("split", ["1/2", "1/5"])
@pytest.mark.parametrize("monotonic", [True, False])
def test_selected_by_rank(noise: NoiseName, k: int, split: str, monotonic: bool) -> None:
    budget = Fraction(3, 2)
    r = fg.select_and_measure(
        ANSWERS, k, epsilon=budget, split=split, noise=noise, monotonic=monotonic, bits=fg.SeededBits(k)
    )
    assert isinstance(r.selection, fg.TopK)
    assert r.measurement is not None
    part = Fraction(split)
    scale = (1 if monotonic else 2) * k / (part * budget)
    measured = k / ((1 - part) * budget)  # Δ·k/ε of Laplace noise
    assert (r.selection.parameters["scale"], r.measurement.scale) == (scale, measured)
    assert r.measurement.variance >= 2 * measured**2  # the noise, and what rounding adds
    of_one = (2 if noise == "laplace" else 1) * scale**2
    ratio = of_one / r.measurement.variance
    of_measurements, of_noise = weight_rows(k, ratio)
    half = r.selection.resolution / 2
    heights = [-sum((gap + half for gap in r.selection.gaps[:i]), Fraction(0)) for i in range(k)]
    best = [
        sum((w * a for w, a in zip(of_measurements[i], r.measured, strict=True)), Fraction(0))
        + sum((w * n for w, n in zip(of_noise[i], heights, strict=True)), Fraction(0))
        for i in range(k)
    ]
    partly_towards(r, best, weight=1 / (1 + ratio), dimension=k - 1)
    if k > 3:  # the least error that is stated is that of the best weights
        spread = r.measurement.variance * sum(w**2 for w in of_measurements[0])
        spread += of_one * sum(w**2 for w in of_noise[0])
        assert r.standard_errors[0] >= math.sqrt(spread) * (1 - 1e-12)
    assert r.spent == budget


@pytest.mark.parametrize("noise", ["exponential", "laplace", "geometric"])
def test_selected_above_a_threshold(noise: NoiseName) -> None:
    grid: Any = {"resolution": 1} if noise == "geometric" else {}
    r = fg.select_and_measure(
        HIGH, 4, epsilon=2, threshold=10, split="1/4", noise=noise, bits=fg.SeededBits(3), **grid
    )
    assert isinstance(r.selection, fg.AboveThreshold)
    plan = r.selection.plan
    assert isinstance(plan, ThresholdPlan)
    assert r.measurement is not None
    assert len(r.labels) >= 3
    law = gap_noise(plan, 0)
    half = 0 if noise == "geometric" else r.selection.resolution / 2
    a, b = r.measurement.variance, Fraction(law.variance)
    best = [
        (measured / a + (by_gap + half - Fraction(law.mean)) / b) / (1 / a + 1 / b)
        for measured, by_gap in zip(r.measured, r.selection.estimates, strict=True)
    ]
    partly_towards(r, best, weight=a / (a + b), dimension=len(best))
    assert r.estimates != r.measured
    measured = Fraction(3, 2) * len(r.labels) / 4  # three quarters of ε for four, of which these were found
    assert r.measurement.spent == measured
    assert r.spent == r.selection.spent + measured


@pytest.mark.parametrize("confidence", [0.5, 0.95, "999/1000"])
def test_intervals_are_the_measurements_and_exact_quantiles(confidence: Any) -> None:
    r = fg.select_and_measure(ANSWERS, 3, epsilon=1, noise="exponential", bits=fg.SeededBits(1))
    assert r.measurement is not None
    width = 6 * math.log(1 / (1 - Fraction(str(confidence)))) + 1 / 2048  # Laplace noise of scale 6, rounded
    for (low, high), measured in zip(r.intervals(confidence=confidence), r.measured, strict=True):
        assert (low, high) == pytest.approx((float(measured) - width, float(measured) + width), rel=1e-9)
        assert high - low >= 2 * width
    assert r.intervals(confidence=confidence) == fg.confidence_intervals(r.measurement, confidence=confidence)


def test_nothing_selected_is_nothing_measured() -> None:
    r = fg.select_and_measure([1, 2], 1, epsilon=10, threshold=10_000, bits=fg.SeededBits(1))
    assert (r.labels, r.estimates, r.measured, r.measurement) == ((), (), (), None)
    assert r.spent == r.selection.spent < 10


def test_gap_noise_of_each_branch() -> None:
    r = fg.adaptive_sparse_vector(
        [90, 12, 60], 10, k=3, epsilon=4, branches=2, noise="laplace", bits=fg.SeededBits(2)
    )
    assert isinstance(r.plan, ThresholdPlan)
    scales = [Fraction(scale) for scale in r.parameters["scales"]]
    assert [gap_noise(r.plan, branch).scale for branch in range(3)] == scales[::-1]
    assert fg.gap_variances(r) == tuple(
        2 * float(gap_noise(r.plan, branch).scale) ** 2 + 2 * float(r.parameters["threshold_scale"]) ** 2
        for branch in r.branches
    )


@pytest.mark.parametrize("far", [Fraction(1, 10**12), 1 - Fraction(1, 10**12)])
def test_confidence_up_to_its_limits(far: Fraction) -> None:
    assert confidence_argument(far) == far
    beyond = far / 2 if far < Fraction(1, 2) else (1 + far) / 2
    with pytest.raises(InvalidArgument, match=r"at least 10\^-12 away"):
        confidence_argument(beyond)


@pytest.mark.parametrize("theta", [-700, -45, -31, -30, -29, -2, 0, 1, 5, 40, 700])
def test_the_expected_gap(theta: int) -> None:
    def exact() -> float:
        x = arb(theta)
        return float((1 + (-x).exp()) * x.exp().log1p())

    assert fg.expected_gap(theta) == pytest.approx(at_precision(2500, exact), rel=4e-16)


def laplace_tail(t: float, s: Fraction, r: Fraction) -> float:
    """P(sX − rY > t), t ≥ 0, of two Laplace variables, s ≠ r."""
    a, b, x = arb(s.numerator) / s.denominator, arb(r.numerator) / r.denominator, arb(t)
    return float((a * a * (-x / a).exp() - b * b * (-x / b).exp()) / (2 * (a * a - b * b)))


@pytest.mark.parametrize(
    ("s", "r"),
    [(Fraction(3), Fraction(1)), (Fraction(1), Fraction(4)), (Fraction(2), Fraction(2001, 1000))],
)
def test_laplace_tails_to_the_last_digits(s: Fraction, r: Fraction) -> None:
    law = GapNoise(LAPLACE, s, r)
    for t in (0.0, 0.5, 3.0, 20.0, 60.0):
        tail = at_precision(300, partial(laplace_tail, t, s, r))
        assert law.upper_tail(t) == pytest.approx(tail, rel=1e-10)
        assert law.upper_tail(-t) == pytest.approx(1 - tail if t else 0.5, rel=1e-10)


@pytest.mark.parametrize(
    "r", [Fraction(2), Fraction(2) + Fraction(1, 10**7), Fraction(2) - Fraction(1, 10**7)]
)
def test_laplace_tails_of_close_scales_are_never_too_small(r: Fraction) -> None:
    s = Fraction(2)
    law = GapNoise(LAPLACE, s, r)
    other = r if r != s else s * (1 + Fraction(1, 10**30))
    for t in (0.0, 0.5, 3.0, 20.0, 60.0):
        tail = at_precision(600, partial(laplace_tail, t, s, other))
        assert tail * (1 - 1e-12) <= law.upper_tail(t) <= tail * (1 + 1e-5)


@pytest.mark.parametrize("scale", [0.01, 0.5, 3.0, 1e5])
def test_variances_and_means_of_geometric_noise(scale: float) -> None:
    def exact() -> tuple[float, float]:
        q = (-1 / arb(scale)).exp()
        return float(q / (1 - q)), float(q / (1 - q) ** 2)

    mean, spread = at_precision(400, exact)
    assert GEOMETRIC.variance(scale) == pytest.approx(spread, rel=1e-12)
    assert EXPONENTIAL.variance(scale) == pytest.approx(scale**2, rel=1e-15)
    assert LAPLACE.variance(scale) == pytest.approx(2 * scale**2, rel=1e-15)
    law = GapNoise(GEOMETRIC, Fraction(scale), Fraction(1, 10**6))
    assert law.mean + law.shift == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize(("s", "r"), [(Fraction(3), Fraction(1)), (Fraction(7, 3), Fraction(11, 5))])
def test_quantiles_are_never_too_low_and_hardly_too_high(s: Fraction, r: Fraction) -> None:
    """In ball arithmetic: the computed tail is off by some units in the last place; there is room."""
    law = GapNoise(EXPONENTIAL, s, r)
    for step in range(1, 200):
        confidence = 1 - step / 400  # above one half, and above the part of the law that is below zero
        t = law.quantile(confidence)

        def tail(at: float, level: float) -> float:
            """P(D > at) less 1 − level: exact for these two doubles."""
            x = arb(at) + arb((s - r).numerator) / (s - r).denominator
            scale, other = arb(s.numerator) / s.denominator, arb(r.numerator) / r.denominator
            above = scale / (scale + other) * (-x / scale).exp()
            below = 1 - other / (scale + other) * (x / other).exp()
            return float((above if x >= 0 else below) - (1 - arb(level)))

        assert at_precision(200, partial(tail, t, confidence)) <= 0
        assert at_precision(200, partial(tail, t - 2.0**-25 * (1 + abs(t)), confidence)) > 0


def test_which_columns_are_numbers() -> None:
    r = fg.select_and_measure(ANSWERS, 3, epsilon=1, bits=fg.SeededBits(1))
    names = ["rank", "item", "estimate", "standard error", "95 % interval"]
    assert [(column.title, column.numeric) for column in r.columns()] == [
        (name, name != "item") for name in names
    ]
    assert r.columns()[0].cells == ("1", "2", "3")


def test_a_split_that_cannot_be_measured_with_is_refused_before_anything_is_drawn() -> None:
    """About a third; divided by k, what is left for measuring has more digits than an ε may have."""
    bits = fg.RecordedBits(fg.SeededBits(1))
    split = Fraction(10**499 + 1, 3 * 10**499 + 1)
    with pytest.raises(InvalidArgument, match="split"):
        fg.select_and_measure([5, 3, 1, 2, 2, 2, 2, 2], 7, epsilon=1, split=split, bits=bits)
    assert bits.record == ""


def test_what_each_part_of_a_selection_with_measurements_may_cost() -> None:
    """The selection its budget, and each of the k measurements its own."""
    each = Fraction(1, 7)
    top = TopKPlan.read("noisy_top_k", k=3, epsilon="2/5")
    above = ThresholdPlan.read("sparse_vector", k=3, epsilon="2/5")
    assert form(top, Fraction(9), each).budgets == (Fraction(2, 5), Fraction(3, 7))
    assert form(above, Fraction(9), each).budgets == (Fraction(2, 5), Fraction(3, 7))
    concentrated = TopKPlan.read("noisy_top_k", k=3, rho="1/5")
    assert form(concentrated, Fraction(9), each).budgets == (concentrated.charge, Fraction(3, 7))
