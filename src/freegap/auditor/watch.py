"""The time limit of a run: a watch that rings when no run has ended since it last looked.

It costs nothing per run: a timer of the operating system looks at how many outputs there are. A run is
stopped after one to two limits. Where there is no such timer (not the main thread of a process, or not
Unix) the watch is silent, and the waiting process has a limit of its own.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from types import FrameType

__all__ = ["RunTookTooLong", "limit_runs", "running"]


class RunTookTooLong(BaseException):
    """A run went over the limit. Not an `Exception`, so that the mechanism does not swallow it."""


_progress: list[Sized] = []


@contextmanager
def running(outputs: Sized) -> Iterator[None]:
    """Runs that end add to `outputs`."""
    _progress.append(outputs)
    try:
        yield
    finally:
        _progress.pop()


@contextmanager
def limit_runs(seconds: float | None) -> Iterator[None]:
    """Raise `RunTookTooLong` in the block when a single run lasts longer than this."""
    on_main = threading.current_thread() is threading.main_thread()
    if seconds is None or not on_main or not hasattr(signal, "setitimer"):
        yield
        return
    seen: list[int] = []

    def ring(_number: int, _frame: FrameType | None) -> None:
        done = len(_progress[-1]) if _progress else -1
        if seen and seen[0] == done:
            raise RunTookTooLong
        seen[:] = [done]

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
