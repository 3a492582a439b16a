"""Measuring answers: the Laplace mechanism on a grid, exactly.

Input    answers q_1 … q_n, each of sensitivity Δ, rounded down to the grid γ (Ding et al. 2023, lemma 4.2)
Noise    each answer: Laplace of scale nΔ/ε
Release  each noisy answer, rounded to the nearest multiple of γ
Charge   ε
Theorem  each answer is ε/n-private (the Laplace mechanism: Ding et al. 2023, theorem 3.3); n of them add up
         to ε; rounding is post-processing. Rounding to the nearest rather than down keeps the estimates free
         of bias. By alignment: the noise makes up for what the answer lost, at most Δ in each (`form`).

Under ρ (`rho=`), of the same answers on the grid:

Noise    each answer: γ·Z, Z discrete Gaussian of the parameter σ/γ, with a rational σ ≥ Δ·√(n/2ρ)
Release  each noisy answer
Charge   n·Δ²/(2σ²) in ρ, a public number, at most ρ
Theorem  on the grid an answer moves by at most Δ/γ whole steps, and discrete Gaussian noise of the parameter
         σ/γ then is Δ²/(2σ²)-zCDP (Canonne, Kamath and Steinke 2020, theorem 4); n of them add up. Its
         moments are at most those of the normal law: E[e^(tZ)] is e^(t²σ²/2) times the weight of a shifted
         lattice over that of the lattice, and by Poisson's summation formula no shift weighs more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged
from freegap.exact.digits import KeyedDigits
from freegap.exact.grid_noise import floored_noise
from freegap.exact.integers import discrete_gaussian
from freegap.exact.many import MANY, many_discrete_gaussian
from freegap.forms import Stream
from freegap.laws import LAPLACE, NORMAL, Law
from freegap.laws.labelled import LabelledNoise
from freegap.mechanisms.arguments import DEFAULT_RESOLUTION
from freegap.values.answers import Answers, read_answers
from freegap.values.columns import Column, items
from freegap.values.measures import Measure, Pure, ZeroConcentrated, measure_argument
from freegap.values.plans import PlainPlan
from freegap.values.rationals import (
    Rational,
    require_scale,
    resolution_argument,
    root_above,
    sensitivity_argument,
)
from freegap.values.results import Release
from freegap.values.written import as_double, jsonable


def form(scale: Any, each: Any) -> Stream:
    """The mechanism before rounding, for any kind of number: what is proved private.

    each: what each answer is charged, Δ/scale.
    """

    def step(state: None, answer: Any, noise: LabelledNoise[Any]) -> tuple[None, Any, bool]:
        return None, answer + noise.laplace(scale, label="answer"), False

    def step_shifts(direction: str, state: None, entry: Any, answer: Any, neighbour: Any) -> dict[str, Any]:
        return {"answer": answer - neighbour}

    return Stream(
        lambda noise: None,
        step,
        lambda direction: {},
        step_shifts,
        place_alone=True,
        start_charge=0,
        entry_charge=lambda entry: each,
    )


@dataclass(frozen=True, kw_only=True)
class Measurement(Release):
    """Noisy answers.

    values: the noisy answers as exact rationals, multiples of `resolution`.
    law, scale: of the noise in each: Laplace; or normal, which stands for the discrete Gaussian of the same
        parameter, whose moments are no larger.
    """

    labels: tuple[Any, ...]
    multiples: tuple[int, ...]
    scale: Fraction
    resolution: Fraction
    law: Law = LAPLACE

    @cached_property
    def values(self) -> tuple[Fraction, ...]:
        """The noisy answers."""
        return tuple(multiple * self.resolution for multiple in self.multiples)

    @property
    def variance(self) -> Fraction:
        """The variance of each, rounding aside: 2·scale² for Laplace noise, at most scale² for Gaussian."""
        return Fraction(self.law.variance(self.scale))

    @property
    def title(self) -> str:
        """One line that says what this is."""
        return f"{len(self.multiples)} noisy answers"

    def columns(self) -> list[Column]:
        """Label and value."""
        return [
            items(self.labels),
            Column("noisy answer", self.values, float),
        ]

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        return {
            "mechanism": "measure",
            "labels": [jsonable(label) for label in self.labels],
            "values": [as_double(value) for value in self.values],
            "scale": jsonable(self.scale),
            "resolution": jsonable(self.resolution),
            **self._common(),
        }


def measure(
    answers: Any,
    *,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    sensitivity: Rational = 1,
    resolution: Rational = DEFAULT_RESOLUTION,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> Measurement:
    """Noisy answers, privately: exact Laplace noise rounded to the grid under ε, discrete Gaussian under ρ.

    sensitivity: how much one person can change *each* answer at most; `value_counts()` counts rows, of which
        one person may have many. The budget is divided evenly among
        the answers, so that n answers have noise of scale n·sensitivity/ε each; or of scale
        sensitivity·√(n/2ρ), its standard deviation. Where one person changes few of them, as in a histogram,
        `histogram` needs less.
    ledger: a ledger and the name of a dataset in it, (fg.Ledger(), "shop"): charged there, reserved first.

    >>> import freegap as fg
    >>> measurement = fg.measure({"flu": 812}, epsilon=1, bits=fg.SeededBits(1))
    >>> measurement.values, measurement.scale
    ((Fraction(207515, 256),), Fraction(1, 1))
    >>> fg.measure({"flu": 812, "cold": 790}, rho=1, bits=fg.SeededBits(1)).scale
    Fraction(1, 1)
    """
    asked = measure_argument(epsilon=epsilon, rho=rho)
    grid = resolution_argument(resolution)
    delta = sensitivity_argument(sensitivity, grid)
    read = read_answers(answers, grid)
    n = len(read)
    scale, charge = measured_scale(asked, n, delta)
    require_scale(scale, rho if epsilon is None else epsilon, *asked.arguments())
    source = source_or_system(bits)
    plan = PlainPlan("measure", asked, {"scale": scale, "sensitivity": delta})
    return charged(ledger, plan, lambda: _drawn(plan, read, scale, charge, grid, source))


def measured_scale(
    asked: Pure | ZeroConcentrated, n: int, sensitivity: Fraction
) -> tuple[Fraction, Fraction]:
    """The scale of the noise in each of n answers, and what that costs."""
    if isinstance(asked, Pure):
        return n * sensitivity / asked.epsilon, asked.epsilon
    scale = sensitivity * root_above(n / (2 * asked.rho))
    return scale, n * (sensitivity / scale) ** 2 / 2


def measured_law(asked: Measure) -> Law:
    """The law of the noise, or the one that bounds it."""
    return LAPLACE if isinstance(asked, Pure) else NORMAL


def _drawn(
    plan: PlainPlan, read: Answers, scale: Fraction, charge: Fraction, grid: Fraction, source: BitSource
) -> Measurement:
    n = len(read)
    law = measured_law(plan.asked)
    noise = measuring_noise(law, n, scale / grid, source)
    per_value = int(read.grain / grid)
    return Measurement(
        plan=plan,
        labels=read.labels(range(n)),
        multiples=tuple(int(v) * per_value + e for v, e in zip(read.values, noise, strict=True)),
        scale=scale,
        resolution=grid,
        law=law,
        spent=charge,
        private=source.private,
    )


def measuring_noise(law: Law, n: int, steps: Fraction, source: BitSource) -> list[int]:
    """The noise of n answers, in steps of the grid: of the law that `measured_law` has, of so many steps."""
    return _laplace(n, steps, source) if law is LAPLACE else _gaussian(n, steps, source)


def _laplace(n: int, steps: Fraction, source: BitSource) -> list[int]:
    """Laplace noise of so many steps, each rounded to the nearest step."""
    return floored_noise(LAPLACE, n, factor=steps, offset=Fraction(1, 2), digits=KeyedDigits(source, n))


def _gaussian(n: int, steps: Fraction, source: BitSource) -> list[int]:
    """Discrete Gaussian noise of so many steps. Of many the law is the same, on other bits."""
    if n >= MANY:
        return many_discrete_gaussian(n, steps**2, source)
    return [discrete_gaussian(steps**2, source) for _ in range(n)]
