"""The pages, and who may open them.

A page is made by a function of a `Visit`. An error is a page too, with the words that the service has for it
everywhere.
"""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from freegap.errors import FreegapError, InvalidArgument, LedgerDamaged
from freegap.serve.console.forms import number_of, plan_of, question_of
from freegap.serve.console.jobs import JobPages
from freegap.serve.console.rendering import part_of
from freegap.serve.console.replies import HEADERS, download
from freegap.serve.console.signing import SignInPages
from freegap.serve.console.views import (
    account_view,
    bounds_of,
    budget_views,
    plan_view,
    release_view,
    source_view,
)
from freegap.serve.console.visits import Handler, PageRefused, Visit
from freegap.serve.database import in_seconds, now
from freegap.serve.desk import Desk, Forbidden, NotThere
from freegap.serve.door import outcome_told, told
from freegap.serve.people import ROLES, new_number
from freegap.values.written import json_text


def make_console(desk: Desk) -> Starlette:
    """The console as an application, to be mounted wherever the service is."""
    return Console(desk).application()


class Console(JobPages, SignInPages):
    """The pages of a desk."""

    def application(self) -> Starlette:
        """All pages with their addresses."""
        pages: dict[str, Handler] = {
            "/": self.data,
            "/sign-in": self.sign_in_form,
            "/sign-in/issuer": self.to_issuer,
            "/sign-in/return": self.from_issuer,
            "/ask": self.ask_form,
            "/releases": self.releases,
            "/releases/{line}.json": self.release_json,
            "/releases/{line}.csv": self.release_csv,
            "/releases/{line}": self.release,
            "/receipts/{line}.json": self.receipt,
            "/jobs": self.jobs,
            "/budgets": self.budgets,
            "/sources": self.sources,
            "/people": self.people,
            "/journal": self.journal,
            "/journal.json": self.journal_json,
            "/verification": self.verification,
        }
        actions: dict[str, Handler] = {
            "/sign-in": self.sign_in,
            "/sign-out": self.sign_out,
            "/jobs/cancel": self.cancel_job,
            "/people": self.add_token,
            "/people/revoke": self.revoke_token,
        }
        made = Starlette(
            routes=[
                Route("/console.css", self._stylesheet),
                *(Route(path, self._get(handler), methods=["GET"]) for path, handler in pages.items()),
                *(Route(path, self._post(handler), methods=["POST"]) for path, handler in actions.items()),
                Route("/ask", self._padded(self.ask), methods=["POST"]),
            ],
            exception_handlers={HTTPException: self._not_served, Exception: self._failed},
        )
        made.router.redirect_slashes = False  # the address would be made of the Host that the request names
        return made

    # What is looked at

    def data(self, visit: Visit) -> Response:
        """What data there is, and what is left."""
        sources = [
            {
                **source,
                "views": [account_view(account) for account in source["accounts"]],
                "bounds": bounds_of(source),
            }
            for source in self._desk.sources(visit.who)
        ]
        return self._page(visit, "data.html", sources=sources, asking=self._asks(visit))

    def releases(self, visit: Visit) -> Response:
        """What was asked before, the latest first."""
        made = self._desk.releases(visit.who)[::-1]
        return self._page(visit, "releases.html", **part_of(visit, made))

    def release(self, visit: Visit) -> Response:
        """One release."""
        line = _line(visit)
        view = release_view(self._desk.release(visit.who, line))
        return self._page(visit, "release.html", line=line, view=view)

    def release_json(self, visit: Visit) -> Response:
        """One release for programs."""
        line = _line(visit)
        text = json_text(self._desk.release(visit.who, line), indent=2) + "\n"
        return download(text, f"release-{line}.json", "application/json")

    def release_csv(self, visit: Visit) -> Response:
        """The table of a release, for a spreadsheet."""
        line = _line(visit)
        return download(self._desk.release_csv(visit.who, line), f"release-{line}.csv", "text/csv")

    def receipt(self, visit: Visit) -> Response:
        """The receipt of a release."""
        line = _line(visit)
        return download(self._desk.receipt(visit.who, line), f"receipt-{line}.json", "application/json")

    # For owners and auditors

    def budgets(self, visit: Visit) -> Response:
        """Every account, and who was charged what."""
        accounts = self._desk.accounts(visit.who)
        made = self._desk.releases(visit.who)
        return self._page(visit, "budgets.html", sources=budget_views(accounts, made))

    def sources(self, visit: Visit) -> Response:
        """What the configuration says."""
        teams = self._desk.teams(visit.who)
        sources = [source_view(source, teams) for source in self._desk.settings.sources.values()]
        return self._page(visit, "sources.html", sources=sources)

    def journal(self, visit: Visit) -> Response:
        """Every line of the ledger, the latest first; where it was tampered with, what is wrong."""
        try:
            return self._journal(visit, None)
        except LedgerDamaged:
            return self.verification(visit)

    def verification(self, visit: Visit) -> Response:
        """The journal read again."""
        return self._journal(visit, self._desk.verification(visit.who))

    def _journal(self, visit: Visit, verified: dict[str, Any] | None) -> Response:
        damaged = verified is not None and not verified["ok"]  # then no line of it is worth anything
        lines = [] if damaged else self._desk.journal(visit.who)[::-1]
        receipted = set() if damaged else {made["sequence"] for made in self._desk.releases(visit.who)}
        part = part_of(visit, lines)
        return self._page(visit, "journal.html", verified=verified, receipted=receipted, **part)

    def journal_json(self, visit: Visit) -> Response:
        """The journal for programs."""
        text = json_text(self._desk.journal(visit.who), indent=1) + "\n"
        return download(text, "journal.json", "application/json")

    # Asking

    def ask_form(self, visit: Visit) -> Response:
        """The form for a question, and its plan, which is free."""
        return self._asking(visit)

    def ask(self, visit: Visit) -> Response:
        """Ask, and go to the release, or to the jobs where it is to come later. A form that is sent twice
        asks once, and leads to the same."""
        try:
            once = visit.fields.get("once", "")
            if "later" in visit.fields:
                self._desk.start_job(visit.who, question_of(visit.fields), once)
                return RedirectResponse(f"{visit.home}/jobs", 303, HEADERS)
            found = self._desk.ask(visit.who, question_of(visit.fields), once, patient=True)
            text, status = outcome_told(found)
        except FreegapError as error:
            found, (text, status) = {}, told(error)
        if "line" in found and status != 200:  # it is paid for: not a form to pay again
            raise PageRefused(text, status)
        if status != 200:
            return self._asking(visit, text, status)
        return RedirectResponse(f"{visit.home}/releases/{found['line']}", 303, HEADERS)

    def _asking(self, visit: Visit, error: str | None = None, status: int = 200) -> Response:
        if visit.who.role == "auditor":
            raise Forbidden("An auditor looks on, and asks nothing.")
        names = self._asks(visit)
        sources = {source["name"]: source for source in self._desk.sources(visit.who)}
        wanted = visit.fields.get("source", names[0] if len(names) == 1 else "")
        source = sources[wanted] if wanted in names else None
        planned = None
        if error is None and source is not None and "plan" in visit.fields:
            planned, error, status = self._planned(visit)
        return self._page(
            visit,
            "ask.html",
            status,
            sources=names,
            source=source,
            accounts=[] if source is None else [account_view(account) for account in source["accounts"]],
            fields=visit.fields,
            error=error,
            once=new_number(),
            bounds=[] if source is None else bounds_of(source),
            **plan_view(planned, visit.fields, source),
        )

    def _planned(self, visit: Visit) -> tuple[dict[str, Any] | None, str | None, int]:
        try:
            found = self._desk.plan(visit.who, plan_of(visit.fields))
            text, status = outcome_told(found)
        except FreegapError as error:
            text, status = told(error)
        return (found, None, 200) if status == 200 else (None, text, status)

    def _asks(self, visit: Visit) -> list[str]:
        """The sources that this person has a quota for."""
        if visit.who.role == "auditor":
            return []
        settings = self._desk.settings
        return [n for n, s in settings.sources.items() if settings.quotas(s, visit.who.name) is not None]

    # People

    def people(self, visit: Visit) -> Response:
        """Who there is."""
        return self._people_page(visit)

    def add_token(self, visit: Visit) -> Response:
        """A new token, shown this once."""
        sent = visit.fields
        name, role, days = sent.get("name", "").strip(), sent.get("role", ""), number_of(sent.get("days", ""))
        try:
            made = self._desk.add_token(visit.who, name, role, days)  # type: ignore[arg-type]  # a text is refused
        except InvalidArgument as error:
            return self._people_page(visit, error=str(error), status=422)
        return self._people_page(visit, made=made["token"])

    def revoke_token(self, visit: Visit) -> Response:
        """End a token."""
        number: Any = number_of(visit.fields.get("number", ""))
        self._desk.revoke_token(visit.who, number)
        return RedirectResponse(f"{visit.home}/people", 303, HEADERS)

    def _people_page(
        self, visit: Visit, *, made: str | None = None, error: str | None = None, status: int = 200
    ) -> Response:
        tokens = self._desk.tokens(visit.who)[::-1]
        fields = {} if made else visit.fields
        values = {"tokens": tokens, "roles": ROLES, "made": made, "error": error, "fields": fields}
        return self._page(visit, "people.html", status, now=in_seconds(now()), **values)


def _line(visit: Visit) -> int:
    """The line in the address."""
    line = number_of(visit.request.path_params["line"])
    if not isinstance(line, int):
        raise NotThere("There is no such line.")
    return line
