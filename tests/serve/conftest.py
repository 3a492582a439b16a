from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fastapi import FastAPI

from freegap import SeededBits
from freegap.serve.app import make_app
from freegap.serve.desk import Desk
from freegap.serve.people import People
from freegap.serve.settings import QuestionLimits, Settings, read_settings
from freegap.serve.work import Asking
from freegap.serve.workers import ServiceTask, Ticket, WorkerProcesses

SETTINGS = """
ledger = "sqlite:///ledger.db"
people = "sqlite:///people.db"

[teams]
red = ["ann", "bob"]

[sources.shop]
table = "baskets.parquet"
person = "customer"
budget = { epsilon = "5" }
epsilon = ["1/100", "1"]
[sources.shop.items]
product = "products.csv"
city = ["Rome", "Oslo", "Lima"]
[sources.shop.quotas.team]
red = { epsilon = "2" }
[sources.shop.quotas.person]
ann = { epsilon = "3/2" }
olga = { epsilon = "1" }

[sources.clinic]
table = "SECRET-clinic.csv"
person = "patient"
budget = { epsilon = "1" }
mechanisms = ["top_k"]
[sources.clinic.items]
diagnosis = ["flu", "cold", "gout"]
[sources.clinic.quotas.person]
carl = { epsilon = "1" }
"""
QUESTION: dict[str, Any] = {
    "source": "shop",
    "mechanism": "top_k",
    "item": "product",
    "k": 1,
    "epsilon": "1/2",
}


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def call(
    app: FastAPI,
    method: str,
    path: str,
    *,
    token: str | None = None,
    body: bytes = b"",
    query: bytes = b"",
    headers: dict[str, str] | None = None,
    scheme: str = "http",
) -> Reply:
    """One request to an application, without a socket."""
    sent = {"content-type": "application/json", **(headers or {})}
    if token is not None:
        sent["authorization"] = f"Bearer {token}"
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": scheme,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    messages: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        messages.append(message)

    try:
        asyncio.run(app(scope, receive, send))
    except Exception:  # raised once more for the server's log, after the reply
        if not messages:
            raise
    start = messages[0]
    named: dict[str, str] = {}
    for name, value in start["headers"]:  # several cookies stand one below the other
        before = f"{named[name.decode()]}\n" if name == b"set-cookie" and "set-cookie" in named else ""
        named[name.decode()] = before + value.decode()
    return Reply(start["status"], named, b"".join(message.get("body", b"") for message in messages[1:]))


class HereWorkers(WorkerProcesses):
    """Answers in this process; bits: those of the releases."""

    def __init__(self, limits: QuestionLimits, bits: Callable[[], Any] = lambda: None) -> None:
        super().__init__(limits)
        self._bits = bits

    def answer(self, task: ServiceTask, ticket: Ticket) -> dict[str, Any]:
        given = (self._bits(),) if isinstance(task, Asking) else ()
        found = task.outcome(*given, told=ticket.reserved)
        return json.loads(json.dumps(found, default=str))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Service:
    folder: Path
    settings: Settings
    people: People
    desk: Desk
    app: FastAPI

    def token(self, name: str, role: str = "analyst") -> str:
        return self.people.add(name, role, days=1)

    def ask(self, token: str | None, **changed: Any) -> Reply:
        body = json.dumps(QUESTION | changed).encode()
        return call(self.app, "POST", "/v1/releases", token=token, body=body)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    products = ["tea"] * 900 + ["milk"] * 600
    people = [*range(900), *range(600)]
    cities = ["Rome", "Oslo"] * 750
    table = pl.DataFrame({"product": products, "customer": people, "city": cities})
    table.write_parquet(tmp_path / "baskets.parquet")
    (tmp_path / "products.csv").write_text("product\ntea\nmilk\nrice\n")
    (tmp_path / "freegap.toml").write_text(SETTINGS)
    return tmp_path


@pytest.fixture
def serving(folder: Path) -> Callable[..., Service]:
    """The service with questions answered in this process; bits: those of the releases."""

    def make(bits: Callable[[], Any] = lambda: None, workers: type[HereWorkers] = HereWorkers) -> Service:
        settings = read_settings(folder / "freegap.toml")
        desk = Desk(settings, workers(settings.limits, bits))
        desk.open()
        return Service(folder, desk.settings, desk.people, desk, make_app(desk))

    return make


@pytest.fixture
def service(serving: Callable[..., Service]) -> Service:
    return serving()


@pytest.fixture
def seeded(serving: Callable[..., Service]) -> Service:
    return serving(lambda: SeededBits(1))
