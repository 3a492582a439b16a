"""Programs of labelled noise, and programs in any language over a line protocol; the time limit of a run.

A program of labelled noise `(answers, noise, *, epsilon, …)` is the text that `freegap.prove` takes as well.
All randomness must come from the noise, as in a proof. Real numbers in an output are rounded down to 1/1024,
so that what an audit finds is a fault of the program, and not of the doubles in which its noise is drawn
here. `freegap.auditor.columns` makes many runs at once.

A `Command` is started once and asked many times. A request is one line on its standard input:

    RUNS SEED EPSILON N A1 … AN [name=value …]

RUNS and SEED are whole numbers, EPSILON and the N answers are decimal numbers, and each parameter
is `name=value` without blanks. The program answers with RUNS lines on its standard output, one output a
line: a JSON value (3, 0.25, true, null, NaN, "yes", [false, 1.5], {"gap": 2}), or any other text, which is
taken as a string. It must flush after each request and draw all its randomness from SEED if the audit is
to be replayed. At the end of its input it should stop. What it writes to standard error is shown if it fails.
"""

from __future__ import annotations

import json
import math
import numbers
import os
import selectors
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from types import FrameType
from typing import IO, Any

import numpy as np

from freegap.auditor.outputs import Outputs
from freegap.auditor.reading import PLAIN, from_objects
from freegap.auditor.whole_inputs import handed_over
from freegap.errors import InvalidArgument, MechanismFailed
from freegap.laws import Law
from freegap.laws.labelled import LabelledNoise
from freegap.values.rationals import Rational, double, positive_rational
from freegap.values.written import text_of

GRID = 1024
HUGE = 1e300  # below it Python's own floor is that of NumPy, to the sign of zero

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
        if resolution is None:
            return self._made(lambda size: law.sample(self._rng, float(scale), size))
        unit = float(resolution)
        return self._made(lambda size: unit * law.sample(self._rng, float(scale) / unit, size))


def without_noise(program: Program, answers: Sequence[float], keywords: Mapping[str, Any]) -> Outputs:
    """The output with every draw at its centre."""
    noise = DrawnNoise(np.random.default_rng(0), lambda sample: 0.0)
    return from_objects([released(program(handed_over(answers), noise, **keywords))])


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
            outputs.append(released(program(handed_over(answers), noise, **keywords)))
    return from_objects(outputs)


def released(output: Any, change: Callable[[Any], Any] = lambda leaf: leaf) -> Any:
    """The output with its real numbers on the grid; whole numbers (positions) and all else as they are.

    change: what is done before with every part that has no parts, but for plain values of Python.
    """
    kind = type(output)
    if kind is float:
        return output * GRID // 1.0 / GRID if abs(output) < HUGE else float(rounded(output))
    if kind in PLAIN:
        return output
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


def rounded(number: Any, xp: Any = np) -> Any:
    """A number, or each of an array of `xp`, rounded down to the grid."""
    return xp.floor(number * GRID) / GRID


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


# Programs in any language --------------------------------------------------------------------------------


REQUEST = 2000


