"""A question is answered in a process of its own, which can be ended at any moment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import freegap as fg
from freegap.serve.questions import read_question
from freegap.serve.settings import QuestionLimits
from freegap.serve.work import FAILED, Job, WorkerProcesses
from tests.serve.conftest import QUESTION, Service


def job(service: Service, **changed: Any) -> Job:
    source = service.settings.sources["shop"]
    return Job(
        question=read_question(QUESTION | changed, {"shop": source}),
        source=source,
        ledger=service.settings.ledger,
        heads=(),
        quotas=("shop / ann",),
        who="ann",
        memory_mb=4096,
    )


def test_a_process_answers_refuses_and_is_ended(service: Service) -> None:
    workers = WorkerProcesses(QuestionLimits(seconds=60))
    made = workers.run(job(service))
    ledger = fg.Ledger(service.settings.ledger)
    assert made["status"] == "released"
    assert made["release"] == ledger.release(made["line"])
    assert made["release"]["private"] is True
    assert workers.run(replace(job(service), memory_mb=1)) == FAILED
    assert WorkerProcesses(QuestionLimits(seconds=0.001)).run(job(service)) == FAILED
    assert ledger.verify().ok
    assert ledger.account("shop").spent == ledger.account("shop / ann").spent
