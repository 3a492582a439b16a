"""Calls of what reads and writes numbers, labels, measures, counts and thresholds."""

from __future__ import annotations

import datetime
import math
import uuid
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import freegap as fg
from freegap.values import answers, extremes, floats, labels, measures, rationals, thresholds, written
from freegap.values.columns import Column, items_in_parts, names_of
from freegap.values.neighbours import directions_of, neighbours_argument
from freegap.values.plans import PlainPlan, price_of
from freegap.values.processes import processes
from freegap.values.remarks import remarks_on
from tests.recorded.mechanism_calls import COUNTS, NAMED

__all__ = ["measuring", "ordering_labels", "reading_counts", "reading_numbers", "writing_numbers"]

Thunks = Iterator[Any]
"""Calls without arguments, to be made one after the other."""

NUMBERS: tuple[Any, ...] = (
    0,
    1,
    -3,
    True,
    np.bool_(False),
    np.int8(5),
    np.timedelta64(3, "s"),
    0.1,
    -0.0,
    1e-300,
    1e300,
    np.float32(0.7),
    np.float16(0.1),
    np.longdouble("0.5"),
    float("nan"),
    float("inf"),
    Fraction(1, 3),
    Fraction(-7, 1024),
    Decimal("0.25"),
    Decimal("NaN"),
    Decimal("1e499"),
    Decimal("1e501"),
    Decimal("1e-502"),
    Decimal("1." + "3" * 600),
    "0.7",
    "1/3",
    "-2/6",
    "1e3",
    "1e-1000",
    "1e1001",
    "1/0",
    "x",
    "",
    " 5 ",
    "1_000",
    "7" * 1001,
    10**499,
    10**500,
    10**501,
    Fraction(1, 10**500),
    Fraction(1, 10**501),
    None,
    b"1",
    [1],
    2**62,
    2**62 + 1,
    pd.NaT,
    np.datetime64("NaT"),
    1 + 2j,
    10**1000,
    10**1001,
    Fraction(1, 10**1001),
    Decimal("1e1000"),
    Decimal("1e1001"),
)


def reading_numbers() -> Thunks:
    for value in NUMBERS:
        yield lambda v=value: rationals.rational("epsilon", v)
        yield lambda v=value: rationals.rational("epsilon", v, digits=3)
        yield lambda v=value: rationals.positive_rational("epsilon", v)
        yield lambda v=value: rationals.private_rational("answer", v)
        yield lambda v=value: rationals.proper_fraction("share", v, "Pass one.")
        yield lambda v=value: rationals.count_argument("k", v)
        yield lambda v=value: rationals.count_argument("k", v, least=0)
        yield lambda v=value: rationals.whole(v)
        yield lambda v=value: rationals.resolution_argument(v)
        yield lambda v=value: rationals.sensitivity_argument(v, Fraction(1, 12))
        yield lambda v=value: answers.exact_number(v, "answer", Fraction(1, 10))
        yield lambda v=value: answers.is_missing_number(v)
        yield lambda v=value: labels.key_of_label(v)
        yield lambda v=value: written.jsonable(v)
        yield lambda v=value: written.text_of(v)
        yield lambda v=value: thresholds.read_threshold(v, discrete=True)
        yield lambda v=value: thresholds.read_own_threshold(v, Fraction(1, 8), discrete=False)
        yield lambda v=value: thresholds.read_own_threshold(v, Fraction(1), discrete=True)
        yield lambda v=value: processes(v) if v != 0 else None
    for square in (
        Fraction(2),
        Fraction(9, 4),
        Fraction(1, 3),
        Fraction(10**20 + 1),
        Fraction(1, 10**31),
        Fraction(99999, 7),
    ):
        yield lambda s=square: [rationals.root_above(s), rationals.root_below(s)]
    for scale in (
        Fraction(10) ** 100,
        Fraction(10) ** 100 + 1,
        Fraction(1, 10**100),
        Fraction(1, 10**100 + 1),
    ):
        yield lambda s=scale: rationals.require_scale(s, 5)
        yield lambda s=scale: rationals.require_scale(s, 5, "rho")
    for number in (Fraction(10) ** 400, -(Fraction(10) ** 400), Fraction(1, 3)):
        yield lambda n=number: rationals.double(n)
    for x, per_unit in product(
        (0.7, 0.5, 0.3, -0.7, 2.0**52, 1e15, 123456.789, np.float32(0.7), np.float16(0.1)),
        (1, 3, 10, 1024, 10**16, 2**53 + 1),
    ):
        yield lambda x=x, n=per_unit: floats.meant_by_float(x, n)
        yield lambda x=x, n=per_unit: [*floats.floats_on_grid(np.array([x, 0.1, -0.1], type(x)), n)]
    yield lambda: [extremes.certainly_finite(np.array([1e308] * n)) for n in (1, 2, 32, 33)]
    yield lambda: [extremes.certainly_finite(np.append(np.zeros(n), math.inf)) for n in (1, 31, 32, 40)]


