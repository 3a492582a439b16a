"""The bound of the lemma of `few_items`, and the ranges over which elementary functions are tried."""

from __future__ import annotations

import math

import numpy as np
import pytest

from freegap.exact import few_items
from freegap.exact.arithmetic import DOUBLE_FUNCTIONS, SINGLE_FUNCTIONS, Elementary, worst_error

SLACK = 2.0**-44
FACTORS = few_items.Factors(rate=1.0, per_noise=1.0, per_value=1)


@pytest.mark.parametrize(("highest", "lowest"), [(0.0, 0.0), (100.0, 20.0), (20.0, -100.0), (-3.0, -5.0)])
def test_the_bound_is_the_lemmas(highest: float, lowest: float) -> None:
    """E = s·(m + 60), with m no less than any of the noisy answers in size."""
    m = max(abs(highest), abs(lowest))
    bound = few_items._bound(highest, lowest, lowest, FACTORS, SLACK, -1e9)
    assert bound == SLACK * (m + 60)


def test_what_reaches_the_bar_only_within_the_bound_is_not_decided() -> None:
    m = 8.0
    bound = SLACK * (m + 60)
    bar = m + few_items._CONSTANT
    assert few_items._bound(m, m, m, FACTORS, SLACK, bar - 4 * bound) == bound
    assert few_items._bound(m, m, m, FACTORS, SLACK, bar) is None


def _covers(functions: tuple[Elementary, ...], name: str, low: float, high: float, sign: int) -> bool:
    return any(f.name == name and f.sign == sign and f.low <= low and high <= f.high for f in functions)


def test_functions_are_tried_wherever_they_are_used() -> None:
    """Offsets within ±80, e^-x from 2^-80 on, logarithms of uniform variables and of 2^79 times as much."""
    assert _covers(SINGLE_FUNCTIONS, "exp", 2.0**-30, 80.0, 1)
    assert _covers(SINGLE_FUNCTIONS, "exp", 2.0**-30, 80.0, -1)
    assert _covers(SINGLE_FUNCTIONS, "expm1", 2.0**-80, math.exp(4.8), -1)
    assert _covers(SINGLE_FUNCTIONS, "log", 2.0**-4, 4.0, 1)
    assert _covers(DOUBLE_FUNCTIONS, "log", 2.0**-75, 2.0**79, 1)


@pytest.mark.parametrize("function", SINGLE_FUNCTIONS, ids=lambda f: f"{f.name}, {f.sign}")
def test_single_precision_is_compared_with_doubles(function: Elementary) -> None:
    arguments = function.sample(500)
    assert arguments.dtype == np.float32
    exact = function.exact(arguments.astype(np.float64))
    computed = function.computed(arguments).astype(np.float64)
    relative = np.abs(computed - exact) / np.abs(exact)
    assert worst_error(function, arguments) == pytest.approx(float(relative.max()) * 2**23)
