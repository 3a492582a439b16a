"""What is broken is refuted, by a concrete point that the real mechanism confirms."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import freegap as fg
from freegap.prover.report import Proof
from freegap.symbolic import GivenNoise

from . import broken, plain_top_k, programs

pytestmark = pytest.mark.usefixtures("without_search")

QUARTER = Fraction(1, 4)


def refuted(
    proof: Proof, mechanism: Callable[..., Any], parameters: dict[str, Any], *conditions: str
) -> None:
    """The proof is a refutation, and running the mechanism again shows what it says."""
    assert proof.holds is False, str(proof)
    found = proof.refutation
    assert found is not None
    assert found.condition in conditions
    assert all(abs(a - b) <= 1 for a, b in zip(found.answers, found.neighbour, strict=True))
    assert mechanism(list(found.answers), GivenNoise(found.noise), **parameters) == found.output
    if found.condition == "output":
        assert found.aligned is not None
        again = mechanism(list(found.neighbour), GivenNoise(found.aligned), **parameters)
        assert again == found.output_of_neighbour != found.output
    if found.condition == "cost":
        assert found.cost is not None
        assert found.charge is not None
        assert found.cost > found.charge
    if found.condition == "support":
        assert found.aligned is not None
        assert min(found.aligned[label] for label in found.off_support) < 0
    assert "refuted by:" in str(proof)


@pytest.mark.parametrize("mechanism", broken.SPARSE_VECTORS, ids=lambda m: m.__name__)
def test_broken_sparse_vectors(mechanism: Callable[..., Any]) -> None:
    k = 2 if mechanism is broken.noise_not_scaled_by_k else 1
    parameters = {"k": k, "share": QUARTER}
    proof = fg.prove(mechanism, programs.sparse_vector_alignment, epsilon=1, queries=3, parameters=parameters)
    refuted(
        proof, mechanism, parameters | {"epsilon": Fraction(1), "sensitivity": Fraction(1)}, "output", "cost"
    )


@pytest.mark.parametrize("mechanism", broken.NOISY_MAXIMA, ids=lambda m: m.__name__)
def test_broken_noisy_maxima(mechanism: Callable[..., Any]) -> None:
    k = 2 if mechanism is broken.scale_without_k else 1
    parameters = {"k": k, "scale": Fraction(2 * k)}
    proof = fg.prove(mechanism, broken.laplace_shifts, epsilon=1, queries=3, parameters=parameters)
    refuted(proof, mechanism, parameters, "output", "cost")


def test_adaptive_with_a_second_try_that_is_never_charged() -> None:
    parameters = {"k": 1, "share": QUARTER}
    proof = fg.prove(
        broken.second_try_is_free, programs.adaptive_alignment, epsilon=1, queries=3, parameters=parameters
    )
    context = {"epsilon": Fraction(1), "sensitivity": Fraction(1)}
    refuted(proof, broken.second_try_is_free, parameters | context, "cost")


def test_adaptive_with_the_wrong_stopping_rule() -> None:
    parameters = {"k": 1, "share": QUARTER, "last_call": False}
    proof = fg.prove(
        programs.adaptive, programs.adaptive_alignment, epsilon=1, queries=3, parameters=parameters
    )
    context = {"epsilon": Fraction(1), "sensitivity": Fraction(1)}
    refuted(proof, programs.adaptive, parameters | context, "cost")


@pytest.mark.parametrize("law", ["laplace", "exponential"])
@pytest.mark.parametrize("k", [1, 2])
def test_a_quarter_less_is_refuted(law: str, k: int) -> None:
    parameters = {"k": k, "scale": Fraction(2 * k), "law": law}
    proof = fg.prove(
        plain_top_k.program, plain_top_k.alignment, epsilon="3/4", queries=3, parameters=parameters
    )
    refuted(proof, plain_top_k.program, parameters, "cost")


def test_the_laplace_alignment_makes_exponential_noise_negative() -> None:
    parameters = {"k": 1, "scale": Fraction(2), "law": "exponential"}
    proof = fg.prove(plain_top_k.program, broken.laplace_shifts, epsilon=1, queries=3, parameters=parameters)
    refuted(proof, plain_top_k.program, parameters, "support")


def test_equation_5_4_of_the_paper_is_not_one_to_one() -> None:
    """It raises the runner-up of the neighbour, whose own noise then appears nowhere."""
    parameters: dict[str, Any] = {"k": 1, "scale": Fraction(2), "law": "exponential"}
    align = programs.top_k_alignment_of_the_paper
    proof = fg.prove(plain_top_k.program, align, epsilon=1, queries=3, parameters=parameters)
    refuted(proof, plain_top_k.program, parameters, "injective")
    found = proof.refutation
    assert found is not None
    assert found.other_noise is not None
    outputs = [
        plain_top_k.program(found.answers, GivenNoise(noise), **parameters)
        for noise in (found.noise, found.other_noise)
    ]
    assert outputs[0] == outputs[1] == found.output
    images = [
        dict(found.noise) | align(found.answers, found.neighbour, found.output, dict(found.noise)),
        dict(found.other_noise)
        | align(found.answers, found.neighbour, found.output, dict(found.other_noise)),
    ]
    assert images[0] == images[1]
    assert found.noise != found.other_noise


def test_two_answers_cannot_show_it() -> None:
    """With one unselected answer both runner-ups are one, and the paper's alignment is right."""
    parameters = {"k": 1, "scale": Fraction(2), "law": "exponential"}
    align = programs.top_k_alignment_of_the_paper
    assert fg.prove(
        plain_top_k.program, align, epsilon=1, queries=2, parameters=parameters, growth=False
    ).holds


def test_geometric_top_k_has_ties() -> None:
    """Ding et al. 2023, section 4: with discrete noise the tie-breaking by place is not private at this
    cost."""
    parameters = {"k": 1, "scale": Fraction(2), "law": "geometric"}
    proof = fg.prove(
        plain_top_k.program, plain_top_k.alignment, epsilon=1, queries=3, resolution=1, parameters=parameters
    )
    refuted(proof, plain_top_k.program, parameters, "output")


def test_real_answers_leave_the_lattice() -> None:
    parameters = {"k": 1, "share": QUARTER, "law": "geometric"}
    proof = fg.prove(
        programs.sparse_vector, programs.sparse_vector_alignment, epsilon=1, queries=2, parameters=parameters
    )
    assert proof.holds is False
    assert proof.refutation is not None
    assert proof.refutation.condition == "support"


def test_lost_volume_is_refuted() -> None:
    """Same output, no cost, one-to-one, but it halves the volume: the bound would be ln 2 too small."""

    def program(answers: Any, noise: Any) -> str:
        noise.laplace(1, label="unused")
        return "done"

    def alignment(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
        value = noise["unused"]
        return {"unused": value if abs(value) > 1 else value / 2}

    proof = fg.prove(program, alignment, epsilon=1, queries=1)
    assert proof.holds is False
    assert proof.refutation is not None
    assert proof.refutation.condition == "injective"
    assert proof.refutation.determinant == Fraction(1, 2)


def test_a_refutation_is_json() -> None:
    parameters = {"k": 1, "scale": Fraction(2), "law": "exponential"}
    proof = fg.prove(plain_top_k.program, broken.laplace_shifts, epsilon=1, queries=3, parameters=parameters)
    plain = proof.to_dict()
    assert plain["verdict"] == "refuted"
    assert plain["refutation"]["condition"] == "support"
    assert all(isinstance(value, str) for value in plain["refutation"]["answers"])
