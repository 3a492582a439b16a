"""Mechanisms under ρ: top-k and its hybrid, the exponential mechanism, measuring, and both together.

A row is asked for ε here as everywhere, and asks the mechanism for ρ = ε²/d. With Gumbel noise of the range r
the K largest with their gaps cost K·r²/8 in ρ (docs/mathematics/concentrated.md): so d is 8K, and r is ε/K.
The audit is of the claim in ρ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import freegap as fg
from freegap.bits import BitSource
from freegap.values.measures import ZeroConcentrated
from freegap_evidence.assurance.at_once import (
    ReleaseMany,
    chosen_at_once,
    ended_at_once,
    ranked_at_once,
    side_by_side,
    then_measured,
)
from freegap_evidence.assurance.gumbel_law import gumbel_cells
from freegap_evidence.assurance.regimes import ranking
from freegap_evidence.assurance.row import EPSILON, Cited, NoFastPath, Pair, Released, Row

OURS = "docs/mathematics/concentrated.md"
CELLS, WIDE = 6, 3

_NOT_ALIGNED = Cited(f"Gumbel noise is not aligned: {OURS} bounds the moments of the loss of names and gaps")

LawAt = Callable[[Sequence[float], Fraction], dict[Any, float]]


def rows() -> Iterator[Row]:
    """Each with the noise that it has under ρ."""
    yield _top_k(last_gap=True)
    yield _top_k(last_gap=False)
    yield _hybrid_top_k()
    yield _exponential()
    yield _measure()
    yield _histogram()
    yield _select_and_measure()


def _row(
    function: Callable[..., Any],
    *more: Any,
    divisor: int,
    output: Callable[[Sequence[float], Any], Any],
    law_at: LawAt,
    answers: tuple[int, ...],
    pairs: tuple[Pair, ...],
    regimes: Any,
    noise: str = "gumbel",
    variant: str = "in ρ",
    theorem: str = OURS,
    proof: Cited = _NOT_ALIGNED,
    at_once: ReleaseMany | None = None,
    **options: Any,
) -> Row:
    """A row that asks for ε²/divisor in ρ. output: of the answers and the release, made hashable."""

    def price(epsilon: Fraction) -> Fraction:
        return epsilon**2 / divisor

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        found = function(list(answers), *more, rho=price(epsilon), resolution=1, bits=bits, **options)
        return Released(output(answers, found), found.spent)

    return Row(
        function=getattr(function, "func", function).__name__,  # of a partial function
        noise=noise,
        variant=variant,
        theorem=theorem,
        proof=proof,
        release=release,
        at_once=at_once,
        answers=answers,
        law=partial(law_at, answers, EPSILON),
        pairs=pairs,
        regimes=regimes,
        measure=ZeroConcentrated,
        charge=price,
        law_at=law_at,
    )


def _celled(multiples: Sequence[int] | None) -> tuple[int, ...]:
    """The last cell is open."""
    return tuple(min(multiple // WIDE, CELLS - 1) for multiple in multiples or ())


def _top_k(*, last_gap: bool) -> Row:
    """Two of three, with noise of scale 2K/ε."""
    places = 3 if last_gap else 2

    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        scale = 2 * places / float(epsilon)
        return gumbel_cells(answers, 2, scale, CELLS, width=WIDE, last_gap=last_gap)

    return _row(
        fg.noisy_top_k,
        2,
        last_gap=last_gap,
        divisor=8 * places,
        output=lambda _, found: (found.indices, _celled(found.gap_multiples)),
        law_at=law_at,
        answers=(1, -1, 0),
        pairs=(((0, 0, 0, 0), (1, 1, -1, -1)), ((1, 0, 0), (0, 1, 1))),
        at_once=ranked_at_once(fg.noisy_top_k, 2, divisor=8 * places, last_gap=last_gap, resolution=1),
        regimes=ranking.noisy_top_k("gumbel", last_gap=last_gap),
        variant="in ρ" if last_gap else "in ρ, without the last gap",
    )


def _hybrid_top_k() -> Row:
    """The threshold 0 takes part as a third item, and the ranking ends there."""

    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        full = gumbel_cells([*answers, 0], 2, 6 / float(epsilon), CELLS, width=WIDE)
        law: dict[Any, float] = {}
        for (order, gaps), p in full.items():
            stop = 1 if order[0] == len(answers) else 2
            law[order[:stop], gaps[:stop]] = law.get((order[:stop], gaps[:stop]), 0.0) + p
        return law

    return _row(
        fg.hybrid_top_k,
        0,
        k=2,
        divisor=24,
        output=lambda answers, found: (
            found.indices + ((len(answers),) if found.reached else ()),
            _celled(found.gap_multiples),
        ),
        law_at=law_at,
        answers=(1, -1),
        pairs=(((0, 0), (1, 1)), ((0, 0, 0), (1, -1, -1))),
        at_once=ended_at_once(0, 2, divisor=24, resolution=1),
        regimes=ranking.hybrid_top_k("gumbel"),
        theorem=f"{OURS}; the threshold is an item that nobody moves",
    )


def _exponential() -> Row:
    """In ε the choice and its gap cost r (Ding 2020, theorem 5.19), in ρ as two places: r²/4."""

    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        return gumbel_cells(answers, 1, 2 / float(epsilon), CELLS, width=WIDE)

    return _row(
        fg.exponential_mechanism,
        divisor=4,
        output=lambda _, choice: ((choice.index,), _celled([int(choice.utility_gap or 0)])),
        law_at=law_at,
        answers=(2, 0, 1),
        pairs=(((0, 0, 0), (1, -1, -1)), ((0, 0), (1, -1))),
        at_once=chosen_at_once(resolution=1),
        regimes=NoFastPath("the ranking by Gumbel noise of the row in ε, at another rate"),
        noise="Gumbel",
        theorem=f"{OURS}, two places",
    )


def gaussian_cells(centre: float, variance: float, reach: int = 60) -> dict[int, float]:
    """The discrete Gaussian law, on whole numbers."""
    weights = {j: math.exp(-((j - centre) ** 2) / (2 * variance)) for j in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {j: weight / total for j, weight in weights.items()}


def _measure() -> Row:
    """Two answers with σ = 2/ε each: ε²/4 in all."""

    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        singles = [gaussian_cells(answer, 4 / float(epsilon) ** 2, 12) for answer in answers]
        return {(i, j): singles[0][i] * singles[1][j] for i, j in product(*singles)}

    cited = "Canonne, Kamath and Steinke 2020, theorem 4"
    return _row(
        fg.measure,
        divisor=4,
        output=lambda _, found: found.multiples,
        law_at=law_at,
        answers=(1, -1),
        pairs=(((0, 0), (1, 1)),),
        regimes=NoFastPath(
            "integers by exact coin flips; for many answers a test compares doubles and reals"
        ),
        noise="discrete Gaussian",
        theorem=f"{cited}, for each of the answers",
        at_once=side_by_side(partial(fg.measure, resolution=1), shared=True, divisor=4),
        proof=Cited(f"a shift of Gaussian noise has no price in ε: {cited}"),
    )


def _histogram() -> Row:
    """Two disjoint bins with σ = 1/ε each: ε²/2 for the one that moves."""

    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        singles = [gaussian_cells(answer, 1 / float(epsilon) ** 2, 12) for answer in answers]
        return {(i, j): singles[0][i] * singles[1][j] for i, j in product(*singles)}

    cited = "Canonne, Kamath and Steinke 2020, theorem 4"
    return _row(
        partial(fg.histogram, items_per_person=1),
        divisor=2,
        output=lambda _, found: found.multiples,
        law_at=law_at,
        answers=(1, -1),
        pairs=(((0, 0), (1, 0)),),
        regimes=NoFastPath("the noise of measure in ρ, which has a row of its own"),
        noise="discrete Gaussian",
        variant="in ρ, disjoint",
        theorem=f"{cited}, for the bin that moves",
        at_once=side_by_side(
            partial(fg.histogram, items_per_person=1, resolution=1), shared=False, divisor=2
        ),
        proof=Cited(f"a shift of Gaussian noise has no price in ε: {cited}"),
    )


def _select_and_measure() -> Row:
    """Half of ρ selects one of two, without a gap; half measures it."""

    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        """ρ/2 = ε²/8 is a choice of the range ε, and σ = 2/ε."""
        chosen = gumbel_cells(answers, 1, 2 / float(epsilon), 1)
        singles = [gaussian_cells(answer, 4 / float(epsilon) ** 2, 12) for answer in answers]
        return {((s,), (j,)): p * q for ((s,), _), p in chosen.items() for j, q in singles[s].items()}

    return _row(
        fg.select_and_measure,
        1,
        divisor=4,
        output=lambda _, found: (found.indices, found.measurement.multiples),
        law_at=law_at,
        answers=(1, -1),
        pairs=(((0, 0), (1, -1)), ((2, -1), (1, 0))),
        at_once=then_measured(
            ranked_at_once(fg.noisy_top_k, 1, divisor=8, last_gap=False, resolution=1), divisor=8
        ),
        regimes=NoFastPath("the selection of noisy_top_k and the noise of measure, each with a row in ρ"),
        theorem="composition of noisy_top_k and measure in ρ",
        proof=Cited("sequential composition of the selection and of `measure`, both in this table in ρ"),
    )
