"""Opening ledgers of other versions: upgraded, or refused with what to do."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, create_mock_engine, inspect, text, update
from sqlalchemy.exc import IntegrityError

from freegap import Ledger, LedgerUnavailable
from freegap.budget import heads, schema
from freegap.budget.location import locate


def add_column(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE freegap_ledger ADD COLUMN note TEXT"))


def add_column_and_fail(connection: Connection) -> None:
    add_column(connection)
    raise LedgerUnavailable("The upgrade failed.")


def columns(url: str) -> set[str]:
    engine = create_engine(locate(url).url)
    found = {column["name"] for column in inspect(engine).get_columns("freegap_ledger")}
    engine.dispose()
    return found


def stored_version(url: str) -> int:
    engine = create_engine(locate(url).url)
    with engine.connect() as connection:
        found: int = connection.execute(text("SELECT schema_version FROM freegap_ledger")).scalar_one()
    engine.dispose()
    return found


def test_an_older_ledger_is_upgraded_step_by_step(
    url: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.reserve("shop", 1, what="noisy_max").settle("1/2")
    steps: list[int] = []
    monkeypatch.setattr(schema, "SCHEMA_VERSION", 5)
    monkeypatch.setitem(schema.UPGRADES, 3, add_column)
    monkeypatch.setitem(schema.UPGRADES, 4, lambda connection: steps.append(4))
    newer = Ledger(url)
    assert newer.account("shop").spent * 2 == 1
    assert (stored_version(url), steps) == (5, [4])
    assert "note" in columns(url)
    newer.reserve("shop", 1, what="noisy_max")
    assert newer.verify().entries == 4
    assert newer.verify().ok


def test_an_upgrade_that_fails_changes_nothing(
    url: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(schema, "SCHEMA_VERSION", 4)
        patched.setitem(schema.UPGRADES, 3, add_column_and_fail)
        with pytest.raises(LedgerUnavailable, match="The upgrade failed"):
            Ledger(url).accounts()
    assert "note" not in columns(url)
    assert stored_version(url) == 3
    assert ledger.account("shop").remaining == 5


def test_an_older_ledger_without_a_step_says_what_to_do(
    url: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "SCHEMA_VERSION", 4)
    with pytest.raises(LedgerUnavailable, match="has schema 3, which this freegap cannot upgrade to 4"):
        Ledger(url).account("shop")
    assert stored_version(url) == 3


def test_a_newer_ledger_is_refused_also_by_a_program_that_runs(url: str, ledger: Ledger) -> None:
    running = ledger.reserve("shop", 1, what="noisy_max")
    engine = create_engine(locate(url).url)
    with engine.begin() as connection:
        connection.execute(update(schema.ledger).values(schema_version=4))
    engine.dispose()
    for call in (Ledger(url).accounts, ledger.verify, lambda: running.settle(1)):
        with pytest.raises(LedgerUnavailable, match="has schema 4; this freegap knows schemas up to 3"):
            call()


def test_the_database_itself_keeps_a_reservation_from_being_closed_twice(url: str, ledger: Ledger) -> None:
    """Whatever two processes do: the second line is refused even by a program that does not look."""
    ledger.reserve("shop", 1, what="noisy_max").settle("1/2")
    engine = create_engine(locate(url).url)
    again = (
        "INSERT INTO freegap_journal SELECT sequence + 1, dataset, kind, reservation, amount, total, spent, "
        "reserved, what, parameters, who, at, previous, hash FROM freegap_journal WHERE kind = 'settle'"
    )
    with engine.connect() as connection, pytest.raises(IntegrityError):
        connection.execute(text(again))
    engine.dispose()


def refused(url: str, statements: list[str]) -> None:
    engine = create_engine(locate(url).url)
    for statement in statements:
        with engine.connect() as connection, pytest.raises(IntegrityError):
            connection.execute(text(statement))
    engine.dispose()


def test_a_ledger_has_one_head(url: str, ledger: Ledger) -> None:
    """Whoever writes a second one would have two journals in one."""
    head = "SELECT {}, schema_version, sequence, hash FROM freegap_ledger"
    refused(url, [f"INSERT INTO freegap_ledger {head.format(number)}" for number in (1, 2)])


def test_no_part_of_a_line_or_of_a_head_is_missing(url: str, ledger: Ledger) -> None:
    names = [column.name for column in schema.journal.columns]
    copies = []
    for missing in (name for name in names if name != "reservation"):
        given = {name: name for name in names} | {"sequence": "sequence + 1"} | {missing: "NULL"}
        listed = ", ".join(given.values())
        copies.append(f"INSERT INTO freegap_journal SELECT {listed} FROM freegap_journal")  # noqa: S608
    refused(url, copies)
    parts = ("schema_version", "sequence", "hash")
    refused(url, [f"UPDATE freegap_ledger SET {part} = NULL" for part in parts])  # noqa: S608


def test_the_lines_of_a_dataset_are_found_by_an_index(url: str, ledger: Ledger) -> None:
    engine = create_engine(locate(url).url)
    found = inspect(engine).get_indexes("freegap_journal")
    engine.dispose()
    indexes = {index["name"]: index["column_names"] for index in found}
    assert indexes["freegap_journal_by_dataset"] == ["dataset", "sequence"]


_TABLES = [
    "CREATE TABLE freegap_ledger ( id INTEGER NOT NULL CHECK (id = 1), schema_version INTEGER NOT NULL, "
    "sequence BIGINT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (id) )",
    "CREATE TABLE freegap_journal ( sequence BIGINT NOT NULL, dataset TEXT NOT NULL, kind TEXT NOT NULL, "
    "reservation BIGINT, amount TEXT NOT NULL, total TEXT NOT NULL, spent TEXT NOT NULL, "
    "reserved TEXT NOT NULL, what TEXT NOT NULL, parameters TEXT NOT NULL, who TEXT NOT NULL, "
    "at TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL, "
    "PRIMARY KEY (sequence), UNIQUE (reservation) )",
    "CREATE INDEX freegap_journal_by_dataset ON freegap_journal (dataset, sequence)",
]
_GUARDS = {
    "sqlite://": [
        f"CREATE TRIGGER freegap_journal_no_{event} BEFORE {event} ON freegap_journal BEGIN SELECT "
        "RAISE(ABORT, 'the freegap journal is append-only'); END"
        for event in ("update", "delete")
    ],
    "postgresql+psycopg://": [
        "CREATE OR REPLACE FUNCTION freegap_journal_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'the freegap journal is append-only'; END $$",
        "CREATE TRIGGER freegap_journal_guard BEFORE UPDATE OR DELETE OR TRUNCATE ON freegap_journal FOR "
        "EACH STATEMENT EXECUTE FUNCTION freegap_journal_guard()",
    ],
}


@pytest.mark.parametrize("place", _GUARDS)
def test_the_tables_are_these_on_either_database(place: str) -> None:
    """Another schema needs a version of its own: ledgers that exist have this one."""
    said: list[str] = []

    def note(statement: Any, *_: Any, **__: Any) -> None:
        said.append(" ".join(str(statement.compile(dialect=engine.dialect)).split()))

    engine = create_mock_engine(place, note)
    schema.metadata.create_all(engine, checkfirst=False)
    heads._table.create(engine, checkfirst=False)
    noted = (
        "CREATE TABLE freegap_heads ( sequence BIGINT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (sequence) )"
    )
    assert said == [*_TABLES, *_GUARDS[place], noted]
