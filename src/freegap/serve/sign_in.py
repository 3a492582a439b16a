"""Signing in to the console by an OpenID Connect issuer: the authorization code flow with PKCE (RFC 7636).

The browser has one random number in a cookie for the time that this takes. The state, the nonce and the
verifier of the code follow from it, each by a hash of its own: none tells another, and nothing is kept here
until somebody has signed in. Who comes back without the number, or with another state, began it elsewhere;
and a number is good for one sign-in.

The issuer's word about who it is comes over a connection to the issuer itself, and is checked as every token
of it is (`issuer`): signature, issuer, expiry, and here the client and the nonce.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import threading
from collections.abc import Mapping
from typing import Any
from urllib.error import URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, build_opener

from freegap.serve.database import PeopleUnavailable
from freegap.serve.issuer import Issuer, IssuerSettings
from freegap.serve.people import Person
from freegap.serve.redirects import NoRedirects

SECRET = "FREEGAP_OIDC_SECRET"  # noqa: S105  the name of a variable
_LARGEST_ANSWER = 1 << 20
_PATIENCE = 10
_LONGEST_CODE = 4096
_AT_ONCE = 8
"""Threads that wait for the issuer: whoever begins a sign-in is nobody yet, and must not take them all."""


def sign_in_of(issuer: Issuer | None, settings: IssuerSettings | None) -> IssuerSignIn | None:
    """By which people of the issuer sign in to the console, where that is set up."""
    if issuer is None or settings is None or settings.client_id is None:
        return None
    return IssuerSignIn(issuer, settings)


class IssuerSignIn:
    """Signing in with an issuer that knows this service as a client."""

    def __init__(self, issuer: Issuer, settings: IssuerSettings) -> None:
        self._issuer = issuer
        self._client = settings.client_id or ""
        self._scopes = settings.scopes
        self._back = f"{settings.console}/sign-in/return"
        self._room = threading.BoundedSemaphore(_AT_ONCE)

    def address(self, number: str) -> str:
        """Where the browser goes to sign in. number: the one in its cookie."""
        place = self._issuer.endpoint("authorization_endpoint")
        asked = {
            "response_type": "code",
            "client_id": self._client,
            "redirect_uri": self._back,
            "scope": " ".join(self._scopes),
            "state": _derived("state", number),
            "nonce": _derived("nonce", number),
            "code_challenge": _challenge(_derived("verifier", number)),
            "code_challenge_method": "S256",
        }
        return f"{place}{'&' if '?' in place else '?'}{urlencode(asked, quote_via=quote)}"

    def person(self, number: str, sent: Mapping[str, str]) -> Person | None:
        """Who has signed in, by what the browser has brought back; None where it is nobody."""
        state, code = sent.get("state", ""), sent.get("code", "")
        if not hmac.compare_digest(_derived("state", number).encode(), state.encode(errors="replace")):
            return None
        if not 0 < len(code) <= _LONGEST_CODE or sent.get("iss", self._issuer.name) != self._issuer.name:
            return None
        if not self._room.acquire(blocking=False):
            raise PeopleUnavailable("Too many wait for the issuer at once.")
        try:
            told = self._exchanged(code, _derived("verifier", number))
        finally:
            self._room.release()
        token = told.get("id_token") if isinstance(told, dict) else None
        if not isinstance(token, str):
            return None
        return self._issuer.known(token, self._client, _derived("nonce", number))

    def _exchanged(self, code: str, verifier: str) -> Any:
        """What the issuer gives for the code; None where it gives nothing."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._back,
            "client_id": self._client,
            "code_verifier": verifier,
        }
        headers = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}
        secret = os.environ.get(SECRET)
        if secret:
            pair = f"{quote(self._client, safe='')}:{quote(secret, safe='')}"
            headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        place = self._issuer.endpoint("token_endpoint")
        request = Request(place, urlencode(form).encode(), headers)  # noqa: S310  its scheme was checked
        try:
            with build_opener(NoRedirects).open(request, timeout=_PATIENCE) as answer:
                return json.loads(answer.read(_LARGEST_ANSWER))
        except URLError as error:
            if getattr(error, "code", 500) < 500:  # the issuer refuses
                return None
        except (OSError, ValueError):
            pass
        raise PeopleUnavailable("The issuer cannot be asked. Check `oidc` there.")


def used(number: str) -> str:
    """By which a number is known that has signed somebody in.

    >>> used("a") in (used("b"), _derived("state", "a"))
    False
    """
    return _derived("used", number)


def _derived(what: str, number: str) -> str:
    return hashlib.sha256(f"sign in {what} {number}".encode()).hexdigest()


def _challenge(verifier: str) -> str:
    """Of a verifier, as RFC 7636 has it (S256).

    >>> _challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
    """
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
