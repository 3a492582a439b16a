"""Find the events that tell two sets of outputs apart (000 §4.3.3 and algorithm 3).

For each feature: exact values that carry mass, both tails, intervals, and sets of values taken in order of
their ratio (the form of the best event by the lemma of Neyman and Pearson). For mixed outputs: the cross
product of a discrete condition and a numeric one. The score is the bound on ε that a confirmation could
expect, so that a common event with a good ratio and a rare one with a better ratio are weighed fairly.

These are samples for searching. Nothing found here is a verdict; that takes fresh samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import nlargest

import numpy as np
from numpy.typing import NDArray

from freegap.audit.events import Clause, Event, OneOf
from freegap.audit.families import Family, Finding, Ordered, cut_points, distinct
from freegap.audit.features import Component, Distance, Feature, Mean, Reading, Whole, features_of, value_text
from freegap.audit.floating import LowestBit
from freegap.audit.outputs import ABSENT, INTEGER, Floats, Label, Outputs
from freegap.audit.statistics import Forecast

__all__ = ["Effort", "find_events", "score_event"]

MOST_DISTINCT = 64
MOST_WHOLE = 4096
LEAST_REPEATS = 5
MOST_FOUND = 40


@dataclass(frozen=True)
class Effort:
    """How hard to look.

    forecast: how to judge counts.
    cuts: how many cut points a numeric feature gets.
    groups: how many discrete conditions are crossed with the numeric features; 0 for none.
    atoms: whether to look for exact values among numbers that hardly ever repeat.
    natural: cut points that suggest themselves, such as the answers and the arguments.
    references: outputs to measure the Hamming distance from.
    extra: further features, such as a learned score.
    light: leave out what the rest will show as well, for a first look at many candidates.
    """

    forecast: Forecast
    cuts: int = 16
    groups: int = 2
    atoms: bool = False
    natural: tuple[float, ...] = ()
    references: tuple[Distance, ...] = ()
    extra: tuple[Feature, ...] = ()
    light: bool = False

    def eased(self) -> Effort:
        """At most the effort of a second look."""
        return replace(self, cuts=min(self.cuts, 20), groups=min(self.groups, 3), atoms=False, light=True)


def score_event(
    event: Event, first: Outputs, second: Outputs, forecast: Forecast, *, swapped: bool
) -> Finding:
    """Score a given event on new samples."""
    hits1, hits2 = event.hits(first), event.hits(second)
    high, low = (hits2, hits1) if swapped else (hits1, hits2)
    # fresh samples of a given event need little caution, and the bound is not worse for a wrong guess
    soon = replace(forecast, patience=1.0, caution=0.3 * forecast.caution).bound(high, low)
    return Finding(event, swapped, hits1, hits2, float(forecast.bound(high, low)), float(soon))


def find_events(first: Outputs, second: Outputs, effort: Effort) -> list[Finding]:
    """The best events of each feature, best first."""
    features = [*features_of(first, second, light=effort.light), *effort.references, *effort.extra]
    found: list[Finding] = []
    read: list[tuple[Feature, Reading, Reading]] = []
    for feature in features:
        pair = feature, feature.read(first), feature.read(second)
        read.append(pair)
        found += _of_feature(*pair, (), effort, (first, second))
    if effort.groups:
        found += _crossed(found, read, effort)
    likely = nlargest(MOST_FOUND, found, key=lambda finding: finding.score)
    return sorted(likely, key=lambda finding: -finding.merit)


def _crossed(
    found: Sequence[Finding], read: Sequence[tuple[Feature, Reading, Reading]], effort: Effort
) -> list[Finding]:
    """Cross products: a discrete condition of one feature, and the numbers of another within it."""
    numeric = [entry for entry in read if _is_continuous(*entry)]
    if not numeric or len(read) == 1:
        return []
    whole = [entry for entry in numeric if not isinstance(entry[0], Component)]
    mean = [entry for entry in whole if isinstance(entry[0], Mean)]
    numeric = mean or whole or numeric
    if effort.groups > 4:
        numeric = [entry for entry in read if _is_continuous(*entry)][:4]
    groups: dict[Clause, tuple[int, Reading, Reading]] = {}
    for feature, one, two in read:
        if isinstance(feature, Whole | LowestBit):
            continue
        for value, count in _frequent_values(one, two):
            groups[Clause(feature, OneOf((value,)))] = count, one, two
    # the likeliest groups, and those that already told the two sides apart
    common = sorted(groups, key=lambda clause: -groups[clause][0])
    telling = [f.event.clauses[0] for f in sorted(found, key=lambda f: -f.score) if len(f.event.clauses) == 1]
    telling = [clause for clause in dict.fromkeys(telling) if clause in groups]
    crossed: list[Finding] = []
    for clause in dict.fromkeys([*telling[: effort.groups], *common[: effort.groups]]):
        _, of_one, of_two = groups[clause]
        in_one, in_two = clause.condition.holds(of_one), clause.condition.holds(of_two)
        for feature, one, two in numeric:
            if feature != clause.feature:
                crossed += _of_feature(feature, _within(one, in_one), _within(two, in_two), (clause,), effort)
    return crossed


def _within(reading: Reading, inside: NDArray[np.bool_]) -> Reading:
    return Reading(reading.codes[inside], reading.numbers[inside], reading.labels)


def _is_continuous(feature: Feature, one: Reading, two: Reading) -> bool:
    if isinstance(feature, Whole):
        return False
    some, more = one.numbers[one.is_number][:200], two.numbers[two.is_number][:200]
    return len(np.unique(np.concatenate([some, more]))) > MOST_DISTINCT


def _frequent_values(one: Reading, two: Reading) -> list[tuple[float | Label, int]]:
    """Labels and repeated numbers that occur in both or either reading, with their counts."""
    found: list[tuple[float | Label, int]] = []
    for label in dict.fromkeys((*one.labels, *two.labels)):
        count = sum(
            int(np.count_nonzero(reading.codes == reading.labels.index(label)))
            for reading in (one, two)
            if label in reading.labels
        )
        found.append((label, count))
    numbers = np.concatenate([one.numbers[one.is_number], two.numbers[two.is_number]])
    if len(numbers) and len(np.unique(numbers[:: max(1, len(numbers) // 400)])) <= MOST_DISTINCT // 2:
        values, counts = np.unique(numbers, return_counts=True)
        found += [(float(v), int(c)) for v, c in zip(values[:64], counts[:64], strict=True)]
    return [(value, count) for value, count in found if count > 0]


def _of_feature(
    feature: Feature,
    one: Reading,
    two: Reading,
    before: tuple[Clause, ...],
    effort: Effort,
    outputs: tuple[Outputs, Outputs] | None = None,
) -> list[Finding]:
    found: list[Finding] = []
    family = Family(feature, before, effort.forecast, found)
    x1, x2 = Ordered.of(one), Ordered.of(two)
    if isinstance(feature, Whole):
        if outputs is not None:
            _whole_sets(family, x1, x2, outputs)
        return found
    if x1.count < len(one.codes) or x2.count < len(two.codes):
        _label_sets(family, one, two)
        if x1.count + x2.count and not before and not isinstance(feature, LowestBit):
            family.anything(x1, x2)
    if not x1.count + x2.count:
        return found
    if _look_for_values(feature, x1, x2, effort):
        values = distinct(x1, x2)
        c1, c2 = x1.tally(values), x2.tally(values)
        if len(values) <= MOST_DISTINCT:
            numbers = [float(v) for v in values]
            family.sets(numbers, [value_text(v) for v in numbers], c1, c2)
            family.intervals(_gaps(values, _all_integers(one, two)), x1, x2)
            return found
        repeated = values[c1 + c2 >= LEAST_REPEATS]
        family.atoms(repeated, x1, x2, choices=len(repeated))
        # noise that is left out shows as a heap at an answer or at an argument
        family.atoms(np.array(effort.natural), x1, x2, choices=1)
    family.intervals(cut_points(x1, x2, cuts=effort.cuts, natural=effort.natural), x1, x2)
    return found


def _look_for_values(feature: Feature, x1: Ordered, x2: Ordered, effort: Effort) -> bool:
    """Whether values repeat, or the effort is there to find the few that do."""
    if effort.atoms and isinstance(feature, Component):
        return True
    every = max(1, (len(x1.values) + len(x2.values)) // 600)
    return len(np.unique(np.concatenate([x1.values[::every], x2.values[::every]]))) <= MOST_DISTINCT


def _label_sets(family: Family, one: Reading, two: Reading) -> None:
    labels = list(dict.fromkeys((*one.labels, *two.labels)))
    if not labels:
        return

    def count(reading: Reading) -> NDArray[np.int64]:
        tally = np.bincount(reading.codes[reading.codes >= 0], minlength=max(1, len(reading.labels)))
        return np.array([tally[reading.labels.index(x)] if x in reading.labels else 0 for x in labels])

    family.sets(labels, [str(label) for label in labels], count(one), count(two))


def _whole_sets(family: Family, x1: Ordered, x2: Ordered, outputs: tuple[Outputs, Outputs]) -> None:
    values = distinct(x1, x2)
    if len(values) > min(MOST_WHOLE, (x1.count + x2.count) // 4):
        return
    names = _Names(values, outputs)
    family.sets(list(map(float, values)), names, x1.tally(values), x2.tally(values))


class _Names(Sequence[str]):
    """How whole outputs are written, worked out only for those that end up in an event."""

    def __init__(self, values: Floats, parts: tuple[Outputs, Outputs]) -> None:
        self._values = values
        self._parts = parts
        self._keys: list[Floats] = []

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, at: int) -> str:  # type: ignore[override]
        self._keys = self._keys or [Whole().read(part).numbers for part in self._parts]
        outputs, row = next(
            (part, int(rows[0]))
            for part, keys in zip(self._parts, self._keys, strict=True)
            if len(rows := np.flatnonzero(keys == self._values[at]))
        )
        cells = [
            str(outputs.labels[code]) if code >= 0 else value_text(number)
            for code, number in zip(outputs.codes[row], outputs.numbers[row], strict=True)
            if code != ABSENT
        ]
        return "[" + ", ".join(cells) + "]"


def _all_integers(one: Reading, two: Reading) -> bool:
    return not any(((r.codes != INTEGER) & r.is_number).any() for r in (one, two))


def _gaps(values: Floats, integers: bool) -> Floats:
    """Cut points that separate a few values: the integers themselves, or the values."""
    if integers:
        return np.unique(np.concatenate([values, values + 1]))
    return values
