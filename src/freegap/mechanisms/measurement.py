"""Measuring answers: the Laplace mechanism on a grid, exactly.

Input    answers q_1 … q_n, each of sensitivity Δ, rounded down to the grid γ (Ding et al. 2023, lemma 4.2)
Noise    each answer: Laplace of scale nΔ/ε
Release  each noisy answer, rounded to the nearest multiple of γ
Charge   ε
Theorem  each answer is ε/n-private (the Laplace mechanism: Ding et al. 2023, theorem 3.3); n of them add up
         to ε; rounding is post-processing. Rounding to the nearest rather than down keeps the estimates free
         of bias. By alignment: the noise makes up for what the answer lost, at most Δ in each (`form`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged
from freegap.exact.digits import KeyedDigits
from freegap.exact.grid_noise import floored_noise
from freegap.forms import Aligned
from freegap.laws import LAPLACE
from freegap.laws.labelled import LabelledNoise
from freegap.mechanisms.arguments import DEFAULT_RESOLUTION
from freegap.values.answers import Answers, read_answers
from freegap.values.measures import Pure
from freegap.values.plans import PlainPlan, ReleasePlan
from freegap.values.rationals import (
    Rational,
    positive_rational,
    require_scale,
    resolution_argument,
    sensitivity_argument,
)
from freegap.values.results import Column, Release, aligned, as_double, jsonable, text_of

__all__ = ["Measurement", "form", "measure"]


def form(scale: Fraction) -> Aligned:
    """The mechanism before rounding, for any kind of number: what is proved private."""

    def program(answers: Sequence[Any], noise: LabelledNoise[Any]) -> list[Any]:
        return [answer + noise.laplace(scale, label=i) for i, answer in enumerate(answers)]

    def alignment(
        answers: Sequence[Any], neighbour: Sequence[Any], output: Sequence[Any], noise: Mapping[Any, Any]
    ) -> dict[Any, Any]:
        return {i: noise[i] + answers[i] - neighbour[i] for i in range(len(answers))}

    return Aligned(program, alignment)


@dataclass(frozen=True, kw_only=True)
class Measurement(Release):
    """Noisy answers.

    values: the noisy answers as exact rationals, multiples of `resolution`.
    scale: of the Laplace noise in each.
    """

    labels: tuple[Any, ...]
    multiples: tuple[int, ...]
    scale: Fraction
    resolution: Fraction

    @cached_property
    def values(self) -> tuple[Fraction, ...]:
        """The noisy answers."""
        return tuple(multiple * self.resolution for multiple in self.multiples)

    @property
    def variance(self) -> Fraction:
        """The variance of each, rounding aside: 2·scale²."""
        return Fraction(LAPLACE.variance(self.scale))

    @property
    def title(self) -> str:
        """One line that says what this is."""
        return f"{len(self.multiples)} noisy answers"

    def columns(self) -> list[Column]:
        """Label and value."""
        return [
            Column("item", tuple(text_of(label) for label in self.labels)),
            Column("noisy answer", aligned(self.values), numeric=True),
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
    epsilon: Rational,
    sensitivity: Rational = 1,
    resolution: Rational = DEFAULT_RESOLUTION,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> Measurement:
    """Noisy answers under ε-differential privacy: exact Laplace noise, rounded to the grid.

    sensitivity: how much one person can change *each* answer at most. The budget is divided evenly among
        the answers, so that n answers have noise of scale n·sensitivity/ε each.
    ledger: a ledger and the name of a dataset in it, (fg.Ledger(), "shop"): charged there, reserved first.

    >>> import freegap as fg
    >>> measurement = fg.measure({"flu": 812}, epsilon=1, bits=fg.SeededBits(1))
    >>> measurement.values, measurement.scale
    ((Fraction(207515, 256),), Fraction(1, 1))
    """
    budget = positive_rational("epsilon", epsilon)
    grid = resolution_argument(resolution)
    delta = sensitivity_argument(sensitivity, grid)
    read = read_answers(answers, grid)
    n = len(read)
    scale = n * delta / budget
    require_scale(scale, epsilon)
    source = source_or_system(bits)
    plan = PlainPlan("measure", Pure(budget), {"scale": scale, "sensitivity": delta})
    return charged(ledger, plan, lambda: _drawn(plan, read, scale, grid, source))


def _drawn(
    plan: ReleasePlan, read: Answers, scale: Fraction, grid: Fraction, source: BitSource
) -> Measurement:
    n = len(read)
    noise = floored_noise(
        LAPLACE, n, factor=scale / grid, offset=Fraction(1, 2), digits=KeyedDigits(source, n)
    )
    per_value = int(read.grain / grid)
    return Measurement(
        plan=plan,
        labels=read.labels(range(n)),
        multiples=tuple(int(v) * per_value + e for v, e in zip(read.values, noise, strict=True)),
        scale=scale,
        resolution=grid,
        spent=plan.asked.spent,
        private=source.private,
    )
