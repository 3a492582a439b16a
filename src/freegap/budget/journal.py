"""The journal within one transaction: read lines, append a line. Lines that are read are checked first."""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Generator, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, func, insert, select, update

from freegap.budget import schema
from freegap.budget.accounting import Balance
from freegap.budget.arguments import name_argument
from freegap.budget.budgets import Budget
from freegap.budget.chain import GENESIS, Line
from freegap.budget.schema import Head
from freegap.errors import InvalidArgument, LedgerDamaged

_BATCH = 1000


class Journal:
    """The lines of a ledger, seen from within a transaction."""

    def __init__(self, connection: Connection, head: Head, place: str) -> None:
        self.head = head
        self._connection = connection
        self._place = place

    def last_line(self, dataset: str) -> Line | None:
        """The newest line of a dataset, which states its account; None where the dataset is unknown."""
        table = schema.journal
        query = select(table).where(table.c.dataset == dataset).order_by(table.c.sequence.desc()).limit(1)
        return self._one(query)

    def newest(self, dataset: Any) -> Line | None:
        """That line, by the name as it was given, composed, or as an older version kept it."""
        name = name_argument("dataset", dataset)
        for spelling in (dataset, name):
            line = self.last_line(spelling)
            if line is not None:
                return line
        kept = self._spellings(name)
        if len(kept) > 1:
            raise InvalidArgument(
                "dataset",
                dataset,
                f"is the name of {len(kept)} datasets in this ledger, which differ in how accents are "
                "encoded",
                "Pass one of " + ", ".join(map(ascii, kept)) + ".",
            )
        return self.last_line(kept[0]) if kept else None

    def known(self, dataset: Any) -> Line:
        """That line, of a dataset that must be there."""
        line = self.newest(dataset)
        if line is None:
            raise InvalidArgument(
                "dataset",
                dataset,
                f"is not in the ledger {self._place}",
                f"Create it first: freegap budget create {shlex.quote(dataset)} --epsilon TOTAL",
            )
        return line

    def _spellings(self, name: str) -> list[str]:
        """The datasets whose names are `name` (in NFC) but for their form in Unicode.

        Older versions kept names as they were typed, so there may be several.
        """
        if name.isascii():  # has one spelling only
            return []
        names = self._connection.execute(select(schema.journal.c.dataset).distinct()).scalars()
        return sorted(other for other in names if unicodedata.normalize("NFC", other) == name)

    def last_lines(self) -> list[Line]:
        """The newest line of every dataset, by name."""
        table = schema.journal
        newest = select(func.max(table.c.sequence)).group_by(table.c.dataset)
        rows = self._connection.execute(select(table).where(table.c.sequence.in_(newest)))
        return sorted((self._checked(row) for row in rows), key=lambda line: line.dataset)

    def line(self, sequence: int) -> Line | None:
        """The line of that number."""
        return self._one(select(schema.journal).where(schema.journal.c.sequence == sequence))

    def closing_line(self, reservation: int) -> Line | None:
        """The line that settled or abandoned a reservation; None while it is open."""
        return self._one(select(schema.journal).where(schema.journal.c.reservation == reservation))

    def lines(
        self,
        dataset: str | None = None,
        *,
        last: int | None = None,
        since: str | None = None,
        checked: bool = True,
    ) -> Generator[Line, None, None]:
        """All lines, or those of one dataset, in order. Who leaves early must close it.

        last: from the reservation on that has so many from it to the end.
        since: from the first line on that is not older.
        """
        table = schema.journal
        query = select(table).order_by(table.c.sequence)
        if dataset is not None:
            query = query.where(table.c.dataset == dataset)
        if since is not None:
            first = query.with_only_columns(table.c.sequence).where(table.c.at >= since).limit(1)
            query = query.where(table.c.sequence >= first.scalar_subquery())
        if last is not None:
            reserved = query.with_only_columns(table.c.sequence).where(table.c.kind == "reserve")
            newest = reserved.order_by(None).order_by(table.c.sequence.desc())
            nth = self._connection.execute(newest.offset(last - 1).limit(1)).scalar_one_or_none()
            query = query if nth is None else query.where(table.c.sequence >= nth)
        with self._connection.execution_options(yield_per=_BATCH).execute(query) as rows:
            for row in rows:
                yield self._checked(row) if checked else _line(row)

    def lines_with(self, dataset: str, text: str) -> list[Line]:
        """The lines of a dataset that reserve or note something with this text in their parameters."""
        table = schema.journal
        query = select(table).where(table.c.dataset == dataset, table.c.kind.in_(("reserve", "note")))
        found = query.where(table.c.parameters.contains(text, autoescape=True)).order_by(table.c.sequence)
        return [self._checked(row) for row in self._connection.execute(found)]

    def reserved_with(self, who: str, text: str, after: int) -> list[Line]:
        """The lines after `after` by which somebody reserved with this text in their parameters."""
        table = schema.journal
        query = select(table).where(table.c.sequence > after, table.c.kind == "reserve", table.c.who == who)
        found = query.where(table.c.parameters.contains(text, autoescape=True)).order_by(table.c.sequence)
        return [self._checked(row) for row in self._connection.execute(found)]

    def append(
        self,
        kind: str,
        dataset: str,
        amount: str,
        budget: Budget,
        balance: Balance,
        *,
        what: str,
        who: str,
        parameters: str = "{}",
        reservation: int | None = None,
    ) -> Line:
        """Write one more line and move the head to it. `balance` is the account after the line.

        amount: what it charges, as the budget writes it.
        """
        self._check_end()
        bare = Line(
            sequence=self.head.sequence + 1,
            dataset=dataset,
            kind=kind,
            reservation=reservation,
            what=what,
            parameters=parameters,
            who=who,
            # In whole seconds: finer times would tell how long a release took, and so something of the data.
            at=now().isoformat(timespec="seconds"),
            previous=self.head.hash,
            amount=amount,
            total=budget.text(),
            spent=budget.cost_text(balance.spent),
            reserved=budget.cost_text(balance.reserved),
        )
        line = replace(bare, hash=bare.digest())
        self._connection.execute(insert(schema.journal).values(asdict(line)))
        self._connection.execute(update(schema.ledger).values(sequence=line.sequence, hash=line.hash))
        self.head = Head(line.sequence, line.hash)
        return line

    def require(self, noted: Mapping[str, Head]) -> None:
        """Refuse a journal that lacks a line whose hash was noted elsewhere, by the name of that place."""
        for place, head in noted.items():
            line = self.line(head.sequence)
            if line is None or line.hash != head.hash:
                raise self.damaged(
                    f"line {head.sequence} as it is noted in {place} is not there; an older copy was put "
                    "back, or lines were replaced, or another ledger notes its head there"
                )

    def _check_end(self) -> None:
        """Charge nothing on a journal whose end is not the one that was recorded."""
        table = schema.journal
        last = self._one(select(table).order_by(table.c.sequence.desc()).limit(1))
        end = Head(last.sequence, last.hash) if last is not None else Head(0, GENESIS)
        if end != self.head:
            raise self.damaged("its end is not the one that was recorded")

    def _one(self, query: Select[Any]) -> Line | None:
        row = self._connection.execute(query).one_or_none()
        return None if row is None else self._checked(row)

    def _checked(self, row: Row[Any]) -> Line:
        line = _line(row)
        if not line.intact:
            raise self.damaged(f"line {line.sequence} does not fit its hash")
        return line

    def damaged(self, reason: str) -> LedgerDamaged:
        """The error for a journal that is not as it was written."""
        return LedgerDamaged(
            f"The journal of the ledger {self._place} was changed from outside: {reason}. "
            "Nothing was charged. Run `freegap budget verify` and restore the ledger from a backup."
        )


def now() -> datetime:
    """The time by this machine's clock. Lines are in the order of their numbers, whatever it says."""
    return datetime.now(UTC)


def _line(row: Row[Any]) -> Line:
    return Line(**row._mapping)
