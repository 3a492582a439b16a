"""Whole-number noise for many answers at once: doubles decide nothing of their own, and the laws are met."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from freegap_evidence.assurance.fit import fit_p

import freegap as fg
from freegap.bits import SeededBits
from freegap.exact.many import MANY, _exponents, many_bounded_geometric, many_discrete_gaussian

VARIANCES = ["1e-6", "1/4", "1", "35/9", "123456789", "1e33", "1e330"]


@pytest.mark.parametrize("variance", VARIANCES)
def test_doubles_decide_nothing_of_their_own(variance: str) -> None:
    """On the same digits all by exact reals, all by doubles as far as they go, and with one bit of them."""
    exact, fast, crippled = (
        many_discrete_gaussian(40, Fraction(variance), SeededBits(3), filter_bits=bits)
        for bits in (-40, 44, 1)
    )
    assert exact == fast == crippled


def test_the_bound_on_the_exponent_holds() -> None:
    """Where z is near σ²/t it is the difference of two large numbers; the bound is not much too large."""
    for variance in map(Fraction, VARIANCES[:-1]):
        t = math.isqrt(math.floor(variance)) + 1
        centre = math.floor(variance / t)
        sizes = [0, 1, 2, t, 5 * t + 1, 40 * t, *(centre + i for i in range(4)), centre + t // 10**6]
        exponents, errors = _exponents(variance, t, sizes)
        for size, exponent, error in zip(sizes, exponents.tolist(), errors.tolist(), strict=True):
            exact = (size - variance / t) ** 2 / (2 * variance)
            assert abs(Fraction(exponent) - exact) <= Fraction(error)
            assert error <= 2.0**-40 * (1 + exact)


@pytest.mark.parametrize("off", [0.9, -0.9])
def test_exponents_that_err_by_as_much_as_they_say_change_nothing(
    off: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = many_discrete_gaussian(60, Fraction(35, 9), SeededBits(3))

    def erring(*given: Any) -> tuple[Any, Any]:
        exponents, errors = _exponents(*given)
        return exponents + off * 0.25, errors + 0.25

    monkeypatch.setattr("freegap.exact.many._exponents", erring)
    assert many_discrete_gaussian(60, Fraction(35, 9), SeededBits(3)) == right


def test_values_that_doubles_cannot_tell_apart() -> None:
    """So large a variance that a double of the size is off by millions: the sizes still come out exactly."""
    drawn = many_discrete_gaussian(60, Fraction(10**70), SeededBits(5))
    assert len({value % 2**20 for value in drawn}) > 50
    assert all(abs(value) < 12 * 10**35 for value in drawn)


def test_the_laws() -> None:
    """Against the weights, added up; with a parameter a tenth too small they do not fit."""
    variance, theta, most = Fraction(7, 2), Fraction(2, 5), 6
    gaussian = {z: math.exp(-(z**2) / 7) for z in range(-15, 16)}
    bounded = {z: math.exp(-0.4 * abs(z)) for z in range(-most, most + 1)}
    draws: list[Any] = [
        (many_discrete_gaussian, (variance,), (variance * Fraction(9, 10),), gaussian),
        (many_bounded_geometric, (theta, most), (theta * Fraction(9, 10), most), bounded),
    ]
    for draw, right, narrow, weights in draws:
        total = math.fsum(weights.values())
        law = {z: weight / total for z, weight in weights.items()}
        for parameters, fits in ((right, True), (narrow, False)):
            seen: Counter[int] = Counter(draw(60_000, *parameters, SeededBits("law")))
            assert set(seen) <= set(law)
            assert (fit_p(seen, law) > 1e-9) == fits


def test_neither_order_nor_neighbours_matter() -> None:
    """No two answers share digits: the noise of one says nothing about the next."""
    drawn = np.array(many_discrete_gaussian(40_000, Fraction(50), SeededBits(8)), dtype=float)
    for apart in (1, 2, 7):
        assert abs(np.mean(drawn[apart:] * drawn[:-apart])) / 50 < 7 / math.sqrt(len(drawn))


def test_measurements_of_many_answers() -> None:
    """`measure` takes this way from MANY answers on, and every answer has its own noise."""
    answers = [1000 * i for i in range(MANY)]
    found = fg.measure(answers, rho=100, resolution="1/4", bits=SeededBits(2))
    noise = many_discrete_gaussian(MANY, (found.scale * 4) ** 2, SeededBits(2))
    assert found.values == tuple(a + Fraction(e, 4) for a, e in zip(answers, noise, strict=True))
    few = fg.measure(answers[:-1], rho=100, resolution="1/4", bits=SeededBits(2))
    assert few.values != found.values[:-1]


def test_noisy_counts_of_many_items() -> None:
    counts = {f"item {i:04}": 40 for i in range(MANY)}
    found = fg.unknown_counts(counts, epsilon=1, delta="1e-6", items_per_person=1, bits=SeededBits(2))
    reach = found.parameters["least"] - 1
    noise = many_bounded_geometric(MANY, Fraction(1), reach, SeededBits(2))
    assert dict(zip(found.labels, found.counts, strict=True)) == {
        f"item {i:04}": 40 + x for i, x in enumerate(noise)
    }
