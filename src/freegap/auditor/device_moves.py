"""Events near those that are known: ends of intervals moved, and two conditions at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

from freegap.auditor.events import Between, Clause, Event
from freegap.auditor.features import Component

Known = tuple[Event, bool]
"""An event, and whether it is the second input on which it happens more often."""


def moved_events(known: Sequence[Known], scale: float) -> list[Known]:
    """Intervals with an end moved or left out, and two conditions at once."""
    moved: list[Known] = []
    for event, swapped in known[:3]:
        clause = event.clauses[-1]
        if isinstance(clause.condition, Between):
            for condition in _moved_ends(clause.condition, scale):
                moved.append((Event((*event.clauses[:-1], Clause(clause.feature, condition))), swapped))
    single = [
        (event, swapped)
        for event, swapped in known
        if len(event.clauses) == 1 and isinstance(event.clauses[0].condition, Between)
    ]
    for (one, swapped), (two, other) in combinations(single[:5], 2):
        features = [part.clauses[0].feature for part in (one, two)]
        places = features[0] != features[1] and all(isinstance(f, Component) for f in features)
        if swapped == other and places:
            moved.append((Event((*one.clauses, *two.clauses)), swapped))
    return list(dict.fromkeys(moved))


def _moved_ends(condition: Between, scale: float) -> Iterator[Between]:
    for by in (scale, -scale, scale / 4, -scale / 4):
        if math.isfinite(condition.low) and condition.low + by < condition.high:
            yield Between(condition.low + by, condition.high)
        if math.isfinite(condition.high) and condition.low < condition.high + by:
            yield Between(condition.low, condition.high + by)
    if math.isfinite(condition.low) and math.isfinite(condition.high):
        yield Between(condition.low, math.inf)
        yield Between(-math.inf, condition.high)
