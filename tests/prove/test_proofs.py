"""The papers' mechanisms are proved with the papers' alignments, at exactly the charge that is made."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from freegap_evidence.assurance.library import LIBRARY, plan

import freegap as fg
from freegap.base2 import ideal
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.prover.registry import LibraryEntry
from freegap.prover.routes import prove_claim
from freegap.values.neighbours import Neighbours

from . import plain_top_k, programs

pytestmark = pytest.mark.usefixtures("without_search")

QUARTER = Fraction(1, 4)
LAWS = ("laplace", "exponential")
FORMS = (("each", False), ("monotonic", True))
NAMED = {entry.name: entry for entry in LIBRARY}
TOP_K, SPARSE_VECTOR = NAMED["noisy top-k with gap"], NAMED["sparse vector"]
ADAPTIVE = NAMED["adaptive sparse vector"]
HYBRID_TOP_K, HYBRID_SPARSE_VECTOR = NAMED["hybrid top-k"], NAMED["hybrid sparse vector"]


Case = tuple[str, LibraryEntry, dict[str, Any]]


def mechanisms(k: int, law: str, monotonic: bool) -> Iterator[Case]:
    """Name, entry of the library and parameters of each mechanism with continuous noise."""
    ranked = {"plan": TopKPlan.read("noisy_top_k", k=k, epsilon=1, monotonic=monotonic, noise=law)}
    planned = [{"plan": plan(k, law, monotonic, halvings=halvings)} for halvings in (0, 1, 2)]
    yield "top-k with gap", TOP_K, ranked
    yield "sparse vector with gap", SPARSE_VECTOR, planned[0]
    yield "sparse vector", SPARSE_VECTOR, {"plan": plan(k, law, monotonic, gap=False)}
    yield "adaptive", ADAPTIVE, planned[1]
    yield "adaptive, two branches", ADAPTIVE, planned[2]
    yield "hybrid top-k", HYBRID_TOP_K, ranked
    yield "hybrid sparse vector", HYBRID_SPARSE_VECTOR, planned[0]


def every(sizes: list[tuple[int, int]]) -> list[Any]:
    return [
        pytest.param(n, neighbours, entry, parameters, id=f"{name}-n{n}-k{k}-{law}-{neighbours}")
        for n, k in sizes
        for law in LAWS
        for neighbours, monotonic in FORMS
        for name, entry, parameters in mechanisms(k, law, monotonic)
    ]


def check(n: int, neighbours: Neighbours, entry: LibraryEntry, parameters: dict[str, Any]) -> None:
    form = entry.form(**parameters)
    proof = fg.prove(
        form.program,
        form.alignment,
        epsilon=1,
        queries=n,
        growth=False,
        neighbours=neighbours,
        charge=form.charge,
    )
    assert proof.holds, str(proof)
    assert all(condition.holds for condition in proof.conditions)
    assert proof.tightness is not None
    assert proof.tightness.epsilon == proof.tightness.charged == 1
    for output, (smallest, charged) in proof.tightness.overcharged.items():
        # The only overcharge: a hybrid that releases the threshold, which does not move by itself.
        assert (entry, neighbours) == (HYBRID_TOP_K, "each")
        assert "0" in output
        assert charged - smallest == Fraction(1, 2 * parameters["plan"].k)


@pytest.mark.parametrize(("n", "neighbours", "entry", "parameters"), every([(3, 1), (3, 2)]))
def test_three_answers(
    n: int, neighbours: Neighbours, entry: LibraryEntry, parameters: dict[str, Any]
) -> None:
    check(n, neighbours, entry, parameters)


@pytest.mark.long
@pytest.mark.parametrize(("n", "neighbours", "entry", "parameters"), every([(5, 1), (5, 2), (5, 3)]))
def test_five_answers(
    n: int, neighbours: Neighbours, entry: LibraryEntry, parameters: dict[str, Any]
) -> None:
    check(n, neighbours, entry, parameters)


@pytest.mark.long  # for every n there is a proof above
def test_top_k_of_five() -> None:
    parameters = {"k": 3, "scale": Fraction(6), "law": "laplace"}
    proof = fg.prove(
        plain_top_k.program, plain_top_k.alignment, epsilon=1, queries=5, growth=False, parameters=parameters
    )
    assert proof.holds
    assert (proof.paths, proof.outputs) == (120, 60)


@pytest.mark.parametrize("law", LAWS)
def test_monotonic_answers_cost_half_at_the_general_scale(law: str) -> None:
    proof = fg.prove(
        plain_top_k.program,
        plain_top_k.alignment,
        epsilon=1,
        queries=3,
        growth=False,
        neighbours="monotonic",
        parameters={"k": 2, "scale": Fraction(4), "law": law},
    )
    assert proof.holds
    assert proof.tightness is not None
    assert proof.tightness.epsilon == Fraction(1, 2)
    assert not proof.tightness.exact


@pytest.mark.parametrize("neighbours", ["one", "increasing", "decreasing"])
def test_other_relations(neighbours: Neighbours) -> None:
    parameters = {"k": 1, "scale": Fraction(2), "law": "laplace"}
    proof = fg.prove(
        plain_top_k.program,
        plain_top_k.alignment,
        epsilon=1,
        queries=3,
        growth=False,
        neighbours=neighbours,
        parameters=parameters,
    )
    assert proof.holds
    assert proof.tightness is not None
    assert proof.tightness.epsilon == Fraction(1, 2)  # either the item or its rival moves, or both alike


def test_sensitivity_and_epsilon_scale() -> None:
    proof = fg.prove(
        programs.sparse_vector,
        programs.sparse_vector_alignment,
        epsilon="0.7",
        queries=2,
        growth=False,
        sensitivity="5/2",
        parameters={"k": 1, "share": QUARTER},
        charge=programs.sparse_vector_charge,
    )
    assert proof.holds
    assert proof.tightness is not None
    assert proof.tightness.epsilon == Fraction(7, 10)


def test_a_renewed_threshold() -> None:
    proof = fg.prove(
        programs.renewing_sparse_vector,
        programs.renewing_sparse_vector_alignment,
        epsilon=1,
        queries=3,
        growth=False,
        parameters={"k": 2, "share": QUARTER},
    )
    assert proof.holds, str(proof)


CLAMPED: dict[str, Any] = {"eta": (QUARTER, Fraction(3, 4)), "width": 2, "gaps": (1, 2)}


@pytest.mark.parametrize(("queries", "count"), [(3, 1), (2, 2)])
def test_discrete_sparse_vector_with_gap(queries: int, count: int) -> None:
    """Ilvento 2020, algorithm 4, with its clamped alignment and theorem 5.5."""
    form = ideal.form(k=count, **CLAMPED)
    proof = fg.prove(
        form.program,
        form.alignment,
        epsilon=1,
        queries=queries,
        growth=False,
        resolution=1,
        charge=form.charge,
    )
    assert proof.holds, str(proof)
    assert proof.tightness is not None
    assert proof.tightness.exact


@pytest.mark.long
def test_discrete_sparse_vector_with_gap_and_two_above() -> None:
    form = ideal.form(k=2, resolution=Fraction(1, 2), **CLAMPED)
    proof = fg.prove(
        form.program, form.alignment, epsilon=1, queries=3, growth=False, resolution="1/2", charge=form.charge
    )
    assert proof.holds, str(proof)


def test_geometric_noise_on_whole_numbers() -> None:
    parameters = {"k": 2, "share": QUARTER, "law": "geometric"}
    proof = fg.prove(
        programs.sparse_vector,
        programs.sparse_vector_alignment,
        epsilon=1,
        queries=3,
        growth=False,
        resolution=1,
        parameters=parameters,
    )
    assert proof.holds, str(proof)


def test_staircase_noise() -> None:
    def program(answers: Any, noise: Any, *, epsilon: Fraction) -> Any:
        return answers[0] + noise.staircase(1 / epsilon, step=1)

    def alignment(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
        return {0: noise[0] + answers[0] - neighbour[0]}

    assert fg.prove(program, alignment, epsilon="1/3", queries=1).holds
    # A stair can lie anywhere: a shift by a little more than one step costs two.
    proof = fg.prove(program, alignment, epsilon="1/3", queries=1, growth=False, sensitivity="101/100")
    assert proof.holds is False
    assert proof.refutation is not None
    assert proof.refutation.cost == Fraction(2, 3)


def test_a_capped_number_is_one_kind_of_output() -> None:
    """min(cap, value) is a constant on one path and an expression on the other, and can be equal."""

    def program(answers: Any, noise: Any) -> Any:
        return min(3.0, answers[0] + noise.laplace(1, label="sum"))

    def whole(answers: Any, noise: Any) -> Any:
        return min(3, answers[0] + noise.laplace(1, label="sum"))

    def alignment(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
        return {"sum": noise["sum"] + answers[0] - neighbour[0]}

    proof = fg.prove(program, alignment, epsilon=1, queries=1)
    assert proof.holds
    assert proof.outputs == 1
    apart = fg.prove(whole, alignment, epsilon=1, queries=1)  # the whole number 3 is told apart from 3.0
    assert apart.holds
    assert apart.outputs == 2


def test_the_report_names_every_condition() -> None:
    proof = fg.prove(
        plain_top_k.program,
        plain_top_k.alignment,
        epsilon=1,
        queries=3,
        growth=False,
        parameters={"k": 1, "scale": 2, "law": "exponential"},
    )
    text = str(proof)
    assert text.startswith("proved for n = 3 only: program(k=1, scale=2, law=exponential) on 3 answers")
    assert text.count("✓") == 8
    assert "theorem 5.15" in text
    assert proof.to_dict()["verdict"] == "proved"
    assert bool(proof)


@pytest.mark.parametrize("neighbours", ["each", "monotonic"])
def test_the_order_alone_with_ties_by_place(neighbours: Neighbours) -> None:
    """Where no answer rises, no noise need rise to make up for it: monotonic answers cost ε and not 2ε."""
    entry = NAMED["noisy top-k, ties broken by place"]
    claim = next(claim for claim in entry.claims if claim.neighbours == neighbours)
    assert prove_claim(entry, claim).holds
