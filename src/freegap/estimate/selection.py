"""Select, then measure what was selected, and fuse the free gaps in (Ding 2020, sections 5.4.3 and 5.5.3).

Charge   what the selection charged + what the measurement charged (composition): at most ε
Theorem  those of the two mechanisms; the estimates are post-processing
Under ρ  the same, with Gumbel noise and without the last gap, which no estimate uses; discrete Gaussian noise
         measures. The charge is public: with a threshold, measuring is charged for k items, found or not
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged
from freegap.errors import REDACTED, InvalidArgument
from freegap.estimate.bounds import confidence_argument, gap_noise
from freegap.estimate.fusion import Fused, blue, fused, inverse_variance
from freegap.estimate.intervals import measured_intervals
from freegap.forms import Composition
from freegap.laws import EXPONENTIAL, RankingNoiseName
from freegap.mechanisms import measurement, sparse_vector, top_k
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
    positive_rational,
    proper_fraction,
    require_scale,
    resolution_argument,
    sensitivity_argument,
)
from freegap.values.results import Release
from freegap.values.written import as_double, jsonable


def form(plan: TopKPlan | ThresholdPlan, scale: Any, each: Any) -> Composition:
    """Select, then measure what was selected, before rounding: what is proved private.

    scale, each: of the noise that measures, and what each measured answer is charged, Δ/scale.
    """
    measuring = measurement.form(scale, each)
    if isinstance(plan, TopKPlan):
        return Composition(top_k.form(plan), measuring, (plan.charge, plan.k * each))
    return Composition(sparse_vector.form(plan), measuring, (plan.epsilon, plan.k * each))


@dataclass(frozen=True, kw_only=True)
class Estimates(Release):
    """The selected items with estimates of their answers.

    estimates: measurements, moved towards what the gaps say as far as that does no harm; exact rationals.
    standard_errors: of the estimates: the root of Stein's estimate of their mean squared error.
    measured: the measurements alone, for comparison.
    selection, measurement: the two releases behind it.
    """

    indices: tuple[int, ...]
    labels: tuple[Any, ...]
    estimates: tuple[Fraction, ...]
    standard_errors: tuple[float, ...]
    selection: TopK | AboveThreshold
    measurement: Measurement | None

    @property
    def measured(self) -> tuple[Fraction, ...]:
        """The measurements alone."""
        return () if self.measurement is None else self.measurement.values

    def intervals(self, *, confidence: Rational = 0.95) -> tuple[tuple[float, float], ...]:
        """For each selected item an interval that has its answer with this confidence, whatever was selected.

        Around the measurements, which were drawn after the selection and independently of it: by the exact
        quantile of their noise, given the selection. The estimates are usually nearer to the answers than the
        measurements, and once in a while outside of the interval.
        """
        level = float(1 - confidence_argument(confidence))
        if self.measurement is None:
            return ()
        return measured_intervals(self.measurement, level)

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
    """Select k items, measure them, and fuse the gaps of the selection into the estimates where they help.

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
    select: Callable[[], tuple[TopK | AboveThreshold, Sequence[int]]]
    if threshold is None:
        top = TopKPlan.read("noisy_top_k", noise=noise, last_gap=isinstance(asked, Pure), **shared)
        population = read_population(answers, top.resolution)
        top.require_enough(population.items)
        select = partial(draw_top_k, top, population, source)
        fuse: Callable[[Any, Measurement], Fused] = partial(_fuse_top_k, top)
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
        made = Fused((), 0.0) if measurement is None else fuse(selection, measurement)
        return Estimates(
            plan=plan,
            indices=selection.indices,
            labels=selection.labels,
            estimates=made.estimates,
            standard_errors=(math.sqrt(made.error),) * len(made.estimates),
            selection=selection,
            measurement=measurement,
            spent=selection.spent + paid,
            private=source.private,
        )

    return charged(ledger, plan, release)


def _measured(
    answers: Any,
    places: Sequence[int],
    resolution: Fraction,
    asked: Measure,
    sensitivity: Rational,
    source: BitSource,
) -> Measurement | None:
    """Noisy answers of the selected items, at the k-th part of what measuring k of them may cost, each."""
    if not len(places):
        return None
    population = read_population(answers, resolution)
    truth = [int(population.values[i]) * population.grain for i in places]
    amounts: dict[str, Any] = asked.arguments()
    return measure(truth, sensitivity=sensitivity, resolution=resolution, bits=source, **amounts)


def _fuse_top_k(plan: TopKPlan, selection: TopK, measurement: Measurement) -> Fused:
    """Ding 2020, theorem 5.9, with the λ of the noise that was used, as far as it helps."""
    k = plan.k
    ratio = selection_ratio(plan, measurement.variance)
    # Rounding down takes half a grid step from each gap on average.
    gaps = [gap + selection.resolution / 2 for gap in selection.gaps[: k - 1]]
    best = blue(measurement.values, gaps, ratio)
    weight = 1 / (1 + ratio)
    return fused(measurement.values, best, variance=measurement.variance, weight=weight, dimension=k - 1)


def selection_ratio(plan: TopKPlan, measured: Fraction) -> Fraction:
    """λ: the variance of the noise that selects, to that of a measurement.

    A double in the ball around a variance that is not rational, as π is not: weights may be any.
    """
    variance: Any = plan.law.variance(plan.scale)
    return (variance if isinstance(variance, Fraction) else Fraction(float(variance.mid()))) / measured


def _fuse_above(plan: ThresholdPlan, selection: AboveThreshold, measurement: Measurement) -> Fused:
    """Ding 2020, section 5.4.3: inverse-variance weights, as far as they help."""
    gap, variance = gap_noise(plan, 0), measurement.variance
    half = Fraction(0) if plan.law.lattice else plan.resolution / 2
    centre = half - Fraction(gap.mean)
    by_gap = Fraction(gap.variance)
    best = [
        inverse_variance([(measured, variance), (estimate + centre, by_gap)])[0]
        for measured, estimate in zip(measurement.values, selection.estimates, strict=True)
    ]
    weight = variance / (variance + by_gap)
    return fused(measurement.values, best, variance=variance, weight=weight, dimension=len(best))
