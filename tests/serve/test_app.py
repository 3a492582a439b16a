"""Over HTTP: who is let in, what is turned away, and that no text tells of data or machine."""

from __future__ import annotations

import json
from typing import Any

import pytest

import freegap as fg
from tests.serve.conftest import QUESTION, Reply, Service, call

PATHS = ["/v1/sources", "/v1/releases", "/v1/releases/8", "/v1/receipts/8", "/v1/journal", "/v1/verification"]


def test_a_release_over_http_is_that_of_the_library(seeded: Service) -> None:
    reply = seeded.ask(seeded.token("ann"))
    assert reply.status == 200, reply.body
    made = fg.top_k(
        seeded.folder / "baskets.parquet",
        item="product",
        person="customer",
        k=1,
        epsilon="1/2",
        domain=["tea", "milk", "rice"],
        bits=fg.SeededBits(1),
    )
    assert reply.json["release"] == json.loads(made.to_json())


def test_the_whole_way(service: Service) -> None:
    ann, ada = service.token("ann"), service.token("ada", "auditor")
    asked = service.ask(ann)
    line = asked.json["line"]
    assert call(service.app, "GET", f"/v1/releases/{line}", token=ann).json == asked.json["release"]
    assert call(service.app, "GET", "/v1/releases", token=ann).json[0]["charged"] == "1/2"
    assert (
        json.loads(call(service.app, "GET", f"/v1/receipts/{line}", token=ada).body)["receipt"]["dataset"]
        == "shop"
    )
    assert call(service.app, "GET", "/v1/verification", token=ada).json["ok"]
    assert len(call(service.app, "GET", "/v1/journal", token=ada).json) == 12
    assert call(service.app, "GET", "/v1/sources", token=ann).json[0]["accounts"][0]["left"] == "9/2"
    assert [service.ask(ann, epsilon=1).status for _ in range(2)] == [200, 409]


def test_nobody_is_let_in_without_a_good_token(service: Service) -> None:
    revoked = service.token("ann")
    service.people.revoke(1)
    wrong = [
        {},
        *({"authorization": text} for text in ("Bearer", "Basic YTpi", revoked, f"bearer  {revoked}")),
    ]
    tokens = [revoked, "", "freegap_1_" + "0" * 64, "\xff"]
    for path in PATHS:
        for headers in wrong:
            reply = call(service.app, "GET", path, headers=headers)
            assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
        assert [call(service.app, "GET", path, token=token).status for token in tokens] == [401] * 4
    assert [service.ask(token).status for token in (None, *tokens)] == [401] * 5
    for body in (b"\x00", b"[]", b'{"mechanism": 1}'):  # what cannot be read is told to those who may ask
        assert call(service.app, "POST", "/v1/releases", body=body).status == 401
        assert call(service.app, "POST", "/v1/releases", body=body, token=service.token("bob")).status == 422


def test_health_and_the_description_need_no_token(service: Service) -> None:
    assert call(service.app, "GET", "/health").json == {"status": "ok"}
    described = call(service.app, "GET", "/openapi.json").json
    assert set(described["paths"]) == {
        "/health",
        "/v1/me",
        "/v1/sources",
        "/v1/plans",
        "/v1/jobs",
        "/v1/jobs/{job}",
        "/v1/accounts",
        "/v1/teams",
        "/v1/tokens",
        "/v1/tokens/{number}",
        "/v1/key",
        "/v1/releases",
        "/v1/releases/{line}",
        "/v1/receipts/{line}",
        "/v1/journal",
        "/v1/verification",
    }
    for off in ("/docs", "/redoc", "/../freegap.toml", "/v1/../ledger.db"):
        assert call(service.app, "GET", off).status == 404


def test_a_token_in_the_address_is_turned_away(service: Service) -> None:
    token = service.token("ann")
    for name in ("token", "access_token", "TOKEN", "%74oken", "t"):
        reply = call(service.app, "GET", "/v1/sources", token=token, query=f"a=1&{name}={token}".encode())
        assert reply.status == 400
        assert token not in reply.body.decode()
    assert call(service.app, "GET", "/v1/sources", query=b"%74oken=eyJ").status == 400, "of an issuer"
    assert call(service.app, "GET", f"/v1/releases/{token}").status == 400


def test_a_slash_too_many_sends_nobody_to_the_host_that_a_request_names(service: Service) -> None:
    for path in ("/v1/me/", "/v1/releases/", "/console/ask/", "/console/sign-in/", "/openapi.json/"):
        reply = call(service.app, "GET", path, headers={"host": "evil.example"})
        assert (reply.status, "location" in reply.headers) == (404, False)