def writing_numbers() -> Thunks:
    numbers = [
        Fraction(n, d)
        for n, d in product(
            (0, 1, -7, 10**15 - 1, 10**15, -(10**15), 10**30, 10**400), (1, 3, 999, 1000, 1001, 10**25 + 1)
        )
    ]
    for number in numbers:
        yield lambda n=number: [written.brief(n), written.plain(n), written.as_double(n), written.jsonable(n)]
        yield lambda n=number: written.readable(n)
        yield lambda n=number: Column("a", (n, None), float).cells
        yield lambda n=number: Column("a", ((n, n + 1), (None, n), (n, None), (None, None)), tuple).cells
        yield (
            lambda n=number: (
                Column("a", ((float(n), math.inf), (-math.inf, float(n))), tuple, form=",.1f").cells
            )
        )
    yield lambda: written.plain(Fraction(7**6000, 3**6000))
    yield lambda: [written.decimal_of(Fraction(1, 3), digits) for digits in (1, 8, 12)]
    yield lambda: [
        written.json_text({"a": ["\x9b\u202e\ud800\x7f\x1f é\n", 1e400, 2**53, 2**53 + 1]}, indent=indent)
        for indent in (None, 1)
    ]
    yield lambda: [
        written.jsonable(n)
        for n in (2**53, 2**53 + 1, -(2**53), -(2**53) - 1, np.int64(2**53 + 1), Fraction(4, 2))
    ]
    for column in (
        Column("a b", (1, None, 2**63 - 1), int, form="d"),
        Column("a", (1, 2**63), int, form=",d"),
        Column("a", (-(2**63), 0), int, form="d"),
        Column(
            "gap to next", (Fraction(1, 3), None, Fraction(10) ** 400, -(Fraction(10) ** 400)), float, "gap"
        ),
        Column("a", (0.1, 1e300), float, unit="kg"),
        Column("95 %", ((Fraction(1, 3), 2.5), (None, 1), (1, None)), tuple),
        Column("95 %", (), tuple),
        Column("", ()),
        Column("item", ("a", 1, "1", "b\x01", "b\x02", "a", None)),
        Column("item", (1, 2)),
        Column("item", (0.5, 2.5)),
        Column("item", (1, 2**63)),
        Column("item", (np.int64(3), np.float64(0.5))),
        Column("item", (np.int64(3), np.int8(4))),
        Column("item", ("\ud800", "é")),
        Column("item", (True, False)),
    ):
        yield lambda c=column: [c.numeric, c.cells, c.to_dict()]
        for exact, objects in product((True, False), repeat=2):
            yield lambda c=column, e=exact, o=objects: [
                [p.name, p.kind, p.values] for p in c.plain(exact=e, objects=o)
            ]
    for parts in (
        None,
        ("ward", "rank"),
        ("item_rank", "rank"),
        ("rank", "item_rank"),
        ("a", "a"),
        ("gap", "gap", "item_gap"),
    ):
        yield lambda p=parts: [
            [c.name, c.values] for c in items_in_parts((("A", 7, 1)[: len(p or "ab")],) * 2, p)
        ]
        yield lambda p=parts: [[c.name, c.values] for c in items_in_parts((), p)]
    yield lambda: names_of(("b\x01", "b\\x01", "c", "c"))


