"""Events and inputs near those that are known: ends of intervals moved, two conditions at once, more of the
answers that rise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, groupby

from freegap.auditor.events import Between, Clause, Event
from freegap.auditor.features import Component, Distance
from freegap.auditor.inputs import Pair
from freegap.auditor.outputs import A_NUMBER

MOST_CUT, MOST_NUMBERS, MOST_CUTS = 3, 2, 4  # kinds of outputs, numbers of each, and where these are cut
FAR = (8.0, 16.0)  # scales of the noise
LONGER = (1.3, 1.6)  # times as many answers as the patterns have

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


def with_numbers_cut(known: Sequence[Known], pair: Pair, scale: float) -> list[Known]:
    """Kinds of outputs of which a number is above, or below, one of the answers: it may well be made of
    them; or below so many scales of the noise, where a mechanism that tries more than one noise goes over
    from one to the other."""
    cuts = sorted({*pair.first, *pair.second})[:MOST_CUTS]
    ends = [end for cut in cuts for end in (Between(low=cut), Between(high=cut))]
    ends += [Between(high=far * scale) for far in FAR]
    found: list[Known] = []
    for event, swapped in known[:MOST_CUT]:
        feature = event.clauses[-1].feature
        if isinstance(feature, Distance):
            for at in [at for at, value in feature.reference if value == A_NUMBER][:MOST_NUMBERS]:
                for condition in ends:
                    found.append((Event((*event.clauses, Clause(Component(at), condition))), swapped))
    return found


def uncut(known: Sequence[Known]) -> list[Known]:
    """Kinds of outputs, of which one number is cut, without that."""
    return [
        (Event(event.clauses[:-1]), swapped)
        for event, swapped in known
        if len(event.clauses) > 1 and isinstance(event.clauses[-1].condition, Between)
    ]


def reshaped(pair: Pair, lengths: Sequence[int]) -> list[Pair]:
    """The pair with more or fewer of the answers that are and change alike, one after another: one more of
    those before and one less of those after, or almost all of either; and the pair made as long as these.

    At least two answers must change, as they cannot where a single one may; and if all changes are in one
    direction, they stay so.

    >>> [moved.second for moved in reshaped(Pair((1, 1, 1), (2, 0, 0), ""), [3, 4])]
    [(2, 2, 0), (2, 2, 0, 0), (2, 0, 0, 0)]
    """
    rows = list(zip(pair.first, pair.second, strict=True))
    if pair.given or sum(a != b for a, b in rows) < 2:
        return []
    kinds = [(row, len(list(same))) for row, same in groupby(rows)]
    sizes = [size for _, size in kinds]
    found: list[list[int]] = []
    for i in range(len(sizes) - 1):
        both = sizes[i] + sizes[i + 1]
        for one in (sizes[i] + 1, sizes[i] - 1, both - 1, both - 2, 1):
            if 0 < one < both and one != sizes[i]:
                found.append([*sizes[:i], one, both - one, *sizes[i + 2 :]])
    for longer in [length - len(rows) for length in lengths if length > len(rows)]:
        found += [[*sizes[:i], size + longer, *sizes[i + 1 :]] for i, size in enumerate(sizes)]
    pairs = []
    for shape in found:
        moved = [row for (row, _), size in zip(kinds, shape, strict=True) for _ in range(size)]
        if sum(a != b for a, b in moved) > 1:
            first, second = zip(*moved, strict=True)
            pairs.append(replace(pair, first=first, second=second))
    return list(dict.fromkeys(pairs))


def lengths_from(usual: int, pairs: Sequence[Pair]) -> tuple[int, ...]:
    """That of the usual inputs, and some longer ones, where inputs as long as that are tried at all.

    What a sparse vector loses in full is lost where one answer is above the threshold and all others are
    below. Of ten answers that is hardly ever to be had without another loss; of fifteen it is.
    """
    most = max(len(pair.first) for pair in pairs)
    return (usual, *(length for times in LONGER if usual < (length := round(times * usual)) <= most))


def _moved_ends(condition: Between, scale: float) -> Iterator[Between]:
    for by in (scale, -scale, scale / 4, -scale / 4):
        if math.isfinite(condition.low) and condition.low + by < condition.high:
            yield Between(condition.low + by, condition.high)
        if math.isfinite(condition.high) and condition.low < condition.high + by:
            yield Between(condition.low, condition.high + by)
    if math.isfinite(condition.low) and math.isfinite(condition.high):
        yield Between(condition.low, math.inf)
        yield Between(-math.inf, condition.high)
