"""Where the ledgers of a trial are: a PostgreSQL server of its own, one that is told, or SQLite files."""

from __future__ import annotations

import itertools
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import NullPool, create_engine, text

from freegap.budget.location import locate
from freegap.errors import InvalidArgument


class Databases(Protocol):
    """Empty databases. can_go: whether the server can be stopped and started again."""

    kind: str
    can_go: bool

    def new(self) -> str:
        """The address of an empty one."""

    def stop(self, how: signal.Signals) -> None:
        """Let the server go: SIGINT shuts it down, SIGQUIT ends it as a crash would."""

    def start(self) -> None:
        """Let it come back."""


class _Files:
    """SQLite. A file does not go away and come back."""

    kind, can_go = "SQLite", False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()

    def new(self) -> str:
        """A file of its own."""
        return f"sqlite:///{self._folder}/{next(self._numbers)}.db"

    def stop(self, how: signal.Signals) -> None:
        """Not for files."""
        raise NotImplementedError

    def start(self) -> None:
        """Not for files."""
        raise NotImplementedError


class _Told(_Files):
    """A database that somebody else runs: schemas of its own, which are dropped in the end."""

    kind = "PostgreSQL"

    def __init__(self, url: str) -> None:
        self._url = locate(url).url
        self._engine = create_engine(self._url, poolclass=NullPool, hide_parameters=True)
        self._schemas: list[str] = []

    def new(self) -> str:
        """A schema of its own: for a ledger the same as an empty database."""
        with tempfile.NamedTemporaryFile(prefix="freegap_bench_") as unique:
            schema = Path(unique.name).name
        self._do(f'CREATE SCHEMA "{schema}"')
        self._schemas.append(schema)
        options = {"options": f"-csearch_path={schema}"}
        return self._url.update_query_dict(options).render_as_string(hide_password=False)

    def drop(self) -> None:
        """Forget them."""
        for schema in self._schemas:
            self._do(f'DROP SCHEMA "{schema}" CASCADE')

    def _do(self, statement: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(text(statement))


class _Own:
    """A server of its own, which waits for the disk as one that is used does."""

    kind, can_go = "PostgreSQL", True

    def __init__(self, server: Any) -> None:
        self._server = server

    def new(self) -> str:
        """A schema of its own."""
        made: str = self._server.new_schema()
        return made

    def stop(self, how: signal.Signals) -> None:
        """By a signal."""
        self._server.stop(how)

    def start(self) -> None:
        """It recovers by itself."""
        self._server.start()


@contextmanager
def databases(asked: str | None) -> Iterator[Databases]:
    """asked: None for a PostgreSQL server of its own, "sqlite", or the URL of a PostgreSQL database.

    >>> with databases("sqlite") as files:
    ...     files.kind, files.can_go
    ('SQLite', False)
    """
    if asked == "sqlite":
        with tempfile.TemporaryDirectory(prefix="freegap-bench-serve-") as folder:
            yield _Files(Path(folder))
    elif asked is not None:
        if locate(asked).file is not None:
            raise InvalidArgument(
                "database",
                asked,
                "must be a PostgreSQL database, or sqlite",
                "Pass postgresql://… or sqlite.",
            )
        told = _Told(asked)
        try:
            yield told
        finally:
            told.drop()
    else:
        from freegap_evidence.bench import postgres

        programs = postgres.programs()
        if programs is None:
            raise InvalidArgument(
                "database",
                asked,
                "is not said, and no PostgreSQL server is installed here",
                "Install one, pass --database postgresql://…, or --database sqlite for a small form.",
            )
        server = postgres.Server(programs, connections=300, durable=True)
        try:
            yield _Own(server)
        finally:
            server.close()
