"""A watch and its ledger: the journal has the replies, and neither crash nor copy makes noise serve twice."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import freegap as fg
from freegap import Ledger, cli
from freegap.budget import notes
from freegap.budget.chain import AFTER, THREAD
from freegap.budget.levels import LevelledLedger
from freegap.budget.statement import charges
from freegap.tables import watch_state
from freegap.tables.watch import WatchReport, watch
from tests.budget import children
from tests.budget.children import CONTEXT
from tests.budget.mechanisms import Untouchable

ASKED: dict[str, Any] = {
    "item": "code",
    "of": "flu",
    "person": "patient",
    "threshold": 50,
    "k": 2,
    "epsilon": 2,
}


def visits(people: int) -> pa.Table:
    return pa.table({"code": ["flu"] * people + ["rash"], "patient": [*range(people), 0]})


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "flu.watch"


def ask(own: Ledger, state: Path, people: int | None, question: str, **more: Any) -> WatchReport:
    table = None if people is None else visits(people)
    told: dict[str, Any] = {"bits": fg.SeededBits(1), "ledger": (own, "shop"), **ASKED, **more}
    return watch(table, state=state, question=question, **told)


def noted(ledger: Ledger) -> dict[str, Any]:
    """The replies that the journal has; each question once."""
    said = [entry.parameters for entry in ledger.entries("shop") if entry.kind == "note"]
    assert len({one["question"] for one in said}) == len(said)
    return {one["question"]: one["above"] for one in said}


def test_each_reply_is_a_line_of_the_journal(ledger: Ledger, state: Path) -> None:
    ask(ledger, state, 0, "Monday")
    report = ask(ledger, state, 300, "Tuesday", bits=Untouchable())
    assert noted(ledger) == dict(zip(report.questions, report.gap_multiples, strict=True))
    assert noted(ledger)["Monday"] is None
    assert noted(ledger)["Tuesday"] > 0
    assert ledger.verify().ok
    assert ledger.account("shop").spent == 2
    kept = json.loads(state.read_text())
    assert set(kept) == {"format", "key", "private", "dataset", "line", "hash"}
    lines = ledger.entries("shop")
    assert (kept["line"], kept["hash"]) == (lines[-1].sequence, lines[-1].hash)
    assert kept["key"] not in json.dumps([entry.to_dict() for entry in lines])


def test_an_older_file_that_is_put_back_forgets_nothing(ledger: Ledger, state: Path, tmp_path: Path) -> None:
    """It has the key and no reply: those are in the journal."""
    ask(ledger, state, 0, "Monday", k=1)
    older = shutil.copy2(state, tmp_path / "older")
    first = ask(ledger, state, 300, "Tuesday", k=1)
    assert first.alert
    shutil.copy2(older, state)
    again = ask(ledger, state, None, "Tuesday", k=1)
    assert again.to_dict() == first.to_dict()
    shutil.copy2(older, state)
    with pytest.raises(fg.BudgetSpent):
        ask(ledger, state, 300, "Wednesday", k=1)


def test_a_copy_in_another_place_is_the_same_watch(ledger: Ledger, state: Path, tmp_path: Path) -> None:
    ask(ledger, state, 0, "Monday")
    copy = Path(shutil.copy2(state, tmp_path / "copy.watch"))
    here = ask(ledger, state, 300, "Tuesday")
    there = ask(ledger, copy, 0, "Tuesday")
    assert there.to_dict() == here.to_dict()
    ask(ledger, copy, 300, "Wednesday")
    with pytest.raises(fg.BudgetSpent):
        ask(ledger, state, 300, "Thursday")
    assert ledger.account("shop").spent == 2


@pytest.mark.parametrize("theirs", ["Tuesday", "another"])
def test_of_two_who_ask_at_once_one_is_recorded_first(
    ledger: Ledger, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theirs: str
) -> None:
    """With a copy of the file, between the moment at which one has read the journal and its own note."""
    ask(ledger, state, 0, "Monday", k=1)
    copy = Path(shutil.copy2(state, tmp_path / "copy.watch"))
    honest = notes.note

    def slow(*told: Any) -> Any:
        monkeypatch.setattr(notes, "note", honest)
        assert ask(ledger, copy, 300, theirs, k=1).alert
        return honest(*told)

    monkeypatch.setattr(notes, "note", slow)
    if theirs == "another":  # theirs was the last that could be above
        with pytest.raises(fg.BudgetSpent):
            ask(ledger, state, 300, "Tuesday", k=1)
    else:
        assert ask(ledger, state, 0, "Tuesday", k=1).alert
    assert len(noted(ledger)) == 2
    assert ledger.verify().ok


def test_another_ledger_is_refused(ledger: Ledger, state: Path, new_url: Callable[[], str]) -> None:
    other = Ledger(new_url())
    other.create("first", epsilon=1)
    other.create("shop", epsilon=5)
    ask(ledger, state, 0, "Monday")
    ledger.create("clinic", epsilon=5)
    with pytest.raises(fg.LedgerDamaged, match="another ledger"):
        ask(other, state, None, "Monday")
    with pytest.raises(fg.InvalidArgument, match="begun with, 'shop'"):
        ask(ledger, state, None, "Monday", ledger=(ledger, "clinic"))
    with pytest.raises(fg.InvalidArgument, match="is missing: this watch was begun with a ledger"):
        ask(ledger, state, None, "Monday", ledger=None)
    assert other.account("shop").remaining == 5


def test_an_older_ledger_that_is_put_back_is_refused(tmp_path: Path, state: Path) -> None:
    file = tmp_path / "ledger.db"
    ledger = Ledger(f"sqlite:///{file}")
    ledger.create("shop", epsilon=5)
    ask(ledger, state, 0, "Monday")
    shutil.copy2(file, tmp_path / "older.db")
    ask(ledger, state, 300, "Tuesday")
    shutil.copy2(tmp_path / "older.db", file)
    for question in ("Monday", "Tuesday"):
        with pytest.raises(fg.LedgerDamaged, match=r"line 5 as it is noted in .*flu\.watch is not there"):
            ask(ledger, state, None, question)


def test_another_key_is_refused(ledger: Ledger, state: Path) -> None:
    ask(ledger, state, 0, "Monday")
    kept = json.loads(state.read_text())
    state.write_text(json.dumps({**kept, "key": f"{7:064x}"}))
    with pytest.raises(fg.InvalidArgument, match="key that is not the one of its watch"):
        ask(ledger, state, None, "Tuesday")


def test_what_it_was_begun_with_stands_in_the_ledger(ledger: Ledger, state: Path) -> None:
    ask(ledger, state, 0, "Monday")
    for other in ({"k": 9}, {"threshold": 49}, {"epsilon": 1}, {"of": "rash"}, {"where": "patient > 3"}):
        with pytest.raises(fg.InvalidArgument, match="begun with"):
            ask(ledger, state, None, "Monday", **other)


def test_a_watch_without_a_ledger_does_not_get_into_one(ledger: Ledger, state: Path) -> None:
    ask(ledger, state, 0, "Monday", ledger=None)
    with pytest.raises(fg.InvalidArgument, match="has not paid for this watch"):
        ask(ledger, state, None, "Monday")


def test_a_key_that_another_watch_has_is_refused(ledger: Ledger, state: Path, tmp_path: Path) -> None:
    ask(ledger, state, 0, "Monday")
    with pytest.raises(fg.InvalidArgument, match="key of another watch"):
        ask(ledger, tmp_path / "second.watch", 0, "Monday")
    assert ask(ledger, tmp_path / "second.watch", 0, "Monday", bits=fg.SeededBits(2)).spent == 2
    assert ledger.account("shop").spent == 4


def test_a_reservation_that_was_given_back_pays_for_nothing(ledger: Ledger, state: Path) -> None:
    name = watch_state._thread_name(f"{fg.SeededBits(1).bits(256):064x}")
    ledger.reserve("shop", 2, what="watch", parameters={THREAD: name}).abandon("nothing was drawn")
    ask(ledger, state, 0, "Monday")
    assert ledger.account("shop").spent == 2
    assert ledger.verify().ok


def test_too_little_is_left(ledger: Ledger, state: Path) -> None:
    with pytest.raises(fg.BudgetExceeded):
        ask(ledger, state, None, "Monday", epsilon=6, bits=Untouchable())
    assert not state.exists()


def test_budget_taken_by_another_in_between_costs_nothing(
    ledger: Ledger, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key that was drawn for nothing is not used later."""
    monkeypatch.setattr(Ledger, "require", lambda *_, **__: None)
    with pytest.raises(fg.BudgetExceeded):
        ask(ledger, state, 0, "Monday", epsilon=6)
    unused = json.loads(state.read_text())["key"]
    ask(ledger, state, 0, "Monday", bits=fg.SeededBits(2), k=1)
    assert json.loads(state.read_text())["key"] != unused
    assert ledger.account("shop").spent == 2


