"""Part by part: the exact law of every sampler, against sums written out term by term."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import partial
from itertools import accumulate, product
from typing import Any, cast

import pytest
from freegap_evidence.assurance.base2_law import clamp, discrete_laplace

from freegap import InvalidArgument, ReplayedBits, SeededBits, base2
from freegap.base2.draws import BitDraws
from freegap.base2.eta import Eta
from freegap.base2.questions import reached_gap
from freegap.base2.samplers import (
    clamped_laplace_at,
    conditional_lazy_threshold_at,
    lazy_threshold_at,
    symmetric_clamp,
)
from freegap.base2.weights import MOST_BITS, Weights
from freegap.errors import BitsExhausted
from tests.base2.paths import Path, distribution, largest_ratio

BASES = [Fraction(1, 2), Fraction(3, 4), Fraction(1, 16), Fraction(15, 16), Fraction(5, 8)]
N = 6


@pytest.mark.parametrize("base", BASES)
def test_get_sum_is_the_sum(base: Fraction) -> None:
    for low, high in product(range(-N, N + 1), repeat=2):
        terms = sum((base ** abs(k) for k in range(low, high + 1)), Fraction(0))
        assert base2.get_sum(base, low, high) == (1 - base) * terms


@pytest.mark.parametrize("base", BASES)
def test_get_sum_with_infinite_ends_is_the_limit(base: Fraction) -> None:
    for end in range(-N, N + 1):
        # Σ_{k > M} B^k = B^(M+1)/(1 − B), so what a finite sum up to M leaves out is known exactly.
        finite = (1 - base) * sum(base ** abs(k) for k in range(end, N + 10))
        assert base2.get_sum(base, end, None) == finite + base ** (N + 10)
        assert base2.get_sum(base, None, -end) == finite + base ** (N + 10)
    assert base2.get_sum(base, None, None) == 1 + base


def test_get_sum_needs_no_recursion() -> None:
    assert base2.get_sum("1/2", 100_000, None) == Fraction(1, 1 << 100_000)


@pytest.mark.parametrize("base", BASES)
def test_clamped_laplace_has_equation_2(base: Fraction) -> None:
    for low, high in [(-3, 3), (-2, 5), (0, 0), (0, 4), (2, 5), (-6, -1), (3, 3)]:
        weights = Weights(base, max(abs(low), abs(high)))
        law = distribution(partial(clamped_laplace_at, weights, low, high))
        expected: Counter[int] = Counter()
        for k, p in discrete_laplace(base, N + 2).items():
            expected[max(low, min(high, k))] += p  # type: ignore[assignment]
        assert law == dict(expected)


@pytest.mark.parametrize("base", BASES)
def test_lazy_threshold_has_the_tail_probability(base: Fraction) -> None:
    noise = discrete_laplace(base, N + 2)
    for tau in range(-N, N + 1):
        law = distribution(partial(lazy_threshold_at, Weights(base, N), tau))
        assert law[True] == sum(p for nu, p in noise.items() if nu >= tau)


@pytest.mark.parametrize("base", BASES)
def test_conditional_lazy_threshold_has_the_conditional_probability(base: Fraction) -> None:
    noise = discrete_laplace(base, N + 2)
    for tau, condition in product(range(-N, N + 1), repeat=2):
        if tau < condition:
            continue
        law = distribution(partial(conditional_lazy_threshold_at, Weights(base, N), tau, condition))
        given = sum(p for nu, p in noise.items() if nu >= condition)
        assert law[True] == sum(p for nu, p in noise.items() if nu >= tau) / given


def test_symmetric_clamp_is_equation_3() -> None:
    for rho, x, w in product(range(-8, 9), range(-3, 4), range(4)):
        assert symmetric_clamp(rho, x, w) == clamp(rho, x, w)


def test_lemma_3_1() -> None:
    """When ρ moves by Δ and the answer by at most Δ, their clamped distance grows, by at most 2Δ."""
    delta = 2
    for rho, q, w in product(range(-9, 10), range(-4, 5), range(1, 5)):
        for other in range(q - delta, q + delta + 1):
            here = symmetric_clamp(rho, q, w) - q
            there = symmetric_clamp(rho + delta, other, w) - other
            assert here <= there <= here + 2 * delta


@pytest.mark.parametrize("weights", [[1, 1], [3, 1, 4], [0, 5, 0, 2], [7], [1, 2, 3, 4, 5]])
@pytest.mark.parametrize("digits", [1, 3])
def test_the_bits_decide_exactly_the_cells_inside_each_interval(weights: list[int], digits: int) -> None:
    """Outcome i belongs to [C(i−1), C(i))/C. With n bits, the cells [u, u+1)/2^n inside it are decided.

    Their number is a closed form, tends to its length times 2^n, and what is left over tends to zero:
    so the outcome has the probability weights[i]/Σ weights, exactly.
    """
    cumulative = list(accumulate(weights))
    total = cumulative[-1]
    n = 9
    decided: Counter[int] = Counter()
    for u in range(1 << n):
        source = ReplayedBits(format(u, f"0{n}b"))
        with suppress(BitsExhausted):
            decided[BitDraws(source, digits).index(cumulative.__getitem__, len(weights))] += 1
    for i, weight in enumerate(weights):
        begin, end = (cumulative[i] - weight) << n, cumulative[i] << n
        assert decided[i] == max(0, end // total - -(-begin // total))
    assert (1 << n) - sum(decided.values()) < len(weights)


def test_no_bit_is_read_after_the_decision() -> None:
    source = ReplayedBits("0" * 64 + "1")
    assert base2.normalized_sample([1, 1], bits=source) == 0
    assert source.remaining == 1


def test_normalized_sample_takes_rationals() -> None:
    draws = Counter(base2.normalized_sample(["1/2", 0, "1/3"], bits=SeededBits(i)) for i in range(300))
    assert set(draws) == {0, 2}


def test_the_public_samplers_work_on_a_fractional_grid() -> None:
    eta = Eta(3, 2, 4)  # 2^(−η/4) = 3/4
    source = SeededBits(11)
    values = [base2.clamped_laplace(eta, "-1/2", 2, resolution="1/4", bits=source) for _ in range(400)]
    assert {value.denominator for value in values} <= {1, 2, 4}
    assert (min(values), max(values)) == (Fraction(-1, 2), Fraction(2))
    # An off-grid threshold is rounded up: ν ≥ 0.1 on this grid is ν ≥ 1/4.
    for threshold in ("0.1", 0.1, Fraction(1, 4)):
        same = [
            base2.lazy_threshold(
                eta, float(Fraction(threshold)), reach=1, resolution="1/4", bits=SeededBits(i)
            )
            for i in range(64)
        ]
        assert same == [
            base2.lazy_threshold(eta, Fraction(1, 4), reach=1, resolution="1/4", bits=SeededBits(i))
            for i in range(64)
        ]


def test_a_private_threshold_is_never_refused() -> None:
    for threshold in (math.nan, math.inf, -math.inf, 1e300, Fraction(1, 3)):
        base2.lazy_threshold(Eta(1, 1, 1), threshold, reach=4, bits=SeededBits(1))
        base2.conditional_lazy_threshold(Eta(1, 1, 1), threshold, 1, reach=4, bits=SeededBits(1))


def test_precision_depends_on_public_parameters_alone() -> None:
    assert Weights(Fraction(3, 8), 10).bits == 33
    with pytest.raises(InvalidArgument, match=r"precision = .*: needs more than .* Take a larger resolution"):
        Weights(Fraction(3, 8), MOST_BITS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: base2.get_sum("1/3", 0, 1),
            r"base = '1/3': must be a finite binary number.*Fraction\(3, 8\)",
        ),
        (lambda: base2.normalized_sample([0, 0]), "weights: must be at least 0, and not all 0"),
        (lambda: base2.normalized_sample([2, -1]), "weights: must be at least 0"),
        (lambda: base2.clamped_laplace(Eta(1, 1, 1), 3, -3), r"low = 3: must not be above high = -3. Swap"),
        (
            lambda: base2.clamped_laplace(Eta(1, 1, 1), "1/2", 3),
            r"low = '1/2': must be a multiple of the resolution 1",
        ),
        (
            lambda: base2.clamped_laplace(cast(Any, 1), -3, 3),
            r"eta = 1: must be an Eta. Pass for example Eta.from_epsilon",
        ),
        (lambda: base2.lazy_threshold(Eta(1, 1, 1), 0, reach=-1), r"reach = -1: must be at least 0"),
        (
            lambda: base2.clamped_laplace(Eta(3, 2, 1), -1, 1, resolution="1/2"),
            r"resolution = .*: does not keep 2\^η exact: .* Build it with Eta.from_epsilon",
        ),
        (lambda: base2.lazy_threshold(Eta(1, 1, 1), "five", reach=1), r"^threshold: must be made of numbers"),
    ],
)
def test_bad_arguments_are_named_before_anything_is_drawn(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        call()


@pytest.mark.parametrize("base", BASES)
def test_the_parts_are_private_on_all_neighbouring_answers(base: Fraction) -> None:
    """An answer plus clamped noise, a threshold, a threshold with gaps; answers q and q ± 1, 2^−η = B."""
    low, high, reach = -2, 3, 12
    weights = Weights(base, reach)

    def answer(q: int, path: Path) -> int:
        return max(low, min(high, q + clamped_laplace_at(weights, low - high, high - low, path)))

    def above(q: int, path: Path) -> bool:
        return lazy_threshold_at(weights, 1 - q, path)

    def gap(q: int, path: Path) -> int | None:
        return (
            reached_gap(weights, 1 - q, (1, 2, 5), path) if lazy_threshold_at(weights, 1 - q, path) else None
        )

    for program in (answer, above, gap):
        laws = {q: distribution(partial(program, q)) for q in range(low, high + 1)}
        ratios = [largest_ratio(laws[q], laws[r]) for q in laws for r in (q - 1, q + 1) if r in laws]
        assert max(ratios, key=lambda ratio: ratio or 10**9) == 1 / base  # η is used up, and not exceeded
