"""Proofs of a `Composition` for every number of answers: its parts, and the charges added.

Let the first part be private at its charge c₁(ω₁), for all n. Given its output ω₁, which is public, the
second one runs on the answers at places that ω₁ names: each place once, so that what is a neighbour of all
answers is one of these. Let it be private at its charge c₂(ω₂) for any number of answers. Their alignments
side by side, each on its own noise, are one for the pair: the outputs stay the same (ω₁ first, and so the
places), it is one-to-one and keeps volume, as both are, and it costs no more than c₁(ω₁) + c₂(ω₂).

Where the second is charged for each of its answers, that is at most its budget because the first one chooses
only so many: k items, or as many as a stream can have entries that are not None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from freegap.forms import Composition, Ranking, Selection, Stream
from freegap.prover.problem import Problem
from freegap.prover.report import Proof
from freegap.prover.schema import Schema, prove_schema
from freegap.prover.steps import established
from freegap.prover.stream import most_chosen
from freegap.symbolic import NotDecided, Symbol
from freegap.symbolic.symbols import constant


def prove_composition(
    problem: Problem, form: Composition, prove_part: Callable[[Problem, Selection | Ranking | Stream], Proof]
) -> Proof:
    """A proof for all n, or why there is none; `prove_part` proves one part at its budget."""
    budgets = [constant(budget) for budget in form.budgets]
    total = sum(budget for budget in budgets if budget is not None)
    claim = (
        f"one form and then another are private at their charge, at most ε = {problem.epsilon}, for all n "
        f"({problem.neighbours}, Δ = {problem.sensitivity})"
    )
    if None in budgets or min(budgets) <= 0 or total > problem.epsilon:  # type: ignore[type-var, operator]
        return composed(claim, [], f"not decided: the budgets {form.budgets} are not parts of ε")
    parts = [replace(problem, epsilon=budget, charge=None) for budget in budgets]  # type: ignore[arg-type]
    first = prove_part(parts[0], form.first)
    if not first.holds:
        return composed(claim, [first])
    if not form.chosen or not isinstance(form.second, Stream) or form.second.entry_charge is None:
        return composed(claim, [first, prove_part(parts[1], form.second)])
    try:
        most = most_chosen(parts[0], form.first) if isinstance(form.first, Stream) else form.first.k
    except NotDecided as undecided:
        return composed(claim, [first], str(undecided))
    given = [Symbol.of(number) for number in (budgets[1], problem.sensitivity, most)]
    schema = Schema(form.second, given[0], given[1], (), "", problem.resolution, answers=given[2])
    return composed(claim, [first, prove_schema(schema, problem.neighbours, problem.limits)])


def composed(claim: str, proofs: Sequence[Proof], reason: str | None = None) -> Proof:
    """One proof of all parts."""
    reason = next((proof.reason for proof in proofs if not proof.holds), reason)
    how: dict[str, Any] = {}
    for proof in proofs:
        for condition in proof.conditions:
            how[condition.name] = "; then ".join(filter(None, (how.get(condition.name), condition.how)))
    return Proof(True if reason is None else None, claim, established(how, reason), reason=reason)
