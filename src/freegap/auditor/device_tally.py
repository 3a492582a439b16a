"""Whole outputs that were counted on a device, and the events that they propose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from freegap.auditor.columns import OnePath
from freegap.auditor.event_search import whole_names
from freegap.auditor.events import Clause, Event, OneOf
from freegap.auditor.families import Family, Finding
from freegap.auditor.features import Component, Distance, Length, Whole, WholeOfLabels, value_text, whole_keys
from freegap.auditor.outputs import ABSENT, Outputs, join
from freegap.auditor.plan import BoundForecast

MOST_OUTPUTS = 4096
MOST_BESIDE = 4  # numbers beside columns that are proposed
CHOICES = 30  # events that a round weighs of a candidate, about: the best of them was lucky


@dataclass
class OutputTally:
    """Counts of whole outputs, one side beside the other."""

    rows: dict[Any, Outputs] = field(default_factory=dict)
    counts: dict[Any, list[int]] = field(default_factory=dict)

    def add(self, key: Any, one: Outputs, side: int, runs: int) -> None:
        """So many runs of a side with this output; of too many different ones the first are kept."""
        if key in self.counts or len(self.counts) < MOST_OUTPUTS:
            self.rows.setdefault(key, one)
            self.counts.setdefault(key, [0, 0])[side] += runs

    def add_all(self, paths: Sequence[OnePath], side: int) -> None:
        """The runs of a side that took these paths, each with an output that is known in full."""
        keys = whole_keys(join([path.one for path in paths])) if paths else ()
        for key, path in zip(keys, paths, strict=True):
            self.add(int(key), path.one, side, path.size)

    @property
    def columns(self) -> tuple[Any, Any]:
        """The counts of both sides, in the order of `rows`."""
        table = np.array(list(self.counts.values()), dtype=np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]


def scored(event: Event, swapped: bool, hits1: int, hits2: int, forecast: BoundForecast) -> Finding:
    """An event with the bound to expect of it."""
    high, low = (hits2, hits1) if swapped else (hits1, hits2)
    score = float(forecast.bound(high, low, CHOICES))
    return Finding(event, swapped, hits1, hits2, score, score)


def events_of_outputs(tally: OutputTally, forecast: BoundForecast, *, alone: bool) -> list[Finding]:
    """Outputs of labels, and sets of them; and numbers. Where these may occur in a column as well, they are
    not counted in full here, and the most frequent ones alone are proposed: a release without noise is one.

    alone: no path has columns.
    """
    found: list[Finding] = []
    rows = list(tally.rows.values())
    c1, c2 = tally.columns
    labels = [i for i, one in enumerate(rows) if not one.is_number.any()]
    if len(labels) > 1 or (labels and len(rows) > 1):
        outputs = join([rows[i] for i in labels])
        keys = Whole().read(outputs)
        values, names = keys.numbers, whole_names(keys.numbers, (outputs, keys))
        family = Family(WholeOfLabels(), (), forecast, found)
        family.sets([float(v) for v in values], names, c1[labels], c2[labels])
    numbers = [i for i in range(len(rows)) if i not in set(labels)]
    if not alone:
        for i in sorted(numbers, key=lambda i: -int(c1[i] + c2[i]))[:MOST_BESIDE]:
            found += _either_way(_cell_by_cell(rows[i]), int(c1[i]), int(c2[i]), forecast)
        return found
    if numbers and all(rows[i].paths == ((),) for i in numbers):
        values = np.array([rows[i].numbers[0, 0] for i in numbers])
        family = Family(Component(()), (), forecast, found)
        family.sets([float(v) for v in values], lambda at: value_text(values[at]), c1[numbers], c2[numbers])
        return found
    for i in numbers:
        found += _either_way(_cell_by_cell(rows[i]), int(c1[i]), int(c2[i]), forecast)
    return found


def _cell_by_cell(one: Outputs) -> Event:
    """The event that an output is this one."""
    cells = [
        Clause(Component(at), OneOf((one.labels[code] if code >= 0 else float(number),)))
        for at, code, number in zip(one.paths, one.codes[0], one.numbers[0], strict=True)
        if code != ABSENT
    ]
    if one.paths == ((),):  # the output itself
        return Event(tuple(cells))
    return Event((*cells, Clause(Length(), OneOf((float(Length().read(one).numbers[0]),)))))


def _either_way(event: Event, hits1: int, hits2: int, forecast: BoundForecast) -> list[Finding]:
    return [scored(event, swapped, hits1, hits2, forecast) for swapped in (False, True)]


def events_of_kinds(tally: OutputTally, forecast: BoundForecast) -> list[Finding]:
    """Outputs with numbers in them, whatever these are."""
    found = []
    for reference, (hits1, hits2) in tally.counts.items():
        found += _either_way(Event.of(Distance(reference), OneOf((0.0,))), hits1, hits2, forecast)
    return found
