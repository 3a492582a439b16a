"""Tokens of an issuer: a real one, on this machine, with keys of its own; and what is not quite a token."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey, RSAKey

from freegap import InvalidArgument
from freegap.serve.database import PeopleUnavailable
from freegap.serve.issuer import Issuer, IssuerSettings
from freegap.serve.people import Person
from freegap.serve.settings import read_settings
from tests.serve.conftest import call

RSA, OTHER = RSAKey.generate_key(2048, {"kid": "rsa"}), ECKey.generate_key("P-256", {"kid": "rsa"})
EC = ECKey.generate_key("P-256", {"kid": "ec", "use": "sig"})
SECRET = OctKey.import_key("a" * 40, {"kid": "oct"})


class LittleIssuer:
    """Publishes keys over HTTP."""

    def __init__(self) -> None:
        self.keys: list[Any] = [RSA, EC, SECRET]
        self.answers: dict[str, Any] = {}
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                content = json.dumps(outer.said(self.path)).encode()
                self.send_response(302 if self.path == "/elsewhere" else 200)
                self.send_header("location", f"{outer.url}/keys")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def said(self, path: str) -> Any:
        usual = {
            "/.well-known/openid-configuration": {"issuer": self.url, "jwks_uri": f"{self.url}/keys"},
            "/keys": {"keys": [key.as_dict(private=isinstance(key, OctKey)) for key in self.keys]},
        }
        return {**usual, **self.answers}.get(path, {})

    def claims(self, **changed: Any) -> dict[str, Any]:
        now = int(time.time())
        usual = {
            "iss": self.url,
            "aud": "freegap",
            "exp": now + 60,
            "name": "ann",
            "groups": ["science", "x"],
        }
        return {name: value for name, value in (usual | changed).items() if value is not ...}

    def token(self, key: Any = RSA, alg: str = "RS256", kid: str | None = None, **changed: Any) -> str:
        header = {"alg": alg, "kid": key.kid if kid is None else kid}
        return jwt.encode(header, self.claims(**changed), key, algorithms=[alg])


@pytest.fixture(scope="module")
def little() -> Iterator[LittleIssuer]:
    made = LittleIssuer()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def settings(little: LittleIssuer) -> IssuerSettings:
    little.answers.clear()
    little.keys = [RSA, EC, SECRET]
    little.asked.clear()
    roles: Any = {"owner": ("boss",), "analyst": ("science",), "auditor": ("audit",)}
    return IssuerSettings(little.url, "freegap", "name", "groups", roles)


def test_a_token_is_somebodys_with_their_role(little: LittleIssuer, settings: IssuerSettings) -> None:
    issuer = Issuer(settings)
    assert issuer.known(little.token()) == Person("ann", "analyst")
    assert issuer.known(little.token(EC, "ES256")) == Person("ann", "analyst")
    assert issuer.known(little.token(aud=["a", "freegap"], groups="boss")) == Person("ann", "owner")
    assert issuer.known(little.token(groups=["science", "audit", "boss"])) == Person("ann", "owner")
    assert issuer.known(little.token(groups=["science", "audit"])) == Person("ann", "auditor")
    assert little.asked == ["/.well-known/openid-configuration", "/keys"], "once, and not for each token"


def raw(header: dict[str, Any], claims: dict[str, Any], sign: Any) -> str:
    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    body = f"{part(json.dumps(header).encode())}.{part(json.dumps(claims).encode())}"
    return f"{body}.{part(sign(body.encode()))}"


def test_what_is_not_quite_a_token_is_nobody(little: LittleIssuer, settings: IssuerSettings) -> None:
    issuer = Issuer(settings)
    now = int(time.time())
    good, claims = little.token(), little.claims()
    pem = RSA.as_pem(private=False)
    modulus = json.dumps(RSA.as_dict(private=False)).encode()
    wrong = [
        "",
        ".",
        "..",
        "a.b.c",
        good[:-2],
        good + "x",
        good.rpartition(".")[0] + ".",
        "\xff" + good,
        raw({"alg": "none"}, claims, lambda _: b""),
        raw({"alg": "None", "kid": "rsa"}, claims, lambda _: b""),
        raw({"alg": "HS256", "kid": "rsa"}, claims, lambda text: hmac.digest(pem, text, "sha256")),
        raw({"alg": "HS256", "kid": "rsa"}, claims, lambda text: hmac.digest(modulus, text, "sha256")),
        raw({"alg": "HS256", "kid": "oct"}, claims, lambda text: hmac.digest(b"a" * 40, text, "sha256")),
        raw(
            {"alg": "RS256", "kid": "rsa", "crit": ["x"]}, claims, lambda text: hashlib.sha256(text).digest()
        ),
        raw({"alg": ["RS256"], "kid": "rsa"}, claims, lambda text: b"x"),
        little.token(RSAKey.generate_key(2048), kid="rsa"),
        little.token(OTHER, "ES256", kid="rsa"),
        little.token(iss="http://127.0.0.1"),
        little.token(iss=little.url + "/"),
        little.token(iss=...),
        little.token(aud="other"),
        little.token(aud=...),
        little.token(aud=[]),
        little.token(exp=now - 31),
        little.token(exp=...),
        little.token(exp=str(now + 60)),
        little.token(exp=now + 25 * 3600),
        little.token(nbf=now + 600),
        little.token(iat=now + 600),
        little.token(groups=["nobody"]),
        little.token(groups=...),
        little.token(groups={"science": 1}),
        little.token(groups=[["science"]]),
        little.token(name=...),
        little.token(name=["ann"]),
        little.token(name="ann / team red"),
        little.token(name="olga\n"),
    ]
    for token in wrong:
        assert issuer.known(token) is None, token
    assert issuer.known(good) is not None


def test_an_address_counts_when_it_was_verified(little: LittleIssuer, settings: IssuerSettings) -> None:
    roles: Any = {"analyst": ("science",)}
    issuer = Issuer(IssuerSettings(little.url, "freegap", "email", "realm.roles", roles))
    said: dict[str, Any] = {"email": "ann@x.org", "realm": {"roles": ["science"]}}
    assert issuer.known(little.token(**said, email_verified=True)) == Person("ann@x.org", "analyst")
    for verified in (False, "true", ...):
        assert issuer.known(little.token(**said, email_verified=verified)) is None
    assert issuer.known(little.token(**(said | {"realm": "x"}), email_verified=True)) is None


def test_new_keys_are_found_and_old_ones_forgotten(
    little: LittleIssuer, settings: IssuerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("freegap.serve.issuer.time.monotonic", lambda: now[0])
    issuer = Issuer(settings)
    assert issuer.known(little.token()) is not None
    new = RSAKey.generate_key(2048, {"kid": "new"})
    little.keys = [new]
    assert issuer.known(little.token(new)) is None, "asked for a moment ago"
    assert len(little.asked) == 2
    now[0] = 61.0
    assert issuer.known(little.token(new)) is not None
    assert issuer.known(little.token()) is None, "that key is no longer published"
    assert len(little.asked) == 4
    little.answers["/keys"] = {"keys": []}
    now[0] += 601
    assert issuer.known(little.token(new)) is not None, "known for a while, if the issuer has trouble"
    now[0] += 3600
    with pytest.raises(PeopleUnavailable):
        issuer.known(little.token(new))


@pytest.mark.parametrize(
    "answers",
    [
        {"/.well-known/openid-configuration": []},
        {"/.well-known/openid-configuration": {"issuer": "https://other", "jwks_uri": "x"}},
        {"/keys": "x" * 2**21},
        {"/keys": {"keys": [SECRET.as_dict(private=True)]}},
        {"/keys": {"keys": "x"}},
    ],
)
def test_an_issuer_that_says_something_else_lets_nobody_in(
    little: LittleIssuer, settings: IssuerSettings, answers: dict[str, Any]
) -> None:
    little.answers.update(answers)
    with pytest.raises(PeopleUnavailable):
        Issuer(settings).known(little.token())


def test_keys_are_not_fetched_from_elsewhere(little: LittleIssuer, settings: IssuerSettings) -> None:
    found = {"issuer": little.url}
    for place in (f"{little.url}/elsewhere", "http://example.org/keys", "file:///etc/passwd", "", None):
        little.answers["/.well-known/openid-configuration"] = found | {"jwks_uri": place}
        with pytest.raises(PeopleUnavailable):
            Issuer(settings).known(little.token())
    assert "/keys" not in little.asked, "a redirection is not followed"


CONFIGURED = """
[oidc]
issuer = "URL"
audience = "freegap"
name_claim = "name"
role_claim = "groups"
[oidc.roles]
analyst = ["science"]
"""


def test_people_of_an_issuer_ask_like_others(
    little: LittleIssuer, settings: IssuerSettings, folder: Path, serving: Any
) -> None:
    file = folder / "freegap.toml"
    file.write_text(file.read_text() + CONFIGURED.replace("URL", little.url))
    service = serving()
    token = little.token()
    assert call(service.app, "GET", "/v1/me", token=token).json == {"name": "ann", "role": "analyst"}
    assert service.ask(token).status == 200
    assert call(service.app, "GET", "/v1/journal", token=token).status == 403
    assert call(service.app, "GET", "/v1/me", token=service.token("olga", "owner")).json["role"] == "owner"
    assert call(service.app, "GET", "/v1/me", token=little.token(exp=1)).status == 401


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("URL", "http://id.example.org"),
        ("URL", "ftp://localhost"),
        ("URL", "localhost"),
        ('audience = "freegap"\n', ""),
        ('audience = "freegap"', 'audience = ""'),
        ('audience = "freegap"', 'audience = "freegap"\nconsole = "https://data.example.org/console"'),
        ('name_claim = "name"\n', ""),
        ("analyst =", "admin ="),
        ('["science"]', '[""]'),
        ('["science"]', "[]"),
        ('["science"]', '"science"'),
        ("[oidc.roles]", "algorithms = ['none']\n[oidc.roles]"),
    ],
)
def test_what_is_wrong_is_an_error(folder: Path, old: str, new: str) -> None:
    file = folder / "freegap.toml"
    file.write_text(file.read_text() + CONFIGURED.replace(old, new))
    with pytest.raises(InvalidArgument):
        read_settings(file)


def test_key_sets_have_no_secret_left(little: LittleIssuer, settings: IssuerSettings) -> None:
    keys: KeySet = Issuer(settings)._current(again=False)
    assert sorted(str(key.kid) for key in keys) == ["ec", "rsa"]
