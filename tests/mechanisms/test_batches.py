"""Every release of a batch is the single release on its part of the digits, bit for bit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from freegap.bits import SeededBits
from freegap.exact.digits import KeyedDigits
from freegap.exact.parts import Batch, DigitsPart
from freegap.exact.ranking import NoisyRanking
from freegap.mechanisms.batches import above_from, draw_top_k_batch
from freegap.mechanisms.population import read_population
from freegap.mechanisms.sparse_vector import found_above, read_offsets
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k import draw_top_k
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.values.counts import Counts
from freegap.values.thresholds import Offsets

PLANS: dict[str, dict[str, Any]] = {
    "exponential": {"epsilon": 1, "noise": "exponential"},
    "laplace": {"epsilon": "1/3", "noise": "laplace", "monotonic": True},
    "gumbel": {"rho": "1/2"},
    "geometric": {"epsilon": 2, "noise": "geometric", "gap": False},
    "without the last gap": {"epsilon": 1, "last_gap": False},
}


def plan_of(name: str, k: int) -> TopKPlan:
    return TopKPlan.read("noisy_top_k", k=k, **PLANS[name])


def one_by_one(plan: TopKPlan, values: Any, offsets: Any, seed: int, sizes: Any = None) -> list[Any]:
    """(places, gaps) of each population: the single core on its part of the digits."""
    digits = KeyedDigits(SeededBits(seed), len(values))
    found = []
    for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        ranked = NoisyRanking(
            values[begin:end],
            grain=Fraction(1),
            scale=plan.scale,
            resolution=plan.resolution,
            law=plan.law.continuous,
            digits=DigitsPart(digits, begin, end - begin),
            sizes=None if sizes is None else sizes[begin:end],
        ).largest(plan.places)
        found.append((ranked.items[: plan.k], ranked.gaps if plan.gap else None))
    return found


def batched(plan: TopKPlan, values: Any, offsets: Any, seed: int, sizes: Any = None) -> list[Any]:
    drawn = draw_top_k_batch(plan, values, offsets, SeededBits(seed), sizes=sizes)
    gaps = [None] * len(drawn.places) if drawn.gaps is None else drawn.gaps.tolist()
    return list(zip(drawn.places.tolist(), gaps, strict=True))


def ragged(seed: int, number: int, least: int, most: int, spread: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(least, most + 1, number))])
    return rng.integers(0, spread, int(offsets[-1])), offsets


@pytest.mark.parametrize("name", PLANS)
def test_a_batch_is_its_releases_one_by_one(name: str) -> None:
    plan = plan_of(name, 3)
    values, offsets = ragged(1, 40, 4, 30, 25)
    assert batched(plan, values, offsets, 5) == one_by_one(plan, values, offsets, 5)


@pytest.mark.parametrize("name", PLANS)
def test_a_batch_of_one_is_the_release_on_the_same_source(name: str) -> None:
    plan = plan_of(name, 2)
    values = np.array([3, 9, 9, 1, 40, 38], np.int64)
    single, places = draw_top_k(plan, read_population(values, plan.resolution), SeededBits(4))
    drawn = draw_top_k_batch(plan, values, np.array([0, 6]), SeededBits(4))
    assert drawn.places.tolist() == [list(places)]
    assert drawn.members is None
    gaps = None if drawn.gaps is None else tuple(drawn.gaps[0].tolist())
    assert gaps == single.gap_multiples


def test_a_batch_of_one_with_groups_names_the_same_members() -> None:
    plan = plan_of("exponential", 4)
    values, sizes = np.array([7, 0, 5], np.int64), np.array([1, 50, 3], np.int64)
    counts = Counts(values, sizes, name=lambda group, member: (group, member))
    single, _ = draw_top_k(plan, read_population(counts, plan.resolution), SeededBits(8))
    drawn = draw_top_k_batch(plan, values, np.array([0, 3]), SeededBits(8), sizes=sizes)
    assert drawn.members is not None
    assert drawn.gaps is not None
    named = zip(drawn.places[0].tolist(), drawn.members[0].tolist(), strict=True)
    assert (tuple(named), tuple(drawn.gaps[0].tolist())) == (single.labels, single.gap_multiples)


def test_groups_of_equal_answers_in_a_batch() -> None:
    plan = plan_of("laplace", 3)
    values, offsets = ragged(2, 30, 1, 6, 6)
    sizes = np.random.default_rng(3).integers(1, 9, len(values))
    sizes[offsets[:-1]] += 4  # enough for the plan
    assert batched(plan, values, offsets, 6, sizes) == one_by_one(plan, values, offsets, 6, sizes)


def test_answers_beyond_int64_are_ranked_as_well() -> None:
    plan = plan_of("exponential", 1)
    values = [10**30, 0, 5, 10**25, 10**25 + 1, 3]
    drawn = draw_top_k_batch(plan, values, np.array([0, 3, 6]), SeededBits(1))
    assert drawn.places.tolist()[0] == [0]
    assert drawn.gaps is not None
    assert drawn.gaps[0, 0] > 10**30


THRESHOLD_PLANS: dict[str, dict[str, Any]] = {
    "exponential": {"noise": "exponential"},
    "laplace": {"noise": "laplace", "monotonic": True, "gap": False},
    "geometric": {"noise": "geometric"},
    "branches": {"noise": "exponential", "branches": 2, "margin": "1/2", "stop_after": 4},
    "geometric branches": {"noise": "geometric", "branches": 1},
    "many branches": {"noise": "laplace", "branches": 60},
}


def runs_one_by_one(plan: ThresholdPlan, batch: Batch, offsets: Offsets, seed: int) -> list[Any]:
    digits = KeyedDigits(SeededBits(seed), 0)
    found = []
    for begin, length, address in zip(batch.begins, batch.lengths, batch.addresses, strict=True):
        part = offsets.part(int(begin), int(begin + length))
        one = found_above(plan, DigitsPart(digits, int(address), int(length) + 1), part)
        found.append((one.answered, one.places, one.numbers, one.gaps))
    return found


def runs_at_once(plan: ThresholdPlan, batch: Batch, offsets: Offsets, seed: int) -> list[Any]:
    drawn = above_from(plan, batch, offsets, SeededBits(seed))
    found = []
    for run, answered in enumerate(drawn.answered.tolist()):
        own = slice(drawn.starts[run], drawn.starts[run + 1])
        gaps = [] if drawn.gaps is None else drawn.gaps[own].tolist()
        found.append((answered, drawn.places[own].tolist(), drawn.branches[own].tolist(), gaps))
    return found


@pytest.mark.parametrize("name", THRESHOLD_PLANS)
@pytest.mark.parametrize("threshold", ["12", "10**13", "far below", "each"])
def test_runs_at_once_are_the_runs_one_by_one(name: str, threshold: str) -> None:
    plan = ThresholdPlan.read("sparse_vector", k=3, epsilon=1, **THRESHOLD_PLANS[name])
    values, ends = ragged(7, 4 if name == "many branches" else 60, 1, 25, 25)
    own: Any = np.random.default_rng(4).integers(0, 20, len(values)) if threshold == "each" else 12
    if threshold == "10**13":
        values, own = values + 10**13, 10**13 + 12
    if threshold == "far below":  # doubles do not hold all digits of what is between
        values = values + 2**55 + 1
    _, offsets = read_offsets(plan, values, own)
    batch = Batch.flat(values, ends).with_thresholds()
    assert runs_at_once(plan, batch, offsets, 3) == runs_one_by_one(plan, batch, offsets, 3)


def read_by_releases(batch: Batch, streams: list[int]) -> list[int]:
    """How often each stream belongs to a release, of which so many are each one's own."""
    owned = [
        stream
        for begin, own in zip(batch.addresses.tolist(), streams, strict=True)
        for stream in range(begin, begin + own)
    ]
    often: list[int] = np.bincount(owned).tolist()
    return often


