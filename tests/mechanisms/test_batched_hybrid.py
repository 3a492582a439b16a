"""Every release of a batch of hybrid sparse vector is the single release on its part of the digits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.bits import SeededBits
from freegap.exact.digits import KeyedDigits
from freegap.exact.parts import DigitsPart
from freegap.exact.ranking import NoisyRanking
from freegap.mechanisms.batched_hybrid import draw_largest_above
from freegap.mechanisms.hybrids import largest_above
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.values.counts import Counts
from tests.mechanisms.test_batches import ragged

PLANS: dict[str, dict[str, Any]] = {
    "exponential": {"epsilon": 1, "monotonic": True},
    "laplace": {"epsilon": "1/3", "noise": "laplace"},
    "rho": {"rho": 2, "monotonic": True},
    "coarse": {"epsilon": 2, "resolution": "1/2", "sensitivity": 3},
}


def plan_of(name: str, k: int) -> ThresholdPlan:
    return ThresholdPlan.read("hybrid_sparse_vector", k=k, **PLANS[name])


def one_by_one(
    plan: ThresholdPlan, values: Any, offsets: Any, bar: Fraction, seed: int, sizes: Any = None
) -> list[tuple[list[int], list[int]]]:
    digits = KeyedDigits(SeededBits(seed), len(values))
    made = []
    for number, (begin, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        ranking = NoisyRanking(
            values[begin:end],
            grain=Fraction(1),
            scale=plan.branches[-1].scale,
            resolution=plan.resolution,
            law=plan.law.continuous,
            digits=DigitsPart(digits, begin, end - begin),
            sizes=None if sizes is None else sizes[begin:end],
        )
        made.append(largest_above(plan, ranking, bar, digits.stream(len(values) + number, 1)))
    return made


def at_once(plan: ThresholdPlan, values: Any, offsets: Any, bar: Fraction, seed: int, **more: Any) -> Any:
    drawn = draw_largest_above(plan, values, offsets, bar, SeededBits(seed), **more)
    ends = np.cumsum(drawn.found)
    parts = [slice(end - found, end) for end, found in zip(ends, drawn.found, strict=True)]
    return [(drawn.places[part].tolist(), drawn.gaps[part].tolist()) for part in parts]


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("bar", ["12", "25/3", "-7"])
def test_a_batch_is_its_releases_one_by_one(name: str, bar: str) -> None:
    plan = plan_of(name, 3)
    values, offsets = ragged(1, 40, 3, 30, 25)
    made = one_by_one(plan, values, offsets, Fraction(bar), 5)
    assert at_once(plan, values, offsets, Fraction(bar), 5) == made
    assert len({len(places) for places, _ in made}) >= (2 if bar == "12" else 1)
    # With a bound that decides nothing every population is drawn alone, and nothing changes.
    assert at_once(plan, values, offsets, Fraction(bar), 5, filter_bits=-60) == made


def test_just_below_the_threshold_is_below() -> None:
    """On a coarse grid many gaps to the threshold are rounded down to -1: these come out nowhere."""
    plan = ThresholdPlan.read("hybrid_sparse_vector", k=3, epsilon=3, resolution=1, sensitivity=4)
    values, offsets = ragged(8, 400, 4, 9, 25)
    made = one_by_one(plan, values, offsets, Fraction(12), 6)
    assert at_once(plan, values, offsets, Fraction(12), 6) == made
    assert min(gap for _, gaps in made for gap in gaps) == 0
    assert {len(places) for places, _ in made} == {0, 1, 2, 3}


def test_most_populations_are_decided_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not sure is a gap as near to a multiple of γ as the bound: one in some million."""
    alone = []

    def counted(*given: Any) -> tuple[list[int], list[int]]:
        alone.append(given)
        return largest_above(*given)

    monkeypatch.setattr("freegap.mechanisms.batched_hybrid.largest_above", counted)
    values, offsets = ragged(3, 2000, 5, 5, 40)
    drawn = draw_largest_above(plan_of("exponential", 4), values, offsets, Fraction(20), SeededBits(1))
    assert len(alone) <= 1
    assert drawn.found.sum() > 2000


def test_a_batch_of_one_is_the_release_on_the_same_source() -> None:
    values = np.array([3, 9, 9, 1, 40, 38], np.int64)
    for name, options in PLANS.items():
        single = fg.hybrid_sparse_vector(values, "8.5", k=3, bits=SeededBits(4), **options)
        drawn = draw_largest_above(plan_of(name, 3), values, np.array([0, 6]), Fraction("8.5"), SeededBits(4))
        assert (drawn.members, tuple(drawn.places.tolist())) == (None, single.indices)
        assert tuple(drawn.gaps.tolist()) == single.gap_multiples


def test_groups_of_equal_answers() -> None:
    plan = plan_of("exponential", 4)
    values, offsets = ragged(2, 30, 2, 6, 12)
    sizes = np.random.default_rng(3).integers(1, 9, len(values))
    sizes[offsets[:-1]] += 4  # enough for k
    made = one_by_one(plan, values, offsets, Fraction(6), 6, sizes)
    assert at_once(plan, values, offsets, Fraction(6), 6, sizes=sizes) == made
    own = np.array([7, 0, 5], np.int64), np.array([1, 50, 3], np.int64)
    counts = Counts(*own, name=lambda group, member: (group, member))
    options: dict[str, Any] = {"epsilon": 1, "monotonic": True}
    single = fg.hybrid_sparse_vector(counts, -20, k=4, bits=SeededBits(8), **options)
    drawn = draw_largest_above(plan, own[0], np.array([0, 3]), Fraction(-20), SeededBits(8), sizes=own[1])
    assert drawn.members is not None
    assert tuple(zip(drawn.places.tolist(), drawn.members.tolist(), strict=True)) == single.labels
    assert tuple(drawn.gaps.tolist()) == single.gap_multiples


def test_answers_and_thresholds_beyond_doubles() -> None:
    """No double is certain there: all are drawn alone."""
    plan = plan_of("exponential", 2)
    values, offsets = [10**30, 0, 5, 10**25, 10**25 + 1, 3], np.array([0, 3, 6])
    for bar in (Fraction(0), Fraction(10**25), -Fraction(10**40)):
        assert at_once(plan, values, offsets, bar, 1) == one_by_one(plan, values, offsets, bar, 1)
    near = np.array([2**55, 2**55 + 1, 7, 2**61, 1, 2]), np.array([0, 3, 6])
    assert at_once(plan, *near, Fraction(2**55), 1) == one_by_one(plan, *near, Fraction(2**55), 1)
