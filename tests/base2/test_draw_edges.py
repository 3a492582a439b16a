"""Base 2 at its edges: where a block of words ends, few digits, what is on record, ends of ranges."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from freegap import base2
from freegap.base2 import batch
from freegap.base2.arguments import answer_units, array_units
from freegap.base2.batch import FastRun
from freegap.base2.draws import BitDraws
from freegap.base2.eta import Eta
from freegap.base2.plan import Base2Plan
from freegap.base2.questions import Run
from freegap.base2.samplers import conditional_lazy_threshold_at
from freegap.base2.weights import Weights, get_sum
from freegap.bits import SeededBits
from freegap.errors import BudgetSpent
from freegap.values.floats import meant_by_float


def planned(**changed: Any) -> Base2Plan:
    usual: dict[str, Any] = {
        "k": 3, "eta": base2.share_epsilon(2, k=3, sensitivity=1, resolution="1/2"), "low": -4, "high": 9,
        "width": 5, "sensitivity": 1, "resolution": "1/2",
    }  # fmt: skip
    return Base2Plan.read(2, **(usual | changed))


def test_what_a_release_has_on_record() -> None:
    plan = planned()
    assert plan.parameters["threshold"] == 2
    assert (plan.parameters["low"], plan.parameters["high"], plan.parameters["width"]) == (-4, 9, 5)
    assert (plan.parameters["resolution"], plan.parameters["sensitivity"]) == (Fraction(1, 2), 1)
    assert plan.parameters["eta"] == [[part.x, part.y, part.z] for part in plan.eta]
    bits = (plan.threshold_weights.bits, plan.answer_weights.bits)
    assert bits[0] != bits[1]
    assert plan.parameters["precision_bits"] == max(bits)
    # In units of the grid the range is −8 … 18 about a threshold of 4, and ten more on either side.
    assert plan.threshold_weights.reach == 24  # 18 − 4 + 10
    assert planned(low=-40).threshold_weights.reach == 94  # |−80 − 4 − 10|
    assert plan.answer_weights.reach == 10
    assert planned(gaps=[1, 3]).answer_weights.reach == 16


def test_charges() -> None:
    plan = planned()
    one, two = (part.epsilon for part in plan.eta)
    assert plan.asked.spent == one + two
    assert plan.charge(0, 0) == 0
    assert plan.charge(1, 0) == one
    assert plan.charge(5, 2) == one + two * Fraction(2, 3)
    assert plan.charge(5, 3) == plan.asked.spent


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_words_are_used_once_across_blocks(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks, so that many of them end without an answer above, against one question at a time."""
    monkeypatch.setattr(batch, "_BLOCK", size)
    plan = planned(k=200, eta=base2.share_epsilon(2, k=200, resolution="1/2"))
    answers = np.random.default_rng(size).integers(-12, 14, 300)
    for seed in range(4):
        alone = Run(plan, BitDraws(SeededBits(seed)))
        expected = []
        for place, answer in enumerate(answers.tolist()):
            if alone.exhausted:
                break
            reached = alone.ask(answer)
            if reached is not None:
                expected.append((place, reached))
        assert list(FastRun(plan, SeededBits(seed)).ask_all(answers)) == expected
        assert 20 < len(expected) < 300


def test_a_run_that_is_over_draws_nothing_more() -> None:
    run: Any = base2.DiscreteSparseVector(
        5, k=1, eta=base2.share_epsilon(50, k=1), low=0, high=100, width=100, bits=SeededBits(1)
    )
    assert run.ask(100)
    taken, spent, asked = run._fast._words.taken, run.spent, run.release().answered
    for _ in range(2):
        with pytest.raises(BudgetSpent, match="has released its 1 answers above the threshold"):
            run.ask(100)
    assert (run._fast._words.taken, run.spent, run.release().answered) == (taken, spent, asked)


