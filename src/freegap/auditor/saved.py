"""A report that was written down is read again, to go on with; and several that went on are put together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from freegap.auditor import computed, features
from freegap.auditor.betting import Bets
from freegap.auditor.claims import claim_argument
from freegap.auditor.counterexample import Counterexample
from freegap.auditor.events import Between, Clause, Event, OneOf
from freegap.auditor.mechanism import Mechanism, freeze
from freegap.auditor.outputs import Label
from freegap.auditor.report import AuditReport, with_more
from freegap.auditor.sampling import OutputSource
from freegap.auditor.statistics import EventCounts, Look, TestedClaim
from freegap.errors import InvalidArgument

RUN_LIMIT = 10.0
_FEATURES = (
    features.Component,
    features.KindOf,
    features.Mean,
    features.Difference,
    features.Least,
    features.Greatest,
    features.Length,
    features.CountOf,
    features.Distance,
    features.Whole,
    features.WholeOfLabels,
    computed.LearnedScore,
    computed.LowestBit,
    computed.ZeroSign,
)
_KINDS: dict[str, type] = {kind.__name__: kind for kind in (*_FEATURES, Between, OneOf)}


def combined(reports: Sequence[AuditReport]) -> AuditReport:
    """Reports that went on from one audit, as one: their runs are one game, played in turn."""
    first = reports[0]
    parts: dict[int, EventCounts] = {}
    for report in reports:
        if report.closest is None or first.closest is None or _subject(report) != _subject(first):
            raise InvalidArgument(
                "others",
                report.title,
                "is about another claim, input or event",
                "Start from one audit, and let each machine go on from its report by resume().",
            )
        for seed, counts in report.closest.parts:
            if parts.setdefault(seed, counts) != counts:
                raise InvalidArgument(
                    "others",
                    seed,
                    "is the seed of two runs that came out differently",
                    "Give every machine a seed of its own, or none.",
                )
    assert first.closest is not None  # noqa: S101 (for the type checker)
    last = [look for look in first.closest.looks if look.bets is not None][-1]
    total = Look(sum(parts.values(), EventCounts(0, 0, 0, 0)), last.share, last.bets)
    looks = tuple(dict.fromkeys((*first.closest.looks, total)))
    return with_more(first, replace(first.closest, looks=looks, parts=tuple(parts.items())))


def _subject(report: AuditReport) -> tuple[Any, ...]:
    """What a report is about: it must be the same for all that are put together."""
    found = report.closest
    if found is None:
        return ()
    bets = {(look.share, look.bets) for look in found.looks if look.bets is not None}
    claim = (report.mechanism, report.claim, report.confidence, report.neighbours)
    return (*claim, found.first, found.second, found.parameters, found.event.to_dict(), bets)


def report_of(
    record: Mapping[str, Any],
    mechanism: Callable[..., Any],
    *,
    parameters: Mapping[str, Any] | None = None,
    tradeoff: Callable[[float], float] | None = None,
) -> AuditReport:
    """A report from its record."""
    given = {name: str(amount) for name, amount in record["claimed"].items() if amount is not None}
    claim = claim_argument(**given, tradeoff=tradeoff)
    wrapped = Mechanism.of(
        mechanism, claimed=claim.claimed, sensitivity=record["sensitivity"], parameters=parameters
    )
    if wrapped.name != record["mechanism"]:
        raise InvalidArgument(
            "mechanism",
            wrapped.name,
            f"is not {record['mechanism']}, of which the report is",
            "Pass that one.",
        )
    found: dict[str, Any] = {
        name: None if record[name] is None else _found(record[name], claim, wrapped, int(record["seed"]))
        for name in ("counterexample", "closest", "logic")
    }
    kept = ("mechanism", "neighbours", "sensitivity", "confidence", "violated", "lower_bound", "replayable")
    more = ("deterministic", "interrupted", "candidates", "runs", "seconds")
    looks = tuple(dict.fromkeys(look for part in found.values() if part is not None for look in part.looks))
    return AuditReport(
        claim=claim,
        looks=looks,
        seed=int(record["seed"]),
        notes=tuple(record["notes"]),
        runs_after=record.get("runs_after", 0),  # older ones do not say it
        **found,
        **{name: record[name] for name in (*kept, *more)},
    )


def _found(record: Mapping[str, Any], claim: TestedClaim, mechanism: Mechanism, seed: int) -> Counterexample:
    if not isinstance(record["first"], list):
        raise InvalidArgument("text", None, "has inputs that are no lists of answers", "Audit anew.")
    first, parameters = tuple(record["first"]), freeze(record["parameters"])
    return Counterexample(
        first=first,
        second=tuple(record["second"]),
        parameters=parameters,
        event=Event(
            tuple(Clause(_read(c["feature"]), _read(c["condition"])) for c in record["event_in_full"])
        ),
        looks=tuple(_look(look) for look in record["looks"]),
        claim=claim,
        confidence=record["confidence"],
        source=OutputSource(mechanism.tried(first, parameters, RUN_LIMIT), seed, RUN_LIMIT),
        parts=tuple((int(part["seed"]), _look(part).counts) for part in record["parts"]),
    )


def event_of(record: Sequence[Mapping[str, Any]]) -> Event:
    """An event from what its `to_dict` has written.

    >>> event = Event.of(features.Component((0,)), Between(high=2.5))
    >>> event_of(event.to_dict()) == event
    True
    """
    return Event(tuple(Clause(_read(clause["feature"]), _read(clause["condition"])) for clause in record))


def _look(record: Mapping[str, Any]) -> Look:
    bets = Bets(record["aim"]) if record["any_time"] else None
    return Look(EventCounts(*record["hits"], *record["runs"]), record["share"], bets)


def _read(record: Any) -> Any:
    """What `freegap.auditor.events.plain` has written; numbers that JSON does not have are texts there."""
    if isinstance(record, list):
        return tuple(_read(part) for part in record)
    if not isinstance(record, dict):
        return record
    name = record["kind"]
    if name not in _KINDS:  # labels and terms have a field of that name
        if "path" not in record:
            return Label(**record)
        return computed.Term(tuple(record["path"]), name, _number(record["value"]))
    fields = {key: value for key, value in record.items() if key != "kind"}
    if name == "Between":
        return Between(float(fields["low"]), float(fields["high"]))
    if name == "OneOf":
        return OneOf(tuple(map(_number, fields["values"])), tuple(fields["names"]))
    if name == "Distance":
        places = tuple((tuple(path), _number(value)) for path, value in fields["reference"])
        return features.Distance(places)
    return _KINDS[name](**{key: _read(value) for key, value in fields.items()})


def _number(value: Any) -> Any:
    """A number or a label."""
    if isinstance(value, str):
        return math.nan if value == "nan" else float(value)
    return _read(value)
