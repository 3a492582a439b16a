"""A watch: one count of people, asked about day after day, and an alert when it passes a threshold.

Input    for each question, which has a public name such as a date: the number of distinct people who have one
         item in the table as it is then
Noise    that of the online sparse vector, one for the threshold and one for each question. All of it is a
         function of a key of 256 bits, which is drawn once, and of the name of the question
Release  for each question that it is below, or above and by how much, until k were above
Charge   ε, all of it when the watch begins
Theorem  Ding 2020, theorem 5.3, which holds for questions that depend on earlier replies. Neighbours are all
         tables of all questions, with and without all rows of one person: each count differs by at most one,
         and all in the same direction, however often that person occurs

The state of a watch is a file: the key, what was asked for, and all replies.

- A ledger has charged ε before the file is written, and the file is on the disk before anything is compared.
- A reply is on the disk before it is shown. After a crash before that, nobody has seen it, and the question
  is as if it had not been asked; after a later one, the reply stands in the file.
- The threshold is never drawn again: the key is its noise. A question that has a reply gets it again, and
  the table is not looked at. One that has none has noise of its own, at an address that the key and its name
  tell (BLAKE2b with the key, of which nobody can find two names with one address).
- One process at a time: the others are refused.

The key tells the noise, so the file is as secret as the counts: a file that others may read is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged, ledger_argument, require
from freegap.errors import BudgetSpent, FreegapError, InvalidArgument
from freegap.exact.digits import KeyedDigits
from freegap.exact.noisy_threshold import BELOW
from freegap.mechanisms.sparse_vector import noisy_threshold
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.tables.described import SourceTable
from freegap.tables.people import counted
from freegap.tables.results import PrivacyUnit
from freegap.values.columns import Column
from freegap.values.plans import PlainPlan
from freegap.values.rationals import Rational
from freegap.values.remarks import remarks_on
from freegap.values.results import Release
from freegap.values.thresholds import read_threshold
from freegap.values.written import as_double, jsonable, readable

FORMAT = "freegap watch 1"
_LONGEST_NAME = 100
_KEY_BITS = 256


@dataclass(frozen=True, kw_only=True)
class WatchReport(Release):
    """All replies of a watch so far, in the order in which they were asked for.

    newest: the question that was asked now. alert: whether it was above.
    gap_multiples: by how much each was above, in multiples of `resolution`; None below.
    left: so many more questions can be above.
    privacy: what ε protects.
    """

    questions: tuple[str, ...]
    gap_multiples: tuple[int | None, ...]
    newest: str
    left: int
    threshold: Fraction
    resolution: Fraction
    privacy: PrivacyUnit

    @property
    def alert(self) -> bool:
        """Whether the question that was asked now was above."""
        return self.gap_multiples[self.questions.index(self.newest)] is not None

    @property
    def title(self) -> str:
        """One line that says what this is."""
        return (
            f"{self.newest}: {'ALERT, above' if self.alert else 'below'} {self.threshold} people, privately"
        )

    def columns(self) -> list[Column]:
        """Question, whether it was above, and an estimate of the people where it was."""
        people = [None if m is None else self.threshold + m * self.resolution for m in self.gap_multiples]
        return [
            Column("question", self.questions),
            Column("reply", tuple("below" if m is None else "above" for m in self.gap_multiples)),
            Column("people", tuple(people), float, "estimate", ",.1f"),
        ]

    def footnotes(self) -> list[str]:
        """What was spent, what is left, and what is protected."""
        _, *warnings = super().footnotes()
        left = f"{self.left} more questions can be above"
        return [left, self.cost(readable), *remarks_on(self.asked), *self.privacy.lines(), *warnings]

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        above = [None if m is None else as_double(m * self.resolution) for m in self.gap_multiples]
        return {
            "release": "watch",
            "question": self.newest,
            "alert": self.alert,
            "left": self.left,
            "questions": list(self.questions),
            "gaps": above,
            "threshold": str(self.threshold),
            "resolution": jsonable(self.resolution),
            "privacy": self.privacy.to_dict(),
            "remarks": remarks_on(self.asked),
            **self._common(),
        }


def watch(
    table: Any,
    *,
    item: str,
    of: Any,
    person: str,
    threshold: Rational,
    k: int,
    epsilon: Rational,
    state: str | Path,
    question: str,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> WatchReport:
    """Ask whether more people than a threshold have one item; begin the watch where it has no state yet.

    of: the item whose people are counted.
    k: how many questions may be above before the watch is over.
    epsilon: for all questions together; charged when the watch begins.
    state: the path of the watch's file. It holds a secret; do not copy it or put an older one back.
    question: a public name, such as the date. The same name again gets the same reply.

    >>> import pyarrow, tempfile, freegap as fg
    >>> visits = pyarrow.table({"code": ["flu"] * 90, "patient": range(90)})
    >>> asked = {"item": "code", "of": "flu", "person": "patient", "threshold": 50, "k": 1, "epsilon": 2}
    >>> state = f"{tempfile.mkdtemp()}/flu.watch"
    >>> watch(visits[:9], **asked, state=state, question="Monday", bits=fg.SeededBits(1)).alert
    False
    >>> watch(visits, **asked, state=state, question="Tuesday", bits=fg.SeededBits(1)).alert
    True
    """
    plan = ThresholdPlan.read("SparseVector", k=k, epsilon=epsilon, monotonic=True)
    bar = read_threshold(threshold, discrete=False)
    name = _question_argument(question)
    said = {"item": item, "of": str(of), "person": person, "threshold": str(bar), "k": plan.k}
    said["epsilon"] = str(plan.epsilon)
    if isinstance(table, SourceTable) and table.where is not None:
        said["where"] = str(table.where)
    source = source_or_system(bits)
    account = ledger_argument(ledger)
    path = _path_argument(state)
    with _locked(path):
        kept = _read(path, said)
        replies: dict[str, int | None] = {} if kept is None else kept["replies"]
        if name not in replies:
            _require_left(plan, replies)
            if kept is None:
                require(account, plan.asked)
            offset = _people(table, item, of, person) - bar  # an error from here on has drawn nothing
            if kept is None:
                kept = _begun(path, plan, said, account, source)
            bar_with_noise = noisy_threshold(plan, KeyedDigits(_KeptKey(kept["key"]), 0))
            branch, multiple = bar_with_noise.one(_number(name, kept["key"]), offset)
            replies = {**replies, name: None if branch == BELOW else multiple}
            _write(path, {**kept, "replies": replies})
        return _report(plan, said, kept or {}, replies, name, bar)


@dataclass(frozen=True)
class _Begun:
    """What the ledger is told: nothing but the charge."""

    spent: Fraction


class _KeptKey:
    """The key of a watch as a source of bits, which has it once."""

    private = True

    def __init__(self, key: str) -> None:
        self._key = int(key, 16)

    def bits(self, n: int) -> int:
        """The key."""
        if n != _KEY_BITS:
            raise AssertionError("all noise of a watch is made from its key")
        return self._key


def _begun(
    path: Path, plan: ThresholdPlan, said: dict[str, Any], account: Any, source: BitSource
) -> dict[str, Any]:
    """Charge the watch and write its first state; where that fails, ε stays charged."""
    made: dict[str, Any] = {"format": FORMAT, "asked": said, "private": source.private, "replies": {}}

    def begin() -> _Begun:
        made["key"] = f"{source.bits(_KEY_BITS):064x}"
        _write(path, made)
        return _Begun(plan.epsilon)

    charged(account, PlainPlan("watch", plan.asked, said), begin)
    return made


def _people(table: Any, item: str, of: Any, person: str) -> int:
    domain: dict[str, Any] = {"domain": [of], "domain_column": None, "observed_keys_are_public": False}
    with counted(table, item=item, person=person, **domain) as people:
        return int(people.tally.values[0])


def _number(name: str, key: str) -> int:
    """Where the noise of a question has its digits: an address of 62 bits, whatever was asked before."""
    digest = hashlib.blake2b(name.encode(), key=bytes.fromhex(key), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 2


def _require_left(plan: ThresholdPlan, replies: dict[str, int | None]) -> None:
    if _left(plan, replies) <= 0:
        raise BudgetSpent(
            f"no further questions: {plan.k} replies above the threshold were given, as asked for. Nothing "
            "was looked at or charged. Begin a new watch, with a state and a budget of its own."
        )


def _left(plan: ThresholdPlan, replies: dict[str, int | None]) -> int:
    return plan.k - sum(reply is not None for reply in replies.values())


def _report(
    plan: ThresholdPlan,
    said: dict[str, Any],
    kept: dict[str, Any],
    replies: dict[str, int | None],
    name: str,
    bar: Fraction,
) -> WatchReport:
    return WatchReport(
        plan=PlainPlan("watch", plan.asked, said),
        questions=tuple(replies),
        gap_multiples=tuple(replies.values()),
        newest=name,
        left=_left(plan, replies),
        threshold=bar,
        resolution=plan.resolution,
        privacy=PrivacyUnit(
            unit=f"one value of the column {said['person']!r}",
            neighbours="all tables that the watch was asked about, with and without all rows of one person; "
            "each count of distinct people differs by at most one, and all in the same direction",
            domain=f"one public item of the column {said['item']!r}",
            filter=said.get("where"),
        ),
        spent=plan.epsilon,
        private=kept["private"] is True,
    )


def _path_argument(state: Any) -> Path:
    if not isinstance(state, str | Path) or not Path(state).name or "\0" in str(state):
        raise InvalidArgument("state", state, "must be a path", 'Pass for example state="flu.watch".')
    # Behind links: else a new state would stand in place of the link, and the old one where it points to.
    try:
        return Path(os.path.realpath(state))
    except ValueError:  # a name that the system cannot spell
        raise InvalidArgument("state", state, "is no possible name", "Choose another place.") from None


def _question_argument(question: Any) -> str:
    if not isinstance(question, str) or not question.isprintable() or not 0 < len(question) <= _LONGEST_NAME:
        raise InvalidArgument(
            "question",
            question,
            f"must be a text of 1 to {_LONGEST_NAME} printable characters",
            'Pass a public name, such as "2026-11-16".',
        )
    return question


# The file ----------------------------------------------------------------------------------------


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Meanwhile no other process asks this watch. The lock ends with the process, however that ends."""
    try:
        import fcntl
    except ImportError:
        raise FreegapError("a watch needs file locks, which this system does not have") from None
    try:
        descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except (OSError, ValueError) as error:  # also a name that the system cannot spell
        why = getattr(error, "strerror", None) or "no such name"
        raise InvalidArgument(
            "state", str(path), f"cannot be written ({why})", "Choose another place."
        ) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise FreegapError(
                f"another process is asking the watch {str(path)!r}. Try again later."
            ) from None
        yield
    finally:
        os.close(descriptor)


