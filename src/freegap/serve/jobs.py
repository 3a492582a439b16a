"""Long questions: asked now, looked at later, cancelled if need be.

    waiting → running → released | refused | spent | failed | cancelled | ended, with its process

A job is known to all processes of the service, in its database: what was asked by whom, its state, and what
became of it. Of how far it is there is its place in the queue, whether it runs, and the line that has
reserved for it, which is written before the table is read; and no more. When the table was read and when the
noise was drawn is not told, nor how many rows there are: these depend on the data. One that was cancelled or
ended stays charged as the ledger's rules say.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from freegap.bits import SystemBits, not_noise
from freegap.serve import database
from freegap.serve.database import PeopleUnavailable, ServiceDatabase, in_seconds
from freegap.serve.keys import question_text, refused_key
from freegap.serve.questions import AllowedQuestion
from freegap.serve.workers import FAILED, ServiceTask, Ticket, WorkerProcesses

OPEN = ("waiting", "running")
"""The states of jobs that are not over."""

_BEAT = 1.0
_SILENCE = 30
"""Seconds without a sign after which a process of the service is taken for dead."""

_KEPT = timedelta(days=7)
_ENDED = {"status": "ended", "error": "The service was ended meanwhile. If a release was made, it is listed."}


@dataclass(frozen=True)
class Job:
    """A job as everybody's process sees it. position: in the queue, where this process knows it."""

    job: str
    who: str
    source: str
    mechanism: str
    created: str
    state: str
    position: int | None
    outcome: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """For JSON; what became of it under its own names."""
        fields = {name: value for name, value in vars(self).items() if name != "outcome"}
        found = {name: value for name, value in self.outcome.items() if name != "status"}
        return {**fields, **found}


