"""The edges of base 2: limits, defaults, records on a grid that is not 1, infinite thresholds; all exact."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from freegap import InvalidArgument, SeededBits, base2
from freegap.base2 import Eta
from freegap.base2.arguments import answer_units, array_units
from freegap.base2.batch import threshold_words
from freegap.base2.eta import _enough_digits, _exact_root
from freegap.base2.plan import Base2Plan
from freegap.base2.weights import MOST_BITS, Weights
from tests.clock import Drawn

# η ----------------------------------------------------------------------------------------------


def test_the_largest_number_of_digits_and_the_next() -> None:
    assert Eta(1, 4096, 1).y == 4096
    with pytest.raises(InvalidArgument, match="y = 4097: must be at most 4096"):
        Eta(1, 4097, 1)


def test_the_least_epsilon_and_the_next() -> None:
    least = Fraction(1, 1 << 60)
    assert least * Fraction(9, 10) < Eta.from_epsilon(least).epsilon <= least
    with pytest.raises(InvalidArgument, match=r"must be at least 2\^-60"):
        Eta.from_epsilon(least - Fraction(1, 1 << 90))


def test_the_largest_precision_and_the_next() -> None:
    most = Eta(1, 4096, 4096)  # 4096·4096 = 2^24 bits
    assert most.base.denominator.bit_length() == (1 << 24) + 1
    with pytest.raises(InvalidArgument, match="needs more than 16777216 bits"):
        _ = Eta(1, 4096, 4097).base


def test_bounds_are_as_close_as_was_asked_however_large_z_is(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def as_wide_as_allowed(x: Fraction, bits: int = 64) -> tuple[Fraction, Fraction]:
        asked.append(bits)
        return Fraction(1), 1 + Fraction(1, 1 << bits)

    monkeypatch.setattr("freegap.base2.eta.log_bounds", as_wide_as_allowed)
    for z in (1, 2, 3, 4095, 4096):
        low, high = Eta(3, 2, z).epsilon_bounds(20)
        assert low == z
        assert high - low <= Fraction(1, 1 << 20)
    assert asked == [21, 22, 22, 32, 33]


def test_the_charge_is_not_below_the_upper_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the bounds lie on both sides of a multiple of 2^−64, the next multiple is charged."""
    unit, tiny = Fraction(1, 1 << 64), Fraction(1, 1 << 80)
    for low, high, charged in ((7 * unit - tiny, 7 * unit + tiny, 8), (7 * unit - tiny, 7 * unit, 7)):
        monkeypatch.setattr(Eta, "epsilon_bounds", lambda self, low=low, high=high: (low, high))
        assert Eta(1, 1, 1).epsilon == charged * unit


@pytest.mark.parametrize("rate", ["0.001", "0.5", 1, "1.5", 3, 20, 50, 2000])
def test_digits_left_out_lose_less_than_one_part_in_a_hundred(rate: Any) -> None:
    wanted = Fraction(rate)
    assert wanted * Fraction(127, 128) < Eta.from_epsilon(rate).epsilon <= wanted
    # 2^y ≥ 128·e^rate/min(rate, 1), as the docstring has it.
    assert _enough_digits(wanted) * math.log(2) >= math.log(128) + float(wanted) - math.log(
        min(wanted, Fraction(1))
    )


def test_beyond_all_digits_the_largest_eta_there_is() -> None:
    assert Eta.from_epsilon(5000) == Eta(1, 4096, 1)
    assert _enough_digits(Fraction(5000)) == 4096


def test_too_few_digits() -> None:
    """With one digit there is 1/2 alone: ε = ln 2."""
    assert Eta.from_epsilon("0.7", digits=1) == Eta(1, 1, 1)
    with pytest.raises(InvalidArgument, match="digits = 1: are too few"):
        Eta.from_epsilon("0.69", digits=1)


def test_roots() -> None:
    for degree in (1, 2, 3, 7):
        for root in (1, 2, 3, 15, 16, 1000, 1023, 1024):
            assert _exact_root(root**degree, degree) == root
            assert degree == 1 or _exact_root(root**degree + 1, degree) is None
    with pytest.raises(InvalidArgument, match="would be"):
        Eta(1, 3, 1).divided(2)  # the root of 1 is 1, but 3 digits have no half


