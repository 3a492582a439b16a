"""False alarms stay below the level, over many whole audits of mechanisms exactly at the boundary.

Each audit searches inputs and events, may stop early, and reports one p-value. On a mechanism that loses
exactly ε, the share of audits with p ≤ α must be at most α.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import freegap as fg

LEVELS = (0.05, 0.01, 0.001)
EPSILON = 0.7


def randomised_response(answers: list[float], epsilon: float, rng: Any, size: int) -> Any:
    """Loses exactly ε on either output."""
    truth = sum(answers) > 1
    keep = rng.random(size) < 1 / (1 + math.exp(-epsilon))
    return np.where(keep, truth, not truth)


def geometric(answers: list[float], epsilon: float, rng: Any, size: int) -> Any:
    """Loses exactly ε on both tails, so that many events are at the boundary at once."""
    p = 1 - math.exp(-epsilon)
    return sum(answers) + rng.geometric(p, size) - rng.geometric(p, size)


def uneven_flip(answers: list[float], epsilon: float, rng: Any, size: int) -> Any:
    """Loses exactly ε on one of two outputs, and less on the other."""
    rate = 0.2 * (math.exp(epsilon) if sum(answers) > 1 else 1)
    return rng.random(size) < rate


def audits(mechanism: Any, count: int, **settings: Any) -> list[float]:
    return [
        fg.audit(
            mechanism,
            epsilon=EPSILON,
            inputs=[([1], [2]), ([0], [1])],
            samples=600,
            search_samples=200,
            confidence=0.95,
            shrink=False,
            jobs=1,
            run_limit=None,
            seed=seed,
            **settings,
        ).p_value
        for seed in range(count)
    ]


def most(count: int, level: float) -> int:
    """The number of alarms that a rate of `level` exceeds only once in a billion."""
    from scipy import stats

    return int(stats.binom.isf(1e-9, count, level))


@pytest.mark.parametrize("mechanism", [randomised_response, geometric, uneven_flip])
def test_false_alarms_in_a_few_audits(mechanism: Any) -> None:
    found = np.array(audits(mechanism, 120))
    for level in LEVELS:
        assert (found <= level).sum() <= most(len(found), level)
    assert len(set(found)) > 10  # the p-values are not stuck at 1


def test_the_same_audits_see_a_small_violation() -> None:
    """Power: a loss of 2ε is noticed by most of these small audits."""
    wrong = np.array(audits(lambda answers, rng, size: randomised_response(answers, 1.4, rng, size), 40))
    assert (wrong <= 0.05).mean() > 0.8


@pytest.mark.long
@pytest.mark.parametrize("mechanism", [randomised_response, geometric, uneven_flip])
def test_false_alarms_in_thousands_of_audits(mechanism: Any) -> None:
    found = np.array(audits(mechanism, 3400))
    rates = {level: float((found <= level).mean()) for level in LEVELS}
    print(mechanism.__name__, len(found), rates)
    for level, rate in rates.items():
        assert rate <= level
