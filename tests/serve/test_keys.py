"""A question with a key is paid once, however often it is sent, by whom and through which process."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from freegap_evidence.bench import postgres

import freegap as fg
from freegap.serve import database
from freegap.serve.desk import Desk
from freegap.serve.jobs import _keyed
from freegap.serve.people import Person
from tests.serve.conftest import QUESTION, HereWorkers, Reply, Service, call
from tests.serve.visitors import Visitor

ANN, BOB = Person("ann", "analyst"), Person("bob", "analyst")
KEY = "6f1c0d3e-9a"


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    programs = postgres.programs()
    if programs is None:
        pytest.skip("no PostgreSQL here")
    server = postgres.Server(programs)
    yield server
    server.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def shared(request: pytest.FixtureRequest, folder: Path, serving: Callable[..., Service]) -> Service:
    """A service that several processes could share."""
    if request.param == "postgresql":
        url = request.getfixturevalue("server").new_schema()
        text = (folder / "freegap.toml").read_text()
        for name in ("ledger", "people"):
            text = text.replace(f"sqlite:///{name}.db", url)
        (folder / "freegap.toml").write_text(text)
    return serving()


def send(service: Service, token: str, key: str | None, path: str = "/v1/releases", **changed: Any) -> Reply:
    headers = {} if key is None else {"idempotency-key": key}
    body = json.dumps(QUESTION | changed).encode()
    return call(service.app, "POST", path, token=token, body=body, headers=headers)


def left(service: Service) -> list[Fraction]:
    ledger = fg.Ledger(service.settings.ledger)
    return [ledger.account(name).remaining for name in ("shop", "shop / team red", "shop / ann")]


def test_the_same_again_is_the_same_release_and_paid_once(service: Service) -> None:
    token = service.token("ann")
    first = send(service, token, KEY)
    again = send(service, token, KEY, epsilon=0.5)
    assert (first.status, again.status) == (200, 200), again.body
    assert again.json == first.json
    assert left(service) == [Fraction(9, 2), Fraction(3, 2), Fraction(1)]
    assert send(service, token, None).json["line"] != first.json["line"], "without a key it is paid again"
    assert send(service, token, "another").json["line"] != first.json["line"]
    assert left(service) == [Fraction(7, 2), Fraction(1, 2), Fraction(0)]
    assert send(service, token, KEY).json == first.json, "also where nothing is left"
    assert send(service, token, "a third").status == 422, "no blanks"
    assert send(service, token, "a-third").status == 409
    assert fg.Ledger(service.settings.ledger).verify().ok


def test_a_key_is_for_one_question(service: Service) -> None:
    token = service.token("ann")
    send(service, token, KEY)
    before = left(service)
    others: list[dict[str, Any]] = [{"k": 2}, {"epsilon": "1/3"}, {"item": "city"}, {"measure": True}]
    for changed in (*others, {"mechanism": "above", "threshold": 9}):
        reply = send(service, token, KEY, **changed)
        assert (reply.status, "another question" in reply.body.decode()) == (422, True), reply.body
    assert left(service) == before


def test_a_key_is_for_one_person(service: Service) -> None:
    ann, bob = service.token("ann"), service.token("bob")
    first, other = send(service, ann, KEY), send(service, bob, KEY)
    assert other.json["line"] != first.json["line"]
    assert call(service.app, "GET", f"/v1/releases/{first.json['line']}", token=bob).status == 404
    assert send(service, service.token("ann"), KEY).json == first.json, "by another token of theirs"


def test_an_absurd_key_is_refused_and_costs_nothing(service: Service) -> None:
    token = service.token("ann")
    for key in ("", " ", "a b", "é", "a\tb", "x" * 256, "x" * 10_000, "\x7f"):
        for path in ("/v1/releases", "/v1/jobs"):
            reply = send(service, token, key, path)
            assert reply.status == 422, reply.body
            assert "Idempotency-Key" in reply.json["error"]
            assert len(reply.body) < 400
    assert left(service)[0] == 5


def test_hostile_keys_are_keys(service: Service) -> None:
    """None of them finds another's line: percent signs, quotes and the digest of another key."""
    token = service.token("ann")
    send(service, token, KEY)
    digest = fg.Ledger(service.settings.ledger).entries("shop")[-1]
    keys = ["%", "';--", "x" * 255, digest.hash]
    lines = [send(service, token, key, epsilon="1/100").json["line"] for key in keys]
    assert len(set(lines)) == len(keys)


