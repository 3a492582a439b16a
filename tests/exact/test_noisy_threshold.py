"""Noisy thresholds at the very edge: answers such that the reply, or the gap, hangs on the last digit.

The noise of a question is a function of its digits, so that it can be known exactly before the question is
asked. The answer is then placed within 2^-200 of where the reply changes, on one side and on the other, and
doubles may only say what is true, or nothing.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from freegap.bits import SeededBits
from freegap.exact.digits import KeyedDigits
from freegap.exact.noisy_threshold import BELOW, Branch, NoisyThreshold
from freegap.laws import LAWS, NOISES
from freegap.values.rationals import double

FINE = Fraction(1, 2**200)

SCALES = [
    Fraction(1, 10**9),
    Fraction(3),
    Fraction(10**6),
    Fraction(2**51),
    Fraction(2**60),
    Fraction(10**30),
]
# None of these is a double: 2^61 + 255 lies 255 below or 257 above one.
SHIFTS = [Fraction(0), Fraction(2**60 + 127), -Fraction(10**17 + 1), Fraction(2**53 + 1)]
MARGINS = [Fraction(0), Fraction(2**61 + 255), Fraction(10**25 + 7)]


def threshold_of(noise: str, scale: Fraction, shift: Fraction, margin: Fraction, seed: int) -> NoisyThreshold:
    return NoisyThreshold(
        law=LAWS[noise],
        threshold_scale=scale * Fraction(3, 7) if noise != "geometric" else scale,
        branches=[Branch(budget=Fraction(1), scale=scale, shift=shift, margin=margin)],
        resolution=Fraction(1),
        digits=KeyedDigits(SeededBits(seed), 0),
    )


def replies(bar: NoisyThreshold, question: int, offset: Fraction) -> list[tuple[int, int]]:
    """Asked alone, and among many."""
    alone = bar.one(question, offset)
    where, branches, gap = bar.many(question, np.array([double(offset)]), lambda _: offset)
    return [alone, (int(branches[0]), gap(0)) if len(where) else (BELOW, 0)]


@pytest.mark.parametrize("noise", sorted(NOISES))
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_reply_turns_where_it_should(noise: str, scale: Fraction) -> None:
    step = Fraction(1) if noise == "geometric" else FINE
    for case, (shift, margin) in enumerate(itertools.product(SHIFTS, MARGINS)):
        bar = threshold_of(noise, scale, shift, margin, case)
        for question in range(3):
            # v = offset + noise − bar − shift, and its noise is known down to 2^-200
            known = bar._exact(question, 0, Fraction(0)).floor(step) * step
            at = margin - known  # now v − margin lies in [0, step)
            gap = int(margin // 1)  # the gap is v, rounded down
            assert replies(bar, question, at) == [(0, gap)] * 2
            assert replies(bar, question, at - step) == [(BELOW, 0)] * 2


@pytest.mark.parametrize("noise", ["laplace", "exponential"])
@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("steps", [1, 1000, 2**30 + 1, 2**49 - 1, 2**52 + 1, 10**30])
@pytest.mark.parametrize("per_unit", [1, 10, 1000, 2**40, 10**20])
def test_the_gap_turns_where_it_should(noise: str, scale: Fraction, steps: int, per_unit: int) -> None:
    """A gap of so many multiples of γ, met exactly or missed by 2^-200."""
    grid = Fraction(1, per_unit)
    bar = NoisyThreshold(
        law=LAWS[noise],
        threshold_scale=scale,
        branches=[Branch(budget=Fraction(1), scale=scale, shift=scale / 3, margin=Fraction(0))],
        resolution=grid,
        digits=KeyedDigits(SeededBits(steps % 97), 0),
    )
    known = bar._exact(0, 0, Fraction(0)).floor(FINE) * FINE
    at = steps * grid - known
    assert replies(bar, 0, at) == [(0, steps)] * 2
    assert replies(bar, 0, at - FINE) == [(0, steps - 1)] * 2


@pytest.mark.parametrize("noise", sorted(NOISES))
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_stated_bound_holds(noise: str, scale: Fraction) -> None:
    """v − margin in doubles against the exact one, as the module states; and the bound is not vacuous."""
    shares = []
    for case, (shift, margin) in enumerate(itertools.product(SHIFTS, MARGINS)):
        bar = threshold_of(noise, scale, shift, margin, case)
        computed, bound = bar._as_doubles(1 + np.arange(8), 0)
        for question in range(8):
            exact = bar._exact(question, 0, Fraction(0)) - margin
            difference = exact - Fraction(float(computed[question] - double(margin)))
            assert -Fraction(float(bound[question])) <= difference <= Fraction(float(bound[question]))
            sizes: Any = scale + abs(shift) + margin
            shares.append(float(bound[question]) / float(sizes))
    assert max(shares) < 2.0**-36
