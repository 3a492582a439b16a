"""Whatever is changed in a journal from outside shows, and nothing is charged where it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, NullPool, create_engine, delete, insert, select, text, update
from sqlalchemy.exc import DBAPIError

from freegap import Ledger, LedgerDamaged
from freegap.budget import schema
from freegap.budget.accounting import amount_text
from freegap.budget.chain import GENESIS, Line
from freegap.budget.location import locate
from freegap.budget.reservation import Reservation
from freegap.values.measures import Pure

JOURNAL, HEAD = schema.journal, schema.ledger


@contextmanager
def outside(url: str, *, guarded: bool = False) -> Iterator[Connection]:
    """The database as someone has it who does not go through freegap."""
    engine = create_engine(locate(url).url, poolclass=NullPool)
    with engine.begin() as connection:
        if not guarded and engine.dialect.name == "sqlite":
            connection.execute(text("DROP TRIGGER IF EXISTS freegap_journal_no_update"))
            connection.execute(text("DROP TRIGGER IF EXISTS freegap_journal_no_delete"))
        elif not guarded:
            connection.execute(text("DROP TRIGGER IF EXISTS freegap_journal_guard ON freegap_journal"))
        yield connection


@pytest.fixture
def written(url: str) -> str:
    return twelve_lines(url)


def twelve_lines(url: str) -> str:
    """A ledger of twelve lines in two datasets."""
    ledger = Ledger(url)
    ledger.create("shop", epsilon=5)
    ledger.create("web", epsilon=3)
    for dataset in ("shop", "web", "shop"):
        ledger.reserve(dataset, 1, what="noisy_max", parameters={"k": 1}).settle("1/2")
    ledger.reserve("shop", 1, what="top_k").abandon("no file")
    ledger.reserve("shop", 1, what="top_k")
    ledger.reserve("web", 1, what="top_k")
    assert ledger.verify().entries == 12
    return url


def lines(connection: Connection) -> list[Line]:
    rows = connection.execute(select(JOURNAL).order_by(JOURNAL.c.sequence))
    return [Line(**row._mapping) for row in rows]


def rewrite(connection: Connection, wanted: list[Line]) -> None:
    """Put other lines in place of the journal, with hashes that fit, as a patient forger would."""
    connection.execute(delete(JOURNAL))
    previous = GENESIS
    for line in wanted:
        linked = replace(line, previous=previous)
        linked = replace(linked, hash=linked.digest())
        connection.execute(insert(JOURNAL).values(asdict(linked)))
        previous = linked.hash
    if wanted:
        connection.execute(update(HEAD).values(sequence=wanted[-1].sequence, hash=previous))


def test_the_database_refuses_changes_by_accident(written: str) -> None:
    for statement in (update(JOURNAL).values(who="me"), delete(JOURNAL)):
        with pytest.raises(DBAPIError, match="append-only"), outside(written, guarded=True) as connection:
            connection.execute(statement)
    assert Ledger(written).verify().ok


@pytest.mark.parametrize("column", [part.name for part in fields(Line)])
def test_a_change_of_any_column_shows(written: str, column: str) -> None:
    changed: Any = {"sequence": 77, "reservation": 11}.get(column, "2/1")
    with outside(written) as connection:
        connection.execute(update(JOURNAL).where(JOURNAL.c.sequence == 5).values({column: changed}))
    outcome = Ledger(written).verify()
    assert not outcome
    assert (outcome.broken, outcome.entries) == (5, 4)


@pytest.mark.parametrize("sequence", [1, 5, 11, 12])
def test_a_removed_line_shows(written: str, sequence: int) -> None:
    with outside(written) as connection:
        connection.execute(delete(JOURNAL).where(JOURNAL.c.sequence == sequence))
    outcome = Ledger(written).verify()
    assert (outcome.ok, outcome.broken) == (False, sequence)
    if sequence < 12:
        missing = f"line {sequence} is missing: after line {sequence - 1} comes line {sequence + 1}"
        assert missing in str(outcome.reason)


@pytest.mark.parametrize("sequence", [5, 12])
def test_a_removed_line_shows_after_renumbering(written: str, sequence: int) -> None:
    with outside(written) as connection:
        connection.execute(delete(JOURNAL).where(JOURNAL.c.sequence == sequence))
        for later in range(sequence + 1, 13):
            connection.execute(update(JOURNAL).where(JOURNAL.c.sequence == later).values(sequence=later - 1))
    assert Ledger(written).verify().broken == sequence


@pytest.mark.parametrize("sequence", [5, 13])
def test_an_inserted_line_shows(written: str, sequence: int) -> None:
    with outside(written) as connection:
        for later in range(12, sequence - 1, -1):
            connection.execute(update(JOURNAL).where(JOURNAL.c.sequence == later).values(sequence=later + 1))
        last = lines(connection)[sequence - 2]
        forged = replace(last, sequence=sequence, kind="reserve", reservation=None, previous=last.hash)
        connection.execute(insert(JOURNAL).values(asdict(replace(forged, hash=forged.digest()))))
    outcome = Ledger(written).verify()
    assert (outcome.ok, outcome.broken) == (False, sequence)


def test_swapped_lines_show(written: str) -> None:
    with outside(written) as connection:
        for old, new in ((3, 77), (5, 3), (77, 5)):
            connection.execute(update(JOURNAL).where(JOURNAL.c.sequence == old).values(sequence=new))
    assert Ledger(written).verify().broken == 3


def test_lines_cut_off_at_the_end_show(written: str) -> None:
    with outside(written) as connection:
        connection.execute(delete(JOURNAL).where(JOURNAL.c.sequence > 9))
    outcome = Ledger(written).verify()
    assert (outcome.entries, outcome.broken) == (9, 10)
    assert "ends after line 9, but the ledger has recorded 12 lines" in (outcome.reason or "")
    with pytest.raises(LedgerDamaged, match="its end is not the one that was recorded"):
        Ledger(written).reserve("shop", "1/10", what="noisy_max")


def test_a_changed_or_lost_head_shows(written: str) -> None:
    with outside(written) as connection:
        connection.execute(update(HEAD).values(hash="0" * 64))
    assert "not the one that the ledger has recorded" in (Ledger(written).verify().reason or "")
    with outside(written) as connection:
        connection.execute(delete(HEAD))
    with pytest.raises(LedgerDamaged, match="has lost its head"):
        Ledger(written).verify()


@pytest.mark.parametrize("column", ["spent", "reserved", "total", "amount"])
def test_a_changed_balance_is_not_charged_on(written: str, column: str) -> None:
    with outside(written) as connection:
        connection.execute(update(JOURNAL).where(JOURNAL.c.sequence == 11).values({column: "0/1"}))
    ledger = Ledger(written)
    for call in (lambda: ledger.reserve("shop", "1/10", what="a"), lambda: ledger.account("shop")):
        with pytest.raises(LedgerDamaged, match="line 11 does not fit its hash"):
            call()


FORGERIES: list[dict[str, Any]] = [
    {"who": "somebody else"},
    {"what": "noisy_max"},
    {"at": "2000-01-01T00:00:00.000000+00:00"},
    {"reserved": "1/2"},
    {"amount": "1/2", "reserved": "1/2"},
    {"kind": "abandon", "reservation": 11, "amount": "0/1", "reserved": "0/1"},
]


@pytest.mark.parametrize("forged", FORGERIES, ids=lambda forged: " ".join(forged))
def test_a_forged_last_line_with_a_hash_that_fits_shows(written: str, forged: dict[str, Any]) -> None:
    """The last line has no successor that names its hash; the recorded head does."""
    ledger = Ledger(written)
    open_one = ledger.reserve("web", "1/4", what="a")
    with outside(written) as connection:
        last = replace(lines(connection)[-1], **forged)
        connection.execute(delete(JOURNAL).where(JOURNAL.c.sequence == 13))
        connection.execute(insert(JOURNAL).values(asdict(replace(last, hash=last.digest()))))
    outcome = ledger.verify()
    assert not outcome.ok
    assert outcome.broken in (13, 14)
    for call in (
        lambda: ledger.reserve("web", "1/10", what="a"),
        lambda: ledger.reserve("shop", "1/10", what="a"),
        lambda: ledger.create("bank", epsilon=1),
        lambda: open_one.settle("1/8"),
    ):
        with pytest.raises(LedgerDamaged):
            call()


def test_a_forged_last_line_with_the_head_moved_along_must_obey_the_rules_or_miss_the_noted_head(
    written: str,
) -> None:
    ledger = Ledger(written)
    noted = ledger.verify().head
    with outside(written) as connection:
        old = lines(connection)
        rewrite(connection, [*old[:-1], replace(old[-1], reserved="1/2")])
    outcome = ledger.verify()
    assert (outcome.ok, outcome.broken, outcome.entries) == (False, 12, 11)
    with outside(written) as connection:
        rewrite(connection, [*old[:-1], replace(old[-1], who="somebody else")])
    assert ledger.verify().ok  # it obeys the rules, and nothing within the database knows better
    outcome = ledger.verify(noted)
    assert (outcome.ok, outcome.broken, outcome.entries) == (False, None, 12)
    with outside(written) as connection:
        rewrite(connection, old)
    assert ledger.verify(noted).ok
    assert ledger.verify(noted).head == noted


def test_an_empty_journal_is_whole_only_where_nothing_was_recorded(url: str) -> None:
    ledger = Ledger(url)
    ledger.create("shop", epsilon=5)
    with outside(url) as connection:
        connection.execute(delete(JOURNAL))
    outcome = ledger.verify()
    assert (outcome.ok, outcome.entries, outcome.broken, outcome.head) == (False, 0, 1, GENESIS)
    with pytest.raises(LedgerDamaged, match="its end is not the one that was recorded"):
        ledger.create("shop", epsilon=5)
    with outside(url) as connection:
        connection.execute(update(HEAD).values(sequence=0, hash=GENESIS))
    assert ledger.verify().ok
    assert ledger.verify(GENESIS).ok
    assert ledger.create("shop", epsilon=5).total == 5


def test_a_reservation_of_another_dataset_or_kind_is_not_settled(url: str) -> None:
    ledger = Ledger(url)
    ledger.create("shop", epsilon=5)
    ledger.create("web", epsilon=5)
    held = ledger.reserve("shop", 1, what="a")
    hashes = {entry.sequence: entry.hash for entry in ledger.entries()}
    for sequence, dataset, noted in (
        (1, "shop", held.line_hash),
        (held.sequence, "shop", hashes[1]),
        (held.sequence, "nowhere", held.line_hash),
        (99, "shop", held.line_hash),
    ):
        with pytest.raises(LedgerDamaged, match="has lost the reservation"):
            Reservation(ledger, sequence, noted, dataset, Pure(Fraction(1)), "a").settle(1)
    held.settle(1)
    assert ledger.verify().ok


def test_an_older_copy_put_back_shows_by_a_noted_head(written: str) -> None:
    ledger = Ledger(written)
    early = ledger.verify().head
    with outside(written) as connection:
        old = lines(connection)
    ledger.reserve("shop", 1, what="noisy_max").settle(1)
    late = ledger.verify().head
    assert ledger.verify(early).ok
    assert ledger.verify(late).ok
    with outside(written) as connection:
        rewrite(connection, old)
    assert ledger.verify().ok  # nothing within the database can show it
    assert ledger.verify(early).ok
    outcome = ledger.verify(late)
    assert (outcome.ok, outcome.broken) == (False, None)
    assert "an older copy was put back" in (outcome.reason or "")


def at(sequence: int, **changed: Any) -> Callable[[list[Line]], list[Line]]:
    return lambda old: [replace(line, **changed) if line.sequence == sequence else line for line in old]


NOTHING, MUCH = amount_text(Fraction(0)), amount_text(Fraction(9))


@pytest.mark.parametrize(
    ("forge", "broken", "reason"),
    [
        (at(4, amount="1/4"), 4, "what the lines before it add up to"),
        (at(4, amount="1/4", spent="1/4"), 7, "what the lines before it add up to"),
        (at(4, amount=MUCH), 4, "between 0 and what was reserved"),
        (at(3, amount=MUCH), 3, "must not exceed what is left"),
        (at(3, amount=NOTHING), 3, "must be greater than 0"),
        (at(3, amount="2/2"), 3, "lowest terms"),
        (at(3, amount="1.0"), 3, "numerator/denominator"),
        (at(3, amount="-1/1"), 3, "numerator/denominator"),
        (at(3, amount="1/0"), 3, "numerator/denominator"),
        (at(3, kind="refund"), 3, "must be create, reserve, settle, abandon or note"),
        (at(3, kind="create"), 3, "must be created once"),
        (at(3, dataset="bank"), 3, "must be created before it is charged"),
        (at(3, reservation=2), 3, "only a settled or abandoned line"),
        (at(3, parameters="[]"), 3, "JSON object"),
        (at(3, parameters="{"), 3, "JSON object"),
        (at(4, reservation=None), 4, "must name its reservation"),
        (at(4, reservation=1), 4, "reservation that is not open"),
        (at(4, dataset="web"), 4, "on its own dataset"),
        (at(10, amount="1/2"), 10, "must have spent nothing"),
        (at(1, amount=NOTHING), 1, "must be created with its total"),
        (at(1, amount=NOTHING, total=NOTHING), 1, "must be greater than 0"),
    ],
)
def test_a_forged_journal_with_hashes_that_fit_must_still_obey_the_rules(
    tmp_path: Path, forge: Callable[[list[Line]], list[Line]], broken: int, reason: str
) -> None:
    written = twelve_lines(f"sqlite:///{tmp_path}/ledger.db")
    with outside(written) as connection:
        rewrite(connection, forge(lines(connection)))
    outcome = Ledger(written).verify()
    assert not outcome.ok
    assert outcome.broken == broken
    assert reason in (outcome.reason or "")


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (at(3, reserved="none"), "numerator/denominator"),
        (at(3, reserved="0/1"), "must be open to be closed"),
    ],
)
def test_a_forged_balance_with_a_hash_that_fits_is_no_traceback(
    url: str, forge: Callable[[list[Line]], list[Line]], reason: str
) -> None:
    ledger = Ledger(url)
    ledger.create("shop", epsilon=5)
    reservation = ledger.reserve("shop", 1, what="a")
    ledger.reserve("shop", 1, what="b")
    with outside(url) as connection:
        rewrite(connection, forge(lines(connection)))
    with pytest.raises(LedgerDamaged, match=reason):
        reservation.settle(1)


def test_bytes_in_place_of_text_show(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db"  # SQLite takes any type in any column
    Ledger(url).create("shop", epsilon=5)
    with outside(url) as connection:
        connection.execute(text("UPDATE freegap_journal SET who = x'00ff'"))
    assert Ledger(url).verify().broken == 1


def test_a_reservation_that_took_the_number_of_a_lost_one_is_not_settled_for_it(url: str) -> None:
    ledger = Ledger(url)
    ledger.create("shop", epsilon=5)
    lost = ledger.reserve("shop", 1, what="a")
    with outside(url) as connection:
        rewrite(connection, lines(connection)[:1])
    other = ledger.reserve("shop", 1, what="b")
    assert other.sequence == lost.sequence
    with pytest.raises(LedgerDamaged, match="has lost the reservation"):
        lost.settle("1/2")
    assert ledger.account("shop").reserved == 1
    other.settle(1)
    assert ledger.account("shop").spent == 1


def test_a_reservation_that_was_taken_out_is_not_settled(url: str) -> None:
    ledger = Ledger(url)
    ledger.create("shop", epsilon=5)
    reservation = ledger.reserve("shop", 1, what="a")
    with outside(url) as connection:
        rewrite(connection, lines(connection)[:1])
    with pytest.raises(LedgerDamaged, match="has lost the reservation"):
        reservation.settle(1)
