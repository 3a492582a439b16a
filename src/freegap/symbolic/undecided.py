"""The answer "not decided", with the line of the user's program that could not be followed."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType

import numpy
import z3

from freegap.errors import FreegapError

_OWN = tuple(str(Path(file).parent) for file in (__file__, numpy.__file__, z3.__file__))
_STANDARD = str(Path(os.__file__).parent)


@dataclass(frozen=True)
class SourceLine:
    """A line of a program."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}"


class NotDecided(FreegapError):
    """Symbolic execution cannot follow the program: neither a proof nor a refutation.

    `reason` says what happened and `where` is the line of the program, if it is known.
    """

    def __init__(self, reason: str, where: SourceLine | None = None) -> None:
        self.reason = reason
        self.where = where
        super().__init__(f"not decided: {reason}" + (f" ({where})" if where else ""))

    def __reduce__(self) -> tuple[object, ...]:
        """Survive pickling."""
        return type(self), (self.reason, self.where)


class OutOfTime(NotDecided):
    """The time limit was reached."""


def is_internal(file: str) -> bool:
    """Whether a file belongs to the executor or to the libraries below it, not to the program."""
    if file.startswith("<"):  # generated or frozen code has no line to show; doctests do
        return not file.startswith("<doctest")
    if file.startswith(_OWN):
        return True
    return file.startswith(_STANDARD) and "-packages" not in file


def calling_line() -> SourceLine | None:
    """The innermost line of the program that is running now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_internal(frame.f_code.co_filename):
            return SourceLine(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None


def raising_line(trace: TracebackType | None) -> SourceLine | None:
    """The innermost line of the program in a traceback."""
    found = None
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not is_internal(file):
            found = SourceLine(file, trace.tb_lineno)
        trace = trace.tb_next
    return found
