"""The verbs of the service for assistants: a server of the Model Context Protocol (MCP).

An assistant lists, plans, asks and looks again, in the name of whoever gave it a token: within their quota,
and no further. There is no verb that reads a row, a path or a setting.

Over HTTP the token comes with each request. Over standard input and output the server runs beside the
assistant, where no data should be: it hands every verb to a service at an address, with the token of its
environment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Literal, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, build_opener

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import StrictBool, StrictFloat, StrictInt, StrictStr
from starlette.applications import Starlette

import freegap
from freegap.errors import FreegapError, InvalidArgument, printable
from freegap.serve.desk import Desk
from freegap.serve.door import Door, NotKnown, error_reply, known_by, outcome_told, padded, recognised, told
from freegap.serve.keys import HEADER, key_argument
from freegap.serve.people import Person, new_number
from freegap.serve.redirects import NoRedirects

_INSTRUCTIONS = (
    "Differentially private statistics about people. You never see rows, only releases, and every release "
    "costs privacy budget (epsilon) that does not come back. List the sources first, plan (free) before you "
    "ask, ask for no more than is needed, and look at earlier releases before asking again: they are free."
)
_HERE = ("127.0.0.1", "localhost", "[::1]")
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]+\]")
_LONGEST_WAIT = 900  # seconds; the service itself ends a question sooner
_WHO = "A valid token is needed: Authorization: Bearer …"

Amount = StrictStr | StrictInt | StrictFloat
Whole = StrictInt  # true is no number of items, and would be paid for
Said = StrictBool


class AgentVerbs(Protocol):
    """What an assistant can do, in somebody's name."""

    @property
    def pad_to(self) -> float:
        """Seconds before which no question is answered."""

    def sources(self) -> Any:
        """What may be asked, and what is left."""

    def plan(self, asked: dict[str, Any]) -> Any:
        """What a question would cost and say."""

    def ask(self, asked: dict[str, Any], key: str | None = None) -> Any:
        """Ask, and pay: once for a key."""

    def releases(self) -> Any:
        """What was asked before."""

    def release(self, line: int) -> Any:
        """A release again."""

    def receipt(self, line: int) -> Any:
        """Its receipt."""


@dataclass(frozen=True)
class AtDesk:
    """The verbs at a desk of this process."""

    desk: Desk
    person: Person

    @property
    def pad_to(self) -> float:
        """Of the settings."""
        return self.desk.settings.limits.pad_to

    def sources(self) -> Any:
        """What may be asked, and what is left."""
        return self.desk.sources(self.person)

    def plan(self, asked: dict[str, Any]) -> Any:
        """What a question would cost and say."""
        return _answer(self.desk.plan(self.person, asked))

    def ask(self, asked: dict[str, Any], key: str | None = None) -> Any:
        """Ask, and pay: once for a key."""
        return _answer(self.desk.ask(self.person, asked, key))

    def releases(self) -> Any:
        """What was asked before."""
        return self.desk.releases(self.person)

    def release(self, line: int) -> Any:
        """A release again."""
        return self.desk.release(self.person, line)

    def receipt(self, line: int) -> Any:
        """Its receipt."""
        return json.loads(self.desk.receipt(self.person, line))


def _answer(found: dict[str, Any]) -> dict[str, Any]:
    text, status = outcome_told(found)
    if status != 200:
        raise ToolError(text)
    return found


