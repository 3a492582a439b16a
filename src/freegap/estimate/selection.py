"""Select, then measure what was selected, and fuse the free gaps in (Ding 2020, sections 5.4.3 and 5.5.3).

Charge   what the selection charged + what the measurement charged (composition): at most ε
Theorem  those of the two mechanisms; the estimates are post-processing
Under ρ  the same, with Gumbel noise and without the last gap, which no estimate uses; discrete Gaussian noise
         measures. The charge is public: with a threshold, measuring is charged for k items, found or not
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged
from freegap.errors import REDACTED, InvalidArgument
from freegap.estimate.bounds import confidence_argument, gap_noise
from freegap.estimate.fusion import blue, blue_variance_ratio, inverse_variance
from freegap.estimate.noise_laws import WeightedNoise, tail_bound
from freegap.laws import EXPONENTIAL, RankingNoiseName
from freegap.mechanisms.arguments import DEFAULT_RESOLUTION
from freegap.mechanisms.measurement import Measurement, measure, measured_scale
from freegap.mechanisms.population import read_population
from freegap.mechanisms.sparse_vector import draw_above, read_offsets
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k import draw_top_k
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.values.above import AboveThreshold
from freegap.values.columns import Column, items, ranks
from freegap.values.counts import Counts
from freegap.values.measures import Measure, Pure, measure_argument
from freegap.values.plans import PlainPlan
from freegap.values.ranking import TopK
from freegap.values.rationals import (
    Rational,
    count_argument,
    double,
    positive_rational,
    proper_fraction,
    require_scale,
    resolution_argument,
    sensitivity_argument,
)
from freegap.values.results import Release
from freegap.values.written import as_double, jsonable

__all__ = ["Estimates", "select_and_measure"]


@dataclass(frozen=True, kw_only=True)
class Estimates(Release):
    """The selected items with estimates of their answers.

    estimates: measurements and gaps, fused; exact rationals.
    standard_errors: of the estimates, by their variance.
    measured: the measurements alone, for comparison.
    selection, measurement: the two releases behind it.
    """

    indices: tuple[int, ...]
    labels: tuple[Any, ...]
    estimates: tuple[Fraction, ...]
    standard_errors: tuple[float, ...]
    selection: TopK | AboveThreshold
    measurement: Measurement | None
    terms: tuple[tuple[WeightedNoise, ...], ...]
    rounding: float

    @property
    def measured(self) -> tuple[Fraction, ...]:
        """The measurements alone."""
        return () if self.measurement is None else self.measurement.values

    def intervals(self, *, confidence: Rational = 0.95) -> tuple[tuple[float, float], ...]:
        """For each estimate an interval that has the answer of a given item with at least this confidence.

        By Chernoff's bound on the noises that went in, each with its weight and as it was drawn. That an item
        was selected because its noise was high is not accounted for: near the edge of the selection true
        answers lie below their estimates more often than this says.
        """
        tail = (1 - float(confidence_argument(confidence))) / 2
        intervals = []
        for estimate, terms in zip(self.estimates, self.terms, strict=True):
            over = tail_bound(terms, tail)
            under = tail_bound(tuple(WeightedNoise(t.law, t.scale, -t.weight) for t in terms), tail)
            value = double(estimate)
            intervals.append((value - over - self.rounding, value + under + self.rounding))
        return tuple(intervals)

    @property
    def title(self) -> str:
        """One line that says what this is."""
        return f"{len(self.labels)} selected items with estimates"

    def columns(self) -> list[Column]:
        """Label, estimate, standard error and interval."""
        return [
            ranks(len(self.labels)),
            items(self.labels),
            Column("estimate", self.estimates, float),
            Column("standard error", self.standard_errors, float),
            Column("95 % interval", self.intervals(), tuple, form=",.1f"),
        ]

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        return {
            "mechanism": "select_and_measure",
            "indices": [jsonable(index) for index in self.indices],
            "labels": [jsonable(label) for label in self.labels],
            "estimates": [as_double(estimate) for estimate in self.estimates],
            "standard_errors": list(self.standard_errors),
            "intervals": [list(interval) for interval in self.intervals()],
            "selection": self.selection.to_dict(),
            "measurement": None if self.measurement is None else self.measurement.to_dict(),
            **self._common(),
        }


def select_and_measure(
    answers: Any,
    k: int,
    *,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    threshold: Any = None,
    split: Rational = "1/2",
    sensitivity: Rational = 1,
    monotonic: bool = False,
    noise: RankingNoiseName | None = None,
    resolution: Rational = DEFAULT_RESOLUTION,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> Estimates:
    """Select k items, measure them, and fuse the gaps of the selection into the estimates.

    rho: the budget in zero-concentrated privacy instead of epsilon.
    split: the part of ε or ρ that selects; the rest measures.
    threshold: select by `sparse_vector` (the first k above this threshold) instead of `noisy_top_k`. What was
        not selected is then neither measured nor, under ε, charged.
    ledger: a ledger and the name of a dataset in it, (fg.Ledger(), "shop"): charged there for
        both, reserved first.

    >>> import freegap as fg
    >>> counts = {"flu": 812, "cold": 790, "measles": 31, "mumps": 12}
    >>> r = fg.select_and_measure(counts, 2, epsilon=2, monotonic=True, bits=fg.SeededBits(3))
    >>> sorted(r.labels), r.spent
    (['cold', 'flu'], Fraction(2, 1))
    """
    k = count_argument("k", k)
    asked = measure_argument(epsilon=epsilon, rho=rho)
    part = proper_fraction("split", split, 'Pass for example split="1/2".')
    selecting = part * asked.spent
    # What measuring is given is checked before anything is drawn: from rest/k to rest.
    rest = asked.spent - selecting
    for amount in (rest / k, rest * k):
        positive_rational("split", amount)
    grid = resolution_argument(resolution)
    # What is found after the draw shows only where something was selected: an output that nobody paid for.
    width, measuring = measured_scale(asked.of(rest), k, sensitivity_argument(sensitivity, grid))
    require_scale(width, rho if epsilon is None else epsilon, *asked.arguments())
    source = source_or_system(bits)
    if isinstance(answers, Iterator):
        answers = list(answers)
    shared: dict[str, Any] = {
        "k": k,
        asked.name: selecting,
        "sensitivity": sensitivity,
        "monotonic": monotonic,
        "resolution": grid,
    }
    select: Callable[[], tuple[TopK | AboveThreshold, list[int]]]
    if threshold is None:
        top = TopKPlan.read("noisy_top_k", noise=noise, last_gap=isinstance(asked, Pure), **shared)
        population = read_population(answers, top.resolution)
        top.require_enough(population.items)
        select = partial(draw_top_k, top, population, source)
        fuse: Callable[[Any, Measurement | None], Fused] = partial(_fuse_top_k, top)
    else:
        if isinstance(answers, Counts):
            raise InvalidArgument(
                "answers", REDACTED, "must be listed one by one for a threshold", "Leave out the threshold."
            )
        above = ThresholdPlan.read("sparse_vector", noise=noise or EXPONENTIAL.name, **shared)
        select = partial(draw_above, above, *read_offsets(above, answers, threshold), source)
        fuse = partial(_fuse_above, above)
    law = (top if threshold is None else above).law
    parameters = {"k": k, "split": part, "noise": law.name, "monotonic": monotonic}
    plan = PlainPlan("select_and_measure", asked, parameters)

    def release() -> Estimates:
        selection, places = select()
        measurement = _measured(
            answers, places, selection.resolution, asked.of(rest * len(places) / k), sensitivity, source
        )
        paid = measuring  # in ρ for k items, found or not
        if isinstance(asked, Pure):
            paid = Fraction(0) if measurement is None else measurement.spent
        fused = fuse(selection, measurement)
        return _estimates(plan, selection, measurement, fused, selection.spent + paid, private=source.private)

    return charged(ledger, plan, release)


def _estimates(
    plan: PlainPlan,
    selection: TopK | AboveThreshold,
    measurement: Measurement | None,
    fused: Fused,
    spent: Fraction,
    *,
    private: bool,
) -> Estimates:
    estimates, variances, terms = fused
    return Estimates(
        plan=plan,
        indices=selection.indices,
        labels=selection.labels,
        estimates=tuple(estimates),
        standard_errors=tuple(math.sqrt(variance) for variance in variances),
        selection=selection,
        measurement=measurement,
        terms=tuple(terms),
        rounding=float(selection.resolution) * (len(selection.labels) + 1),
        spent=spent,
        private=private,
    )


def _measured(
    answers: Any,
    places: list[int],
    resolution: Fraction,
    asked: Measure,
    sensitivity: Rational,
    source: BitSource,
) -> Measurement | None:
    """Noisy answers of the selected items, at the k-th part of what measuring k of them may cost, each."""
    if not places:
        return None
    population = read_population(answers, resolution)
    truth = [int(population.values[i]) * population.grain for i in places]
    amounts: dict[str, Any] = asked.arguments()
    return measure(truth, sensitivity=sensitivity, resolution=resolution, bits=source, **amounts)


Fused = tuple[list[Fraction], list[float], list[tuple[WeightedNoise, ...]]]


def _fuse_top_k(plan: TopKPlan, selection: TopK, measurement: Measurement | None) -> Fused:
    """Ding 2020, theorem 5.9, with the λ of the noise that was used."""
    if measurement is None:
        raise AssertionError("top-k always selects")
    k, scale, law = plan.k, plan.scale, plan.law
    ratio = _rational(law.variance(scale)) / measurement.variance
    # Rounding down takes half a grid step from each gap on average.
    gaps = [gap + selection.resolution / 2 for gap in selection.gaps[: k - 1]]
    estimates = blue(measurement.values, gaps, ratio)
    variance = float(measurement.variance * blue_variance_ratio(k, ratio))
    total = float(1 + ratio)
    own, other = (float(ratio) + 1 / k) / total, 1 / k / total
    terms = (
        WeightedNoise(measurement.law, float(measurement.scale), own),
        *(WeightedNoise(measurement.law, float(measurement.scale), other) for _ in range(k - 1)),
        WeightedNoise(law, float(scale), (1 - 1 / k) / total),
        *(WeightedNoise(law, float(scale), -1 / k / total) for _ in range(k - 1)),
    )
    return estimates, [variance] * k, [terms] * k


def _rational(variance: Any) -> Fraction:
    """A variance, or a double in the ball around it: weights may be any, and π is not rational."""
    return variance if isinstance(variance, Fraction) else Fraction(float(variance.mid()))


def _fuse_above(plan: ThresholdPlan, selection: AboveThreshold, measurement: Measurement | None) -> Fused:
    """Ding 2020, section 5.4.3: inverse-variance weights."""
    estimates: list[Fraction] = []
    variances: list[float] = []
    terms: list[tuple[WeightedNoise, ...]] = []
    if measurement is None:
        return estimates, variances, terms
    half = Fraction(0) if plan.law.lattice else plan.resolution / 2
    for measured, by_gap, branch in zip(
        measurement.values, selection.estimates, selection.branches, strict=True
    ):
        gap = gap_noise(plan, branch)
        gap_variance = Fraction(gap.variance)
        centred = by_gap + half - Fraction(gap.mean)
        value, fused = inverse_variance([(measured, measurement.variance), (centred, gap_variance)])
        weight = float(fused / measurement.variance)
        estimates.append(value)
        variances.append(float(fused))
        terms.append(
            (
                WeightedNoise(measurement.law, float(measurement.scale), weight),
                WeightedNoise(gap.law, float(gap.scale), 1 - weight),
                WeightedNoise(gap.law, float(gap.threshold_scale), weight - 1),
            )
        )
    return estimates, variances, terms
