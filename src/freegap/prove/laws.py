"""Which noise a proof may use: condition 3 of lemma 5.1 (000), law by law.

A law counts if ln(f(x)/f(y)) ≤ price(|x − y|) for all x, y in its support. The price of a shift is
|x − y|/scale for all laws but the staircase, whose density is constant on stairs: it can jump by a factor
e at any point and again only a full `scale` further, so its price is |x − y|/scale rounded *up*. (It is
not log-Lipschitz, although 001 and 004 list it with the laws that are.)

| law | why |
|---|---|
| laplace | ln f = −|x|/scale + c, and |x| is 1-Lipschitz |
| exponential, geometric | ln f = −x/scale + c on x ≥ 0; the geometric one on 0, grid, 2·grid, … |
| discrete_laplace | ln f = −|x|/scale + c on the multiples of the grid |
| logistic | d ln f/dx = −tanh(x/(2·scale))/scale lies in [−1/scale, 1/scale] |
| staircase | as above |

Gumbel noise is not log-Lipschitz (its density falls doubly exponentially to the left), and uniform and
normal noise give no bound either: a mechanism that draws them is not decided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import z3

from freegap.symbolic import Symbol

__all__ = ["LAWS", "NoiseLaw"]


@dataclass(frozen=True)
class NoiseLaw:
    """What a proof needs to know about a law."""

    name: str
    one_sided: bool
    lattice: bool
    stairs: bool = False

    def price(self, shift: Fraction, scale: Fraction) -> Fraction:
        """The largest ln(f(x)/f(x + shift))."""
        price = abs(shift) / scale
        return Fraction(math.ceil(price)) if self.stairs else price

    def price_term(self, shift: Symbol, scale: Fraction, name: str) -> tuple[Any, list[Any]]:
        """The price as a z3 term, with the conditions that define it."""
        constant = shift.as_constant()
        if constant is not None:
            price = self.price(constant, scale)
            return Symbol.of(price).z3, []
        term = shift.z3
        size = z3.If(term >= 0, term, -term) / Symbol.of(scale).z3
        if not self.stairs:
            return size, []
        steps = z3.Int(f"steps({name})")
        return z3.ToReal(steps), [z3.ToReal(steps) - 1 < size, size <= z3.ToReal(steps)]

    @property
    def bound(self) -> str:
        """The bound in words."""
        return "ln f(x)/f(y) ≤ ⌈|x−y|/scale⌉" if self.stairs else "ln f(x)/f(y) ≤ |x−y|/scale"


LAWS = {
    law.name: law
    for law in (
        NoiseLaw("laplace", one_sided=False, lattice=False),
        NoiseLaw("exponential", one_sided=True, lattice=False),
        NoiseLaw("geometric", one_sided=True, lattice=True),
        NoiseLaw("discrete_laplace", one_sided=False, lattice=True),
        NoiseLaw("logistic", one_sided=False, lattice=False),
        NoiseLaw("staircase", one_sided=False, lattice=False, stairs=True),
    )
}