@dataclass(frozen=True)
class AtService:
    """The verbs of a service at an address, which answers no sooner than it wants to."""

    url: str
    token: str
    pad_to: float = 0

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise InvalidArgument("url", self.url, "must begin with http:// or https://", "Name the service.")
        if self.url.startswith("http://") and urlsplit(self.url).hostname not in (
            "127.0.0.1",
            "localhost",
            "::1",
        ):
            raise InvalidArgument(
                "url", self.url, "must be https:// for another machine: a token is sent", "Put TLS before it."
            )

    def sources(self) -> Any:
        """What may be asked, and what is left."""
        return self._call("sources")

    def plan(self, asked: dict[str, Any]) -> Any:
        """What a question would cost and say."""
        return self._call("plans", asked)

    def ask(self, asked: dict[str, Any], key: str | None = None) -> Any:
        """Ask, and pay: once for a key, which is made where none is given."""
        sent = new_number() if key is None else key_argument(key)
        try:
            return self._call("releases", asked, {HEADER: sent})
        except _NoReply:
            raise ToolError(
                f"There is no answer, and the question may have been paid for. Ask it again with "
                f'idempotency_key="{sent}": then it is not paid twice.'
            ) from None

    def releases(self) -> Any:
        """What was asked before."""
        return self._call("releases")

    def release(self, line: int) -> Any:
        """A release again."""
        return self._call(f"releases/{line:d}")

    def receipt(self, line: int) -> Any:
        """Its receipt."""
        return self._call(f"receipts/{line:d}")

    def _call(
        self, verb: str, asked: dict[str, Any] | None = None, more: Mapping[str, str] | None = None
    ) -> Any:
        headers = {
            "authorization": f"Bearer {self.token}",
            "content-type": "application/json",
            **(more or {}),
        }
        body = None if asked is None else json.dumps(asked).encode()
        request = Request(f"{self.url.rstrip('/')}/v1/{verb}", body, headers)  # noqa: S310
        try:
            with build_opener(NoRedirects).open(request, timeout=_LONGEST_WAIT) as reply:
                return json.load(reply)
        except HTTPError as error:
            raise ToolError(_error_of(error)) from None
        except (URLError, HTTPException, OSError, ValueError):
            raise _NoReply("The service cannot be reached.") from None


class _NoReply(ToolError):
    """Nobody knows what became of a request."""


def _error_of(error: HTTPError) -> str:
    try:
        return str(json.load(error)["error"])
    except (ValueError, KeyError, TypeError):
        return f"The service answers {error.code}."


