"""How a release is paid for: the seam between the mechanisms and a ledger, which they do not know.

A mechanism takes `ledger: LedgerAndDataset | None = None`, checks its arguments and reads the answers. It
ends with

    return charged(ledger, plan, lambda: _drawn(plan, read, source))

and everything that draws is in `_drawn`. What the plan asks, in its measure, is the most that the release can
cost, whatever the noise and the answers. An object that is asked later ends its `__init__` in the same way
(`freegap.dialogue`).

What happens is the same with `ledger=` and within `Ledger.charge`:

- The ledger puts an `Allowance` in force, which is as large as the reservation.
- Before anything is drawn, the mechanism *claims* what it asks from the allowance in force. A claim that
  does not fit is refused there and then. It depends on what earlier releases under the same allowance have
  spent and on public numbers, never on what this one would draw.
- While it draws, the claim pays. Mechanisms that it calls draw under the same claim: select and measure, or
  private candidates, claim once for the whole.
- A release that is made closes its claim at its `spent`. One that fails closes it in full.
- When the function of the ledger has returned, the ledger settles at the sum of the claims; it waits for
  those that are still open. It settles in full where it cannot know what was released: where the result is
  not one that was made under the allowance, and where anybody drew without paying in the meantime (another
  thread, a sampler that was called directly, a child process).

Without an allowance in force nothing is claimed.

Why the sum suffices. A release with the output o changes the odds between neighbours by at most e^spent(o),
for every o. For releases that are made one after the other, each chosen from the outputs of those before,
these factors multiply. So all outputs together, refused claims among them, change the odds by at most
e^(sum of the claims), which never exceeds the reservation.

That is so for ε. For a reservation in ρ or (ε, δ) the claims add up as the measure does, and each is what is
known before anything is drawn: the most that the release can cost. A release in ρ may spend less than it
asked, by as much as is public beforehand. A release in ε may claim by the conversion that
`freegap.values.measures` has, and is then not closed below: what it spent may depend on its output, which
only the argument above allows.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from freegap.bits import PAYER, OfOneProcess, last_unpaid_draw
from freegap.errors import FreegapError, InvalidArgument
from freegap.values.measures import Measure, converted
from freegap.values.plans import ReleasePlan, price_of
from freegap.values.written import jsonable


class Charging(Protocol):
    """What a release needs of a ledger: `freegap.Ledger` has it."""

    def charge(
        self,
        dataset: str,
        release: Callable[[], Any],
        *,
        epsilon: Any = None,
        rho: Any = None,
        delta: Any = None,
        what: str,
        parameters: dict[str, Any],
    ) -> Any:
        """Reserve ε, ρ, or ε and δ durably, run the release, settle at what it spent, and return it."""


LedgerAndDataset = tuple[Charging, str]
"""A ledger and the name of a dataset in it."""


class _Spending(Protocol):
    @property
    def spent(self) -> Fraction: ...


R = TypeVar("R", bound=_Spending)


def ledger_argument(ledger: Any) -> LedgerAndDataset | None:
    """A ledger and the name of a dataset in it, or None."""
    if ledger is None:
        return None
    pair = isinstance(ledger, tuple) and len(ledger) == 2 and isinstance(ledger[1], str)
    if pair and callable(getattr(ledger[0], "charge", None)):
        return ledger[0], ledger[1]
    raise InvalidArgument(
        "ledger",
        f"<{type(ledger).__name__}>",
        "must be a ledger and the name of a data set in it",
        'Pass for example ledger=(fg.Ledger(), "shop").',
    )


def require(account: LedgerAndDataset | None, asked: Measure) -> None:
    """Refuse a release that its ledger would refuse, before long work for it, where the ledger can tell."""
    if account is not None and (refuse := getattr(account[0], "require", None)) is not None:
        refuse(account[1], **asked.arguments())


def charged(ledger: Any, plan: ReleasePlan, release: Callable[[], R]) -> R:
    """Make a release that costs at most what its plan asks: claimed and, with a ledger, reserved first.

    release: draws. All that can be refused was refused before, without drawing.
    """

    def claimed() -> R:
        claim = _claim(plan.mechanism, plan)
        if claim is None:
            with undisturbed():
                return release()
        with claim.in_full_if_it_fails(), claim.paying(), undisturbed():
            result = release()
        claim.hand_out(result)
        claim.close(result.spent)
        return result

    if ledger is None:
        return claimed()
    result: R = _through(ledger, claimed, plan.mechanism, plan)
    return result


def undisturbed() -> AbstractContextManager[Any]:
    """Within this NumPy neither raises nor warns, whatever the caller has told it to do (`numpy.seterr`).

    Overflow and underflow are foreseen where something is drawn. Whether they happen depends on answers and
    noise, and so would an error.
    """
    import numpy as np

    return np.errstate(all="ignore")


def held(ledger: Any, what: str, plan: ReleasePlan, thing: object, start: Callable[[], None]) -> Claim | None:
    """As `charged`, for an object that is asked later: its claim stays open until the object closes it.

    what: the kind of object.
    start: draws what the object begins with.
    """
    claim: Claim | None = None

    def opened() -> _Opened:
        nonlocal claim
        claim = _claim(what, plan)
        ticket = _Opened(plan.asked.spent)
        if claim is None:
            with undisturbed():
                start()
            return ticket
        with claim.in_full_if_it_fails(), claim.paying(), undisturbed():
            start()
        claim.hand_out(thing)
        claim.hand_out(ticket)
        return ticket

    _through(ledger, opened, what, plan)
    return claim


@dataclass(frozen=True, eq=False)
class _Opened:
    """What a ledger gets for an object that is opened: one that knows no claims charges it in full."""

    spent: Fraction


def _through(ledger: Any, release: Callable[[], Any], what: str, plan: ReleasePlan) -> Any:
    account = ledger_argument(ledger)
    if account is None:
        return release()
    asked: dict[str, Any] = price_of(plan).arguments()
    return account[0].charge(account[1], release, **asked, what=what, parameters=dict(plan.parameters))


def _claim(what: str, plan: ReleasePlan) -> Claim | None:
    """A claim of its own, where an allowance is in force; within another claim, that one pays."""
    payer = PAYER.get()
    if not isinstance(payer, Allowance):
        return None
    return payer.claim(what, plan.asked if payer.is_in(type(plan.asked)) else price_of(plan))


class Allowance(OfOneProcess):
    """What one reservation pays for: claims that together never exceed its limit."""

    pays = False
    """Only claims pay: what is drawn without one is seen."""

    def __init__(self, limit: Measure) -> None:
        self._limit = limit
        self._claims: list[Claim] = []
        self._over = False
        self._settle: Callable[[Fraction], None] | None = None
        self._witness = last_unpaid_draw()
        super().__init__()
        self._lock = threading.RLock()

    def is_in(self, measure: type[Measure]) -> bool:
        """Whether the reservation is in this measure."""
        return type(self._limit) is measure

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Releases in this block claim from here; after it nothing more can be claimed."""
        token = PAYER.set(self)
        try:
            yield
        finally:
            PAYER.reset(token)
            self._over = True

    @property
    def untouched(self) -> bool:
        """Whether nothing was claimed from here, and nothing was drawn that nobody has paid for."""
        return not self._claims and self._all_paid

    @property
    def _all_paid(self) -> bool:
        return self._in_own_process and last_unpaid_draw() is self._witness

    def claim(self, what: str, asked: Measure) -> Claim:
        """Set what is asked for aside for a release that is about to draw, or refuse."""
        if not self._in_own_process:
            raise FreegapError(
                "the ledger has reserved for a release in the process that called it, not in a child. "
                "Nothing was drawn. Pass ledger=(...) to the releases that the child makes."
            )
        with self._lock:
            if self._over:
                raise FreegapError(
                    "the release that the ledger has reserved for is over, and nothing more can be drawn on "
                    "its account. Nothing was drawn. Pass ledger=(...) to this release."
                )
            claim = Claim(self, asked, converted(asked, type(self._limit)))
            if not self._counted(claim) <= self._limit:
                left = self._limit.spent - self._counted().spent
                argument = next(iter(asked.arguments()))
                raise InvalidArgument(
                    argument,
                    jsonable(asked.spent),
                    f"is what {what} may spend, and of the {jsonable(self._limit.spent)} that the ledger has "
                    f"reserved {jsonable(left)} is left. Nothing was drawn for it",
                    f"Reserve as much as the releases can spend together, or pass them a smaller {argument}.",
                )
            self._claims.append(claim)
            return claim

    def _counted(self, *more: Claim) -> Measure:
        """What the claims cost together."""
        return functools.reduce(
            operator.add, (claim.counted for claim in (*self._claims, *more)), self._limit.of(Fraction(0))
        )

    def made(self, result: object) -> bool:
        """Whether it was made under a claim from here, until the end."""
        return any(result is made for claim in self._claims for made in claim.handed_out)

    def end(self, result: object, settle: Callable[[Fraction], None]) -> None:
        """The function has returned: settle at the sum of the claims, when the last of them is closed.

        In full, and at once, where the sum may not be all that was released.
        """
        if not self._in_own_process:
            return
        with self._lock:
            made_here = self.made(result)
            for claim in self._claims:
                claim.handed_out = ()
            self._settle = settle
        if made_here and self._all_paid:
            self.settle_if_closed()
        else:
            self._settle_once(self._limit.spent)

    def settle_if_closed(self) -> None:
        """Settle, where the function has returned and all its claims are closed."""
        with self._lock:
            done = not any(claim.is_open for claim in self._claims)
            total = self._counted()
        if done:
            self._settle_once(total.spent)

    def _settle_once(self, total: Fraction) -> None:
        with self._lock:
            settle, self._settle = self._settle, None
        if settle is not None and self._in_own_process:
            settle(total)


