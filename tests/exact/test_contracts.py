"""What each part of `freegap.exact` may be handed, and what it then owes, at the edges of both."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest

from freegap.bits import SeededBits
from freegap.errors import InvalidArgument
from freegap.exact.arithmetic import DOUBLE_FUNCTIONS, SINGLE_FUNCTIONS, every_single, worst_error
from freegap.exact.digits import KeyedDigits
from freegap.exact.doubles import FILTER_BITS, ROUNDING, certain_floor, stream_noise
from freegap.exact.integers import (
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    sample_without_replacement,
    uniform_below,
)
from freegap.exact.logarithms import log_bounds
from freegap.exact.noisy_threshold import BELOW, Branch, NoisyThreshold
from freegap.exact.reals import LazyNoise, Real
from freegap.exact.screening import nth_largest
from freegap.laws import EXPONENTIAL, GEOMETRIC, LAPLACE
from freegap.values import balls
from freegap.values.balls import at_precision

TINY = Fraction(1, 2**100)


def threshold(law: Any = LAPLACE, *, scale: Fraction, shift: Fraction, margin: Fraction) -> NoisyThreshold:
    branch = Branch(budget=Fraction(1), scale=scale, shift=shift, margin=margin)
    return NoisyThreshold(
        law=law, threshold_scale=3 * scale, branches=[branch], resolution=Fraction(1, 4),
        digits=KeyedDigits(SeededBits(3), 0),
    )  # fmt: skip


@pytest.mark.parametrize("sign", [1, -1])
def test_offsets_that_err_by_as_much_as_they_may(sign: int) -> None:
    """Near zero the error of an offset is 2^-50 and not a part of the offset itself."""
    bar = threshold(scale=TINY, shift=Fraction(0), margin=Fraction(0))
    exact = sign * Fraction(1, 2**60)
    near = np.array([-sign * 2.0**-51, 0.0])
    where, branches, gap = bar.many(0, near, lambda _: exact)
    if sign > 0:
        assert (where.tolist(), branches.tolist(), [gap(0), gap(1)]) == ([0, 1], [0, 0], [0, 0])
    else:
        assert len(where) == 0


@pytest.mark.parametrize("scale", [Fraction(3), Fraction(10**6), Fraction(1, 1000)], ids=str)
@pytest.mark.parametrize(("shift", "margin"), [(0, 0), (7, 0), (-7, 5), (10**9, 10**12)])
def test_the_bound_of_a_comparison_is_the_stated_one(scale: Fraction, shift: int, margin: int) -> None:
    """Term by term; doubles err by much less, so that no output would show a term that is missing."""
    bar = threshold(scale=scale, shift=Fraction(shift), margin=Fraction(margin))
    items = np.arange(1, 41)
    noise, bound = bar._as_doubles(items, 0)
    slack = 2.0**-FILTER_BITS
    drawn, error = stream_noise(LAPLACE, KeyedDigits(SeededBits(3), 0), 1, items, slack)
    ((own,), (own_error,)) = stream_noise(LAPLACE, KeyedDigits(SeededBits(3), 0), 1, np.zeros(1, int), slack)
    s, y = float(scale), float(own) * float(3 * scale)
    assert np.allclose(noise, drawn * s - y - shift, rtol=1e-12)
    bar_bound = own_error * float(3 * scale) + abs(y) * ROUNDING
    sizes = np.abs(drawn * s) + abs(y) + abs(shift) + abs(margin)
    wanted = error * s + np.abs(drawn * s) * ROUNDING + bar_bound + sizes * ROUNDING
    assert np.allclose(bound, wanted, rtol=1e-12, atol=0)


def test_whole_noise_is_exact_up_to_2_53_and_then_rounded_once() -> None:
    for scale in (Fraction(5), Fraction(2**60)):
        bar = threshold(GEOMETRIC, scale=scale, shift=Fraction(0), margin=Fraction(0))
        items = np.arange(1, 31)
        noise, bound = bar._as_doubles(items, 0)
        own = float(bar._bar.constant)
        exact = [float(bar._noise(int(item), 1, scale).constant) for item in items]
        assert np.allclose(noise, np.array(exact) - own, rtol=1e-15)
        rounded = np.where(np.array(exact) < 2.0**53, 0.0, np.array(exact) * 2.0**-52)
        wanted = rounded + own * 2.0**-52 + (np.abs(exact) + own) * ROUNDING
        assert np.allclose(bound, wanted, rtol=1e-12, atol=0)


def test_questions_in_any_order_have_their_own_noise() -> None:
    """What is drawn ahead for some is not taken for others."""
    bar = threshold(scale=Fraction(3), shift=Fraction(0), margin=Fraction(0))
    order = [0, 255, 256, 3, 700, 511, 512, 255, 0]
    alone = [threshold(scale=Fraction(3), shift=Fraction(0), margin=Fraction(0)).one(q, 1) for q in order]
    assert [bar.one(question, 1) for question in order] == alone
    assert bar.one(5, Fraction(10**400))[0] == 0
    assert bar.one(5, Fraction(-(10**400))) == (BELOW, 0)
    assert bar.one(5, 10**400)[1] > 10**399


def test_floors_of_scalars_and_arrays() -> None:
    floors, sure = certain_floor(np.array([1.5, 2.0, -0.5, 1e300, np.nan, np.inf]), 0.25)
    assert floors.tolist() == [1.0, 0.0, -1.0, 0.0, 0.0, 0.0]
    assert sure.tolist() == [True, False, True, False, False, False]
    assert certain_floor(1.5, 0.5)[1] == False  # noqa: E712 (NumPy's)
    floor, known = certain_floor(1.5, 0.49)
    assert (float(floor), bool(known)) == (1.0, True)


@pytest.mark.parametrize(
    "x", [Fraction(1), Fraction(3, 2), Fraction(2), Fraction(1, 10**9), Fraction(10**50, 7)]
)
@pytest.mark.parametrize("bits", [1, 10, 64, 200])
def test_logarithms_between_bounds(x: Fraction, bits: int) -> None:
    low, high = log_bounds(x, bits)
    assert high - low <= Fraction(1, 2**bits)

    def encloses() -> bool:
        exact = (flint.arb(x.numerator) / x.denominator).log()
        ends = [flint.arb(end.numerator) / end.denominator for end in (low, high)]
        return bool(ends[0] <= exact.upper() and exact.lower() <= ends[1])

    assert at_precision(bits + 100, encloses)
    if bits == 64:
        assert (low, high) == log_bounds(x)
    for wrong in (Fraction(0), Fraction(-1)):
        with pytest.raises(InvalidArgument, match=r"x = .*: must be greater than 0"):
            log_bounds(wrong)


def test_a_foreign_precision_is_given_back_and_does_not_go_on_for_ever() -> None:
    before = flint.ctx.prec
    tries = []

    def meddling() -> int:
        tries.append(flint.ctx.prec)
        flint.ctx.prec = 7
        return len(tries)

    assert at_precision(300, meddling) == balls._MOST_REPETITIONS
    assert set(tries) == {300}
    assert flint.ctx.prec == before
    with pytest.raises(ZeroDivisionError):
        at_precision(300, lambda: 1 // 0)
    assert flint.ctx.prec == before
    assert at_precision(300, lambda: flint.ctx.prec) == 300


def test_reals_are_numbers() -> None:
    noise = LazyNoise(SeededBits(5))
    x, y = noise.exponential(2), noise.exponential(2)
    assert (x < y) != (y < x)
    assert (x == y, x == x + 0, x - x == 0) == (False, True, True)
    assert (x - y).sign() == -(y - x).sign()
    assert (Real(3).sign(), Real(0).sign(), Real(-3).sign()) == (1, 0, -1)
    assert float(Real(Fraction(1, 4))) == 0.25
    assert abs(float(x) + float(y) - float(x + y)) < 1e-8
    assert 5 - x + x == 5
    assert (x + 1) / 2 - x / 2 == Fraction(1, 2)
    assert x.floor(Fraction(1, 8)) == math.floor(float(x) * 8)
    assert Real(Fraction(7, 2)).floor(Fraction(1, 3)) == 10
    assert x.__eq__("x") is NotImplemented
    assert not (x * 0).terms
    with pytest.raises(TypeError):
        hash(x)
    with pytest.raises(InvalidArgument, match="source = None: is missing"):
        LazyNoise()


def test_noise_that_is_rounded_is_rounded_to_its_resolution() -> None:
    for seed in range(5):
        plain = LazyNoise(SeededBits(seed)).draw(EXPONENTIAL, 10)
        whole = LazyNoise(SeededBits(seed)).draw(GEOMETRIC, 10)
        fine = LazyNoise(SeededBits(seed)).draw(GEOMETRIC, 10, resolution=Fraction(1, 8))
        assert whole == plain.floor()
        assert fine == plain.floor(Fraction(1, 8)) * Fraction(1, 8)


class Counted(SeededBits):
    """A source that counts what it is asked for."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.asked = 0

    def bits(self, n: int) -> int:
        self.asked += n
        return super().bits(n)


