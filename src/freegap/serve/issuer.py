"""People of an OpenID Connect issuer: their tokens are checked here, with the issuer's public keys.

    [oidc]
    issuer = "https://id.example.org/realms/team"
    audience = "freegap"
    name_claim = "email"
    role_claim = "groups"
    [oidc.roles]
    owner = ["data-owners"]
    analyst = ["data-science"]
    auditor = ["audit"]

A token is a JSON Web Token (RFC 7519), signed with a key that the issuer publishes (OpenID Connect Discovery
1.0; JWK Sets, RFC 7517). Its issuer and audience must be these, and it must say until when it is good. Only
signatures by asymmetric keys count (RFC 8725): one under "none" is nobody's, and so is one that was made with
a public key as if it were a secret.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import Request, build_opener

from freegap.errors import InvalidArgument, MissingExtra
from freegap.serve.configuration import ConfigTable, name_of_person
from freegap.serve.database import PeopleUnavailable
from freegap.serve.people import Person, Role
from freegap.serve.redirects import NoRedirects

_ALGORITHMS = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA".split()
_STRONGEST_FIRST: tuple[Role, ...] = ("owner", "auditor", "analyst")
_FRESH = 600
"""Seconds for which keys are not asked for again, unless a token names one that is not among them."""

_STALE = 3600
"""Seconds after which keys are used no more, if the issuer cannot be asked."""

_PAUSE = 60
_LEEWAY = 30
_LONGEST = 24 * 3600
_LARGEST_ANSWER = 1 << 20
_PATIENCE = 5


@dataclass(frozen=True)
class IssuerSettings:
    """Whose tokens are good, and what their claims mean. roles: by role, the values that stand for it.

    client_id: as which the issuer knows the console, where people may sign in there by it. console: its
        address as browsers have it. scopes: what is asked for.
    """

    issuer: str
    audience: str
    name_claim: str
    role_claim: str
    roles: Mapping[Role, tuple[str, ...]]
    client_id: str | None = None
    console: str = ""
    scopes: tuple[str, ...] = ("openid",)

    @classmethod
    def read(cls, table: ConfigTable) -> IssuerSettings | None:
        """Of the configuration, where it has one."""
        if "oidc" not in table.content:
            return None
        of = table.inner("oidc")
        roles = of.inner("roles", required=True)
        read = cls(
            of.text("issuer"),
            of.text("audience"),
            of.text("name_claim"),
            of.text("role_claim"),
            {role: _values(roles, role) for role in _STRONGEST_FIRST if role in roles.content},
            of.text_or_none("client_id"),
            of.text("console", "").rstrip("/"),
            tuple(str(scope) for scope in of.listed("scopes", ("openid",))),
        )
        roles.done()
        of.done()
        _require_safe(read.issuer)
        if not read.roles:
            raise InvalidArgument("oidc.roles", {}, "lets nobody in", 'Write analyst = ["…"], for one.')
        if read.client_id is None and not {"console", "scopes"}.isdisjoint(of.content):
            raise InvalidArgument("oidc.client_id", None, "is needed to sign in to the console", "Say it.")
        if read.client_id is not None:
            _require_safe(read.console, "oidc.console")
            if "openid" not in read.scopes:
                raise InvalidArgument("oidc.scopes", read.scopes, "must have openid", 'Write ["openid", …].')
        return read


def _values(table: ConfigTable, role: Role) -> tuple[str, ...]:
    listed = table.listed(role)
    if not listed or not all(isinstance(value, str) and value for value in listed):
        raise InvalidArgument(
            f"{table.name}{role}", listed, "must be a list of texts", "List values of the claim."
        )
    return tuple(listed)


class Issuer:
    """The people of an issuer. fetch: the JSON at an address, for tests."""

    def __init__(self, settings: IssuerSettings, fetch: Callable[[str], Any] | None = None) -> None:
        try:
            import joserfc.jwt  # noqa: F401
        except ModuleNotFoundError:
            raise MissingExtra("joserfc", "oidc") from None
        self._settings = settings
        self._fetch = fetch or fetch_json
        self._lock = threading.Lock()
        self._keys: Any = None
        self._discovered: Any = None
        self._fetched = -float("inf")
        self._tried = -float("inf")

    def known(self, token: str, client: str | None = None, nonce: str | None = None) -> Person | None:
        """Whose token it is; None where it is nobody's. client, nonce: of an identity token, for a client."""
        from joserfc.errors import InvalidKeyIdError, JoseError

        claims = None
        for again in (False, True):
            try:
                claims = self._claims(token, self._current(again=again), client, nonce)
                break
            except InvalidKeyIdError:  # a new key, perhaps
                continue
            except (JoseError, ValueError, TypeError, KeyError, RecursionError):
                return None
        return None if claims is None else self._person(claims)

    @property
    def name(self) -> str:
        """By which the issuer calls itself."""
        return self._settings.issuer

    def endpoint(self, name: str) -> str:
        """An address that the issuer publishes."""
        self._current(again=False)
        found = self._discovered.get(name)
        try:
            _require_safe(found)
        except InvalidArgument:
            raise PeopleUnavailable(f"The issuer has no {name} that can be used.") from None
        return str(found)

    def _claims(self, token: str, keys: Any, client: str | None, nonce: str | None) -> dict[str, Any]:
        from joserfc import jwt

        said = jwt.decode(token, keys, algorithms=_ALGORITHMS).claims
        registry = jwt.JWTClaimsRegistry(
            leeway=_LEEWAY,
            iss={"essential": True, "value": self._settings.issuer},
            aud={"essential": True, "value": client or self._settings.audience},
            exp={"essential": True},
        )
        registry.validate(said)
        if said["exp"] > time.time() + _LONGEST:
            raise ValueError("a token that cannot be revoked must not be good for so long")
        if client is not None and (said.get("nonce") != nonce or said.get("azp", client) != client):
            raise ValueError("made for another sign-in")
        return said

    def _person(self, claims: dict[str, Any]) -> Person | None:
        name = _claim(claims, self._settings.name_claim)
        if self._settings.name_claim == "email" and claims.get("email_verified") is not True:
            return None  # whoever may write any address there could be anybody
        said = _claim(claims, self._settings.role_claim)
        values = said if isinstance(said, list) else [said]
        for role in _STRONGEST_FIRST:
            if any(
                isinstance(value, str) and value in self._settings.roles.get(role, ()) for value in values
            ):
                try:
                    return Person(name_of_person(name), role)
                except InvalidArgument:
                    return None
        return None

    def _current(self, *, again: bool) -> Any:
        """The issuer's keys, asked for when they are old, or again where a token names another one."""
        with self._lock:
            now = time.monotonic()
            old = now - self._fetched > _FRESH
            if (old or again) and now - self._tried > _PAUSE:
                self._tried = now
                # Where that fails, what is known is used for a while.
                with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
                    self._keys, self._discovered = self._published()
                    self._fetched = now
            if self._keys is None or now - self._fetched > _STALE:
                raise PeopleUnavailable("The keys of the issuer cannot be had. Check `oidc` there.")
            return self._keys

    def _published(self) -> tuple[Any, Any]:
        """The issuer's keys, and its discovery document."""
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet, OctKey

        discovered = self._fetch(f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration")
        if discovered["issuer"] != self._settings.issuer:
            raise ValueError("another issuer")
        place = discovered["jwks_uri"]
        _require_safe(place)
        try:
            keys = KeySet.import_key_set(self._fetch(place)).keys
        except JoseError:
            raise ValueError("no keys") from None
        usable: list[Any] = [
            key for key in keys if not isinstance(key, OctKey) and key.get("use") in (None, "sig")
        ]
        if not usable:
            raise ValueError("no keys for signatures")
        return KeySet(usable), discovered


def _claim(claims: Any, path: str) -> Any:
    """A claim, also one within another: "realm_access.roles"."""
    if path in claims:
        return claims[path]
    for part in path.split("."):
        claims = claims.get(part) if isinstance(claims, dict) else None
    return claims


def _require_safe(address: Any, field: str = "oidc.issuer") -> None:
    """Keys come encrypted and from who they say, or from this machine."""
    parts = urlsplit(address) if isinstance(address, str) else None
    local = parts is not None and parts.hostname in ("localhost", "127.0.0.1", "::1")
    if (
        parts is None
        or not parts.hostname
        or parts.scheme not in (("https", "http") if local else ("https",))
    ):
        raise InvalidArgument(field, address, "must be an https address", "Write https://….")


def fetch_json(address: str) -> Any:
    """The JSON at an address, of a modest size and soon; an OSError or ValueError where there is none."""
    request = Request(address, headers={"accept": "application/json"})  # noqa: S310  its scheme was checked
    try:
        with build_opener(NoRedirects).open(request, timeout=_PATIENCE) as answer:
            content = answer.read(_LARGEST_ANSWER + 1)
    except URLError as error:
        raise OSError(str(error.reason)) from None
    if len(content) > _LARGEST_ANSWER:
        raise ValueError("too large")
    return json.loads(content)
