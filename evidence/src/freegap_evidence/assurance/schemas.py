"""The plans of the library with symbols for their numbers, for proofs for all parameters at once."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from freegap.base2 import ideal
from freegap.exact.noisy_threshold import Branch
from freegap.forms import Ranking, Stream
from freegap.mechanisms import hybrids, measurement, sparse_vector, top_k
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.prover.schema import Composed, Schema
from freegap.symbolic import Condition, Symbol, public, reciprocal

_EPSILON: Any = public("ε")
_K: Any = public("k", whole=True)


def _delta(plan: ThresholdPlan | TopKPlan) -> Any:
    return public("Δ", whole=plan.law.lattice)


def _grid(plan: ThresholdPlan | TopKPlan) -> Fraction | None:
    return Fraction(1) if plan.law.lattice else None


def _factor(plan: ThresholdPlan | TopKPlan) -> int:
    return 1 if plan.monotonic else 2


def _symbolic(plan: ThresholdPlan) -> tuple[ThresholdPlan, list[Condition]]:
    """The plan with any numbers: noise of scale Δ/ε₀ for the threshold and cΔ/budget for each branch; what is
    positive, and that the budgets rise from branch to branch. Margins and shifts are any numbers."""
    delta = _delta(plan)
    bar: Any = public("threshold scale")
    scales: list[Any] = [public(f"scale {j}") for j in range(len(plan.branches))]
    budgets: list[Any] = [_factor(plan) * delta * reciprocal(scale) for scale in scales]
    free: list[list[Any]] = [
        [public(f"{name} {j}") for j in range(len(scales))] for name in ("shift", "margin")
    ]
    rows = zip(budgets, scales, *free, strict=True)
    others: dict[str, Any] = {name: public(name) for name in ("share", "resolution")}
    symbolic = replace(
        plan,
        **others,
        k=_K,
        epsilon=_EPSILON,
        sensitivity=delta,
        threshold_budget=delta * reciprocal(bar),
        threshold_scale=bar,
        branches=tuple(Branch(budget=b, scale=s, shift=m, margin=g) for b, s, m, g in rows),
    )
    positive = [delta > 0, *(reciprocal(scale) > 0 for scale in (bar, scales[0]))]
    return symbolic, [*positive, *(a < b for a, b in pairwise(budgets))]


def _noise(plan: ThresholdPlan) -> str:
    return f"{plan.law} noise of scale Δ/ε₀ for the threshold and {_factor(plan)}Δ/budget for the answers"


def _any(plan: ThresholdPlan | TopKPlan) -> str:
    whole = "whole " if plan.law.lattice else ""
    return f"for all n, k ≥ 1, ε > 0 and {whole}Δ > 0"


def threshold_schema(plan: ThresholdPlan) -> Schema[Stream]:
    """Sparse vector, where ε suffices for the threshold and one answer of the last branch, as k ≥ 1."""
    symbolic, facts = _symbolic(plan)
    enough = symbolic.threshold_budget + symbolic.answer_budget <= _EPSILON
    claim = (
        f"sparse vector of {len(plan.branches)} branches, {_noise(plan)}, is private at its charge, at most "
        f"ε, {_any(plan)}, all thresholds, shares and margins"
    )
    return Schema(sparse_vector.form(symbolic), _EPSILON, _delta(plan), (*facts, enough), claim, _grid(plan))


def hybrid_schema(plan: ThresholdPlan) -> Schema[Ranking]:
    """The k largest above a threshold, where ε suffices for the threshold and k answers."""
    symbolic, facts = _symbolic(plan)
    enough = symbolic.threshold_budget + _K * symbolic.answer_budget <= _EPSILON
    claim = (
        f"the k largest above a noisy threshold, {_noise(plan)}, are private at their charge, at most ε, "
        f"{_any(plan)}, all thresholds and shares"
    )
    form = hybrids.sparse_vector_form(symbolic, public("threshold"))
    return Schema(form, _EPSILON, _delta(plan), (*facts, _K >= 1, enough), claim, _grid(plan))


def tied_schema(plan: TopKPlan) -> Schema[Ranking]:
    """The order of the k largest, ties broken by any order fixed beforehand."""
    delta, scale = _delta(plan), public("scale")
    share = _factor(plan) * delta * reciprocal(scale)
    form = replace(top_k.tied_form(replace(plan, sensitivity=delta)), k=_K, scale=scale, item_charge=share)
    claim = (
        f"the order of the k largest, {plan.law} noise of scale {_factor(plan)}·k·Δ/ε, is private at ε "
        f"{_any(plan)}, ties broken by any order"
    )
    facts = (delta > 0, reciprocal(scale) > 0, _K >= 1, _K * share <= _EPSILON)
    return Schema(form, _EPSILON, delta, facts, claim, _grid(plan))


def measure_schema(**numbers: Any) -> Schema[Stream]:
    """n answers with Laplace noise of scale nΔ/ε, so that each is charged ε/n."""
    delta, scale, n = public("Δ"), public("scale"), public("n", whole=True)
    each = delta * reciprocal(scale)
    facts = (delta > 0, reciprocal(scale) > 0, n >= 1, n * each <= _EPSILON)
    claim = "each of n answers with laplace noise of scale nΔ/ε is private at ε for all n, ε > 0 and Δ > 0"
    return Schema(measurement.form(scale, each), _EPSILON, delta, facts, claim, answers=n)


def composed_schema(plan: TopKPlan | ThresholdPlan, **numbers: Any) -> Composed:
    """A selection, and then each of what it chose measured with noise of scale Δ/each."""
    selecting: Schema[Any]
    if isinstance(plan, ThresholdPlan):
        selecting, name = threshold_schema(plan), "sparse vector"
    else:
        epsilon, delta = Symbol.of(plan.charge), Symbol.of(plan.sensitivity)
        selecting, name = Schema(top_k.form(plan), epsilon, delta, (), ""), "noisy top-k with gap"
    claim = (
        f"{name}, {plan.law} noise, and then what it chose with laplace noise of scale Δ/each, is private at "
        "the charge of the selection and `each` for each chosen answer, for all n, k ≥ 1, ε > 0, each > 0 "
        "and Δ > 0"
    )
    return Composed((selecting, measure_schema()), claim)


def base2_schema(*, width: Any, **numbers: Any) -> Schema[Stream]:
    """Discrete sparse vector, clamped or not, that releases distances: so for any number of gaps. Everything
    is in units of the resolution, and ε in base 2."""
    delta: Any = public("Δ", whole=True)
    scales: list[Any] = [public(f"scale {j}") for j in range(2)]
    budgets = (delta * reciprocal(scales[0]), 2 * delta * reciprocal(scales[1]))
    form = ideal.scaled_form(
        k=_K,
        budgets=budgets,
        scales=(scales[0], scales[1]),
        sensitivity=delta,
        width=None if width is None else public("width", whole=True),
        gaps=None,
    )
    facts = [delta > 0, _K >= 1, *(reciprocal(scale) > 0 for scale in scales)]
    facts.append(budgets[0] + _K * budgets[1] <= _EPSILON)
    if width is not None:
        facts.append(public("width", whole=True) >= 0)
    clamped = "not clamped" if width is None else "clamped to any width"
    claim = (
        f"discrete sparse vector with gap, {clamped}, noise of scale Δ/η₁ for the threshold and 2kΔ/η₂ for "
        "the answers, is private at its charge, at most η₁ + η₂, for all n, k ≥ 1, η, whole Δ > 0 and gaps"
    )
    return Schema(form, _EPSILON, delta, tuple(facts), claim, Fraction(1))