def test_draws_that_need_no_bits_take_none() -> None:
    source = Counted(1)
    assert uniform_below(1, source) == 0
    assert bernoulli(Fraction(1), source) is True
    assert bernoulli(Fraction(0), source) is False
    assert sample_without_replacement(0, 5, source) == []
    assert source.asked == 0
    assert bernoulli_exp(Fraction(0), source) is True
    assert source.asked == 0
    assert sorted(sample_without_replacement(5, 5, source)) == [0, 1, 2, 3, 4]
    assert sample_without_replacement(1, 1, Counted(1)) == [0]
    for size in (-1, 6):
        with pytest.raises(InvalidArgument, match="must be between 0 and 5"):
            sample_without_replacement(size, 5, source)
    for p in (Fraction(-1, 9), Fraction(10, 9)):
        with pytest.raises(InvalidArgument, match="must be between 0 and 1"):
            bernoulli(p, source)
    with pytest.raises(InvalidArgument, match=r"variance = .*: must be greater than 0"):
        discrete_gaussian(Fraction(0), source)


def test_a_large_choice_without_replacement() -> None:
    """More than one batch, from a set that nobody lists; the same as one by one from the same bits."""
    n, size = 10**9, 200
    chosen = sample_without_replacement(size, n, SeededBits(4))
    assert len(set(chosen)) == size
    assert all(0 <= member < n for member in chosen)
    source, width = SeededBits(4), (n - 1).bit_length()
    found: dict[int, None] = {}
    while len(found) < size:
        batch = min(size - len(found), 64)
        drawn = source.bits(width * batch)
        for _ in range(batch):
            drawn, member = drawn >> width, drawn % (1 << width)
            if member < n:
                found[member] = None
    assert chosen == list(found)


