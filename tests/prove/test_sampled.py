"""The property test: right alignments survive at large sizes, wrong ones are found."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import freegap as fg
from freegap.values.neighbours import Neighbours

from . import broken, plain_top_k, programs

QUARTER = Fraction(1, 4)


@pytest.mark.parametrize("law", ["laplace", "exponential"])
@pytest.mark.parametrize(("neighbours", "factor"), [("each", 2), ("monotonic", 1), ("one", 2)])
def test_top_k_of_a_thousand(law: str, neighbours: Neighbours, factor: int) -> None:
    proof = fg.prove(
        plain_top_k.program,
        plain_top_k.alignment,
        epsilon=1,
        queries=1000,
        neighbours=neighbours,
        parameters={"k": 3, "scale": Fraction(3 * factor), "law": law},
        samples=12,
    )
    assert proof.holds is None
    assert "no counterexample in 12 samples" in str(proof.reason)


@pytest.mark.parametrize("law", ["laplace", "geometric"])
def test_sparse_vector_of_a_thousand(law: str) -> None:
    proof = fg.prove(
        programs.sparse_vector,
        programs.sparse_vector_alignment,
        epsilon=1,
        queries=1000,
        parameters={"k": 20, "share": QUARTER, "law": law},
        charge=programs.sparse_vector_charge,
        resolution=1 if law == "geometric" else None,
        samples=24,
    )
    assert proof.holds is None


@pytest.mark.parametrize(
    ("alignment", "epsilon", "condition"),
    [(broken.laplace_shifts, "1", "support"), (plain_top_k.alignment, "3/4", "cost")],
)
def test_wrong_alignments_are_found(alignment: Any, epsilon: str, condition: str) -> None:
    proof = fg.prove(
        plain_top_k.program,
        alignment,
        epsilon=epsilon,
        queries=50,
        parameters={"k": 3, "scale": Fraction(6), "law": "exponential"},
        samples=200,
    )
    assert proof.holds is False
    assert proof.refutation is not None
    assert proof.refutation.condition == condition


def test_a_released_answer_is_found() -> None:
    proof = fg.prove(
        broken.releases_the_noisy_answer,
        programs.sparse_vector_alignment,
        epsilon=1,
        queries=30,
        parameters={"k": 1, "share": QUARTER},
        samples=50,
    )
    assert proof.refutation is not None
    assert proof.refutation.condition == "output"
