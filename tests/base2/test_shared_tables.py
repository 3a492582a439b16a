"""Runs in base 2: what they share, and what a question has cost that was not answered."""

from __future__ import annotations

from fractions import Fraction

import pytest

import freegap as fg
from freegap import base2
from freegap.base2.batch import FastRun, threshold_words
from freegap.base2.weights import Weights


def test_a_table_that_runs_share_cannot_be_changed() -> None:
    table = threshold_words(Weights(Fraction(3, 4), 6), 5, 64)
    assert threshold_words(Weights(Fraction(3, 4), 6), 5, 64) is table
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 0


def test_the_record_of_a_run_has_the_charge_of_questions_that_were_not_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that was interrupted may have been above, and is charged as if it were; the record says so too."""
    eta = base2.share_epsilon(1, k=2)
    run = base2.DiscreteSparseVector(50, k=2, eta=eta, low=0, high=100, width=50, bits=fg.SeededBits(1))
    assert run.ask(0) is not None
    assert run.release().spent == run.spent
    before = run.spent
    with monkeypatch.context() as patched:
        patched.setattr(FastRun, "ask", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run.ask(100)
    assert run.release().labels == ()
    assert run.release().spent == run.spent > before
    assert run.remaining == 1
