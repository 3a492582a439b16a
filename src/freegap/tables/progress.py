"""How far an engine is with its query, for whoever waits; a fraction, and nothing that was counted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Show = Callable[[float], object]

_SECONDS_BETWEEN_LOOKS = 0.1
_show: ContextVar[Show | None] = ContextVar("freegap_watching", default=None)


@contextmanager
def watched(show: Show) -> Iterator[None]:
    """Meanwhile `show` is told again and again how far the query that runs is, from 0 to 1.

    It is called from another thread, and only for engines that tell: files, which our own DuckDB reads.
    """
    token = _show.set(show)
    try:
        yield
    finally:
        _show.reset(token)


@contextmanager
def followed(connection: Any) -> Iterator[None]:
    """Look at a DuckDB connection from time to time, if somebody watches."""
    # Without printing: DuckDB would draw its own bar on standard output.
    connection.execute("SET enable_progress_bar_print = false")
    show = _show.get()
    if show is None:
        connection.execute("SET enable_progress_bar = false")
        yield
        return
    connection.execute("SET enable_progress_bar = true")
    ended = threading.Event()
    thread = threading.Thread(target=_follow, args=(connection, show, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _follow(connection: Any, show: Show, ended: threading.Event) -> None:
    while not ended.wait(_SECONDS_BETWEEN_LOOKS):
        percent = connection.query_progress()
        if percent >= 0:  # else nothing runs
            show(min(percent / 100, 1.0))
