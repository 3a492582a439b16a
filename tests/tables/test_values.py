"""Totals of a value: the rule by hand, in every engine, on the same bits; and what one person can do."""

from __future__ import annotations

import csv
import json
import math
import random
import warnings
from collections.abc import Sequence
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
import pyarrow.parquet as pq
import pytest

import freegap as fg
from freegap.mechanisms.top_k import noisy_top_k
from freegap.tables.forecast import forecast_above, forecast_top_k
from freegap.tables.people import counted, pairs_of
from freegap.tables.sources import open_source
from freegap.tables.values import MOST_UNITS, ClippedValue

Row = tuple[Any, Any, float | None]
DOMAIN = [f"i{k:02}" for k in range(15)]
ODD = [0.29, -0.005, 0.005, 1e300, -1e300, math.inf, None, math.nan, 12.345, 7.0, -7.0, 0.0, -0.0]


def _rows() -> list[Row]:
    chance = random.Random(1)
    return [
        (
            f"i{chance.randrange(12):02}",
            chance.randrange(40),
            chance.choice([chance.uniform(-50, 120), *ODD]),
        )
        for _ in range(700)
    ]


ROWS = _rows()
RULES = {
    "not negative": ("cost", 0, 100, None),
    "in cents": ("cost", "2.5", 100, "0.01"),
    "either way": ("cost", -20, 50, 1),
    "not positive": ("cost", -30, -5, "0.1"),
}


def rule(which: str) -> ClippedValue:
    read = ClippedValue.read(*RULES[which])
    assert read is not None
    return read


def arrow(rows: Sequence[Row]) -> pa.Table:
    item, person, cost = zip(*rows, strict=True)
    return pa.table({"item": item, "person": person, "cost": pa.array(cost, pa.float64())})


_KEPT: list[Any] = []


def _duckdb(rows: Sequence[Row], _: Path) -> Any:
    _KEPT.append(connection := duckdb.connect())
    connection.register("rows", arrow(rows))
    return connection.sql("SELECT * FROM rows")


def _ibis(rows: Sequence[Row], _: Path) -> Any:
    backend = ibis.duckdb.connect()
    backend.con.register("rows", arrow(rows))
    return backend.table("rows")


def _parquet(rows: Sequence[Row], at: Path) -> Path:
    pq.write_table(arrow(rows), at / "rows.parquet")
    return at / "rows.parquet"


def _csv(rows: Sequence[Row], at: Path) -> Path:
    with (at / "rows.csv").open("w", newline="") as file:
        written = [(i, p, "no number" if v is None else repr(v)) for i, p, v in rows]
        csv.writer(file).writerows([("item", "person", "cost"), *written])
    return at / "rows.csv"


def _json_lines(rows: Sequence[Row], at: Path) -> Path:
    lines = [json.dumps({"item": i, "person": p, "cost": v if v is None else repr(v)}) for i, p, v in rows]
    (at / "rows.jsonl").write_text("\n".join(lines))
    return at / "rows.jsonl"


ENGINES: dict[str, Any] = {
    "pandas": lambda rows, _: arrow(rows).to_pandas().astype({"item": "string"}),
    "polars": lambda rows, _: pl.DataFrame(pl.from_arrow(arrow(rows))),
    "pyarrow": lambda rows, _: arrow(rows),
    "duckdb": _duckdb,
    "ibis": _ibis,
    "parquet": _parquet,
    "csv": _csv,
    "json lines": _json_lines,
}


def by_hand(by: ClippedValue, rows: Sequence[Row], domain: Sequence[Any] = DOMAIN) -> dict[Any, int]:
    """The rule in Python's own doubles and whole numbers."""
    sums: dict[tuple[Any, Any], int] = {}
    for item, person, value in rows:
        if value is None or math.isnan(value):
            continue
        scaled = max(-by.sensitivity, min(by.sensitivity, value * by.unit.denominator))
        sums[item, person] = sums.get((item, person), 0) + math.floor(scaled + 0.5)
    totals = dict.fromkeys(domain, 0)
    for (item, _), units in sums.items():
        if item in totals:
            totals[item] += max(int(by.low / by.unit), min(int(by.high / by.unit), units))
    return totals


