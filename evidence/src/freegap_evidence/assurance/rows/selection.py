"""Mechanisms that rank: top-k and max, the exponential mechanism, the hybrid top-k; and measuring."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import freegap as fg
from freegap.bits import BitSource
from freegap.laws import CONTINUOUS_NOISES, NOISES, ContinuousNoiseName, NoiseName, law_named
from freegap_evidence.assurance.at_once import (
    ReleaseMany,
    chosen_at_once,
    ended_at_once,
    ranked_at_once,
    runs_at_once,
    side_by_side,
    then_measured,
)
from freegap_evidence.assurance.densities import NoiseDensity
from freegap_evidence.assurance.gumbel_law import gumbel_cells
from freegap_evidence.assurance.one_by_one import repeated
from freegap_evidence.assurance.regimes import measurement, ranking, thresholds
from freegap_evidence.assurance.row import (
    ENOUGH,
    EPSILON,
    Cited,
    NoFastPath,
    Pair,
    Proved,
    Released,
    Row,
    releasing,
)
from freegap_evidence.assurance.threshold_laws import ThresholdSetting, sparse_vector_law
from freegap_evidence.assurance.top_k_law import coin_top_k_law, top_k_cells

WIDE = 3  # gaps and measurements together make many cells: they are taken three grid steps wide

TOP_K = {
    "laplace": "Ding 2020, theorem 5.7",
    "exponential": "Ding 2020, section 5.5.2, with equation 5.4 corrected",
}


def displaced(k: int, others: int) -> Pair:
    """The k items that come out fall and all others rise: what costs most, where many others are near.

    Then the best of the others is nearly always above the middle of its noise, and so are those that beat it.
    There two-sided noise costs as much as one-sided noise does; between few items it often costs less.
    """
    return (*[1] * k, *[0] * others), (*[0] * k, *[1] * others)


LATE = tuple(((*[0] * before, 1), (*[1] * before, 0)) for before in (4, 8))
"""Found late: with each question before that is not, the threshold is more surely above its middle, where
two-sided noise costs all that is charged."""


def rows() -> Iterator[Row]:
    """Each with every noise that it can be asked for."""
    for noise in CONTINUOUS_NOISES:
        yield _noisy_max(noise)
        yield _noisy_top_k(noise)
        yield _hybrid_top_k(noise)
        yield _select_and_measure(noise)
    for any_noise in NOISES:
        yield _without_gap("noisy_max", any_noise, 1)
        yield _without_gap("noisy_top_k", any_noise, 2)
    for any_noise in NOISES:
        yield _select_above_and_measure(any_noise)
    yield _exponential("")
    yield _exponential("own sampler")
    yield _measure()
    yield _histogram(1)
    yield _histogram(2)


# Max and top-k --------------------------------------------------------------------------------


def _noisy_max(noise: ContinuousNoiseName) -> Row:
    return Row(
        function="noisy_max",
        noise=noise,
        theorem=TOP_K[noise],
        proof=Proved("noisy top-k with gap", {"k": 1}),
        release=releasing(fg.noisy_max, lambda it: (it.indices, it.gap_multiples), noise=noise, resolution=1),
        at_once=ranked_at_once(fg.noisy_max, noise=noise, resolution=1),
        law=partial(top_k_cells, [1.0, -1.0], 1, NoiseDensity(noise, 2 / float(EPSILON)), 1.0, 26),
        pairs=(displaced(1, 3), displaced(1, 9)),
        regimes=ranking.noisy_max(noise),
    )


def _noisy_top_k(noise: ContinuousNoiseName) -> Row:
    return Row(
        function="noisy_top_k",
        noise=noise,
        theorem=TOP_K[noise],
        proof=Proved("noisy top-k with gap"),
        release=releasing(
            fg.noisy_top_k, lambda it: (it.indices, wide(it.gap_multiples)), 2, noise=noise, resolution=1
        ),
        at_once=ranked_at_once(fg.noisy_top_k, 2, noise=noise, resolution=1),
        answers=(1, -1, 0),
        law=partial(_two_of_three, noise),
        pairs=(displaced(2, 2), displaced(2, 8)),
        regimes=ranking.noisy_top_k(noise),
    )


def _two_of_three(noise: ContinuousNoiseName) -> dict[Any, float]:
    return top_k_cells([1.0, -1.0, 0.0], 2, NoiseDensity(noise, 4 / float(EPSILON)), float(WIDE), 6)


def _without_gap(function: str, noise: NoiseName, k: int) -> Row:
    def law() -> dict[Any, float]:
        scale = 2 * k / float(EPSILON)
        if law_named(noise).lattice:
            return coin_top_k_law([1, -1, 0], k, 1 / scale, 50)
        far = 60 * scale  # one cell holds all gaps
        cells = top_k_cells([1.0, -1.0, 0.0], k, NoiseDensity(noise, scale), far, 1)
        return {order: p for (order, _), p in cells.items()}

    first = function == "noisy_max"
    return Row(
        function=function,
        noise=noise,
        variant="without gap",
        theorem="Ding et al. 2023, lemma 4.1" if law_named(noise).lattice else TOP_K[noise],
        # With geometric noise for ties broken by place: given the coins, places are only in another order.
        proof=Proved(
            "noisy top-k, ties broken by place" if law_named(noise).lattice else "noisy top-k with gap",
            {"gap": False} | ({"k": k} if first else {}),
        ),
        release=releasing(
            getattr(fg, function), lambda it: it.indices, *(() if first else (k,)), noise=noise, gap=False
        ),
        at_once=ranked_at_once(getattr(fg, function), *(() if first else (k,)), noise=noise, gap=False),
        answers=(1, -1, 0),
        law=law,
        pairs=(displaced(k, 4 - k), displaced(k, 10 - k)),
        regimes=(ranking.noisy_max if first else ranking.noisy_top_k)(noise, gap=False),
    )


def _hybrid_top_k(noise: ContinuousNoiseName) -> Row:
    """The threshold 0 takes part as a third item, and the ranking ends there."""

    def output(found: fg.HybridTopK) -> Any:
        return found.indices + ((2,) if found.reached else ()), wide(found.gap_multiples)

    def law() -> dict[Any, float]:
        # What is cut at the threshold sums over all second gaps; those cells are left to the rest.
        return {cell: p for cell, p in _two_of_three(noise).items() if cell[0][0] != 2}

    return Row(
        function="hybrid_top_k",
        noise=noise,
        theorem="Ding 2020, lemma 5.10",
        proof=Proved("hybrid top-k"),
        release=releasing(fg.hybrid_top_k, output, 0, k=2, noise=noise, resolution=1),
        at_once=ended_at_once(0, 2, noise=noise, resolution=1),
        law=law,
        pairs=(displaced(2, 8),),
        regimes=ranking.hybrid_top_k(noise),
    )


# The exponential mechanism --------------------------------------------------------------------


def weighted_choice(exponents: Sequence[Fraction], bits: BitSource) -> int:
    """An index with probability proportional to e^exponent, in floating point: a user's own sampler."""
    weights = [math.exp(exponent) for exponent in exponents]
    point = bits.bits(53) * 2.0**-53 * sum(weights)
    for i, weight in enumerate(weights):
        point -= weight
        if point < 0:
            return i
    return len(weights) - 1


