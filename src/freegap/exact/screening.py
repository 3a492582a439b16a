"""Which items can be among the largest? Decided for nearly all of them by 16 digits each.

An item with offset z (its answer relative to a pivot, in units of the noise scale) has a noisy answer
above a bar s only if U < S(s − z). Its first 16 digits nearly always show that this is not so, and
then its noise is never computed. The bar is chosen such that slightly more items than needed are
expected above it. **The bar decides the cost and nothing else**: whoever uses the screen checks that
enough items are certainly above the bar, and lowers it if not.

The screen must never pass over an item that is above the bar. Lemma: where the largest of the m members of
a group with offset z is above the bar s, its first 16 digits f satisfy f ≤ reach, as `passed` computes it.

Proof. It is above where U < 1 − (1−S)^m with S = S(s − z), and 1 − (1−S)^m ≤ m·S. So f ≤ 65536·U < 65536·m·S.
If that is below 1, f is 0, and 0 ≤ reach holds whatever was computed. Else S ≥ 2^-16/m ≥ 2^-78. Then:
  z is clipped to [−80, 80]. Clipping upwards only enlarges S. Clipping downwards leaves z − s ≥ 20, where
     each law has S ≥ 1 − e^-20: 2^-28 relatively.
  r = e^(z − s). z is rounded to single precision, 80·2^-24 absolutely. Where all is done in single precision,
     the difference v − pivot is exact (both are below 2^23 in size), and the rate and the product are rounded
     once each: 160·2^-24. So e^z changes by less than 2^-16.6 relatively; exp errs by less than 8 units in
     the last place, 2^-20; e^−s and the product by 2^-24 each. In all below 2^-16, as `laws` demands. Each
     law has S ≤ r, so r ≥ 2^-78 and nothing underflows; r may overflow to infinity.
  Ŝ is such that S ≤ (1 + 2^-15)·Ŝ (`laws`). The size is rounded to single precision, and two products more:
     3·2^-24; sizes are at most 2^62, so nothing overflows.
Together the computed m·S is too small by less than a factor 1 + 2^-14, and reach has a factor 1 + 2^-12.  ∎
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.laws import ExactLaw
from freegap.values.answers import EXACT_SINGLES, GridValues, Singles, exact_singles
from freegap.values.extremes import largest

Indices = NDArray[np.intp]

# Offsets are clipped such that e^offset fits single precision; the lemma says why that is harmless.
_FLOOR, _CEILING = -80.0, 80.0
_LOWEST_BAR, _LOW_BAR, _HIGHEST_BAR = -20.0, -3.0, 60.0
_CHUNK = 1 << 14  # temporaries of this many numbers stay in the cache
_MARGIN = 2.0**-12
_SINGLE_RATE = 1e30
_SAMPLE = 2048  # at least so many items stand for all of them when a pivot or a bar is chosen


class Screen:
    """Finds the items that may be above a bar; the bar is in units of the scale, above the pivot."""

    def __init__(
        self,
        values: GridValues,
        pivot: int,
        rate: float,
        law: ExactLaw,
        sizes: NDArray[np.int64] | None,
        groups: Indices | None = None,
        top: Top | None = None,
        singles: Singles | None = None,
    ) -> None:
        """groups: the places of the sizes above 1, where somebody knows them already; `singles` likewise.

        top: what was learnt of the largest values, groups aside, when the pivot was chosen.
        """
        self._law = law
        # Mostly groups of one, where the domain is large: only the others need their sizes.
        if groups is None:
            groups = np.empty(0, np.intp) if sizes is None else np.flatnonzero(sizes > 1)
        self._groups = groups
        self._sizes = None if sizes is None else sizes[groups].astype(np.float32)
        self._weights = _exponentials(values, pivot, rate, singles)
        self._reach, self._reached = self._weights, (math.nan, math.nan)
        self._top: tuple[Singles, NDArray[np.bool_]] | None = None
        if top is not None and top.stride > 1 and not isinstance(values, list):
            self._top = self._weights[top.above], values[:: top.stride] > top.cut

    def bar(self, top: int) -> float:
        """A bar above which slightly more than `top` items are expected.

        Raising a bar by δ lowers the expected number by at most a factor e^−δ, because no law here
        has a hazard above 1. So steps of ln(expected/wanted) never overshoot; the doubt, which falls about as
        fast, is taken off first.
        """
        wanted = top + 4 * math.sqrt(top) + 4
        if not self._law.one_sided:  # a survival function may be a sixth above the true one
            wanted *= 7 / 6
        if top == 1 and self._law.max_stable:  # none is above it with probability e^−wanted
            return min(max(math.log(self._total() / wanted), _LOWEST_BAR), _HIGHEST_BAR)
        strata = self._strata(top)
        bar = 0.0
        for _ in range(8):
            expected, doubt = strata.expected(bar, self._law)
            step = math.log(max(expected, 1e-30) / (wanted + doubt))
            if step > 0:
                step = math.log((expected - doubt) / wanted)
            if step < 0 and self._law.one_sided:
                break  # one-sided noise: the `top` answers above the pivot stay there
            if step <= -0.5:  # far too few: answers far apart, so that a much lower bar costs little
                return _LOW_BAR
            bar = min(max(bar + step, _LOWEST_BAR), _HIGHEST_BAR)
            if step < 0.3:  # a few items too many cost less than another step
                break
        return bar

    def _total(self) -> float:
        """The sum of e^offset over all members."""
        total = float(np.add.reduce(self._weights))
        if self._sizes is not None:
            total += float(np.dot(self._weights[self._groups], self._sizes - 1))
        return total

    def passed(self, bar: float, first: NDArray[np.uint16], slack: float) -> Indices:
        """Every item that may be above the bar, given its first 16 digits, in order of position."""
        if (bar, slack) != self._reached:
            self._reach, self._reached = self._reach_at(bar, slack), (bar, slack)
        return (first <= self._reach).nonzero()[0]

    def _reach_at(self, bar: float, slack: float) -> Singles:
        """Up to which first 16 digits each item may be above the bar."""
        digits = 65536 * (1 + _MARGIN + slack)
        with np.errstate(over="ignore"):  # an infinite e^(offset − bar) has S = 1, as it should
            if self._law.exponential_tail:  # what is above 65536 is not looked at more closely
                reach = self._weights * np.float32(digits * math.exp(-bar))
            else:
                reach = self._weights * np.float32(math.exp(-bar))
                self._law.survival(reach)
                reach *= np.float32(digits)
            if self._sizes is not None:
                reach[self._groups] *= self._sizes
        return reach

    def _strata(self, top: int) -> _Strata:
        """The largest items and the groups as they are; of the others every so-manieth."""
        weights, groups = self._weights, self._groups
        few = len(groups) <= len(weights) // 16  # of many groups, a sample would miss the large ones
        stride = _stride(len(weights)) if few else 1
        sampled = weights[::stride].copy()
        if self._sizes is not None:
            sampled[groups[groups % stride == 0] // stride] = 0
        above = weights[:0]
        if stride > 1 and self._top is not None:
            above, in_both = self._top
            sampled[in_both] = 0
        elif stride > 1:
            cut = _cut(sampled, top, stride)
            larger = weights > cut
            larger[groups] = False  # they are looked at by themselves
            above = weights[larger]
            sampled[sampled > cut] = 0
        return _Strata(above, sampled, stride, weights[groups], self._sizes)


@dataclass(frozen=True)
class _Strata:
    """Items in three parts, by e^offset: `above`, every stride-th of the others, and groups with sizes."""

    above: Singles
    sampled: Singles
    stride: int
    groups: Singles
    sizes: Singles | None

    def expected(self, bar: float, law: ExactLaw) -> tuple[float, float]:
        """About how many members are above the bar, and three standard deviations of that guess."""
        lowered = np.float32(math.exp(-bar))
        with np.errstate(over="ignore"):
            above, sampled = self.above * lowered, self.sampled * lowered
        law.survival(above)
        law.survival(sampled)
        number = float(np.add.reduce(above)) + self.stride * float(np.add.reduce(sampled))
        if self.sizes is not None:
            groups = self.groups * lowered
            law.survival(groups)
            number += float(np.dot(groups, self.sizes))
        doubt = 0.0 if self.stride == 1 else 3 * self.stride * math.sqrt(float(np.dot(sampled, sampled)))
        return number, doubt


def may_reach(law: ExactLaw, heights: NDArray[np.float64], first: NDArray[np.uint16]) -> Indices:
    """Where noise of scale 1 may be at least −height, given the first 16 digits of each.

    By the lemma, with one member, the bar 0 and heights for offsets.
    """
    reach = np.clip(heights, _FLOOR, _CEILING).astype(np.float32)
    np.exp(reach, out=reach)
    law.survival(reach)
    reach *= np.float32(65536 * (1 + _MARGIN))
    return np.flatnonzero(first <= reach)


def _exponentials(values: GridValues, pivot: int, rate: float, singles: Singles | None = None) -> Singles:
    """e^((v − pivot)·rate), clipped."""
    # Beyond the range of single precision, 0 times the rate would be no number.
    if not isinstance(values, list) and abs(pivot) <= EXACT_SINGLES and rate <= _SINGLE_RATE:
        own = exact_singles(values) if singles is None else None
        exact = singles if own is None else own
        if exact is not None:
            z: Singles = np.subtract(exact, np.float32(pivot), out=own)  # into what nobody else has
            with np.errstate(over="ignore"):
                z *= np.float32(rate)
            np.clip(z, np.float32(_FLOOR), np.float32(_CEILING), out=z)
            return np.exp(z, out=z)
    z = np.empty(len(values), dtype=np.float32)
    for begin in range(0, len(values), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        offsets = differences(values[part], pivot)
        with np.errstate(over="ignore"):
            offsets *= rate
        z[part] = np.clip(offsets, _FLOOR, _CEILING, out=offsets)
    return np.exp(z, out=z)


def differences(values: GridValues, pivot: int) -> NDArray[np.float64]:
    """v − pivot as doubles, each an exact integer rounded once."""
    if isinstance(values, list):
        limit = 10**300  # an answer this far off is out of reach on either side
        return np.array([float(max(min(v - pivot, limit), -limit)) for v in values])
    return (values - np.int64(pivot)).astype(np.float64)


def largest_of(values: GridValues) -> int:
    """The largest value."""
    return int(max(values) if isinstance(values, list) else largest(values))


@dataclass(frozen=True, slots=True)
class Top:
    """The n-th largest value, and what was learnt on the way, where a cut was found in every stride-th value.

    above: the places of the values above the cut.
    """

    pivot: int
    stride: int
    cut: int
    above: Indices


def top_of(
    values: NDArray[np.int64], n: int, groups: Indices | None = None, singles: Singles | None = None
) -> Top:
    """The n-th largest value of more than n; groups: places that are left out of `Top.above`.

    singles: the same values as `exact_singles`, where somebody has them: half the memory to go through.

    NumPy's selection would cost more than all the rest, so it works on the items above a cut that a
    sample suggests; where the sample misleads, on all items. Equal answers, such as the many zeros of a
    sparse table, are not selected among.
    """
    stride = _stride(len(values))
    cut = int(_cut(values[::stride], n, stride))
    if stride == 1:
        return Top(cut, 1, cut, np.empty(0, np.intp))
    larger = values > cut if singles is None else singles > np.float32(cut)
    grouped = values[:0] if groups is None else values[groups[larger[groups]]]
    if groups is not None:
        larger[groups] = False
    places = larger.nonzero()[0]  # which takes less than to look up values by all these truths
    above = values[places]
    every = np.concatenate((above, grouped)) if len(grouped) else above
    if len(every) >= n:
        pivot = int(_cut(every, n, 1))
    else:
        pivot = cut if np.count_nonzero(values >= cut) >= n else int(_cut(values, n, 1))
    return Top(pivot, stride, cut, places)


def nth_largest(values: GridValues, n: int) -> int:
    """The n-th largest value; the smallest where there are fewer."""
    size = len(values)
    if isinstance(values, list):
        return sorted(values, reverse=True)[min(n, size) - 1]
    return int(values.min()) if n >= size else top_of(values, n).pivot


def _stride(n: int) -> int:
    """Every so-manieth of n items is in a sample: some thousands of them, more of very many."""
    return n // max(_SAMPLE, 4 * math.isqrt(n)) or 1


def _cut(sampled: NDArray[Any], top: int, stride: int) -> Any:
    """What a little more than `top` of all items are above, as far as every stride-th of them tells."""
    expected = top / stride
    rank = top if stride == 1 else 1 + int(expected + 4 * math.sqrt(expected) + 4)
    if rank == 1:
        return largest(sampled)
    place = max(len(sampled) - rank, 0)
    return np.partition(sampled, place)[place]
