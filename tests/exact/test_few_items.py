"""The way of few operations gives what the general one gives on the same digits, or says that it cannot."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from freegap.bits import SeededBits
from freegap.exact import few_items, ranking, screening
from freegap.exact.digits import KeyedDigits
from freegap.exact.few_items import Factors, Found, is_usual, largest_of_few
from freegap.exact.ranking import NoisyRanking, Ranked
from freegap.exact.reals import Real
from tests.laws import EXACT_LAWS as LAWS

GRID = Fraction(1, 1024)
SLACK = 2.0**-44
PER_VALUE = 1024
FACTORS = Factors(1.0, 1024.0, PER_VALUE)
C = 79 * math.log(2)


def heavy(n: int) -> Any:
    return np.random.default_rng(n).permutation((3000 / np.arange(1, n + 1)).astype(np.int64))


def released(values: Any, top: int, seed: int, law: str = "exponential", **more: Any) -> Ranked:
    options: dict[str, Any] = {"grain": Fraction(1), "scale": Fraction(top), "resolution": GRID} | more
    digits = KeyedDigits(SeededBits(seed), len(values))
    return NoisyRanking(values, law=LAWS[law], digits=digits, **options).largest(top)


def generally(monkeypatch: pytest.MonkeyPatch, *args: Any, **more: Any) -> Ranked:
    with monkeypatch.context() as patched:
        patched.setattr(NoisyRanking, "_usual", lambda self, top: None)
        return released(*args, **more)


@pytest.mark.parametrize(
    ("n", "top"),
    [
        *((2, 2), (9, 3), (9, 8), (9, 9), (12, 12), (40, 9), (1000, 2), (1000, 401), (1023, 26), (1024, 26)),
        *((8295, 26), (8296, 26), (8192, 5000), (9000, 801), (41_270, 26), (41_270, 801)),
    ],
)
@pytest.mark.parametrize("law", ["exponential", "uniform"])
def test_every_size_gives_what_the_general_way_gives(
    n: int, top: int, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(3):
        for values in (heavy(n), heavy(n) // 40, -heavy(n)):
            expected = generally(monkeypatch, values, top, seed, law)
            assert released(values, top, seed, law) == expected


@pytest.mark.parametrize(
    "more",
    [
        {"filter_bits": 30},
        {"filter_bits": 8, "start_digits": 1},
        {"resolution": Fraction(1, 10**12)},
        {"resolution": Fraction(1, 10**30)},
        {"scale": Fraction(10**9)},
        {"scale": Fraction(1, 10**9)},
        {"grain": GRID},
    ],
)
@pytest.mark.parametrize(("n", "top"), [(6, 3), (50, 20), (9000, 60)])
def test_what_doubles_cannot_decide_is_decided_all_the_same(
    more: dict[str, Any], n: int, top: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(2):
        for values in (heavy(n), heavy(n) // 900, heavy(n) + 2**61):
            expected = generally(monkeypatch, values, top, seed, **more)
            assert released(values, top, seed, **more) == expected


def test_some_gaps_are_rounded_exactly_and_the_others_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """At this resolution a bound is about a tenth of a step."""
    settled = []
    floor = Real.floor

    def counted(self: Real, grid: Fraction) -> int:
        settled.append(grid)
        return floor(self, grid)

    monkeypatch.setattr(Real, "floor", counted)
    more: dict[str, Any] = {"resolution": Fraction(1, 2**36), "scale": Fraction(1)}
    for top in (8, 40):
        found = released(heavy(60), top, 5, **more)
        assert 0 < len(settled) < top - 1
        settled.clear()
        assert found == generally(monkeypatch, heavy(60), top, 5, filter_bits=1, start_digits=1, **more)
        settled.clear()


@pytest.mark.parametrize("bar", [-30.0, 3.0, 25.0])
def test_the_bar_changes_nothing(bar: float, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(9000, dtype=np.int64) % 97
    normal = [released(values, 30, seed) for seed in range(3)]
    monkeypatch.setattr(screening.Screen, "bar", lambda self, top: bar)
    assert [released(values, 30, seed) for seed in range(3)] == normal


def few(values: list[int], first: list[int], words: list[int], top: int, bar: float = -math.inf) -> Any:
    """The words are the 64 digits after the first 16; the others are zero."""
    return largest_of_few(
        np.array(values, dtype=np.int64),
        np.array(first, dtype=np.uint16),
        np.array([[word, 0] for word in words], dtype=np.uint64),
        FACTORS,
        SLACK,
        top,
        bar,
    )


@pytest.mark.parametrize("more", [0, 20])
def test_nothing_is_said_of_equal_noisy_answers(more: int) -> None:
    """Neither among the selected nor between the last of them and the first that is not."""
    values = [100, 50, 50, 0, *(-100 * place for place in range(1, more + 1))]
    digits = [40_000] * len(values)
    assert few(values, digits, digits, 1) is not None
    assert few(values, digits, digits, 2) is None
    assert few(values, digits, digits, 3) is None
    longer = [*range(1010, 1000, -1), *values]
    digits = [40_000] * len(longer)
    assert few(longer, digits, digits, 11) is not None
    assert few(longer, digits, digits, 12) is None


def test_noise_that_79_digits_do_not_show_is_left_to_others() -> None:
    words = [2**63, 2**63, 2**63]
    assert few([9, 5, 1], [7, 7, 0], [*words[:2], 2**53], 2) is not None  # u = 2^-27
    assert few([9, 5, 1], [7, 7, 0], [*words[:2], 2**53 - 2**10], 2) is None


def test_all_must_certainly_be_above_the_bar() -> None:
    found = few([9, 5, 1], [32_768] * 3, [0] * 3, 2)
    assert isinstance(found, Found)
    second = 5 + math.log(2)
    assert few([9, 5, 1], [32_768] * 3, [0] * 3, 2, second - 1e-9) is not None
    assert few([9, 5, 1], [32_768] * 3, [0] * 3, 2, second) is None
    assert few([9, 5, 1], [32_768] * 3, [0] * 3, 2, second + 1e-9) is None
    assert few([9], [32_768], [0], 2) is None  # fewer than are wanted passed the screen


def test_the_bound_is_that_of_the_lemma() -> None:
    """2^-44·(m + 60) to either side, m the largest size among those compared: more than doubles err by."""
    near, apart = [0, 2**39], [0, 2**44]  # noise that differs by 2^-40, and by 2^-35
    assert few([0, 0], [32_768] * 2, near, 1) is None
    assert few([0, 0], [32_768] * 2, apart, 1) is not None
    first = [32_768, 32_768, 34_816]  # the noise of the last two differs by 2^-4
    assert few([0, -(2**30), -(2**30)], first, [0] * 3, 2) is not None
    assert few([0, -(2**40), -(2**40)], first, [0] * 3, 2) is None


@pytest.mark.parametrize("more", [0, 10])
def test_a_whole_number_of_steps_is_not_certain(more: int) -> None:
    """Equal noise: the difference of the answers is exact, and that of the noises on the edge."""
    values = list(range(200, 200 - 10 * (3 + more), -10))
    found = few(values, [32_768] * len(values), [5] * len(values), 2 + more)
    assert found.unsure == list(range(1 + more))


@pytest.mark.parametrize("more", [0, 10])
def test_the_margin_of_a_gap_is_that_of_two_noises(more: int) -> None:
    """1024·(2·2^-44 + 2^-50)·20 steps, about 2^-28.7: so near to a whole number a gap is not certain."""
    values = list(range(200, 200 - 10 * (2 + more), -10))
    for word, unsure in ((3 * 2**38, [0]), (3 * 2**39, [])):  # 2^-29.4 and 2^-28.4 steps above it
        words = [0, word, *(word + (place << 55) for place in range(1, more + 1))]
        found = few(values, [32_768] * len(values), words, len(values))
        assert [place for place in found.unsure if place == 0] == unsure


@pytest.mark.parametrize("more", [0, 10])
@pytest.mark.parametrize("size", [0, 2**20, -(2**20)])
def test_the_margin_of_a_gap_of_noisy_answers_is_that_of_the_lemma(
    more: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2E·1024 steps to either side, E = 2^-44·(m + 60): nearer to a whole number noises are looked at."""
    looked = []
    gaps = few_items._gaps

    def seen(*args: Any) -> Any:
        looked.append(args)
        return gaps(*args)

    monkeypatch.setattr(few_items, "_gaps", seen)
    values = [size + 10 * place for place in range(2 + more, 0, -1)]
    noise = [6.0, *(5.75 - 0.2503 * place for place in range(1 + more))]  # the first two: 256 steps
    largest = max(abs(values[0] + noise[0] - C), abs(values[-1] + noise[-1] - C))
    margin = 2.0 * SLACK * (largest + 60.0)
    for distance, near in ((-1.5, False), (-0.9, True), (0.9, True), (1.5, False)):
        moved = [noise[0] + distance * margin, *noise[1:]]
        digits = [math.floor(Fraction(math.exp(-x)) * 2**80) for x in moved]
        found = few(values, [d >> 64 for d in digits], [d % 2**64 for d in digits], len(values))
        assert found.unsure == []
        assert found.gaps[0] == 10 * 1024 + 256 - (distance < 0)
        assert bool(looked) == near
        looked.clear()


def test_which_laws_are_usual() -> None:
    assert {name for name, law in LAWS.items() if is_usual(law)} == {"exponential"}


def test_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a few thousand items all are looked at, of more those that pass the screen."""
    seen = []

    def counted(values: Any, *rest: Any) -> Any:
        seen.append(len(values))
        return largest_of_few(values, *rest)

    monkeypatch.setattr(ranking, "largest_of_few", counted)
    monkeypatch.setattr(NoisyRanking, "_drawn", None)
    for n, top in ((5, 2), (8000, 26), (41_270, 26), (41_270, 801)):
        released(np.random.default_rng(1).permutation(600_000 // np.arange(1, n + 1)), top, 3)
    assert seen[:2] == [5, 8000]
    assert all(number < 2 * top + 60 for number, top in zip(seen[2:], (26, 801), strict=True))
