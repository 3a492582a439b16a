"""Each fast path on either side of what it may decide: limits of whole numbers, digits that doubles lose.

What is beyond a limit is left to the exact path, so that the outputs are the same on both sides.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from freegap.bits import SeededBits
from freegap.exact import noisy_threshold
from freegap.exact.batched_ranking import BatchedRanking
from freegap.exact.batched_threshold import BatchedThreshold, Stops, _Runs
from freegap.exact.digits import KeyedDigits
from freegap.exact.few_items import Factors, largest_of_few
from freegap.exact.grid_noise import floored_noise
from freegap.exact.noisy_threshold import Branch, NoisyThreshold
from freegap.exact.parts import Batch, DigitsPart
from freegap.exact.ranking import NoisyRanking, Ranked
from freegap.exact.screening import may_reach
from freegap.laws import EXPONENTIAL, GEOMETRIC, LAPLACE, LAWS, ExactLaw
from freegap.values.thresholds import Offsets
from tests.exact.given_words import LEADING, GivenWords, extreme
from tests.laws import EXACT_LAWS

GRID = Fraction(1, 1024)
NOTHING_IS_SURE = -6  # filter bits: a bound of 64·(1 + |z| + |x|) decides nothing near


def all_exactly(values: Any, digits: KeyedDigits, top: int, law: ExactLaw, **more: Any) -> Ranked:
    options: dict[str, Any] = {"grain": Fraction(1), "scale": Fraction(5), "resolution": GRID} | more
    return NoisyRanking(values, law=law, digits=digits, filter_bits=NOTHING_IS_SURE, **options).largest(top)


# Digits next to 0 and to 1 -----------------------------------------------------------------------


@pytest.mark.parametrize("law", sorted(EXACT_LAWS))
@pytest.mark.parametrize("grouped", [False, True])
def test_populations_with_such_digits(law: str, grouped: bool) -> None:
    """Three items each, of which the first has them: what is released is what exact reals release."""
    leading = [word for word in extreme(LEADING + 16)[::3] for _ in range(3)]
    for place in range(len(leading)):
        if place % 3:
            leading[place] = (place * 2654435761 << 100) % (1 << 144)  # any others
    digits = GivenWords(0, leading, first=True)
    n = len(leading)
    sizes = np.tile(np.array([1, 1, 4] if grouped else [1, 1, 1], np.int64), n // 3)
    values = np.tile(np.array([1, 3, -200 if grouped else 2], np.int64), n // 3)
    batch = Batch.flat(values, np.arange(n // 3 + 1) * 3, sizes if grouped else None)
    ranking = BatchedRanking(
        batch,
        grain=Fraction(1),
        scale=Fraction(5),
        resolution=GRID,
        law=EXACT_LAWS[law],
        digits=digits,
    )
    places, gaps = ranking.largest(2, gaps=True)
    assert gaps is not None
    for row in range(0, n // 3):
        part = DigitsPart(digits, 3 * row, 3)
        own = slice(3 * row, 3 * row + 3)
        alone = all_exactly(values[own], part, 2, EXACT_LAWS[law], sizes=sizes[own] if grouped else None)
        assert (places[row].tolist(), gaps[row].tolist()) == (alone.items, alone.gaps), hex(leading[3 * row])


@pytest.mark.parametrize("law", ["exponential", "laplace", "geometric"])
def test_runs_with_such_digits(law: str) -> None:
    """One question after the other, and runs of one question each; thresholds have ordinary digits."""
    leading = [word for word in extreme(LEADING)[::5] for _ in range(2)]
    for place in range(0, len(leading), 2):
        leading[place] = (place * 2654435761 + 7 << 90) % (1 << LEADING)  # of the threshold
    digits = GivenWords(1, leading, first=False)
    number = len(leading) // 2
    branches = [Branch(Fraction(1), scale=Fraction(5), shift=Fraction(2), margin=Fraction(0))]
    values = np.resize(np.array([-30, -2, 3, 25], np.int64), number)
    kept: dict[str, Any] = {"law": LAWS[law], "threshold_scale": Fraction(3), "branches": branches}
    kept["resolution"] = Fraction(1) if law == "geometric" else GRID
    batch = Batch.flat(values, np.arange(number + 1)).with_thresholds()
    bars = BatchedThreshold(
        batch, Offsets(values, Fraction(1), Fraction(0), Fraction(0)), digits=digits, **kept
    )
    answered, found, left = bars.found(Stops((1,), 10, None), gaps=True)
    assert answered.tolist() == [1] * number
    assert 0 < len(left) < number
    said = dict(zip(found.runs.tolist(), found.gaps.tolist(), strict=True))
    for run in set(range(number)) - set(left.tolist()):
        part = DigitsPart(digits, 2 * run, 2)
        alone = NoisyThreshold(digits=part, filter_bits=NOTHING_IS_SURE, **kept)
        branch, gap = alone.one(0, int(values[run]))
        assert said.get(run) == (None if branch == -1 else gap), hex(leading[2 * run + 1])
        assert NoisyThreshold(digits=part, **kept).one(0, int(values[run])) == (branch, gap)


@pytest.mark.parametrize("law", sorted(EXACT_LAWS))
def test_rounded_noise_with_such_digits(law: str) -> None:
    leading = extreme(LEADING)[::3]
    given: dict[str, Any] = {"factor": Fraction(7, 3), "offset": Fraction(1, 9)}
    given["digits"] = GivenWords(1, leading, first=False)
    fast = floored_noise(EXACT_LAWS[law], len(leading), **given)
    assert fast == floored_noise(EXACT_LAWS[law], len(leading), filter_bits=NOTHING_IS_SURE, **given)


# Limits of whole numbers -------------------------------------------------------------------------


@pytest.mark.parametrize("more", [0, 12])
def test_an_answer_of_very_many_steps_is_not_for_few_items(more: int) -> None:
    """Also where answers are equal, so that none of these steps is in a gap."""
    n = 3 + more
    first = np.arange(40_000, 40_000 + 1000 * n, 1000).astype(np.uint16)
    words, values = np.full((n, 2), 5, np.uint64), np.zeros(n, np.int64)
    for per_value, decided in ((2**52 - 1, True), (2**52, False), (2**70, False)):
        factors = Factors(1.0, 1024.0, per_value)
        found = largest_of_few(values, first, words, factors, 2.0**-44, n, -math.inf)
        assert (found is not None) == decided
    scale, resolution = Fraction(1, 10**52), Fraction(1, 10**60)
    kept: dict[str, Any] = {"grain": Fraction(1), "scale": scale, "resolution": resolution}
    ranking = NoisyRanking(values, law=EXPONENTIAL, digits=KeyedDigits(SeededBits(1), n), **kept)
    alone = all_exactly(values, KeyedDigits(SeededBits(1), n), n, EXPONENTIAL, **kept)
    assert ranking.largest(n) == alone


@pytest.mark.parametrize("steps", [1, 1024])
def test_populations_whose_gaps_leave_64_bits(steps: int) -> None:
    """(largest − least + 1) answers of so many steps each must stay below 2^61."""
    span = 2**61 // steps - 1
    beyond = (span, 2 * span, 3 * span) if steps == 1 else (span, 4 * span, 8 * span)
    for largest, within in ((span - 1, True), *((each, False) for each in beyond)):
        values = np.array([largest // 2, largest // 2 - largest, 5] * 2, np.int64)
        batch = Batch.flat(values, np.array([0, 3, 6]))
        kept: dict[str, Any] = {"grain": Fraction(1), "scale": Fraction(2**20)}
        kept["resolution"] = Fraction(1, steps)
        digits = KeyedDigits(SeededBits(3), 6)
        ranking = BatchedRanking(batch, law=EXPONENTIAL, digits=digits, **kept)
        assert ranking._within_doubles() == within
        places, gaps = ranking.largest(3, gaps=True)
        assert gaps is not None
        for row in range(2):
            part = DigitsPart(digits, 3 * row, 3)
            alone = all_exactly(values[3 * row : 3 * row + 3], part, 3, EXPONENTIAL, **kept)
            assert (places[row].tolist(), gaps[row].tolist()) == (alone.items, alone.gaps)
            assert sum(alone.gaps) > largest * steps * 9 // 10


def test_rates_at_which_nothing_overflows() -> None:
    batch = Batch.flat(np.array([3, 1], np.int64), np.array([0, 2]))
    for scale, within in (
        (Fraction(2**100), False),
        (Fraction(2**99), True),
        (Fraction(1, 2**59), True),
        (Fraction(1, 2**60), False),
    ):
        kept: dict[str, Any] = {"grain": Fraction(1), "scale": scale, "resolution": Fraction(1)}
        digits = KeyedDigits(SeededBits(3), 2)
        assert BatchedRanking(batch, law=LAPLACE, digits=digits, **kept)._within_doubles() == within


@pytest.mark.parametrize("law", sorted(EXACT_LAWS))
def test_a_group_is_never_among_those_that_are_chosen(law: str) -> None:
    """Not even as the last of all, far below the others: the noise of one item is not that of the largest."""
    values, sizes = np.array([2**50, 0] * 20, np.int64), np.array([1, 10**6] * 20, np.int64)
    digits = KeyedDigits(SeededBits(2), 40)
    kept: dict[str, Any] = {"grain": Fraction(1), "scale": Fraction(1), "resolution": GRID}
    batch = Batch.flat(values, np.arange(21) * 2, sizes)
    places, gaps = BatchedRanking(batch, law=EXACT_LAWS[law], digits=digits, **kept).largest(2, gaps=True)
    assert gaps is not None
    for row in range(20):
        part = DigitsPart(digits, 2 * row, 2)
        alone = all_exactly(values[:2], part, 2, EXACT_LAWS[law], sizes=sizes[:2], **kept)
        assert (places[row].tolist(), gaps[row].tolist()) == (alone.items, alone.gaps)


@pytest.mark.parametrize(("gap", "kind"), [(2**62 - 2**40, np.int64), (2**62 + 2**40, object)])
def test_gaps_that_do_not_fit_are_whole_numbers_of_python(gap: int, kind: Any) -> None:
    values = np.array([gap // 2, gap // 2 - gap, -(2**61) - 2**50], np.int64)
    batch = Batch.flat(values, np.array([0, 3]))
    digits = KeyedDigits(SeededBits(3), 3)
    kept: dict[str, Any] = {"grain": Fraction(1), "scale": Fraction(1), "resolution": Fraction(1)}
    _, gaps = BatchedRanking(batch, law=EXPONENTIAL, digits=digits, **kept).largest(2, gaps=True)
    assert gaps is not None
    assert gaps.dtype == kind
    assert abs(gaps[0, 0] - gap) < 100


def bars_of(values: Any, constant: Fraction, scale: Any, shift: Any = 0, margin: Any = 0) -> BatchedThreshold:
    """Runs of one question with geometric noise; the threshold's is small."""
    return BatchedThreshold(
        Batch.flat(values, np.arange(len(values) + 1)).with_thresholds(),
        Offsets(values, Fraction(1), constant, constant),
        law=GEOMETRIC,
        threshold_scale=Fraction(3),
        branches=[Branch(Fraction(1), scale=Fraction(scale), shift=Fraction(shift), margin=Fraction(margin))],
        resolution=Fraction(1),
        digits=KeyedDigits(SeededBits(1), 0),
    )


