"""The fast core: the largest noisy answers, in order, with the gaps between them, exactly.

Item i has answer v_i (an integer in units of a public grain) and noise b·X_i, X_i = Q(U_i) as in
`laws`, with U_i known through the digits of `digits`. Wanted: the `top` largest of v_i·grain + b·X_i in
order, and each difference of neighbours rounded down to a multiple of γ. All this is a function of
the digits. Below, everything is measured in units of b, and answers relative to a pivot.

1. Screening. Choose any bar s. An item can have a noisy answer above s only if U_i < S(s − z_i), which
   its first 16 digits nearly always decide. Items that are certainly below the bar are passed over;
   the others are *candidates*. If at least `top` candidates are certainly above the bar, the `top`
   largest of all items are among the candidates, whatever the bar was; if not, the bar is lowered
   and the same digits are looked at again. So the bar decides the cost and nothing else. It is chosen
   such that slightly more than `top` items are expected above it.
2. Ordering. Candidates get 128 more digits and a double y with |y − truth| ≤ e (the lemma). Where the
   intervals [y − e, y + e] of a sorted list are disjoint, the order is decided; each run of
   overlapping ones is sorted by exact comparison instead.
3. Gaps. The difference of the answers is an integer; only the difference of the two noises is rounded
   down, by its double where that is further from a whole number than the bound, else exactly.

Groups. A group of m items with one answer is one item whose noise is the largest of m; S is replaced
by 1 − (1−S)^m ≤ m·S. When a group's r-th member is a candidate, its (r+1)-th is produced as in
`reals.OrderStatistic`, until one is certainly below the bar. The others are below it too.

Lemma (the filter). For a candidate of group size m, rank r ≤ m, let x be the true noise X, z the true
(v − pivot)·grain/b, and x̂, ẑ their doubles. Then |ẑ + x̂ − z − x| ≤ 2^-44·(1 + |z| + |x|) + r·2^-50.
  û: the leading 80 digits as a double err by 2^-52 relatively (two roundings), the digits left out by
     2^-80 absolutely, that is 2^-53 relatively where û ≥ 2^-27; smaller û are not filtered (e = ∞).
     Streams of rank r > 1 use 64 digits in the same way.
  −ln(1−û): by log1p for û < ½, by the logarithm of the complement's digits for û ≥ ½ (the complement
     too must be at least 2^-27), so with a relative error of a few times 2^-52.
  L_r: a sum of r positive terms; r·2^-52 relatively. 1 − e^-L and Q have condition numbers of at most
     1 relatively (for Q: absolutely per relative change of its argument), so x̂ errs by at most
     r·2^-52 plus a few units in the last place of 1 + |x|.
  ẑ: one conversion of an exact integer, one division of rationals rounded once, one product.
All of this is below 2^-48·(1 + |z| + |x|) + r·2^-51 where log, log1p and expm1 err by up to 4 units in
the last place (NumPy promises less); the bound allows 16 times that. A test compares it with ball
arithmetic on millions of words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.exact.digits import KeyedDigits
from freegap.exact.laws import Law
from freegap.exact.reals import START_DIGITS, OrderStatistic, Real, Variable
from freegap.values.answers import GridValues

__all__ = ["FILTER_BITS", "NoisyRanking", "Ranked"]

FILTER_BITS = 44
"""The float filter's precision. Lower values send more decisions to the exact path; none changes."""

