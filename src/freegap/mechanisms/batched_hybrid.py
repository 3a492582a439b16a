"""Many releases of hybrid sparse vector at once: each is the single release, bit for bit.

The populations are those of `freegap.mechanisms.batches`, and one key of 256 bits is taken for all of them.
With N answers in all, item i of population g has the streams (offsets[g] + i, r), as there, and the threshold
of population g has stream (N + g, 1), which is no item's. All these are different, so that the releases are
independent (`freegap.exact.parts`); and a batch of one population is `hybrid_sparse_vector` on the same
source.

The k largest of each population are found together (`freegap.exact.batched_ranking`). The gap of one of them,

    d + s·X − s₀·Y − shift,    d its answer less the public threshold,

is rounded down by its double where that is certain. Falling gaps are 0 or more up to the first that is not,
and ⌊gap/γ⌋ tells which. The bound is that of `freegap.exact.noisy_threshold`: X and Y err as `exact.doubles`
says, a product with a scale by 8·2^-53 of itself, the sums by as much of all that goes into them, and d by
2^-50·(1 + |d|), for which 2^-48 is charged. Where a gap is not certain, or of a group of equal items, its
population is drawn alone, on the same digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.bits import BitSource
from freegap.exact.batched_ranking import BatchedRanking
from freegap.exact.digits import KeyedDigits
from freegap.exact.doubles import FILTER_BITS, ROUNDING, DoubleNoise, certain_floor, stream_noise
from freegap.exact.parts import Batch
from freegap.mechanisms.batches import Whole
from freegap.mechanisms.hybrids import largest_above
from freegap.mechanisms.population import members_of
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.values.answers import GridValues
from freegap.values.rationals import double
from freegap.values.thresholds import Offsets

_OFFSET_ERROR = 2.0**-48


@dataclass(frozen=True, slots=True)
class DrawnLargest:
    """What was above the threshold in each population, the largest first, one population after the other.

    found: how many of each population.
    places: of the items in their population.
    members: where answers stand for groups of equal items, which member of its group each is; else None.
    gaps: to the threshold, in whole multiples of the plan's resolution; Python's where they do not fit.
    """

    found: Whole
    places: Whole
    members: Whole | None
    gaps: NDArray[Any]


def draw_largest_above(
    plan: ThresholdPlan,
    values: GridValues,
    offsets: Whole,
    bar: Fraction,
    source: BitSource,
    *,
    grain: Fraction = Fraction(1),
    sizes: Whole | None = None,
    filter_bits: int = FILTER_BITS,
) -> DrawnLargest:
    """One release of hybrid sparse vector for each population, from whole answers in units of `grain`.

    offsets, sizes: as in `freegap.mechanisms.batches.draw_top_k_batch`.
    bar: the public threshold, for all.
    """
    batch = Batch.flat(values, offsets, sizes)
    digits = KeyedDigits(source, batch.streams)
    ranking = BatchedRanking(
        batch,
        grain=grain,
        scale=plan.branches[-1].scale,
        resolution=plan.resolution,
        law=plan.law.continuous,
        digits=digits,
        filter_bits=filter_bits,
    )
    places, _ = ranking.largest(plan.k, gaps=False)
    floors, sure = _floors(plan, batch, places, Offsets(values, grain, bar, bar), digits, filter_bits)
    if sizes is not None:
        sure &= (sizes[places + batch.begins[:, None]] == 1).all(axis=1)
    found = (floors >= 0).sum(axis=1)
    gaps: NDArray[Any] = floors
    for row in np.flatnonzero(~sure).tolist():
        alone = largest_above(plan, ranking.single(row), bar, digits.stream(batch.streams + row, 1))
        found[row] = number = len(alone[0])
        places[row, :number] = alone[0]
        if gaps.dtype != object and any(gap >= 2**62 for gap in alone[1]):
            gaps = gaps.astype(object)
        gaps[row, :number] = alone[1]
    released = np.arange(plan.k) < found[:, None]
    members = None if sizes is None else _members(places, found, batch.begins, sizes, source)
    return DrawnLargest(found, places[released], members, gaps[released])


def _floors(
    plan: ThresholdPlan, batch: Batch, places: Whole, offsets: Offsets, digits: KeyedDigits, filter_bits: int
) -> tuple[Whole, NDArray[np.bool_]]:
    """The gap of each place to the threshold in multiples of γ, rounded down, and which rows are sure."""
    law, shift = plan.law.continuous, double(plan.branches[-1].shift)
    items = (places + batch.begins[:, None]).ravel()  # the address of an item is its place among all answers
    drawn = DoubleNoise(law, digits, digits.first(), None, filter_bits).of_items(items, np.zeros(len(items)))
    streams = range(batch.streams, batch.streams + len(batch))
    bar, bar_error = stream_noise(law, digits, 1, streams, 2.0**-filter_bits)
    scale, bar_scale = double(plan.branches[-1].scale), double(plan.threshold_scale)
    offset = _doubles(offsets, items)
    with np.errstate(over="ignore", invalid="ignore"):
        noise, error = drawn.noise * scale, drawn.error * scale
        bar, bar_error = np.repeat(bar * bar_scale, plan.k), np.repeat(bar_error * bar_scale, plan.k)
        value = (offset + noise) - (bar + shift)
        sizes = np.abs(noise) + np.abs(bar) + abs(shift)
        bound = error + bar_error + sizes * (2 * ROUNDING) + (np.abs(offset) + 1.0) * _OFFSET_ERROR
        per_grid = double(1 / plan.resolution)
        floors, sure = certain_floor(value * per_grid, bound * per_grid)
    whole: Whole = floors.astype(np.int64).reshape(places.shape)
    return whole, np.asarray(sure.reshape(places.shape).all(axis=1))


def _doubles(offsets: Offsets, items: Whole) -> NDArray[np.float64]:
    values = offsets.values
    chosen = [values[item] for item in items.tolist()] if isinstance(values, list) else values[items]
    return Offsets(chosen, offsets.grain, offsets.constant, offsets.thresholds).doubles(0, len(items))


def _members(places: Whole, found: Whole, begins: Whole, sizes: Whole, source: BitSource) -> Whole:
    """A member of its group for each released place, uniform and without replacement in a population."""
    chosen = sizes[places + begins[:, None]]
    rows = enumerate(found.tolist())
    drawn = [members_of(places[row, :number], chosen[row, :number], source) for row, number in rows]
    return np.concatenate([np.empty(0, np.int64), *drawn])
