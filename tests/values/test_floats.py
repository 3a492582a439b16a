"""What a float answer means: the grid point of which it is the nearest float, else itself."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freegap as fg
from freegap import base2
from freegap.errors import InvalidArgument
from freegap.values.answers import read_numbers
from freegap.values.floats import floats_on_grid, meant_by_float

PER_UNIT = [
    1,
    2,
    3,
    7,
    10,
    100,
    1000,
    1024,
    10**6,
    3**10,
    2**24 - 1,
    10**9,
    2**52 + 1,
    2**53,
    2**53 + 2,
    3**50,
]
DIGITS: dict[Any, int] = {np.float64: 53, np.float32: 24, np.float16: 11}


def _by_definition(x: Any, per_unit: int, digits: int) -> int:
    """The largest j whose own nearest float is at most x; below the limits, by exact arithmetic alone."""
    exact = Fraction(*map(int, x.as_integer_ratio()))
    below = math.floor(exact * per_unit)
    if per_unit > 2**digits or float(abs(exact)) * per_unit >= 2 ** (digits - 1):
        return below
    return max(j for j in range(below - 2, below + 4) if _nearest(Fraction(j, per_unit), digits) <= exact)


def _nearest(number: Fraction, digits: int) -> Fraction:
    """The nearest number with so many binary digits, halves to even: no exponents that floats do not have."""
    if number == 0:
        return number
    exponent = math.floor(math.log2(abs(number)))
    exponent += (abs(number) >= Fraction(2) ** (exponent + 1)) - (abs(number) < Fraction(2) ** exponent)
    unit = Fraction(2) ** (exponent - digits + 1)
    return round(number / unit) * unit


def _floats_near_the_grid(kind: Any) -> st.SearchStrategy[list[Any]]:
    """Floats of all sizes, and quotients j/N and their neighbours."""
    widths: dict[Any, Literal[16, 32, 64]] = {np.float64: 64, np.float32: 32, np.float16: 16}
    any_float = st.floats(width=widths[kind], allow_nan=False, allow_infinity=False).map(kind)

    @st.composite
    def near(draw: st.DrawFn) -> Any:
        per_unit = draw(st.sampled_from([n for n in PER_UNIT if n <= 2 ** DIGITS[kind]]))
        most = 2 ** DIGITS[kind]
        x = kind(draw(st.integers(-most, most))) / kind(per_unit)
        direction = draw(st.sampled_from([-math.inf, 0, math.inf]))
        return np.nextafter(x, kind(direction)) if direction else x

    return st.lists(st.one_of(any_float, near()), min_size=1, max_size=6)


@pytest.mark.parametrize("kind", DIGITS)
@given(st.data(), st.sampled_from(PER_UNIT))
def test_arrays_and_single_floats_follow_the_definition(
    kind: Any, data: st.DataObject, per_unit: int
) -> None:
    floats = data.draw(_floats_near_the_grid(kind))
    expected = [_by_definition(x, per_unit, DIGITS[kind]) for x in floats]
    assert [int(v) for v in floats_on_grid(np.array(floats, dtype=kind), per_unit)] == expected
    assert [math.floor(meant_by_float(x, per_unit) * per_unit) for x in floats] == expected
    if kind is np.float64:
        assert [math.floor(meant_by_float(float(x), per_unit) * per_unit) for x in floats] == expected


@pytest.mark.parametrize("per_unit", [1, 3, 7, 10, 100, 1000, 1023, 1024, 2047, 2048])
def test_every_half_precision_float(per_unit: int) -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    finite = np.sort(every[np.isfinite(every)])
    values = np.asarray(floats_on_grid(finite, per_unit))
    # Doubles hold these products exactly, and their quotients rounded again are the nearest half floats.
    exact = finite.astype(np.float64) * per_unit
    grid = np.arange(-(2**10) - 1, 2**10 + 2)
    nearest = (grid / per_unit).astype(np.float16)
    by_definition = grid[np.clip(np.searchsorted(nearest, finite, side="right") - 1, 0, None)]
    assert np.array_equal(values, np.where(np.abs(exact) < 2**10, by_definition, np.floor(exact)))
    assert (np.diff(values) >= 0).all()  # monotone
    assert np.array_equal(floats_on_grid(nearest[2:-2], per_unit), grid[2:-2])


@pytest.mark.parametrize("per_unit", [10, 100, 1000])
def test_an_array_of_decimals_is_what_was_written(per_unit: int) -> None:
    steps = np.arange(-3000, 3000)
    assert np.array_equal(
        floats_on_grid(steps / per_unit, per_unit), steps
    )  # 0.29·100 is below 29 in doubles


@given(st.sampled_from([n for n in PER_UNIT if n <= 2**53]), st.integers(-(2**52) + 1, 2**52 - 1))
def test_a_grid_point_as_a_float_means_that_grid_point(per_unit: int, j: int) -> None:
    x = j / per_unit
    assert meant_by_float(x, per_unit) == Fraction(j, per_unit)
    assert floats_on_grid(np.array([x]), per_unit).tolist() == [j]  # type: ignore[union-attr]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2), st.sampled_from(PER_UNIT))
def test_reading_is_monotone(floats: list[float], per_unit: int) -> None:
    values = floats_on_grid(np.array(sorted(floats)), per_unit)
    assert all(int(a) <= int(b) for a, b in pairwise(values))


def test_one_answer_does_not_change_how_another_is_read() -> None:
    alone = floats_on_grid(np.array([0.7]), 10)
    for other in (1e15, 1e16, 1e30):
        assert int(floats_on_grid(np.array([0.7, other]), 10)[0]) == int(alone[0]) == 7


@pytest.mark.parametrize("wrap", [list, np.array, lambda x: np.array(x, dtype=object), tuple])
def test_no_answer_on_a_decimal_grid_moves_by_more_than_the_sensitivity(wrap: Any) -> None:
    answers = [j / 10 for j in range(-50, 200)]
    release = fg.measure(
        wrap(answers), epsilon=1, sensitivity="0.1", resolution="1/10", bits=fg.SeededBits(1)
    )
    moved = fg.measure(
        wrap([(j + 1) / 10 for j in range(-50, 200)]),
        epsilon=1,
        sensitivity="0.1",
        resolution="1/10",
        bits=fg.SeededBits(1),
    )
    assert {b - a for a, b in zip(release.multiples, moved.multiples, strict=True)} == {1}


def test_single_precision_means_what_it_says() -> None:
    for kind in (np.float64, np.float32, np.float16):
        read, grain = read_numbers(np.array([0.7, 0.8], dtype=kind), Fraction(1, 10))
        assert (list(read), grain) == ([7, 8], Fraction(1, 10))
    objects, grain = read_numbers(
        [np.float32(0.7), 0.7, Decimal("0.7"), 1, np.longdouble(0.5)], Fraction(1, 10)
    )
    assert (list(objects), grain) == ([7, 7, 7, 10, 5], Fraction(1, 10))
    assert meant_by_float(np.longdouble(0.5) / 5, 10) != Fraction(1, 10)  # more digits than 53: itself


def test_a_sum_of_floats_means_itself() -> None:
    assert 0.1 + 0.7 < 0.8
    assert read_numbers([0.1 + 0.7], Fraction(1, 10))[0].tolist() == [7]  # type: ignore[union-attr]
    assert read_numbers(np.round([0.1 + 0.7], 1), Fraction(1, 10))[0].tolist() == [8]  # type: ignore[union-attr]


@pytest.mark.parametrize("resolution", ["1/10", "1/3", "1/1024", "1/100"])
@pytest.mark.parametrize("kind", [float, np.float32, lambda x: Fraction(x).limit_denominator(1000)])
def test_online_and_all_at_once_read_answers_and_thresholds_alike(resolution: str, kind: Any) -> None:
    step = Fraction(resolution)
    answers = [kind(j / 10) for j in range(0, 60, 7)]
    bars = [kind(j / 3) for j in range(len(answers))]
    options: dict[str, Any] = {
        "k": 4,
        "epsilon": 10,
        "sensitivity": step,
        "resolution": step,
        "noise": "laplace",
    }
    batch = fg.sparse_vector(answers, bars, bits=fg.SeededBits(1), **options)
    online = fg.SparseVector(bits=fg.SeededBits(1), **options)
    replies = [online.ask(a, t) for a, t in zip(answers, bars, strict=True) if not online.exhausted]
    assert tuple(reply.gap for reply in replies) == batch.gaps
    assert any(gap is not None for gap in batch.gaps)
    assert all(bar % step == 0 for bar in batch.thresholds)


def test_a_threshold_of_one_third_for_each_question_is_rounded_down_online_too() -> None:
    third = Fraction(1, 3)
    for seed in range(20):
        options: list[dict[str, Any]] = [
            {"k": 1, "epsilon": 50, "bits": fg.SeededBits(seed)} for _ in range(4)
        ]
        batch = fg.sparse_vector([100], [third], **options[0])
        assert batch.thresholds == (Fraction(341, 1024),)
        assert fg.SparseVector(**options[1]).ask(100, third).gap == batch.gaps[0]
        common = fg.sparse_vector([100], third, **options[2])
        assert common.thresholds == (third,)  # one for all is taken as it is, online and all at once
        assert fg.SparseVector(third, **options[3]).ask(100).gap == common.gaps[0]


@pytest.mark.parametrize("threshold", [2.5, Fraction(5, 2), np.float32(2.5)])
def test_geometric_noise_wants_whole_thresholds_everywhere(threshold: Any) -> None:
    options: dict[str, Any] = {"k": 1, "epsilon": 1, "noise": "geometric"}
    whole = "must be a whole number with geometric noise"
    with pytest.raises(InvalidArgument, match=whole):
        fg.sparse_vector([1, 2], threshold, **options)
    with pytest.raises(InvalidArgument, match=whole):
        fg.sparse_vector([1, 2], [1, threshold], **options)
    with pytest.raises(InvalidArgument, match=whole):
        fg.SparseVector(**options).ask(1, threshold)
    assert fg.SparseVector(**options).ask(90, 2.0) is not None
    assert fg.sparse_vector([1, 2], [1.0, 2.0], **options).answered >= 1


@pytest.mark.parametrize("resolution", ["1/10", "3/10", "1/3"])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_base_2_reads_floats_in_the_same_way(resolution: str, kind: Any) -> None:
    from freegap.base2.arguments import answer_units, array_units

    grid = Fraction(resolution)
    answers = np.array([j * grid for j in range(-40, 60)], dtype=float).astype(kind)
    units, _ = array_units(answers, grid, -20, 30)
    expected = [max(-20, min(30, j)) for j in range(-40, 60)]
    assert units.tolist() == expected
    assert [answer_units(x, grid, -20, 30) for x in answers] == expected
    assert [answer_units(x, grid, -20, 30, sign=-1) for x in answers] == [
        max(-20, min(30, -e)) for e in range(-40, 60)
    ]
    odd = np.array([np.nan, np.inf, -np.inf, 1e4, -1e4], dtype=kind)
    assert array_units(odd, grid, -20, 30)[0].tolist() == [-20, 30, -20, 30, -20]
    assert base2.lazy_threshold(
        base2.Eta.from_epsilon(1, resolution=grid), kind(-3), reach=3, resolution=grid
    ) in (True, False)


def test_the_advice_about_resolutions_is_right() -> None:
    """What the error advises is accepted, and keeps the sensitivity of floats."""
    with pytest.raises(InvalidArgument) as caught:
        fg.measure([0.7], epsilon=1, sensitivity=0.1)
    assert "resolution=Fraction(1, 10)" in str(caught.value)
    assert 'Fraction("103/1024")' in str(caught.value)
    for options in (
        {"sensitivity": 0.1, "resolution": Fraction(1, 10)},
        {"sensitivity": Fraction("103/1024")},
    ):
        assert fg.measure([0.7], epsilon=1, **options).spent == 1
