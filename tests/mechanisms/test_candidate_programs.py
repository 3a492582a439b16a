"""The two searches among private candidates with scripted draws and coins: what they keep, when they stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from flint import arb

import freegap as fg
from freegap.mechanisms.candidate_programs import Drawn, best_program, hard_stop_after, select_program
from freegap.mechanisms.noisy_score import exact_score
from freegap.values.balls import at_precision


class Script:
    """Draws with given scores, coins that fall as written, and choices among equals."""

    def __init__(self, scores: list[Any], coins: list[bool], choices: list[int] | None = None) -> None:
        self._scores: Iterator[Any] = iter(scores)
        self._coins = iter(coins)
        self._choices = iter(choices or [])
        self.asked: list[int] = []
        self.draws = 0

    def sample(self) -> Drawn:
        self.draws += 1
        return Drawn(self.draws, None, Fraction(next(self._scores)))

    def stops(self) -> bool:
        return next(self._coins)

    def uniform(self, n: int) -> int:
        self.asked.append(n)
        return next(self._choices)


def selected(script: Script, threshold: int, steps: int | None) -> int | None:
    found = select_program(script.sample, script.stops, Fraction(threshold), steps)
    return None if found is None else found.candidate


def test_the_first_that_reaches_the_threshold() -> None:
    script = Script([4, 5, 9], [False, False])
    assert selected(script, 5, None) == 2  # 5 reaches 5
    assert script.draws == 2


def test_the_coin_is_thrown_after_a_draw_that_fails_and_only_then() -> None:
    assert selected(Script([5], []), 5, None) == 1  # no coin
    script = Script([1, 2, 9], [False, True])
    assert selected(script, 5, None) is None
    assert script.draws == 2


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_never_more_draws_than_the_hard_stop(steps: int) -> None:
    script = Script([1] * 9, [False] * 9)
    assert selected(script, 5, steps) is None
    assert script.draws == steps
    best = Script([1, 2, 3, 4, 5, 6, 7], [False] * 9)
    assert best_program(best.sample, best.stops, best.uniform, steps).score == steps
    assert best.draws == steps


def best(script: Script, steps: int | None = None) -> int:
    return best_program(script.sample, script.stops, script.uniform, steps).candidate


def test_the_best_of_the_draws_until_the_coin_says_stop() -> None:
    script = Script([3, 7, 5, 9], [False, False, True])
    assert best(script) == 2
    assert script.draws == 3
    assert best(Script([3, 9], [True])) == 1


def test_each_of_equal_draws_is_kept_with_the_same_chance() -> None:
    """The n-th equal one replaces the kept one with chance 1/n; a better one begins anew."""
    script = Script([3, 3, 3, 3], [False, False, False, True], [1, 0, 2])
    assert best(script) == 3
    assert script.asked == [2, 3, 4]
    script = Script([3, 3, 8, 8, 3], [False, False, False, False, True], [0, 1])
    assert best(script) == 3
    assert script.asked == [2, 2]


@pytest.mark.parametrize(
    "stop", [Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(1, 100), Fraction(3, 10**6)]
)
@pytest.mark.parametrize("extra", [Fraction(1), Fraction(9, 10), Fraction(1, 10), Fraction(1, 10**9)])
def test_the_hard_stop_is_late_enough_and_no_later(stop: Fraction, extra: Fraction) -> None:
    def bounds() -> float:
        gamma = arb(stop.numerator) / stop.denominator
        by_epsilon = (arb(2) * extra.denominator / extra.numerator).log() / gamma
        by_stop = 1 + 1 / (arb(1).exp() * gamma)
        return max(float(by_epsilon), float(by_stop))

    least = at_precision(200, bounds)
    found = hard_stop_after(stop, extra)
    assert found >= least
    assert found - 1 < 1 + (least - 1) * (1 + 2e-4)  # 2.718 stands for e


@pytest.mark.parametrize("hard_stop", [None, "0.25"])
@pytest.mark.parametrize(("search", "per_draw", "per_stop"), [("select", 2, 1), ("best", 3, 3)])
def test_charges(search: str, per_draw: int, per_stop: int, hard_stop: str | None) -> None:
    noisy = fg.NoisyScore(lambda output: 5, epsilon="0.125", low=0, high=10)
    candidates: list[Callable[[Any], Any]] = [lambda bits: bits.bits(1)]
    options: dict[str, Any] = {
        "epsilon": "0.5",
        "stop": "0.5",
        "hard_stop": hard_stop,
        "bits": fg.SeededBits(1),
    }
    run: Any = fg.best_private_candidate if search == "best" else fg.select_private_candidate
    where = () if search == "best" else (3,)
    extra = Fraction(hard_stop or 0)
    with_noise = run(candidates, noisy, *where, **options)
    assert with_noise.spent == per_draw * (Fraction(1, 2) + Fraction(1, 8)) + per_stop * extra
    without = run(candidates, lambda output: 5, *where, **options)
    assert without.spent == per_draw * Fraction(1, 2) + per_stop * extra


def test_scores_that_are_no_numbers_are_below_all_others() -> None:
    assert [exact_score(value) for value in (3, Fraction(1, 3), 0.5, True)] == [
        3,
        Fraction(1, 3),
        Fraction(1, 2),
        1,
    ]
    for value in (None, math.nan, -math.inf):
        assert exact_score(value) == -math.inf
    assert exact_score(math.inf) == math.inf
    wrong: list[Any] = ["3", [3], object()]
    for bad in wrong:
        with pytest.raises(fg.InvalidArgument) as caught:
            exact_score(bad)
        assert caught.value.__context__ is None  # it would hold the value


@pytest.mark.parametrize("sensitivity", [1, 2, 3, 10])
@pytest.mark.parametrize("resolution", [1, Fraction(1, 2), Fraction(1, 3)])
def test_the_noise_of_a_score_is_for_its_sensitivity(sensitivity: int, resolution: Any) -> None:
    """One person moves it by Δ/γ steps, each of which costs −ln B: at most ε in all, and hardly less."""
    score = fg.NoisyScore(len, epsilon="1/2", low=0, high=50, sensitivity=sensitivity, resolution=resolution)
    cost = -math.log(score.weights.base) * sensitivity / resolution
    assert 0.49 < cost <= 0.5
