from __future__ import annotations

import math
import threading
from collections.abc import Callable
from fractions import Fraction

import flint
import pytest

from freegap.bits import BitSource, SeededBits
from freegap.errors import FreegapError
from freegap.exact.reals import LazyNoise, OrderStatistic, Real, Variable
from tests.enumeration import outcomes
from tests.laws import EXACT_LAWS as LAWS

SURVIVAL: dict[str, Callable[[float], float]] = {
    "exponential": lambda x: math.exp(-max(x, 0.0)),
    "laplace": lambda x: math.exp(-x) / 2 if x >= 0 else 1 - math.exp(x) / 2,
    "gumbel": lambda x: -math.expm1(-math.exp(-x)),
    "logistic": lambda x: 1 / (1 + math.exp(x)),
    "uniform": lambda x: min(max(1 - x, 0.0), 1.0),
}


@pytest.mark.parametrize("law", sorted(SURVIVAL))
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(3, 2)])
def test_every_law_on_a_grid_by_enumeration(law: str, scale: Fraction) -> None:
    """P(floor(X/γ) = j) lies within what the first digits decide, for every cell j."""
    grid = Fraction(1, 2)

    def cell(source: BitSource) -> int:
        return LazyNoise(source, start=1).draw(LAWS[law], scale).floor(grid)

    decided, undecided = outcomes(cell, depth=8)
    assert undecided < 0.2
    survival = SURVIVAL[law]
    total = 0.0
    for j in range(-80, 80):
        low, high = float(j * grid / scale), float((j + 1) * grid / scale)
        probability = survival(low) - survival(high)
        total += probability
        low_bound = float(decided.get(j, 0))
        assert low_bound - 1e-12 <= probability <= low_bound + float(undecided) + 1e-12, j
    assert total == pytest.approx(1, abs=1e-6)


def test_comparison_of_two_exponentials_by_enumeration() -> None:
    """P(X + 1 < Y) for unit exponentials is e^-1/2."""

    def sampler(source: BitSource) -> bool:
        noise = LazyNoise(source, start=1)
        x, y = noise.exponential(1), noise.exponential(1)
        return x + 1 < y

    # Digits double at each refinement, so a branch is decided at few depths.
    decided, undecided = outcomes(sampler, depth=16)
    probability = math.exp(-1) / 2
    assert undecided < 0.05
    assert decided[True] <= probability <= decided[True] + undecided


@pytest.mark.parametrize("start", [1, 4, 64])
def test_the_starting_precision_changes_nothing(start: int) -> None:
    """The same digits give the same numbers, however many are looked at first."""

    def numbers(start: int) -> list[int]:
        found = []
        for seed in range(30):
            for law in LAWS:
                variable = Variable(LAWS[law], SeededBits(seed).bits, start=start)
                found.append(Real(0, {variable: Fraction(2)}).floor(Fraction(1, 1000)))
        return found

    assert numbers(start) == numbers(16)


def test_order_statistic_of_one_is_the_variable_itself() -> None:
    for seed in range(50):
        alone = Variable(LAWS["laplace"], SeededBits(seed).bits)
        largest = OrderStatistic(LAWS["laplace"], 1, [SeededBits(seed).bits])
        grid = Fraction(1, 10**6)
        assert Real(0, {alone: Fraction(1)}).floor(grid) == Real(0, {largest: Fraction(1)}).floor(grid)


def test_largest_of_three_by_enumeration() -> None:
    def sampler(source: BitSource) -> int:
        return Real(0, {OrderStatistic(LAWS["exponential"], 3, [source.bits], start=1): Fraction(1)}).floor()

    decided, undecided = outcomes(sampler, depth=12)
    for j in range(8):
        probability = (1 - math.exp(-j - 1)) ** 3 - (1 - math.exp(-j)) ** 3
        low = float(decided.get(j, 0))
        assert low <= probability <= low + float(undecided)
    assert undecided < 0.05


def test_second_largest_of_two_by_enumeration() -> None:
    def sampler(source: BitSource) -> bool:
        second = OrderStatistic(LAWS["exponential"], 2, [source.bits, source.bits], start=1)
        return Real(0, {second: Fraction(1)}) > 1

    decided, undecided = outcomes(sampler, depth=16)
    probability = math.exp(-2)  # both exceed 1
    assert undecided < 0.1
    assert decided[True] <= probability <= decided[True] + undecided


def test_arithmetic_is_exact() -> None:
    noise = LazyNoise(SeededBits(5))
    x = noise.laplace(3)
    assert (x + 5) - x == 5
    assert (2 * x - x / 1) - x == 0
    assert x - (x - Fraction(1, 10**400)) > 0
    assert Real(Fraction(-7, 2)).floor() == -4
    assert repr(x).startswith("Real(")


def test_numbers_far_apart_are_compared_without_loss() -> None:
    noise = LazyNoise(SeededBits(5))
    x, y = noise.exponential(1), noise.exponential(1)
    assert x + 10**400 > y
    assert (x + 10**400).floor() == 10**400 + x.floor()


def test_comparing_equal_quantities_ends_with_an_error() -> None:
    ones = type("Ones", (), {"private": False, "bits": lambda self, n: (1 << n) - 1})()
    noise = LazyNoise(ones)
    with pytest.raises(FreegapError, match="undecided"):
        noise.uniform().__lt__(noise.uniform())


def test_threads_and_a_foreign_precision_do_not_disturb() -> None:
    """flint's precision is global; a thread that lowers it must not make a comparison wrong."""

    def floors(seed: int) -> list[int]:
        noise = LazyNoise(SeededBits(seed), start=2)
        return [(noise.exponential(1) - noise.exponential(1)).floor(Fraction(1, 10**6)) for _ in range(40)]

    expected = {seed: floors(seed) for seed in range(4)}
    found: dict[int, list[int]] = {}
    stop = threading.Event()

    def meddle() -> None:
        while not stop.is_set():
            flint.ctx.prec = 10

    before = flint.ctx.prec
    meddler = threading.Thread(target=meddle)
    meddler.start()
    threads = [threading.Thread(target=lambda s=s: found.update({s: floors(s)})) for s in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    meddler.join()
    flint.ctx.prec = before
    assert found == expected


def test_a_number_that_is_compared_often_does_not_grow() -> None:
    """Only the variable that is known least is refined, not its much-used partner."""
    noise = LazyNoise(SeededBits(5), start=1)
    bar = noise.laplace(3)
    for _ in range(200):
        (noise.laplace(3) - bar).floor(Fraction(1, 1000))
    (variable,) = bar.terms
    assert variable.digits <= 64