def totals_of(table: Any, by: ClippedValue, domain: Any = DOMAIN, **options: Any) -> dict[Any, int]:
    """Every item and its total, by naming every member of every group."""
    asked: dict[str, Any] = {"domain_column": None, "observed_keys_are_public": True} | options
    with counted(table, item="item", person="person", domain=domain, value=by, **asked) as found:
        tally = found.tally
        places = [(g, m) for g, size in enumerate(tally.sizes.tolist()) for m in range(size)]
        names = tally.names(places)
        assert len(set(names)) == len(names)
        assert sorted(set(tally.values.tolist()) - {0}, reverse=True) == [v for v in tally.values if v]
        return {name: int(tally.values[g]) for name, (g, _) in zip(names, places, strict=True)}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_adds_up_by_the_rule(engine: str, tmp_path: Path) -> None:
    table = ENGINES[engine](ROWS, tmp_path)
    for which in RULES if engine in ("pandas", "pyarrow", "polars") else ("in cents", "either way"):
        wanted = by_hand(rule(which), ROWS)
        assert totals_of(table, rule(which)) == wanted
    assert totals_of(table, rule(which), "observed") == {item: wanted[item] for item in DOMAIN[:12]}


def test_a_total_of_zero_is_like_an_item_that_nobody_has(tmp_path: Path) -> None:
    """Whole numbers, so that the counts stay in the engine; some totals are 0, and some are negative."""
    rows: list[Row] = [(1, 1, 5.0), (1, 2, -5.0), (4, 1, -3.0), (6, 3, 2.0), (7, 4, 0.0)]
    by = ClippedValue.read("cost", -9, 9, 1)
    assert by is not None
    wanted = {0: 0, 1: 0, 2: 0, 3: 0, 4: -3, 5: 0, 6: 2, 7: 0}
    for engine in ("pyarrow", "polars", "duckdb", "ibis"):
        table = ENGINES[engine](rows, tmp_path)
        assert totals_of(table, by, range(8)) == wanted
        assert totals_of(table, by, "observed") == {1: 0, 4: -3, 6: 2, 7: 0}
    held = duckdb.connect()
    held.register("rows", arrow(rows))
    held.register("items", pa.table({"item": list(range(8))}))
    assert totals_of(held.sql("FROM rows"), by, held.sql("FROM items")) == wanted


def test_no_order_of_rows_changes_a_total(tmp_path: Path) -> None:
    """As sums of doubles these would depend on it: 1e16 + 1 − 1e16 is 0 or 1. And each 0.6 counts as 1."""
    by = ClippedValue.read("cost", -(2**30), 2**30, 1)
    assert by is not None
    rows = [("i01", 1, value) for value in (1e16, 1.0, -1e16, 0.6, 0.3, 0.6)]
    for order in (rows, rows[::-1], rows[2:] + rows[:2]):
        for engine in ("pandas", "polars", "duckdb"):
            assert totals_of(ENGINES[engine](order, tmp_path), by)["i01"] == 3


@pytest.mark.parametrize(
    "column",
    [
        pa.array([3, -2, None, 7], pa.int16()),
        pa.array([3, 0, None, 7], pa.uint64()),
        pa.array([True, False, None, True]),
        pa.array([Decimal("3.00"), Decimal("-2.50"), None, Decimal("7.25")], pa.decimal128(9, 2)),
        pa.array([3.0, -2.5, None, 7.25], pa.float32()),
    ],
    ids=str,
)
def test_kinds_of_numbers(column: pa.Array) -> None:
    by = ClippedValue.read("cost", -5, 5, "0.01")
    assert by is not None
    rows: list[Row] = [
        (f"i{i:02}", 1, None if v is None else float(v)) for i, v in enumerate(column.to_pylist())
    ]
    table = pa.table({"item": [r[0] for r in rows], "person": [r[1] for r in rows], "cost": column})
    frames: list[Any] = [table, pl.from_arrow(table), duckdb.from_arrow(table), ibis.memtable(table)]
    if column.type not in (pa.bool_(), pa.decimal128(9, 2)):  # which pandas holds as objects
        frames.append(table.to_pandas().astype({"item": "string"}))
    for frame in frames:
        assert totals_of(frame, by) == by_hand(by, rows)


