"""One line of the journal, its hash, and the replay that verifies a journal from its first line.

Each line stores the hash of the line before, the account as it stands after the line, and its own hash over
all of that. So a changed line no longer fits its hash, a removed, inserted or moved line no longer fits its
neighbour, and a journal with recomputed hashes must still be one that the rules of `accounting` allow. The
ledger's head (sequence and hash of the last line) is stored beside the journal, so that lines cut off at the
end show as well.

What a chain cannot show: someone who can write to the database can replace the whole of it, journal and
head, by an older or an invented one. A head that was noted elsewhere shows that (`Ledger.verify(head=...)`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, cast

from freegap.budget.accounting import NOTHING, Balance, BrokenRule, Cost, close, opened, reserve
from freegap.budget.budgets import Budget
from freegap.budget.records import Account, Entry, Kind, Verification, parameters_from_text
from freegap.values.measures import Measure

GENESIS = hashlib.sha256(b"freegap ledger").hexdigest()
"""What the first line has as the hash of the line before."""

_KINDS = ("create", "reserve", "settle", "abandon", "note")
THREAD, AFTER = "thread", "after"
"""Parameters of a release that goes on, and of the notes about it: its name, and the hash of the line before
about it."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A journal line as stored: text and whole numbers only, so that its hash is the same everywhere."""

    sequence: int
    dataset: str
    kind: str
    reservation: int | None
    amount: str
    total: str
    spent: str
    reserved: str
    what: str
    parameters: str
    who: str
    at: str
    previous: str
    hash: str = field(default="")

    def digest(self) -> str:
        """SHA-256 of all other fields, as a JSON list in ASCII; unlike lines have unlike texts."""
        content = [getattr(self, part.name) for part in fields(self) if part.name != "hash"]
        if not all(isinstance(value, str | int | None) for value in content):
            raise BrokenRule("a field must be text or a whole number")
        text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    @property
    def intact(self) -> bool:
        """Whether the line is what its own hash says."""
        try:
            return self.hash == self.digest()
        except BrokenRule:
            return False

    @property
    def budget(self) -> Budget:
        """The budget of the dataset."""
        return Budget.parsed(self.total)

    @property
    def balance(self) -> Balance:
        """The account as it stands after this line."""
        budget = self.budget
        return Balance(budget.total, budget.parsed_cost(self.spent), budget.parsed_cost(self.reserved))

    @property
    def charge(self) -> tuple[Cost, Measure]:
        """What the line charges, and for what; for a new dataset its total."""
        budget = self.budget
        return (budget.total, budget.declared) if self.kind == "create" else budget.parsed_charge(self.amount)

    def account(self) -> Account:
        """The account, for users."""
        return Account(self.dataset, self.budget, self.balance)

    def entry(self) -> Entry:
        """The line for users."""
        cost, asked = self.charge
        return Entry(
            sequence=self.sequence,
            dataset=self.dataset,
            kind=cast(Kind, self.kind),
            reservation=self.reservation,
            amount=cost.amount,
            what=self.what,
            parameters=parameters_from_text(self.parameters),
            who=self.who,
            when=self.at,
            hash=self.hash,
            unit=self.budget.kept.name,
            delta=cost.delta,
            asked=asked,
        )


def verified(lines: Iterable[Line], head: tuple[int, str], *noted: str | None) -> Verification:
    """Replay a journal from its first line against its head, and against heads that were noted earlier.

    Reads the lines one by one and keeps one balance a dataset, the open reservations, and the newest line
    about each release that goes on; nothing else.
    """
    replay = _Replay()
    unseen = {*noted} - {None, GENESIS}
    for line in lines:
        reason = replay.wrong_with(line)
        if reason is not None:
            return Verification(False, replay.sequence, replay.hash, replay.sequence + 1, reason)
        unseen.discard(line.hash)
    if (replay.sequence, replay.hash) != head:
        reason = f"the journal ends after line {replay.sequence}, but the ledger has recorded {head[0]} lines"
        if replay.sequence == head[0]:
            reason = "the last line is not the one that the ledger has recorded as its last"
        return Verification(False, replay.sequence, replay.hash, replay.sequence + 1, reason)
    if unseen:
        reason = (
            "no line has the hash that was noted earlier: lines were replaced or an older copy was put back"
        )
        return Verification(False, replay.sequence, replay.hash, None, reason)
    return Verification(True, replay.sequence, replay.hash)


