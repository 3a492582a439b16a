"""Signing in and out."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from freegap.serve.console.rendering import Pages
from freegap.serve.console.replies import HEADERS
from freegap.serve.console.visits import Visit, with_cookie
from freegap.serve.people import new_number


class SignInPages(Pages):
    """The pages for who has not signed in yet, or not any more."""

    def sign_in_form(self, visit: Visit) -> Response:
        """The page for a token."""
        return self._page(visit, "sign-in.html", error=None)

    def sign_in(self, visit: Visit) -> Response:
        """A new session for who has a token, and then always the same page."""
        session = self._sessions.begin(visit.fields.get("token", "").strip())
        if session is None:
            text = "This token is not known, or is over."
            return self._page(visit, "sign-in.html", 401, error=text)
        if visit.person is not None:
            self._sessions.end(visit.session)
        return with_cookie(visit, RedirectResponse(f"{visit.home}/", 303, HEADERS), session)

    def sign_out(self, visit: Visit) -> Response:
        """End the session."""
        self._sessions.end(visit.session)
        gone = RedirectResponse(f"{visit.home}/sign-in", 303, HEADERS)
        return with_cookie(visit, gone, new_number())
