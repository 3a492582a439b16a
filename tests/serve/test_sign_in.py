"""Signing in to the console by a real OpenID Connect provider on this machine, with keys of its own."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from freegap import InvalidArgument
from freegap.serve import database
from freegap.serve.settings import read_settings
from tests.serve.conftest import Reply, Service
from tests.serve.visitors import Visitor

KEY = RSAKey.generate_key(2048, {"kid": "own"})
BACK = "http://127.0.0.1:8765/console/sign-in/return"


class Provider:
    """Discovery, keys, a page that signs everybody in at once, and the exchange of codes, each good once."""

    def __init__(self) -> None:
        self.codes: dict[str, dict[str, str]] = {}
        self.claims: dict[str, Any] = {}
        self.name, self.groups, self.refuses = "ann", ["science"], False
        self.exchanged: list[dict[str, str]] = []
        self.secrets: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = urlsplit(self.path)
                if asked.path == "/authorize":
                    self.send_response(303)
                    self.send_header("location", outer.authorize(self.path))
                    self.end_headers()
                    return
                self.say(200, outer.public().get(asked.path, {}))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                outer.secrets.append(self.headers.get("authorization"))
                found = outer.exchange(dict(parse_qsl(body)))
                self.say(*((400, {"error": "invalid_grant"}) if found is None else (200, found)))

            def say(self, status: int, content: Any) -> None:
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(content).encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://localhost:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def public(self) -> dict[str, Any]:
        places = {f"{name}_endpoint": f"{self.url}/{path}" for name, path in
                  (("authorization", "authorize"), ("token", "token"))}  # fmt: skip
        found = {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **places}
        return {
            "/.well-known/openid-configuration": found,
            "/keys": {"keys": [KEY.as_dict(private=False)]},
        }

    def authorize(self, address: str) -> str:
        """Where a browser is sent back to, that comes with such an address."""
        asked = {name: value for name, (value,) in parse_qs(urlsplit(address).query).items()}
        assert (asked["response_type"], asked["client_id"]) == ("code", "console")
        assert (asked["code_challenge_method"], asked["scope"]) == ("S256", "openid groups")
        if self.refuses:
            return f"{asked['redirect_uri']}?{urlencode({'error': 'access_denied', 'state': asked['state']})}"
        code = secrets.token_urlsafe(24)
        self.codes[code] = asked
        back = {"code": code, "state": asked["state"], "iss": self.url}
        return f"{asked['redirect_uri']}?{urlencode(back)}"

    def exchange(self, sent: dict[str, str]) -> dict[str, Any] | None:
        self.exchanged.append(sent)
        asked = self.codes.pop(sent.get("code", ""), None)
        if asked is None or sent["redirect_uri"] != asked["redirect_uri"] or sent["client_id"] != "console":
            return None
        digest = hashlib.sha256(sent["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            return None
        usual = {"iss": self.url, "aud": "console", "exp": int(time.time()) + 60, "nonce": asked["nonce"]}
        claims = usual | {"name": self.name, "groups": self.groups} | self.claims
        return {"id_token": jwt.encode({"alg": "RS256", "kid": "own"}, claims, KEY), "access_token": "x"}


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.server.shutdown()
    made.server.server_close()


def configured(folder: Path, provider: Provider, back: str = BACK) -> None:
    said = f"""
