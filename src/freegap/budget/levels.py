"""One release, paid from several accounts at once: a dataset, the quota of a team, the quota of a person.

What protects the people in the data is the dataset's account alone; quotas inside of it say who may spend how
much of that. Each account is charged by its own rules, in its own measure. All lines are written in one
transaction, so that either every account holds what was asked, or none does and one of them says why.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from freegap.budget.arguments import name_argument, parameters_text
from freegap.budget.ledger import Ledger
from freegap.budget.once import AskedBefore, Once, reserved_before
from freegap.budget.reservation import Reservation
from freegap.errors import InvalidArgument
from freegap.values.measures import Measure
from freegap.values.rationals import Rational

if TYPE_CHECKING:
    from freegap.budget.journal import Journal


class LevelledLedger(Ledger):
    """A ledger in which a release on a dataset is paid by further accounts as well, on behalf of somebody.

    quotas: the accounts that pay beside the dataset's own.
    who: who asked; whoever makes this object must have made sure.
    once: with it, nothing is reserved if it was before (`AskedBefore`). Its digest must be among the
        parameters of what is reserved.

    >>> import tempfile
    >>> import freegap as fg
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/ledger.db"
    >>> accounts = [fg.Ledger(url).create(name, epsilon=total) for name, total in (("shop", 5), ("ann", 1))]
    >>> ledger = LevelledLedger(url, quotas=["ann"], who="ann")
    >>> release = fg.noisy_max([31, 812, 12], epsilon="1/2", ledger=(ledger, "shop"))
    >>> [(account.dataset, str(account.remaining)) for account in ledger.accounts()]
    [('ann', '1/2'), ('shop', '9/2')]
    >>> ledger.entries("shop")[-1].who
    'ann'
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        heads: str | Iterable[str] | None = None,
        quotas: Iterable[str] = (),
        who: str,
        once: Once | None = None,
    ) -> None:
        super().__init__(url, heads=heads)
        self._quotas = [name_argument("quotas", quota) for quota in quotas]
        self._asking = name_argument("who", who)
        self._once = once
        self.line: int | None = None
        """Of the newest reservation on a dataset."""

    def _who(self) -> str:
        return self._asking

    def _reserved(
        self, journal: Journal, dataset: str, asked: Measure, what: str, parameters: str
    ) -> Reservation:
        """Hold what is asked for in the dataset and in every quota, or in none of them."""
        self._require_different(dataset)
        before = None if self._once is None else reserved_before(journal, self._asking, self._once)
        if before is not None:
            raise AskedBefore(before.sequence)
        made = super()._reserved(journal, dataset, asked, what, parameters)
        paying = parameters_text({"dataset": made.dataset, "line": made.sequence})
        # What the dataset holds, which may have been rounded up: the release may spend all of that.
        made.beside = tuple(
            super(LevelledLedger, self)._reserved(journal, quota, made.asked, what, paying)
            for quota in self._quotas
        )
        self.line = made.sequence
        return made

    def require(
        self,
        dataset: str,
        *,
        epsilon: Rational | None = None,
        rho: Rational | None = None,
        delta: Rational | None = None,
    ) -> None:
        """Refuse now what `reserve` would refuse now, and hold nothing."""
        self._require_different(dataset)
        for account in (dataset, *self._quotas):
            super().require(account, epsilon=epsilon, rho=rho, delta=delta)

    def _require_different(self, dataset: str) -> None:
        accounts = [name_argument("dataset", dataset), *self._quotas]
        if len({*accounts}) != len(accounts):
            raise InvalidArgument("quotas", accounts, "names an account twice", "Name each once.")
