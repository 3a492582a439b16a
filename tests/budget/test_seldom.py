"""What seldom happens to a ledger: a place for heads that breaks, a package that is missing, a lost line."""

from __future__ import annotations

import builtins
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from freegap import InvalidArgument, Ledger, LedgerDamaged, LedgerUnavailable, MissingExtra
from freegap.budget import heads, store
from freegap.budget.accounting import BrokenRule
from freegap.budget.heads import head_places
from freegap.budget.notes import thread_of
from freegap.budget.schema import Head


def test_a_broken_rule_is_damage_and_names_the_rule(file_ledger: Ledger) -> None:
    with (
        pytest.raises(
            LedgerDamaged, match=r"changed from outside: this rule\. Nothing was charged"
        ) as caught,
        file_ledger._store.journal(write=True),
    ):
        raise BrokenRule("this rule")
    assert isinstance(caught.value.__cause__, BrokenRule)


def test_a_head_that_cannot_be_put_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (noted,) = head_places(str(tmp_path / "head"))

    def replace(self: Path, target: Any) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(LedgerUnavailable, match=r"head, or read there \(No space left on device\)") as caught:
        noted.note(Head(7, "ab" * 32))
    assert caught.value.__suppress_context__
    assert list(tmp_path.iterdir()) == []  # nothing of it is left lying about


def test_a_database_for_heads_that_breaks(tmp_path: Path) -> None:
    (noted,) = head_places(f"sqlite:///{tmp_path}/heads.db")
    assert noted.newest() is None  # which makes the table
    with closing(sqlite3.connect(tmp_path / "heads.db")) as other:
        other.execute("DROP TABLE freegap_heads")
    with pytest.raises(
        LedgerUnavailable, match=r"cannot be noted in .*heads\.db.*\(OperationalError\)"
    ) as caught:
        noted.note(Head(7, "ab" * 32))
    assert caught.value.__suppress_context__


def test_a_system_without_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "find_spec", lambda name: None)
    with pytest.raises(
        InvalidArgument, match=r"heads = 'syslog': is not known to this system\. Name a file or a"
    ):
        head_places("syslog")


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Packages that cannot be imported."""
    missing: set[str] = set()
    imported = builtins.__import__

    def importing(name: str, *rest: Any) -> Any:
        if name in missing or (rest and rest[2] and name == "freegap.budget.store" and "store" in missing):
            raise ModuleNotFoundError(
                f"No module named {name!r}", name="sqlalchemy.orm" if "store" in missing else name
            )
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", importing)
    return missing


def test_a_ledger_without_its_packages(
    without: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without.add("store")
    with pytest.raises(MissingExtra, match=r"freegap\[ledger\]") as caught:
        Ledger(f"sqlite:///{tmp_path}/ledger.db")
    assert caught.value.__suppress_context__

    def create(*_: Any, **__: Any) -> Any:
        raise ModuleNotFoundError("No module named 'psycopg'", name="psycopg")

    without.clear()
    for module in (heads, store):
        monkeypatch.setattr(module, "create_engine", create)
    for use in (lambda: head_places("postgresql://host/heads"), lambda: Ledger("postgresql://host/ledger")):
        with pytest.raises(MissingExtra, match=r"freegap\[postgres\]") as caught:
            use()
        assert caught.value.__suppress_context__


def test_another_package_that_is_missing_is_said_as_it_is(without: set[str], tmp_path: Path) -> None:
    without.add("freegap.budget.store")
    with pytest.raises(ModuleNotFoundError, match=r"freegap\.budget\.store"):
        Ledger(f"sqlite:///{tmp_path}/ledger.db")


def test_a_journal_without_its_first_line_has_no_threads(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=5)
    ledger.create("web", epsilon=5)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as other:
        other.execute("DROP TRIGGER freegap_journal_no_delete")
        other.execute("DELETE FROM freegap_journal WHERE sequence = 1")
        other.commit()
    with pytest.raises(LedgerDamaged, match="its first line is not there"):
        thread_of(ledger, "web", "a")


def test_a_ledger_that_loses_its_head_while_it_is_open(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=5)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as other:
        other.execute("DELETE FROM freegap_ledger")
        other.commit()
    for use in (lambda: ledger.account("shop"), lambda: ledger.reserve("shop", 1, what="a")):
        with pytest.raises(LedgerDamaged, match=r"has lost its head\. Restore the ledger from a backup"):
            use()


def test_a_database_without_a_ledger_of_which_a_head_is_noted(tmp_path: Path) -> None:
    place, file = str(tmp_path / "head"), tmp_path / "ledger.db"
    Ledger(str(file), heads=place).create("shop", epsilon=5)
    os.unlink(file)
    with closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE something (a)")
        other.commit()
    uses: tuple[Callable[[Ledger], object], ...] = (
        lambda ledger: ledger.account("shop"),
        lambda ledger: ledger.create("shop", epsilon=5),
    )
    for use in uses:
        with pytest.raises(LedgerDamaged, match=r"there was one: its line 1 is noted in .*head"):
            use(Ledger(str(file), heads=place))


def test_a_file_that_is_not_there_was_never_written(tmp_path: Path) -> None:
    assert store._written(tmp_path / "none.db") is None
    (tmp_path / "some.db").write_text("x")
    assert store._written(tmp_path / "some.db") == (tmp_path / "some.db").stat().st_mtime_ns
