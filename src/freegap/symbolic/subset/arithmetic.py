"""Numbers: the operators, exactly.

Whole numbers and rationals follow Python; a division of whole numbers is the rational, not its nearest float.
With a `Symbol` the result is a polynomial. What a float would answer with a sign that the number does not
have (-0.0) is refused: a product of a real number with zero, and the negative of a real zero.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from freegap.symbolic.subset.floats import note_errors, note_power, note_quotient, require_range
from freegap.symbolic.subset.processing import OPERATIONS, Processed
from freegap.symbolic.subset.values import holds_rounding, is_number, shown
from freegap.symbolic.symbols import Symbol

if TYPE_CHECKING:
    from freegap.symbolic.subset.machine import Machine

_MOST_POWER = 64
_MOST_BITS = 20_000
_MOST_TERMS = 1000

_POLYNOMIAL: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_WHOLE: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_SETS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.Sub: operator.sub,
    ast.BitXor: operator.xor,
}


def simplified(value: Any) -> Any:
    """A symbol without unknowns as the rational that it is."""
    if type(value) is not Symbol:
        return value
    known = value.as_constant()
    return value if known is None else known


def real(value: Any) -> Any:
    """The number as a real one."""
    return value if type(value) is Symbol else Fraction(value)


def binary(machine: Machine, kind: type[ast.operator], left: Any, right: Any) -> Any:
    """`left operator right`."""
    if is_number(left) and is_number(right):
        return _numbers(machine, kind, left, right)
    numbers = all(is_number(side) or type(side) is Processed for side in (left, right))
    if numbers and _sign(kind) in OPERATIONS:
        if kind in (ast.Div, ast.FloorDiv, ast.Mod):
            _require_divisor(machine, right)
        return Processed(_sign(kind), (left, right))
    pair = (type(left), type(right))
    if kind is ast.Add and pair in ((list, list), (tuple, tuple), (str, str)):
        machine.require_short(len(left) + len(right))
        return left + right
    if kind is ast.Mult and pair in ((list, int), (tuple, int), (str, int)):
        return _repeated(machine, left, right)
    if kind is ast.Mult and pair in ((int, list), (int, tuple), (int, str)):
        return _repeated(machine, right, left)
    if kind is ast.BitOr and pair == (dict, dict):
        return left | right
    if kind in _SETS and pair == (set, set):
        return _SETS[kind](left, right)
    raise machine.refusal(f"{_sign(kind)} of {shown(left)} and {shown(right)}")


def _sign(kind: type[ast.operator]) -> str:
    return _SIGNS.get(kind, kind.__name__)


_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}


def _repeated(machine: Machine, items: Any, times: int) -> Any:
    machine.require_short(len(items) * times)
    return items * times


def _numbers(machine: Machine, kind: type[ast.operator], left: Any, right: Any) -> Any:
    if kind is ast.Div:
        return divided(machine, left, right)
    if kind is ast.Pow:
        return _power(machine, left, right)
    if kind in _POLYNOMIAL:
        if kind is ast.Mult:
            _require_sign(machine, left, right)
        if Symbol in (type(left), type(right)):
            found = _POLYNOMIAL[kind](Symbol.of(left), Symbol.of(right))
            if kind is not ast.Mult:
                _require_apart(machine, left, right, found)
            note_errors(machine, kind, left, right, found)
            return _bounded(machine, simplified(found))
        result = _POLYNOMIAL[kind](left, right)
        _note_rounding(machine, left, right, result)
        if kind is not ast.Mult and machine.rounded and abs(result) < max(abs(left), abs(right)) / 4:
            _require_whole(machine, left, right, "a difference")
        note_errors(machine, kind, left, right, result)
        return _bounded(machine, result)
    if kind in _WHOLE and {type(left), type(right)} <= {bool, int}:
        return _WHOLE[kind](left, right)
    if kind in (ast.FloorDiv, ast.Mod) and Symbol in (type(left), type(right)):
        _require_divisor(machine, right)
        return Processed(_sign(kind), (left, right))
    raise machine.refusal(f"{_sign(kind)} of {shown(left)} and {shown(right)}: only of whole numbers")


def _bounded(machine: Machine, result: Any) -> Any:
    """The number, if it can be worked with: a loop of squares must not take forever."""
    if type(result) is Symbol:
        if len(result.terms) > _MOST_TERMS:
            raise machine.refusal(f"a polynomial of more than {_MOST_TERMS} terms")
        require_range(machine, result)
        parts: list[Any] = list(result.terms.values())
    else:
        parts = [result]
    if any(max(p.numerator.bit_length(), p.denominator.bit_length()) > _MOST_BITS for p in parts):
        raise machine.refusal("a number with too many digits")
    return result


def _require_whole(machine: Machine, left: Any, right: Any, what: str) -> None:
    if Fraction in (type(left), type(right)):
        raise machine.refusal(
            f"{what} of constants, of which some are rounded as floats: Python may get the rounding. "
            "Write Fraction(1, 10) for 0.1, or pass it as a parameter"
        )


def difference(machine: Machine, left: Any, right: Any) -> Symbol:
    """left - right, of numbers that are compared and of which one is not known."""
    found: Symbol = Symbol.of(left) - Symbol.of(right)
    _require_apart(machine, left, right, found)
    return found


def _require_apart(machine: Machine, left: Any, right: Any, result: Symbol) -> None:
    """With floats, multiples of one unknown number do not cancel: what rounding leaves of them grows with it,
    beyond any bound (`3 * 0.1 * answer - 0.3 * answer`)."""
    if not machine.floats or left is right:
        return
    one, other = Symbol.of(left).terms, Symbol.of(right).terms
    for monomial in (one.keys() & other.keys()) - {()}:
        rest = abs(result.terms.get(monomial, Fraction(0)))
        if rest < max(abs(one[monomial]), abs(other[monomial])) / 4:
            raise machine.refusal(
                "a difference in which an unknown number cancels, where some numbers are floats: Python gets "
                "what rounding leaves of it. Write Fraction(1, 10) for 0.1, or pass it as a parameter"
            )


def _require_sign(machine: Machine, left: Any, right: Any) -> None:
    for one, other in ((left, right), (right, left)):
        if type(one) is Symbol or one != 0:
            continue
        if type(other) is Symbol:
            raise machine.refusal(
                "a product with zero: a float keeps the sign of the other number (write the 0 itself)"
            )
        if other < 0 and Fraction in (type(one), type(other)):
            raise machine.refusal(
                "zero times a negative number: a float would be -0.0, which looks different"
            )


def _require_divisor(machine: Machine, divisor: Any) -> None:
    if type(divisor) in (Symbol, Processed):
        machine.divisors.append(divisor)
    elif divisor == 0:
        raise ZeroDivisionError("division by zero")


def divided(machine: Machine, left: Any, right: Any) -> Any:
    """left / right, exactly, as a real number."""
    _require_divisor(machine, right)
    if type(right) is Symbol:
        return Processed("/", (left, right))
    if type(left) is Symbol:
        found: Symbol = left / right
        note_quotient(machine, left, right, found)
        return _bounded(machine, found)
    if left == 0 and right < 0:
        raise machine.refusal(
            "zero divided by a negative number: a float would be -0.0, which looks different"
        )
    result = Fraction(left) / Fraction(right)
    if Fraction not in (type(left), type(right)):  # Python's quotient of whole numbers is the nearest float
        machine.floats = True
        machine.rounded = machine.rounded or rounds_to_float(result)
    _note_rounding(machine, left, right, result)
    note_quotient(machine, left, right, result)
    return result


def _note_rounding(machine: Machine, *numbers: Any) -> None:
    """Of known numbers, where some are floats in Python: one that is no float may be rounded there, at once
    (1e17 + 1) or as it meets a float ((2**53 + 1) * 2.0)."""
    if machine.floats and any(type(number) is Fraction for number in numbers):
        machine.rounded = machine.rounded or any(rounds_to_float(Fraction(number)) for number in numbers)


def rounds_to_float(value: Fraction) -> bool:
    """Whether the number is not a float."""
    try:
        return Fraction(float(value)) != value or holds_rounding(float(value))
    except OverflowError:
        return True


def _power(machine: Machine, base: Any, exponent: Any) -> Any:
    if type(exponent) not in (int, bool) or abs(exponent) > _MOST_POWER:
        raise machine.refusal(f"a power: the exponent must be a whole number of at most {_MOST_POWER}")
    if type(base) is Symbol:
        if exponent < 0:
            raise machine.refusal("division by a symbol: by a number that depends on answers or noise")
        product = Symbol.of(1)
        for _ in range(exponent):
            product, factor = _bounded(machine, product * base), product
            note_errors(machine, ast.Mult, factor, base, product)
        return simplified(product)
    if type(base) is not Fraction and exponent >= 0:
        if base.bit_length() * exponent > _MOST_BITS:
            raise machine.refusal("a number with too many digits")
        return base**exponent
    result = _bounded(machine, Fraction(base) ** exponent)
    if type(base) is not Fraction:
        machine.floats = True
        machine.rounded = machine.rounded or rounds_to_float(result)
    _note_rounding(machine, base, result)
    note_power(machine, base, exponent, result)
    return result


def negative(machine: Machine, value: Any) -> Any:
    """-value."""
    if not is_number(value):
        raise machine.refusal(f"- of {shown(value)}")
    if type(value) is Fraction and value == 0:
        raise machine.refusal("-0.0 looks different from 0.0, and is the same number")
    return simplified(-value) if type(value) is Symbol else -value