# One person ---------------------------------------------------------------------------------------


def added(table: Any, by: ClippedValue) -> dict[tuple[Any, Any], int]:
    """What each person adds to each item."""
    with open_source(table, "item", "person", value=by) as source:
        pairs = pairs_of(source).lazy().collect()
        columns = (pairs[name].to_list() for name in ("item", "person", "value"))
        return {(item, person): int(value) for item, person, value in zip(*columns, strict=True)}


@pytest.mark.filterwarnings("default")  # as they were, when it ends
@pytest.mark.parametrize("which", RULES)
@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow", "duckdb"])
def test_one_person_changes_nothing_for_anybody_else(engine: str, which: str, tmp_path: Path) -> None:
    by = rule(which)
    values = [1e308, -1e308, math.inf, -math.inf, math.nan, None, 0.005, 3.0, -3.0, 1e-320]
    hostile: list[Row] = [(item, 99, value) for item in DOMAIN for value in values * 2][::3]
    hostile += [(item, person, value) for item in DOMAIN for person, value in ((98, 1e9), (97, -1e9))] * 3
    before = added(ENGINES[engine](ROWS, tmp_path), by)
    warnings.simplefilter("error")  # a value that overflows would be told by one
    after = added(ENGINES[engine]([*hostile[:30], *ROWS, *hostile[30:]], tmp_path), by)
    assert {pair: value for pair, value in after.items() if pair[1] < 97} == before
    own = [Fraction(value) for (_, person), value in after.items() if person >= 97]
    assert len(own) == 3 * len(DOMAIN)
    assert [min(own), max(own)] == [by.low / by.unit, by.high / by.unit]
    assert max(map(abs, own)) == by.sensitivity
    assert by.monotonic == (which != "either way")
    if by.monotonic:
        assert min(own) >= 0 or max(own) <= 0


def test_the_mechanism_is_told_what_the_rule_says() -> None:
    """Released from the totals in units, by hand: the same release; so the noise is that of Δ and c."""
    for which, k in (("not negative", 3), ("either way", 2)):
        by = rule(which)
        totals = totals_of(arrow(ROWS), by)
        column, low, high, unit = RULES[which]
        asked: dict[str, Any] = {"item": "item", "person": "person", "domain": DOMAIN, "epsilon": 1, "k": k}
        summed: dict[str, Any] = {"value": column, "low": low, "high": high, "unit": unit}
        release = fg.top_k(arrow(ROWS), **asked, **summed, bits=fg.SeededBits(5))
        scale = (1 if by.monotonic else 2) * k * by.sensitivity * by.unit
        assert release.parameters["scale"] == scale
        assert release.parameters["sensitivity"] == max(abs(by.low), by.high)
        # Without ties the groups of equal totals are single items, from the largest down.
        counts = sorted(totals.values(), reverse=True)
        assert len(set(counts[:12])) == 12
        shape = fg.Counts(
            [*sorted(set(counts) - {0}, reverse=True), 0],
            [1] * (len(set(counts)) - 1) + [counts.count(0)],
            name=lambda group, member: (group, member),
        )
        alone = noisy_top_k(
            shape, k, epsilon=1, sensitivity=by.sensitivity, monotonic=by.monotonic, bits=fg.SeededBits(5)
        )
        assert release.gaps == tuple(gap * by.unit for gap in alone.gaps)
        measured = fg.top_k(arrow(ROWS), **asked, **summed, measure=True, bits=fg.SeededBits(5))
        assert measured.intervals is not None
        for label, (below, over) in zip(measured.labels, measured.intervals, strict=True):
            assert below < over
            assert below >= 0 or by.low < 0
            assert label in DOMAIN


