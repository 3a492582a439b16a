"""Numbers, names and dates on either side of each limit, read by themselves; no table is opened."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import freegap as fg
from freegap.mechanisms.quantiles import Grid
from freegap.mechanisms.unknown_counts import UnknownCountsPlan
from freegap.tables.databases import database_kind, shown
from freegap.tables.files import FileTable
from freegap.tables.forecast import touched_by
from freegap.tables.grouping import GroupArguments
from freegap.tables.histograms import below
from freegap.tables.kinds import is_missing, require_kind, type_kind
from freegap.tables.parts import PartProduct, kinds_of, parts_of, read_tuples, text_of
from freegap.tables.quantiles_dates import Calendar
from freegap.tables.quantiles_grid import PeopleListed, cell_of, is_plain
from freegap.tables.quantiles_range import RangeSearch
from freegap.tables.results import of_people, of_totals
from freegap.tables.spelling import spelt_alike
from freegap.tables.tallies import number_of_people
from freegap.tables.unknown_above import intervals_above
from freegap.tables.values import ClippedValue
from freegap.tables.windows import TimeWindows
from tests.recorded.tables.told import Journal
from tests.recorded.tables.variations import Question, asked

_D, _T = datetime.date, datetime.datetime
_HOUR = datetime.timedelta(hours=1)
_UNITS = [(0, 2**31, 1), (0, 2**31 + 1, 1), (-(2**31), 1, 1), (-(2**31) - 1, 1, 1), (0, 10**8, None), (0,
    10**8 + 1, None),
          (0, 10**7, None), (0, 99, None), (0, "1e-7", None), (0, "1e-8", None), (-3, "0.25", None), (0,
              "1/3", None),
          (0, "1/3", "1/3"), (0, 0, 1), (1, 1, 1), (-5, -1, 1), (-5, 0, 1), (0, 5, "1e-15"), (0, "1e-6",
              "1e-15"), (0, 1, "1/7"),
          (0, 1, 2), (0, 1, 0), (0, 1, -1), (2, 1, 1), ("x", 1, 1), (0, 1, "x"), (None, 1, 1), (0, None,
              1)]  # fmt: skip
_DATES: list[tuple[Any, Any, Any]] = [
    ("2026-01-01", "2026-01-31", 1), ("2026-01-01", "2026-01-31", 7), ("2026-01-01", "2026-01-31", 30),
    ("2026-01-01", "2026-01-31", 0), ("2026-01-01", "2026-01-31", "1/2"), ("2026-01-01", "2026-01-31", -1),
    ("2026-01-01", "2026-01-01", 1), ("2026-01-31", "2026-01-01", 1), ("2026-01-01", None, 1), (None,
        "2026-01-01", 1),
    ("2026-01-01", 5, 1), (5, "2026-01-01", 1), ("2026-01-01", "x", 1), ("2026-13-01", "2026-12-31", 1), (1,
        2, 1),
    ("x", "y", 1), (_D(2026, 1, 1), _D(2026, 1, 31), _HOUR), (_D(2026, 1, 1), _D(2026, 1, 31), 24 * _HOUR),
    (_D(2026, 1, 1), _T(2026, 1, 31), 3600), (_T(2026, 1, 1), _T(2026, 1, 1, 1), 1), (_T(2026, 1, 1),
        _T(2026, 1, 1, 1), _HOUR),
    (_T(2026, 1, 1), _T(2026, 1, 1, 1), "1/1000"), (_T(2026, 1, 1), _T(2026, 1, 1, 1), "1e-7"), (_T(2026, 1,
        1), _T(2026, 1, 1, 1), 7),
    (_T(2026, 1, 1, tzinfo=datetime.UTC), _T(2026, 2, 1), 1), ("2026-01-01T00:00:00", "2026-01-02", 60),
    ("2026-01-01 00:00:00.5", "2026-01-01 00:00:01", "1/2"), (_D(1000, 1, 1), _D(1000, 1, 2), 1), (_D(999,
        12, 31), _D(1000, 1, 2), 1),
    (_D(9000, 12, 30), _D(9000, 12, 31), 1), (_D(9000, 12, 31), _D(9001, 1, 1), 1), (_D(1000, 1, 1), _D(9000,
        1, 1), 1),
    (_D(1000, 1, 1), _D(9000, 1, 1), 366), (_T(2000, 1, 1), _T(2035, 9, 1), 3600 * 24 * 31), (_T(2000, 1, 1),
        _T(2036, 1, 1), 3600 * 24),
    (_T(2000, 1, 1), _T(2035, 9, 6), 3600 * 24), (_D(2000, 1, 1), _D(2100, 1, 1), 1), ("1969-12-31",
        "1970-01-02", 1),
]  # fmt: skip
_VALUES: list[Any] = [True, np.True_, 3, np.int8(3), 3.5, np.float32(3.5), Decimal("3.5"), Fraction(1, 3),
    1j, "a", b"a", None,
                      float("nan"), Decimal("nan"), pd.NA, pd.NaT, _D(2026, 1, 1), _T(2026, 1, 1),
                          datetime.time(1), _HOUR, (1,),
                      math.inf]  # fmt: skip
_NUMBERS: list[Any] = [-11, -10, -9.999, -0.1, 0, -0.0, 0.1, 0.25, 0.3, 1 / 3, Fraction(1, 3),
    0.30000000000000004, 1, 7.5, 9.99,
                       9.999999999999998, 10, 29, 30, 31, math.inf, -math.inf, Decimal("0.3"),
                           2**70]  # fmt: skip
_GRIDS = [
    (-10, 30, 1),
    (0, 10, "1/4"),
    (0, 10, "1/10"),
    (-1, 12, "1/49"),
    (-20, 40, 10),
    (-9, 30, "3/10"),
    (0, 3, "1/3"),
]
_PLACES = ["a.csv", "a.CSV", "a.csv.gz", "a.parquet.gz", "a.pq", "a.tsv.zst", "a.gz", "a.txt", "a.json",
    "a.ndjson", "a.duckdb",
           "a.DDB", "a.sqlite3", "a.db", "duckdb:///a", "SQLITE:///a", "postgres://b", "mysql://b",
               "s3://b/a.csv", "://", ""]  # fmt: skip
_NAMES = [" Cafe\u0301  NOIR", "STRASSE", "straße", "\u2126", "a\tb", "", "\u0130"]
_TUPLES = [
    ("A~B", 7, True, _D(2026, 1, 31)),
    ("~0~1", -3, False, _D(999, 1, 1)),
    ("", 0, np.bool_(True), None),
    (np.int8(4), "1"),
]
_GROUPS: list[tuple[Any, ...]] = [
    (None, None, None, False), ("w", None, None, False), ("w", ["a", "b"], None, False), ("w", ["a", "b"], 1,
        False),
    ("w", ["a", "b"], 5, False), ("w", ["a", "b"], None, True), ("w", ["a", "b"], 2, True), ("w", ["a"], 1,
        True), ("w", [], None, False),
    ("w", [], 1, False), ("w", range(7), None, False), ("w", "f.csv", None, False), ("w", "f.csv", 3, False),
        ("w", "f.csv", None, True),
    ("w", "unknown", 2, False), ("w", "unknown", None, True), ("w", "unknown", None, False), ("w", ("a", "b",
        "c"), 2, False),
    (3, ["a"], None, False), (None, ["a"], None, False), (None, None, 2, False), (None, None, None, True),
        ("w", ["a"], 0, False),
    ("w", ["a"], True, False), ("w", ["a"], 1, 1), (None, None, None, False, "g"), ("w", None, None, False,
        "g"), ("w", None, None, False, 3),
]  # fmt: skip


def _calendar(low: Any, high: Any, resolution: Any) -> Any:
    read = Calendar.read(low, high, resolution)
    if read is None:
        return None
    calendar, grid = read
    ends = [str(calendar.named(number)) for number in (grid.low, grid.low + grid.step, grid.high)]
    return [calendar, grid, ends, calendar.length(grid.step), calendar.length_unit]


def _clipped(low: Any, high: Any, unit: Any) -> Any:
    by = ClippedValue.read("cost", low, high, unit)
    if by is None:
        return None
    said = [by.clipped(), by.clipped(grouped=True), by.neighbours(), by.neighbours(by_row=True, touched=3)]
    return [by, by.sensitivity, by.monotonic, by.range, *said, of_totals(by, [(None, 2.5), (-1.5, None)])]


def _kinds(value: Any) -> Any:
    return [type_kind(type(value)), is_missing(value)]


def _cells(number: Any) -> Any:
    grids = [Grid.read(*grid) for grid in _GRIDS]
    searches = [RangeSearch(Fraction(1), Fraction(1)), RangeSearch(Fraction(1, 4), Fraction(1, 3), 5)]
    return [[cell_of(number, grid) for grid in grids], [one.zone_of(number) for one in searches]]


def _searched(resolution: Any, numbers: Iterable[Any]) -> Any:
    search = RangeSearch.read(resolution, Fraction(1, 8))
    listed = PeopleListed(list(numbers))
    grid = search.find(listed.zones(search), fg.SeededBits(3))
    return [
        search.few,
        len(search.reaches),
        search.reaches[-1],
        grid,
        is_plain(grid),
        len(listed.cells(grid)[0][0]),
    ]


def _groups(*said: Any) -> Any:
    of = GroupArguments.read(*said)
    return [of, of.unknown, touched_by(of), of.touched(1), of.touched(9)]


def _grouping(*said: Any) -> Any:
    of = GroupArguments.read(*said)
    asked_for = fg.noisy_top_k([1, 2, 3], 1, epsilon=1, bits=fg.SeededBits(1)).asked
    made = [of.grouping(list(of.groups), by_row=by_row) for by_row in (False, True)]
    return [
        [one, one.parameters, one.line(asked_for), one.charge([Fraction(1), Fraction(3), Fraction(2)])]
        for one in made
    ]


def _bars(epsilon: Any, most: int, counts: list[int], bar: int, highest: int) -> Any:
    plan = UnknownCountsPlan.read(epsilon=epsilon, delta="1e-6", items_per_person=most, people=None)
    return [plan.reach, intervals_above(plan, counts, bar, highest)]


def _product(*lists: Any) -> Any:
    made = PartProduct(lists)
    texts = made[:5] if len(made) < 99 else [made[len(made) - 1]]
    return [len(made), texts, [made.index(text) for text in texts], list(made.examples())[:9]]


def _meeting(column: str, domain: tuple[str, ...]) -> Any:
    return require_kind("x", column, frozenset(domain))


def _windows(day: datetime.date, days: int) -> Any:
    end = day + datetime.timedelta(days=days)
    found = [TimeWindows.read(every, "day", day, end) for every in ("month", "quarter", "year")]
    return [one and [one.labels, one.title, str(one.starts[-1])] for one in found]


READ: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "bounds of values": (_clipped, list(_UNITS)),
    "calendars": (_calendar, _DATES),
    "kinds of values": (_kinds, [(value,) for value in _VALUES]),
    "cells of numbers": (_cells, [(number,) for number in _NUMBERS]),
    "ranges that are found": (
        _searched,
        [(step, [sign * reach] * 90 + [0.5] * 9) for step in (1, "1/4", 3, "1e-14") for sign in (1, -1)
         for reach in (0, 1, 4, 17, 4.0**9 + 1, 4.0**20, 1e15)],
    ),
    "steps of ranges": (_searched, [(step, [1] * 99) for step in (0, -1, "x", "1e-15", 2**48, 2**48 + 1,
        10**15)]),
    "arguments of groups": (_groups, _GROUPS),
    "groups": (_grouping, [one for one in _GROUPS if one[0] == "w" and isinstance(one[1], list)]),
    "thresholds": (number_of_people, [(one,) for one in (2**62, 2**62 + 1, -(2**62), -(2**62) - 1, "7/2",
        "x", None)]),
    "bars": (_bars, [(epsilon, most, [40, 22, 15], bar, highest) for epsilon in (1, 4) for most in (1, 3)
                     for bar, highest in ((14, 14), (14, 15), (10, 15))]),
    "names": (spelt_alike, [(name,) for name in _NAMES]),
    "texts of tuples": (lambda one: [text_of(one), parts_of(text_of(one))], [(one,) for one in _TUPLES]),
    "tuples": (read_tuples, [([("a", 1), ("b", 2)], ["x", "y"]), ([("a",)], ["x", "y"]), ([("a", 1), ("a",
        1)], ["x", "y"]), (["ab"], ["x", "y"])]),
    "kinds of lists": (kinds_of, [(["x"], [one]) for one in (["a"], [1, 2], range(3), [True], [_D(2026, 1,
        1)], [1, "a"], [1.5], [], [None])]),
    "products": (_product, [(["A", "B~"], range(3)), (range(10**9), ["x"]), ([], ["x"]), ([True, False],
        ["a"], [3, 4])]),
    "windows of days": (_windows, [(_D(2026, month, day), days) for month in (1, 3, 12) for day in (1,
        31) for days in (1, 40, 400)]),
    "doubles below": (below, [(one,) for one in (Fraction(1, 3), Fraction(2, 3), Fraction(1, 2), -Fraction(1,
        3), Fraction(10) ** 400, Fraction(0))]),
    "intervals of people": (of_people, [([(None, 3.5), (-2.0, None), (1.5, -1.0)],)]),
    "places": (lambda one: [database_kind(one), shown(one)], [(one,) for one in _PLACES]),
    "formats": (lambda one: FileTable(one, "table").format, [(one,) for one in _PLACES]),
    "kinds that cannot meet": (_meeting, [(a, b) for a in ("text", "integer",
        "date and time", "bytes", "other", "float")
                                              for b in ((), ("text",), ("number",), ("other",), ("date",
                                                  "text"))]),
}  # fmt: skip
LARGE: dict[str, Any] = {
    "as many items as there can be": {"item": ["code", "pieces"], "k": 1, "epsilon": 1}
    | {"domain": {"code": range(2**31), "pieces": range(2**31)}},
    "more items than there can be": {"item": ["code", "pieces"], "k": 1, "epsilon": 1}
    | {"domain": {"code": range(2**31), "pieces": range(2**31 + 1)}},
    "more groups than can be": {
        "group": "code",
        "groups": range(10**7 + 1),
        "groups_per_person": 1,
        "k": 1,
        "epsilon": 1,
    },
    "more items than are listed": {"group": "ward", "k": 1, "epsilon": 1}
    | {"domain": {"north": range(2**26), "south": range(1)}},
}


def _asked(read: Callable[..., Any], given: tuple[Any, ...]) -> Question:
    def ask(_: Path, __: Journal) -> Any:
        try:
            return str(read(*given))
        except (ValueError, TypeError, ArithmeticError, KeyError) as error:
            if isinstance(error, fg.FreegapError):
                raise
            return type(error).__name__

    return ask


def questions() -> dict[str, Question]:
    """All of them, by what they are called."""
    made: dict[str, Question] = {}
    for name, (read, cases) in READ.items():
        for number, given in enumerate(cases):
            made[f"{name}: {number}, {str(given)[:70]!r}"] = _asked(read, given)
    listed = {"item": "code", "person": "person", "domain": range(9)}
    for name, way in LARGE.items():
        made[f"limits: {name}"] = asked(fg.top_k, listed | way)
    many = {"item": "code", "person": "person", "items_per_person": 1, "epsilon": 1}
    made["limits: more bins than come out"] = asked(fg.histogram, many | {"domain": range(10**7 + 1)})
    return made
