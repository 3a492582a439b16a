"""What a database error means, in words. Every fault leaves what was reserved charged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from freegap.errors import LedgerDamaged, LedgerError, LedgerUnavailable

_NOTHING_LOST = "What was reserved stays charged, and nothing else was changed"

# What happened and what to do about it, by the beginning of SQLite's name of the error or of the SQLSTATE.
_UNAVAILABLE = {
    "SQLITE_FULL": ("cannot grow: the disk is full", "Make room and try again."),
    "SQLITE_IOERR": ("got an error from the disk", "Look for a full disk, a quota or a failing device."),
    "SQLITE_READONLY": ("is read-only", "Make the file and its directory writable."),
    "SQLITE_CANTOPEN": (
        "cannot be opened",
        "Check that its directory exists and that you may read and write there.",
    ),
    "SQLITE_PERM": ("cannot be opened", "Check that you may read and write the file."),
    "SQLITE_AUTH": ("cannot be opened", "Check that you may read and write the file."),
    "SQLITE_BUSY": ("is locked by another process", "Wait for the other process and try again."),
    "SQLITE_LOCKED": ("is locked by another process", "Wait for the other process and try again."),
    "08": ("cannot be reached: the connection failed or was lost", "Check the server and try again."),
    "57P": ("cannot be reached: the server is stopping or starting", "Check the server and try again."),
    "53100": ("cannot grow: the server's disk is full", "Make room on the server and try again."),
    "53300": ("cannot be reached: the server has too many connections", "Try again later."),
    "25006": ("is read-only", "Connect to a server that takes writes, not to a standby."),
    "25P03": ("cannot be used: the server ended a transaction that stood still too long", "Try again."),
    "42501": ("may not be used by this user", "Grant the user rights on freegap_ledger and freegap_journal."),
    "55P03": ("is locked by another process", "Wait for the other process and try again."),
    "28": ("refused the user or the password", "Check the URL."),
    "3D000": ("names a database that does not exist", "Create the database or check the URL."),
}
_DAMAGED = ("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_CONSTRAINT", "SQLITE_MISMATCH", "XX", "23", "42P01")


@contextmanager
def in_words(place: str) -> Iterator[None]:
    """Turn database errors within the block into freegap's own; `place` says which ledger."""
    try:
        yield
    except DBAPIError as error:
        raise _explained(error, place) from error
    except SQLAlchemyError as error:
        raise LedgerUnavailable(
            f"The ledger {place} cannot be used ({type(error).__name__}). {_NOTHING_LOST}. Check the URL."
        ) from error


def _explained(error: DBAPIError, place: str) -> LedgerError:
    code = getattr(error.orig, "sqlite_errorname", None) or getattr(error.orig, "sqlstate", None)
    if code is None:
        # psycopg has no code for a server that it cannot reach or that went away.
        code = "08" if "psycopg" in type(error.orig).__module__ else ""
    if code.startswith(_DAMAGED):
        return LedgerDamaged(
            f"The ledger {place} is not a ledger or is damaged ({code}). {_NOTHING_LOST}. "
            "Check the URL, run `freegap budget verify`, and restore the ledger from a backup."
        )
    for beginning, (happened, remedy) in _UNAVAILABLE.items():
        if code.startswith(beginning):
            return LedgerUnavailable(f"The ledger {place} {happened}. {_NOTHING_LOST}. {remedy}")
    reported = code or type(error.orig).__name__
    return LedgerUnavailable(
        f"The ledger {place} got an error from the database ({reported}). {_NOTHING_LOST}. "
        "The cause is shown by the database's own log."
    )
