"""What the shifts of an alignment cost, as a z3 term: condition 3 of lemma 5.1 (Ding 2020), law by law.

Which laws have a bound, and why, is in their records (`freegap.laws`). A mechanism that draws noise without
one is not decided.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import z3

from freegap.laws import Law, ShiftPrice
from freegap.symbolic import NotDecided, Symbol

__all__ = ["price_term", "require_price"]


def require_price(law: Law, draw: str) -> None:
    """Refuse noise whose shifts have no price."""
    if law.price is ShiftPrice.UNBOUNDED:
        raise NotDecided(f"{law} noise is not log-Lipschitz ({draw})")


def price_term(
    law: Law, shift: Symbol, scale: Fraction, step: Fraction | None, name: str
) -> tuple[Any, list[Any]]:
    """The price of a shift as a z3 term, with the conditions that define it."""
    require_price(law, f"draw {name}")
    constant = shift.as_constant()
    if constant is not None:
        return Symbol.of(law.price.of(constant, scale, step)).z3, []
    term = shift.z3
    size = z3.If(term >= 0, term, -term)
    if law.price is not ShiftPrice.STAIRS or step is None:
        return size / Symbol.of(scale).z3, []
    stairs = z3.Int(f"stairs({name})")
    width = Symbol.of(step).z3
    defined = [(z3.ToReal(stairs) - 1) * width < size, size <= z3.ToReal(stairs) * width]
    return z3.ToReal(stairs) * Symbol.of(step / scale).z3, defined