class _Replay:
    """The state of a journal after some of its lines."""

    def __init__(self) -> None:
        self.sequence = 0
        self.hash = GENESIS
        self._balances: dict[str, tuple[Budget, Balance]] = {}
        self._open: dict[int, tuple[str, Cost, Measure]] = {}
        self._threads: dict[tuple[str, str], tuple[str, Measure]] = {}
        self._paying: dict[int, tuple[str, str]] = {}

    def wrong_with(self, line: Line) -> str | None:
        """Take one more line; a text says what is wrong with it, and then the state stays as it was."""
        if line.sequence != self.sequence + 1:
            return (
                f"line {self.sequence + 1} is missing: after line {self.sequence} comes line {line.sequence}"
            )
        if not line.intact:
            return "its content does not fit its hash: the line was changed"
        if line.previous != self.hash:
            return "it does not follow the line before: a line was changed, removed, inserted or moved"
        try:
            self._apply(line)
        except (BrokenRule, KeyError) as fault:
            text = "it closes a reservation that is not open" if isinstance(fault, KeyError) else str(fault)
            return f"it breaks the rules of the ledger: {text}"
        self.sequence, self.hash = line.sequence, line.hash
        return None

    def _apply(self, line: Line) -> None:
        budget = line.budget
        cost, asked = line.charge
        said = line.entry().parameters  # what users are shown must be readable
        if line.kind == "create":
            if line.dataset in self._balances:
                raise BrokenRule("a dataset must be created once")
            if line.amount != line.total:
                raise BrokenRule("a dataset must be created with its total")
            after = opened(cost)
            budget.check()
        elif line.dataset not in self._balances:
            raise BrokenRule("a dataset must be created before it is charged")
        else:
            known, before = self._balances[line.dataset]
            if line.kind == "note":
                self._require_next_note(line, said, cost, asked)
                after = before
            else:
                after = self._charged(line, before, cost, asked)
            if budget != known:
                raise BrokenRule("the total and its measure must stay as they were declared")
            budget.check_charge(cost, asked)
        if line.kind in ("create", "reserve", "note") and line.reservation is not None:
            raise BrokenRule("only a settled or abandoned line may name a reservation")
        if after != line.balance:
            raise BrokenRule("the account that it states must be what the lines before it add up to")
        self._balances[line.dataset] = budget, after
        thread = (line.dataset, str(said.get(THREAD)))
        if line.kind == "note":
            self._threads[thread] = line.hash, self._threads[thread][1]
        elif line.kind == "reserve":
            self._open[line.sequence] = (line.dataset, cost, asked)
            if isinstance(said.get(THREAD), str) and thread not in self._threads:
                self._threads[thread] = line.hash, asked
                self._paying[line.sequence] = thread
        elif line.reservation is not None:
            del self._open[line.reservation]
            paid = self._paying.pop(line.reservation, None)
            if paid is not None and line.kind == "abandon":
                del self._threads[paid]

    def _require_next_note(self, line: Line, said: dict[str, Any], cost: Cost, asked: Measure) -> None:
        """A note is about a release that was reserved for, follows the one before, and charges nothing."""
        newest, reserved_for = self._threads.get((line.dataset, str(said.get(THREAD))), (None, None))
        if newest is None or newest != said.get(AFTER):
            raise BrokenRule("a note must follow the line before it about the same release")
        if cost != NOTHING or asked.spent or type(asked) is not type(reserved_for):
            raise BrokenRule("a note must charge nothing, in the measure of its release")

    def _charged(self, line: Line, before: Balance, cost: Cost, asked: Measure) -> Balance:
        """The account after a line that reserves, settles or abandons."""
        if line.kind == "reserve":
            return reserve(before, cost)
        if line.kind not in _KINDS:
            raise BrokenRule("the kind of a line must be create, reserve, settle, abandon or note")
        dataset, held, reserved_for = self._open[_known(line.reservation)]
        if dataset != line.dataset:
            raise BrokenRule("a reservation must be closed on its own dataset")
        if line.kind == "abandon" and cost != NOTHING:
            raise BrokenRule("an abandoned reservation must have spent nothing")
        if type(asked) is not type(reserved_for):
            raise BrokenRule("a reservation must be closed in its own measure")
        if line.kind == "settle" and type(asked) is not line.budget.kept and cost != held:
            raise BrokenRule("a release in another measure than the budget's must be settled in full")
        return close(before, held, cost)


def _known(reservation: Any) -> int:
    if not isinstance(reservation, int):
        raise BrokenRule("a settled or abandoned line must name its reservation")
    return reservation
