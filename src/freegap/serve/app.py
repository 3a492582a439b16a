"""The verbs of the service over HTTP, with an OpenAPI description at /openapi.json.

FastAPI, since its models are pydantic's, which other tools here bring along, and since the description is
made from the same types that requests are read with. Its pages at /docs load scripts from elsewhere, and are
off.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Annotated, Any

import anyio.to_thread
from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

import freegap
from freegap.errors import BudgetExceeded, FreegapError, InvalidArgument, LedgerError
from freegap.serve.desk import Desk, Forbidden, NotThere, TooMany
from freegap.serve.people import People, PeopleUnavailable, Person
from freegap.serve.questions import FIELDS

_LARGEST_BODY = 64 * 1024
_IN_THE_URL = {b"token", b"access_token", b"authorization", b"api_key"}
_STATUS: dict[type[FreegapError], int] = {
    InvalidArgument: 422,
    BudgetExceeded: 409,
    Forbidden: 403,
    NotThere: 404,
    TooMany: 429,
}
_OUTCOMES = {"released": 200, "refused": 422, "spent": 409, "failed": 503}
_FAILED = "The question could not be answered. What it was charged, if anything, shows in what is left."

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class QuestionBody(BaseModel):
    """A question. Amounts are numbers, or exact texts such as "1/3"."""

    model_config = ConfigDict(extra="forbid", strict=True)

    source: str
    mechanism: str
    item: str
    k: int
    epsilon: str | int | float
    threshold: str | int | float | None = None
    measure: bool | None = None
    noise: str | None = None


class _NotKnown(Exception):
    """No token, or none that is known."""


def _person(request: Request) -> Person:
    """Who asks, by the token in the header."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    found: Person | None = request.app.state.people.known(token) if scheme.lower() == "bearer" else None
    if found is None:
        raise _NotKnown
    return found


Known = Annotated[Person, Depends(_person)]


def make_app(desk: Desk, people: People) -> FastAPI:
    """The application, for whatever runs ASGI."""
    app = FastAPI(
        title="freegap",
        version=freegap.__version__,
        description="Differentially private selection for a team.",
        docs_url=None,
        redoc_url=None,
    )

    app.state.people = people

    @app.get("/health")
    def health() -> dict[str, str]:
        """Whether the process answers. Nothing else is looked at."""
        return {"status": "ok"}

    @app.get("/v1/sources")
    def sources(who: Known) -> list[dict[str, Any]]:
        """What may be asked, and what is left."""
        return desk.sources(who)

    @app.post("/v1/releases")
    async def ask(who: Known, asked: QuestionBody) -> Response:
        """Ask a question, and pay for it."""
        start = time.monotonic()
        found = await anyio.to_thread.run_sync(desk.ask, who, asked.model_dump(exclude_none=True))
        if desk.settings.limits.pad_to:
            await anyio.sleep(max(0.0, start + desk.settings.limits.pad_to - time.monotonic()))
        status = _OUTCOMES[found["status"]]
        return _json({"error": found.get("error", _FAILED)} if status != 200 else found, status)

    @app.get("/v1/releases")
    def releases(who: Known) -> list[dict[str, Any]]:
        """What was asked before, and what it cost."""
        return desk.releases(who)

    @app.get("/v1/releases/{line}")
    def release(who: Known, line: int) -> dict[str, Any]:
        """A release again, for nothing."""
        return desk.release(who, line)

    @app.get("/v1/receipts/{line}")
    def receipt(who: Known, line: int) -> Response:
        """The signed receipt of a release."""
        return Response(desk.receipt(who, line), media_type="application/json")

    @app.get("/v1/journal")
    def journal(who: Known) -> list[dict[str, Any]]:
        """Every line of the ledger."""
        return desk.journal(who)

    @app.get("/v1/verification")
    def verification(who: Known) -> dict[str, Any]:
        """Read the whole journal again."""
        return desk.verification(who)

    _explain(app)
    app.add_middleware(_Door)
    return app


def _explain(app: FastAPI) -> None:
    """Every error as {"error": text}, in words that say nothing of the data and nothing of the machine."""

    @app.exception_handler(_NotKnown)
    def not_known(_request: Request, _error: Exception) -> Response:
        answer = _json({"error": "A valid token is needed: Authorization: Bearer …"}, 401)
        answer.headers["www-authenticate"] = "Bearer"
        return answer

    @app.exception_handler(RequestValidationError)
    def not_read(_request: Request, error: RequestValidationError) -> Response:
        fields = sorted({".".join(str(part) for part in found["loc"][:2]) for found in error.errors()})
        return _json({"error": f"This cannot be read: {', '.join(fields)[:200]}."}, 422)

    @app.exception_handler(HTTPException)
    def not_served(_request: Request, error: HTTPException) -> Response:
        return _json({"error": str(error.detail)}, error.status_code)

    @app.exception_handler(FreegapError)
    def refused(_request: Request, error: FreegapError) -> Response:
        # Of other arguments than those of the question the library speaks to the owner: of files, for one.
        theirs = not isinstance(error, InvalidArgument) or error.argument in ("question", *FIELDS)
        status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), None)
        if status is not None and theirs:
            return _json({"error": str(error)}, status)
        unavailable = isinstance(error, LedgerError | PeopleUnavailable | InvalidArgument)
        return _json(
            {"error": "The service cannot do that now. Try again later."}, 503 if unavailable else 500
        )

    @app.exception_handler(Exception)
    def failed(_request: Request, _error: Exception) -> Response:
        return _json({"error": "The service has failed."}, 500)


def _json(content: dict[str, Any], status: int) -> JSONResponse:
    return JSONResponse(content, status)


class _Door:
    """Turns away what is too large, and whoever puts a secret into an address, where logs keep it."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        names = {part.partition(b"=")[0].lower() for part in scope["query_string"].split(b"&")}
        if names & _IN_THE_URL:
            text = "A token does not belong into an address. Send it as a header, and make a new one."
            await _json({"error": text}, 400)(scope, receive, send)
            return
        taken = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return
            taken += message.get("body", b"")
            if len(taken) > _LARGEST_BODY:
                await _json({"error": "The question is too large."}, 413)(scope, receive, send)
                return
            if not message.get("more_body", False):
                break
        handed = False

        async def once() -> MutableMapping[str, Any]:
            nonlocal handed
            if handed:
                return await receive()
            handed = True
            return {"type": "http.request", "body": bytes(taken), "more_body": False}

        async def plain(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", ()),
                    (b"cache-control", b"no-store"),
                    (b"x-content-type-options", b"nosniff"),
                    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
                ]
            await send(message)

        await self._app(scope, once, plain)