def _read(path: Path, said: dict[str, Any]) -> dict[str, Any] | None:
    """The state, or None where the watch has not begun; that of another watch is refused."""
    try:
        status = path.stat()
        if status.st_nlink > 1:
            raise InvalidArgument(
                "state",
                str(path),
                "has another name, under which an older state would stay",
                "Leave it one name, and let no link but a symbolic one lead to it.",
            )
        if status.st_mode & 0o077:
            raise InvalidArgument(
                "state",
                str(path),
                "may be read by others, and holds a secret",
                "chmod 600, and think who saw it.",
            )
        kept = json.loads(path.read_text(encoding="utf-8"))
        sound = kept["format"] == FORMAT and len(kept["key"]) == _KEY_BITS // 4 and int(kept["key"], 16) >= 0
        sound = sound and all(reply is None or type(reply) is int for reply in kept["replies"].values())
        asked = kept["asked"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InvalidArgument):
            raise
        sound, asked = False, {}
    if not sound:
        raise InvalidArgument("state", str(path), "is not the state of a watch", "Choose another place.")
    for argument in {**asked, **said}:
        if asked.get(argument) != said.get(argument):
            raise InvalidArgument(
                argument,
                said.get(argument),
                f"is not what this watch was begun with, {asked.get(argument)!r}",
                "A watch asks one question of all days; begin another with a state of its own.",
            )
    return dict(kept)


def _write(path: Path, record: dict[str, Any]) -> None:
    """The state, in one step and on the disk when this returns; readable by its owner alone."""
    try:
        _replace(path, record)
    except OSError as error:
        raise FreegapError(
            f"the state of the watch {str(path)!r} cannot be written ({error.strerror}). Nothing is shown of "
            "what was asked now; ask again when it can be."
        ) from None


def _replace(path: Path, record: dict[str, Any]) -> None:
    new = path.with_name(path.name + ".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(descriptor, 0o600)
        json.dump(record, file)
        file.flush()
        os.fsync(descriptor)
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
