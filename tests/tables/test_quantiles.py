"""Quantiles of a table: every engine puts every row and every person into the same cell."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import freegap as fg
from freegap.mechanisms.arguments import DEFAULT_RESOLUTION
from freegap.mechanisms.quantiles import Grid
from freegap.receipts.keys import SigningKey
from freegap.receipts.receipt import make_receipt
from freegap.tables.quantiles import read_plan
from freegap.tables.quantiles_grid import PeopleListed, cell_of, is_plain, numbers_of
from freegap.tables.quantiles_people import PeopleInTable
from freegap.tables.quantiles_range import RangeSearch
from freegap.tables.sources import open_source
from freegap.values.measures import Pure
from tests.tables.engines import ENGINES

ROWS = [((i * i) % 997, i % 211) for i in range(600)]
ASKED: dict[str, Any] = {"q": [0.25, 0.5, 0.9], "low": 0, "high": 900, "resolution": 3, "epsilon": 1}


def _ibis(table: pa.Table) -> Any:
    backend = ibis.duckdb.connect()
    backend.con.register("rows", table)
    return backend.table("rows")


TYPED: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table,
    "duckdb": lambda table: duckdb.connect().from_arrow(table),
    "ibis": _ibis,
}
ON_ARROW: dict[str, Callable[[pa.Table], Any]] = {
    "pandas on arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype)
}


def counted(table: Any, grid: Grid, rule: Any = "median") -> dict[int, int]:
    with open_source(table, "item", "person") as source:
        ((cells, people),) = PeopleInTable(numbers_of(source), rule).cells(grid)
    assert list(cells) == sorted(set(cells.tolist()))
    return dict(zip(cells.tolist(), people.tolist(), strict=True))


# Engines -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "pandas objects"])
def test_every_engine_releases_the_same(engine: str, tmp_path: Path) -> None:
    table = ENGINES[engine](ROWS, tmp_path)
    options = ASKED | {"value": "item", "person": "person"}
    made = fg.quantiles(table, **options, bits=fg.SeededBits(1))
    people: dict[int, list[int]] = {}
    for value, person in ROWS:
        people.setdefault(person, []).append(value)
    own = [sorted(values)[(len(values) - 1) // 2] for values in people.values()]
    listed = fg.quantiles(own, **ASKED, bits=fg.SeededBits(1))
    assert made.values == listed.values
    assert made.q == (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10))
    assert made.spent == 1


def doubles() -> list[float]:
    """Numbers at the edges of cells: points of a grid of tenths, the doubles next to them, and odd ones."""
    points = [k / 10 for k in range(-35, 36)]
    around = [math.nextafter(point, way) for point in points for way in (-math.inf, math.inf)]
    odd = [math.inf, -math.inf, 1e300, -1e300, 5e-324, -5e-324, -0.0, 2.0**60, 0.1 + 0.2, 0.7 * 3]
    return [*points, *around, *odd]


@pytest.mark.parametrize("engine", TYPED)
@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(-3, 3, "1/10"), (-2, "0.5", "1/8"), (-3, 3, "3/7"), (-30, 30, 3), (-3, 2, 1), (-3, 3, "1/49")],
)
def test_doubles_stand_for_the_points_they_are_nearest_to(
    engine: str, low: Any, high: Any, step: Any
) -> None:
    grid = Grid.read(low, high, step)
    numbers = [*doubles(), None, math.nan]
    table = pa.table({"item": pa.array(numbers, pa.float64()), "person": range(len(numbers))})
    expected = Counter(cell_of(number, grid) for number in doubles())
    assert counted(TYPED[engine](table), grid) == dict(expected)
    for k in range(grid.cells):  # the double of a grid point is that point; the one below it, where it can be
        point = float(grid.low + k * grid.step)
        assert cell_of(point, grid) == k
        below = cell_of(math.nextafter(point, -math.inf), grid)
        assert below == max(k - 1, 0) or (is_plain(grid) and below == k)
        assert cell_of(math.nextafter(math.nextafter(point, -math.inf), -math.inf), grid) == max(k - 1, 0)


@pytest.mark.parametrize("engine", [*TYPED, *ON_ARROW])
@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.int64(), pa.float32(), pa.decimal128(9, 2)], ids=str
)
def test_kinds_of_numbers(engine: str, kind: Any) -> None:
    numbers: list[Any] = [3, 0, 7, 99, 100]
    if kind == pa.decimal128(9, 2):
        numbers = [Decimal(hundredths) / 100 for hundredths in (-250, 29, 30, 99, 100, 1999, 5700)]
    elif kind == pa.uint64():
        numbers += [2**64 - 1]
    elif kind == pa.int64():
        numbers += [2**63 - 1, -(2**63)]
    elif kind == pa.float32():
        numbers += [0.5, 31.25]
    table = pa.table({"item": pa.array(numbers, kind), "person": [f"p{i}" for i in range(len(numbers))]})
    grid = Grid.read(0, 60, "1/10")
    made = (TYPED | ON_ARROW)[engine](table)
    if kind == pa.decimal128(9, 2) and engine == "pandas":  # as objects, which the schema does not tell apart
        with pytest.raises(fg.InvalidArgument, match="must be a column of numbers"):
            counted(made, grid)
        return
    assert counted(made, grid) == dict(Counter(cell_of(one, grid) for one in numbers))


@pytest.mark.parametrize("engine", TYPED)
def test_one_row_of_each_person_counts_and_nobody_elses_changes(engine: str) -> None:
    """Persons of 1 to 5 rows; one person's rows are taken away, and one cell has one person less."""
    chance = random.Random(1)
    rows = [(chance.randrange(50), f"p{person}") for person in range(40) for _ in range(person % 5 + 1)]
    chance.shuffle(rows)
    grid = Grid.read(0, 49, 1)
    choose: dict[str, Callable[[list[int]], int]] = {
        "smallest": min,
        "largest": max,
        "median": lambda own: sorted(own)[(len(own) - 1) // 2],
        "spread": lambda own: max(own) - min(own),
    }
    for rule, chosen in choose.items():
        for gone in (None, "p38") if rule in ("median", "spread") else (None,):
            kept = [(value, person) for value, person in rows if person != gone]
            own: dict[str, list[int]] = {}
            for value, person in kept:
                own.setdefault(person, []).append(value)
            table = TYPED[engine](pa.table({"item": [v for v, _ in kept], "person": [p for _, p in kept]}))
            assert counted(table, grid, rule) == dict(Counter(map(chosen, own.values())))


@pytest.mark.parametrize("low", [0, 6, -6])
def test_the_spread_of_numbers_that_are_clipped(low: int) -> None:
    """What is released is on the grid from 0 to high − low, whatever low is."""
    rows = [(value, person) for person in range(300) for value in (-50, 4, 7, 90)[: person % 4 + 1]]
    table = pd.DataFrame(rows, columns=["item", "person"])
    clipped = {0: [0, 3, 6, 30], 6: [0, 0, 0, 24], -6: [0, 9, 12, 36]}[low]
    assert counted(table, Grid.read(low, 30, 3), "spread") == dict(
        Counter(spread // 3 for spread in clipped for _ in range(75))
    )
    asked: dict[str, Any] = {"value": "item", "person": "person", "low": low, "high": 30, "resolution": 3}
    release = fg.quantiles(table, **asked, per_person="spread", q=[0.1, 0.9], epsilon=50)
    assert list(release.values) == [clipped[0], clipped[3]]
    assert [release.low, release.high] == [0, 30 - low]
    assert f"from {low} to 30" in release.privacy.domain
    assert "largest number is above their smallest" in release.privacy.clipped


def test_texts_of_a_file_are_read_row_by_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("item,person\n1.5,a\nabc,b\n,c\n2,\n 3e1 ,d\nnan,e\ninf,f\n0x10,g\n")
    assert counted(str(path), Grid.read(0, 60, 1)) == {1: 1, 30: 1, 60: 1}


# Lists -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 40],
        (1.0, 2.0, 40.0, math.nan),
        np.array([1, 2, 40], dtype=np.uint8),
        pd.Series([1.5, 2.5, None, 40.25]),
        pl.Series([1, 2, None, 40]),
        [Decimal(1), Fraction(5, 2), 40.5, None],
        [1, 2, 10**30, Decimal("Infinity")],
        range(1, 41),
        [],
    ],
    ids=repr,
)
def test_lists_of_numbers(values: Any) -> None:
    release = fg.quantiles(values, q=0.5, low=0, high=40, epsilon=1, bits=fg.SeededBits(1))
    assert 0 <= release.values[0] <= 40
    ((_, people),) = PeopleListed(values).cells(Grid.read(0, 40, 1))
    assert people.sum() == sum(1 for one in values if one is not None and one == one)