def test_the_remedy_names_a_z_that_works() -> None:
    with pytest.raises(InvalidArgument, match="with z a multiple of 10"):
        Eta(3, 2, 1).adjusted("3/10")
    assert Eta(3, 2, 10).adjusted("3/10").base == Fraction(3, 4) ** 3


def test_order_is_strict() -> None:
    one, other = Eta(1, 2, 1), Eta(1, 1, 2)  # the same number
    assert not one < other
    assert not one > other
    assert one <= other
    assert {one: "here"}[other] == "here"


# Weights and samplers ---------------------------------------------------------------------------


def test_the_largest_number_of_bits_and_the_next() -> None:
    assert Weights(Fraction(1, 2), MOST_BITS - 1).bits == MOST_BITS
    with pytest.raises(InvalidArgument, match="needs more than 1048576 bits"):
        Weights(Fraction(1, 2), MOST_BITS)


@pytest.mark.parametrize("base", [0, 1, "3/2", "-1/2", "1/3"])
def test_what_is_no_base(base: Any) -> None:
    with pytest.raises(InvalidArgument, match="must be a finite binary number between 0 and 1"):
        base2.get_sum(base, 0, 1)


def test_an_end_that_is_no_whole_number() -> None:
    for ends in ((0.5, 1), (0, "x")):
        with pytest.raises(InvalidArgument, match="must be a whole number"):
            base2.get_sum("1/2", *ends)


@pytest.mark.parametrize("place", ["rho", "x", "w"])
def test_a_clamp_takes_whole_numbers(place: str) -> None:
    arguments: dict[str, Any] = {"rho": 3, "x": 1, "w": 1}
    assert base2.symmetric_clamp(**arguments) == 2
    with pytest.raises(InvalidArgument) as caught:
        base2.symmetric_clamp(**{**arguments, place: 0.5})
    assert caught.value.argument == place


def test_a_range_of_one_value_and_a_reach_of_zero() -> None:
    assert base2.clamped_laplace(Eta(1, 1, 1), 3, 3, bits=SeededBits(1)) == 3
    # P(ν ≥ 0) = 1/(1 + B) = 2/3.
    for share, reached in ((Fraction(66, 100), True), (Fraction(67, 100), False)):
        assert base2.lazy_threshold(Eta(1, 1, 1), 0, reach=0, bits=Drawn(share)) is reached


def test_thresholds_beyond_the_reach_are_the_nearest_that_it_has() -> None:
    """P(ν ≥ 2) = B²/(1 + B) = 1/6 and P(ν ≥ −2) = 1 − B³/(1 + B) = 11/12, for B = 1/2."""
    eta, lower, upper = Eta(1, 1, 1), Fraction(1, 6), Fraction(11, 12)
    slightly = Fraction(1, 1000)
    for far in (math.inf, 1e300, Decimal("Infinity"), 3, 2, "NaN"):
        threshold = math.nan if far == "NaN" else far
        for share, reached in ((lower - slightly, True), (lower + slightly, False)):
            assert base2.lazy_threshold(eta, threshold, reach=2, bits=Drawn(share)) is reached
    for far in (-math.inf, -1e300, Decimal("-Infinity"), -3, -2):
        for share, reached in ((upper - slightly, True), (upper + slightly, False)):
            assert base2.lazy_threshold(eta, far, reach=2, bits=Drawn(share)) is reached


def test_a_threshold_below_its_condition_is_reached_for_certain() -> None:
    last = Drawn(1 - Fraction(1, 2**64))
    assert base2.conditional_lazy_threshold(Eta(1, 1, 1), -2, 1, reach=3, bits=last)
    # P(ν ≥ 2 | ν ≥ 1) = B.
    for share, reached in ((Fraction(49, 100), True), (Fraction(51, 100), False)):
        assert base2.conditional_lazy_threshold(Eta(1, 1, 1), 2, 1, reach=3, bits=Drawn(share)) is reached


def test_the_table_of_a_small_case() -> None:
    """P(ν ≥ τ) for τ = −1, 0, 1 is 5/6, 2/3 and 1/3 where B = 1/2; of 256 words, rounded down."""
    assert threshold_words(Weights(Fraction(1, 2), 1), 1, 8).tolist() == [213, 170, 85]


