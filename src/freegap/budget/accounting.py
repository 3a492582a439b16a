"""What each kind of journal line does to an account. Exact, pure, and the only text of these rules.

The ledger runs them before it writes a line and the verification runs them again over what was written, so a
journal that verifies is one that these rules allow.

What is charged adds up, in ε as in ρ, and the δ of releases that have one of their own adds up beside it
(`budgets` says why): so one sum of each is the whole accounting. The invariant of every state, for both:
0 ≤ spent, 0 ≤ reserved, spent + reserved ≤ total.

Sums are exact, and each amount with a denominator of its own makes them longer. A sum that would need more
than `SUM_DIGITS` digits is kept short by rounding the new amount up, which only ever charges more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

AMOUNT_DIGITS = 2_000
"""Of the numerator and the denominator of one amount: more than any release of freegap can spend."""

SUM_DIGITS = 10_000
"""Of a sum. Reading and writing longer ones takes seconds, later minutes."""

_UNIT = 2**64


class BrokenRule(ValueError):
    """A line that the rules do not allow. Callers' mistakes are found before, so the journal is to blame."""


@dataclass(frozen=True)
class Cost:
    """What is taken from a budget: an amount in the measure in which it is kept, and a δ beside it.

    >>> Cost(Fraction(1, 8)) + Cost(Fraction(1, 8), Fraction(1, 10**6))
    Cost(amount=Fraction(1, 4), delta=Fraction(1, 1000000))
    """

    amount: Fraction
    delta: Fraction = Fraction(0)

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.amount + other.amount, self.delta + other.delta)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.amount - other.amount, self.delta - other.delta)

    def __le__(self, other: Cost) -> bool:
        """Whether both parts are no more. Of two costs neither may be."""
        return self.amount <= other.amount and self.delta <= other.delta

    def at_most(self, other: Cost) -> Cost:
        """The lesser of each part."""
        return Cost(min(self.amount, other.amount), min(self.delta, other.delta))

    @property
    def rounded_up(self) -> Cost:
        """Both parts, each to the next multiple of 2^-64."""
        return Cost(rounded_up(self.amount), rounded_up(self.delta))


NOTHING = Cost(Fraction(0))


@dataclass(frozen=True)
class Balance:
    """What a dataset has in all, what is settled, and what is held by open reservations."""

    total: Cost
    spent: Cost = NOTHING
    reserved: Cost = NOTHING

    @property
    def remaining(self) -> Cost:
        """What the next release can reserve at most. What is held counts as gone."""
        return self.total - self.spent - self.reserved


def opened(total: Cost) -> Balance:
    """A new account."""
    if total.amount <= 0 or total.delta < 0:
        raise BrokenRule("a total must be greater than 0")
    return Balance(total)


def reserve(balance: Balance, cost: Cost) -> Balance:
    """Hold `cost` for a release that has not run yet."""
    if cost.amount <= 0 or cost.delta < 0:
        raise BrokenRule("a reservation must be greater than 0")
    if not cost <= balance.remaining:
        raise BrokenRule("a reservation must not exceed what is left")
    return replace(balance, reserved=balance.reserved + cost)


def close(balance: Balance, held: Cost, spent: Cost) -> Balance:
    """End a reservation of `held` at `spent`; the rest comes back. An abandoned one is closed at 0."""
    if not NOTHING <= spent <= held:
        raise BrokenRule("what is spent must lie between 0 and what was reserved")
    if not held <= balance.reserved:
        raise BrokenRule("a reservation must be open to be closed")
    return replace(balance, spent=balance.spent + spent, reserved=balance.reserved - held)


def kept_short(cost: Cost, *sums: Cost) -> Cost:
    """The cost, with what would make one of the sums too long rounded up.

    >>> kept_short(Cost(Fraction(1, 3)), Cost(Fraction(1, 7))).amount
    Fraction(1, 3)
    """
    return Cost(
        _kept_short(cost.amount, *(total.amount for total in sums)),
        _kept_short(cost.delta, *(total.delta for total in sums)),
    )


def _kept_short(amount: Fraction, *sums: Fraction) -> Fraction:
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


def shown(amount: Fraction, *, longest: int = 12) -> str:
    """The amount for people: exact where that is short, else a decimal marked as rounded.

    >>> shown(Fraction(5)), shown(Fraction(1, 3)), shown(Fraction(10**30, 3 * 10**30 + 1))
    ('5', '1/3', '≈ 0.333333')
    """
    exact = amount_text(amount).removesuffix("/1")
    if len(exact) <= longest:
        return exact
    return f"≈ {Decimal(amount.numerator) / Decimal(amount.denominator):.6g}"
