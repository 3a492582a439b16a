"""Who may do what: the verbs of the service, without HTTP.

| | owner | analyst | auditor |
|---|---|---|---|
| see sources and what is left | all | those with a quota of theirs | all |
| plan | all | where they have a quota | all |
| ask, also as a job | where they have a quota | where they have a quota | no |
| releases, receipts, jobs | all | their own | all |
| accounts, journal, verification | yes | no | yes |
| tokens | yes | no | no |

What somebody may not see is not there: the same error as for what does not exist.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, KeysView
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from freegap.budget.ledger import Ledger
from freegap.budget.lines import lines_of
from freegap.budget.once import Once
from freegap.budget.records import plain
from freegap.budget.statement import charges
from freegap.errors import FreegapError, InvalidArgument, LedgerUnavailable
from freegap.receipts.keys import SigningKey, earlier_keys
from freegap.receipts.receipt import make_receipt
from freegap.serve.database import ServiceDatabase
from freegap.serve.issuer import Issuer
from freegap.serve.jobs import Job, Jobs
from freegap.serve.keys import key_argument
from freegap.serve.pace import Pace, TooMany
from freegap.serve.people import OWN, People, Person
from freegap.serve.plans import Planning, read_plan
from freegap.serve.questions import read_question
from freegap.serve.same_ledger import same_ledger
from freegap.serve.settings import Settings
from freegap.serve.sign_in import sign_in_of
from freegap.serve.sources import Source
from freegap.serve.totals import MONTH
from freegap.serve.work import Asking, amount_of
from freegap.serve.workers import FAILED, WorkerProcesses
from freegap.values.results import Release
from freegap.values.written import json_text

_AT_ONCE = 4
"""Questions of one person that run or wait."""

_AT_ONCE_OF_ALL = 30
"""Each holds a thread while it does, of the 40 that there are: the others are for looking."""

_LOOK = 0.2
"""Seconds between two looks at a question that somebody else's request has asked."""


class Forbidden(FreegapError):
    """This role does not do that."""


class NotThere(FreegapError):
    """There is no such thing, or not for this person."""


