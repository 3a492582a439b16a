"""Mechanisms under ρ: top-k and its hybrid, the exponential mechanism, measuring, and both together.

A row is asked for ε here as everywhere. With Gumbel noise of the range r the K largest with their gaps are
K·r-private in ε as well, by their density (docs/mathematics/concentrated.md), and cost K·r²/8 in ρ; so ε is
K·r, and ρ is ε²/(8K). Noise that has no promise in ε is audited at the ε that its ρ allows with a δ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import freegap as fg
from freegap.bits import BitSource
from freegap.values.measures import Approximate, ZeroConcentrated, converted
from freegap_evidence.assurance.gumbel_law import gumbel_cells
from freegap_evidence.assurance.regimes import ranking
from freegap_evidence.assurance.row import EPSILON, Cited, NoFastPath, Pair, Released, Row

__all__ = ["gaussian_cells", "rows"]

OURS = "docs/mathematics/concentrated.md"
CELLS, WIDE = 6, 3
TINY = Fraction(1, 1000)

_NOT_ALIGNED = Cited(f"Gumbel noise is not aligned: {OURS} bounds the moments of the loss of names and gaps")


def rows() -> Iterator[Row]:
    """Each with the noise that it has under ρ."""
    yield _top_k(last_gap=True)
    yield _top_k(last_gap=False)
    yield _hybrid_top_k()
    yield _exponential()
    yield _measure()
    yield _select_and_measure()


def _price(places: int) -> Callable[[Fraction], Fraction]:
    return lambda epsilon: epsilon**2 / (8 * places)


def _itself(epsilon: Fraction) -> Fraction:
    return epsilon


def _celled(multiples: Sequence[int] | None) -> tuple[int, ...]:
    """The last cell is open."""
    return tuple(min(multiple // WIDE, CELLS - 1) for multiple in multiples or ())


def _top_k(*, last_gap: bool) -> Row:
    """Two of three, with noise of scale 2K/ε."""
    places = 3 if last_gap else 2
    price = _price(places)

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        found = fg.noisy_top_k(
            list(answers), 2, rho=price(epsilon), last_gap=last_gap, resolution=1, bits=bits
        )
        return Released((found.indices, _celled(found.gap_multiples)), found.spent)

    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        scale = 2 * places / float(epsilon)
        return gumbel_cells(answers, 2, scale, CELLS, width=WIDE, last_gap=last_gap)

    pairs: tuple[Pair, ...] = (((0, 0, 0, 0), (1, 1, -1, -1)), ((1, 0, 0), (0, 1, 1)))
    return Row(
        function="noisy_top_k",
        noise="gumbel",
        variant="in ρ" if last_gap else "in ρ, without the last gap",
        theorem=OURS,
        proof=_NOT_ALIGNED,
        release=release,
        answers=(1, -1, 0),
        law=lambda: law_at((1, -1, 0), EPSILON),
        pairs=pairs,
        regimes=ranking.noisy_top_k("gumbel", last_gap=last_gap),
        charge=price,
        promise=_itself,
        law_at=law_at,
    )


def _hybrid_top_k() -> Row:
    """The threshold 0 takes part as a third item, and the ranking ends there."""
    price = _price(3)

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        found = fg.hybrid_top_k(list(answers), 0, k=2, rho=price(epsilon), resolution=1, bits=bits)
        order = found.indices + ((len(answers),) if found.reached else ())
        return Released((order, _celled(found.gap_multiples)), found.spent)

    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        full = gumbel_cells([*answers, 0], 2, 6 / float(epsilon), CELLS, width=WIDE)
        law: dict[Any, float] = {}
        for (order, gaps), p in full.items():
            stop = 1 if order[0] == len(answers) else 2
            law[order[:stop], gaps[:stop]] = law.get((order[:stop], gaps[:stop]), 0.0) + p
        return law

    return Row(
        function="hybrid_top_k",
        noise="gumbel",
        variant="in ρ",
        theorem=f"{OURS}; the threshold is an item that nobody moves",
        proof=_NOT_ALIGNED,
        release=release,
        answers=(1, -1),
        law=lambda: law_at((1, -1), EPSILON),
        pairs=(((0, 0), (1, 1)), ((0, 0, 0), (1, -1, -1))),
        regimes=ranking.hybrid_top_k("gumbel"),
        charge=price,
        promise=_itself,
        law_at=law_at,
    )


def _exponential() -> Row:
    """In ε the choice and its gap cost r (Ding 2020, theorem 5.19), in ρ as two places: r²/4."""

    def price(epsilon: Fraction) -> Fraction:
        return epsilon**2 / 4

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        choice = fg.exponential_mechanism(list(answers), rho=price(epsilon), resolution=1, bits=bits)
        return Released(((choice.index,), _celled([int(choice.utility_gap or 0)])), choice.spent)

    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        return gumbel_cells(answers, 1, 2 / float(epsilon), CELLS, width=WIDE)

    return Row(
        function="exponential_mechanism",
        noise="Gumbel",
        variant="in ρ",
        theorem=f"{OURS}, two places",
        proof=_NOT_ALIGNED,
        release=release,
        answers=(2, 0, 1),
        law=lambda: law_at((2, 0, 1), EPSILON),
        pairs=(((0, 0, 0), (1, -1, -1)), ((0, 0), (1, -1))),
        regimes=NoFastPath("the ranking by Gumbel noise of the row in ε, at another rate"),
        charge=price,
        promise=_itself,
        law_at=law_at,
    )


def gaussian_cells(centre: float, variance: float, reach: int = 60) -> dict[int, float]:
    """The discrete Gaussian law, on whole numbers."""
    weights = {j: math.exp(-((j - centre) ** 2) / (2 * variance)) for j in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {j: weight / total for j, weight in weights.items()}


def _allowed(rho: Callable[[Fraction], Fraction]) -> Callable[[Fraction], Fraction]:
    """The ε that goes with a ρ at δ = 1/1000."""
    return lambda epsilon: converted(ZeroConcentrated(rho(epsilon)), Approximate, delta=TINY).epsilon


def _measure() -> Row:
    """Two answers with σ = 2/ε each: ε²/4 in all."""

    def price(epsilon: Fraction) -> Fraction:
        return epsilon**2 / 4

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        found = fg.measure(list(answers), rho=price(epsilon), resolution=1, bits=bits)
        return Released(found.multiples, found.spent)

    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        singles = [gaussian_cells(answer, 4 / float(epsilon) ** 2, 12) for answer in answers]
        return {(i, j): singles[0][i] * singles[1][j] for i, j in product(*singles)}

    return Row(
        function="measure",
        noise="discrete Gaussian",
        variant="in ρ",
        theorem="Canonne, Kamath and Steinke 2020, theorem 4, for each of the answers",
        proof=Cited(
            "a shift of Gaussian noise has no price in ε: Canonne, Kamath and Steinke 2020, theorem 4"
        ),
        release=release,
        answers=(1, -1),
        law=lambda: law_at((1, -1), EPSILON),
        pairs=(((0, 0), (1, 1)),),
        regimes=NoFastPath("integers by exact coin flips: the release runs the program itself"),
        charge=price,
        promise=_allowed(price),
        delta=TINY,
        law_at=law_at,
    )


def _select_and_measure() -> Row:
    """Half of ρ selects one of two, without a gap; half measures it."""

    def price(epsilon: Fraction) -> Fraction:
        return epsilon**2 / 4

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        found = fg.select_and_measure(list(answers), 1, rho=price(epsilon), resolution=1, bits=bits)
        assert found.measurement is not None  # noqa: S101 (top-k always selects)
        return Released((found.indices, found.measurement.multiples), found.spent)

    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        """ρ/2 = ε²/8 is a choice of the range ε, and σ = 2/ε."""
        chosen = gumbel_cells(answers, 1, 2 / float(epsilon), 1)
        singles = [gaussian_cells(answer, 4 / float(epsilon) ** 2, 12) for answer in answers]
        return {((s,), (j,)): p * q for ((s,), _), p in chosen.items() for j, q in singles[s].items()}

    return Row(
        function="select_and_measure",
        noise="gumbel",
        variant="in ρ",
        theorem="composition of noisy_top_k and measure in ρ",
        proof=Cited("sequential composition of the selection and of `measure`, both in this table in ρ"),
        release=release,
        answers=(1, -1),
        law=lambda: law_at((1, -1), EPSILON),
        pairs=(((0, 0), (1, -1)), ((2, -1), (1, 0))),
        regimes=NoFastPath("the selection of noisy_top_k and the noise of measure, each with a row in ρ"),
        charge=price,
        promise=_allowed(price),
        delta=TINY,
        law_at=law_at,
    )
