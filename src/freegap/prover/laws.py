"""Which noise a proof may use: condition 3 of lemma 5.1 (Ding 2020), law by law.

A law counts if ln(f(x)/f(y)) ≤ price(|x − y|) for all x, y in its support. The price of a shift is
|x − y|/scale for all laws but the staircase, whose density is constant on stairs of width `step`: over any
distance of at most `step` it can fall by e^(−step/scale) at once, so its price counts whole steps, rounded
*up*. (It is not log-Lipschitz, although Ding et al. 2019 and Ding et al. 2023 list it with the laws that
are.)

| law | why |
|---|---|
| laplace | ln f = −|x|/scale + c, and |x| is 1-Lipschitz |
| exponential, geometric | ln f = −x/scale + c on x ≥ 0; the geometric one on 0, γ, 2γ, … |
| discrete_laplace | ln f = −|x|/scale + c on the multiples of the resolution γ |
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

    def price(self, shift: Fraction, scale: Fraction, step: Fraction | None = None) -> Fraction:
        """The largest ln(f(x)/f(x + shift))."""
        if self.stairs and step is not None:
            return math.ceil(abs(shift) / step) * step / scale
        return abs(shift) / scale

    def price_term(
        self, shift: Symbol, scale: Fraction, step: Fraction | None, name: str
    ) -> tuple[Any, list[Any]]:
        """The price as a z3 term, with the conditions that define it."""
        constant = shift.as_constant()
        if constant is not None:
            return Symbol.of(self.price(constant, scale, step)).z3, []
        term = shift.z3
        size = z3.If(term >= 0, term, -term)
        if not self.stairs or step is None:
            return size / Symbol.of(scale).z3, []
        stairs = z3.Int(f"stairs({name})")
        width = Symbol.of(step).z3
        defined = [(z3.ToReal(stairs) - 1) * width < size, size <= z3.ToReal(stairs) * width]
        return z3.ToReal(stairs) * Symbol.of(step / scale).z3, defined

    @property
    def bound(self) -> str:
        """The bound in words."""
        if self.stairs:
            return "ln f(x)/f(y) ≤ ⌈|x−y|/step⌉·step/scale"
        return "ln f(x)/f(y) ≤ |x−y|/scale"


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
