"""Who has signed in: a random number in a cookie, of which the database of tokens keeps the hash.

A session belongs to a token and ends with it: when it expires or is revoked, when its holder signs out, and
after half a day. That of somebody whom an issuer has named ends after an hour. Signing in makes a new number,
so that one that somebody else has put into the browser is nobody's. Every form carries a second number that
follows from the first and that no other page can read.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from freegap.serve import database
from freegap.serve.database import ServiceDatabase, in_seconds
from freegap.serve.people import People, Person, new_number, number_of

_LASTS = timedelta(hours=12)
_OF_ISSUER = timedelta(hours=1)
"""The issuer does not say when somebody is nobody any more: after this time it is asked again."""


def form_number(session: str) -> str:
    """What the forms of a session carry. It does not tell the session's own number.

    >>> form_number("a") == form_number("b")
    False
    """
    return _hash(f"form {session}")


def is_form_of(session: str, number: str) -> bool:
    """Whether a form was made for this session.

    >>> is_form_of("a", form_number("a")), is_form_of("a", form_number("b")), is_form_of("a", "é")
    (True, False, False)
    """
    return hmac.compare_digest(form_number(session).encode(), number.encode(errors="replace"))


class Sessions:
    """Sessions, in the database of the service: several processes share them.

    >>> import tempfile
    >>> kept = ServiceDatabase(f"sqlite:///{tempfile.mkdtemp()}/people.db")
    >>> people = People(kept)
    >>> sessions = Sessions(kept, people)
    >>> session = sessions.begin(people.add("ann", "analyst", days=90))
    >>> sessions.holder(session)
    Person(name='ann', role='analyst')
    >>> sessions.end(session)
    >>> sessions.holder(session) is None
    True
    """

    def __init__(self, kept: ServiceDatabase, people: People) -> None:
        self._run = kept.run
        self._people = people

    def begin(self, token: str) -> str | None:
        """A new session for whoever holds the token; None where nobody does."""
        if self._people.known(token) is None:
            return None
        session = new_number()
        row = {"hash": _hash(session), "token": number_of(token), "expires": _later()}

        def work(connection: Connection) -> None:
            over = database.sessions.c.expires <= _now()
            connection.execute(delete(database.sessions).where(over))
            connection.execute(insert(database.sessions).values(row))

        self._run(work)
        return session

    def begin_for(self, person: Person, sign_in: str) -> str | None:
        """A new session for somebody whom the issuer has named; None where this sign-in has made one."""
        session = new_number()
        kept = database.issuer_sessions
        row = {"hash": _hash(session), "sign_in": sign_in, "name": person.name, "role": person.role}
        row["expires"] = in_seconds(database.now() + _OF_ISSUER)

        def work(connection: Connection) -> bool:
            connection.execute(delete(kept).where(kept.c.expires <= in_seconds(database.now() - _LASTS)))
            adding = database.insert_into(connection, kept).values(row).on_conflict_do_nothing()
            return connection.execute(adding.returning(kept.c.hash)).one_or_none() is not None

        return session if self._run(work) else None

    def holder(self, session: str) -> Person | None:
        """Who has signed in with it, as long as their token is good."""
        kept = database.sessions.c
        wanted = select(kept.token).where(kept.hash == _hash(session), kept.expires > _now())
        of_issuer = database.issuer_sessions.c
        named = select(of_issuer.name, of_issuer.role).where(
            of_issuer.hash == _hash(session), of_issuer.expires > _now()
        )

        def work(connection: Connection) -> tuple[int | None, Any]:
            number = connection.execute(wanted).scalar_one_or_none()
            return number, connection.execute(named).one_or_none() if number is None else None

        number, found = self._run(work)
        if number is not None:
            return self._people.holder(number)
        return None if found is None else Person(found.name, found.role)

    def end(self, session: str) -> None:
        """Sign out."""
        # That of an issuer stays, as over: its sign-in makes no other one.
        ended = update(database.issuer_sessions).where(database.issuer_sessions.c.hash == _hash(session))
        ending = delete(database.sessions).where(database.sessions.c.hash == _hash(session))

        def work(connection: Connection) -> None:
            connection.execute(ending)
            connection.execute(ended.values(expires=_now()))

        self._run(work)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _now() -> str:
    return in_seconds(database.now())


def _later() -> str:
    return in_seconds(database.now() + _LASTS)
