"""What is to be proved of this library's own mechanisms: one entry per mechanism, one claim per proof.

To add a mechanism: an `LibraryEntry` with its program, its alignment and its charge, and the claims that the
library makes for it. `freegap prove --library` and the tests go through all of them.

A form says the same as the program, in the parts that a proof for all n needs; it is shown to be the same
function as the program, at a bounded size, whenever it is proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from typing import Any

from freegap.base2 import ideal
from freegap.laws import law_named
from freegap.laws.labelled import LabelledNoise
from freegap.mechanisms import hybrids, measuring, sparse_vector, top_k
from freegap.mechanisms.threshold_plan import ThresholdPlan, plan_threshold
from freegap.prover.forms import Selection, Stream
from freegap.prover.registry import LibraryEntry, PrivacyClaim

__all__ = ["LIBRARY", "plan"]

_ONE = Fraction(1)
_CONTINUOUS = ("laplace", "exponential")
_NEIGHBOURS = (("each", False), ("monotonic", True))


# Top-k and the hybrid with it -------------------------------------------------------------


def _scaled(k: int, law: str, monotonic: bool) -> dict[str, Any]:
    return {"k": k, "scale": Fraction(k if monotonic else 2 * k), "law": law}


def _top_k_claims() -> Iterator[PrivacyClaim]:
    """Each noise, general and monotonic, k = 1 (noisy max), 2, 3; at 5 answers and at any number."""
    for queries, law, k in product((5, None), _CONTINUOUS, (1, 2, 3)):
        for neighbours, monotonic in _NEIGHBOURS:
            tight = None if queries is None else _ONE
            yield PrivacyClaim(_ONE, queries, neighbours, _scaled(k, law, monotonic), tight=tight)
    for law in _CONTINUOUS:  # at the general scale, monotonic answers cost half of it
        yield PrivacyClaim(Fraction(1, 2), 4, "monotonic", _scaled(2, law, False), tight=Fraction(1, 2))
    for law, k, (neighbours, monotonic) in product(_CONTINUOUS, (1, 2, 3), _NEIGHBOURS):
        yield PrivacyClaim(_ONE, 4, neighbours, _scaled(k, law, monotonic) | {"gap": False})


def _tied_claims() -> Iterator[PrivacyClaim]:
    """Geometric noise on whole answers, without gaps: ties broken by place, and so by any order of coins."""
    for k, (neighbours, monotonic) in product((1, 2, 3), _NEIGHBOURS):
        parameters = _scaled(k, "geometric", monotonic) | {"gap": False}
        label = f"k {k}, geometric, no gap"
        yield PrivacyClaim(_ONE, 4, neighbours, parameters, resolution=_ONE, label=label)


def _gaps(values: Sequence[Any], runner_up: Any) -> list[Any]:
    return [a - b for a, b in pairwise([*values, runner_up])]


def _top_k_form(*, k: int, scale: Fraction, law: str) -> Selection:
    return Selection(k, law, scale, _gaps, partial(top_k.shifts, law=law))


def _hybrid_top_k_claims() -> Iterator[PrivacyClaim]:
    for law, k in product(_CONTINUOUS, (1, 2, 3)):
        for neighbours, monotonic in _NEIGHBOURS:
            yield PrivacyClaim(_ONE, 4, neighbours, _scaled(k, law, monotonic), tight=_ONE)


# Sparse vector, adaptive or not, and the hybrid with it -----------------------------------


def plan(k: int, noise: str, monotonic: bool, *, halvings: int = 0) -> ThresholdPlan:
    """ε = 1 with a quarter of it for the threshold; the proofs hold for any share."""
    return plan_threshold(
        k=k,
        epsilon=1,
        sensitivity=1,
        monotonic=monotonic,
        noise=noise,
        resolution=Fraction(1, 1024),
        share=Fraction(1, 4),
        halvings=halvings,
    )


def _planned(
    k: int, noise: str, neighbours: str, queries: int | None, *, halvings: int = 0, gap: bool | None = None
) -> PrivacyClaim:
    parameters: dict[str, Any] = {"plan": plan(k, noise, neighbours == "monotonic", halvings=halvings)}
    if gap is not None:
        parameters["gap"] = gap
    named = f"k {k}, {noise}" + (f", {halvings} halvings" if halvings else "")
    return PrivacyClaim(
        _ONE,
        queries,
        neighbours,
        parameters,
        resolution=_ONE if law_named(noise).lattice else None,
        tight=_ONE,
        label=named + (", no gap" if gap is False else ""),
    )


def _sparse_vector_claims() -> Iterator[PrivacyClaim]:
    for queries, noise, k in product((5, None), (*_CONTINUOUS, "geometric"), (1, 2, 3)):
        for neighbours, _ in _NEIGHBOURS:
            yield _planned(k, noise, neighbours, queries)
    for noise, k, (neighbours, _) in product(_CONTINUOUS, (1, 2, 3), _NEIGHBOURS):
        yield _planned(k, noise, neighbours, 5, gap=False)


def _adaptive_claims() -> Iterator[PrivacyClaim]:
    for noise, k, (neighbours, _) in product(_CONTINUOUS, (1, 2, 3), _NEIGHBOURS):
        yield _planned(k, noise, neighbours, 5, halvings=1)
        yield _planned(k, noise, neighbours, 4, halvings=2)
        yield _planned(k, noise, neighbours, None, halvings=1)
        yield _planned(k, noise, neighbours, None, halvings=2)
    for k, (neighbours, _) in product((1, 2, 3), _NEIGHBOURS):
        yield _planned(k, "geometric", neighbours, 4, halvings=1)
        yield _planned(k, "geometric", neighbours, None, halvings=1)
        yield _planned(k, "geometric", neighbours, None, halvings=2)


def _hybrid_sparse_vector_claims() -> Iterator[PrivacyClaim]:
    for noise, k, (neighbours, _) in product(_CONTINUOUS, (1, 2, 3), _NEIGHBOURS):
        yield _planned(k, noise, neighbours, 5)


def _sparse_vector_form(*, plan: ThresholdPlan) -> Stream:
    """One question a step; the state is what was spent and the noisy threshold."""

    def start(noise: LabelledNoise[Any]) -> tuple[Fraction, Any]:
        bar = getattr(noise, plan.law.name)(plan.threshold_scale, label="threshold")
        return plan.threshold_budget, bar

    def step(state: tuple[Fraction, Any], answer: Any, noise: LabelledNoise[Any]) -> tuple[Any, Any, bool]:
        spent, bar = state
        draw = getattr(noise, plan.law.name)
        noisy = [answer + draw(b.scale, label=j) - b.shift for j, b in enumerate(plan.branches)]
        entry = None
        for value, branch in zip(noisy, plan.branches, strict=True):
            if value - bar >= branch.margin:
                entry = (value - bar, branch.budget)
                spent += branch.budget
                break
        return (spent, bar), entry, spent > plan.epsilon - plan.answer_budget

    def lift(direction: str) -> Fraction:
        return Fraction(0) if plan.monotonic and direction == "decreasing" else plan.sensitivity

    def step_shifts(direction: str, state: Any, entry: Any, answer: Any, neighbour: Any) -> dict[int, Any]:
        if entry is None:
            return {}
        branch = [branch.budget for branch in plan.branches].index(entry[1])
        return {branch: lift(direction) + answer - neighbour}

    return Stream(
        start,
        step,
        lambda direction: {"threshold": lift(direction)},
        step_shifts,
        start_charge=plan.threshold_budget,
        entry_charge=lambda entry: 0 if entry is None else entry[1],
    )


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


def _base2_form(
    *, k: int, eta: tuple[Fraction, Fraction], sensitivity: Fraction, width: int | None, gaps: tuple[int, ...]
) -> Stream:
    """One question a step; the state is how many ⊤ are left and ρ."""

    def start(noise: LabelledNoise[Any]) -> tuple[int, Any]:
        return k, noise.discrete_laplace(sensitivity / eta[0], label="threshold")

    def step(state: tuple[int, Any], answer: Any, noise: LabelledNoise[Any]) -> tuple[Any, Any, bool]:
        left, rho = state
        nu = noise.discrete_laplace(2 * k * sensitivity / eta[1], label="answer")
        distance = answer + nu - ideal.clamp(rho, answer, width)
        if distance < 0:
            return (left, rho), None, False
        return (left - 1, rho), sum(1 for gap in gaps if distance >= gap), left == 1

    def step_shifts(direction: str, state: Any, entry: Any, answer: Any, neighbour: Any) -> dict[str, Any]:
        if entry is None:
            return {}
        rho = state[1]
        change = ideal.clamp(rho + sensitivity, neighbour, width) - ideal.clamp(rho, answer, width)
        return {"answer": answer - neighbour + change}

    return Stream(
        start,
        step,
        lambda direction: {"threshold": sensitivity},
        step_shifts,
        place_alone=True,
        start_charge=eta[0],
        entry_charge=lambda entry: 0 if entry is None else eta[1] / k,
    )


LIBRARY: tuple[LibraryEntry, ...] = (
    LibraryEntry(
        "noisy top-k with gap",
        top_k.program,
        top_k.alignment,
        tuple(_top_k_claims()),
        form=_top_k_form,
        form_sizes=(4, 5),
    ),
    LibraryEntry(
        "noisy top-k, ties broken by place", top_k.program, top_k.tied_alignment, tuple(_tied_claims())
    ),
    LibraryEntry(
        "sparse vector",
        sparse_vector.program,
        sparse_vector.alignment,
        tuple(_sparse_vector_claims()),
        charge=sparse_vector.charge,
        form=_sparse_vector_form,
        form_sizes=(1, 2, 3),
    ),
    LibraryEntry(
        "adaptive sparse vector",
        sparse_vector.program,
        sparse_vector.alignment,
        tuple(_adaptive_claims()),
        charge=sparse_vector.charge,
        form=_sparse_vector_form,
        form_sizes=(1, 2, 3),
    ),
    LibraryEntry(
        "hybrid top-k",
        hybrids.hybrid_top_k_program,
        hybrids.hybrid_top_k_alignment,
        tuple(_hybrid_top_k_claims()),
        charge=hybrids.hybrid_top_k_charge,
    ),
    LibraryEntry(
        "hybrid sparse vector",
        hybrids.hybrid_sparse_vector_program,
        hybrids.hybrid_sparse_vector_alignment,
        tuple(_hybrid_sparse_vector_claims()),
        charge=hybrids.hybrid_sparse_vector_charge,
    ),
    LibraryEntry("measure", measuring.program, measuring.alignment, tuple(_measure_claims())),
    LibraryEntry(
        "base-2 sparse vector with gap",
        ideal.program,
        ideal.alignment,
        tuple(_base2_claims()),
        charge=ideal.charge,
        form=_base2_form,
        form_sizes=(1, 2),
    ),
)
