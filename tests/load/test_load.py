"""A day's work in small: memory stays flat, no two releases share randomness, totals are exact."""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import freegap as fg
from freegap.budget import accounting
from freegap.budget.accounting import Cost
from freegap.budget.budgets import Budget
from freegap.values.measures import Pure

pytestmark = pytest.mark.long

MILLION = 1_000_000
MEBIBYTE = 1024  # in the units of ru_maxrss, on Linux
FINE = Fraction(1, 2**60)
WORKERS, EACH = 50, 40
PRICE = Fraction(1, 7919)  # sums of it are exact or visibly wrong


def most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_ten_million_online_questions() -> None:
    """All far below the threshold but every millionth: the noise of a question is forgotten with it."""
    asking = fg.SparseVector(10**9, k=20, epsilon=1, monotonic=True)
    above = 0
    for place in range(MILLION):
        above += bool(asking.ask(place % 1000))
    before = most_memory()
    for million in range(1, 10):
        assert asking.ask(10**12)
        for place in range(1, MILLION):
            above += bool(asking.ask(place % 1000))
        assert not asking.exhausted, million
    assert (asking.asked, above) == (10 * MILLION, 0)
    plan_spent = asking.spent
    assert plan_spent == fg.SparseVector(0, k=20, epsilon=1, monotonic=True)._plan.threshold_budget + 9 * (
        asking._plan.answer_budget
    )
    assert most_memory() - before < 30 * MEBIBYTE


def test_a_million_ledger_entries(tmp_path: Path) -> None:
    """Written by the ledger's own journal, many lines a transaction; then releases and checks as ever."""
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    total = MILLION * PRICE
    ledger.create("shop", epsilon=total)
    pairs = MILLION // 2
    budget = Budget.of(Pure(total))
    one, two = Cost(PRICE), Cost(2 * PRICE)
    one_text, two_text = budget.cost_text(one), budget.cost_text(two)
    balance = accounting.opened(budget.total)
    for begin in range(0, pairs, 50_000):
        with ledger._store.journal(write=True) as journal:
            for _ in range(begin, begin + 50_000):
                balance = accounting.reserve(balance, two)
                held = journal.append("reserve", "shop", two_text, budget, balance, what="load", who="test")
                balance = accounting.close(balance, two, one)
                journal.append(
                    "settle",
                    "shop",
                    one_text,
                    budget,
                    balance,
                    what="load",
                    who="test",
                    reservation=held.sequence,
                )
    before = most_memory()
    assert ledger.account("shop").spent == pairs * PRICE
    for _ in range(20):
        ledger.charge(
            "shop",
            lambda: fg.noisy_max([3, 900], epsilon=PRICE),
            epsilon=PRICE,
            what="noisy_max",
            parameters={},
        )
    assert ledger.account("shop").spent == (pairs + 20) * PRICE
    checked = ledger.verify()
    assert checked.ok
    assert checked.entries == 1 + MILLION + 40
    assert most_memory() - before < 60 * MEBIBYTE


def noise(count: int) -> list[Fraction]:
    """Noisy zeros on a grid so fine that two alike mean shared randomness."""
    return [fg.measure([0], epsilon=1, resolution=FINE).values[0] for _ in range(count)]


def charged_noise(url: str, start: Any, results: Any) -> None:
    ledger = fg.Ledger(url)
    start.wait()
    made = [
        ledger.charge(
            "shop", lambda: fg.measure([0], epsilon=PRICE, resolution=FINE), epsilon=PRICE, what="m"
        )
        for _ in range(EACH)
    ]
    results.put([release.values[0] for release in made])


def distinct(parts: Iterable[list[Fraction]]) -> bool:
    everything = [value for part in parts for value in part]
    return len(set(everything)) == len(everything) == WORKERS * EACH


def test_fifty_threads_release_at_once() -> None:
    with ThreadPoolExecutor(WORKERS) as pool:
        assert distinct(pool.map(noise, [EACH] * WORKERS))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_fifty_processes_release_at_once_and_the_total_is_exact(method: str, tmp_path: Path) -> None:
    """Forked processes start with a copy of the parent's source of bits, which it has just used."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    fg.Ledger(url).create("shop", epsilon=1)
    noise(3)
    context: Any = multiprocessing.get_context(method)
    start, results = context.Barrier(WORKERS), context.Queue()
    workers = [context.Process(target=charged_noise, args=(url, start, results)) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    parts = [results.get(timeout=600) for _ in workers]
    for worker in workers:
        worker.join(60)
    assert distinct(parts)
    assert fg.Ledger(url).account("shop").spent == WORKERS * EACH * PRICE
    assert fg.Ledger(url).verify().ok
