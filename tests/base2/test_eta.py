from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from freegap import InvalidArgument
from freegap.base2 import Eta, share_epsilon
from freegap.exact.logarithms import log_bounds


def _ball(number: Fraction) -> object:
    return arb(fmpq(number.numerator, number.denominator))


@settings(deadline=None)
@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9), st.sampled_from([8, 64, 200]))
def test_logarithms_lie_between_their_bounds(x: Fraction, bits: int) -> None:
    low, high = log_bounds(x, bits)
    previous, ctx.prec = ctx.prec, bits + 100
    try:
        truth = _ball(x).log()  # type: ignore[attr-defined]
        # No bound may be on the wrong side; x = 1 has the logarithm 0 exactly.
        assert not truth < _ball(low)
        assert not truth > _ball(high)
    finally:
        ctx.prec = previous
    assert low <= high <= low + Fraction(1, 1 << bits)


def test_two_to_the_eta_is_exact() -> None:
    eta = Eta(3, 3, 2)
    assert eta.base == Fraction(9, 64)
    assert eta.ratio == Fraction(64, 9)
    assert float(eta) == pytest.approx(-2 * math.log2(3 / 8))


def test_epsilon_is_rounded_up_and_close() -> None:
    for eta in (Eta(1, 1, 1), Eta(867, 10, 6), Eta(1, 30, 5), Eta(2**20 - 1, 20, 4096)):
        low, high = eta.epsilon_bounds()
        assert low < high <= eta.epsilon <= low + Fraction(1, 1 << 63)
        assert float(eta.epsilon) == pytest.approx(float(eta) * math.log(2))


def test_etas_compare_by_value() -> None:
    assert Eta(1, 1, 2) == Eta(1, 2, 1) == Eta(2, 3, 1)
    assert hash(Eta(1, 1, 2)) == hash(Eta(1, 2, 1))
    assert Eta(1, 2, 1) > Eta(1, 1, 1) > Eta(3, 2, 1)
    assert Eta(1, 1, 1) != "η"


@settings(deadline=None)
@given(
    st.fractions(min_value=Fraction(1, 1000), max_value=50),
    st.sampled_from([Fraction(1), Fraction(1, 1024), Fraction(1, 10), Fraction(3), Fraction(3, 2)]),
    st.sampled_from([1, 2, 20, Fraction(5, 2)]),
    st.sampled_from([None, 40, 48]),
)
def test_from_epsilon_is_the_largest_not_above(
    epsilon: Fraction, resolution: Fraction, divisor: Fraction, digits: int | None
) -> None:
    eta = Eta.from_epsilon(epsilon, resolution=resolution, divisor=divisor, digits=digits)
    assert eta.epsilon <= epsilon
    if digits is None:
        assert eta.epsilon > epsilon * Fraction(99, 100)
    else:
        x = eta.x << (digits - eta.y)  # back on the grid of `digits` digits, the next one is too strong
        assert x == 1 or Eta(x - 1, digits, eta.z).epsilon > epsilon
    # The noise of that grid and that divisor is exact.
    noise = eta.adjusted(resolution / divisor)
    assert float(noise) == pytest.approx(float(eta) * float(resolution / divisor))


def test_division_and_adjustment_keep_the_value() -> None:
    eta = Eta(3, 2, 12)
    for by in (1, 2, 3, 4, 6, 12, Fraction(3, 2)):
        assert (
            Fraction(eta.divided(by).ratio) ** Fraction(by).numerator == eta.ratio ** Fraction(by).denominator
        )
    assert eta.adjusted("1/4").base == Fraction(3, 4) ** 3
    assert eta.adjusted(2).base == eta.base**2


def test_a_root_is_taken_where_there_is_one() -> None:
    assert Eta(9, 6, 1).divided(2).base == Fraction(3, 8)  # √(9/64)
    assert Eta(36, 8, 1).divided(2).base == Fraction(3, 8)  # 36/256 = 9/64
    assert Eta(1, 6, 1).divided(3).base == Fraction(1, 4)


def test_section_4_has_it_the_wrong_way_round() -> None:
    """z = 1 is a whole multiple of γ = 1/2, which Ilvento 2020 accepts, but √(3/8) is not a binary number."""
    with pytest.raises(InvalidArgument, match=r"does not keep 2\^η exact"):
        Eta(3, 3, 1).adjusted("1/2")
    assert Eta(3, 3, 2).adjusted("1/2").base == Fraction(3, 8)  # z a multiple of 1/γ: exact


def test_share_epsilon_stays_within_its_budget() -> None:
    for epsilon in ("0.1", 1, 7):
        one, two = share_epsilon(epsilon, k=5, sensitivity=2, resolution="1/4", share="1/3")
        assert one.epsilon <= Fraction(epsilon) / 3
        assert one.epsilon + two.epsilon <= Fraction(epsilon)
        assert one.adjusted(Fraction(1, 8)).z >= 1
        assert two.adjusted(Fraction(1, 80)).z >= 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Eta(0, 1, 1), r"x = 0: must be at least 1. Pass for example x=1."),
        (lambda: Eta(1, 1, cast(Any, 2.5)), r"z = 2.5: must be a whole number"),
        (lambda: Eta(4, 2, 1), r"x = 4: must be less than 2\^y, which is 2\^2. η must be greater than 0."),
        (lambda: Eta(1, 10**9, 1), r"y = 1000000000: must be at most 4096. Take fewer digits"),
        (lambda: Eta.from_epsilon(0), r"epsilon = 0: must be greater than 0. Pass for example epsilon=1."),
        (lambda: Eta.from_epsilon("0.01", digits=4), r"digits = 4: are too few: .* Pass digits=15, or leave"),
        (lambda: Eta.from_epsilon(1, resolution=0), r"resolution = 0: must be greater than 0"),
        (lambda: Eta(3, 2, 1).divided(0), r"divisor = 0: must be greater than 0"),
        (
            lambda: Eta(3, 2, 1).divided(5),
            r"divisor = 5: does not keep 2\^η exact: Eta\(x=3, y=2, z=1\) times 1/5 would be "
            r"\(3/4\)\^\(1/5\). Build it with .*, or with z a multiple of 5.",
        ),
        (lambda: share_epsilon(1, k=0), r"k = 0: must be at least 1"),
        (lambda: share_epsilon(1, k=1, share=1), r"share = 1: must lie strictly between 0 and 1"),
    ],
)
def test_bad_arguments_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        call()
