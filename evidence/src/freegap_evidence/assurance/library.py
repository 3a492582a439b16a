"""What is to be proved of this library's own mechanisms: one entry per mechanism, one claim per proof.

To add a mechanism: a `LibraryEntry` with its form, and the claims that the library makes for it. `freegap
prove --library` and the tests go through all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from freegap.base2 import ideal
from freegap.estimate import selection
from freegap.laws import law_named
from freegap.mechanisms import histogram, hybrids, measurement, sparse_vector, top_k
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.prover.registry import LibraryEntry, PrivacyClaim

if TYPE_CHECKING:
    from freegap.prover.schema import Schema

_ONE = Fraction(1)
_CONTINUOUS = ("laplace", "exponential")

Claims = Iterator[PrivacyClaim]


def _every(
    claim: Callable[..., PrivacyClaim],
    *queries: int | None,
    noises: Sequence[str] = _CONTINUOUS,
    **options: Any,
) -> Claims:
    """For so many answers (None: any number), each noise, k = 1 and 2, and both kinds of neighbours. For any
    number the proof is for all k, and there is one."""
    for number, noise, k, neighbours in product(queries, noises, (1, 2), ("each", "monotonic")):
        if k == 1 or number is not None:
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
    for gap in (True, False):
        yield from _every(_ranked, None, gap=gap, tight=False)
    yield from _every(_ranked, 3)
    yield from (_ranked(2, noise, "monotonic", 3, half=True) for noise in _CONTINUOUS)
    yield from _every(_ranked, 3, gap=False, tight=False)


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
    every = queries is None
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
    yield from _every(_planned, None, 3, noises=(*_CONTINUOUS, "geometric"))
    yield from _every(_planned, None, 3, gap=False)


def _adaptive_claims() -> Claims:
    for halvings in (1, 2):
        yield from _every(_planned, None, noises=(*_CONTINUOUS, "geometric"), halvings=halvings)
    yield from _every(_planned, 3, noises=(*_CONTINUOUS, "geometric"), halvings=1)
    yield from _every(_planned, 3, halvings=2)


def _schema(name: str) -> Callable[..., Schema[Any]]:
    """A schema, by the name of the function that makes it in a module that needs z3."""

    def make(**parameters: Any) -> Schema[Any]:
        from freegap_evidence.assurance import schemas

        made: Schema[Any] = getattr(schemas, name)(**parameters)
        return made

    return make


# Measuring ----------------------------------------------------------------------------------


def _measure_claims() -> Claims:
    parameters = {"scale": _ONE, "each": _ONE}
    yield PrivacyClaim(_ONE, None, "each", parameters, every_parameter=True, label="laplace")
    for n in (1, 2, 3):
        yield PrivacyClaim(_ONE, n, "each", {"scale": Fraction(n), "each": _ONE / n}, tight=_ONE)


def _histogram_claims() -> Claims:
    """One bin moves by at most Δ, and nothing is known of how many there are."""
    for delta, n in ((_ONE, None), (3 * _ONE, None), (_ONE, 2)):
        yield PrivacyClaim(_ONE, n, "one", {"scale": delta}, delta, resolution=_ONE, tight=_ONE)


# Selecting, and measuring what was selected ---------------------------------------------------


def _composed(claim: PrivacyClaim) -> PrivacyClaim:
    """As much again for measuring: 1/k of it for each of k answers."""
    k = claim.parameters["plan"].k
    parameters = dict(claim.parameters) | {"scale": Fraction(k), "each": _ONE / k}
    tight = None if claim.tight is None else claim.tight + 1
    return replace(claim, epsilon=claim.epsilon + 1, parameters=parameters, tight=tight)


def _composed_claims(claim: Callable[..., PrivacyClaim], noises: Sequence[str]) -> Claims:
    for noise, neighbours in product(noises, ("each", "monotonic")):
        yield _composed(claim(1, noise, neighbours, None))
    for noise in noises:
        yield _composed(claim(1, noise, "each", 2))


# Discrete sparse vector with gap, in base 2 ----------------------------------------------


def _base2_claims() -> Claims:
    """Where each answer may move either way. There is no narrower noise for monotonic answers in base 2.

    For every n the distances are released, of which any gaps that are reached are a function.
    """
    clamped = ((None, 1, None), (3, 1, (1, 2)), (2, 2, (1, 2)), (3, 2, ()))
    unclamped = ((None, 1, None), (3, 1, ()), (3, 2, ()))  # Ilvento 2020, algorithm 1
    for width, cases in ((3, clamped), (None, unclamped)):
        for queries, k, gaps in cases:
            parameters = {"k": k, "eta": (Fraction(1, 4), Fraction(3, 4)), "width": width, "gaps": gaps}
            every = queries is None
            size = "" if every else f"k {k}, "
            told = "any gaps" if gaps is None else f"{len(gaps)} gaps"
            yield PrivacyClaim(
                _ONE,
                queries,
                "each",
                parameters,
                resolution=_ONE,
                tight=None if every else _ONE,
                every_parameter=every,
                label=size + ("not clamped" if width is None else told),
            )


# Geometric noise on whole answers, without gaps: ties broken by place, and so by any order of coins.
_TIED = _every(_ranked, None, 3, noises=("geometric",), gap=False, tight=False)
_HYBRID = (*_every(_ranked, None, tight=False), *_every(_ranked, 3))

LIBRARY: tuple[LibraryEntry, ...] = (
    LibraryEntry("noisy top-k with gap", top_k.form, tuple(_top_k_claims())),
    LibraryEntry("noisy top-k, ties broken by place", top_k.tied_form, tuple(_TIED), _schema("tied_schema")),
    LibraryEntry(
        "sparse vector", sparse_vector.form, tuple(_sparse_vector_claims()), _schema("threshold_schema")
    ),
    LibraryEntry(
        "adaptive sparse vector", sparse_vector.form, tuple(_adaptive_claims()), _schema("threshold_schema")
    ),
    LibraryEntry("hybrid top-k", hybrids.top_k_form, _HYBRID),
    LibraryEntry(
        "hybrid sparse vector",
        hybrids.sparse_vector_form,
        tuple(_every(_planned, None, 3)),
        _schema("hybrid_schema"),
    ),
    LibraryEntry(
        "noisy top-k, then measure",
        selection.form,
        tuple(_composed_claims(partial(_ranked, tight=False), _CONTINUOUS)),
        _schema("composed_schema"),
    ),
    LibraryEntry(
        "sparse vector, then measure",
        selection.form,
        tuple(_composed_claims(_planned, (*_CONTINUOUS, "geometric"))),
        _schema("composed_schema"),
    ),
    LibraryEntry("measure", measurement.form, tuple(_measure_claims()), _schema("measure_schema")),
    LibraryEntry("histogram", histogram.form, tuple(_histogram_claims())),
    LibraryEntry(
        "base-2 sparse vector with gap", ideal.form, tuple(_base2_claims()), _schema("base2_schema")
    ),
)
