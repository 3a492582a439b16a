"""Top-k and sparse vector combined: the largest items that are above a threshold (Ding 2020, algorithms 19
and 20).

Hybrid top-k (algorithm 19)
Input    answers of sensitivity Δ on the grid γ; a public threshold T, which takes part as an item
Noise    every answer and the threshold: exponential or Laplace of scale cΔk/ε
Release  the largest noisy items in order, down to the threshold or to the k-th, with the gap of each to the
         next; where the threshold is reached, it is the last one released
Charge   ε·t/k, t the number of released items, the threshold included
Theorem  Ding 2020, lemma 5.10: the alignment of top-k with the released items (equations 5.2 to 5.4)
Under ρ  Gumbel noise, and the charge of noisy top-k with its last gap, K = k + 1. The threshold is an item
         that no neighbour moves, so that the range is that of the answers; what is released follows from the
         top k of all items with their gaps. What is not released is charged as well: in ρ a charge that
         depends on the output has no theorem

Hybrid sparse vector (algorithm 20)
Noise    threshold: scale Δ/ε₀; answers: scale cΔ/ε₁; Laplace, or exponential less its mean
Release  the k largest noisy answers in order, as far as they are above the noisy threshold, with the gap of
         each to the threshold
Charge   (θ + (1−θ)t/k)·ε, t the number of released items
Theorem  Ding 2020, lemma 5.11: the alignment of sparse vector (equation 5.1 without its first branch)
Under ρ  by the conversion from ε, as the sparse vectors (`freegap.mechanisms.threshold_plan`)

`top_k_form` and `sparse_vector_form` are the mechanisms as in the paper, for any kind of number, with their
charges and proofs; the releases are the same functions of the same noise by the fast core.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged
from freegap.errors import InvalidArgument
from freegap.exact.digits import DigitStream, KeyedDigits
from freegap.exact.ranking import NoisyRanking
from freegap.exact.reals import Real, Variable
from freegap.forms import Ranking, Selection
from freegap.laws import CONTINUOUS_NOISES, GEOMETRIC, ContinuousNoiseName, RankingNoiseName
from freegap.mechanisms import top_k
from freegap.mechanisms.arguments import DEFAULT_RESOLUTION, noise_argument
from freegap.mechanisms.population import Population, read_population
from freegap.mechanisms.sparse_vector import threshold_lift
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.values.above import AboveThreshold
from freegap.values.measures import Pure
from freegap.values.ranking import HybridTopK
from freegap.values.rationals import Rational
from freegap.values.thresholds import read_threshold

Output = tuple[Sequence[int], Sequence[Any]]


def top_k_form(plan: TopKPlan, threshold: Any = 0) -> Selection:
    """Ding 2020, algorithm 19: top-k, in which item 0 is the threshold, which no neighbour moves."""
    each = plan.charge / plan.k if isinstance(plan.asked, Pure) else None
    return replace(top_k.form(plan), threshold=threshold, item_charge=each)


def _reached(plan: TopKPlan, items: Sequence[int], threshold: int) -> int:
    """How many of the k largest items are released: those down to the threshold, or all."""
    return items.index(threshold) + 1 if threshold in items else plan.k


def top_k_charge(plan: TopKPlan, output: Output) -> Fraction:
    """ε/k for each released item, the threshold included; under ρ what it costs to look at all of them."""
    return plan.charge * len(output[0]) / plan.k if isinstance(plan.asked, Pure) else plan.charge


def sparse_vector_form(plan: ThresholdPlan, threshold: Any = 0) -> Ranking:
    """Ding 2020, algorithm 20: the threshold rises by Δ (by 0 if monotonic and no answer rises), and the
    released items with it. What is subtracted from the noise is added to the threshold."""

    def shift(direction: str, answer: Any, neighbour: Any) -> Any:
        return threshold_lift(plan, direction) + answer - neighbour

    branch = plan.branches[-1]
    return Ranking(
        plan.k,
        plan.law.name,
        branch.scale,
        shift,
        item_charge=branch.budget,
        threshold=threshold + branch.shift,
        threshold_scale=plan.threshold_scale,
        lift=partial(threshold_lift, plan),
        start_charge=plan.threshold_budget,
        direction="monotonic" if plan.monotonic else "each",
    )


def _not_below(distances: Iterable[Any]) -> list[Any]:
    """The falling distances to the threshold, as far as they are not below it."""
    found: list[Any] = []
    for distance in distances:
        if distance < 0:
            break
        found.append(distance)
    return found


def sparse_vector_charge(plan: ThresholdPlan, output: Output) -> Fraction:
    """ε₀, and ε₁ for each released item."""
    return plan.threshold_budget + plan.answer_budget * len(output[0])


def hybrid_top_k(
    answers: Any,
    threshold: Rational,
    *,
    k: int,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    sensitivity: Rational = 1,
    monotonic: bool = False,
    noise: RankingNoiseName | None = None,
    resolution: Rational = DEFAULT_RESOLUTION,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> HybridTopK:
    """The k largest items, but none below a threshold; what is not released is not charged.

    With fewer than k items above, the threshold itself is reached, the charge is less than ε (`spent`), and
    the gaps down to the threshold estimate the answers (`estimates`). The threshold is rounded to the grid.
    Under ρ the charge does not depend on what is found.
    The other arguments are those of `noisy_top_k`, `ledger` among them.

    >>> import freegap as fg
    >>> r = fg.hybrid_top_k([900, 20, 700], 400, k=3, epsilon=1, monotonic=True, bits=fg.SeededBits(1))
    >>> r.indices, r.reached, r.spent  # two items and the threshold
    ((0, 2), True, Fraction(1, 1))
    """
    if noise == GEOMETRIC.name:
        noise_argument(noise, CONTINUOUS_NOISES)
    plan = TopKPlan.read(
        "hybrid_top_k",
        k=k,
        epsilon=epsilon,
        rho=rho,
        sensitivity=sensitivity,
        monotonic=monotonic,
        noise=noise,
        resolution=resolution,
    )
    bar = read_threshold(threshold, discrete=False) // plan.resolution * plan.resolution
    population = _read_enough(plan, answers)
    source = source_or_system(bits)
    return charged(ledger, plan, lambda: _drawn_top_k(plan, population, bar, source))


def _drawn_top_k(plan: TopKPlan, population: Population, bar: Fraction, source: BitSource) -> HybridTopK:
    place = len(population.values)
    digits = KeyedDigits(source, place + 1)
    ranking = population.ranking(plan.law.continuous, plan.scale, plan.resolution, digits, threshold=bar)
    ranked = ranking.largest(plan.k + 1)
    stop = _reached(plan, ranked.items[: plan.k], place)
    output = ranked.items[:stop], ranked.gaps[:stop]
    items = [i for i in output[0] if i != place]
    return HybridTopK(
        plan=plan,
        indices=population.indices(items),
        labels=population.labels(items, source),
        gap_multiples=tuple(output[1]),
        resolution=plan.resolution,
        threshold=bar,
        reached=len(items) < stop,
        spent=top_k_charge(plan, output),
        private=source.private,
    )


def hybrid_sparse_vector(
    answers: Any,
    threshold: Rational,
    *,
    k: int,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    sensitivity: Rational = 1,
    monotonic: bool = False,
    noise: ContinuousNoiseName = "exponential",
    share: Rational | None = None,
    resolution: Rational = DEFAULT_RESOLUTION,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> AboveThreshold:
    """The k largest items above a threshold, each with its gap to the threshold, and so an estimate.

    All answers are looked at, and the result lists the items by rank. What is not released is not charged,
    under ε.
    The other arguments are those of `sparse_vector`, `ledger` among them.

    >>> import freegap as fg
    >>> r = fg.hybrid_sparse_vector([900, 20, 700], 400, k=3, epsilon=1, bits=fg.SeededBits(1))
    >>> r.indices
    (0, 2)
    """
    noise_argument(noise, CONTINUOUS_NOISES)
    plan = ThresholdPlan.read(
        "hybrid_sparse_vector",
        k=k,
        epsilon=epsilon,
        rho=rho,
        sensitivity=sensitivity,
        monotonic=monotonic,
        noise=noise,
        resolution=resolution,
        share=share,
    )
    bar = read_threshold(threshold, discrete=False)
    population = _read_enough(plan, answers)
    source = source_or_system(bits)
    return charged(ledger, plan, lambda: _drawn_above(plan, population, bar, source))


def _drawn_above(
    plan: ThresholdPlan, population: Population, bar: Fraction, source: BitSource
) -> AboveThreshold:
    digits = KeyedDigits(source, len(population.values))
    ranking = population.ranking(plan.law.continuous, plan.branches[-1].scale, plan.resolution, digits)
    # Stream (n, 1) is no item's: it is the threshold's.
    items, multiples = largest_above(plan, ranking, bar, digits.stream(len(population.values), 1))
    return AboveThreshold(
        plan=plan,
        questions=population.questions,
        indices=population.indices(items),
        labels=population.labels(items, source),
        gap_multiples=tuple(multiples),
        branches=(0,) * len(items),
        thresholds=(bar,) * len(items),
        resolution=plan.resolution,
        among=population.items,
        largest=True,
        spent=plan.charge(sparse_vector_charge(plan, (items, multiples))),
        private=source.private,
    )


def largest_above(
    plan: ThresholdPlan, ranking: NoisyRanking, bar: Fraction, stream: DigitStream
) -> tuple[list[int], list[int]]:
    """Of the k largest noisy answers those above the threshold, and their gaps to it, rounded down.

    stream: the digits of the threshold's noise.
    """
    drawn = Real(0, {Variable(plan.law.continuous, stream): plan.threshold_scale})
    ranked = ranking.largest(plan.k)
    gaps = _not_below(
        ranking.noisy_answer(item, rank) - drawn - (bar + plan.branches[-1].shift)
        for item, rank in zip(ranked.items, ranked.ranks, strict=True)
    )
    return ranked.items[: len(gaps)], [gap.floor(plan.resolution) for gap in gaps]


def _read_enough(plan: TopKPlan | ThresholdPlan, answers: Any) -> Population:
    population = read_population(answers, plan.resolution)
    k, n = plan.k, population.items
    if k > n:
        raise InvalidArgument("k", k, f"must be at most the number of answers, which is {n}", f"Pass k={n}.")
    return population
