"""`Reservation`: what is held for one release, until it is settled or abandoned."""

from __future__ import annotations

import warnings
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING

from freegap.budget.accounting import AMOUNT_DIGITS, shown
from freegap.budget.arguments import name_argument
from freegap.budget.budgets import in_words
from freegap.errors import InvalidArgument, LedgerError, UnsettledWarning, frames_of_freegap
from freegap.values.measures import Measure
from freegap.values.rationals import Rational, rational

if TYPE_CHECKING:
    from freegap.budget.ledger import Ledger


class Reservation:
    """What is held for one release. It counts as charged until it is settled or abandoned.

    asked: in the measure of the release.

    As a context manager it closes nothing: a block that ends without `settle`, by an error or by forgetting,
    leaves the reservation charged in full.

    >>> import freegap as fg, tempfile
    >>> ledger = fg.Ledger(f"sqlite:///{tempfile.mkdtemp()}/ledger.db")
    >>> account = ledger.create("shop", epsilon=5)
    >>> with ledger.reserve("shop", 1, what="sparse_vector", parameters={"k": 3}) as reservation:
    ...     release = fg.sparse_vector([3, 900, 5], 500, k=3, epsilon=1)
    ...     reservation.settle(release.spent)
    >>> ledger.account("shop").spent == release.spent
    True
    """

    def __init__(
        self, ledger: Ledger, sequence: int, line_hash: str, dataset: str, asked: Measure, what: str
    ) -> None:
        self.sequence = sequence
        self.dataset = dataset
        self.line_hash = line_hash
        """Of the line that reserved: after a loss, another line may have the same number."""
        self.asked = asked
        self.what = what
        self.release = "{}"
        """What is kept of the release beside its charge: JSON, as the parameters of a line."""
        self.beside: tuple[Reservation, ...] = ()
        """What other accounts hold for the same release: closed with it, in one transaction."""
        self._ledger = ledger
        self._closed = False

    def settle(self, spent: Rational) -> None:
        """Charge what the release spent, at most what was reserved; the rest comes back.

        `spent` is in the measure that was reserved. On a budget that is kept in ρ, a release in ε or in
        (ε, δ) is charged in full whatever it spent, and what one in ρ spent must be known without its output.
        """
        amount = rational("spent", spent, digits=AMOUNT_DIGITS)
        if not 0 <= amount <= self.asked.spent:
            raise InvalidArgument(
                "spent",
                shown(amount),
                f"must lie between 0 and the {shown(self.asked.spent)} that was reserved",
                "Pass the `spent` of the release.",
            )
        self._ledger._close(self, amount, self.what)
        self._closed = True

    def abandon(self, reason: str) -> None:
        """Give everything back. To call this is to state that nothing was drawn and nothing released.

        Not after an error in a release: what it had drawn by then may have shown, be it by the error.
        """
        self._ledger._close(self, None, name_argument("reason", reason))
        self._closed = True

    def _give_back(self, error: InvalidArgument) -> None:
        """Abandon, where no source of freegap was touched and the error is its own.

        If the ledger fails, all stays charged.
        """
        if not _raised_by_freegap(error):
            return
        with suppress(LedgerError):
            self.abandon("refused before anything was drawn")
            error.add_note(f"Nothing was drawn: reservation {self} was given back.")

    def _settle_or_warn(self, spent: Fraction) -> None:
        """Settle for a release that was made and must not be lost with the ledger."""
        try:
            self.settle(spent)
        except LedgerError as error:
            warnings.warn(
                f"The release on {self.dataset!r} is charged in full, {in_words(self.asked)}. {error}",
                UnsettledWarning,
                stacklevel=frames_of_freegap(),
            )

    def __enter__(self) -> Reservation:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None and not self._closed:
            error.add_note(f"Reservation {self} stays charged in full.")

    def __str__(self) -> str:
        return f"{self.sequence} ({in_words(self.asked)} on {self.dataset!r}, {self.what})"

    def __repr__(self) -> str:
        return f"<Reservation {self}>"


def _raised_by_freegap(error: BaseException) -> bool:
    """Whether freegap's own code raised the error, here.

    Not a caller's that uses the same class, and not another process, whose errors are raised again here by
    whoever received them: what was drawn there is not known.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("freegap.")
