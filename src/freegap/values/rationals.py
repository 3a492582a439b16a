"""Reading public parameters (ε, Δ, thresholds, shares, resolutions) as exact rationals.

A float stands for the shortest decimal that denotes it, so 0.1 is 1/10 and not the dyadic number
next to it: a person who writes `epsilon=0.1` wants to be charged 1/10.
"""

from __future__ import annotations

import math
import numbers
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from freegap.errors import REDACTED, InvalidArgument

Rational = int | Fraction | Decimal | float | str
"""What a public parameter may be given as."""

_REMEDY = 'Pass a number such as 1, "0.7" or "1/3".'

MOST_DIGITS = 500
"""Of numerator and denominator. What is computed from a few such numbers can still be shown as text."""

_MOST = 2**62  # of what is counted: more than any memory holds
_LARGEST_SCALE = 10**100
_FINEST = 10**60


def rational(argument: str, value: Any, *, digits: int = MOST_DIGITS) -> Fraction:
    """The exact rational that a public parameter denotes, or an error that names the argument.

    digits: the most that its numerator and denominator may have.

    >>> rational("epsilon", 0.1), rational("epsilon", "1/3")
    (Fraction(1, 10), Fraction(1, 3))
    """
    if type(value) is int:  # the usual one, which none of the questions below is about
        _require_digits(argument, value, value, digits)
        return Fraction(value)
    if isinstance(value, bool | np.bool_):
        raise InvalidArgument(argument, value, "must be a number, not a truth value", _REMEDY)
    if isinstance(value, np.timedelta64):  # which NumPy counts among the integers
        raise InvalidArgument(argument, value, "must be a number", _REMEDY)
    if isinstance(value, numbers.Rational):
        _require_digits(argument, value, value, digits)  # before anything is computed with it
    number = _exactly(argument, value)
    _require_digits(argument, value, number, digits)
    return number


def private_rational(argument: str, value: Any) -> Fraction:
    """As `rational`, for a number that comes from the data: an error does not show it."""
    with suppress(InvalidArgument):
        return rational(argument, value)
    raise InvalidArgument(argument, REDACTED, "must be a finite number", _REMEDY)


def _require_digits(argument: str, value: Any, number: Any, digits: int) -> None:
    longest = max(int(number.numerator).bit_length(), int(number.denominator).bit_length())
    if longest > _bits_of(digits):
        raise _too_many_digits(argument, value, digits)


@cache
def _bits_of(digits: int) -> int:
    return int(10**digits).bit_length()