def test_a_ledger_of_another_kind_is_refused(state: Path) -> None:
    class Stranger:
        def charge(self, *_: Any, **__: Any) -> None:
            raise AssertionError

    with pytest.raises(fg.InvalidArgument, match="must be a ledger of freegap"):
        ask(Stranger(), state, None, "Monday", ledger=(Stranger(), "shop"))  # type: ignore[arg-type]
    assert not state.exists()


@pytest.mark.parametrize("budget", [{"rho": 9}, {"epsilon": 9, "delta": "1e-6"}])
def test_a_budget_in_another_measure(url: str, state: Path, budget: dict[str, Any]) -> None:
    ledger = Ledger(url)
    ledger.create("shop", **budget)
    ask(ledger, state, 0, "Monday", epsilon="1/2")
    ask(ledger, state, 900, "Tuesday", epsilon="1/2")
    assert ledger.account("shop").spent == Fraction(1, 8)
    assert len(noted(ledger)) == 2
    assert ledger.verify().ok


def test_somebody_else_pays_and_is_named(url: str, ledger: Ledger, state: Path) -> None:
    ledger.create("ann", epsilon=3)
    levelled = LevelledLedger(url, quotas=["ann"], who="ann")
    ask(levelled, state, 0, "Monday")
    assert ledger.account("ann").spent == 2
    assert [entry.who for entry in ledger.entries("shop") if entry.kind == "note"] == ["ann"]
    assert ledger.verify().ok


