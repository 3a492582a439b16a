"""Names, roles and tokens. Of a token only the hash is kept; it expires, and can be revoked.

A token is `freegap_`, its number, and 256 random bits. Such a secret needs no slow hash: nobody guesses it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from sqlalchemy import insert, select, update

from freegap.bits import SystemBits, not_noise
from freegap.errors import InvalidArgument
from freegap.serve import database
from freegap.serve.configuration import name_of_person
from freegap.serve.database import ServiceDatabase, in_seconds
from freegap.values.rationals import count_argument

Role = Literal["owner", "analyst", "auditor"]
ROLES: tuple[Role, ...] = ("owner", "analyst", "auditor")
OWN = "freegap_"
"""How tokens of the service begin, and those of an issuer do not."""

_TOKEN = re.compile(OWN + r"([1-9][0-9]{0,9})_([0-9a-f]{64})")
_LONGEST_DAYS = 366
_LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Person:
    """Who asks, by their token."""

    name: str
    role: Role


@dataclass(frozen=True)
class Token:
    """A token as it is kept: everything but its secret."""

    number: int
    name: str
    role: Role
    created: str
    expires: str
    revoked: str | None


class People:
    """Who there is.

    >>> import tempfile
    >>> people = People(ServiceDatabase(f"sqlite:///{tempfile.mkdtemp()}/people.db"))
    >>> secret = people.add("ann", "analyst", days=90)
    >>> people.known(secret)
    Person(name='ann', role='analyst')
    >>> people.revoke(1)
    >>> people.known(secret) is None
    True
    """

    def __init__(self, kept: ServiceDatabase) -> None:
        self._run = kept.run

    def add(self, name: str, role: str, *, days: int) -> str:
        """A new token, which is told this once."""
        name_of_person(name)
        if role not in ROLES:
            raise InvalidArgument("role", role, "is not known", f"Pass one of {', '.join(ROLES)}.")
        if count_argument("days", days) > _LONGEST_DAYS:
            raise InvalidArgument("days", days, f"must be at most {_LONGEST_DAYS}", "A token can be renewed.")
        secret = new_number()
        now = database.now()
        row = {
            "name": name,
            "role": role,
            "hash": _hash(secret),
            "created": in_seconds(now),
            "expires": in_seconds(now + timedelta(days=days)),
        }
        adding = insert(database.tokens).values(row).returning(database.tokens.c.number)
        number = self._run(lambda connection: connection.execute(adding).scalar_one())
        return f"{OWN}{number}_{secret}"

    def known(self, token: str) -> Person | None:
        """Whose token it is; None where it is nobody's, has expired or was revoked."""
        matched = _TOKEN.fullmatch(token)
        if matched is None or int(matched[1]) > _LARGEST:
            return None
        row = self._row(int(matched[1]))
        stored = "" if row is None else row.hash
        if not hmac.compare_digest(stored, _hash(matched[2])) or row is None:
            return None
        return self._while_good(row)

    def holder(self, number: int) -> Person | None:
        """Who holds the token of this number, for whoever has seen the token itself before."""
        row = self._row(number)
        return None if row is None else self._while_good(row)

    def _row(self, number: int) -> Any:
        wanted = select(database.tokens).where(database.tokens.c.number == number)
        return self._run(lambda connection: connection.execute(wanted).one_or_none())

    def _while_good(self, row: Any) -> Person | None:
        if row.revoked is not None or row.expires <= in_seconds(database.now()):
            return None
        return Person(row.name, row.role)

    def revoke(self, number: int) -> None:
        """End a token now. To end it again changes nothing."""
        wanted = database.tokens.c.number == min(count_argument("number", number), _LARGEST)
        ending = update(database.tokens).where(wanted, database.tokens.c.revoked.is_(None))
        known = self._run(
            lambda connection: connection.execute(ending.values(revoked=in_seconds(database.now()))).rowcount
        )
        if not known and number not in {token.number for token in self.tokens()}:
            raise InvalidArgument("number", number, "is not the number of a token", "List them first.")

    def tokens(self) -> list[Token]:
        """All tokens, also those that are over."""
        listing = select(database.tokens).order_by(database.tokens.c.number)
        rows = self._run(lambda connection: connection.execute(listing).all())
        return [Token(**{name: getattr(row, name) for name in Token.__dataclass_fields__}) for row in rows]


def new_number() -> str:
    """A number that nobody guesses, and that nobody else has.

    >>> new_number() == new_number()
    False
    """
    with not_noise():
        return f"{SystemBits().bits(256):064x}"


def number_of(token: str) -> int:
    """The number of a token, which is no secret.

    >>> number_of("freegap_12_" + "0" * 64)
    12
    """
    return int(token.split("_")[1])


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("ascii")).hexdigest()
