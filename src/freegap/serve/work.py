"""A question answered, in whatever process: the release as the library makes it, charged at every level.

All of it is reserved before the table is read, and settled when the release is made: whether a question that
was cancelled, or failed, has been charged does not tell how long the table took. Padded, it is settled when
the time is over: what is left, which others may look at meanwhile, does not tell it either.

What comes back is JSON: a release, or a refusal that depends on the question alone, or that it failed. Why it
failed is not told, since that may depend on the data: too much memory, too much time, a row that an engine
cannot read, all are one answer.

A release that the ledger could not keep is not told: whoever oversees could not see it, and nobody could have
a receipt. It stays charged in full, as one that failed.
"""

from __future__ import annotations

import functools
import logging
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import freegap
from freegap.bits import BitSource
from freegap.budget.ledger import Ledger
from freegap.budget.levels import LevelledLedger
from freegap.budget.once import KEY, AskedBefore, Once, look_up
from freegap.errors import BudgetExceeded, InvalidArgument, UnsettledWarning
from freegap.serve.keys import outcome_before
from freegap.serve.questions import AllowedQuestion
from freegap.serve.sources import Source
from freegap.serve.workers import FAILED

_LOG = logging.getLogger(__name__)
_OWN_WORDS = ("k", "epsilon", "rho", "threshold", "noise", "measure", "group")
"""Arguments that came from the question: what is said about them depends on it and on the settings."""


@dataclass(frozen=True)
class Asking:
    """Everything that a process needs to answer a question for somebody.

    dataset: the account that protects the people in the table. quotas: those that pay beside it.
    once: by which the same question is known when it is sent again. seconds: how long it may take.
    """

    question: AllowedQuestion
    source: Source
    ledger: str
    heads: tuple[str, ...] | None
    dataset: str
    quotas: tuple[str, ...]
    who: str
    memory_mb: int
    pad_to: float = 0
    once: Once | None = None
    seconds: float = 60

    def looked_up(self, ledger: Ledger) -> tuple[dict[str, Any] | None, Asking]:
        """What became of the question if it was asked before with its key; and what is to be asked if not."""
        if self.once is None:
            return None, self
        line, once = look_up(ledger, self.who, self.once)
        if line is None:
            return None, replace(self, once=once)
        return self._told_before(ledger, line.sequence), self

    def _told_before(self, ledger: Ledger, line: int) -> dict[str, Any]:
        return outcome_before(ledger, line, self.question, self.source, self.seconds)

    def outcome(
        self, bits: BitSource | None = None, *, told: Callable[[int], None] = lambda line: None
    ) -> dict[str, Any]:
        """The answer, or what may be said of why there is none. told: the line that has reserved for it,
        before the table is looked at."""
        try:
            return self._answer(bits, told)
        except InvalidArgument as error:
            if error.argument in _OWN_WORDS:
                return {"status": "refused", "error": str(error)}
            return self._failed()
        except BudgetExceeded as error:
            return {"status": "spent", "error": str(error)}
        except BaseException:  # whatever it is, and also Ctrl-C: what it says may quote a row
            return self._failed()

    def _failed(self) -> dict[str, Any]:
        """One answer for whoever asked; the cause is in the log, which is the owner's."""
        with suppress(Exception):  # there may be no memory left to say it
            _LOG.exception("A question of %s about %s has failed.", self.who, self.source.name)
        return FAILED

    def _answer(self, bits: BitSource | None, told: Callable[[int], None]) -> dict[str, Any]:
        ledger = LevelledLedger(
            self.ledger, heads=self.heads, quotas=self.quotas, who=self.who, once=self.once
        )
        parameters = dict(self.question.arguments)
        if self.source.budget.monthly:
            parameters["budget_renewed"] = "monthly"
        if self.once is not None:
            parameters[KEY] = self.once.digest
        try:
            return self._charged(ledger, parameters, bits, told)
        except AskedBefore as before:
            return self._told_before(ledger, before.line)

    def _charged(
        self,
        ledger: LevelledLedger,
        parameters: dict[str, Any],
        bits: BitSource | None,
        told: Callable[[int], None],
    ) -> dict[str, Any]:
        release = self._release(bits)
        padded = functools.partial(freegap.pad_to, self.pad_to, release) if self.pad_to else release

        def reserved() -> Any:
            with suppress(OSError):  # nobody listens any more: the release is kept for later
                told(ledger.line or 0)
            return padded()

        with warnings.catch_warnings():
            warnings.simplefilter("error", UnsettledWarning)
            made = ledger.charge(
                self.dataset,
                reserved,
                **amount_of(self.question, self.source),
                what=self.question.mechanism,
                parameters=parameters,
            )
        return {"status": "released", "line": ledger.line, "release": made.to_dict()}

    def _release(self, bits: BitSource | None) -> Callable[[], Any]:
        function: Any = {"top_k": freegap.top_k, "above": freegap.above}[self.question.mechanism]

        def release() -> Any:
            with self.source.described() as table:
                return function(table, **arguments_of(self.question, self.source), bits=bits)

        return release


def amount_of(question: AllowedQuestion, source: Source) -> dict[str, Any]:
    """What a question costs at most, as arguments of the ledger."""
    of_item = source.items[question.arguments["item"]]
    amounts = {name: question.arguments[name] for name in ("epsilon", "rho") if name in question.arguments}
    return amounts if of_item.delta is None else {**amounts, "delta": of_item.delta}


def arguments_of(question: AllowedQuestion, source: Source) -> dict[str, Any]:
    """The arguments of the library's function: what was asked, and what the owner has said of its columns."""
    asked = dict(question.arguments)
    of_group = source.groups[asked["group"]].arguments() if "group" in asked else {}
    person = {} if source.person is None else {"person": source.person}
    return {**asked, **person, **source.items[asked["item"]].arguments(), **of_group}