def ordering_labels() -> Thunks:
    today = datetime.date(2026, 11, 18)
    kinds: tuple[Any, ...] = (
        "tea",
        "",
        3,
        True,
        0.5,
        -0.0,
        float("nan"),
        Decimal("0.5"),
        Decimal("1e1000"),
        Decimal("1e1001"),
        Fraction(1, 2),
        b"x",
        today,
        datetime.timedelta(3),
        datetime.time(4),
        uuid.UUID(int=5),
        (1, "a"),
        (1, object()),
        None,
        frozenset({1}),
        np.int8(3),
        np.float32(0.1),
        np.str_("z"),
        np.longdouble("0.1"),
        float("inf"),
        2**2000,
    )
    for kind in kinds:
        yield lambda k=kind: labels.key_of_label(k)
    for these in (
        ["tea", "milk", "rice"],
        ["b", 2, "a"],
        [3, 1, 2],
        [2, "b", (1, 2), None],
        [(2, "a"), (1, "b"), (1, "a")],
        [0.5, 1, Decimal("0.7")],
        ["a", "a"],
        [[1], [2]],
        [object(), object()],
        [float("nan"), 1.0],
        [frozenset({1}), frozenset({2})],
        [],
        [today, "a", b"b"],
        [1 + 2j, 2 + 1j],
    ):
        yield lambda t=these: labels.order_of_labels("answers", t)
        yield lambda t=these: sorted((t for t in t), key=lambda label: labels.key_of_label(label) or ())
    for word in ("each", "monotonic", "one", "increasing", "all", None):
        yield lambda w=word: neighbours_argument(w)
        yield lambda w=word: neighbours_argument(w, ("one",))
        yield lambda w=word: directions_of(w)


def measuring() -> Thunks:
    third, tiny = Fraction(1, 3), Fraction(1, 10**9)
    values: list[Any] = [
        kind.of(amount, tiny)  # type: ignore[attr-defined]
        for kind, amount in product(
            (
                measures.Pure,
                measures.ZeroConcentrated,
                measures.Approximate,
                measures.ApproximateConcentrated,
            ),
            (third, Fraction(5), Fraction(0), Fraction(3, 10**8)),
        )
    ]
    for value in values:
        yield lambda v=value: [str(v), repr(v), v.to_dict(), v.arguments(), v.spent, v.delta, remarks_on(v)]
        for kind, delta in product(
            (
                measures.Pure,
                measures.ZeroConcentrated,
                measures.Approximate,
                measures.ApproximateConcentrated,
            ),
            (None, "1e-6", 0, 2),
        ):
            yield lambda v=value, k=kind, d=delta: measures.converted(v, k, delta=d)
        for other in values[::3]:
            yield lambda v=value, o=other: v + o
            yield lambda v=value, o=other: v <= o
    for epsilon, rho, delta in product((None, 1, "1/3", 0, "x"), (None, "1/8", -1), (None, "1e-6", 0, 1)):
        yield lambda e=epsilon, r=rho, d=delta: measures.measure_argument(epsilon=e, rho=r, delta=d)
        yield lambda e=epsilon, r=rho, d=delta: measures.measure_argument(epsilon=e, rho=r, delta=d, digits=1)
    for rho in ("1/8", "1/3", 2, 3, 10, "1e-30"):
        yield lambda r=rho: measures.pure_within(measures.measure_argument(rho=r))
        yield lambda r=rho: remarks_on(measures.measure_argument(rho=r))
    for most, chance in product((1, "1/100", 30, "1e-12", 10**201), ("1e-6", "1/2", "1e-300")):
        yield lambda e=most, d=chance: f"{float(measures.rho_within(e, d)):.9g}"
    for asked in (Fraction(10), Fraction(10) + tiny, Fraction(12)):
        yield lambda a=asked: [remarks_on(measures.Pure(a)), remarks_on(measures.Approximate(a, tiny))]
    yield lambda: price_of(PlainPlan("a", measures.Pure(third), {}))
    yield lambda: price_of(PlainPlan("a", measures.Pure(third), {}, measures.ZeroConcentrated(tiny)))


