"""Look for what happens once in a million runs or less, on a device.

A leak that rare cannot be seen in the samples of a search. But it can be seen among the outputs that are
unlike all those of a first sample: beyond its smallest or largest number, or a whole number where it has
none. Those few come back from the device, and the usual search looks at them. What it finds is weighed on
fresh runs, as any event is. Outputs without real numbers need no such sieve: they are counted one and all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from freegap.auditor.columns import OnePath
from freegap.auditor.device_runs import DeviceSource, narrowed
from freegap.auditor.event_search import find_events
from freegap.auditor.families import Finding
from freegap.auditor.inputs import SearchCandidate
from freegap.auditor.outputs import Outputs, empty, join
from freegap.auditor.plan import BoundForecast, Effort

RARE_KEY = 7
FIRST_SAMPLE = 2**16
MOST_ROWS = 20_000  # of each side
MOST_PLAIN = 3
FEWER = 2**21


@dataclass
class Sieve:
    """What the outputs of a first sample were like: all else is rare.

    share: of the sample that counts as rare itself, at each end.
    ends: where these begin, for each kind of output and each place.
    whole: whether more than that were whole numbers.
    """

    share: float
    ends: dict[Any, tuple[float, float]] = field(default_factory=dict)
    whole: dict[Any, bool] = field(default_factory=dict)

    def learn(self, path: OnePath, xp: Any) -> None:
        """Take in the outputs of some runs."""
        kind = path.one.rows(1)[0]
        rank = int(self.share * path.size)
        for at, column in path.columns.items():
            ordered = xp.sort(column)
            low, high = self.ends.get((kind, at), (np.inf, -np.inf))
            ends = float(ordered[rank]), float(ordered[ordered.shape[0] - 1 - rank])
            self.ends[kind, at] = min(low, ends[0]), max(high, ends[1])
            many = int(xp.count_nonzero(column == xp.floor(column))) > rank
            self.whole[kind, at] = self.whole.get((kind, at), False) or many

    def rare(self, path: OnePath, xp: Any) -> OnePath | None:
        """Those of the runs whose outputs are rare; None where there are none."""
        kind, odd = path.one.rows(1)[0], None
        for at, column in path.columns.items():
            low, high = self.ends.get((kind, at), (np.inf, -np.inf))
            here = (column < low) | (column > high)
            if not self.whole.get((kind, at), True):
                here = here | (column == xp.floor(column))
            odd = here if odd is None else odd | here
        if odd is None:
            return None
        places = xp.nonzero(odd)[0]
        return narrowed(path, places, xp) if places.shape[0] else None


def rare_events(
    source: DeviceSource,
    candidate: SearchCandidate,
    runs: int,
    forecast: BoundForecast,
    number: int,
) -> list[Finding]:
    """Events among the rare outputs of so many runs of each side: for a search, to be weighed on others.

    First of fewer runs, by a coarser sieve: what is not so rare spoils the finer one.
    """
    found: list[Finding] = []
    for stage, size in enumerate(sorted({min(runs, FEWER), runs})):
        rows = _rare_rows(source, candidate, size, (RARE_KEY, number, stage))
        if not any(map(len, rows)):
            continue
        one, two = candidate.pair.first, candidate.pair.second
        natural = tuple(sorted({float(x) for x in (*one, *two, sum(one), sum(two))}))
        grow = replace(forecast, grow=forecast.grow * runs / size)
        found += find_events(rows[0], rows[1], Effort(grow, cuts=40, groups=4, atoms=True, natural=natural))
    return sorted(found, key=lambda finding: -finding.merit)


def _rare_rows(
    source: DeviceSource, candidate: SearchCandidate, runs: int, key: tuple[int, ...]
) -> list[Outputs]:
    """The rare outputs of each side."""
    xp, sides = source.device.xp, (candidate.pair.first, candidate.pair.second)
    sieve = Sieve(MOST_ROWS / 4 / runs)
    first = min(runs, FIRST_SAMPLE)
    for side, answers in enumerate(sides):
        for path in source.run(answers, candidate.parameters, first, (*key, side)):
            if len(path.one) == 1:
                sieve.learn(path, xp)
    found: list[Outputs] = []
    for side, answers in enumerate(sides):
        rows: list[Outputs] = []
        for piece, start in enumerate(range(0, runs, source.batch(answers))):
            size = min(source.batch(answers), runs - start)
            for path in source.run(answers, candidate.parameters, size, (*key, side, piece)):
                odd = sieve.rare(path, xp) if len(path.one) == 1 else None
                room = MOST_ROWS - sum(map(len, rows))
                if odd is not None and room > 0:
                    rows.append(odd.rows(room))
        found.append(join(rows) if rows else empty())
    return found


def plain_candidates(candidates: Sequence[SearchCandidate]) -> list[SearchCandidate]:
    """A few short pairs, of different patterns: a rare leak seldom depends on the input."""
    kept: dict[str, SearchCandidate] = {}
    for candidate in sorted(candidates, key=lambda c: (c.pair.far, c.pair.size)):
        kept.setdefault(candidate.pair.category, candidate)
    return list(kept.values())[:MOST_PLAIN]
