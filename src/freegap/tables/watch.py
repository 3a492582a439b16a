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

The threshold is never drawn again: the key is its noise. A question that has a reply gets it again, and the
table is not looked at. One that has none has noise of its own, at an address that the key and its name tell
(BLAKE2b with the key, of which nobody can find two names with one address). Where replies are kept, so that
this is true after a crash, is in `freegap.tables.watch_state`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, ledger_argument
from freegap.errors import BudgetSpent, InvalidArgument
from freegap.exact.digits import KeyedDigits
from freegap.exact.noisy_threshold import BELOW
from freegap.mechanisms.sparse_vector import noisy_threshold
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.tables.described import SourceTable, described
from freegap.tables.domains import WrittenItem
from freegap.tables.people import counted
from freegap.tables.results import PrivacyUnit
from freegap.tables.watch_state import KEY_BITS, opened_state
from freegap.values.columns import Column
from freegap.values.plans import PlainPlan
from freegap.values.rationals import Rational
from freegap.values.remarks import remarks_on
from freegap.values.results import Release
from freegap.values.thresholds import read_threshold
from freegap.values.written import as_double, jsonable, readable

_LONGEST_NAME = 100


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
    item: str | Sequence[str],
    of: Any,
    person: str,
    where: Any = None,
    threshold: Rational,
    k: int,
    epsilon: Rational,
    state: str | Path,
    question: str,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> WatchReport:
    """Ask whether more people than a threshold have one item; begin the watch where it has no state yet.

    of: the item whose people are counted; a tuple, where items are of several columns.
    where: which rows are looked at; see `source`.
    k: how many questions may be above before the watch is over.
    epsilon: for all questions together; charged when the watch begins.
    state: the path of the watch's file, which holds the key: it is as secret as the table.
    question: a public name, such as the date. The same name again gets the same reply.
    ledger: a ledger and the name of a data set in it. It keeps the replies, and refuses what does not fit
        them. Without one they are in the file, and nothing notices when an older file is put back.

    >>> import pyarrow, tempfile, freegap as fg
    >>> visits = pyarrow.table({"code": ["flu"] * 90, "patient": range(90)})
    >>> asked = {"item": "code", "of": "flu", "person": "patient", "threshold": 50, "k": 1, "epsilon": 2}
    >>> state = f"{tempfile.mkdtemp()}/flu.watch"
    >>> watch(visits[:9], **asked, state=state, question="Monday", bits=fg.SeededBits(1)).alert
    False
    >>> watch(visits, **asked, state=state, question="Tuesday", bits=fg.SeededBits(1)).alert
    True
    """
    watched = watched_table(
        table, item=item, of=of, person=person, where=where, threshold=threshold, k=k, epsilon=epsilon
    )
    return reply_to(question, watched, state=state, ledger=ledger, bits=bits)


@dataclass(frozen=True)
class WatchedTable:
    """What is asked of a table, and the table, which is counted once at most, and only where it has to be.

    said: all of the former, which is public.
    """

    plan: ThresholdPlan
    bar: Fraction
    said: dict[str, Any]
    table: SourceTable
    item: str | list[str]
    of: Any
    person: str

    @cached_property
    def offset(self) -> Fraction:
        """By how much its people are more than the threshold."""
        return _people(self.table, self.item, self.of, self.person) - self.bar


def watched_table(
    table: Any,
    *,
    item: str | Sequence[str],
    of: Any,
    person: str,
    where: Any = None,
    threshold: Rational,
    k: int,
    epsilon: Rational,
) -> WatchedTable:
    """The arguments of `watch` that say what is asked, read; nothing is counted yet."""
    plan = ThresholdPlan.read("SparseVector", k=k, epsilon=epsilon, monotonic=True)
    bar = read_threshold(threshold, discrete=False)
    columns: Any = list(item) if isinstance(item, list | tuple) else item
    _require_columns(columns, person)
    described_table = described(table, where=where)
    said = {"item": columns, "of": _shown(of), "person": person, "threshold": str(bar), "k": plan.k}
    said["epsilon"] = str(plan.epsilon)
    if described_table.where is not None:
        said["where"] = str(described_table.where)
    return WatchedTable(plan, bar, said, described_table, columns, of, person)