class Jobs:
    """The jobs of one process of the service, and a view of those of the others."""

    def __init__(self, kept: ServiceDatabase, workers: WorkerProcesses) -> None:
        self._run = kept.run
        self._workers = workers
        self._server = _random()
        self._tickets: dict[str, Ticket] = {}
        self._lock = threading.Lock()
        self._beating = False

    def start(
        self,
        who: str,
        question: AllowedQuestion,
        task: ServiceTask,
        over: Callable[[], None],
        key: str | None = None,
    ) -> str:
        """Begin a job; `over` is called when it has ended, whatever became of it. With the key of a job that
        there is, nothing begins: it is that job."""
        job = _random()
        row = {
            "job": job,
            "who": who,
            "source": question.source,
            "mechanism": question.mechanism,
            "cancel": 0,
        }
        now = database.now()
        row |= {"created": in_seconds(now), "server": self._server, "state": "waiting"}
        old = delete(database.jobs).where(database.jobs.c.created < in_seconds(now - _KEPT))

        def begin(connection: Connection) -> Any:
            connection.execute(old)
            before = None if key is None else _keyed(connection, key, job, question_text(question))
            if before is None:
                connection.execute(insert(database.jobs).values(row))
                self._sign(connection)
            return before

        ticket = Ticket(lambda line: self._note_running(job, line))
        with self._taking(job, ticket):  # before it is noted: whoever looks then sees that it is here
            before = self._run(begin)
            if before is not None and before.question != question_text(question):
                raise refused_key()
        if before is not None:
            self._leave(job)
            over()
            return str(before.job)
        with self._lock:
            beat, self._beating = not self._beating, True
        if beat:
            threading.Thread(target=self._beat, daemon=True).start()
        threading.Thread(target=self._do, args=(job, ticket, task, over), daemon=True).start()
        return job

    @contextmanager
    def _taking(self, job: str, ticket: Ticket) -> Iterator[None]:
        with self._lock:
            self._tickets[job] = ticket
        try:
            yield
        except BaseException:
            self._leave(job)
            raise

    def _leave(self, job: str) -> None:
        with self._lock:
            del self._tickets[job]

    def look(self, job: str) -> Job | None:
        """A job, or None."""
        found = self._select(database.jobs.c.job == job)
        return found[0] if found else None

    def of(self, who: str | None) -> list[Job]:
        """All jobs of somebody, or of everybody, oldest first."""
        return self._select(database.jobs.c.who == who if who is not None else True)

    def cancel(self, job: str) -> None:
        """End a job, in whichever process it is. One that is over stays as it is."""
        self._run(
            lambda connection: connection.execute(
                update(database.jobs).where(database.jobs.c.job == job).values(cancel=1)
            )
        )
        with self._lock:
            ticket = self._tickets.get(job)
        if ticket is not None:
            self._workers.cancel(ticket)

    def _select(self, condition: Any) -> list[Job]:
        return [self._job(row) for row in self._rows(condition)]

    def _rows(self, condition: Any) -> Sequence[Any]:
        joined = database.jobs.outerjoin(
            database.servers, database.jobs.c.server == database.servers.c.server
        )
        wanted = select(database.jobs, database.servers.c.seen).select_from(joined).where(condition)
        ordered = wanted.order_by(database.jobs.c.created, database.jobs.c.job)
        return self._run(lambda connection: connection.execute(ordered).all())

    def _job(self, row: Any) -> Job:
        ticket = self._tickets.get(row.job)
        if ticket is None and row.state in OPEN and row.server == self._server:
            # It has ended since the row was read: what became of it is noted before its ticket goes.
            row = next(iter(self._rows(database.jobs.c.job == row.job)), row)
        state, outcome = row.state, {} if row.outcome is None else json.loads(row.outcome)
        silent = row.seen is None or row.seen < database.now().timestamp() - _SILENCE
        if state in OPEN and ticket is None and (silent or row.server == self._server):
            state, outcome = "ended", {**outcome, **_ENDED}
        position = None if ticket is None or state != "waiting" else self._workers.position(ticket)
        return Job(row.job, row.who, row.source, row.mechanism, row.created, state, position, outcome=outcome)

    def _do(self, job: str, ticket: Ticket, task: ServiceTask, over: Callable[[], None]) -> None:
        found = FAILED
        try:
            found = self._workers.run(task, ticket)
        finally:
            try:
                self._finish(job, {"line": ticket.line, **found})
            finally:
                self._leave(job)
                over()

    def _finish(self, job: str, found: dict[str, Any]) -> None:
        """Note what became of a job; for as long as a database is gone, try again."""
        for _ in range(_SILENCE):
            try:
                self._note(job, found)
                return
            except PeopleUnavailable:
                time.sleep(_BEAT)

    def _note_running(self, job: str, line: int | None) -> None:
        with suppress(PeopleUnavailable):  # the question goes on
            self._note(job, {"status": "running", "line": line})

    def _note(self, job: str, found: dict[str, Any]) -> None:
        outcome = json.dumps(found, default=str)
        noting = update(database.jobs).where(database.jobs.c.job == job)
        self._run(
            lambda connection: connection.execute(noting.values(state=found["status"], outcome=outcome))
        )

    def _beat(self) -> None:
        """A sign of life, and a look at what others have cancelled, for as long as there are jobs here."""
        asked = select(database.jobs.c.job).where(
            database.jobs.c.server == self._server,
            database.jobs.c.cancel == 1,
            database.jobs.c.state.in_(OPEN),
        )

        def beat(connection: Connection) -> list[str]:
            self._sign(connection)
            return list(connection.execute(asked).scalars())

        while True:
            with self._lock:
                if not self._tickets:
                    self._beating = False
                    return
                here = dict(self._tickets)
            try:
                for job in self._run(beat):
                    if job in here:
                        self._workers.cancel(here[job])
            except PeopleUnavailable:
                pass  # the jobs go on; whoever looks meanwhile is told that nobody can look
            time.sleep(_BEAT)

    def _sign(self, connection: Connection) -> None:
        seen = {"seen": int(database.now().timestamp())}
        own = database.servers.c.server == self._server
        if not connection.execute(update(database.servers).where(own).values(seen)).rowcount:
            connection.execute(insert(database.servers).values(server=self._server, **seen))


def _keyed(connection: Connection, key: str, job: str, question: str) -> Any:
    """The row of the job that has the key; None where from now on this one has it."""
    keys = database.job_keys
    connection.execute(delete(keys).where(keys.c.job.not_in(select(database.jobs.c.job))))
    row = {"key": key, "job": job, "question": question}
    adding = database.insert_into(connection, keys).values(row).on_conflict_do_nothing()
    if connection.execute(adding.returning(keys.c.key)).one_or_none() is not None:
        return None
    return connection.execute(select(keys).where(keys.c.key == key)).one()


def _random() -> str:
    with not_noise():
        return f"{SystemBits().bits(128):032x}"
