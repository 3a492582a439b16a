"""What is said of many releases together is what is said of each alone, digit by digit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.estimate.bounds import gap_noise
from freegap.estimate.expected import selection_plan
from freegap.estimate.in_groups import _within, above_rows, fused_rows
from freegap.estimate.intervals import error_bars
from freegap.estimate.selection import Estimates
from freegap.mechanisms.measurement import measured_law
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.values.measures import measure_argument

COUNTS = [[900, 600, 590, 585, 580, 3], [20, 19, 19, 18, 18, 17], [0] * 6, [10**12, 5, 4, 3, 2, 1]]


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "1/8"}], ids=str)
@pytest.mark.parametrize("k", [1, 3, 4, 5])
def test_estimates_of_many_selections(budget: dict[str, Any], k: int) -> None:
    shared: dict[str, Any] = {"monotonic": True, "resolution": "1/64"}
    made: list[Estimates] = [
        fg.select_and_measure(counts, k, bits=fg.SeededBits(seed), **budget, **shared)
        for counts in COUNTS
        for seed in range(8)
    ]
    measured = [one.measurement for one in made if one.measurement is not None]
    asked = measure_argument(**budget)
    plan = selection_plan(asked, k, None, measured=True, resolution=Fraction(1, 64))
    rows = fused_rows(
        plan,
        measured_law(asked),
        measured[0].scale,
        np.array([one.multiples for one in measured], dtype=object),
        np.array([one.selection.gap_multiples for one in made]).reshape(len(made), -1),
    )
    assert rows.estimates == tuple(estimate for one in made for estimate in one.estimates)
    assert rows.standard_errors == tuple(error for one in made for error in one.standard_errors)
    assert rows.intervals == [pair for one in made for pair in one.intervals()]
    moved = sum(one.estimates != one.measured for one in made)
    assert (moved > 0) == (k > 3)
    if k > 3:  # some go all of the way, and some a part of it
        assert len({one.standard_errors for one in made}) > 1


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
@pytest.mark.parametrize("bar", ["15", "-41/3"])
def test_estimates_of_many_releases_above_a_threshold(noise: str, bar: str) -> None:
    options: dict[str, Any] = {"k": 4, "epsilon": 2, "monotonic": True, "noise": noise}
    lists = [counts[:length] for counts in COUNTS for length in (4, 6)]
    made = [
        fg.hybrid_sparse_vector(counts, bar, bits=fg.SeededBits(seed), **options)
        for counts in lists
        for seed in range(4)
    ]
    found = np.array([len(one.labels) for one in made])
    assert set(found.tolist()) >= ({0, 1, 4} if bar == "15" else {4})
    rows = above_rows(
        ThresholdPlan.read("hybrid_sparse_vector", **options),
        Fraction(bar),
        found,
        np.array([gap for one in made for gap in one.gap_multiples or ()]),
        np.repeat([len(counts) for counts in lists], 4),
    )
    half = made[0].resolution / 2
    assert rows.estimates == tuple(estimate + half for one in made for estimate in one.estimates)
    assert rows.intervals == [pair for one in made for pair in fg.confidence_intervals(one)]
    assert [error**2 for error in rows.standard_errors] == pytest.approx(
        [variance for one in made for variance in fg.gap_variances(one)]
    )


def test_an_excess_that_rounding_down_may_have_made_too_small() -> None:
    """Of whole gaps some lie less than a step above what is needed: for them the wider interval holds."""
    options: dict[str, Any] = {"k": 200, "epsilon": 200, "monotonic": True, "resolution": 1}
    made = fg.hybrid_sparse_vector(list(range(240)), 0, bits=fg.SeededBits(1), **options)
    plan = ThresholdPlan.read("hybrid_sparse_vector", **options)
    gaps = np.array(made.gap_multiples)
    needed = error_bars(gap_noise(plan, 0), found=len(gaps), among=240).excess
    excess = gaps - (gaps[-1] if len(gaps) == 200 else 0)
    assert ((needed <= excess) & (excess < needed + 1)).any()
    rows = above_rows(plan, Fraction(0), np.array([len(gaps)]), gaps, np.array([240]))
    assert rows.intervals == list(fg.confidence_intervals(made))


def test_nothing_found_is_nothing_said() -> None:
    plan = ThresholdPlan.read("hybrid_sparse_vector", k=2, epsilon=1)
    empty = above_rows(plan, Fraction(1), np.zeros(3, int), np.zeros(0, int), np.full(3, 9))
    none = above_rows(plan, Fraction(1), np.zeros(0, int), np.zeros(0, int), np.zeros(0, int))
    for rows in (empty, none):
        assert (rows.estimates, rows.standard_errors, rows.intervals) == ((), (), [])


def test_the_mean_squared_error_between_its_bounds() -> None:
    """1 − 2w(k−1)/k of the variance and what was seen, but no less than (1 − w(k−1)/k) of it, and no more."""
    seen = np.array([4, 8, 10, 40])
    errors = _within(seen, Fraction(1), Fraction(4), Fraction(1, 2), 4)
    assert errors.tolist() == [2.5, 3.0, 3.5, 4.0]
    assert _within(seen, Fraction(2, 3), Fraction(4), Fraction(1, 4), 3)[1] == pytest.approx(4.0)
    assert _within(np.array([3]), Fraction(1, 2), Fraction(4), Fraction(1, 4), 3)[0] == pytest.approx(10 / 3)
