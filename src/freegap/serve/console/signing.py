"""Signing in and out."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response

from freegap.serve.console.rendering import Pages
from freegap.serve.console.replies import HEADERS
from freegap.serve.console.visits import PageRefused, Visit, sign_in_number, with_cookie, with_sign_in
from freegap.serve.people import new_number
from freegap.serve.sign_in import IssuerSignIn, used

_NOBODY = "The issuer has not named anybody who may sign in here, or this sign-in is over. Begin again."


class SignInPages(Pages):
    """The pages for who has not signed in yet, or not any more."""

    def sign_in_form(self, visit: Visit) -> Response:
        """The page for a token."""
        return self._sign_in_page(visit)

    def sign_in(self, visit: Visit) -> Response:
        """A new session for who has a token, and then always the same page."""
        session = self._sessions.begin(visit.fields.get("token", "").strip())
        if session is None:
            text = "This token is not known, or is over."
            return self._sign_in_page(visit, 401, text)
        if visit.person is not None:
            self._sessions.end(visit.session)
        return with_cookie(visit, RedirectResponse(f"{visit.home}/", 303, HEADERS), session)

    def sign_out(self, visit: Visit) -> Response:
        """End the session."""
        self._sessions.end(visit.session)
        gone = RedirectResponse(f"{visit.home}/sign-in", 303, HEADERS)
        return with_cookie(visit, gone, new_number())

    def to_issuer(self, visit: Visit) -> Response:
        """To the issuer, with a number that the browser brings back."""
        number = new_number()
        place = self._by_issuer().address(number)
        return with_sign_in(visit, RedirectResponse(place, 303, HEADERS), number)

    def from_issuer(self, visit: Visit) -> Response:
        """Back from the issuer: a new session for whom it has named.

        The page goes on by itself: a redirect from here would still count as coming from the issuer, and the
        browser would send no cookie of the session along.
        """
        number = sign_in_number(visit.request)
        person = self._by_issuer().person(number, visit.fields)
        session = None if person is None else self._sessions.begin_for(person, used(number))
        if person is None or session is None:
            return with_sign_in(visit, self._sign_in_page(visit, 401, _NOBODY), None)
        if visit.person is not None:
            self._sessions.end(visit.session)
        self._desk.require_pace(person)
        page = self._page(replace(visit, session=session, person=None), "signed-in.html")
        return with_sign_in(visit, page, None)

    def _by_issuer(self) -> IssuerSignIn:
        if self._desk.sign_in is None:
            raise PageRefused("There is no such page.", 404)
        return self._desk.sign_in

    def _sign_in_page(self, visit: Visit, status: int = 200, error: str | None = None) -> Response:
        oidc = self._desk.settings.oidc
        issuer = urlsplit(oidc.issuer).netloc if oidc is not None and self._desk.sign_in is not None else None
        return self._page(visit, "sign-in.html", status, error=error, issuer=issuer)
