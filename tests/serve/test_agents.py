"""Assistants, by a real client of the protocol: over standard input and output, and over HTTP."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from collections.abc import Awaitable, Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver.exceptions import ToolError
from typer.testing import CliRunner

import freegap as fg
from freegap.cli import app as command_line
from freegap.errors import InvalidArgument
from freegap.serve.agents import AtService, make_agent_app
from freegap.serve.people import Person
from freegap.values.results import NOT_PRIVATE
from tests.serve.conftest import QUESTION, Service, call
from tests.serve.running import listening, running
from tests.serve.visitors import Visitor

TOOLS = {"list_sources", "plan", "ask", "list_releases", "get_release", "get_receipt"}
ODD: list[dict[str, Any]] = [{"k": True}, {"k": "1"}, {"epsilon": True}, {"measure": "yes"}, {"measure": 1}]
"""What a lenient reader would take for a question, and charge."""


class KeptBits(fg.SeededBits):
    """Taken for private: else the ledger keeps no release, and the console has none to show."""

    private = True


@pytest.fixture
def kept(serving: Callable[..., Service]) -> Service:
    return serving(lambda: KeptBits(1))


Told = tuple[bool, Any]


async def use(client: Client, tool: str, **arguments: Any) -> Told:
    """Whether the tool refused, and what it said."""
    found = await client.call_tool(tool, arguments)
    said = found.structured_content
    return bool(found.is_error), said if said is not None else found.content[0].text  # type: ignore[union-attr]


async def whole_way(client: Client) -> list[Told]:
    """What an assistant does, from looking around to a quota that is spent."""
    listed = await client.list_tools()
    assert {tool.name for tool in listed.tools} == TOOLS
    told = [
        await use(client, "list_sources"),
        await use(client, "plan", **QUESTION, largest=900),
        await use(client, "ask", **QUESTION, idempotency_key="first-question"),
    ]
    line = told[-1][1]["line"]
    assert await use(client, "ask", **QUESTION, idempotency_key="first-question") == told[-1]
    return [
        *told,
        await use(client, "list_releases"),
        await use(client, "get_release", line=line),
        await use(client, "get_receipt", line=line),
        await use(client, "ask", **(QUESTION | {"item": "customer"})),
        await use(client, "ask", **(QUESTION | {"k": 0})),
        await use(client, "get_release", line=1),
        await use(client, "ask", **(QUESTION | {"bits": "mine"})),
        *[await use(client, "ask", **(QUESTION | odd)) for odd in ODD],
        await use(client, "ask", **(QUESTION | {"epsilon": 1})),
        await use(client, "ask", **QUESTION),
    ]


def check(told: list[Told]) -> dict[str, Any]:
    """What came of it, and that nothing private or of the machine did."""
    sources, planned, asked, releases, again, receipt, *refused = [said for _, said in told]
    assert [error for error, _ in told] == [False] * 6 + [True] * (4 + len(ODD)) + [False, True]
    assert [source["name"] for source in sources["sources"]] == ["shop"]
    assert "is enough" in planned["answer"] or "At ε" in planned["answer"]
    assert asked["release"] == again
    assert releases["releases"][0]["charged"] == "1/2"
    assert receipt["receipt"]["dataset"] == "shop"
    assert "may be asked for" in refused[0]
    assert "'bits' is not an argument of ask" in refused[3]
    assert "a total does not grow" in refused[-1]
    for text in ("SECRET", "baskets", "ledger.db", "Traceback"):
        assert text not in json.dumps(told)
    release: dict[str, Any] = asked["release"]
    return release


def test_over_standard_input_and_output(kept: Service) -> None:
    token = kept.token("ann")

    async def talk(url: str) -> list[Told]:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "freegap", "mcp", "--url", url],
            env={"FREEGAP_TOKEN": token, "PYTHONPATH": ":".join(sys.path)},
        )
        async with Client(stdio_client(server)) as client:
            return await whole_way(client)

    with listening(kept.app) as url:
        check(anyio.run(talk, url))


def test_where_no_answer_came_the_key_to_ask_again_is_told(kept: Service) -> None:
    """The service has answered, and the reply is lost on its way."""

    async def half_a_reply(scope: Any, receive: Any, send: Any) -> None:
        async def start_only(message: Any) -> None:
            if message["type"] != "http.response.start":
                message = {"type": "http.response.body", "body": message["body"][:9]}
            await send(message)

        await kept.app(scope, receive, start_only)

    verbs = kept.token("ann")
    with listening(half_a_reply) as url, pytest.raises(ToolError, match="may have been paid for") as lost:
        AtService(url, verbs).ask(dict(QUESTION))
    found = re.search(r'idempotency_key="([0-9a-f]{64})"', str(lost.value))
    assert found is not None
    with listening(kept.app) as url:
        again = AtService(url, verbs).ask(dict(QUESTION), found[1])
    assert again["line"] == 7
    assert (
        fg.Ledger(kept.settings.ledger).account("shop").spent
        == fg.Ledger(kept.settings.ledger).account("shop / ann").spent
        == Fraction(1, 2)
    )


def test_the_command_over_http(kept: Service) -> None:
    """With a process of its own, in the same folder: the same tokens, the same ledger, a real question."""
    token = kept.token("ann")
    config = ["--config", str(kept.folder / "freegap.toml")]
    with running("mcp", "--http", *config, "--port", "0") as (url, _):
        told = anyio.run(talk_at, f"{url}/mcp", token, whole_way)
    release = check(told)
    assert release["private"]
    assert kept.desk.releases(Person("ann", "analyst"))[0]["who"] == "ann"


def test_a_port_that_is_taken_is_said(kept: Service) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for words in (["mcp", "--http", "--config", str(kept.folder / "freegap.toml")], ["serve", "demo"]):
            done = CliRunner().invoke(command_line, [*words, "--port", port])
            assert isinstance(done.exception, InvalidArgument)
            assert done.exception.argument == "port"


def test_the_configuration_in_the_guide_is_one_that_works(kept: Service) -> None:
    """The first block of JSON there, with this service and this token in it, as a client would start it."""
    page = Path(__file__).parents[2] / "docs" / "mcp.md"
    block = re.search(r"```json\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    told = json.loads(block[1])["mcpServers"]["freegap"]
    assert told["command"] == "freegap"
    assert list(told["env"]) == ["FREEGAP_TOKEN"]

    async def talk(url: str) -> set[str]:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "freegap", *(url if word.startswith("https://") else word for word in told["args"])],
            env={"FREEGAP_TOKEN": kept.token("ann"), "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        async with Client(stdio_client(server)) as client:
            refused, said = await use(client, "list_sources")
            assert not refused, said
            return {tool.name for tool in (await client.list_tools()).tools}

    with listening(kept.app) as url:
        assert anyio.run(talk, url) == TOOLS
    assert all(f"`{tool}`" in page.read_text(encoding="utf-8") for tool in TOOLS)


async def talk_at(address: str, token: str, work: Callable[[Client], Awaitable[Any]]) -> Any:
    headers = {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as web,
        Client(streamable_http_client(address, http_client=web)) as client,
    ):
        return await work(client)


def over_http(service: Service, token: str, work: Callable[[Client], Awaitable[Any]]) -> Any:
    with listening(make_agent_app(service.desk)) as url:
        return anyio.run(talk_at, f"{url}/mcp", token, work)


def test_the_release_is_the_same_through_every_door(kept: Service) -> None:
    """HTTP, an assistant, the console, the command line and Python: one release on the same bits."""
    ann, table = kept.token("ann"), kept.folder / "baskets.parquet"
    asked = {"item": "product", "person": "customer", "k": 1, "epsilon": "1/2"}
    made = fg.top_k(table, **asked, domain=["tea", "milk", "rice"], bits=KeptBits(1))  # type: ignore[arg-type]
    visitor = Visitor(kept)
    visitor.sign_in(kept.token("olga", "owner"))
    visitor.plan()
    where = visitor.ask().headers["location"].removeprefix("/console")
    options = ["--item", "product", "--person", "customer", "-k", "1", "--epsilon", "1/2", "--seed", "1"]
    domain = ["--domain", str(kept.folder / "products.csv"), "--json"]
    typed = CliRunner().invoke(command_line, ["top-k", str(table), *options, *domain])
    releases = {
        "python": json.loads(made.to_json()),
        "http": kept.ask(kept.token("bob")).json["release"],
        "assistant": check(over_http(kept, ann, whole_way)),
        "console": json.loads(visitor.get(f"{where}.json").body),
        "command line": json.loads(typed.stdout) | {"private": True},
    }
    assert releases["command line"]["table"]["notes"].pop() == NOT_PRIVATE
    for door, release in releases.items():
        assert release == releases["python"], door


def test_whoever_has_no_good_token_is_not_let_in(service: Service) -> None:
    revoked = service.token("ann")
    service.people.revoke(1)
    app = make_agent_app(service.desk)
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    for token in (None, "", revoked, "freegap_1_" + "0" * 64):
        reply = call(app, "POST", "/mcp", body=hello, token=token)
        assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
    assert call(app, "POST", "/mcp", query=b"token=x", token=revoked).status == 400
    assert call(app, "POST", "/mcp", body=b"x" * 70_000, token=revoked).status == 413
    with listening(service.app) as url:
        for at, said in (
            (url, "A valid token is needed"),
            (f"{url}/console", "service answers 404"),
            ("http://127.0.0.1:1", "cannot be reached"),
        ):
            with pytest.raises(ToolError, match=said):
                AtService(at, revoked).sources()
    for wrong in ("file:///etc/passwd", "data.example"):
        with pytest.raises(InvalidArgument, match="must begin with http"):
            AtService(wrong, "x")
    with pytest.raises(InvalidArgument, match="must be https:// for another machine"):
        AtService("http://data.example", "x")
    assert AtService("https://data.example", "x").pad_to == 0


def test_nobody_holds_a_connection_on_which_nothing_comes(service: Service) -> None:
    reply = call(make_agent_app(service.desk), "GET", "/mcp", token=service.token("ann"))
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


def test_an_auditor_s_assistant_looks_on(service: Service) -> None:
    async def work(client: Client) -> list[Told]:
        return [await use(client, "list_sources"), await use(client, "ask", **QUESTION)]

    (_, sources), (refused, said) = over_http(service, service.token("ada", "auditor"), work)
    assert len(sources["sources"]) == 2
    assert (refused, "asks nothing" in said) == (True, True)


def test_only_requests_to_this_host_are_heard(service: Service) -> None:
    """A page of another site that calls this machine by its own name gets nothing, even with a token."""
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    token = service.token("ann")
    sent = {"accept": "application/json, text/event-stream"}
    for names, headers, status in (
        ((), {"host": "127.0.0.1:8766"}, 200),
        ((), {"host": "localhost"}, 200),
        ((), {"host": "evil.example"}, 421),
        ((), {"host": "data.example"}, 421),
        (("data.example",), {"host": "data.example"}, 200),
        (("data.example",), {"host": "data.example:8443"}, 200),
        (("data.example",), {"host": "data.example.evil.example"}, 421),
        (("data.example",), {"host": "data.example", "origin": "https://data.example"}, 200),
        (("data.example",), {"host": "data.example", "origin": "https://evil.example"}, 403),
        (("data.example",), {"host": "data.example", "origin": "null"}, 403),
    ):
        with listening(make_agent_app(service.desk, names=names)) as url:
            reply = httpx2.post(
                f"{url}/mcp",
                content=hello,
                headers={
                    **sent,
                    **headers,
                    "authorization": f"Bearer {token}",
                    "content-type": "application/json",
                },
            )
        assert reply.status_code == status, (names, headers, reply.text)
    for wrong in ("https://data.example", "data.example/mcp", "", "*"):
        with pytest.raises(InvalidArgument, match="must be a host"):
            make_agent_app(service.desk, names=[wrong])


def test_whoever_asks_too_often_is_told(folder: Path, serving: Callable[..., Service]) -> None:
    text = (folder / "freegap.toml").read_text()
    (folder / "freegap.toml").write_text(text + "[limits]\nquestions_per_minute = 2\n")
    service = serving()

    async def work(client: Client) -> list[Told]:
        return [await use(client, "ask", **(QUESTION | {"epsilon": "1/10"})) for _ in range(6)]

    told = over_http(service, service.token("ann"), work)
    refused = [said for error, said in told if error]
    assert len(refused) >= 2, "six questions are in two minutes at most"
    assert all("as often as one may" in said for said in refused)
    assert len(service.desk.releases(Person("ann", "analyst"))) == 6 - len(refused)


def test_a_request_is_counted_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    sent: list[str] = []
    monkeypatch.setattr(type(service.desk), "require_pace", lambda _self, person: counted.append(person.name))
    app = make_agent_app(service.desk)

    async def noted(scope: Any, receive: Any, send: Any) -> None:
        sent.extend(["ann"] if scope["type"] == "http" else [])
        await app(scope, receive, send)

    async def work(client: Client) -> list[Told]:
        return [await use(client, "list_sources") for _ in range(2)]

    monkeypatch.setattr("tests.serve.test_agents.make_agent_app", lambda _desk: noted)
    assert [error for error, _ in over_http(service, service.token("ann"), work)] == [False, False]
    assert counted == sent
