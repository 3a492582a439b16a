"""What tests of proofs share."""

from __future__ import annotations

import pytest


@pytest.fixture
def without_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of alignments: no search for a violation of privacy, which has tests of its own."""
    monkeypatch.setattr("freegap.prover.routes.find_counterexample", lambda *given: None)
