"""Releases that go on for days, and what they say meanwhile: notes in the journal.

A release that answers question after question (`freegap.tables.watch`) is reserved and settled once, and
then says something each time. Each of these is a line of the kind "note". It charges nothing. It names the
*thread*, which is a parameter of the reservation as well, and the hash of the line about it that came before:
that of the reservation, or of the newest note. So notes are in one order that nobody can choose anew, and
none can be left out or written twice: whoever writes one says which was the newest when the answer was made,
and is refused where another came in between (compare and swap, under the lock that all writers of a ledger
take).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.budget.accounting import NOTHING
from freegap.budget.arguments import parameters_text
from freegap.budget.chain import AFTER, THREAD, Line
from freegap.budget.journal import Journal
from freegap.budget.ledger import Ledger
from freegap.budget.records import Entry
from freegap.budget.schema import Head


@dataclass(frozen=True)
class Thread:
    """A release that goes on, as the ledger knows it at one moment.

    dataset: as the ledger writes it.
    first: the first line of the ledger, which tells it from others.
    reserved: the line that reserved for it; None where there is none, or it was given back.
    notes: what was noted about it, in this order.
    """

    dataset: str
    name: str
    first: Head
    reserved: Entry | None
    notes: tuple[Entry, ...]

    @property
    def newest(self) -> Head:
        """The newest line about it; the first line of the ledger where there is none."""
        for entry in (*self.notes[-1:], self.reserved):
            if entry is not None:
                return Head(entry.sequence, entry.hash)
        return self.first


def thread_of(ledger: Ledger, dataset: str, name: str, noted: Mapping[str, Head] | None = None) -> Thread:
    """All lines about a release that goes on, from one state of the ledger.

    noted: lines that must be there, by where they are noted; else the ledger is not the one that it was.
    """
    with ledger._store.journal(write=False) as journal:
        journal.require(noted or {})
        return _read(journal, journal.known(dataset).dataset, name)


def note(ledger: Ledger, thread: Thread, what: str, said: Mapping[str, Any]) -> Thread | None:
    """Write the next note, durably when this returns; None, and nothing is written, if another came first.

    what, said: public, since whoever reads the ledger reads them.
    """
    text = parameters_text({**said, THREAD: thread.name, AFTER: thread.newest.hash})
    with ledger._store.journal(write=True) as journal:
        now = _read(journal, thread.dataset, thread.name)
        if now.reserved is None or now.newest != thread.newest:
            return None
        last = journal.known(thread.dataset)
        line = journal.append(
            "note",
            thread.dataset,
            last.budget.charge_text(NOTHING, now.reserved.asked.of(Fraction(0))),
            last.budget,
            last.balance,
            what=what,
            who=ledger._who(),
            parameters=text,
        )
    return Thread(now.dataset, now.name, now.first, now.reserved, (*now.notes, line.entry()))


def _read(journal: Journal, dataset: str, name: str) -> Thread:
    first = journal.line(1)
    if first is None:
        raise journal.damaged("its first line is not there")
    lines = [line for line in journal.lines_with(dataset, name) if _is_about(line, name)]
    reserved = next(
        (line for line in lines if line.kind == "reserve" and not _abandoned(journal, line)), None
    )
    notes = [line for line in lines if line.kind == "note"]
    before = reserved
    for line in notes:
        if before is None or line.entry().parameters.get(AFTER) != before.hash:
            raise journal.damaged(
                f"line {line.sequence} does not follow the line before it about its release"
            )
        before = line
    return Thread(
        dataset,
        name,
        Head(first.sequence, first.hash),
        None if reserved is None else reserved.entry(),
        tuple(line.entry() for line in notes),
    )


def _abandoned(journal: Journal, reserved: Line) -> bool:
    """Whether nobody pays for it."""
    closed = journal.closing_line(reserved.sequence)
    return closed is not None and closed.kind == "abandon"


def _is_about(line: Line, name: str) -> bool:
    return line.entry().parameters.get(THREAD) == name
