"""What all objects share that answer one question at a time.

The charge follows the object. It claims its whole budget when it is made (`freegap.charges`), and what a
ledger has reserved for it stays reserved until the object is closed or exhausted; then the ledger settles at
what was spent. An object that is lost, or that dies with its process, is charged in full.

It holds its noise, so there is one of it: it is not copied, not pickled, and of no use in a forked child.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from fractions import Fraction
from typing import Any, Self

from freegap.bits import OfOneProcess, note_draw
from freegap.charges import held, undisturbed
from freegap.errors import BudgetSpent, FreegapError
from freegap.values.plans import ReleasePlan


class Dialogue(OfOneProcess, ABC):
    """An object that answers questions until its budget is spent, or until it is closed.

    As a context manager it is closed at the end of the block, whatever ends it. A question that was
    interrupted counts as answered at its full price: what is settled is never below what was released.
    """

    _in_whole_numbers = False
    """Whether a question is answered without floating point, so that NumPy can neither raise nor warn."""

    def _open(self, ledger: Any, what: str, plan: ReleasePlan, draw: Callable[[], None]) -> None:
        """Claim what the plan asks, reserved where there is a ledger; draw what the object begins with."""
        OfOneProcess.__init__(self)
        self._lock = threading.RLock()
        self._closed = False
        self._claim = held(ledger, what, plan, self, draw)

    @abstractmethod
    def _charge(self) -> Fraction:
        """What the questions so far have cost."""

    @abstractmethod
    def _is_over(self) -> bool:
        """Whether the budget is spent."""

    @property
    def spent(self) -> Fraction:
        """What has been charged so far: nothing before the first question."""
        with self._between_questions():
            return self._charge()

    @property
    def exhausted(self) -> bool:
        """Whether no further question will be answered, because the budget is spent."""
        with self._between_questions():
            return self._is_over()

    @contextmanager
    def _question(self) -> Iterator[None]:
        """One question at a time, in the process that made the object, paid for by its claim."""
        if not self._in_own_process:  # before the lock, which a child may have inherited as taken
            raise FreegapError(
                f"this {type(self).__name__} was made in another process: two processes would use the same "
                "noise twice. Make one in each process, each with a budget of its own."
            )
        with self._lock:
            if self._closed:
                raise BudgetSpent(
                    f"this {type(self).__name__} is closed: no further questions. Nothing was drawn or "
                    "charged for this one. Make a new one with a budget of its own."
                )
            if self._claim is None:
                note_draw()  # its digits may all come from one key, drawn long ago
                with nullcontext() if self._in_whole_numbers else undisturbed():
                    yield
            else:
                with self._claim.paying(), undisturbed():
                    yield
            over = self._is_over()
        if over:
            self._settle()

    def close(self) -> None:
        """Answer no further questions; the ledger, where there is one, settles at what was spent.

        Closing again does nothing. If the ledger cannot take it down, an `UnsettledWarning` says so, and the
        whole budget stays charged.
        """
        if self._in_own_process:
            with self._lock:
                self._closed = True
            self._settle()

    def _settle(self) -> None:
        if self._claim is not None:
            self._claim.close(self._charge())

    def _between_questions(self) -> AbstractContextManager[Any]:
        """While a question is being answered, what is spent is not known yet."""
        return self._lock if self._in_own_process else nullcontext()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
