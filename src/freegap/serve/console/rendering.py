"""How a page of the console comes about: who asks, which template, and errors as pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

import freegap
from freegap.errors import FreegapError, printable
from freegap.serve.console.forms import fields_of, number_of
from freegap.serve.console.replies import HEADERS
from freegap.serve.console.sessions import Sessions, form_number
from freegap.serve.console.views import amount, figure
from freegap.serve.console.visits import (
    Handler,
    NotSignedIn,
    PageRefused,
    Visit,
    own_form,
    session_of,
    with_cookie,
)
from freegap.serve.desk import Desk
from freegap.serve.door import UNFORESEEN, padded, told

_PER_PAGE = 50
_OPEN = {
    "analyst": ("data", "ask", "releases", "jobs"),
    "owner": ("data", "ask", "releases", "jobs", "budgets", "sources", "people", "journal"),
    "auditor": ("data", "releases", "jobs", "budgets", "sources", "journal"),
}
"""The pages in the menu. Whoever opens another one is turned away by the desk."""

Endpoint = Callable[[Request], Awaitable[Response]]


class Pages:
    """What all pages of a desk share."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._sessions = Sessions(desk.database, desk.people)
        self._style = (files("freegap.serve.console") / "assets" / "console.css").read_text(encoding="utf-8")
        self._templates = Environment(
            loader=PackageLoader("freegap.serve.console"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_shown,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {"amount": amount, "figure": figure}

    def _get(self, handler: Handler) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            return await run_in_threadpool(self._answer, handler, request, request.scope["query_string"])

        return endpoint

    def _post(self, handler: Handler) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            return await run_in_threadpool(self._answer, own_form(handler), request, await request.body())

        return endpoint

    def _padded(self, handler: Handler) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            sent, pad_to = await request.body(), self._desk.settings.limits.pad_to
            return await padded(pad_to, self._answer, own_form(handler), request, sent)

        return endpoint

    def _answer(self, handler: Handler, request: Request, sent: bytes) -> Response:
        visit = Visit(request, session_of(request), None, {})
        try:
            visit = Visit(request, visit.session, self._sessions.holder(visit.session), fields_of(sent))
            if visit.person is not None:
                self._desk.require_pace(visit.person)
            return handler(visit)
        except NotSignedIn:
            return RedirectResponse(f"{visit.home}/sign-in", 303, HEADERS)
        except PageRefused as refused:
            return self._error(visit, refused.text, refused.status)
        except FreegapError as error:
            return self._error(visit, *told(error))

    def _page(self, visit: Visit, template: str, status: int = 200, **values: Any) -> Response:
        text = self._templates.get_template(template).render(
            home=visit.home,
            person=visit.person,
            form=form_number(visit.session),
            version=freegap.__version__,
            page="releases" if template == "release.html" else template.partition(".")[0],
            open=_OPEN[visit.person.role] if visit.person else (),
            **values,
        )
        return with_cookie(visit, HTMLResponse(text, status, HEADERS), visit.session)

    def _error(self, visit: Visit, text: str, status: int) -> Response:
        return self._page(visit, "error.html", status, text=text, code=status)

    def _not_served(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        text = "There is no such page." if status == 404 else "This page does not do that."
        return self._error(Visit(request, session_of(request), None, {}), text, status)

    def _failed(self, request: Request, _error: Exception) -> Response:
        return self._error(Visit(request, session_of(request), None, {}), UNFORESEEN, 500)

    def _stylesheet(self, _request: Request) -> Response:
        return Response(
            self._style, headers=HEADERS | {"cache-control": "max-age=3600"}, media_type="text/css"
        )


def part_of(visit: Visit, rows: list[Any]) -> dict[str, Any]:
    """A part of a long list, by the number of the page in the address."""
    pages = max(1, -(-len(rows) // _PER_PAGE))
    wanted = number_of(visit.fields.get("page", "1"))
    number = min(max(wanted, 1), pages) if isinstance(wanted, int) else 1
    part = rows[(number - 1) * _PER_PAGE : number * _PER_PAGE]
    return {"rows": part, "number": number, "pages": pages, "all": len(rows)}


def _shown(value: Any) -> Any:
    """Texts without control characters; what a template has escaped already stays as it is."""
    return printable(value, lines=True) if type(value) is str else value
