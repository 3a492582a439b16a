"""How fast an audit's runs are on a device, and so how many fit into its time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from freegap.auditor.device_moves import Known
from freegap.auditor.device_runs import DeviceSource
from freegap.auditor.device_weighed import CAUTION, SeenThere, Weighed
from freegap.auditor.inputs import SearchCandidate
from freegap.auditor.plan import BoundForecast, Plan
from freegap.auditor.stages import Stages

WEIGH_KEY = 6
SEARCH_PART, RUN_OFF_PART = 0.5, 0.08  # of the time; the rest is for the confirmation
LEAST_WEIGHED, NO_SLOWER = 2**14, 1.5  # runs; a batch in which they take at most so many times as long as few


@dataclass
class PacedStages(Stages):
    """The stages of an audit that weighs candidates on a device, by the clock."""

    on: DeviceSource | None = None
    seconds: float | None = None
    started: float = field(default_factory=lambda: time.monotonic())
    weighings: int = 0
    least: int = LEAST_WEIGHED
    """Runs that take hardly longer than fewer: to start a batch takes its time, on a GPU that of millions."""
    shortest: float = 0.0
    """Seconds in which so many runs of each side are weighed."""
    paces: dict[int, float] = field(default_factory=dict)
    """Seconds a run, as last seen, by the length of the input."""

    @property
    def there(self) -> DeviceSource:
        """Where the runs are made."""
        if self.on is None:
            raise ValueError("an audit on a device has one")
        return self.on

    def weigh(
        self,
        candidate: SearchCandidate,
        known: Sequence[Known],
        runs: int,
        caution: float = CAUTION,
        times: int = 1,
    ) -> Weighed:
        """How often these events happen on the device, and what they come to, on inputs so many times as far
        apart."""
        self.weighings += 1
        started = time.perf_counter()
        pair = candidate.pair if times == 1 else candidate.pair.stretched(times)
        seen = SeenThere.on(
            self.there, replace(candidate, pair=pair), known, runs, (WEIGH_KEY, self.weighings)
        )
        self.workers.runs += 2 * runs
        self.paces[len(candidate.pair.first)] = (time.perf_counter() - started) / (2 * runs)
        return seen.weighed(candidate, self._forecast(candidate, runs, caution, times))

    def _try_out(self, candidate: SearchCandidate) -> None:
        """See how fast the runs of a candidate are: `least`, and its pace."""
        most = self.there.batch(candidate.pair.first)
        self.weigh(candidate, [], min(LEAST_WEIGHED, most))  # makes the library ready
        seen: dict[int, float] = {}
        runs = min(LEAST_WEIGHED, most)
        while runs not in seen:
            self.weigh(candidate, [], runs)
            seen[runs] = 2 * runs * self.paces[len(candidate.pair.first)]
            runs = min(4 * runs, most)
        few = min(seen.values())
        self.least = max(runs for runs, taken in seen.items() if taken <= NO_SLOWER * few)
        self.shortest = seen[self.least]

    def _plan_of(self, candidate: SearchCandidate) -> Plan:
        """The plan, with as many runs for a confirmation as there is time for: of long inputs there are
        fewer."""
        if self.seconds is None:
            return self.plan
        return replace(self.plan, confirm=self._affordable(1 - SEARCH_PART - RUN_OFF_PART, candidate))

    def _forecast(
        self, candidate: SearchCandidate, runs: int, caution: float = CAUTION, times: int = 1
    ) -> BoundForecast:
        """How to judge counts of so many runs on each side, on inputs so many times as far apart."""
        return replace(self._plan_of(candidate).forecast(runs, caution), distance=float(times))

    def _affordable(self, part: float, candidate: SearchCandidate) -> int:
        """How many runs of each side of a candidate fit into a part of the time."""
        pace = self.paces.get(len(candidate.pair.first), max(self.paces.values()))
        return max(100, int(part * (self.seconds or 0.0) / max(2 * pace, 1e-12)))

    @property
    def _elapsed(self) -> float:
        """What of the time is over."""
        return 0.0 if self.seconds is None else (time.monotonic() - self.started) / self.seconds

    def _over(self, part: float) -> bool:
        return self._elapsed > part


def pace_of(work: Callable[[int], None], batch: int, seconds: float) -> float:
    """Seconds a run of work that makes a batch of runs on each of two sides, seen for about so many seconds.

    The first call makes the library ready, and is not counted.
    """
    work(0)
    started, calls = time.perf_counter(), 0
    while (taken := time.perf_counter() - started) < seconds or calls == 0:
        calls += 1
        work(calls)
    return taken / (2 * batch * calls)
