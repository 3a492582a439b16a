"""What an engine says when it fails may quote private rows: keep its type, drop its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from freegap.errors import EngineFailed, FreegapError

T = TypeVar("T")

_PANIC = "PanicException"
"""What Polars raises where its own program has a defect; Python does not count it among its `Exception`s."""

_INTERRUPTED = "Query interrupted"
"""What DuckDB says, in place of the signal's own error, when somebody presses Ctrl-C while it counts."""


def ask_engine(work: Callable[[], T]) -> T:
    """Run work in an engine; a failure becomes an `EngineFailed` that carries nothing of the original.

    The new error is raised outside the handler, so that not even its context holds the engine's message.
    """
    try:
        return work()
    except FreegapError:
        raise
    except BaseException as error:  # whatever an engine raises
        kind, interrupted = type(error).__name__, str(error) == _INTERRUPTED
        if not isinstance(error, Exception) and kind != _PANIC:
            raise
    if interrupted:
        raise KeyboardInterrupt
    raise EngineFailed(kind)
