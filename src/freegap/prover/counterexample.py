"""A search for a violation of privacy: neighbours and an event whose probabilities differ by more than e^ε.

Whatever a search looks at, it returns only what is certain: both probabilities are balls that hold them
(`freegap.prover.probability`), the ratio is a lower bound, it is larger than an upper bound of e^ε, and the
probabilities of all kinds of output add up to 1 on both sides, as far as the balls tell. That none is found
says nothing.

The search looks where an alignment failed, where a kind of output is improbable, and at equal answers that
neighbours move in all ways. From the best of these it climbs: answers move, their changes turn, and intervals
for released numbers shift, one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

from flint import arb

from freegap.errors import InvalidArgument
from freegap.prover.classes import OutputClass
from freegap.prover.events import Bounds, EventBox, ExactViolation
from freegap.prover.outputs import Node, count_holes, rebuild, show
from freegap.prover.probability import Interval, LinearPath, linear_paths, probability_of
from freegap.prover.problem import Problem
from freegap.prover.report import Refutation
from freegap.symbolic import NotDecided
from freegap.symbolic.subset import follow
from freegap.symbolic.symbols import constant
from freegap.values.balls import as_ball, at_precision

_MOST_TRIES = 1000
_MOST_KINDS = 400
_CLIMBS = 4
_FREE: Interval = (None, None)


@dataclass(frozen=True)
class Kind:
    """All paths whose outputs have one skeleton, whatever they draw."""

    skeleton: Any
    paths: tuple[LinearPath, ...]
    charge: Fraction

    @cached_property
    def numbers(self) -> int:
        """How many numbers vary."""
        return count_holes(self.skeleton)


@dataclass(frozen=True)
class _Try:
    kind: int
    answers: tuple[Fraction, ...]
    change: tuple[Fraction, ...]
    box: tuple[Interval, ...]


def find_counterexample(
    problem: Problem, classes: list[OutputClass], hint: Refutation | None = None
) -> ExactViolation | None:
    """A violation, or None if none was found; `NotDecided` where chances cannot be computed, in time."""
    return _Search(problem, kinds_of(problem, classes)).run(hint)


def kinds_of(problem: Problem, classes: list[OutputClass]) -> list[Kind]:
    """The kinds of output of a program, whose probabilities add up to 1."""
    found: dict[Any, list[LinearPath]] = {}
    for output in classes:
        _require_told_apart(output.skeleton)
        found.setdefault(output.skeleton, []).extend(linear_paths(output))
    if len(found) > _MOST_KINDS:
        raise NotDecided(f"there are more than {_MOST_KINDS} kinds of output")
    return [Kind(skeleton, tuple(paths), _charge(problem, skeleton)) for skeleton, paths in found.items()]


def _require_told_apart(skeleton: Any) -> None:
    """Rounded numbers of different kinds may look alike, and nobody sees the number before."""
    if isinstance(skeleton, Node):
        if isinstance(skeleton.kind, str):
            raise NotDecided("an output is rounded or divided")
        for child in skeleton.children:
            _require_told_apart(child)


def _charge(problem: Problem, skeleton: Any) -> Fraction:
    """What this kind of output is charged; ε where that depends on its numbers."""
    if problem.charge is None or count_holes(skeleton):
        return problem.epsilon
    words = problem.keywords(problem.charge)
    (path,) = follow(problem.charge, [rebuild(skeleton, ())], words, limits=problem.limits)
    charge = constant(path.result)
    if charge is None:
        constraint = f"is not a number for the output {show(skeleton)}"
        raise InvalidArgument("charge", path.result, constraint, "Return what the output costs.")
    return min(charge, problem.epsilon)


class _Search:
    def __init__(self, problem: Problem, kinds: list[Kind]) -> None:
        self.problem, self.kinds = problem, kinds
        self.unit = problem.resolution or Fraction(0)
        delta = problem.sensitivity
        self.delta = delta // self.unit * self.unit if self.unit else delta
        """How far whole answers can move: what is made of it is a multiple of the resolution."""
        self.tries = 0
        self._chances: dict[Any, Any] = {}
        self._scores: dict[_Try, float] = {}

    def run(self, hint: Refutation | None) -> ExactViolation | None:
        """Look everywhere first; then climb from where the ratio is largest."""
        starts: list[tuple[float, int, _Try]] = []
        try:
            for start in (*self._hinted(hint), *self._improbable(), *self._plain()):
                found, score = self._look(start)
                if found is not None:
                    return found
                starts.append((-score, len(starts), start))
            starts.sort(key=lambda entry: entry[:2])
            chosen: dict[int, _Try] = {}
            for _, _, start in starts:
                chosen.setdefault(start.kind, start)
            for start in list(chosen.values())[:_CLIMBS]:
                found = self._climb(start)
                if found is not None:
                    return found
        except _Enough:
            pass
        return None

    # Where to look ---------------------------------------------------------------------------------------

    def _hinted(self, hint: Refutation | None) -> Iterator[_Try]:
        """What the alignment's failure suggests: its neighbours, both ways, with the output that it had."""
        if hint is None or not hint.answers:
            return
        change = tuple(b - a for a, b in zip(hint.answers, hint.neighbour, strict=True))
        back = tuple(-c for c in change)
        places = {kind.skeleton: place for place, kind in enumerate(self.kinds)}
        for place, box in self._events_of(hint.output, places):
            yield _Try(place, hint.answers, change, box)
            if self._allowed(back):
                yield _Try(place, hint.neighbour, back, box)

    def _events_of(self, output: Any, places: dict[Any, int]) -> Iterator[tuple[int, tuple[Interval, ...]]]:
        for kind, place in places.items():
            if EventBox(kind, (_FREE,) * count_holes(kind)).contains(output):
                yield place, (_FREE,) * count_holes(kind)
                if count_holes(kind):
                    numbers = _numbers(kind, output)
                    width = Fraction(0) if self.unit else self.delta / 8
                    yield place, tuple((v, v + width) for v in numbers)

    def _improbable(self) -> Iterator[_Try]:
        """Answers far from where the conditions of a path want them, and a neighbour that is still farther.

        The tails of the noise are where its density falls fastest, so that is where a mechanism with too
        little noise tells most.
        """
        delta = self.delta
        ranked = sorted(range(len(self.kinds)), key=self._promise)
        for far in (25 * delta, 5 * delta, Fraction(0)):
            for place in ranked:
                for box in self._boxes(self.kinds[place].numbers, far):
                    for signs in _ways(self._signs(place, box), alike=bool(box)):
                        change = self._nearest(tuple(sign * delta for sign in signs))
                        if any(change):
                            yield _Try(place, tuple(sign * far for sign in signs), change, box)

    def _promise(self, place: int) -> tuple[int, int]:
        """First the kinds that pull at many answers, and at as many upwards as downwards."""
        signs = self._signs(place, ())
        return -sum(map(bool, signs)), abs(sum(signs))

    def _boxes(self, numbers: int, far: Fraction) -> Iterator[tuple[Interval, ...]]:
        yield (_FREE,) * numbers
        if numbers:
            width = Fraction(0) if self.unit else self.delta / 8
            for interval in ((far, None), (None, -far), (-far, width - far), (far, far + width)):
                yield (interval,) * numbers

    def _signs(self, place: int, box: tuple[Interval, ...]) -> tuple[int, ...]:
        """For each answer, the way to move it against the conditions of the kind's first path."""
        path = self.kinds[place].paths[0]
        total = [Fraction(0)] * self.problem.queries
        for relation, form in path.conditions:
            for i, c in form.answers if relation in ("<", "<=") else ():
                total[i] += c
        for form, (low, high) in zip(path.numbers, box, strict=False):
            for i, c in form.answers:
                total[i] += c * ((high is not None and high <= 0) - (low is not None and low >= 0))
        return tuple((t > 0) - (t < 0) for t in total)

    def _nearest(self, change: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        """The change that neighbours may make which is most like this one."""
        if self._allowed(change):
            return change
        up, down = (tuple(c if c * sign > 0 else Fraction(0) for c in change) for sign in (1, -1))
        parts = [part for part in (up, down) if self._allowed(part)]
        for i, c in enumerate(change):
            parts.append(tuple(c if i == j else Fraction(0) for j in range(len(change))))
        return max((part for part in parts if self._allowed(part)), key=lambda part: sum(map(bool, part)))

    def _plain(self) -> Iterator[_Try]:
        """Every kind of output at equal answers, or answers in a row, with all ways to change them."""
        for answers in self._patterns():
            for change in self._changes():
                for place, kind in enumerate(self.kinds):
                    yield _Try(place, answers, change, (_FREE,) * kind.numbers)

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

    def _climb(self, start: _Try) -> ExactViolation | None:
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

    def _moves(self, now: _Try) -> Iterator[_Try]:
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

    def _intervals(self, now: _Try, place: int) -> Iterator[Interval]:
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

    def _look(self, at: _Try) -> tuple[ExactViolation | None, float]:
        """A violation here, if it is one; and how near it is: ln of the ratio, less what may be."""
        if at in self._scores:
            return None, self._scores[at]
        self.tries += 1
        if self.tries > _MOST_TRIES:
            raise _Enough
        kind = self.kinds[at.kind]
        neighbour = tuple(a + c for a, c in zip(at.answers, at.change, strict=True))
        here = self._chance(at.kind, at.answers, at.box)
        score = float("-inf")
        if here > 0:
            there = self._chance(at.kind, neighbour, at.box)
            if there > 0:
                score = float((here / there).log().mid()) - float(kind.charge)
            elif there == 0:
                score = float("inf")
            if score > 0:
                found = certified(self.problem, self.kinds, at.kind, at.answers, neighbour, at.box)
                if found is not None:
                    return found, score
        self._scores[at] = score
        return None, score

    def _chance(self, kind: int, answers: tuple[Fraction, ...], box: tuple[Interval, ...]) -> Any:
        key = (kind, answers, box)
        if key not in self._chances:
            self._chances[key] = probability_of(self.kinds[kind].paths, answers, box, self.problem.limits)
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


def certified(
    problem: Problem,
    kinds: list[Kind],
    place: int,
    answers: tuple[Fraction, ...],
    neighbour: tuple[Fraction, ...],
    box: tuple[Interval, ...],
) -> ExactViolation | None:
    """The counterexample by this kind of output and box, if it certainly is one."""
    kind, limits = kinds[place], problem.limits
    most = _bounds(at_precision(192, lambda: as_ball(kind.charge).exp())).upper
    first, second = (_bounds(probability_of(kind.paths, side, box, limits)) for side in (answers, neighbour))
    ratio = None if second.upper == 0 else _shortened(first.lower / second.upper)
    if first.lower == 0 or (ratio is not None and ratio <= most):
        return None
    for side in (answers, neighbour):
        require_certain(probability_of(k.paths, side, (_FREE,) * k.numbers, limits) for k in kinds)
    return ExactViolation(answers, neighbour, EventBox(kind.skeleton, box), first, second, ratio, kind.charge)


def require_certain(chances: Iterable[Any]) -> None:
    """The probabilities of all outputs add up to 1, as far as the balls tell: a check of what made them."""
    total = sum(chances, arb(0))
    if not total.contains(arb(1)):
        raise NotDecided(f"the probabilities of all outputs add up to {total}, and not to 1")


def _numbers(skeleton: Any, output: Any) -> list[Fraction]:
    """The numbers of an output at the holes of its skeleton."""
    if isinstance(skeleton, Node):
        items = list(output.values()) if skeleton.names is not None else list(output)
        return [
            v for child, item in zip(skeleton.children, items, strict=True) for v in _numbers(child, item)
        ]
    return [] if not count_holes(skeleton) else [Fraction(output)]


def _bounds(ball: Any) -> Bounds:
    """The ends of a ball, as rationals."""
    return Bounds(max(Fraction(0), _rational(ball.lower())), _rational(ball.upper()))


def _rational(end: Any) -> Fraction:
    mantissa, exponent = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _shortened(ratio: Fraction) -> Fraction:
    """A rational of few digits, and not larger."""
    size = Fraction(2) ** (ratio.numerator.bit_length() - ratio.denominator.bit_length() - 60)
    return ratio // size * size