OWN_SAMPLER = "the choice is the caller's, and the gap is drawn as an exact real"


def _exponential(variant: str) -> Row:
    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        own = partial(weighted_choice, bits=bits) if variant else None
        found = fg.exponential_mechanism(list(answers), epsilon=epsilon, sampler=own, resolution=1, bits=bits)
        return Released(((found.index,), (int(found.utility_gap or 0),)), found.spent)

    def own_at_once() -> ReleaseMany:
        return repeated(
            lambda answers, epsilon: partial(release, answers, epsilon),
            lambda output, _: [*output[0], *output[1]],
        )

    return Row(
        function="exponential_mechanism",
        noise="Gumbel" if not variant else "logistic",
        variant=variant,
        theorem="Ding 2020, theorem 5.19",
        proof=Cited(
            "Gumbel noise is not aligned: Ding 2020, theorem 5.19 bounds the density of (choice, gap)"
        ),
        release=release,
        answers=(2, 0, 1),
        at_once=own_at_once() if variant else chosen_at_once(resolution=1),
        most_at_once=ENOUGH if variant else None,
        law=lambda: gumbel_cells([2, 0, 1], 1, 2 / float(EPSILON), 30),
        pairs=(((0, 0, 0), (1, -1, -1)), ((0, 0), (1, -1))) if variant else (displaced(1, 9),),
        regimes=NoFastPath(OWN_SAMPLER) if variant else ranking.exponential(),
    )


# Measuring ------------------------------------------------------------------------------------


def _measure() -> Row:
    def law() -> dict[Any, float]:
        noise = NoiseDensity("laplace", 2 / float(EPSILON))
        single = [
            {j: noise.cdf(j + 0.5 - a) - noise.cdf(j - 0.5 - a) for j in range(-20, 21)} for a in (1, -1)
        ]
        return {(i, j): p * q for i, p in single[0].items() for j, q in single[1].items()}

    return Row(
        function="measure",
        noise="laplace",
        theorem="Ding et al. 2023, theorem 3.3, for each of the answers",
        proof=Proved("measure"),
        release=releasing(fg.measure, lambda it: it.multiples, resolution=1),
        at_once=side_by_side(partial(fg.measure, resolution=1), shared=True),
        law=law,
        pairs=(((0, 0), (1, 1)),),
        regimes=measurement.measure(),
    )


