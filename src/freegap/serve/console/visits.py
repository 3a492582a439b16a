"""A request for a page: who has signed in, what was sent, and whether it comes from a page of ours.

What changes something is sent by POST: the form carries the number that goes with the session, and the
browser says that it comes from this site. The cookie is out of reach of scripts and is sent by no other site.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from freegap.serve.console.sessions import is_form_of
from freegap.serve.people import Person, new_number

_COOKIE = "freegap_session"
_SIGN_IN = "freegap_sign_in"
_NUMBER = re.compile(r"[0-9a-f]{64}")
_NOT_OURS = "This form is too old, or does not come from here. Go back, load the page again and send it."


class NotSignedIn(Exception):
    """Nobody has signed in, or not any more."""


class PageRefused(Exception):
    """A page that says why there is no other."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.text, self.status = text, status


@dataclass(frozen=True)
class Visit:
    """One request. session: the number in the cookie, or a new one; person: None for who has not signed in.

    fields: what was sent, in the form or else in the address.
    """

    request: Request
    session: str
    person: Person | None
    fields: Mapping[str, str]

    @property
    def who(self) -> Person:
        """Who has signed in; everybody else is sent to the page for that."""
        if self.person is None:
            raise NotSignedIn
        return self.person

    @property
    def home(self) -> str:
        """Where the console is, without a slash at the end."""
        return str(self.request.scope.get("root_path", ""))


Handler = Callable[[Visit], Response]


def own_form(handler: Handler) -> Handler:
    """What is done only for a form of ours."""

    def checked(visit: Visit) -> Response:
        headers = visit.request.headers
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        foreign = site not in (None, "same-origin")
        if site is None and origin is not None:  # browsers say no more to a host without TLS
            foreign = urlsplit(origin).netloc != headers.get("host")
        if foreign or not is_form_of(visit.session, visit.fields.get("form", "")):
            raise PageRefused(_NOT_OURS, 403)
        return handler(visit)

    return checked


def sign_in_number(request: Request) -> str:
    """The number in the cookie of a sign-in that has begun; a new one where there is none."""
    found = request.cookies.get(_cookie_name(_SIGN_IN, secure=request.url.scheme == "https"), "")
    return found if _NUMBER.fullmatch(found) else new_number()


def with_sign_in(visit: Visit, answer: Response, number: str | None) -> Response:
    """The answer with the number of a sign-in, for ten minutes; None: without. Unlike that of the session,
    this cookie comes along when the issuer sends the browser back."""
    secure = visit.request.url.scheme == "https"
    name, age = _cookie_name(_SIGN_IN, secure=secure), 0 if number is None else 600
    answer.set_cookie(name, number or "", max_age=age, path="/", secure=secure, httponly=True, samesite="lax")
    return answer


def session_of(request: Request) -> str:
    """The number in the cookie; a new one where there is none."""
    found = request.cookies.get(_cookie_name(_COOKIE, secure=request.url.scheme == "https"), "")
    return found if _NUMBER.fullmatch(found) else new_number()


def _cookie_name(name: str, *, secure: bool) -> str:
    """With TLS a name that no other host, and no page without TLS, can set."""
    return f"__Host-{name}" if secure else name


def with_cookie(visit: Visit, answer: Response, session: str) -> Response:
    """The answer with the number of the session, where the browser has not got it."""
    secure = visit.request.url.scheme == "https"
    name = _cookie_name(_COOKIE, secure=secure)
    if visit.request.cookies.get(name) != session:
        answer.set_cookie(name, session, path="/", secure=secure, httponly=True, samesite="strict")
    return answer
