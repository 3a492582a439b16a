"""The database of the service: tokens, sessions, jobs, and how often somebody asked. SQLite or PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import Column, Connection, Integer, MetaData, NullPool, Table, Text, create_engine, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateTable

from freegap.budget.location import locate
from freegap.errors import FreegapError

Result = TypeVar("Result")

_metadata = MetaData()
_ADVISORY_KEY = int.from_bytes(b"freegap2", "big") >> 1

tokens = Table(
    "freegap_tokens",
    _metadata,
    Column("number", Integer, primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("name", "role", "hash", "created", "expires")),
    Column("revoked", Text),
)
pace = Table(
    "freegap_pace",
    _metadata,
    Column("name", Text, primary_key=True),
    Column("verb", Text, primary_key=True),
    Column("minute", Integer, nullable=False),
    Column("number", Integer, nullable=False),
)
jobs = Table(
    "freegap_jobs",
    _metadata,
    Column("job", Text, primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("who", "source", "mechanism", "created", "server")),
    Column("state", Text, nullable=False),
    Column("cancel", Integer, nullable=False),
    Column("outcome", Text),
)
servers = Table(
    "freegap_servers",
    _metadata,
    Column("server", Text, primary_key=True),
    Column("seen", Integer, nullable=False),
)

sessions = Table(
    "freegap_sessions",
    _metadata,
    Column("hash", Text, primary_key=True),
    Column("token", Integer, nullable=False),
    Column("expires", Text, nullable=False),
)
issuer_sessions = Table(
    "freegap_issuer_sessions",
    _metadata,
    Column("hash", Text, primary_key=True),
    Column("sign_in", Text, nullable=False, unique=True),  # one sign-in is one session
    *(Column(name, Text, nullable=False) for name in ("name", "role", "expires")),
)
ledgers = Table("freegap_ledger_used", _metadata, Column("first", Text, primary_key=True))
job_keys = Table(
    "freegap_job_keys",
    _metadata,
    Column("key", Text, primary_key=True),
    Column("job", Text, nullable=False),
    Column("question", Text, nullable=False),
)


class PeopleUnavailable(FreegapError):
    """The database of the service cannot be used now. Nobody is let in meanwhile."""


class ServiceDatabase:
    """Transactions, each with a connection of its own. The tables are made when they are first needed."""

    def __init__(self, url: str) -> None:
        place = locate(url).url
        waiting = {"timeout": 30} if place.drivername.startswith("sqlite") else {}
        self._engine = create_engine(place, poolclass=NullPool, hide_parameters=True, connect_args=waiting)
        self._ready = False

    def run(self, work: Callable[[Connection], Result]) -> Result:
        """What the work returns, committed; all that can go wrong with a database is one error."""
        try:
            with self._engine.begin() as connection:
                if not self._ready:
                    if connection.dialect.name == "postgresql":  # two processes would both find no tables
                        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_KEY})
                    for table in _metadata.sorted_tables:  # not create_all: it looks first, and then makes
                        connection.execute(CreateTable(table, if_not_exists=True))
                result = work(connection)
            self._ready = True
            return result
        except SQLAlchemyError as error:
            self._ready = False
            raise PeopleUnavailable(
                f"The database of tokens cannot be used ({type(error).__name__}). Check `people` there."
            ) from None


def insert_into(connection: Connection, table: Table) -> Any:
    """An insertion that may say what to do where the row is there already."""
    return (postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert)(table)


def now() -> datetime:
    """By this machine's clock."""
    return datetime.now(UTC)


def in_seconds(time: datetime) -> str:
    """As the tables have it."""
    return time.isoformat(timespec="seconds")
