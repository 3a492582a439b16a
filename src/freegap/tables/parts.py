"""Items of several columns: in the engine one text for each tuple, and in a release the tuple again.

Text     of a tuple: its parts, "~" written as "~0", joined by "~1". Texts are written as they are, whole
         numbers in digits, truth values as true and false, dates as 2026-01-31
Theorem  the text of a row depends on that row alone, and two rows have one text if and only if they have the
         same tuple. So counts of texts are counts of tuples, and whatever holds of texts holds of tuples

A row that lacks a part has no item. Other kinds of columns are refused by the schema: engines write floating
point numbers and times in different ways, and some fail on a few.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, overload

import narwhals.stable.v2 as nw

from freegap.errors import InvalidArgument
from freegap.tables.kinds import column_kind, is_missing, type_kind

_FIRST, _LAST = datetime.date(1000, 1, 1), datetime.date(9999, 12, 31)
"""Dates that all engines write alike, in ten characters; a row with another one has no item."""
PART_KINDS = frozenset({"text", "integer", "truth value", "date"})


@dataclass(frozen=True)
class ItemPart:
    """A column that is a part of the item. kind: text, integer, truth value or date."""

    column: str
    kind: str

    def require(self, kinds: Iterable[str]) -> None:
        """Refuse values of a domain that can never equal one of the column."""
        found = frozenset(kinds)
        if not found <= {self.kind}:
            raise InvalidArgument(
                "domain",
                f"<{', '.join(sorted(found))}>",
                f"must have values of the kind {self.kind} for column {self.column!r}",
                "Nothing is converted to make it fit; a pandas column of Python objects counts as text.",
            )


def part_of(frame: Any, place: str, column: str) -> ItemPart:
    """What a column of the frame is as a part of an item, by the schema alone."""
    dtype = frame.collect_schema()[place]
    if _holds_objects(frame, place) or dtype in (nw.Categorical, nw.Enum):
        return ItemPart(column, "text")
    kind = column_kind(dtype, column)
    kind = "integer" if dtype.is_integer() else kind  # of any width: it is written in digits
    if kind not in PART_KINDS:
        raise InvalidArgument(
            "item",
            column,
            f"is of the kind {kind}; a part of an item must be text, a whole number, a truth value or a date",
            "Turn it into one of these in the engine that holds the table; in pandas, whole numbers with "
            "some missing by table.astype({…: 'Int64'}).",
        )
    return ItemPart(column, kind)


def joined(frame: Any, parts: dict[str, ItemPart], *, keep: bool = False) -> Any:
    """The frame with "item", the texts of its rows, in place of the parts; rows that lack a part left out.

    parts: by the names of their columns in the frame. keep: the columns of the parts as well.
    """
    for place in parts:
        if _holds_objects(frame, place):
            native = nw.to_native(frame)
            texts = native[place].map(_text_of_object).astype("string")
            frame = nw.from_native(native.assign(**{place: texts}))
    present = [~nw.col(place).is_null() for place in parts]
    dated = [place for place, part in parts.items() if part.kind == "date"]
    usual = [(nw.col(place) >= nw.lit(_FIRST)) & (nw.col(place) <= nw.lit(_LAST)) for place in dated]
    frame = frame.filter(*present)
    frame = frame.filter(*usual) if usual else frame
    written = [_written(nw.col(place), part.kind) for place, part in parts.items()]
    others = [name for name in frame.collect_schema().names() if keep or name not in parts]
    text = nw.concat_str(written, separator="~1") if len(written) > 1 else written[0]
    return frame.select(text.alias("item"), *others)


def _written(column: Any, kind: str) -> Any:
    if kind == "truth value":  # engines write them in different ways
        return nw.when(column).then(nw.lit("true")).otherwise(nw.lit("false"))
    text = column.cast(nw.String)
    return text.str.replace_all("~", "~0", literal=True) if kind == "text" else text


def _holds_objects(frame: Any, place: str) -> bool:
    """Whether only the values, which are private, could tell what the column holds."""
    return bool(frame.implementation.is_pandas_like() and nw.to_native(frame)[place].dtype == object)


def _text_of_object(value: Any) -> str | None:
    """A text, of which other objects are none; nor is half of a surrogate pair, which no engine holds."""
    if not isinstance(value, str) or any("\ud800" <= letter <= "\udfff" for letter in value):
        return None
    return str(value)


def text_of(parts: Sequence[Any]) -> str:
    """The text of a tuple of the domain, as engines write it.

    >>> text_of(("A~B", 7, True, datetime.date(2026, 1, 31)))
    'A~0B~17~1true~12026-01-31'
    """
    return "~1".join(map(_text_of_part, parts))


def _text_of_part(value: Any) -> str:
    kind = type_kind(type(value))
    if kind == "text":
        return str(value).replace("~", "~0")
    if kind == "truth value":
        return "true" if value else "false"
    return str(int(value)) if kind == "integer" else str(value)


def parts_of(text: str) -> tuple[str, ...]:
    """The parts of a text, as they are written.

    >>> parts_of("A~0B~17")
    ('A~B', '7')
    """
    return tuple(part.replace("~0", "~") for part in text.split("~1"))


def tuples_of(texts: Iterable[str], parts: Sequence[ItemPart]) -> tuple[tuple[Any, ...], ...]:
    """The tuples that texts stand for."""
    return tuple(
        tuple(_value(text, part.kind) for text, part in zip(parts_of(item), parts, strict=True))
        for item in texts
    )


def _value(text: str, kind: str) -> Any:
    if kind == "integer":
        return int(text)
    if kind == "truth value":
        return text == "true"
    return datetime.date.fromisoformat(text) if kind == "date" else text


def read_tuples(items: Sequence[Any], columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """A public list of tuples, one value for each column."""
    listed = []
    for item in items:
        if not isinstance(item, tuple | list) or len(item) != len(columns):
            raise InvalidArgument(
                "domain",
                item,
                f"must have a tuple of {len(columns)} values for each item, for {', '.join(columns)}",
                "Pass a list of tuples, a table with these columns, or a dict with a list for each column, "
                "which stands for all combinations.",
            )
        listed.append(tuple(item))
    if len(set(map(text_of, listed))) != len(listed):
        raise InvalidArgument("domain", listed, "must not name an item twice", "Remove the duplicates.")
    return listed


def kinds_of(columns: Sequence[str], lists: Sequence[Sequence[Any]]) -> list[ItemPart]:
    """Of what kind the values for each column are; of one kind each, and one that can be a part."""
    parts = []
    for column, values in zip(columns, lists, strict=True):
        types = {int} if isinstance(values, range) else set(map(type, values))
        kinds = set(map(type_kind, types))
        if (
            len(kinds) > 1
            or not kinds <= PART_KINDS
            or any(map(is_missing, () if types == {int} else values))
        ):
            raise InvalidArgument(
                "domain",
                f"<{', '.join(sorted(kinds))}>",
                f"must have texts, whole numbers, truth values or dates for column {column!r}, and one kind "
                "of them",
                "Convert the values, and remove missing ones.",
            )
        parts.append(ItemPart(column, next(iter(kinds), "text")))
    return parts


class PartProduct(Sequence[str]):
    """All combinations of lists, as texts, in the order of the lists; none of them is listed.

    >>> both = PartProduct([["A", "B"], range(10**12)])
    >>> len(both), both[10**12 + 7], both.index("B~17")
    (2000000000000, 'B~17', 1000000000007)
    """

    def __init__(self, lists: Sequence[Sequence[Any]]) -> None:
        self._lists = lists
        self._places = [
            None if isinstance(values, range) else {_text_of_part(value): i for i, value in enumerate(values)}
            for values in lists
        ]

    def __len__(self) -> int:
        return prod(map(len, self._lists))

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        if not 0 <= place < len(self):
            raise IndexError(place)
        chosen = []
        for values in reversed(self._lists):
            place, own = divmod(place, len(values))
            chosen.append(values[own])
        return text_of(chosen[::-1])

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Where a text stands; a ValueError or KeyError where it does not."""
        place = 0
        texts = value.split("~1")
        for text, values, places in zip(texts, self._lists, self._places, strict=True):
            own = values.index(int(text)) if places is None else places[text]
            place = place * len(values) + own
        return place

    def examples(self) -> Iterator[str]:
        """Texts in which every value of every list occurs."""
        first = [values[0] for values in self._lists] if len(self) else []
        for axis, values in enumerate(self._lists if first else ()):
            for value in () if isinstance(values, range) else values:
                yield text_of([*first[:axis], value, *first[axis + 1 :]])