def released(table: Any) -> list[Any]:
    asked: dict[str, Any] = {"item": "item", "person": "person", "domain": DOMAIN}
    made: list[fg.Release] = []
    for value, low, high, unit in (RULES["in cents"], RULES["either way"]):
        summed: dict[str, Any] = {"value": value, "low": low, "high": high, "unit": unit}
        made.append(fg.top_k(table, k=4, epsilon="1/2", bits=fg.SeededBits(1), **summed, **asked))
        made.append(fg.top_k(table, k=4, rho=1, measure=True, bits=fg.SeededBits(2), **summed, **asked))
        made.append(fg.above(table, k=6, threshold=99, epsilon=1, bits=fg.SeededBits(3), **summed, **asked))
    return [release.to_dict() for release in made]


@pytest.fixture(scope="module")
def reference() -> list[Any]:
    return released(arrow(ROWS))


@pytest.mark.parametrize("engine", ["pandas", "polars", "duckdb", "csv"])
def test_same_bits_same_release(engine: str, reference: list[Any], tmp_path: Path) -> None:
    assert released(ENGINES[engine](ROWS, tmp_path)) == reference


def test_what_was_clipped_stands_in_the_release(reference: list[Any]) -> None:
    first, above = reference[0], reference[2]
    assert "at most 100, and all in the same direction" in first["privacy"]["neighbours"]
    assert "'cost'" in first["privacy"]["clipped"]
    assert "rounded to a multiple of 0.01 and to at most 100 in size" in first["privacy"]["clipped"]
    assert first["table"]["title"] == "Private top 4, by total cost"
    assert "items with a total cost of more than 99" in above["table"]["title"]
    assert "same direction" not in reference[3]["privacy"]["neighbours"]
    assert first["parameters"]["unit"] == "1/100"


def test_what_a_release_will_be_is_told_beforehand() -> None:
    people = forecast_top_k(k=3, epsilon=1, measure=True)
    costs = forecast_top_k(k=3, epsilon=1, measure=True, value="cost", low=0, high=100)
    either = forecast_top_k(k=3, epsilon=1, value="cost", low=-1, high=100)
    assert costs.gap_error == pytest.approx(100 * people.gap_error)
    assert costs.estimate_error == pytest.approx(100 * (people.estimate_error or 0))
    assert either.gap_error == pytest.approx(2 * costs.gap_error / 2)  # twice the noise; all of ε selects
    assert "people" not in " ".join(costs.lines())
    above = forecast_above(k=3, epsilon=1, value="cost", low=0, high=100, unit="0.1")
    assert above.gap_error == pytest.approx(100 * forecast_above(k=3, epsilon=1).gap_error)


# What is refused, before anything is read -----------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"value": None}, "low.*bounds the values"),
        ({"value": None, "low": None, "high": None, "unit": 1}, "unit"),
        ({"value": 3}, "value.*column"),
        ({"low": None}, "low.*missing"),
        ({"high": None}, "high.*missing"),
        ({"low": 5, "high": 4}, "high.*at least low"),
        ({"low": 0, "high": 0}, "not both 0"),
        ({"high": "inf"}, "high"),
        ({"high": "0.25", "unit": "0.1"}, "high.*multiple of the unit, 0.1"),
        ({"low": "-1/3"}, "low.*multiple"),
        ({"unit": 2}, "unit.*reciprocal"),
        ({"unit": "1e-16", "high": "1e-9"}, "unit.*finest"),
        ({"unit": 0}, "unit"),
        ({"high": MOST_UNITS + 1, "unit": 1}, "high.*2\\^31"),
        ({"low": -MOST_UNITS - 1, "unit": 1}, "low.*2\\^31"),
        ({"domain": "unknown", "delta": "1e-7"}, "value.*unknown"),
    ],
)
def test_errors_come_before_the_table_is_read(options: dict[str, Any], names: str) -> None:
    asked: dict[str, Any] = {"item": "item", "person": "person", "domain": DOMAIN, "k": 2, "epsilon": 1}
    asked |= {"value": "cost", "low": 0, "high": 10} | options
    with pytest.raises(fg.InvalidArgument, match=names):
        fg.top_k("nowhere.csv", **asked)


