"""Each way by which a population of a batch is decided, and that each gives what `ranking` gives."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import arb

from freegap.bits import SeededBits
from freegap.exact import batched_ranking
from freegap.exact.batched_ranking import BatchedRanking, _Block, ends
from freegap.exact.digits import KeyedDigits
from freegap.exact.parts import Batch, DigitsPart
from freegap.exact.ranking import NoisyRanking
from freegap.values.balls import as_ball, at_precision
from tests.laws import EXACT_LAWS as LAWS

GRID = Fraction(1, 1024)


class Watched(BatchedRanking):
    """Counts the populations that were handed on: to 144 digits, and to `ranking`."""

    refined = alone = 0

    def _decided(self, block: Any, *arguments: Any, refined: bool) -> Any:
        self.refined += refined * len(block)
        return super()._decided(block, *arguments, refined=refined)

    def single(self, row: int) -> NoisyRanking:
        self.alone += 1
        return super().single(row)


def watched(batch: Batch, seed: int, *, law: str = "exponential", scale: Any = 5, **more: Any) -> Watched:
    return Watched(
        batch,
        grain=Fraction(1),
        scale=Fraction(scale),
        resolution=GRID,
        law=LAWS[law],
        digits=KeyedDigits(SeededBits(seed), batch.streams),
        **more,
    )


def agrees(ranking: Watched, top: int, every: int = 1) -> None:
    """Every population (or one in so many) has what the single core says of it, and the gaps of that."""
    places, gaps = ranking.largest(top, gaps=True)
    assert gaps is not None
    for row in range(0, len(places), every):
        single = BatchedRanking.single(ranking, row).largest(top)
        assert (places[row].tolist(), gaps[row].tolist()) == (single.items, single.gaps)


def populations(seed: int, number: int, width: int, spread: int) -> Batch:
    values = np.random.default_rng(seed).integers(0, spread, number * width)
    return Batch.flat(values, np.arange(number + 1) * width)


@pytest.mark.parametrize("law", LAWS)
def test_nearly_all_are_decided_by_16_digits_and_the_others_by_144(law: str) -> None:
    ranking = watched(populations(1, 400, 30, 20), 2, law=law)
    agrees(ranking, 4, every=4)
    assert (0 if law in ("gumbel", "uniform") else 1) <= ranking.refined < 40
    assert ranking.alone == 0


def test_rows_of_few_answers_lie_column_by_column() -> None:
    ranking = watched(populations(2, 2500, 10, 10), 3)
    agrees(ranking, 2, every=20)
    assert ranking.refined < 25


def test_wide_rows_are_partitioned() -> None:
    ranking = watched(populations(3, 40, 900, 50), 4, law="laplace")
    agrees(ranking, 3)
    assert ranking.alone == 0


def test_very_wide_rows_are_ranked_alone() -> None:
    ranking = watched(populations(4, 2, 1100, 50), 4)
    agrees(ranking, 3)
    assert ranking.alone == 2


def test_all_answers_of_a_row_can_be_asked_for() -> None:
    ranking = watched(populations(5, 50, 6, 5), 4, law="gumbel")
    agrees(ranking, 6)
    assert ranking.alone == 0


def test_an_answer_far_away_takes_no_precision_from_the_others() -> None:
    values = np.random.default_rng(6).integers(0, 20, 1200)
    values[::12] += 10**14
    ranking = watched(Batch.flat(values, np.arange(101) * 12), 5, law="laplace")
    agrees(ranking, 4, every=5)
    assert (ranking.refined, ranking.alone) == (100, 0)


def test_two_answers_far_above_the_others_are_beyond_doubles() -> None:
    """Relative to the third they have no digits left for their noise, which alone decides between them."""
    values = np.array([10**14, 10**14, 7, 5, 3] * 30)
    ranking = watched(Batch.flat(values, np.arange(31) * 5), 5)
    agrees(ranking, 3)
    assert ranking.alone == 30


def test_a_bound_that_decides_no_gap_leaves_all_to_the_single_core() -> None:
    ranking = watched(populations(7, 20, 8, 20), 6, filter_bits=4)
    agrees(ranking, 3)
    assert ranking.alone == 20


@pytest.mark.parametrize("scale", [Fraction(1, 10**30), 10**40, Fraction(1, 10**15), 10**25])
def test_noise_of_any_scale(scale: Any) -> None:
    agrees(watched(populations(8, 20, 6, 20), 6, scale=scale), 3)


def test_a_group_that_cannot_reach_the_top_is_not_looked_at() -> None:
    """As in a table, where most items of the domain do not occur."""
    values = np.random.default_rng(9).integers(200, 1000, 50 * 8)
    sizes = np.ones(len(values), np.int64)
    values[7::8], sizes[7::8] = 0, 10**9
    ranking = watched(Batch.flat(values, np.arange(51) * 8, sizes), 7)
    agrees(ranking, 3)
    assert ranking.alone == 0


def test_a_group_that_may_reach_the_top_is_ranked_alone() -> None:
    values, sizes = np.array([9, 0, 8, 0] * 30), np.array([1, 1, 1, 10**6] * 30)
    ranking = watched(Batch.flat(values, np.arange(31) * 4, sizes), 7)
    agrees(ranking, 3)
    assert ranking.alone == 30


@pytest.mark.parametrize("law", LAWS)
def test_small_groups_that_only_just_reach_the_top(law: str) -> None:
    """Of two members the larger has up to ln 2 more noise than one: a bound for one would pass it over."""
    values, sizes = np.array([1, 0] * 300), np.array([1, 2] * 300)
    ranking = watched(Batch.flat(values, np.arange(301) * 2, sizes), 7, law=law, scale=1)
    places, _ = ranking.largest(1, gaps=False)
    assert 0 < ranking.alone < 300
    alone = [BatchedRanking.single(ranking, row).largest(1).items for row in range(300)]
    assert places.tolist() == alone


def test_a_group_of_the_largest_answer_hides_nothing() -> None:
    values, sizes = np.array([9, 0, 8, 90] * 30), np.array([1, 1, 1, 2] * 30)
    agrees(watched(Batch.flat(values, np.arange(31) * 4, sizes), 7, law="laplace"), 2)


def test_ragged_rows_have_padding_that_is_never_chosen() -> None:
    rng = np.random.default_rng(10)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(4, 25, 200))])
    values = rng.integers(-9, -3, int(offsets[-1])) * 10**6  # padding counts as nothing, not as 0
    ranking = watched(Batch.flat(values, offsets), 8)
    agrees(ranking, 4)
    assert ranking.alone == 0


def test_the_same_answers_many_times_have_streams_of_their_own() -> None:
    ranking = watched(Batch.repeated(np.array([3, 1, 2, 5]), 300), 9)
    agrees(ranking, 2)
    places, _ = ranking.largest(2, gaps=True)
    assert len({tuple(row) for row in places.tolist()}) > 4


def test_gaps_beyond_int64_are_whole_numbers_of_python() -> None:
    batch = Batch.flat([10**30, 0, 7, 5, 4, 3], np.array([0, 3, 6]))
    places, gaps = watched(batch, 1).largest(2, gaps=True)
    assert gaps is not None
    assert gaps.dtype == object
    assert places[0, 0] == 0
    assert gaps[0, 0] > 10**30 * 1000


def test_no_populations_at_all() -> None:
    places, gaps = watched(Batch.flat(np.empty(0, np.int64), np.zeros(1, np.int64)), 1).largest(2, gaps=True)
    assert gaps is not None
    assert (places.shape, gaps.shape) == ((0, 2), (0, 1))


def quantile(law: str, first: int | Fraction) -> Any:
    """Q at so many 65,536ths."""
    return at_precision(120, lambda: LAWS[law].quantile(as_ball(Fraction(first) / 65536)))


@pytest.mark.parametrize("law", LAWS)
def test_the_ends_of_the_table_enclose_the_noise(law: str) -> None:
    """Against ball arithmetic, for first digits everywhere; both ends are moved outwards, but not far."""
    low, high = ends(LAWS[law])
    for first in [*range(5), *range(17, 65536, 997), *range(65530, 65536)]:
        if first > 0:
            above = quantile(law, first)
            assert arb(high[first]) > above
            assert high[first] - float(above.mid()) < 2.0**-40 * (1 + abs(high[first]))
        if first < 65535:
            below = quantile(law, first + 1)
            assert arb(low[first]) < below
            assert float(below.mid()) - low[first] < 2.0**-40 * (1 + abs(low[first]))
    known = np.isfinite(high) & (low > batched_ranking._KNOWN)
    assert (high - low)[known].max() < 1
    assert all(abs(quantile(law, Fraction(numerator, 2**59))) < 53 for numerator in (1, 2**75 - 1))
    assert high[0] > (1 if law == "uniform" else 2.0**1000)
    assert low[-1] < (0 if law in ("exponential", "uniform") else batched_ranking._KNOWN)


def test_a_part_of_the_digits_is_those_digits() -> None:
    digits = KeyedDigits(SeededBits(1), 100)
    part = DigitsPart(digits, 37, 20)
    assert part.first().tolist() == digits.first()[37:57].tolist()
    for rank in (0, 2):
        whole = digits.block(1, rank, np.arange(37, 57)).tolist()
        assert part.block(1, rank, range(20)).tolist() == part.block(1, rank, np.arange(20)).tolist() == whole
        assert part.stream(5, rank)(300) == digits.stream(42, rank)(300)


@pytest.mark.parametrize("law", LAWS)
def test_noise_whose_error_has_no_bound_is_not_usable(law: str) -> None:
    """Digits that are all zeros, and where the law looks at that end all ones."""
    batch = Batch.flat(np.array([1, 2, 3]), np.array([0, 3]))
    words = np.array([[2**64 - 1] * 2, [0] * 2, [5] * 2], dtype=np.uint64)
    digits: Any = SimpleNamespace(n=3, block=lambda *_: words)
    block = _Block(batch, np.array([0]), np.array([65_535, 0, 9], np.uint16), 1)
    _, usable = block.noise(LAWS[law], digits, np.array([[0]]), np.array([[0, 1, 2]]))
    assert usable.tolist() == [[not LAWS[law].uses_complement, False, True]]


@pytest.mark.parametrize("law", LAWS)
def test_the_ends_are_moved_outwards_by_more_than_they_err(law: str) -> None:
    """By 2^-42·(1 + |Q|), of which the lemma needs a quarter."""
    u = np.arange(1, 65_536, dtype=np.float64) * 2.0**-16
    q = LAWS[law].estimate(u, -np.log1p(-u))
    low, high = ends(LAWS[law])
    for moved in (q - low[:-1], high[1:] - q):
        assert np.allclose(moved, (np.abs(q) + 1.0) * 2.0**-42, rtol=0.02, atol=0)
