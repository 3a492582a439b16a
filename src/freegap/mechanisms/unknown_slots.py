"""The pool of an unknown domain: the largest counts, ties in an order of the labels that no data changes."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.errors import REDACTED, InvalidArgument
from freegap.values.answers import labels_as_they_came, read_numbers
from freegap.values.labels import key_of_label


@dataclass(frozen=True, slots=True)
class Slots:
    """The pool, from the largest down, and the first count outside of it."""

    labels: list[Any]
    counts: list[int]
    outside: int


def read_slots(counts: Any, pool: int) -> Slots:
    """The pool of a mapping from item to count."""
    return slots_of(*read_counts(counts), pool)


def read_counts(counts: Any) -> tuple[list[Any], list[int]]:
    """Items and their counts, rounded down to whole numbers, in an order that may be private."""
    numbers, labels = labels_as_they_came(counts, "counts")
    if labels is None:
        raise InvalidArgument(
            "counts",
            REDACTED,
            "must say which item each count belongs to",
            "Pass a dict or a Series from item to count; for a list of answers there is noisy_top_k.",
        )
    values, _ = read_numbers(numbers, Fraction(1), argument="counts")
    return labels, values if isinstance(values, list) else values.tolist()


def slots_of(labels: Iterable[Any], counts: Iterable[int], pool: int) -> Slots:
    """The pool of these items and their counts; see the module.

    Keys are made for the largest counts and what ties with them. Where enough items are found among these,
    all others have smaller counts; where not, since some have no key or come twice, keys are made for all.
    """
    entries = list(zip(labels, counts, strict=True))
    edge = min(heapq.nlargest(pool + 1, (count for _, count in entries)), default=0)
    found = occurring(entry for entry in entries if entry[1] >= edge)
    if len(found) <= pool:
        found = occurring(entries)
    first = heapq.nsmallest(pool + 1, found.items(), key=lambda entry: (-entry[1][0], entry[0]))
    outside = first.pop()[1][0] if len(first) > pool else 0
    return Slots([label for _, (_, label) in first], [count for _, (count, _) in first], outside)


def occurring(entries: Iterable[tuple[Any, int]]) -> dict[tuple[Any, ...], tuple[int, Any]]:
    """Of items and their counts, by the key of each item its count and its label. Below 1 none occurs.

    What happens to an item depends on that item alone: a label without a key of its own is left out, and is
    no error.
    """
    found: dict[tuple[Any, ...], tuple[int, Any]] = {}
    for label, count in entries:
        key = key_of_label(label)
        # The same label twice: the larger count moves by at most one, as each of them does.
        if key is not None and count > found.get(key, (0, None))[0]:
            found[key] = count, label
    return found
