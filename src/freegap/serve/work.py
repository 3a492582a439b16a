"""A question answered in a process of its own, with limits on time and memory.

The process charges the ledger itself. If it is ended in the middle, by a limit or by a crash, what it
reserved stays charged, as the ledger's rules say; a release that it made and settled is kept there.

What comes back is JSON: a release, or a refusal that depends on the question alone, or that it failed. Why it
failed is not told, since that may depend on the data: too much memory, too much time, a row that an engine
cannot read, all are one answer.

Padded, the ledger is charged before the table is read, and settled when the time is over: else the account,
which others can look at meanwhile, and the line, which has a time, would tell how long the question took.
"""

from __future__ import annotations

import functools
import json
import multiprocessing
import sys
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import freegap
from freegap.bits import BitSource
from freegap.budget.levels import LevelledLedger
from freegap.errors import BudgetExceeded, InvalidArgument
from freegap.serve.questions import AllowedQuestion
from freegap.serve.settings import QuestionLimits, Source

FAILED = {"status": "failed"}
_LOADED_ONCE = ["freegap.serve.work", "freegap.tables.releases", "freegap.budget.store", "duckdb", "pyarrow"]
_OWN_WORDS = ("k", "epsilon", "threshold", "noise", "measure")
"""Arguments that came from the question: what is said about them depends on it and on the settings."""


@dataclass(frozen=True)
class Job:
    """Everything that a process needs to answer a question for somebody."""

    question: AllowedQuestion
    source: Source
    ledger: str
    heads: tuple[str, ...]
    quotas: tuple[str, ...]
    who: str
    memory_mb: int
    pad_to: float = 0


def answer(job: Job, bits: BitSource | None = None) -> dict[str, Any]:
    """The release as the library makes it, charged to every account that pays for it."""
    ledger = LevelledLedger(job.ledger, heads=job.heads, quotas=job.quotas, who=job.who)
    question, source = job.question, job.source
    function: Any = {"top_k": freegap.top_k, "above": freegap.above}[question.mechanism]
    ask = functools.partial(
        function,
        source.table,
        person=source.person,
        domain=source.items[question.arguments["item"]],
        bits=bits,
        **question.arguments,
    )
    if job.pad_to:
        release = ledger.charge(
            source.name,
            lambda: freegap.pad_to(job.pad_to, ask),
            epsilon=question.arguments["epsilon"],
            what=question.mechanism,
            parameters=question.arguments,
        )
    else:
        release = ask(ledger=(ledger, source.name))
    return {"status": "released", "line": ledger.line, "release": release.to_dict()}


def outcome(job: Job, bits: BitSource | None = None) -> dict[str, Any]:
    """The answer, or what may be said of why there is none."""
    try:
        return answer(job, bits)
    except InvalidArgument as error:
        if error.argument in _OWN_WORDS:
            return {"status": "refused", "error": str(error)}
    except BudgetExceeded as error:
        return {"status": "spent", "error": str(error)}
    except BaseException:  # whatever it is, and also Ctrl-C: what it says may quote a row
        return FAILED
    return FAILED


class WorkerProcesses:
    """So many processes at once; further questions wait, as long as one may take."""

    def __init__(self, limits: QuestionLimits) -> None:
        self._limits = limits
        self._places = threading.BoundedSemaphore(limits.workers)
        # Not forked from a process with threads; the modules are loaded once, in the process that forks.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(_LOADED_ONCE)

    def run(self, job: Job) -> dict[str, Any]:
        """What became of a question."""
        if not self._places.acquire(timeout=self._limits.seconds):
            return FAILED
        try:
            return self._run(job)
        finally:
            self._places.release()

    def _run(self, job: Job) -> dict[str, Any]:
        here, there = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_child, args=(there, job), daemon=True)
        process.start()
        there.close()
        try:
            return dict(json.loads(here.recv_bytes())) if here.poll(self._limits.seconds) else FAILED
        except (EOFError, OSError):  # it ended without a word
            return FAILED
        finally:
            process.kill()
            process.join()
            here.close()


def _child(there: Connection, job: Job) -> None:
    if sys.platform != "win32":
        import resource

        size = job.memory_mb * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core would hold rows
    there.send_bytes(json.dumps(outcome(job), default=str).encode("ascii"))
