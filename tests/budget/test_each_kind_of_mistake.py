"""Each kind of mistake at each place where a ledger reads something, and the limits of what it takes."""

from __future__ import annotations

import datetime
import getpass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from freegap.budget.arguments import time_argument, who
from freegap.budget.heads import head_places
from freegap.budget.ledger import Ledger
from freegap.budget.location import locate
from freegap.budget.schema import Head
from freegap.errors import InvalidArgument, LedgerDamaged, LedgerUnavailable


@pytest.mark.parametrize("error", [KeyError, OSError, ImportError])
def test_a_user_without_a_name(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise error("uid not found")

    monkeypatch.setattr(getpass, "getuser", nobody)
    monkeypatch.setattr("platform.node", lambda: "")
    assert who() == "unknown@unknown"
    monkeypatch.setattr("platform.node", lambda: "host\n")
    assert who() == "unknown@host?"


@pytest.mark.parametrize(
    "time",
    [
        "x",
        "",
        "2026-13-01",
        3,
        None,
        datetime.date(2026, 1, 1),
        datetime.datetime.max.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=-1))),
        datetime.datetime.min.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
    ],
    ids=str,
)
def test_what_is_no_time(time: Any) -> None:
    with pytest.raises(InvalidArgument, match="must be a time"):
        time_argument("since", time)


@pytest.mark.parametrize("text", [b"", b"\n", b"7", b"x y", b"1.5 a", b"\xff\xfe", "é x".encode()], ids=str)
def test_a_file_that_holds_no_head(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "head").write_bytes(text)
    (place,) = head_places(tmp_path / "head")
    with pytest.raises(LedgerDamaged, match="should hold the head of a ledger, and does not") as caught:
        place.newest()
    assert caught.value.__suppress_context__
    (tmp_path / "head").write_bytes(b"7 abc\n")
    assert place.newest() == Head(7, "abc")


@pytest.mark.parametrize("heads", [[""], ["a", ""], [3], ["a", None], [b"a"], ""], ids=str)
def test_what_is_no_place_for_heads(heads: Any) -> None:
    with pytest.raises(InvalidArgument, match="must be places as text"):
        head_places(heads)


@pytest.mark.parametrize(
    "url",
    ["postgresql://h:port/d", "~nobody-of-this-name/ledger.db", "://", "half \ud800", "user:SECRET@host"],
    ids=ascii,
)
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(InvalidArgument, match="is not a database URL") as caught:
        locate(url)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_ledger_below_a_file_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("file/ledger.db", "none/ledger.db"):
        with pytest.raises(LedgerUnavailable, match="There is no ledger at"):
            Ledger(f"sqlite:///{tmp_path}/{name}").accounts()


def test_how_many_digits_an_amount_has(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    least, less = Fraction(1, 10**2000), Fraction(1, 10**2001)  # of so many bits as 2000 digits may have
    assert ledger.create("shop", epsilon=least).total == least
    assert ledger.create("more", epsilon=5).total == 5
    calls: list[Any] = [
        lambda amount: ledger.create("less", epsilon=amount),
        lambda amount: ledger.reserve("more", amount, what="x"),
        lambda amount: ledger.record("more", epsilon=amount, by="x", what="x"),
        lambda amount: ledger.require("more", epsilon=amount),
        lambda amount: ledger.account("more").fits(epsilon=amount),
    ]
    for call in calls:
        with pytest.raises(InvalidArgument, match="epsilon"):
            call(less)
    for call in calls[1:]:
        call(least)


def test_texts_are_looked_for_as_they_are(tmp_path: Path) -> None:
    """And not as patterns, in which % and _ stand for others."""
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=5)
    for text in ("a_b", "a%b", "axb"):
        ledger.reserve("shop", 1, what="x", parameters={"t": text})
    with ledger._store.journal(write=False) as journal:
        for text, lines in (("a_b", [2]), ("a%b", [3]), ("axb", [4]), ("a", [2, 3, 4]), ("b_a", [])):
            assert [line.sequence for line in journal.lines_with("shop", text)] == lines
            own = ledger._who()
            assert [line.sequence for line in journal.reserved_with(own, text, 0)] == lines
            assert [line.sequence for line in journal.reserved_with(own, text, 3)] == [
                line for line in lines if line > 3
            ]
            assert journal.reserved_with("somebody else", text, 0) == []
        assert journal.lines_with("web", "a") == []


def test_a_writer_waits_for_readers_when_it_commits(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=5)
    with ledger._store._transaction(write=True) as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one() == 60_000
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 3


def test_on_a_server_one_after_the_other_makes_the_tables(server: Any) -> None:
    ledger = Ledger(server.new_schema())
    asked: list[str] = []
    event.listen(
        ledger._store._engine,
        "before_cursor_execute",
        lambda *given: asked.append(" ".join(given[2].split())),
    )
    ledger.create("shop", epsilon=5)
    locked = next(n for n, one in enumerate(asked) if "pg_advisory_xact_lock" in one)
    assert all(n > locked for n, one in enumerate(asked) if one.startswith("CREATE TABLE"))
    assert any("FOR UPDATE" in one for one in asked)
    asked.clear()
    ledger.accounts()
    assert not any("FOR UPDATE" in one or "pg_advisory" in one for one in asked)
