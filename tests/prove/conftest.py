"""What tests of proofs share."""

from __future__ import annotations

import pytest


@pytest.fixture
def without_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of alignments: no search for a violation of privacy, which has tests of its own."""
    monkeypatch.setattr("freegap.prover.routes.find_counterexample", lambda *given: None)


@pytest.fixture(params=["read and run", "read"])
def each_guard(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read in a program is tried beside it as well: here once without, so that reading is tested."""
    if request.param == "read":
        monkeypatch.setattr("freegap.prover.unbounded.is_tied", lambda *given: True)
        monkeypatch.setattr("freegap.prover.maxima._is_tied", lambda *given: True)
