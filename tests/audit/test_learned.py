"""The learned event and the floating-point event find what no plain event shows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from freegap_evidence.catalogue import CATALOGUE

import freegap as fg
from freegap.auditor.computed import LowestBit, discriminant, learn_score
from freegap.auditor.event_search import find_events
from freegap.auditor.plan import BoundForecast, Effort
from freegap.auditor.reading import from_batch, from_objects


def test_a_learned_score_beats_single_components() -> None:
    """Ten answers move a little each: only their sum shows it."""
    rng = np.random.default_rng(1)
    signs = np.array([1, -1] * 5)
    first = from_batch(rng.laplace(0, 5, (8000, 10)) + 0.5 * signs, 8000)
    second = from_batch(rng.laplace(0, 5, (8000, 10)) - 0.5 * signs, 8000)
    score = learn_score(first, second, [0.5, -0.5])
    assert score is not None
    fresh1 = from_batch(rng.laplace(0, 5, (20_000, 10)) + 0.5 * signs, 20_000)
    fresh2 = from_batch(rng.laplace(0, 5, (20_000, 10)) - 0.5 * signs, 20_000)
    forecast = BoundForecast(10, 1.0, 4.9)
    plain = find_events(fresh1, fresh2, Effort(forecast))[0]
    learned = find_events(fresh1, fresh2, Effort(forecast, extra=(score,)))[0]
    assert "learned score" in learned.event.text
    assert learned.score > plain.score + 0.2


def test_nothing_to_learn_from_gives_no_score() -> None:
    same = from_objects([1.0] * 2000)
    assert learn_score(same, same, [1]) is None
    few = from_batch(np.random.default_rng(1).normal(size=(10, 3)), 10)
    assert learn_score(few, few, [1]) is None


def test_the_lowest_bit_of_every_double() -> None:
    rng = np.random.default_rng(2)
    numbers = [*(rng.laplace(size=300)), 1.0, -0.75, 2.0**-1074, 2.0**1000, 0.1]
    found = LowestBit().read(from_objects(numbers)).numbers
    for number, power in zip(numbers, found, strict=True):
        numerator, denominator = float(number).as_integer_ratio()
        exact = (numerator & -numerator).bit_length() - 1 - (denominator.bit_length() - 1)
        assert power == exact


def test_the_textbook_laplace_mechanism_is_caught_and_the_rounded_one_is_not() -> None:
    settings: dict[str, Any] = {"neighbours": "one", "samples": 50_000, "search_samples": 10_000, "seed": 1}
    textbook = fg.audit(CATALOGUE["laplace_floating_point"].batch, epsilon=1, stop_early=False, **settings)
    assert textbook.violated
    assert textbook.counterexample is not None
    assert "lowest set bit" in textbook.counterexample.event.text
    assert textbook.epsilon_lower_bound > 2
    assert math.isinf(textbook.counterexample.ratio)
    assert not fg.audit(CATALOGUE["laplace"].batch, epsilon=1, **settings).violated


def test_the_discriminant_by_hand() -> None:
    """Two columns that scatter by 1 and 2 without correlation, one apart: the weights are 1/1 and 1/4."""
    part = np.array([[1.0, 2.0], [1.0, -2.0], [-1.0, 2.0], [-1.0, -2.0]])
    assert discriminant(part + 1, part) == pytest.approx([1, 1 / 4], rel=1e-3)
