"""What is to be proved of this library's own mechanisms: one entry per mechanism, one claim per proof.

To add a mechanism: a `LibraryEntry` with its form, and the claims that the library makes for it. `freegap
prove --library` and the tests go through all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from freegap.base2 import ideal
from freegap.laws import law_named
from freegap.mechanisms import hybrids, measurement, sparse_vector, top_k
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.prover.registry import LibraryEntry, PrivacyClaim

if TYPE_CHECKING:
    from freegap.prover.schema import Schema

__all__ = ["LIBRARY", "plan"]

_ONE = Fraction(1)
_CONTINUOUS = ("laplace", "exponential")

Claims = Iterator[PrivacyClaim]


def _every(
    claim: Callable[..., PrivacyClaim],
    *queries: int | None,
    noises: Sequence[str] = _CONTINUOUS,
    **options: Any,
) -> Claims:
    """For so many answers (None: any number), each noise, k = 1, 2, 3, and both kinds of neighbours. For any
    number with continuous noise the proof is for all k, and there is one."""
    for number, noise, k, neighbours in product(queries, noises, (1, 2, 3), ("each", "monotonic")):
        if k == 1 or number is not None or law_named(noise).lattice:
            yield claim(k, noise, neighbours, number, **options)


# Top-k and the hybrid with it -------------------------------------------------------------


def _ranked(
    k: int,
    noise: str,
    neighbours: str,
    queries: int | None,
    *,
    half: bool = False,
    gap: bool = True,
    tight: bool = True,
) -> PrivacyClaim:
    """half: at the general scale, monotonic answers cost half of ε."""
    planned = TopKPlan.read(
        "noisy_top_k", k=k, epsilon=1, monotonic=neighbours == "monotonic" and not half, noise=noise, gap=gap
    )
    epsilon = _ONE / 2 if half else _ONE
    return PrivacyClaim(
        epsilon,
        queries,
        neighbours,
        {"plan": planned},
        resolution=_ONE if planned.law.lattice else None,
        tight=epsilon if tight else None,
        every_parameter=queries is None,
        label=(noise if queries is None else f"k {k}, {noise}") + ("" if gap else ", no gap"),
    )


def _top_k_claims() -> Claims:
    yield from _every(_ranked, 4)
    for gap in (True, False):
        yield from _every(_ranked, None, gap=gap, tight=False)
    yield from (_ranked(2, noise, "monotonic", 4, half=True) for noise in _CONTINUOUS)
    yield from _every(_ranked, 4, gap=False, tight=False)


# Sparse vector, adaptive or not, and the hybrid with it -----------------------------------


def plan(k: int, noise: str, monotonic: bool, *, halvings: int = 0, gap: bool = True) -> ThresholdPlan:
    """ε = 1 with a quarter of it for the threshold; the proofs hold for any share."""
    return ThresholdPlan.read(
        "sparse_vector",
        k=k,
        epsilon=1,
        monotonic=monotonic,
        noise=noise,
        share=Fraction(1, 4),
        branches=halvings,
        gap=gap,
    )


def _planned(
    k: int, noise: str, neighbours: str, queries: int | None, *, halvings: int = 0, gap: bool = True
) -> PrivacyClaim:
    every = queries is None and not law_named(noise).lattice
    named = (noise if every else f"k {k}, {noise}") + (f", {halvings} halvings" if halvings else "")
    return PrivacyClaim(
        _ONE,
        queries,
        neighbours,
        {"plan": plan(k, noise, neighbours == "monotonic", halvings=halvings, gap=gap)},
        resolution=_ONE if law_named(noise).lattice else None,
        tight=None if every else _ONE,
        every_parameter=every,
        label=named + ("" if gap else ", no gap"),
    )


def _sparse_vector_claims() -> Claims:
    yield from _every(_planned, 4, None, noises=(*_CONTINUOUS, "geometric"))
    yield from _every(_planned, 4, None, gap=False)


def _adaptive_claims() -> Claims:
    yield from _every(_planned, 4, halvings=1)
    yield from _every(_planned, 3, halvings=2)
    yield from _every(_planned, 3, noises=("geometric",), halvings=1)
    for halvings in (1, 2):
        yield from _every(_planned, None, noises=(*_CONTINUOUS, "geometric"), halvings=halvings)


def _symbolic(plan: ThresholdPlan) -> Schema:
    from freegap_evidence.assurance.schemas import threshold_schema  # which needs z3

    return threshold_schema(plan)


# Measuring ----------------------------------------------------------------------------------


def _measure_claims() -> Claims:
    for n in (1, 2, 3):
        yield PrivacyClaim(_ONE, n, "each", {"scale": Fraction(n)}, tight=_ONE)


# Discrete sparse vector with gap, in base 2 ----------------------------------------------


def _base2_claims() -> Claims:
    """Where each answer may move either way. There is no narrower noise for monotonic answers in base 2."""
    clamped = (
        (3, 1, (1, 2)),
        (2, 2, (1, 2)),
        (4, 2, ()),
        (4, 3, ()),
        *((None, k, (1, 2)) for k in (1, 2, 3)),
    )
    unclamped = product((4, None), (1, 2, 3), ((),))  # Ilvento 2020, algorithm 1: nothing is clamped
    for width, cases in ((3, clamped), (None, unclamped)):
        for queries, k, gaps in cases:
            parameters = {"k": k, "eta": (Fraction(1, 4), Fraction(3, 4)), "width": width, "gaps": gaps}
            label = f"k {k}, not clamped" if width is None else f"k {k}, {len(gaps)} gaps"
            yield PrivacyClaim(_ONE, queries, "each", parameters, resolution=_ONE, tight=_ONE, label=label)


_HYBRID = (*_every(_ranked, 4), *_every(_ranked, None, tight=False))
# Geometric noise on whole answers, without gaps: ties broken by place, and so by any order of coins.
_TIED = _every(_ranked, 4, noises=("geometric",), gap=False, tight=False)

LIBRARY: tuple[LibraryEntry, ...] = (
    LibraryEntry("noisy top-k with gap", top_k.form, tuple(_top_k_claims())),
    LibraryEntry("noisy top-k, ties broken by place", top_k.tied_form, tuple(_TIED)),
    LibraryEntry("sparse vector", sparse_vector.form, tuple(_sparse_vector_claims()), _symbolic),
    LibraryEntry("adaptive sparse vector", sparse_vector.form, tuple(_adaptive_claims()), _symbolic),
    LibraryEntry("hybrid top-k", hybrids.top_k_form, _HYBRID),
    LibraryEntry("hybrid sparse vector", hybrids.sparse_vector_form, tuple(_every(_planned, 5))),
    LibraryEntry("measure", measurement.form, tuple(_measure_claims())),
    LibraryEntry("base-2 sparse vector with gap", ideal.form, tuple(_base2_claims())),
)
