from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.bits import SeededBits
from freegap.errors import InvalidArgument
from freegap.estimate.bounds import gap_noise
from freegap.laws import NOISES
from freegap.mechanisms.threshold_plan import ThresholdPlan


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("monotonic", [True, False])
@pytest.mark.parametrize(("questions", "alarms"), [(10, 1), (2000, 1), (2000, "1/2"), (5, 5)])
def test_an_answer_at_the_threshold_passes_with_the_chance_that_was_asked_for(
    noise: Any, monotonic: bool, questions: int, alarms: Any
) -> None:
    """P(D ≥ shift) ≤ a/n, by the closed tail; one step less would be more."""
    asked: dict[str, Any] = {"k": 4, "epsilon": "1/2", "monotonic": monotonic, "noise": noise}
    shift = fg.threshold_shift(questions=questions, false_alarms=alarms, **asked)
    plan = ThresholdPlan.read("sparse_vector", **asked)
    step, tail = plan.resolution, gap_noise(plan, 0).upper_tail
    wanted = float(Fraction(alarms) / questions)
    below = Fraction(1, 10**6)  # P(D ≥ t) is P(D > t − a little), also on a grid
    assert tail(float(shift - below)) <= wanted * (1 + 1e-6) or shift == 0
    if wanted < 1 and shift > 0:
        assert tail(float(shift - step - below)) > wanted * (1 - 1e-6)


def test_no_more_false_alarms_than_expected_and_a_better_f_measure() -> None:
    """1,990 answers below the threshold and ten well above it, in random order: without the shift false
    alarms take the places. Twenty runs; in each at most one is expected, and far fewer are seen."""
    rng = np.random.default_rng(1)
    answers = np.concatenate([np.full(10, 1500), rng.normal(600, 150, 1990).astype(int)])
    asked: dict[str, Any] = {"k": 10, "epsilon": "1/2", "monotonic": True}
    shift = fg.threshold_shift(questions=len(answers), **asked)
    false = {Fraction(0): 0, shift: 0}
    missed = dict(false)
    for seed in range(20):
        order = rng.permutation(len(answers))
        for t in false:
            found = fg.sparse_vector(answers[order], 1000 + t, bits=SeededBits(seed), **asked)
            right = int((answers[order][list(found.indices)] > 1000).sum())
            false[t] += len(found.indices) - right
            missed[t] += 10 - right
    assert false[Fraction(0)] > 10
    assert missed[Fraction(0)] > 10
    assert false[shift] <= 2
    assert missed[shift] <= 2


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"questions": 0}, "questions"),
        ({"false_alarms": 0}, "false_alarms"),
        ({"false_alarms": 11}, "false_alarms"),
        ({"epsilon": None}, "epsilon"),
        ({"noise": "gumbel"}, "noise"),
    ],
)
def test_arguments_that_cannot_be_used(arguments: dict[str, Any], names: str) -> None:
    with pytest.raises(InvalidArgument, match=names):
        fg.threshold_shift(**({"questions": 10, "k": 1, "epsilon": 1} | arguments))


def test_under_rho_and_with_a_share() -> None:
    wide = fg.threshold_shift(questions=100, k=3, rho="1/8")  # ε = 1/2
    assert wide == fg.threshold_shift(questions=100, k=3, epsilon="1/2")
    assert wide != fg.threshold_shift(questions=100, k=3, epsilon="1/2", share="1/2")
