"""The two tables of a ledger, their version, and how an older ledger is brought up to date.

`freegap_journal` is the ledger: one row per line, never changed. `freegap_ledger` has one row: the version of
the schema and the head of the journal. Every writer locks that row first, so writers take turns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import (
    DDL,
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    event,
    insert,
    inspect,
    select,
    text,
    update,
)

from freegap.budget.chain import GENESIS
from freegap.errors import LedgerDamaged, LedgerUnavailable

SCHEMA_VERSION = 3

metadata = MetaData()

ledger = Table(
    "freegap_ledger",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("schema_version", Integer, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
)

journal = Table(
    "freegap_journal",
    metadata,
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("dataset", Text, nullable=False),
    Column("kind", Text, nullable=False),
    # Unique: a reservation is closed at most once, whatever two processes try.
    Column("reservation", BigInteger, unique=True),
    *(
        Column(name, Text, nullable=False)
        for name in "amount total spent reserved what parameters who at previous hash".split()
    ),
    Index("freegap_journal_by_dataset", "dataset", "sequence"),
)

# Against accidents: who means to rewrite the journal can drop a trigger, and then the chain shows it.
_SQLITE_GUARD = (
    "CREATE TRIGGER freegap_journal_no_{event} BEFORE {event} ON freegap_journal "
    "BEGIN SELECT RAISE(ABORT, 'the freegap journal is append-only'); END"
)
_POSTGRES_GUARD = (
    "CREATE OR REPLACE FUNCTION freegap_journal_guard() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'the freegap journal is append-only'; END $$",
    "CREATE TRIGGER freegap_journal_guard BEFORE UPDATE OR DELETE OR TRUNCATE ON freegap_journal "
    "FOR EACH STATEMENT EXECUTE FUNCTION freegap_journal_guard()",
)
_ddl: Callable[[str], DDL] = DDL  # SQLAlchemy has no types for its constructor
for _event in ("update", "delete"):
    _guard = _ddl(_SQLITE_GUARD.format(event=_event))
    event.listen(journal, "after_create", _guard.execute_if(dialect="sqlite"))
for _statement in _POSTGRES_GUARD:
    event.listen(journal, "after_create", _ddl(_statement).execute_if(dialect="postgresql"))

UPGRADES: dict[int, Callable[[Connection], None]] = {
    1: lambda connection: None,
    2: lambda connection: None,
}
"""By version: the step that leads from it to the next.

1: budgets in ε only. Since version 2 an amount may name its measure (`budgets`). The tables are the same, and
so are the lines about ε; the number keeps a freegap away that would read every amount as ε.
2: no notes. Since version 3 there are lines of the kind "note" (`notes`), which an older freegap would take
for damage.

A step may add tables, columns and indexes. It must not touch what a line's hash covers.
"""

_ADVISORY_KEY = int.from_bytes(b"freegap", "big")


@dataclass(frozen=True)
class Head:
    """The last line of the journal, by what the ledger has recorded."""

    sequence: int
    hash: str


def version(connection: Connection, place: str) -> int | None:
    """The version of the schema, None where there is no ledger; a newer one than is known here is refused."""
    if not inspect(connection).has_table(ledger.name):
        return None
    found = connection.execute(select(ledger.c.schema_version)).scalar_one_or_none()
    if found is None:
        raise LedgerDamaged(f"The ledger {place} has lost its head. Restore the ledger from a backup.")
    return _not_newer(found, place)


def bring_up_to_date(connection: Connection, place: str) -> None:
    """Create the tables, or upgrade them step by step, all within the caller's transaction."""
    if connection.dialect.name == "postgresql":
        # Two processes that create the tables at once would both find none.
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_KEY})
    found = version(connection, place)
    if found is None:
        metadata.create_all(connection)
        first = {"id": 1, "schema_version": SCHEMA_VERSION, "sequence": 0, "hash": GENESIS}
        connection.execute(insert(ledger).values(first))
        return
    for step in range(found, SCHEMA_VERSION):
        if step not in UPGRADES:
            raise LedgerUnavailable(
                f"The ledger {place} has schema {step}, which this freegap cannot upgrade to "
                f"{SCHEMA_VERSION}. Open it once with the freegap release in between, which upgrades it."
            )
        UPGRADES[step](connection)
    connection.execute(update(ledger).values(schema_version=SCHEMA_VERSION))


def head(connection: Connection, place: str, *, lock: bool) -> Head:
    """The head of the journal; `lock` holds it to the end of the transaction, so that writers take turns."""
    wanted = select(ledger.c.schema_version, ledger.c.sequence, ledger.c.hash)
    row = connection.execute(wanted.with_for_update() if lock else wanted).one_or_none()
    if row is None:
        raise LedgerDamaged(f"The ledger {place} has lost its head. Restore the ledger from a backup.")
    _not_newer(row.schema_version, place)
    return Head(row.sequence, row.hash)


def _not_newer(found: int, place: str) -> int:
    if found > SCHEMA_VERSION:
        raise LedgerUnavailable(
            f"The ledger {place} has schema {found}; this freegap knows schemas up to {SCHEMA_VERSION}. "
            "Install a newer freegap: pip install --upgrade freegap"
        )
    return found
