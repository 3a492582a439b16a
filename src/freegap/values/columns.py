"""The columns of a release, each said once: cells for people, values for programs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.errors import printable
from freegap.values.export import Plain
from freegap.values.written import LARGEST_IN_FULL, decimal_of, jsonable, plain, text_of

_LARGEST_WHOLE = 2**63


@dataclass(frozen=True)
class Column:
    """One column of a release, for people and for programs.

    title: for people. name: for programs; the title with _ for blanks, where it is left out.
    values: as they were released; None where there is none.
    kind: str for what things are called, int, float for rationals and floats, tuple for intervals, whose ends
        are the columns "low" and "high" of programs, and None where there is no end.
    unit: of a number, where a chart should say it.
    form: of a number for people, as `format` takes it. An interval is rounded outwards.
    """

    title: str
    values: tuple[Any, ...]
    kind: type = str
    name: str = ""
    form: str = ",.3f"
    unit: str = ""

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers, which stand on the right."""
        return self.kind is not str

    @property
    def cells(self) -> tuple[str, ...]:
        """The values for people."""
        if self.kind is str:
            return names_of(self.values)
        write = _interval if self.kind is tuple else _number
        return tuple("" if value is None else write(value, self.form) for value in self.values)

    def plain(self, *, exact: bool, objects: bool) -> list[Plain]:
        """For programs: doubles, or exact rationals; those, and names of any kind, as texts or as objects."""
        name = self.name or self.title.replace(" ", "_")
        if self.kind is str:
            return [Plain(name, *_plain_names(self.values, objects=objects))]
        if self.kind is int:
            fits = all(value is None or abs(value) < _LARGEST_WHOLE for value in self.values)
            return [Plain(name, int if fits else float, [v if fits else float(v) for v in self.values])]
        if self.kind is tuple:
            ends = zip(*self.values, strict=True) if self.values else ((), ())
            return [
                Plain(end, float, [None if value is None else _double(value) for value in values])
                for end, values in zip(("low", "high"), ends, strict=True)
            ]
        if not exact:
            return [Plain(name, float, [None if v is None else _double(v) for v in self.values])]
        if objects:
            return [Plain(name, Fraction, list(self.values))]
        return [Plain(name, str, [None if v is None else plain(v) for v in self.values])]

    def to_dict(self) -> dict[str, Any]:
        """As plain values: rationals as texts, which are exact."""

        def plain(value: Any) -> Any:
            return [jsonable(end) for end in value] if isinstance(value, tuple) else jsonable(value)

        values = [jsonable(v) if self.kind is str else plain(v) for v in self.values]
        said = {part: getattr(self, part) for part in PARTS}
        return {**said, "kind": KINDS[self.kind], "values": values}


PARTS = ("title", "name", "form", "unit")
KINDS = {str: "name", int: "whole", float: "number", tuple: "interval"}


def ranks(number: int) -> Column:
    """The column of ranks."""
    return Column("rank", tuple(range(1, number + 1)), int, form="d")


def items(labels: tuple[Any, ...]) -> Column:
    """The column of items."""
    return Column("item", labels)


_OWN = frozenset("group rank gap estimate standard_error low high value mean people".split())
"""What columns of releases from tables are called."""


def items_in_parts(labels: tuple[Any, ...], parts: Sequence[str] | None) -> list[Column]:
    """The column of items; of items of several columns these, called as they are in the table.

    One that is called as another column of a release has item_ before its name.

    >>> [column.name for column in items_in_parts((("A", 7), ("B", 8)), ("ward", "rank"))]
    ['ward', 'item_rank']
    """
    if parts is None:
        return [items(labels)]
    names: list[str] = []
    for part in parts:
        name = part
        while name in _OWN or name in names or (name != part and name in parts):
            name = f"item_{name}"
        names.append(name)
    columns = zip(*labels, strict=True) if labels else [()] * len(parts)
    return [Column(name, tuple(values), name=name) for name, values in zip(names, columns, strict=True)]


def one_each(values: tuple[Any, ...], rows: int) -> tuple[Any, ...]:
    """A value for each row: None at the end, where there are too few."""
    return values + (None,) * (rows - len(values))


def _number(number: Any, form: str) -> str:
    """A number for people; a huge rational as a power of ten."""
    if isinstance(number, Fraction) and abs(number) >= LARGEST_IN_FULL:
        return f"{decimal_of(number, 8):.6E}"
    return format(number if isinstance(number, int) else float(number), form)


def _interval(ends: tuple[Any, Any], form: str) -> str:
    """From low to high, rounded outwards to the decimals of the form."""
    low, high = ends
    step = 10 ** int(form.partition(".")[2][:-1])
    below = None if low is None else _number(_rounded(low, step, math.floor), form)
    over = None if high is None else _number(_rounded(high, step, math.ceil), form)
    if below is None or over is None:
        return "unknown" if below is over else f"at most {over}" if below is None else f"at least {below}"
    return f"{below} to {over}"


def _rounded(end: float, step: int, way: Callable[[Fraction], int]) -> float | Fraction:
    return Fraction(way(Fraction(end) * step), step) if math.isfinite(end) else end


def names_of(labels: tuple[Any, ...]) -> tuple[str, ...]:
    """What things are called; what would look alike, such as 1 and "1", as Python writes it.

    >>> names_of(("a", 1, "1", "b\\x01", "b\\x02", "a"))
    ('a', '1', "'1'", "'b\\\\x01'", "'b\\\\x02'", 'a')
    """
    texts = [text_of(label) for label in labels]
    seen = [printable(text) for text in texts]
    if len(set(seen)) == len(texts):
        return tuple(texts)
    written = [text_of(label, repr) for label in labels]
    often = Counter(text for text, _ in set(zip(seen, written, strict=True)))
    rows = zip(texts, seen, written, strict=True)
    return tuple(text if often[shown] == 1 else exactly for text, shown, exactly in rows)


def _plain_names(labels: tuple[Any, ...], *, objects: bool) -> tuple[type, list[Any]]:
    """The labels as they are, where objects may be kept or all are texts or numbers; else as texts."""
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
    kinds = {type(label) for label in plain}
    if kinds <= {int} and kinds and all(abs(label) < _LARGEST_WHOLE for label in plain):
        return int, plain
    if kinds == {float}:
        return float, plain
    if objects:
        return object, plain
    # A lone surrogate has no place in UTF-8.
    return str, [name.encode("utf-8", "backslashreplace").decode() for name in names_of(tuple(plain))]


def _double(number: Any) -> float:
    """The nearest double; infinite where the number is beyond all doubles."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