# Reading ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("grid", [Fraction(1), Fraction(1, 4), Fraction(3, 2)])
def test_arrays_are_read_as_single_answers_are_at_the_edges_of_the_range(grid: Fraction) -> None:
    low, high = -7, 5
    steps = [Fraction(n, 8) * grid for n in range(-70, 60)]
    expected = [answer_units(step, grid, low, high) for step in steps]
    assert set(expected) == set(range(low, high + 1))
    assert array_units(np.array([float(step) for step in steps]), grid, low, high)[0].tolist() == expected
    whole = list(range(-15, 12))
    expected = [answer_units(number, grid, low, high) for number in whole]
    assert array_units(np.array(whole), grid, low, high)[0].tolist() == expected


def test_what_is_no_number_counts_as_low_also_where_zero_is_in_the_range() -> None:
    assert array_units(np.array([math.nan, 0.0]), Fraction(1), -3, 3)[0].tolist() == [-3, 0]


def test_ranges_at_the_edge_of_the_types_are_read_exactly() -> None:
    """Where a double or an int64 no longer holds value·(1/γ), each answer is read by itself."""
    grid, high = Fraction(1, 1 << 20), 1 << 60
    floats = [0.1, 2.0**39 + 2**-13, 2.0**41, -1.0]
    expected = [answer_units(x, grid, 0, high) for x in floats]
    assert array_units(np.array(floats), grid, 0, high)[0].tolist() == expected
    grid, high = Fraction(1, 1 << 40), (1 << 63) - 1
    integers = [1, 2**23 - 1, 2**23, 2**24, 2**62, -5]
    expected = [answer_units(x, grid, 0, high) for x in integers]
    assert expected[2:] == [high] * 3 + [0]
    assert array_units(np.array(integers), grid, 0, high)[0].tolist() == expected


@pytest.mark.parametrize("power", [53, 61, 62, 63, 64, 70, 400])
@pytest.mark.parametrize("kind", [int, float, Fraction])
def test_a_range_far_from_zero_is_read_alike_all_at_once_and_one_at_a_time(power: int, kind: Any) -> None:
    """Also where 2^63 lies within: no answer may raise an error that another does not."""
    far = (1 << power) - 50
    common: dict[str, Any] = {"k": 3, "eta": base2.share_epsilon(8, k=3), "width": 50}
    for sign in (1, -1):
        low, high = sorted((sign * far, sign * (far + 100)))
        answers = [kind(sign * (far + step)) for step in (-1000, 0, 49, 50, 51, 100, 1000)]
        threshold = sign * (far + 50)
        batch = base2.sparse_vector(answers, threshold, low=low, high=high, bits=SeededBits(1), **common)
        run = base2.DiscreteSparseVector(threshold, low=low, high=high, bits=SeededBits(1), **common)
        for answer in answers[: batch.answered]:
            run.ask(answer)
        assert run.release() == batch
        assert any(batch.above)


def test_the_remedy_is_a_multiple_of_the_resolution() -> None:
    with pytest.raises(
        InvalidArgument, match=r"low = '1/3': must be a multiple of .* 1/4. Pass for example 1/4"
    ):
        base2.clamped_laplace(Eta(3, 2, 4), "1/3", 3, resolution="1/4")


# Settings and records ---------------------------------------------------------------------------

GRID: dict[str, Any] = {
    "k": 2,
    "low": "-1/2",
    "high": 3,
    "width": 2,
    "sensitivity": "1/2",
    "resolution": "1/4",
}


def test_the_reach_is_the_farthest_that_can_occur_on_either_side() -> None:
    eta = base2.share_epsilon(2, k=1)
    for threshold, reach in ((0, 13), (10, 13), (7, 10), (9, 12)):
        plan = Base2Plan.read(
            threshold, k=1, eta=eta, low=0, high=10, width=3, gaps=(1, 5), sensitivity=1, resolution=1
        )
        assert (plan.threshold_weights.reach, plan.answer_weights.reach) == (reach, 8)


def test_a_range_of_one_answer_is_a_range() -> None:
    plan = Base2Plan.read(
        5, k=1, eta=base2.share_epsilon(2, k=1), low=5, high=5, width=1, sensitivity=1, resolution=1
    )
    assert (plan.low, plan.high) == (5, 5)


def test_the_share_of_the_threshold() -> None:
    one, two = base2.share_epsilon(3, k=2, share="1/3")
    assert Fraction(99, 100) < one.epsilon <= 1
    assert Fraction(198, 100) < two.epsilon <= 2
    even = base2.share_epsilon(3, k=2)
    assert even == base2.share_epsilon(3, k=2, share="1/2", sensitivity=1, resolution=1)
    assert all(Fraction(148, 100) < part.epsilon <= Fraction(3, 2) for part in even)
    assert two.divided(2 * 2).z >= 1  # by 2k


