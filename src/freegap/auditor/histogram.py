"""The two output histograms of a counterexample, along the feature that its event looks at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from freegap.auditor.events import Between, Event, OneOf
from freegap.auditor.features import Feature, Whole, value_text
from freegap.auditor.outputs import Label, Outputs

__all__ = ["Bar", "Bins", "Histogram"]

MOST_BARS = 40
OTHER = "other"


@dataclass(frozen=True)
class Bar:
    """One bar: its name, its ends where it stands for a range of numbers, and whether the event holds."""

    name: str
    low: float | None
    high: float | None
    shaded: bool


@dataclass(frozen=True)
class Histogram:
    """How many outputs of each side fell under each bar."""

    bars: tuple[Bar, ...]
    first: tuple[int, ...]
    second: tuple[int, ...]

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram(
            self.bars,
            tuple(a + b for a, b in zip(self.first, other.first, strict=True)),
            tuple(a + b for a, b in zip(self.second, other.second, strict=True)),
        )


@dataclass(frozen=True)
class Bins:
    """Which bars there are: fixed before the samples are counted.

    edges: of the ranges of numbers, with the ends of the event among them.
    values: single values that have a bar of their own.
    """

    event: Event
    edges: tuple[float, ...]
    values: tuple[float | Label, ...]
    bars: tuple[Bar, ...]

    @property
    def feature(self) -> Feature:
        """The feature along which the bars stand: that of the last clause."""
        return self.event.clauses[-1].feature

    @classmethod
    def of(cls, event: Event, first: Outputs, second: Outputs) -> Bins:
        """Bars that suit some samples of both sides."""
        clause = event.clauses[-1]
        readings = [clause.feature.read(part) for part in (first, second)]
        labels = list(
            dict.fromkeys(reading.labels[code] for reading in readings for code in reading.codes if code >= 0)
        )
        numbers = np.concatenate([reading.numbers[reading.is_number] for reading in readings])
        distinct = np.unique(numbers)
        chosen = clause.condition.values if isinstance(clause.condition, OneOf) else ()
        if len(distinct) <= MOST_BARS or isinstance(clause.feature, Whole):
            common = [float(v) for v in _most_common(numbers)]
            values = tuple(dict.fromkeys([*labels, *sorted({*common, *_floats(chosen)})]))
            edges: tuple[float, ...] = ()
        else:
            values = tuple(dict.fromkeys([*labels, *_floats(chosen)]))
            edges = _edges(numbers, clause.condition if isinstance(clause.condition, Between) else None)
        bars = [
            Bar(_name(clause.feature, v, clause.condition), None, None, _holds(clause.condition, v))
            for v in values
        ]
        for low, high in zip((-np.inf, *edges), (*edges, np.inf), strict=True) if edges else ():
            inside = (
                isinstance(clause.condition, Between)
                and low >= clause.condition.low
                and high <= clause.condition.high
            )
            bars.append(Bar(f"{value_text(low)} … {value_text(high)}", float(low), float(high), inside))
        bars.append(Bar(OTHER, None, None, False))
        return cls(event, edges, values, tuple(bars))

    def tally(self, first: Outputs, second: Outputs) -> Histogram:
        """Count. Only outputs that meet all clauses but the last are counted, so that the bars and the
        event speak of the same outputs."""
        return Histogram(self.bars, self._count(first), self._count(second))

    def _count(self, outputs: Outputs) -> tuple[int, ...]:
        reading = self.feature.read(outputs)
        before = Event(self.event.clauses[:-1]).holds(outputs)
        left = before.copy()
        counts = []
        for value in self.values:
            here = OneOf((value,)).holds(reading) & left
            counts.append(int(here.sum()))
            left &= ~here
        if self.edges:
            numeric = left & reading.is_number
            place = np.searchsorted(np.array(self.edges), reading.numbers[numeric], side="right")
            counts += np.bincount(place, minlength=len(self.edges) + 1).tolist()
            left &= ~reading.is_number
        counts.append(int(left.sum()))
        return tuple(counts)


def _floats(values: tuple[float | Label, ...]) -> list[float]:
    return [value for value in values if not isinstance(value, Label)]


def _most_common(numbers: np.typing.NDArray[np.float64]) -> np.typing.NDArray[np.float64]:
    values, counts = np.unique(numbers, return_counts=True)
    return values[np.argsort(-counts, kind="stable")[:MOST_BARS]]


def _name(feature: Feature, value: float | Label, condition: Between | OneOf) -> str:
    if isinstance(condition, OneOf) and condition.names and value in condition.values:
        return condition.names[condition.values.index(value)]
    return "another output" if isinstance(feature, Whole) else value_text(value)


def _holds(condition: Between | OneOf, value: float | Label) -> bool:
    if isinstance(condition, OneOf):
        return value in condition.values
    return not isinstance(value, Label) and condition.low <= value < condition.high


def _edges(numbers: np.typing.NDArray[np.float64], event: Between | None) -> tuple[float, ...]:
    low, high = np.quantile(numbers, [0.002, 0.998])
    ends = [end for end in ((event.low, event.high) if event else ()) if np.isfinite(end)]
    even = np.linspace(min(low, *ends) if ends else low, max(high, *ends) if ends else high, MOST_BARS)
    step = even[1] - even[0]
    kept = [edge for edge in even if all(abs(edge - end) > step / 3 for end in ends)]
    return tuple(sorted(float(edge) for edge in {*kept, *ends}))
