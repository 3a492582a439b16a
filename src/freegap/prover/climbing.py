"""A search for neighbours and an event that a program tells apart: by the logarithm of two probabilities.

The search looks where an alignment failed, where a kind of output is improbable, and at equal answers that
neighbours move in all ways. From the best of these it climbs: answers move, their changes turn, and intervals
for released numbers shift, one at a time. What it finds it only proposes: whoever searches decides with
`accept` whether it is what is wanted, and that is where certainty comes from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, islice, product
from typing import Any, Generic, TypeVar

from freegap.prover.events import EventBox
from freegap.prover.kinds import Kind
from freegap.prover.outputs import Node, count_holes
from freegap.prover.prices import scale_of
from freegap.prover.probability import Interval
from freegap.prover.problem import Problem
from freegap.prover.report import Refutation

_MOST_TRIES = 1000
_CLIMBS = 4
_TAIL = 8  # in scales
_FREE: Interval = (None, None)

Found = TypeVar("Found")


@dataclass(frozen=True)
class Trial:
    """A kind of output with intervals for its numbers, answers, and how the neighbour differs from them."""

    kind: int
    answers: tuple[Fraction, ...]
    change: tuple[Fraction, ...]
    box: tuple[Interval, ...]

    @property
    def neighbour(self) -> tuple[Fraction, ...]:
        """The answers of the neighbour."""
        return tuple(a + c for a, c in zip(self.answers, self.change, strict=True))


class Search(Generic[Found]):
    """aim: the logarithm of a ratio that is enough, for each kind of output.

    accept: what comes of a trial that seems to be enough; None if it is not.
    hint: where an alignment failed, to begin with.
    """

    def __init__(
        self,
        problem: Problem,
        kinds: list[Kind],
        aim: Callable[[Kind], Fraction],
        accept: Callable[[Trial], Found | None],
        hint: Refutation | None = None,
    ) -> None:
        self.problem, self.kinds, self.accept = problem, kinds, accept
        self.aims = [float(aim(kind)) for kind in kinds]
        self.unit = problem.resolution or Fraction(0)
        delta = problem.sensitivity
        self.delta = delta // self.unit * self.unit if self.unit else delta
        """How far whole answers can move: what is made of it is a multiple of the resolution."""
        self.tries = 0
        self._chances: dict[Any, Any] = {}
        self._scores: dict[Trial, float] = {}
        self._seen: list[tuple[float, int, Trial]] = []
        self._starts = chain(self._hinted(hint), self._improbable(), self._plain())
        self.looked = False

    def run(self) -> Found | None:
        """Look everywhere first; then climb from where the ratio is largest."""
        found = None
        while found is None and not self.looked:
            found = self.look(_MOST_TRIES)
        return self.climb() if found is None else found

    def look(self, most: int) -> Found | None:
        """Look at the next so many starts; `looked` says whether these were the last."""
        try:
            for start in islice(self._starts, most):
                found, score = self._look(start)
                if found is not None:
                    return found
                self._seen.append((-score, len(self._seen), start))
                most -= 1
            self.looked = most > 0
        except _Enough:
            self.looked = True
        return None

    def climb(self) -> Found | None:
        """Climb from the best places that were looked at."""
        chosen: dict[int, Trial] = {}
        for _, _, start in sorted(self._seen, key=lambda entry: entry[:2]):
            chosen.setdefault(start.kind, start)
        try:
            for start in list(chosen.values())[:_CLIMBS]:
                found = self._climb(start)
                if found is not None:
                    return found
        except _Enough:
            pass
        return None

    @property
    def best(self) -> Trial | None:
        """What came nearest to its aim, of all that was not accepted."""
        tried = {at: score for at, score in self._scores.items() if math.isfinite(score)}
        return max(tried, key=lambda at: tried[at], default=None)

    @property
    def nearest(self) -> float:
        """How far above its aim that was; below it, a negative number."""
        return -math.inf if self.best is None else self._scores[self.best]

    # Where to look ---------------------------------------------------------------------------------------

    def _hinted(self, hint: Refutation | None) -> Iterator[Trial]:
        """What the alignment's failure suggests: its neighbours, both ways, with the output that it had."""
        if hint is None or not hint.answers:
            return
        change = tuple(b - a for a, b in zip(hint.answers, hint.neighbour, strict=True))
        back = tuple(-c for c in change)
        places = {kind.skeleton: place for place, kind in enumerate(self.kinds)}
        for place, box in self._events_of(hint.output, places):
            yield Trial(place, hint.answers, change, box)
            if self._allowed(back):
                yield Trial(place, hint.neighbour, back, box)

    def _events_of(self, output: Any, places: dict[Any, int]) -> Iterator[tuple[int, tuple[Interval, ...]]]:
        for kind, place in places.items():
            if EventBox(kind, (_FREE,) * count_holes(kind)).contains(output):
                yield place, (_FREE,) * count_holes(kind)
                if count_holes(kind):
                    numbers = _numbers(kind, output)
                    width = Fraction(0) if self.unit else self.delta / 8
                    yield place, tuple((v, v + width) for v in numbers)

    def _improbable(self) -> Iterator[Trial]:
        """Answers far from where the conditions of a path want them, and a neighbour that is still farther.

        The tails of the noise are where its density falls fastest, so that is where a mechanism with too
        little noise tells most.
        """
        delta = self.delta
        ranked = sorted(range(len(self.kinds)), key=self._promise)
        for far in dict.fromkeys((max(self._reach(), 25 * delta), 25 * delta, 5 * delta, Fraction(0))):
            for place in ranked:
                for box in self._boxes(self.kinds[place].numbers, far):
                    for signs in _ways(self._signs(place, box), alike=bool(box)):
                        for change in self._nearest(tuple(sign * delta for sign in signs)):
                            yield Trial(place, tuple(sign * far for sign in signs), change, box)

    def _reach(self) -> Fraction:
        """Where the tails of all noise are, as a multiple of Δ."""
        scales = [scale_of(draw) for kind in self.kinds for path in kind.paths for draw in path.draws]
        return _TAIL * math.ceil(max(scales, default=Fraction(0)) / self.delta) * self.delta

    def _promise(self, place: int) -> tuple[int, int]:
        """First the kinds that pull at many answers, and at as many upwards as downwards."""
        signs = self._signs(place, ())
        return -sum(map(bool, signs)), abs(sum(signs))

    def _boxes(self, numbers: int, far: Fraction) -> Iterator[tuple[Interval, ...]]:
        yield (_FREE,) * numbers
        if numbers:
            width = Fraction(0) if self.unit else self.delta / 8
            ends = ((far, None), (None, -far), (Fraction(0), width), (-far, width - far), (far, far + width))
            for interval in dict.fromkeys(ends):
                yield (interval,) * numbers

    def _signs(self, place: int, box: tuple[Interval, ...]) -> tuple[int, ...]:
        """For each answer, the way to move it against this kind of output."""
        return self.kinds[place].pull(box, self.problem.queries)

    def _nearest(self, change: tuple[Fraction, ...]) -> list[tuple[Fraction, ...]]:
        """The changes that neighbours may make which are most like this one: it, or what rises of it and what
        falls, the larger part first; where that is too much as well, one answer of it."""
        if self._allowed(change):
            return [change] if any(change) else []
        parts = [tuple(c if c * sign > 0 else Fraction(0) for c in change) for sign in (1, -1)]
        allowed = [part for part in parts if any(part) and self._allowed(part)]
        if not allowed:
            ones = (
                tuple(c if i == j else Fraction(0) for j in range(len(change))) for i, c in enumerate(change)
            )
            allowed = [one for one in ones if any(one) and self._allowed(one)][:1]
        return sorted(allowed, key=lambda part: -sum(map(bool, part)))

    def _plain(self) -> Iterator[Trial]:
        """Every kind of output at equal answers, or answers in a row, with all ways to change them."""
        for answers in self._patterns():
            for change in self._changes():
                for place, kind in enumerate(self.kinds):
                    yield Trial(place, answers, change, kind.anything)

    def _patterns(self) -> Iterator[tuple[Fraction, ...]]:
        n, delta = self.problem.queries, self.delta
        yield (Fraction(0),) * n
        if n > 1:
            yield tuple(i * delta for i in range(n))
            yield tuple(-i * delta for i in range(n))

    def _changes(self) -> Iterator[tuple[Fraction, ...]]:
        n, delta = self.problem.queries, self.delta
        if n <= 4:
            found = list(product((delta, -delta, Fraction(0)), repeat=n))
        else:
            corners: list[tuple[Fraction, ...]] = []
            for k in range(n + 1):
                corners += [(delta,) * k + (-delta,) * (n - k), (-delta,) * k + (delta,) * (n - k)]
                corners += [(delta,) * k + (Fraction(0),) * (n - k), (Fraction(0),) * k + (-delta,) * (n - k)]
            for i in range(n):
                for sign in (1, -1):
                    one = tuple(sign * delta if j == i else Fraction(0) for j in range(n))
                    corners += [one, tuple(sign * (delta if j == i else -delta) for j in range(n))]
            found = list(dict.fromkeys(corners))
        changes = [change for change in found if any(change) and self._allowed(change)]
        changes.sort(key=lambda change: sum(c == 0 for c in change))  # the largest first
        yield from changes

    def _allowed(self, change: tuple[Fraction, ...]) -> bool:
        """Whether neighbours may differ so."""
        if any(abs(c) > self.problem.sensitivity for c in change):
            return False
        up, down = all(c >= 0 for c in change), all(c <= 0 for c in change)
        return {
            "each": True,
            "one": sum(c != 0 for c in change) <= 1,
            "monotonic": up or down,
            "increasing": up,
            "decreasing": down,
        }[self.problem.neighbours]

    # Climbing --------------------------------------------------------------------------------------------

    def _climb(self, start: Trial) -> Found | None:
        found, best = self._look(start)
        if found is not None:
            return found
        now, better = start, True
        while better:
            better = False
            for move in self._moves(now):
                found, score = self._look(move)
                if found is not None:
                    return found
                if score > best + 1e-6:
                    now, best, better = move, score, True
                    break
        return None

    def _moves(self, now: Trial) -> Iterator[Trial]:
        delta = self.delta
        for i in range(len(now.box)):
            for interval in self._intervals(now, i):
                yield replace(now, box=(*now.box[:i], interval, *now.box[i + 1 :]))
        for i in range(len(now.change)):
            for turned in (delta, -delta, Fraction(0)):
                change = (*now.change[:i], turned, *now.change[i + 1 :])
                if turned != now.change[i] and self._allowed(change):
                    yield replace(now, change=change)
        for step in (s * delta for s in (25, -25, 5, -5, 1, -1)):
            for i in range(len(now.answers)):
                yield replace(now, answers=(*now.answers[:i], now.answers[i] + step, *now.answers[i + 1 :]))
            if len(now.answers) > 1:
                yield replace(now, answers=tuple(a + step for a in now.answers))

    def _intervals(self, now: Trial, place: int) -> Iterator[Interval]:
        delta = self.delta
        low, high = now.box[place]
        if low is None and high is None:
            ends = dict.fromkeys(
                [Fraction(0), *now.answers, *(a + c for a, c in zip(now.answers, now.change, strict=True))]
            )
            for end in ends:
                yield from ((end, None), (None, end))
            for end in ends:
                yield (end, end if self.unit else end + delta / 8)
            return
        for step in (delta, -delta, 4 * delta, -4 * delta):
            yield (None if low is None else low + step, None if high is None else high + step)

    # One try ---------------------------------------------------------------------------------------------

    def _look(self, at: Trial) -> tuple[Found | None, float]:
        """A violation here, if it is one; and how near it is: ln of the ratio, less what may be."""
        if at in self._scores:
            return None, self._scores[at]
        self.tries += 1
        if self.tries > _MOST_TRIES:
            raise _Enough
        here = self._chance(at.kind, at.answers, at.box)
        score = float("-inf")
        if here > 0:
            there = self._chance(at.kind, at.neighbour, at.box)
            if there > 0:
                score = float((here / there).log().mid()) - self.aims[at.kind]
            elif there == 0:
                score = float("inf")
            if score > 0:
                found = self.accept(at)
                if found is not None:
                    return found, score
        self._scores[at] = score
        return None, score

    def _chance(self, kind: int, answers: tuple[Fraction, ...], box: tuple[Interval, ...]) -> Any:
        key = (kind, answers, box)
        if key not in self._chances:
            self._chances[key] = self.kinds[kind].chance(answers, box, self.problem.limits)
        return self._chances[key]


class _Enough(Exception):
    """The search has used what it may."""


def _ways(signs: tuple[int, ...], *, alike: bool) -> Iterator[tuple[int, ...]]:
    """The signs, with both for those that are 0, if these are few; and all alike, if wanted."""
    if sum(sign == 0 for sign in signs) <= 3:
        yield from product(*((sign,) if sign else (1, -1) for sign in signs))
    else:
        yield from (tuple(sign or other for sign in signs) for other in (0, 1, -1))
    if alike:
        yield from ((sign,) * len(signs) for sign in (1, -1))


def _numbers(skeleton: Any, output: Any) -> list[Fraction]:
    """The numbers of an output at the holes of its skeleton."""
    if isinstance(skeleton, Node):
        items = list(output.values()) if skeleton.names is not None else list(output)
        return [
            v for child, item in zip(skeleton.children, items, strict=True) for v in _numbers(child, item)
        ]
    return [] if not count_holes(skeleton) else [Fraction(output)]
