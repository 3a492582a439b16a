"""How many runs a verdict takes, against the audit before evidence could grow."""

from __future__ import annotations

from typing import Any

import pytest
from freegap_evidence.bench.audit_runs import SEEDS, before, rows, summary
from freegap_evidence.catalogue import CATALOGUE

import freegap as fg


def test_what_it_took_before_is_known_of_the_whole_catalogue() -> None:
    taken = before()
    assert set(taken) == set(CATALOGUE)
    for by_epsilon in taken.values():
        assert list(by_epsilon) == ["0.2", "0.7", "1.5"]
        assert all(len(runs) == len(SEEDS) and min(runs) > 10**6 for runs in by_epsilon.values())


def test_a_blatant_fault_takes_a_tenth_of_the_runs() -> None:
    found = list(rows(["laplace_half_noise"], [1]))
    assert [row["epsilon"] for row in found] == [0.2, 0.7, 1.5]
    for row in found:
        assert row["ratio"] == pytest.approx(row["runs"] / row["runs_before"], abs=1e-4)
        assert row["ratio"] < 0.15
        assert (row["as_expected"], row["audits"], row["private"]) == (1, 1, False)


def test_the_median_and_the_most_are_of_each_kind() -> None:
    given: list[tuple[bool, float]] = [(True, 1.1), (True, 0.9), (False, 0.1), (False, 0.2), (False, 0.6)]
    found = summary([{"private": right, "ratio": ratio} for right, ratio in given])
    assert found["all"] == {"median": 0.6, "most": 1.1, "entries": 5}
    assert found["right"] == {"median": 1.0, "most": 1.1, "entries": 2}
    assert found["wrong"] == {"median": 0.2, "most": 0.6, "entries": 3}


def test_the_report_tells_the_runs_after_the_verdict_apart() -> None:
    settings: dict[str, Any] = {"epsilon": 1, "samples": 20_000, "search_samples": 4000, "seed": 1, "jobs": 1}
    mechanism = CATALOGUE["laplace_half_noise"].batch
    whole = fg.audit(mechanism, **settings)
    until = fg.audit(mechanism, **settings, shrink=False)
    assert until.runs_after == 0
    assert whole.runs_after > 0
    assert whole.runs - whole.runs_after == until.runs
    again = fg.AuditReport.from_json(whole.to_json(), mechanism)
    assert again.runs_after == whole.runs_after
