"""The exception tree. Everything freegap raises on purpose is a `FreegapError`.

    FreegapError
    ├── InvalidArgument   (also a ValueError)   a bad argument, found before anything is drawn or charged
    ├── BitsExhausted     (also an EOFError)    a replayed source of bits has no more bits
    ├── BudgetSpent                             what is left of a budget does not suffice
    ├── BudgetExceeded                          what is left of a dataset in the ledger does not suffice
    ├── LedgerError                             the ledger could not do what was asked
    │   ├── LedgerUnavailable                   it cannot be reached, read or written now
    │   └── LedgerDamaged                       its journal is not as freegap wrote it
    ├── EngineFailed                            the engine that holds a private table could not count it
    ├── MechanismFailed   (also a RuntimeError) an audited mechanism crashed, hung or broke its contract
    ├── MissingExtra      (also an ImportError) an optional dependency is not installed
    └── PrivacyViolated   (also an AssertionError) an audit found a counterexample

One warning, `UnsettledWarning`, tells that a release was charged more than it spent.

A message names the argument, its value, the constraint and the remedy. It never shows an answer of
the private data: where the answers themselves are at fault, it says what is wrong, not where or how much.
"""

from __future__ import annotations

import inspect

_INSIDE = ("freegap", "contextlib")


class FreegapError(Exception):
    """Base of every error that freegap raises on purpose."""


class InvalidArgument(FreegapError, ValueError):
    """An argument cannot be used. Nothing was drawn, released or charged.

    >>> raise InvalidArgument("k", 0, "must be at least 1", "Pass k=1 for the largest item.")
    Traceback (most recent call last):
        ...
    freegap.errors.InvalidArgument: k = 0: must be at least 1. Pass k=1 for the largest item.
    """

    def __init__(self, argument: str, value: object, constraint: str, remedy: str) -> None:
        self.argument = argument
        self.value = value
        self.constraint = constraint
        self.remedy = remedy
        shown = f"{argument} = {_short(value)}" if value is not REDACTED else argument
        super().__init__(printable(f"{shown}: {constraint}. {remedy}"))

    def __reduce__(self) -> tuple[object, ...]:
        """Survive pickling, so that an error crosses from a worker process as it is."""
        return type(self), (self.argument, self.value, self.constraint, self.remedy)


class BitsExhausted(FreegapError, EOFError):
    """A replayed or scripted source was asked for more bits than it holds."""


class BudgetSpent(FreegapError):
    """What is left of a budget does not suffice. Nothing was drawn, released or charged."""


class MechanismFailed(FreegapError, RuntimeError):
    """An audited mechanism crashed, hung or broke its contract. There is no verdict; the input is named.

    These are the auditor's own made-up inputs, not private data, so they are shown.
    """

    def __init__(self, what: str, answers: object, parameters: object, remedy: str = "") -> None:
        self.what = what
        self.answers = answers
        self.parameters = parameters
        self.remedy = remedy
        shown, given = _text(answers), f" with {_text(parameters)}" if parameters else ""
        text = f"The mechanism {what} on the answers {shown}{given}. There is no verdict. {remedy}"
        super().__init__(printable(text.rstrip(), lines=True))

    def __reduce__(self) -> tuple[object, ...]:
        """Survive pickling, so that the error crosses from a worker process as it is."""
        return type(self), (self.what, self.answers, self.parameters, self.remedy)


class PrivacyViolated(FreegapError, AssertionError):
    """An audit found a counterexample; the message is the counterexample, `report` the whole record."""

    def __init__(self, message: str, report: object) -> None:
        self.report = report
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        """Survive pickling."""
        return type(self), (str(self), self.report)


class EngineFailed(FreegapError):
    """The engine that holds a private table could not count it. Nothing was released.

    Engines quote rows in their messages, so the engine's own message is not passed on.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(
            f"The engine that holds the table failed with {kind}. Its message is not shown, because it may "
            "quote private rows. Count the table with the engine itself, where the data may be seen."
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Survive pickling."""
        return type(self), (self.kind,)


class BudgetExceeded(FreegapError):
    """A dataset has less ε left in the ledger than was asked for. Nothing was drawn, released or charged."""


class LedgerError(FreegapError):
    """The ledger could not do what was asked. What was reserved before stays charged."""


class LedgerUnavailable(LedgerError):
    """The ledger cannot be reached, read or written: disk full, read-only, connection lost, locked."""


class LedgerDamaged(LedgerError):
    """The ledger's journal is not as freegap wrote it. On such a journal nothing is charged or released."""


class UnsettledWarning(UserWarning):
    """A release was made and is charged in full: the ledger could not take down the lower amount it spent."""


class SpellingWarning(UserWarning):
    """A public domain has spellings that look like slips; the table was not looked at."""


class MissingExtra(FreegapError, ImportError):
    """An optional dependency is missing; the message says which extra installs it."""

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"This needs {package}. Install it with: pip install 'freegap[{extra}]'")

    def __reduce__(self) -> tuple[object, ...]:
        """Survive pickling."""
        return type(self), (self.package, self.extra)


class _Redacted:
    """Stands in an error for a value that belongs to the private data."""

    def __repr__(self) -> str:
        return "<not shown: private>"

    def __reduce__(self) -> str:
        return "REDACTED"


REDACTED = _Redacted()


def printable(text: str, *, lines: bool = False) -> str:
    """Without control characters: a name must not be able to steer the terminal that shows it.

    lines: keep the ends of lines, where a text is meant to have several.

    >>> printable("red \\x1b[31m")
    'red �[31m'
    """
    kept = "\n" if lines else ""
    return "".join(c if c.isprintable() or c == kept else "\N{REPLACEMENT CHARACTER}" for c in text)


def _text(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # a hostile or broken __repr__ must not hide the error
        return f"<{type(value).__name__}>"


def _short(value: object) -> str:
    text = _text(value)
    return text if len(text) <= 80 else text[:77] + "..."


def frames_of_freegap() -> int:
    """How far up the stack the caller's own code is, for a warning that should point there."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        frame, level = frame.f_back, level + 1
    return level
