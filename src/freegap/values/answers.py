"""Reading answers: a list, an array, a dict or a Series becomes whole numbers on a grid, and labels.

Answers are exact. An integer is itself; a float that is the nearest one of a multiple of the resolution γ
means that multiple, and any other float the dyadic rational that it is (`freegap.values.floats`). What is
not a multiple is rounded *down* to one, which keeps the sensitivity Δ where Δ is a multiple of γ (Ding et
al. 2023, lemma 4.2), and keeps monotonicity because rounding down is monotone.

A list or an array has positions: its order is the caller's. A dict, a Series or another mapping has labels
and no positions: its order may be private, so its answers are taken in the order of their labels
(`freegap.values.labels`).

The result holds integers in units of `grain`: 1 where every answer is an integer, else γ. They are an
int64 array where they fit (differences included), and a list of Python ints where they do not.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.errors import REDACTED, InvalidArgument
from freegap.values.extremes import largest, smallest
from freegap.values.floats import floats_on_grid, meant_by_float
from freegap.values.labels import order_of_labels
from freegap.values.rationals import whole

MOST_ITEMS = 2**62
"""The largest number of items."""

# Differences of two values below this size fit an int64; of 2^62 and -2^62 they do not.
_INT64_LIMIT = 2**62
# Decimal("1e999999999") is a short text and a gigabyte of digits.
_LARGEST_EXPONENT = 1000
_MOST_BITS = (10**_LARGEST_EXPONENT).bit_length()

GridValues = NDArray[np.int64] | list[int]
"""Whole numbers, in an int64 array where they fit and as Python ints where they do not."""
Singles = NDArray[np.float32]
EXACT_SINGLES = 2.0**23
"""Whole numbers up to here, and their differences, are exact in single precision."""

_INT64 = np.dtype(np.int64)
_ONE = Fraction(1)
_KINDS = "Pass a list, a NumPy array, a dict or a Series of numbers."


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers on a grid: answer i is `values[i] * grain`, rounded down.

    names: the labels, in their own order; None for a list or an array, whose answers are named by position.
    singles: the values once more as `exact_singles`, where they are kept for many releases.
    """

    values: GridValues
    grain: Fraction
    names: Sequence[Any] | None
    singles: Singles | None = None

    def __len__(self) -> int:
        return len(self.values)

    def labels(self, places: Sequence[int]) -> tuple[Any, ...]:
        """What the answers at these places are called: by position, where they have no names."""
        return named(self.names, places)

    def indices(self, places: Sequence[int]) -> tuple[int, ...]:
        """The places as they may be released: none for labelled answers, which have no positions."""
        return tuple(places) if self.names is None else ()

    def questions(self, number: int) -> Sequence[Any]:
        """What the first answers are called, so many of them."""
        return range(number) if self.names is None else tuple(self.names[:number])


def exact_singles(values: NDArray[np.int64]) -> Singles | None:
    """The values in single precision; None where that, or their differences, would not be exact.

    >>> exact_singles(np.array([3, -(2**23)])), exact_singles(np.array([3, 2**23 + 1]))
    (array([ 3.000000e+00, -8.388608e+06], dtype=float32), None)
    """
    singles = values.astype(np.float32)
    if not len(singles):
        return singles
    farthest = max(float(np.maximum.reduce(singles)), -float(np.minimum.reduce(singles)))
    return singles if farthest <= EXACT_SINGLES else None


def named(names: Sequence[Any] | None, places: Sequence[int]) -> tuple[Any, ...]:
    """What is called by name, or by place where there are no names."""
    return tuple(places if names is None else map(names.__getitem__, places))


def read_answers(answers: Any, resolution: Fraction) -> Answers:
    """Read anything with numbers in it; see the module's docstring.

    >>> read = read_answers({"b": 5, "a": 3}, Fraction(1, 1024))
    >>> read.values.tolist(), read.names
    ([3, 5], ['a', 'b'])
    """
    numbers_, names = (answers, None) if type(answers) is np.ndarray else split_labels(answers)
    values, grain = read_numbers(numbers_, resolution)
    if len(values) == 0:
        raise InvalidArgument("answers", REDACTED, "must not be empty", _KINDS)
    return Answers(values, grain, names)


def read_numbers(
    numbers_: Any, resolution: Fraction, *, argument: str = "answers"
) -> tuple[GridValues, Fraction]:
    """A sequence of numbers as whole numbers in units of the returned grain."""
    array = numbers_ if type(numbers_) is np.ndarray else as_array(numbers_, argument)
    if array.ndim != 1:
        raise InvalidArgument(
            argument,
            REDACTED,
            f"must have one dimension, not {array.ndim}",
            "Pass one number for each item; for an array, answers.ravel().",
        )
    if array.dtype.kind in "iub":
        return _integers_on_grid(array), _ONE
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        return _floats_on_grid(array, resolution, argument), resolution
    return _objects_on_grid(array, resolution, argument)


def split_labels(answers: Any, argument: str = "answers") -> tuple[Any, list[Any] | None]:
    """The numbers and their labels, in the order of the labels; None for labels where they have positions."""
    numbers_, labels = labels_as_they_came(answers, argument)
    if labels is None:
        return numbers_, None
    order = order_of_labels(argument, labels)
    sorted_ = numbers_[order] if isinstance(numbers_, np.ndarray) else [numbers_[place] for place in order]
    return sorted_, [labels[place] for place in order]