def test_the_key_of_a_job_that_is_gone_is_free(service: Service) -> None:
    """Jobs are kept for some days: whoever asks with an old key begins anew, and is not sent to nothing."""
    for job in ("gone", "new"):
        taking = partial(_keyed, key=KEY, job=job, question="question")
        assert service.desk.database.run(taking) is None


def test_two_keys_in_one_request_are_refused(service: Service) -> None:
    from freegap.serve.door import _unclear

    assert _unclear([(b"idempotency-key", b"a"), (b"idempotency-key", b"b")]) is not None
    assert _unclear([(b"idempotency-key", b"a")]) is None


def test_of_two_who_have_looked_one_reserves(shared: Service) -> None:
    """Both processes have found nothing under the key, and only then does the first one reserve."""
    desks = [shared.desk, Desk(shared.settings, HereWorkers(shared.settings.limits))]
    askings = [desk._asking(ANN, QUESTION, KEY).looked_up(desk._ledger) for desk in desks]
    assert [before for before, _ in askings] == [None, None]
    (_, first), (_, second) = askings
    made = first.outcome()
    ledger = fg.Ledger(shared.settings.ledger)
    entries = len(ledger.entries())
    assert made["status"] == "released"
    assert second.outcome()["release"] == ledger.release(made["line"])
    assert len(ledger.entries()) == entries
    changed = replace(second, question=desks[0]._asking(ANN, QUESTION | {"k": 2}, KEY).question)
    assert changed.outcome()["status"] == "refused"
    assert len(ledger.entries()) == entries


def test_at_the_same_moment_one_pays(shared: Service) -> None:
    """Eight threads through two processes' desks, with one key; and each tells the same in the end."""
    desks = [shared.desk, Desk(shared.settings, HereWorkers(shared.settings.limits))]
    together = threading.Barrier(8)
    found: list[dict[str, Any]] = []

    def ask(number: int) -> None:
        desk, person = desks[number % 2], (ANN, BOB)[number // 4]
        together.wait()
        found.append(desk.ask(person, QUESTION | {"epsilon": "1/50"}, "at-once", patient=True))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one["status"] for one in found] == ["released"] * 8
    made = [charge for charge in shared.desk.releases(Person("olga", "owner")) if charge["what"] == "top_k"]
    assert sorted(charge["who"] for charge in made) == ["ann", "bob"]
    assert {one["line"] for one in found} == {charge["sequence"] for charge in made}
    assert fg.Ledger(shared.settings.ledger).verify().ok