@pytest.mark.parametrize(
    "values",
    [[True], ["1"], [[1, 2]], np.array([[1.0]]), [1j], np.array(["2020"], dtype="datetime64[D]")],
    ids=repr,
)
def test_lists_of_something_else(values: Any) -> None:
    with pytest.raises(fg.InvalidArgument, match="table") as caught:
        fg.quantiles(values, q=0.5, low=0, high=40, epsilon=1)
    assert "2020" not in str(caught.value)


# Without a range ---------------------------------------------------------------------------------


def test_zones_are_the_same_in_every_engine() -> None:
    search = RangeSearch.read("1/4", Fraction(1))
    numbers = [
        x for reach in map(float, search.reaches) for x in (reach, -reach, reach * 1.01, -reach * 1.01)
    ]
    numbers += [0.0, -0.0, 1e300, -1e300, math.inf]
    expected = dict(Counter(search.zone_of(number) for number in numbers))
    assert min(expected) == -2 - max(expected) + 1
    table = pa.table({"item": numbers, "person": range(len(numbers))})
    for engine in TYPED.values():
        with open_source(engine(table), "item", "person") as source:
            ((zones, people),) = PeopleInTable(numbers_of(source), "largest").zones(search)
        assert dict(zip(zones.tolist(), people.tolist(), strict=True)) == expected
    for times in (1, 20):  # each by itself, and all at once
        ((zones, people),) = PeopleListed(np.array(numbers * times)).zones(search)
        assert dict(zip(zones.tolist(), (people / times).tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    ("numbers", "low", "high", "step"),
    [
        (range(0, 3000), 0, 4**6, 1),
        (range(-3000, 0), -(4**6), 1, 1),
        ([-20, 3000] * 1500, -(4**3), 4**6, 1),
        ([10**9] * 3000, 0, 4**15, 4**7),
        ([0] * 3000, 0, 1, 1),
        ([10**18] * 3000, 0, 4**20, 4**12),
    ],
)
def test_a_range_is_found(numbers: Any, low: int, high: int, step: int) -> None:
    release = fg.quantiles(list(numbers), q=[0.1, 0.9], epsilon=4, bits=fg.SeededBits(1))
    assert [release.low, release.high, release.resolution, release.spent] == [low, high, step, 4]
    middle = sorted(numbers)[300], sorted(numbers)[2700]
    for value, truth in zip(release.values, middle, strict=True):
        assert abs(value - min(truth, high)) <= max(150, 2 * step)


def test_the_search_is_paid_for() -> None:
    asked: dict[str, Any] = {"resolution": 1, "intervals": False, "asked": Pure(Fraction(8))}
    _, plan, search = read_plan(0.5, None, None, **asked)
    assert isinstance(search, RangeSearch)
    assert [plan.charge, search.epsilon, plan.each] == [8, 1, 7]
    assert read_plan(0.5, 0, 9, **asked)[1].each == 8


def test_the_search_is_one_sparse_vector_for_each_side() -> None:
    """On the same bits as `sparse_vector` on the counts of those further out, with the same charge."""
    search = RangeSearch.read(1, Fraction(1))
    assert [search.epsilon, search.few] == [1, 4]
    zones, people = np.array([-2, 0, 1, 3]), np.array([30, 5, 7, 90])
    grid = search.find([(zones, people)], fg.SeededBits(3))
    source = fg.SeededBits(3)
    asked: dict[str, Any] = {"k": 1, "epsilon": 1, "monotonic": True, "gap": False, "bits": source}
    above = fg.sparse_vector([-97, -90, -90, 0], -4, **asked)
    below = fg.sparse_vector([-30, -30, 0], -4, **asked)
    assert list(above.above) == [False, False, False, True]
    assert list(below.above) == [False, False, True]
    assert [grid.high, grid.low] == [4**3, -4]


# The release -------------------------------------------------------------------------------------


def test_it_is_charged_kept_and_receipted(tmp_path: Path) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("clinic", epsilon=3)
    table = pd.DataFrame({"age": [30] * 50, "patient": range(50)})
    columns: dict[str, Any] = {"value": "age", "person": "patient", "intervals": True}
    release = fg.quantiles(table, **columns, **ASKED, ledger=(ledger, "clinic"))
    assert ledger.account("clinic").spent == release.spent == 1
    again = fg.Release.from_json(release.to_json())
    assert again.rows(exact=True) == release.rows(exact=True)
    assert str(again) == str(release)
    receipt = make_receipt(ledger, 2, SigningKey.made(tmp_path / "key.pem"))
    assert receipt.body["release"]["mechanism"] == "quantiles"
    assert receipt.body["release"]["unit"] == "one value of the column 'patient'"
    assert json.loads(release.to_json())["intervals"][0] == [0.0, 900.0]
    with pytest.raises(fg.BudgetExceeded):
        fg.quantiles(table, value="age", person="patient", q=0.5, epsilon=3, ledger=(ledger, "clinic"))


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"value": "nope"}, "value"),
        ({"person": "nope"}, "person"),
        ({"person": None}, "person"),
        ({"value": None}, "value"),
        ({"value": "name"}, "value"),
        ({"value": "lists"}, "value"),
        ({"per_person": "mean"}, "per_person"),
        ({"per_person": ["median"]}, "per_person"),
        ({"per_person": "spread", "low": None, "high": None}, "per_person"),
        ({"per_person": "spread", "person": None, "protect": "rows"}, "per_person"),
        ({"per_person": "spread", "table": [1, 2], "value": None, "person": None}, "per_person"),
        ({"intervals": 1}, "intervals"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
        ({"low": None}, "low"),
        ({"low": None, "high": None, "resolution": 10**20}, "resolution"),
        ({"ledger": "clinic"}, "ledger"),
    ],
)
def test_bad_arguments_cost_nothing(options: dict[str, Any], argument: str, tmp_path: Path) -> None:
    table = pa.table({"age": [30], "patient": [1], "name": ["x"], "lists": [[1]]})
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("clinic", epsilon=3)
    given = (
        ASKED | {"value": "age", "person": "patient", "ledger": (ledger, "clinic"), "table": table} | options
    )
    with pytest.raises(fg.InvalidArgument) as caught:
        fg.quantiles(**given)
    assert caught.value.argument == argument
    assert ledger.account("clinic").spent == ledger.account("clinic").reserved == 0


