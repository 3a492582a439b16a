"""Expressions of narwhals and Ibis step by step, as other versions of them might hand them over."""

from __future__ import annotations

import datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import narwhals as nw
import numpy as np
import pytest

from freegap.errors import InvalidArgument
from freegap.tables.condition_readers import (
    _bound,
    _first,
    _matching,
    _of_ibis,
    _of_narwhals,
    _step,
    _value,
    _values,
    read_where,
)
from freegap.tables.condition_text import ColumnName
from freegap.tables.conditions import Compared, Missing

AGE = ColumnName("age")


def _made(name: str, *given: Any, **named: Any) -> Any:
    return SimpleNamespace(name=name, exprs=list(given), kwargs=named)


@pytest.mark.parametrize(
    ("step", "read"),
    [
        (_made("__eq__", 3), "age = 3"),
        (_made("eq", 3), "age = 3"),
        (_made("__ge__", 3), "age >= 3"),
        (_made("__and__", nw.col("old")), "age = TRUE AND old = TRUE"),
        (_made("__or__", nw.col("old")), "age = TRUE OR old = TRUE"),
        (_made("__invert__"), "NOT (age = TRUE)"),
        (_made("is_null"), "age IS NULL"),
        (_made("is_in", other=[1, 2]), "age IN (1, 2)"),
        (_made("is_between", 1, 2, closed="left"), "age >= 1 AND age < 2"),
        (_made("is_between", 1, 2, closed="none"), "age > 1 AND age < 2"),
        (_made("str.starts_with", prefix="a"), "age LIKE 'a%'"),
        (_made("str.ends_with", suffix="a"), "age LIKE '%a'"),
        (_made("str.ends_with", "a"), "age LIKE '%a'"),
        (_made("str.contains", pattern="a", literal=True), "age LIKE '%a%'"),
    ],
    ids=lambda one: getattr(one, "name", one),
)
def test_steps_that_are_read(step: Any, read: str) -> None:
    assert str(_step(AGE, step)) == read


@pytest.mark.parametrize(
    "step",
    [
        _made("__eq__"),
        _made("__eq__", 3, 4),
        _made("__and__"),
        _made("__and__", nw.col("a"), nw.col("b")),
        _made("__or__", nw.col("a"), nw.col("b")),
        _made("is_between", 1, closed="left"),
        _made("is_between", 1, 2, 3, closed="left"),
        _made("is_in", other="ab"),
        _made("is_in", other=3),
        _made("is_in", other=[]),
        _made("str.starts_with"),
        _made("str.starts_with", prefix=""),
        _made("str.starts_with", prefix=3),
        _made("str.starts_with", "a", prefix="b"),
        _made("str.starts_with", "a", "b"),
        _made("str.contains", pattern="a"),
        _made("str.contains", pattern="a", literal=False),
        _made("str.contains", pattern="a", literal=1),
        _made("sum"),
        _made("__add__", 3),
    ],
    ids=lambda one: f"{one.name} {len(one.exprs)} {one.kwargs}",
)
def test_steps_that_are_not(step: Any) -> None:
    with pytest.raises(InvalidArgument, match="is no comparison of one row's values"):
        _step(AGE, step)


def test_where_an_expression_may_begin() -> None:
    assert _first("col", {"names": ["age"]}) == AGE
    assert _first("lit", {"value": 3}) == 3
    for name, named in (("col", {"names": ["a", "b"]}), ("col", {"names": []}), ("all", {}), ("len", {})):
        with pytest.raises(InvalidArgument, match="is no comparison"):
            _first(name, named)
    for nothing in (SimpleNamespace(_nodes=()), SimpleNamespace(), SimpleNamespace(_nodes=None)):
        with pytest.raises(InvalidArgument, match="this version of narwhals does not tell"):
            _of_narwhals(nothing)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (2**63 - 1, 2**63 - 1),
        (-(2**63) + 1, -(2**63) + 1),
        (np.int64(-7), -7),
        (np.float64(0.5), 0.5),
        (np.str_("a"), "a"),
        (np.bool_(False), False),
        (Decimal("2.5"), 2.5),
        (Decimal("2.0"), 2),
        (True, True),
        (datetime.date(2026, 1, 1), datetime.date(2026, 1, 1)),
        (datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 1)),
    ],
    ids=repr,
)
def test_values_that_are_read(value: Any, read: Any) -> None:
    found = _value(value)
    assert (found, type(found)) == (read, type(read))


@pytest.mark.parametrize(
    "value",
    [2**63, -(2**63), float("nan"), float("inf"), -float("inf"), np.float32("nan"), None, b"a", 1j, [1], (1,),
     datetime.time(1), datetime.timedelta(1), object()],
    ids=lambda value: repr(value).split(" at ")[0],
)  # fmt: skip
def test_values_that_are_not(value: Any) -> None:
    with pytest.raises(InvalidArgument, match="is no comparison"):
        _value(value)
    with pytest.raises(InvalidArgument, match="is no comparison"):
        _values([1, value])


def test_a_place_that_is_no_column_cannot_match() -> None:
    assert str(_matching(AGE, "str.ends_with", ["a"], {})) == "age LIKE '%a'"
    for read in (3, Missing("age")):
        with pytest.raises(InvalidArgument, match="is no comparison"):
            _matching(read, "str.ends_with", ["a"], {})


def test_what_is_no_condition_at_all() -> None:
    condition = Compared("age", "=", 3)
    assert read_where(condition, None) is condition
    assert read_where(None, None) is None
    for where in (3, b"age = 3", ["age = 3"], object()):
        with pytest.raises(InvalidArgument, match="must be a condition as SQL writes it"):
            read_where(where, None)


def test_expressions_of_ibis_that_are_none_of_this_table() -> None:
    import ibis

    table, other = (ibis.table({"age": "int64", "name": "string"}, name=name) for name in ("one", "two"))
    assert str(read_where(table.age > 3, table)) == "age > 3"
    assert str(read_where(ibis._.age > 3, table)) == "age > 3"
    for where in (other.age > 3, table.age > other.age, table.age.sum() > 3, table.name.upper() == "A"):
        with pytest.raises(InvalidArgument, match="is no comparison"):
            read_where(where, table)
    with pytest.raises(InvalidArgument, match="is for tables of Ibis"):
        read_where(table.age > 3, None)
    resolved = SimpleNamespace(resolve=lambda _: 3)
    with pytest.raises(InvalidArgument, match="is no comparison"):
        _bound(resolved, table)
    for missing, text in ((table.age.isnull(), "age IS NULL"), (table.age.notnull(), "NOT (age IS NULL)")):
        assert str(_of_ibis(missing.op(), table)) == text
