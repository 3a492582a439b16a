"""Quantiles: the groups against the definition, the law against its closed form, the charge against all
neighbours of small cases, and intervals against the truth."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from freegap_evidence.assurance.fit import ALPHA, fit_p

import freegap as fg
from freegap.mechanisms import quantiles, quantiles_node
from freegap.mechanisms.quantiles import Grid, QuantilesPlan, draw_places, draw_quantiles
from freegap.mechanisms.quantiles_node import Spread, draw_place
from freegap.values.measures import Pure, ZeroConcentrated, measure_argument

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
NINE = [Fraction(i, 10) for i in range(1, 10)]


@pytest.fixture
def few_places(monkeypatch: pytest.MonkeyPatch) -> int:
    """Four places a cell, so that all can be listed."""
    monkeypatch.setattr(quantiles_node, "PLACES", 4)
    monkeypatch.setattr(quantiles, "PLACES", 4)
    return 4


def spread_of(counts: Sequence[int]) -> Spread:
    cells = np.flatnonzero(counts)
    return Spread(cells, np.asarray(counts)[cells], len(counts))


# The readable reference: every place, every person -----------------------------------------------


def weight(counts: Sequence[int], place: int, places: int) -> int:
    """How much of people stands before a place, in units of 1/M, counted one by one."""
    return sum(people for at, people in enumerate(np.repeat(counts, places)[:place]))


def utilities(counts: Sequence[int], a: int, b: int, share: Fraction, places: int) -> dict[int, int]:
    inside = weight(counts, b, places) - weight(counts, a, places)
    p1, p2 = share.numerator, share.denominator
    return {
        t: -abs(p2 * (weight(counts, t, places) - weight(counts, a, places)) - p1 * inside)
        for t in range(a, b + 1)
    }


def place_law(
    counts: Sequence[int], a: int, b: int, share: Fraction, epsilon: float, places: int
) -> dict[int, float]:
    scale = 2 * places * max(share.numerator, share.denominator - share.numerator) / epsilon
    weights = {t: math.exp(u / scale) for t, u in utilities(counts, a, b, share, places).items()}
    total = sum(weights.values())
    return {t: w / total for t, w in weights.items()}


def places_law(
    counts: Sequence[int], q: Sequence[Fraction], each: float, places: int
) -> dict[tuple[int, ...], float]:
    """The law of all places together, level after level."""

    def between(low: Fraction, high: Fraction, a: int, b: int, q: Sequence[Fraction]) -> dict[Any, float]:
        if not q:
            return {(): 1.0}
        at = (len(q) - 1) // 2
        law: dict[Any, float] = {}
        for t, p in place_law(counts, a, b, (q[at] - low) / (high - low), each, places).items():
            below = between(low, q[at], a, t, q[:at])
            above = between(q[at], high, t, b, q[at + 1 :])
            for (one, p1), (two, p2) in product(below.items(), above.items()):
                law[(*one, t, *two)] = law.get((*one, t, *two), 0.0) + p * p1 * p2
        return law

    return between(Fraction(0), Fraction(1), 0, places * len(counts), q)


# The groups --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-9, 3.0, 1e9])
def test_groups_are_all_places_with_their_utilities(
    few_places: int, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever places are taken together: each is listed once, with its utility, below that of its group."""
    for counts in ([0, 3, 0, 0, 1], [2, 0, 5], [0, 0], [1, 1, 1, 1], [7]):
        end = few_places * len(counts)
        for a, b in ((0, end), (1, end - 2), (end // 2, end // 2), (2, end)):
            for share in (HALF, THIRD, Fraction(9, 10)):
                groups = quantiles_node._grouped(spread_of(counts), a, b, share)
                items = groups.taken_apart(Fraction(scale))
                found = {}
                for item, (best, size) in enumerate(
                    zip(items.utilities.tolist(), items.sizes.tolist(), strict=True)
                ):
                    for member in range(size):
                        monkeypatch.setattr(quantiles_node, "uniform_below", lambda n, _, m=member: m % n)
                        place, behind = items.drawn(item, fg.SeededBits(1))
                        found[place] = (best - behind, best)
                expected = utilities(counts, a, b, share, few_places)
                assert {place: u for place, (u, _) in found.items()} == expected
                assert int(items.sizes.sum()) == len(expected)
                bounds = Counter(bound for _, bound in found.values())
                assert all(u <= bound for u, bound in found.values())
                assert max(bounds) == max(expected.values())


def test_huge_numbers_of_people_are_counted_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the same bits, whole numbers of 64 bits and Python's give the same places."""
    spread = spread_of([5, 0, 10**6, 3])
    made = [draw_places(spread, NINE, HALF, fg.SeededBits(seed)) for seed in range(3)]
    monkeypatch.setattr(quantiles_node, "_FITS", 0)
    assert [draw_places(spread, NINE, HALF, fg.SeededBits(seed)) for seed in range(3)] == made
    huge = Spread(np.array([1, 2]), np.array([2**55, 2**55]), 4)
    assert draw_place(huge, 0, huge.end, Fraction(1, 4), HALF, fg.SeededBits(1)) // 1024 == 1
    monkeypatch.undo()
    for people in range(44, 60):  # on either side of what 64 bits hold
        large = Spread(np.array([1, 2]), np.array([2**people, 2**people]), 4)
        assert draw_place(large, 0, large.end, Fraction(1, 4), HALF, fg.SeededBits(1)) // 1024 == 1, people


# The law -----------------------------------------------------------------------------------------


def test_two_people_by_hand(few_places: int) -> None:
    """One in each of two cells: W = 0, 1, …, 8, the target is 4, and p₂ = 2."""
    drawn = utilities([1, 1], 0, 8, HALF, few_places)
    assert list(drawn.values()) == [-8, -6, -4, -2, 0, -2, -4, -6, -8]
    # With ε = 8·ln 2 and S = 4 each unit halves the weight.
    law = place_law([1, 1], 0, 8, HALF, 8 * math.log(2), few_places)
    assert law[4] == pytest.approx(1 / (1 + 2 / 4 + 2 / 16 + 2 / 64 + 2 / 256))
    assert law[1] == pytest.approx(law[4] / 64)


@pytest.mark.parametrize("flat", [0.5, 1e9], ids=["as it is", "nothing taken apart"])
def test_draws_follow_the_law(few_places: int, monkeypatch: pytest.MonkeyPatch, flat: float) -> None:
    """Also where all of a cell is proposed at its best, so that much is rejected; and not with a wrong ε."""
    monkeypatch.setattr(quantiles_node, "_FLAT", flat)
    fifth = Fraction(1, 5)
    counts, source, draws = [0, 6, 0, 2], fg.SeededBits(1), 300
    seen = Counter(draw_place(spread_of(counts), 2, 15, fifth, Fraction(1), source) for _ in range(draws))
    assert fit_p(seen, place_law(counts, 2, 15, fifth, 1, few_places)) > ALPHA
    assert fit_p(seen, place_law(counts, 2, 15, fifth, 4, few_places)) < ALPHA


def test_halves_follow_the_law(few_places: int) -> None:
    counts, q, source = [1, 4], [Fraction(1, 4), Fraction(3, 4)], fg.SeededBits(2)
    seen = Counter(tuple(draw_places(spread_of(counts), q, Fraction(6), source)) for _ in range(300))
    assert fit_p(seen, places_law(counts, q, 6.0, few_places)) > ALPHA
    assert fit_p(seen, places_law(counts, q, 2.0, few_places)) < ALPHA


# Privacy -----------------------------------------------------------------------------------------


def neighbours(cells: int, most: int) -> Iterator[tuple[list[int], list[int]]]:
    for counts in product(range(most + 1), repeat=cells):
        for cell in range(cells):
            yield list(counts), [count + (at == cell) for at, count in enumerate(counts)]


def worst_loss(q: Sequence[Fraction], each: float) -> float:
    worst = 0.0
    for one in ([8, 0], [0, 8], [3, 1], [1, 2], [0, 0]):
        for other in ([one[0] + 1, one[1]], [one[0], one[1] + 1]):
            a, b = places_law(one, q, each, 2), places_law(other, q, each, 2)
            worst = max(worst, *(abs(math.log(a[o] / b[o])) for o in a))
    return worst


def test_a_person_who_stands_on_both_sides_costs_one_epsilon() -> None:
    """All outputs at neighbours of small tables: ε/L a level costs at most ε, and ε a level more."""
    q = [Fraction(1, 4), HALF, Fraction(3, 4)]
    plan = plan_of(q, 6)
    assert 3.6 < worst_loss(q, float(plan.each)) <= 6
    assert worst_loss(q, 6.0) > 6


def worst_divergence(q: Sequence[Fraction], each: float, order: float) -> float:
    """The largest Rényi divergence of an order between neighbours of small tables."""
    worst = 0.0
    for one in ([8, 0], [0, 8], [3, 1], [1, 2], [0, 0]):
        for other in ([one[0] + 1, one[1]], [one[0], one[1] + 1]):
            laws = [places_law(counts, q, each, 2) for counts in (one, other)]
            for a, b in (laws, laws[::-1]):
                terms = [order * math.log(a[o]) + (1 - order) * math.log(b[o]) for o in a]
                worst = max(worst, float(np.logaddexp.reduce(terms)) / (order - 1))
    return worst


@pytest.mark.parametrize("m", [1, 3])
def test_levels_add_up_in_rho(m: int) -> None:
    """All orders of all laws stay within the charge; with a quarter of the noise they do not."""
    q = [Fraction(1, 4), HALF, Fraction(3, 4)] if m == 3 else [Fraction(9, 10)]
    plan = QuantilesPlan.read(q, ZeroConcentrated(Fraction(1)), False, Fraction(0))
    assert plan.charge == plan.levels * plan.each**2 / 8 <= 1
    assert plan.charge > Fraction(999, 1000)
    for order in (1.01, 2.0, 8.0):
        assert worst_divergence(q, float(plan.each), order) <= plan.charge * Fraction(order)
    assert worst_divergence(q, 4 * float(plan.each), 1.01) > 1.01


def test_what_is_charged_in_rho() -> None:
    """By hand: 1/8 for the range, of the rest 1/16 for the people, and the levels."""
    plan = QuantilesPlan.read(NINE, ZeroConcentrated(Fraction(4)), True, Fraction(1, 8))
    assert plan.search == 1  # ε²/2 = 1/2
    rest = Fraction(7, 2)
    assert plan.counting**2 / 2 <= rest / 16 < (plan.counting + Fraction(1, 10**5)) ** 2 / 2
    assert plan.levels * plan.each**2 / 8 <= rest * 15 / 16 < 5 * (plan.each + Fraction(1, 10**4)) ** 2 / 8
    drawn = plan.counting**2 / 2 + 5 * plan.each**2 / 8
    assert plan.charge == Fraction(1, 2) + drawn
    third = plan.in_parts(3)
    assert third.share == ZeroConcentrated(rest / 3)
    assert third.charge == Fraction(1, 2) + 3 * (third.counting**2 / 2 + 5 * third.each**2 / 8) <= 4


def test_utilities_move_by_the_share_of_a_person(few_places: int) -> None:
    for one, other in neighbours(cells=3, most=1):
        for a, b in ((0, 12), (2, 7), (5, 6)):
            inside = weight(other, b, 4) - weight(one, b, 4) - weight(other, a, 4) + weight(one, a, 4)
            for share in (HALF, THIRD):
                bound = inside * max(share.numerator, share.denominator - share.numerator)
                before, after = (utilities(counts, a, b, share, few_places) for counts in (one, other))
                assert all(abs(before[t] - after[t]) <= bound for t in before)


# What comes out ----------------------------------------------------------------------------------


def plan_of(q: Any = NINE, epsilon: Any = 1, *, intervals: bool = False) -> QuantilesPlan:
    return QuantilesPlan.read(q, measure_argument(epsilon=epsilon), intervals, Fraction(0))


def test_ties_leave_no_side_empty() -> None:
    grid = Grid.read(0, 100, 1)
    counts = np.zeros(101, dtype=int)
    counts[5] = 3000
    found = draw_quantiles(plan_of(), grid, spread_of(counts.tolist()), fg.SeededBits(1))
    assert set(found.values) == {Fraction(5)}


def test_nobody_is_a_table_too() -> None:
    found = draw_quantiles(plan_of(intervals=True), Grid.read(0, 9, 1), spread_of([0] * 10), fg.SeededBits(1))
    assert list(found.values) == sorted(found.values)
    assert set(found.intervals or ()) == {(Fraction(0), Fraction(9))}


def covered(counts: list[int], seeds: range) -> list[bool]:
    """Whether all intervals of a release hold their quantile, the least value with q·n people up to it."""
    grid, spread = Grid.read(0, len(counts) - 1, 1), spread_of(counts)
    n, below = sum(counts), np.cumsum(counts)
    truth = [int(np.argmax(below >= q * n)) for q in NINE]
    made = [draw_quantiles(plan_of(epsilon=8, intervals=True), grid, spread, fg.SeededBits(s)) for s in seeds]
    return [
        all(low <= value <= high for value, (low, high) in zip(truth, found.intervals or (), strict=True))
        for found in made
    ]


def test_intervals_hold_the_quantiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """In at least 95 of 100 releases, by bounds that are wide; hardly ever with a margin of nearly 0."""
    even, tied = [40] * 400, [1] * 100 + [9000] + [1] * 200
    assert all(covered(even, range(5)))
    assert all(covered(tied, range(5)))
    narrow = draw_quantiles(
        plan_of(epsilon=8, intervals=True), Grid.read(0, 399, 1), spread_of(even), fg.SeededBits(1)
    )
    assert all(high - low < 40 for low, high in narrow.intervals or ())
    monkeypatch.setattr(quantiles, "_margin", lambda *_: Fraction(1, 2**16))
    assert not any(covered(even, range(2)))


def test_the_margin_of_intervals_by_hand() -> None:
    """What can be missed of the least number of people that there may be, and ties; rounded up."""
    plan, places = plan_of(NINE, 4, intervals=True), 100 * 1024
    missed = 2 * 5 / (4 * 15 / 16 / 5) * math.log(27 * (places + 1) / 0.04)
    for counted in (400, 1000, 10**6):
        least = counted - math.ceil(math.log(100) / (4 / 16))
        wanted = missed / least + 5 / 2048
        assert wanted < quantiles._margin(plan, counted, places) < wanted + 3 / 2**16
    few = 2 * 5 / (4 * 15 / 16 / 5) * math.log(27 * 2 / 0.04) / (1000 - 19) + 5 / 2048
    assert few < quantiles._margin(plan, 1000, 1) < few + 3 / 2**16, "between two places"
    assert quantiles._margin(plan, 19, places) == 1, "perhaps nobody"
    surest = plan_of(NINE, 10**6, intervals=True)
    assert quantiles._margin(surest, 10**9, places) > Fraction(5, 2048), "ties are missed all the same"


def test_ranks_are_within_the_error_that_is_said() -> None:
    counts = [20] * 300
    plan, spread = plan_of(epsilon=4), spread_of(counts)
    below = np.cumsum([0, *counts])
    bound = plan.rank_error(spread.size) + plan.tied * sum(counts)
    for seed in range(8):
        found = draw_quantiles(plan, Grid.read(0, 299, 1), spread, fg.SeededBits(seed))
        for q, value in zip(NINE, found.values, strict=True):
            low, high = below[int(value)], below[int(value) + 1]
            assert low - bound <= q * sum(counts) <= high + bound
    assert bound < sum(counts) / 20
    # By hand: with one quantile there is one draw, of T places, and S is 3/4.
    alone = plan_of("1/4", 4).rank_error(300)
    assert alone == pytest.approx(2 * 0.75 / 4 * math.log((300 * 1024 + 1) / 0.05))


def test_levels() -> None:
    assert [plan_of(NINE[:m]).levels for m in (1, 2, 3, 4, 7, 8, 9)] == [1, 2, 2, 3, 3, 4, 4]
    assert plan_of(intervals=True).levels == 5
    assert plan_of(intervals=True).each == Fraction(15, 16) / 5
    assert QuantilesPlan.read(0.5, Pure(Fraction(1)), False, Fraction(1, 8)).each == Fraction(7, 8)


@pytest.mark.parametrize(
    ("q", "says"),
    [
        ([], "must be 1 to 1000 numbers"),
        ([0.5, 1], "strictly between 0 and 1"),
        (0, "strictly between 0 and 1"),
        ([0.5, "1/2"], "must not have a number twice"),
        (["0.1234567"], "common denominator"),
        ("half", "is not a number"),
        (None, "must be a number"),
    ],
)
def test_quantiles_that_cannot_be_meant(q: Any, says: str) -> None:
    with pytest.raises(fg.InvalidArgument, match=says):
        plan_of(q)


@pytest.mark.parametrize(
    ("low", "high", "resolution", "argument"),
    [
        (0, None, 1, "high"),
        (None, 5, 1, "low"),
        (5, 5, 1, "high"),
        (0, 5, 2, "high"),
        ("0.5", 5, 1, "low"),
        (0, 10**6, 1, "resolution"),
        (0, 1, 0, "resolution"),
        (2**51, 2**51 + 4, 1, "high"),
        (-(2**51), 4 - 2**51, 1, "low"),
        (0, float("inf"), 1, "high"),
    ],
)
def test_grids_that_cannot_be(low: Any, high: Any, resolution: Any, argument: str) -> None:
    with pytest.raises(fg.InvalidArgument) as caught:
        Grid.read(low, high, resolution)
    assert caught.value.argument == argument


@pytest.mark.parametrize("people", [1, 2**20, 2**30, 2**41])
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(2**29 - 1, 2**30), Fraction(1, 10**12 + 39)])
def test_weights_are_right_whether_or_not_they_fit_64_bits(people: int, share: Fraction) -> None:
    """Between quantiles and the ends of intervals a share may have any denominator."""
    spread = spread_of([0, 3 * people, 0, 0, 2 * people, people])
    for first, last in ((0, spread.end), (1500, 5 * quantiles_node.PLACES + 7)):
        groups = quantiles_node._grouped(spread, first, last, share)
        whole = spread.weight(last) - spread.weight(first)
        starts, sizes = groups.starts.tolist(), groups.sizes.tolist()
        for group, (start, size) in enumerate(zip(starts, sizes, strict=True)):
            for member in {0, 1, size - 1} & {*range(size)}:
                inside = spread.weight(start + member) - spread.weight(first)
                target = share.denominator * inside - share.numerator * whole
                assert groups.utility(group, member) == -abs(target)
        assert sum(sizes) == last - first + 1
        fits = share.denominator * (spread.weight(spread.end) + quantiles_node.PLACES) < 2**60
        assert (groups.distances.dtype == np.int64) == fits
        draw_place(spread, first, last, share, Fraction(1), fg.SeededBits(1))


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 9, 16, 31])
def test_every_way_through_the_halves_is_added_up(number: int) -> None:
    """As `draw_places` goes: what is between two that are drawn next to each other has missed all before."""
    q = [Fraction(i * i, (number + 1) ** 2) for i in range(1, number + 1)]
    ways = {(-1, number): Fraction(0)}
    targets = {-1: Fraction(0), number: Fraction(1), **dict(enumerate(q))}
    while any(high - low > 1 for low, high in ways):
        for (low, high), missed in list(ways.items()):
            if high - low > 1:
                middle = (low + high) // 2
                share = (targets[middle] - targets[low]) / (targets[high] - targets[low])
                del ways[low, high]
                ways[low, middle] = ways[middle, high] = missed + max(share, 1 - share)
    found = quantiles._paths(q, Fraction(0), Fraction(1))
    assert sorted(found) == sorted(ways.values())
    assert len(found) == number + 1


def test_an_interval_that_reaches_an_end_ends_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quantiles 0 and 1 are the ends of the range, which are public, and are not drawn."""
    monkeypatch.setattr("freegap.mechanisms.quantiles._margin", lambda *_: Fraction(1, 2))
    grid, spread = Grid.read(0, 9, 1), spread_of([0, 0, 0, 0, 900, 900, 0, 0, 0, 0])
    for seed in range(5):
        plan = plan_of([Fraction(1, 2)], 8, intervals=True)
        assert draw_quantiles(plan, grid, spread, fg.SeededBits(seed)).intervals == ((grid.low, grid.high),)
