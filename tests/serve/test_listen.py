"""Bytes on a socket: what a client, a proxy or somebody in between could send."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
import uvicorn

import freegap as fg
from freegap.serve import door, listen
from freegap.serve.listen import server
from tests.serve.conftest import QUESTION, Service


@contextmanager
def served(service: Service) -> Iterator[uvicorn.Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    serving = server(service.app, host="127.0.0.1", port=port)
    thread = threading.Thread(target=serving.run, daemon=True)
    thread.start()
    while not serving.started:
        time.sleep(0.01)
    yield serving
    serving.should_exit = True
    thread.join()


@contextmanager
def listening(service: Service) -> Iterator[int]:
    with served(service) as serving:
        yield serving.config.port


def sent(port: int, *parts: bytes) -> bytes:
    """Everything that comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        try:
            for part in parts:
                connection.sendall(part)
        except OSError:
            pass  # it has closed already
        taken = b""
        try:
            while more := connection.recv(65536):
                taken += more
        except ConnectionResetError:
            pass
        return taken


def head(token: str, *lines: str, path: str = "/v1/releases", method: str = "POST") -> bytes:
    usual = [
        f"{method} {path} HTTP/1.1",
        "Host: x",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
    ]
    return "\r\n".join([*usual, *lines, "", ""]).encode()


