"""The verbs of the service over HTTP, with an OpenAPI description at /openapi.json.

FastAPI, since its models are pydantic's, which other tools here bring along, and since the description is
made from the same types that requests are read with. Its pages at /docs load scripts from elsewhere, and are
off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Header, Path, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import BaseModel, ConfigDict

import freegap
from freegap.serve.console.pages import make_console
from freegap.serve.desk import Desk
from freegap.serve.door import Door, error_reply, explain, known_by, outcome_told, padded
from freegap.serve.keys import HEADER
from freegap.serve.people import Person

_LARGEST_LINE = 2**63 - 1

Number = str | int | float


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ErrorBody(_Body):
    """Whatever was wrong, in words."""

    error: str


_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody} for status in (400, 401, 403, 404, 408, 409, 410, 413, 422, 429, 503)
}


class QuestionBody(_Body):
    """A question, in ε or in ρ. Amounts are numbers, or exact texts such as "1/3"."""

    source: str
    mechanism: str
    item: str
    k: int
    epsilon: Number | None = None
    rho: Number | None = None
    group: str | None = None
    threshold: Number | None = None
    measure: bool | None = None
    noise: str | None = None


class AssumptionBody(_Body):
    """What is assumed of the counts: a power law (`largest`, `exponent`), a list, or an earlier release."""

    largest: Number | None = None
    exponent: Number | None = None
    counts: list[Number] | None = None
    line: int | None = None
    items: int | None = None


class PlanBody(QuestionBody):
    """A question that is not asked yet. Without an amount, the least that is enough is looked for."""

    assume: AssumptionBody | None = None
    goal: str | None = None
    target: Number | None = None


class TokenBody(_Body):
    """A token to be made."""

    name: str
    role: Literal["owner", "analyst", "auditor"]
    days: int = 90


def _person(request: Request) -> Person:
    """Who asks, by the token in the header."""
    return known_by(request.app.state.desk, request.headers.get("authorization", ""))


Known = Annotated[Person, Depends(_person)]
Line = Annotated[int, Path(ge=1, le=_LARGEST_LINE)]
Key = Annotated[
    str | None,
    Header(
        alias=HEADER,
        description="Of the client's choice: a question that is sent again with it is paid once.",
    ),
]
JobName = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]


def make_app(desk: Desk) -> FastAPI:
    """The application, for whatever runs ASGI."""
    app = FastAPI(
        title="freegap",
        version=freegap.__version__,
        description="Differentially private selection for a team.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # the address would be made of the Host that the request names
        responses=_ERRORS,
    )
    app.state.desk = desk

    @app.get("/health")
    def health() -> dict[str, str]:
        """Whether the process answers. Nothing else is looked at."""
        return {"status": "ok"}

    _add_questions(app, desk)
    _add_results(app, desk)
    _add_oversight(app, desk)
    _add_console(app, desk)
    explain(app, _person)
    app.add_middleware(Door, https=desk.settings.https)
    return app


def _add_console(app: FastAPI, desk: Desk) -> None:
    @app.get("/", include_in_schema=False)
    @app.get("/console", include_in_schema=False)
    def front() -> Response:
        """To the console; relative, whatever the host is called."""
        return RedirectResponse("console/", 303)

    app.mount("/console", make_console(desk))


def _add_questions(app: FastAPI, desk: Desk) -> None:
    @app.get("/v1/me")
    def me(who: Known) -> dict[str, str]:
        """Whose token it is."""
        return {"name": who.name, "role": who.role}

    @app.get("/v1/sources")
    def sources(who: Known) -> list[dict[str, Any]]:
        """What may be asked, and what is left."""
        return desk.sources(who)

    @app.post("/v1/plans")
    async def plan(who: Known, asked: PlanBody) -> Response:
        """What a question would cost and say, and whether it would be right; nothing is charged."""
        return await _answer(lambda: desk.plan(who, asked.model_dump(exclude_none=True)), 0)

    @app.post("/v1/releases")
    async def ask(who: Known, asked: QuestionBody, key: Key = None) -> Response:
        """Ask a question, and pay for it."""
        return await _answer(
            lambda: desk.ask(who, asked.model_dump(exclude_none=True), key), desk.settings.limits.pad_to
        )

    @app.post("/v1/jobs", status_code=202)
    def start_job(who: Known, asked: QuestionBody, key: Key = None) -> dict[str, Any]:
        """Ask a question, pay for it, and have the answer later."""
        return desk.start_job(who, asked.model_dump(exclude_none=True), key)

    @app.get("/v1/jobs")
    def jobs(who: Known) -> list[dict[str, Any]]:
        """The jobs of the last days."""
        return desk.jobs(who)

    @app.get("/v1/jobs/{job}")
    def job(who: Known, job: JobName) -> dict[str, Any]:
        """How a job stands; its release, when there is one."""
        return desk.job(who, job)

    @app.delete("/v1/jobs/{job}")
    def cancel_job(who: Known, job: JobName) -> dict[str, Any]:
        """End a job. What it has reserved stays charged."""
        return desk.cancel_job(who, job)


async def _answer(work: Callable[[], dict[str, Any]], pad_to: float) -> Response:
    found = await padded(pad_to, work)
    text, status = outcome_told(found)
    return JSONResponse(found) if status == 200 else error_reply(text, status)


def _add_results(app: FastAPI, desk: Desk) -> None:
    @app.get("/v1/releases")
    def releases(who: Known) -> list[dict[str, Any]]:
        """What was asked before, and what it cost."""
        return desk.releases(who)

    @app.get("/v1/releases/{line}")
    def release(who: Known, line: Line, format: Literal["json", "csv"] = "json") -> Response:
        """A release again, for nothing."""
        if format == "json":
            return JSONResponse(desk.release(who, line))
        answer = Response(desk.release_csv(who, line), media_type="text/csv; charset=utf-8")
        answer.headers["content-disposition"] = f'attachment; filename="release-{line}.csv"'
        return answer

    @app.get("/v1/receipts/{line}")
    def receipt(who: Known, line: Line) -> Response:
        """The signed receipt of a release."""
        return Response(desk.receipt(who, line), media_type="application/json")

    @app.get("/v1/key")
    def key(_who: Known) -> dict[str, Any]:
        """The public key that receipts are checked with, and those of receipts from before it."""
        return {"key": desk.key(), "earlier": desk.earlier_keys()}


def _add_oversight(app: FastAPI, desk: Desk) -> None:
    @app.get("/v1/accounts")
    def accounts(who: Known) -> list[dict[str, Any]]:
        """Every account, as it stands."""
        return desk.accounts(who)

    @app.get("/v1/teams")
    def teams(who: Known) -> dict[str, list[str]]:
        """Who is in which team."""
        return desk.teams(who)

    @app.get("/v1/journal")
    def journal(who: Known) -> list[dict[str, Any]]:
        """Every line of the ledger."""
        return desk.journal(who)

    @app.get("/v1/verification")
    def verification(who: Known) -> dict[str, Any]:
        """Read the whole journal again."""
        return desk.verification(who)

    @app.get("/v1/tokens")
    def tokens(who: Known) -> list[dict[str, Any]]:
        """All tokens, without their secrets."""
        return desk.tokens(who)

    @app.post("/v1/tokens", status_code=201)
    def add_token(who: Known, wanted: TokenBody) -> dict[str, Any]:
        """A new token, which is told this once."""
        return desk.add_token(who, wanted.name, wanted.role, wanted.days)

    @app.delete("/v1/tokens/{number}")
    def revoke_token(who: Known, number: Line) -> dict[str, Any]:
        """End a token now."""
        return desk.revoke_token(who, number)
