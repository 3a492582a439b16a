"""A question is answered in a process of its own, which can be ended at any moment."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import freegap as fg
from freegap.budget.reservation import Reservation
from freegap.serve.questions import read_question
from freegap.serve.settings import QuestionLimits
from freegap.serve.work import Asking
from freegap.serve.workers import FAILED, WorkerProcesses
from tests.serve.conftest import QUESTION, Service


def job(service: Service, **changed: Any) -> Asking:
    source = service.settings.sources["shop"]
    return Asking(
        question=read_question(QUESTION | changed, {"shop": source}),
        source=source,
        ledger=service.settings.ledger,
        heads=(),
        dataset="shop",
        quotas=("shop / ann",),
        who="ann",
        memory_mb=4096,
    )


def test_a_process_answers_refuses_and_is_ended(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    workers = WorkerProcesses(QuestionLimits(seconds=60))
    made = workers.run(job(service))
    ledger = fg.Ledger(service.settings.ledger)
    assert made["status"] == "released"
    assert made["release"] == ledger.release(made["line"])
    assert made["release"]["private"] is True
    assert workers.run(replace(job(service), memory_mb=1)) == FAILED
    assert "The process of a question has ended (exit code " in caplog.text
    assert WorkerProcesses(QuestionLimits(seconds=0.001)).run(job(service)) == FAILED
    assert "A question took more than 0.001 seconds and was ended." in caplog.text
    assert ledger.verify().ok
    assert ledger.account("shop").spent == ledger.account("shop / ann").spent


def test_the_ledger_does_not_tell_how_long_a_padded_question_took(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What others see changes before the table is read and when the time is over, and never in between."""
    ledger = fg.Ledger(service.settings.ledger)
    seen: list[Any] = []

    def look(of: Any) -> Any:
        def looked(*arguments: Any, **more: Any) -> Any:
            seen.append(len(ledger.entries()))
            try:
                return of(*arguments, **more)
            finally:
                seen.append(len(ledger.entries()))

        return looked

    for function in ("top_k", "above", "pad_to"):
        monkeypatch.setattr(fg, function, look(getattr(fg, function)))
    padded = replace(job(service, mechanism="above", threshold=100), pad_to=0.01)
    made = padded.outcome()
    assert made["release"] == ledger.release(made["line"])
    assert seen == [8] * 4, "six totals and two reservations"
    assert len(ledger.entries()) == 10
    spent = Fraction(made["release"]["spent"])
    assert ledger.account("shop").spent == ledger.account("shop / ann").spent == spent
    (service.folder / "products.csv").write_text("product\ntea\n")  # too few since the service has started
    refused = replace(job(service), pad_to=0.01).outcome()
    assert (refused["status"], ledger.account("shop").remaining) == ("refused", 5 - spent)
    (service.folder / "baskets.parquet").write_text("damaged")
    assert padded.outcome() == FAILED
    assert ledger.account("shop").reserved == Fraction(1, 2), "nobody is told whether it had drawn"
    assert ledger.verify().ok


def test_that_it_is_charged_is_told_before_the_table_is_looked_at(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, whatever comes then: told later, it would say how long the table took. Nobody need listen."""
    seen: list[Any] = []

    def looked(*_: Any, **__: Any) -> Any:
        seen.append("looked")
        raise SystemExit

    def deaf(_: int) -> None:
        raise BrokenPipeError

    with monkeypatch.context() as watched:
        watched.setattr(fg, "top_k", looked)
        for pad_to in (0, 0.01):
            assert replace(job(service), pad_to=pad_to).outcome(told=seen.append) == FAILED
    assert seen == [7, "looked", 9, "looked"]
    assert job(service).outcome(told=deaf)["status"] == "released"


def test_a_release_that_the_ledger_could_not_keep_is_not_told(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database is gone when the release is to be settled: it is charged in full, and nobody has it."""

    def gone(*_: Any) -> None:
        raise fg.LedgerUnavailable("gone")

    with monkeypatch.context() as without:
        without.setattr(Reservation, "settle", gone)
        assert job(service).outcome() == FAILED
    ledger = fg.Ledger(service.settings.ledger)
    assert [account.reserved for account in map(ledger.account, ("shop", "shop / ann"))] == [
        Fraction(1, 2)
    ] * 2
    assert job(service).outcome()["status"] == "released"
