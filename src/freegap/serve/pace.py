"""How often somebody may ask in a minute, whichever process they ask: counted in the database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import case

from freegap.errors import FreegapError
from freegap.serve import database
from freegap.serve.database import ServiceDatabase

_MINUTE = 60


class TooMany(FreegapError):
    """More in a minute than the owner allows, or more at once than there is room for."""


class Pace:
    """Counts by name, verb and minute of the clock."""

    def __init__(self, kept: ServiceDatabase) -> None:
        self._run = kept.run

    def require(self, name: str, verb: str, most: int) -> None:
        """Count one more, and refuse it where these are too many for this minute."""
        row = {"name": name, "verb": verb, "minute": int(database.now().timestamp()) // _MINUTE, "number": 1}

        def counted(connection: Any) -> int:
            adding = database.insert_into(connection, database.pace).values(row)
            later = adding.excluded.minute > database.pace.c.minute
            # A clock that is behind, or goes back, does not begin a minute again.
            changed = {
                "number": case((later, 1), else_=database.pace.c.number + 1),
                "minute": case((later, adding.excluded.minute), else_=database.pace.c.minute),
            }
            adding = adding.on_conflict_do_update(index_elements=["name", "verb"], set_=changed)
            return int(connection.execute(adding.returning(database.pace.c.number)).scalar_one())

        if self._run(counted) > most:
            raise TooMany("You have asked as often as one may in a minute. Wait, and ask again.")
