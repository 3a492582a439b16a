"""A way of doing a task, in the interpreter of its library, which waits until it is its turn."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from freegap_evidence.environments import Environment, without_ours

WORKERS = Path(__file__).parent / "workers"
_PATIENCE = 30.0


class NoAnswer(Exception):
    """What a contestant said instead of an answer, or that it said nothing in time."""


class Contestant:
    """One process; `ready` once, then `run` as often as wanted, then `end`.

    folder: where it may leave files. limit: for how many seconds an answer is waited for.
    """

    def __init__(self, environment: Environment, job: dict[str, Any], *, folder: Path, limit: float) -> None:
        library = environment.library
        own = not library.requires
        isolated = [] if own else ["-I"]
        worker = WORKERS / f"{library.more['worker']}.py"
        self._limit = limit
        self._process = subprocess.Popen(  # noqa: S603
            [str(environment.python), *isolated, str(WORKERS / "harness.py"), str(worker)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=folder,
            env=dict(os.environ) if own else without_ours(),
        )
        self._answers: queue.Queue[str] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._tell(json.dumps(job))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def ready(self) -> None:
        """Wait until it has imported its library and prepared the job."""
        self._heard()

    def run(self) -> tuple[float, float, Any]:
        """One release: its seconds, those of processors, and what came out."""
        self._tell("run")
        answer = self._heard()
        return answer["seconds"], answer["processor"], answer["result"]

    def end(self) -> tuple[float, float]:
        """Memory in megabytes before the first release, and at the peak."""
        self._tell("end")
        answer = self._heard()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_PATIENCE)  # so that it can end what it started
        return answer["before_mb"], answer["peak_mb"]

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None  # noqa: S101
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise NoAnswer("its process ended") from None

    def _heard(self) -> dict[str, Any]:
        try:
            line = self._answers.get(timeout=self._limit)
        except queue.Empty:
            raise NoAnswer(f"took more than {self._limit:g} s") from None
        if not line:
            raise NoAnswer("its process ended")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise NoAnswer(answer["error"].splitlines()[0][:200])
        return answer
