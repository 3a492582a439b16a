"""Bytes on a socket: what a client, a proxy or somebody in between could send."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import freegap as fg
from freegap.serve import door
from freegap.serve.listen import server
from tests.serve.conftest import QUESTION, Service


@contextmanager
def listening(service: Service) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    serving = server(service.app, host="127.0.0.1", port=port)
    thread = threading.Thread(target=serving.run, daemon=True)
    thread.start()
    while not serving.started:
        time.sleep(0.01)
    yield port
    serving.should_exit = True
    thread.join()


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
