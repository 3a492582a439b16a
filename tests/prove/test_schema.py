"""Streams for all n, k, ε, Δ and margins at once: proved, and not proved where anything is wrong."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random
from types import FunctionType
from typing import Any

import pytest
import z3
from freegap_evidence.assurance.library import plan
from freegap_evidence.assurance.schemas import base2_schema, measure_schema, threshold_schema

from freegap.base2 import ideal
from freegap.forms import Stream
from freegap.mechanisms import sparse_vector
from freegap.mechanisms.measurement import measured_scale
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.prover.report import Proof
from freegap.prover.routes import _text
from freegap.prover.schema import Schema, prove_schema
from freegap.symbolic import GivenNoise, Limits, Symbol, is_public, public, real, reciprocal
from freegap.values.measures import Pure

EACH = threshold_schema(plan(1, "laplace", False, halvings=1))
PER_ANSWER = 1


def proved(schema: Schema[Stream], neighbours: str = "each") -> Proof:
    return prove_schema(schema, neighbours, Limits())


@pytest.mark.parametrize(
    ("noise", "monotonic", "halvings"), list(product(("laplace", "exponential"), (False, True), (0, 1)))
)
def test_sparse_vector_for_all_parameters(noise: str, monotonic: bool, halvings: int) -> None:
    schema = threshold_schema(plan(1, noise, monotonic, halvings=halvings))
    proof = proved(schema, "monotonic" if monotonic else "each")
    assert proof.holds, str(proof)
    assert "for all n, k ≥ 1, ε > 0 and Δ > 0" in proof.claim


@pytest.mark.parametrize(
    ("noise", "monotonic", "halvings"),
    [
        ("laplace", False, 3),
        ("laplace", False, 6),
        ("exponential", False, 4),
        ("geometric", False, 3),
        ("laplace", True, 3),
    ],
)
def test_more_branches_for_all_parameters(noise: str, monotonic: bool, halvings: int) -> None:
    """The library claims up to three branches; each further one is two more kinds of entry to prove."""
    schema = threshold_schema(plan(1, noise, monotonic, halvings=halvings))
    assert proved(schema, "monotonic" if monotonic else "each").holds
    if not monotonic:
        narrow = threshold_schema(plan(1, noise, True, halvings=halvings))
        assert proved(narrow, "each").holds is None


def test_the_noise_for_monotonic_answers_is_not_enough_for_others() -> None:
    proof = proved(threshold_schema(plan(1, "laplace", True)), "each")
    assert proof.holds is None
    assert "the cost is not established" in str(proof.reason)


def with_form(**changes: Any) -> Schema[Stream]:
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


# Discrete noise, counts and numbers of answers -------------------------------------------------------

BASE2, MEASURE = base2_schema(width=3), measure_schema()
GEOMETRIC = threshold_schema(plan(1, "geometric", False, halvings=1))


@pytest.mark.parametrize(("monotonic", "halvings"), [(False, 1), (True, 0)])
def test_geometric_noise(monotonic: bool, halvings: int) -> None:
    schema = threshold_schema(plan(1, "geometric", monotonic, halvings=halvings))
    proof = proved(schema, "monotonic" if monotonic else "each")
    assert proof.holds, str(proof)
    assert "whole Δ > 0" in proof.claim


def test_base_2_and_measuring() -> None:
    for schema in (BASE2, base2_schema(width=None), MEASURE):
        proof = proved(schema)
        assert proof.holds, str(proof)
        assert "for all n" in proof.claim


def change(schema: Schema[Stream], **changes: Any) -> Schema[Stream]:
    return replace(schema, form=replace(schema.form, **changes))


def one_more(state: Any, answer: Any, noise: Any) -> Any:
    after, entry, _ = BASE2.form.step(state, answer, noise)
    return after, entry, entry is not None and state[0] == 0


def counts_nothing(state: Any, answer: Any, noise: Any) -> Any:
    after, entry, stop = BASE2.form.step(state, answer, noise)
    return (state[0], after[1]), entry, stop


def counts_by_half(state: Any, answer: Any, noise: Any) -> Any:
    after, entry, stop = BASE2.form.step(state, answer, noise)
    return (state[0] - Fraction(1, 2) if entry is not None else state[0], after[1]), entry, stop


def leaves_the_lattice(state: Any, answer: Any, noise: Any) -> Any:
    after, entry, stop = BASE2.form.step(state, answer, noise)
    return (after[0], after[1] / 2), entry, stop


def rounds_up(state: Any, answer: Any, noise: Any) -> Any:
    """One more than the distance where ρ is on the one side of an answer, one less on the other."""
    after, entry, stop = BASE2.form.step(state, answer, noise)
    return after, entry if entry is None else entry + (1 if state[1] > answer else -1), stop


def tells_the_last(state: Any, answer: Any, noise: Any) -> Any:
    return answer, answer + noise.laplace(SCALE, label="answer") - state, False


def draws_first(noise: Any) -> Any:
    return noise.laplace(SCALE, label="first")


def narrow_noise(state: Any, answer: Any, noise: Any) -> Any:
    return None, answer + noise.laplace(SCALE * Fraction(9, 10), label="answer"), False


def one_lower(direction: str) -> dict[str, Any]:
    return {"threshold": WHOLE - 1}


def by_any(direction: str) -> dict[str, Any]:
    return {"threshold": DELTA}


def between(direction: str) -> dict[str, Any]:
    return {"threshold": WHOLE + Fraction(1, 2)}


SCALE: Any = public("scale")
WHOLE: Any = public("Δ", whole=True)
DISCRETE: dict[str, tuple[Schema[Stream], str]] = {
    "one entry more than is counted": (change(BASE2, step=one_more), "counts down"),
    "nothing is counted": (change(BASE2, step=counts_nothing), "counts down"),
    "half of what is charged is counted": (change(BASE2, step=counts_by_half), "stay whole"),
    "a state between the multiples": (change(BASE2, step=leaves_the_lattice), "stay whole"),
    "a gap that tells on which side": (change(BASE2, step=rounds_up), "the output"),
    "the threshold rises by one too little": (change(BASE2, start_shifts=one_lower), ""),
    "the threshold rises to between": (change(BASE2, start_shifts=between), "off its lattice"),
    "entries are free": (change(BASE2, entry_charge=free), "the cost"),
    "the start is free": (change(BASE2, start_charge=0), "the start costs"),
    "real answers": (replace(BASE2, resolution=None), "not on the lattice"),
    "any Δ": (change(GEOMETRIC, start_shifts=by_any), "off its lattice"),
    "geometric: rises to between": (change(GEOMETRIC, start_shifts=between), "off its lattice"),
    "geometric: one too little": (change(GEOMETRIC, start_shifts=one_lower), ""),
    "geometric: entries are free": (change(GEOMETRIC, entry_charge=free), "the cost"),
    "measure: any number of answers": (replace(MEASURE, answers=None), "no number of the state"),
    "measure: narrow noise": (change(MEASURE, step=narrow_noise), "the cost"),
    "measure: for nothing": (change(MEASURE, entry_charge=free), "the cost"),
    "measure: the last answer": (change(MEASURE, start=draws_first, step=tells_the_last), "the output"),
}


@pytest.mark.parametrize(("schema", "reason"), DISCRETE.values(), ids=DISCRETE)
def test_discrete_schemas_that_are_wrong(schema: Schema[Stream], reason: str) -> None:
    proof = proved(schema)
    assert proof.holds is None
    assert reason in str(proof.reason)


@pytest.mark.parametrize("schema", [BASE2, MEASURE], ids=["base 2", "measure"])
def test_which_facts_these_need(schema: Schema[Stream]) -> None:
    """All but Δ > 0, and that a clamp has a width, which the noise does not depend on."""
    for left_out in range(1, 5 if schema is BASE2 else 4):
        fewer = replace(schema, facts=schema.facts[:left_out] + schema.facts[left_out + 1 :])
        assert proved(fewer).holds is None, schema.facts[left_out]


def test_base_2_and_measuring_as_released_are_instances() -> None:
    random = Random(2)
    for _ in range(20):
        k, delta, n = (random.randrange(1, 30) for _ in range(3))
        eta = Fraction(random.randrange(1, 9), 8), Fraction(random.randrange(1, 9), 8)
        form = ideal.form(k=k, eta=eta, sensitivity=Fraction(delta), width=5, gaps=(1, 2))
        drawn = GivenNoise({})
        form.program([0], drawn)
        scales = [scale for _, scale, _, _ in drawn.drawn.values()]
        values = {"Δ": delta, "k": k, "width": 5, "ε": sum(eta), "1/scale 0": 1 / scales[0]}
        values |= {"1/scale 1": 1 / scales[1]}
        assert holds(BASE2, values)
        assert form.start_charge == delta / scales[0]
        assert form.entry_charge is not None
        assert form.entry_charge(0) == 2 * delta / scales[1]
        scale, charge = measured_scale(Pure(eta[0]), n, Fraction(delta))
        assert holds(MEASURE, {"Δ": delta, "n": n, "ε": charge, "1/scale": 1 / scale})


def holds(schema: Schema[Stream], values: dict[str, Any]) -> bool:
    known = {
        next(iter(public(name, whole=whole).variables)): value
        for name, value in values.items()
        for whole in (False, True)
    }
    return all(fact.substitute(known) is True for fact in schema.facts)


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
            assert holds(schema, values)
            factor = 1 if monotonic else 2
            assert made.threshold_budget == made.sensitivity / made.threshold_scale
            assert all(b.budget * b.scale == factor * made.sensitivity for b in made.branches)


def test_what_is_relaxed_has_more_points() -> None:
    twice_is_odd = (2 * WHOLE == 1).z3
    for limits, answer in ((Limits(), z3.unsat), (Limits(relaxed=True), z3.sat)):
        solver = limits.solver("")
        assert solver.check(twice_is_odd) == answer
        solver.add(twice_is_odd)
        assert solver.check() == answer
        solver.add((WHOLE > 1).z3)
        assert solver.check() == z3.unsat


def test_what_is_public() -> None:
    assert is_public(public("a") * 2 + 1)
    assert not is_public(public("a") + real("answers[0]"))
    assert reciprocal(public("a")).key == public("1/a").key
    assert Symbol.of(1).variables == frozenset()


def test_the_form_is_that_of_the_release() -> None:
    """Only the numbers of the plan are exchanged: the text is one."""
    assert EACH.form.step.__code__ is sparse_vector.form(plan(1, "laplace", False)).step.__code__


def test_the_same_text_in_another_module_is_another() -> None:
    """It may read another constant of that name."""

    def shift(answer: Any) -> Any:
        return answer * PER_ANSWER

    other = FunctionType(shift.__code__, {"PER_ANSWER": 0})
    assert (shift(3), other(3)) == (3, 0)
    assert shift.__code__ == other.__code__
    assert _text(shift) == _text(shift)
    assert _text(shift) != _text(other)