class Claim:
    """A part of an allowance that one release, or one object, has set aside."""

    def __init__(self, allowance: Allowance, asked: Measure, cost: Measure) -> None:
        self._allowance = allowance
        self._asked = asked
        self.counted = cost
        """What it costs: the most that it can cost, until it is closed at what was spent."""
        self.is_open = True
        self.handed_out: tuple[object, ...] = ()
        """What was made under it and given to the caller."""

    @property
    def pays(self) -> bool:
        """Whether draws under it are paid for."""
        return self.is_open and self._allowance._in_own_process

    @contextmanager
    def paying(self) -> Iterator[None]:
        """Draws in this block are made under the claim."""
        token = PAYER.set(self)
        try:
            yield
        finally:
            PAYER.reset(token)

    @contextmanager
    def in_full_if_it_fails(self) -> Iterator[None]:
        """An error in this block, an interruption too, closes the claim at all that was set aside."""
        try:
            yield
        except BaseException:
            self.close(self._asked.spent)
            raise

    def hand_out(self, made: object) -> None:
        """Remember that `made` was made under this claim, so that a ledger that gets it knows it."""
        if not self._allowance._over:
            self.handed_out += (made,)

    def close(self, spent: Fraction) -> None:
        """Nothing more will be drawn under it, and `spent` is what it has cost. Once; a child cannot."""
        if not self.pays:
            return
        with self._allowance._lock:
            if type(self._asked) is type(self.counted) and not self.counted.delta:
                self.counted = self.counted.of(min(self.counted.spent, spent))
            self.is_open = False
        self._allowance.settle_if_closed()
