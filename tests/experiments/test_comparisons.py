"""The comparison lines can fail: each is given numbers on which the paper's statement does not hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from freegap.experiments.table import Table
from tests.experiments.test_running import BY_ID, go, small

Change = Callable[[dict[str, Any]], dict[str, Any]]

WORSE: dict[str, Change] = {
    "fig-5-1": lambda row: {"best_share": row["best_share"] + 0.02},
    "fig-5-2": lambda row: {"reduction_percent": row["theory_percent"] - 9, "standard_error": 0.1},
    "fig-5-4": lambda row: {"answers": float(row["k"]), "base": row["k"] / 4},
    "fig-5-5": lambda row: {"f_measure": 0.5},
    "fig-5-6": lambda row: {"remaining": 20.0},
    "fig-5-7": lambda row: {"remaining": 0.0},
    "fig-5-8": lambda row: {"average_answer": 1.0},
    "fig-5-9": lambda row: {"type_one_error": 0.07, "not_optimal": 10**6},
}
BETTER: dict[str, Change] = {
    "fig-5-1": lambda row: {},
    "fig-5-2": lambda row: {"reduction_percent": row["theory_percent"] - 1, "standard_error": 0.1},
    "fig-5-4": lambda row: {"answers": row["k"] + 20.0 * row["branches"], "base": 1.0},
    "fig-5-5": lambda row: {"f_measure": 0.4 + 0.2 * row["branches"], "precision": 0.99},
    "fig-5-6": lambda row: {"remaining": 40.0},
    "fig-5-9": lambda row: {"type_one_error": row["alpha"] / 2},
}


def changed(table: Table, change: Change) -> Table:
    return Table.of(row | change(row) for row in table.records())


@pytest.mark.parametrize("name", sorted(WORSE))
def test_a_statement_that_does_not_hold_is_said_not_to(name: str, tmp_path: Path) -> None:
    shared = {"fig-5-5": "fig-5-4", "fig-5-6": "fig-5-4", "fig-5-8": "fig-5-7"}.get(name, name)
    table = go(small(shared), tmp_path, runs=20).table
    assert not BY_ID[name].compare(changed(table, WORSE[name])).holds
    if name in BETTER:
        assert BY_ID[name].compare(changed(table, BETTER[name])).holds


def test_a_missed_violation_is_named() -> None:
    rows = [
        {
            "mechanism": "histogram_inverted_scale",
            "claimed_epsilon": claim,
            "test_epsilon": e / 10,
            "p_value": 1.0,
        }
        for claim in (0.2, 0.7, 1.5)
        for e in range(23)
    ]
    found = BY_ID["fig-4-3"].compare(Table.of(rows))
    assert not found.holds
    assert "Not told from a private mechanism" in found.text


def test_a_false_alarm_does_not_hold() -> None:
    rows = [
        {"mechanism": "histogram", "claimed_epsilon": claim, "test_epsilon": e / 10, "p_value": 0.0}
        for claim in (0.2, 0.7, 1.5)
        for e in range(23)
    ]
    assert not BY_ID["fig-4-3"].compare(Table.of(rows)).holds


def test_a_search_that_found_only_a_weak_event_is_said_to() -> None:
    def table(rise: float) -> Table:
        return Table.of(
            {
                "mechanism": "histogram",
                "claimed_epsilon": claim,
                "test_epsilon": e / 100,
                "p_value": float(e / 100 >= rise * claim),
            }
            for claim in (0.2, 0.7, 1.5)
            for e in range(221)
        )

    assert BY_ID["fig-4-3"].compare(table(0.95)).holds
    assert "well before" in BY_ID["fig-4-3"].compare(table(0.7)).text
    assert not BY_ID["fig-4-3"].compare(table(0.7)).holds


def test_a_counterexample_at_another_claim_is_not_the_papers() -> None:
    row = {"violated": True, "first": "1", "paper_first": "1 1 1 1 1"}
    compare = BY_ID["table-4-2"].compare
    assert compare(Table.of([{**row, "claimed_epsilon": 1.5}])).holds
    assert not compare(Table.of([{**row, "claimed_epsilon": 1.5}, {**row, "claimed_epsilon": 0.7}])).holds
    assert not compare(Table.of([{**row, "claimed_epsilon": 1.5, "violated": False}])).holds


def test_exact_and_insecure_that_differ_are_said_to() -> None:
    def table(exact: float) -> Table:
        return Table.of(
            [
                {
                    "measure": "top-k",
                    "k": 2,
                    "exact": exact,
                    "exact_standard_error": 0.3,
                    "insecure": 50.0,
                    "insecure_standard_error": 0.4,
                }
            ]
        )

    assert BY_ID["exact-accuracy"].compare(table(50.6)).holds
    assert not BY_ID["exact-accuracy"].compare(table(53.0)).holds
