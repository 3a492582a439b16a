"""The head is noted elsewhere after every line, so that an older copy, or none, is noticed."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import syslog
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

import freegap as fg
from freegap import InvalidArgument, Ledger, LedgerDamaged, LedgerUnavailable
from freegap.budget.heads import head_places
from freegap.budget.schema import Head


@pytest.fixture(params=["file", "database"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "head") if request.param == "file" else f"sqlite:///{tmp_path}/heads.db"


def shop(tmp_path: Path, place: str) -> Ledger:
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db", heads=place)
    ledger.create("shop", epsilon=5)
    return ledger


def test_every_line_is_noted(tmp_path: Path, place: str) -> None:
    ledger = shop(tmp_path, place)
    (noted,) = head_places(place)
    for line in (1, 3, 5):
        last = ledger.entries()[-1]
        assert noted.newest() == Head(line, last.hash)
        fg.noisy_max([3, 1], epsilon=1, ledger=(ledger, "shop"))
    noted.note(Head(1, "0" * 64))
    noted.note(Head(7, "0" * 64))  # another line of the same number: the first that was noted stays
    assert noted.newest() == Head(7, ledger.entries()[-1].hash), "an older head is not noted over a newer one"


def test_a_head_is_on_the_disk_before_it_stands_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it: what is still in a buffer would be lost with the machine, and nothing else is left then."""
    (noted,) = head_places(str(tmp_path / "head"))
    steps: list[Any] = []
    synced, replaced = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        steps.append("folder" if folder else os.pread(descriptor, 1000, 0).decode())
        synced(descriptor)

    def replace(self: Path, target: Any) -> Path:
        steps.append("replaced")
        return replaced(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    noted.note(Head(7, "ab" * 32))
    assert steps == [f"7 {'ab' * 32}\n", "replaced", "folder"], "else the old one may come back"


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP, errno.EIO])
def test_a_folder_that_cannot_be_synced(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems sync no folder; a disk that fails is another matter."""
    (noted,) = head_places(str(tmp_path / "head"))
    synced = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, "not so")
        synced(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    if number == errno.EIO:
        with pytest.raises(LedgerUnavailable, match="not so"):
            noted.note(Head(7, "ab" * 32))
    else:
        noted.note(Head(7, "ab" * 32))
        assert noted.newest() == Head(7, "ab" * 32)


def test_an_older_copy_put_back_is_noticed_by_everything(tmp_path: Path, place: str) -> None:
    ledger = shop(tmp_path, place)
    shutil.copy(tmp_path / "ledger.db", tmp_path / "old.db")
    ledger.record("shop", epsilon=4, by="x", what="y")
    newest = ledger.verify().head
    assert ledger.verify().ok
    shutil.copy(tmp_path / "old.db", tmp_path / "ledger.db")
    for use in (
        lambda: ledger.reserve("shop", 1, what="again"),
        lambda: ledger.account("shop"),
        lambda: ledger.accounts(),
        lambda: ledger.entries(),
        lambda: ledger.create("web", epsilon=1),
        lambda: fg.noisy_max([3, 1], epsilon=1, ledger=(ledger, "shop")),
    ):
        with pytest.raises(LedgerDamaged, match=r"line 3 as it is noted in .* is not there; an older copy"):
            use()
    outcome = ledger.verify()
    assert not outcome.ok
    assert "an older copy was put back" in str(outcome.reason)
    without = Ledger(ledger.url)
    assert without.verify().ok, "without the note nothing shows"
    assert not without.verify(newest).ok


def test_an_invented_ledger_of_the_same_length_is_noticed(tmp_path: Path, place: str) -> None:
    ledger = shop(tmp_path, place)
    ledger.record("shop", epsilon=4, by="x", what="y")
    other = Ledger(f"sqlite:///{tmp_path}/other.db")
    other.create("shop", epsilon=5)
    other.record("shop", epsilon="1/100", by="x", what="y")
    shutil.copy(tmp_path / "other.db", tmp_path / "ledger.db")
    with pytest.raises(LedgerDamaged, match="lines were replaced"):
        ledger.account("shop")


def test_no_ledger_where_there_was_one_is_an_error_and_none_is_made(tmp_path: Path, place: str) -> None:
    ledger = shop(tmp_path, place)
    (tmp_path / "ledger.db").unlink()
    fresh = Ledger(ledger.url, heads=place)
    for use in (fresh.accounts, lambda: fresh.create("shop", epsilon=5), ledger.verify):
        with pytest.raises(LedgerDamaged, match="there was one: its line 1 is noted in"):
            use()
    assert not (tmp_path / "ledger.db").exists()
    (tmp_path / "ledger.db").write_bytes(b"")
    with pytest.raises(LedgerDamaged, match="is an empty file"):
        fresh.create("shop", epsilon=5)


def test_a_crash_before_the_note_leaves_a_head_that_the_ledger_has(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = shop(tmp_path, place)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    kind = type(head_places(place)[0])
    with monkeypatch.context() as patch:
        patch.setattr(kind, "note", crash)
        with pytest.raises(KeyboardInterrupt):
            ledger.reserve("shop", 1, what="lost")
    assert ledger.account("shop").reserved == 1
    assert ledger.verify().ok
    ledger.record("shop", epsilon=1, by="x", what="y")
    noted = head_places(place)[0].newest()
    assert noted is not None
    assert noted.sequence == 4


def test_a_place_that_cannot_be_used_is_an_error_before_anything_is_drawn(tmp_path: Path) -> None:
    ledger = shop(tmp_path, str(tmp_path / "head"))
    for wrong in (
        str(tmp_path / "nowhere" / "head"),
        f"sqlite:///{tmp_path}/nowhere/heads.db",
        str(tmp_path),
    ):
        with pytest.raises(LedgerUnavailable, match="cannot be noted"):
            Ledger(ledger.url, heads=wrong).reserve("shop", "1/8", what="a")
    assert ledger.account("shop").reserved == 0
    (tmp_path / "head").write_text("tea")
    with pytest.raises(LedgerDamaged, match="should hold the head"):
        ledger.accounts()
    (tmp_path / "heads.db").write_text("tea" * 100)
    with pytest.raises(LedgerUnavailable):
        Ledger(ledger.url, heads=f"sqlite:///{tmp_path}/heads.db").accounts()
    for bad in ([""], [3], "mysql://a/b"):
        with pytest.raises(InvalidArgument):
            Ledger(ledger.url, heads=bad)  # type: ignore[arg-type]


def test_places_are_listed_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[str] = []
    monkeypatch.setattr(syslog, "syslog", lambda _, text: logged.append(text))
    monkeypatch.setenv("FREEGAP_HEADS", f"{tmp_path}/a syslog sqlite:///{tmp_path}/b.db")
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=5)
    head = ledger.verify().head
    assert (tmp_path / "a").read_text() == f"1 {head}\n"
    assert logged == [f"freegap ledger: line 1, head {head}"]
    assert [place.newest() for place in head_places(None)] == [Head(1, head), None, Head(1, head)]


def test_another_ledger_cannot_share_the_place(tmp_path: Path, place: str) -> None:
    shop(tmp_path, place)
    other = Ledger(f"sqlite:///{tmp_path}/other.db", heads=place)
    with pytest.raises(LedgerDamaged):
        other.create("web", epsilon=1)


def test_of_two_who_note_at_once_the_newer_head_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first has read that nothing newer is noted, and is slow to write."""
    place, make, late = str(tmp_path / "head"), tempfile.mkstemp, threading.Event()

    def second() -> None:
        head_places(place)[0].note(Head(12, "b"))
        late.set()

    other = threading.Thread(target=second)

    def slow(*arguments: Any, **more: Any) -> Any:
        monkeypatch.setattr(tempfile, "mkstemp", make)
        other.start()
        late.wait(0.3)  # it comes in between, or it cannot
        return make(*arguments, **more)

    monkeypatch.setattr(tempfile, "mkstemp", slow)
    head_places(place)[0].note(Head(11, "a"))
    other.join()
    assert head_places(place)[0].newest() == Head(12, "b")
