"""Which kind a column and a value are of: a table of every one that there is."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from freegap.errors import InvalidArgument
from freegap.tables.kinds import column_kind, is_missing, require_kind, type_kind
from tests.tables.engines import counts_of

COLUMNS: dict[Any, str] = {
    pl.Int8: "integer",
    pl.Int64: "integer",
    pl.UInt32: "integer",
    pl.UInt64: "number",
    pl.Int128: "number",
    pl.Float32: "float",
    pl.Float64: "float",
    pl.Boolean: "truth value",
    pl.Decimal(10, 2): "decimal",
    pl.String: "text",
    pl.Datetime: "date and time",
    pl.Date: "date",
    pl.Time: "time",
    pl.Duration: "duration",
    pl.Binary: "bytes",
    pl.Categorical: "other",
    pl.Object: "other",
}


@pytest.mark.parametrize(("dtype", "kind"), COLUMNS.items(), ids=str)
def test_the_kind_of_a_column(dtype: Any, kind: str) -> None:
    frame: Any = nw.from_native(pl.DataFrame(schema={"item": dtype}))
    assert column_kind(frame.collect_schema()["item"], "item") == kind


@pytest.mark.parametrize("dtype", [nw.UInt64(), nw.Int128(), nw.UInt128()], ids=str)
def test_integers_beyond_the_engines_are_numbers(dtype: Any) -> None:
    assert column_kind(dtype, "item") == "number"


@pytest.mark.parametrize("dtype", [pl.List(pl.Int64), pl.Struct({"a": pl.Int64}), pl.Array(pl.Int64, 2)])
def test_a_column_of_structures_is_refused_by_its_name(dtype: Any) -> None:
    frame: Any = nw.from_native(pl.DataFrame(schema={"basket": dtype}))
    with pytest.raises(InvalidArgument, match=r"item = 'basket': must be a column of plain values"):
        column_kind(frame.collect_schema()["basket"], "basket")


VALUES: list[tuple[Any, str]] = [
    (True, "truth value"),
    (np.True_, "truth value"),
    (1, "integer"),
    (np.uint8(1), "integer"),
    (1.5, "number"),
    (np.float32(1.5), "number"),
    (Fraction(1, 3), "number"),
    (Decimal("1.5"), "number"),
    ("1", "text"),
    (np.str_("1"), "text"),
    (datetime.datetime(2026, 1, 1), "date and time"),
    (pd.Timestamp(2026, 1, 1), "date and time"),
    (datetime.date(2026, 1, 1), "date"),
    (datetime.time(1), "time"),
    (datetime.timedelta(1), "duration"),
    (b"1", "bytes"),
    ((1,), "other"),
]


@pytest.mark.parametrize(("value", "kind"), VALUES, ids=lambda value: f"{type(value).__name__} {value}")
def test_the_kind_of_a_value(value: Any, kind: str) -> None:
    assert type_kind(type(value)) == kind


def test_truth_values_of_numpy_are_no_numbers() -> None:
    table = pd.DataFrame({"item": [1, 1, 0], "person": [1, 2, 3]})
    with pytest.raises(InvalidArgument, match="which holds integers"):
        counts_of(table, [np.True_, np.False_])


def test_what_stands_for_no_value() -> None:
    for value in (None, float("nan"), np.float64("nan"), Decimal("NaN"), pd.NA, pd.NaT):
        assert is_missing(value)
    for value in (0, 0.0, Decimal(0), "", "nan", "None", False, float("inf")):
        assert not is_missing(value)


@pytest.mark.parametrize(
    ("column", "domain"),
    [
        ("other", {"text"}),
        ("integer", set()),
        ("integer", {"other"}),
        ("integer", {"text", "other"}),
        ("text", {"text", "integer"}),
        ("integer", {"number"}),
        ("decimal", {"integer"}),
        ("float", {"number", "text"}),
        ("number", {"decimal"}),
    ],
    ids=lambda part: part if isinstance(part, str) else "+".join(sorted(part)),
)
def test_domains_that_may_hold_an_item(column: str, domain: set[str]) -> None:
    require_kind("c", column, frozenset(domain))


@pytest.mark.parametrize(
    ("column", "domain", "message"),
    [
        (
            "integer",
            {"text"},
            "domain = '<text>': cannot contain an item of column 'c', which holds integers",
        ),
        ("text", {"integer", "bytes"}, "domain = '<bytes, integer>': cannot contain .* which holds texts"),
        ("bytes", {"text"}, r"which holds bytes\. Pass a domain of bytes: an item is never converted"),
        ("date and time", {"date"}, "which holds dates with times"),
        ("date", {"date and time"}, "which holds dates. Pass a domain of dates:"),
        ("truth value", {"integer"}, "which holds truth values"),
        ("integer", {"truth value"}, "which holds integers"),
        ("duration", {"time", "number"}, "which holds durations"),
    ],
)
def test_domains_that_cannot_hold_an_item(column: str, domain: set[str], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        require_kind("c", column, frozenset(domain))
