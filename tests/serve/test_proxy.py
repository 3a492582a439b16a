"""The service behind nginx with TLS, by the file of docs/serve.md as it stands but for its places."""

from __future__ import annotations

import json
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.client import HTTPSConnection
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.serve.conftest import QUESTION, Service
from tests.serve.test_listen import listening

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
GUIDE = Path(__file__).parents[2] / "docs" / "serve.md"
HOST = "freegap.example.org"
FORM = "application/x-www-form-urlencoded"
pytestmark = pytest.mark.skipif(NGINX is None, reason="no nginx on this machine")


def certificate(folder: Path) -> None:
    """For the host of the guide, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "freegap.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "freegap.key").write_bytes(key.private_bytes(*private))


def placed(folder: Path, port: int, service: str) -> str:
    """The guide's file with places of this machine."""
    found = re.search(r"```nginx\n(.*?)```", GUIDE.read_text(), re.S)
    assert found is not None
    text = found[1]
    for old, new in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/", f"{folder}/"),
        ("http://127.0.0.1:8765", service),
    ):
        assert old in text
        text = text.replace(old, new)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    places = f"daemon off;\npid {folder}/pid;\nerror_log {folder}/log;\n"
    return f"{places}events {{}}\nhttp {{\n{temporary}{text}}}\n"


class Proxied:
    """Whoever comes by the proxy."""

    def __init__(self, folder: Path, port: int, token: str) -> None:
        self._trust = ssl.create_default_context(cafile=str(folder / "freegap.pem"))
        self.port, self.token = port, token

    def call(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, Any, bytes]:
        place = HTTPSConnection(HOST, self.port, context=self._trust, timeout=60)
        raw = socket.create_connection(("127.0.0.1", self.port), 60)
        place.sock = self._trust.wrap_socket(raw, server_hostname=HOST)
        place.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        reply = place.getresponse()
        content = reply.read()
        place.close()
        return reply.status, reply.headers, content

    def asks(self, path: str, asked: Any, **headers: str) -> tuple[int, Any]:
        sent = {"authorization": f"Bearer {self.token}", "content_type": "application/json", **headers}
        status, _, body = self.call("POST", path, json.dumps(asked).encode(), **sent)
        return status, json.loads(body) if body.startswith(b"{") else body


@pytest.fixture
def proxied(folder: Path, serving: Callable[..., Service]) -> Iterator[Proxied]:
    text = (folder / "freegap.toml").read_text()
    (folder / "freegap.toml").write_text("https = true\n" + text)
    service = serving()
    certificate(folder)
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
    with listening(service) as own:
        (folder / "nginx.conf").write_text(placed(folder, port, f"http://127.0.0.1:{own}"))
        command = [str(NGINX), "-p", str(folder), "-e", str(folder / "log"), "-c", str(folder / "nginx.conf")]
        nginx_starts = threading.Event()
        with subprocess.Popen(command, stderr=sys.stderr) as nginx:  # noqa: S603
            try:
                while not (folder / "pid").exists() or not (folder / "pid").read_text().strip():
                    assert nginx.poll() is None, (folder / "log").read_text()
                    nginx_starts.wait(0.05)
                yield Proxied(folder, port, service.token("ann"))
            finally:
                nginx.terminate()


def test_the_example_of_the_guide(proxied: Proxied) -> None:
    assert proxied.call("GET", "/health")[0] == 200
    # A question, sent again with its key: one release.
    first = proxied.asks("/v1/releases", QUESTION, idempotency_key="by-proxy")
    assert (first[0], first[1]["status"]) == (200, "released")
    assert proxied.asks("/v1/releases", QUESTION, idempotency_key="by-proxy") == first
    # Headers that say who somebody is, and from where, are nobody's word.
    forged = {"x_remote_user": "olga", "x_forwarded_host": "evil.example", "forwarded": "host=evil.example"}
    assert proxied.call("GET", "/v1/me", None, **forged)[0] == 401
    status, headers, _ = proxied.call("GET", "/", None, **forged)
    assert (status, headers["location"]) == (303, "console/")
    # What is too large, or reads in two ways, or has its token in the address.
    assert proxied.asks("/v1/releases", {"source": "x" * 70_000})[0] == 413
    both = {"transfer_encoding": "chunked", "content_length": "3"}
    assert proxied.call("POST", "/v1/releases", b"0\r\n\r\n", **both)[0] == 400
    assert proxied.call("GET", f"/v1/me?token={proxied.token}")[0] == 400
    assert proxied.call("GET", "/v1/../../etc/passwd")[0] in (400, 404)
    # Signing in: the cookie is for this host and for TLS alone, and the browser's origin is held against it.
    status, headers, body = proxied.call("GET", "/console/sign-in")
    cookie = SimpleCookie(headers["set-cookie"])["__Host-freegap_session"]
    assert (status, cookie["secure"], cookie["samesite"]) == (200, True, "strict")
    form = re.search(rb'name="form" value="([0-9a-f]{64})"', body)
    assert form is not None
    sent = urlencode({"form": form[1].decode(), "token": proxied.token}).encode()
    own = {"cookie": f"__Host-freegap_session={cookie.value}", "content_type": FORM}
    for origin, expected in (("https://evil.example", 403), (f"https://{HOST}:{proxied.port}", 303)):
        status, headers, _ = proxied.call("POST", "/console/sign-in", sent, origin=origin, **own)
        assert status == expected, origin
    assert urlsplit(headers["location"]).netloc == ""
    session = SimpleCookie(headers["set-cookie"])["__Host-freegap_session"].value
    status, headers, body = proxied.call("GET", "/console/", cookie=f"__Host-freegap_session={session}")
    assert (status, b"ann, analyst" in body) == (200, True)
    assert "default-src 'none'" in headers["content-security-policy"]
