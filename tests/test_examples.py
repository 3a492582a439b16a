"""The attacks work on what they are aimed at, and fail on ours; the tuning example stays within its budget.

A guess about one person that is right more often than e^ε/(1 + e^ε) refutes ε. An observed rate exceeds the
true one by more than `MARGIN` with probability below 1e-9 (Hoeffding), and seeds are fixed. The same
comparison rejects the broken programs: that is its power.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest

import freegap as fg
from examples import (
    attack_float_laplace,
    attack_saturating_sparse_vector,
    attack_tie_breaking,
    tune_private_forest,
)

TRIALS = 60  # each with and without the person: 120 guesses
MARGIN = math.sqrt(math.log(1e9) / (2 * 2 * TRIALS))


def percentages(text: str) -> list[float]:
    return [float(number) / 100 for number in re.findall(r"([\d.]+)%", text)]


def test_a_saturating_sparse_vector_gives_alice_away_and_ours_does_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcome = attack_saturating_sparse_vector.main(TRIALS)
    assert outcome.broken > 0.99 > outcome.allowed + MARGIN
    assert outcome.ours < outcome.allowed + MARGIN
    assert outcome.ours_in_range < outcome.allowed + MARGIN
    printed = percentages(capsys.readouterr().out)
    rates = (outcome.allowed, outcome.broken, outcome.ours, outcome.ours_in_range)
    assert printed == [pytest.approx(rate, abs=6e-4) for rate in rates]


def test_the_loss_of_the_saturating_sparse_vector_has_no_bound_and_ours_is_at_most_eta_1() -> None:
    eta = attack_saturating_sparse_vector.ETA
    losses = [attack_saturating_sparse_vector.broken_loss(n) for n in (1, 10, 100, 1000)]
    assert losses == [pytest.approx(n * losses[0]) for n in (1, 10, 100, 1000)]
    assert losses[-1] > 200 * (float(eta[0]) + float(eta[1]))
    assert all(attack_saturating_sparse_vector.our_loss(n) <= float(eta[0]) for n in (1, 100, 3000))


def test_ties_broken_by_index_give_alice_away_and_ours_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = attack_tie_breaking.main(TRIALS)
    assert outcome.broken > 0.99 > outcome.allowed + MARGIN
    assert outcome.ours < outcome.allowed + MARGIN
    printed = percentages(capsys.readouterr().out)
    assert printed == [pytest.approx(r, abs=6e-4) for r in (outcome.allowed, outcome.broken, outcome.ours)]


def test_the_last_bits_of_textbook_laplace_give_the_answer_away_and_ours_do_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    textbook, exact = attack_float_laplace.main()
    assert (textbook.recovered, textbook.left) == (1.0, 1.0)
    assert exact.left == len(attack_float_laplace.CANDIDATES)  # nothing is ever ruled out
    # Three neighbouring candidates under ε: on average at most e^ε/3 of them are guessed right.
    total = attack_float_laplace.EPSILON * attack_float_laplace.RELEASES
    assert exact.recovered <= math.exp(total) / 3 < 1
    assert percentages(capsys.readouterr().out) == [1.0, pytest.approx(exact.recovered, abs=6e-4)]


def test_the_true_answer_is_never_ruled_out() -> None:
    source = fg.SeededBits(5)
    for answer in (0, 7, 99):
        for _ in range(200):
            released = attack_float_laplace.textbook_laplace(answer, source)
            assert attack_float_laplace.possible_from_textbook(answer, released)


def test_tuning_stays_within_its_budget_and_finds_a_good_forest(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = tune_private_forest.main(fg.SeededBits(1))
    assert chosen.spent == 3
    assert chosen.parameters["most_draws"] == 74
    each = tune_private_forest.FOREST_EPSILON + tune_private_forest.SCORE_EPSILON
    assert chosen.parameters["epsilon_of_each_draw"] == each == Fraction("0.95")
    accuracy, baseline = percentages(capsys.readouterr().out)
    assert accuracy > 0.75 > 0.6 > baseline  # a shallow forest, or none, is at most at 0.73 and 0.57