def _exactly(argument: str, value: Any) -> Fraction:
    integer = whole(value)
    if integer is not None:
        return Fraction(integer)
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, str):
        return _from_text(argument, value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise InvalidArgument(argument, value, "must be finite", _REMEDY)
        # 1e999999 is a short text and a megabyte of digits.
        if abs(value.adjusted()) > MOST_DIGITS or len(value.as_tuple().digits) > MOST_DIGITS:
            raise _too_many_digits(argument, value, MOST_DIGITS)
        return Fraction(value)
    if isinstance(value, numbers.Real):
        if not math.isfinite(value):
            raise InvalidArgument(argument, value, "must be finite", _REMEDY)
        return _from_text(argument, str(value))  # not float: NumPy's float32 has a shorter decimal of its own
    raise InvalidArgument(argument, value, "must be a number", _REMEDY)


def whole(value: Any) -> int | None:
    """A whole number as Python's own, else None. NumPy counts durations among the integers; they are none.

    >>> whole(np.int8(3)), whole(3.0), whole(np.timedelta64(3, "ns"))
    (3, None, None)
    """
    if isinstance(value, numbers.Integral) and not isinstance(value, np.timedelta64):
        return int(value)
    return None


def _too_many_digits(argument: str, value: Any, digits: int) -> InvalidArgument:
    return InvalidArgument(
        argument,
        value,
        f"must not have more than {digits} digits in its numerator or denominator",
        "Round it to a size that can be meant.",
    )


def _from_text(argument: str, text: str) -> Fraction:
    try:
        if len(text) > 1000:  # 1e999999999 would otherwise fill the memory
            raise ValueError
        _, _, exponent = text.lower().partition("e")
        if exponent and abs(int(exponent)) > 1000:
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InvalidArgument(argument, text, "is not a number", _REMEDY) from None


def double(number: Fraction) -> float:
    """The nearest double; an infinity where the number is beyond all doubles, which then decides nothing."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def positive_rational(argument: str, value: Any, *, digits: int = MOST_DIGITS) -> Fraction:
    """As `rational`, and greater than zero."""
    number = rational(argument, value, digits=digits)
    if number <= 0:
        raise InvalidArgument(argument, value, "must be greater than 0", f"Pass for example {argument}=1.")
    return number


def proper_fraction(argument: str, value: Any, remedy: str) -> Fraction:
    """As `rational`, and strictly between 0 and 1."""
    number = rational(argument, value)
    if not 0 < number < 1:
        raise InvalidArgument(argument, value, "must lie strictly between 0 and 1", remedy)
    return number


def count_argument(argument: str, value: Any, *, least: int = 1) -> int:
    """A whole number of at least `least`."""
    number = None if isinstance(value, bool) else whole(value)
    if number is None:
        raise InvalidArgument(
            argument, value, "must be a whole number", f"Pass for example {argument}={least}."
        )
    if number < least:
        raise InvalidArgument(
            argument, value, f"must be at least {least}", f"Pass for example {argument}={least}."
        )
    if number > _MOST:
        raise InvalidArgument(
            argument, value, "must be at most 2^62", f"Pass for example {argument}={least}."
        )
    return number


def require_scale(scale: Fraction, given: Any, argument: str = "epsilon") -> None:
    """Refuse an ε or a ρ that gives noise of a scale whose variance no double can hold.

    A scale beyond that is of no use to anybody, and every error bar would be infinite or zero.
    """
    if not Fraction(1, _LARGEST_SCALE) <= scale <= _LARGEST_SCALE:
        size = "sensitivity/epsilon" if argument == "epsilon" else f"sensitivity/√{argument}"
        raise InvalidArgument(
            argument,
            given,
            f"gives noise whose scale, about {size}, is not between 10^-100 and 10^100",
            f"Pass {argument} between 0.001 and 100, and a sensitivity in the units of the answers.",
        )


def root_above(square: Fraction) -> Fraction:
    """The root of a positive rational where that is rational, else six significant digits of it, upwards.

    >>> root_above(Fraction(9, 4)), root_above(Fraction(2))
    (Fraction(3, 2), Fraction(70711, 50000))
    """
    return _roots(square)[1]


def root_below(square: Fraction) -> Fraction:
    """The root of a positive rational where that is rational, else six significant digits of it, downwards.

    >>> root_below(Fraction(9, 4)), root_below(Fraction(2))
    (Fraction(3, 2), Fraction(141421, 100000))
    """
    return _roots(square)[0]


def _roots(square: Fraction) -> tuple[Fraction, Fraction]:
    """The root from below and from above: twice the same where it is rational."""
    n, d = square.numerator, square.denominator
    exact = Fraction(math.isqrt(n), math.isqrt(d))
    if exact**2 == square:
        return exact, exact
    places = (37 - n.bit_length() + d.bit_length()) * 3 // 20  # so many leave nearly six digits
    while True:
        up, down = 10 ** max(2 * places, 0), 10 ** max(-2 * places, 0)
        digits = math.isqrt(n * up // (d * down))
        if 10**5 <= digits < 10**6:
            unit = Fraction(10) ** -places
            return digits * unit, (digits + 1) * unit
        places += 1 if digits < 10**5 else -1


def resolution_argument(value: Any) -> Fraction:
    """The grid γ to which gaps are rounded down: the reciprocal of a whole number, 10^-60 at the finest.

    With scales between 10^-100 and 10^100 (`require_scale`) every ratio of γ to a scale, and of a scale to γ,
    is then well within the range of doubles. Were one to underflow, no bound of `freegap.exact` would hold.
    """
    resolution = positive_rational("resolution", value)
    if resolution.numerator != 1:
        raise InvalidArgument(
            "resolution",
            value,
            "must be the reciprocal of a whole number",
            'Pass for example "1/1024", Fraction(1, 10) or 1.',
        )
    if resolution.denominator > _FINEST:
        raise InvalidArgument(
            "resolution",
            value,
            "must be at least 10^-60",
            'Pass for example "1/1024": finer gaps say no more, since the noise is far wider.',
        )
    return resolution


def sensitivity_argument(value: Any, resolution: Fraction) -> Fraction:
    """The sensitivity Δ, a multiple of the grid γ.

    Rounding answers down to the grid keeps the sensitivity only then (Ding et al. 2023, lemma 4.2).
    """
    sensitivity = positive_rational("sensitivity", value)
    if (sensitivity / resolution).denominator != 1:
        raise InvalidArgument(
            "sensitivity",
            value,
            f"must be a multiple of the resolution {resolution}",
            f"Pass resolution=Fraction(1, {sensitivity.denominator}), or a sensitivity rounded up, "
            f'Fraction("{math.ceil(sensitivity / resolution) * resolution}").',
        )
    return sensitivity
