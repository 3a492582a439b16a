"""Disk full, read-only, locked, connection lost, clock backwards: a clear error, and nothing lost."""

from __future__ import annotations

import os
import pwd
import resource
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from freegap_evidence.bench import postgres
from sqlalchemy.exc import DBAPIError

import freegap as fg
from freegap import Ledger, LedgerDamaged, LedgerUnavailable, UnsettledWarning
from freegap.budget import journal, store
from freegap.budget.faults import in_words


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def on_file(file: Path) -> Ledger:
    ledger = Ledger(f"sqlite:///{file}")
    ledger.create("shop", epsilon=5)
    return ledger


def reserve(ledger: Ledger) -> None:
    ledger.reserve("shop", "1/100", what="noisy_max")


def reserve_often(ledger: Ledger) -> None:
    for _ in range(200):
        reserve(ledger)


@contextmanager
def small_disk(size: str) -> Iterator[Path]:
    """A real file system of that size."""
    directory = Path(tempfile.mkdtemp(prefix="freegap-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0  # noqa: S603
    except OSError:
        mounted = False
    if not mounted:
        directory.rmdir()
        pytest.skip("a small disk needs the right to mount one")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)  # noqa: S603, S607
        directory.rmdir()


def fill(directory: Path) -> Path:
    """Take the last byte of a disk."""
    ballast = directory / "ballast"
    with ballast.open("wb", buffering=0) as taken:
        while True:
            try:
                taken.write(bytes(4096))
            except OSError:
                return ballast


def test_a_full_disk_under_sqlite() -> None:
    with small_disk("256k") as directory:
        ledger = Ledger(f"sqlite:///{directory}/ledger.db")
        ledger.create("shop", epsilon=5)
        ballast = fill(directory)
        with pytest.raises(LedgerUnavailable, match="the disk is full"):
            reserve(ledger)
        assert ledger.account("shop").remaining == 5
        ballast.unlink()
        with pytest.warns(UnsettledWarning, match="the disk is full"):
            ledger.charge("shop", lambda: (fill(directory), 1), epsilon=1, what="noisy_max")
        assert ledger.account("shop").remaining == 4
        ballast.unlink()
        reserve(ledger)
        assert ledger.verify().ok


def test_a_full_disk_under_postgresql(server: postgres.Server) -> None:
    with small_disk("32m") as directory:
        server.hand_over(directory)
        server.execute(f"CREATE TABLESPACE small LOCATION '{directory}'")
        server.execute("CREATE DATABASE cramped TABLESPACE small")
        try:
            ledger = Ledger(server.url("cramped"))
            ledger.create("shop", epsilon=5)
            ballast = fill(directory)
            # Pages that are there have room for some more lines.
            with pytest.raises(LedgerUnavailable, match="the server's disk is full"):
                reserve_often(ledger)
            account = ledger.account("shop")
            assert account.reserved == Fraction(len(ledger.entries()) - 1, 100)
            ballast.unlink()
            reserve(ledger)
            assert ledger.account("shop").reserved == account.reserved + Fraction(1, 100)
            assert ledger.verify().ok
        finally:
            server.execute("DROP DATABASE cramped WITH (FORCE)")
            server.execute("DROP TABLESPACE small")


def test_a_quota_on_the_size_of_files(on_file: Ledger) -> None:
    reserve(on_file)
    before = on_file.entries()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, hard))
    try:
        with pytest.raises(LedgerUnavailable, match="error from the disk"):
            reserve(on_file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert on_file.entries() == before
    reserve(on_file)
    assert on_file.verify().ok


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write everywhere, so a test that runs as root lays that down for a while."""
    mine = os.geteuid()
    if mine == 0:
        os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        os.seteuid(mine)


def test_a_read_only_file_can_be_read_and_verified_but_not_charged() -> None:
    with tempfile.TemporaryDirectory(prefix="freegap-") as name:
        directory = Path(name)
        ledger = Ledger(f"sqlite:///{directory}/ledger.db")
        ledger.create("shop", epsilon=5)
        (directory / "ledger.db").chmod(0o444)
        directory.chmod(0o555)
        try:
            with as_nobody():
                with pytest.raises(LedgerUnavailable, match="is read-only"):
                    reserve(ledger)
                assert ledger.account("shop").remaining == 5
                assert ledger.verify().ok
                with pytest.raises(LedgerUnavailable, match="cannot be opened"):
                    Ledger(f"sqlite:///{directory}/new.db").create("shop", epsilon=5)
        finally:
            directory.chmod(0o755)


def test_a_user_without_rights_on_postgresql(server: postgres.Server) -> None:
    server.execute("CREATE DATABASE guarded")
    Ledger(server.url("guarded")).create("shop", epsilon=5)
    server.execute("CREATE ROLE reader LOGIN")
    server.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader", "guarded")
    reader = Ledger(server.url("guarded", "reader"))
    assert reader.account("shop").remaining == 5
    assert reader.verify().ok
    with pytest.raises(LedgerUnavailable, match="may not be used by this user"):
        reserve(reader)
    # The rights that docs/budget.md names are enough, and do not allow to rewrite the journal.
    server.execute("GRANT INSERT ON freegap_journal TO reader", "guarded")
    server.execute("GRANT UPDATE ON freegap_ledger TO reader", "guarded")
    reader.reserve("shop", 1, what="noisy_max").settle(1)
    assert reader.account("shop").remaining == 4


def test_a_missing_directory(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="cannot be opened"):
        Ledger(f"sqlite:///{tmp_path}/not/there/ledger.db").create("shop", epsilon=5)


def test_a_file_that_is_no_ledger(file: Path) -> None:
    file.write_text("Dear diary, " * 100)
    with pytest.raises(LedgerDamaged, match="is not a ledger or is damaged"):
        Ledger(f"sqlite:///{file}").accounts()


def test_a_torn_file_is_refused_not_guessed_at(on_file: Ledger, file: Path) -> None:
    for _ in range(30):
        reserve(on_file)
    content = bytearray(file.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    file.write_bytes(content)
    with pytest.raises(LedgerDamaged):
        reserve(on_file)
    with pytest.raises(LedgerDamaged):
        on_file.verify()


def test_a_file_that_vanishes_is_not_begun_anew(on_file: Ledger, file: Path) -> None:
    reserve(on_file)
    file.unlink()
    with pytest.raises(LedgerUnavailable, match="There is no ledger at"):
        reserve(on_file)
    assert not file.exists()


def test_an_empty_file_is_a_lost_ledger_and_invites_no_new_budget(on_file: Ledger, file: Path) -> None:
    reserve(on_file)
    file.write_bytes(b"")
    for again in (on_file, Ledger(f"sqlite:///{file}")):
        with pytest.raises(LedgerDamaged, match="is an empty file"):
            reserve(again)
        with pytest.raises(LedgerDamaged, match="is an empty file"):
            again.create("shop", epsilon=5)
    assert file.read_bytes() == b""


def test_a_ledger_is_put_in_its_place_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "whole.db"
    linked: list[bytes] = []

    def link(apart: Path, place: Path) -> None:
        linked.append(apart.read_bytes()[:15])
        raise OSError("no links on this file system")

    monkeypatch.setattr(os, "link", link)
    assert Ledger(f"sqlite:///{file}").create("shop", epsilon=5).total == 5
    assert linked == [b"SQLite format 3"]
    assert [left.name for left in tmp_path.iterdir()] == ["whole.db"]


def test_of_two_that_make_a_ledger_at_once_the_second_takes_the_one_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, real = f"sqlite:///{tmp_path}/one.db", os.link

    def link(apart: Path, place: Path) -> None:
        monkeypatch.setattr(os, "link", real)
        Ledger(url).create("shop", epsilon=5)  # another process, in between
        real(apart, place)

    monkeypatch.setattr(os, "link", link)
    ledger = Ledger(url)
    ledger.create("web", epsilon=1)
    assert [account.dataset for account in ledger.accounts()] == ["shop", "web"]
    assert [left.name for left in tmp_path.iterdir()] == ["one.db"]


def test_a_locked_file(file: Path, on_file: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_PATIENCE", 0.2)
    hasty = Ledger(f"sqlite:///{file}")
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailable, match="is locked by another process"):
        reserve(hasty)
    holder.rollback()
    holder.close()
    reserve(hasty)
    assert on_file.account("shop").reserved == Fraction(1, 100)


def test_a_writer_that_is_passed_over_waits_while_the_others_get_on(
    file: Path, on_file: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever its patience ends, another has written and begun again; the sixth time there is none."""
    monkeypatch.setattr(store, "_PATIENCE", 0.05)
    slow = Ledger(f"sqlite:///{file}")
    slow.account("shop")  # has looked at the tables: the next transaction is the reservation
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    seen: list[int | None] = []

    def written(place: Path) -> int | None:
        if len(seen) % 2:  # it has waited in vain
            holder.execute("UPDATE freegap_ledger SET sequence = sequence")
            holder.execute("COMMIT")
            os.utime(place, ns=(len(seen), len(seen)))  # as time would, without waiting for the clock to tick
            if len(seen) < 9:
                holder.execute("BEGIN IMMEDIATE")
        seen.append(real(place))
        return seen[-1]

    real = store._written
    with monkeypatch.context() as patched:
        patched.setattr(store, "_written", written)
        reserve(slow)
    holder.close()
    assert len(seen) == 11
    assert on_file.account("shop").reserved == Fraction(1, 100)


def test_a_connection_lost_within_a_transaction(server: postgres.Server) -> None:
    ledger = Ledger(server.url("postgres"))
    ledger.create("shop", epsilon=5)
    caught: list[Exception] = []

    def blocked() -> None:
        try:
            reserve(ledger)
        except LedgerUnavailable as error:
            caught.append(error)

    with psycopg.connect(server.dsn()) as holder:
        holder.execute("SELECT * FROM freegap_ledger FOR UPDATE")
        thread = threading.Thread(target=blocked)
        thread.start()
        kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        deadline = time.monotonic() + 30
        while server.execute(kill) == 0 and time.monotonic() < deadline:
            time.sleep(0.02)
        thread.join(30)
    assert "cannot be reached" in str(caught[0])
    assert ledger.account("shop").remaining == 5
    reserve(ledger)
    assert ledger.verify().ok


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_server_that_stops_or_crashes_during_a_release(
    own_server: postgres.Server, how: signal.Signals
) -> None:
    ledger = Ledger(own_server.url("postgres"))
    ledger.create("shop", epsilon=5)

    def release() -> fg.TopK:
        made = fg.noisy_max([1, 2, 3], epsilon=1)
        own_server.stop(how)
        return made

    with pytest.warns(UnsettledWarning, match="cannot be reached"):
        assert ledger.charge("shop", release, epsilon=1, what="noisy_max").spent == 1
    with pytest.raises(LedgerUnavailable, match="cannot be reached"):
        reserve(ledger)
    own_server.start()
    assert ledger.account("shop").remaining == 4
    reserve(ledger)
    assert ledger.verify().ok


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    ledger = Ledger(f"postgresql://user:hunter2@/ledger?host={tmp_path}")
    with pytest.raises(LedgerUnavailable, match="cannot be reached") as caught:
        ledger.create("shop", epsilon=5)
    assert "hunter2" not in str(caught.value)


def test_a_database_that_is_not_there(server: postgres.Server) -> None:
    with pytest.raises(LedgerUnavailable, match=r"cannot be reached|does not exist"):
        Ledger(server.url("nowhere")).create("shop", epsilon=5)


def test_a_clock_that_goes_backwards(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(datetime(2030, 1, 1, tzinfo=UTC) - timedelta(days=days) for days in range(100))
    monkeypatch.setattr(journal, "now", lambda: next(times))
    for _ in range(5):
        ledger.reserve("shop", "1/2", what="noisy_max").settle("1/3")
    entries = ledger.entries("shop")
    assert [entry.sequence for entry in entries] == list(range(1, 12))
    whens = [entry.when for entry in entries[1:]]
    assert whens == sorted(whens, reverse=True)
    assert ledger.account("shop").spent == Fraction(5, 3)
    assert ledger.verify().ok


def test_an_error_without_a_code_is_named_by_its_kind() -> None:
    with pytest.raises(LedgerUnavailable, match=r"error from the database \(OddError\)"), in_words("x.db"):
        raise DBAPIError("SELECT 1", None, OddError("secret"))


class OddError(Exception):
    """Of a driver that gives its errors no codes."""
