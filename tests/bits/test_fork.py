"""No two processes share a stream of bits, whichever way the second one came to be."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable

import pytest

import freegap as fg
from freegap.bits import last_unpaid_draw, source_or_system

SHARED = fg.SystemBits()


class NaiveBufferedSource:
    """What others have shipped: a buffer that a forked child inherits."""

    def __init__(self) -> None:
        self.buffer = b""

    def bits(self, n: int) -> int:
        if len(self.buffer) < n // 8:
            self.buffer = os.urandom(4096)
        taken, self.buffer = self.buffer[: n // 8], self.buffer[n // 8 :]
        return int.from_bytes(taken, "big")


def in_forked_child(draw: Callable[[], int]) -> int:
    """What a child made by os.fork draws."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, draw().to_bytes(64, "big"))
        os._exit(0)
    os.close(write)
    drawn = os.read(read, 64)
    os.close(read)
    os.waitpid(child, 0)
    return int.from_bytes(drawn, "big")


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking with threads, as pytest-xdist does
def test_a_naive_source_repeats_after_a_fork_and_ours_does_not() -> None:
    naive, ours = NaiveBufferedSource(), fg.SystemBits()
    for source in (naive, ours):
        source.bits(64)  # fill the buffer before the fork
    assert in_forked_child(lambda: naive.bits(96)) == naive.bits(96)
    assert in_forked_child(lambda: ours.bits(96)) != ours.bits(96)


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_that_python_does_not_see_is_noticed() -> None:
    """The process id is compared at each draw, for forks made by other than os.fork."""
    ours = fg.SystemBits()
    ours.bits(64)
    buffered = ours._reservoir.value
    ours._process = -1  # as after such a fork
    ours.bits(64)
    assert ours._reservoir.value != buffered & ((1 << ours._reservoir.count) - 1)
    assert ours._process == os.getpid()


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_while_another_thread_draws_does_not_hang() -> None:
    ours = fg.SystemBits()
    with ours._lock:
        assert in_forked_child(lambda: ours.bits(96)) > 0


def draw_from_shared(_: int) -> int:
    return SHARED.bits(96)


def draw_from_default(_: int) -> int:
    return source_or_system(None).bits(96)


def release(_: int) -> tuple[int, ...]:
    """A whole release with tiny noise differences, which two equal streams would repeat."""
    return fg.noisy_top_k([0] * 30, 10, epsilon="0.001").gap_multiples or ()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.parametrize("draw", [draw_from_shared, draw_from_default, release])
def test_processes_of_any_start_method_draw_differently(method: str, draw: Callable[[int], object]) -> None:
    draw(0)
    SHARED.bits(8)
    context = multiprocessing.get_context(method)
    with context.Pool(4) as pool:
        drawn = pool.map(draw, range(16), chunksize=1)
    drawn += [draw(0) for _ in range(16)]
    assert len(set(map(str, drawn))) == 32


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_is_noticed_at_once_and_not_by_the_process_id_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The id may be used again, and another thread may hold the lock: all of it is replaced in the child."""
    monkeypatch.setattr(os, "getpid", lambda: 1)
    ours = fg.SystemBits()
    ours.bits(64)
    with ours._lock:
        child = in_forked_child(lambda: 0 if ours._lock.locked() else ours.bits(96))
    assert child not in (0, ours.bits(96))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_leaves_a_mark_since_nobody_sees_what_the_child_draws() -> None:
    before = last_unpaid_draw()
    assert last_unpaid_draw() is before
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    assert last_unpaid_draw() is not before
