"""Names, roles and tokens. Of a token only the hash is kept; it expires, and can be revoked.

A token is `freegap_`, its number, and 256 random bits. Such a secret needs no slow hash: nobody guesses it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Column, Integer, MetaData, NullPool, Table, Text, create_engine, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from freegap.bits import SystemBits, not_noise
from freegap.budget.location import locate
from freegap.errors import FreegapError, InvalidArgument
from freegap.serve.settings import name_of_person
from freegap.values.rationals import count_argument

Role = Literal["owner", "analyst", "auditor"]
ROLES: tuple[Role, ...] = ("owner", "analyst", "auditor")
_TOKEN = re.compile(r"freegap_([1-9][0-9]{0,9})_([0-9a-f]{64})")
_LONGEST_DAYS = 366

_tokens = Table(
    "freegap_tokens",
    MetaData(),
    Column("number", Integer, primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("name", "role", "hash", "created", "expires")),
    Column("revoked", Text),
)


class PeopleUnavailable(FreegapError):
    """The database of tokens cannot be used now. Nobody is let in meanwhile."""


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
    """Who there is, in a database of SQLite or PostgreSQL.

    >>> import tempfile
    >>> people = People(f"sqlite:///{tempfile.mkdtemp()}/people.db")
    >>> secret = people.add("ann", "analyst", days=90)
    >>> people.known(secret)
    Person(name='ann', role='analyst')
    >>> people.revoke(1)
    >>> people.known(secret) is None
    True
    """

    def __init__(self, url: str) -> None:
        self._engine = create_engine(locate(url).url, poolclass=NullPool, hide_parameters=True)

    def add(self, name: str, role: str, *, days: int) -> str:
        """A new token, which is told this once."""
        name_of_person(name)
        if role not in ROLES:
            raise InvalidArgument("role", role, "is not known", f"Pass one of {', '.join(ROLES)}.")
        if count_argument("days", days) > _LONGEST_DAYS:
            raise InvalidArgument("days", days, f"must be at most {_LONGEST_DAYS}", "A token can be renewed.")
        with not_noise():
            secret = f"{SystemBits().bits(256):064x}"
        now = _now()
        row = {
            "name": name,
            "role": role,
            "hash": _hash(secret),
            "created": _text(now),
            "expires": _text(now + timedelta(days=days)),
        }
        number = self._run(
            lambda connection: connection.execute(insert(_tokens).values(row)).inserted_primary_key
        )
        return f"freegap_{number[0]}_{secret}"

    def known(self, token: str) -> Person | None:
        """Whose token it is; None where it is nobody's, has expired or was revoked."""
        matched = _TOKEN.fullmatch(token)
        if matched is None:
            return None
        wanted = select(_tokens).where(_tokens.c.number == int(matched[1]))
        row = self._run(lambda connection: connection.execute(wanted).one_or_none())
        stored = "" if row is None else row.hash
        if not hmac.compare_digest(stored, _hash(matched[2])) or row is None:
            return None
        if row.revoked is not None or row.expires <= _text(_now()):
            return None
        return Person(row.name, row.role)

    def revoke(self, number: int) -> None:
        """End a token now. To end it again changes nothing."""
        count_argument("number", number)
        ending = update(_tokens).where(_tokens.c.number == number, _tokens.c.revoked.is_(None))
        known = self._run(
            lambda connection: connection.execute(ending.values(revoked=_text(_now()))).rowcount
        )
        if not known and number not in {token.number for token in self.tokens()}:
            raise InvalidArgument("number", number, "is not the number of a token", "List them first.")

    def tokens(self) -> list[Token]:
        """All tokens, also those that are over."""
        rows = self._run(
            lambda connection: connection.execute(select(_tokens).order_by(_tokens.c.number)).all()
        )
        return [Token(**{name: getattr(row, name) for name in Token.__dataclass_fields__}) for row in rows]

    def _run(self, work: Any) -> Any:
        try:
            with self._engine.begin() as connection:
                _tokens.create(connection, checkfirst=True)
                return work(connection)
        except SQLAlchemyError as error:
            raise PeopleUnavailable(
                f"The database of tokens cannot be used ({type(error).__name__}). Check `people` there."
            ) from None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("ascii")).hexdigest()


def _now() -> datetime:
    return datetime.now(UTC)


def _text(time: datetime) -> str:
    return time.isoformat(timespec="seconds")
