"""What 16 digits, or one comparison, settle about a question: never that it is below where it may not be."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from freegap.bits import SeededBits
from freegap.exact import noisy_threshold
from freegap.exact.digits import KeyedDigits
from freegap.exact.noisy_threshold import BELOW, Branch, NoisyThreshold
from freegap.laws import LAWS, NOISES
from freegap.values.rationals import double

# scale, shift and margin
CASES = [
    (Fraction(1, 10**6), Fraction(0), Fraction(0)),
    (Fraction(3), Fraction(2**60 + 127), Fraction(10**9 + 7)),
    (Fraction(10**12), -Fraction(10**17 + 1), Fraction(0)),
]
N = 260  # just enough to be screened
given = pytest.mark.parametrize(("scale", "shift", "margin"), CASES)


def threshold_of(
    noise: str, scale: Fraction, shift: Fraction, margin: Fraction, **more: int
) -> NoisyThreshold:
    return NoisyThreshold(
        law=LAWS[noise],
        threshold_scale=scale * 2,
        branches=[
            Branch(budget=Fraction(1, 2), scale=2 * scale, shift=shift, margin=margin + scale),
            Branch(budget=Fraction(1), scale=scale, shift=shift, margin=margin),
        ],
        resolution=Fraction(1),
        digits=KeyedDigits(SeededBits(7), 0),
        **more,
    )


def edges(bar: NoisyThreshold, number: int, unit: Fraction, count: int) -> list[Fraction]:
    """For each question an offset with which it is above by this branch, and with a unit less it is not."""
    margin = bar._branches[number].margin
    return [margin - bar._exact(i, number, Fraction(0)).floor(unit) * unit for i in range(count)]


@pytest.mark.parametrize("noise", sorted(NOISES))
@given
def test_no_question_that_may_be_above_is_passed_over(
    noise: str, scale: Fraction, shift: Fraction, margin: Fraction
) -> None:
    """Offsets with which each question is above by a hair: all are near. Far below, hardly any is."""
    bar = threshold_of(noise, scale, shift, margin)
    unit = Fraction(1) if noise == "geometric" else scale / 2**60
    for number in (0, 1):
        offsets = np.array([double(edge) for edge in edges(bar, number, unit, N)])
        words = bar._digits.block(0, number + 1, range(1, N + 1))
        assert bar._near(offsets, number, words).tolist() == list(range(N))
        far = offsets - 60 * 2.0**number * double(scale)
        if double(scale) > 2.0**-40 * float(np.abs(offsets).max()):  # else all is within the error
            assert len(bar._near(far, number, words)) <= 3


@pytest.mark.parametrize("noise", sorted(NOISES))
@given
def test_what_is_certainly_below_is_below(
    noise: str, scale: Fraction, shift: Fraction, margin: Fraction
) -> None:
    """The cut of a question lies below the least offset with which it is above, and not far below."""
    require_cuts(noise, scale, shift, margin, 40)


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_a_cut_keeps_its_distance_where_noise_and_threshold_cancel(noise: str) -> None:
    """Their difference is small, and the errors of both are not: at times larger than a cut's own slack."""
    require_cuts(noise, Fraction(10**15), Fraction(0), Fraction(0), 800)


def require_cuts(noise: str, scale: Fraction, shift: Fraction, margin: Fraction, count: int) -> None:
    bar = threshold_of(noise, scale, shift, margin)
    unit = Fraction(1) if noise == "geometric" else scale / 2**60
    pairs = zip(edges(bar, 0, unit, count), edges(bar, 1, unit, count), strict=True)
    for cut, edge in zip(bar.below(0, count).tolist(), map(min, pairs), strict=True):
        size = scale + abs(shift) + margin + abs(edge) + 1
        assert edge - unit - size / 2**36 < Fraction(cut) <= edge - unit * (noise != "geometric")


@pytest.mark.parametrize("noise", sorted(NOISES))
@pytest.mark.parametrize("filter_bits", [44, 20, 1])
def test_screened_or_not_and_one_by_one(
    noise: str, filter_bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offsets around the threshold and far from it: the screen changes nothing."""
    generator = np.random.default_rng(3)
    exact = [Fraction(int(x), 8 if noise != "geometric" else 1) for x in generator.integers(-200, 30, N)]
    exact[5], exact[6] = Fraction(-(10**400)), Fraction(10**400)
    offsets = np.array([double(offset) for offset in exact])
    with monkeypatch.context() as patched:
        patched.setattr(noisy_threshold, "_SCREENED_ABOVE", 10**9)
        wanted = replies(noise, filter_bits, offsets, exact)
    assert replies(noise, filter_bits, offsets, exact) == wanted
    assert replies(noise, filter_bits, offsets[:5], exact) == wanted[:5]
    finite = [*exact[:5], *exact[7:]]  # without those that no double holds, all are screened
    bar = threshold_of(noise, Fraction(3), Fraction(1), Fraction(0), filter_bits=filter_bits, start_digits=8)
    alone = [bar.one(i, offset) for i, offset in enumerate(finite)]
    assert replies(noise, filter_bits, np.array([double(d) for d in finite]), finite) == alone


def replies(
    noise: str,
    filter_bits: int,
    offsets: Any,
    exact: list[Fraction],
) -> list[tuple[int, int]]:
    bar = threshold_of(noise, Fraction(3), Fraction(1), Fraction(0), filter_bits=filter_bits, start_digits=8)
    where, branches, gap = bar.many(0, offsets, exact.__getitem__)
    found = [(BELOW, 0)] * len(offsets)
    for j, (place, number) in enumerate(zip(where.tolist(), branches.tolist(), strict=True)):
        found[place] = (number, gap(j))
    return found
