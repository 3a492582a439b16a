"""Rationals that can be formatted: f"{gap:.1f}", which Python's own cannot before 3.12."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any


class _Formatted(Fraction):
    """A Fraction in all else; what is computed from it can be formatted as well.

    >>> f"{_Formatted(1, 3) + 1:.2f}"
    '1.33'
    """

    __slots__ = ()

    def __format__(self, form: str) -> str:
        return format(float(self), form) if form else str(self)

    def __repr__(self) -> str:
        return f"Fraction({self.numerator}, {self.denominator})"

    def __reduce__(self) -> tuple[Any, ...]:
        """As a plain one: another Python may read it."""
        return Fraction, (self.numerator, self.denominator)


def _keeps(name: str) -> Any:
    own = getattr(Fraction, name)

    def operation(self: Fraction, *others: Any) -> Any:
        result = own(self, *others)
        return _Formatted(result) if type(result) is Fraction else result

    return operation


for _name in "add radd sub rsub mul rmul truediv rtruediv mod rmod pow neg pos abs".split():
    setattr(_Formatted, f"__{_name}__", _keeps(f"__{_name}__"))


def formatted(number: Fraction) -> Fraction:
    """The same number, so that it can be formatted on every Python.

    >>> f"{formatted(Fraction(450211, 256)):,.1f}"
    '1,758.6'
    """
    if sys.version_info >= (3, 12):
        return number
    # Fraction's own way asks what it is given; in these versions nothing changes any more.
    same: Any = object.__new__(_Formatted)
    same._numerator, same._denominator = number.as_integer_ratio()
    return same  # type: ignore[no-any-return]