@pytest.mark.parametrize("kind", [list, np.array])
def test_the_nth_largest(kind: Any) -> None:
    values = [5, 3, 3, 9, -2]
    ranked = sorted(values, reverse=True)
    for n in range(1, 9):
        assert nth_largest(kind(values), n) == ranked[min(n, 5) - 1]
    for size, n in itertools.product((2047, 2048, 2049, 6000), (1, 2, 50, 2047)):
        many = (np.arange(size) * 7919) % 1000
        assert nth_largest(many, n) == sorted(many.tolist(), reverse=True)[n - 1]


def test_where_the_functions_of_the_machine_are_looked_at() -> None:
    for function in (*SINGLE_FUNCTIONS, *DOUBLE_FUNCTIONS):
        sample = function.sample(9)
        assert sample.dtype == (np.float32 if function in SINGLE_FUNCTIONS else np.float64)
        assert len(sample) == 9
        assert sample[0] == function.sign * function.low
        assert sample[-1] == function.sign * function.high
        assert worst_error(function, sample) <= 8
    blocks = list(every_single(1.0, float(np.nextafter(np.float32(1), np.float32(2))), -1, block=1))
    assert [block.tolist() for block in blocks] == [
        [-1.0],
        [-float(np.nextafter(np.float32(1), np.float32(2)))],
    ]
    assert sum(len(block) for block in every_single(1.0, 2.0, 1)) == 2**23 + 1
