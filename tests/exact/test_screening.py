"""The screen against ball arithmetic: no digits that could put an item above the bar are ever passed over."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from numpy.typing import NDArray

from freegap.bits import SeededBits
from freegap.exact.arithmetic import DOUBLE_FUNCTIONS, LIMIT, SINGLE_FUNCTIONS, every_single, worst_error
from freegap.exact.digits import KeyedDigits
from freegap.exact.ranking import NoisyRanking
from freegap.exact.screening import Screen, _exponentials, differences, top_of
from freegap.values.answers import exact_singles
from freegap.values.balls import at_precision
from tests.laws import EXACT_LAWS as LAWS

PREFIXES = 1 << 16
PER_UNIT = 64  # offsets are multiples of 1/64

# Written from the definitions, not from `freegap.laws`: P(X > x), x an exact ball.
SURVIVAL: dict[str, Callable[[Any], Any]] = {
    "exponential": lambda x: (-x).exp() if x > 0 else arb(1),
    "laplace": lambda x: (-x).exp() / 2 if x > 0 else 1 - x.exp() / 2,
    "gumbel": lambda x: -((-((-x).exp())).expm1()),
    "logistic": lambda x: 1 / (1 + x.exp()),
    "uniform": lambda x: arb(1) if x <= 0 else (1 - x if x < 1 else arb(0)),
}
SIZES = [1, 2, 3, 1000, 2**24 + 1, 10**9, 10**12, 2**62 - 1, 2**62]
BARS = [-20.0, -3.25, 0.0, 0.5, 7.0, 21.0, 43.0, 60.0]
OFFSETS = sorted(
    {-100 * PER_UNIT, 100 * PER_UNIT, -80 * PER_UNIT - 1, 80 * PER_UNIT + 1}
    | {PER_UNIT * whole for whole in range(-79, 80, 3)}
    | {PER_UNIT * int(bar) + near for bar in BARS for near in (-65, -64, -63, -1, 0, 1, 20)}
)


def expected_members(law: str, x: float, size: int) -> tuple[float, float]:
    """(P(the largest is above), expected number above), each rounded up a little, x exact."""

    def compute() -> tuple[float, float]:
        survival = SURVIVAL[law](arb(x))
        any_above = arb(1) if not survival < 1 else -((size * (-survival).log1p()).expm1())
        return float(any_above.upper()), float((size * survival).upper())

    found: tuple[float, float] = at_precision(256, compute)
    return found


def last_possible_prefix(any_above: float) -> int:
    """The largest f with f/65536 below the chance: whoever is above the bar has at most these digits."""
    return min(math.ceil(PREFIXES * any_above * (1 + 2.0**-50)), PREFIXES) - 1


def screen(law: str, offsets: NDArray[np.int64], sizes: NDArray[np.int64]) -> Screen:
    return Screen(offsets, 0, 1 / PER_UNIT, LAWS[law], sizes)


@pytest.mark.parametrize("law", sorted(LAWS))
def test_no_digits_that_could_be_above_are_passed_over(law: str) -> None:
    """For every offset, size and bar: the last digits that could be above pass, so all before them do."""
    cells = [(z, m) for z in OFFSETS for m in SIZES]
    offsets, sizes = (np.array(column, dtype=np.int64) for column in zip(*cells, strict=True))
    seen = 0
    for bar in BARS:
        wanted = [expected_members(law, bar - z / PER_UNIT, m) for z, m in cells]
        last = [last_possible_prefix(any_above) for any_above, _ in wanted]
        possible = np.array([prefix >= 0 for prefix in last])
        first = np.array([max(prefix, 0) for prefix in last], dtype=np.uint16)
        passed = set(screen(law, offsets, sizes).passed(bar, first, 0.0).tolist())
        missed = [cells[i] for i in np.flatnonzero(possible) if int(i) not in passed]
        assert not missed, (bar, missed[:5])
        seen += int(possible.sum())
    assert seen > 1000


def test_uniform_noise_next_to_the_end_of_its_support() -> None:
    """1 + ln r cancels there, so that its error is absolute; a group makes it matter."""
    for steps in range(1, 60):
        bar = 1 - steps * 2.0**-25
        any_above, _ = expected_members("uniform", bar, 2**25)
        one = screen("uniform", np.array([0]), np.array([2**25]))
        last = np.array([last_possible_prefix(any_above)], dtype=np.uint16)
        assert one.passed(bar, last, 0.0).tolist() == [0]


@pytest.mark.parametrize("law", sorted(LAWS))
def test_little_more_than_that_passes(law: str) -> None:
    """Else the screen would be right and useless, and the test above would accept one that passes all."""
    for bar in (0.0, 7.0, 43.0):
        for z in (-30, -2, 0, 3, 40):
            for size in (1, 1000, 10**12, 2**62):
                _, members = expected_members(law, bar - z, size)
                absolute = size * 2.0**-14 if law == "uniform" else 0.0
                looser = 7 / 6 if law == "gumbel" else 1.0  # its survival function is bounded, not computed
                too_far = math.floor(PREFIXES * (members * looser * (1 + 2.0**-11) + absolute)) + 1
                if too_far >= PREFIXES:
                    continue
                one = screen(law, np.array([z * PER_UNIT]), np.array([size]))
                assert len(one.passed(bar, np.array([too_far], dtype=np.uint16), 0.0)) == 0


@pytest.mark.parametrize("law", sorted(LAWS))
def test_all_prefixes_of_some_cells(law: str) -> None:
    """All 65,536 first digits at once: those that pass are the ones up to a last one, which suffices."""
    prefixes = np.arange(PREFIXES, dtype=np.uint16)
    seen = 0
    for bar, z, size in [
        (0.5, 0, 1), (7.25, 7, 1), (-2.75, -3, 1), (0.0, -1, 1), (0.0, 1, 3), (7.0, 0, 1000),
        (21.0, -1, 10**9), (27.0, 0, 10**12),
        (43.0, 0, 2**62), (43.5, 1, 2**62), (13.0, 0, 10**6), (60.0, 20, 10**17), (-20.0, -19, 1),
    ]:  # fmt: skip
        cell = screen(law, np.full(PREFIXES, z * PER_UNIT), np.full(PREFIXES, size))
        passed = cell.passed(bar, prefixes, 0.0)
        any_above, _ = expected_members(law, bar - z, size)
        assert passed.tolist() == list(range(len(passed)))
        assert len(passed) > last_possible_prefix(any_above)
        seen += len(passed) not in (1, PREFIXES)
    assert seen >= 3


def test_the_bar_of_the_largest_with_gumbel_noise() -> None:
    """None of all members is above it with probability e^−10.5, whichever of them are far apart."""
    rng = np.random.default_rng(1)
    for spread in (0, 1, 30 * PER_UNIT):
        offsets = -rng.integers(0, spread + 1, 2000)
        offsets[7] = 0
        for large in (1, 10**6):
            sizes = np.ones(2000, dtype=np.int64)
            sizes[::100] = large
            bar = screen("gumbel", offsets, sizes).bar(1)
            assert np.sum(sizes * np.exp(offsets / PER_UNIT - bar)) == pytest.approx(10.5, rel=1e-4)


def test_a_screen_that_is_asked_again_answers_for_the_bar_it_is_asked_about() -> None:
    """What it keeps for one bar is not what passes another: items that may be above it would be left out."""
    rng = np.random.default_rng(1)
    offsets, first = -rng.integers(0, 4 * PER_UNIT, 3000), rng.integers(0, 2**16, 3000).astype(np.uint16)
    alone_each = np.ones(3000, dtype=np.int64)
    for law in LAWS:
        kept = screen(law, offsets, alone_each)
        for bar, slack in ((3.0, 0.0), (2.0, 0.0), (2.0, 2.0**-6), (3.0, 0.0)):
            alone = screen(law, offsets, alone_each).passed(bar, first, slack)
            assert kept.passed(bar, first, slack).tolist() == alone.tolist()


def test_infinite_ratios_are_certain() -> None:
    """An answer so far above the bar that e^(z − s) is beyond single precision is above it, for every law."""
    for law in LAWS.values():
        ratio = np.array([np.inf, 3e38, 0.0], dtype=np.float32)
        law.survival(ratio)
        assert ratio[:2].tolist() == [1, 1]
        assert 0 <= ratio[2] <= 2.0**-14


@pytest.mark.parametrize("noise", ["laplace", "exponential", "gumbel"])
def test_a_large_group_is_not_passed_over(noise: str) -> None:
    """A thousand million absent items beat two thousand of count 13 about as often as they should.

    The number of absent items among the first is what the paper's program gives on the same digits; here the
    group is compared with its own exact order statistic.
    """
    values = np.array([13] * 2000 + [0], dtype=np.int64)
    sizes = np.array([1] * 2000 + [10**9], dtype=np.int64)
    won = 0
    for seed in range(40):
        digits = KeyedDigits(SeededBits(seed), len(values))
        ranking = NoisyRanking(
            values, grain=Fraction(1), scale=Fraction(1), resolution=Fraction(1) / 1024, law=LAWS[noise],
            digits=digits, sizes=sizes,
        )  # fmt: skip
        winner = ranking.largest(2).items[0]
        group = ranking.noisy_answer(2000)
        best = max(ranking.noisy_answer(i) for i in np.argsort(digits.first()[:2000])[:40].tolist())
        assert (winner == 2000) == (group > best)
        won += winner == 2000
    assert 5 <= won <= 35


def named(function: Any) -> str:
    return f"{function.name}{function.sign:+}"


@pytest.mark.parametrize("function", [*SINGLE_FUNCTIONS, *DOUBLE_FUNCTIONS], ids=named)
def test_this_machine_computes_as_the_proofs_assume(function: Any) -> None:
    worst = worst_error(function, function.sample(20_000))
    assert 0 < worst < LIMIT


def test_a_function_that_errs_too_much_is_noticed() -> None:
    exp = SINGLE_FUNCTIONS[0]
    wrong = dataclasses.replace(exp, computed=lambda x: np.exp(x) * np.float32(1 + 10 * 2.0**-23))
    assert worst_error(wrong, wrong.sample(1000)) > LIMIT
    log = DOUBLE_FUNCTIONS[0]
    worse = dataclasses.replace(log, computed=lambda x: np.log(x) * (1 + 10 * 2.0**-53))
    assert worst_error(worse, worse.sample(1000)) > LIMIT


def test_every_single_is_every_one() -> None:
    blocks = list(every_single(1.0, 2.0, -1, block=1 << 20))
    numbers = np.concatenate(blocks)
    assert len(numbers) == 2**23 + 1
    assert (numbers[0], numbers[-1]) == (-1, -2)
    assert (np.diff(numbers) < 0).all()


@pytest.mark.long
@pytest.mark.parametrize("function", SINGLE_FUNCTIONS, ids=named)
def test_every_single_precision_number_in_range(function: Any) -> None:
    blocks = every_single(function.low, function.high, function.sign)
    assert max(worst_error(function, block) for block in blocks) < LIMIT


@pytest.mark.parametrize("far", [2**70, -(2**70), 10**200])
def test_differences_of_far_answers_are_rounded_once(far: int) -> None:
    values = [far + 3, far, far - 2**60, far + 10**301, far - 10**301]
    assert differences(values, far).tolist() == [3.0, 0.0, -(2.0**60), 1e300, -1e300]


@pytest.mark.parametrize("pivot", [2**23, 2**24 + 1, 2**26 + 1, 2**40 + 1])
def test_large_answers_keep_their_differences(pivot: int) -> None:
    """Beyond 2^23 single precision does not hold them: the difference is taken before it is rounded."""
    values = pivot + np.arange(-9, 10, dtype=np.int64)
    weights = _exponentials(values, pivot, 1.0)
    assert np.allclose(weights, np.exp(np.arange(-9.0, 10.0)), rtol=2.0**-16, atol=0)


@pytest.mark.parametrize("lowest", [0, -(2**23), 2**23 - 40])
def test_values_kept_in_single_precision_are_screened_as_they_are(lowest: int) -> None:
    """The same weights, cut and places, and what is kept is not written to."""
    values = lowest + np.random.default_rng(3).integers(0, 41, 5000)
    singles = exact_singles(values)
    assert singles is not None
    singles.setflags(write=False)
    groups = np.array([7, 4999])
    for n in (1, 100, 4000):
        one, two = top_of(values, n, groups), top_of(values, n, groups, singles)
        assert (one.pivot, one.stride, one.cut) == (two.pivot, two.stride, two.cut)
        assert np.array_equal(one.above, two.above)
        weights = _exponentials(values, one.pivot, 0.7, singles)
        assert np.array_equal(weights, _exponentials(values, one.pivot, 0.7))
    assert singles.tolist() == values.tolist()
