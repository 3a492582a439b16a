"""What a float answer means on the grid γ = 1/N: the grid point that it stands for, else itself.

A person who writes 0.7 on the grid 1/10 means 7/10, not the dyadic number a little below it, which would be
rounded down to 6/10: then 0.7 and 0.8, one apart, would become 6/10 and 8/10, and an answer could move by
twice its sensitivity. So:

Rule     A float that is the nearest float of a grid point j/N means j/N; any other float means itself. What
         it means is rounded down to the grid. This holds where N ≤ 2^p and |x|·N < 2^(p−1), p being the
         digits of its precision (53, 24 or 11). Beyond that, and with more digits than 53, a float means
         itself: there the grid is as fine as the floats, and one float can be the nearest of two grid points.
Same as  R(x) = the largest j with fl(j/N) ≤ x, where fl rounds to the nearest float.
Keeps    the sensitivity of what the floats mean (Ding et al. 2023, lemma 4.2). Answers on the grid that were
         rounded to floats mean what they were, so that their sensitivity is kept exactly. Sums of floats
         err: 0.1 + 0.7 is a float a little below 0.8 and not the nearest of it, so it means itself. Round
         sums to the grid (`np.round` gives the nearest floats), or add whole numbers.

Why the two are the same. Write f = ⌊xN⌋. Neighbouring grid points are 1/N > |x|·2^(1−p) ≥ ulp(x) apart, so
that no two of them have one nearest float. fl(f/N) ≤ x, since f/N ≤ x and x is a float; and fl((f+2)/N) > x,
since (f+2)/N is more than one ulp above x. So R(x) is f or f + 1, and it is f + 1 just where
fl((f+1)/N) = x, because (f+1)/N > x.

Why it is monotone, also across the limits: for floats x < y, j = R(x) has fl(j/N) ≤ x < y, so j/N < y, and
j ≤ ⌊yN⌋ ≤ R(y); and ⌊xN⌋ ≤ ⌊yN⌋.

How it is computed for arrays. s = fl(x·N) lies in [f, f + 1], since f and f + 1 are floats and rounding is
monotone; so j₀ = ⌊s⌋ is f or f + 1, and R(x) is j₀ − 1, j₀ or j₀ + 1. Whole numbers below 2^p are floats, and
a quotient of two floats is rounded to the nearest, which is fl(j/N): comparing the quotients of j₀ and j₀ + 1
with x decides. (NumPy divides float16 in single precision and rounds twice; with 24 ≥ 2·11 + 2 digits in
between, the result of a division is the same as if it were rounded once.)
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DIGITS: dict[type[Any], int] = {float: 53, np.float64: 53, np.float32: 24, np.float16: 11}
_FITS_INT64 = 2.0**61


def meant_by_float(x: Any, per_unit: int) -> Fraction:
    """What one finite float means on the grid 1/per_unit; see the module.

    >>> meant_by_float(0.7, 10), meant_by_float(0.5, 3), meant_by_float(np.float32(0.7), 10)
    (Fraction(7, 10), Fraction(1, 2), Fraction(7, 10))
    """
    numerator, denominator = x.as_integer_ratio()
    exact = Fraction(int(numerator), int(denominator))
    kind = next((kind for kind in _DIGITS if isinstance(x, kind)), None)
    if kind is None or not _coarse(per_unit, _DIGITS[kind], abs(float(x))):
        return exact
    below = math.floor(exact * per_unit)
    near = (j for j in (below, below + 1) if kind(j) / kind(per_unit) == x)
    return next((Fraction(j, per_unit) for j in near), exact)


def floats_on_grid(array: NDArray[Any], per_unit: int) -> NDArray[np.int64] | list[int]:
    """⌊m·per_unit⌋ of what each of these finite floats, of at most 53 digits, means; exactly."""
    doubles = array.astype(np.float64, copy=False)
    sizes = np.abs(doubles)
    digits = _DIGITS[array.dtype.type]
    if per_unit > 2**53 or (len(sizes) and float(sizes.max()) * per_unit >= _FITS_INT64):
        return [math.floor(meant_by_float(x, per_unit) * per_unit) for x in array]
    scaled = doubles * float(per_unit)
    values = np.floor(scaled).astype(np.int64)
    if per_unit & (per_unit - 1) == 0:  # a float of this size and the product are whole multiples of 2^-m
        return values
    coarse = _coarse(per_unit, digits, sizes)
    if per_unit <= 2**digits:
        values -= coarse & (_quotients(values, per_unit, array) > array)
        values += coarse & (_quotients(values + 1, per_unit, array) <= array)
    if digits + per_unit.bit_length() > 53:  # else the product is exact
        for place in np.flatnonzero(~coarse):
            values[place] = math.floor(Fraction(float(doubles[place])) * per_unit)
    return values


def _coarse(per_unit: int, digits: int, size: Any) -> Any:
    """Whether floats of this size can stand for grid points: the grid is coarser than they are."""
    if per_unit > 2**digits:
        return np.zeros_like(size, dtype=bool)
    return size * float(per_unit) < 2.0 ** (digits - 1)


def _quotients(values: NDArray[np.int64], per_unit: int, array: NDArray[Any]) -> NDArray[Any]:
    """The nearest floats of values/per_unit, of the array's precision, where `_coarse` holds."""
    with np.errstate(over="ignore"):  # where it does not
        quotients: NDArray[Any] = values.astype(array.dtype) / array.dtype.type(per_unit)
    return quotients
