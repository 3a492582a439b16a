"""Means of a value over the people of each bin: two histograms, and their ratio.

Input    for each bin the number C of its people, and S = Σ (x_p − c), where x_p in [low, high] is what person
         p adds (`freegap.tables.values`) and c is the middle of the bounds, on the grid of the units
Noise    that of a histogram for C, where Δ = 1, and for S, where Δ = max(high − c, c − low): half of the
         budget each, for m bins a person
Release  the noisy numbers of people, and the noisy S; so each mean, c + S/C, within the bounds
Charge   what the two histograms charge, at most what is asked
Theorem  composition of two histograms (`freegap.mechanisms.histogram`); the ratio is post-processing. About c
         the sensitivity of a sum is about half the range of the values, and to go back costs nothing.

Intervals  C and S lie in their intervals, each with half of the error; then the mean lies between the least
           and the largest ratio for at least one person, and within the bounds. An empty bin has no mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from freegap.bits import BitSource
from freegap.charges import LedgerAndDataset, charged
from freegap.errors import InvalidArgument
from freegap.estimate.bounds import confidence_argument
from freegap.mechanisms.histogram import HistogramPlan, noisy_bins
from freegap.tables.categories import TableBins
from freegap.tables.histograms import NoisyHistogram, below, reach_of
from freegap.tables.results import PrivacyUnit
from freegap.tables.values import ClippedValue
from freegap.values.answers import Answers
from freegap.values.columns import Column, items_in_parts
from freegap.values.plans import PlainPlan
from freegap.values.rationals import Rational
from freegap.values.written import as_double, jsonable


@dataclass(frozen=True, kw_only=True)
class NoisyMeans(NoisyHistogram):
    """Means of a value, of the people of each bin.

    counts: the noisy numbers of people. values: what they have above the `centre` in all, with noise.
    low, high: what one person's value is clipped to.
    means: centre plus value over count, within the bounds; of a bin with no people to speak of, noise.
    """

    counts: tuple[int, ...]
    centre: Fraction
    low: Fraction
    high: Fraction
    of_counts: HistogramPlan

    @cached_property
    def means(self) -> tuple[Fraction, ...]:
        """The mean of each bin."""
        ratios = (s / max(c, 1) for s, c in zip(self.values, self.counts, strict=True))
        return tuple(min(max(self.centre + ratio, self.low), self.high) for ratio in ratios)

    def intervals(self, *, confidence: Rational = 0.95) -> tuple[tuple[float, float], ...]:
        """For each bin that has people an interval that has its mean with this confidence, or more."""
        level = float(1 - confidence_argument(confidence)) / 2
        people, width = reach_of(self.of_counts, level), reach_of(self.plan, level)
        return tuple(
            self._interval(s - width, s + width, max(c - people, Fraction(1)), max(c + people, Fraction(1)))
            for s, c in zip(self.values, self.counts, strict=True)
        )

    def _interval(
        self, least: Fraction, most: Fraction, fewest: Fraction, many: Fraction
    ) -> tuple[float, float]:
        low = self.centre + least / (fewest if least < 0 else many)
        high = self.centre + most / (fewest if most > 0 else many)
        low, high = (min(max(end, self.low), self.high) for end in (low, high))
        return below(low), -below(-high)

    @property
    def changed(self) -> str:
        """By how much one person changes a bin."""
        change = self.plan.sensitivity
        return f"the number of people by one and the sum about {self.centre} by at most {change}"

    @property
    def title(self) -> str:
        """One line that says what this is."""
        return f"Private means of {len(self.labels)} bins"

    def columns(self) -> list[Column]:
        """Item, number of people, mean and an interval of it."""
        return [
            *items_in_parts(self.labels, None if self.privacy is None else self.privacy.items),
            Column("people", self.counts, int, form=",d"),
            Column(self.counted, self.means, float, "mean"),
            Column("95 % interval", self.intervals(), tuple, form=",.3f"),
        ]

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        of_means = {"counts": [*self.counts], "means": [as_double(mean) for mean in self.means]}
        return {**super().to_dict(), **of_means, "centre": jsonable(self.centre)}


def plans_of_means(by: ClippedValue, plan: HistogramPlan) -> tuple[Fraction, HistogramPlan, HistogramPlan]:
    """c, and the plans of the two histograms: of people, and of sums about c."""
    centre = (by.low + by.high) / 2 // by.unit * by.unit
    half: dict[str, Any] = plan.asked.of(plan.asked.spent / 2).arguments()
    shared: dict[str, Any] = half | {"bins": plan.bins, "items_per_person": plan.touched}
    of_counts = HistogramPlan.read(**shared)
    change = max(by.high - centre, centre - by.low)
    return centre, of_counts, HistogramPlan.read(sensitivity=change, resolution=by.unit, **shared)


def require_means(by: ClippedValue | None, mean: bool) -> ClippedValue:
    """What there are means of; where there is nothing, or but one number, an error."""
    if by is None or by.low == by.high:
        raise InvalidArgument(
            "mean", mean, "needs a value, and bounds that differ", "Pass value='…' with low and high."
        )
    return by


def drawn_means(
    bins: TableBins,
    by: ClippedValue,
    plan: HistogramPlan,
    privacy: PrivacyUnit,
    public: dict[str, Any],
    account: LedgerAndDataset | None,
    source: BitSource,
) -> NoisyMeans:
    """The release. plan: of the histogram of sums, with the whole budget."""
    centre, of_counts, of_sums = plans_of_means(by, plan)
    middle = int(centre / by.unit)
    above = [total - middle * people for total, people in zip(bins.totals, bins.people, strict=True)]
    whole = replace(of_sums, asked=plan.asked, charge=of_counts.charge + of_sums.charge)

    def release() -> NoisyMeans:
        return NoisyMeans(
            plan=whole,
            labels=bins.labels,
            counts=noisy_bins(of_counts, Answers(bins.people, Fraction(1), None), source),
            multiples=noisy_bins(of_sums, Answers(above, by.unit, None), source),
            centre=centre,
            low=by.low,
            high=by.high,
            counted=f"mean {by.column}",
            of_counts=of_counts,
            privacy=privacy,
            spent=whole.charge,
            private=source.private,
        )

    parameters = whole.parameters | public | {"mean": True}
    return charged(account, PlainPlan(plan.mechanism, plan.asked, parameters), release)