_SCREENED_ABOVE = 1024  # fewer items than this are all candidates: screening would cost more
_LOG_CEILING = 80.0  # e^80 fits single precision; answers further than 80·b from the pivot are clipped
_SMALLEST = 2.0**-27

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The largest noisy answers in order.

    items[j] is the position of the j-th largest, ranks[j] its place within its group (1 unless the
    item is a group), and gaps[j] the difference to the next one in multiples of γ, rounded down.
    """

    items: list[int]
    ranks: list[int]
    gaps: list[int]


@dataclass(slots=True)
class _Candidates:
    """Items that may be above the bar: position, rank in group, noise and noisy answer as doubles."""

    items: Indices
    ranks: Indices
    noise: Floats
    noisy: Floats
    error: Floats

    def __len__(self) -> int:
        return len(self.items)

    def take(self, chosen: Any) -> _Candidates:
        return _Candidates(
            self.items[chosen],
            self.ranks[chosen],
            self.noise[chosen],
            self.noisy[chosen],
            self.error[chosen],
        )

    def joined(self, other: _Candidates) -> _Candidates:
        return _Candidates(
            np.concatenate([self.items, other.items]),
            np.concatenate([self.ranks, other.ranks]),
            np.concatenate([self.noise, other.noise]),
            np.concatenate([self.noisy, other.noisy]),
            np.concatenate([self.error, other.error]),
        )


class NoisyRanking:
    """Answers with noise, of which the largest can be asked for. See the module's docstring."""

    def __init__(
        self,
        values: GridValues,
        *,
        grain: Fraction,
        scale: Fraction,
        resolution: Fraction,
        law: Law,
        digits: KeyedDigits,
        sizes: NDArray[np.int64] | None = None,
        filter_bits: int = FILTER_BITS,
        start_digits: int = START_DIGITS,
    ) -> None:
        self._values = values
        self._grain = grain
        self._scale = scale
        self._resolution = resolution
        self._law = law
        self._digits = digits
        self._sizes = sizes
        self._slack = 2.0**-filter_bits
        self._start = start_digits
        self._first = digits.first()
        self._reals: dict[tuple[int, int], Real] = {}

    def largest(self, top: int) -> Ranked:
        """The `top` largest noisy answers and the top − 1 gaps between them."""
        n = len(self._values)
        if n < _SCREENED_ABOVE or 4 * top >= n:
            offsets = self._offsets(_largest_value(self._values, n), slice(None))
            candidates = self._draw(np.arange(n), offsets)
            if self._sizes is not None:
                candidates = self._unfold(candidates, offsets, -math.inf, top)
        else:
            candidates = self._screened(top)
        return self._ranked(self._ordered(candidates, top), top)

    # -- screening ---------------------------------------------------------------------------

    def _screened(self, top: int) -> _Candidates:
        """Candidates that contain the `top` largest, for many items."""
        pivot = _largest_value(self._values, top)
        # e^z in single precision: only the choice of the bar and the screen rest on it.
        z = _differences(self._values, pivot).astype(np.float32)
        z *= np.float32(self._grain / self._scale)
        np.clip(z, -_LOG_CEILING, _LOG_CEILING, out=z)
        weights = np.exp(z, out=z)
        bar = self._bar(weights, top)
        while True:
            # e^z errs by at most |z|·2^-24 and a few units in the last place: below 2^-15.
            reach = self._expected(weights, bar)
            reach *= np.float32(65536 * (1 + 2.0**-12 + self._slack))
            chosen = np.flatnonzero(self._first <= reach)
            offsets = self._offsets(pivot, chosen)
            candidates = self._draw(chosen, offsets)
            if self._sizes is not None:
                candidates = self._unfold(candidates, offsets, bar, top)
            above = np.count_nonzero(candidates.noisy - candidates.error >= bar)
            if above >= top or len(chosen) == len(self._values):
                return candidates
            bar -= 1.0

    def _expected(self, weights: NDArray[np.float32], bar: float) -> NDArray[np.float32]:
        """For each item the expected number of members above the bar: S(bar − z)·size."""
        # Clipped answers far above the bar have S ≈ 1 either way; far below, S < e^-80·size.
        expected = self._law.survival(weights * np.float32(math.exp(-bar)))
        if self._sizes is not None:
            expected *= self._sizes.astype(np.float32)
        return expected

    def _bar(self, weights: NDArray[np.float32], top: int) -> float:
        """A bar above which slightly more than `top` items are expected.

        Raising the bar by δ lowers the expected number by at most a factor e^−δ (all laws here have
        a hazard of at most 1), so steps of ln(expected/wanted) approach the bar from below.
        """
        wanted = top + 4 * math.sqrt(top) + 4
        bar = 0.0
        for _ in range(6):
            expected = float(self._expected(weights, bar).sum(dtype=np.float64))
            step = math.log(expected / wanted)
            if step < 0 and self._law.guarded_below:
                break  # `top` items are above the pivot as they are
            bar = min(max(bar + step, -_LOG_CEILING / 2), _LOG_CEILING / 2)
            if abs(step) < 0.05:
                break
        return bar

    # -- noise as doubles --------------------------------------------------------------------

    def _offsets(self, pivot: int, chosen: Any) -> Floats:
        """(v − pivot)·grain/b as doubles."""
        values = self._values
        if isinstance(values, list):
            rows = range(len(values)) if isinstance(chosen, slice) else chosen
            values = [values[i] for i in rows]
        else:
            values = values[chosen]
        return _differences(values, pivot) * float(self._grain / self._scale)

    def _draw(self, items: Indices, offsets: Floats) -> _Candidates:
        """Each item's noise (the largest of its group's)."""
        high = self._digits.block(0, 0, items.astype(np.uint64))[:, 0]
        first = self._first[items].astype(np.float64)
        u = (first + high * 2.0**-64) * 2.0**-16
        rest = ((65535 - first) + ~high * 2.0**-64) * 2.0**-16
        usable = u >= _SMALLEST
        if self._sizes is None:
            if self._law.guarded_below:
                total = rest  # not looked at by a one-sided law
            else:
                total = _minus_log(u, rest)
                usable &= rest >= _SMALLEST
        else:
            total = _minus_log(u, rest) / self._sizes[items]
            u = np.where(self._sizes[items] == 1, u, -np.expm1(-total))
            usable &= rest >= _SMALLEST
        return self._candidates(items, np.ones(len(items), np.intp), u, total, offsets, usable)

    def _candidates(
        self,
        items: Indices,
        ranks: Indices,
        u: Floats,
        total: Floats,
        offsets: Floats,
        usable: NDArray[np.bool_],
    ) -> _Candidates:
        noise = self._law.estimate(u, total)
        noisy = offsets + noise
        error = (np.abs(offsets) + np.abs(noise) + 1.0) * self._slack
        if self._sizes is not None:
            error += ranks * (64 * self._slack * 2.0**-12 + 2.0**-50)
        error[~(usable & np.isfinite(noise))] = math.inf
        noisy[~np.isfinite(noisy)] = 0.0  # sorted anywhere: its error is infinite
        return _Candidates(items, ranks, noise, noisy, error)

    def _unfold(self, largest: _Candidates, offsets: Floats, bar: float, top: int) -> _Candidates:
        """Further members of the groups, from the largest down, until one is below the bar.

        At most `top` members of a group can matter. Members come in batches that double, for all
        groups that are still above the bar at once.
        """
        assert self._sizes is not None  # noqa: S101
        found = largest
        limits = np.minimum(self._sizes[largest.items], top)
        active = np.flatnonzero((largest.noisy + largest.error >= bar) & (limits > 1))
        total = self._first_total(largest.items)
        known, batch = 1, 1
        while len(active):
            items = largest.items[active]
            ranks = known + 1 + np.arange(batch)
            cells = np.repeat(items, batch).astype(np.uint64)
            high = self._digits.block(0, np.tile(ranks - 1, len(items)).astype(np.uint64), cells)
            high = high[:, 0].reshape(len(items), batch)
            u = high * 2.0**-64
            rest = ~high * 2.0**-64
            left = np.maximum(self._sizes[items][:, None] - (ranks - 1), 1)
            totals = total[active][:, None] + np.cumsum(_minus_log(u, rest) / left, axis=1)
            usable = np.logical_and.accumulate((u >= _SMALLEST) & (rest >= _SMALLEST), axis=1)
            batch_found = self._candidates(
                np.repeat(items, batch),
                np.tile(ranks, len(items)),
                -np.expm1(-totals.ravel()),
                totals.ravel(),
                np.repeat(offsets[active], batch),
                usable.ravel(),
            )
            exists = (ranks <= limits[active][:, None]).ravel()
            reach = batch_found.noisy + batch_found.error
            found = found.joined(batch_found.take(np.flatnonzero(exists & (reach >= bar))))
            total[active] = totals[:, -1]
            last = reach.reshape(len(items), batch)[:, -1]
            # An unusable double says nothing of those after it: they get an infinite error too.
            known += batch
            active = active[(last >= bar) & (limits[active] > known)]
            batch *= 2
        return found

    def _first_total(self, items: Indices) -> Floats:
        assert self._sizes is not None  # noqa: S101
        high = self._digits.block(0, 0, items.astype(np.uint64))[:, 0]
        first = self._first[items].astype(np.float64)
        u = (first + high * 2.0**-64) * 2.0**-16
        rest = ((65535 - first) + ~high * 2.0**-64) * 2.0**-16
        return _minus_log(u, rest) / self._sizes[items]

    # -- ordering and gaps -------------------------------------------------------------------

    def _ordered(self, candidates: _Candidates, top: int) -> _Candidates:
        """The candidates from the largest down; correct for the first `top` places."""
        order = np.argsort(-candidates.noisy, kind="stable")
        candidates = candidates.take(order)
        # Place j is decided where everything before it is certainly larger than everything after.
        low = np.minimum.accumulate(candidates.noisy - candidates.error)
        high = np.maximum.accumulate((candidates.noisy + candidates.error)[::-1])[::-1]
        undecided = np.flatnonzero(low[:-1] <= high[1:])
        if len(undecided) and undecided[0] < top:
            candidates = candidates.take(self._settled(candidates, undecided, top))
        return candidates.take(slice(0, top))

    def _settled(self, candidates: _Candidates, undecided: Indices, top: int) -> Indices:
        """The order of the candidates, with each run of overlapping intervals sorted exactly."""
        order = np.arange(len(candidates))
        runs = np.split(undecided, np.flatnonzero(np.diff(undecided) > 1) + 1)
        for run in runs:
            begin, end = int(run[0]), int(run[-1]) + 2
            if begin >= top:
                break
            places = sorted(range(begin, end), key=lambda j: self._real(candidates, j), reverse=True)
            order[begin:end] = places
        return order

    def _ranked(self, ordered: _Candidates, top: int) -> Ranked:
        per_noise = float(self._scale / self._resolution)
        noise, error = ordered.noise, ordered.error * 2.0  # |x̂ − x| is within the error of the sum
        steps = (noise[:-1] - noise[1:]) * per_noise
        bound = (error[:-1] + error[1:]) * per_noise + np.abs(steps) * 2.0**-50
        floors = np.floor(steps)
        sure = (steps - floors > bound) & (floors + 1.0 - steps > bound) & (np.abs(steps) < 2.0**50)
        items = ordered.items.tolist()
        values = [int(self._values[i]) for i in items]
        per_value = int(self._grain / self._resolution)
        gaps = [
            int(floor) + (a - b) * per_value if certain else 0
            for floor, certain, a, b in zip(
                floors.tolist(), sure.tolist(), values[:-1], values[1:], strict=True
            )
        ]
        for j in np.flatnonzero(~sure).tolist():
            difference = self._real(ordered, j) - self._real(ordered, j + 1)
            gaps[j] = difference.floor(self._resolution)
        return Ranked(items, ordered.ranks.tolist(), gaps)

    def _real(self, candidates: _Candidates, j: int) -> Real:
        """Candidate j's noisy answer as an exact real, on the same digits."""
        item, rank = int(candidates.items[j]), int(candidates.ranks[j])
        if (item, rank) not in self._reals:
            size = 1 if self._sizes is None else int(self._sizes[item])
            noise: Variable | OrderStatistic
            if size == 1:
                noise = Variable(self._law, self._digits.stream(item), start=self._start)
            else:
                streams = [self._digits.stream(item, r) for r in range(rank)]
                noise = OrderStatistic(self._law, size, list(streams), start=self._start)
            answer = int(self._values[item]) * self._grain
            self._reals[item, rank] = Real(answer, {noise: self._scale})
        return self._reals[item, rank]