class Desk:
    """The service for people who have been recognised."""

    def __init__(self, settings: Settings, workers: WorkerProcesses) -> None:
        self.settings = settings
        self._workers = workers
        self._ledger = Ledger(settings.ledger, heads=settings.heads)
        self.database = ServiceDatabase(settings.people)
        self.people = People(self.database)
        self._issuer = None if settings.oidc is None else Issuer(settings.oidc)
        self.sign_in = sign_in_of(self._issuer, settings.oidc)
        self._pace = Pace(self.database)
        self._jobs = Jobs(self.database, workers)
        self._opened: dict[str, KeysView[str]] = {}
        self._running: Counter[str] = Counter()
        self._lock = threading.Lock()

    def open(self) -> None:
        """Open the accounts of the settings, and make the key. A total that differs from the ledger's is an
        error, and so is a domain that no question could use, and another ledger than before."""
        sources = {name: source.checked() for name, source in self.settings.sources.items()}
        self.settings = replace(self.settings, sources=sources)
        for source in sources.values():
            self._require_same_kind(source)
        for source in sources.values():
            self._open(source)
        self._key()

    def _open(self, source: Source) -> None:
        """Open the accounts of a source; those that are renewed, in each month again."""
        totals = source.totals()
        if self._opened.get(source.name) == totals.keys():
            return
        with same_ledger(self.database, self._ledger):
            for account, total in totals.items():
                amounts: dict[str, Any] = dict(total.amounts)
                self._ledger.create(account, **amounts)
        self._opened[source.name] = totals.keys()

    def _require_same_kind(self, source: Source) -> None:
        """A budget for good that becomes one of months, or the other way round, would begin anew."""
        try:
            known = [account.dataset for account in self._ledger.accounts()]
        except LedgerUnavailable:  # there is none yet; if it is something else, opening an account tells
            return
        for account in known:
            if source.is_dataset(account) and (MONTH in account) != source.budget.monthly:
                raise InvalidArgument(
                    f"sources.{source.name}.budget",
                    account,
                    "is an account of the same people in the ledger, renewed where this is not, or the other "
                    "way round",
                    "Keep the budget as it was, or name the source otherwise if the data are other people's.",
                )

    def known(self, token: str) -> Person | None:
        """Whose token it is: one of the service's own, or of the issuer; None where it is nobody's."""
        if self._issuer is None or token.startswith(OWN):
            return self.people.known(token)
        return self._issuer.known(token)

    def require_pace(self, person: Person) -> None:
        """Refuse what is one request too many in this minute."""
        self._pace.require(person.name, "request", self.settings.limits.requests_per_minute)

    def sources(self, person: Person) -> list[dict[str, Any]]:
        """What may be asked, and what is left of every account that would pay."""
        return [
            {
                **source.public(),
                "accounts": [self._left(account) for account in self._accounts(source, person)],
            }
            for source in self._visible(person).values()
        ]

    def plan(self, person: Person, asked: Any) -> dict[str, Any]:
        """The dry run of a question, and its plan where something is assumed; nothing is charged."""
        self._require_questions(person)
        fields = read_plan(asked, self._visible(person))
        earlier = None if fields.line is None else self.release(person, fields.line)
        planning = Planning(fields, earlier, self.settings.limits.memory_mb)
        with self._room(person):
            made = self._workers.run(planning)
        if made["status"] == "planned" and made["dry_run"] is not None:
            amounts = amount_of(fields.question, fields.source)
            quotas = self.settings.quotas(fields.source, person.name) or []
            made["charges"] = [self._charge(name, amounts) for name in (fields.source.dataset, *quotas)]
        return made

    def ask(
        self, person: Person, asked: Any, key: str | None = None, *, patient: bool = False
    ) -> dict[str, Any]:
        """Answer a question: its outcome, as `work` tells it. With the key of one that was asked before, the
        outcome of that; patient: also where it is still to come."""
        before, asking = self._asking(person, asked, key).looked_up(self._ledger)
        if before is not None and not (patient and before["status"] == "unfinished"):
            return before
        with self._room(person):
            found = before or self._workers.run(asking)
            until = time.monotonic() + self.settings.limits.seconds
            while patient and found["status"] == "unfinished" and time.monotonic() < until:
                time.sleep(_LOOK)
                found = asking.looked_up(self._ledger)[0] or FAILED
            return found

    def start_job(self, person: Person, asked: Any, key: str | None = None) -> dict[str, Any]:
        """Ask, and have the answer later. With the key of a job that was begun before, that job."""
        _, asking = self._asking(person, asked, key).looked_up(self._ledger)
        digest = None if asking.once is None else asking.once.digest
        self._enter(person)
        try:
            job = self._jobs.start(person.name, asking.question, asking, lambda: self._leave(person), digest)
        except BaseException:
            self._leave(person)
            raise
        return self.job(person, job)

    def job(self, person: Person, job: str) -> dict[str, Any]:
        """How a job stands, with its release when it has one."""
        return self._job(person, job).to_dict()

    def jobs(self, person: Person) -> list[dict[str, Any]]:
        """The jobs of the last days, without their releases."""
        found = self._jobs.of(person.name if person.role == "analyst" else None)
        return [{k: v for k, v in job.to_dict().items() if k != "release"} for job in found]

    def cancel_job(self, person: Person, job: str) -> dict[str, Any]:
        """End a job. What it has reserved stays charged."""
        if self._job(person, job).who != person.name and person.role != "owner":
            raise Forbidden("A job is cancelled by whoever began it, or by an owner.")
        self._jobs.cancel(job)
        return self.job(person, job)

    def releases(self, person: Person) -> list[dict[str, Any]]:
        """The charges of the datasets that this person may see, oldest first."""
        visible = self._visible(person).values()
        for source in visible:
            self._ledger.account(source.dataset)  # an error where the ledger is another one
        made = [
            {"dataset": account.dataset, **charge.to_dict()}
            for account in self._ledger.accounts()
            if any(source.is_dataset(account.dataset) for source in visible)
            for charge in charges(self._ledger.entries(account.dataset))
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

    def release_csv(self, person: Person, line: int) -> str:
        """The same as a table. A text that a spreadsheet would take for a formula has a mark before it."""
        return str(Release.from_json(json_text(self.release(person, line))).to_csv())

    def receipt(self, person: Person, line: int) -> bytes:
        """The receipt of a release."""
        self._require_visible(person, line)
        return make_receipt(self._ledger, line, self._key()).to_bytes()

    def key(self) -> str:
        """The public key that receipts are checked with."""
        return self._key().public.text

    def earlier_keys(self) -> list[str]:
        """Those that receipts were signed with before, the oldest first."""
        return [key.text for key in earlier_keys(self.settings.key_file)]

    def accounts(self, person: Person) -> list[dict[str, Any]]:
        """Every account of every source, as it stands."""
        self._require_overseer(person)
        return [
            {
                "source": source.name,
                "level": level,
                "holder": holder,
                "renewed": source.totals()[name].monthly,
                **self._ledger.account(name).to_dict(),
            }
            for source in self._visible(person).values()
            for name, (level, holder) in source.holders().items()
        ]

    def teams(self, person: Person) -> dict[str, list[str]]:
        """Who is in which team."""
        self._require_overseer(person)
        return {team: list(names) for team, names in self.settings.teams.items()}

    def journal(self, person: Person) -> list[dict[str, Any]]:
        """Every line of the ledger."""
        self._require_overseer(person)
        return [entry.to_dict() for entry in self._ledger.entries()]

    def verification(self, person: Person) -> dict[str, Any]:
        """The outcome of reading the whole journal again."""
        self._require_overseer(person)
        return self._ledger.verify().to_dict()

    def tokens(self, person: Person) -> list[dict[str, Any]]:
        """All tokens, without their secrets."""
        self._require_owner(person)
        return [asdict(token) for token in self.people.tokens()]

    def add_token(self, person: Person, name: str, role: str, days: int) -> dict[str, Any]:
        """A new token, which is told this once."""
        self._require_owner(person)
        return {"name": name, "role": role, "token": self.people.add(name, role, days=days)}

    def revoke_token(self, person: Person, number: int) -> dict[str, Any]:
        """End a token now."""
        self._require_owner(person)
        try:
            self.people.revoke(number)
        except InvalidArgument:
            raise NotThere(f"There is no token {number}.") from None
        return {"number": number, "revoked": True}

    def _key(self) -> SigningKey:
        return SigningKey.made(self.settings.key_file)

    def _asking(self, person: Person, asked: Any, key: str | None) -> Asking:
        if person.role == "auditor":
            raise Forbidden("An auditor looks on, and asks nothing.")
        self._require_questions(person)
        allowed = self._sources(whose=person.name)
        question = read_question(asked, allowed)
        source = allowed[question.source]
        return Asking(
            question=question,
            source=source,
            ledger=self.settings.ledger,
            heads=self.settings.heads,
            dataset=source.dataset,
            quotas=tuple(self.settings.quotas(source, person.name) or ()),
            who=person.name,
            memory_mb=self.settings.limits.memory_mb,
            pad_to=self.settings.limits.pad_to,
            once=None if key is None else Once.of(person.name, key_argument(key)),
            seconds=self.settings.limits.seconds,
        )

    def _visible(self, person: Person) -> dict[str, Source]:
        return self._sources(all_of_them=person.role != "analyst", whose=person.name)

    def _sources(self, *, all_of_them: bool = False, whose: str = "") -> dict[str, Source]:
        """The sources that somebody has a quota of, or all; their accounts are open."""
        found = {
            name: source
            for name, source in self.settings.sources.items()
            if all_of_them or self.settings.quotas(source, whose) is not None
        }
        for source in found.values():
            self._open(source)
        return found

    def _accounts(self, source: Source, person: Person) -> list[str]:
        if person.role != "analyst":
            return list(source.totals())
        return [source.dataset, *(self.settings.quotas(source, person.name) or ())]

    def _left(self, name: str) -> dict[str, str]:
        account = self._ledger.account(name)
        return {
            "account": name,
            "unit": account.unit,
            "total": plain(account.total),
            "left": plain(account.remaining),
        }

    def _charge(self, name: str, amounts: dict[str, Any]) -> dict[str, Any]:
        """What an account would be charged at most; None where no theorem lets it pay in this measure."""
        account = self._ledger.account(name)
        try:
            charged: str | None = plain(account.cost(**amounts).amount)
            fits = account.fits(**amounts)
        except InvalidArgument:
            charged, fits = None, False
        return {**self._left(name), "charged_at_most": charged, "fits": fits}

    def _job(self, person: Person, job: str) -> Job:
        found = self._jobs.look(job)
        if found is None or not self._may_see(person, found.who):
            raise NotThere("There is no such job for you.")
        return found

    def _may_see(self, person: Person, who: str) -> bool:
        return person.role != "analyst" or who == person.name

    def _require_visible(self, person: Person, line: int) -> None:
        missing = NotThere(f"There is no release {line} for you.")
        try:
            reserved = lines_of(self._ledger, line).reserved
        except InvalidArgument:
            raise missing from None
        visible = any(source.is_dataset(reserved.dataset) for source in self._visible(person).values())
        if not visible or not self._may_see(person, reserved.who):
            raise missing

    def _require_overseer(self, person: Person) -> None:
        if person.role == "analyst":
            raise Forbidden("This is for owners and auditors.")

    def _require_owner(self, person: Person) -> None:
        if person.role != "owner":
            raise Forbidden("This is for owners.")

    def _require_questions(self, person: Person) -> None:
        self._pace.require(person.name, "question", self.settings.limits.questions_per_minute)

    @contextmanager
    def _room(self, person: Person) -> Iterator[None]:
        """Nobody keeps the others waiting, and those who ask keep nobody from looking."""
        self._enter(person)
        try:
            yield
        finally:
            self._leave(person)

    def _enter(self, person: Person) -> None:
        with self._lock:
            if self._running[person.name] >= _AT_ONCE or self._running.total() >= _AT_ONCE_OF_ALL:
                raise TooMany("Too many questions are waiting. Wait for their answers, and ask again.")
            self._running[person.name] += 1

    def _leave(self, person: Person) -> None:
        with self._lock:
            self._running[person.name] -= 1
