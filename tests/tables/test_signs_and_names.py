"""What a bound just beside 0 says of totals, cells of doubles just beside a grid point, and how things are
written: numbers, names of watches, items of two columns."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import polars as pl
import pyarrow as pa
import pytest

import freegap as fg
from freegap.errors import InvalidArgument, SpellingWarning
from freegap.mechanisms.quantiles import Grid
from freegap.tables.grouping import Grouping
from freegap.tables.histograms import NoisyHistogram, reach_of
from freegap.tables.kinds import OFTEN_ALIKE
from freegap.tables.means import NoisyMeans
from freegap.tables.quantiles_grid import cell_expression, cell_of, is_plain
from freegap.tables.results import of_totals
from freegap.tables.values import ClippedValue, _usual_unit, _written
from freegap.tables.watch import _number
from freegap.tables.watch_state import _thread_name

NEAR = [Fraction(n, 100) for n in (-100, -50, -1, 0, 1, 50, 100)]
BOUNDS = [(low, high) for low, high in product(NEAR, NEAR) if low <= high and not low == high == 0]


@pytest.mark.parametrize(("low", "high"), BOUNDS, ids=str)
def test_what_bounds_say_of_totals(low: Fraction, high: Fraction) -> None:
    """A total is a sum of numbers between the bounds, or of none."""
    value = ClippedValue.read("cost", low, high, "1/100")
    assert value is not None
    negative, positive = low < 0, high > 0
    assert value.range == (-math.inf if negative else 0.0, math.inf if positive else 0.0)
    assert value.monotonic == (not (negative and positive))
    assert value.sensitivity == 100 * max(abs(low), abs(high))
    for kind in OFTEN_ALIKE:
        if negative:
            with pytest.raises(InvalidArgument, match="cannot be negative"):
                value.require_items("item", kind)
        else:
            value.require_items("item", kind)
    value.require_items("item", "text")
    ((least, most),) = of_totals(value, [(-400.0, 400.0)])
    assert (least < 0, most > 0) == (negative, positive)


@pytest.mark.parametrize(("low", "high"), BOUNDS, ids=str)
def test_totals_that_cannot_be_negative_have_intervals_that_are_not(low: Fraction, high: Fraction) -> None:
    with duckdb.connect() as connection:
        table = connection.sql("SELECT 'a' AS item, 1 AS person, 0.25 AS cost")
        asked: dict[str, Any] = {"item": "item", "person": "person", "domain": ["a"], "items_per_person": 1}
        made = fg.histogram(
            table, **asked, value="cost", low=low, high=high, unit="1/100", epsilon=1, bits=fg.SeededBits(1)
        )
    assert isinstance(made, NoisyHistogram)
    assert made.not_negative == (low >= 0)
    assert (made.intervals()[0][0] < 0) == (low < 0)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(7), "7"),
        (Fraction(-1, 4), "-0.25"),
        (Fraction(1, 10**15), "0.000000000000001"),
        (Fraction(1, 10**16), "1/10000000000000000"),
        (Fraction(1, 3), "1/3"),
        (Fraction(1, 2**15), "0.000030517578125"),
        (Fraction(1, 2**16), "1/65536"),
        (Fraction(10**20), "100000000000000000000"),
    ],
)
def test_how_a_bound_is_written(number: Fraction, text: str) -> None:
    assert _written(number) == text


def test_the_usual_unit_is_a_power_of_ten_of_which_a_bound_has_so_many() -> None:
    for largest in (1, 9, 10, 10**7, 10**8 - 1, 10**8, 10**8 + 1, Fraction(1, 3), Fraction(1, 10**9)):
        unit = _usual_unit(Fraction(largest))
        assert unit.numerator == 1
        assert str(unit.denominator).strip("0") == "1"
        assert largest / unit <= 10**8 or unit == 1
        assert largest / (unit / 10) > 10**8


def test_a_watch_of_an_earlier_version_goes_on() -> None:
    """In a ledger it is found by a name, and a question has its noise at an address: made from the key."""
    key = "0123456789abcdef" * 4
    assert _thread_name(key) == "ef2b0a2382f590108e35d796ccb70c73"
    assert _number("monday", key) == 4468340308436315041
    assert _number("monday", key[::-1]) != _number("monday", key) != _number("tuesday", key)


def _held(connection: Any, *rows: tuple[str, str]) -> Any:
    values = ", ".join(f"('{ward}', '{code}')" for ward, code in rows)
    return connection.sql(f"FROM (VALUES {values}) AS t(ward, code)")


def test_items_of_two_columns_that_the_engine_holds_are_shown_as_tuples() -> None:
    with duckdb.connect() as connection:
        table = connection.sql("SELECT 'N~' AS ward, 'a' AS code, range AS person FROM range(50)")
        asked: dict[str, Any] = {"item": ["ward", "code"], "person": "person", "k": 1, "epsilon": 1}
        for rows, shown in (
            ([("N~", "a"), ("n~", "A"), ("x", "y")], r"\('N~', 'a'\) and \('n~', 'A'\)|\('n~', 'A'\) and"),
            ([("N~", "a"), ("x~1y", " z"), ("x", "y")], r"has \('x~1y', ' z'\), with blanks"),
        ):
            with pytest.warns(SpellingWarning, match=shown):
                made = fg.top_k(table, domain=_held(connection, *rows), bits=fg.SeededBits(1), **asked)
            assert made.labels == (("N~", "a"),)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            domain = _held(connection, ("N~", "a"), ("n~", "b"), ("x", "y"))
            fg.top_k(table, domain=domain, bits=fg.SeededBits(1), **asked)


def test_a_grouping_can_be_told_from_others_whatever_its_groups_are() -> None:
    made = Grouping("ward", ["a", "b"], 1, declared=False, enforced=True, sizes=(1, 2))
    other = Grouping("ward", ["a", "b"], 1, declared=False, enforced=True, sizes=(1, 2))
    assert hash(made) == hash(other)
    assert made == other
    assert "sizes" not in repr(made)
    assert made.least is None


@pytest.mark.parametrize("step", ["1/49", "1/3", "3/7", "7/10", "10/3", "49/3", "1/10", 1, 7], ids=str)
def test_cells_of_the_doubles_on_either_side_of_every_grid_point(step: Any) -> None:
    """The cell is that of the last grid point whose double is not above the number, in every engine."""
    exact = Fraction(step)
    for first in (0, -150):
        grid = Grid.read(first * exact, (first + 300) * exact, step)
        points = [float(k * exact) for k in range(first, first + 301)]
        numbers, wanted = [], []
        for cell, point in enumerate(points):
            # A plain grid may take the last double before a point for that point.
            below = [] if is_plain(grid) else [(math.nextafter(point, -math.inf), max(cell - 1, 0))]
            for number, own in [*below, (point, cell), (math.nextafter(point, math.inf), cell)]:
                numbers.append(number)
                wanted.append(own)
        table = pa.table({"item": numbers})
        with duckdb.connect() as connection:
            held = connection.from_arrow(table)
            natives: list[Any] = [table, pl.from_arrow(table), table.to_pandas(), held]
            for native in natives:
                for in_duckdb in {False, native is held}:
                    cells = cell_expression("item", grid, in_duckdb=in_duckdb).alias("cell")
                    frame: Any = nw.from_native(native).lazy().select("item", cells)
                    assert frame.collect().sort("item")["cell"].to_list() == wanted
        assert [cell_of(number, grid) for number in numbers] == wanted


@pytest.mark.parametrize("count", [-9, -4, -3, -2, -1, 0, 1, 4, 5, 6, 40])
def test_an_interval_of_a_mean_has_all_that_it_could_be(count: int) -> None:
    """Of each number of people in the interval of the count, at least one, and each sum in the other."""
    table = pa.table({"item": ["a"], "person": [1], "cost": [3]})
    made = fg.histogram(
        table, item="item", person="person", domain=["a"], items_per_person=1, epsilon=4, value="cost",
        low=0, high=10, unit="1/4", mean=True, bits=fg.SeededBits(1),
    )  # fmt: skip
    assert isinstance(made, NoisyMeans)
    people, width = (reach_of(plan, 0.025) for plan in (made.of_counts, made.plan))
    assert min(people, width) >= 1
    numbers = range(max(math.ceil(count - people), 1), max(math.floor(count + people), 1) + 1)
    for quarters in range(-200, 201, 3):
        other, total = replace(made, counts=(count,), multiples=(quarters,)), Fraction(quarters, 4)
        means = [other.centre + (total + way * width) / n for n in numbers for way in (-1, 1)]
        clipped = [min(max(mean, other.low), other.high) for mean in means]
        ((low, high),) = other.intervals()
        assert low <= min(clipped) <= max(clipped) <= high
        assert low == pytest.approx(float(min(clipped)))
        assert high == pytest.approx(float(max(clipped)))
        assert other.means == (
            min(max(other.centre + Fraction(total, max(count, 1)), other.low), other.high),
        )
