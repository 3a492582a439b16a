"""The plans of the library with symbols for their numbers, for proofs for all parameters at once."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

from freegap.exact.noisy_threshold import Branch
from freegap.mechanisms import sparse_vector
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.prover.schema import Schema
from freegap.symbolic import public, reciprocal

__all__ = ["threshold_schema"]


def threshold_schema(plan: ThresholdPlan) -> Schema:
    """The plan with any numbers: noise of scale Δ/ε₀ for the threshold and cΔ/budget for each branch.

    Facts: the budgets are positive and rise from branch to branch, and ε suffices for the threshold and one
    answer of the last branch, as k ≥ 1. Margins and shifts are any numbers.
    """
    delta: Any = public("Δ")
    epsilon: Any = public("ε")
    bar: Any = public("threshold scale")
    factor = 1 if plan.monotonic else 2
    scales: list[Any] = [public(f"scale {j}") for j in range(len(plan.branches))]
    budgets: list[Any] = [factor * delta * reciprocal(scale) for scale in scales]
    free: list[list[Any]] = [
        [public(f"{name} {j}") for j in range(len(scales))] for name in ("shift", "margin")
    ]
    rows = zip(budgets, scales, *free, strict=True)
    first = delta * reciprocal(bar)
    others: dict[str, Any] = {name: public(name) for name in ("k", "share", "resolution")}
    symbolic = replace(
        plan,
        **others,
        epsilon=epsilon,
        sensitivity=delta,
        threshold_budget=first,
        threshold_scale=bar,
        branches=tuple(Branch(budget=b, scale=s, shift=m, margin=g) for b, s, m, g in rows),
    )
    facts = [delta > 0, first + budgets[-1] <= epsilon]
    facts += [reciprocal(scale) > 0 for scale in (bar, scales[0])]
    facts += [a < b for a, b in pairwise(budgets)]
    claim = (
        f"sparse vector of {len(scales)} branches, {plan.law} noise of scale Δ/ε₀ for the threshold and "
        f"{factor}Δ/budget for the answers, is private at its charge, at most ε, for all n, k ≥ 1, ε > 0 and "
        "Δ > 0, all thresholds, shares and margins"
    )
    return Schema(sparse_vector.form(symbolic), epsilon, delta, tuple(facts), claim)
