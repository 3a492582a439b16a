"""The fast core: the largest noisy answers, in order, with the gaps between them, exactly.

Item i has answer v_i (an integer in units of a public grain) and noise b·X_i, X_i = Q(U_i) as in
`laws`, with U_i known through its digits. Wanted: the `top` largest of v_i·grain + b·X_i in order, and
each difference of neighbours rounded down to a multiple of γ. All of that is a function of the digits,
and this module computes that function:

1. `screening` passes over the items that are certainly below a bar. If at least `top` of the others
   are certainly above it, the `top` largest of all items are among the others, whatever the bar was;
   if not, the bar is lowered and the same digits are looked at again. Of few items none is passed over.
2. `doubles` gives each of the others a double with an error bound. Where each of the `top` largest doubles
   is certainly above the next, and the last of them above all others, the order is decided; else each run
   of overlapping intervals is sorted by exact comparison (`reals`) on the same digits.
3. The difference of two answers is an integer; only the difference of two noises is rounded down, by
   its double where that is further from a whole number than the bound, and exactly otherwise.

Groups. A group of m items with one answer is one item whose noise is the largest of m; P(above the bar)
is then 1 − (1−S)^m ≤ m·S. When its r-th largest member may be above the bar, its (r+1)-th is looked at.
So the cost follows the number of distinct answers, not the number of items.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from operator import gt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from freegap.exact.digits import KeyedDigits
from freegap.exact.doubles import FILTER_BITS, Candidates, DoubleNoise, certain_floor, sure_floor
from freegap.exact.few_items import Factors, is_usual, largest_of_few
from freegap.exact.reals import START_DIGITS, OrderStatistic, Real, Variable
from freegap.exact.screening import Screen, differences, largest_of, nth_largest, top_of
from freegap.laws import ExactLaw
from freegap.values.answers import GridValues, Singles
from freegap.values.extremes import largest
from freegap.values.rationals import double

_SCREENED_ABOVE = 1024  # below this many items, looking at all of them is cheaper than screening
_SCREENED_USUALLY_ABOVE = 8192  # the same in the usual case, where looking at an item costs less
_USUAL_RATE = 1e200  # up to here nothing overflows
_ONE_BY_ONE = 8  # up to so many gaps are rounded, and noisy answers compared, one by one

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Ranked:
    """The largest noisy answers in order.

    items[j] is the position of the j-th largest, ranks[j] its place within its group (1 unless the
    item is a group), and gaps[j] its difference to the next one in multiples of γ, rounded down.

    places, steps: the same as `items` and `gaps`, as they were found: mostly arrays.
    """

    __slots__ = ("_ranks", "places", "steps")

    def __init__(
        self,
        places: Indices | list[int],
        ranks: Indices | list[int] | None,
        steps: NDArray[np.int64] | list[int],
    ) -> None:
        self.places = places
        self.steps = steps
        self._ranks = ranks

    @property
    def items(self) -> list[int]:
        """The positions."""
        return _listed(self.places)

    @property
    def ranks(self) -> list[int]:
        """The places within groups."""
        return [1] * len(self.places) if self._ranks is None else _listed(self._ranks)

    @property
    def gaps(self) -> list[int]:
        """The differences to the next."""
        return _listed(self.steps)

    def __eq__(self, other: object) -> bool:
        """Of another ranking: whether it says the same."""
        if not isinstance(other, Ranked):
            return NotImplemented
        return (self.items, self.ranks, self.gaps) == (other.items, other.ranks, other.gaps)

    __hash__ = None  # type: ignore[assignment]  # what it holds can change


def _listed(numbers: NDArray[Any] | list[int]) -> list[int]:
    return numbers if isinstance(numbers, list) else numbers.tolist()


class Screened(NamedTuple):
    """A screen of some answers, what their offsets are relative to, and the bar that is tried first."""

    screen: Screen
    pivot: int
    bar: float


class NoisyRanking:
    """Answers with noise, of which the largest can be asked for. See the module's docstring."""

    def __init__(
        self,
        values: GridValues,
        *,
        grain: Fraction,
        scale: Fraction,
        resolution: Fraction,
        law: ExactLaw,
        digits: KeyedDigits,
        sizes: NDArray[np.int64] | None = None,
        groups: Indices | None = None,
        singles: Singles | None = None,
        filter_bits: int = FILTER_BITS,
        start_digits: int = START_DIGITS,
        screened_above: int = _SCREENED_USUALLY_ABOVE,
        screened: dict[int, Screened] | None = None,
    ) -> None:
        """screened: how the same answers are screened, by `top`, as far as other rankings have found out."""
        self._values = values
        self._grain = grain
        self._scale = scale
        self._resolution = resolution
        self._factors = _factors_of(grain, scale, resolution)
        self._rate, self._per_noise, self._per_value = self._factors
        self._law = law
        self._digits = digits
        self._sizes = sizes
        self._groups = groups
        self._singles = singles
        self._first = digits.first()
        self._filter_bits = filter_bits
        self._slack = 2.0**-filter_bits
        self._start = start_digits
        self._screened_above = screened_above
        self._known = {} if screened is None else screened
        self._reals: dict[tuple[int, int], Real] = {}

    @cached_property
    def _doubles(self) -> DoubleNoise:
        return DoubleNoise(self._law, self._digits, self._first, self._sizes, self._filter_bits)

    def largest(self, top: int) -> Ranked:
        """The `top` largest noisy answers and the top − 1 gaps between them."""
        found = self._usual(top)
        if found is not None:
            return found
        n = len(self._values)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite decides nothing
            if n < _SCREENED_ABOVE or 2 * top >= n or math.isinf(self._rate):
                candidates = self._drawn(range(n), largest_of(self._values), -math.inf, top)
            else:
                candidates = self._screened(top)
            ordered = self._ordered(candidates, top)
            return Ranked(ordered.items, ordered.ranks, self._gaps(ordered))

    def _usual(self, top: int) -> Ranked | None:
        """The same by few operations, where `few_items` can; else None."""
        values = self._values
        if self._sizes is not None or isinstance(values, list) or not is_usual(self._law):
            return None
        if self._rate > _USUAL_RATE:
            return None
        n = len(values)
        if n < self._screened_above + 4 * top:
            words = self._digits.block(0, 0, range(n))
            found = largest_of_few(values, self._first, words, self._factors, self._slack, top, -math.inf)
            if found is None:
                return None
            places = found.places
        else:
            highest = top_of(values, top)
            screen = Screen(values, highest.pivot, self._rate, self._law, None, top=highest)
            bar = screen.bar(top)
            items = screen.passed(bar, self._first, self._slack)
            near, first = values[items] - highest.pivot, self._first[items]
            words = self._digits.block(0, 0, items)
            found = largest_of_few(near, first, words, self._factors, self._slack, top, bar)
            if found is None:
                return None
            places = items[found.places]
        if found.unsure:
            self._round_exactly(found.gaps, found.unsure, lambda j: self.noisy_answer(int(places[j])))
        return Ranked(places, None, found.gaps)

    def _screened(self, top: int) -> Candidates:
        """Candidates that contain the `top` largest."""
        if top not in self._known:
            self._known[top] = self._screening(top)
        screen, pivot, bar = self._known[top]
        while True:
            chosen = screen.passed(bar, self._first, self._slack)
            candidates = self._drawn(chosen, pivot, bar, top)
            if np.count_nonzero(candidates.low >= bar) >= top:
                return candidates
            if not bar >= -20.0 or len(chosen) == len(self._values):
                return self._drawn(range(len(self._values)), pivot, -math.inf, top)
            bar -= 1.0

    def _screening(self, top: int) -> Screened:
        """By what the answers are screened, whatever the noise is."""
        highest = None
        if isinstance(self._values, list):
            pivot = nth_largest(self._values, top)
        else:
            highest = top_of(self._values, top, self._groups, self._singles)
            pivot = highest.pivot
        screen = Screen(
            self._values, pivot, self._rate, self._law, self._sizes, self._groups, highest, self._singles
        )
        return Screened(screen, pivot, screen.bar(top))

    def _drawn(self, items: Indices | range, pivot: int, bar: float, top: int) -> Candidates:
        """The chosen items, and the members of chosen groups, that may be above the bar."""
        values = self._values
        if isinstance(items, range):
            chosen = values  # all of them
        else:
            chosen = [values[i] for i in items] if isinstance(values, list) else values[items]
        offsets = differences(chosen, pivot)
        offsets *= self._rate
        candidates = self._doubles.of_items(items, offsets)
        if self._sizes is None:
            return candidates
        return self._doubles.of_members(candidates, offsets, bar, top)

    def _ordered(self, candidates: Candidates, top: int) -> Candidates:
        """The `top` largest candidates, from the largest down."""
        noisy = candidates.noisy
        chosen = noisy.argpartition(len(noisy) - top)[-top:] if len(noisy) > top else np.arange(len(noisy))
        chosen = chosen[noisy[chosen].argsort()[::-1]]
        found = candidates.take(chosen)
        low, others = found.low, candidates.high
        high = others[chosen]
        others[chosen] = -math.inf
        # Each certainly above the next, and the last above all that were not chosen: nothing is left open.
        if largest(others) < low[-1] and _apart(low, high):
            return found
        return self._ordered_exactly(candidates, top)

    def _ordered_exactly(self, candidates: Candidates, top: int) -> Candidates:
        candidates = candidates.take(np.argsort(-candidates.noisy))
        # Places j and j+1 are apart where all before are certainly larger than all after.
        low = np.minimum.accumulate(candidates.low)
        high = np.maximum.accumulate(candidates.high[::-1])[::-1]
        undecided = np.flatnonzero(low[:-1] <= high[1:])
        if len(undecided) and undecided[0] < top:
            candidates = candidates.take(self._settled(candidates, undecided, top))
        return candidates.take(slice(0, top))

    def _settled(self, candidates: Candidates, undecided: Indices, top: int) -> Indices:
        """The order of the candidates, with each run of overlapping intervals sorted exactly."""
        order = np.arange(len(candidates))
        for run in np.split(undecided, np.flatnonzero(np.diff(undecided) > 1) + 1):
            begin, end = int(run[0]), int(run[-1]) + 2
            if begin >= top:
                break
            order[begin:end] = sorted(
                range(begin, end), key=lambda j: self._real(candidates, j), reverse=True
            )
        return order

    def _gaps(self, ordered: Candidates) -> list[int]:
        """Each difference of neighbours in multiples of γ, rounded down."""
        if len(ordered) == 1:
            return []
        per_noise = self._per_noise
        unsure: list[int]
        if len(ordered) <= _ONE_BY_ONE + 1:
            pairs = pairwise(zip(ordered.noise.tolist(), ordered.error.tolist(), strict=True))
            found = [sure_floor((x - y) * per_noise, (e + f) * per_noise) for (x, e), (y, f) in pairs]
            unsure = [j for j, floor in enumerate(found) if floor is None]
            gaps = self._few_value_steps(ordered.items, [floor or 0 for floor in found])
        else:
            apart = (ordered.noise[:-1] - ordered.noise[1:]) * per_noise
            floors, sure = certain_floor(apart, (ordered.error[:-1] + ordered.error[1:]) * per_noise)
            unsure = np.flatnonzero(~sure).tolist()
            gaps = self._value_steps(ordered.items, floors.astype(np.int64))
        self._round_exactly(gaps, unsure, lambda j: self._real(ordered, j))
        return gaps

    def _round_exactly(self, gaps: Any, unsure: list[int], real: Callable[[int], Real]) -> None:
        """The gaps at these places, from the noisy answers as exact reals."""
        for j in unsure:
            difference = real(j) - real(j + 1)
            gaps[j] = difference.floor(self._resolution)

    def _value_steps(self, items: Indices, floors: NDArray[np.int64]) -> list[int]:
        """The differences of neighbouring answers in multiples of γ, exactly, plus `floors`."""
        per_value = self._per_value
        if not isinstance(self._values, list):
            chosen = self._values[items]
            # With equal answers the product is 0, whatever the factor: the factor itself must fit as well.
            if per_value < 2**62 and (int(chosen.max()) - int(chosen.min())) * per_value < 2**62:
                steps: list[int] = ((chosen[:-1] - chosen[1:]) * per_value + floors).tolist()
                return steps
        return self._few_value_steps(items, floors.tolist())

    def _few_value_steps(self, items: Indices, floors: list[int]) -> list[int]:
        """The same in Python's integers, which hold every size."""
        exact = [int(self._values[i]) for i in items.tolist()]
        pairs = zip(pairwise(exact), floors, strict=True)
        return [(a - b) * self._per_value + floor for (a, b), floor in pairs]

    def _real(self, candidates: Candidates, j: int) -> Real:
        return self.noisy_answer(int(candidates.items[j]), candidates.rank(j))

    def noisy_answer(self, item: int, rank: int = 1) -> Real:
        """The noisy answer of an item (of the rank-th member of a group) as an exact real."""
        if (item, rank) not in self._reals:
            answer = int(self._values[item]) * self._grain
            self._reals[item, rank] = Real(answer, {self._noise(item, rank): self._scale})
        return self._reals[item, rank]

    def _noise(self, item: int, rank: int) -> Any:
        size = 1 if self._sizes is None else int(self._sizes[item])
        streams = [self._digits.stream(item, place) for place in range(rank)]
        if size == 1:
            return Variable(self._law, streams[0], start=self._start)
        return OrderStatistic(self._law, size, streams, start=self._start)