def test_what_is_on_the_wire(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    token = service.token("ann")
    body = json.dumps(QUESTION).encode()
    length = f"Content-Length: {len(body)}"
    hidden = head(token, path="/v1/sources", method="GET")
    with listening(service) as port:
        before = len(fg.Ledger(service.settings.ledger).entries())
        assert b"200 OK" in sent(port, b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        refused = {
            "a length and chunks": sent(
                port, head(token, length, "Transfer-Encoding: chunked") + b"0\r\n\r\n" + hidden
            ),
            "two lengths": sent(port, head(token, length, "Content-Length: 3") + body + hidden),
            "two names": sent(port, head(token, length, f"Authorization: Bearer {token}") + body),
            "lengths in one line": sent(port, head(token, length + ", 3") + body + hidden),
            "chunks twice": sent(
                port, head(token, *["Transfer-Encoding: chunked"] * 2) + b"0\r\n\r\n" + hidden
            ),
            "a blank before the colon": sent(port, head(token, "Content-Length : 3") + body + hidden),
            "a length that is none": sent(port, head(token, "Content-Length: +5") + body),
            "an unknown coding": sent(port, head(token, "Transfer-Encoding: xchunked") + body),
            "a line folded": sent(port, head(token, "X: a\r\n b\x00c", length) + body),
            "a header too long": sent(port, head(token, "X: " + "a" * 300_000, length) + body),
            "not HTTP": sent(port, b"\x16\x03\x01\x02\x00\x01\x00" * 10),
            "a body of a gigabyte": sent(
                port, head(token, "Content-Length: 1073741824"), *[b"a" * 65536] * 4
            ),
            "the same in chunks": sent(
                port, head(token, "Transfer-Encoding: chunked"), *[b"10000\r\n" + b"a" * 65536 + b"\r\n"] * 4
            ),
        }
        for why, reply in refused.items():
            assert reply.count(b"HTTP/1.1 ") <= 1, (why, reply)
            assert reply.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")) or not reply, (why, reply)
            assert b"accounts" not in reply, why
        assert b" 413 " in refused["a body of a gigabyte"]
        assert b" 413 " in refused["the same in chunks"]
        monkeypatch.setattr(door, "_SLOWEST_BODY", 0.2)
        with socket.create_connection(("127.0.0.1", port), timeout=20) as slow:
            slow.sendall(head(token, length) + body[:5])
            assert b" 408 " in slow.recv(65536), "and the others are answered meanwhile"
        assert len(fg.Ledger(service.settings.ledger).entries()) == before
        assert b"200 OK" in sent(port, head(token, length, "Connection: close") + body)


def test_a_gigabyte_is_refused_before_it_is_sent(service: Service) -> None:
    """By its length, without a byte of it; in chunks, as soon as it is too much."""
    token, gigabyte = service.token("ann"), 2**30
    with listening(service) as port:
        for lines in (
            ("Content-Length: 1073741824",),
            ("Content-Length: 1073741824", "Expect: 100-continue"),
        ):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                connection.sendall(head(token, *lines))
                taken = connection.recv(65536)
                assert taken.startswith(b"HTTP/1.1 413 "), taken
                assert b"connection: close" in taken.lower()
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(head(token, "Transfer-Encoding: chunked"))
            chunk, offered = b"10000\r\n" + b"a" * 65536 + b"\r\n", 0
            with suppress(OSError):
                while offered < gigabyte:
                    connection.sendall(chunk)
                    offered += 65536
            assert offered < gigabyte / 16, "what the buffers of two sockets hold, and no more"


def test_whoever_does_nothing_is_not_waited_for(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that send no request, or half a head, also after an answer; and others are answered."""
    monkeypatch.setattr(listen, "_SLOWEST_HEAD", 0.3)
    get = b"GET /health HTTP/1.1\r\nHost: x\r\n"
    with served(service) as serving:
        port = serving.config.port
        assert sent(port) == b""
        assert sent(port, get, b"X: a") == b""
        after = sent(port, get + b"\r\n" + get)
        assert after.count(b"HTTP/1.1 200 OK") == 1
        assert sent(port, get + b"\r\n" + get + b"Connection: close\r\n\r\n").count(b"200 OK") == 2
        assert not serving.server_state.connections


def test_whoever_does_not_read_is_not_waited_for(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "_SLOWEST_READER", 0.3)
    get = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
    with served(service) as serving, socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.settimeout(20)
        slow.connect(("127.0.0.1", serving.config.port))
        slow.sendall(get * 600)
        while serving.server_state.total_requests == 0 or serving.server_state.connections:
            time.sleep(0.01)
        assert serving.server_state.total_requests < 600
        assert b"200 OK" in sent(serving.config.port, get[:-2] + b"Connection: close\r\n\r\n")


def test_no_path_leads_out(service: Service) -> None:
    """Whatever a path is written like, nothing but the service's own pages is behind it."""
    token = service.token("olga", "owner")
    up = ["../" * 9, "..%2f" * 9, "%2e%2e/" * 9, "..%5c" * 9, "....//" * 9, "%252e%252e%252f" * 9]
    roots = ["/", "/v1/", "/v1/releases/", "/v1/jobs/", "/console/", "/console/static/", "//", "http://x/"]
    with listening(service) as port:
        for path in (root + steps + "etc/passwd" for root in roots for steps in up):
            reply = sent(port, head(token, "Connection: close", path=path, method="GET"))
            assert reply[:12] in (b"HTTP/1.1 404", b"HTTP/1.1 422", b"HTTP/1.1 400", b"HTTP/1.1 303"), path
            assert b"root:" not in reply
        for path in ("/freegap.toml", "/ledger.db", "/receipt-key.pem", "/console/static/pages.py", "/%00"):
            reply = sent(port, head(token, "Connection: close", path=path, method="GET"))
            assert reply.startswith(b"HTTP/1.1 404"), reply


def test_headers_of_proxies_are_believed_by_nobody(service: Service) -> None:
    """Who asks is in the token; where they come from, and how, changes nothing."""
    said = [
        "X-Forwarded-For: 10.0.0.1",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Host: evil.example",
        "X-Forwarded-Prefix: /evil",
        "Forwarded: for=10.0.0.1;host=evil.example;proto=https",
        "X-Forwarded-User: olga",
        "X-Remote-User: olga",
        "X-HTTP-Method-Override: DELETE",
        "X-Original-URL: /v1/journal",
        "Connection: close",
    ]
    token = service.token("ann")
    plain = ["Connection: close"]
    with listening(service) as port:
        for path, asks in (("/v1/me", token), ("/v1/me", "none"), ("/", token), ("/v1/journal", token)):
            replies = [sent(port, head(asks, *lines, path=path, method="GET")) for lines in (plain, said)]
            told = [
                [line for line in reply.splitlines() if not line.lower().startswith(b"date:")]
                for reply in replies
            ]
            assert told[0] == told[1]
            assert b"evil" not in replies[1]
