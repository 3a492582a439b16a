"""What the ledger hands out: frozen records of public facts. No record holds anything of the private data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from freegap.budget.accounting import BrokenRule, amount_text

__all__ = ["Account", "Entry", "Kind", "Verification"]

Kind = Literal["create", "reserve", "settle", "abandon"]


@dataclass(frozen=True)
class Account:
    """The budget of one dataset. All amounts are exact.

    total: the ε that the dataset has in all.
    spent: what settled releases have spent.
    reserved: what open reservations hold: releases that run now, or that crashed and stay charged.
    """

    dataset: str
    total: Fraction
    spent: Fraction
    reserved: Fraction

    @property
    def remaining(self) -> Fraction:
        """What the next release can reserve at most."""
        return self.total - self.spent - self.reserved

    def to_dict(self) -> dict[str, str]:
        """The account as plain values: rationals as strings such as "1/3"."""
        return {
            "dataset": self.dataset,
            "total": plain(self.total),
            "spent": plain(self.spent),
            "reserved": plain(self.reserved),
            "remaining": plain(self.remaining),
        }


@dataclass(frozen=True)
class Entry:
    """One line of the journal.

    sequence: its place, 1, 2, 3, …; the order of events, whatever clocks said.
    kind: create, reserve, settle or abandon.
    reservation: for settle and abandon, the sequence of the line that it closes.
    amount: the total (create), what is held (reserve), what was spent (settle), 0 (abandon).
    what: the mechanism or the reason, in the caller's words.
    parameters: the public parameters of the release.
    who, when: user@host and the time in UTC by that host's clock; informative only.
    hash: binds this line and, through the line before, all earlier ones.
    """

    sequence: int
    dataset: str
    kind: Kind
    reservation: int | None
    amount: Fraction
    what: str
    parameters: dict[str, Any]
    who: str
    when: str
    hash: str

    def to_dict(self) -> dict[str, Any]:
        """The entry as plain values: rationals as strings such as "1/3"."""
        return {**self.__dict__, "amount": plain(self.amount)}


@dataclass(frozen=True)
class Verification:
    """The outcome of reading the whole journal again.

    entries: how many lines were checked and found right.
    head: hash of the last line that is right. Kept elsewhere, it shows later whether lines were replaced.
    broken: sequence of the first line that is wrong, where a line is to blame.
    reason: what is wrong with it.
    """

    ok: bool
    entries: int
    head: str
    broken: int | None = None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain values."""
        return dict(self.__dict__)

    def __bool__(self) -> bool:
        return self.ok


def plain(amount: Fraction) -> str:
    """The amount as other results write it: "1/3", and "2" for a whole number."""
    return amount_text(amount).removesuffix("/1")


def parameters_from_text(text: str) -> dict[str, Any]:
    """The parameters of a journal line."""
    try:
        parameters = json.loads(text)
    except ValueError:
        parameters = None
    if not isinstance(parameters, dict):
        raise BrokenRule("parameters must be stored as a JSON object")
    return parameters
