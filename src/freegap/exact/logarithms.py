"""Natural logarithms of rationals between rational bounds, in integer arithmetic alone.

A privacy parameter that is handed from one unit to another (η·ln 2 = ε) must be rounded the safe way.
Integers have no precision that another thread could change, and no rounding mode to trust.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from freegap.errors import InvalidArgument


def log_bounds(x: Fraction, bits: int = 64) -> tuple[Fraction, Fraction]:
    """Rationals with low ≤ ln x ≤ high and high − low ≤ 2^−bits, for x > 0.

    With x = m·2^e and 1 ≤ m < 2: ln x = ln m + e·ln 2, each half of it by `_half_log`.

    >>> low, high = log_bounds(Fraction(2))
    >>> high - low < Fraction(1, 2**64), float(low)
    (True, 0.6931471805599453)
    """
    if x <= 0:
        raise InvalidArgument("x", x, "must be greater than 0", "Only positive numbers have a logarithm.")
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    if x < _power_of_two(exponent):
        exponent -= 1
    work = bits + 16 + abs(exponent).bit_length() + bits.bit_length()
    low, high = _half_log(x / _power_of_two(exponent), work)
    low_two, high_two = _half_log(Fraction(2), work)
    if exponent < 0:
        low_two, high_two = high_two, low_two
    unit = Fraction(2, 1 << work)
    return (low + exponent * low_two) * unit, (high + exponent * high_two) * unit


def _power_of_two(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


@lru_cache(maxsize=256)
def _half_log(m: Fraction, work: int) -> tuple[int, int]:
    """Integers with low ≤ 2^work·(ln m)/2 ≤ high, for 1 ≤ m ≤ 2.

    (ln m)/2 = artanh t = Σ t^(2i+1)/(2i+1) with t = (m−1)/(m+1) ≤ 1/3. Everything is rounded down, in
    units of 2^−work. A power of t errs by less than 1 at first; one step multiplies the error by at
    most 1/9 and adds less than 1 + 1/3, so it stays below 3/2. A term errs by one more at most, and
    the terms left out after N > work/3 add up to less than 1, because 9^−N < 2^−work.
    """
    scale = 1 << work
    t = (m - 1) / (m + 1)
    power = t.numerator * scale // t.denominator
    square = t.numerator**2 * scale // t.denominator**2
    terms = work // 3 + 1
    low = 0
    for i in range(terms):
        low += power // (2 * i + 1)
        power = power * square >> work
    return low, low + 3 * terms + 1
