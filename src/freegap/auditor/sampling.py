"""Run a mechanism many times: in batches, in threads, in worker processes or on a cluster.

What is drawn depends on the seed and on the key of a task alone, not on where or in which order the tasks
run, so an audit can be replayed on any number of cores. Joblib does the spreading: within
`joblib.parallel_config(backend="dask")` (or ray, or spark) the same audit runs on a cluster.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from freegap.auditor.mechanism import Answers, Mechanism, Parameters
from freegap.auditor.outputs import Outputs, empty, join
from freegap.auditor.programs import RunTookTooLong, limit_runs
from freegap.auditor.whole_inputs import shown
from freegap.errors import MechanismFailed, MissingExtra

try:
    import joblib
except ImportError as missing:
    raise MissingExtra("joblib", "audit") from missing

Item = TypeVar("Item")
Result = TypeVar("Result")

CHUNK = 50_000
PACE_KEY = 8
_LARGE = 20_000  # runs in one piece from which on NumPy, and not Python, is what a thread waits for
_FIRST = 6
_SMALL = 2.0  # seconds of work below which starting processes does not pay


@dataclass(frozen=True)
class OutputSource:
    """Where outputs come from: a mechanism, the seed of the audit and the time limit of a run."""

    mechanism: Mechanism
    seed: int
    run_limit: float | None

    def draw(self, answers: Answers, parameters: Parameters, size: int, key: tuple[int, ...]) -> Outputs:
        """Outputs of `size` runs; the same key draws the same outputs, where the mechanism has an rng."""
        chunks = [min(CHUNK, size - start) for start in range(0, size, CHUNK)] or [0]
        return join([self._chunk(answers, parameters, part, (*key, i)) for i, part in enumerate(chunks)])

    def _chunk(self, answers: Answers, parameters: Parameters, size: int, key: tuple[int, ...]) -> Outputs:
        with self._reported([answers], parameters):
            return self.mechanism.call(answers, parameters, size, self._generator(key))

    def toss(
        self,
        inputs: tuple[Answers, Answers],
        parameters: Parameters,
        size: int,
        blocks: int,
        key: tuple[int, ...],
    ) -> list[tuple[Outputs, Outputs]]:
        """So many trials, each of which tosses a coin for the input that it runs on: the outputs on the two
        inputs, block by block, in the order in which they were made.

        Where a call is a run, the inputs follow each other as they were tossed. Where a call makes many runs,
        a block is one call for each input, and it is tossed which comes first.
        """
        coin, rng = self._generator((*key, 0)), self._generator((*key, 1))
        found = []
        for part in map(len, np.array_split(np.empty(size), blocks)):
            sides = coin.random(part) < 0.5
            if self.mechanism.one_by_one:
                found.append(self._each(inputs, sides, parameters, rng))
                continue
            outputs: list[Outputs] = [empty(), empty()]
            for side in (0, 1) if coin.random() < 0.5 else (1, 0):
                runs = int(np.count_nonzero(sides == side))
                if not runs:
                    continue
                with self._reported([inputs[side]], parameters):
                    outputs[side] = self.mechanism.call(inputs[side], parameters, runs, rng)
            found.append((outputs[0], outputs[1]))
        return found

    def _each(
        self,
        inputs: tuple[Answers, Answers],
        sides: NDArray[np.bool_],
        parameters: Parameters,
        rng: np.random.Generator,
    ) -> tuple[Outputs, Outputs]:
        under_way: list[Answers] = []

        def in_turn() -> Iterator[Answers]:
            for side in sides.tolist():
                under_way[:] = [inputs[side]]
                yield inputs[side]

        with self._reported(under_way, parameters):
            outputs = self.mechanism.call_each(in_turn(), parameters, rng)
        return outputs.rows_at(np.flatnonzero(~sides)), outputs.rows_at(np.flatnonzero(sides))

    def _generator(self, key: tuple[int, ...]) -> np.random.Generator:
        return np.random.Generator(np.random.SFC64(np.random.SeedSequence(self.seed, spawn_key=key)))

    @contextmanager
    def _reported(self, under_way: list[Answers], parameters: Parameters) -> Iterator[None]:
        """What goes wrong in a run is reported with the input on which it did."""
        try:
            with limit_runs(self.run_limit):
                yield
        except RunTookTooLong:
            what = f"did not finish a run within {self.run_limit:g} s"
            raise MechanismFailed(what, shown(under_way[0]), dict(parameters)) from None
        except MechanismFailed:
            raise
        except Exception as error:
            what = f"raised {type(error).__name__}: {error}"
            remedy = "If users see that something was raised, it is an output: return it, and it is audited."
            raise MechanismFailed(what, shown(under_way[0]), dict(parameters), remedy) from error

    def pace(self, answers: Answers, parameters: Parameters) -> float:
        """About how many seconds a run takes: the shortest of three; 0 where it fails."""
        seconds = []
        for i in range(3):
            started = time.perf_counter()
            try:
                self.draw(answers, parameters, 1, (PACE_KEY, i))
            except MechanismFailed:
                return 0.0
            seconds.append(time.perf_counter() - started)
        return min(seconds)

    def refuses(self, answers: Answers, parameters: Parameters) -> bool:
        """Whether the mechanism turns this input down: a ValueError in each of ten runs."""
        for i in range(10):
            try:
                self.draw(answers, parameters, 1, (9, i))
                return False
            except MechanismFailed as failure:
                if not isinstance(failure.__cause__, ValueError):
                    return False
        return True


@dataclass
class Workers:
    """Maps functions over tasks, on as many cores as it is given.

    jobs: as joblib counts them: 1 for this process alone, -1 for one per processor.
    threads: the mechanism works in large batches inside NumPy, so that threads will do for large pieces.
    module: where the mechanism is defined; worker processes must be able to import it.
    pace: how many seconds a run takes, where that was tried. It decides where runs are made, not which.
    """

    jobs: int
    threads: bool
    run_limit: float | None
    runs: int = 0
    module: str | None = None
    notes: list[str] = field(default_factory=list)
    pace: float = 0.0

    def map(
        self,
        function: Callable[[Item], Result],
        items: Sequence[Item],
        runs: int,
        *,
        total: int | None = None,
    ) -> Iterator[Result]:
        """The results, in the order of the items, as they come in.

        Slow ones are spread at once; else the first few are done here, and what they cost decides where the
        others go.

        runs: how many runs of the mechanism one item takes.
        total: how many all of them take, where they are not alike.
        """
        made = runs * len(items) if total is None else total
        self.runs += made
        started = time.perf_counter()
        alone = joblib.effective_n_jobs(self.jobs) == 1  # whatever was asked for, on a single processor
        if not alone and len(items) > 1 and self.pace * made > _SMALL:
            yield from self._spread(function, items, self.pace * runs, threads=False)
            return
        here = len(items) if alone else min(len(items), 1 if runs >= _LARGE else _FIRST)
        yield from map(function, items[:here])
        others = items[here:]
        if not others:
            return
        expected = (time.perf_counter() - started) / here * len(others)
        threads = self.threads and runs >= _LARGE
        if threads or expected > _SMALL:
            yield from self._spread(function, others, expected / len(others), threads=threads)
        else:
            yield from map(function, others)

    def _spread(
        self, function: Callable[[Item], Result], items: Sequence[Item], expected: float, *, threads: bool
    ) -> Iterator[Result]:
        limit = None if self.run_limit is None else 60 + 4 * self.run_limit + 20 * expected
        parallel: Any = joblib.Parallel(
            n_jobs=self.jobs,
            prefer="threads" if threads else "processes",
            timeout=limit,
            return_as="generator",
        )
        done = 0
        try:
            for result in parallel(joblib.delayed(function)(item) for item in items):
                done += 1
                yield result
            return
        except MechanismFailed:
            raise
        except TimeoutError as error:
            what = f"did not answer within {limit:.0f} s and could not be interrupted"
            raise MechanismFailed(what, "of one of the inputs under way", None) from error
        except Exception as error:
            if type(error).__name__ not in ("TerminatedWorkerError", "BrokenProcessPool"):
                raise
            if "un-serialize" not in str(error):
                what = "ended its process (a crash in native code, or out of memory)"
                raise MechanismFailed(what, "of one of the inputs under way", None) from error
        self.jobs = 1
        self.notes.append(
            f"Worker processes cannot import {self.module}, where the mechanism is defined, so the runs were "
            "made in this process; install the module or put it on PYTHONPATH to use all cores."
        )
        yield from map(function, items[done:])


def runs_within(seconds: float, pace: float, jobs: int) -> int:
    """About how many runs of this pace fit into these seconds, less what it takes to start."""
    return int(0.8 * max(0.5 * seconds, seconds - 3) / max(pace, 1e-6) * joblib.effective_n_jobs(jobs))


class AuditOutOfTime(KeyboardInterrupt):
    """The time of the audit is over."""


class Progress:
    """Shows the stage, how far it is and the best bound; silent where nobody looks."""

    def __init__(self, wanted: bool | None, workers: Workers, seconds: float | None = None) -> None:
        self.seconds = seconds
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self._half = self._end - (seconds or 0.0) / 2
        self._wanted = sys.stderr.isatty() if wanted is None else wanted
        self._workers = workers
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if self._wanted:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[best]}"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("audit", total=1, best="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, lines: Sequence[str]) -> None:
        """What a reader should know before the runs begin."""
        if self._bar is not None:
            for line in lines:
                self._bar.console.print(line, highlight=False)

    @property
    def watched(self) -> bool:
        """Whether somebody looks."""
        return self._bar is not None

    @property
    def hurried(self) -> bool:
        """Whether more than half of the time is over."""
        return time.monotonic() > self._half

    def update(self, stage: str, done: int, total: int, best: float) -> None:
        """Say where the audit is; the end of its time is an interruption."""
        if time.monotonic() > self._end:
            self._end = math.inf
            raise AuditOutOfTime
        if self._bar is not None:
            shown = f"{self._workers.runs:,} runs, best so far ε ≥ {max(0.0, best):.3f}"
            self._bar.update(self._task, description=stage, completed=done, total=total, best=shown)