def test_objects_are_refused_by_the_schema() -> None:
    table = pd.DataFrame({"age": [30, 31], "patient": [1, 2]}, dtype=object)
    with pytest.raises(fg.InvalidArgument, match="must be a column of numbers"):
        fg.quantiles(table, value="age", person="patient", **ASKED)


@pytest.mark.parametrize("missing", [Decimal("NaN"), Decimal("sNaN"), None, float("nan")])
def test_what_is_no_number_is_left_out_of_a_list(missing: Any) -> None:
    asked: dict[str, Any] = {"q": 0.5, "low": 0, "high": 9, "epsilon": 1}
    with_it, without = (
        fg.quantiles([1, 2, *more], **asked, bits=fg.SeededBits(1)).values for more in ([missing], [])
    )
    assert with_it == without


class Unhashable(Fraction):
    """A number that cannot be looked up."""

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("asked", [{"low": 0, "high": 4}, {}])
def test_a_number_counts_whether_or_not_it_can_be_looked_up(asked: dict[str, Any]) -> None:
    plain = fg.quantiles([1, 2, 1, 3], q=0.5, epsilon=1, bits=fg.SeededBits(1), **asked)
    for kind in (int, float, Fraction, Decimal, Unhashable):
        numbers = [kind(1), 2, kind(1), kind(3), Decimal("sNaN")]
        found = fg.quantiles(numbers, q=0.5, epsilon=1, bits=fg.SeededBits(1), **asked)
        assert found.values == plain.values


