"""Order, gaps and rounded noise at the very edge, where an error bound that lacks a term would show.

Noise is a function of its digits, so that it can be known to 2^-200 before anything is asked. Scales and
grids are then chosen such that two noisy answers, or a gap and a multiple of the grid, differ by less.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from freegap.bits import SeededBits
from freegap.exact.digits import KeyedDigits
from freegap.exact.doubles import Candidates, stream_noise
from freegap.exact.grid_noise import floored_noise
from freegap.exact.ranking import NoisyRanking
from freegap.exact.reals import Real, Variable
from tests.laws import EXACT_LAWS as LAWS

FINE = Fraction(1, 2**200)
NAMES = ["exponential", "laplace", "gumbel", "logistic"]


def ranking(
    values: Any, scale: Fraction, law: str, seed: int, resolution: Fraction, sizes: Any = None
) -> NoisyRanking:
    return NoisyRanking(
        values,
        grain=Fraction(1),
        scale=scale,
        resolution=resolution,
        law=LAWS[law],
        digits=KeyedDigits(SeededBits(seed), len(values)),
        sizes=sizes,
    )


def difference(
    values: Any, law: str, seed: int, first: tuple[int, int], second: tuple[int, int], sizes: Any = None
) -> Fraction:
    """The noise of scale 1 of one item (and rank) less that of another, rounded down to 2^-200."""
    noise = ranking(np.zeros_like(values), Fraction(1), law, seed, Fraction(1), sizes)
    return (noise.noisy_answer(*first) - noise.noisy_answer(*second)).floor(FINE) * FINE


@pytest.mark.parametrize("law", NAMES)
@pytest.mark.parametrize("ahead", [1, 1000, 2**40 + 1, 2**61])
def test_two_answers_that_nearly_tie(law: str, ahead: int) -> None:
    """The second answer is ahead by so much, and the noise of the first makes up for it, or does not."""
    values = np.array([0, ahead], dtype=np.int64)
    seen = 0
    for seed in range(6):
        lead = difference(values, law, seed, (0, 1), (1, 1))
        if lead <= 0:
            continue
        for scale, winner in ((ahead / lead, 0), (ahead / (lead + FINE), 1)):
            found = ranking(values, scale, law, seed, Fraction(1, 1024)).largest(2)
            assert found.items == [winner, 1 - winner]
            assert found.gaps == [0]
            # The last place that is asked for may be the one that is undecided.
            assert ranking(values, scale, law, seed, Fraction(1, 1024)).largest(1).items == [winner]
            seen += 1
    assert seen >= 4


@pytest.mark.parametrize("law", NAMES)
@pytest.mark.parametrize("height", [10**3, 10**9, 2**50])
@pytest.mark.parametrize("others", [4, 1500])  # below and above the screening limit
def test_two_answers_that_nearly_tie_far_above_the_rest(law: str, height: int, others: int) -> None:
    """Measured from a pivot far below, both are large, and their difference is not."""
    values = np.array([0] * others + [height, height + 1], dtype=np.int64)
    for seed in range(5):
        lead = difference(values, law, seed, (others, 1), (others + 1, 1))
        if lead <= 0:
            continue
        for scale, first in ((1 / lead, others), (1 / (lead + FINE), others + 1)):
            found = ranking(values, scale, law, seed, Fraction(1, 1024)).largest(3)
            assert found.items[:2] == [first, 2 * others + 1 - first]
            assert found.gaps[0] == 0


@pytest.mark.parametrize("law", ["exponential", "laplace", "gumbel"])
@pytest.mark.parametrize("size", [2, 50, 10**12])
def test_members_of_two_groups_that_nearly_tie(law: str, size: int) -> None:
    values = np.array([0, 1], dtype=np.int64)
    sizes = np.array([size, size], dtype=np.int64)
    seen = 0
    for seed in range(8):
        lead = difference(values, law, seed, (0, 2), (1, 1), sizes)  # the second member against the first
        if lead <= 0:
            continue
        for scale, expected in ((1 / lead, [(0, 2), (1, 1)]), (1 / (lead + FINE), [(1, 1), (0, 2)])):
            found = ranking(values, scale, law, seed, Fraction(1, 1024), sizes).largest(4)
            members = list(zip(found.items, found.ranks, strict=True))
            assert [member for member in members if member in expected] == expected
            seen += 1
    assert seen >= 2


@pytest.mark.parametrize("law", NAMES)
@pytest.mark.parametrize("scale", [Fraction(1, 10**9), Fraction(3), Fraction(10**30)], ids=str)
@pytest.mark.parametrize("steps", [1, 1000, 2**30 + 1, 2**49 - 1, 2**50, 2**52 + 1, 10**30])
def test_gaps_that_are_nearly_multiples_of_the_grid(law: str, scale: Fraction, steps: int) -> None:
    values = np.array([5, 5], dtype=np.int64)
    for seed in range(3):
        lead = difference(values, law, seed, (0, 1), (1, 1))
        low, high = (lead, lead + FINE) if lead > 0 else (-lead - FINE, -lead)
        for grid, gap in ((scale * low / steps, steps), (scale * high / steps, steps - 1)):
            assert ranking(values, scale, law, seed, grid).largest(2).gaps == [gap]


@pytest.mark.parametrize("far", [2**40, 2**52, 2**61 - 1])
def test_large_differences_of_answers_are_exact_in_gaps(far: int) -> None:
    """Whether they fit an int64 in units of the grid or not."""
    for per_unit in (1, 2, 2**10, 2**20):
        grid = Fraction(1, per_unit)
        values = np.array([far, -far, 0], dtype=np.int64)
        exact = ranking(values, Fraction(3), "exponential", 1, grid)
        found = exact.largest(3)
        reals = [exact.noisy_answer(item) for item in found.items]
        assert found.items == [0, 2, 1]
        assert found.gaps == [(reals[j] - reals[j + 1]).floor(grid) for j in range(2)]


@pytest.mark.parametrize("per_unit", [1, 2, 4, 8, 16, 2**40])
def test_two_answers_as_far_apart_as_they_can_be(per_unit: int) -> None:
    grid, far = Fraction(1, per_unit), 2**61 - 1
    exact = ranking(np.array([-far, far], dtype=np.int64), Fraction(3), "laplace", 1, grid)
    found = exact.largest(2)
    assert found.items == [1, 0]
    assert found.gaps == [(exact.noisy_answer(1) - exact.noisy_answer(0)).floor(grid)]
    assert found.gaps[0] > 0


def nudged(found: Candidates, error: Any, signs: Any) -> Candidates:
    """The same candidates with doubles that are off by nearly as much as their bounds allow."""
    off = 0.99 * error * signs
    return Candidates(found.items, found.ranks, found.noise + off, found.noisy + off, error)


@pytest.mark.parametrize("law", ["exponential", "laplace", "gumbel"])
@pytest.mark.parametrize("which", ["first", "second", "both apart", "both together", "at random"])
@pytest.mark.parametrize("top", [1, 2, 5, 12])
def test_doubles_that_err_by_as_much_as_they_say_change_nothing(law: str, which: str, top: int) -> None:
    """Order and gaps are decided right by any doubles within their bounds, whichever of two is off."""
    n = 30
    values = np.arange(n, dtype=np.int64) // 3
    signs = {
        "first": np.arange(n) % 2,
        "second": (np.arange(n) + 1) % 2,
        "both apart": np.where(np.arange(n) % 2, 1, -1),
        "both together": np.ones(n),
        "at random": np.random.default_rng(top).choice([-1, 1], n),
    }[which]
    for seed in range(6):
        right = ranking(values, Fraction(2), law, seed, Fraction(1, 4)).largest(top)
        sizes = np.random.default_rng(seed).choice([0.001, 0.05, 2.0], n)  # some know much less than others
        for error in (np.full(n, 0.05), np.full(n, 0.3), sizes):
            again = ranking(values, Fraction(2), law, seed, Fraction(1, 4))
            drawn = again._drawn(np.arange(n), 0, -np.inf, top)
            exact = np.argsort(-drawn.noisy)  # neighbours in the true order have the signs in turn
            turned = np.empty(n)
            turned[exact] = signs
            ordered = again._ordered(nudged(drawn, error, turned), top)
            assert ordered.items.tolist() == right.items
            assert again._gaps(ordered) == right.gaps


@pytest.mark.parametrize("factor", [Fraction(700), Fraction(10**12)], ids=str)
def test_rounded_noise_that_is_nearly_nothing(factor: Fraction) -> None:
    """Laplace noise next to 0 is a difference of two logarithms: it errs by much more than its own size."""
    n = 3000
    digits = KeyedDigits(SeededBits(7), n)
    noise, _ = stream_noise(LAWS["laplace"], digits, 1, np.arange(n), 2.0**-44)
    for place in np.argsort(np.abs(noise))[:12].tolist():
        stream = KeyedDigits(SeededBits(7), n).stream(place, 1)
        known = Real(0, {Variable(LAWS["laplace"], stream): factor}).floor(FINE) * FINE
        for offset, floor in ((-known, 0), (-known - FINE, -1)):
            again = KeyedDigits(SeededBits(7), n)
            found = floored_noise(LAWS["laplace"], place + 1, factor=factor, offset=offset, digits=again)
            assert found[place] == floor


@pytest.mark.parametrize("law", ["laplace", "exponential"])
@pytest.mark.parametrize("factor", [Fraction(1, 10**9), Fraction(700), Fraction(10**30)], ids=str)
@pytest.mark.parametrize("whole", [0, 1, -1, 1000, 2**49, -(2**49), 2**50, 2**52 + 1, 10**30, -(10**30)])
def test_rounded_noise_that_is_nearly_whole(law: str, factor: Fraction, whole: int) -> None:
    def floors(offset: Fraction) -> list[int]:
        digits = KeyedDigits(SeededBits(7), 3)
        return floored_noise(LAWS[law], 3, factor=factor, offset=offset, digits=digits)

    for place in range(3):
        stream = KeyedDigits(SeededBits(7), 3).stream(place, 1)
        known = Real(0, {Variable(LAWS[law], stream): factor}).floor(FINE) * FINE
        at = whole - known  # now factor·X + offset lies in [whole, whole + 2^-200)
        assert floors(at)[place] == whole
        assert floors(at - FINE)[place] == whole - 1


@pytest.mark.parametrize("law", ["laplace", "exponential"])
def test_rounded_noise_beside_a_large_offset(law: str) -> None:
    """The offset alone is rounded, by more than the noise: only its own term in the bound says so."""
    for large in (Fraction(2**49) + Fraction(1, 3), -Fraction(2**49) + Fraction(1, 3), Fraction(10**14) / 7):
        digits = KeyedDigits(SeededBits(3), 200)
        found = floored_noise(LAWS[law], 200, factor=Fraction(1, 1000), offset=large, digits=digits)
        for place in range(200):
            stream = KeyedDigits(SeededBits(3), 200).stream(place, 1)
            real = Real(large, {Variable(LAWS[law], stream): Fraction(1, 1000)})
            assert found[place] == real.floor()