def _histogram(touched: int) -> Row:
    """Two bins; one person is in one of them, or in both."""

    def law() -> dict[Any, float]:
        q = math.exp(-float(EPSILON) / touched)
        noise = {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-30, 31)}
        return {(1 + x, y - 1): p * r for (x, p), (y, r) in product(noise.items(), noise.items())}

    disjoint = touched == 1
    cited = (
        "Dwork et al. 2006: a factor e^(|d|/b) for each bin that moves by d; proved here for disjoint bins"
    )
    return Row(
        function="histogram",
        noise="discrete laplace",
        variant="disjoint" if disjoint else "two bins a person",
        theorem="Ghosh, Roughgarden and Sundararajan 2009" + ("" if disjoint else "; Dwork et al. 2006"),
        proof=Proved("histogram") if disjoint else Cited(cited),
        release=releasing(fg.histogram, lambda it: it.multiples, items_per_person=touched),
        at_once=side_by_side(partial(fg.histogram, items_per_person=touched), shared=False),
        law=law,
        pairs=(((0, 0), (1, 0)),) if disjoint else (((0, 0), (1, 1)), ((0, 0), (1, -1))),
        regimes=measurement.histogram() if disjoint else NoFastPath("as disjoint bins, at half of the rate"),
    )


def measured_cells(truth: float, scale: float) -> dict[int, float]:
    """P(a measurement rounded to the nearest whole number is in each cell three wide)."""
    noise = NoiseDensity("laplace", scale)

    def cell(j: int) -> float:
        return float(noise.cdf(WIDE * (j + 1) - 0.5 - truth) - noise.cdf(WIDE * j - 0.5 - truth))

    return {j: cell(j) for j in range(-15, 16)}


def with_measurement(chosen: dict[Any, float], truths: Sequence[float], scale: float) -> dict[Any, float]:
    """The law of one item and its gap, and of its measurement beside them."""
    cells = [measured_cells(truth, scale) for truth in truths]
    return {((i,), gaps, (j,)): p * q for ((i,), gaps), p in chosen.items() for j, q in cells[i].items()}


def wide(multiples: Sequence[int] | None) -> tuple[int, ...]:
    """Gaps or measurements in cells."""
    return tuple(multiple // WIDE for multiple in multiples or ())


def _estimated(found: fg.Estimates) -> Any:
    measured = () if found.measurement is None else found.measurement.multiples
    return found.indices, wide(found.selection.gap_multiples), wide(measured)


def _select_and_measure(noise: ContinuousNoiseName) -> Row:
    """Half of ε selects (noise of scale 2/(ε/2)), half measures the one selected (scale 1/(ε/2))."""

    def law() -> dict[Any, float]:
        half = float(EPSILON) / 2
        chosen = top_k_cells([1.0, -1.0], 1, NoiseDensity(noise, 2 / half), float(WIDE), 12)
        return with_measurement(chosen, [1.0, -1.0], 1 / half)

    return Row(
        function="select_and_measure",
        noise=noise,
        theorem="composition of noisy_top_k and measure",
        proof=Proved("noisy top-k, then measure"),
        release=releasing(fg.select_and_measure, _estimated, 1, noise=noise, resolution=1),
        at_once=then_measured(ranked_at_once(fg.noisy_top_k, 1, noise=noise, resolution=1)),
        law=law,
        pairs=(displaced(1, 3), displaced(1, 9)),
        regimes=ranking.selecting(noise),
    )


def _select_above_and_measure(noise: NoiseName) -> Row:
    """As above, selected by the sparse vector with the share of the threshold that Ding 2020 finds best."""

    def law() -> dict[Any, float]:
        half = float(EPSILON) / 2
        setting = ThresholdSetting(noise, half, 1, 1 / (1 + 4 ** (1 / 3)))
        found = sparse_vector_law(setting, [1.0, -1.0], float(WIDE), 12)
        chosen = {((len(entries) - 1,), (entries[-1][1],)): p for entries, p in found.items() if entries[-1]}
        nothing = sum(p for entries, p in found.items() if entries[-1] is None)
        return with_measurement(chosen, [1.0, -1.0], 1 / half) | {((), (), ()): nothing}

    return Row(
        function="select_and_measure",
        noise=noise,
        variant="above a threshold",
        theorem="composition of sparse_vector and measure",
        proof=Proved("sparse vector, then measure"),
        release=releasing(fg.select_and_measure, _estimated, 1, threshold=0, noise=noise, resolution=1),
        at_once=then_measured(runs_at_once(fg.sparse_vector, 0, k=1, noise=noise, resolution=1)),
        law=law,
        pairs=(((1, 1, 0), (0, 0, 1)), LATE[0]),
        regimes=thresholds.selecting_above(noise),
    )
