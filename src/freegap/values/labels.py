"""The order of labelled answers: by their labels, and never as they came.

A dict or a Series has an order of its own, and that order is often private: `value_counts()` and
`most_common()` sort by the very counts that a release protects. Whoever sees a position, or the order of
questions, then sees the true rank. So labels are put in an order that depends on the labels alone.

Rule     ascending, where `<` makes a chain of the labels; else by the name of the type and then by the
         text (`repr`) of each label
Why it depends on the set of labels alone: a strict order arranges a set in at most one way in which each is
smaller than the next, so that whatever arrangement was found and checked is that one, and where there is
none, none is found. In the second form the keys are compared, and they must all differ.

Where the labels themselves are private (`freegap.mechanisms.unknown_domain`), that is not enough: one
person's label could change the rule, and with it the order of all others. There each label has a key of its
own (`key_of_label`), which no other label changes, and a label that has none is left out.
"""

from __future__ import annotations

import datetime
import numbers
import uuid
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from operator import lt
from typing import Any

from freegap.errors import REDACTED, InvalidArgument

_ADDRESS = " at 0x"  # in the text of an object that has no text of its own
_LARGEST_EXPONENT = 1000  # a decimal beyond it would be a gigabyte of digits


def order_of_labels(argument: str, labels: Sequence[Any]) -> list[int]:
    """The places of the labels, in the order of the labels; see the module. The labels must be distinct.

    >>> order_of_labels("answers", ["tea", "milk", "rice"]), order_of_labels("answers", ["b", 2, "a"])
    ([1, 2, 0], [1, 2, 0])
    """
    try:
        distinct = len(set(labels)) == len(labels)
    except TypeError:
        raise InvalidArgument(
            argument, REDACTED, "must have hashable labels", "Use tuples in place of lists."
        ) from None
    if not distinct:
        raise InvalidArgument(
            argument,
            REDACTED,
            "must not have a label twice: labels alone tell the answers apart",
            "Give each answer a label of its own, or pass a list.",
        )
    order = _rising(labels)
    if order is None:
        order = _rising(_texts(argument, labels))
    if order is None:
        raise _refuse(argument)
    return order


def key_of_label(label: Any) -> tuple[Any, ...] | None:
    """A key by which labels can be put in order, of this label alone; None where it has none.

    Keys of any two labels can be compared, and those of labels that are written differently differ, be they
    equal (1 and True, 0.0 and -0.0). Numbers come first, by size; then texts, bytes, dates and the like, and
    tuples of all these.

    >>> sorted(["tea", 10, "milk", 9.5], key=key_of_label), key_of_label(object())
    ([9.5, 10, 'milk', 'tea'], None)
    """
    if type(label) is str:  # most are
        return 1, label, "str"
    if type(label) is int:
        return 0, label, "int", ""
    kind = type(label).__name__
    if isinstance(label, str):
        return 1, str(label), kind
    if isinstance(label, numbers.Real | Decimal):
        number = _exactly(label)
        form = "" if isinstance(label, numbers.Rational) else str(label)
        return None if number is None or _ADDRESS in form else (0, number, kind, form)
    if isinstance(label, bytes):
        return 2, bytes(label), kind
    if isinstance(label, datetime.date | datetime.time | datetime.timedelta | uuid.UUID):
        text = repr(label)
        return None if _ADDRESS in text else (3, text, kind)
    if isinstance(label, tuple):
        parts = tuple(key_of_label(part) for part in label)
        return None if None in parts else (4, parts, kind)
    return None


def _exactly(number: Any) -> int | Fraction | None:
    """A finite number as a whole number or a rational, by which all numbers can be compared."""
    if type(number) is int:
        return number
    if isinstance(number, Decimal) and abs(number.adjusted()) > _LARGEST_EXPONENT:
        return None
    try:
        if isinstance(number, numbers.Integral):
            return int(number)
        exact = Fraction(number) if isinstance(number, Decimal | Fraction) else Fraction(float(number))
        return exact if exact == number else None  # some floats are longer than Python's
    except Exception:  # not finite; and a label may be any object
        return None


def _rising(keys: Sequence[Any]) -> list[int] | None:
    """The places by rising keys; None where they cannot be arranged so that each is below the next."""
    try:
        order = sorted(range(len(keys)), key=keys.__getitem__)
        chain = [keys[place] for place in order]
        return order if all(map(lt, chain, islice(chain, 1, None))) else None
    except Exception:  # what cannot be compared says so in its own way
        return None


def _texts(argument: str, labels: Sequence[Any]) -> list[tuple[str, str]]:
    try:
        texts = [(type(label).__name__, repr(label)) for label in labels]
    except Exception:  # a label may be any object
        raise _refuse(argument) from None
    if any(_ADDRESS in text for _, text in texts):  # where an object lies in memory may tell when it was made
        raise _refuse(argument)
    return texts


def _refuse(argument: str) -> InvalidArgument:
    return InvalidArgument(
        argument,
        REDACTED,
        "must have labels that can be put in an order of their own",
        "Use numbers or texts as labels, or pass a list in an order that is not private.",
    )
