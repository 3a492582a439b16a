"""Rankings for all n and k: proved two items at a time, and not proved where anything is wrong."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest
from freegap_evidence.assurance.library import plan
from freegap_evidence.assurance.schemas import hybrid_schema, tied_schema

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.forms import Ranking
from freegap.mechanisms import hybrids, top_k
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.prover.ranking import prove_ranking
from freegap.prover.report import Proof
from freegap.prover.schema import Schema
from freegap.symbolic import Limits, Symbol, public, real


def order(noise: str = "geometric", monotonic: bool = False, k: int = 1, **given: Any) -> TopKPlan:
    return TopKPlan.read("m", k=k, epsilon=1, monotonic=monotonic, noise=noise, gap=False, **given)


HYBRID = hybrid_schema(plan(1, "laplace", False))
TIED = tied_schema(order())


def proved(schema: Schema[Ranking], neighbours: str = "each") -> Proof:
    return prove_ranking(schema, neighbours, Limits())


@pytest.mark.parametrize("monotonic", [False, True])
def test_all_parameters_at_once(monotonic: bool) -> None:
    neighbours = "monotonic" if monotonic else "each"
    for noise in ("exponential", "geometric"):
        for schema in (hybrid_schema(plan(1, noise, monotonic)), tied_schema(order(noise, monotonic))):
            proof = proved(schema, neighbours)
            assert proof.holds, str(proof)
            assert "for all n, k ≥ 1, ε > 0 and" in proof.claim
    assert proved(HYBRID, "one").holds


def test_the_noise_for_monotonic_answers_is_not_enough_for_others() -> None:
    for schema in (hybrid_schema(plan(1, "laplace", True)), tied_schema(order(monotonic=True))):
        assert "the cost of an item" in str(proved(schema, "each").reason)


@pytest.mark.parametrize("schema", [HYBRID, TIED], ids=["hybrid", "tied"])
def test_no_fact_is_idle_but_one(schema: Schema[Ranking]) -> None:
    """Δ > 0 follows from its noise being wide enough; whatever else is left out, nothing is proved."""
    for left_out in range(1, len(schema.facts)):
        fewer = replace(schema, facts=schema.facts[:left_out] + schema.facts[left_out + 1 :])
        assert proved(fewer).holds is None, schema.facts[left_out]


def test_facts_that_exclude_each_other_prove_nothing() -> None:
    """Of no parameters at all, noise that does not move would do, too."""
    still = replace(TIED.form, shift=lambda direction, answer, neighbour: 0)
    proof = proved(replace(TIED, form=still, facts=(*TIED.facts, TIED.sensitivity < 0)))
    assert proof.holds is None
    assert "no parameters are known" in str(proof.reason)


def test_the_plans_of_the_library_are_instances() -> None:
    random = Random(1)
    for monotonic, _ in product((False, True), range(20)):
        k, delta, epsilon = (random.randrange(1, 40) for _ in range(3))
        factor = 1 if monotonic else 2
        ranked = order(monotonic=monotonic, k=k, sensitivity=delta)
        planned = ThresholdPlan.read("m", k=k, epsilon=epsilon, sensitivity=delta, monotonic=monotonic)
        names: dict[str, Any] = {"Δ": delta, "k": k}
        rates = {
            "1/threshold scale": 1 / planned.threshold_scale,
            "1/scale 0": 1 / planned.branches[0].scale,
        }
        given: list[tuple[Schema[Ranking], dict[str, Any]]] = [
            (tied_schema(ranked), names | {"ε": 1, "1/scale": 1 / ranked.scale}),
            (hybrid_schema(planned), names | rates | {"ε": epsilon}),
        ]
        for schema, values in given:
            known = {
                next(iter(public(name, whole=whole).variables)): value
                for name, value in values.items()
                for whole in (False, True)
            }
            assert all(fact.substitute(known) is True for fact in schema.facts)
        assert top_k.tied_form(ranked).item_charge == factor * delta / ranked.scale
        form = hybrids.sparse_vector_form(planned)
        assert form.item_charge * form.scale == factor * delta
        assert form.start_charge * form.threshold_scale == delta


# What must be refused ----------------------------------------------------------------------------


def no_lift(direction: str) -> int:
    return 0


def stays(direction: str, answer: Any, neighbour: Any) -> Any:
    return 0


def own_change(direction: str, answer: Any, neighbour: Any) -> Any:
    return answer - neighbour


def one_less(direction: str, answer: Any, neighbour: Any) -> Any:
    return answer - neighbour + DELTA - 1


def half(direction: str, answer: Any, neighbour: Any) -> Any:
    return answer - neighbour + DELTA + Fraction(1, 2)


def twice(direction: str, answer: Any, neighbour: Any) -> Any:
    return 2 * (answer - neighbour) + DELTA


def told(direction: str, answer: Any, neighbour: Any) -> Any:
    return answer - neighbour + DELTA if answer > 5 else answer - neighbour


DELTA: Any = public("Δ", whole=True)
WRONG = [
    (TIED, {"shift": stays}, "rest"),
    (TIED, {"shift": own_change}, "the support"),
    (TIED, {"shift": one_less}, "the support"),
    (replace(TIED, form=replace(TIED.form, law="discrete_laplace")), {"shift": one_less}, ""),
    (TIED, {"shift": half}, "the support"),
    (TIED, {"shift": twice}, ""),
    (TIED, {"shift": told}, ""),
    (TIED, {"item_charge": 0}, "the cost of an item"),
    (TIED, {"scale": TIED.form.scale * Fraction(9, 10)}, "the cost of an item"),
    (TIED, {"scale": TIED.form.scale + 1}, "no multiple of one parameter"),
    (TIED, {"scale": TIED.form.scale * TIED.form.scale}, "no multiple of one parameter"),
    (TIED, {"law": "gumbel"}, "not log-Lipschitz"),
    (TIED, {"law": "staircase"}, "not log-Lipschitz"),
    (TIED, {"law": "laplace"}, "discrete noise only"),
    (TIED, {"k": 10**9}, "at most ε"),
    (HYBRID, {"lift": no_lift}, "the distance to the bar"),
    (HYBRID, {"lift": no_lift, "shift": own_change}, "rest"),
    (HYBRID, {"start_charge": 0}, "the cost of the start"),
    (HYBRID, {"start_charge": -1}, "the cost of the start"),
    (HYBRID, {"item_charge": 0}, "the cost of an item"),
    (HYBRID, {"threshold": real("answers[0]")}, "depends on the answers"),
    (HYBRID, {"item_charge": real("answers[0]")}, "depends on the answers"),
    (HYBRID, {"scale": real("answers[0]")}, "not a positive number"),
    (HYBRID, {"law": "geometric"}, "discrete noise only"),
]


@pytest.mark.parametrize(("schema", "changes", "reason"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong(schema: Schema[Ranking], changes: dict[str, Any], reason: str) -> None:
    proof = proved(replace(schema, form=replace(schema.form, **changes)))
    assert proof.holds is None
    assert reason in str(proof.reason)


def test_the_rest_stays_below() -> None:
    """The bar that rises by less than an answer can: selected ones stay above, and others come to it."""

    def less(direction: str) -> Any:
        return Fraction(1, 2)

    def with_it(direction: str, answer: Any, neighbour: Any) -> Any:
        return answer - neighbour + Fraction(1, 2)

    def above(direction: str, answer: Any, neighbour: Any) -> Any:
        return answer - neighbour + 1

    form = Ranking(1, "laplace", 1, above, 4, threshold=0, threshold_scale=1, lift=less, start_charge=4)
    schema = Schema(form, Symbol.of(9), Symbol.of(1), (), "")
    assert "the distance" in str(proved(schema).reason)
    assert "rest" in str(proved(replace(schema, form=replace(form, shift=with_it))).reason)
    nothing_above = replace(form, shift=with_it, lift=less)
    assert prove_ranking(replace(schema, form=nothing_above), "decreasing", Limits()).holds
    up = replace(nothing_above, shift=above, lift=lambda direction: 1)
    assert proved(replace(schema, form=up)).holds


def test_the_order() -> None:
    """What falls is moved by one more: it stays above the rest, and passes what ties with it."""

    def shift(direction: str, answer: Any, neighbour: Any) -> Any:
        return answer - neighbour + (1 if answer > neighbour else 0)

    form = Ranking(2, "discrete_laplace", 1, shift, item_charge=3)
    schema = Schema(form, Symbol.of(6), Symbol.of(1), (), "", Fraction(1))
    assert "the order" in str(prove_ranking(schema, "decreasing", Limits()).reason)


def test_numbers_of_its_own() -> None:
    def shift(direction: str, answer: Any, neighbour: Any) -> Any:
        return answer - neighbour + 1

    form = Ranking(2, "laplace", 4, shift, item_charge=Fraction(1, 2))
    proof = fg.prove(form, epsilon=1)
    assert proof.holds, str(proof)
    assert "for all n and Δ = 1" in proof.claim
    bounded = fg.prove(form.program, form.alignment, epsilon=1, queries=3, charge=form.charge, growth=False)
    assert bounded.holds, str(bounded)
    assert fg.prove(form, epsilon=1, sensitivity=2, counterexample=False).holds is False
    small = replace(form, k=1, item_charge=Fraction(1, 3))
    assert fg.prove(small, epsilon=1, counterexample=False).holds is False
    discrete = replace(form, law="discrete_laplace")
    assert fg.prove(discrete, epsilon=1, resolution=1).holds
    assert fg.prove(discrete, epsilon=1, counterexample=False).holds is not True


def test_a_threshold_needs_its_scale() -> None:
    with pytest.raises(InvalidArgument, match="k = "):
        fg.prove(Ranking(Fraction(3, 2), "laplace", 4, own_change, item_charge=1), epsilon=1)
    with pytest.raises(InvalidArgument, match="threshold_scale"):
        replace(TIED.form, threshold=1)
