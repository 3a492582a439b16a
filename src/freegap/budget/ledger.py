"""`Ledger`: reserve before a release, settle after it.

The order of events is the whole safety argument. `reserve` returns only when its line is durable, and only
then may anything be drawn. Whatever happens next (an error, a crash, a lost connection), the reservation
counts as charged until `settle` or `abandon` has made its own line durable. So at every moment and after
every fault, what the ledger counts (settled and reserved) is at least what was released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from freegap.budget import accounting
from freegap.budget.accounting import AMOUNT_DIGITS, shown
from freegap.budget.arguments import (
    name_argument,
    own_delta_argument,
    parameters_text,
    release_text,
    time_argument,
    who,
)
from freegap.budget.budgets import Budget, in_words
from freegap.budget.chain import Line, verified
from freegap.budget.records import Account, Entry, Verification
from freegap.budget.reservation import Reservation
from freegap.charges import Allowance
from freegap.errors import InvalidArgument, LedgerDamaged, MissingExtra
from freegap.values.measures import Measure, measure_argument
from freegap.values.rationals import Rational, count_argument

if TYPE_CHECKING:
    from freegap.budget.journal import Journal
    from freegap.budget.store import Store

Result = TypeVar("Result")


class Ledger:
    """A durable account of what each dataset may spend, has spent, and holds for releases that run.

    A budget is in ε, in ρ or in (ε, δ). A release in another measure is charged by a proved conversion, and
    refused where there is none (`docs/budget.md`).

    `url` is a SQLAlchemy URL of a SQLite file or a PostgreSQL database. Without one, the environment variable
    FREEGAP_LEDGER names it, else it is a file in the user's data directory.

    `heads` are places where the newest line is noted after each change, and looked up before: a file, a
    second database, "syslog". Then an older copy that is put back is an error (`docs/receipts.md`). Without
    them, FREEGAP_HEADS lists such places.

    >>> import freegap as fg, tempfile
    >>> ledger = fg.Ledger(f"sqlite:///{tempfile.mkdtemp()}/ledger.db")
    >>> ledger.create("shop", epsilon=5).remaining
    Fraction(5, 1)
    >>> release = ledger.charge(
    ...     "shop", lambda: fg.noisy_max([31, 812, 12], epsilon="1/2"), epsilon="1/2", what="noisy_max"
    ... )
    >>> ledger.account("shop").remaining
    Fraction(9, 2)
    >>> ledger.reserve("shop", 6, what="noisy_top_k")
    Traceback (most recent call last):
        ...
    freegap.errors.BudgetExceeded: Dataset 'shop' has 9/2 of ε = 5 left, and 6 was asked for. ...
    """

    def __init__(self, url: str | None = None, *, heads: str | Iterable[str] | None = None) -> None:
        try:
            from freegap.budget.store import Store
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] != "sqlalchemy":
                raise
            raise MissingExtra("sqlalchemy", "ledger") from None
        self._store: Store = Store(url, heads)

    @property
    def url(self) -> str:
        """Where the ledger is, without the password."""
        return self._store.place

    def __repr__(self) -> str:
        return f"Ledger({self.url!r})"

    def create(
        self,
        dataset: str,
        *,
        epsilon: Rational | None = None,
        rho: Rational | None = None,
        delta: Rational | None = None,
        own_delta: Rational | None = None,
    ) -> Account:
        """Open the account of a dataset with a total in `epsilon`, in `rho`, or in `epsilon` and `delta`.

        Once and for all: a total does not change. Makes the ledger too, where there is none. Creating a
        dataset again with the same total changes nothing.

        own_delta: how much of `delta` is for releases that have a δ of their own; without it half, and 0 is
        allowed. The rest is for the way from ρ, in which the budget is kept, to (ε, δ).

        >>> import freegap as fg, tempfile
        >>> ledger = fg.Ledger(f"sqlite:///{tempfile.mkdtemp()}/ledger.db")
        >>> account = ledger.create("shop", epsilon=1, delta="1e-6")
        >>> account.measure, account.unit, float(account.remaining), account.own_delta_remaining
        ('epsilon-delta', 'rho', 0.0229..., Fraction(1, 2000000))
        """
        name = name_argument("dataset", dataset)
        total = measure_argument(epsilon=epsilon, rho=rho, delta=delta, digits=AMOUNT_DIGITS)
        budget = Budget.of(total, own_delta_argument(own_delta, total))
        with self._store.journal(write=True, create=True) as journal:
            last = journal.newest(dataset)
            if last is None:
                balance = accounting.opened(budget.total)
                last = journal.append(
                    "create", name, budget.text(), budget, balance, what="create", who=self._who()
                )
            elif (last.budget.declared, last.budget.total.delta) != (total, budget.total.delta):
                raise InvalidArgument(
                    "rho" if rho is not None else "epsilon",
                    shown(total.spent),
                    f"dataset {dataset!r} exists with a total of {in_words(last.budget.declared)}, which is "
                    "fixed",
                    "Keep that total, or create a dataset under another name if the data are other people's.",
                )
        return last.account()

    def account(self, dataset: str) -> Account:
        """What a dataset has in all, has spent, holds, and has left."""
        with self._store.journal(write=False) as journal:
            return journal.known(dataset).account()

    def accounts(self) -> list[Account]:
        """All accounts, by name."""
        with self._store.journal(write=False) as journal:
            return [line.account() for line in journal.last_lines()]

    def reserve(
        self,
        dataset: str,
        epsilon: Rational | None = None,
        *,
        rho: Rational | None = None,
        delta: Rational | None = None,
        what: str,
        parameters: Mapping[str, Any] | None = None,
    ) -> Reservation:
        """Hold `epsilon`, `rho`, or `epsilon` and `delta` for a release that is about to run.

        Durable when this returns. `what` and `parameters` are for the record and must be public. If too
        little is left, `BudgetExceeded` says so; if no theorem says what the release costs in the measure of
        the budget, it is an `InvalidArgument`; and nothing is written.
        """
        asked = measure_argument(epsilon=epsilon, rho=rho, delta=delta, digits=AMOUNT_DIGITS)
        what = name_argument("what", what)
        text = parameters_text(parameters)
        with self._store.journal(write=True) as journal:
            return self._reserved(journal, dataset, asked, what, text)

    def record(
        self,
        dataset: str,
        *,
        epsilon: Rational | None = None,
        rho: Rational | None = None,
        delta: Rational | None = None,
        by: str,
        what: str,
    ) -> Account:
        """Charge a release that something else made or will make: reserved and settled at once, in full.

        by: who made it, such as another library. Record a release before it is made: if too little is left,
        `BudgetExceeded` says so and nothing is written.

        >>> import freegap as fg, tempfile
        >>> ledger = fg.Ledger(f"sqlite:///{tempfile.mkdtemp()}/ledger.db")
        >>> account = ledger.create("shop", epsilon=1)
        >>> ledger.record("shop", epsilon="0.3", by="opendp", what="histogram of ages").remaining
        Fraction(7, 10)
        """
        asked = measure_argument(epsilon=epsilon, rho=rho, delta=delta, digits=AMOUNT_DIGITS)
        what = name_argument("what", what)
        text = parameters_text({"by": name_argument("by", by)})
        with self._store.journal(write=True) as journal:
            made = self._reserved(journal, dataset, asked, what, text)
            return self._all_closed(journal, made, made.asked.spent, what).account()

    def require(
        self,
        dataset: str,
        *,
        epsilon: Rational | None = None,
        rho: Rational | None = None,
        delta: Rational | None = None,
    ) -> None:
        """Refuse now what `reserve` would refuse now, and hold nothing: before long work on a table.

        >>> import freegap as fg, tempfile
        >>> ledger = fg.Ledger(f"sqlite:///{tempfile.mkdtemp()}/ledger.db")
        >>> account = ledger.create("shop", epsilon=1)
        >>> ledger.require("shop", epsilon=1)
        >>> ledger.require("shop", epsilon=2)
        Traceback (most recent call last):
            ...
        freegap.errors.BudgetExceeded: Dataset 'shop' has 1 of ε = 1 left, and 2 was asked for. ...
        """
        asked = measure_argument(epsilon=epsilon, rho=rho, delta=delta, digits=AMOUNT_DIGITS)
        with self._store.journal(write=False) as journal:
            journal.known(dataset).account().afforded(asked)

    def _reserved(
        self, journal: Journal, dataset: str, asked: Measure, what: str, parameters: str
    ) -> Reservation:
        last = journal.known(dataset)
        budget, cost = last.budget, last.account().afforded(asked)
        if type(asked) is budget.kept:
            asked = asked.of(cost.amount)
        line = journal.append(
            "reserve",
            last.dataset,
            budget.charge_text(cost, asked),
            budget,
            accounting.reserve(last.balance, cost),
            what=what,
            who=self._who(),
            parameters=parameters,
        )
        return Reservation(self, line.sequence, line.hash, line.dataset, asked, what)

    def charge(
        self,
        dataset: str,
        release_function: Callable[[], Result],
        *,
        epsilon: Rational | None = None,
        rho: Rational | None = None,
        delta: Rational | None = None,
        what: str,
        parameters: Mapping[str, Any] | None = None,
    ) -> Result:
        """Reserve, run the release, settle at what it spent, and return it.

        What is reserved is `epsilon`, `rho`, or `epsilon` and `delta`. Releases of freegap that the function
        makes must fit into it with the most that they can spend: one that does not is refused before it
        draws. If the function returns one of them, it is settled at what all of them have spent together (in
        full, where the budget is kept in ρ and this is not); any other result is charged in full, since
        nobody knows here what it cost. So is every result if something was drawn from a source of freegap
        outside of these releases in the meantime, by another thread for instance, or if the process was
        forked. An object such as `SparseVector` keeps the reservation until it is closed or exhausted.

        An error in the function leaves all of it charged, since what was drawn before it may have
        shown, be it by the error. There is one exception: an `InvalidArgument` that freegap itself raised
        here while no source of freegap was touched and no release had begun, a mistake in an argument for
        instance. Then no noise has met the data, and all is given back. (That error may still
        depend on the data, where a NaN among the answers is refused; charging for it would not make it
        private.) Other errors, those of your own code among them, are never taken as a proof that nothing was
        drawn.

        What freegap cannot see is your statement: that the function draws from no source of its own, in no
        other process, and starts nothing that draws after it has returned.

        If the ledger fails after the release, the release is returned all the same, charged in full, with an
        `UnsettledWarning`.
        """
        reservation = self.reserve(dataset, epsilon, rho=rho, delta=delta, what=what, parameters=parameters)
        allowance = Allowance(reservation.asked)
        with reservation:
            try:
                with allowance.in_force():
                    result = release_function()
            except InvalidArgument as error:
                if allowance.untouched:
                    reservation._give_back(error)
                raise
            if allowance.made(result):
                reservation.release = release_text(result)
            allowance.end(result, reservation._settle_or_warn)
        return result

    def entries(
        self, dataset: str | None = None, *, last: int | None = None, since: str | datetime | None = None
    ) -> list[Entry]:
        """The journal, or the part about one dataset, in the order in which it was written.

        last: only the newest so many releases, and what was written after the first of them.
        since: only from this time on: a datetime, or a text such as "2026-11-16" or "2026-11-16T08:30"; in
            UTC where it names no zone.
        """
        last = None if last is None else count_argument("last", last)
        since = None if since is None else time_argument("since", since)
        with self._store.journal(write=False) as journal:
            if dataset is not None:
                dataset = journal.known(dataset).dataset
            return [line.entry() for line in journal.lines(dataset, last=last, since=since)]

    def release(self, number: int) -> dict[str, Any]:
        """A release that `charge` or `ledger=` paid for, again and for nothing, as its `to_dict` told it.

        number: the line of its reservation, as `freegap budget show` lists it.

        >>> import freegap as fg, tempfile
        >>> ledger = fg.Ledger(f"sqlite:///{tempfile.mkdtemp()}/ledger.db")
        >>> account = ledger.create("shop", epsilon=5)
        >>> release = fg.noisy_max([31, 812, 12], epsilon=1, ledger=(ledger, "shop"))
        >>> ledger.release(2) == release.to_dict()
        True
        """
        count_argument("number", number)
        with self._store.journal(write=False) as journal:
            closed = journal.closing_line(number)
        kept = None if closed is None else closed.entry().parameters.get("release")
        if kept is None:
            raise InvalidArgument(
                "number",
                number,
                "is not the line of a release that is kept in the ledger",
                "Pass a line that `freegap budget show` lists. Kept are private releases of freegap that are "
                "made with ledger=, or returned to Ledger.charge.",
            )
        return dict(kept)

    def verify(self, head: str | None = None) -> Verification:
        """Read the whole journal again and check every line, every sum and the end.

        `head` is the `head` of an earlier verification that was kept elsewhere; with it, a ledger that was
        replaced as a whole, or by an older copy of itself, shows too.
        """
        if head is not None and not isinstance(head, str):
            raise InvalidArgument("head", head, "must be text", "Pass the head of an earlier verification.")
        noted = [head, *(noted.hash for noted in self._store.noted().values())]
        with self._store.journal(write=False, check=False) as journal:
            recorded = (journal.head.sequence, journal.head.hash)
            with closing(journal.lines(checked=False)) as lines:
                return verified(lines, recorded, *noted)

    def _close(self, reservation: Reservation, spent: Fraction | None, what: str) -> None:
        with self._store.journal(write=True) as journal:
            self._all_closed(journal, reservation, spent, what)

    def _all_closed(
        self, journal: Journal, reservation: Reservation, spent: Fraction | None, what: str
    ) -> Line:
        """Close a reservation and those beside it; its own line."""
        line, *_ = [self._closed(journal, one, spent, what) for one in (reservation, *reservation.beside)]
        return line

    def _who(self) -> str:
        return who()

    def _closed(self, journal: Journal, reservation: Reservation, spent: Fraction | None, what: str) -> Line:
        """Settle a reservation at `spent`, or abandon it where that is None."""
        kind = "abandon" if spent is None else "settle"
        line = journal.line(reservation.sequence)
        last = journal.last_line(reservation.dataset)
        if line is None or last is None or line.hash != reservation.line_hash:
            raise LedgerDamaged(
                f"The ledger {self.url} has lost the reservation {reservation}. "
                "Run `freegap budget verify` and restore the ledger from a backup."
            )
        budget, (held, asked) = last.budget, line.charge
        cost, counted = budget.closing(held, asked, spent)
        closed = journal.closing_line(reservation.sequence)
        if closed is None:
            cost = accounting.kept_short(cost, last.balance.spent).at_most(held)
            return journal.append(
                kind,
                reservation.dataset,
                budget.charge_text(cost, counted),
                budget,
                accounting.close(last.balance, held, cost),
                what=what,
                who=self._who(),
                parameters="{}" if spent is None else reservation.release,
                reservation=reservation.sequence,
            )
        if closed.kind != kind or not cost <= closed.charge[0] <= cost.rounded_up:
            # The same again is harmless: it is what a caller does who lost the connection at the commit.
            raise InvalidArgument(
                "reservation",
                str(reservation),
                f"is closed already: {closed.kind} at {shown(closed.charge[0].amount)}",
                "Settle or abandon a reservation once.",
            )
        return closed
