"""Values at the edges of int64: no difference of two of them wraps, in any mechanism.

Mechanisms look at differences alone, so answers and thresholds moved together give the same release on the
same bits. What lies at the edges is compared with the same near zero, in Python's integers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.values.answers import read_numbers

SIGNED = [-(2**63), -(2**62) - 1, -(2**62), -(2**62) + 1, -(2**57), 0, 2**62 - 1, 2**62, 2**62 + 1, 2**63 - 1]
UNSIGNED = [0, 2**62 - 1, 2**62, 2**63, 2**64 - 1]
PAIRS = [(np.int64, *pair) for pair in combinations(SIGNED, 2)] + [
    (np.uint64, *pair) for pair in combinations(UNSIGNED, 2)
]


def _releases(answers: Any, bar: Any, bars: Any) -> dict[str, Any]:
    def bits() -> fg.SeededBits:
        return fg.SeededBits(11)

    one: dict[str, Any] = {"epsilon": 1}
    made: dict[str, Callable[[], Any]] = {
        "top-k": lambda: fg.noisy_top_k(answers, 2, bits=bits(), **one),
        "laplace": lambda: fg.noisy_max(answers, noise="laplace", bits=bits(), **one),
        "hybrid top-k": lambda: fg.hybrid_top_k(answers, bar, k=2, bits=bits(), **one),
        "hybrid top-k off the whole numbers": lambda: fg.hybrid_top_k(
            answers, bar + Fraction(1, 2), k=2, bits=bits(), **one
        ),
        "hybrid": lambda: fg.hybrid_sparse_vector(answers, bar, k=2, bits=bits(), **one),
        "above": lambda: fg.sparse_vector(answers, bar, k=2, bits=bits(), **one),
        "geometric": lambda: fg.sparse_vector(answers, bar, k=2, noise="geometric", bits=bits(), **one),
        "above one each": lambda: fg.sparse_vector(answers, bars, k=2, bits=bits(), **one),
        "adaptive": lambda: fg.adaptive_sparse_vector(answers, bar, k=2, bits=bits(), **one),
        "exponential": lambda: fg.exponential_mechanism(answers, bits=bits(), **one),
    }
    return {name: release() for name, release in made.items()}


@pytest.mark.parametrize("more", [0, 1100])  # from 1,024 answers on they are screened
@pytest.mark.parametrize(("kind", "low", "high"), PAIRS)
def test_no_difference_wraps(kind: Any, low: int, high: int, more: int) -> None:
    values = [high, low, high, low] + [low] * more
    bars = [low, high, low, high] + [low] * more
    at_the_edge = _releases(np.array(values, dtype=kind), low, np.array(bars, dtype=kind))
    near_zero = _releases([value - low for value in values], 0, [value - low for value in bars])
    for name, release in at_the_edge.items():
        other = near_zero[name]
        for field in ("indices", "gap_multiples", "index", "utility_gap", "branches", "above", "reached"):
            assert getattr(release, field, None) == getattr(other, field, None), name


@pytest.mark.parametrize("edge", [2**62, 2**62 - 1, -(2**62), -(2**62) + 1, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("wrap", [np.array, list, lambda v: np.array(v, dtype=object)])
def test_only_values_whose_differences_fit_become_int64(edge: int, wrap: Any) -> None:
    values, _ = read_numbers(wrap([edge, 0]), Fraction(1))
    assert [int(value) for value in values] == [edge, 0]
    if isinstance(values, np.ndarray):
        assert 2 * abs(edge) < 2**63
        assert abs(int(values[0] - -values[0])) == 2 * abs(edge)
    else:
        assert abs(edge) >= 2**62


@pytest.mark.parametrize("half", [Fraction(1, 2), 0])
@pytest.mark.parametrize("edge", [-(2**57), 2**57, -(2**51), 2**51, 2**51 - 1, -(2**51) + 1, 2**61, -(2**61)])
def test_a_threshold_on_the_grid_does_not_overflow_whole_answers(edge: int, half: Any) -> None:
    """Whole answers and a threshold that is none meet in units of 1/1024."""
    shared: dict[str, Any] = {"k": 2, "epsilon": 1}
    far = fg.hybrid_top_k(np.array([edge, edge + 3]), edge + half, bits=fg.SeededBits(1), **shared)
    near = fg.hybrid_top_k([0, 3], half, bits=fg.SeededBits(1), **shared)
    assert (far.indices, far.gap_multiples, far.reached) == (near.indices, near.gap_multiples, near.reached)
    listed = fg.sparse_vector(np.array([edge, edge + 3]), [edge + half] * 2, bits=fg.SeededBits(1), **shared)
    listed_near = fg.sparse_vector([0, 3], [half] * 2, bits=fg.SeededBits(1), **shared)
    assert (listed.indices, listed.gap_multiples) == (listed_near.indices, listed_near.gap_multiples)


@pytest.mark.parametrize("far", [-(2**57), -(2**52), -(2**51), 2**51, 2**57])
def test_one_answer_far_from_the_threshold_does_not_overflow(far: int) -> None:
    """-2^57 in units of 1/1024 would be -2^67, which an int64 takes for 0."""
    near = 10**6 if far > 0 else -(10**6)
    options: dict[str, Any] = {"k": 1, "epsilon": 50}
    bar = Fraction(-1, 2)
    there = fg.hybrid_top_k(np.array([far, 3]), bar, bits=fg.SeededBits(1), **options)
    here = fg.hybrid_top_k([near, 3], bar, bits=fg.SeededBits(1), **options)
    assert (there.indices, there.reached) == (here.indices, here.reached)
    moved = 1024 * (far - near) if far > 0 else 0  # the largest moves against the next; the last does not
    assert here.gap_multiples is not None
    assert there.gap_multiples == (here.gap_multiples[0] + moved,)
    listed = fg.sparse_vector(np.array([far, 3]), [bar, bar], bits=fg.SeededBits(1), k=2, epsilon=50)
    assert listed.above == (far > 0, True)
