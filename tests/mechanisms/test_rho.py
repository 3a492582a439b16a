"""The other mechanisms under ρ: the exact charge of each, the noise that follows, and what is refused."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from freegap_evidence.assurance.fit import ALPHA, fit_p
from freegap_evidence.assurance.gumbel_law import gumbel_cells
from freegap_evidence.assurance.rows.concentrated import gaussian_cells

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.values.measures import Pure, ZeroConcentrated, converted, pure_within
from freegap.values.rationals import root_above, root_below
from tests.mechanisms.test_top_k import NoBits

RUNS = 3000


@pytest.mark.parametrize(
    "text", ["2", "1/3", "1e-60", "1e60", "999999.5", "0.04", "49/81", "1e-7", "123456789"]
)
def test_roots_are_rounded_to_six_digits_and_to_the_safe_side(text: str) -> None:
    square = Fraction(text)
    low, high = root_below(square), root_above(square)
    assert low**2 <= square <= high**2
    assert (low == high) == (low**2 == square)
    assert high - low <= low / 10**5
    digits = low * Fraction(10) ** (5 - math.floor(math.log10(low)))
    assert low == high or digits.denominator == 1


@pytest.mark.parametrize("rho", ["1/8", "2", "1/3", "8", "1e-9", "3"])
def test_the_epsilon_that_rho_allows(rho: str) -> None:
    asked = ZeroConcentrated(Fraction(rho))
    epsilon = pure_within(asked)
    assert converted(epsilon, ZeroConcentrated) <= asked
    more = Pure(epsilon.epsilon * Fraction(100002, 100000))
    assert not converted(more, ZeroConcentrated) <= asked
    assert pure_within(Pure(Fraction(rho))) == Pure(Fraction(rho))


# -- measuring -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "rho", "delta", "scale"),
    [(1, "1/2", 1, 1), (2, "1/4", 1, 2), (8, "1", 3, 6), (1, "1/8", 1, 2)],
)
def test_measuring_costs_n_squares_over_two_variances(n: int, rho: str, delta: int, scale: int) -> None:
    found = fg.measure([5] * n, rho=rho, sensitivity=delta, bits=fg.SeededBits(1))
    assert (found.scale, found.spent, found.measure) == (Fraction(scale), Fraction(rho), "rho")
    assert found.variance == scale**2
    assert found.parameters["scale"] == scale


def test_an_irrational_deviation_is_rounded_up() -> None:
    found = fg.measure([5, 6, 7], rho=1, bits=fg.SeededBits(1))
    assert found.scale**2 > Fraction(3, 2)
    assert found.spent == 3 / (2 * found.scale**2) < 1
    assert found.spent > 1 - Fraction(1, 10**4)


@pytest.mark.parametrize(("resolution", "variance"), [("1", 4), ("1/2", 16)])
def test_measurements_have_the_discrete_gaussian_law(resolution: str, variance: int) -> None:
    """σ = 2 is two steps of the grid 1, and four of the grid ½."""

    def seen(rho: str) -> Counter[Any]:
        bits = fg.SeededBits(7)
        return Counter(
            fg.measure([3], rho=rho, resolution=resolution, bits=bits).multiples[0] for _ in range(RUNS)
        )

    law = gaussian_cells(int(3 / Fraction(resolution)), variance)
    assert fit_p(seen("1/8"), law) > ALPHA
    assert fit_p(seen("2/9"), law) < ALPHA  # σ = 3/2


@pytest.mark.parametrize("alpha", [1.01, 1.5, 2.0, 5.0, 30.0])
def test_the_renyi_divergence_of_a_measurement_is_its_charge(alpha: float) -> None:
    """A step of the grid: α/(2σ²), by enumeration, and never above."""
    for variance in (0.3, 1.0, 4.0):
        p, q = gaussian_cells(0, variance), gaussian_cells(1, variance)
        kept = [cell for cell in p if p[cell] > 0 and q[cell] > 0]
        logs = np.array([alpha * math.log(p[c]) + (1 - alpha) * math.log(q[c]) for c in kept])
        divergence = float(np.logaddexp.reduce(logs)) / (alpha - 1)
        price = alpha / (2 * variance)
        assert divergence <= price * (1 + 1e-9)
        assert divergence > 0.5 * price or variance < 1


# -- the exponential mechanism -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rho", "options", "rate"),
    [
        ("1/4", {}, Fraction(1, 2)),
        ("1/4", {"monotonic": True}, Fraction(1)),
        ("1/8", {"gap": False}, Fraction(1, 2)),
        ("1/8", {"gap": False, "sensitivity": 2}, Fraction(1, 4)),
    ],
)
def test_a_choice_costs_an_eighth_and_its_gap_another(
    rho: str, options: dict[str, Any], rate: Fraction
) -> None:
    given: list[Fraction] = []

    def sampler(exponents: Any) -> int:
        given.extend(exponents)
        return 0

    shared: dict[str, Any] = {"rho": rho, "bits": fg.SeededBits(1), **options}
    choice = fg.exponential_mechanism([1, 0], sampler=sampler, **shared)
    assert given == [rate, 0]
    assert (choice.spent, choice.measure) == (Fraction(rho), "rho")
    assert fg.exponential_mechanism([1, 0], **shared).spent == Fraction(rho)


def test_the_law_of_a_choice_with_its_gap() -> None:
    bits = fg.SeededBits(3)

    def drawn(rho: str) -> Any:
        choice = fg.exponential_mechanism([2, 0, 1], rho=rho, resolution=1, bits=bits)
        return (choice.index,), (int(choice.utility_gap or 0),)

    law = gumbel_cells([2, 0, 1], 1, 2.0, 30)
    assert fit_p(Counter(drawn("1/4") for _ in range(RUNS)), law) > ALPHA
    assert fit_p(Counter(drawn("1") for _ in range(RUNS)), law) < ALPHA


# -- by the conversion from ε --------------------------------------------------------------------------------

ABOVE: list[Any] = [
    lambda **o: fg.sparse_vector([9, 1, 9, 9], 4, k=2, **o),
    lambda **o: fg.adaptive_sparse_vector([9, 1, 9, 9], 4, k=2, **o),
    lambda **o: fg.hybrid_sparse_vector([9, 1, 9, 9], 4, k=2, **o),
]


@pytest.mark.parametrize("call", ABOVE)
@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_sparse_vectors_cost_half_a_square_whatever_they_find(call: Any, noise: str) -> None:
    """ρ = 2 is ε = 2: the same release on the same bits, at a charge that tells nothing."""
    for seed in range(10):
        pure = call(epsilon=2, noise=noise, bits=fg.SeededBits(seed))
        found = call(rho=2, noise=noise, bits=fg.SeededBits(seed))
        assert (found.labels, found.gaps, found.branches) == (pure.labels, pure.gaps, pure.branches)
        assert (found.spent, found.measure, found.epsilon) == (2, "rho", None)
    none = call(rho="1/8", bits=fg.SeededBits(1))
    assert none.spent == Fraction(1, 8)
    uneven = call(rho="1/3", bits=fg.SeededBits(1))
    assert Fraction(1, 3) * (1 - Fraction(1, 10**4)) < uneven.spent < Fraction(1, 3)


@pytest.mark.parametrize("kind", [fg.SparseVector, fg.AdaptiveSparseVector])
def test_an_object_in_rho_is_charged_in_full_from_its_first_question(kind: Any, tmp_path: Path) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", rho=10)
    with kind(4, k=2, rho=2, monotonic=True, ledger=(ledger, "shop"), bits=fg.SeededBits(1)) as asking:
        assert (asking.measure, asking.spent, asking.epsilon, asking.remaining) == ("rho", 0, 2, 2)
        assert not asking.ask(-1000)
        assert asking.spent == 2
        assert 0 < asking.remaining < 2
    assert ledger.account("shop").spent == 2


def test_a_ledger_in_rho_charges_what_the_release_says(tmp_path: Path) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", rho=10)
    shared: dict[str, Any] = {"ledger": (ledger, "shop"), "bits": fg.SeededBits(1)}
    spent = Fraction(0)
    releases: list[Any] = [
        lambda: fg.noisy_top_k([3, 1, 2], 2, rho=1, **shared),
        lambda: fg.measure([3, 1], rho=1, **shared),
        lambda: fg.exponential_mechanism([3, 1], rho=1, **shared),
        lambda: fg.sparse_vector([3, 1], 2, k=1, rho=1, **shared),
        lambda: fg.select_and_measure([3, 1, 2], 2, rho=1, **shared),
    ]
    for release in releases:
        spent += release().spent
        assert ledger.account("shop").spent == spent <= 5


# -- what is refused -----------------------------------------------------------------------------------------


CALLS: dict[str, Any] = {
    "noisy_top_k": lambda **o: fg.noisy_top_k([3, 1, 2], 2, **o),
    "noisy_max": lambda **o: fg.noisy_max([3, 1, 2], **o),
    "hybrid_top_k": lambda **o: fg.hybrid_top_k([3, 1, 2], 2, k=1, **o),
    "sparse_vector": lambda **o: fg.sparse_vector([3, 1, 2], 2, k=1, **o),
    "adaptive_sparse_vector": lambda **o: fg.adaptive_sparse_vector([3, 1, 2], 2, k=1, **o),
    "hybrid_sparse_vector": lambda **o: fg.hybrid_sparse_vector([3, 1, 2], 2, k=1, **o),
    "SparseVector": lambda **o: fg.SparseVector(2, k=1, **o),
    "AdaptiveSparseVector": lambda **o: fg.AdaptiveSparseVector(2, k=1, **o),
    "measure": lambda **o: fg.measure([3, 1, 2], **o),
    "exponential_mechanism": lambda **o: fg.exponential_mechanism([3, 1, 2], **o),
    "select_and_measure": lambda **o: fg.select_and_measure([3, 1, 2], 2, **o),
}


@pytest.mark.parametrize("name", CALLS)
def test_exactly_one_measure_is_given(name: str) -> None:
    for amounts in ({}, {"epsilon": 1, "rho": 1}):
        with pytest.raises(InvalidArgument, match="exactly one of epsilon and rho must be given"):
            CALLS[name](bits=NoBits(), **amounts)
    for bad in (0, -1, "much"):
        with pytest.raises(InvalidArgument, match="rho"):
            CALLS[name](bits=NoBits(), rho=bad)
    with pytest.raises(InvalidArgument, match=r"rho = '1e-300': gives noise whose scale"):
        CALLS[name](bits=NoBits(), rho="1e-300")


@pytest.mark.parametrize("name", ["sparse_vector", "adaptive_sparse_vector", "SparseVector"])
def test_gumbel_noise_has_no_theorem_against_a_threshold(name: str) -> None:
    for amount in ({"rho": 1}, {"epsilon": 1}):
        with pytest.raises(InvalidArgument, match="has no theorem here for the measure"):
            CALLS[name](noise="gumbel", bits=NoBits(), **amount)


@pytest.mark.parametrize("call", [fg.select_private_candidate, fg.best_private_candidate])
def test_private_candidates_have_no_theorem_in_rho(call: Any) -> None:
    more = (2,) if call is fg.select_private_candidate else ()
    with pytest.raises(InvalidArgument, match="rho = 1: has no theorem here"):
        call([lambda bits: 1], lambda output: 0, *more, rho=1, stop="0.1", bits=NoBits())
    with pytest.raises(InvalidArgument, match="exactly one of epsilon and rho"):
        call([lambda bits: 1], lambda output: 0, *more, stop="0.1", bits=NoBits())