def test_whole_numbers_that_doubles_may_not_hold_are_left() -> None:
    """|bar| + |d| + 13s + |shift| + |margin| must stay below 2^50, each of them with all of its size."""
    one, half = np.array([5], np.int64), 2**49
    for bars, decided in (
        (bars_of(one + 2**50 - 1000, Fraction(0), 2), True),
        (bars_of(one + 2**50, Fraction(0), 2), False),
        (bars_of(one - 2**50, Fraction(0), 2), False),
        (bars_of(one, Fraction(0), Fraction(2**50 - 1000, 13)), True),
        (bars_of(one, Fraction(0), Fraction(2**50 + 1, 13)), False),
        (bars_of(one + half, Fraction(0), 2, shift=-half), False),
        (bars_of(one + half, Fraction(0), 2, margin=half), False),
        (bars_of(one, Fraction(0), 2, shift=half - 1000, margin=half), True),
    ):
        assert _Runs(bars, np.zeros(1, np.int64), 1).decided.tolist() == [decided]


def test_what_runs_can_be_added_up_and_compared() -> None:
    bars = bars_of(np.array([5], np.int64), Fraction(0), 2)
    assert bars._representable(Stops((2**50 - 1,), 2**62 - 1, None))
    assert not bars._representable(Stops((1, 2**50), 10, None))
    assert not bars._representable(Stops((1,), 2**62, None))
    assert not bars_of(np.array([5], np.int64), Fraction(1, 2), 2)._representable(Stops((1,), 10, None))


