"""Plans, accounts, tokens, jobs and downloads."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import freegap as fg
from freegap.cli import app
from freegap.receipts.keys import SigningKey
from freegap.serve.desk import Forbidden, NotThere
from freegap.serve.jobs import Jobs
from freegap.serve.people import Person
from freegap.serve.workers import FAILED, Ticket
from tests.serve.conftest import QUESTION, HereWorkers, Reply, Service, call

ANN, BOB = Person("ann", "analyst"), Person("bob", "analyst")
OLGA, AUDITOR = Person("olga", "owner"), Person("ada", "auditor")


def post(service: Service, path: str, token: str, body: Any) -> Reply:
    return call(service.app, "POST", path, token=token, body=json.dumps(body).encode())


def test_a_plan_is_that_of_the_library_and_costs_nothing(service: Service) -> None:
    token = service.token("ann")
    before = len(fg.Ledger(service.settings.ledger).entries())
    made = post(service, "/v1/plans", token, QUESTION | {"assume": {"largest": 900}}).json
    planned = fg.plan(fg.PowerLaw(3, 900), k=1, epsilon="1/2")
    assert made["plan"] == json.loads(planned.to_json())
    assert made["answer"] == planned.answer
    assert made["dry_run"]["charged_at_most"] == "1/2"
    charged = [(one["account"], one["charged_at_most"], one["fits"]) for one in made["charges"]]
    assert charged == [
        ("shop", "1/2", True),
        ("shop / team red", "1/2", True),
        ("shop / ann", "1/2", True),
    ]
    looked_for = {name: value for name, value in QUESTION.items() if name != "epsilon"}
    made = post(service, "/v1/plans", token, looked_for | {"assume": {"counts": [900, 600, 0]}}).json
    assert made["answer"] == fg.plan([900, 600, 0], k=1).answer
    assert made["dry_run"] is None
    assert len(fg.Ledger(service.settings.ledger).entries()) == before


def test_a_plan_from_a_release_is_for_those_who_may_see_it(service: Service) -> None:
    line = service.desk.ask(ANN, QUESTION | {"measure": True})["line"]
    made = service.desk.plan(ANN, QUESTION | {"assume": {"line": line}})
    assert made["plan"]["assumed"].startswith("the 2 counts that an old release")
    assert service.desk.plan(AUDITOR, QUESTION | {"assume": {"line": line}})["status"] == "planned"
    with pytest.raises(NotThere):
        service.desk.plan(BOB, QUESTION | {"assume": {"line": line}})


@pytest.mark.parametrize(
    "changed",
    [
        {"assume": {}},
        {"assume": {"largest": 900, "counts": [1]}},
        {"assume": {"table": "baskets.parquet"}},
        {"assume": {"counts": [1.0] * 2001}},
        {"assume": {"counts": "products.csv"}},
        {"assume": {"line": 0}},
        {"assume": {"largest": 900, "items": 0}},
        {"epsilon": None},
        {"epsilon": 2},
        {"source": "clinic"},
        {"public": True},
    ],
)
def test_what_cannot_be_planned_is_refused(service: Service, changed: dict[str, Any]) -> None:
    with pytest.raises(fg.InvalidArgument):
        service.desk.plan(ANN, QUESTION | changed)


def test_refusals_of_the_planner_are_told(service: Service) -> None:
    for assume in ({"largest": -1}, {"largest": "x"}, {"counts": [float("nan")]}, {"counts": ["SECRET"]}):
        made = service.desk.plan(ANN, QUESTION | {"assume": assume})
        assert made["status"] == "refused"
        assert "SECRET" not in made["error"]
    assert service.desk.plan(ANN, QUESTION | {"assume": {"largest": 9}, "goal": "x"})["status"] == "refused"


def test_owners_make_list_and_revoke_tokens(service: Service) -> None:
    olga, ann, ada = service.token("olga", "owner"), service.token("ann"), service.token("ada", "auditor")
    wanted = {"name": "eve", "role": "analyst", "days": 3}
    made = post(service, "/v1/tokens", olga, wanted)
    assert made.status == 201
    assert call(service.app, "GET", "/v1/me", token=made.json["token"]).json == {
        "name": "eve",
        "role": "analyst",
    }
    listed = call(service.app, "GET", "/v1/tokens", token=olga)
    assert [token["name"] for token in listed.json] == ["olga", "ann", "ada", "eve"]
    assert "hash" not in listed.body.decode()
    assert call(service.app, "DELETE", "/v1/tokens/4", token=olga).status == 200
    assert call(service.app, "GET", "/v1/me", token=made.json["token"]).status == 401
    for token in (ann, ada):
        assert post(service, "/v1/tokens", token, wanted).status == 403
        assert call(service.app, "GET", "/v1/tokens", token=token).status == 403
        assert call(service.app, "DELETE", "/v1/tokens/1", token=token).status == 403
    wrong = [("name", "a b"), ("name", "shop / ann"), ("role", "root"), ("days", 0), ("days", 10**9)]
    for field, value in wrong:
        assert post(service, "/v1/tokens", olga, wanted | {field: value}).status == 422
    gone = [call(service.app, "DELETE", f"/v1/tokens/{number}", token=olga) for number in (9, 2**40, 2**63)]
    assert [reply.status for reply in gone] == [404, 404, 422]


def test_accounts_teams_and_the_key(service: Service) -> None:
    service.desk.ask(ANN, QUESTION)
    accounts = service.desk.accounts(AUDITOR)
    levels = [(account["source"], account["level"], account["holder"]) for account in accounts]
    assert levels[:4] == [
        ("shop", "dataset", "shop"),
        ("shop", "team", "red"),
        ("shop", "person", "ann"),
        ("shop", "person", "olga"),
    ]
    assert [account["spent"] for account in accounts[:4]] == ["1/2", "1/2", "1/2", "0"]
    assert service.desk.teams(OLGA) == {"red": ["ann", "bob"]}
    for verb in (service.desk.accounts, service.desk.teams):
        with pytest.raises(Forbidden):
            verb(ANN)
    key = call(service.app, "GET", "/v1/key", token=service.token("ann")).json
    assert key == {"key": SigningKey.read(service.settings.key_file).public.text, "earlier": []}


def test_a_new_key_is_used_at_once_and_receipts_of_the_old_one_stay_good(service: Service) -> None:
    """As the owner does it, beside a service that goes on."""
    token = service.token("ann")
    line = service.ask(token).json["line"]
    path, config = f"/v1/receipts/{line}", ["--config", str(service.folder / "freegap.toml")]
    (service.folder / "old.json").write_bytes(call(service.app, "GET", path, token=token).body)
    for command in (["serve", "key", "rotate", *config], ["serve", "key", "show", *config]):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        (service.folder / "keys").write_text(done.output)
    (service.folder / "new.json").write_bytes(call(service.app, "GET", path, token=token).body)
    told = call(service.app, "GET", "/v1/key", token=token).json
    assert done.output.split() == [*told["earlier"], told["key"]]
    for name, signer in (("old.json", told["earlier"][0]), ("new.json", told["key"])):
        for key in (signer, str(service.folder / "keys")):
            done = CliRunner().invoke(app, ["receipt", "verify", str(service.folder / name), "--key", key])
            assert (done.exit_code, signer in done.output) == (0, True), done.output
    wrong = ["receipt", "verify", str(service.folder / "old.json"), "--key", told["key"]]
    assert CliRunner().invoke(app, wrong).exit_code == 1


def test_a_release_as_a_table(service: Service) -> None:
    token = service.token("ann")
    asked = service.ask(token, measure=True).json
    path = f"/v1/releases/{asked['line']}"
    reply = call(service.app, "GET", path, token=token, query=b"format=csv")
    assert reply.body.decode() == fg.Release.from_json(json.dumps(asked["release"])).to_csv()
    assert reply.body.startswith(b"rank,item,gap,estimate,")
    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    assert reply.headers["content-disposition"] == f'attachment; filename="release-{asked["line"]}.csv"'
    assert call(service.app, "GET", path, token=token, query=b"format=xlsx").status == 422


def ended(service: Service, job: str, person: Person = ANN) -> dict[str, Any]:
    while (found := service.desk.job(person, job))["state"] in ("waiting", "running"):
        time.sleep(0.01)
    return found


def test_a_job_ends_with_its_release(service: Service) -> None:
    token = service.token("ann")
    begun = post(service, "/v1/jobs", token, QUESTION)
    assert begun.status == 202
    found = ended(service, begun.json["job"])
    assert found["state"] == "released"
    assert found["release"] == fg.Ledger(service.settings.ledger).release(found["line"])
    assert [job["state"] for job in service.desk.jobs(ANN)] == ["released"]
    assert "release" not in service.desk.jobs(AUDITOR)[0]
    path = f"/v1/jobs/{begun.json['job']}"
    assert call(service.app, "GET", path, token=token).json == found
    assert call(service.app, "DELETE", path, token=token).json["state"] == "released"
    assert call(service.app, "GET", path, token=service.token("bob")).status == 404
    assert call(service.app, "DELETE", path, token=service.token("ada", "auditor")).status == 403
    assert call(service.app, "GET", "/v1/jobs/" + "0" * 32, token=token).status == 404
    assert call(service.app, "GET", "/v1/jobs/..%2f..", token=token).status in (404, 422)
    assert service.desk.jobs(BOB) == []
    spent = ended(service, service.desk.start_job(ANN, QUESTION | {"epsilon": 1})["job"])
    assert spent["state"] == "released"
    spent = ended(service, service.desk.start_job(ANN, QUESTION)["job"])
    assert (spent["state"], "shop / ann" in spent["error"]) == ("spent", True)


class Gate(HereWorkers):
    """A task runs until it is let go or ended."""

    def answer(self, task: Any, ticket: Ticket) -> dict[str, Any]:
        with self._changed:
            self._changed.wait_for(lambda: ticket.cancelled or self.open)
        return FAILED if ticket.cancelled else super().answer(task, ticket)

    open = False


def test_jobs_wait_in_turn_and_can_be_cancelled(folder: Path, serving: Callable[..., Service]) -> None:
    text = (folder / "freegap.toml").read_text()
    (folder / "freegap.toml").write_text(text + "[limits]\nworkers = 1\n")
    service = serving(workers=Gate)
    jobs = [service.desk.start_job(who, QUESTION)["job"] for who in (ANN, BOB, ANN)]
    while service.desk.job(ANN, jobs[0])["state"] == "waiting":
        time.sleep(0.01)
    places = [service.desk.job(OLGA, job)["position"] for job in jobs]
    assert sorted(place or 0 for place in places) == [0, 1, 2]
    with pytest.raises(NotThere):
        service.desk.cancel_job(ANN, jobs[1])
    service.desk.cancel_job(ANN, jobs[2])
    service.desk.cancel_job(OLGA, jobs[0])
    assert ended(service, jobs[2])["state"] == "cancelled"
    assert ended(service, jobs[0])["state"] == "cancelled"
    workers: Any = service.desk._workers
    with workers._changed:
        workers.open = True
        workers._changed.notify_all()
    assert ended(service, jobs[1], BOB)["state"] == "released"
    assert service.desk._running.total() == 0


def test_a_job_that_ends_while_somebody_looks_has_its_own_end(
    serving: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row was read when it still ran, and the ticket is looked for when it is over."""
    service = serving(workers=Gate)
    job = service.desk.start_job(ANN, QUESTION)["job"]
    jobs, workers = service.desk._jobs, service.desk._workers
    running = next(thread for thread in threading.enumerate() if "(_do)" in thread.name)
    read = jobs._rows

    def late(condition: Any) -> Any:
        rows = read(condition)
        monkeypatch.setattr(jobs, "_rows", read)
        workers.cancel(jobs._tickets[job])
        running.join()
        return rows

    monkeypatch.setattr(jobs, "_rows", late)
    assert service.desk.job(ANN, job)["state"] == "cancelled"


def test_a_job_of_a_dead_process_is_reported_ended(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process has begun it, and gives no more signs."""
    monkeypatch.setattr(Jobs, "_do", lambda *_: None)
    monkeypatch.setattr(Jobs, "_beat", lambda *_: None)
    other = type(service.desk)(service.settings, HereWorkers(service.settings.limits))
    job = other.start_job(ANN, QUESTION)["job"]
    assert service.desk.job(ANN, job)["state"] == "waiting"
    monkeypatch.setattr("freegap.serve.jobs._SILENCE", -10)
    found = service.desk.job(ANN, job)
    assert (found["state"], "release" in found) == ("ended", False)
