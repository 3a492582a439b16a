"""Many processes on one dataset never overspend, on both engines."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from freegap import Ledger
from tests.budget import children
from tests.budget.children import CONTEXT, total_released

PROCESSES = 50
TOTAL = 12


def test_fifty_processes_never_overspend(url: str, tmp_path: Path) -> None:
    ledger = Ledger(url)
    ledger.create("shop", epsilon=TOTAL)
    released = tmp_path / "released"
    start = CONTEXT.Barrier(PROCESSES)  # all begin at once, however slowly they were started
    hammers = [
        CONTEXT.Process(target=children.hammer, args=(url, "shop", seed, released, start))
        for seed in range(PROCESSES)
    ]
    for process in hammers:
        process.start()
    for process in hammers:
        process.join(120)
    assert [process.exitcode for process in hammers] == [0] * PROCESSES
    account = ledger.account("shop")
    assert total_released(released) <= account.spent + account.reserved <= TOTAL
    assert account.remaining < Fraction(40, 30)  # each stopped only when its wish was refused
    assert ledger.verify().ok
    made = [entry for entry in ledger.entries("shop") if entry.kind == "reserve"]
    assert len({entry.what for entry in made}) > 1  # they took turns


def test_many_processes_create_one_ledger_at_once(url: str) -> None:
    creators = [CONTEXT.Process(target=children.create, args=(url, "shop")) for _ in range(10)]
    for process in creators:
        process.start()
    for process in creators:
        process.join(60)
    assert [process.exitcode for process in creators] == [0] * 10
    assert [entry.kind for entry in Ledger(url).entries()] == ["create"]
    assert Ledger(url).verify().ok
