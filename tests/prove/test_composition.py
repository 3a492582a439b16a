"""One form and then another, on what the first one chose: proved for all n, and not where a part is wrong."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from freegap_evidence.assurance.library import LIBRARY, plan
from freegap_evidence.catalogue.sums import prefix_sum

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.estimate.selection import form
from freegap.forms import Composition, Stream
from freegap.mechanisms import measurement
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.prover.check import problem_of
from freegap.prover.report import Proof
from freegap.prover.routes import _prove_for_all

HALF = Fraction(1, 2)
TOP = form(TopKPlan.read("m", k=2, epsilon=1, noise="laplace"), Fraction(2), HALF)
ABOVE = form(plan(2, "laplace", False), Fraction(2), HALF)


def proved(composition: Composition, epsilon: Any = 2, neighbours: str = "each") -> Proof:
    """Without a look at bounded sizes."""
    problem = problem_of(composition.program, epsilon=epsilon, queries=1, neighbours=neighbours)
    return _prove_for_all(problem, composition)


@pytest.mark.parametrize("composition", [TOP, ABOVE], ids=["top", "above"])
def test_select_and_measure(composition: Composition) -> None:
    proof = fg.prove(composition, epsilon=2)
    assert proof.holds, str(proof)
    assert "at most ε = 2, for all n" in proof.claim
    assert proof.conditions[0].how.count("; then ") == 1
    assert proved(composition, epsilon=Fraction(3, 2)).holds is None


def narrow() -> Stream:
    return measurement.form(Fraction(19, 10), HALF)


def dear() -> Stream:
    return measurement.form(Fraction(1), Fraction(1))


def raw() -> Stream:
    def step(state: None, answer: Any, noise: Any) -> tuple[None, Any, bool]:
        return None, answer, False

    return replace(measurement.form(Fraction(2), HALF), step=step, step_shifts=lambda *context: {})


@pytest.mark.parametrize("composition", [TOP, ABOVE], ids=["top", "above"])
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"second": narrow()}, "the cost"),
        ({"second": dear()}, "charged at most ε"),
        ({"second": raw()}, "the output"),
        ({"chosen": False}, "grows"),
        ({"budgets": (HALF, 1)}, ""),
        ({"budgets": (1, 2)}, "not parts of ε"),
        ({"budgets": (3, -1)}, "not parts of ε"),
        ({"budgets": ("a", 1)}, "not parts of ε"),
    ],
    ids=["narrow", "dear", "raw", "all answers", "selection", "more", "negative", "text"],
)
def test_parts_that_are_wrong(composition: Composition, changes: dict[str, Any], reason: str) -> None:
    proof = proved(replace(composition, **changes))
    assert proof.holds is None
    assert reason in str(proof.reason)


def beside(**changes: Any) -> Composition:
    """Sparse vector on the one answer that was chosen: what is not above costs the start alone."""

    def step(bar: Any, answer: Any, noise: Any) -> tuple[Any, bool, bool]:
        return bar, answer + noise.laplace(4, label="answer") >= bar, False

    def step_shifts(direction: str, bar: Any, above: bool, answer: Any, neighbour: Any) -> dict[str, Any]:
        return {"answer": answer - neighbour + 1} if above else {}

    second = Stream(
        lambda noise: noise.laplace(100, label="bar"),
        step,
        lambda direction: {"bar": 1},
        step_shifts,
        start_charge=Fraction(1, 100),
        entry_charge=lambda entry: HALF if entry is True else 0,
    )
    top = form(TopKPlan.read("m", k=1, epsilon=1, noise="laplace"), HALF, HALF)
    return replace(top, second=replace(second, **changes), budgets=(1, 1))


def test_a_second_part_is_confirmed_by_python() -> None:
    """It rounds answers to even numbers: two that differ by 1 may differ by 2."""

    def step(state: None, answer: Any, noise: Any) -> tuple[None, Any, bool]:
        return None, ((answer + 1e16) - 1e16) + noise.laplace(2, label="answer"), False

    second = replace(measurement.form(Fraction(2), HALF), step=step)
    shifts: Any = lambda direction, state, entry, answer, neighbour: {"answer": answer - neighbour}  # noqa: E731
    proof = proved(replace(TOP, second=replace(second, step_shifts=shifts, place_alone=False)))
    assert proof.holds is None
    assert "the interpreter and Python disagree" in str(proof.reason)


def test_a_bar_that_is_told_at_the_end() -> None:
    """That an answer is below is free because nobody knows the bar: so a last entry must not tell it."""
    assert proved(beside()).holds
    told = beside(finish=lambda bar, noise: bar, finish_shifts=lambda *context: {})
    proof = proved(told)
    assert proof.holds is None
    assert "a last entry" in str(proof.reason)


def test_a_bar_of_stairs() -> None:
    """A shift by 1 over stairs of 1000 can cost a whole stair, e^10 here, and not a thousandth of it."""
    proof = proved(beside(start=lambda noise: noise.staircase(100, label="bar", step=1000)))
    assert proof.holds is None
    assert "staircase noise at the start" in str(proof.reason)


def test_a_stream_that_chooses_without_end() -> None:
    """Prefix sums where one answer moves: each has an entry, so that any number would be measured."""
    composition = Composition(prefix_sum(1), measurement.form(Fraction(2), HALF), (1, 1))
    proof = proved(composition, neighbours="one")
    assert "what is chosen, grows" in str(proof.reason)
    both = replace(composition, second=prefix_sum(1), chosen=False)
    assert proved(both, neighbours="one").holds
    assert proved(both, neighbours="each").holds is None
    assert proved(replace(both, chosen=True), neighbours="one").holds


def test_a_bounded_size() -> None:
    """The same by another way, beyond what the first one chooses; and the charge of each output."""
    proof = fg.prove(ABOVE.program, ABOVE.alignment, epsilon=2, queries=2, charge=ABOVE.charge, growth=False)
    assert proof.holds, str(proof)
    assert proof.tightness is not None
    assert proof.tightness.epsilon == 2
    assert ABOVE.charge(([None, (3, Fraction(3, 8))], [7])) == Fraction(1, 4) + Fraction(3, 8) + HALF
    assert TOP.charge((([1, 0], [1, 2]), [7, 8])) == 2


def test_the_claims_are_for_the_charge_that_is_made() -> None:
    named = {entry.name: entry for entry in LIBRARY}
    for name in ("noisy top-k, then measure", "sparse vector, then measure"):
        for claim in named[name].claims:
            made: Any = named[name].form(**claim.parameters)
            assert sum(made.budgets) == claim.epsilon


def test_mistakes_are_named() -> None:
    with pytest.raises(InvalidArgument, match="second"):
        replace(TOP, second=TOP.first)
    with pytest.raises(InvalidArgument, match="first"):
        replace(TOP, first=len)  # type: ignore[arg-type]
