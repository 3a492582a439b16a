"""Values that a careless or a hostile caller might pass."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

__all__ = ["NAMES", "answers", "anything", "hostile_texts", "numbers", "spoiled"]

# Attacks on SQL, HTML, a shell, a terminal, a spreadsheet, a path, a format, an encoding.
NAMES = (
    "'; DROP TABLE freegap_journal; --",
    '" OR "1"="1',
    "x') UNION SELECT * FROM item --",
    "$$; SELECT 1; $$",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "&lt;b&gt;&#x27;",
    "\x1b[2J\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07\x9b31m",
    "a\rb\nc\td\x00e",
    "\u202egpj.exe\u2066",
    "[bold red]markup[/] [link=http://x]y[/link]",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1:9)",
    "\t=1+1",
    "$(touch owned) `id` ; rm -rf x",
    "../../etc/passwd",
    "{0.__class__} %s %n ${x}",
    "\ud800",
    "é\u0301\u200b🦄",
    "",
    " ",
    "NULL",
    "nan",
    "x" * 3000,
)


class Unprintable:
    """Its text cannot be had."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    __str__ = __repr__


class Pretender:
    """Says that it is a number, and is none."""

    def __float__(self) -> float:
        raise OverflowError("too large")

    def __index__(self) -> int:
        raise TypeError("no index")

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Any:
        return iter((1, 2, 3))


_EDGES: tuple[Any, ...] = (
    0,
    1,
    -1,
    2,
    2**31,
    2**53,
    2**62,
    2**63 - 1,
    -(2**63),
    2**64,
    10**30,
    10**400,
    -(10**400),
    0.0,
    -0.0,
    0.1,
    0.5,
    1e-5,
    5e-324,
    1e-300,
    1e300,
    1.7976931348623157e308,
    math.inf,
    -math.inf,
    math.nan,
    Fraction(1, 3),
    Fraction(1, 1024),
    Fraction(10**400, 7),
    Fraction(1, 10**400),
    Decimal("0.1"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("Infinity"),
    Decimal("1e-900"),
    Decimal("1e999999"),
    Decimal("-1e999999"),
    np.float32(0.1),
    np.float64(2.5),
    np.float16(1),
    np.longdouble("1e400"),
    np.int8(3),
    np.uint64(2**64 - 1),
    np.bool_(True),
    np.datetime64("2020-01-01"),
    np.timedelta64(5, "D"),
    np.timedelta64("NaT"),
    "1",
    "0.7",
    "1/3",
    "1e300",
    "1e-1000",
    "1e99999",
    "9" * 900,
    "9" * 5000,
    "-1",
    "nan",
    "inf",
    "1/0",
    "0x10",
    "1_0",
    "٣",
    True,
    False,
    None,
    1j,
    b"1",
    bytearray(b"1"),
)

hostile_texts = st.one_of(st.sampled_from(NAMES), st.text(max_size=20))

# Beyond the number of digits that Python turns into text.
_unspeakable = st.builds(
    lambda digits, below: Fraction(1, 10**digits) if below else 10**digits, st.just(5000), st.booleans()
)

numbers = st.one_of(
    st.sampled_from(_EDGES),
    st.sampled_from(_EDGES),
    _unspeakable,
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.fractions(),
    st.decimals(),
)

# Chosen by number: hypothesis prints what it samples from, and some of these have no text.
_OBJECTS: tuple[Any, ...] = (
    object(),
    Unprintable(),
    Pretender(),
    print,
    len,
    int,
    Exception("x"),
    ...,
    NotImplemented,
    iter(()),
    range(3),
    range(10**30),
    {1, 2},
    frozenset(),
    {},
    [],
    (),
    memoryview(b"ab"),
    lambda: 1,
    lambda *_, **__: "x",
    np.array([]),
    np.array([[1, 2], [3, 4]]),
    np.array(["a", "b"]),
    np.array([1, None]),
    np.array(5),
    np.ma.masked_array([1, 2, 3], mask=[False, True, False]),
    np.zeros(3, dtype="f2"),
    np.array([1, 2], dtype="M8[D]"),
    np.array([1, 2], dtype="m8[s]"),
    np.array([1 + 2j]),
    np.zeros(2, dtype=[("a", "i4")]),
    np.array([1, 2], dtype=np.longdouble),
)
_objects = st.integers(0, len(_OBJECTS) - 1).map(_OBJECTS.__getitem__)

anything = st.recursive(
    st.one_of(numbers, hostile_texts, _objects, st.binary(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(hostile_texts, st.integers()), inner, max_size=3),
    ),
    max_leaves=6,
)

answers = st.one_of(
    st.lists(numbers, max_size=6),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=6),
    st.lists(st.integers(-(10**30), 10**30), min_size=2, max_size=6),
    st.dictionaries(hostile_texts, numbers, max_size=5),
    st.dictionaries(hostile_texts, st.integers(0, 1000), min_size=3, max_size=6),
    anything,
)


def spoiled(good: dict[str, Any], **own: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Good arguments, of which one to three are replaced: by values of their own strategy, or by anything."""

    def replaced(names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
        parts = {name: own.get(name, st.one_of(numbers, anything)) for name in names}
        return st.fixed_dictionaries(parts).map(lambda bad: good | bad)

    return st.lists(st.sampled_from(sorted(good)), min_size=1, max_size=3, unique=True).flatmap(replaced)
