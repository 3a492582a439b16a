"""What an engine says when it fails may quote private rows: keep its type, drop its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from freegap.errors import EngineFailed, FreegapError

__all__ = ["ask_engine"]

T = TypeVar("T")


def ask_engine(work: Callable[[], T]) -> T:
    """Run work in an engine; a failure becomes an `EngineFailed` that carries nothing of the original.

    The new error is raised outside the handler, so that not even its context holds the engine's message.
    """
    try:
        return work()
    except FreegapError:
        raise
    except Exception as error:  # whatever an engine raises
        kind = type(error).__name__
    raise EngineFailed(kind)
