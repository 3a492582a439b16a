"""Noise added to many numbers and rounded to a grid, exactly: ⌊factor·X_i + offset⌋ for i < n.

Doubles decide where the bound of `doubles` decides, exact reals elsewhere, on the same digits.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from freegap.exact.digits import KeyedDigits
from freegap.exact.doubles import FILTER_BITS, ROUNDING, certain_floor, stream_noise
from freegap.exact.reals import START_DIGITS, Real, Variable
from freegap.laws import ExactLaw
from freegap.values.rationals import double


def floored_noise(
    law: ExactLaw,
    n: int,
    *,
    factor: Fraction,
    offset: Fraction,
    digits: KeyedDigits,
    filter_bits: int = FILTER_BITS,
    start_digits: int = START_DIGITS,
) -> list[int]:
    """⌊factor·X_i + offset⌋ for independent X_0, …, X_{n−1} of a law."""
    noise, bound = stream_noise(law, digits, 1, np.arange(n), 2.0**-filter_bits)
    with np.errstate(over="ignore", invalid="ignore"):
        values = noise * double(factor) + double(offset)
        floors, sure = certain_floor(values, bound * double(factor) + abs(double(offset)) * ROUNDING)
    rounded: list[int] = floors.astype(np.int64).tolist()
    for i in np.flatnonzero(~sure).tolist():
        variable = Variable(law, digits.stream(i, 1), start=start_digits)
        rounded[i] = Real(offset, {variable: factor}).floor()
    return rounded