[oidc]
issuer = "{provider.url}"
audience = "freegap"
name_claim = "name"
role_claim = "groups"
client_id = "console"
console = "{back.removesuffix("/sign-in/return")}"
scopes = ["openid", "groups"]
[oidc.roles]
owner = ["boss"]
analyst = ["science"]
"""
    (folder / "freegap.toml").write_text((folder / "freegap.toml").read_text() + said)


@pytest.fixture
def service(folder: Path, provider: Provider, serving: Callable[..., Service]) -> Service:
    configured(folder, provider)
    return serving()


def begin(visitor: Visitor, provider: Provider) -> dict[str, str]:
    """To the issuer, and what the browser brings back from it."""
    reply = visitor.get("/sign-in/issuer")
    assert reply.status == 303
    place = reply.headers["location"]
    assert place.startswith(f"{provider.url}/authorize?")
    back = provider.authorize(place)
    assert back.startswith(BACK)
    return dict(parse_qsl(urlsplit(back).query))


def come_back(visitor: Visitor, sent: dict[str, str]) -> Reply:
    return visitor.get("/sign-in/return", **sent)


def test_somebody_signs_in_asks_and_signs_out(
    service: Service, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = Visitor(service)
    assert f"Sign in by {urlsplit(provider.url).netloc}" in ann.get("/sign-in").body.decode()
    planted = ann.cookies["freegap_session"]
    reply = come_back(ann, begin(ann, provider))
    assert reply.status == 200
    cookies = reply.headers["set-cookie"].lower().splitlines()
    assert any(line.startswith("freegap_session=") and "samesite=strict" in line for line in cookies)
    assert any(line.startswith('freegap_sign_in=""; httponly; max-age=0') for line in cookies), cookies
    assert ann.cookies["freegap_session"] != planted, "a number from before is nobody's"
    assert "ann, analyst" in ann.get("/").body.decode()
    ann.plan()
    assert ann.ask().status == 303
    assert service.desk.releases(service.people.known(service.token("olga", "owner")))[0]["who"] == "ann"  # type: ignore[arg-type]
    attacker = Visitor(service)
    attacker.cookies["freegap_session"] = planted
    assert attacker.get("/").status == 303
    kept = (service.folder / "people.db").read_bytes()
    assert ann.cookies["freegap_session"].encode() not in kept
    again = ann.cookies["freegap_session"]
    ann.post("/sign-out")
    ann.cookies["freegap_session"] = again
    assert ann.get("/").status == 303
    come_back(ann, begin(ann, provider))
    assert ann.get("/").status == 200
    later = database.now() + timedelta(hours=1, seconds=1)
    monkeypatch.setattr(database, "now", lambda: later)
    assert ann.get("/").status == 303, "the issuer is asked again"
    assert provider.secrets == [None, None]


def test_what_was_brought_back_is_good_once_and_in_one_browser(service: Service, provider: Provider) -> None:
    ann, eve = Visitor(service), Visitor(service)
    sent = begin(ann, provider)
    begin(eve, provider)
    assert come_back(eve, sent).status == 401, "another browser: its state is another one"
    stranger = Visitor(service)
    assert come_back(stranger, sent).status == 401
    assert provider.exchanged == [], "nothing is asked for a state that is not of this browser"
    number = ann.cookies["freegap_sign_in"]
    code = provider.codes[sent["code"]]
    assert come_back(ann, sent).status == 200
    for _ in range(2):  # the issuer would give the same again; the number in the cookie is used up
        provider.codes[sent["code"]] = code
        replayed = Visitor(service)
        replayed.cookies["freegap_sign_in"] = number
        assert come_back(replayed, sent).status == 401
        assert replayed.get("/").status == 303
    ann.post("/sign-out")
    provider.codes[sent["code"]] = code
    ann.cookies["freegap_sign_in"] = number
    assert come_back(ann, sent).status == 401, "nor after signing out"


def test_a_wrong_word_of_the_issuer_is_nobody(service: Service, provider: Provider) -> None:
    ann = Visitor(service)
    wrong: list[dict[str, Any]] = [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "freegap"},
        {"azp": "another"},
        {"iss": "http://evil.example"},
        {"exp": 1},
        {"groups": ["nobody"]},
        {"groups": []},
        {"name": "a b<script>"},
    ]
    for provider.claims in wrong:
        reply = come_back(ann, begin(ann, provider))
        assert reply.status == 401, provider.claims
        assert "<script" not in reply.body.decode()
        assert ann.get("/").status == 303


def test_odd_returns_are_refused(service: Service, provider: Provider) -> None:
    ann = Visitor(service)
    good = begin(ann, provider)
    number = ann.cookies["freegap_sign_in"]
    odd = [
        {},
        {**good, "state": ""},
        {**good, "state": "é<script>"},
        {**good, "iss": "http://evil.example"},
        {**good, "code": ""},
        {**good, "code": "x" * 5000},
        {**good, "code": "unknown"},
        {"error": "<script>alert(1)</script>", "state": good["state"]},
    ]
    for sent in odd:
        ann.cookies["freegap_sign_in"] = number
        reply = come_back(ann, sent)
        assert reply.status == 401, sent
        assert "<script" not in reply.body.decode()
    assert ann.get("/sign-in/return", **{"id_token": "x"}).status == 400
    provider.refuses = True
    assert come_back(ann, begin(ann, provider)).status == 401
    assert ann.get("/").status == 303


def test_a_secret_of_the_environment_is_sent_to_the_issuer_alone(
    service: Service, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FREEGAP_OIDC_SECRET", "s3:cret")
    ann = Visitor(service)
    sent = begin(ann, provider)
    reply = come_back(ann, sent)
    expected = base64.b64encode(b"console:s3%3Acret").decode()
    assert provider.secrets == [f"Basic {expected}"]
    assert b"cret" not in reply.body.replace(b"secret", b"")


def test_not_everybody_waits_for_the_issuer_at_once(service: Service, provider: Provider) -> None:
    """Whoever begins a sign-in is nobody yet, and must not keep those who ask from a thread."""
    ann = Visitor(service)
    sent = begin(ann, provider)
    sign_in = service.desk.sign_in
    assert sign_in is not None
    others = 0
    while sign_in._room.acquire(blocking=False):
        others += 1
    assert (others, come_back(ann, sent).status, provider.exchanged) == (8, 503, [])
    sign_in._room.release()
    assert [come_back(ann, sent).status for _ in range(2)] == [200, 401], "its room is free again"


def test_an_issuer_that_is_gone_is_said_so(service: Service, provider: Provider) -> None:
    ann = Visitor(service)
    sent = begin(ann, provider)
    provider.server.shutdown()
    provider.server.server_close()
    assert come_back(ann, sent).status == 503


def test_without_a_client_there_is_no_such_page(folder: Path, serving: Callable[..., Service]) -> None:
    visitor = Visitor(serving())
    assert [visitor.get(f"/sign-in/{page}").status for page in ("issuer", "return")] == [404, 404]
    assert b"Sign in by" not in visitor.get("/sign-in").body


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('console = "http', 'console = "http://evil.example', "oidc.console"),
        ('console = "http://127', 'consol = "http://127', "oidc.consol: is not known"),
        ('["openid", "groups"]', '["groups"]', "oidc.scopes"),
    ],
)
def test_settings_that_would_send_codes_elsewhere_are_refused(
    folder: Path, provider: Provider, old: str, new: str, complaint: str
) -> None:
    configured(folder, provider)
    text = (folder / "freegap.toml").read_text()
    assert old in text
    (folder / "freegap.toml").write_text(text.replace(old, new))
    with pytest.raises(InvalidArgument, match=complaint):
        read_settings(folder / "freegap.toml")
