"""Alignments are found without help for right mechanisms, at the smallest cost, and none for broken ones."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.prover.report import Proof
from freegap.prover.templates import compiled

from . import broken, plain_top_k, programs

pytestmark = pytest.mark.usefixtures("without_search")

QUARTER = Fraction(1, 4)
SHARED = {"k": 1, "share": QUARTER}


def found(proof: Proof) -> Any:
    """The alignment that was found, compiled from its text."""
    assert proof.holds, str(proof)
    assert proof.alignment_source is not None
    return compiled(proof.alignment_source)


@pytest.mark.parametrize(
    ("program", "charge", "parameters", "queries", "smallest"),
    [
        pytest.param(
            plain_top_k.program, None, {"k": 1, "scale": 2, "law": "laplace"}, 3, 1, id="noisy max with gap"
        ),
        pytest.param(
            programs.sparse_vector, programs.sparse_vector_charge, SHARED, 3, 1, id="sparse vector with gap"
        ),
        pytest.param(
            programs.sparse_vector,
            programs.sparse_vector_charge,
            SHARED | {"gap": False},
            3,
            1,
            id="sparse vector",
        ),
        pytest.param(programs.adaptive, programs.adaptive_charge, SHARED, 2, 1, id="adaptive"),
    ],
)
def test_right_mechanisms(
    program: Any, charge: Any, parameters: dict[str, Any], queries: int, smallest: int
) -> None:
    proof = fg.prove(program, epsilon=1, growth=False, queries=queries, parameters=parameters, charge=charge)
    again = fg.prove(
        program, found(proof), epsilon=1, growth=False, queries=queries, parameters=parameters, charge=charge
    )
    assert again.holds
    assert proof.tightness is not None
    assert proof.tightness.epsilon == smallest


def test_noisy_max_with_its_index_only() -> None:
    """No gap: the winner can make up for all others at once, also with one-sided noise."""

    def noisy_max(answers: Any, noise: Any, *, law: str) -> int:
        noisy = [answer + getattr(noise, law)(2, label=i) for i, answer in enumerate(answers)]
        return noisy.index(max(noisy))

    for law in ("laplace", "exponential"):
        proof = fg.prove(noisy_max, epsilon=1, growth=False, queries=3, parameters={"law": law})
        assert proof.tightness is not None
        assert proof.tightness.epsilon == 1


def test_the_paper_s_alignment_is_found_for_sparse_vector() -> None:
    proof = fg.prove(
        programs.sparse_vector,
        epsilon=1,
        growth=False,
        queries=3,
        parameters=SHARED,
        charge=programs.sparse_vector_charge,
    )
    assert proof.alignment_source is not None
    assert (
        "        case [None, None, _]:\n"
        "            return {'threshold': noise['threshold'] + sensitivity, "
        "2: noise[2] + sensitivity + answers[2] - neighbour[2]}"
    ) in proof.alignment_source


def test_each_direction_of_monotonic_answers_has_its_own() -> None:
    parameters = SHARED | {"monotonic": True}
    proof = fg.prove(
        programs.sparse_vector,
        epsilon=1,
        growth=False,
        queries=2,
        neighbours="monotonic",
        parameters=parameters,
        charge=programs.sparse_vector_charge,
    )
    assert proof.alignment_source is not None
    assert "if all(a <= b for a, b in zip(answers, neighbour)):" in proof.alignment_source
    assert proof.holds


def test_cheaper_than_the_paper_where_that_is_possible() -> None:
    """Top 2 of 3: to keep all three noisy answers costs 3/4, less than to keep the gaps of two."""
    parameters = {"k": 2, "scale": Fraction(4), "law": "laplace"}
    proof = fg.prove(plain_top_k.program, epsilon=1, growth=False, queries=3, parameters=parameters)
    assert proof.holds
    assert proof.tightness is not None
    assert proof.tightness.epsilon == Fraction(3, 4)


SIZES = {
    broken.noise_not_scaled_by_k: ({"k": 2, "share": QUARTER}, 4),
    broken.no_limit_on_answers_above: ({"k": 1, "share": QUARTER}, 4),
    broken.one_answer_too_many: ({"k": 1, "share": QUARTER}, 4),
    broken.scale_without_k: ({"k": 2, "scale": Fraction(4)}, 3),
} | {m: ({"k": 1, "scale": Fraction(2)}, 3) for m in broken.NOISY_MAXIMA if m is not broken.scale_without_k}


@pytest.mark.parametrize(
    "mechanism", [*broken.SPARSE_VECTORS, *broken.NOISY_MAXIMA, programs.adaptive], ids=lambda m: m.__name__
)
def test_broken_mechanisms(mechanism: Callable[..., Any]) -> None:
    parameters, queries = SIZES.get(mechanism, (SHARED, 3))
    if mechanism is programs.adaptive:
        parameters = SHARED | {"last_call": False}
    proof = fg.prove(mechanism, epsilon=1, growth=False, queries=queries, parameters=parameters)
    assert proof.holds is None
    assert "no alignment in the template" in str(proof.reason)
    assert proof.refutation is not None  # of the last proposal, which is no refutation of the mechanism
    assert proof.alignment_source is None


def test_noise_of_a_weighted_sum() -> None:
    """One draw makes up for all answers of a sum at once, each by its weight."""

    def program(answers: Any, noise: Any, *, weights: Any, scale: Any) -> Any:
        return sum(w * a for w, a in zip(weights, answers, strict=True)) + noise.laplace(scale, label="sum")

    weights = [Fraction(1, 2), -2]
    options: dict[str, Any] = {"epsilon": 1, "queries": 2, "growth": False}
    enough = fg.prove(program, parameters={"weights": weights, "scale": Fraction(5, 2)}, **options)
    assert enough.tightness is not None
    assert enough.tightness.epsilon == 1  # (1/2 + 2)/(5/2)
    assert not fg.prove(program, parameters={"weights": weights, "scale": 2}, **options)


def test_an_array_is_refused_with_a_remedy() -> None:
    def program(answers: Any, noise: Any, *, weights: Any) -> Any:
        return weights[0] * answers[0] + noise.laplace(1, label="sum")

    proof = fg.prove(program, epsilon=1, queries=1, parameters={"weights": np.array([1.0])})
    assert proof.holds is None
    assert "pass array.tolist()" in str(proof.reason)
