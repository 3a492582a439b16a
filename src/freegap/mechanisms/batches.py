"""Many releases of noisy top-k at once: each is the release of `freegap.mechanisms.top_k`, bit for bit.

A batch has populations, one after the other in one flat array of answers: those of population g are
values[offsets[g]:offsets[g + 1]]. One key of 256 bits is taken from the source for all of them, and item i of
population g has the streams (offsets[g] + i, r) of that key (`freegap.exact.parts`, which also says why the
releases are independent). So population g has the release that `draw_top_k` makes on these digits; a batch of
one population is `draw_top_k` on the same source.

Every population must have enough items for the plan (`TopKPlan.require_enough`): how many it has is public.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.bits import BitSource
from freegap.exact.batched_ranking import Batch, BatchedRanking
from freegap.exact.digits import KeyedDigits
from freegap.exact.integers import sample_without_replacement
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.values.answers import GridValues

Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DrawnTopK:
    """What was selected from each population: row g is of population g.

    places: of the k selected answers in their population, from the largest down.
    members: where answers stand for groups of equal items, which member of its group each is: below its size,
        and no member of a population twice; None where every answer is of one item.
    gaps: the gap of each to the next in whole multiples of the plan's resolution, one for each of the
        plan's places but the last; int64, or Python's where they do not fit. None without gaps.
    """

    places: Whole
    members: Whole | None
    gaps: NDArray[Any] | None


def draw_top_k_batch(
    plan: TopKPlan,
    values: GridValues,
    offsets: Whole,
    source: BitSource,
    *,
    grain: Fraction = Fraction(1),
    sizes: Whole | None = None,
) -> DrawnTopK:
    """One release for each population, from whole answers in units of `grain`.

    offsets: where each population begins in `values`, and the end of the last.
    sizes: how many items have each answer, where answers stand for groups of equal items.
    grain: 1, or the plan's resolution.
    """
    batch = Batch.flat(values, offsets, sizes)
    ranking = BatchedRanking(
        batch,
        grain=grain,
        scale=plan.scale,
        resolution=plan.resolution,
        law=plan.law.continuous,
        digits=KeyedDigits(source, batch.streams),
    )
    places, gaps = ranking.largest(plan.places, gaps=plan.gap)
    places = places[:, : plan.k]
    members = None if sizes is None else _members(places, offsets, sizes, source)
    return DrawnTopK(places, members, gaps)


def _members(places: Whole, offsets: Whole, sizes: Whole, source: BitSource) -> Whole:
    """A member of its group for each selected place: uniform, without replacement within a population.

    That is the law of the identities of the largest noisy answers of a group, whose members are alike.
    """
    chosen = sizes[places + offsets[:-1, None]]
    members = np.zeros(places.shape, np.int64)
    for row in np.flatnonzero((chosen > 1).any(axis=1)).tolist():
        of_row = dict(zip(places[row].tolist(), chosen[row].tolist(), strict=True))
        drawn = {
            place: [0] if of_row[place] == 1 else sample_without_replacement(number, of_row[place], source)
            for place, number in Counter(places[row].tolist()).items()
        }
        members[row] = [drawn[place].pop() for place in places[row].tolist()]
    return members
