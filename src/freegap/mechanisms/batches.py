"""Many releases at once, of noisy top-k and of sparse vector: each is the single release, bit for bit.

A batch has populations, one after the other in one flat array of answers: those of population g are
values[offsets[g]:offsets[g + 1]]. One key of 256 bits is taken from the source for all of them, and item i of
population g has the streams (offsets[g] + i, r) of that key (`freegap.exact.parts`, which also says why the
releases are independent). So population g has the release that `draw_top_k` makes on these digits; a batch of
one population is `draw_top_k` on the same source.

A run of sparse vector over m questions has m + 1 streams in the same way, the threshold's and one for each
question, and as many ranks as branches: `freegap.exact.batched_threshold`.

Every population must have enough items for the plan (`TopKPlan.require_enough`): how many it has is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.bits import BitSource
from freegap.exact.batched_ranking import BatchedRanking
from freegap.exact.batched_threshold import BatchAbove, BatchedThreshold, Stops
from freegap.exact.digits import KeyedDigits
from freegap.exact.parts import Batch, DigitsPart
from freegap.mechanisms.population import members_of
from freegap.mechanisms.sparse_vector import found_above
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.values.answers import GridValues
from freegap.values.thresholds import Offsets

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
    return drawn_from(plan, Batch.flat(values, offsets, sizes), source, grain=grain)


def drawn_from(plan: TopKPlan, batch: Batch, source: BitSource, *, grain: Fraction) -> DrawnTopK:
    """One release for each population of a batch."""
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
    members = None if batch.sizes is None else _members(places, batch.begins, batch.sizes, source)
    return DrawnTopK(places, members, gaps)


def _members(places: Whole, begins: Whole, sizes: Whole, source: BitSource) -> Whole:
    """A member of its group for each selected place: uniform, without replacement within a population.

    That is the law of the identities of the largest noisy answers of a group, whose members are alike.
    """
    chosen = sizes[places + begins[:, None]]
    members = np.zeros(places.shape, np.int64)
    for row in np.flatnonzero((chosen > 1).any(axis=1)).tolist():
        members[row] = members_of(places[row], chosen[row], source)
    return members


@dataclass(frozen=True, slots=True)
class DrawnAbove:
    """What was above the threshold in each run: of run r, the entries from starts[r] up to starts[r + 1].

    answered: how many questions of each run were answered.
    places: of the questions above, in order.
    branches: by which branch of the plan each is above.
    gaps: their gaps in whole multiples of the plan's resolution; None without gaps.
    """

    answered: Whole
    starts: Whole
    places: Whole
    branches: Whole
    gaps: NDArray[Any] | None


def above_from(plan: ThresholdPlan, batch: Batch, offsets: Offsets, source: BitSource) -> DrawnAbove:
    """One run of sparse vector for each population of a batch.

    offsets: all answers of the batch less their thresholds; a run has its part of them.
    """
    digits = KeyedDigits(source, 0)
    bars = BatchedThreshold(
        batch,
        offsets,
        law=plan.law,
        threshold_scale=plan.threshold_scale,
        branches=plan.branches,
        resolution=plan.resolution,
        digits=digits,
    )
    answered, found, left = bars.found(_stops(plan), gaps=plan.gap)
    parts = [found]
    for run in left.tolist():
        begin, length = int(batch.begins[run]), int(batch.lengths[run])
        own = DigitsPart(digits, int(batch.addresses[run]), length + 1)
        single = found_above(plan, own, offsets.part(begin, begin + length))
        answered[run] = single.answered
        gaps = np.array(single.gaps if plan.gap else [0] * len(single.places), dtype=object)
        runs = np.full(len(single.places), run)
        parts.append(BatchAbove(runs, np.array(single.places, int), np.array(single.numbers, int), gaps))
    found = BatchAbove.joined(parts)
    starts = np.concatenate([[0], np.cumsum(np.bincount(found.runs, minlength=len(batch)))])
    return DrawnAbove(answered, starts, found.places, found.branches, found.gaps if plan.gap else None)


def _stops(plan: ThresholdPlan) -> Stops:
    """`ThresholdPlan.ends` in units of the cheapest branch, of which every budget is a whole multiple."""
    unit = plan.branches[0].budget
    room = plan.epsilon - plan.answer_budget - plan.threshold_budget
    return Stops(tuple(int(b.budget / unit) for b in plan.branches), room // unit, plan.stop_after)
