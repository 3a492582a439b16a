"""An event: a set of outputs, as short conditions on features that must all hold; and its histograms.

A histogram counts outputs along the feature that the event of a counterexample looks at.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.auditor.features import Feature, Reading, Whole, value_text
from freegap.auditor.outputs import Label, Outputs
from freegap.report.pictures import BLUE, ORANGE
from freegap.values.written import jsonable

MOST_BARS = 40
TAIL_SHOWN = 0.0008  # at each end, in one bar
OTHER = "other"
SHADE = "#F0E442"
Flags = NDArray[np.bool_]

SHOWN_VALUES = 4

_BURDEN = {
    "Whole": 1.0,
    "WholeOfLabels": 1.0,
    "Distance": 1.0,
    "KindOf": 1.0,
    "LowestBit": 4.0,
    "ZeroSign": 4.0,
    "LearnedScore": 10.0,
}
"""What it takes to understand a feature."""


@dataclass(frozen=True)
class Between:
    """A number at or above `low` and below `high`; an infinite end is no condition."""

    low: float = -math.inf
    high: float = math.inf

    @property
    def complexity(self) -> float:
        """Two ends are harder to read than one, and many digits harder than few."""
        ends = [end for end in (self.low, self.high) if math.isfinite(end)]
        return 1.0 + len(ends) + 0.1 * sum(len(value_text(end).lstrip("-")) for end in ends)

    def holds(self, reading: Reading) -> Flags:
        """Where the condition holds."""
        found: Flags = reading.is_number & (reading.numbers >= self.low) & (reading.numbers < self.high)
        return found

    def text(self, feature: Feature) -> str:
        """The condition in words."""
        if self.low == -math.inf and self.high == math.inf:
            return f"{feature.text} is a number"
        if self.low == -math.inf:
            return f"{feature.text} < {value_text(self.high)}"
        if self.high == math.inf:
            return f"{feature.text} ≥ {value_text(self.low)}"
        return f"{value_text(self.low)} ≤ {feature.text} < {value_text(self.high)}"


@dataclass(frozen=True)
class OneOf:
    """A value that is one of a few: numbers or labels.

    names: how to write the values, where they are keys of whole outputs.
    """

    values: tuple[float | Label, ...]
    names: tuple[str, ...] = ()

    @property
    def complexity(self) -> float:
        """One value reads best."""
        return 1.0 + len(self.values)

    def holds(self, reading: Reading) -> Flags:
        """Where the condition holds."""
        numbers = [value for value in self.values if not isinstance(value, Label)]
        labels = [value for value in self.values if isinstance(value, Label)]
        codes = [reading.labels.index(label) for label in labels if label in reading.labels]
        found: Flags = np.zeros(len(reading.codes), dtype=np.bool_)
        if numbers:
            found |= reading.is_number & _among(reading.numbers, numbers)
        if codes:
            found |= _among(reading.codes, codes)
        return found

    def text(self, feature: Feature) -> str:
        """The condition in words."""
        names = self.names or tuple(value_text(value) for value in self.values)
        if len(names) == 1:
            return f"{feature.text} = {names[0]}"
        shown = ", ".join(names[:SHOWN_VALUES])
        more = f", … ({len(names)} in all)" if len(names) > SHOWN_VALUES else ""
        return f"{feature.text} is one of {shown}{more}"


def _among(cells: NDArray[Any], values: Sequence[float]) -> Flags:
    found: Flags = cells == values[0] if len(values) == 1 else np.isin(cells, values)
    return found


Condition = Between | OneOf


@dataclass(frozen=True)
class Clause:
    """A feature and what must hold of it."""

    feature: Feature
    condition: Condition

    @property
    def text(self) -> str:
        """The clause in words."""
        return self.condition.text(self.feature)

    def holds(self, outputs: Outputs) -> Flags:
        """For each output, whether the clause holds."""
        return self.condition.holds(self.feature.read(outputs))


@dataclass(frozen=True)
class Event:
    """The outputs for which every clause holds."""

    clauses: tuple[Clause, ...]

    @classmethod
    def of(cls, feature: Feature, condition: Condition) -> Event:
        """The event with one clause."""
        return cls((Clause(feature, condition),))

    @property
    def text(self) -> str:
        """The event in words."""
        return " and ".join(clause.text for clause in self.clauses)

    @cached_property
    def complexity(self) -> float:
        """How hard the event is to read; ties between events go to the simplest."""
        total = sum(clause.condition.complexity for clause in self.clauses) + len(self.clauses)
        return total + sum(_BURDEN.get(type(clause.feature).__name__, 0.0) for clause in self.clauses)

    def holds(self, outputs: Outputs) -> Flags:
        """For each output, whether it is in the event."""
        found: Flags = np.ones(len(outputs), dtype=np.bool_)
        for clause in self.clauses:
            found &= clause.holds(outputs)
        return found

    def to_dict(self) -> list[dict[str, Any]]:
        """The event in full, as plain values: every clause must hold."""
        return [{"feature": plain(c.feature), "condition": plain(c.condition)} for c in self.clauses]

    def hits(self, outputs: Outputs) -> int:
        """How many of the outputs are in the event."""
        return int(np.count_nonzero(self.holds(outputs)))


def plain(record: Any) -> Any:
    """A record, and all within it, as plain values with the name of its class."""
    if isinstance(record, tuple):
        return [plain(part) for part in record]
    if not is_dataclass(record):
        return jsonable(record)
    return {"kind": type(record).__name__} | {f.name: plain(getattr(record, f.name)) for f in fields(record)}


# Histograms ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bar:
    """One bar: its name, its ends where it stands for a range of numbers, and whether the event holds."""

    name: str
    low: float | None
    high: float | None
    shaded: bool


@dataclass(frozen=True)
class Histogram:
    """How many outputs of each side fell under each bar.

    runs: of each side, with those that are under no bar.
    order: of the bars, from those that speak for the first input to those that speak for the second, by other
        samples than these.
    values: single values that have a bar of their own, the first bars.
    """

    bars: tuple[Bar, ...]
    first: tuple[int, ...]
    second: tuple[int, ...]
    runs: tuple[int, int] = (0, 0)
    order: tuple[int, ...] = ()
    values: tuple[float | Label, ...] = ()

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram(
            self.bars,
            tuple(a + b for a, b in zip(self.first, other.first, strict=True)),
            tuple(a + b for a, b in zip(self.second, other.second, strict=True)),
            (self.runs[0] + other.runs[0], self.runs[1] + other.runs[1]),
            self.order,
            self.values,
        )

    def draw(self, axes: Any, event: Event, runs: tuple[int, int]) -> None:
        """The bars of both sides as shares of the runs, those of the event shaded."""
        hit = [i for i in range(len(self.bars)) if self.first[i] or self.second[i]]
        ranges = [i for i in hit if self.bars[i].low is not None]
        # an empty range between others says something as well
        between = range(min(ranges), max(ranges)) if ranges else range(0)
        kept = [i for i, bar in enumerate(self.bars) if i in hit or bar.shaded or i in between]
        for place, i in enumerate(kept):
            if self.bars[i].shaded:
                axes.axvspan(place - 0.5, place + 0.5, color=SHADE, alpha=0.45, linewidth=0)
        sides = ((-0.2, self.first, BLUE, "first input"), (0.2, self.second, ORANGE, "second input"))
        for (offset, counts, colour, name), total in zip(sides, runs, strict=True):
            heights = [counts[i] / max(1, total) for i in kept]
            axes.bar([place + offset for place in range(len(kept))], heights, 0.4, color=colour, label=name)
        marks = range(0, len(kept), max(1, len(kept) // 10))
        in_order = bool(ranges) and all(
            self.bars[i].low is not None or self.bars[i].name == OTHER for i in kept
        )
        names = [_mark(self.bars[kept[place]], in_order=in_order) for place in marks]
        axes.set_xticks(list(marks), names, fontsize=8)
        axes.set(ylabel="share of runs", xlabel=_fit(event.clauses[-1].feature.text, 90))
        axes.set_title(f"event (shaded): {_fit(event.text, 80)}", fontsize=10, loc="left")
        axes.legend(frameon=False, fontsize=9)


def _mark(bar: Bar, *, in_order: bool) -> str:
    """What stands below a bar: of ranges in order, their lower end."""
    if not in_order or bar.low is None:
        return _fit(bar.name)
    return "…" if bar.low == -math.inf else f"{bar.low:.3g}"


def _fit(text: str, most: int = 24) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


@dataclass(frozen=True)
class Bins:
    """Which bars there are: fixed before the samples are counted.

    edges: of the ranges of numbers, with the ends of the event among them.
    values: single values that have a bar of their own.
    order: see `Histogram`.
    """

    event: Event
    edges: tuple[float, ...]
    values: tuple[float | Label, ...]
    bars: tuple[Bar, ...]
    order: tuple[int, ...] = ()

    @property
    def feature(self) -> Feature:
        """The feature along which the bars stand: that of the last clause."""
        return self.event.clauses[-1].feature

    @classmethod
    def of(cls, event: Event, first: Outputs, second: Outputs) -> Bins:
        """Bars that suit some samples of both sides."""
        clause = event.clauses[-1]
        readings = [clause.feature.read(part) for part in (first, second)]
        often = Counter(
            reading.labels[code] for reading in readings for code in reading.codes[reading.codes >= 0]
        )
        labels = [label for label, _ in often.most_common(MOST_BARS)]
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
        bins = cls(event, edges, values, tuple(bars))
        seen = bins.tally(first, second)
        ratio = (np.array(seen.first) + 0.5) / (np.array(seen.second) + 0.5)
        return replace(bins, order=tuple(int(i) for i in np.argsort(-ratio, kind="stable")))

    def tally(self, first: Outputs, second: Outputs) -> Histogram:
        """Count. Only outputs that meet all clauses but the last are counted, so that the bars and the
        event speak of the same outputs."""
        runs = len(first), len(second)
        return Histogram(self.bars, self._count(first), self._count(second), runs, self.order, self.values)

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
    low, high = np.quantile(numbers, [TAIL_SHOWN, 1 - TAIL_SHOWN])
    ends = [end for end in ((event.low, event.high) if event else ()) if np.isfinite(end)]
    even = np.linspace(min(low, *ends) if ends else low, max(high, *ends) if ends else high, MOST_BARS)
    step = even[1] - even[0]
    kept = [edge for edge in even if all(abs(edge - end) > step / 3 for end in ends)]
    return tuple(sorted(float(edge) for edge in {*kept, *ends}))
