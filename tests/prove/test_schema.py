"""Streams for all n, k, ε, Δ and margins at once: proved, and not proved where anything is wrong."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest
from freegap_evidence.assurance.library import plan
from freegap_evidence.assurance.schemas import threshold_schema

from freegap.mechanisms import sparse_vector
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.prover.report import Proof
from freegap.prover.schema import Schema, prove_schema
from freegap.symbolic import Limits, Symbol, is_public, public, real, reciprocal

EACH = threshold_schema(plan(1, "laplace", False, halvings=1))


def proved(schema: Schema, neighbours: str = "each") -> Proof:
    return prove_schema(schema, neighbours, Limits())


@pytest.mark.parametrize(
    ("noise", "monotonic", "halvings"), list(product(("laplace", "exponential"), (False, True), (0, 1)))
)
def test_sparse_vector_for_all_parameters(noise: str, monotonic: bool, halvings: int) -> None:
    schema = threshold_schema(plan(1, noise, monotonic, halvings=halvings))
    proof = proved(schema, "monotonic" if monotonic else "each")
    assert proof.holds, str(proof)
    assert "for all n, k ≥ 1, ε > 0 and Δ > 0" in proof.claim


def test_the_noise_for_monotonic_answers_is_not_enough_for_others() -> None:
    proof = proved(threshold_schema(plan(1, "laplace", True)), "each")
    assert proof.holds is None
    assert "the cost is not established" in str(proof.reason)


def with_form(**changes: Any) -> Schema:
    return replace(EACH, form=replace(EACH.form, **changes))


def without_an_end(state: Any, answer: Any, noise: Any) -> Any:
    after, entry, _ = EACH.form.step(state, answer, noise)
    return after, entry, False


def forgets(state: Any, answer: Any, noise: Any) -> Any:
    after, entry, stop = EACH.form.step(state, answer, noise)
    return (state[0], after[1], after[2]), entry, stop


def tells_the_threshold(state: Any, answer: Any, noise: Any) -> Any:
    after, entry, stop = EACH.form.step(state, answer, noise)
    return after, (state[2], entry[1]) if entry is not None else None, stop


def leaks_at_a_large_epsilon(state: Any, answer: Any, noise: Any) -> Any:
    after, entry, stop = EACH.form.step(state, answer, noise)
    return after, answer if EPSILON > 1000 else entry, stop


def leaks_after_much_was_spent(state: Any, answer: Any, noise: Any) -> Any:
    after, entry, stop = EACH.form.step(state, answer, noise)
    return after, (answer, entry[1]) if entry is not None and state[0] > 7 else entry, stop


EPSILON: Any = public("ε")
STEPS = {
    without_an_end: "enough is left",
    forgets: "no number of the state",
    tells_the_threshold: "the output",
    leaks_at_a_large_epsilon: "",
    leaks_after_much_was_spent: "the output",
}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_steps_that_are_wrong(step: Any) -> None:
    proof = proved(with_form(step=step))
    assert proof.holds is None
    assert STEPS[step] in str(proof.reason)


def no_lift(direction: str) -> dict[str, int]:
    return {"threshold": 0}


def lowered(direction: str) -> dict[str, Any]:
    return {"threshold": -DELTA}


def free(entry: Any) -> int:
    return 0


DELTA: Any = public("Δ")
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "the threshold stays": ({"start_shifts": no_lift}, "the output"),
    "the threshold falls": ({"start_shifts": lowered}, "not negative"),
    "entries are free": ({"entry_charge": free}, "the cost"),
    "the start is free": ({"start_charge": 0}, "the start costs"),
    "no charge": ({"start_charge": None, "entry_charge": None}, "without entry_charge"),
}


@pytest.mark.parametrize("name", WRONG)
def test_alignments_and_charges_that_are_wrong(name: str) -> None:
    changes, reason = WRONG[name]
    proof = proved(with_form(**changes))
    assert proof.holds is None
    assert reason in str(proof.reason)


@pytest.mark.parametrize("left_out", range(len(EACH.facts)))
def test_which_facts_it_needs(left_out: int) -> None:
    """Nothing is assumed that it could do without."""
    fewer = replace(EACH, facts=EACH.facts[:left_out] + EACH.facts[left_out + 1 :])
    assert proved(fewer).holds is None


def test_the_plans_of_the_library_are_instances() -> None:
    """Every number of a plan is a value of its symbol, and the facts hold: for plans of all kinds."""
    random = Random(1)
    for monotonic, halvings in product((False, True), (0, 1, 2)):
        schema = threshold_schema(plan(1, "laplace", monotonic, halvings=halvings))
        for _ in range(30):
            given: dict[str, Any] = {
                "k": random.randrange(1, 40),
                "epsilon": Fraction(random.randrange(1, 100), random.randrange(1, 100)),
                "sensitivity": random.randrange(1, 20),
            }
            made = ThresholdPlan.read("m", monotonic=monotonic, noise="laplace", branches=halvings, **given)
            values = {"Δ": made.sensitivity, "ε": made.epsilon, "1/threshold scale": 1 / made.threshold_scale}
            values |= {f"1/scale {j}": 1 / branch.scale for j, branch in enumerate(made.branches)}
            known = {next(iter(public(name).variables)): value for name, value in values.items()}
            assert all(fact.substitute(known) is True for fact in schema.facts)
            factor = 1 if monotonic else 2
            assert made.threshold_budget == made.sensitivity / made.threshold_scale
            assert all(b.budget * b.scale == factor * made.sensitivity for b in made.branches)


def test_what_is_public() -> None:
    assert is_public(public("a") * 2 + 1)
    assert not is_public(public("a") + real("answers[0]"))
    assert reciprocal(public("a")).key == public("1/a").key
    assert Symbol.of(1).variables == frozenset()


def test_the_form_is_that_of_the_release() -> None:
    """Only the numbers of the plan are exchanged: the text is one."""
    assert EACH.form.step.__code__ is sparse_vector.form(plan(1, "laplace", False)).step.__code__