def test_the_fewest_digits() -> None:
    assert Eta.from_epsilon(1, digits=1) == Eta(1, 1, 1)
    assert Eta.from_epsilon("0.7", digits=1) == Eta(1, 1, 1)  # ln 2 is just below
    with pytest.raises(Exception, match="are too few"):
        Eta.from_epsilon("0.69", digits=1)
    with pytest.raises(Exception, match="must be at least 2"):
        Eta.from_epsilon(Fraction(1, 2**60) - Fraction(1, 2**80))
    assert Eta.from_epsilon(Fraction(1, 2**60)).epsilon <= Fraction(1, 2**60)
    assert Eta(1, 4096, 1).y == 4096
    with pytest.raises(Exception, match="must be at most 4096"):
        Eta(1, 4097, 1)


@pytest.mark.parametrize("low", [None, -3, 0, 2])
@pytest.mark.parametrize("high", [None, -3, -1, 0, 5])
def test_sums_with_every_kind_of_end(low: int | None, high: int | None) -> None:
    base = Fraction(3, 8)
    whole = [k for k in range(-60, 61) if (low is None or k >= low) and (high is None or k <= high)]
    exact = (1 - base) * sum((base ** abs(k) for k in whole), Fraction(0))
    assert abs(get_sum(base, low, high) - exact) <= 4 * base**60
    if low is not None and high is not None:
        assert get_sum(base, low, high) == exact


def test_the_most_precision_is_allowed_and_no_more() -> None:
    half = Fraction(1, 2)
    assert Weights(half, (1 << 20) - 1).bits == 1 << 20
    with pytest.raises(Exception, match="needs more than 1048576 bits"):
        Weights(half, 1 << 20)


@pytest.mark.parametrize("grid", [Fraction(1), Fraction(1, 2), Fraction(3, 7), Fraction(5)])
def test_answers_at_the_ends_of_the_range(grid: Fraction) -> None:
    low, high = -7, 11
    near = [low - 2, low - 1, low, low + 1, high - 1, high, high + 1, high + 2]
    values = [unit * grid + nudge for unit in near for nudge in (Fraction(0), grid / 3, -grid / 3)]
    expected = [max(low, min(high, value // grid)) for value in values]
    assert [answer_units(value, grid, low, high) for value in values] == expected
    floats = [float(value) for value in values]
    meant = [meant_by_float(value, grid.denominator) for value in floats]
    exact = [max(low, min(high, value // grid)) for value in meant]
    units = array_units(np.array(floats), grid, low, high)[0]
    assert units.tolist() == exact
    assert [answer_units(value, grid, low, high) for value in floats] == exact
    integers = np.arange(-100, 100)
    assert array_units(integers, grid, low, high)[0].tolist() == [
        max(low, min(high, Fraction(int(value)) // grid)) for value in integers
    ]


@pytest.mark.parametrize("digits", [1, 2, 64])
@pytest.mark.parametrize("parts", [(0, 7), (7, 7), (1, 2), (3, 7), (1, 2**70), (2**70 - 1, 2**70)])
def test_one_of_two_is_drawn_as_one_of_more(digits: int, parts: tuple[int, int]) -> None:
    """On the same bits, and no more of them: a third that never is has no part in it."""
    first, total = parts
    for seed in range(60):
        bits, others = SeededBits(seed), SeededBits(seed)
        of_two = BitDraws(bits, digits).index(parts.__getitem__, 2)
        assert of_two == BitDraws(others, digits).index((first, total, total).__getitem__, 3)
        assert bits.bits(64) == others.bits(64)


@pytest.mark.parametrize("base", [Fraction(1, 2), Fraction(3, 8), Fraction(255, 256)])
def test_what_is_known_of_noise_above_zero_is_a_power(base: Fraction) -> None:
    """P(ν ≥ τ | ν ≥ τ^C) = B^(τ−τ^C) for τ^C ≥ 0, by the quotient of the sums and on the same bits."""
    weights = Weights(base, 20)
    for condition in (0, 1, 7):
        for tau in (condition, condition + 1, 15):
            numerator, denominator = weights.quotient(tau - condition)
            assert Fraction(numerator, denominator) == base ** (tau - condition)
            assert numerator * weights.tail(condition) == denominator * weights.tail(tau)
            sums = (weights.tail(tau), weights.tail(condition))
            for seed in range(20):
                drawn = conditional_lazy_threshold_at(weights, tau, condition, BitDraws(SeededBits(seed), 2))
                assert drawn == (BitDraws(SeededBits(seed), 2).index(sums.__getitem__, 2) == 0)
