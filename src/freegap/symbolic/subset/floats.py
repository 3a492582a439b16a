"""What floats may lose: a bound on the error of each known number that a program computes with.

The interpreter is exact, and Python rounds where some number is a float. A small difference of rounded
constants can be all rounding, and so can what is left after many steps of which each loses little. So the
error of each constant and coefficient is bounded on the way, and one whose error is not small is refused.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from freegap.symbolic.symbols import Symbol

if TYPE_CHECKING:
    from freegap.symbolic.subset.machine import Machine

_UNIT = Fraction(1, 2**52)
_MOST = Fraction(1, 10**9)
_DIGITS = 2**80
"""Of an error, which is rounded up."""
_SIZE = 10**20
"""Answers and noise are taken to be 0, or not larger than this, and not smaller than its reciprocal."""
_RANGE = 10**300


def require_range(machine: Machine, made: Symbol) -> None:
    """No term of a number that is not known is beyond the range of floats: Python has inf there, of which
    differences are NaN, or 0, or raises an error. Which it is would tell of an answer."""
    for monomial, value in made.terms.items():
        size, spread = abs(value), _SIZE ** len(monomial)
        small = bool(monomial) and size * _RANGE < spread
        if small or (size * spread > _RANGE and (machine.floats or monomial)):
            raise machine.refusal(
                "a number that may be beyond the range of floats, for answers and noise of at most 10^20: a "
                "power or a factor that is too large, or too small"
            )


def note_errors(machine: Machine, kind: type[ast.operator], left: Any, right: Any, result: Any) -> None:
    """Bound the errors of `left operator right`, for + - and *; refuse a number that may be all error."""
    known = Symbol not in (type(left), type(right))
    if not (machine.rounded if known else machine.floats) or type(result) in (int, bool):
        return
    one, other, made = (Symbol.of(value).terms for value in (left, right, result))
    for monomial, error in _errors(machine, kind, one, other).items():
        if monomial in made:
            _keep(machine, made[monomial], error)


def note_quotient(machine: Machine, left: Any, right: Any, result: Any) -> None:
    """The same for left / right, by a known number."""
    inverse = 1 / Fraction(right)
    if machine.floats:
        _keep(machine, inverse, _error(machine, Fraction(right)) * inverse**2)
    note_errors(machine, ast.Mult, left, inverse, result)


def note_power(machine: Machine, base: Any, exponent: int, result: Any) -> None:
    """The same for a known number to a power."""
    if machine.rounded and base and result:
        own = _error(machine, Fraction(base)) / abs(Fraction(base))
        _keep(machine, Fraction(result), 2 * abs(exponent) * own * abs(Fraction(result)))


def _errors(
    machine: Machine,
    kind: type[ast.operator],
    one: Mapping[Any, Fraction],
    other: Mapping[Any, Fraction],
) -> dict[Any, Fraction]:
    found: dict[Any, Fraction] = {}
    if kind is not ast.Mult:
        for terms in (one, other):
            for monomial, value in terms.items():
                found[monomial] = found.get(monomial, Fraction(0)) + _error(machine, value)
        return found
    for left, a in one.items():
        for right, b in other.items():
            monomial = tuple(sorted(left + right, key=lambda v: v.name))
            e, f = _error(machine, a), _error(machine, b)
            found[monomial] = found.get(monomial, Fraction(0)) + abs(a) * f + abs(b) * e + e * f
    return found


def _error(machine: Machine, value: Fraction) -> Fraction:
    return machine.errors.get(abs(value), abs(value) * _UNIT)


def _keep(machine: Machine, value: Fraction, error: Fraction) -> None:
    size = abs(value)
    error = max(error + size * _UNIT, machine.errors.get(size, Fraction(0)))
    if error > _MOST * size:
        raise machine.refusal(
            "a number of which floats may lose more than a part in 10^9: Python may get the rounding. Write "
            "Fraction(1, 10) for 0.1, or pass it as a parameter"
        )
    machine.errors[size] = size * Fraction(math.ceil(error / size * _DIGITS), _DIGITS)
