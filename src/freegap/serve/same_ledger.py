"""The ledger that a service has begun with: none, or another one, in its place would begin the budget anew.

The hash of its first line, which names a ledger whatever its place, is noted beside the tokens. That an older
copy was put back is seen by heads alone: these are noted with every line.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import select

from freegap.budget.ledger import Ledger
from freegap.budget.lines import first_line
from freegap.errors import LedgerDamaged, LedgerUnavailable
from freegap.serve import database
from freegap.serve.database import ServiceDatabase, insert_into

_REMEDY = "Restore it from a backup. If a new one is meant, it goes with a new `people` and new tokens."
_GONE = "The ledger that this service has used is not there, or cannot be reached."
_OTHER = "This is not the ledger that this service has used before."


@contextmanager
def same_ledger(kept: ServiceDatabase, ledger: Ledger) -> Iterator[None]:
    """Within it accounts may be opened: in the ledger of before, or in the first one that there is."""
    noted = kept.run(lambda connection: connection.execute(select(database.ledgers.c.first)).scalars().all())
    if noted:
        try:
            first = first_line(ledger)
        except LedgerUnavailable:
            raise LedgerUnavailable(f"{_GONE} {_REMEDY}") from None
        if first is None or first.hash not in noted:
            raise LedgerDamaged(f"{_OTHER} {_REMEDY}")
    yield
    if not noted and (first := first_line(ledger)) is not None:
        row = {"first": first.hash}
        kept.run(
            lambda connection: connection.execute(
                insert_into(connection, database.ledgers).values(row).on_conflict_do_nothing()
            )
        )