# Heights: never below what they stand for --------------------------------------------------------


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
@pytest.mark.parametrize("far", [-(10.0**18), -(10.0**9), 0.0, 10.0**9, 10.0**18])
def test_a_height_is_never_below_the_true_one(
    noise: str, far: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """h = (d − s₀·Y − shift − margin)/s, computed too large by what its error can be, wherever d is."""
    seen = []

    def told(law: Any, heights: Any, first: Any) -> Any:
        seen.append(heights)
        return may_reach(law, heights, first)

    monkeypatch.setattr(noisy_threshold, "may_reach", told)
    branch = Branch(Fraction(1), scale=Fraction(7, 3), shift=Fraction(1, 3), margin=Fraction(2, 7))
    bar = NoisyThreshold(
        law=LAWS[noise],
        threshold_scale=Fraction(5, 3),
        branches=[branch],
        resolution=GRID,
        digits=KeyedDigits(SeededBits(4), 0),
    )
    offsets = far + np.arange(300) / 7
    words = bar._digits.block(0, 1, range(1, 301))
    bar._near(offsets, 0, words)
    low = bar._bar.floor(Fraction(1, 2**80)) * Fraction(1, 2**80)  # s₀·Y
    largest = max(map(abs, offsets.tolist()))
    doubt = (1 + Fraction(largest) + abs(low) + branch.shift + branch.margin) / 2**46 + Fraction(
        bar._bar_bound
    )
    for offset, height in zip(offsets.tolist(), seen[0].tolist(), strict=True):
        true = (Fraction(offset) - low - branch.shift - branch.margin) / branch.scale
        assert float((Fraction(height) - true) * branch.scale) == pytest.approx(float(doubt), rel=0.02, abs=0)
