"""Thousands of random programs: nothing is proved that an exact enumeration refutes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import freegap as fg
from freegap.prover import outputs
from freegap.prover.check import problem_of
from freegap.prover.report import Proof
from freegap.prover.stream import Induction
from freegap.prover.unbounded import prove_loop
from freegap.symbolic.paths import Exploration

from .generated import TAIL, Generated, generated, outcomes, violation
from .generated_forms import TooManyDraws, form_violation, generated_forms
from .generated_loops import generated_loops, loop_violation


def attempt(case: Generated, *, counterexample: bool = False, search: bool = False) -> Any:
    return fg.prove(
        case.program,
        None if search else case.alignment,
        epsilon=case.epsilon,
        queries=1,
        resolution=1,
        tightness=False,
        growth=False,
        counterexample=counterexample,
        seconds=1,
    )


def false_proofs(
    count: int, seed: int, *, tossing: bool = False, search: bool = False, one: bool = False
) -> tuple[list[str], dict[bool | None, int]]:
    """Violations of what was proved, and how often each verdict came out. one: it is enough."""
    found = []
    seen: dict[bool | None, int] = {True: 0, False: 0, None: 0}
    for case in generated(count, seed, tossing=tossing):
        holds = attempt(case, search=search).holds
        seen[holds] += 1
        if holds:
            wrong = violation(case)
            if wrong is not None:
                found.append(wrong)
        if one and found:
            break
    return found, seen


def test_no_false_proof() -> None:
    found, seen = false_proofs(1000, seed=1)
    assert not found, found[0]
    assert min(seen.values()) >= 50  # all three verdicts are visited


@pytest.mark.parametrize("search", [False, True])
def test_no_false_proof_with_coins(search: bool) -> None:
    """With the alignment of the text, and without one: by a finite table, where there is no other noise."""
    found, seen = false_proofs(30, seed=1, tossing=True, search=search)
    assert not found, found[0]
    assert seen[True] >= 3


def false_proofs_for_all(count: int, seed: int) -> tuple[list[str], int]:
    """Violations, at two answers, of what was proved for every number of them; and how much was."""
    found, seen = [], 0
    for case in generated_loops(count, seed):
        problem = problem_of(case.program, epsilon=case.epsilon, queries=1, resolution=1, seconds=20)
        if prove_loop(problem) is not None:
            seen += 1
            wrong = loop_violation(case)
            if wrong is not None:
                found.append(wrong)
    return found, seen


def test_no_false_proof_for_all_n() -> None:
    found, seen = false_proofs_for_all(50, seed=1)
    assert not found, found[0]
    assert seen >= 3


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
def test_no_false_proof_for_all_n_among_many(seed: int) -> None:
    found, _ = false_proofs_for_all(2000, seed)
    assert not found, found[0]


def test_costs_that_are_not_added_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault of a proof for all n that forgets what the rounds cost."""
    monkeypatch.setattr(Induction, "_longest", lambda self, start, weights: Fraction(0))
    found, _ = false_proofs_for_all(20, seed=1)
    assert found


def false_counterexamples(count: int, seed: int, *, tossing: bool) -> tuple[list[str], int]:
    """Counterexamples whose probabilities are not those of an enumeration, and how many there were."""
    found, seen = [], 0
    for case in generated(count, seed, tossing=tossing):
        claimed = attempt(case, counterexample=True, search=tossing).counterexample
        if claimed is None:
            continue
        seen += 1
        for (answer,), ball in (
            (claimed.answers, claimed.probability),
            (claimed.neighbour, claimed.probability_of_neighbour),
        ):
            masses = outcomes(case.program, case.text, answer, Fraction)
            enumerated = sum(mass for output, mass in masses if claimed.event.contains(output))
            if not ball.lower - TAIL <= enumerated <= ball.upper + TAIL:
                found.append(f"{claimed}\n{enumerated} at {answer}\n{case.text}")
    return found, seen


@pytest.mark.parametrize("tossing", [False, True])
def test_no_false_counterexample(tossing: bool) -> None:
    found, seen = false_counterexamples(30, 4, tossing=tossing)
    assert not found, found[0]
    assert seen >= 3


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
def test_no_false_proof_among_many(seed: int) -> None:
    found, _ = false_proofs(3000, seed=seed)
    assert not found, found[0]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
def test_no_false_verdict_with_coins_among_many(seed: int) -> None:
    for search in (False, True):
        proofs, _ = false_proofs(500, seed=seed, tossing=True, search=search)
        assert not proofs, proofs[0]
    counterexamples, _ = false_counterexamples(300, seed, tossing=seed % 2 == 0)
    assert not counterexamples, counterexamples[0]


def test_a_dropped_path_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault of a comparison that is taken for true: the other side is never followed."""
    monkeypatch.setattr(Exploration, "backtrack", lambda self: False)
    found, _ = false_proofs(150, seed=1, one=True)
    assert found


def test_a_wrong_table_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault of probabilities that are never compared: a coin for the answer is then proved."""
    monkeypatch.setattr("freegap.prover.apart._exceeds", lambda kind, here, there: False)
    found, _ = false_proofs(10, seed=4, tossing=True, search=True, one=True)
    assert found


def test_kinds_that_are_not_told_apart_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault of a comparison of outputs by ==."""
    seeing = outputs._leaf
    monkeypatch.setattr(outputs, "_leaf", lambda value: replace(seeing(value), kind=object))
    found, _ = false_proofs(400, seed=1, one=True)
    assert found


def false_proofs_of_forms(count: int, seed: int, **rates: float) -> tuple[list[str], int]:
    """Violations, at two answers, of what was proved of forms for every number of them; and how much was."""
    found, seen = [], 0
    for case in generated_forms(count, seed, **rates):
        claim: Any = {"epsilon": case.epsilon, "neighbours": case.neighbours, "resolution": 1}
        if not fg.prove(case.form, counterexample=False, seconds=20, **claim).holds:
            continue
        with suppress(TooManyDraws):
            wrong = form_violation(case)
            seen += 1
            if wrong is not None:
                found.append(wrong)
    return found, seen


@pytest.fixture
def without_refutations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of forms that are not proved, at a bounded size: they take longer than the proofs."""
    undecided = Proof(None, "", ())
    monkeypatch.setattr("freegap.prover.routes.prove_alignment", lambda *given, **words: undecided)


@pytest.mark.usefixtures("without_refutations")
@pytest.mark.parametrize("rates", [{}, {"wrong": 0, "shared": 0.6}])
def test_no_false_proof_of_forms(rates: dict[str, float]) -> None:
    """Streams, rankings and compositions, with wrong parts here and there, and with shared labels."""
    found, seen = false_proofs_of_forms(30, seed=1, **rates)
    assert not found, found[0]
    assert seen >= 3


@pytest.mark.long
@pytest.mark.usefixtures("without_refutations")
@pytest.mark.parametrize("seed", range(2, 12))
def test_no_false_proof_of_forms_among_many(seed: int) -> None:
    found, _ = false_proofs_of_forms(300, seed, wrong=0.05, shared=0.15)
    assert not found, found[0]


@pytest.mark.usefixtures("without_refutations")
def test_labels_that_are_not_checked_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault of a proof that takes two draws of one label for two."""
    for module in ("routes", "schema"):
        monkeypatch.setattr(f"freegap.prover.{module}.with_own_labels", lambda form: form)
    monkeypatch.setattr("freegap.prover.routes.draws_apart", lambda *given: True)
    found, _ = false_proofs_of_forms(8, seed=3, wrong=0, shared=1)
    assert found
