"""Who may do what: the verbs of the service, without HTTP.

| | owner | analyst | auditor |
|---|---|---|---|
| see sources and what is left | all | those with a quota of theirs | all |
| ask | where they have a quota | where they have a quota | no |
| releases and receipts | all | their own | all |
| journal, verification | yes | no | yes |

What somebody may not see is not there: the same error as for what does not exist.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from freegap.budget.ledger import Ledger
from freegap.budget.lines import lines_of
from freegap.budget.records import plain
from freegap.budget.statement import charges
from freegap.errors import FreegapError, InvalidArgument
from freegap.receipts.keys import SigningKey
from freegap.receipts.receipt import make_receipt
from freegap.serve.people import Person
from freegap.serve.questions import read_question
from freegap.serve.settings import Settings, Source
from freegap.serve.work import Job
from freegap.tables.domains import require_usable

_MINUTE = 60
_AT_ONCE = 4
"""Questions of one person that run or wait."""

_AT_ONCE_OF_ALL = 30
"""Each holds a thread while it does, of the 40 that there are: the others are for looking."""


class Forbidden(FreegapError):
    """This role does not do that."""


class NotThere(FreegapError):
    """There is no such thing, or not for this person."""


class TooMany(FreegapError):
    """More questions in a minute than the owner allows, or more at once than there is room for."""


class Desk:
    """The service for people who have been recognised.

    run: answers a job; `WorkerProcesses.run`.
    """

    def __init__(self, settings: Settings, run: Callable[[Job], dict[str, Any]]) -> None:
        self.settings = settings
        self._run = run
        self._ledger = Ledger(settings.ledger, heads=settings.heads)
        self._asked: dict[str, deque[float]] = defaultdict(deque)
        self._running: Counter[str] = Counter()
        self._lock = threading.Lock()

    def open(self) -> None:
        """Open the accounts of the settings. A total that differs from the ledger's is an error, and so is a
        domain that no question could use: who asks would only hear that it cannot be answered."""
        for source in self.settings.sources.values():
            for item, domain in source.items.items():
                try:
                    require_usable(domain, item)
                except InvalidArgument as error:
                    where = f"sources.{source.name}.items.{item}"
                    raise InvalidArgument(where, error.value, error.constraint, error.remedy) from None
        for source in self.settings.sources.values():
            for account, total in source.totals().items():
                amounts: dict[str, Any] = dict(total)
                self._ledger.create(account, **amounts)

    def sources(self, person: Person) -> list[dict[str, Any]]:
        """What may be asked, and what is left of every account that would pay."""
        return [
            {
                **source.public(),
                "accounts": [self._left(account) for account in self._accounts(source, person)],
            }
            for source in self._visible(person).values()
        ]

    def ask(self, person: Person, asked: Any) -> dict[str, Any]:
        """Answer a question: its outcome, as `work` tells it."""
        if person.role == "auditor":
            raise Forbidden("An auditor looks on, and asks nothing.")
        self._require_pace(person)
        source, question = self._read(person, asked)
        job = Job(
            question=question,
            source=source,
            ledger=self.settings.ledger,
            heads=self.settings.heads,
            quotas=tuple(self.settings.quotas(source, person.name) or ()),
            who=person.name,
            memory_mb=self.settings.limits.memory_mb,
            pad_to=self.settings.limits.pad_to,
        )
        with self._room(person):
            return self._run(job)

    def releases(self, person: Person) -> list[dict[str, Any]]:
        """The charges of the datasets that this person may see, oldest first."""
        made = [
            {"dataset": name, **charge.to_dict()}
            for name in self._visible(person)
            for charge in charges(self._ledger.entries(name))
            if self._may_see(person, charge.who)
        ]
        return sorted(made, key=lambda charge: int(charge["sequence"]))

    def release(self, person: Person, line: int) -> dict[str, Any]:
        """A release again, for nothing."""
        self._require_visible(person, line)
        try:
            return self._ledger.release(line)
        except InvalidArgument:
            raise NotThere(f"Line {line} has no release that is kept.") from None

    def receipt(self, person: Person, line: int) -> bytes:
        """The receipt of a release."""
        self._require_visible(person, line)
        return make_receipt(self._ledger, line, SigningKey.made(self.settings.key_file)).to_bytes()

    def journal(self, person: Person) -> list[dict[str, Any]]:
        """Every line of the ledger."""
        self._require_overseer(person)
        return [entry.to_dict() for entry in self._ledger.entries()]

    def verification(self, person: Person) -> dict[str, Any]:
        """The outcome of reading the whole journal again."""
        self._require_overseer(person)
        return self._ledger.verify().to_dict()

    def _read(self, person: Person, asked: Any) -> tuple[Source, Any]:
        allowed = {
            name: source
            for name, source in self.settings.sources.items()
            if self.settings.quotas(source, person.name) is not None
        }
        question = read_question(asked, allowed)
        return allowed[question.source], question

    def _visible(self, person: Person) -> dict[str, Source]:
        return {
            name: source
            for name, source in self.settings.sources.items()
            if person.role != "analyst" or self.settings.quotas(source, person.name) is not None
        }

    def _accounts(self, source: Source, person: Person) -> list[str]:
        if person.role != "analyst":
            return list(source.totals())
        return [source.name, *(self.settings.quotas(source, person.name) or ())]

    def _left(self, name: str) -> dict[str, str]:
        account = self._ledger.account(name)
        return {
            "account": name,
            "unit": account.unit,
            "total": plain(account.total),
            "left": plain(account.remaining),
        }

    def _may_see(self, person: Person, who: str) -> bool:
        return person.role != "analyst" or who == person.name

    def _require_visible(self, person: Person, line: int) -> None:
        missing = NotThere(f"There is no release {line} for you.")
        try:
            reserved = lines_of(self._ledger, line).reserved
        except InvalidArgument:
            raise missing from None
        if reserved.dataset not in self._visible(person) or not self._may_see(person, reserved.who):
            raise missing

    def _require_overseer(self, person: Person) -> None:
        if person.role == "analyst":
            raise Forbidden("The journal is for owners and auditors.")

    @contextmanager
    def _room(self, person: Person) -> Iterator[None]:
        """Nobody keeps the others waiting, and those who ask keep nobody from looking."""
        with self._lock:
            if self._running[person.name] >= _AT_ONCE or self._running.total() >= _AT_ONCE_OF_ALL:
                raise TooMany("Too many questions are waiting. Wait for their answers, and ask again.")
            self._running[person.name] += 1
        try:
            yield
        finally:
            with self._lock:
                self._running[person.name] -= 1

    def _require_pace(self, person: Person) -> None:
        now = time.monotonic()
        with self._lock:
            asked = self._asked[person.name]
            while asked and asked[0] <= now - _MINUTE:
                asked.popleft()
            if len(asked) >= self.settings.limits.questions_per_minute:
                raise TooMany("You have asked as often as one may in a minute. Wait, and ask again.")
            asked.append(now)
