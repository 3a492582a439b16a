"""Batches for users: the same answers many times, and one release for each of many populations.

Input    answers as in `noisy_top_k` or `sparse_vector`, once or for each population
Noise    of every release as in the single one, independent of that of all others (`freegap.exact.parts`)
Release  all releases, as one table
Charge   `size` releases of the same answers: the sum of what each spends. One release for each population:
         the sum over the m populations that spend most, m being the most populations that one person's data
         can change, which the caller states
Theorem  Composition. The releases are independent given the answers, so the probability of all outputs is
         the product of those of each. Between neighbours a factor changes by e^(what that release spends) at
         most, and not at all where the answers of its population are the same. At most m populations
         change, so the product changes by at most e^(the m largest of what they spend); with m = 1 that is
         parallel composition, with the same answers each time sequential composition. In ρ the divergences of
         independent releases add up in the same way (Bun and Steinke 2016, lemma 2.3).

m counts the populations that differ between neighbours. Where neighbours differ by one person's presence, and
a person is in one population, m is 1. Where they differ by one person's data, and with it a person may move
from one population to another, m is 2.

What the populations are called, how many they are, and how many items each has is public.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged
from freegap.errors import InvalidArgument
from freegap.exact.parts import Batch
from freegap.laws import NoiseName, RankingNoiseName
from freegap.mechanisms.arguments import DEFAULT_RESOLUTION
from freegap.mechanisms.batches import DrawnAbove, above_from, drawn_from
from freegap.mechanisms.population import Population, read_population
from freegap.mechanisms.populations import Populations, read_populations
from freegap.mechanisms.sparse_vector import read_offsets
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.values.answers import Answers
from freegap.values.batches import AboveBatch, BatchPlan, TopKBatch
from freegap.values.measures import Pure
from freegap.values.rationals import Rational, count_argument
from freegap.values.thresholds import Offsets, read_threshold

_MOST_RELEASES = 10**7  # a batch is in memory as a whole, and the addresses of its streams fit


def repeated_top_k(
    plan: TopKPlan, answers: Any, size: Any, ledger: LedgerAndDataset | None, bits: BitSource | None
) -> TopKBatch:
    """So many releases of the same answers: `noisy_top_k` with `size=`."""
    population = read_population(answers, plan.resolution)
    plan.require_enough(population.items)
    times = _size_argument(size)
    batch = Batch.repeated(population.values, times, population.sizes)
    populations = Populations(batch, population.grain, [population], None)
    return _ranked(BatchPlan(plan, times, times), populations, ledger, bits)


def repeated_runs(
    plan: ThresholdPlan,
    answers: Any,
    threshold: Any,
    size: Any,
    ledger: LedgerAndDataset | None,
    bits: BitSource | None,
) -> AboveBatch:
    """So many runs over the same answers: `sparse_vector` with `size=`."""
    read, offsets = read_offsets(plan, answers, threshold)
    times = _size_argument(size)
    batch = Batch.repeated(read.values, times).with_thresholds()
    populations = Populations(batch, read.grain, [Population(read, None)], None)
    return _compared(BatchPlan(plan, times, times), populations, offsets, ledger, bits)


def noisy_top_k_each(
    populations: Any,
    k: int,
    *,
    populations_per_person: int,
    offsets: Any = None,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    sensitivity: Rational = 1,
    monotonic: bool = False,
    noise: RankingNoiseName | None = None,
    gap: bool = True,
    last_gap: bool = True,
    resolution: Rational = DEFAULT_RESOLUTION,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> TopKBatch:
    """The k items with the largest answers of each population, privately: many `noisy_top_k` at once.

    populations: answers as in `noisy_top_k`, by the name of each population (a dict), in a list, or as the
        rows of a NumPy matrix; or one flat sequence, with `offsets`.
    populations_per_person: your statement of how many populations' answers one person can change at most. ε
        is charged so many times: once where every person is in one population.
    offsets: where each population begins in the flat sequence, and the end of the last.
    epsilon, rho: for each population.

    The other arguments are those of `noisy_top_k`. What the populations are called, and how many items each
    has, is public.

    >>> import freegap as fg
    >>> sales = {"north": {"tea": 900, "milk": 3}, "south": {"tea": 1, "milk": 800, "rice": 20}}
    >>> r = fg.noisy_top_k_each(sales, 1, epsilon=1, populations_per_person=1, bits=fg.SeededBits(1))
    >>> r.labels.tolist(), r.spent
    ([['tea'], ['milk']], Fraction(1, 1))
    """
    plan = TopKPlan.read(
        "noisy_top_k",
        k=k,
        epsilon=epsilon,
        rho=rho,
        sensitivity=sensitivity,
        monotonic=monotonic,
        noise=noise,
        gap=gap,
        last_gap=last_gap,
        resolution=resolution,
    )
    read = read_populations(populations, offsets, plan.resolution)
    number = len(read.batch)
    times = min(count_argument("populations_per_person", populations_per_person), number)
    plan.require_enough(read.fewest)
    return _ranked(BatchPlan(plan, number, times), read, ledger, bits)


def sparse_vector_each(
    populations: Any,
    threshold: Rational,
    *,
    k: int,
    populations_per_person: int,
    offsets: Any = None,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    sensitivity: Rational = 1,
    monotonic: bool = False,
    noise: NoiseName = "exponential",
    share: Rational | None = None,
    gap: bool = True,
    resolution: Rational = DEFAULT_RESOLUTION,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> AboveBatch:
    """The first k questions of each population whose answers are above a threshold: many `sparse_vector`.

    populations, offsets, populations_per_person: as in `noisy_top_k_each`. What is charged is what the
        populations that one person can change have spent at most.
    threshold: one number, for all.
    epsilon, rho: for each population.

    The other arguments are those of `sparse_vector`.

    >>> import freegap as fg
    >>> r = fg.sparse_vector_each(
    ...     [[2, 950], [3, 1, 990]], 500, k=1, epsilon=1, populations_per_person=1, bits=fg.SeededBits(1)
    ... )
    >>> r.indices.tolist(), r.answered.tolist(), r.spent
    ([1, 2], [2, 3], Fraction(1, 1))
    """
    plan = ThresholdPlan.read(
        "sparse_vector",
        k=k,
        epsilon=epsilon,
        rho=rho,
        sensitivity=sensitivity,
        monotonic=monotonic,
        noise=noise,
        resolution=resolution,
        share=share,
        gap=gap,
    )
    bar = read_threshold(threshold, discrete=plan.law.lattice)
    read = read_populations(populations, offsets, plan.resolution)
    if read.batch.sizes is not None:
        raise InvalidArgument(
            "populations", "<Counts>", "must list their questions", "Pass a list or a dict for each."
        )
    number = len(read.batch)
    times = min(count_argument("populations_per_person", populations_per_person), number)
    runs = Populations(read.batch.with_thresholds(), read.grain, read.parts, read.names)
    return _compared(
        BatchPlan(plan, number, times), runs, Offsets(read.batch.values, read.grain, bar, bar), ledger, bits
    )


def _size_argument(size: Any) -> int:
    times = count_argument("size", size)
    if times > _MOST_RELEASES:
        raise InvalidArgument("size", size, f"must be at most {_MOST_RELEASES}", "Make several batches.")
    return times


def _ranked(
    plan: BatchPlan, populations: Populations, ledger: LedgerAndDataset | None, bits: BitSource | None
) -> TopKBatch:
    source = source_or_system(bits)
    return charged(ledger, plan, lambda: _drawn_top_k(plan, populations, source))


def _drawn_top_k(plan: BatchPlan, populations: Populations, source: BitSource) -> TopKBatch:
    each: Any = plan.each
    drawn = drawn_from(each, populations.batch, source, grain=populations.grain)
    labels, indices = _labelled(populations, drawn.places, drawn.members)
    return TopKBatch(
        plan=plan,
        populations=populations.names,
        labels=labels,
        indices=indices,
        gap_multiples=drawn.gaps,
        resolution=each.resolution,
        spent=plan.charged * each.charge,
        private=source.private,
    )


def _labelled(
    populations: Populations, places: NDArray[np.int64], members: NDArray[np.int64] | None
) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """What the selected items are called, and their positions where they may be told."""
    plain = all(part.counts is None and part.answers.names is None for part in populations.parts)
    if plain:
        return places, places
    labels = np.empty(places.shape, object)
    for row, (own, of) in enumerate(zip(places.tolist(), _rows(members, len(places)), strict=True)):
        part = populations.part(row)
        counts = part.counts
        labels[row, :] = _as_objects(
            part.answers.labels(own) if counts is None else [*map(counts.label, own, of)]
        )
    return labels, None


def _rows(members: NDArray[np.int64] | None, number: int) -> list[Any]:
    return [None] * number if members is None else members.tolist()


def _as_objects(labels: Sequence[Any]) -> NDArray[Any]:
    """One cell for each label, whatever it is: NumPy would look into tuples."""
    cells = np.empty(len(labels), object)
    for place, label in enumerate(labels):
        cells[place] = label
    return cells


def _compared(
    plan: BatchPlan,
    populations: Populations,
    offsets: Offsets,
    ledger: LedgerAndDataset | None,
    bits: BitSource | None,
) -> AboveBatch:
    source = source_or_system(bits)
    return charged(ledger, plan, lambda: _drawn_above(plan, populations, offsets, source))


def _drawn_above(
    plan: BatchPlan, populations: Populations, offsets: Offsets, source: BitSource
) -> AboveBatch:
    each: Any = plan.each
    batch = populations.batch
    drawn = above_from(each, batch, offsets, source)
    runs = np.repeat(np.arange(len(batch)), np.diff(drawn.starts))
    names = [part.answers.names for part in populations.parts] or [None]
    plain = all(own is None for own in names)
    # Nobody is told of a question that was not answered.
    told = drawn.answered if len(names) > 1 else [int(drawn.answered.max())]
    names = [None if own is None else own[:number] for own, number in zip(names, told, strict=True)]
    labels: NDArray[Any] = drawn.places
    if not plain:
        answers: list[Answers] = [part.answers for part in populations.parts]
        own = runs if len(answers) > 1 else np.zeros(len(runs), np.int64)
        pairs = zip(own.tolist(), drawn.places.tolist(), strict=True)
        labels = _as_objects([answers[run].labels([place])[0] for run, place in pairs])
    bars = offsets.thresholds
    if isinstance(bars, tuple):
        thresholds: Any = _as_objects([bars[place] for place in drawn.places.tolist()])
    else:
        thresholds = bars
    return AboveBatch(
        plan=plan,
        populations=populations.names,
        answered=drawn.answered,
        starts=drawn.starts,
        labels=labels,
        indices=drawn.places if plain else None,
        gap_multiples=drawn.gaps,
        branches=len(each.branches) - 1 - drawn.branches,
        thresholds=thresholds,
        names=names,
        among=batch.lengths,
        resolution=each.resolution,
        spent=_spent(plan, drawn),
        private=source.private,
    )


def _spent(plan: BatchPlan, drawn: DrawnAbove) -> Fraction:
    """What the runs that one person can change have spent at most: the largest of what each has."""
    each: Any = plan.each
    if not isinstance(each.asked, Pure):  # all of it, whatever was found
        return Fraction(plan.charged * each.charge(each.epsilon))
    unit = each.branches[0].budget
    costs = [int(branch.budget / unit) for branch in each.branches]
    fits = max(costs) * (len(drawn.branches) + 1) < 2**62
    each_cost = np.array(costs, dtype=np.int64 if fits else object)[drawn.branches]
    total = np.concatenate([np.zeros(1, each_cost.dtype), np.cumsum(each_cost, dtype=each_cost.dtype)])
    largest = np.sort(np.diff(total[drawn.starts]))[len(drawn.answered) - plan.charged :]
    return Fraction(plan.charged * each.threshold_budget + int(largest.sum()) * unit)
