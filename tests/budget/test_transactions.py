"""How a ledger's transactions are set up, asked of the databases themselves."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import text

from freegap import Ledger
from freegap.budget.accounting import Balance, BrokenRule, Cost, close, opened, reserve
from freegap.budget.store import Store


def settings_of(url: str, *names: str, write: bool) -> list[str]:
    with Store(url)._transaction(write=write) as connection:
        if connection.dialect.name != "postgresql":
            pytest.skip("PostgreSQL's settings")
        return [str(connection.execute(text(f"SHOW {name}")).scalar()) for name in names]


@pytest.fixture
def made(url: str) -> str:
    Ledger(url).create("shop", epsilon=1)
    return url


def test_writers_of_postgresql_take_turns_and_give_up_in_time(made: str) -> None:
    names = ("transaction_isolation", "transaction_read_only", "lock_timeout")
    assert settings_of(made, *names, write=True) == ["read committed", "off", "1min"]
    assert settings_of(made, "idle_in_transaction_session_timeout", write=True) == ["1min"]
    assert settings_of(made, "synchronous_commit", write=True) != ["off"]


def test_readers_of_postgresql_see_one_state_and_write_nothing(made: str) -> None:
    names = ("transaction_isolation", "transaction_read_only")
    assert settings_of(made, *names, write=False) == ["repeatable read", "on"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    Ledger(f"sqlite:///{tmp_path}/ledger.db").create("shop", epsilon=1)
    return tmp_path / "ledger.db"


def can_write(file: Path) -> bool:
    other = sqlite3.connect(file, timeout=0, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return False
    finally:
        other.close()
    return True


def test_a_writer_of_sqlite_keeps_the_others_out_from_its_start(file: Path) -> None:
    """Before it has written anything: else two could read the same balance and both charge on it."""
    store = Store(f"sqlite:///{file}")
    with store._transaction(write=True):
        assert not can_write(file)
    assert can_write(file)
    with store._transaction(write=False) as connection:
        connection.execute(text("SELECT * FROM freegap_ledger")).all()
        assert can_write(file)


@pytest.mark.parametrize("write", [True, False])
def test_sqlite_syncs_the_directory_too(file: Path, write: bool) -> None:
    with Store(f"sqlite:///{file}")._transaction(write=write) as connection:
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 3  # EXTRA
        assert connection.execute(text("PRAGMA busy_timeout")).scalar() == 60_000


def test_an_error_within_a_transaction_undoes_all_of_it(made: str) -> None:
    def write_and_fail() -> None:
        with Store(made)._transaction(write=True) as connection:
            connection.execute(text("UPDATE freegap_ledger SET sequence = 99"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_fail()
    assert Ledger(made).verify().ok


NONE, HALF, ONE, TWO = (Cost(Fraction(halves, 2)) for halves in (0, 1, 2, 4))


def test_the_rules_of_an_account_at_their_edges() -> None:
    account = opened(TWO)
    assert account == Balance(TWO, NONE, NONE)
    assert reserve(account, TWO).remaining == NONE  # all of it
    with pytest.raises(BrokenRule, match="must not exceed what is left"):
        reserve(account, TWO + Cost(Fraction(1, 10**9)))
    held = reserve(account, ONE)
    assert (held.reserved, held.spent, held.remaining) == (ONE, NONE, ONE)
    assert close(held, ONE, ONE) == Balance(TWO, ONE, NONE)  # all that was held
    assert close(held, ONE, NONE) == Balance(TWO, NONE, NONE)  # none of it
    assert close(held, HALF, HALF) == Balance(TWO, HALF, HALF)
    spent = close(held, ONE, HALF)
    assert (spent.spent, spent.reserved, spent.remaining) == (HALF, NONE, TWO - HALF)
    for held_amount, amount in ((ONE, ONE + HALF), (ONE, NONE - HALF)):
        with pytest.raises(BrokenRule, match="between 0 and what was reserved"):
            close(held, held_amount, amount)
    with pytest.raises(BrokenRule, match="must be open"):
        close(held, ONE + HALF, ONE)
    for amount in (NONE, NONE - ONE):
        with pytest.raises(BrokenRule, match="must be greater than 0"):
            opened(amount)
        with pytest.raises(BrokenRule, match="must be greater than 0"):
            reserve(account, amount)
