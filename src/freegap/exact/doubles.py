"""Noise as doubles, with a proven bound on their error.

A double may decide nothing by itself: `Candidates` carries with each noisy answer a bound on its
distance from the truth, and whoever compares looks at both. Everything is measured in units of the
noise scale b, answers relative to a pivot.

Lemma. For a candidate of group size m and rank r ≤ m let x be the true noise, z the true offset
(v − pivot)·grain/b, and x̂, ẑ their doubles. Then |x̂ − x| and |ẑ + x̂ − z − x| are at most
2^-44·(1 + r/64)·(1 + |z| + |x|).

Proof. Let η = 2^-53, and let log, log1p and expm1 err by at most 8η relatively (NumPy promises less).
  û. The 128 or 144 leading digits as a double err by 5η relatively (conversions and sums of positive
     terms); the digits left out add at most 2^-128, that is η relatively where û ≥ 2^-75. Smaller û are
     given an infinite bound. The same holds for the complement 1 − û, from the inverted digits. Where û is
     needed alone and none is below 2^-11 (of 64 digits) or 2^-27 (of 80), those digits are enough: the ones
     left out add at most η relatively.
  λ = −ln(1 − u), by log1p for û < ½ and from the complement otherwise, errs relatively by at most
     2·6η + 8η (the condition number of log1p(−u) below ½ is at most 1.45; for the logarithm of a
     complement below ½ it is at most 1/ln 2).
  L_r = Σ λ_i/(m − i + 1) is a sum of positive terms and errs relatively by at most (22 + 2r)η.
  u_r = 1 − e^−L has a condition number of at most 1 in L and errs relatively by at most (31 + 2r)η.
  x = Q(u_r) changes by at most the relative change of u_r (or of 1 − u_r, that is L·(22 + 2r)η, where
     the law looks at that end), and its own logarithm errs by 8η·(|x| + 1).
  z: an exact integer rounded once, times a rational rounded once: 3η·|z|. The sum rounds once more.
So the error is below (64 + 3r)η·(1 + |z| + |x|), and the bound is more than eight times that.   ∎

A test compares the bound with ball arithmetic on many words, edge words included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.exact.digits import KeyedDigits
from freegap.laws import ExactLaw
from freegap.values.extremes import certainly_finite, smallest

FILTER_BITS = 44
"""The exponent of the bound. A lower value sends more decisions to the exact path and changes none."""

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

ROUNDING = 2.0**-50
"""What a few roundings in a row lose at most, relatively: eight of them."""

_SMALLEST = 2.0**-75
_FEW_GROUPS, _FIRST_BATCH = 4, 1 << 12
_ENOUGH = 2.0**-11  # of 64 digits: those left out then change u by at most 2^-53 relatively


@dataclass(slots=True)
class Candidates:
    """Noisy answers as doubles: position, rank in the group, noise, offset + noise, and the bound.

    ranks: None where each item stands for itself. Bounds are those of the lemma; what is not finite decides
    nothing, and whoever computes with it expects no warning, which would tell how large an answer is.
    """

    items: Indices
    ranks: Any
    noise: Floats
    noisy: Floats
    error: Floats

    def __len__(self) -> int:
        return len(self.items)

    @property
    def low(self) -> Floats:
        """Certain lower bounds of the noisy answers."""
        return self.noisy - self.error

    @property
    def high(self) -> Floats:
        """Certain upper bounds of the noisy answers."""
        return self.noisy + self.error

    def rank(self, j: int) -> int:
        """The place of the j-th within its group."""
        return 1 if self.ranks is None else int(self.ranks[j])

    def take(self, chosen: Any) -> Candidates:
        """Some of the candidates, in a given order."""
        return Candidates(
            self.items[chosen],
            None if self.ranks is None else self.ranks[chosen],
            self.noise[chosen],
            self.noisy[chosen],
            self.error[chosen],
        )

    def joined(self, other: Candidates) -> Candidates:
        """These candidates and the others, all of them members of groups."""
        parts = ((getattr(self, name), getattr(other, name)) for name in self.__slots__)
        return Candidates(*map(np.concatenate, parts))


class DoubleNoise:
    """Turns the digits of chosen items into `Candidates`; with `sizes`, items are groups."""

    def __init__(
        self,
        law: ExactLaw,
        digits: KeyedDigits,
        first: NDArray[np.uint16],
        sizes: NDArray[np.int64] | None,
        filter_bits: int,
    ) -> None:
        self._law = law
        self._digits = digits
        self._first = first
        self._sizes = sizes
        self.slack = 2.0**-filter_bits

    def of_items(self, items: Indices | range, offsets: Floats) -> Candidates:
        """Each item's noise, for a group the largest of its members'. All items may be given as a range."""
        where = np.arange(len(items)) if isinstance(items, range) else items
        words = self._digits.block(0, 0, items)
        first = self._first if isinstance(items, range) else self._first[items]
        if self._sizes is None and not self._law.uses_complement:
            u = np.asarray((words[:, 0] * 2.0**-64 + first) * 2.0**-16, dtype=np.float64)
            if len(u) and smallest(u) >= _ENOUGH * 2.0**-16:
                return self._candidates(where, None, u, u, offsets, None)
            u, _ = _with_prefix(first, words)
            return self._candidates(where, None, u, u, offsets, u >= _SMALLEST)
        u, rest = _with_prefix(first, words)
        usable = (u >= _SMALLEST) & (rest >= _SMALLEST)
        total = _minus_log(u, rest)
        if self._sizes is None:
            return self._candidates(where, None, u, total, offsets, usable)
        total /= self._sizes[where]
        return self._candidates(
            where, np.ones(len(where), np.intp), -np.expm1(-total), total, offsets, usable
        )

    def of_members(self, largest: Candidates, offsets: Floats, bar: float, most: int) -> Candidates:
        """The groups' largest members and all further ones that may be above the bar.

        Members are produced from the largest down until one is certainly below the bar, and then
        the rest are below it too. At most `most` of a group can matter. They come in batches that
        double, for all groups that are still above the bar at once.
        """
        if most == 1:
            return largest
        sizes = self._group_sizes()
        found = largest
        limits = np.minimum(sizes[largest.items], most)
        active = np.flatnonzero((largest.high >= bar) & (limits > 1))
        words = self._digits.block(0, 0, largest.items)
        totals = _minus_log(*_with_prefix(self._first[largest.items], words)) / sizes[largest.items]
        # A bound that is infinite for one member is infinite for those after it.
        chain_usable = np.isfinite(largest.error)
        known, batch = 1, self._expected(sizes[largest.items[active]], offsets[active], bar, most)
        while len(active):
            groups = largest.items[active]
            ranks = known + 1 + np.arange(batch)
            sums, usable = self._chain(groups, ranks, totals[active], chain_usable[active])
            members = self._candidates(
                np.repeat(groups, batch),
                np.tile(ranks, len(groups)),
                -np.expm1(-sums.ravel()),
                sums.ravel(),
                np.repeat(offsets[active], batch),
                usable.ravel(),
            )
            exist = (ranks <= limits[active][:, None]).ravel()
            found = found.joined(members.take(np.flatnonzero(exist & (members.high >= bar))))
            totals[active], chain_usable[active] = sums[:, -1], usable[:, -1]
            last = members.high.reshape(len(groups), batch)[:, -1]
            known += batch
            active = active[(last >= bar) & (limits[active] > known)]
            batch *= 2
        return found

    def _expected(self, sizes: NDArray[np.int64], offsets: Floats, bar: float, most: int) -> int:
        """About how many members of the groups to begin with: as many as one has above the bar, if few have.

        It decides how often a batch is drawn, and nothing else.
        """
        if not 0 < len(sizes) <= _FEW_GROUPS or not math.isfinite(bar):
            return 1
        chances = np.exp(np.clip(offsets - bar, -80.0, 80.0)).astype(np.float32)
        self._law.survival(chances)
        expected = float(np.maximum.reduce(sizes * chances))
        return max(1, min(int(expected + 4 * math.sqrt(expected)), most, _FIRST_BATCH))

    def _chain(
        self, groups: Indices, ranks: Indices, before: Floats, usable_before: NDArray[np.bool_]
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """L_r of `reals.OrderStatistic` for consecutive ranks of each group, one row per group."""
        shape = (len(groups), len(ranks))
        words = self._digits.block(
            0, np.tile(ranks - 1, len(groups)).astype(np.uint64), np.repeat(groups, len(ranks))
        )
        u, rest = _fraction(words).reshape(shape), _fraction(~words).reshape(shape)
        # Ranks beyond the group's size are computed and then left out: one member each, at least.
        left = np.maximum(self._group_sizes()[groups][:, None] - (ranks - 1), 1)
        sums = before[:, None] + np.cumsum(_minus_log(u, rest) / left, axis=1)
        usable = (u >= _SMALLEST) & (rest >= _SMALLEST)
        usable[:, 0] &= usable_before
        return sums, np.logical_and.accumulate(usable, axis=1)

    def _candidates(
        self,
        items: Indices,
        ranks: Indices | None,
        u: Floats,
        total: Floats,
        offsets: Floats,
        usable: NDArray[np.bool_] | None,
    ) -> Candidates:
        """usable: where the lemma holds; None for everywhere."""
        noise = self._law.estimate(u, total)
        noisy = offsets + noise
        error = np.abs(offsets)
        error += np.abs(noise)
        error += 1.0
        error *= self.slack if ranks is None else self.slack * (1.0 + ranks * 2.0**-6)
        fine = usable is None or bool(usable.all())
        if not (fine and certainly_finite(error)):
            unusable = ~np.isfinite(noisy) if usable is None else ~(usable & np.isfinite(noisy))
            error[unusable] = math.inf
            noisy[unusable] = 0.0  # any place will do: nothing is decided by it
            noise[unusable] = 0.0
        return Candidates(items, ranks, noise, noisy, error)

    def _group_sizes(self) -> NDArray[np.int64]:
        if self._sizes is None:
            raise AssertionError("only groups have members")
        return self._sizes


def stream_noise(
    law: ExactLaw, digits: KeyedDigits, rank: int, items: Indices | range, slack: float
) -> tuple[Floats, Floats]:
    """The noise of the streams (item, rank), rank > 0, and a bound on the error of each."""
    return noise_of_words(law, digits.block(0, rank, items), slack)


def noise_of_words(law: ExactLaw, words: NDArray[np.uint64], slack: float) -> tuple[Floats, Floats]:
    """The noise of streams that begin with these 128 digits, and a bound on the error of each."""
    usable = None
    if law.uses_complement:
        u, rest = _fraction(words), _fraction(~words)
        usable = (u >= _SMALLEST) & (rest >= _SMALLEST)
        noise = law.estimate(u, _minus_log(u, rest))
    else:
        u = np.asarray(words[:, 0] * 2.0**-64, dtype=np.float64)
        if not len(u) or smallest(u) < _ENOUGH:
            u = _fraction(words)
            usable = u >= _SMALLEST
        noise = law.estimate(u, u)
    bound = (np.abs(noise) + 1.0) * slack
    if usable is not None and not usable.all():
        bound[~usable] = math.inf
        noise[~usable] = 0.0
    return noise, bound


def certain_floor(values: Floats | float, bound: Floats | float) -> tuple[Floats, NDArray[np.bool_]]:
    """⌊x⌋ where that is certain, else 0, and where it is; of each x a double v and a bound are known.

    x is within bound + 2^-50·|v| of v: a bound need not count the roundings of the operations that made v out
    of what it bounds. Certain is ⌊v⌋ where no whole number is as near as that to v. From 2^49 on one always
    is, and what is not finite decides nothing.
    """
    near = np.asarray(values)
    with np.errstate(over="ignore", invalid="ignore"):  # a warning would tell how large an answer is
        margin = bound + np.abs(near) * ROUNDING
        floors = np.floor(near)
        sure = (near - floors > margin) & (floors + 1.0 - near > margin)
    return np.where(sure, floors, 0.0), sure


def sure_floor(value: float, bound: float) -> int | None:
    """As `certain_floor`, of one number: ⌊x⌋, or None where that is not certain."""
    margin = bound + abs(value) * ROUNDING
    if not margin < 1.0:  # infinite or no number at all included
        return None
    floor = math.floor(value)
    return floor if value - floor > margin and floor + 1.0 - value > margin else None


def _with_prefix(first: NDArray[np.uint16], words: NDArray[np.uint64]) -> tuple[Floats, Floats]:
    """U and 1 − U from the leading 144 digits."""
    prefix = first.astype(np.float64)
    return (prefix + _fraction(words)) * 2.0**-16, (65535.0 - prefix + _fraction(~words)) * 2.0**-16


def _fraction(words: NDArray[np.uint64]) -> Floats:
    """0.d₁d₂… of 128 digits each."""
    return np.asarray(words[:, 0] * 2.0**-64 + words[:, 1] * 2.0**-128, dtype=np.float64)


def _minus_log(u: Floats, rest: Floats) -> Floats:
    """−ln(1−u) with full relative precision, from u and the complement of its digits."""
    with np.errstate(divide="ignore"):
        return np.where(u < 0.5, -np.log1p(-np.minimum(u, 0.5)), -np.log(rest))
