"""Thousands of random programs: nothing is proved that an exact enumeration refutes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import freegap as fg
from freegap.prover import outputs
from freegap.prover.check import problem_of
from freegap.prover.stream import Induction
from freegap.prover.unbounded import prove_loop
from freegap.symbolic.paths import Exploration

from .generated import TAIL, Generated, generated, outcomes, violation
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
