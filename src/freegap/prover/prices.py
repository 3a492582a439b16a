"""What the shifts of an alignment cost, as a z3 term: condition 3 of lemma 5.1 (Ding 2020), law by law.

Which laws have a bound, and why, is in their records (`freegap.laws`). A mechanism that draws noise without
one is not decided.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import z3

from freegap.laws import Law, ShiftPrice
from freegap.symbolic import Draw, NotDecided, Symbol, is_public, reciprocal
from freegap.symbolic.symbols import constant


def require_price(law: Law, draw: str) -> None:
    """Refuse noise whose shifts have no price."""
    if law.price is ShiftPrice.UNBOUNDED:
        raise NotDecided(f"{law} noise is not log-Lipschitz ({draw})")


def scale_of(draw: Draw) -> Fraction:
    """The scale of a draw as a rational."""
    scale = constant(draw.scale)
    if scale is None or scale <= 0:
        raise NotDecided(f"the scale {draw.scale!r} of the draw {draw.label!r} is not a positive number")
    return scale


def rate_of(draw: Draw) -> Symbol:
    """1/scale: a number, or the unknown that stands for it."""
    if type(draw.scale) is Symbol and is_public(draw.scale) and draw.scale.variables:
        return reciprocal(draw.scale)
    return Symbol.of(1 / scale_of(draw))


def price_term(draw: Draw, shift: Symbol) -> tuple[Any, list[Any]]:
    """The price of a shift as a z3 term, with the conditions that define it. Noise that stays costs nothing,
    whatever its law."""
    if not shift.terms:
        return Symbol.of(0).z3, []
    require_price(draw.law, f"draw {draw.label!r}")
    rate = rate_of(draw)
    known = shift.as_constant()
    stairs = draw.law.price is ShiftPrice.STAIRS and draw.step is not None
    if known is not None and not stairs:
        return (abs(known) * rate).z3, []
    term = shift.z3
    size = z3.If(term >= 0, term, -term)
    if not stairs:
        return size * rate.z3, []
    count = z3.Int(f"stairs({draw.label!r})")
    width = Symbol.of(draw.step).z3
    defined = [(z3.ToReal(count) - 1) * width < size, size <= z3.ToReal(count) * width]
    return z3.ToReal(count) * (draw.step * rate).z3, defined
