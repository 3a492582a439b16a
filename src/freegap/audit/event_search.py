"""Find the events that tell two sets of outputs apart (000 §4.3.3 and algorithm 3).

For each feature: exact values that carry mass, both tails, intervals, and sets of values taken in order of
their ratio (the form of the best event by the lemma of Neyman and Pearson). For mixed outputs: the cross
product of a discrete condition and a numeric one. The score is the bound on ε that a confirmation could
expect, so that a common event with a good ratio and a rare one with a better ratio are weighed fairly.

These are samples for searching. Nothing found here is a verdict; that takes fresh samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.audit.events import Between, Clause, Condition, Event, OneOf
from freegap.audit.features import Component, Distance, Feature, Mean, Reading, Whole, features_of, value_text
from freegap.audit.floating import LowestBit
from freegap.audit.outputs import ABSENT, INTEGER, Floats, Label, Outputs
from freegap.audit.statistics import Forecast

__all__ = ["Effort", "Finding", "find_events", "score_event"]

MOST_DISTINCT = 64
MOST_WHOLE = 4096
LARGEST_SET = 64
LEAST_REPEATS = 5


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


@dataclass(frozen=True)
class Finding:
    """An event and how it came out on the samples of the search.

    swapped: the event is the likelier one on the second input.
    score: the bound on ε that a confirmation could expect.
    """

    event: Event
    swapped: bool
    hits1: int
    hits2: int
    score: float = field(compare=False)

    @property
    def merit(self) -> float:
        """The score, a little less for an event that is hard to read."""
        return self.score - 0.004 * self.event.complexity * abs(self.score)


def score_event(
    event: Event, first: Outputs, second: Outputs, forecast: Forecast, *, swapped: bool
) -> Finding:
    """Score a given event on new samples."""
    hits1, hits2 = event.hits(first), event.hits(second)
    high, low = (hits2, hits1) if swapped else (hits1, hits2)
    return Finding(event, swapped, hits1, hits2, float(forecast.bound(high, low)))


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
    return sorted(found, key=lambda finding: -finding.merit)


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
    groups: dict[Clause, tuple[NDArray[np.bool_], NDArray[np.bool_], int]] = {}
    for feature, one, two in read:
        if isinstance(feature, Whole | LowestBit):
            continue
        for value, count in _frequent_values(one, two):
            condition = OneOf((value,))
            clause = Clause(feature, condition)
            groups[clause] = condition.holds(one), condition.holds(two), count
    chosen = sorted(groups, key=lambda clause: -groups[clause][2])
    # the likeliest groups, and those that already told the two sides apart
    telling = [f.event.clauses[0] for f in sorted(found, key=lambda f: -f.score) if len(f.event.clauses) == 1]
    chosen = list(
        dict.fromkeys(
            [*[c for c in telling if c in groups][: effort.groups], *chosen[: effort.groups]],
        )
    )
    crossed: list[Finding] = []
    for clause in chosen:
        in_one, in_two, _ = groups[clause]
        for feature, one, two in numeric:
            if feature == clause.feature:
                continue
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
    if len(numbers) and len(np.unique(numbers[:400])) <= MOST_DISTINCT // 2:
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
    search = _Search(feature, before, effort.forecast, found)
    in_one, in_two = one.is_number, two.is_number
    x1, x2 = np.sort(one.numbers[in_one]), np.sort(two.numbers[in_two])
    if isinstance(feature, Whole):
        if outputs is not None:
            _whole_sets(search, x1, x2, outputs)
        return found
    if len(x1) < len(one.codes) or len(x2) < len(two.codes):
        _label_sets(search, one, two)
        if len(x1) + len(x2) and not before and not isinstance(feature, LowestBit):  # "is a number at all"
            for swapped in (False, True):
                more, less = (len(x2), len(x1)) if swapped else (len(x1), len(x2))
                search.keep(Between(), swapped, len(x1), len(x2), float(effort.forecast.bound(more, less)))
    if not len(x1) + len(x2):
        return found
    if _look_for_values(feature, x1, x2, effort):
        values, counts = _distinct(x1, x2)
        if len(values) <= MOST_DISTINCT:
            numbers = [float(v) for v in values]
            search.sets(numbers, [value_text(v) for v in numbers], _tally(x1, values), _tally(x2, values))
            _intervals(search, _gaps(values, _all_integers(one, two)), x1, x2)
            return found
        _atoms(search, values[counts >= LEAST_REPEATS], x1, x2)
        for value in effort.natural:  # noise that is left out shows as a heap at such a value
            _atoms(search, np.array([value]), x1, x2)
    _intervals(search, _cut_points(x1, x2, effort), x1, x2)
    return found


@dataclass(frozen=True)
class _Search:
    """Collects the best of a family of events, in each direction."""

    feature: Feature
    before: tuple[Clause, ...]
    forecast: Forecast
    found: list[Finding]

    def keep(self, condition: Condition, swapped: bool, hits1: int, hits2: int, score: Any) -> None:
        if np.isfinite(score):
            event = Event((*self.before, Clause(self.feature, condition)))
            self.found.append(Finding(event, swapped, hits1, hits2, float(score)))

    def sets(
        self, values: Sequence[object], names: Sequence[str], c1: NDArray[np.int64], c2: NDArray[np.int64]
    ) -> None:
        """Single values, and unions taken in order of the ratio of the counts.

        For a union the counts are split in two: one half gives the order, the other is counted. Else a
        union would collect whatever was lucky.
        """
        some1, some2 = _half(c1), _half(c2)
        rest1, rest2 = c1 - some1, c2 - some2
        singles = self.forecast.among(len(values))
        unions = replace(self.forecast, grow=2 * self.forecast.grow)
        for swapped in (False, True):
            high, low = (c2, c1) if swapped else (c1, c2)
            single = singles.bound(high, low)
            best = int(np.argmax(single))
            self.keep(
                self._one_of(values, names, [best]), swapped, int(c1[best]), int(c2[best]), single[best]
            )
            ratio = (some2 + 0.5) / (some1 + 0.5) if swapped else (some1 + 0.5) / (some2 + 0.5)
            order = np.argsort(-ratio, kind="stable")[:LARGEST_SET]
            more, less = (rest2, rest1) if swapped else (rest1, rest2)
            union = unions.bound(np.cumsum(more[order]), np.cumsum(less[order]))
            most = int(np.argmax(union))
            if most:
                chosen = [int(i) for i in order[: most + 1]]
                hits1, hits2 = int(c1[chosen].sum()), int(c2[chosen].sum())
                self.keep(self._one_of(values, names, chosen), swapped, hits1, hits2, union[most])

    @staticmethod
    def _one_of(values: Sequence[Any], names: Sequence[str], chosen: Sequence[int]) -> OneOf:
        return OneOf(tuple(values[i] for i in chosen), tuple(names[i] for i in chosen))


def _half(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """A random half of each count."""
    return np.random.default_rng(1).binomial(counts, 0.5)


def _look_for_values(feature: Feature, x1: Floats, x2: Floats, effort: Effort) -> bool:
    """Whether values repeat, or the effort is there to find the few that do."""
    if effort.atoms and isinstance(feature, Component):
        return True
    every = max(1, (len(x1) + len(x2)) // 600)
    return len(np.unique(np.concatenate([x1[::every], x2[::every]]))) <= MOST_DISTINCT


def _distinct(x1: Floats, x2: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """The distinct values of both sides, and how often each occurs."""
    pool = np.sort(np.concatenate([x1, x2]))
    starts = np.concatenate([[0], np.flatnonzero(np.diff(pool)) + 1])
    return pool[starts], np.diff(np.concatenate([starts, [len(pool)]]))


def _tally(ordered: Floats, values: Floats) -> NDArray[np.int64]:
    """How often each value occurs among ordered numbers."""
    return np.searchsorted(ordered, values, side="right") - np.searchsorted(ordered, values, side="left")


def _label_sets(search: _Search, one: Reading, two: Reading) -> None:
    labels = list(dict.fromkeys((*one.labels, *two.labels)))
    if not labels:
        return

    def count(reading: Reading) -> NDArray[np.int64]:
        tally = np.bincount(reading.codes[reading.codes >= 0], minlength=max(1, len(reading.labels)))
        return np.array([tally[reading.labels.index(x)] if x in reading.labels else 0 for x in labels])

    search.sets(labels, [str(label) for label in labels], count(one), count(two))


def _whole_sets(search: _Search, x1: Floats, x2: Floats, outputs: tuple[Outputs, Outputs]) -> None:
    values, _ = _distinct(x1, x2)
    if len(values) > min(MOST_WHOLE, (len(x1) + len(x2)) // 4):
        return
    names = _Names(values, outputs)
    search.sets([float(v) for v in values], names, _tally(x1, values), _tally(x2, values))


class _Names(Sequence[str]):
    """How whole outputs are written, worked out only for those that end up in an event."""

    def __init__(self, values: Floats, parts: tuple[Outputs, Outputs]) -> None:
        self._values = values
        self._parts = parts
        self._keys = [Whole().read(part).numbers for part in parts]

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, at: int) -> str:  # type: ignore[override]
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


def _atoms(search: _Search, values: Floats, x1: Floats, x2: Floats) -> None:
    c1, c2 = _tally(x1, values), _tally(x2, values)
    for swapped in (False, True) if len(values) else ():
        scores = search.forecast.among(len(values)).bound(*((c2, c1) if swapped else (c1, c2)))
        best = int(np.argmax(scores))
        search.keep(OneOf((float(values[best]),)), swapped, int(c1[best]), int(c2[best]), float(scores[best]))


def _all_integers(one: Reading, two: Reading) -> bool:
    return not any(((r.codes != INTEGER) & r.is_number).any() for r in (one, two))


def _gaps(values: Floats, integers: bool) -> Floats:
    """Cut points that separate a few values: the integers themselves, or the values."""
    if integers:
        return np.unique(np.concatenate([values, values + 1]))
    return values


def _cut_points(x1: Floats, x2: Floats, effort: Effort) -> Floats:
    """Quantiles of both sides together, denser in the tails, rounded so that they can be read aloud."""
    stride = max(1, (len(x1) + len(x2)) // 20_000)
    pool = np.sort(np.concatenate([x1[::stride], x2[::stride]]))
    inner = np.linspace(0.04, 0.96, max(2, effort.cuts - 10))
    levels = np.concatenate([_TAIL, inner, 1 - _TAIL, [0.25, 0.75]])
    found = pool[(levels * (len(pool) - 1)).astype(np.int64)]
    cuts, (lower, upper) = found[:-2], found[-2:]
    spread = float(upper - lower) or float(pool[-1] - pool[0]) or 1.0
    step = 10.0 ** math.floor(math.log10(spread / 8))
    natural = [cut for cut in effort.natural if pool[0] < cut < pool[-1]]
    return np.unique(np.concatenate([np.round(cuts / step) * step + 0.0, natural]))


_TAIL = np.array([0.0003, 0.001, 0.003, 0.01, 0.02])


def _intervals(search: _Search, cuts: Floats, x1: Floats, x2: Floats) -> None:
    """Both tails at every cut point, and every interval between two of them."""
    below1 = np.concatenate([np.searchsorted(x1, cuts), [len(x1)]])
    below2 = np.concatenate([np.searchsorted(x2, cuts), [len(x2)]])
    starts = np.concatenate([[-np.inf], cuts])
    ends = np.concatenate([cuts, [np.inf]])
    from1, from2 = np.concatenate([[0], below1[:-1]]), np.concatenate([[0], below2[:-1]])
    low, high = np.triu_indices(len(starts))
    h1, h2 = below1[high] - from1[low], below2[high] - from2[low]
    tails = (low == 0) | (high == len(ends) - 1)
    for family in (np.flatnonzero(tails), np.flatnonzero(~tails)):
        if not len(family):
            continue
        for swapped in (False, True):
            more, less = (h2, h1) if swapped else (h1, h2)
            scores = search.forecast.among(len(family) // 4).bound(more[family], less[family])
            best = family[int(np.argmax(scores))]
            condition = Between(float(starts[low[best]]), float(ends[high[best]]))
            search.keep(condition, swapped, int(h1[best]), int(h2[best]), float(scores.max()))
