"""Many runs against noisy thresholds at once: `noisy_threshold` on each, decided for all together.

A run has m questions and a threshold of its own; its streams are a part of the digits of the batch (`parts`):
m + 1 streams, of which the first is the threshold's. A run goes on until the branches by which questions were
above have cost more than a limit, or so many questions were above (`Stops`). What is decided here is the
function of the digits that `noisy_threshold` computes; a run that is not decided is told, to be made alone.

The first 16 digits of a question's noise X enclose it between two ends of a table (`batched_ranking.ends`),
and with it v − margin. Where both have one sign, and are far enough from 0, that is the answer; elsewhere X
as a double, from 128 digits, is looked at. A gap is computed from that double as well.

The bound. Let η = 2^-53 and let |Q| ≤ 12 be an end of the table. v − margin = d + s·Q − (shift + margin) −
bar has an offset d that errs by 8η·(1 + |d|), a bar with a bound of its own, and four sums that err by η
times the sizes of all that went into them. The end is moved outwards by 2^-42·(1 + |Q|), which is more than
it errs by, 2^-44·(1 + |Q|), and than the two roundings of s·Q. So the error is less than 2^-46·(1 + |d| +
|bar| + |shift| + |margin| + 13s) and the bound of the bar, which is what is charged. The bound of the double
is the one of `noisy_threshold`. What is not finite decides nothing.

For geometric noise all numbers are whole. Below 2^50 doubles compute with them without error, and v ≥ margin
is v > margin − ½, by at least ½: there the bound is ¼.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.exact.batched_ranking import ends
from freegap.exact.digits import KeyedDigits
from freegap.exact.doubles import _SMALLEST, FILTER_BITS, ROUNDING, _fraction, _minus_log, certain_floor
from freegap.exact.noisy_threshold import BELOW, Branch
from freegap.exact.parts import Batch
from freegap.laws import ExactLaw, Law
from freegap.values.rationals import double
from freegap.values.thresholds import Offsets

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]

_BLOCK = 1 << 15  # questions that are looked at together
_LONGEST = 1 << 12  # from so many questions on a run is worth a call of its own
_MOST_WHOLE = 2.0**50
_OFFSET_ERROR = 2.0**-48


@dataclass(frozen=True, slots=True)
class Stops:
    """A run ends when what its branches have cost is above the limit, or after so many were above."""

    costs: tuple[int, ...]
    limit: int
    after: int | None


@dataclass(frozen=True, slots=True)
class BatchAbove:
    """What was above in some runs: question `places` of run `runs` by branch `branches`, with its gap."""

    runs: Whole
    places: Whole
    branches: Whole
    gaps: NDArray[Any]

    @classmethod
    def joined(cls, parts: Sequence[BatchAbove]) -> BatchAbove:
        """All of them, in the order of the runs, and in a run in that of the questions."""
        columns = [np.concatenate([getattr(part, name) for part in parts]) for name in cls.__slots__]
        order = np.argsort(columns[0], kind="stable")
        return cls(*(column[order] for column in columns))


class BatchedThreshold:
    """Runs against a noisy threshold each; see the module's docstring."""

    def __init__(
        self,
        batch: Batch,
        offsets: Offsets,
        *,
        law: Law,
        threshold_scale: Fraction,
        branches: Sequence[Branch],
        resolution: Fraction,
        digits: KeyedDigits,
        filter_bits: int = FILTER_BITS,
    ) -> None:
        self._batch = batch
        self._offsets = offsets
        self._law = law.continuous
        self._discrete = law.lattice
        self._threshold_scale = double(threshold_scale)
        self._branches = branches
        self._digits = digits
        self._slack = 2.0**-filter_bits
        self._per_grid = double(1 / resolution)
        self._half = 0.5 if law.lattice else 0.0
        self._scales = [double(branch.scale) for branch in branches]
        self._shifts = [double(branch.shift) for branch in branches]
        self._margins = [double(branch.margin) for branch in branches]

    def found(self, stops: Stops, *, gaps: bool) -> tuple[Whole, BatchAbove, Whole]:
        """How many questions each run answered, what was above, and which runs are not decided."""
        answered = self._batch.lengths.copy()
        parts = []
        left = [np.empty(0, np.int64)]
        for rows in self._blocks():
            length = int(self._batch.lengths[rows[0]])
            if length > _LONGEST or not self._representable(stops):
                left.append(rows)
                continue
            block = _Runs(self, rows, length)
            block.compare()
            parts.append(block.found(stops, answered, gaps=gaps))
            left.append(rows[~block.decided])
        empty = np.empty(0, np.int64)
        found = BatchAbove.joined([BatchAbove(empty, empty, empty, empty), *parts])
        return answered, found, np.concatenate(left)

    def _representable(self, stops: Stops) -> bool:
        """Whether costs fit, and whether whole numbers are whole."""
        whole = self._offsets.grain == 1 and self._offsets.constant.denominator == 1
        longest = _LONGEST * max(stops.costs)
        return longest < 2**62 and stops.limit < 2**62 and (whole or not self._discrete)

    def _blocks(self) -> Iterator[Whole]:
        """Runs of one length, so many that they stay in the cache."""
        order = np.argsort(self._batch.lengths, kind="stable")
        lengths = self._batch.lengths[order]
        begin = 0
        while begin < len(order):
            length = int(lengths[begin])
            alike = int(np.searchsorted(lengths, length, side="right"))
            end = min(alike, begin + max(_BLOCK // (length + 1), 1))
            yield order[begin:end]
            begin = end

    def doubles(self, begins: Whole, length: int) -> Floats:
        """The offsets of runs that begin there; one row where all are the same."""
        begin = int(begins[0])
        if (begins == begin).all():
            return self._offsets.doubles(begin, begin + length)[None, :]
        if (np.diff(begins) == length).all():
            return self._offsets.doubles(begin, begin + length * len(begins)).reshape(-1, length)
        return np.stack([self._offsets.doubles(b, b + length) for b in begins.tolist()])

    def words(self, addresses: Whole, streams: int, rank: int) -> Words:
        """128 digits of each of so many streams of each run, as two words."""
        items: Any = range(int(addresses[0]), int(addresses[0]) + streams * len(addresses))
        if (np.diff(addresses) != streams).any():
            items = (addresses[:, None] + np.arange(streams)).ravel()
        return self._digits.block(0, rank, items).reshape(-1, streams, 2)

    def noise(self, words: Words, scale: float) -> tuple[Floats, Floats]:
        """Noise of this scale from 128 digits each, rounded down if it is whole, and a bound on its error."""
        u, rest = _fraction(words), _fraction(~words)
        usable = (u >= _SMALLEST) & (rest >= _SMALLEST)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            near = self._law.estimate(u, _minus_log(u, rest))
            value = near * scale
            bound = (np.abs(near) + 1.0) * (self._slack * scale) + np.abs(value) * ROUNDING
            if self._discrete:
                value, sure = certain_floor(value, bound)
                usable &= sure
                bound = np.zeros_like(value)
        return value, np.where(usable, bound, np.inf)


class _Runs:
    """Some runs of one length, one row each."""

    def __init__(self, bars: BatchedThreshold, rows: Whole, length: int) -> None:
        self._all = bars
        self._rows = rows
        self._length = length
        self._addresses = bars._batch.addresses[rows]
        self._offsets = bars.doubles(bars._batch.begins[rows], length)
        self._words = [bars.words(self._addresses, length + 1, 1)]
        self._bar, self._bar_bound = bars.noise(self._words[0][:, 0], bars._threshold_scale)
        self._above = np.full((len(rows), length), BELOW, np.int8)
        self.decided = np.isfinite(self._bar_bound)
        if bars._discrete:
            largest = float(np.abs(self._offsets).max(initial=0.0)) + max(
                13.0 * scale + abs(shift) + abs(margin)
                for scale, shift, margin in zip(bars._scales, bars._shifts, bars._margins, strict=True)
            )
            self.decided &= np.abs(self._bar) + largest < _MOST_WHOLE

    def compare(self) -> None:
        """By which branch each question is above, if by any."""
        bars = self._all
        for number in range(len(bars._branches)):
            if number:
                self._words.append(bars.words(self._addresses, self._length + 1, number + 1))
            above, unclear = self._by_first_digits(number)
            unclear &= self._above == BELOW
            lines, places = np.nonzero(unclear)
            if len(lines):
                value, bound = self._values(lines, places, number)
                with np.errstate(invalid="ignore"):
                    over = value - (bars._margins[number] - bars._half)
                    over_bound = 0.25 if bars._discrete else bound
                    above[lines, places] = over > over_bound
                    sure = np.isfinite(bound) & (np.abs(over) > over_bound)
                self.decided[lines[~sure]] = False
            above &= self._above == BELOW
            self._above[above] = number

    def _by_first_digits(self, number: int) -> tuple[Flags, Flags]:
        """Where a question is certainly above by this branch, and where that is not clear."""
        bars = self._all
        first = self._words[number].view(np.uint16).reshape(len(self._rows), -1, 8)[:, 1:, 3]
        places = first.astype(np.intp)
        shift, margin = bars._shifts[number], bars._margins[number] - bars._half
        scale = bars._scales[number]
        with np.errstate(over="ignore", invalid="ignore"):
            below, over = _scaled_ends(bars._law, scale, whole=bars._discrete)
            base = (self._offsets - (shift + margin)) - self._bar[:, None]
            if bars._discrete:
                slack: Any = 0.25
            else:
                constant = 1.0 + abs(shift) + abs(margin) + 13.0 * scale
                slack = (np.abs(self._offsets) + constant) * 2.0**-46
                slack = slack + (np.abs(self._bar) * 2.0**-46 + self._bar_bound)[:, None]
            above: Flags = below.take(places) + base > slack
            unclear: Flags = ~(above | (over.take(places) + base < -slack))
        return above, unclear

    def _values(self, lines: Whole, places: Whole, number: int) -> tuple[Floats, Floats]:
        """v of these questions by this branch, and a bound on its error, as in `noisy_threshold`."""
        bars = self._all
        noise, bound = bars.noise(self._words[number][lines, places + 1], bars._scales[number])
        offsets = self._offsets[lines if len(self._offsets) > 1 else 0, places]
        bar, shift = self._bar[lines], bars._shifts[number]
        with np.errstate(over="ignore", invalid="ignore"):
            value = (offsets + noise) - (bar + shift)
            if bars._discrete:
                return value, bound
            sizes = np.abs(noise) + np.abs(bar) + (abs(shift) + abs(bars._margins[number]))
            bound = (
                bound + self._bar_bound[lines] + sizes * ROUNDING + (np.abs(offsets) + 1.0) * _OFFSET_ERROR
            )
        return value, bound

    def found(self, stops: Stops, answered: Whole, *, gaps: bool) -> BatchAbove:
        """What was above until each run ended; how many questions were answered is filled in."""
        flat = np.flatnonzero(self._above.ravel() != BELOW)
        lines, places = np.divmod(flat, self._length)
        branches = self._above.ravel()[flat].astype(np.intp)
        costs = np.array(stops.costs, np.int64)[branches]
        numbers = np.bincount(lines, minlength=len(self._rows))
        starts = np.cumsum(numbers) - numbers
        spent = np.cumsum(costs)
        before = spent - costs
        own = starts[lines]
        spent, before = spent - before[own], before - before[own]
        rank = np.arange(len(flat)) - own
        kept, ended = before <= stops.limit, spent > stops.limit
        if stops.after is not None:
            kept, ended = kept & (rank < stops.after), ended | (rank == stops.after - 1)
        last = np.flatnonzero(kept & ended)
        answered[self._rows[lines[last]]] = places[last] + 1
        chosen = np.flatnonzero(kept & self.decided[lines])
        lines, places, branches = lines[chosen], places[chosen], branches[chosen]
        between = self._gaps(lines, places, branches) if gaps else np.zeros(len(lines), np.int64)
        kept = self.decided[lines]  # a gap may have been unsure
        return BatchAbove(self._rows[lines[kept]], places[kept], branches[kept], between[kept])

    def _gaps(self, lines: Whole, places: Whole, branches: NDArray[np.intp]) -> Whole:
        bars = self._all
        found = np.zeros(len(lines), np.int64)
        for number in range(len(bars._branches)):
            own = np.flatnonzero(branches == number)
            value, bound = self._values(lines[own], places[own], number)
            if bars._discrete:
                floors, sure = value, np.isfinite(bound)
            else:
                with np.errstate(over="ignore", invalid="ignore"):
                    floors, sure = certain_floor(value * bars._per_grid, bound * bars._per_grid)
            self.decided[lines[own[~sure]]] = False
            found[own] = np.where(sure, floors, 0.0).astype(np.int64)
        return found


@lru_cache(maxsize=16)
def _scaled_ends(law: ExactLaw, scale: float, *, whole: bool) -> tuple[Floats, Floats]:
    """Below and above the noise of this scale, for each 16 first digits; rounded down if it is whole."""
    low, high = ends(law)
    with np.errstate(over="ignore"):
        below, over = np.where(low > -(2.0**60), low * scale, -np.inf), high * scale
    return (np.floor(below), np.floor(over)) if whole else (below, over)
