"""Exact sums of powers of a base (Ilvento 2020, algorithm 3, GETSUM; proposition A.1).

The discrete Laplace law on the integers gives k the weight B^|k|, with 0 < B < 1. Multiplied by 1 − B,
its sums have closed forms without a division, and all of them come from one tail:

    T(k) = (1 − B)·Σ_{j ≥ k} B^|j|  =  B^k               for k ≥ 0
                                       1 + B − B^(1−k)   for k < 0

    (1 − B)·Σ_{j = l…u} B^|j|  =  T(l) − T(u + 1)

B is a finite binary number b/2^s. So over the common denominator 2^(s·(reach+1)) every sum whose
ends lie within the public `reach` is an integer, and its size is known before anything private is.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from freegap.errors import REDACTED, InvalidArgument
from freegap.values.rationals import rational, whole

MOST_BITS = 1 << 20
"""The largest precision, in bits of one weight, that a mechanism may need."""


class Weights:
    """The sums (1 − B)·Σ B^|k|, as integers over the denominator `one` = 2^bits.

    base: B, a finite binary number between 0 and 1.
    reach: the largest |k| that an end of a sum may have; public.
    """

    __slots__ = ("_numerator", "_shift", "base", "bits", "reach", "total")

    def __init__(self, base: Fraction, reach: int) -> None:
        self.base = base
        self.reach = reach
        self._numerator = base.numerator
        self._shift = base.denominator.bit_length() - 1
        self.bits = self._shift * (reach + 1)
        if self.bits > MOST_BITS:
            raise InvalidArgument(
                "precision",
                self.bits,
                f"needs more than {MOST_BITS} bits for that many steps of the resolution",
                "Take a larger resolution, a smaller range or width, or an Eta with fewer digits.",
            )
        self.total = self.one + self._power(1)

    @property
    def one(self) -> int:
        """The common denominator, 2^bits."""
        return 1 << self.bits

    def tail(self, k: int) -> int:
        """(1 − B)·Σ_{j ≥ k} B^|j|, for −reach ≤ k ≤ reach + 1."""
        if k >= 0:
            return self._power(k)
        return self.total - self._power(1 - k)

    def sum(self, low: int | None, high: int | None) -> int:
        """(1 − B)·Σ_{k = low…high} B^|k|; None stands for an infinite end. Empty sums are 0."""
        if low is not None and high is not None and low > high:
            return 0
        above = 0 if high is None else self.tail(high + 1)
        return (self.total if low is None else self.tail(low)) - above

    def quotient(self, k: int) -> tuple[int, int]:
        """B^k = b^k/2^(sk), k ≥ 0, as numerator and denominator."""
        return self._numerator**k, 1 << (self._shift * k)

    def _power(self, k: int) -> int:
        return int(self._numerator**k) << (self._shift * (self.reach + 1 - k))


def get_sum(base: Any, low: int | None, high: int | None) -> Fraction:
    """(1 − B)·Σ_{k = low…high} B^|k| exactly, in closed form (Ilvento 2020, algorithm 3, GETSUM).

    base: B, a finite binary number between 0 and 1, such as "1/2" or Fraction(3, 8).
    low, high: the ends of the sum; None for an infinite end.

    >>> get_sum("1/2", None, None), get_sum("1/2", 1, None), get_sum("1/2", -1, 1)
    (Fraction(3, 2), Fraction(1, 2), Fraction(1, 1))
    """
    number = rational("base", base)
    if not 0 < number < 1 or number.denominator & (number.denominator - 1):
        raise InvalidArgument(
            "base", base, "must be a finite binary number between 0 and 1", "Pass for example Fraction(3, 8)."
        )
    first, last = _end_argument("low", low), _end_argument("high", high)
    weights = Weights(number, max(abs(first or 0), abs(last or 0)))
    return Fraction(weights.sum(first, last), weights.one)


def _end_argument(argument: str, value: Any) -> int | None:
    number = whole(value)
    if number is None and value is not None:
        raise InvalidArgument(argument, REDACTED, "must be a whole number", "Pass None for an infinite end.")
    return number
