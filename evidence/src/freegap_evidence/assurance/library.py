"""What is to be proved of this library's own mechanisms: one entry per mechanism, one claim per proof.

To add a mechanism: a `LibraryEntry` with its form, and the claims that the library makes for it. `freegap
prove --library` and the tests go through all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from freegap.base2 import ideal
from freegap.laws import law_named
from freegap.mechanisms import hybrids, measuring, sparse_vector, top_k
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.prover.registry import LibraryEntry, PrivacyClaim

if TYPE_CHECKING:
    from freegap.prover.schema import Schema

__all__ = ["LIBRARY", "plan"]

_ONE = Fraction(1)
_CONTINUOUS = ("laplace", "exponential")
_NEIGHBOURS = (("each", False), ("monotonic", True))


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


def _top_k_claims() -> Iterator[PrivacyClaim]:
    """Each noise, general and monotonic: at 5 answers, k = 1 (noisy max), 2, 3; for all n, k, ε and Δ."""
    for noise, k, (neighbours, _) in product(_CONTINUOUS, (1, 2, 3), _NEIGHBOURS):
        yield _ranked(k, noise, neighbours, 5)
    for noise, (neighbours, _), gap in product(_CONTINUOUS, _NEIGHBOURS, (True, False)):
        yield _ranked(1, noise, neighbours, None, gap=gap, tight=False)
    for noise in _CONTINUOUS:
        yield _ranked(2, noise, "monotonic", 4, half=True)
    for noise, k, (neighbours, _) in product(_CONTINUOUS, (1, 2, 3), _NEIGHBOURS):
        yield _ranked(k, noise, neighbours, 4, gap=False, tight=False)


def _tied_claims() -> Iterator[PrivacyClaim]:
    """Geometric noise on whole answers, without gaps: ties broken by place, and so by any order of coins."""
    for k, (neighbours, _) in product((1, 2, 3), _NEIGHBOURS):
        yield _ranked(k, "geometric", neighbours, 4, gap=False, tight=False)


def _hybrid_top_k_claims() -> Iterator[PrivacyClaim]:
    for noise, k, (neighbours, _) in product(_CONTINUOUS, (1, 2, 3), _NEIGHBOURS):
        yield _ranked(k, noise, neighbours, 4)
    for noise, (neighbours, _) in product(_CONTINUOUS, _NEIGHBOURS):
        yield _ranked(1, noise, neighbours, None, tight=False)


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


def _sparse_vector_claims() -> Iterator[PrivacyClaim]:
    for noise, k, (neighbours, _) in product((*_CONTINUOUS, "geometric"), (1, 2, 3), _NEIGHBOURS):
        yield _planned(k, noise, neighbours, 5)
    for k, (neighbours, _) in product((1, 2, 3), _NEIGHBOURS):
        yield _planned(k, "geometric", neighbours, None)
    for noise, k, (neighbours, _) in product(_CONTINUOUS, (1, 2, 3), _NEIGHBOURS):
        yield _planned(k, noise, neighbours, 5, gap=False)
    for noise, (neighbours, _), gap in product(_CONTINUOUS, _NEIGHBOURS, (True, False)):
        yield _planned(1, noise, neighbours, None, gap=gap)


def _adaptive_claims() -> Iterator[PrivacyClaim]:
    for noise, k, (neighbours, _) in product(_CONTINUOUS, (1, 2, 3), _NEIGHBOURS):
        yield _planned(k, noise, neighbours, 5, halvings=1)
        yield _planned(k, noise, neighbours, 4, halvings=2)
    for noise, (neighbours, _), halvings in product(_CONTINUOUS, _NEIGHBOURS, (1, 2)):
        yield _planned(1, noise, neighbours, None, halvings=halvings)
    for k, (neighbours, _) in product((1, 2, 3), _NEIGHBOURS):
        yield _planned(k, "geometric", neighbours, 4, halvings=1)
        yield _planned(k, "geometric", neighbours, None, halvings=1)
        yield _planned(k, "geometric", neighbours, None, halvings=2)


def _symbolic(plan: ThresholdPlan) -> Schema:
    from freegap_evidence.assurance.schemas import threshold_schema  # which needs z3

    return threshold_schema(plan)


def _hybrid_sparse_vector_claims() -> Iterator[PrivacyClaim]:
    for noise, k, (neighbours, _) in product(_CONTINUOUS, (1, 2, 3), _NEIGHBOURS):
        yield _planned(k, noise, neighbours, 5)


# Measuring ----------------------------------------------------------------------------------


def _measure_claims() -> Iterator[PrivacyClaim]:
    for n in (1, 2, 3):
        yield PrivacyClaim(_ONE, n, "each", {"scale": Fraction(n)}, tight=_ONE)


# Discrete sparse vector with gap, in base 2 ----------------------------------------------


def _base2_claims() -> Iterator[PrivacyClaim]:
    """Where each answer may move either way. There is no narrower noise for monotonic answers in base 2."""
    for queries, k, gaps in (
        (3, 1, (1, 2)),
        (2, 2, (1, 2)),
        (4, 2, ()),
        (4, 3, ()),
        (None, 1, (1, 2)),
        (None, 2, (1, 2)),
        (None, 3, (1, 2)),
    ):
        parameters = {"k": k, "eta": (Fraction(1, 4), Fraction(3, 4)), "width": 3, "gaps": gaps}
        label = f"k {k}, {len(gaps)} gaps"
        yield PrivacyClaim(_ONE, queries, "each", parameters, resolution=_ONE, tight=_ONE, label=label)
    for queries, k in product((4, None), (1, 2, 3)):  # Ilvento 2020, algorithm 1: nothing is clamped
        parameters = {"k": k, "eta": (Fraction(1, 4), Fraction(3, 4)), "width": None, "gaps": ()}
        label = f"k {k}, not clamped"
        yield PrivacyClaim(_ONE, queries, "each", parameters, resolution=_ONE, tight=_ONE, label=label)


LIBRARY: tuple[LibraryEntry, ...] = (
    LibraryEntry("noisy top-k with gap", top_k.form, tuple(_top_k_claims())),
    LibraryEntry("noisy top-k, ties broken by place", top_k.tied_form, tuple(_tied_claims())),
    LibraryEntry("sparse vector", sparse_vector.form, tuple(_sparse_vector_claims()), _symbolic),
    LibraryEntry("adaptive sparse vector", sparse_vector.form, tuple(_adaptive_claims()), _symbolic),
    LibraryEntry("hybrid top-k", hybrids.top_k_form, tuple(_hybrid_top_k_claims())),
    LibraryEntry("hybrid sparse vector", hybrids.sparse_vector_form, tuple(_hybrid_sparse_vector_claims())),
    LibraryEntry("measure", measuring.form, tuple(_measure_claims())),
    LibraryEntry("base-2 sparse vector with gap", ideal.form, tuple(_base2_claims())),
)
