"""Confirm a lead on fresh samples, and stop as soon as the matter is settled.

Nothing is chosen here: inputs, parameters, event and direction come from the search, and the shares of the
level, the bets and the fixed looks are so before the first run. Every trial tosses for its side, which is
what the test of `freegap.auditor.statistics` rests on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

from freegap.auditor.betting import Bets
from freegap.auditor.device_runs import DeviceSource
from freegap.auditor.events import Bins, Event, Histogram
from freegap.auditor.mechanism import Answers, Parameters
from freegap.auditor.outputs import Outputs, join
from freegap.auditor.sampling import CHUNK, OutputSource, Workers
from freegap.auditor.search import Lead
from freegap.auditor.statistics import EventCounts, Floats, Look, PureClaim, Spending, TestedClaim
from freegap.auditor.whole_inputs import shown
from freegap.errors import MechanismFailed

CONFIRM_KEY = 2
LIKELY, UNLIKELY = 0.5, 1.1  # standard deviations of each side above the claim
PIECE = 500  # trials on one generator, where a call is a run
BLOCKS = 24  # at least so many until a look, where a call makes many runs
LEAST_IN_BLOCK = 8
TASK = 0.5  # seconds that one should take
DEPENDENT = 1e-12
LEAST_EXPECTED = 10


@dataclass(frozen=True)
class Test:
    """What is tested, and at which level."""

    claim: TestedClaim
    alpha: float

    __test__ = False  # not one of pytest's


@dataclass
class Confirmation:
    """A lead and the looks at its fresh samples.

    fixed: the looks at numbers of trials that were fixed before.
    strongest, latest: of the looks by bets, the one that says the most against the claim, and the last.
    against: what it says.
    refuted: whether a look refutes the claim.
    """

    lead: Lead
    fixed: list[Look] = field(default_factory=list)
    strongest: Look | None = None
    latest: Look | None = None
    against: float = -math.inf
    refuted: bool = False
    histogram: Histogram | None = None
    blocks: list[EventCounts] = field(default_factory=list)

    @property
    def dependent(self) -> bool:
        """Whether hits come in heaps, by the chi-squared test of equal rates in all blocks: then something is
        carried from one call to the next."""
        sides = ([(b.hits1, b.runs1) for b in self.blocks], [(b.hits2, b.runs2) for b in self.blocks])
        return any(_uneven(np.array(side, dtype=np.float64).reshape(-1, 2)) for side in sides)

    @property
    def looks(self) -> list[Look]:
        """Those that count; the last of them is the latest."""
        looks = dict.fromkeys([self.strongest, *self.fixed, self.latest])
        return sorted((look for look in looks if look is not None), key=lambda look: look.counts.trials)

    @property
    def counts(self) -> EventCounts:
        """The counts at the last look."""
        return self.looks[-1].counts if self.looks else EventCounts(0, 0, 0, 0)

    def look(self, counts: EventCounts, spending: Spending, bets: Bets, test: Test) -> None:
        """Look at the counts: at a number of trials that was fixed before, and always, by bets."""
        share = spending.checkpoints.get(counts.trials, 0.0)
        if share:
            self.fixed.append(Look(counts, share))
            self.refuted |= test.claim.against(counts, test.alpha * share) > 0
        if spending.always:
            self.latest = Look(counts, spending.always, bets)
            now = test.claim.against(counts, test.alpha * spending.always, bets)
            self.refuted |= now > 0
            if self.strongest is None or now > self.against:
                self.strongest, self.against = self.latest, now

    def promising(self, claim: TestedClaim, usual: int, *, expected: bool) -> bool:
        """Whether the counts lean towards a violation, more so where the search did not expect one: by what
        would be some deviations in the usual number of trials, also when there are more. What leans less can
        hardly be shown with patience either. It decides about more samples, never the verdict."""
        counts, deviations = self.counts, LIKELY if expected else UNLIKELY
        low = counts.rate1 - deviations * math.sqrt(counts.rate1 / max(1, usual / 2))
        high = counts.rate2 + deviations * math.sqrt(counts.rate2 / max(1, usual / 2))
        return bool(claim.value(max(0.0, low), high) > claim.amount)


def confirm(
    source: OutputSource,
    workers: Workers,
    result: Confirmation,
    spending: Spending,
    test: Test,
    *,
    number: int,
    settled: Callable[[Confirmation], bool],
    promising: Callable[[Confirmation], bool],
    bins: Bins | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Confirmation:
    """Draw fresh samples until all looks are made or `settled`, after the usual ones only while `promising`
    (which is asked at every look); fills `result`, so that an interruption keeps the looks made so far.

    number: tells the confirmations of one audit apart, so that each has samples of its own.
    """
    lead, one_by_one = result.lead, source.mechanism.one_by_one
    parameters = lead.candidate.parameters
    counts, trials, piece, bets = EventCounts(0, 0, 0, 0), 0, 0, bets_on(lead, test.claim)
    for until in spending.checkpoints:
        if trials >= spending.usual and not promising(result):
            break
        sizes = _sizes(until - trials, PIECE if one_by_one else CHUNK)
        blocks = (
            1
            if one_by_one or source.mechanism.noise == "noise"
            else max(4, BLOCKS * (until - trials) // until // len(sizes))
        )
        pieces = [(size, blocks, (CONFIRM_KEY, number, piece + i)) for i, size in enumerate(sizes)]
        trials, piece = until, piece + len(pieces)
        together = min(100, max(1, int(TASK / (PIECE * workers.pace)))) if one_by_one and workers.pace else 1
        tasks = [pieces[i : i + together] for i in range(0, len(pieces), together)]
        work = partial(_count, source, (lead.first, lead.second), parameters, lead.finding.event, bins)
        for part, histogram in workers.map(work, tasks, sizes[0] * together, total=sum(sizes)):
            result.blocks += part
            counts = sum(part, counts)
            result.histogram = histogram if result.histogram is None else result.histogram + histogram
            report(counts.trials, max(until, spending.usual))
        if not one_by_one and result.dependent:
            raise carried(lead)
        result.look(counts, spending, bets, test)
        if settled(result):
            break
    return result


def confirm_there(
    source: DeviceSource,
    result: Confirmation,
    spending: Spending,
    test: Test,
    *,
    number: int,
    settled: Callable[[Confirmation], bool],
    promising: Callable[[Confirmation], bool],
    report: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """As `confirm`, on a device: fresh runs, each on the side that it tossed, look by look.

    A block is one batch for each input. How many of its runs go to which was tossed, and which comes first.
    """
    lead = result.lead
    inputs, parameters, event = (lead.first, lead.second), lead.candidate.parameters, lead.finding.event
    coin = np.random.default_rng(np.random.SeedSequence(source.seed, spawn_key=(CONFIRM_KEY, number)))
    counts, piece, bets = EventCounts(0, 0, 0, 0), 0, bets_on(lead, test.claim)
    most = 2 * source.batch(lead.first)
    for until in spending.checkpoints:
        if counts.trials >= spending.usual and counts.trials in spending.trials and not promising(result):
            break
        trials = until - counts.trials
        block = most if source.mechanism.noise == "noise" else min(most, 1 + until // BLOCKS)
        for size in _sizes(trials, block):
            first = int(coin.binomial(size, 0.5))
            runs, hits = (first, size - first), [0, 0]
            for side in (0, 1) if coin.random() < 0.5 else (1, 0):
                if runs[side]:
                    key = (CONFIRM_KEY, number, piece, side)
                    hits[side] = source.count(inputs[side], parameters, [event], runs[side], key)[0]
            piece += 1
            result.blocks.append(EventCounts(hits[0], hits[1], *runs))
            counts = counts + result.blocks[-1]
            report(counts.trials, max(until, spending.usual))
        if result.dependent:
            raise carried(lead)
        result.look(counts, spending, bets, test)
        if settled(result):
            break


def bets_on(lead: Lead, claim: TestedClaim) -> Bets:
    """Bets that aim at what the search has seen, where ε is claimed and that was beyond it."""
    hits = sorted((lead.finding.hits1, lead.finding.hits2))
    if not isinstance(claim, PureClaim) or hits[0] == 0:
        return Bets()
    beyond = math.log(hits[1] / hits[0]) - claim.amount
    return Bets(aim=beyond) if beyond > 0 else Bets()


def carried(lead: Lead) -> MechanismFailed:
    """The error for a mechanism whose runs are not independent."""
    return MechanismFailed(
        "carries something from one call to the next, so that the runs are not independent and no "
        "verdict would be valid (leave out `size`: where a call is a run, what is carried does no "
        "harm); seen",
        shown(lead.first),
        dict(lead.candidate.parameters),
    )


def _sizes(trials: int, most: int) -> list[int]:
    return [min(most, trials - start) for start in range(0, trials, most)]


def _count(
    source: OutputSource,
    inputs: tuple[Answers, Answers],
    parameters: Parameters,
    event: Event,
    bins: Bins | None,
    task: Sequence[tuple[int, int, tuple[int, ...]]],
) -> tuple[list[EventCounts], Histogram]:
    """How often the event happened in every block of a few pieces of trials, and the histogram of all."""
    blocks: list[tuple[Outputs, Outputs]] = []
    for size, most, key in task:
        blocks += source.toss(inputs, parameters, size, max(1, min(most, size // LEAST_IN_BLOCK)), key)
    first, second = join([one for one, _ in blocks]), join([two for _, two in blocks])
    hits1 = _by_block(event.holds(first), [len(one) for one, _ in blocks])
    hits2 = _by_block(event.holds(second), [len(two) for _, two in blocks])
    counts = [
        EventCounts(h1, h2, len(one), len(two))
        for h1, h2, (one, two) in zip(hits1, hits2, blocks, strict=True)
    ]
    return counts, Histogram((), (), ()) if bins is None else bins.tally(first, second)


def count_again(
    source: OutputSource,
    inputs: tuple[Answers, Answers],
    parameters: Parameters,
    event: Event,
    runs: int,
    key: tuple[int, ...] = (),
) -> EventCounts:
    """How often an event happens on the two inputs, in so many trials; another key, other runs."""
    total = EventCounts(0, 0, 0, 0)
    for piece, size in enumerate(_sizes(runs, PIECE if source.mechanism.one_by_one else CHUNK)):
        task = [(size, min(BLOCKS, 1 + size // PIECE), (CONFIRM_KEY, *key, piece))]
        total = sum(_count(source, inputs, parameters, event, None, task)[0], total)
    return total


def _by_block(holds: NDArray[np.bool_], sizes: Sequence[int]) -> list[int]:
    before = np.concatenate([[0], np.cumsum(holds)])
    ends = np.concatenate([[0], np.cumsum(sizes)])
    return [int(n) for n in np.diff(before[ends])]


def _uneven(blocks: Floats) -> bool:
    """Whether these (hits, runs) are too uneven for one rate; neighbouring blocks are taken together until
    enough is expected of each."""
    hits, runs = blocks.sum(axis=0)
    rarer = min(hits, runs - hits)
    number = min(len(blocks), int(rarer / LEAST_EXPECTED))
    if number < 2:
        return False
    parts = np.array([part.sum(axis=0) for part in np.array_split(blocks, number)])
    parts = parts[parts[:, 1] > 0]
    expected = parts[:, 1] * hits / runs
    squares = (parts[:, 0] - expected) ** 2 / (expected * (1 - hits / runs))
    return bool(special.chdtrc(len(parts) - 1, squares.sum()) < DEPENDENT)
