"""Groups of equal counts, and the names of their members, against plain Python on small cases."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.estimate.intervals import error_bars
from freegap.estimate.noise_laws import GapNoise
from freegap.laws import LAWS, ContinuousNoiseName
from freegap.tables.domains import ListedDomain, listed_in_order
from freegap.tables.in_engine import tally_in_engine
from freegap.tables.sources import frame_of
from freegap.tables.tallies import Tally, tally_pairs

DOMAINS: list[Sequence[Any]] = [range(6), range(2, 8), range(1, 12, 2), [5, 0, 3, 1, 4, 2], list("dacb")]


def listed(items: Sequence[Any]) -> ListedDomain:
    return ListedDomain(items, items.index, frozenset({"integer"}))


def by_hand(items: Sequence[Any], counts: dict[Any, int]) -> tuple[list[int], list[list[Any]]]:
    """The counts, falling, and the items that have each, in the order of the domain."""
    values = sorted({counts.get(item, 0) for item in items}, reverse=True)
    return values, [[item for item in items if counts.get(item, 0) == value] for value in values]


def unpacked(tally: Tally) -> tuple[list[int], list[list[Any]]]:
    groups = enumerate(tally.sizes.tolist())
    return tally.values.tolist(), [list(tally.names([(g, m) for m in range(size)])) for g, size in groups]


@pytest.mark.parametrize("items", DOMAINS, ids=str)
def test_all_small_tallies(items: Sequence[Any]) -> None:
    candidates = [*items, "outside", 99, -1]
    for present in itertools.combinations(candidates, 3):
        for people in ((1, 1, 1), (2, 1, 2), (1, 2, 2), (5, 2, 1), (1, 2, 5)):
            counts = dict(zip(present, people, strict=True))
            tally = tally_pairs(listed(items), list(counts), list(counts.values()))
            assert unpacked(tally) == by_hand(items, counts)
            assert tally.items == len(items)


@pytest.mark.parametrize("items", [domain for domain in DOMAINS if isinstance(domain, range)], ids=str)
def test_arrays_of_whole_numbers(items: range) -> None:
    for present in itertools.combinations(range(-1, 13), 3):
        counts = dict(zip(present, (4, 1, 4), strict=True))
        tally = tally_pairs(listed(items), np.array(present), np.array([4, 1, 4]))
        assert unpacked(tally) == by_hand(items, counts)


@pytest.mark.parametrize("many", [1, 3, 99, 100, 101])
def test_an_engine_finds_the_same(many: int) -> None:
    items = range(10, 10 + many)
    generator = np.random.default_rng(many)
    present = sorted(generator.choice(np.arange(8, 12 + many), size=min(many, 40), replace=False).tolist())
    counts = {item: int(generator.integers(1, 4)) for item in present}
    frame: Any = frame_of(pl.DataFrame({"item": present, "people": list(counts.values())}).lazy())
    tally = tally_in_engine(frame, listed(items))
    assert unpacked(tally) == by_hand(items, counts)
    assert tally.items == many


def test_places_that_an_engine_is_asked_for_in_either_grouping() -> None:
    """Few values with many members, and many values with few."""
    for counts in ({i: 1 + i // 20 for i in range(60)}, {i: 1 + i for i in range(60)}):
        frame: Any = frame_of(pl.DataFrame({"item": list(counts), "people": list(counts.values())}).lazy())
        assert unpacked(tally_in_engine(frame, listed(range(70)))) == by_hand(range(70), counts)


def test_counts_that_meet_at_one_place_do_not_add_up() -> None:
    """1, 1.0 and True are equal in Python, and an engine may count them apart: the largest is kept."""
    tally = tally_pairs(listed_in_order([1, 2]), [1, 1.0, True, 2], [3, 7, 5, 1])
    assert unpacked(tally) == ([7, 1], [[1], [2]])


class Misleading(Sequence[int]):
    """A domain whose own search answers with places where the item is not."""

    def __getitem__(self, place: Any) -> Any:
        return [10, 20, 30][place]

    def __len__(self) -> int:
        return 3

    def index(self, item: Any, *_: Any) -> int:
        return {10: 0, 20: 2, 30: -1, 40: 3, 50: 10**30}[item]


def test_a_search_that_misleads_finds_nothing() -> None:
    domain = Misleading()
    tally = tally_pairs(
        ListedDomain(domain, domain.index, frozenset({"other"})), [10, 20, 30, 40, 50, 60], [5, 6, 7, 8, 9, 9]
    )
    assert unpacked(tally) == ([5, 0], [[10], [20, 30]])


TABLE = pd.DataFrame({"item": ["tea"] * 900 + ["milk"] * 40 + ["rice"], "person": range(941)})


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_what_is_said_of_items_above(noise: ContinuousNoiseName) -> None:
    r = fg.above(
        TABLE, item="item", person="person", threshold=20, k=2, epsilon=4, domain=["milk", "rice", "tea"],
        noise=noise, bits=fg.SeededBits(2),
    )  # fmt: skip
    assert set(r.labels) == {"tea", "milk"}
    assert r.estimates is not None
    assert r.standard_errors is not None
    assert r.intervals is not None
    (scale,) = r.parameters["scales"]
    law = GapNoise(LAWS[noise], Fraction(scale), r.parameters["threshold_scale"])
    bars = error_bars(law, found=2, among=3)
    for gap, estimate, error, (low, high) in zip(
        r.gaps, r.estimates, r.standard_errors, r.intervals, strict=True
    ):
        at_least = 20 + gap  # the gap was rounded down
        assert estimate == at_least + r.resolution / 2
        assert error == pytest.approx(math.sqrt(law.variance), rel=1e-12)
        assert high == pytest.approx(float(at_least + r.resolution) + bars.above, rel=1e-12)
        # The last of k might have been the first that was left out: its lower end is that of all three.
        assert bars.floor is not None
        below = bars.below if gap - r.gaps[-1] >= bars.excess else bars.floor
        assert low == pytest.approx(max(float(at_least) - below, 0), rel=1e-12)
    assert not r.complete  # two were asked for, and two found: there may be more
    fewer = fg.above(
        TABLE, item="item", person="person", threshold=400, k=2, epsilon=4, domain=["milk", "rice", "tea"],
        noise=noise, bits=fg.SeededBits(2),
    )  # fmt: skip
    assert (fewer.labels, fewer.complete) == (("tea",), True)
    assert fewer.spent < fewer.asked.spent == 4


@pytest.mark.parametrize("sign", [1, -1])
def test_thresholds_up_to_the_most_people_that_can_be(sign: int) -> None:
    options: dict[str, Any] = {
        "item": "item",
        "person": "person",
        "k": 1,
        "epsilon": 1,
        "domain": ["tea", "x"],
    }
    fg.above(TABLE, threshold=sign * 2**62, bits=fg.SeededBits(1), **options)
    with pytest.raises(InvalidArgument, match="must be a number of people"):
        fg.above(TABLE, threshold=sign * (2**62 + 1), bits=fg.SeededBits(1), **options)


def test_how_many_items_are_needed() -> None:
    options: dict[str, Any] = {"item": "item", "person": "person", "epsilon": 1, "bits": fg.SeededBits(1)}
    assert len(fg.top_k(TABLE, k=1, domain=["tea", "x"], **options).labels) == 1
    with pytest.raises(InvalidArgument, match="at least 3 items, and this one has 2"):
        fg.top_k(TABLE, k=2, domain=["tea", "x"], **options)
    fg.above(TABLE, k=2, threshold=5, domain=["tea", "x"], **options)
    with pytest.raises(InvalidArgument, match="at least 3 items, and this one has 2"):
        fg.above(TABLE, k=3, threshold=5, domain=["tea", "x"], **options)


def test_half_of_the_budget_measures() -> None:
    options: dict[str, Any] = {"item": "item", "person": "person", "k": 1, "domain": ["milk", "rice", "tea"]}
    plain = fg.top_k(TABLE, epsilon=2, bits=fg.SeededBits(1), **options)
    assert plain.estimates is None
    measured = fg.top_k(TABLE, epsilon=2, measure=True, bits=fg.SeededBits(1), **options)
    assert measured.estimates is not None
    assert plain.spent == measured.spent == 2
    assert abs(measured.estimates[0] - 900) < 40
