"""Look for what happens rarely, and on one of two neighbours alone.

A race tries many candidates on few samples, where an output of probability 10⁻⁴ is seen once or not at all.
Where it ended without a violation, a few plain pairs are looked at again, on as many samples as the last
round has, for nothing but that: a value, a label, a whole output, or a number beyond all others, that one
input has a few times and its neighbour never. Each input is run once for all of its pairs, and the second
half of the samples is drawn only where the first has shown something of the kind. What is found is weighed on
more samples, fresh ones; the verdict takes a confirmation of its own, as any does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from freegap.auditor.event_search import score_event, whole_names
from freegap.auditor.events import Between, Clause, Event, OneOf
from freegap.auditor.families import Finding, Ordered, Tally
from freegap.auditor.features import Component, Feature, KindOf, Length, Reading, Whole, features_of, spread
from freegap.auditor.inputs import SearchCandidate
from freegap.auditor.mechanism import Answers
from freegap.auditor.outputs import Floats, Outputs, join
from freegap.auditor.plan import Plan
from freegap.auditor.sampling import OutputSource, Workers
from freegap.auditor.search import Lead
from freegap.errors import MechanismFailed

ONE_SIDED_KEY = 10
LEAST_AGAIN = 3  # in as many samples as show ten, on the average, of what happens once in ten thousand runs
TAIL = 20
MOST_PAIRS, MOST_LEADS, MOST_VALUES = 6, 3, 2
MOST_ODD = 1  # pairs of one input that have a second half
MORE = 2  # times the samples, to weigh what was found
MOST_PLACES = 8
SHORT, LONGER = 2, 5  # lengths of which pairs are looked at
PLAIN = ("one above", "all above", "one below", "last above")
PLAINEST = ("all above", "last above")


@dataclass(frozen=True)
class RareBar:
    """What happens on one side alone is looked at from so many hits on, if chance alone would not show more
    than so many events like it."""

    hits: int
    chance: float


FULL, HALF = RareBar(5, 3.0), RareBar(2, 12.0)


def plain_candidates(
    candidates: Sequence[SearchCandidate], refused: Sequence[SearchCandidate]
) -> list[SearchCandidate]:
    """A few plain pairs of short inputs, each with the first of its parameters, of what can be tried; the
    shortest where the mechanism takes no such lengths; of pairs that were given, the first."""
    turned_down = set(refused)
    found: dict[object, SearchCandidate] = {}
    for candidate in candidates:
        if not candidate.pair.far and candidate not in turned_down:
            found.setdefault((candidate.pair.first, candidate.pair.second), candidate)
    chosen = [
        *(c for c in found.values() if len(c.pair.first) == SHORT and c.pair.category in PLAIN),
        *(c for c in found.values() if len(c.pair.first) == LONGER and c.pair.category in PLAINEST),
    ]
    others = sorted(found.values(), key=lambda candidate: candidate.pair.size)
    return (chosen if chosen and not chosen[0].pair.given else others)[:MOST_PAIRS]


def one_sided_leads(
    source: OutputSource,
    workers: Workers,
    candidates: Sequence[SearchCandidate],
    plan: Plan,
    report: Callable[[str, int, int, float], None],
) -> list[Lead]:
    """What looks like a violation and happens on one input of these alone, the most frequent first."""
    groups: dict[object, list[SearchCandidate]] = {}
    for candidate in candidates:
        groups.setdefault((candidate.pair.first, candidate.parameters), []).append(candidate)
    found: list[Lead] = []
    half = plan.samples // 2
    inputs = len(candidates) + len(groups)
    look = partial(_look, source, plan.claim.scale, half)
    looks = workers.map(look, list(groups.values()), half * inputs // len(groups), total=half * inputs)
    for number, (leads, more) in enumerate(looks):
        found += leads
        workers.runs += more
        report("search for what is rare", number + 1, len(groups), 0.0)
    held = _few(found)
    for size in (plan.samples, MORE * plan.samples):  # most were luck, and few samples say so
        by_pair: dict[SearchCandidate, list[Lead]] = {}
        for lead in held:
            by_pair.setdefault(lead.candidate, []).append(lead)
        weighed = workers.map(partial(_weighed, source, plan, size), list(by_pair.values()), 2 * size)
        held = [lead for leads in weighed for lead in leads if lead.finding.score > plan.claim.amount]
        held = [lead for lead in held if max(lead.finding.hits1, lead.finding.hits2) >= LEAST_AGAIN]
    return sorted(held, key=lambda lead: -lead.finding.score)


def _look(
    source: OutputSource, scale: float, half: int, group: Sequence[SearchCandidate]
) -> tuple[list[Lead], int]:
    """What the pairs of one input show, and how many runs it took to draw the second halves. Every input has
    the same noise, so that chance moves all alike."""

    def drawn(answers: Answers, part: int) -> Outputs | None:
        try:
            return source.draw(answers, group[0].parameters, half, (ONE_SIDED_KEY, part))
        except MechanismFailed:  # the race has said so, or it is turned down now and then
            return None

    first = drawn(group[0].pair.first, 0)
    if first is None:
        return [], 0
    here = Sorted(first)
    odd: list[tuple[int, SearchCandidate, Outputs]] = []
    for candidate in group:
        second = drawn(candidate.pair.second, 0)
        alone = [] if second is None else one_sided(here, Sorted(second), scale, HALF)
        if second is not None and alone:
            odd.append((max(finding.one_sided for finding in alone), candidate, second))
    odd = sorted(odd, key=lambda entry: -entry[0])[:MOST_ODD]
    rest = drawn(group[0].pair.first, 1) if odd else None
    if rest is None:
        return [], 0
    whole, found = Sorted(join([first, rest])), []
    for _, candidate, second in odd:
        later = drawn(candidate.pair.second, 1)
        if later is not None:
            both = one_sided(whole, Sorted(join([second, later])), scale)
            found += [Lead(candidate, finding) for finding in both]
    return found, half * (1 + len(odd))


@dataclass
class Sorted:
    """Outputs, and what was read of them, in order: one input stands in several pairs."""

    outputs: Outputs
    _known: dict[Feature, tuple[Reading, Ordered]] = field(default_factory=dict)

    def read(self, feature: Feature) -> tuple[Reading, Ordered]:
        """What a feature read, and its numbers in order."""
        if feature not in self._known:
            reading = feature.read(self.outputs)
            self._known[feature] = reading, Ordered.of(reading)
        return self._known[feature]


def _few(leads: Sequence[Lead]) -> list[Lead]:
    """The most frequent ones, no two about the same event; a value that is an answer counts for more, since
    noise that was left out shows so."""

    def weight(lead: Lead) -> int:
        condition = lead.finding.event.clauses[0].condition
        answers = (*lead.first, *lead.second) if not lead.candidate.pair.whole else ()
        plain = isinstance(condition, OneOf) and condition.values[0] in answers
        return lead.finding.one_sided * (2 if plain else 1)

    events: dict[Event, Lead] = {}
    for lead in sorted(leads, key=lambda lead: -weight(lead)):
        events.setdefault(lead.finding.event, lead)
    return list(events.values())[:MOST_LEADS]


def _weighed(source: OutputSource, plan: Plan, size: int, leads: Sequence[Lead]) -> list[Lead]:
    """The same leads, all of one pair, by what other samples of it say."""
    pair, parameters = leads[0].candidate.pair, leads[0].candidate.parameters
    first, second = (
        source.draw(side, parameters, size, (ONE_SIDED_KEY, size, at))
        for at, side in enumerate((pair.first, pair.second))
    )
    forecast = plan.forecast(size, 1.0 if size > plan.samples else 0.0)
    return [
        Lead(lead.candidate, score_event(known.event, first, second, forecast, swapped=known.swapped))
        for lead in leads
        for known in (lead.finding,)
    ]


def one_sided(first: Sorted, second: Sorted, epsilon: float, bar: RareBar = FULL) -> list[Finding]:
    """Of every feature, what happened the most often on one side and never on the other, where a mechanism
    that is private with ε would hardly show any.

    bar: how often at least, and how many such events chance may well have shown.

    >>> from freegap.auditor.reading import from_batch
    >>> numbers = np.arange(100.0)
    >>> parts = np.where(numbers < 6, -99.0, numbers), numbers
    >>> odd, even = (Sorted(from_batch(part, 100)) for part in parts)
    >>> [(finding.event.text, finding.hits1, finding.hits2) for finding in one_sided(odd, even, 0.2)]
    [('output = -99', 6, 0), ('output < -50', 6, 0)]
    """
    found = []
    for feature in _features(first.outputs, second.outputs):
        for swapped, here, there in ((False, first, second), (True, second, first)):
            for condition, hits in _alone(feature, here, there, epsilon, bar):
                hits1, hits2 = (0, hits) if swapped else (hits, 0)
                found.append(Finding(Event((Clause(feature, condition),)), swapped, hits1, hits2, 0.0))
    return found


def _features(first: Outputs, second: Outputs) -> list[Feature]:
    kinds = (Component, KindOf, Length, Whole)
    found = [f for f in features_of(first, second) if isinstance(f, kinds)]
    places = spread([f.path for f in found if isinstance(f, Component)], MOST_PLACES)
    return [f for f in found if not isinstance(f, Component | KindOf) or f.path in places]


def _alone(
    feature: Feature, here: Sorted, there: Sorted, epsilon: float, bar: RareBar
) -> Iterator[tuple[Between | OneOf, int]]:
    """Conditions that hold here and never there, each with how often."""
    (one, x), (two, y) = here.read(feature), there.read(feature)
    if one.labels:
        other = dict(zip(two.labels, _label_counts(two), strict=True))
        mine = _label_counts(one)
        also = np.array([other.get(label, 0) for label in one.labels])
        for at in _telling(mine, also, epsilon, bar):
            yield OneOf((one.labels[at],)), int(mine[at])
    if not x.count or not y.count:
        if x.count >= bar.hits:
            yield Between(), x.count
        return
    values = _repeated(x, bar.hits)
    name = whole_names(values, (here.outputs, one))
    mine = x.tally(values)
    for at in _telling(mine, y.tally(values), epsilon, bar):
        yield OneOf((float(values[at]),), (name(at),) if isinstance(feature, Whole) else ()), int(mine[at])
    if not isinstance(feature, Whole):
        yield from _beyond(x, y, bar.hits)


def _label_counts(reading: Reading) -> Tally:
    return np.bincount(reading.codes[reading.codes >= 0], minlength=len(reading.labels))


def _repeated(numbers: Ordered, least: int) -> Floats:
    """The values that occur a few times."""
    if len(numbers.values) < numbers.count:  # each stands there once, with its count
        return numbers.values[np.diff(numbers.before) >= least]
    later, earlier = numbers.values[least - 1 :], numbers.values[: 1 - least]
    return np.unique(later[later == earlier])


def _telling(mine: Tally, others: Tally, epsilon: float, bar: RareBar) -> list[int]:
    """The places of what happened the most often here and never there, unless that may well be chance: with ε
    a hit is here with a probability of at most 1/(1 + e^-ε), and there are others about as frequent."""
    alone = np.where(others == 0, mine, 0)
    total, found = mine + others, []
    for at in np.argsort(-alone, kind="stable")[:MOST_VALUES]:
        hits = int(alone[at])
        alike = int(np.count_nonzero((total >= hits) & (total <= 4 * hits)))
        if hits >= bar.hits and alike * (1 / (1 + math.exp(-epsilon))) ** hits < bar.chance:
            found.append(int(at))
    return found


def _beyond(x: Ordered, y: Ordered, least: int) -> Iterator[tuple[Between, int]]:
    """Numbers here that are farther below or above all of those there than the last of these are apart."""
    for sign in (1, -1):
        ends, others = (sign * part.values[::sign] for part in (x, y))  # in order, the far end last
        high, spread_ = float(others[-1]), float(others[-1] - others[-min(TAIL, len(others))])
        outside = np.concatenate([[high], ends[ends > high]])
        if len(outside) < 2:
            continue
        gaps = np.diff(outside)
        at = int(np.argmax(gaps))
        if gaps[at] <= max(spread_, 1e-9):
            continue
        middle = sign * _between(float(outside[at]), float(outside[at + 1]))
        inside = x.below(np.array([middle]))[0]
        hits = int(inside if sign < 0 else x.count - inside)
        if hits >= least:
            yield (Between(low=middle) if sign > 0 else Between(high=middle)), hits


def _between(low: float, high: float) -> float:
    """A plain number about in the middle of two."""
    step = 10.0 ** math.floor(math.log10((high - low) / 2))
    return round((low + high) / 2 / step) * step + 0.0