# Crashes -----------------------------------------------------------------------------------------


def test_a_reply_that_did_not_get_into_the_journal_is_not_shown(
    ledger: Ledger, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(ledger, state, 0, "Monday")

    def lost(*_: Any, **__: Any) -> Any:
        raise fg.LedgerUnavailable("The connection is lost.")

    with monkeypatch.context() as patched:
        patched.setattr(notes, "note", lost)
        with pytest.raises(fg.LedgerUnavailable):
            ask(ledger, state, 300, "Tuesday")
    assert not ask(ledger, state, 0, "Tuesday").alert


@pytest.mark.parametrize("committed", [False, True])
def test_a_commit_whose_end_nobody_saw(
    ledger: Ledger, state: Path, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    """The connection is lost at the commit of the note: made or not, one reply is ever seen."""
    ask(ledger, state, 0, "Monday")
    honest = notes.note

    def cut_off(*told: Any) -> Any:
        if committed:
            honest(*told)
        raise fg.LedgerUnavailable("The connection is lost.")

    with monkeypatch.context() as patched:
        patched.setattr(notes, "note", cut_off)
        with pytest.raises(fg.LedgerUnavailable):
            ask(ledger, state, 300, "Tuesday")
    assert ask(ledger, state, 0, "Tuesday").alert is committed
    assert len(noted(ledger)) == 2


def test_two_crashes_in_a_row_are_paid_once(
    ledger: Ledger, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it was paid for: the next call draws another key. After that: the file has the one that is."""

    def crash(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(watch_state, "charged", crash)
        with pytest.raises(KeyboardInterrupt):
            ask(ledger, state, 0, "Monday")
    never_paid = json.loads(state.read_text())["key"]
    with monkeypatch.context() as patched:
        patched.setattr(notes, "note", crash)
        with pytest.raises(KeyboardInterrupt):
            ask(ledger, state, 0, "Monday", bits=fg.SeededBits(2))
    key = json.loads(state.read_text())["key"]
    assert key != never_paid
    ask(ledger, state, 0, "Monday", bits=Untouchable())
    assert json.loads(state.read_text())["key"] == key
    assert ledger.account("shop").spent == 2
    assert len(noted(ledger)) == 1


def test_a_full_disk_when_it_begins_costs_nothing(
    ledger: Ledger, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(watch_state, "_replace", full)
        with pytest.raises(fg.FreegapError, match="No space left"):
            ask(ledger, state, 300, "Monday")
    assert ledger.account("shop").remaining == 5
    assert not state.exists()


def test_a_full_disk_after_the_note_shows_the_same_reply_later(
    ledger: Ledger, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(ledger, state, 0, "Monday")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(watch_state, "_replace", full)
        with pytest.raises(fg.FreegapError, match="No space left"):
            ask(ledger, state, 300, "Tuesday")
    assert ask(ledger, state, 0, "Tuesday").alert
    assert json.loads(state.read_text())["line"] == 5


def go_on_after_a_kill(url: str, dataset: str, state: Path, shown: Path) -> tuple[bool, bool, bool, bool]:
    """What is seen after a kill within the first question, and that everything goes on from there."""
    ledger = Ledger(url)
    account = ledger.account(dataset)
    said = [entry.parameters for entry in ledger.entries(dataset) if entry.kind == "note"]
    before = state.exists(), account.spent + account.reserved > 0, bool(said), shown.exists()
    assert account.spent + account.reserved in (0, 2)
    if shown.exists():  # nothing is shown that is not recorded
        assert json.loads(shown.read_text()) == {one["question"]: one["above"] for one in said}
    # The same question of another table: what was recorded is said again, else nobody has seen anything.
    asked = ASKED | {"ledger": (ledger, dataset), "state": state, "bits": fg.SeededBits(dataset)}
    report = watch(visits(0), question="Monday", **asked)
    assert report.alert == bool(said)
    if said:
        assert report.gap_multiples[0] == said[0]["above"]
    assert watch(visits(900), question="Tuesday", **asked).alert
    account = ledger.account(dataset)
    assert account.spent + account.reserved == 2  # paid once
    made = [entry.parameters["question"] for entry in ledger.entries(dataset) if entry.kind == "note"]
    assert made == ["Monday", "Tuesday"]
    return before


def kill_at(url: str, tmp_path: Path, chosen: Callable[[int, list[int]], list[int]]) -> int:
    ledger = Ledger(url)
    ledger.create("count", epsilon=2)
    counted = tmp_path / "count"
    child = CONTEXT.Process(target=children.watch_once, args=(url, "count", tmp_path / "0.watch", counted, 0))
    child.start()
    child.join(120)
    assert child.exitcode == 0
    steps = json.loads(counted.with_suffix(".steps").read_text())
    seen = set()
    at = chosen(steps["last"], steps["commits"])
    for step in at:
        dataset, state = f"at {step}", tmp_path / f"{step}.watch"
        shown = tmp_path / f"shown-{step}"
        ledger.create(dataset, epsilon=2)
        child = CONTEXT.Process(target=children.watch_once, args=(url, dataset, state, shown, step))
        child.start()
        child.join(120)
        assert child.exitcode == -signal.SIGKILL
        seen.add(go_on_after_a_kill(url, dataset, state, shown))
    assert ledger.verify().ok
    # Before anything; with a key; paid for; noted and not shown; shown.
    assert seen >= {
        (False, False, False, False),
        (True, False, False, False),
        (True, True, False, False),
        (True, True, True, False),
    }
    return len(at)


def some(last: int, commits: list[int]) -> list[int]:
    """The first step and the last, and those just before and after the commits that write."""
    reserved, settled, _, note = commits[-4:]  # between them the thread is read
    return sorted({1, last} | {step for commit in (reserved, settled, note) for step in (commit - 1, commit)})


def test_kill_at_some_steps(url: str, tmp_path: Path) -> None:
    assert kill_at(url, tmp_path, some) >= 8


@pytest.mark.long
def test_kill_at_every_step(url: str, tmp_path: Path) -> None:
    assert kill_at(url, tmp_path, lambda last, _: list(range(1, last + 1, 3))) >= 100


# The lines ---------------------------------------------------------------------------------------


def test_the_commands_of_the_ledger_know_the_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FREEGAP_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    ledger = Ledger()
    ledger.create("shop", epsilon=5)
    ask(ledger, tmp_path / "flu.watch", 0, "Monday")
    ask(ledger, tmp_path / "flu.watch", 0, "Tuesday")
    run = CliRunner()
    shown = run.invoke(cli.app, ["budget", "show", "shop", "--json"])
    (charge,) = json.loads(shown.stdout)["charges"]
    assert [(one["question"], one["above"], one["sequence"]) for one in charge["notes"]] == [
        ("Monday", None, 4),
        ("Tuesday", None, 5),
    ]
    table = run.invoke(cli.app, ["budget", "show", "shop"], env={"COLUMNS": "200"}).stdout
    assert "2 notes, the newest in line 5:" in " ".join(table.split())
    assert run.invoke(cli.app, ["budget", "show", "shop", "--csv"]).exit_code == 0
    assert "5 lines" in run.invoke(cli.app, ["budget", "verify"]).stdout
    assert run.invoke(cli.app, ["budget", "list"]).exit_code == 0
    assert len(charges(ledger.entries("shop"))) == 1


def forged(ledger: Ledger, **change: Any) -> str | None:
    """What a verification says of a note that was written past the rules, with a hash that fits."""
    with ledger._store.journal(write=True) as journal:
        last = journal.known("shop")
        newest = notes._read(journal, "shop", "t")
        said = {"question": "Monday", "above": None, THREAD: "t", AFTER: newest.newest.hash}
        line: dict[str, Any] = {"amount": "0/1", "balance": last.balance, "reservation": None} | change
        journal.append(
            "note", "shop", line["amount"], last.budget, line["balance"], what="watch", who="test",
            parameters=json.dumps({**said, **line.get("said", {})}), reservation=line["reservation"],
        )  # fmt: skip
    return ledger.verify().reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"said": {AFTER: "0" * 64}}, "must follow the line before"),
        ({"said": {THREAD: "u"}}, "must follow the line before"),
        ({"said": {THREAD: None}}, "must follow the line before"),
        ({"amount": "1/1"}, "must charge nothing"),
        ({"reservation": 2}, "only a settled or abandoned line"),
    ],
)
def test_a_forged_note_shows(file_ledger: Ledger, change: dict[str, Any], reason: str | None) -> None:
    file_ledger.reserve("shop", 1, what="watch", parameters={THREAD: "t"})
    found = forged(file_ledger, **change)
    assert found is None if reason is None else reason in str(found)


def test_a_note_after_the_reservation_was_given_back_shows(file_ledger: Ledger) -> None:
    held = file_ledger.reserve("shop", 1, what="watch", parameters={THREAD: "t"})
    held.abandon("nothing was drawn")
    assert "must follow" in str(forged(file_ledger, said={AFTER: held.line_hash}))


def test_a_note_for_a_reservation_that_is_not_there_is_not_written(file_ledger: Ledger) -> None:
    thread = notes.thread_of(file_ledger, "shop", "t")
    assert notes.note(file_ledger, thread, "watch", {}) is None
    assert file_ledger.verify().entries == 1


def test_a_note_that_was_put_in_between_is_noticed_when_it_is_read(file_ledger: Ledger) -> None:
    file_ledger.reserve("shop", 1, what="watch", parameters={THREAD: "t"})
    forged(file_ledger, said={AFTER: "0" * 64})
    with pytest.raises(fg.LedgerDamaged, match="does not follow"):
        notes.thread_of(file_ledger, "shop", "t")


def test_a_note_without_a_reservation_is_noticed_when_it_is_read(file_ledger: Ledger) -> None:
    forged(file_ledger)
    with pytest.raises(fg.LedgerDamaged, match="does not follow"):
        notes.thread_of(file_ledger, "shop", "t")