@pytest.mark.parametrize("step", ["1", "1/3", "10", "1/1000000000", "1e14"])
def test_how_far_out_a_number_is_whatever_its_type(step: str) -> None:
    """As it is defined, one reach after the other; also next to the reaches, where no double is."""
    search = RangeSearch.read(step, Fraction(1, 8))
    reaches = [float(reach) for reach in search.reaches]
    near = [reach * factor for reach in reaches for factor in (1, 1 + 2.0**-52, 1 - 2.0**-53)]
    less = [Fraction(reach) + sign * Fraction(1, 10**40) for reach in reaches for sign in (-1, 1)]
    exact: list[Any] = [kind(reach) for kind in (Fraction, Decimal, int) for reach in reaches]
    for size in [0, 0.0, 5e-324, math.inf, Decimal("inf"), *near, *less, *exact]:
        for number in (size, -size):
            outside = sum(1 for reach in reaches if number > reach or number < -reach)
            assert search.zone_of(number) == (-1 - outside if number < 0 else outside)


def test_what_is_remembered_of_a_plan_is_no_ones_to_change() -> None:
    """Releases by the same arguments have one plan, but each a record of its own."""
    asked: dict[str, Any] = {"q": 0.5, "low": 0, "high": 2, "epsilon": 1}
    first, second = (fg.quantiles([1] * 9, **asked, bits=fg.SeededBits(1)) for _ in range(2))
    assert first.to_json() == second.to_json()
    assert first.parameters is not second.parameters
    fine = fg.quantiles([1] * 9, **asked, resolution=DEFAULT_RESOLUTION, bits=fg.SeededBits(1))
    assert fine.resolution == DEFAULT_RESOLUTION
    with pytest.raises(fg.InvalidArgument, match="intervals"):
        fg.quantiles([1] * 9, **asked, intervals=0)  # type: ignore[arg-type]