UNREADABLE = [
    (b"", 422),
    (b"{", 422),
    (b"[]", 422),
    (b"null", 422),
    (b'"' + b"a" * 65_000 + b'"', 422),
    (b"[" * 60_000, 400),
    (b"a" * 65_537, 413),
    (b'{"k":NaN}', 422),
    (json.dumps(QUESTION | {"k": "1"}).encode(), 422),
    (json.dumps(QUESTION | {"k": 10**400}).encode(), 422),
    (json.dumps(QUESTION | {"measure": "yes"}).encode(), 422),
    (json.dumps(QUESTION | {"SECRET": 1}).encode(), 422),
    (json.dumps(QUESTION | {"epsilon": "9" * 60_000}).encode(), 422),
    (b"\xff\xfe", 422),
]


def test_what_cannot_be_read_is_refused_and_charges_nothing(service: Service) -> None:
    token = service.token("ann")
    for body, status in UNREADABLE:
        reply = call(service.app, "POST", "/v1/releases", token=token, body=body)
        assert reply.status == status, (body[:40], reply.body)
        assert list(reply.json) == ["error"]
        assert len(reply.body) < 500
    assert len(fg.Ledger(service.settings.ledger).entries()) == 6


def replies(service: Service) -> list[Reply]:
    ann, ada, carl = service.token("ann"), service.token("ada", "auditor"), service.token("carl")
    clinic: dict[str, Any] = {"source": "clinic", "item": "diagnosis", "epsilon": "1/10"}
    return [
        service.ask(None),
        service.ask(ada),
        service.ask(ann, k=3),
        service.ask(ann, item="customer"),
        service.ask(ann, source="clinic"),
        service.ask(carl, **clinic),
        call(service.app, "GET", "/v1/releases/99", token=ann),
        call(service.app, "GET", "/v1/releases/x", token=ann),
        call(service.app, "GET", "/v1/releases/" + "9" * 5000, token=ann),
        call(service.app, "GET", "/v1/journal", token=ann),
        call(service.app, "DELETE", "/v1/releases", token=ann),
    ]


def test_no_reply_tells_of_the_data_or_of_the_machine(service: Service) -> None:
    """The table of the clinic is not there. Its name, its persons and every path are the owner's."""
    found = replies(service)
    assert [reply.status for reply in found] == [401, 403, 422, 422, 422, 503, 404, 422, 422, 403, 405]
    (service.folder / "ledger.db").write_bytes(b"damaged" * 100)
    found.append(call(service.app, "GET", "/v1/sources", token=service.token("ann")))
    (service.folder / "people.db").write_bytes(b"damaged" * 100)
    found.append(call(service.app, "GET", "/v1/sources", token="freegap_1_" + "0" * 64))
    assert [reply.status for reply in found[-2:]] == [503, 503]
    secrets = [
        str(service.folder).lower(),
        "secret",
        "patient",
        "sqlite",
        "traceback",
        "baskets",
        "ledger.db",
    ]
    for reply in found:
        text = (str(reply.headers) + reply.body.decode()).lower()
        for secret in secrets:
            assert secret not in text, text
        assert len(reply.body) < 600


def test_what_is_wrong_with_the_key_or_the_ledger_is_told_to_nobody_who_asks(service: Service) -> None:
    """The library tells its caller, who is the owner, which file it is and what to do with it."""
    ann = service.token("ann")
    line = service.ask(ann).json["line"]
    service.settings.key_file.touch(mode=0o644)
    service.settings.key_file.chmod(0o644)
    found = [call(service.app, "GET", f"/v1/receipts/{line}", token=ann)]
    (service.folder / "ledger.db").unlink()
    fg.Ledger(service.settings.ledger).create("web", epsilon=1)  # another one, without these accounts
    found += [call(service.app, "GET", path, token=ann) for path in ("/v1/sources", "/v1/releases")]
    found.append(service.ask(ann))
    for reply in found:
        assert reply.status == 503, reply.body
        assert str(service.folder) not in reply.body.decode()
        assert "chmod" not in reply.body.decode()


def test_an_error_that_nobody_foresaw_is_one_text(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> object:
        raise RuntimeError("SECRET row")

    monkeypatch.setattr(service.desk, "sources", fails)
    reply = call(service.app, "GET", "/v1/sources", token=service.token("ann"))
    assert (reply.status, reply.json) == (500, {"error": "The service has failed."})


def test_replies_are_not_kept_by_browsers(service: Service) -> None:
    reply = call(service.app, "GET", "/v1/sources", token=service.token("ann"))
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in reply.headers
