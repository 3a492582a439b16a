"""What every request passes on its way in, and every reply on its way out; and errors in words.

Turned away are bodies that are too large or come too slowly, and secrets in addresses, where logs keep them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

import anyio
import anyio.to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from freegap.errors import BudgetExceeded, FreegapError, InvalidArgument, LedgerError
from freegap.serve.database import PeopleUnavailable
from freegap.serve.desk import Desk, Forbidden, NotThere
from freegap.serve.keys import HEADER
from freegap.serve.pace import TooMany
from freegap.serve.people import Person
from freegap.serve.plans import ALL_FIELDS

_LARGEST_BODY = 64 * 1024
_DIGITS = 20
_SLOWEST_BODY = 20
"""Seconds that a body may take. What a reverse proxy holds back does not count here."""

_TOO_LARGE = "The question is too large."
UNFORESEEN = "The service has failed."
_FAILED = "The question could not be answered. What it was charged, if anything, shows in what is left."
_OUTCOMES = {"released": 200, "planned": 200, "refused": 422, "spent": 409, "failed": 503}
_OUTCOMES |= {"unfinished": 409, "unanswered": 410}
_OWN_TOKEN = re.compile(rb"freegap_[0-9]+_[0-9a-f]{16}")
_IN_THE_URL = {b"token", b"access_token", b"id_token", b"authorization", b"api_key"}
_STATUS: dict[type[FreegapError], int] = {
    InvalidArgument: 422,
    BudgetExceeded: 409,
    Forbidden: 403,
    NotThere: 404,
    TooMany: 429,
}
_THEIRS = ("question", *ALL_FIELDS, HEADER, "name", "role", "days", "number")
"""Arguments of requests. Of others the library speaks to the owner: of files, for one."""

Reply = TypeVar("Reply")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class NotKnown(Exception):
    """No token, or none that is known."""


def known_by(desk: Desk, authorization: str) -> Person:
    """Who asks, by the token in the header; everybody else is turned away, and who asks too often."""
    found = recognised(desk, authorization)
    desk.require_pace(found)
    return found


def recognised(desk: Desk, authorization: str) -> Person:
    """The same for a request that was counted already."""
    scheme, _, token = authorization.partition(" ")
    found = desk.known(token) if scheme.lower() == "bearer" else None
    if found is None:
        raise NotKnown
    return found


def told(error: FreegapError) -> tuple[str, int]:
    """What is said of an error, with its status: the same in HTTP, in the console and to an assistant.

    >>> told(InvalidArgument("k", 0, "must be at least 1", "Pass k=1."))
    ('k = 0: must be at least 1. Pass k=1.', 422)
    >>> told(InvalidArgument("path", "/home/olga", "cannot be read", "Mend it."))
    ('The service cannot do that now. Try again later.', 503)
    """
    theirs = not isinstance(error, InvalidArgument) or error.argument in _THEIRS
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), None)
    if status is not None and theirs:
        return str(error), status
    unavailable = isinstance(error, LedgerError | PeopleUnavailable | InvalidArgument)
    return "The service cannot do that now. Try again later.", 503 if unavailable else 500


def outcome_told(found: Mapping[str, Any]) -> tuple[str, int]:
    """What is said of a question's outcome, with its status; nothing of one that has an answer.

    >>> outcome_told({"status": "spent", "error": "Too little is left."})
    ('Too little is left.', 409)
    """
    status = _OUTCOMES[found["status"]]
    return "" if status == 200 else found.get("error", _FAILED), status


async def padded(pad_to: float, work: Callable[..., Reply], *arguments: Any) -> Reply:
    """What a thread returns, no sooner than after so many seconds."""
    start = time.monotonic()
    found = await anyio.to_thread.run_sync(work, *arguments)
    await anyio.sleep(max(0.0, start + pad_to - time.monotonic()))
    return found


def error_reply(text: str, status: int) -> JSONResponse:
    """Every error as {"error": text}."""
    return JSONResponse({"error": text}, status)


def explain(app: FastAPI, who: Callable[[Request], object]) -> None:
    """Every error in words that say nothing of the data and nothing of the machine.

    who: raises `NotKnown` where a request to the API has no good token. What nobody could read is refused
    before the token is looked at, so it is looked at here: whoever has none learns only that.
    """

    @app.exception_handler(NotKnown)
    def not_known(_request: Request, _error: Exception) -> Response:
        answer = error_reply("A valid token is needed: Authorization: Bearer …", 401)
        answer.headers["www-authenticate"] = "Bearer"
        return answer

    @app.exception_handler(RequestValidationError)
    def not_read(request: Request, error: RequestValidationError) -> Response:
        if request.url.path.startswith("/v1/"):
            try:
                who(request)
            except NotKnown as unknown:
                return not_known(request, unknown)
        fields = sorted({".".join(str(part) for part in found["loc"][:2]) for found in error.errors()})
        return error_reply(f"This cannot be read: {', '.join(fields)[:200]}.", 422)

    @app.exception_handler(HTTPException)
    def not_served(_request: Request, error: HTTPException) -> Response:
        return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)

    @app.exception_handler(FreegapError)
    def refused(_request: Request, error: FreegapError) -> Response:
        return error_reply(*told(error))

    @app.exception_handler(Exception)
    def failed(_request: Request, _error: Exception) -> Response:
        return error_reply(UNFORESEEN, 500)


class Door:
    """The middleware. https: every request has come by it, whatever the last part of the way was."""

    def __init__(self, app: Any, *, https: bool = False) -> None:
        self._app = app
        self._https = https

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._https:
            scope["scheme"] = "https"
        if _secret_in(scope.get("raw_path", b""), scope["query_string"]):
            text = "A token does not belong into an address. Send it as a header, and make a new one."
            await error_reply(text, 400)(scope, receive, send)
            return
        if unclear := _unclear(scope["headers"]):
            await error_reply(unclear, 400)(scope, receive, _closing(send))
            return
        if _announced(scope["headers"]) > _LARGEST_BODY:
            await error_reply(_TOO_LARGE, 413)(scope, receive, _closing(send))  # before a byte of it is taken
            return
        taken = bytearray()
        try:
            with anyio.fail_after(_SLOWEST_BODY):
                if not await _whole(receive, taken):
                    return
        except TimeoutError:
            await error_reply("The question came too slowly.", 408)(scope, receive, _closing(send))
            return
        if len(taken) > _LARGEST_BODY:
            await error_reply(_TOO_LARGE, 413)(scope, receive, _closing(send))
            return
        handed = False

        async def once() -> MutableMapping[str, Any]:
            nonlocal handed
            if handed:
                return await receive()
            handed = True
            return {"type": "http.request", "body": bytes(taken), "more_body": False}

        await self._app(scope, once, _with_headers(send))


def _secret_in(path: bytes, query: bytes) -> bool:
    """Whether an address has a token in it, or what is called one, whichever way it is written."""
    names = {unquote_to_bytes(part.partition(b"=")[0]).lower() for part in query.split(b"&")}
    return bool(names & _IN_THE_URL) or _OWN_TOKEN.search(unquote_to_bytes(path + b"?" + query)) is not None


def _unclear(headers: Sequence[tuple[bytes, bytes]]) -> str | None:
    """What a proxy could read otherwise: then one request may hide in another."""
    lengths = [value for name, value in headers if name == b"content-length"]
    names = [name for name, _ in headers]
    if lengths and b"transfer-encoding" in names:
        return "A request has a length or comes in chunks, and not both."
    if len(lengths) > 1 or not all(value.isdigit() and len(value) <= _DIGITS for value in lengths):
        return "A request has one length, in digits."
    if names.count(b"authorization") > 1:
        return "A request is by one person."
    if names.count(HEADER.lower().encode()) > 1:
        return f"A question has one {HEADER}."
    return None


def _announced(headers: Sequence[tuple[bytes, bytes]]) -> int:
    """The length that a request says it has; 0 where it says none."""
    return next((int(value) for name, value in headers if name == b"content-length"), 0)


def _closing(send: Send) -> Send:
    """Whatever follows on this connection is not looked at."""

    async def closing(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
        await send(message)

    return closing


async def _whole(receive: Receive, taken: bytearray) -> bool:
    """Take the body, or as much of it as shows that it is too large; False where the client has gone."""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return False
        taken += message.get("body", b"")
        if len(taken) > _LARGEST_BODY or not message.get("more_body", False):
            return True


def _with_headers(send: Send) -> Send:
    usual = {
        b"cache-control": b"no-store",
        b"x-content-type-options": b"nosniff",
        b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
        b"referrer-policy": b"no-referrer",
    }

    async def with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = [(name.lower(), value) for name, value in message.get("headers", ())]
            said = {name for name, _ in own}
            message["headers"] = [*own, *(pair for pair in usual.items() if pair[0] not in said)]
        await send(message)

    return with_headers
