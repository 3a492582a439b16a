"""kill -9 at every step of a release: what was released is charged, the journal verifies, one can go on."""

from __future__ import annotations

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


def steps_of_a_release(url: str, tmp_path: Path) -> int:
    note = tmp_path / "counted"
    Ledger(url).create("count", epsilon=TOTAL)
    child = CONTEXT.Process(target=children.release_once, args=(url, "count", note, 0))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    return int(note.with_suffix(".steps").read_text())


def check_after_a_kill(url: str, dataset: str, released: Path) -> None:
    ledger = Ledger(url)
    account = ledger.account(dataset)
    assert account.spent + account.reserved >= total_released(released)
    outcome = ledger.verify()
    assert outcome.ok, outcome
    release = ledger.charge(dataset, lambda: fg.noisy_max([1, 2], epsilon=1), epsilon=1, what="noisy_max")
    after = ledger.account(dataset)
    assert after.spent == account.spent + release.spent
    assert after.reserved == account.reserved


def kill_at_steps(url: str, tmp_path: Path, chosen: Callable[[int], list[int]]) -> int:
    """Kill one release at each chosen step; returns how many were killed."""
    last = steps_of_a_release(url, tmp_path)
    assert last > 100  # else the tracer has lost sight of the ledger
    charged = set()
    at = chosen(last)
    for step in at:
        dataset, released = f"killed at {step}", tmp_path / f"released-{step}"
        Ledger(url).create(dataset, epsilon=TOTAL)
        child = CONTEXT.Process(target=children.release_once, args=(url, dataset, released, step))
        child.start()
        child.join(60)
        assert child.exitcode == -signal.SIGKILL
        before = Ledger(url).account(dataset)
        charged.add((before.spent > 0, before.reserved > 0, total_released(released) > 0))
        check_after_a_kill(url, dataset, released)
    # Before the reservation, after it, after the draw, after the settling: all were hit.
    assert charged == {
        (False, False, False),
        (False, True, False),
        (False, True, True),
        (True, False, True),
    }
    return len(at)


def test_kill_at_some_steps_of_a_release(url: str, tmp_path: Path) -> None:
    assert kill_at_steps(url, tmp_path, lambda last: spread(last, 15)) >= 15


@pytest.mark.long
def test_kill_at_every_step_of_a_release(url: str, tmp_path: Path) -> None:
    killed = kill_at_steps(url, tmp_path, lambda last: list(range(1, last + 1)))
    print(f"killed at each of {killed} steps")
    assert killed >= 100  # of each engine


def spread(last: int, count: int) -> list[int]:
    """Steps from the first to the last, evenly, and the last ones, where the settling is durable."""
    return sorted({1 + (last - 1) * i // (count - 1) for i in range(count)} | set(range(last - 2, last + 1)))


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
        check_after_a_kill(url, "shop", released)


def test_kill_at_random_moments(url: str, tmp_path: Path) -> None:
    kill_at_random(url, tmp_path, 5, seed=1)


@pytest.mark.long
def test_kill_at_many_random_moments(url: str, tmp_path: Path) -> None:
    kill_at_random(url, tmp_path, 60, seed=2)
