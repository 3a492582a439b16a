"""The public parameters of a base-2 sparse vector, checked and in whole units of the resolution.

Everything that decides what precision is needed is here (Ilvento 2020, section 4): a `Base2Plan` is complete,
or an error was raised, before the first answer is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from freegap.base2.arguments import eta_argument, multiple_argument
from freegap.base2.eta import Eta
from freegap.base2.ideal import charge
from freegap.base2.weights import Weights
from freegap.errors import InvalidArgument
from freegap.values.measures import Measure, Pure
from freegap.values.rationals import Rational, count_argument, positive_rational, proper_fraction


@dataclass(frozen=True)
class Base2Plan:
    """What a run is allowed to know before it sees an answer. Whole numbers are in units of γ.

    low, high: the range to which answers are clamped.
    threshold: what they are compared with.
    width: w; the noisy threshold is clamped to within w of each answer.
    gaps: g_1 < g_2 < …, none for the plain mechanism.
    with_gaps: whether they are released, which is another mechanism even where there are none.
    threshold_weights: weights of the threshold noise, base 2^(−η₁γ/Δ).
    answer_weights: weights of the answer noise, base 2^(−η₂γ/(2kΔ)).
    """

    k: int
    low: int
    high: int
    threshold: int
    width: int
    gaps: tuple[int, ...]
    resolution: Fraction
    eta: tuple[Eta, Eta]
    sensitivity: Fraction
    threshold_weights: Weights
    answer_weights: Weights
    with_gaps: bool

    @classmethod
    def read(
        cls,
        threshold: Rational,
        *,
        k: int,
        eta: tuple[Eta, Eta],
        low: Rational,
        high: Rational,
        width: Rational,
        gaps: Sequence[Rational] | None = None,
        sensitivity: Rational = 1,
        resolution: Rational = 1,
    ) -> Base2Plan:
        """Check all public parameters and fix the precision."""
        k = count_argument("k", k)
        grid = positive_rational("resolution", resolution)
        delta = positive_rational("sensitivity", sensitivity)
        multiple_argument("sensitivity", delta, grid)  # else rounding down would not keep it
        lowest, highest = multiple_argument("low", low, grid), multiple_argument("high", high, grid)
        if lowest > highest:
            raise InvalidArgument("low", low, f"must not be above high = {high}", "Swap them.")
        middle = multiple_argument("threshold", threshold, grid)
        w = multiple_argument("width", width, grid)
        if w < 1:
            raise InvalidArgument(
                "width", width, "must be greater than 0", "Several times the noise scale is a good width."
            )
        ladder = () if gaps is None else _gaps_argument(gaps, grid)
        first, second = pair_argument(eta)
        far = max(abs(lowest - middle - w), abs(highest - middle + w))
        return cls(
            k=k,
            low=lowest,
            high=highest,
            threshold=middle,
            width=w,
            gaps=ladder,
            resolution=grid,
            eta=(first, second),
            sensitivity=delta,
            threshold_weights=Weights(threshold_base(first, grid, delta), far),
            answer_weights=Weights(answer_base(second, grid, delta, k), w + max(ladder, default=0)),
            with_gaps=gaps is not None,
        )

    @property
    def mechanism(self) -> str:
        """The name of the mechanism, for all answers at once."""
        return "base2.sparse_vector_with_gap" if self.with_gaps else "base2.sparse_vector"

    @property
    def asked(self) -> Measure:
        """The charge of a run to its end: (η₁ + η₂)·ln 2, rounded up."""
        return Pure(self.eta[0].epsilon + self.eta[1].epsilon)

    def is_over(self, found: int) -> bool:
        """Whether k times ⊤ were released: nothing more is answered."""
        return found == self.k

    def charge(self, asked: int, found: int) -> Fraction:
        """The charge when `found` ⊤ were released: (η₁ + η₂·found/k)·ln 2, rounded up.

        Ilvento 2020, theorem 3.3 with lemma 3.2 before its step (C): each ⊤ costs 2^(η₂/k), each ⊥ nothing.
        Where nothing was asked nothing was released, and that is free.
        """
        return charge([part.epsilon for part in self.eta], self.k, found) if asked else Fraction(0)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters for the record of a release."""
        grid = self.resolution
        return {
            "k": self.k,
            "threshold": self.threshold * grid,
            "low": self.low * grid,
            "high": self.high * grid,
            "width": self.width * grid,
            "resolution": grid,
            "sensitivity": self.sensitivity,
            "eta": [[part.x, part.y, part.z] for part in self.eta],
            "precision_bits": max(self.threshold_weights.bits, self.answer_weights.bits),
        }


