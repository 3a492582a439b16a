"""What the ledger hands out: frozen records of public facts. No record holds anything of the private data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from freegap.budget.accounting import (
    AMOUNT_DIGITS,
    Balance,
    BrokenRule,
    Cost,
    amount_text,
    kept_short,
    shown,
)
from freegap.budget.budgets import Budget, in_words
from freegap.errors import BudgetExceeded
from freegap.report.shell import facts
from freegap.values.measures import Approximate, Measure, measure_argument
from freegap.values.rationals import Rational

Kind = Literal["create", "reserve", "settle", "abandon", "note"]


@dataclass(frozen=True)
class Account:
    """The budget of one dataset. All amounts are exact.

    declared: what the dataset has in all, as it was declared: a `Pure`, `ZeroConcentrated` or `Approximate`.
    measure: of that: "epsilon", "rho" or "epsilon-delta".
    unit: the measure of the four amounts below, in which the budget is kept: "epsilon", or "rho".
    total: what the dataset has in all.
    spent: what settled releases have spent.
    reserved: what open reservations hold: releases that run now, or that crashed and stay charged.
    remaining: what the next release can reserve at most.
    own_delta, own_delta_remaining: where the budget is in (ε, δ), the part of δ for releases that have one of
    their own, and what is left of it; else 0.
    """

    dataset: str
    budget: Budget
    balance: Balance

    @property
    def declared(self) -> Measure:
        """What the dataset has in all, as it was declared."""
        return self.budget.declared

    @property
    def measure(self) -> str:
        """In which the budget was declared."""
        return self.budget.declared.name

    @property
    def unit(self) -> str:
        """The measure in which it is kept."""
        return self.budget.kept.name

    @property
    def total(self) -> Fraction:
        """What the dataset has in all."""
        return self.balance.total.amount

    @property
    def spent(self) -> Fraction:
        """What settled releases have spent."""
        return self.balance.spent.amount

    @property
    def reserved(self) -> Fraction:
        """What open reservations hold."""
        return self.balance.reserved.amount

    @property
    def remaining(self) -> Fraction:
        """What the next release can reserve at most."""
        return self.balance.remaining.amount

    @property
    def own_delta(self) -> Fraction:
        """What releases with a δ of their own may have together."""
        return self.balance.total.delta

    @property
    def own_delta_remaining(self) -> Fraction:
        """What the next of them can have at most."""
        return self.balance.remaining.delta

    def cost(
        self,
        *,
        epsilon: Rational | None = None,
        rho: Rational | None = None,
        delta: Rational | None = None,
    ) -> Cost:
        """What one more release would be charged; an error that says so where no theorem lets it in.

        >>> import freegap as fg, tempfile
        >>> ledger = fg.Ledger(f"sqlite:///{tempfile.mkdtemp()}/ledger.db")
        >>> account = ledger.create("shop", rho="1/8")
        >>> account.cost(epsilon="1/10").amount, account.fits(epsilon="1/10"), account.fits(epsilon=1)
        (Fraction(1, 200), True, False)
        """
        return self.price(measure_argument(epsilon=epsilon, rho=rho, delta=delta, digits=AMOUNT_DIGITS))

    def fits(
        self,
        *,
        epsilon: Rational | None = None,
        rho: Rational | None = None,
        delta: Rational | None = None,
    ) -> bool:
        """Whether one more such release could be reserved now."""
        return self.cost(epsilon=epsilon, rho=rho, delta=delta) <= self.balance.remaining

    def price(self, asked: Measure) -> Cost:
        """The same for what is a measure already. Rounded up where the sums would get too long."""
        return kept_short(self.budget.cost(asked), self.balance.reserved, self.balance.spent)

    def afforded(self, asked: Measure) -> Cost:
        """What one more release is charged, if enough is left; else `BudgetExceeded`."""
        cost = self.price(asked)
        if not cost <= self.balance.remaining:
            raise BudgetExceeded(
                f"Dataset {self.dataset!r} has {self.budget.left_in_words(self.balance.remaining)} left, and "
                f"{self.budget.asked_in_words(asked, cost)}. "
                "Ask for at most what is left; a total does not grow."
            )
        return cost

    def _repr_html_(self) -> str:
        """The account in a notebook."""
        amounts = {name: getattr(self, name) for name in ("total", "spent", "reserved", "remaining")}
        if self.own_delta:
            amounts |= {"own δ": self.own_delta, "own δ remaining": self.own_delta_remaining}
        rows = [(f"{name} ({self.budget.sign})", shown(amount)) for name, amount in amounts.items()]
        return facts([("dataset", self.dataset), ("budget", in_words(self.declared)), *rows])

    def to_dict(self) -> dict[str, str]:
        """The account as plain values: rationals as strings such as "1/3"."""
        parts = {"dataset": self.dataset, "measure": self.measure, "unit": self.unit}
        parts |= {name: plain(getattr(self, name)) for name in ("total", "spent", "reserved", "remaining")}
        if isinstance(self.declared, Approximate):
            parts |= {"epsilon": plain(self.declared.epsilon), "delta": plain(self.declared.delta)}
            parts |= {
                "own_delta": plain(self.own_delta),
                "own_delta_spent": plain(self.balance.spent.delta),
                "own_delta_reserved": plain(self.balance.reserved.delta),
                "own_delta_remaining": plain(self.own_delta_remaining),
            }
        return parts


@dataclass(frozen=True)
class Entry:
    """One line of the journal.

    sequence: its place, 1, 2, 3, …; the order of events, whatever clocks said.
    kind: create, reserve, settle, abandon, or note: something that a release said which goes on.
    reservation: for settle and abandon, the sequence of the line that it closes.
    amount: the total (create), what is held (reserve), what was spent (settle), 0 (abandon, note).
    what: the mechanism or the reason, in the caller's words.
    parameters: the public parameters of the release.
    who, when: user@host and the time in UTC by that host's clock; informative only.
    hash: binds this line and, through the line before, all earlier ones.
    unit: the measure of `amount`, in which the budget is kept: "epsilon" or "rho".
    delta: the δ that counts beside the amount.
    asked: what the line is about in the measure of the release: its total, what it asked for, what it spent.
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
    unit: str
    delta: Fraction
    asked: Measure

    def to_dict(self) -> dict[str, Any]:
        """The entry as plain values: rationals as strings such as "1/3"."""
        amounts = {"amount": plain(self.amount), "delta": plain(self.delta)}
        return {**self.__dict__, **amounts, "asked": plain_measure(self.asked)}


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


def plain_measure(measure: Measure) -> dict[str, str]:
    """The measure and its amounts as text, however long they are."""
    parts = {"measure": measure.name, "spent": plain(measure.spent)}
    return parts | ({"delta": plain(measure.delta)} if measure.delta else {})


def parameters_from_text(text: str) -> dict[str, Any]:
    """The parameters of a journal line."""
    try:
        parameters = json.loads(text)
    except ValueError:
        parameters = None
    if not isinstance(parameters, dict):
        raise BrokenRule("parameters must be stored as a JSON object")
    return parameters
