"""Titles, headings and cells on a narrow terminal: whole, or folded, and never cut."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from freegap_evidence.commands.shown import table_of
from rich.console import Console
from rich.table import Table

import freegap as fg
from freegap.bits import SeededBits
from freegap.budget.statement import charges
from freegap.cli import budget, demo
from freegap.demo import run
from freegap.report.tables import TitledTable

PLAN = fg.PowerLaw(items=100, largest=500)


def shown(thing: Any, width: int) -> list[str]:
    text = io.StringIO()
    Console(file=text, width=width, color_system=None).print(thing)
    lines = text.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    return [line.rstrip() for line in lines]


def _ledger(tmp_path: Path) -> fg.Ledger:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("visits of the hospitals", epsilon=9)
    fg.noisy_top_k([3, 1, 9], k=1, epsilon="1/10", ledger=(ledger, "visits of the hospitals"))
    return ledger


def _charges(tmp_path: Path) -> TitledTable:
    name = "visits of the hospitals"
    return budget._charge_table(name, charges(_ledger(tmp_path).entries(name)))


TABLES: dict[str, Callable[[Path], Any]] = {
    "charges": _charges,
    "accounts": lambda path: budget._account_table("sqlite:///ledger.db", _ledger(path).accounts()),
    "demo": lambda _: demo._table(run(bits=SeededBits(1))),
    "bench": lambda _: table_of(
        "Threshold questions per second",
        [{"name": "clamped", "rate": 1234567}],
        {"mechanism": "{name}", "per second": "{rate:,}"},
    ),
}


@pytest.mark.parametrize("width", [40, 60])
@pytest.mark.parametrize("name", TABLES)
def test_titles_and_headings_stay_whole(name: str, width: int, tmp_path: Path) -> None:
    made = TABLES[name](tmp_path)
    lines = shown(made, width)
    assert lines[0] == made.title
    words = set(re.split(r"[\s┃┏┳┓━]+", " ".join(lines)))
    for column in made.table.columns:
        heading = getattr(column.header, "plain", column.header)
        assert set(heading.split()) <= words, heading
    assert "…" not in "".join(lines)


@pytest.mark.parametrize("width", [24, 40, 60])
def test_what_has_no_room_is_folded_and_not_cut(width: int) -> None:
    """Two ledgers, and two items, that differ at their ends only."""
    seen = set()
    for end in "ab":
        table = Table("the name of the item", "people")
        table.add_row("x" * 70 + end, "1234567890123")
        lines = shown(TitledTable(f"Ledger {'y' * 70}{end}", table), width)
        letters = re.sub(r"[^xyab0-9]", "", "".join(lines).partition("the")[0] + "".join(lines))
        assert letters.count("x") == 70
        assert re.sub(r"\D", "", "".join(lines)) == "1234567890123"
        seen.add(letters)
    assert len(seen) == 2


@pytest.mark.parametrize("width", [40, 60])
def test_a_plan_and_a_release(width: int) -> None:
    planned = shown(fg.plan(PLAN, k=3, epsilon=1), width)
    assert planned[0] == "The top 3"
    assert "By budget" in planned
    released = shown(
        fg.noisy_top_k({"tea": 9, "milk": 4, "rice": 1}, k=2, epsilon=1, bits=SeededBits(1)), width
    )
    assert released[0] == "Private top 2 with gaps"
    assert any("gap to next" in line for line in released)