def test_columns_that_cannot_be_added_up() -> None:
    asked: dict[str, Any] = {"item": "item", "person": "person", "domain": ["a"], "k": 1, "epsilon": 1}
    asked |= {"value": "cost", "low": 0, "high": 10}
    people = {"item": ["a", "b"], "person": [1, 2]}
    for column in (["secret", "5"], [Decimal(1), Decimal(2)], [[1], [2]]):
        with pytest.raises(fg.InvalidArgument, match=r"must be a column of numbers") as raised:
            fg.top_k(pd.DataFrame(people | {"cost": pd.Series(column, dtype=object)}), **asked)
        assert "secret" not in str(raised.value)
    with pytest.raises(fg.InvalidArgument, match=r"value.*is not a column"):
        fg.top_k(pd.DataFrame(people), **asked)
    cents = pa.table(people | {"cost": pa.array([Decimal("1.234")] * 2, pa.decimal128(9, 3))})
    with pytest.raises(fg.InvalidArgument, match=r"unit.*decimals with 3 places"):
        fg.top_k(cents, unit="0.01", **asked)
    objects = pd.DataFrame(people | {"cost": [1.0, 2.0]}).astype({"item": object})
    with pytest.raises(fg.InvalidArgument, match=r"low.*cannot be negative"):
        fg.top_k(objects, **(asked | {"low": -1}))


def test_a_file_of_lines_has_no_values(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_text("1 2\n")
    with pytest.raises(fg.InvalidArgument, match="value"):
        fg.top_k(tmp_path / "a.dat", k=1, epsilon=1, domain=range(3), value="cost", low=0, high=1)


@pytest.mark.parametrize("type_", [pa.int64(), pa.uint64()])
def test_a_number_that_is_no_double_makes_nothing_fail(type_: pa.DataType) -> None:
    """An error would tell that somebody has one."""
    largest = 2**63 - 1 if type_ == pa.int64() else 2**64 - 1
    table = pa.table({"item": ["a", "b", "b"], "person": [1, 2, 2], "n": pa.array([3, largest, None], type_)})
    by = ClippedValue.read("n", 0, 10, 1)
    for native in (table, table.to_pandas(types_mapper=pd.ArrowDtype), pl.from_arrow(table)):
        with open_source(native, "item", "person", value=by) as source:
            pairs = pairs_of(source).lazy().collect()
        assert dict(zip(pairs["item"].to_list(), pairs["value"].to_list(), strict=True)) == {"a": 3, "b": 10}


def test_the_largest_values_stay_within_64_bits() -> None:
    """Rows and people at the bound; the sum of a person's rows leaves 32 bits, and is clipped."""
    assert MOST_UNITS * 2**31 == 2**62, "so many rows of a person, or people of an item"
    by = ClippedValue.read("cost", -MOST_UNITS, MOST_UNITS, 1)
    assert by is not None
    rows: list[Row] = [("i01", person, 1e30) for person in range(3) for _ in range(50)]
    rows += [("i02", person, -1e30) for person in range(2)]
    for engine in ("pandas", "polars", "pyarrow", "duckdb"):
        totals = totals_of(ENGINES[engine](rows, Path()), by)
        assert (totals["i01"], totals["i02"]) == (3 * MOST_UNITS, -2 * MOST_UNITS)


@pytest.mark.parametrize("engine", ["pyarrow", "pandas on pyarrow", "pandas", "polars"])
def test_whole_numbers_that_are_no_doubles_are_no_error(engine: str) -> None:
    values = pa.array([1, 2**53 + 1, None, -(2**63), 2**63 - 1], pa.int64())
    table: Any = pa.table({"item": ["i00"] * 5, "person": range(5), "cost": values})
    made: dict[str, Any] = {
        "pyarrow": lambda: table,
        "pandas on pyarrow": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
        "pandas": lambda: table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get),
        "polars": lambda: pl.from_arrow(table),
    }
    assert totals_of(made[engine](), rule("either way"))["i00"] == 1 + 50 - 20 + 50


def test_units_by_hand() -> None:
    assert [ClippedValue.read("c", 0, high, None).unit for high in (1, 5, 100, 10**6, 10**9)] == [  # type: ignore[union-attr]
        Fraction(1, 10**8), Fraction(1, 10**7), Fraction(1, 10**6), Fraction(1, 100), Fraction(1)
    ]  # fmt: skip
    assert np.floor(0.29 * 100 + 0.5) == 29  # and not 28, as rounding down would have it
