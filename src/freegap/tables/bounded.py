"""Each person for at most m of their items: which ones, a rule tells that looks at that person's rows alone.

Rule     of a person's items those with the m smallest digests MD5(person, newline, item), whole numbers and
         texts written as they are; of equal digests, which nobody will see, those of the smaller items
         where a person is a line of a file, whose number the lines before it tell: the least and the largest
         MD5 of its items stand for the person
Theorem  the digest of a row depends on that row alone, and a choice is made among the rows of one person: so
         one person more or less adds or takes away at most m pairs of item and person, and leaves all others
         as they were. Each count then moves by at most one, in one direction, and at most m counts move.

A digest spreads the choice over the items as chance would, where an order of the items would keep the first
ones of everybody. It hides nothing and need not: privacy does not rest on it. The same persons and items,
whole numbers or texts, give the same choice in every engine.

DuckDB and Spark choose by themselves, among whole numbers and texts. Elsewhere each pair of an item and a
person travels here.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from itertools import repeat
from typing import Any, TypeVar

import narwhals.stable.v2 as nw

from freegap.tables.sources import Frame, frame_of
from freegap.values.labels import key_of_label

K = TypeVar("K", int, tuple[Any, ...])

_PERSON = "CAST(person AS VARCHAR)"
_LINE = " || ".join(f"{end}(md5(CAST(item AS VARCHAR))) OVER (PARTITION BY person)" for end in ("min", "max"))


def can_choose(pairs: Frame) -> bool:
    """Whether the engine can choose: it has the digest, and writes these items and persons as Python does."""
    engine, schema = pairs.implementation, pairs.collect_schema()
    if not (engine.is_duckdb() or engine.is_pyspark() or engine.is_pyspark_connect()):
        return False
    return all(schema[column].is_integer() or schema[column] == nw.String for column in ("item", "person"))


def chosen_in_engine(
    pairs: Frame, most: int, *, by_line: bool = False, within: tuple[str, ...] = ()
) -> Frame:
    """Of pairs "item" and "person", each of which occurs once, those that count, with all their columns.

    by_line: whether persons are numbers of lines, which one line more would change.
    within: further columns, in each of which a person counts for so many.
    """
    native = nw.to_native(pairs)
    if pairs.implementation.is_duckdb():
        person = _LINE if by_line else _PERSON
        digest = f"md5({person} || chr(10) || CAST(item AS VARCHAR))"
        digested = native.project(f"*, {digest} AS digest")
    else:
        from pyspark.sql import functions

        texts = [functions.col(column).cast("string") for column in ("person", "item")]
        digested = native.withColumn("digest", functions.md5(functions.concat_ws("\n", *texts)))
    place = nw.col("item").cum_count().over("person", *within, order_by=["digest", "item"])
    chosen: Frame = frame_of(digested).with_columns(place.alias("place")).filter(nw.col("place") <= most)
    return chosen.select(*pairs.collect_schema().names())


def persons_here(column: nw.Series[Any]) -> list[Any]:
    """The persons of a column as values that Python tells apart as the engine does.

    Its times have no nanoseconds, and when clocks are set back it takes the hour after for the one before.
    """
    exact = column.cast(nw.Int64) if column.dtype in (nw.Datetime, nw.Duration, nw.Time) else column
    return exact.to_list()


def chosen_here(
    pairs: Iterable[tuple[Any, Any]],
    most: int | None,
    values: Iterable[int] | None = None,
    *,
    by_line: bool = False,
) -> tuple[list[Any], list[int]]:
    """Of pairs (item, person): the items, and how many people count for each.

    values: what each pair counts for, where it is not 1. Of two that one person has for equal items the
        larger counts.
    by_line: as in `chosen_in_engine`.

    Items are told apart by their keys, so that how an item is written is not for whoever comes first to say;
    one without a key, which could not come out, is left out.
    """
    people: dict[Any, dict[tuple[Any, ...], Any]] = defaultdict(dict)
    worth: dict[tuple[Any, Any], int] = {}
    for (item, person), value in zip(pairs, repeat(1) if values is None else values, strict=False):
        key = key_of_label(item)
        if key is not None:
            people[person][key] = item
            if values is not None:
                worth[key, person] = max(worth.get((key, person), value), value)
    labels: dict[tuple[Any, ...], Any] = {}
    totals: dict[tuple[Any, ...], int] = {}
    for person, items in people.items():
        for key, item in of_one(person, items, most, by_line=by_line):
            labels[key] = item
            totals[key] = totals.get(key, 0) + (1 if values is None else worth[key, person])
    return list(labels.values()), list(totals.values())


def of_one(
    person: Any, items: dict[K, Any], most: int | None, *, by_line: bool = False
) -> Iterable[tuple[K, Any]]:
    """The items for which this person counts, by their keys, which have an order."""
    if most is None or len(items) <= most:
        return items.items()
    text = _of_line(items.values()) if by_line else _text(person)
    return sorted(items.items(), key=lambda entry: (_digest(text, _text(entry[1])), entry[0]))[:most]


def _of_line(items: Iterable[Any]) -> str:
    """What stands for a line: something of its items, and not its number."""
    digests = [_md5(_text(item)) for item in items]
    return min(digests) + max(digests)


def _digest(person: str, item: str) -> str:
    return _md5(f"{person}\n{item}")


def _md5(text: str) -> str:
    return hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _text(value: Any) -> str:
    """A text of this value alone: equal numbers have the same; a value that has no order of its own, none."""
    key = key_of_label(value)
    if key is None:
        return ""
    return str(key[1]) if key[0] == 0 else str(value)
