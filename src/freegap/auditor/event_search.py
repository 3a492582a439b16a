"""Find the events that tell two sets of outputs apart (Ding 2020 §4.3.3 and algorithm 3).

For each feature: exact values that carry mass, both tails, intervals, and sets of values taken in order of
their ratio (the form of the best event by the lemma of Neyman and Pearson). For mixed outputs: the cross
product of a discrete condition and a numeric one. The score is the bound on ε that a confirmation could
expect, so that a common event with a good ratio and a rare one with a better ratio are weighed fairly.

These are samples for searching. Nothing found here is a verdict; that takes fresh samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from heapq import nlargest

import numpy as np
from numpy.typing import NDArray

from freegap.auditor.computed import LowestBit
from freegap.auditor.events import Clause, Event, OneOf
from freegap.auditor.families import Family, Finding, Ordered, cut_points, distinct, rarest
from freegap.auditor.features import (
    Component,
    Feature,
    Mean,
    Reading,
    Whole,
    features_of,
    value_text,
)
from freegap.auditor.outputs import ABSENT, INTEGER, TYPE, Floats, Label, Outputs
from freegap.auditor.plan import BoundForecast, Effort

MOST_DISTINCT = 64
MOST_WHOLE = 4096
LEAST_REPEATS = 5
LEAST_OFTEN = 4  # times on the average that a value of a set occurs: what occurs once was lucky
MOST_FOUND = 40


def score_event(
    event: Event, first: Outputs, second: Outputs, forecast: BoundForecast, *, swapped: bool
) -> Finding:
    """Score a given event on new samples."""
    hits1, hits2 = event.hits(first), event.hits(second)
    high, low = (hits2, hits1) if swapped else (hits1, hits2)
    # fresh samples, but the best of several events: a rare one that was lucky must not win
    soon = replace(forecast, patience=1.0, caution=0.8 * forecast.caution).bound(high, low)
    at_best = replace(forecast, caution=-forecast.caution).bound(high, low)
    score = float(forecast.bound(high, low))
    return Finding(event, swapped, hits1, hits2, score, float(soon), float(at_best))


@dataclass(frozen=True)
class _Read:
    """A feature as it came out on both sides, with what is asked of it more than once."""

    feature: Feature
    one: Reading
    two: Reading

    @cached_property
    def ordered(self) -> tuple[Ordered, Ordered]:
        """The numbers of each side in order."""
        return Ordered.of(self.one), Ordered.of(self.two)

    @cached_property
    def distinct(self) -> int:
        """How many different numbers there are among a few hundred."""
        x1, x2 = self.ordered
        every = max(1, (len(x1.values) + len(x2.values)) // 600)
        some = np.sort(np.concatenate([x1.values[::every], x2.values[::every]]), kind="stable")
        return int(np.count_nonzero(some[1:] != some[:-1])) + min(1, len(some))

    def where(self, clause: Clause, holder: _Read) -> _Read:
        """Only the outputs for which a condition on another feature holds."""
        inside = [clause.condition.holds(reading) for reading in (holder.one, holder.two)]
        parts = [
            Reading(reading.codes[here], reading.numbers[here], reading.labels)
            for reading, here in zip((self.one, self.two), inside, strict=True)
        ]
        return _Read(self.feature, *parts)


def find_events(first: Outputs, second: Outputs, effort: Effort) -> list[Finding]:
    """The best events of each feature, best first."""
    features = [*features_of(first, second, light=effort.light), *effort.references, *effort.extra]
    read = [_Read(feature, feature.read(first), feature.read(second)) for feature in features]
    found: list[Finding] = []
    for entry in read:
        found += _of_feature(entry, (), effort, (first, second))
    if effort.groups:
        found += _crossed(found, read, effort)
    likely = nlargest(MOST_FOUND, found, key=lambda finding: finding.score)
    rare = [finding for finding in rarest(found) if finding not in likely]
    return sorted([*likely, *rare], key=lambda finding: -finding.merit)


def _crossed(found: Sequence[Finding], read: Sequence[_Read], effort: Effort) -> list[Finding]:
    """Cross products: a discrete condition of one feature, and the numbers of another within it."""
    every = [r for r in read if r.distinct > MOST_DISTINCT and not isinstance(r.feature, Whole)]
    if not every or len(read) == 1:
        return []
    whole = [r for r in every if not isinstance(r.feature, Component)]
    mean = [r for r in whole if isinstance(r.feature, Mean)]
    numeric = every[:4] if effort.groups > 4 else mean or whole or every
    groups: dict[Clause, tuple[int, _Read]] = {}
    for entry in read:
        if not isinstance(entry.feature, Whole | LowestBit):
            for value, count in _frequent_values(entry):
                groups[Clause(entry.feature, OneOf((value,)))] = count, entry
    # the likeliest groups, and those that already told the two sides apart
    common = sorted(groups, key=lambda clause: -groups[clause][0])
    telling = [f.event.clauses[0] for f in sorted(found, key=lambda f: -f.score) if len(f.event.clauses) == 1]
    telling = [clause for clause in dict.fromkeys(telling) if clause in groups]
    crossed: list[Finding] = []
    for clause in dict.fromkeys([*telling[: effort.groups], *common[: effort.groups]]):
        for entry in numeric:
            if entry.feature != clause.feature:
                crossed += _of_feature(entry.where(clause, groups[clause][1]), (clause,), effort)
    return crossed


def _frequent_values(read: _Read) -> list[tuple[float | Label, int]]:
    """Labels and repeated numbers that occur in both or either reading, with their counts."""
    labels, one, two = _label_counts(read.one, read.two)
    found: list[tuple[float | Label, int]] = [
        (label, int(count)) for label, count in zip(labels, one + two, strict=True)
    ]
    if 0 < read.distinct <= MOST_DISTINCT // 2:
        x1, x2 = read.ordered
        values = distinct(x1, x2)[:64]
        counts = x1.tally(values) + x2.tally(values)
        found += [(float(v), int(c)) for v, c in zip(values, counts, strict=True)]
    return [(value, count) for value, count in found if count > 0]


def _of_feature(
    read: _Read,
    before: tuple[Clause, ...],
    effort: Effort,
    outputs: tuple[Outputs, Outputs] | None = None,
) -> list[Finding]:
    found: list[Finding] = []
    feature, one, two = read.feature, read.one, read.two
    family = Family(feature, before, effort.forecast, found)
    x1, x2 = read.ordered
    if isinstance(feature, Whole):
        if outputs is not None:
            _whole_sets(family, read, outputs)
        return found
    if x1.count < len(one.codes) or x2.count < len(two.codes):
        _label_sets(family, one, two)
        if x1.count + x2.count and not before and not isinstance(feature, LowestBit):
            family.anything(x1, x2)
    if not x1.count + x2.count:
        return found
    # where values repeat, or the effort is there to find the few that do
    if read.distinct <= MOST_DISTINCT or (effort.atoms and isinstance(feature, Component)):
        values = distinct(x1, x2)
        c1, c2 = x1.tally(values), x2.tally(values)
        if len(values) <= min(MOST_DISTINCT, (x1.count + x2.count) // LEAST_OFTEN):
            numbers = [float(v) for v in values]
            family.sets(numbers, lambda at: value_text(numbers[at]), c1, c2)
            family.intervals(_gaps(values, _all_integers(one, two)), x1, x2)
            return found
        repeated = values[c1 + c2 >= LEAST_REPEATS]
        family.atoms(repeated, x1, x2, choices=len(repeated))
        # noise that is left out shows as a heap at an answer or at an argument
        family.atoms(np.array(effort.natural), x1, x2, choices=1)
    family.intervals(cut_points(x1, x2, cuts=effort.cuts, natural=effort.natural), x1, x2)
    return found


def _label_sets(family: Family, one: Reading, two: Reading) -> None:
    labels, count1, count2 = _label_counts(one, two)
    if labels:
        family.sets(labels, lambda at: str(labels[at]), count1, count2)


def _label_counts(one: Reading, two: Reading) -> tuple[list[Label], NDArray[np.int64], NDArray[np.int64]]:
    """The most frequent labels of both readings, and how often each of them has them."""
    place = {label: i for i, label in enumerate(dict.fromkeys((*one.labels, *two.labels)))}
    counts = []
    for reading in (one, two):
        tally = np.bincount(reading.codes[reading.codes >= 0], minlength=len(reading.labels))
        found = np.zeros(len(place), dtype=np.int64)
        found[[place[label] for label in reading.labels]] = tally
        counts.append(found)
    kept = np.argsort(-(counts[0] + counts[1]), kind="stable")[:MOST_WHOLE]
    labels = list(place)
    return [labels[i] for i in kept], counts[0][kept], counts[1][kept]


def _whole_sets(family: Family, read: _Read, outputs: tuple[Outputs, Outputs]) -> None:
    x1, x2 = read.ordered
    values = distinct(x1, x2)
    if len(values) > min(MOST_WHOLE, (x1.count + x2.count) // LEAST_OFTEN):
        return
    name = whole_names(values, *zip(outputs, (read.one, read.two), strict=True))
    family.sets(list(map(float, values)), name, x1.tally(values), x2.tally(values))


def whole_names(values: Floats, *parts: tuple[Outputs, Reading]) -> Callable[[int], str]:
    """How the whole outputs with these keys are written, by their places; worked out where it is asked.

    parts: outputs, and their keys.
    """

    @cache
    def name(at: int) -> str:
        return next(
            _written(outputs, int(rows[0]))
            for outputs, keys in parts
            if len(rows := np.flatnonzero(keys.numbers == values[at]))
        )

    return name


def _written(outputs: Outputs, row: int) -> str:
    """One of the outputs, as one would write it."""
    cells = {
        path: "".join(f"{part}: " for part in path if isinstance(part, str) and path != TYPE)
        + (str(outputs.labels[code]) if code >= 0 else value_text(number))
        for path, code, number in zip(outputs.paths, outputs.codes[row], outputs.numbers[row], strict=True)
        if code != ABSENT
    }
    if list(cells) == [()]:  # the output itself
        return cells[()]
    kind = cells.pop(TYPE, "").strip("'")
    ends = {"": "[]", "tuple": "()"}.get(kind, "()")
    return f"{kind if kind != 'tuple' else ''}{ends[0]}{', '.join(cells.values())}{ends[1]}"


def _all_integers(one: Reading, two: Reading) -> bool:
    return not any(((r.codes != INTEGER) & r.is_number).any() for r in (one, two))


def _gaps(values: Floats, integers: bool) -> Floats:
    """Cut points that separate a few values: the integers themselves, or the values."""
    if integers:
        return np.unique(np.concatenate([values, values + 1]))
    return values
