"""The bounds are those of the lemma in `freegap.exact.doubles`, term by term: it is these that are proved.

They are many times what doubles really err by, so that no output would show a term that is missing.
"""

from __future__ import annotations

import numpy as np
import pytest

from freegap.bits import SeededBits
from freegap.exact.arithmetic import DOUBLE_FUNCTIONS, SINGLE_FUNCTIONS
from freegap.exact.digits import KeyedDigits
from freegap.exact.doubles import FILTER_BITS, Candidates, DoubleNoise, stream_noise
from tests.laws import EXACT_LAWS as LAWS

N = 40
OFFSETS = np.linspace(-300.0, 200.0, N)


@pytest.mark.parametrize("law", sorted(LAWS))
@pytest.mark.parametrize("bits", [FILTER_BITS, 20])
def test_of_items_and_of_members(law: str, bits: int) -> None:
    """2^-44·(1 + r/64)·(1 + |z| + |x|), without the middle factor where items are no groups."""
    for sizes in (None, np.full(N, 70, dtype=np.int64)):
        digits = KeyedDigits(SeededBits(1), N)
        doubles = DoubleNoise(LAWS[law], digits, digits.first(), sizes, bits)
        found = doubles.of_items(np.arange(N), OFFSETS)
        if sizes is not None:
            found = doubles.of_members(found, OFFSETS, -np.inf, 70)
            assert len(found) == 70 * N
            assert sorted(set(found.ranks.tolist())) == list(range(1, 71))
        by_rank = 1.0 if sizes is None else 1.0 + found.ranks / 64
        z = OFFSETS[found.items]
        wanted = 2.0**-bits * by_rank * (1.0 + np.abs(z) + np.abs(found.noise))
        assert np.allclose(found.error, wanted, rtol=1e-12, atol=0)
        assert np.array_equal(found.noisy, z + found.noise)
    assert doubles.slack == 2.0**-bits


@pytest.mark.parametrize("law", sorted(LAWS))
def test_of_streams(law: str) -> None:
    digits = KeyedDigits(SeededBits(1), N)
    noise, bound = stream_noise(LAWS[law], digits, 1, np.arange(N), 2.0**-FILTER_BITS)
    assert np.allclose(bound, 2.0**-FILTER_BITS * (1.0 + np.abs(noise)), rtol=1e-12, atol=0)


def test_the_exponent_that_is_proved() -> None:
    assert FILTER_BITS == 44


def test_certain_bounds_lie_on_either_side() -> None:
    places, noise = np.arange(3), np.array([1.0, 2.0, 0.0])
    error = np.array([0.25, 0.5, np.inf])
    found = Candidates(places, places + 1, noise, noise + 10, error)
    assert found.low.tolist() == [10.75, 11.5, -np.inf]
    assert found.high.tolist() == [11.25, 12.5, np.inf]
    turned = found.take([2, 0])
    assert (turned.items.tolist(), turned.ranks.tolist()) == ([2, 0], [3, 1])
    assert (turned.noise.tolist(), turned.noisy.tolist()) == ([0.0, 1.0], [10.0, 11.0])
    assert turned.error.tolist() == [np.inf, 0.25]
    both = turned.joined(found.take([1]))
    assert (both.items.tolist(), both.ranks.tolist()) == ([2, 0, 1], [3, 1, 2])
    assert (both.noise.tolist(), both.noisy.tolist()) == ([0.0, 1.0, 2.0], [10.0, 11.0, 12.0])
    assert both.error.tolist() == [np.inf, 0.25, 0.5]
    assert len(both) == 3


def test_where_the_machine_is_measured() -> None:
    """The arguments for which the proofs assume something of exp, expm1, log and log1p."""
    assert [(f.name, f.low, f.high, f.sign, f.unit) for f in SINGLE_FUNCTIONS] == [
        ("exp", 2.0**-30, 80.0, 1, 2.0**-23),
        ("exp", 2.0**-30, 80.0, -1, 2.0**-23),
        ("expm1", 2.0**-80, 128.0, -1, 2.0**-23),
        ("log", 2.0**-4, 4.0, 1, 2.0**-23),
    ]
    assert [(f.name, f.low, f.high, f.sign, f.unit) for f in DOUBLE_FUNCTIONS] == [
        ("log", 2.0**-75, 1.0, 1, 2.0**-53),
        ("log1p", 2.0**-75, 0.5, -1, 2.0**-53),
        ("expm1", 2.0**-140, 64.0, -1, 2.0**-53),
    ]
