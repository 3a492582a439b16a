"""Reading public parameters and private answers in whole units of the resolution γ.

A public parameter that is off the grid is refused, before anything private is looked at. A private
answer never is: an error would be a channel (Ilvento 2020, section 4). A float means what it means everywhere
(`freegap.values.floats`). Off the grid it is rounded *down*, which keeps the sensitivity Δ where Δ is a
multiple of γ (Ding et al. 2023, lemma 4.2; to the nearest multiple, halves to even, does not). Outside the
public range it is clamped, infinities included, and what is not a number at all (NaN, None, a missing value)
counts as the low end of the range. Clamping does not raise sensitivity either. Only something of a wrong
*kind*, such as a text, is an error: that is the caller's program, not the data.
"""

from __future__ import annotations

import math
import numbers
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.base2.eta import Eta
from freegap.errors import REDACTED, InvalidArgument
from freegap.values.answers import as_array, is_missing_number, split_labels
from freegap.values.floats import floats_on_grid, meant_by_float
from freegap.values.rationals import rational, whole

# Powers of ten beyond this are beyond every range that the precision allows, or next to zero.
_LARGEST_EXPONENT = 5000


def eta_argument(argument: str, value: Any) -> Eta:
    """An `Eta`, or an error that says how to make one."""
    if not isinstance(value, Eta):
        raise InvalidArgument(argument, value, "must be an Eta", "Pass for example Eta.from_epsilon(1).")
    return value


def multiple_argument(argument: str, value: Any, grid: Fraction) -> int:
    """A public number in units of the grid, of which it must be a multiple."""
    number = rational(argument, value)
    # In whole numbers, since a division of two Fractions costs more than all the rest.
    units, rest = divmod(number.numerator * grid.denominator, number.denominator * grid.numerator)
    if rest:
        raise InvalidArgument(
            argument,
            value,
            f"must be a multiple of the resolution {grid}",
            f"Pass for example {units * grid}.",
        )
    return units


def answer_units(
    value: Any, grid: Fraction, low: int, high: int, *, sign: int = 1, argument: str = "answers"
) -> int:
    """⌊sign·value/γ⌋ clamped to [low, high]; `low` for what is not a number.

    >>> [answer_units(x, Fraction(1, 2), 0, 10) for x in (1.3, -7, math.inf, math.nan, None)]
    [2, 0, 10, 0, 0]
    """
    if type(value) is int:  # the usual one
        integer: int | None = value
    else:
        integer = int(value) if isinstance(value, np.bool_) else whole(value)
    if integer is not None:  # without a Fraction, which costs more than all the rest of a question
        return max(low, min(high, sign * integer * grid.denominator // grid.numerator))
    if isinstance(value, numbers.Rational) and not isinstance(value, np.timedelta64):
        exact = Fraction(int(value.numerator), int(value.denominator))
    elif is_missing_number(value):
        return low
    elif isinstance(value, Decimal | numbers.Real) and not isinstance(value, np.timedelta64):
        if value.is_nan() if isinstance(value, Decimal) else math.isnan(value):
            return low
        if math.isinf(value):
            return high if (float(value) > 0) == (sign > 0) else low
        exact = _finite(value, grid)
    else:
        raise InvalidArgument(
            argument, REDACTED, "must be made of numbers", "Pass ints, floats, Fractions or Decimals."
        )
    return max(low, min(high, math.floor(sign * exact / grid)))


def _finite(value: Decimal | numbers.Real, grid: Fraction) -> Fraction:
    if isinstance(value, Decimal) and abs(value.adjusted()) > _LARGEST_EXPONENT:
        size = Fraction(10) ** (_LARGEST_EXPONENT if value.adjusted() > 0 else -_LARGEST_EXPONENT)
        return size * (value > 0) - size * (value < 0)
    return Fraction(value) if isinstance(value, Decimal) else meant_by_float(value, grid.denominator)


def array_units(
    answers: Any, grid: Fraction, low: int, high: int, origin: int = 0
) -> tuple[NDArray[np.int64], list[Any] | None]:
    """`answer_units` of each answer less an origin, and their labels, as `split_labels` has them.

    origin: so near to low and high that the differences are small, however large they are themselves.

    >>> array_units([1.3, -7.0, math.inf, math.nan], Fraction(1, 2), 0, 10)[0].tolist()
    [2, 0, 10, 0]
    """
    numbers_, names = split_labels(answers)
    if isinstance(numbers_, np.ma.MaskedArray):
        numbers_ = numbers_.tolist()  # masked entries become None
    array = as_array(numbers_, "answers")
    if array.ndim != 1:
        raise InvalidArgument(
            "answers", REDACTED, f"must have one dimension, not {array.ndim}", "Pass answers.ravel()."
        )
    return _on_grid(array, grid, low, high, origin), names


def _on_grid(array: NDArray[Any], grid: Fraction, low: int, high: int, origin: int) -> NDArray[np.int64]:
    per_unit = grid.denominator
    # Beyond these two, every answer is clamped; up to them, value·per_unit fits its type.
    least, most = math.floor(low * grid) - 1, math.ceil(high * grid) + 1
    largest = max(abs(least), abs(most)) * per_unit
    if array.dtype.kind in "iub" and largest < 2**62:
        if array.dtype == np.uint64:
            array = np.minimum(array, np.uint64(2**62))
        steps = np.clip(array.astype(np.int64), least, most)
        if per_unit != 1:
            steps *= per_unit
    elif array.dtype.kind == "f" and array.dtype.itemsize <= 8 and largest < 2**53:
        doubles = array.astype(np.float64)
        inside = (doubles >= least) & (doubles <= most)
        within = floats_on_grid(np.where(inside, array, array.dtype.type(0)), per_unit)
        beyond = np.where(doubles > most, most, least) * per_unit  # NaN is not
        steps = np.where(inside, np.asarray(within, dtype=np.int64), beyond)
    else:
        return np.array([answer_units(value, grid, low, high) - origin for value in array], dtype=np.int64)
    if grid.numerator != 1:
        steps //= grid.numerator
    np.clip(steps, low, high, out=steps)
    steps -= origin
    return steps