@pytest.mark.parametrize("sizes", [None, np.array([1, 5, 1, 1, 2, 1, 1])])
def test_no_stream_serves_two_releases_and_none_is_left_out(sizes: Any) -> None:
    """Else releases of a batch would not be independent, and would cost more together than is charged."""
    values = np.arange(7)
    for batch in (
        Batch.flat(values, np.array([0, 1, 4, 7]), sizes),
        Batch.flat(values, np.array([0, 7]), sizes),
        Batch.repeated(values, 5, sizes),
    ):
        lengths = batch.lengths.tolist()
        assert read_by_releases(batch, lengths) == [1] * batch.streams
        runs = batch.with_thresholds()
        with_threshold = [length + 1 for length in lengths]
        assert read_by_releases(runs, with_threshold) == [1] * (batch.streams + len(batch))
        assert runs.lengths.tolist() == lengths


def test_runs_alike_in_one_batch_have_noise_of_their_own() -> None:
    """The same question many times: a threshold that is another run's noise shows in neighbouring replies."""
    plan = ThresholdPlan.read("sparse_vector", k=1, epsilon=1)
    times = 4000
    _, offsets = read_offsets(plan, np.array([0]), 0)
    batch = Batch.repeated(np.array([0]), times)
    for runs, independent in ((batch.with_thresholds(), True), (batch, False)):
        above = np.diff(above_from(plan, runs, offsets, SeededBits(5)).starts) > 0
        apart = float((above[1:] & above[:-1]).mean()) - float(above.mean()) ** 2
        assert (abs(apart) < 6.2 * 0.5 / times**0.5) == independent  # exceeded once in 10^9
