"""Select and measure under ρ: the charge, the weights of the estimates, and their errors."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.estimate.fusion import blue
from freegap.values.measures import rho_within

COUNTS = [900, 800, 700, 600, 500, 10]


def test_each_half_is_charged_what_it_costs() -> None:
    """k = 4 and ρ = 1: Gumbel noise of scale √(4/4) = 1 without a last gap; σ = √(4/1) = 2."""
    found = fg.select_and_measure(COUNTS, 4, rho=1, monotonic=True, bits=fg.SeededBits(1))
    assert found.measurement is not None
    assert [found.selection.parameters["scale"], found.measurement.scale] == [1, 2]
    assert (found.selection.spent, found.measurement.spent) == (Fraction(1, 2), Fraction(1, 2))
    assert (found.spent, found.measure) == (Fraction(1), "rho")
    assert len(found.selection.gap_multiples or ()) == 3
    other = fg.select_and_measure(COUNTS, 4, rho=1, split="1/9", monotonic=True, bits=fg.SeededBits(1))
    assert other.measurement is not None
    assert (other.selection.asked.spent, other.measurement.asked.spent) == (Fraction(1, 9), Fraction(8, 9))
    assert other.spent == other.selection.spent + other.measurement.spent <= 1


def test_the_weights_are_those_of_the_variances_at_most() -> None:
    """σ = 2, λ = π²/24, and three things that four items' gaps say: the factor is 3/2·4."""
    found = fg.select_and_measure(COUNTS, 4, rho=1, monotonic=True, bits=fg.SeededBits(2))
    ratio = math.pi**2 / 6 / 4
    gaps = [gap + Fraction(1, 2048) for gap in found.selection.gaps[:3]]  # type: ignore[operator]
    best = blue(found.measured, gaps, Fraction(ratio))
    away = [float(a - b) for a, b in zip(found.measured, best, strict=True)]
    part = min(1.0, 6 / (1 + ratio) / sum(d * d for d in away))
    moved = [float(a) - part * d for a, d in zip(found.measured, away, strict=True)]
    assert [float(e) for e in found.estimates] == pytest.approx(moved, abs=1e-9)
    best_error, measured = math.sqrt(4 * (1 + 4 * ratio) / (4 + 4 * ratio)), 2
    assert all(best_error <= error <= measured for error in found.standard_errors)


def test_estimates_have_the_errors_that_they_state() -> None:
    """Far apart, so that everybody keeps the place: no bias, the stated spread, and the stated coverage."""
    errors, stated, inside = [], [], 0
    bits = fg.SeededBits(5)
    for _ in range(400):
        found = fg.select_and_measure(COUNTS, 4, rho=1, monotonic=True, bits=bits)
        errors += [float(e) - COUNTS[i] for e, i in zip(found.estimates, found.indices, strict=True)]
        stated += [error**2 for error in found.standard_errors]
        pairs = zip(found.intervals(confidence=0.9), found.indices, strict=True)
        inside += sum(low <= COUNTS[i] <= high for (low, high), i in pairs)
    assert abs(np.mean(errors)) < 6 * 2 / math.sqrt(len(errors) / 4)
    # With four items Stein's estimate is often below the least that is possible, and then raised to it.
    assert 0.9 * np.mean(stated) / 1.3 < np.mean(np.square(errors)) < 1.1 * np.mean(stated)
    assert abs(inside / len(errors) - 0.9) < 6 * 0.3 / math.sqrt(len(errors))


def test_with_a_threshold_the_charge_is_the_same_whatever_is_found() -> None:
    shared: dict[str, Any] = {"rho": 4, "monotonic": True}
    spent = set()
    for threshold in (-100, 650, 10_000):
        found = fg.select_and_measure(COUNTS, 3, threshold=threshold, bits=fg.SeededBits(1), **shared)
        spent.add(found.spent)
        assert found.selection.spent == 2
        if found.measurement is not None:
            assert found.measurement.scale**2 >= Fraction(3, 4)  # as for k items
    assert len(spent) == 1
    assert spent.pop() <= 4


def test_rho_beats_epsilon_at_a_hundred_items() -> None:
    """At (1, 10⁻⁶) the stated error is at most a third of that at ε = 1."""
    rho = rho_within(1, "1e-6")
    answers = [10_000 - 10 * i for i in range(120)]
    shared: dict[str, Any] = {"monotonic": True, "bits": fg.SeededBits(1)}
    pure = fg.select_and_measure(answers, 100, epsilon=1, **shared)
    found = fg.select_and_measure(answers, 100, rho=rho, **shared)
    assert found.standard_errors[0] <= pure.standard_errors[0] / 3
