"""kill -9 at every step of a release: what was released is charged, the journal verifies, one can go on."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import freegap as fg
from freegap import Ledger
from tests.budget import children
from tests.budget.children import CONTEXT, total_released

TOTAL = 10**6


def steps_of_a_release(url: str, tmp_path: Path) -> tuple[int, list[int]]:
    """How many steps a release has, and after which of them the database has just committed."""
    note = tmp_path / "counted"
    Ledger(url).create("count", epsilon=TOTAL)
    child = CONTEXT.Process(target=children.release_once, args=(url, "count", note, 0))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    steps = json.loads(note.with_suffix(".steps").read_text())
    return steps["last"], steps["commits"]


def check_after_a_kill(ledger: Ledger, dataset: str, released: Path) -> None:
    account = ledger.account(dataset)
    assert account.spent + account.reserved >= total_released(released)
    outcome = ledger.verify()
    assert outcome.ok, outcome
    release = ledger.charge(dataset, lambda: fg.noisy_max([1, 2], epsilon=1), epsilon=1, what="noisy_max")
    after = ledger.account(dataset)
    assert after.spent == account.spent + release.spent
    assert after.reserved == account.reserved


def kill_at_steps(url: str, tmp_path: Path, chosen: Callable[[int, list[int]], list[int]]) -> int:
    """Kill one release at each chosen step; returns how many were killed."""
    last, commits = steps_of_a_release(url, tmp_path)
    assert last > 100  # else the tracer has lost sight of the ledger
    ledger = Ledger(url)
    charged = set()
    at = chosen(last, commits)
    for step in at:
        dataset, released = f"killed at {step}", tmp_path / f"released-{step}"
        ledger.create(dataset, epsilon=TOTAL)
        child = CONTEXT.Process(target=children.release_once, args=(url, dataset, released, step))
        child.start()
        child.join(60)
        assert child.exitcode == -signal.SIGKILL
        before = ledger.account(dataset)
        charged.add((before.spent > 0, before.reserved > 0, total_released(released) > 0))
        check_after_a_kill(ledger, dataset, released)
    # Before the reservation, after it, after the draw, after the settling: all were hit.
    assert charged == {
        (False, False, False),
        (False, True, False),
        (False, True, True),
        (True, False, True),
    }
    return len(at)


def test_kill_at_some_steps_of_a_release(url: str, tmp_path: Path) -> None:
    assert kill_at_steps(url, tmp_path, some_steps) >= 12


@pytest.mark.long
def test_kill_at_every_step_of_a_release(url: str, tmp_path: Path) -> None:
    killed = kill_at_steps(url, tmp_path, lambda last, commits: list(range(1, last + 1)))
    print(f"killed at each of {killed} steps")
    assert killed >= 100  # of each engine


def some_steps(last: int, commits: list[int]) -> list[int]:
    """Eight steps from the first to the last, and those just before and just after each commit."""
    evenly = {1 + (last - 1) * i // 7 for i in range(8)}
    return sorted(evenly | {step for commit in commits for step in (commit - 1, commit)})


def kill_at_random(url: str, tmp_path: Path, kills: int, seed: int) -> None:
    """Kill processes that release without pause, at moments that no line of code marks."""
    dice = random.Random(seed)
    ledger = Ledger(url)
    ledger.create("shop", epsilon=TOTAL)
    released = tmp_path / "released"
    for _ in range(kills):
        already = total_released(released)
        child = CONTEXT.Process(target=children.release_forever, args=(url, "shop", released))
        child.start()
        deadline = time.monotonic() + 30
        while total_released(released) == already and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(dice.uniform(0, 0.06))
        child.kill()
        child.join(60)
        assert child.exitcode == -signal.SIGKILL
        assert total_released(released) > already
        check_after_a_kill(ledger, "shop", released)


def test_kill_at_random_moments(url: str, tmp_path: Path) -> None:
    kill_at_random(url, tmp_path, 5, seed=1)


@pytest.mark.long
def test_kill_at_many_random_moments(url: str, tmp_path: Path) -> None:
    kill_at_random(url, tmp_path, 60, seed=2)
