"""The fast core computes the same function of the digits as the paper's program."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from freegap.bits import SeededBits
from freegap.exact import screening
from freegap.exact.digits import KeyedDigits
from freegap.exact.ranking import NoisyRanking, Ranked
from freegap.exact.reals import LazyNoise, Real
from freegap.mechanisms import top_k
from freegap.mechanisms.top_k_plan import TopKPlan
from tests.distributions import same_distribution_p
from tests.laws import EXACT_LAWS as LAWS

GRID = Fraction(1, 1024)
FORM = top_k.form(TopKPlan.read("noisy_top_k", k=1, epsilon=1))

LONG = pytest.mark.long


def ranked(
    values: Any,
    top: int,
    *,
    seed: int,
    law: str = "exponential",
    scale: Fraction = Fraction(5),
    grain: Fraction = Fraction(1),
    resolution: Fraction = GRID,
    sizes: NDArray[np.int64] | None = None,
    **precision: Any,
) -> Ranked:
    digits = KeyedDigits(SeededBits(seed), len(values))
    return NoisyRanking(
        values,
        grain=grain,
        scale=scale,
        resolution=resolution,
        law=LAWS[law],
        digits=digits,
        sizes=sizes,
        **precision,
    ).largest(top)


def by_the_program(
    values: Any, top: int, *, seed: int, law: str, scale: Fraction, grain: Fraction = Fraction(1)
) -> tuple[list[int], list[int]]:
    digits = KeyedDigits(SeededBits(seed), len(values))
    answers = [int(value) * grain for value in values]
    noise = LazyNoise(reader=lambda i: digits.stream(i))
    items, gaps = replace(FORM, k=top - 1, scale=scale, law=law).program(answers, noise)
    return items, [gap.floor(GRID) for gap in gaps]


@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(st.integers(-40, 40), min_size=2, max_size=40),
    data=st.data(),
    seed=st.integers(0, 2**32),
    law=st.sampled_from(["exponential", "laplace", "gumbel", "logistic"]),
    scale=st.fractions(Fraction(1, 50), 100, max_denominator=50),
    filter_bits=st.sampled_from([44, 20, 2]),
    start_digits=st.sampled_from([1, 4, 64]),
)
def test_same_digits_same_output_as_the_program(
    values: list[int],
    data: st.DataObject,
    seed: int,
    law: str,
    scale: Fraction,
    filter_bits: int,
    start_digits: int,
) -> None:
    top = data.draw(st.integers(2, len(values)))
    found = ranked(
        np.array(values, dtype=np.int64),
        top,
        seed=seed,
        law=law,
        scale=scale,
        filter_bits=filter_bits,
        start_digits=start_digits,
    )
    expected = by_the_program(values, top, seed=seed, law=law, scale=scale)
    assert (found.items[:-1], found.gaps) == expected


@pytest.mark.parametrize("law", ["exponential", "laplace"])
@pytest.mark.parametrize("k", [1, 10, 300])
def test_same_digits_same_output_with_screening(law: str, k: int) -> None:
    """n = 3,000: the screened path, against the program on all items."""
    generator = np.random.default_rng(k)
    values = (2000 / np.arange(1, 3001)).astype(np.int64)
    generator.shuffle(values)
    for seed in range(3):
        scale = Fraction(k)
        found = ranked(values, k + 1, seed=seed, law=law, scale=scale)
        assert (found.items[:-1], found.gaps) == by_the_program(
            values, k + 1, seed=seed, law=law, scale=scale
        )


@pytest.mark.parametrize(("n", "top"), [(60, 11), (60, 4), (8, 8), (11, 11)])
def test_a_run_in_which_nearly_everything_refines_gives_the_same(
    n: int, top: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a filter of one bit and digits shown one at a time, the exact path decides everything."""
    decided_exactly = Counter[str]()
    settle, floor = NoisyRanking._settled, Real.floor

    def counted_settle(self: NoisyRanking, *args: Any) -> Any:
        decided_exactly["orders"] += 1
        return settle(self, *args)

    def counted_floor(self: Any, grid: Fraction) -> int:
        decided_exactly["gaps"] += 1
        return floor(self, grid)

    monkeypatch.setattr(NoisyRanking, "_settled", counted_settle)
    monkeypatch.setattr(Real, "floor", counted_floor)
    values = np.arange(n, dtype=np.int64) // 3
    for seed in range(20):
        normal = ranked(values, top, seed=seed)
        assert decided_exactly.total() == 0
        forced = ranked(values, top, seed=seed, filter_bits=1, start_digits=1)
        assert forced == normal
        assert decided_exactly == {"orders": 1, "gaps": top - 1}
        decided_exactly.clear()


