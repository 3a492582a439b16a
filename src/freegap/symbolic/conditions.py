"""Conditions on symbols, and who decides them while a program runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import z3

from freegap.symbolic.undecided import NotDecided, calling_line

if TYPE_CHECKING:
    from freegap.symbolic.symbols import Symbol, SymbolicVariable

_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


class Decider(Protocol):
    """What answers a symbolic truth value while a program runs.

    `fault` is the first "not decided" of the run: it counts even if the program catches the exception.
    """

    fault: NotDecided | None

    def decide(self, condition: Condition) -> bool:
        """The side that the program takes now."""


running: ContextVar[Decider | None] = ContextVar("freegap_symbolic_run", default=None)


def undecided(reason: str) -> NotDecided:
    """The exception for what cannot be followed; the run that is going on remembers it."""
    error = NotDecided(reason, calling_line())
    run = running.get()
    if run is not None and run.fault is None:
        run.fault = error
    return error


@dataclass(frozen=True, eq=False)
class Condition:
    """A comparison of a polynomial with zero, or an "and"/"or" of conditions.

    As a truth value it is decided by the exploration that is running; `&`, `|` and `~` combine.
    """

    relation: str  # "<", "<=", "==", "!=" for `symbol relation 0`; "and", "or" for `parts`
    symbol: Symbol | None = None
    parts: tuple[Condition, ...] = ()

    @staticmethod
    def compare(symbol: Symbol, relation: str) -> Condition | bool:
        """`symbol relation 0`, as a plain truth value where no unknown is left."""
        value = symbol.as_constant()
        if value is None:
            return Condition(relation, symbol)
        return bool(_RELATIONS[relation](value, 0))

    def __bool__(self) -> bool:
        run = running.get()
        if run is None:
            raise undecided(f"the truth of {self} outside of an exploration")
        return run.decide(self)

    def __invert__(self) -> Condition:
        if self.symbol is None:
            opposite = "or" if self.relation == "and" else "and"
            return Condition(opposite, parts=tuple(~part for part in self.parts))
        if self.relation in ("<", "<="):
            return Condition("<=" if self.relation == "<" else "<", -self.symbol)
        return Condition("!=" if self.relation == "==" else "==", self.symbol)

    def __and__(self, other: Any) -> Any:
        return both([self, other])

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return either([self, other])

    __ror__ = __or__

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Equal for conditions that are the same comparison."""
        if self.symbol is None:
            return (self.relation, tuple(part.key for part in self.parts))
        return (self.relation, self.symbol.key)

    @property
    def variables(self) -> frozenset[SymbolicVariable]:
        """The unknowns that occur."""
        own = self.symbol.variables if self.symbol is not None else frozenset()
        return own.union(*(part.variables for part in self.parts))

    def substitute(self, values: Mapping[SymbolicVariable, Any]) -> Condition | bool:
        """With symbols or numbers put in the place of variables."""
        if self.symbol is not None:
            return Condition.compare(self.symbol.substitute(values), self.relation)
        return (both if self.relation == "and" else either)(p.substitute(values) for p in self.parts)

    @cached_property
    def z3(self) -> Any:
        """As a z3 formula."""
        if self.symbol is None:
            return (z3.And if self.relation == "and" else z3.Or)([part.z3 for part in self.parts])
        return _RELATIONS[self.relation](self.symbol.z3, z3.RealVal(0))

    def __str__(self) -> str:
        if self.symbol is None:
            return "(" + f" {self.relation} ".join(map(str, self.parts)) + ")"
        return f"{self.symbol} {self.relation} 0"

    __repr__ = __str__


def both(conditions: Iterable[Condition | bool]) -> Condition | bool:
    """All of them hold."""
    return _combined("and", conditions)


def either(conditions: Iterable[Condition | bool]) -> Condition | bool:
    """At least one of them holds."""
    return _combined("or", conditions)


def _combined(relation: str, conditions: Iterable[Condition | bool]) -> Condition | bool:
    parts = []
    for condition in conditions:
        if isinstance(condition, Condition):
            parts.append(condition)
        elif bool(condition) == (relation == "or"):
            return relation == "or"
    if len(parts) == 1:
        return parts[0]
    return Condition(relation, parts=tuple(parts)) if parts else relation == "and"