def _minus_log(u: Floats, rest: Floats) -> Floats:
    """−ln(1−u) with full relative precision, from u and the complement of its digits."""
    with np.errstate(divide="ignore"):
        return np.where(u < 0.5, -np.log1p(-np.minimum(u, 0.5)), -np.log(rest))


def _differences(values: GridValues, pivot: int) -> Floats:
    """values − pivot, each rounded once."""
    if isinstance(values, list):
        limit = 10**300  # far enough: the screen and the bound treat it as out of reach
        return np.array([float(max(min(v - pivot, limit), -limit)) for v in values])
    return (values - np.int64(pivot)).astype(np.float64)


def _largest_value(values: GridValues, top: int) -> int:
    """A value that at least `top` items reach: the top-th largest, or for a list the least.

    NumPy's selection costs more than everything else here, so it works on the few items above a
    cut that a sample suggests; where the sample misleads, on all.
    """
    n = len(values)
    if isinstance(values, list):
        return sorted(values, reverse=True)[min(top, n) - 1]
    if top >= n:
        return int(values.min())
    stride = max(n // 4096, 1)
    sample = np.sort(values[::stride])
    place = len(sample) - 1 - min(len(sample) - 1, int(2 * top / stride + 4 * math.sqrt(top / stride) + 4))
    above = values[values >= sample[place]]
    if len(above) < top:
        above = values
    return int(np.partition(above, len(above) - top)[len(above) - top])