def reading_counts() -> Thunks:
    name = "{}/{}".format
    for values, sizes in (
        ([5, 3], [1, 2]),
        ([5], [2**62]),
        ([5], [2**62 + 1]),
        ([5, 6], [2**61, 2**61]),
        ([5, 6], [2**62, 1]),
        ([], []),
        ([5], [1, 2]),
        ([5], [0]),
        ([5], [-1]),
        ([5], [1.5]),
        ([5], ["a"]),
        ([5], [True]),
        ([5], None),
        (None, [1]),
        ([5.5, 0.1], [1, 3]),
        ([2**80, 1], [1, 3]),
        (iter([1]), [1]),
        ([5], np.array([3], np.uint64)),
        ([5], [[1]]),
        ([1, 2], np.array([1.0, 2.0])),
        (np.array([1, 2]), np.array([3, 4])),
    ):
        yield lambda v=values, s=sizes: fg.Counts(v, s, name=name).items
        yield lambda v=values, s=sizes: fg.noisy_top_k(
            fg.Counts(v, s, name=name), 1, epsilon=1, bits=fg.SeededBits(4)
        )
    yield lambda: fg.Counts([1], [1], name=3)  # type: ignore[arg-type]
    for domain in (
        range(9),
        range(10**15),
        range(-(2**62), 2**62),
        range(0, 90, 10),
        range(9, 0, -3),
        range(2**63 - 5, 2**63 + 5),
        range(-(2**63) - 3, 5),
        ["a", "b", "c"],
        ["a", "a"],
        [[1], [2]],
        [],
        "abc",
        {1, 2},
        None,
        iter([1]),
        np.arange(5),
        (3, "x", (1, 2)),
    ):
        for given in (
            {3: 7},
            {"a": 7, "b": 2},
            {},
            {99: 1},
            {(1, 2): 4},
            {True: 3},
            {0.5: 1},
            {30: 5, 60: 6},
            None,
            [3],
            {9: 3, 3: 1},
            {np.int64(3): 7},
        ):
            if _is_quick(domain, given):
                yield lambda d=domain, g=given: _over(fg.Counts.over(d, g))
        yield lambda d=domain: _over(fg.Counts.over(d, items=np.array([3, 0]), values=[7, 9]))
        yield lambda d=domain: _over(fg.Counts.over(d, items=[3, 3], values=[7, 9]))
        yield lambda d=domain: _over(fg.Counts.over(d, items=[3, 0], values=[7]))
        yield lambda d=domain: _over(fg.Counts.over(d, {3: 7}, items=[3], values=[7]))
        yield lambda d=domain: _over(fg.Counts.over(d, items=[3]))
    read = answers.read_answers([31, 812, 12], Fraction(1))
    fine = answers.read_answers([0.5, 812, 12], Fraction(1, 1024))
    huge = answers.read_answers([2**70, 812, 12], Fraction(1, 1024))
    for of, bar in product(
        (read, fine, huge),
        (
            20,
            "20.5",
            [5, 6, 7],
            [0.5, 6, 7],
            [2**62, 5, 1],
            np.array([5, 6, 7]),
            -(2**62),
            2**61,
            2**63,
            "1/3",
            [2**80, 1, 2],
        ),
    ):
        for discrete in (True, False):
            yield lambda o=of, b=bar, d=discrete: _offsets(
                thresholds.subtract_threshold(o, b, Fraction(1, 1024), discrete=d)
            )
    named = answers.read_answers(NAMED, Fraction(1))
    for bars in (NAMED, dict.fromkeys(NAMED, 3), pd.Series(COUNTS), COUNTS, {"tea": 1}):
        yield lambda b=bars: _offsets(thresholds.subtract_threshold(named, b, Fraction(1), discrete=False))
    for column in (
        pa.array([1, 2, 3]),
        pa.chunked_array([[1, 2], [3]]),
        pd.Series([1, 2], dtype="Int64"),
        pd.Series([1, None], dtype="Int64"),
        pd.Index([3, 4]),
    ):
        yield lambda c=column: [*answers.read_answers(c, Fraction(1)).values]
    yield lambda: answers.MOST_ITEMS


def _is_quick(domain: Any, given: Any) -> bool:
    whole = all(isinstance(item, int | np.integer) for item in given or ())
    return whole or not isinstance(domain, range) or abs(domain[-1] - domain[0]) < 10**6


def _over(of: fg.Counts) -> list[Any]:
    release = fg.noisy_top_k(of, 2, epsilon="1/10", gap=False, bits=fg.SeededBits(3))
    return [of.items, release, fg.noisy_max(of, epsilon=30, bits=fg.SeededBits(5)).labels]


def _offsets(of: thresholds.Offsets) -> list[Any]:
    part = of.part(1, 3)
    each = [[o.exact(i) for i in range(len(o.values))] for o in (of, part)]
    bars = [[o.threshold(i) for i in range(len(o.values))] for o in (of, part)]
    return [
        *each,
        *bars,
        of.doubles(0, 9).tolist(),
        of.doubles(1, 2).tolist(),
        of.grain,
        of.constant,
        len(part.values),
    ]
