"""The record of a noise law: everything that the library knows of it. Nobody asks for its name and guesses.

`Law` is what proofs and estimates need. `ExactLaw` adds what exact sampling needs: a noise variable of scale
1 is X = Q(U), U uniform on (0, 1) and Q the inverse of the survival function S(x) = P(X > x), so that large
noise comes from small U. Given the first digits of U, X lies between Q at the two ends of what is known of U:
`quantile` computes that in ball arithmetic (rigorous), `estimate` in floating point (with the bound stated in
`freegap.exact.doubles`). The largest of m independent copies has S₁ = 1 − (1 − U)^(1/m), and so is Q(S₁):
that is all that a group of items with equal answers needs (see `freegap.exact.ranking`).

`survival` is for the screen, which must never pass over an item that is above its bar. What it is given is
r̂ = e^−x·(1 + δ) in single precision with |δ| ≤ 2^-16, or infinity where that is beyond single precision;
what it returns is ŝ with

    S(x) ≤ (1 + 2^-15)·ŝ   wherever S(x) ≥ 2^-80      (smaller ones decide nothing: see `exact.screening`)

and the screen relies on S(x) ≤ e^−x, and on S(x) ≥ 1 − e^-20 for x ≤ −20, besides.

A group multiplies ŝ by its size, up to 2^62, so that a *relative* error is wanted down to 2^-80: a formula
that is exact to the last bit near 1 and cancels near 0 is of no use. Each law says at its `survival` why the
bound holds. There, w = 2^-24 is half a unit in the last place of a number next to 1. An arithmetic operation
errs relatively by at most w; exp, expm1 and log by at most 8 units in the last place, 16w = 2^-20
(`exact.arithmetic` looks whether they do). A function f of r changes by at most |f's condition number|·|δ|
when r does. Tests compare every law with ball arithmetic for all 65,536 possible first digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.errors import FreegapError, InvalidArgument

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


class ShiftPrice(Enum):
    """What it costs to shift the noise: a bound on ln(f(x)/f(y)) for all x, y in the support.

    That is condition 3 of lemma 5.1 (Ding 2020); a law without a bound cannot be used in an alignment.
    """

    DISTANCE = "ln f(x)/f(y) ≤ |x−y|/scale"
    STAIRS = "ln f(x)/f(y) ≤ ⌈|x−y|/step⌉·step/scale"
    UNBOUNDED = "ln f(x)/f(y) has no bound"

    def of(self, shift: Fraction, scale: Fraction, step: Fraction | None = None) -> Fraction:
        """The largest ln(f(x)/f(x + shift))."""
        if shift == 0:
            return Fraction(0)
        if self is ShiftPrice.UNBOUNDED:
            raise FreegapError("a shift of this noise has no finite price")
        if self is ShiftPrice.STAIRS and step is not None:
            return math.ceil(abs(shift) / step) * step / scale
        return abs(shift) / scale


def _not_known(*_: Any) -> Any:
    raise FreegapError("neither the moments of this noise are known nor how to draw it")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Law:
    """What is known of a law of noise. There is one record of each, and it is pickled by its name.

    one_sided: whether noise is never below 0, so that an answer above a line stays above it.
    lattice: whether noise lies on the multiples of a resolution.
    price: of a shift of the noise.
    bounded_range: whether to select the largest noisy answer, with noise of scale s, changes the logarithms
        of the chances of all outputs within one interval of length 2Δ/s; False where nobody has shown it.
    mean, variance: of noise of scale s (at the resolution 1), for a rational or a double s. For a rational
        one they are rational where they can be, and a ball otherwise.
    log_moment: of t and s, ln E[e^(t·(N − E N))] for N of scale s, in doubles; infinite where there is none.
    tail: of x, P(N > x) for N of scale 1, in doubles.
    difference_tail: of x, s and r, P(N − M > x) for independent N of scale s and M of scale r, in doubles;
        None where no closed form is known.
    sample: of a NumPy generator, s and a shape, noise in doubles: for audits and experiments, which count how
        often something happens; left out, by `estimate`. A release draws from `continuous`, exactly.
    floor_of: the law of X, if noise of scale s is ⌊s·X⌋.
    needs: what a draw needs besides its scale: "resolution", "step" or nothing.
    """

    name: str
    one_sided: bool
    price: ShiftPrice
    lattice: bool = False
    bounded_range: bool = False
    mean: Callable[[Any], Any] = _not_known
    variance: Callable[[Any], Any] = _not_known
    log_moment: Callable[[Floats, float], Floats] = _not_known
    tail: Callable[[Floats], Floats] = _not_known
    difference_tail: Callable[[float, float, float], float] | None = None
    sample: Callable[[np.random.Generator, float, Any], Any] = _not_known
    floor_of: ExactLaw | None = None
    needs: str | None = None

    @property
    def continuous(self) -> ExactLaw:
        """The law that exact noise is drawn from: this one, or the one that is rounded down."""
        if isinstance(self, ExactLaw):
            return self
        if self.floor_of is None:
            raise InvalidArgument(
                "noise", self.name, "cannot be drawn exactly", "Draw noise of another law, such as Laplace."
            )
        return self.floor_of

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<the {self.name} law>"

    def __reduce__(self) -> tuple[Callable[[str], Law], tuple[str]]:
        from freegap.laws import law_named

        return law_named, (self.name,)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ExactLaw(Law):
    """A law with a scale, from which exact reals are drawn; what is here is for scale 1.

    quantile: Q in ball arithmetic, for U strictly between 0 and 1.
    estimate: Q in floating point, from (u, −ln(1−u)); the error is in the lemma of `exact.doubles`.
    uses_complement: whether `estimate` uses its second argument.
    survival: replaces r = e^−x by S(x), in single precision and in place, with the bound stated above.
    exponential_tail: whether S(x) is min(e^−x, 1), so that the screen need not ask for it.
    max_stable: whether S(x) is 1 − exp(−e^−x), so that of answers z with noise all are below s with
        probability exp(−Σ e^(z − s)).
    """

    quantile: Callable[[Any], Any]
    estimate: Callable[[Floats, Floats], Floats]
    survival: Callable[[Singles], None]
    uses_complement: bool = True
    exponential_tail: bool = False
    max_stable: bool = False

    def __post_init__(self) -> None:
        if self.sample is _not_known:
            object.__setattr__(self, "sample", self._inverted)

    def _inverted(self, rng: np.random.Generator, scale: float, size: Any) -> Floats:
        u = rng.random(size) + 2.0**-54  # not 0
        with np.errstate(divide="ignore"):
            return scale * self.estimate(u, -np.log1p(-u))
