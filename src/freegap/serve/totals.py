"""Totals of accounts: for good, or renewed each month, and what that means.

A renewed total is an account of its own for each month (of UTC), so that the ledger's rules hold in each. A
question is paid at all levels from the accounts of the month in which it is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from freegap.errors import InvalidArgument
from freegap.serve import database
from freegap.serve.configuration import ConfigTable
from freegap.values.measures import measure_argument

_AMOUNTS = {"epsilon", "rho", "delta"}
_MONTHLY = "monthly"
MONTH = " / month "
"""Before the month, in the name of an account. Names of sources, teams and people have no blanks."""


@dataclass(frozen=True)
class AccountTotal:
    """What an account has: amounts as texts, by measure; monthly: whether it has them each month anew."""

    amounts: Mapping[str, str]
    monthly: bool = False

    def account(self, name: str) -> str:
        """The account that pays now."""
        return f"{name}{MONTH}{this_month()}" if self.monthly else name

    @classmethod
    def read(cls, table: ConfigTable, name: str) -> AccountTotal:
        """From the configuration."""
        amounts = dict(table.inner(name, required=True).content)
        renewed = amounts.pop("renewed", None)
        texts = all(isinstance(amount, str) for amount in amounts.values())
        if not amounts or not amounts.keys() <= _AMOUNTS or not texts or renewed not in (None, _MONTHLY):
            raise InvalidArgument(
                f"{table.name}{name}",
                amounts,
                "must be a total, as text, and may be renewed",
                f'Write {{ epsilon = "5" }}, or {{ epsilon = "1", renewed = "{_MONTHLY}" }}.',
            )
        measure_argument(
            epsilon=amounts.get("epsilon"), rho=amounts.get("rho"), delta=amounts.get("delta"), digits=50
        )
        return cls(amounts, renewed == _MONTHLY)


def this_month() -> str:
    """Of UTC, such as "2026-11"."""
    return database.now().strftime("%Y-%m")
