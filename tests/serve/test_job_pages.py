"""Jobs in the console: how they stand, ending them, and who may."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import freegap as fg
from freegap.serve.people import Person
from tests.serve.conftest import QUESTION, HereWorkers, Service
from tests.serve.test_verbs import Gate
from tests.serve.visitors import Visitor

ANN, BOB = Person("ann", "analyst"), Person("bob", "analyst")


@pytest.fixture
def gated(folder: Path, serving: Callable[..., Service]) -> Service:
    """One worker, whose question runs until it is let go."""
    text = (folder / "freegap.toml").read_text()
    (folder / "freegap.toml").write_text(text + "[limits]\nworkers = 1\n")
    return serving(workers=Gate)


def until(service: Service, job: str, *states: str) -> None:
    while service.desk.job(Person("olga", "owner"), job)["state"] not in states:
        threading.Event().wait(0.01)


def shown(visitor: Visitor) -> str:
    """The table of jobs as text, without tags."""
    body = visitor.get("/jobs").body.decode().split("<tbody>")
    return " ".join(re.sub(r"<[^>]*>", " ", body[1]).split()) if len(body) > 1 else ""


def test_a_question_is_asked_for_later_once_and_its_release_is_linked(service: Service) -> None:
    ann = Visitor(service)
    ann.sign_in(service.token("ann"))
    assert b"There are no jobs." in ann.get("/jobs").body
    assert b"Pay, and look later" in ann.plan().body
    for _ in range(2):
        reply = ann.ask(later="yes")
        assert (reply.status, reply.headers["location"]) == (303, "/console/jobs")
    (job,) = service.desk.jobs(ANN)
    until(service, job["job"], "released")
    assert '<a href="/console/releases/7" aria-label="Release 7">7</a>' in ann.get("/jobs").body.decode()
    assert "answered" in shown(ann)
    assert ann.ask().headers["location"] == "/console/releases/7", "the same form, sent by its other button"
    assert fg.Ledger(service.settings.ledger).account("shop").spent == Fraction(1, 2)
    assert ann.ask(later="yes", k="2").status == 422
    assert ann.ask(later="yes", once="new", item="customer").status == 422


def test_jobs_are_shown_and_cancelled_by_whom_they_belong_to(gated: Service) -> None:
    visitors = {"ann": Visitor(gated), "bob": Visitor(gated), "olga": Visitor(gated), "ada": Visitor(gated)}
    for name, role in (("ann", "analyst"), ("bob", "analyst"), ("olga", "owner"), ("ada", "auditor")):
        visitors[name].sign_in(gated.token(name, role))
    first = gated.desk.start_job(ANN, QUESTION)["job"]
    until(gated, first, "running")
    second = gated.desk.start_job(BOB, QUESTION)["job"]
    while gated.desk.job(BOB, second)["position"] is None:
        threading.Event().wait(0.01)
    assert "waiting, place 1" in shown(visitors["bob"])
    seen = {
        name: [job in visitor.get("/jobs").body.decode() for job in (first, second)]
        for name, visitor in visitors.items()
    }
    assert seen == {"ann": [True, False], "bob": [False, True], "olga": [True, True], "ada": [False, False]}
    assert "starting Nothing is charged yet." in shown(visitors["ann"])
    assert "bob" in shown(visitors["ada"]), "an auditor sees them, and has no button"
    for name, job, status in (
        ("ann", second, 404),
        ("bob", first, 404),
        ("ada", first, 403),
        ("ann", "x' OR 1=1", 404),
    ):
        visitors[name].get("/")
        assert visitors[name].post("/jobs/cancel", job=job).status == status
    ann = visitors["ann"]
    for headers in (
        {"host": "data.example", "sec-fetch-site": "cross-site"},
        {"host": "data.example", "origin": "https://evil.example"},
    ):
        assert ann.post("/jobs/cancel", job=first, headers=headers).status == 403
    assert ann.post("/jobs/cancel", job=first, form="0" * 64).status == 403
    assert ann.get("/jobs/cancel", job=first).status in (404, 405), "nothing is changed by a link"
    assert gated.desk.job(ANN, first)["state"] == "running"
    ann.get("/jobs")
    assert ann.post("/jobs/cancel", job=first).status == 303
    until(gated, first, "cancelled")
    assert "cancelled Nothing was charged." in shown(ann)
    visitors["olga"].get("/jobs")
    assert visitors["olga"].post("/jobs/cancel", job=second).status == 303
    until(gated, second, "cancelled")
    assert fg.Ledger(gated.settings.ledger).account("shop").remaining == 5


def test_what_is_said_of_a_job_is_text(serving: Callable[..., Service]) -> None:
    class Hostile(HereWorkers):
        def answer(self, task: Any, ticket: Any) -> dict[str, Any]:
            return {"status": "refused", "error": "<script>alert(1)</script>\u202e\x1b"}

    service = serving(workers=Hostile)
    ann = Visitor(service)
    ann.sign_in(service.token("ann"))
    until(service, service.desk.start_job(ANN, QUESTION)["job"], "refused")
    body = ann.get("/jobs").body.decode()
    assert "&lt;script&gt;alert(1)" in body
    assert not any(mark in body for mark in ("<script", "\u202e", "\x1b"))
