"""What was seen of candidates on a device: which of their events promise most."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TypeVar

from freegap.auditor.device_moves import Known
from freegap.auditor.device_runs import DeviceSource, EventHits
from freegap.auditor.device_tally import OutputTally, events_of_kinds, events_of_outputs, scored
from freegap.auditor.families import Finding
from freegap.auditor.inputs import SearchCandidate
from freegap.auditor.outputs import REAL
from freegap.auditor.plan import BoundForecast

T = TypeVar("T")

MOST_EVENTS = 16
CAUTION = 1.5


@dataclass
class Weighed:
    """A candidate, and what its events came to; best first.

    findings: events that were known before these runs, so that none of them was picked for its luck.
    proposed: those that these runs have shown. The best of thousands of rare outputs looks good by luck:
        they count once they have been weighed on other runs.
    """

    candidate: SearchCandidate
    findings: list[Finding]
    proposed: list[Finding]

    @property
    def merit(self) -> float:
        """That of the best event that was known."""
        return self.findings[0].merit if self.findings else -math.inf

    @property
    def known(self) -> list[Known]:
        """The best events of both kinds, each with its direction."""
        half = MOST_EVENTS // 2
        own = self.findings[: max(half, MOST_EVENTS - len(self.proposed))]
        chosen = [*own, *self.proposed[: MOST_EVENTS - len(own)]]
        return list(dict.fromkeys((finding.event, finding.swapped) for finding in chosen))


@dataclass
class SeenThere:
    """How often events happened on a device, on either side, and whole outputs: those that are known in full,
    and kinds of them, which have any number in some places."""

    known: Sequence[Known]
    hits: list[list[int]]
    outputs: OutputTally = field(default_factory=OutputTally)
    kinds: OutputTally = field(default_factory=OutputTally)

    @classmethod
    def on(
        cls,
        there: DeviceSource,
        candidate: SearchCandidate,
        known: Sequence[Known],
        runs: int,
        key: tuple[int, ...],
    ) -> SeenThere:
        """So many runs of each side of a candidate."""
        seen = cls(known, [[0, 0] for _ in known])
        for side, answers in enumerate((candidate.pair.first, candidate.pair.second)):
            for piece, size in enumerate(_sizes(runs, there.batch(answers))):
                found = EventHits([event for event, _ in known], there.device.xp)
                for path in there.run(answers, candidate.parameters, size, (*key, side, piece)):
                    found.add(path)
                    if len(path.one) == 1 and (path.one.codes == REAL).any():
                        seen.kinds.add(path.one.rows(1)[0], path.one, side, path.size)
                for i, count in enumerate(found.totals()):
                    seen.hits[i][side] += count
                seen.outputs.add_all([path for path in found.known if len(path.one) == 1], side)
        return seen

    def weighed(self, candidate: SearchCandidate, forecast: BoundForecast) -> Weighed:
        """What it comes to."""
        findings = [
            scored(event, swapped, count[0], count[1], forecast)
            for (event, swapped), count in zip(self.known, self.hits, strict=True)
        ]
        whole = events_of_outputs(self.outputs, forecast, alone=not self.kinds.counts)
        proposed = whole + events_of_kinds(self.kinds, forecast)
        return Weighed(candidate, by_merit(findings, []), by_merit(proposed, self.known))


def _sizes(runs: int, most: int) -> list[int]:
    return [min(most, runs - start) for start in range(0, runs, most)]


@dataclass
class Runner:
    """A candidate in the run-off, and how often its events have happened in it."""

    candidate: SearchCandidate
    known: Sequence[Known]
    hits: dict[Known, tuple[int, int]] = field(default_factory=dict)
    runs: int = 0

    def see(self, weighed: Weighed, runs: int) -> None:
        """Take in another look."""
        self.runs += runs
        for finding in weighed.findings:
            before = self.hits.get((finding.event, finding.swapped), (0, 0))
            both = (before[0] + finding.hits1, before[1] + finding.hits2)
            self.hits[finding.event, finding.swapped] = both

    def weighed(self, forecast: BoundForecast) -> Weighed:
        """What all looks came to."""
        found = [scored(event, swapped, *both, forecast) for (event, swapped), both in self.hits.items()]
        return Weighed(self.candidate, by_merit(found, []), [])


def by_merit(findings: Sequence[Finding], known: Sequence[Known]) -> list[Finding]:
    """Each event once, the best first; without those that are known."""
    unique = {(f.event, f.swapped): f for f in findings if f.score > -math.inf}
    return sorted((f for key, f in unique.items() if key not in known), key=lambda f: -f.merit)


def best_of(latest: Mapping[SearchCandidate, Weighed], most: int) -> list[Weighed]:
    """Of what was seen last of each candidate, the most promising."""
    return sorted(latest.values(), key=lambda weighed: -weighed.merit)[:most]


def best_of_each(latest: Mapping[SearchCandidate, Weighed], most: int) -> list[Weighed]:
    """The same, but one of each pattern of inputs: by moves alone none becomes another."""
    found: dict[str, Weighed] = {}
    for weighed in best_of(latest, len(latest)):
        found.setdefault(weighed.candidate.pair.category, weighed)
    return list(found.values())[:most]


def interleaved(many: Sequence[Iterable[T]]) -> Iterator[T]:
    """The first of each, the second of each, and so on.

    >>> list(interleaved(["ab", "123"]))
    ['a', '1', 'b', '2', '3']
    """
    for several in zip_longest(*many, fillvalue=None):
        yield from (one for one in several if one is not None)
