"""Which database a URL names: a SQLite file or a PostgreSQL database, and nothing that forgets."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from freegap.errors import REDACTED, InvalidArgument

_REMEDY = 'Pass for example "ledger.db", "sqlite:///ledger.db" or "postgresql://user@host/database".'


@dataclass(frozen=True)
class Location:
    """A database. `file` is the SQLite file, absolute: a change of directory must not change the ledger."""

    url: URL
    file: Path | None
    default: bool = False

    @staticmethod
    def of_file(file: Path, *, default: bool = False) -> Location:
        """A SQLite file."""
        file = file.absolute()
        return Location(URL.create("sqlite", database=str(file)), file, default)

    def __str__(self) -> str:
        """The URL as it may be shown: without a password, wherever in it one may stand."""
        options = {name: "***" if "password" in name else value for name, value in self.url.query.items()}
        return self.url.set(query=options).render_as_string(hide_password=True)


def locate(url: str | None) -> Location:
    """The database of `url`, or of FREEGAP_LEDGER, or else a file in the user's data directory."""
    argument = "url"
    if url is None:
        argument, url = "FREEGAP_LEDGER", os.environ.get("FREEGAP_LEDGER") or None
    if url is None:
        return Location.of_file(default_file(), default=True)
    if not isinstance(url, str):
        raise InvalidArgument(argument, url, "must be a database URL", _REMEDY)
    try:
        url.encode()  # a text with half a character names nothing
        if Path(url).name and re.fullmatch(r"(?!.*://)[^@=?\0]+", url, re.DOTALL):
            return Location.of_file(Path(url).expanduser())  # a path; what may hold a password is none
        parsed = make_url(url)
    except (ArgumentError, ValueError, RuntimeError):  # a port that is no number, a home that is nobody's
        # The text may hold a password, so it is not shown.
        raise InvalidArgument(argument, REDACTED, "is not a database URL", _REMEDY) from None
    if parsed.drivername in ("sqlite", "sqlite+pysqlite"):
        return _sqlite_from(argument, parsed)
    if parsed.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return Location(parsed.set(drivername="postgresql+psycopg"), None)
    raise InvalidArgument(argument, parsed.drivername, "is neither SQLite nor PostgreSQL", _REMEDY)


def default_file() -> Path:
    """The ledger of this user, by the customs of the operating system.

    >>> default_file().name
    'ledger.db'
    """
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
        if not base.is_absolute():  # the XDG specification says to ignore such a value
            base = home / ".local" / "share"
    return base / "freegap" / "ledger.db"


def _sqlite_from(argument: str, url: URL) -> Location:
    if not url.database or url.database == ":memory:":
        raise InvalidArgument(
            argument, str(url), "names a database in memory, which forgets what was spent", _REMEDY
        )
    if url.query or url.database.startswith("file:"):
        raise InvalidArgument(
            argument, str(url), "must name a plain file, without options", 'Pass "sqlite:///ledger.db".'
        )
    return Location.of_file(Path(url.database))
