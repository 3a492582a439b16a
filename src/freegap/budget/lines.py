"""The lines of the journal that one release is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from freegap.budget.chain import Line
from freegap.errors import InvalidArgument
from freegap.values.rationals import count_argument

if TYPE_CHECKING:
    from freegap.budget.ledger import Ledger


@dataclass(frozen=True)
class LinesOfRelease:
    """first: of the journal, which names the ledger whatever its place. reserved, closed: of the release;
    closed is None while it is open."""

    first: Line
    reserved: Line
    closed: Line | None


def first_line(ledger: Ledger) -> Line | None:
    """The first line of the journal, which names the ledger whatever its place; None where it has none."""
    with ledger._store.journal(write=False) as journal:
        return journal.line(1)


def lines_of(ledger: Ledger, number: int) -> LinesOfRelease:
    """The lines of the release whose reservation is line `number`, from one state of the ledger."""
    count_argument("line", number)
    with ledger._store.journal(write=False) as journal:
        first, reserved = journal.line(1), journal.line(number)
        closed = journal.closing_line(number)
    if first is None or reserved is None or reserved.kind != "reserve":
        raise InvalidArgument(
            "line",
            number,
            "is not the line of a release in this ledger",
            "Pass a line that `freegap budget show` lists.",
        )
    return LinesOfRelease(first, reserved, closed)