def _apart(low: Floats, high: Floats) -> bool:
    """Whether each is certainly above the next."""
    if len(low) <= _ONE_BY_ONE:
        return all(map(gt, low.tolist(), high[1:].tolist()))  # the last has no next
    return bool((low[:-1] > high[1:]).all())


_LATEST: list[tuple[Fraction, Fraction, Fraction, Factors]] = []


def _factors_of(grain: Fraction, scale: Fraction, resolution: Fraction) -> Factors:
    """What one unit of the answers is in scales of the noise, what a scale is in γ, and the unit in γ.

    Releases by one plan have the same, down to the objects, which are compared sooner than fractions.
    """
    for known in _LATEST:
        if known[0] is grain and known[1] is scale and known[2] is resolution:
            return known[3]
    factors = _factors(*grain.as_integer_ratio(), *scale.as_integer_ratio(), *resolution.as_integer_ratio())
    _LATEST[:] = [(grain, scale, resolution, factors)]
    return factors


@lru_cache(maxsize=64)
def _factors(*terms: int) -> Factors:
    """terms: numerator and denominator of grain, scale and γ, which are hashed sooner than fractions."""
    grain, scale, resolution = (Fraction(*terms[place : place + 2]) for place in (0, 2, 4))
    return Factors(double(grain / scale), double(scale / resolution), int(grain / resolution))