def test_a_record_on_a_grid_that_is_not_1() -> None:
    eta = base2.share_epsilon(40, k=2, sensitivity="1/2", resolution="1/4")
    gaps: list[Any] = ["1/4", 1, "3/2"]
    release = base2.sparse_vector_with_gap(
        [0, 3, 0, 3, 3], "5/4", eta=eta, gaps=gaps, bits=SeededBits(1), **GRID
    )
    run = base2.DiscreteSparseVectorWithGap("5/4", eta=eta, gaps=gaps, bits=SeededBits(1), **GRID)
    assert [run.ask(answer) for answer in (0, 3, 0, 3)] == [None, Fraction(3, 2), None, Fraction(3, 2)]
    assert run.release() == release
    assert release.answered == 4
    assert release.gaps == (None, Fraction(3, 2), None, Fraction(3, 2))
    assert release.thresholds == (Fraction(5, 4),) * 2
    assert release.estimates == (Fraction(11, 4),) * 2
    assert release.resolution == Fraction(1, 4)
    parameters = dict(release.parameters)
    precision = parameters.pop("precision_bits")
    assert parameters == {
        "k": 2,
        "threshold": Fraction(5, 4),
        "low": Fraction(-1, 2),
        "high": 3,
        "width": 2,
        "resolution": Fraction(1, 4),
        "sensitivity": Fraction(1, 2),
        "eta": [[part.x, part.y, part.z] for part in eta],
    }
    plan = Base2Plan.read("5/4", eta=eta, gaps=gaps, **GRID)
    weights = plan.threshold_weights, plan.answer_weights
    assert precision == max(weight.bits for weight in weights) > min(weight.bits for weight in weights)


def test_a_smaller_gap_is_the_largest_one_that_was_reached() -> None:
    """The noise is next to nothing: 1 above the threshold reaches the gaps 1/4 and 1, and not 3/2."""
    eta = base2.share_epsilon(400, k=1, resolution="1/4")
    plan: dict[str, Any] = {"k": 1, "eta": eta, "low": 0, "high": 3, "width": 2, "resolution": "1/4"}
    for answer, gap in ((1, 0), ("5/4", Fraction(1, 4)), (2, 1), ("9/4", 1), ("5/2", Fraction(3, 2)), (3, 2)):
        gaps: list[Any] = ["1/4", 1, "3/2", 2]
        answers = [Fraction(answer)]
        release = base2.sparse_vector_with_gap(answers, 1, gaps=gaps, bits=SeededBits(2), **plan)
        assert release.gaps == (gap,)


def test_what_is_left_and_spent_follows_the_answers_above() -> None:
    eta = base2.share_epsilon(40, k=2)
    kinds: list[tuple[Any, dict[str, Any]]] = [
        (base2.DiscreteSparseVector, {}),
        (base2.DiscreteSparseVectorWithGap, {"gaps": [1]}),
    ]
    for kind, options in kinds:
        run = kind(5, k=2, eta=eta, low=0, high=10, width=8, bits=SeededBits(1), **options)
        assert (run.remaining, run.spent, run.exhausted) == (2, 0, False)
        assert not run.ask(0)
        assert (run.remaining, run.spent) == (2, eta[0].epsilon)
        assert run.ask(10) is not None
        assert (run.remaining, run.spent) == (1, eta[0].epsilon + eta[1].epsilon / 2)
        assert not run.release().private
        unseeded = kind(5, k=2, eta=eta, low=0, high=10, width=8, **options)
        assert unseeded.release().private


def test_left_out_sensitivity_and_resolution_are_1() -> None:
    eta = base2.share_epsilon(4, k=1, sensitivity=2)  # good for 1 and for 2
    common: dict[str, Any] = {"k": 1, "eta": eta, "low": 0, "high": 10, "width": 8, "bits": SeededBits(1)}
    answers = [0, 1, 2]
    releases = [
        base2.sparse_vector(answers, 5, **common),
        base2.sparse_vector_with_gap(answers, 5, gaps=[1], **common),
        base2.DiscreteSparseVector(5, **common).release(),
        base2.DiscreteSparseVectorWithGap(5, gaps=[1], **common).release(),
    ]
    for release in releases:
        assert (release.parameters["sensitivity"], release.parameters["resolution"]) == (1, 1)
