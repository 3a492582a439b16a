"""Error bars after selection: the false coverage rate of what is released, and where the bars come from.

A run's share of missed answers lies between 0 and 1, with a mean of at most p = 1 − confidence: the mean over
n runs exceeds that by 6·√(p(1 − p)/n) with a chance of about 10⁻⁹.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.bits import SeededBits
from freegap.errors import InvalidArgument
from freegap.estimate.bounds import gap_noise
from freegap.estimate.intervals import error_bars
from freegap.estimate.noise_laws import GapNoise, exceeded, half_width
from freegap.laws import EXPONENTIAL, GEOMETRIC, GUMBEL, LAPLACE, NORMAL, Law
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan

RUNS, MISSED = 250, Fraction(1, 4)
CONFIDENCE = 1 - MISSED
LIMIT = float(MISSED) + 6 * math.sqrt(float(MISSED * CONFIDENCE) / RUNS)
SPREAD = ([0] * 12 + [20, 40, 45, 50, 55, 60, 80, 500], 50, "1")
EQUAL = ([50] * 30, 100, "1/5")


def runs(
    release: Callable[..., Any], answers: Sequence[int], threshold: int, **options: Any
) -> Iterator[Any]:
    bits = SeededBits(f"{release.__name__} {options}")
    for _ in range(RUNS):
        yield release(answers, threshold, **options, bits=bits)


def missed(answers: Sequence[int], indices: Sequence[int], intervals: Sequence[Any]) -> float:
    """The share of the found answers that is outside of its interval."""
    outside = [
        (low is not None and answers[i] < low) or (high is not None and answers[i] > high)
        for i, (low, high) in zip(indices, intervals, strict=True)
    ]
    return float(np.mean(outside)) if outside else 0.0


@cache
def unaware(noise: GapNoise) -> tuple[float, float]:
    """How far intervals reached before: to the quantiles of the noise as it was drawn."""
    return noise.over(float(MISSED) / 2), noise.under(float(MISSED) / 2)


CASES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "hybrid, exponential": (fg.hybrid_sparse_vector, {"noise": "exponential"}),
    "hybrid, laplace": (fg.hybrid_sparse_vector, {"noise": "laplace"}),
    "sparse vector, exponential": (fg.sparse_vector, {"noise": "exponential"}),
    "sparse vector, laplace": (fg.sparse_vector, {"noise": "laplace"}),
    "sparse vector, geometric": (fg.sparse_vector, {"noise": "geometric"}),
    "adaptive": (fg.adaptive_sparse_vector, {"branches": 2}),
    "hybrid top k": (fg.hybrid_top_k, {}),
    "hybrid top k, rho": (fg.hybrid_top_k, {"rho": "1/50"}),
}


@pytest.mark.parametrize("given", [SPREAD, EQUAL], ids=["spread", "equal"])
@pytest.mark.parametrize("case", CASES)
def test_false_coverage_is_at_most_what_is_stated(case: str, given: tuple[list[int], int, str]) -> None:
    (release, more), (answers, threshold, epsilon) = CASES[case], given
    options = {"k": 4, "monotonic": True, **({} if "rho" in more else {"epsilon": epsilon}), **more}
    both: list[float] = []
    below: list[float] = []
    old: list[float] = []
    for found in runs(release, answers, threshold, **options):
        both.append(missed(answers, found.indices, fg.confidence_intervals(found, confidence=CONFIDENCE)))
        if isinstance(found, fg.AboveThreshold):
            bounds = fg.lower_bounds(found, confidence=CONFIDENCE)
            below.append(missed(answers, found.indices, [(bound, None) for bound in bounds]))
            assert isinstance(found.plan, ThresholdPlan)
            over, under = unaware(gap_noise(found.plan, 0))
            naive = [(float(e) - over, float(e) + under) for e in found.estimates]
            old.append(missed(answers, found.indices, naive))
    assert np.mean(both) <= LIMIT
    if below:
        assert np.mean(below) <= LIMIT
    if case.startswith(("hybrid,", "sparse")) and given is EQUAL:
        assert np.mean(old) > LIMIT, "the test would not have noticed"


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_the_error_is_used_where_selection_does_not_matter(noise: str) -> None:
    """Far above the threshold: of the error, what pays for rare cases is left, less than a quarter."""
    found = runs(fg.sparse_vector, [900], 0, k=1, epsilon=1, monotonic=True, noise=noise)
    share = np.mean(
        [missed([900], r.indices, fg.confidence_intervals(r, confidence=CONFIDENCE)) for r in found]
    )
    assert 0.85 * float(MISSED) - 0.15 < share < LIMIT
    plan = ThresholdPlan.read("sparse_vector", k=1, epsilon=1, monotonic=True, noise=noise)
    law = gap_noise(plan, 0)
    bars = error_bars(law, CONFIDENCE, found=1, among=1)
    exact = law.upper_tail(bars.below) + law.lower_tail(bars.above)
    assert 0.85 * MISSED < exact <= MISSED


def test_bars_by_hand() -> None:
    """Exponential noise of scales 6 and 3, an error of 9 %: 6 % below and 3 % above."""
    bars = error_bars(GapNoise(EXPONENTIAL, Fraction(6), Fraction(3)), "0.91", found=2, among=50)
    below = 6 * math.log(6 / 9 / (0.06 * 0.9 * 0.95)) - 3
    assert bars.below == pytest.approx(below, rel=1e-7)
    assert bars.above == pytest.approx(3 * math.log(3 / 9 / 0.03) + 3, rel=1e-7)
    assert bars.excess == pytest.approx(below + 3 + 3 * math.log(20), rel=1e-7)
    assert bars.floor == pytest.approx(6 * math.log(25 / 0.006) - 3, rel=1e-7)
    alone = error_bars(GapNoise(EXPONENTIAL, Fraction(6), Fraction(3)), "0.91", one_sided=True)
    assert alone.below == pytest.approx(6 * math.log(6 / 9 / (0.09 * 0.95)) - 3, rel=1e-7)
    assert (alone.above, alone.floor) == (math.inf, None)
    two = error_bars(GapNoise(EXPONENTIAL, Fraction(6), Fraction(3)), "0.91", found=2, among=50, branches=2)
    assert two.below == pytest.approx(below + 6 * math.log(2), rel=1e-7)
    assert two.floor == pytest.approx(6 * math.log(25 / 0.006) - 3 + 6 * math.log(2), rel=1e-7)
    laplace = error_bars(GapNoise(LAPLACE, Fraction(6), Fraction(3)), "0.92", found=2, among=50)
    noise = GapNoise(LAPLACE, Fraction(6), Fraction(3))
    assert noise.upper_tail(laplace.below) == pytest.approx(0.04 * 0.9 * 0.95 * 0.98, rel=1e-6)
    assert noise.lower_tail(laplace.above) == pytest.approx(0.04, rel=1e-6)
    assert laplace.excess == pytest.approx(laplace.below + 3 * math.log(10) - 6 * math.log(0.038), rel=1e-6)
    assert laplace.floor == pytest.approx(6 * math.log(25 / 0.004) + 3 * math.log(1 / 0.004), rel=1e-6)


@pytest.mark.parametrize("law", [EXPONENTIAL, LAPLACE, GEOMETRIC, GUMBEL], ids=str)
def test_one_noise_exceeds_its_quantile_as_rarely_as_stated(law: Law) -> None:
    t = exceeded(law, Fraction(7), Fraction(1, 50))
    drawn = law.sample(np.random.default_rng(1), 7.0, 200_000)
    assert abs(np.mean(drawn > t) - 0.02) < (0.004 if law is GEOMETRIC else 6 * math.sqrt(0.02 / 200_000))


def test_widths_of_measurements() -> None:
    assert half_width(LAPLACE, Fraction(5), Fraction(1), 0.1) == pytest.approx(5 * math.log(10) + 0.5)
    assert half_width(NORMAL, Fraction(5), Fraction(1, 8), 0.05) == pytest.approx(5 * 1.959963985 + 0.125)
    with pytest.raises(InvalidArgument, match="does not measure"):
        half_width(GUMBEL, Fraction(5), Fraction(1), 0.1)
    for steps in (Fraction(1, 3), Fraction(1), Fraction(40)):  # discrete Gaussian noise, summed
        weights = np.exp(-(np.arange(-400, 401) ** 2) / (2 * float(steps) ** 2))
        width = half_width(NORMAL, steps, Fraction(1), 0.05)
        assert weights[np.abs(np.arange(-400, 401)) > width].sum() <= 0.05 * weights.sum()


def test_points_of_selection() -> None:
    """The last of k has no lower end of its own; without a number of all it has none at all."""
    options: dict[str, Any] = {"epsilon": 2, "monotonic": True, "bits": SeededBits(1)}
    full = fg.hybrid_sparse_vector([900, 600, 5, 3], 0, k=2, **options)
    (first, _), (last, _) = fg.confidence_intervals(full)
    assert (full.among, full.largest) == (4, True)
    assert isinstance(full.plan, ThresholdPlan)
    bars = error_bars(gap_noise(full.plan, 0), found=2, among=4)
    assert bars.floor is not None
    assert first == pytest.approx(float(full.estimates[0]) - bars.below)
    assert last == pytest.approx(float(full.estimates[1]) - bars.floor)
    # An end for every answer costs a tenth of the error; with fewer than k found all have one of their own.
    some = fg.hybrid_sparse_vector([900, 600, 5, 3], 300, k=3, **options)
    assert [low is not None and low > 500 for low, _ in fg.confidence_intervals(some)] == [True, True]
    reached = fg.hybrid_top_k([900, 301, 5, 3], 300, k=3, **options)
    while len(reached.labels) != 2:
        reached = fg.hybrid_top_k([900, 301, 5, 3], 300, k=3, **options)
    (first, _), (last, high) = fg.confidence_intervals(reached)
    assert first is not None
    assert (last, high is None) == (None, False)
    crowded = fg.hybrid_top_k([900, 700, 600], 300, k=2, **options)
    assert fg.confidence_intervals(crowded) == ((None, None), (None, None))
    assert fg.lower_bounds(crowded) == (None, None)


def test_gaps_that_were_rounded_down_again_and_again() -> None:
    """The estimate of a rank is a sum of gaps, each a step too low at most: the upper end has them all."""
    options: dict[str, Any] = {"epsilon": 3, "monotonic": True, "resolution": 1, "bits": SeededBits(1)}
    release = fg.hybrid_top_k([900, 700, 500, 5, 3], 300, k=4, **options)
    assert len(release.labels) == 3
    assert release.estimates is not None
    plan = release.plan
    assert isinstance(plan, TopKPlan)
    bars = error_bars(GapNoise(plan.law, plan.scale, plan.scale))
    reaches = [
        (high or 0) - float(estimate)
        for (_, high), estimate in zip(fg.confidence_intervals(release), release.estimates, strict=True)
    ]
    assert reaches == pytest.approx([bars.above + steps for steps in (3, 2, 1)])


def test_branches_share_the_error() -> None:
    """An answer has several tries to be found, and each may miss."""
    release = fg.adaptive_sparse_vector(
        [900, 3, 800], 100, k=2, epsilon=2, branches=2, monotonic=True, bits=SeededBits(1)
    )
    plan = release.plan
    assert isinstance(plan, ThresholdPlan)
    found, number = len(release.labels), len(plan.branches)
    assert found > 0
    assert number > 1
    for branch, estimate, (_, high) in zip(
        release.branches, release.estimates, fg.confidence_intervals(release), strict=True
    ):
        bars = error_bars(gap_noise(plan, branch), found=found, among=release.among, branches=number)
        assert high == pytest.approx(float(estimate + release.resolution) + bars.above)


def test_estimates_beyond_all_doubles() -> None:
    release = fg.sparse_vector([10**400], 0, k=1, epsilon=1, bits=SeededBits(1))
    (low, high), (bound,) = fg.confidence_intervals(release)[0], fg.lower_bounds(release)
    assert bound is not None
    assert low is not None
    assert high is not None
    assert 1e308 < min(low, bound) <= sys.float_info.max <= high


def test_a_choice_has_no_interval() -> None:
    with pytest.raises(InvalidArgument, match="must be a sparse-vector release with gaps"):
        fg.confidence_intervals(fg.noisy_max([1, 2], epsilon=1))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="must lie strictly between 0 and 1"):
        fg.confidence_intervals(fg.measure([1], epsilon=1), confidence=1)
