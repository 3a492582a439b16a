"""Where the head of a ledger is noted after every line, so that an older copy that is put back is noticed.

Nothing inside a database can show that all of it was replaced. So number and hash of the last line are noted
in another place, which whoever can write to the ledger should not be able to write to:

| place | what it is |
|---|---|
| a path | a file with the newest head, replaced whole |
| sqlite:///… or postgresql://… | a second database, with a table `freegap_heads` of all heads |
| syslog | lines in the system's log; they are not read back: `freegap budget verify --head` takes one |

One place notes one ledger. A head is noted when its line is durable, so a crash in between leaves an older
head noted, which the ledger still has; it never leaves one that the ledger does not have.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from sqlalchemy import BigInteger, Column, MetaData, NullPool, Table, Text, create_engine, insert, select
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from freegap.budget.location import locate
from freegap.budget.schema import Head
from freegap.errors import InvalidArgument, LedgerDamaged, LedgerUnavailable, MissingExtra

_table = Table(
    "freegap_heads",
    MetaData(),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("hash", Text, nullable=False),
)


class HeadPlace(Protocol):
    """A place where heads are noted."""

    name: str

    def newest(self) -> Head | None:
        """What was noted last; None where nothing was, or where it cannot be read back."""

    def note(self, head: Head) -> None:
        """Note a head that is durable, unless a newer one is noted."""


def head_places(heads: str | os.PathLike[str] | Iterable[str] | None) -> tuple[HeadPlace, ...]:
    """The places, as told or as FREEGAP_HEADS lists them, separated by blanks.

    >>> [place.name for place in head_places(["/var/lib/freegap/head", "syslog"])]
    ['/var/lib/freegap/head', 'syslog']
    """
    if heads is None:
        heads = os.environ.get("FREEGAP_HEADS", "").split()
    listed = [os.fspath(heads)] if isinstance(heads, str | os.PathLike) else list(heads)
    if not all(isinstance(place, str) and place for place in listed):
        raise InvalidArgument(
            "heads", heads, "must be places as text", 'Pass for example heads="/var/lib/freegap/head".'
        )
    return tuple(_place(place) for place in listed)


def _place(place: str) -> HeadPlace:
    if place == "syslog":
        return _Syslog()
    return _Database(place) if "://" in place else _File(Path(place).absolute())


class _File:
    def __init__(self, file: Path) -> None:
        self.name = str(file)
        self._file = file

    def newest(self) -> Head | None:
        try:
            words = self._file.read_text(encoding="ascii").split()
            return Head(int(words[0]), words[1])
        except FileNotFoundError as missing:
            if not self._file.parent.is_dir():  # said before a line is written that could not be noted
                raise _unusable(self.name, str(missing.strerror)) from None
            return None
        except OSError as error:
            raise _unusable(self.name, str(error.strerror)) from None
        except (ValueError, IndexError):
            raise _not_a_head(self.name) from None

    def note(self, head: Head) -> None:
        with _alone_in(self._file.parent):
            noted = self.newest()
            if noted is None or noted.sequence < head.sequence:
                self._replace(head)

    def _replace(self, head: Head) -> None:
        try:
            descriptor, apart = tempfile.mkstemp(dir=self._file.parent, prefix=".freegap-")
            try:
                with os.fdopen(descriptor, "w", encoding="ascii") as written:
                    written.write(f"{head.sequence} {head.hash}\n")
                    written.flush()
                    os.fsync(descriptor)
                Path(apart).replace(self._file)
                _sync(self._file.parent)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(apart)
        except OSError as error:
            raise _unusable(self.name, str(error.strerror)) from None


def _sync(folder: Path) -> None:
    """Make durable which files a folder has: else a power cut could bring the replaced one back.

    Where the system can: Windows opens no folder, and some file systems sync none.
    """
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """One after the other, where the system can: else whoever read before another wrote puts an older head
    over a newer one."""
    with ExitStack() as held:
        with suppress(ImportError, OSError):
            import fcntl

            descriptor = os.open(folder, os.O_RDONLY)
            held.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # Closing is not enough: a child that was forked in the meantime has the descriptor too.
            held.callback(fcntl.flock, descriptor, fcntl.LOCK_UN)
        yield


class _Database:
    def __init__(self, url: str) -> None:
        location = locate(url)
        self.name = str(location)
        try:
            self._engine = create_engine(location.url, poolclass=NullPool, hide_parameters=True)
        except ModuleNotFoundError:
            raise MissingExtra("psycopg", "postgres") from None

    def newest(self) -> Head | None:
        try:
            with self._engine.begin() as connection:
                _table.create(connection, checkfirst=True)
                row = connection.execute(select(_table).order_by(_table.c.sequence.desc()).limit(1)).first()
        except SQLAlchemyError as error:
            raise _unusable(self.name, type(error).__name__) from None
        return None if row is None else Head(row.sequence, row.hash)

    def note(self, head: Head) -> None:
        try:
            with suppress(IntegrityError), self._engine.begin() as connection:  # noted already
                connection.execute(insert(_table).values(sequence=head.sequence, hash=head.hash))
        except SQLAlchemyError as error:
            raise _unusable(self.name, type(error).__name__) from None


class _Syslog:
    name = "syslog"

    def __init__(self) -> None:
        if find_spec("syslog") is None:
            raise InvalidArgument(
                "heads", "syslog", "is not known to this system", "Name a file or a database."
            )

    def newest(self) -> Head | None:
        return None

    def note(self, head: Head) -> None:
        import syslog

        text = f"freegap ledger: line {head.sequence}, head {head.hash}"
        syslog.syslog(syslog.LOG_NOTICE | syslog.LOG_AUTH, text)


def _unusable(name: str, reason: str) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"The head of the ledger cannot be noted in {name}, or read there ({reason}). What was reserved "
        "stays charged. Make that place usable, or name another in FREEGAP_HEADS or heads=."
    )


def _not_a_head(name: str) -> LedgerDamaged:
    return LedgerDamaged(
        f"{name} should hold the head of a ledger, and does not. Look who has written to it; if it never was "
        "the head of a ledger, name another place."
    )
