"""Noisy answers against one noisy threshold, exactly, for one question or for many at once.

Question i has an offset d_i (its answer minus the public threshold). Branch b adds noise of scale s_b to
it; the threshold has noise of scale s₀, drawn once. With X and Y noise of scale 1,

    v = d_i + s_b·X_{i,b} − s₀·Y − shift_b,

and question i is *above by branch b* where v ≥ margin_b and no earlier branch had it above. Where it is
above, v is released, rounded down to a multiple of γ. For geometric noise, X and Y are exponential and
each product is rounded down first: ⌊s·X⌋ is geometric (Ding et al. 2023, lemma 5.4).

Doubles decide where a bound on their error decides; the rest is decided by exact reals on the same digits.
Digits have addresses: stream (0, 1) is the threshold's, stream (i + 1, b + 1) that of question i in branch
b. So asking one by one and asking all at once are the same function of the same digits.

The bound. Let η = 2^-53, a hat mark what is computed, and X̂ err by at most β (`doubles.stream_noise`).
  noise  ŝ·X̂ errs by s·β and, for the two roundings, 2η·|ŝX̂|: charged 8η. If rounded down, ⌊s·X⌋ is known
         exactly: by the double where that is certain (`doubles.certain_floor`), else by the exact path. As a
         double it errs by nothing up to 2^53 and by η·⌊s·X⌋ beyond: charged 2η.
  bar    as the noise, of scale s₀.
  v − margin is made from noise, bar, shift, offset and margin by four sums, each of which errs by at most η
         times the sizes of all that went into it; shift and margin are rounded once before, by η each. So
         5η·(|noise| + |bar| + |shift| + |offset| + |margin|) would do, second-order terms aside: charged are
         8η, and for the offset, which may itself err by 8η·(1 + |offset|), 32η·(1 + |offset|).
Scales, shifts and margins are within the range of doubles (`require_scale`). What is beyond it, an offset or
a margin of many deviations, is infinite or not a number here, and decides nothing.

One by one, most questions are settled by one comparison. With an offset d whose double is below c, where
c + |c|·2^-48 and all of the bound above fit below margin − noise, v − margin is below 0 in every branch; c
depends on the noise alone and is computed beforehand (`below`).

Of many questions most are far from the threshold, and 16 digits of each show that (`screening.may_reach`).
Question i is above by branch b only if s_b·X ≥ s₀·Y + shift + margin − d_i, rounded down or not. The height
h = (d_i − s₀·Y − shift − margin)/s_b is computed too large by what its error can be: the bound of s₀·Y, and
2^-46 times 1 and the sizes of all that goes into it, which is 128η of them where the sums, the roundings and
the quotient take 16η. Where X ≥ −h is not possible by the first digits, the question is below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from freegap.exact.digits import KeyedDigits
from freegap.exact.doubles import (
    FILTER_BITS,
    ROUNDING,
    certain_floor,
    noise_of_words,
    stream_noise,
    sure_floor,
)
from freegap.exact.reals import START_DIGITS, Real, Variable
from freegap.exact.screening import may_reach
from freegap.laws import Law
from freegap.values.rationals import double

BELOW = -1
"""The branch of a question that is below the threshold in every branch."""

_OFFSET_ERROR = 2.0**-48
_HEIGHT_ERROR = 2.0**-46
_SCREENED_ABOVE = 256  # fewer questions are looked at one and all
_LEAST_AHEAD, _MOST_AHEAD = 64, 4096  # questions whose noise is drawn at once when they come one by one

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Branch:
    """One comparison: noise of this scale, above where v reaches the margin; costs this budget."""

    budget: Fraction
    scale: Fraction
    shift: Fraction
    margin: Fraction


class NoisyThreshold:
    """A noisy threshold that questions are compared with; see the module's docstring."""

    def __init__(
        self,
        *,
        law: Law,
        threshold_scale: Fraction,
        branches: Sequence[Branch],
        resolution: Fraction,
        digits: KeyedDigits,
        filter_bits: int = FILTER_BITS,
        start_digits: int = START_DIGITS,
    ) -> None:
        self._law = law.continuous
        self._discrete = law.lattice
        self._branches = tuple(branches)
        self._resolution = resolution
        self._digits = digits
        self._slack = 2.0**-filter_bits
        self._start = start_digits
        self._bar = self._noise(0, 1, threshold_scale)
        self._bar_double, self._bar_bound = self._bar_as_double(threshold_scale)
        self._per_grid = double(1 / resolution)
        self._margins = [double(branch.margin) for branch in branches]
        self._shifts = [double(branch.shift) for branch in branches]
        self._scales = [double(branch.scale) for branch in branches]
        self._ahead: list[tuple[Floats, Floats]] = []
        self._cuts = np.empty(0)
        self.ahead_from = 0
        self.certainly_below: list[float] = []
        """For the questions from `ahead_from` on whose noise is known: see `below`."""

    # -- one question --------------------------------------------------------------------------

    def one(self, question: int, offset: Fraction | int) -> tuple[int, int]:
        """The branch by which a question is above (or BELOW), and its gap in multiples of γ."""
        if not 0 <= question - self.ahead_from < len(self.certainly_below):
            self._draw_ahead(question, 1)
        try:
            near = float(offset)
        except OverflowError:
            near = double(Fraction(offset))
        place = question - self.ahead_from
        for number in range(len(self._branches)):
            noises, bounds = self._ahead[number]
            value = near + float(noises[place])
            bound = float(bounds[place]) + (abs(near) + 1.0) * _OFFSET_ERROR
            over = value - self._margins[number]
            above = over > bound
            if not above and not over < -bound:  # undecided, or not a number
                above = self._exact(question, number, offset) >= self._branches[number].margin
            if above:
                return number, self._gap(question, number, offset, value, bound)
        return BELOW, 0

    def below(self, question: int, count: int) -> Floats:
        """For so many questions from this one on: with an offset below this a question is certainly below."""
        place = question - self.ahead_from
        if not 0 <= place <= len(self.certainly_below) - count:
            self._draw_ahead(question, count)
            place = 0
        return self._cuts[place : place + count]

    def _draw_ahead(self, question: int, count: int) -> None:
        """The noise of the questions to come: twice as many as the last time, and at least so many."""
        count = max(count, min(2 * len(self.certainly_below), _MOST_AHEAD), _LEAST_AHEAD)
        items = range(question + 1, question + 1 + count)
        self._ahead = [self._as_doubles(items, number) for number in range(len(self._branches))]
        with np.errstate(invalid="ignore"):
            cuts = [
                _certain_cut(margin - noise - bound - _OFFSET_ERROR)
                for margin, (noise, bound) in zip(self._margins, self._ahead, strict=True)
            ]
            self._cuts = np.minimum.reduce(cuts)
        self.ahead_from, self.certainly_below = question, self._cuts.tolist()

    def _gap(self, question: int, number: int, offset: Fraction | int, value: float, bound: float) -> int:
        floor = sure_floor(value * self._per_grid, bound * self._per_grid)
        return self._exact(question, number, offset).floor(self._resolution) if floor is None else floor

    # -- many questions ------------------------------------------------------------------------

    def many(
        self, first: int, offsets: Floats, exact: Callable[[int], Fraction]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], Callable[[int], int]]:
        """Questions first, first + 1, …: the places of those above, their branches, and their gaps.

        offsets: the d_i as doubles, each within 2^-50·(1 + |d_i|); exact(j) is the j-th exactly.
        The gap of the j-th question above is computed when it is asked for.
        """
        found: list[tuple[NDArray[np.intp], int, Floats, Floats]] = []
        open_ = np.ones(len(offsets), dtype=bool)
        for number, branch in enumerate(self._branches):
            words = self._digits.block(0, number + 1, range(first + 1, first + 1 + len(offsets)))
            places = self._near(offsets, number, words)
            places = places[open_[places]]
            noise, bound = self._from_words(words[places], first + 1 + places, number)
            with np.errstate(invalid="ignore", over="ignore"):
                values = offsets[places] + noise
                bound = bound + (np.abs(offsets[places]) + 1.0) * _OFFSET_ERROR
                over = values - self._margins[number]
                above = over > bound
                unsure = np.flatnonzero(~above & ~(over < -bound))
            for j in unsure.tolist():
                place = int(places[j])
                above[j] = self._exact(first + place, number, exact(place)) >= branch.margin
            found.append((places[above], number, values[above], bound[above]))
            open_[places[above]] = False
        where = np.concatenate([part for part, _, _, _ in found])
        order = np.argsort(where, kind="stable")
        branches = np.concatenate([np.full(len(part), number) for part, number, _, _ in found])[order]
        values = np.concatenate([part for _, _, part, _ in found])[order]
        bounds = np.concatenate([part for _, _, _, part in found])[order]
        where = where[order]

        def gap(j: int) -> int:
            place, number = int(where[j]), int(branches[j])
            return self._gap(first + place, number, exact(place), float(values[j]), float(bounds[j]))

        return where, branches, gap

    def _near(self, offsets: Floats, number: int, words: NDArray[np.uint64]) -> NDArray[np.intp]:
        """The places of the questions that may be above by this branch, from the first of their words."""
        bar = self._bar_double + self._shifts[number] + self._margins[number]
        if len(offsets) <= _SCREENED_ABOVE:
            return np.arange(len(offsets))
        sizes = 1.0 + abs(self._bar_double) + abs(self._shifts[number]) + abs(self._margins[number])
        sizes += max(float(np.maximum.reduce(offsets)), -float(np.minimum.reduce(offsets)))
        doubt = self._bar_bound + sizes * _HEIGHT_ERROR
        if not math.isfinite(doubt):
            return np.arange(len(offsets))
        with np.errstate(over="ignore"):
            heights = (offsets - (bar - doubt)) / self._scales[number]
        return may_reach(self._law, heights, words.view("<u2")[:, 3])

    # -- noise -----------------------------------------------------------------------------------

    def _as_doubles(self, items: NDArray[np.intp] | range, number: int) -> tuple[Floats, Floats]:
        """s_b·X − s₀·Y − shift_b for each item, and the bound on all errors but those of the offset."""
        return self._from_words(self._digits.block(0, number + 1, items), items, number)

    def _from_words(
        self, words: NDArray[np.uint64], items: NDArray[np.intp] | range, number: int
    ) -> tuple[Floats, Floats]:
        scale, shift = self._scales[number], self._shifts[number]
        noise, bound = noise_of_words(self._law, words, self._slack)
        with np.errstate(invalid="ignore", over="ignore"):
            noise, bound = noise * scale, bound * scale
            bound += np.abs(noise) * ROUNDING
            if self._discrete:
                noise, bound = self._rounded_down(noise, bound, items, number)
            sizes = np.abs(noise) + (abs(self._bar_double) + abs(shift) + abs(self._margins[number]))
            noise -= self._bar_double + shift
            bound += self._bar_bound + sizes * ROUNDING
        return noise, bound

    def _rounded_down(
        self, noise: Floats, bound: Floats, items: NDArray[np.intp] | range, number: int
    ) -> tuple[Floats, Floats]:
        floors, sure = certain_floor(noise, bound)
        for j in np.flatnonzero(~sure).tolist():
            exact = self._noise(int(items[j]), number + 1, self._branches[number].scale).constant
            floors[j] = double(exact)
        # Whole numbers up to 2^53 are exact; larger ones were rounded once.
        return floors, np.where(floors < 2.0**53, 0.0, floors * 2.0**-52)

    def _bar_as_double(self, scale: Fraction) -> tuple[float, float]:
        if self._discrete:
            return double(self._bar.constant), abs(double(self._bar.constant)) * 2.0**-52
        noise, bound = stream_noise(self._law, self._digits, 1, np.zeros(1, np.intp), self._slack)
        value = float(noise[0]) * double(scale)
        return value, float(bound[0]) * double(scale) + abs(value) * ROUNDING

    def _noise(self, item: int, rank: int, scale: Fraction) -> Real:
        variable = Variable(self._law, self._digits.stream(item, rank), start=self._start)
        noise = Real(0, {variable: scale})
        return Real(noise.floor()) if self._discrete else noise

    def _exact(self, question: int, number: int, offset: Fraction | int) -> Real:
        """v as an exact real."""
        branch = self._branches[number]
        noise = self._noise(question + 1, number + 1, branch.scale)
        return noise - self._bar + (offset - branch.shift)


def _certain_cut(sums: Floats) -> Floats:
    """c such that every d < c has d + |d|·δ < sum, δ = 2^-48, also where d was rounded to a double.

    With c = sum − 4δ·(|sum| + 1) and e = 2^-52 for the roundings, d·(1 + δ + e) < sum for 0 ≤ d < c, and
    d·(1 − δ − e) < sum for d < 0.
    """
    cuts: Floats = sums - (np.abs(sums) + 1.0) * (4 * _OFFSET_ERROR)
    return cuts