def reply_to(
    question: str,
    watched: WatchedTable,
    *,
    state: str | Path,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> WatchReport:
    """The replies of a watch with that to this question, which is asked of the table if it has none yet."""
    name, plan = _question_argument(question), watched.plan
    source = source_or_system(bits)
    account = ledger_argument(ledger)
    with opened_state(state, plan.asked, watched.said, account) as kept:
        while name not in kept.replies:
            _require_left(plan, kept.replies)
            kept.require_budget()
            offset = watched.offset
            # An error until here has drawn nothing.
            if not kept.begun:
                kept.begin(source)
            bar_with_noise = noisy_threshold(plan, KeyedDigits(_KeptKey(kept.key), 0))
            branch, multiple = bar_with_noise.one(_number(name, kept.key), offset)
            kept.add(name, None if branch == BELOW else multiple)
        return _report(plan, watched.said, kept.private, kept.replies, name, watched.bar)


class _KeptKey:
    """The key of a watch as a source of bits, which has it once."""

    private = True

    def __init__(self, key: str) -> None:
        self._key = int(key, 16)

    def bits(self, n: int) -> int:
        """The key."""
        if n != KEY_BITS:
            raise AssertionError("all noise of a watch is made from its key")
        return self._key


def _people(table: SourceTable, item: str | list[str], of: Any, person: str) -> int:
    public = of if isinstance(of, WrittenItem) else [tuple(of) if isinstance(of, list) else of]
    domain: dict[str, Any] = {"domain": public, "domain_column": None, "observed_keys_are_public": False}
    try:
        with counted(table, item=item, person=person, **domain) as people:
            return int(people.tally.values[0])
    except InvalidArgument as error:
        if error.argument != "domain":
            raise
        raise InvalidArgument("of", _shown(of), error.constraint, "Name one of the column's items.") from None


def _number(name: str, key: str) -> int:
    """Where the noise of a question has its digits: an address of 62 bits, whatever was asked before."""
    digest = hashlib.blake2b(name.encode(), key=bytes.fromhex(key), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 2


def _require_left(plan: ThresholdPlan, replies: Mapping[str, int | None]) -> None:
    if _left(plan, replies) <= 0:
        raise BudgetSpent(
            f"no further questions: {plan.k} replies above the threshold were given, as asked for. Nothing "
            "was looked at or charged. Begin a new watch, with a state and a budget of its own."
        )


def _left(plan: ThresholdPlan, replies: Mapping[str, int | None]) -> int:
    return plan.k - sum(reply is not None for reply in replies.values())


def _report(
    plan: ThresholdPlan,
    said: dict[str, Any],
    private: bool,
    replies: Mapping[str, int | None],
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
        private=private,
    )


def _question_argument(question: Any) -> str:
    if not isinstance(question, str) or not question.isprintable() or not 0 < len(question) <= _LONGEST_NAME:
        raise InvalidArgument(
            "question",
            question,
            f"must be a text of 1 to {_LONGEST_NAME} printable characters",
            'Pass a public name, such as "2026-11-16".',
        )
    return question


def _require_columns(item: Any, person: Any) -> None:
    """A line of a .dat file is somebody in that file alone, and a watch is about people in many tables."""
    for argument, name in (("item", item), ("person", person)):
        if name is None:
            raise InvalidArgument(argument, name, "must name a column", f"Pass {argument}='…'.")


def _shown(of: Any) -> str | list[str]:
    if isinstance(of, WrittenItem):
        return of.parts[0] if len(of.parts) == 1 else list(of.parts)
    return [str(part) for part in of] if isinstance(of, list | tuple) else str(of)