@pytest.mark.parametrize("bar", [-30.0, 3.0, 25.0])
def test_the_bar_changes_nothing(bar: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar far too low or far too high costs time; the output stays."""
    values = np.arange(2000, dtype=np.int64) % 97
    normal = [
        ranked(values, 30, seed=seed, law=law) for seed in range(5) for law in ("exponential", "laplace")
    ]
    monkeypatch.setattr(screening.Screen, "bar", lambda self, top: bar)
    moved = [
        ranked(values, 30, seed=seed, law=law) for seed in range(5) for law in ("exponential", "laplace")
    ]
    assert moved == normal


@pytest.mark.parametrize("law", ["exponential", "laplace", "gumbel"])
@pytest.mark.parametrize("bar", [-20.0, 0.0, 30.0, 60.0])
def test_the_screen_passes_over_no_item_that_is_certainly_above(law: str, bar: float) -> None:
    """Answers far above the bar, beyond what single precision holds, pass with any digits."""
    values = np.array([90, 10**4, 10**9, 2**62], dtype=np.int64)
    screen = screening.Screen(values, 0, 1.0, LAWS[law], None)
    # P(above) ≥ 1 − e^-20 for each, so that even 65,530 of 65,536 must pass.
    assert screen.passed(bar, np.full(4, 65_530, dtype=np.uint16), 0.0).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("bar", [2.0, 5.0, 30.0])
@pytest.mark.parametrize(("law", "n"), [("exponential", 9000), ("laplace", 3000)])
def test_what_the_screen_passes_too_much_changes_nothing(
    bar: float, law: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A screen may pass items that are below the bar. That many passed says nothing; enough must be above."""
    values = np.random.default_rng(5).integers(0, 40, n)
    wanted = ranked(values, 30, seed=8, law=law)
    honest = screening.Screen.passed

    def generous(self: Any, *arguments: Any) -> Any:
        return np.union1d(honest(self, *arguments), np.arange(100))

    monkeypatch.setattr(screening.Screen, "bar", lambda self, top: bar)
    monkeypatch.setattr(screening.Screen, "passed", generous)
    assert ranked(values, 30, seed=8, law=law) == wanted


@given(
    # few different values, in runs, so that the sample of a cut misleads as it can
    runs=st.lists(
        st.tuples(st.sampled_from([-(2**62), -3, 0, 1, 2, 2**62]), st.integers(1, 4000)), min_size=1
    ),
    top=st.integers(1, 9000),
)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_the_pivot_is_the_value_of_that_rank(runs: list[tuple[int, int]], top: int) -> None:
    values = np.concatenate([np.full(length, value) for value, length in runs])
    found = screening.nth_largest(values, top)
    assert found == sorted(values.tolist(), reverse=True)[min(top, len(values)) - 1]


def test_screening_looks_at_few_items(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = []
    drawn = NoisyRanking._drawn

    def counted(self: NoisyRanking, items: Any, *rest: Any) -> Any:
        looked_at.append(len(items))
        return drawn(self, items, *rest)

    monkeypatch.setattr(NoisyRanking, "_drawn", counted)
    values = (600_000 / np.arange(1, 41_271)).astype(np.int64)
    for k in (25, 100, 800):
        ranked(values, k + 1, seed=k, scale=Fraction(k), law="gumbel")
    # Expected: the k + 1 wanted, a margin of a few roots, and one in 65,536 of the others.
    assert all(seen < 2 * k + 60 for seen, k in zip(looked_at, (25, 100, 800), strict=True))
    assert len(looked_at) == 3


@pytest.mark.parametrize("offset", [0, 10**15, 2**62 - 50, 10**30, 10**400])
def test_large_answers_lose_nothing(offset: int) -> None:
    small = [3, 1, 4, 1, 5, 9, 2, 6]
    values: Any = [offset + value for value in small]
    if offset < 2**62:
        values = np.array(values, dtype=np.int64)
    for seed in range(20):
        assert ranked(values, 4, seed=seed) == ranked(np.array(small), 4, seed=seed)


def test_answers_of_very_different_size() -> None:
    values = [0, 10**400, -(10**400), 7] * 300  # enough to be screened
    found = ranked(values, 301, seed=1)
    assert {values[i] for i in found.items[:300]} == {10**400}
    assert found.gaps[299] > 10**399


@pytest.mark.parametrize("scale", [Fraction(1, 10**400), Fraction(10**400), Fraction(10**20)])
@pytest.mark.parametrize("n", [7, 1500])
def test_scales_beyond_doubles(scale: Fraction, n: int) -> None:
    values = np.arange(n, dtype=np.int64) % 5
    for seed in range(2):
        found = ranked(values, 3, seed=seed, scale=scale)
        expected = by_the_program(values, 3, seed=seed, law="exponential", scale=scale)
        assert (found.items[:-1], found.gaps) == expected


def test_a_fine_resolution_is_settled_exactly() -> None:
    """With γ far below the precision of doubles every gap takes the exact path."""
    values = np.array([5, 3, 4], dtype=np.int64)
    fine, coarse = Fraction(1, 2**80), Fraction(1, 2**10)
    for seed in range(10):
        gaps = ranked(values, 3, seed=seed, resolution=fine).gaps
        assert [gap >> 70 for gap in gaps] == ranked(values, 3, seed=seed, resolution=coarse).gaps


@pytest.mark.parametrize(("n", "top"), [(3, 2), (3, 3), (60, 41), (1500, 2)])
def test_no_warning_where_a_bound_leaves_the_doubles(n: int, top: int) -> None:
    """An answer within its own error of the largest double, in scales: a warning would tell of it."""
    scale = Fraction(10**300, int(np.finfo(np.float64).max * (1 - 1e-14)))
    values = [0, 7, -(10**300)] * (n // 3)
    for seed in range(3):
        found = ranked(values, top, seed=seed, scale=scale)
        expected = by_the_program(values, top, seed=seed, law="exponential", scale=scale)
        assert (found.items[:-1], found.gaps) == expected


@pytest.mark.parametrize("denominator", [10**18, 2**62, 10**20, 10**60])
@pytest.mark.parametrize("values", [[3, 3, 3], [3, 3, 1], [3, 2, 1]])
def test_resolutions_beyond_int64_with_and_without_ties(denominator: int, values: list[int]) -> None:
    """γ counts more steps in one unit than an int64 holds, whether or not the answers are equal."""
    grid = Fraction(1, denominator)
    for seed in range(3):
        found = ranked(np.array(values), 3, seed=seed, resolution=grid)
        noise = LazyNoise(reader=KeyedDigits(SeededBits(seed), 3).stream)
        items, gaps = replace(FORM, k=2, scale=Fraction(5)).program(values, noise)
        assert (found.items[:2], found.gaps) == (items, [gap.floor(grid) for gap in gaps])


@pytest.mark.parametrize("law", ["exponential", "laplace"])
@pytest.mark.parametrize("m", [pytest.param(1, marks=LONG), 2, pytest.param(3, marks=LONG), 50])
def test_a_group_is_distributed_as_its_members(law: str, m: int) -> None:
    """(values in order, rounded gaps) of a group of m and two others, and of m + 2 explicit items."""
    runs, top, coarse = 6000, 3, Fraction(1)
    scale = Fraction(2)
    grouped_values = np.array([3, 0, 5], dtype=np.int64)
    sizes = np.array([1, m, 1], dtype=np.int64)
    explicit_values = np.array([3, *([0] * m), 5], dtype=np.int64)
    grouped = Counter[Any]()
    explicit = Counter[Any]()
    narrow = Counter[Any]()
    for seed in range(runs):
        options: Any = {"law": law, "scale": scale, "resolution": coarse}
        a = ranked(grouped_values, top, seed=2 * seed, sizes=sizes, **options)
        grouped[tuple(grouped_values[a.items]), tuple(min(g, 8) for g in a.gaps)] += 1
        b = ranked(explicit_values, top, seed=2 * seed + 1, **options)
        explicit[tuple(explicit_values[b.items]), tuple(min(g, 8) for g in b.gaps)] += 1
        options["scale"] = scale * Fraction(5, 4)
        c = ranked(grouped_values, top, seed=2 * seed, sizes=sizes, **options)
        narrow[tuple(grouped_values[c.items]), tuple(min(g, 8) for g in c.gaps)] += 1
    assert same_distribution_p(grouped, explicit) > 1e-9
    assert same_distribution_p(narrow, explicit) < 1e-9  # the comparison would notice


def test_groups_agree_with_exact_chains() -> None:
    """Low and normal precision agree on groups, and ranks within a group are in order."""
    values = np.array([10, 0, 4, 0], dtype=np.int64)
    sizes = np.array([1, 10**12, 1, 5], dtype=np.int64)
    for seed in range(15):
        normal = ranked(values, 12, seed=seed, sizes=sizes)
        assert ranked(values, 12, seed=seed, sizes=sizes, filter_bits=2, start_digits=2) == normal
        assert all(gap >= 0 for gap in normal.gaps)
        members = [rank for item, rank in zip(normal.items, normal.ranks, strict=True) if item == 1]
        assert members == list(range(1, len(members) + 1))


def test_many_groups_are_screened() -> None:
    values = np.arange(5000, dtype=np.int64)
    sizes = np.full(5000, 3, dtype=np.int64)
    for seed in range(3):
        found = ranked(values, 40, seed=seed, sizes=sizes, scale=Fraction(20))
        again = ranked(values, 40, seed=seed, sizes=sizes, scale=Fraction(20), filter_bits=6)
        assert found == again
        assert all(b <= 3 for b in found.ranks)


def test_equal_answers_are_all_equally_likely() -> None:
    """No tie is broken by position."""
    values = np.zeros(4, dtype=np.int64)
    runs = 20_000
    first = Counter(ranked(values, 2, seed=seed).items[0] for seed in range(runs))
    assert all(abs(first[i] - runs / 4) < 6.5 * (runs * 3 / 16) ** 0.5 for i in range(4))


def test_the_order_is_by_noisy_value() -> None:
    values = np.zeros(300, dtype=np.int64)
    found = ranked(values, 300, seed=3)
    assert sorted(found.items) == list(range(300))
    assert all(gap >= 0 for gap in found.gaps)
    noise = LazyNoise(reader=KeyedDigits(SeededBits(3), 300).stream)
    exact = [noise.exponential(5, label=i) for i in range(300)]
    assert all(exact[a] > exact[b] for a, b in pairwise(found.items))


def test_a_scale_beyond_single_precision_is_screened_like_any_other() -> None:
    """0 times an infinite rate is no number: items at the pivot would be passed over, or the search hang."""
    values = np.arange(1500, dtype=np.int64) % 700
    for rate in (1e30, 1e39, 1e90):
        screen = screening.Screen(values, 699, rate, LAWS["laplace"], None)
        assert math.isfinite(screen.bar(2))
        first = np.zeros(len(values), dtype=np.uint16)
        assert set(np.flatnonzero(values == 699)) <= set(screen.passed(screen.bar(2), first, 0.0).tolist())


def test_units_are_those_of_the_plan_at_hand() -> None:
    """What follows from grain, scale and resolution is kept for the next release: of the same three alone."""
    values, usual = np.arange(20, dtype=np.int64), (Fraction(1), Fraction(2), Fraction(1, 8))
    for place, other in ((0, Fraction(4)), (1, Fraction(4)), (2, Fraction(1, 16))):
        units = tuple(other if number == place else unit for number, unit in enumerate(usual))
        for grain, scale, resolution in (usual, units, usual):
            ranking = NoisyRanking(
                values,
                grain=grain,
                scale=scale,
                resolution=resolution,
                law=LAWS["exponential"],
                digits=KeyedDigits(SeededBits(5), 20),
            )
            assert [*ranking._factors] == [grain / scale, scale / resolution, grain / resolution]
