"""Worker processes: one for each task, with limits on time and memory, and a queue before them.

What a task says is JSON. A process that is ended, by a limit, by a crash or because its task was cancelled,
says nothing: what it reserved in the ledger stays charged, as the ledger's rules say, and a release that it
made and settled is kept there.

A padded task holds its place until its time is over, also where it failed at once: else whoever waits would
see by their turn how long it took.
"""

from __future__ import annotations

import json
import logging
import math
import multiprocessing
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Protocol

from freegap.serve.settings import QuestionLimits

_LOG = logging.getLogger(__name__)
FAILED = {"status": "failed"}
CANCELLED = {"status": "cancelled"}
_LOADED_ONCE = [
    "freegap.serve.work",
    "freegap.tables.releases",
    "freegap.planner.plan",
    "freegap.budget.store",
    "duckdb",
    "pyarrow",
]
GRACE = 30
"""Seconds after which a process ends itself that nobody has ended: its server was."""


class ServiceTask(Protocol):
    """What a worker process does: everything that it needs is in it."""

    @property
    def memory_mb(self) -> int:
        """The most memory."""

    @property
    def pad_to(self) -> float:
        """Seconds for which it holds its place at least."""

    def outcome(self, *, told: Callable[[int], None]) -> dict[str, Any]:
        """What became of it, as JSON can have it. told: is called with the line that has reserved for it,
        if there is one, before anything private is looked at."""


class Ticket:
    """A task's place in the queue; by it the task can be cancelled."""

    def __init__(self, noted: Callable[[int | None], None] = lambda line: None) -> None:
        self.cancelled = False
        self.line: int | None = None
        """Of the ledger, that has reserved for the task."""
        self.noted = noted
        """Called when the task leaves the queue, and with that line when there is one."""
        self.process: Any = None

    def reserved(self, line: int) -> None:
        """The task is charged."""
        self.line = line
        self.noted(line)


class WorkerProcesses:
    """So many processes at once; further tasks wait, first come, first served."""

    def __init__(self, limits: QuestionLimits) -> None:
        self.limits = limits
        self._free = limits.workers
        self._waiting: list[Ticket] = []
        self._changed = threading.Condition()
        # Not forked from a process with threads; the modules are loaded once, in the process that forks.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(_LOADED_ONCE)

    def run(
        self, task: ServiceTask, ticket: Ticket | None = None, patience: float | None = None
    ) -> dict[str, Any]:
        """What became of a task.

        patience: how many seconds it waits for its turn at most; without a ticket as long as a task may take.
        """
        if ticket is None:
            ticket, patience = Ticket(), self.limits.seconds
        with self._changed:
            self._waiting.append(ticket)
            turn = self._changed.wait_for(lambda: ticket.cancelled or self._is_next(ticket), patience)
            self._waiting.remove(ticket)
            self._changed.notify_all()
            if not turn or ticket.cancelled:
                return CANCELLED if ticket.cancelled else FAILED
            self._free -= 1
        until = time.monotonic() + task.pad_to
        try:
            ticket.noted(None)
            found = self.answer(task, ticket)
            while not ticket.cancelled and (left := until - time.monotonic()) > 0:
                time.sleep(min(left, 0.5))
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()
        return CANCELLED if ticket.cancelled and found == FAILED else found

    def position(self, ticket: Ticket) -> int | None:
        """How many wait before it, and one; None when it waits no more."""
        with self._changed:
            return self._waiting.index(ticket) + 1 if ticket in self._waiting else None

    def cancel(self, ticket: Ticket) -> None:
        """End a task, whether it waits or runs."""
        with self._changed:
            ticket.cancelled = True
            if ticket.process is not None:
                ticket.process.kill()
            self._changed.notify_all()

    def _is_next(self, ticket: Ticket) -> bool:
        return self._free > 0 and self._waiting[0] is ticket

    def answer(self, task: ServiceTask, ticket: Ticket) -> dict[str, Any]:
        """What a process of its own says of a task."""
        here, there = self._context.Pipe(duplex=False)
        folder = tempfile.mkdtemp(prefix="freegap-task-")  # engines leave files there when they are ended
        seconds = self.limits.seconds
        process = self._context.Process(target=_child, args=(there, task, folder, seconds), daemon=True)
        process.start()
        there.close()
        with self._changed:
            ticket.process = process
        try:
            until = time.monotonic() + seconds
            while not ticket.cancelled and here.poll(max(0.0, until - time.monotonic())):
                said = dict(json.loads(here.recv_bytes()))
                if "status" in said:
                    return said
                ticket.reserved(said["line"])
            if not ticket.cancelled:
                _LOG.error(
                    "A question took more than %g seconds and was ended. Line: %s.", seconds, ticket.line
                )
            return FAILED
        except (EOFError, OSError):  # it ended without a word
            if not ticket.cancelled:
                process.join(1)
                _LOG.error(
                    "The process of a question has ended (exit code %s). Line: %s.",
                    process.exitcode,
                    ticket.line,
                )
            return FAILED
        finally:
            with self._changed:
                ticket.process = None
            process.kill()
            process.join()
            here.close()
            shutil.rmtree(folder, ignore_errors=True)


def _child(there: Connection, task: ServiceTask, folder: str, seconds: float) -> None:
    tempfile.tempdir = folder
    if sys.platform != "win32":
        import resource
        import signal

        size = task.memory_mb * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core would hold rows
        signal.alarm(math.ceil(seconds) + GRACE)

    def say(said: dict[str, Any]) -> None:
        there.send_bytes(json.dumps(said, default=str).encode("ascii"))

    say(task.outcome(told=lambda line: say({"line": line})))