def share_epsilon(
    epsilon: Rational,
    *,
    k: int,
    sensitivity: Rational = 1,
    resolution: Rational = 1,
    share: Rational = "1/2",
) -> tuple[Eta, Eta]:
    """η₁ for the threshold and η₂ for the answers of a sparse vector, with a total ε not above `epsilon`.

    Both are in the form that the mechanism needs: 2^(−η₁γ/Δ) and 2^(−η₂γ/(2kΔ)) are exact.

    share: the part of ε that goes to the threshold.

    >>> one, two = share_epsilon(1, k=3)
    >>> one, two, float(one.epsilon + two.epsilon)
    (Eta(x=311, y=9, z=1), Eta(x=3769, y=12, z=6), 0.9977387535735234)
    """
    total = positive_rational("epsilon", epsilon)
    k = count_argument("k", k)
    delta = positive_rational("sensitivity", sensitivity)
    part = proper_fraction("share", share, 'Pass for example share="1/2".')
    return (
        Eta.from_epsilon(part * total, resolution=resolution, divisor=delta),
        Eta.from_epsilon((1 - part) * total, resolution=resolution, divisor=2 * k * delta),
    )


def threshold_base(eta: Eta, grid: Fraction, sensitivity: Fraction) -> Fraction:
    """2^(−η₁γ/Δ), exactly: the base of the noise of the threshold."""
    return _base("eta[0]", eta, grid, sensitivity)


def answer_base(eta: Eta, grid: Fraction, sensitivity: Fraction, k: int) -> Fraction:
    """2^(−η₂γ/(2kΔ)), exactly: the base of the noise of the answers."""
    return _base("eta[1]", eta, grid, 2 * k * sensitivity)


def _base(argument: str, eta: Eta, grid: Fraction, divisor: Fraction) -> Fraction:
    try:
        return _adjusted_base(eta.x, eta.y, eta.z, grid / divisor)
    except InvalidArgument:
        raise InvalidArgument(
            argument,
            eta,
            f"does not keep the noise exact on the grid {grid} when divided by {divisor}",
            "Build the pair with share_epsilon(...), or with "
            f"Eta.from_epsilon(..., resolution={grid}, divisor={divisor}).",
        ) from None


@lru_cache(maxsize=8)  # of public parameters, which runs alike share; an entry may have megabytes
def _adjusted_base(x: int, y: int, z: int, step: Fraction) -> Fraction:
    return Eta(x, y, z).adjusted(step).base


def pair_argument(eta: Any) -> tuple[Eta, Eta]:
    """(η₁, η₂), or an error that says how to make them."""
    if not isinstance(eta, tuple | list) or len(eta) != 2:
        raise InvalidArgument(
            "eta", eta, "must be a pair (η₁, η₂) of Eta", "Pass for example share_epsilon(1, k=3)."
        )
    return eta_argument("eta[0]", eta[0]), eta_argument("eta[1]", eta[1])


def _gaps_argument(gaps: Any, grid: Fraction) -> tuple[int, ...]:
    if isinstance(gaps, str | bytes) or not hasattr(gaps, "__iter__"):
        raise InvalidArgument("gaps", gaps, "must be a sequence of numbers", "Pass for example range(1, 50).")
    ladder = tuple(multiple_argument("gaps", gap, grid) for gap in gaps)
    if any(b <= a for a, b in zip((0, *ladder), ladder, strict=False)):
        raise InvalidArgument(
            "gaps", gaps, "must be greater than 0 and rise", "Sort them, drop repetitions and zero."
        )
    return ladder