def labels_as_they_came(answers: Any, argument: str) -> tuple[Any, list[Any] | None]:
    """The numbers and their labels, in an order that may be private; None for labels where there are none."""
    if type(answers) in (list, np.ndarray):  # the usual ones, without the longer questions below
        return answers, None
    if isinstance(answers, str | bytes | set | frozenset):
        raise InvalidArgument(argument, REDACTED, "must be a sequence of numbers", _KINDS)
    if isinstance(answers, Mapping):
        return list(answers.values()), list(answers)
    if not hasattr(answers, "to_numpy"):
        return answers, None
    index = getattr(answers, "index", None)
    if index is None or callable(index):
        return _values_of(answers, argument), None
    return _values_of(answers, argument), list(index)  # pandas: labelled by its index


def _values_of(column: Any, argument: str) -> NDArray[Any]:
    """A column as an array, by its own conversion where that works; its complaint could tell values."""
    for read in (lambda: column.to_numpy(), lambda: as_array(column.to_pylist(), argument)):
        with suppress(Exception):  # PyArrow refuses to copy what has missing values, and says how many
            return np.asarray(read())
    raise InvalidArgument(argument, REDACTED, "cannot be read as numbers", _KINDS)


def as_array(numbers_: Any, argument: str) -> NDArray[Any]:
    """A sequence of numbers as an array that keeps each of them as it is."""
    if isinstance(numbers_, np.ndarray):
        # `np.ma` is loaded when it is first named, which takes longer than a release.
        if type(numbers_) is not np.ndarray and np.ma.is_masked(numbers_):
            raise InvalidArgument("answers", REDACTED, "must not have masked entries", "Fill them in first.")
        return numbers_
    if type(numbers_) is list:
        sequence: Sequence[Any] = numbers_
    else:
        if not isinstance(numbers_, Iterable):
            raise InvalidArgument(argument, REDACTED, "must be a sequence of numbers", _KINDS)
        require_countable(argument, numbers_)
        sequence = numbers_ if isinstance(numbers_, Sequence) else list(numbers_)
    # A mixture such as [2**60 + 1, 0.5] would silently become float64 and lose the integer.
    kinds = set(map(type, sequence))
    try:
        if kinds <= {int, bool}:
            return np.asarray(sequence, dtype=np.int64)
        if kinds == {float}:
            return np.asarray(sequence, dtype=np.float64)
    except OverflowError:
        pass  # integers beyond int64 are kept as Python ints
    array = np.empty(len(sequence), dtype=object)
    for place, value in enumerate(sequence):  # all at once, NumPy would look into nested lists
        array[place] = value
    return array


def require_countable(argument: str, domain: Any) -> None:
    """A range may be longer than Python can say."""
    if isinstance(domain, range) and domain and abs(domain[-1] - domain[0]) // abs(domain.step) >= MOST_ITEMS:
        raise InvalidArgument(argument, domain, "must have at most 2^62 items", "Use a smaller domain.")


def _integers_on_grid(array: NDArray[Any]) -> GridValues:
    if len(array) and array.dtype.itemsize == 8 and max(-smallest(array), largest(array)) >= _INT64_LIMIT:
        return [int(value) for value in array]
    return array if array.dtype == _INT64 else array.astype(np.int64)


def _refuse_not_finite(argument: str) -> InvalidArgument:
    return InvalidArgument(
        argument,
        REDACTED,
        "must not contain NaN, infinity or missing values",
        "Decide what those items count as, for every data set alike, before asking.",
    )


def _floats_on_grid(array: NDArray[Any], resolution: Fraction, argument: str) -> GridValues:
    if not np.isfinite(array).all():
        raise _refuse_not_finite(argument)
    return floats_on_grid(array, resolution.denominator)


def _objects_on_grid(array: NDArray[Any], resolution: Fraction, argument: str) -> tuple[GridValues, Fraction]:
    exact = [exact_number(value, argument, resolution) for value in array]
    grain = Fraction(1) if all(value.denominator == 1 for value in exact) else resolution
    values = [math.floor(value / grain) for value in exact]
    if max(map(abs, values), default=0) < _INT64_LIMIT:
        return np.array(values, dtype=np.int64), grain
    return values, grain


def exact_number(value: Any, argument: str, resolution: Fraction) -> Fraction:
    """One number of the private data (or a threshold) as a rational: what it means on this grid."""
    number = _exactly(value, argument, resolution)
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _MOST_BITS:
        raise _refuse_size(argument)
    return number


def _exactly(value: Any, argument: str, resolution: Fraction) -> Fraction:
    if isinstance(value, np.timedelta64):  # which NumPy counts among the integers
        raise _refuse_not_finite(argument) if is_missing_number(value) else _refuse_kind(argument)
    integer = whole(value)
    if integer is not None:
        return Fraction(integer)
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Decimal | numbers.Real):
        if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
            raise _refuse_not_finite(argument)
        if isinstance(value, Decimal) and abs(value.adjusted()) > _LARGEST_EXPONENT:
            raise _refuse_size(argument)
        return (
            Fraction(value) if isinstance(value, Decimal) else meant_by_float(value, resolution.denominator)
        )
    if is_missing_number(value):
        raise _refuse_not_finite(argument)
    raise _refuse_kind(argument)


def is_missing_number(value: Any) -> bool:
    """Whether something stands where a number is missing: None, and what pandas and NumPy have for it."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _refuse_kind(argument: str) -> InvalidArgument:
    return InvalidArgument(argument, REDACTED, "must all be numbers", _KINDS)


def _refuse_size(argument: str) -> InvalidArgument:
    return InvalidArgument(
        argument,
        REDACTED,
        f"must lie between 10^-{_LARGEST_EXPONENT} and 10^{_LARGEST_EXPONENT} in size",
        "Clamp them to a public range first.",
    )
