"""A release that is paid once, however often it is asked for.

Whoever asks names the question with a key of their own, and sends the same key if they must ask again because
no answer came. The line that reserves for the release has the key among its parameters, as a digest with the
name of who asked. Whether there is such a line is looked up again under the lock under which a new one would
be written: of several who ask at the same time, in whatever process, one reserves, and the others find its
line. A line that was given back does not count: nobody has paid for it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from freegap.errors import FreegapError

if TYPE_CHECKING:
    from freegap.budget.chain import Line
    from freegap.budget.journal import Journal
    from freegap.budget.ledger import Ledger

KEY = "idempotency_key"
"""The name of the digest among the parameters of a line."""


class AskedBefore(FreegapError):
    """A release with this key was reserved before, and nothing was reserved now. line: of that one."""

    def __init__(self, line: int) -> None:
        super().__init__(f"A release with this key was reserved before, in line {line}.")
        self.line = line


@dataclass(frozen=True)
class Once:
    """digest: of a key and of whose it is. after: a line up to which no reservation has it."""

    digest: str
    after: int = 0

    @classmethod
    def of(cls, who: str, key: str) -> Once:
        """By the key of somebody. Two people with one key have two.

        >>> Once.of("ann", "7").digest == Once.of("bob", "7").digest
        False
        """
        return cls(hashlib.sha256(f"{len(who)} {who} {key}".encode()).hexdigest())


def reserved_before(journal: Journal, who: str, once: Once) -> Line | None:
    """The line that reserved with this key, unless what it held was given back."""
    for line in journal.reserved_with(who, once.digest, once.after):
        closed = journal.closing_line(line.sequence)
        if line.entry().parameters.get(KEY) == once.digest and (closed is None or closed.kind != "abandon"):
            return line
    return None


def look_up(ledger: Ledger, who: str, once: Once) -> tuple[Line | None, Once]:
    """That line, if there is one now; and what is left to look through later, when one would be written."""
    with ledger._store.journal(write=False) as journal:
        return reserved_before(journal, who, once), Once(once.digest, journal.head.sequence)
