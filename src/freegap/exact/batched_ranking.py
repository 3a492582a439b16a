"""The largest noisy answers of many populations at once: `ranking` on each, decided for all together.

Population g has w_g answers, and its digits are a part of the digits of the batch (`parts`). Most populations
are decided here, and for those the `top` largest and their gaps are the function of the digits that `ranking`
computes; every other one is handed to `ranking` itself, on the same digits, alone.

1. The first 16 digits f of an item enclose its noise X between two ends, Q((f+1)/2^16) and Q(f/2^16), which
   are in a table of 65,537 numbers. So low ≤ noisy answer ≤ high for every item, at the price of two looks
   at a table.
2. The `top` items with the largest low are sorted. If no other item has a high that reaches the least of
   these lows, they are the `top` largest; if each one's low is above the next one's high, they are in order.
3. Only these are given more digits, 144 in all, for their gaps. A gap is decided by doubles, as in `ranking`.
4. Populations that 16 digits do not decide are looked at again, with 144 digits of every item in place of 16.

Everything is in units of the noise scale and relative to a pivot, an answer of the population. A group of m
equal items is never among the `top` here: it is only shown to be out of reach, or else the population is left
to `ranking`.

Lemma. Let B be the least low of the chosen items as it is computed, B ≥ −2^60, and e(x) = 2^-36·(256 + |x|).
If exactly `top` items have a computed high of at least B − e(B), then the chosen ones are the `top` largest.
If a chosen item has a computed low l, and the one after it a low l' and a high h with l − h > e(l) + e(l'),
then it is the larger of the two.

Proof. Let η = 2^-53. An offset z is an exact integer rounded once, times a rational rounded once, and so errs
by 3η·|z|; nothing overflows (`_RATES`). An end Q of the noise errs by 2^-44·(1 + |Q|) at most (`doubles`),
and is moved outwards by 2^-42·(1 + |Q|). The sum rounds once more, by η·(|z| + |Q|). The place of an item is
kept in the last 10 bits of its low, which moves it by less than 2^-42·(|z| + |Q|). In all, a low or a high
x = z + Q errs inwards by less than 2^-41·(1 + |z| + |Q|).
  Every law has Q(u) ≤ −ln u and −Q(u) ≤ −ln(1 − u), so that |Q| ≤ 52 where u and 1 − u are at least 2^-75, as
they are, where that end of the law is not bounded, for every low that is known and every high that is finite.
The high of a group of m items is taken as ln m − ln(f/2^16): its largest member has U₁ = 1 − (1−U)^(1/m) ≥
U/m, and so a noise of at most −ln(U/m); as m ≤ 2^62, that is below 55 where f ≥ 1. So |z| ≤ |x| + 55, and a
low or a high x errs inwards by less than 2^-41·(111 + 2|x|) < e(x)/8.
  x ± e(x)/8 rises with x. An item whose computed high is below B − e(B) is therefore truly below B − e(B)/2,
and a chosen one, whose low is at least B, truly above that. For the second claim: a high that is finite is
less than 2 above the known low of a single item, since neighbouring ends of the table are at most ln 2 apart.
So e(h) < 2·e(l'), and the errors of l and h are together below e(l) + e(l').  ∎

Where a low is not known, because the noise has no lower end, for a group, and for the padding of a row, it
stands at −2^64 or lower: B is then below −2^60, and the population is not decided here.

The noise as a double, from 144 digits, errs by at most 2^-44·(1 + |x|) where u ≥ 2^-75, and 1 − u as well
where the law looks at that end: by the lemma of `doubles`, with m = r = 1 and no offset. So x̂ plus and minus
2^-42·(1 + |x̂|) enclose the noise as the two ends of the table do, with the margin of the lemma.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.exact.digits import KeyedDigits
from freegap.exact.doubles import _SMALLEST, FILTER_BITS, _minus_log, certain_floor
from freegap.exact.parts import Batch, DigitsPart
from freegap.exact.ranking import NoisyRanking
from freegap.laws import EXPONENTIAL, ExactLaw
from freegap.values.rationals import double

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

_BLOCK = 1 << 15  # items that are looked at together: what is computed of them stays in the cache
_WIDEST = 1024  # from so many answers on a population is worth a call of its own
_NETWORK = 64  # up to so many comparisons, column by column, are cheaper than sorting rows
_RATES = (2.0**-100, 2.0**60)  # within these nothing overflows, whatever the answers
_UNKNOWN = -(2.0**64)  # a low that is not known
_KNOWN = -(2.0**60)  # and one that is, with every other answer of its population


class BatchedRanking:
    """Populations with noise, of each of which the largest can be asked for."""

    def __init__(
        self,
        batch: Batch,
        *,
        grain: Fraction,
        scale: Fraction,
        resolution: Fraction,
        law: ExactLaw,
        digits: KeyedDigits,
        filter_bits: int = FILTER_BITS,
    ) -> None:
        self._batch = batch
        self._grain = grain
        self._scale = scale
        self._resolution = resolution
        self._law = law
        self._digits = digits
        self._rate = double(grain / scale)
        self._slack = 2.0**-filter_bits

    def largest(self, top: int, *, gaps: bool) -> tuple[Whole, NDArray[Any] | None]:
        """The places of the `top` largest of each population, and the top − 1 gaps between them."""
        number = len(self._batch)
        places = np.empty((number, top), np.int64)
        between: NDArray[Any] | None = np.empty((number, top - 1), np.int64) if gaps else None
        left = np.arange(number)
        for refined in (False, True) if self._within_doubles() else ():
            left = np.concatenate(
                [np.empty(0, np.int64)]
                + [
                    block.rows[~self._decided(block, top, places, between, refined=refined)]
                    for block in _blocks(self._batch, left, self._digits, top)
                ]
            )
        for row in left.tolist():
            ranked = self.single(row).largest(top)
            places[row] = ranked.items
            if between is not None:
                between = _with_row(between, row, ranked.gaps)
        return places, between

    def single(self, row: int) -> NoisyRanking:
        """One population by itself, on its part of the digits."""
        batch = self._batch
        begin, length = int(batch.begins[row]), int(batch.lengths[row])
        part = slice(begin, begin + length)
        return NoisyRanking(
            batch.values[part],
            grain=self._grain,
            scale=self._scale,
            resolution=self._resolution,
            law=self._law,
            digits=DigitsPart(self._digits, int(batch.addresses[row]), length),
            sizes=None if batch.sizes is None else batch.sizes[part],
        )

    def _within_doubles(self) -> bool:
        """Whether nothing overflows that is computed for blocks."""
        values = self._batch.values
        if isinstance(values, list) or not len(values) or not _RATES[0] < self._rate < _RATES[1]:
            return False
        span = int(values.max()) - int(values.min()) + 1
        return span * (self._grain / self._resolution) < 2**61

    def _decided(
        self, block: _Block, top: int, places: Whole, between: NDArray[Any] | None, *, refined: bool
    ) -> NDArray[np.bool_]:
        """Fill in the places and gaps of a block; in which rows they are certain.

        refined: by 144 digits of each item, instead of 16.
        """
        if not top <= block.width <= _WIDEST:
            return np.zeros(len(block), bool)
        ends = block.refined_ends(self._law, self._digits) if refined else block.first_ends(self._law)
        lows, highs = block.enclosures(self._rate, *ends, top if refined else 1)
        chosen, leading = _leading(lows, top, columns=block.columns)
        least = leading[:, -1]
        slack = (np.abs(leading) + 256.0) * 2.0**-36
        reaching = (highs >= (least - slack[:, -1])[:, None]).sum(axis=1, dtype=np.int16)
        decided: NDArray[np.bool_] = (reaching == top) & (least >= _KNOWN)
        lines = np.arange(len(block))[:, None]
        apart = leading[:, :-1] - highs[lines, chosen[:, 1:]] > slack[:, :-1] + slack[:, 1:]
        decided &= apart.all(axis=1)
        places[block.target] = chosen
        if between is not None:
            noise, usable = block.noise(self._law, self._digits, lines, chosen)
            steps, sure = self._steps(noise)
            decided &= usable.all(axis=1) & sure
            steps += block.value_steps(lines, chosen) * int(self._grain / self._resolution)
            between[block.target] = steps
        return decided

    def _steps(self, noise: Floats) -> tuple[Whole, NDArray[np.bool_]]:
        """The differences of neighbouring noises in multiples of γ, rounded down, and where all are sure."""
        per_noise = double(self._scale / self._resolution)
        with np.errstate(over="ignore", invalid="ignore"):
            steps = (noise[:, :-1] - noise[:, 1:]) * per_noise
            error = (np.abs(noise) + 1.0) * self._slack
            floors, sure = certain_floor(steps, (error[:, :-1] + error[:, 1:]) * per_noise)
        return floors.astype(np.int64), np.asarray(sure.all(axis=1))


class _Block:
    """Some populations as a matrix, one row each; a shorter row has padding at its end.

    rows: the populations' numbers. target: the same, as a slice where they are consecutive.
    first: the first 16 digits of each item.
    columns: whether matrices lie in memory column by column.
    """

    def __init__(self, batch: Batch, rows: Whole, first: KeyedDigits | NDArray[np.uint16], top: int) -> None:
        self.rows = rows
        consecutive = int(rows[-1]) - int(rows[0]) == len(rows) - 1 and bool((np.diff(rows) == 1).all())
        self.target = slice(int(rows[0]), int(rows[-1]) + 1) if consecutive else rows
        lengths = batch.lengths[self.target]
        self.addresses = batch.addresses[self.target]
        self.width = int(lengths[-1])
        self.columns = self.width * top <= _NETWORK
        self._pad = np.arange(self.width) >= lengths[:, None] if lengths[0] < self.width else None
        begins = batch.begins[self.target]
        self._values = self._matrix(np.asarray(batch.values), begins)
        self._sizes = None if batch.sizes is None else self._matrix(batch.sizes, begins)
        if isinstance(first, KeyedDigits):  # without gaps between the rows
            part = DigitsPart(first, int(self.addresses[0]), len(rows) * self.width)
            self.first = self._matrix(part.first(), self.addresses - self.addresses[0])
        else:
            self.first = self._matrix(first, self.addresses)

    def __len__(self) -> int:
        return len(self.rows)

    def _matrix(self, numbers: NDArray[Any], begins: Whole) -> NDArray[Any]:
        """The numbers from each beginning on, as rows; one row where all are the same."""
        begin, width = int(begins[0]), self.width
        if self._pad is None and (begins == begin).all():
            return numbers[begin : begin + width][None, :]
        if self._pad is None and (np.diff(begins) == width).all():
            matrix = numbers[begin : begin + width * len(begins)].reshape(-1, width)
        else:
            cells = begins[:, None] + np.arange(width)
            matrix = numbers[np.minimum(cells, len(numbers) - 1, out=cells)]
        return np.asfortranarray(matrix) if self.columns else matrix

    def first_ends(self, law: ExactLaw) -> tuple[Floats, Floats]:
        """Below and above the noise of each item, from its first digits."""
        places = self.first.ravel(order="K").astype(np.intp)
        low, high = ends(law)
        return self._looked_up(low, places), self._looked_up(high, places)

    def refined_ends(self, law: ExactLaw, digits: KeyedDigits) -> tuple[Floats, Floats]:
        """Below and above the noise of each item, from 144 digits where they bound it."""
        low, high = self.first_ends(law)
        noise, usable = self.noise(law, digits, np.arange(len(self))[:, None], np.arange(self.width)[None, :])
        with np.errstate(invalid="ignore"):  # what is not finite is not usable either
            margin = (np.abs(noise) + 1.0) * 2.0**-42
            return np.where(usable, noise - margin, low), np.where(usable, noise + margin, high)

    def enclosures(self, rate: float, lows: Floats, highs: Floats, rank: int) -> tuple[Floats, Floats]:
        """The lows and highs of all items, from those of their noise, which they replace.

        −2^64 or less where there is no low, and −∞ where there is no item.
        rank: the pivot is the answer of this rank; the nearer to the last chosen one, the more precise.
        """
        values = self._values
        if self._pad is not None:
            values[self._pad] = np.iinfo(np.int64).min
        pivot = values.max(axis=1, keepdims=True) if rank == 1 else _of_rank(values, rank)
        z = (values - pivot).astype(np.float64)
        z *= rate
        unknown = lows <= _UNKNOWN if rank > 1 else None
        lows += z
        if unknown is not None:  # with the largest answer as pivot no z raises them
            lows[unknown] = _UNKNOWN
        if self._sizes is not None:
            sizes = np.broadcast_to(self._sizes, lows.shape)
            groups = sizes > 1
            lows[groups] = _UNKNOWN
            highs[groups] = ends(EXPONENTIAL)[1][self.first[groups]] + np.log(sizes[groups])
        highs += z
        if self._pad is not None:
            lows[self._pad], highs[self._pad] = _UNKNOWN, -np.inf
        return lows, highs

    def noise(
        self, law: ExactLaw, digits: KeyedDigits, lines: Whole, places: Whole
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """The noise of items as doubles, from 144 digits, and for which of them its error is bounded."""
        first = self.first[lines, places]
        items = np.minimum(self.addresses[:, None] + places, digits.n - 1)  # padding may lie beyond
        words = digits.block(0, 0, items.ravel())
        high, low = words[:, 0].reshape(first.shape), words[:, 1].reshape(first.shape)
        u = first * 2.0**-16 + (high * 2.0**-80 + low * 2.0**-144)
        usable, total = u >= _SMALLEST, u
        if law.uses_complement:
            rest = (65535.0 - first) * 2.0**-16 + (~high * 2.0**-80 + ~low * 2.0**-144)
            usable &= rest >= _SMALLEST
            total = _minus_log(u, rest)
        return law.estimate(u, total), usable

    def _looked_up(self, table: Floats, places: NDArray[np.intp]) -> Floats:
        found, shape = table.take(places), self.first.shape
        return found.reshape(shape[::-1]).T if self.columns else found.reshape(shape)

    def value_steps(self, lines: Whole, chosen: Whole) -> Whole:
        """The differences of neighbouring answers among the chosen."""
        values = self._values[lines if len(self._values) > 1 else 0, chosen]
        steps: Whole = values[:, :-1] - values[:, 1:]
        return steps


def _of_rank(values: Whole, rank: int) -> Whole:
    """The answer of this rank in each row; padding is so low that nothing is to be subtracted from it."""
    largest: Whole = np.partition(values, -rank, axis=1)[:, -rank, None]
    return np.maximum(largest, -(2**62))


def _blocks(batch: Batch, rows: Whole, digits: KeyedDigits, top: int) -> Iterator[_Block]:
    """These populations, those of about one length together, so many that they stay in the cache."""
    order = rows[np.argsort(batch.lengths[rows], kind="stable")]
    lengths, addresses = batch.lengths[order], batch.addresses[order]
    if not len(order):
        return
    # Where each population's streams follow those of the one before, no others are needed for a block.
    dense = lengths[0] == lengths[-1] and bool((np.diff(addresses) == lengths[0]).all())
    first = digits if dense else digits.first()
    begin = 0
    while begin < len(order):
        widest = int(lengths[begin]) * 5 // 4
        alike = int(np.searchsorted(lengths, widest, side="right"))
        end = min(alike, begin + max(_BLOCK // widest, 1))
        yield _Block(batch, order[begin:end], first, top)
        begin = end


@lru_cache(maxsize=8)
def ends(law: ExactLaw) -> tuple[Floats, Floats]:
    """For each 16 first digits of U a number below, and one above, all that Q(U) can be; see the lemma."""
    u = np.arange(65537, dtype=np.float64) * 2.0**-16
    with np.errstate(divide="ignore"):
        q = law.estimate(u, -np.log1p(-u))
    margin = (np.abs(q) + 1.0) * 2.0**-42
    with np.errstate(invalid="ignore"):
        low, high = q - margin, q + margin
    low[~np.isfinite(q)], high[~np.isfinite(q)] = _UNKNOWN, np.inf
    return low[1:].copy(), high[:-1].copy()


def _leading(lows: Floats, top: int, *, columns: bool) -> tuple[Whole, Floats]:
    """The places of the `top` largest lows of each row in order, and these lows; overwrites the lows.

    A low keeps the place of its item in its last 10 bits, so that what moves carries its place along.
    """
    packed = lows.view(np.int64)
    packed &= ~1023
    packed |= np.arange(lows.shape[1])
    if columns:
        leading = _network(lows.T, top).T
    elif lows.shape[1] > 16 * top:
        leading = np.sort(np.partition(lows, -top, axis=1)[:, -top:], axis=1)[:, ::-1]
    else:
        leading = np.sort(lows, axis=1)[:, : -top - 1 : -1]
    leading = np.ascontiguousarray(leading)
    return leading.view(np.int64) & 1023, leading


def _network(lanes: Floats, top: int) -> Floats:
    """The `top` largest of each column, from the largest down: each lane is sunk through those found."""
    found = np.full((top, lanes.shape[1]), -np.inf)
    carried, lower = np.empty((2, lanes.shape[1]))
    for lane in lanes:
        carried[:] = lane
        for best in found[:-1]:
            np.minimum(best, carried, out=lower)
            np.maximum(best, carried, out=best)
            carried, lower = lower, carried
        np.maximum(found[-1], carried, out=found[-1])
    return found


def _with_row(gaps: NDArray[Any], row: int, exact: list[int]) -> NDArray[Any]:
    """The gaps with those of one row; as Python's whole numbers from where one does not fit."""
    if gaps.dtype != object and any(abs(gap) >= 2**62 for gap in exact):
        gaps = gaps.astype(object)
    gaps[row] = exact
    return gaps
