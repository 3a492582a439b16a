"""Transactions on a ledger, on SQLite and PostgreSQL. Nothing here knows what a line means.

Writers take turns: on SQLite by BEGIN IMMEDIATE, on PostgreSQL by a lock on the ledger's one row. When a
write transaction has ended without an error, what it wrote survives a crash of the process and of the
machine.

Every transaction has a connection of its own. So a lost connection costs one transaction and no more, and a
ledger may be used from several threads and across forks.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, event, text
from sqlalchemy.exc import OperationalError

from freegap.budget import schema
from freegap.budget.accounting import BrokenRule
from freegap.budget.faults import in_words
from freegap.budget.heads import head_places
from freegap.budget.journal import Journal
from freegap.budget.location import Location, locate
from freegap.budget.schema import Head
from freegap.errors import LedgerDamaged, LedgerUnavailable, MissingExtra

_PATIENCE = 60
"""Seconds to wait for other writers; on SQLite, seconds in which none of them wrote anything."""

_ASK_AGAIN = 0.005
"""Seconds from one question to the next, whether a SQLite file can be written to."""

_POSTGRES_CONNECTION = {
    "connect_timeout": 10,
    # A server that has vanished from the network is noticed within about a minute.
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
_POSTGRES_WRITE = (
    f"SET LOCAL lock_timeout = '{_PATIENCE}s'",
    # A client that has vanished from the network must not keep the others waiting.
    f"SET LOCAL idle_in_transaction_session_timeout = '{_PATIENCE}s'",
    # A reservation is durable when it returns, even where the server is set to be quick instead.
    "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'",
)


class Store:
    """The database of a ledger. It is opened when it is first used."""

    def __init__(self, url: str | None, heads: str | os.PathLike[str] | Iterable[str] | None = None) -> None:
        self.location: Location = locate(url)
        self._heads = head_places(heads)
        self.place = str(self.location)
        self._engine = _engine(self.location)
        self._ready = False

    @contextmanager
    def journal(self, *, write: bool, create: bool = False, check: bool = True) -> Iterator[Journal]:
        """The journal within one transaction, committed where the block ends without an error.

        A reader sees one consistent state. `create` makes the ledger where there is none. `check`: the heads
        that were noted elsewhere must be there. A head is noted when its line is durable.
        """
        noted = self.noted()
        self._open(create, noted)
        with self._transaction(write=write) as connection:
            journal = Journal(connection, schema.head(connection, self.place, lock=write), self.place)
            before = journal.head
            if check:
                journal.require(noted)
            try:
                yield journal
            except BrokenRule as rule:
                raise journal.damaged(str(rule)) from rule
        if journal.head != before:
            for place in self._heads:
                place.note(journal.head)

    def noted(self) -> dict[str, Head]:
        """The newest head of each place that has one. Read before the ledger is, which only grows."""
        found = {place.name: place.newest() for place in self._heads}
        return {name: head for name, head in found.items() if head is not None}

    def _open(self, create: bool, noted: Mapping[str, Head]) -> None:
        """Find, create or upgrade the tables. A ledger that is not there is not made by looking for it."""
        if not self._is_there():
            self._ready = False
            if noted:
                raise self._lost(noted)
            if not create:
                raise self._missing()
            self._make_file()
        if self._ready:
            return
        with self._transaction(write=False) as connection:
            found = schema.version(connection, self.place)
        if found is None and noted:
            raise self._lost(noted)
        if found is None and not create:
            raise self._missing()
        if found != schema.SCHEMA_VERSION:
            with self._transaction(write=True) as connection:
                schema.bring_up_to_date(connection, self.place)
        self._ready = True

    def _is_there(self) -> bool:
        """Whether there may be a ledger. A server is asked by connecting to it."""
        if self.location.file is None:
            return True
        try:
            if self.location.file.stat().st_size:
                return True
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise LedgerUnavailable(f"The ledger {self.place} cannot be read ({error.strerror}).") from None
        raise LedgerDamaged(
            f"The ledger {self.place} is an empty file, which freegap never makes. If one was there, its "
            "lines are lost: restore it from a backup. If none ever was, remove the file."
        )

    def _missing(self) -> LedgerUnavailable:
        return LedgerUnavailable(
            f"There is no ledger at {self.place}. "
            "Create one with its first dataset: freegap budget create NAME --epsilon TOTAL"
        )

    def _lost(self, noted: Mapping[str, Head]) -> LedgerDamaged:
        ((place, head), *_) = noted.items()
        return LedgerDamaged(
            f"There is no ledger at {self.place}, and there was one: its line {head.sequence} is noted in "
            f"{place}. Restore it from a backup. If it is meant to be gone, remove that note."
        )

    def _make_file(self) -> None:
        """A SQLite ledger without a line, made apart and put in its place whole, if none is there yet."""
        file = self.location.file
        assert file is not None  # noqa: S101  a server's database is always there
        if self.location.default:
            _make_directory(file.parent, self.place)
        # Another process may be quicker; and on a file system without links SQLite makes the file in place.
        with suppress(OSError), tempfile.TemporaryDirectory(prefix=".freegap-", dir=file.parent) as directory:
            apart = Path(directory, file.name)
            with self._transaction(write=True, engine=_engine(Location.of_file(apart))) as connection:
                schema.bring_up_to_date(connection, self.place)
            os.link(apart, file)

    @contextmanager
    def _transaction(self, *, write: bool, engine: Engine | None = None) -> Iterator[Connection]:
        with in_words(self.place), (engine or self._engine).connect() as connection:
            connection = connection.execution_options(**self._options(write))
            with connection.begin():
                if write and connection.dialect.name == "postgresql":
                    for statement in _POSTGRES_WRITE:
                        connection.execute(text(statement))
                yield connection

    def _options(self, write: bool) -> dict[str, Any]:
        if self.location.file is not None:
            return {"freegap_write": write}
        # A writer must see what was committed while it waited for the lock; a reader must see one state only.
        return {
            "isolation_level": "READ COMMITTED" if write else "REPEATABLE READ",
            "postgresql_readonly": not write,
        }


def _make_directory(directory: Path, place: str) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerUnavailable(
            f"The directory of the ledger {place} cannot be made ({error.strerror}). "
            "Name another ledger in FREEGAP_LEDGER."
        ) from error


def _engine(location: Location) -> Engine:
    sqlite = location.file is not None
    # With isolation_level None the sqlite3 module begins no transactions of its own.
    arguments: dict[str, Any] = {"timeout": _PATIENCE, "isolation_level": None} if sqlite else {}
    if not sqlite:
        arguments = {
            name: value for name, value in _POSTGRES_CONNECTION.items() if name not in location.url.query
        }
    try:
        engine = create_engine(location.url, poolclass=NullPool, connect_args=arguments, hide_parameters=True)
    except ModuleNotFoundError:
        raise MissingExtra("psycopg", "postgres") from None
    if location.file is not None:
        file = location.file
        event.listen(engine, "connect", _be_durable)
        event.listen(engine, "begin", lambda connection: _begin(connection, file))
    return engine


def _be_durable(connection: Any, _record: object) -> None:
    # EXTRA: the directory is synced too, else a power cut just after a commit could bring the old state back.
    connection.execute("PRAGMA synchronous = EXTRA")


def _begin(connection: Connection, file: Path) -> None:
    # A writer that began as a reader could find that another wrote in between; IMMEDIATE waits at the start.
    if not connection.get_execution_options()["freegap_write"]:
        connection.exec_driver_sql("BEGIN")
        return
    # SQLite has no queue, and asks the less often the longer it has waited: one of many writers may be passed
    # over for a minute. All ask equally often here. Nor does one give up, and lose what it paid for, while
    # the others get on.
    connection.exec_driver_sql("PRAGMA busy_timeout = 0")
    written, since = _written(file), time.monotonic()
    while True:
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            break
        except OperationalError as error:
            if _written(file) != written:
                written, since = _written(file), time.monotonic()
            busy = getattr(error.orig, "sqlite_errorname", None) == "SQLITE_BUSY"
            if not busy or time.monotonic() - since > _PATIENCE:
                raise
        time.sleep(_ASK_AGAIN)
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {_PATIENCE * 1000}")


def _written(file: Path) -> int | None:
    """When a file was last written to. It is not opened: closing it would give up this process's locks."""
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return None
