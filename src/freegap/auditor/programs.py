"""Programs of labelled noise `(answers, noise, *, epsilon, …)`, the text that `freegap.prove` takes as well.

All randomness must come from the noise, as in a proof. Real numbers in an output are rounded down to 1/1024,
so that what an audit finds is a fault of the program, and not of the doubles in which its noise is drawn
here. `freegap.auditor.columns` makes many runs at once.
"""

from __future__ import annotations

import numbers
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from freegap.auditor.outputs import Outputs
from freegap.auditor.reading import from_objects
from freegap.laws import Law
from freegap.laws.labelled import LabelledNoise

__all__ = [
    "DrawnNoise",
    "Program",
    "RunTookTooLong",
    "Sampler",
    "limit_runs",
    "released",
    "rounded",
    "run_singly",
    "running",
    "without_noise",
]

GRID = 1024

Sampler = Callable[[int | None], Any]
Program = Callable[..., Any]


class DrawnNoise(LabelledNoise[Any]):
    """Labelled noise in floating point, for audits: `made` says what comes of a draw.

    >>> rng = np.random.default_rng(1)
    >>> DrawnNoise(rng, lambda sample: float(sample(None))).exponential(2, label="threshold") > 0
    True
    """

    def __init__(self, rng: np.random.Generator, made: Callable[[Sampler], Any]) -> None:
        self._rng = rng
        self._made = made

    def draw(
        self, law: Law, scale: Any, label: Any = None, *, resolution: Any = None, step: Any = None
    ) -> Any:
        """What is made of noise of this law."""
        unit = 1.0 if resolution is None else float(resolution)
        return self._made(lambda size: unit * law.sample(self._rng, float(scale) / unit, size))


def without_noise(program: Program, answers: Sequence[float], keywords: Mapping[str, Any]) -> Outputs:
    """The output with every draw at its centre."""
    noise = DrawnNoise(np.random.default_rng(0), lambda sample: 0.0)
    return from_objects([released(program(list(answers), noise, **keywords))])


def run_singly(
    program: Program,
    inputs: Iterable[Sequence[float]],
    keywords: Mapping[str, Any],
    rng: np.random.Generator,
) -> Outputs:
    """The outputs of a run on each of these inputs, made one by one."""
    noise = DrawnNoise(rng, lambda sample: float(sample(None)))
    outputs: list[Any] = []
    with running(outputs):
        for answers in inputs:
            outputs.append(released(program(list(answers), noise, **keywords)))
    return from_objects(outputs)


def released(output: Any, change: Callable[[Any], Any] = lambda leaf: leaf) -> Any:
    """The output with its real numbers on the grid; whole numbers (positions) and all else as they are.

    change: what is done with every part that has no parts, before.
    """
    if isinstance(output, tuple) and hasattr(output, "_fields"):
        return type(output)(*(released(part, change) for part in output))
    if isinstance(output, list | tuple):
        return type(output)(released(part, change) for part in output)
    if isinstance(output, dict):
        return {key: released(part, change) for key, part in output.items()}
    leaf = change(output)
    if isinstance(leaf, numbers.Real) and not isinstance(leaf, numbers.Integral | np.bool_):
        return float(rounded(float(leaf)))
    return leaf


def rounded(number: Any) -> Any:
    """A number, or each of an array, rounded down to the grid."""
    return np.floor(number * GRID) / GRID


# The time limit of a run ---------------------------------------------------------------------------------
#
# A watch rings when no run has ended since it last looked. It costs nothing per run: a timer of the operating
# system looks at how many outputs there are. A run is stopped after one to two limits. Where there is no such
# timer (not the main thread of a process, or not Unix) the watch is silent, and the waiting process has a
# limit of its own.


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