class Command:
    """A program as a mechanism. Each process and thread that audits starts its own copy of the program.

    >>> script = 'while read runs seed epsilon n first rest; do yes "$first" | head -n "$runs"; done'
    >>> program = Command(["sh", "-c", script])
    >>> program.run_many([7, 8], 3, seed=1, parameters={"epsilon": 1.0})
    [7, 7, 7]
    """

    def __init__(
        self, command: str | Sequence[str], *, seeded: bool = False, run_limit: Rational | None = 10
    ) -> None:
        self.words = words = _words_argument(command)
        self.replayable = seeded
        self.run_limit = None if run_limit is None else positive("run_limit", run_limit)
        self.__qualname__ = " ".join(words)
        self._own = threading.local()

    def __call__(self, answers: list[float], epsilon: float, **parameters: Any) -> Any:
        """One run with a seed of the operating system's."""
        seed = int.from_bytes(os.urandom(7), "little")
        return self.run_many(answers, 1, seed, {"epsilon": epsilon, **parameters})[0]

    def run_many(
        self, answers: Sequence[float], runs: int, seed: int, parameters: Mapping[str, Any]
    ) -> list[Any]:
        """The outputs of several runs."""
        outputs: list[Any] = []
        for start in range(0, runs, REQUEST):
            size = min(REQUEST, runs - start)
            outputs += self._ask(answers, size, (seed + start) % 2**63, parameters)
        return outputs

    def _ask(
        self, answers: Sequence[float], runs: int, seed: int, parameters: Mapping[str, Any]
    ) -> list[Any]:
        others = {name: value for name, value in parameters.items() if name != "epsilon"}
        numbers_sent = [int(x) if float(x).is_integer() else x for x in answers]
        words = [runs, seed, parameters.get("epsilon", "nan"), len(answers), *numbers_sent]
        words += [_word(name, value) for name, value in others.items()]
        process = self._process(answers, others)
        try:
            process.ask(" ".join(map(str, words)) + "\n")
            lines = process.read_lines(runs, self.run_limit)
        except _Broken as broken:
            process.close()
            self._own.process = None
            raise MechanismFailed(broken.what, list(answers), others) from None
        return [_value(line) for line in lines]

    def _process(self, answers: Sequence[float], parameters: Mapping[str, Any]) -> _Process:
        process: _Process | None = getattr(self._own, "process", None)
        if process is None:
            try:
                process = _Process(self.words)
            except OSError as error:
                raise MechanismFailed(f"could not be started: {error}", list(answers), parameters) from None
            self._own.process = process
        return process

    def __getstate__(self) -> dict[str, Any]:
        """Travel to a worker process without the running program."""
        return {name: value for name, value in self.__dict__.items() if name != "_own"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._own = threading.local()


class _Broken(Exception):
    def __init__(self, what: str) -> None:
        self.what = what


class _Process:
    """A running program, read line by line with a deadline."""

    def __init__(self, words: list[str]) -> None:
        self._open: list[Any] = []
        self._errors: IO[bytes] = self._kept(tempfile.TemporaryFile())  # noqa: SIM115
        try:
            self._running = subprocess.Popen(  # noqa: S603 - running the user's program is the point
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, bufsize=0
            )
        except OSError:
            self._errors.close()
            raise
        self._input: IO[bytes] = self._kept(self._running.stdin)
        self._output: IO[bytes] = self._kept(self._running.stdout)
        self._rest = b""
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._output, selectors.EVENT_READ)

    def _kept(self, stream: Any) -> Any:
        self._open.append(stream)
        return stream

    def ask(self, line: str) -> None:
        try:
            self._input.write(line.encode())
        except OSError:
            raise _Broken(self._ending()) from None

    def read_lines(self, count: int, limit: float | None) -> list[str]:
        lines: list[bytes] = []
        deadline = None if limit is None else time.monotonic() + limit
        while True:
            *whole, self._rest = self._rest.split(b"\n")
            lines += whole
            if len(lines) >= count:
                break
            if whole and limit is not None:
                deadline = time.monotonic() + limit
            wait = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._ready.select(wait):
                raise _Broken(f"did not finish a run within {limit:g} s")
            data = os.read(self._output.fileno(), 1 << 16)
            if not data:
                raise _Broken(self._ending())
            self._rest += data
        if len(lines) > count or self._rest:
            raise _Broken(f"answered with more than the {count} lines it was asked for")
        return [line.decode(errors="replace").strip() for line in lines]

    def _ending(self) -> str:
        try:
            status: object = self._running.wait(timeout=10)
        except subprocess.TimeoutExpired:
            status = "unknown"
        self._errors.seek(0)
        said = self._errors.read()[-300:].decode(errors="replace").strip()
        return f"ended with exit status {status}" + (f" ({said})" if said else "")

    def close(self) -> None:
        """End the program, if it has not ended, and let go of its streams. May be called twice."""
        streams, self._open = self._open, []
        if streams and hasattr(self, "_running"):
            self._running.kill()
            self._running.wait()
            self._ready.close()
        for stream in streams:
            stream.close()

    def __del__(self) -> None:
        self.close()


def positive(argument: str, value: Any) -> float:
    """A positive number, as a double."""
    number = double(positive_rational(argument, value))
    if not 0 < number < math.inf:
        raise InvalidArgument(argument, value, "must be within the range of doubles", "Pass for example 1.")
    return number


def _words_argument(command: Any) -> list[str]:
    """A program and its arguments, as the operating system can be given them."""
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
        usable = bool(words) and not any(b"\0" in os.fsencode(word) for word in words)
    except (TypeError, ValueError):  # no sequence, an open quotation, a text that has no bytes
        usable = False
    if not usable:
        raise InvalidArgument(
            "command",
            command,
            "is not a program with its arguments",
            'Pass a program, such as "./my-program".',
        )
    return words


def _word(name: str, value: Any) -> str:
    """name=value, one word of the request."""
    text = f"{name}={text_of(value)}"
    if len(text.split()) != 1 or not text.isprintable():
        raise InvalidArgument(
            "parameters", name, "must be without blanks and line ends", "The program reads words of one line."
        )
    return text


def _value(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # lists within lists without end are a text as well
        return line
