"""Who has signed in: a random number in a cookie, of which the database of tokens keeps the hash.

A session belongs to a token and ends with it: when it expires or is revoked, when its holder signs out, and
after half a day. Signing in makes a new number, so that one that somebody else has put into the browser is
nobody's. Every form carries a second number that follows from the first and that no other page can read.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import timedelta

from sqlalchemy import Connection, delete, insert, select

from freegap.serve import database
from freegap.serve.database import ServiceDatabase, in_seconds
from freegap.serve.people import People, Person, new_number, number_of

_LASTS = timedelta(hours=12)


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

    def holder(self, session: str) -> Person | None:
        """Who has signed in with it, as long as their token is good."""
        kept = database.sessions.c
        wanted = select(kept.token).where(kept.hash == _hash(session), kept.expires > _now())
        number = self._run(lambda connection: connection.execute(wanted).scalar_one_or_none())
        return None if number is None else self._people.holder(number)

    def end(self, session: str) -> None:
        """Sign out."""
        ending = delete(database.sessions).where(database.sessions.c.hash == _hash(session))
        self._run(lambda connection: connection.execute(ending))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _now() -> str:
    return in_seconds(database.now())


def _later() -> str:
    return in_seconds(database.now() + _LASTS)