def make_agent_server(verbs_of: Callable[[Mapping[str, str] | None], AgentVerbs]) -> MCPServer[Any]:
    """The server; verbs_of: in whose name, by the headers of a request, which there are over HTTP only."""
    server: MCPServer[Any] = MCPServer(
        "freegap",
        title="freegap",
        instructions=_INSTRUCTIONS,
        version=freegap.__version__,
        log_level="WARNING",
        subscriptions=False,
    )
    looks = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    spends = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)

    async def called(context: Context[Any, Any], verb: str, *arguments: Any, paid: bool = False) -> Any:
        await _require_known(server, context)
        try:
            verbs = await padded(0, verbs_of, context.headers)  # it asks a database, and others are served
            return await padded(verbs.pad_to if paid else 0, getattr(verbs, verb), *arguments)
        except NotKnown:
            raise ToolError(_WHO) from None
        except FreegapError as error:
            raise ToolError(told(error)[0]) from None

    @server.tool(annotations=looks)
    async def list_sources(context: Context[Any, Any]) -> dict[str, Any]:
        """List the sources that may be asked about: their columns, the smallest and largest epsilon of a
        question, and what is left of every account that pays. Free."""
        return {"sources": await called(context, "sources")}

    @server.tool(annotations=looks)
    async def plan(
        context: Context[Any, Any],
        source: str,
        mechanism: Literal["top_k", "above"],
        item: str,
        k: Whole,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        group: str | None = None,
        threshold: Amount | None = None,
        measure: Said | None = None,
        largest: Amount | None = None,
        exponent: Amount | None = None,
        earlier_line: Whole | None = None,
        target: Amount | None = None,
    ) -> dict[str, Any]:
        """Say what a question would cost and how exact it would be, without asking it. Free: no data are
        looked at. Assume `largest` (people at the first item; public knowledge or a guess) or an earlier
        release (`earlier_line`) to learn how likely the answer is right; leave epsilon out to have the least
        one found for which it is right with probability `target` (0.95)."""
        assumed = {"largest": largest, "exponent": exponent, "line": earlier_line}
        asked = _given(
            source=source, mechanism=mechanism, item=item, k=k, epsilon=epsilon, rho=rho, group=group,
            threshold=threshold, measure=measure, target=target, assume=_given(**assumed) or None,
        )  # fmt: skip
        return dict(await called(context, "plan", asked))

    @server.tool(annotations=spends)
    async def ask(
        context: Context[Any, Any],
        source: str,
        mechanism: Literal["top_k", "above"],
        item: str,
        k: Whole,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        group: str | None = None,
        threshold: Amount | None = None,
        measure: Said | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Ask a question and pay for it: epsilon (or rho, where the source has it) is spent for good.
        `top_k` releases the k items of a column that most people have, with gaps, and with `measure` also
        estimates; `above` the items that more people have than `threshold`. Send a random `idempotency_key`,
        and the same one when you repeat a question to which no answer came: then it is not paid twice."""
        asked = _given(
            source=source, mechanism=mechanism, item=item, k=k, epsilon=epsilon, rho=rho, group=group,
            threshold=threshold, measure=measure,
        )  # fmt: skip
        return dict(await called(context, "ask", asked, idempotency_key, paid=True))

    @server.tool(annotations=looks)
    async def list_releases(context: Context[Any, Any]) -> dict[str, Any]:
        """List what was asked before and what it cost, with the line of each in the ledger. Free."""
        return {"releases": await called(context, "releases")}

    @server.tool(annotations=looks)
    async def get_release(context: Context[Any, Any], line: Whole) -> dict[str, Any]:
        """Look at an earlier release again, by its line. Free."""
        return dict(await called(context, "release", line))

    @server.tool(annotations=looks)
    async def get_receipt(context: Context[Any, Any], line: Whole) -> dict[str, Any]:
        """The signed receipt of a release, by its line: what was asked, its cost, what it protects. Free."""
        return dict(await called(context, "receipt", line))

    return server


async def _require_known(server: MCPServer[Any], context: Context[Any, Any]) -> None:
    """Refuse arguments that a tool does not have: who asks would think that they were heeded."""
    sent = context.request_context.params or {}
    known = {tool.name: tool.input_schema["properties"] for tool in await server.list_tools()}
    for name in sent.get("arguments") or {}:
        if name not in known[sent["name"]]:
            raise ToolError(printable(f"{name[:40]!r} is not an argument of {sent['name']}."))


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def make_agent_app(desk: Desk, *, names: Sequence[str] = ()) -> Any:
    """The server over HTTP, at /mcp, for whatever runs ASGI. names: of this host, as requests may call it."""

    def verbs_of(headers: Mapping[str, str] | None) -> AgentVerbs:
        return AtDesk(desk, recognised(desk, (headers or {}).get("authorization", "")))

    served = make_agent_server(verbs_of).streamable_http_app(
        stateless_http=True, json_response=True, transport_security=_called(names)
    )
    return Door(_Recognised(served, desk))


def _called(names: Sequence[str]) -> TransportSecuritySettings:
    """Requests to this machine or to one of these names, and from no page of another site."""
    for name in names:
        if _HOST.fullmatch(name) is None:
            raise InvalidArgument(
                "name", name, "must be a host such as data.example.org", "Leave the rest out."
            )
    hosts = [place for name in (*_HERE, *names) for place in (name, f"{name}:*")]
    origins = [f"{scheme}://{place}" for scheme in ("http", "https") for place in hosts]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


class _Recognised:
    """Lets in whoever has a good token, before anything of theirs is read."""

    def __init__(self, app: Starlette, desk: Desk) -> None:
        self._app = app
        self._desk = desk

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            try:
                await padded(0, known_by, self._desk, headers.get(b"authorization", b"").decode("latin-1"))
            except NotKnown:
                answer = error_reply(_WHO, 401)
                answer.headers["www-authenticate"] = "Bearer"
                await answer(scope, receive, send)
                return
            except FreegapError as error:
                await error_reply(*told(error))(scope, receive, send)
                return
            if scope["method"] == "GET" and scope["path"] == "/mcp":
                # For a stream on which nothing would ever come: it would only hold a connection.
                answer = error_reply("Send it by POST.", 405)
                answer.headers["allow"] = "POST"
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)
