"""What each kind of journal line does to an account. Exact, pure, and the only text of these rules.

The ledger runs them before it writes a line and the verification runs them again over what was written, so a
journal that verifies is one that these rules allow.

Pure-DP costs add, also when a later release is chosen from the outputs of earlier ones, so one sum is the
whole accounting. The invariant of every state: 0 ≤ spent, 0 ≤ reserved, spent + reserved ≤ total.

Sums are exact, and each amount with a denominator of its own makes them longer. A sum that would need more
than `SUM_DIGITS` digits is kept short by rounding the new amount up, which only ever charges more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

__all__ = [
    "AMOUNT_DIGITS",
    "SUM_DIGITS",
    "Balance",
    "BrokenRule",
    "amount_text",
    "close",
    "kept_short",
    "opened",
    "parsed_amount",
    "reserve",
    "rounded_up",
    "shown",
]


AMOUNT_DIGITS = 2_000
"""Of the numerator and the denominator of one amount: more than any release of freegap can spend."""

SUM_DIGITS = 10_000
"""Of a sum. Reading and writing longer ones takes seconds, later minutes."""

_UNIT = 2**64


class BrokenRule(ValueError):
    """A line that the rules do not allow. Callers' mistakes are found before, so the journal is to blame."""


@dataclass(frozen=True)
class Balance:
    """What a dataset has in all, what is settled, and what is held by open reservations."""

    total: Fraction
    spent: Fraction = Fraction(0)
    reserved: Fraction = Fraction(0)

    @property
    def remaining(self) -> Fraction:
        """What the next release can reserve at most. What is held counts as gone."""
        return self.total - self.spent - self.reserved


def opened(total: Fraction) -> Balance:
    """A new account."""
    if total <= 0:
        raise BrokenRule("a total must be greater than 0")
    return Balance(total)


def reserve(balance: Balance, amount: Fraction) -> Balance:
    """Hold `amount` for a release that has not run yet."""
    if amount <= 0:
        raise BrokenRule("a reservation must be greater than 0")
    if amount > balance.remaining:
        raise BrokenRule("a reservation must not exceed what is left")
    return replace(balance, reserved=balance.reserved + amount)


def close(balance: Balance, held: Fraction, spent: Fraction) -> Balance:
    """End a reservation of `held` at `spent`; the rest comes back. An abandoned one is closed at 0."""
    if not 0 <= spent <= held:
        raise BrokenRule("what is spent must lie between 0 and what was reserved")
    if held > balance.reserved:
        raise BrokenRule("a reservation must be open to be closed")
    return replace(balance, spent=balance.spent + spent, reserved=balance.reserved - held)


def kept_short(amount: Fraction, *sums: Fraction) -> Fraction:
    """The amount, or, where one of the sums would get too long with it, the amount rounded up.

    >>> kept_short(Fraction(1, 3), Fraction(1, 7))
    Fraction(1, 3)
    """
    return amount if all(_is_short(total + amount) for total in sums) else rounded_up(amount)


def rounded_up(amount: Fraction) -> Fraction:
    """The next multiple of 2^-64. Sums of such amounts do not get longer."""
    return Fraction(math.ceil(amount * _UNIT), _UNIT)


def _is_short(total: Fraction) -> bool:
    longest = max(total.numerator.bit_length(), total.denominator.bit_length())
    return longest * 0.30103 < SUM_DIGITS


def amount_text(amount: Fraction) -> str:
    """The amount as stored: numerator/denominator in decimal digits, in lowest terms.

    By way of `Decimal`, since Python refuses to print an int of more than 4300 digits, and the sum of many
    charges with unlike denominators may need them.

    >>> amount_text(Fraction(3, 2)), amount_text(Fraction(2))
    ('3/2', '2/1')
    """
    return f"{Decimal(amount.numerator)}/{Decimal(amount.denominator)}"


def parsed_amount(text: str) -> Fraction:
    """The inverse of `amount_text`, which refuses every other way to write the number.

    >>> parsed_amount("3/2")
    Fraction(3, 2)
    """
    numerator, _, denominator = text.partition("/")
    if (
        not (text.isascii() and numerator.isdigit() and denominator.isdigit())
        or int(Decimal(denominator)) == 0
    ):
        raise BrokenRule("an amount must be stored as numerator/denominator")
    amount = Fraction(int(Decimal(numerator)), int(Decimal(denominator)))
    if amount_text(amount) != text:
        raise BrokenRule("an amount must be stored in lowest terms")
    return amount


def shown(amount: Fraction, *, longest: int = 24) -> str:
    """The amount for people: exact where that is short, else a decimal marked as rounded.

    >>> shown(Fraction(5)), shown(Fraction(1, 3)), shown(Fraction(10**30, 3 * 10**30 + 1))
    ('5', '1/3', '≈ 0.333333')
    """
    exact = amount_text(amount).removesuffix("/1")
    if len(exact) <= longest:
        return exact
    return f"≈ {Decimal(amount.numerator) / Decimal(amount.denominator):.6g}"
