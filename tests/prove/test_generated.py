"""Thousands of random programs: nothing is proved that an exact enumeration refutes."""

from __future__ import annotations

from dataclasses import replace

import pytest

import freegap as fg
from freegap.prover import outputs
from freegap.symbolic.paths import Exploration

from .generated import Generated, generated, violation


def verdict(case: Generated) -> bool | None:
    return fg.prove(
        case.program,
        case.alignment,
        epsilon=case.epsilon,
        queries=1,
        resolution=1,
        tightness=False,
        growth=False,
        counterexample=False,
        seconds=1,
    ).holds


def false_proofs(count: int, seed: int) -> tuple[list[str], dict[bool | None, int]]:
    """Violations of what was proved, and how often each verdict came out."""
    found = []
    seen: dict[bool | None, int] = {True: 0, False: 0, None: 0}
    for case in generated(count, seed):
        holds = verdict(case)
        seen[holds] += 1
        if holds:
            wrong = violation(case)
            if wrong is not None:
                found.append(wrong)
    return found, seen


def test_no_false_proof() -> None:
    found, seen = false_proofs(1000, seed=1)
    assert not found, found[0]
    assert min(seen.values()) >= 50  # all three verdicts are visited


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
def test_no_false_proof_among_many(seed: int) -> None:
    found, _ = false_proofs(3000, seed=seed)
    assert not found, found[0]


def test_a_dropped_path_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault of a comparison that is taken for true: the other side is never followed."""
    monkeypatch.setattr(Exploration, "backtrack", lambda self: False)
    found, _ = false_proofs(150, seed=1)
    assert found


def test_kinds_that_are_not_told_apart_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault of a comparison of outputs by ==."""
    seeing = outputs._leaf
    monkeypatch.setattr(outputs, "_leaf", lambda value: replace(seeing(value), kind=object))
    found, _ = false_proofs(400, seed=1)
    assert found