def test_what_ended_after_it_was_reserved_is_not_drawn_again(
    shared: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, drawn = shared.token("ann"), []

    def killed(*_: Any, **__: Any) -> Any:
        drawn.append(1)
        raise SystemExit

    before = left(shared)
    with monkeypatch.context() as dying:
        dying.setattr(fg, "top_k", killed)
        assert send(shared, token, "ends").status == 503
    charged = left(shared)
    assert charged == [one - Fraction(1, 2) for one in before]
    soon = send(shared, token, "ends")
    assert (soon.status, "is charged: nothing was charged or drawn now" in soon.json["error"]) == (409, True)
    now = database.now() + timedelta(seconds=91)
    monkeypatch.setattr(database, "now", lambda: now)
    late = send(shared, token, "ends")
    assert (late.status, "stays charged in full" in late.json["error"]) == (410, True)
    assert send(shared, token, "ends", k=2).status == 422
    assert (left(shared), len(drawn)) == (charged, 1)
    assert fg.Ledger(shared.settings.ledger).verify().ok


def test_what_was_given_back_may_be_asked_again(service: Service) -> None:
    """A table that is not there costs nothing; when it is there, the same key asks."""
    table = service.folder / "baskets.parquet"
    content = table.read_bytes()
    table.unlink()
    token = service.token("ann")
    assert send(service, token, KEY).status == 503
    assert left(service)[0] == 5
    table.write_bytes(content)
    assert send(service, token, KEY).status == 200
    assert left(service)[0] == Fraction(9, 2)


def test_a_key_holds_over_the_end_of_a_month(
    folder: Path, serving: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The accounts are other ones then."""
    text = (folder / "freegap.toml").read_text()
    text = text.replace('budget = { epsilon = "5" }', 'budget = { epsilon = "5", renewed = "monthly" }')
    (folder / "freegap.toml").write_text(text)
    service = serving()
    now = [database.now().replace(day=28)]
    monkeypatch.setattr(database, "now", lambda: now[0])
    first = service.desk.ask(ANN, QUESTION, KEY)
    now[0] += timedelta(days=4)
    assert service.desk.ask(ANN, QUESTION, KEY) == first
    assert service.desk.ask(ANN, QUESTION)["line"] != first["line"]


def test_a_job_with_a_key_begins_once(shared: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    token, key = shared.token("ann"), "of-a-job"
    other = Desk(shared.settings, HereWorkers(shared.settings.limits))
    begun = send(shared, token, key, "/v1/jobs")
    assert begun.status == 202
    again = other.start_job(ANN, QUESTION, key)
    assert again["job"] == begun.json["job"]
    assert send(shared, token, key, "/v1/jobs", k=2).status == 422
    assert send(shared, shared.token("bob"), key, "/v1/jobs").json["job"] != begun.json["job"]
    direct = shared.desk.ask(ANN, QUESTION, key, patient=True)
    while (found := shared.desk.job(ANN, begun.json["job"]))["state"] in ("waiting", "running"):
        threading.Event().wait(0.01)
    assert (found["state"], found["line"]) == ("released", direct["line"])
    assert other._running.total() == 0
    assert fg.Ledger(shared.settings.ledger).verify().ok


def test_a_double_click_waits_for_the_first_and_shows_the_same_release(service: Service) -> None:
    ann = Visitor(service)
    ann.sign_in(service.token("ann"))
    ann.plan()
    asked = threading.Event()
    places: list[str] = []

    class Slow(HereWorkers):
        def answer(self, task: Any, ticket: Any) -> dict[str, Any]:
            asked.set()
            return super().answer(task, ticket)

    service.desk._workers = Slow(service.settings.limits)
    first = threading.Thread(target=lambda: places.append(ann.ask().headers["location"]))
    first.start()
    asked.wait()
    places.append(ann.ask().headers["location"])
    first.join()
    assert len(set(places)) == 1
    assert left(service)[0] == Fraction(9, 2)
    reloaded = ann.ask()
    assert (reloaded.status, reloaded.headers["location"]) == (303, places[0])
    assert ann.ask(k="2").status == 422, "another question in the same form"
    assert ann.ask(once="").status == 422
    assert left(service)[0] == Fraction(9, 2)


def test_a_form_whose_question_ended_offers_no_second_payment(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:

    def not_kept(*_: Any) -> Any:
        raise fg.InvalidArgument("number", 1, "is not kept", "Ask anew.")

    ann = Visitor(service)
    ann.sign_in(service.token("ann"))
    ann.plan()
    service.desk._workers.run(service.desk._asking(ANN, QUESTION, ann.once))
    with monkeypatch.context() as broken:
        broken.setattr(fg.Ledger, "release", not_kept)
        reply = ann.ask()
    assert reply.status == 410
    assert b"not kept" in reply.body
    assert b"Ask, and pay" not in reply.body
