"""Noisy histograms: every bin of a table of counts or sums, where one person is in few of the bins.

Input    sums q_1 … q_n, whole multiples of γ (rounded down to them: Ding et al. 2023, lemma 4.2). One person
         moves at most m of them, each by at most Δ, a multiple of γ: m = 1 where bins are disjoint, and m = n
         where nothing is known
Noise    each bin: γ·Z, P(Z = z) proportional to e^(−|z|·γ/b) (discrete Laplace), b = mΔ/ε
Release  each noisy bin
Charge   ε
Theorem  the geometric mechanism (Ghosh, Roughgarden and Sundararajan 2009; for many bins at once Dwork et al.
         2006): the noise that makes up for a change of d in one bin is at most e^(|d|/b) times less likely,
         and |d_1| + … + |d_n| is at most mΔ. By alignment where bins are disjoint (`form`): the noise of the
         one bin that moved makes up for it.

Under ρ, of the same sums:

Noise    each bin: γ·Z, Z discrete Gaussian of the parameter σ/γ, with a rational σ ≥ Δ·√(m/2ρ)
Charge   m·Δ²/(2σ²) in ρ, a public number, at most ρ
Theorem  a bin that moves by d costs d²/(2σ²) (Canonne, Kamath and Steinke 2020, theorem 4), one that does not
         move costs nothing, and d_1² + … + d_n² is at most mΔ²

`freegap.mechanisms.measurement.measure` is for n answers of which nothing is known: there m = n.

Discrete Laplace noise is drawn as the difference of two geometric variables ⌊b/γ·X⌋, X exponential: if G and
H are independent with P(G ≥ j) = P(H ≥ j) = p^j, then P(G − H = z) = Σ_j (1−p)²·p^(2j+|z|), which is
p^|z|·(1−p)/(1+p).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from freegap.bits import BitSource
from freegap.exact.digits import KeyedDigits
from freegap.exact.grid_noise import floored_noise
from freegap.forms import Stream
from freegap.laws import DISCRETE_LAPLACE, EXPONENTIAL, NORMAL, Law
from freegap.laws.labelled import LabelledNoise
from freegap.mechanisms.measurement import measured_scale, measuring_noise
from freegap.values.answers import Answers
from freegap.values.measures import Pure, ZeroConcentrated, measure_argument
from freegap.values.rationals import (
    count_argument,
    require_scale,
    resolution_argument,
    sensitivity_argument,
)


def form(scale: Any) -> Stream:
    """The mechanism on whole numbers, one bin after the other: what is proved private at Δ/scale.

    One bin moves (neighbours "one"), and its noise makes up for it.
    """

    def step(state: None, answer: Any, noise: LabelledNoise[Any]) -> tuple[None, Any, bool]:
        return None, answer + noise.discrete_laplace(scale, label="bin"), False

    def step_shifts(direction: str, state: None, entry: Any, answer: Any, neighbour: Any) -> dict[str, Any]:
        return {"bin": answer - neighbour}

    return Stream(lambda noise: None, step, lambda direction: {}, step_shifts, place_alone=True)


@dataclass(frozen=True, kw_only=True)
class HistogramPlan:
    """The noise of a histogram.

    sensitivity: Δ, what one person can change a bin by. resolution: γ.
    bins: how many there are, n. touched: how many of them one person can change, m.
    scale: of the noise in each. charge: what is spent.
    """

    asked: Pure | ZeroConcentrated
    sensitivity: Fraction
    resolution: Fraction
    bins: int
    touched: int
    scale: Fraction
    charge: Fraction
    mechanism: str = "histogram"

    @classmethod
    def read(
        cls,
        *,
        bins: int,
        items_per_person: Any,
        epsilon: Any = None,
        rho: Any = None,
        sensitivity: Any = 1,
        resolution: Any = 1,
    ) -> Self:
        """Read the arguments; an error names the one that cannot be used.

        >>> HistogramPlan.read(bins=50, items_per_person=1, epsilon="1/2").scale
        Fraction(2, 1)
        """
        asked = measure_argument(epsilon=epsilon, rho=rho)
        grid = resolution_argument(resolution)
        delta = sensitivity_argument(sensitivity, grid)
        most = bins if items_per_person is None else count_argument("items_per_person", items_per_person)
        touched = min(most, bins)
        scale, charge = measured_scale(asked, touched, delta)
        require_scale(scale, rho if epsilon is None else epsilon, *asked.arguments())
        return cls(
            asked=asked,
            sensitivity=delta,
            resolution=grid,
            bins=bins,
            touched=touched,
            scale=scale,
            charge=charge,
        )

    @property
    def law(self) -> Law:
        """Of the noise; the normal law stands for the discrete Gaussian one, whose moments are no larger."""
        return DISCRETE_LAPLACE if isinstance(self.asked, Pure) else NORMAL

    @property
    def standard_error(self) -> float:
        """Of the noise in each bin; at most so much where it is Gaussian."""
        return math.sqrt(self.law.variance(float(self.scale / self.resolution))) * float(self.resolution)

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters, for the record."""
        return {
            "bins": self.bins,
            "items_per_person": self.touched,
            "sensitivity": self.sensitivity,
            "scale": self.scale,
            "noise": "discrete gaussian" if self.law is NORMAL else "discrete laplace",
        }


def noisy_bins(plan: HistogramPlan, read: Answers, source: BitSource) -> tuple[int, ...]:
    """The noisy bins, as whole multiples of the plan's resolution."""
    per_value = int(read.grain / plan.resolution)
    noise = _noise(plan, len(read), source)
    return tuple(int(value) * per_value + step for value, step in zip(read.values, noise, strict=True))


def _noise(plan: HistogramPlan, n: int, source: BitSource) -> list[int]:
    steps = plan.scale / plan.resolution
    if plan.law is not DISCRETE_LAPLACE:
        return measuring_noise(plan.law, n, steps, source)
    drawn = floored_noise(
        EXPONENTIAL, 2 * n, factor=steps, offset=Fraction(0), digits=KeyedDigits(source, 2 * n)
    )
    return [up - down for up, down in zip(drawn[:n], drawn[n:], strict=True)]
