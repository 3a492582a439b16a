"""The journal of one dataset for people: one line per release, with what became of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from freegap.budget.chain import AFTER, THREAD
from freegap.budget.records import Entry, plain, plain_measure
from freegap.values.measures import Measure


@dataclass(frozen=True)
class Charge:
    """One release: what was reserved for it and what it was charged in the end.

    state: open (running, or crashed and charged in full), settled, or abandoned.
    charged: what counts against the budget: all that is reserved while it is open, then what was spent.
    unit: the measure of both, in which the budget is kept: "epsilon" or "rho".
    delta: the δ that counts beside it.
    asked: what the release asked for, in its own measure.
    notes: what it has said since, where it goes on (a watch), by the lines that say it.
    """

    sequence: int
    when: str
    who: str
    what: str
    parameters: dict[str, Any]
    reserved: Fraction
    charged: Fraction
    state: Literal["open", "settled", "abandoned"]
    unit: str
    delta: Fraction
    asked: Measure
    notes: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """The charge as plain values: rationals as strings such as "1/3"."""
        amounts = {name: plain(getattr(self, name)) for name in ("reserved", "charged", "delta")}
        return {**self.__dict__, **amounts, "asked": plain_measure(self.asked)}


def charges(entries: Iterable[Entry]) -> list[Charge]:
    """Fold the entries of a journal to one line per release, in the order of reservation."""
    listed = list(entries)
    closing = {entry.reservation: entry for entry in listed if entry.reservation is not None}
    notes: dict[tuple[str, Any], list[dict[str, Any]]] = {}
    for entry in listed:
        if entry.kind == "note":
            said = {name: value for name, value in entry.parameters.items() if name not in (THREAD, AFTER)}
            about = notes.setdefault((entry.dataset, entry.parameters.get(THREAD)), [])
            about.append({"sequence": entry.sequence, "when": entry.when, "who": entry.who, **said})
    return [
        _charge(entry, closing.get(entry.sequence), notes.get(_thread(entry), []))
        for entry in listed
        if entry.kind == "reserve"
    ]


def _thread(entry: Entry) -> tuple[str, Any]:
    name = entry.parameters.get(THREAD)
    return entry.dataset, name if isinstance(name, str) else None


def _charge(entry: Entry, closed: Entry | None, notes: list[dict[str, Any]]) -> Charge:
    state: Literal["open", "settled", "abandoned"] = "open"
    if closed is not None:
        state = "settled" if closed.kind == "settle" else "abandoned"
    return Charge(
        sequence=entry.sequence,
        when=entry.when,
        who=entry.who,
        what=entry.what,
        parameters=entry.parameters,
        reserved=entry.amount,
        charged=entry.amount if closed is None else closed.amount,
        state=state,
        unit=entry.unit,
        delta=entry.delta if closed is None else closed.delta,
        asked=entry.asked,
        notes=notes,
    )
