"""Look for what happens once in a million runs or less, on a device.

A leak that rare cannot be seen in the samples of a search. But it can be seen among the outputs that are
unlike all those of a first sample: beyond its smallest or largest number, or a whole number where it has
none. Those few come back from the device, and the usual search looks at them. What it finds is weighed on
fresh runs, as any event is. Outputs without real numbers need no such sieve: they are counted one and all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from freegap.auditor.columns import OnePath
from freegap.auditor.device import DeviceSource, narrowed
from freegap.auditor.event_search import find_events
from freegap.auditor.families import Finding
from freegap.auditor.inputs import SearchCandidate
from freegap.auditor.outputs import Outputs, Path, empty, join
from freegap.auditor.plan import BoundForecast, Effort

RARE_KEY = 7
FIRST_SAMPLE = 2**16
MOST_ROWS = 20_000  # of each side
MOST_PLAIN = 3


@dataclass
class Sieve:
    """What the outputs of a first sample were like: all else is rare.

    ends: the smallest and the largest number at each place.
    whole: whether any number there was a whole one.
    """

    ends: dict[Path, tuple[float, float]] = field(default_factory=dict)
    whole: dict[Path, bool] = field(default_factory=dict)

    def learn(self, path: OnePath, xp: Any) -> None:
        """Take in the outputs of some runs."""
        for at, column in path.columns.items():
            low, high = self.ends.get(at, (np.inf, -np.inf))
            self.ends[at] = min(low, float(xp.min(column))), max(high, float(xp.max(column)))
            seen = bool(xp.any(column == xp.floor(column)))
            self.whole[at] = self.whole.get(at, False) or seen

    def rare(self, path: OnePath, xp: Any) -> OnePath | None:
        """Those of the runs whose outputs are rare; None where there are none."""
        odd: Any = None
        for at, column in path.columns.items():
            low, high = self.ends.get(at, (np.inf, -np.inf))
            here = (column < low) | (column > high)
            if not self.whole.get(at, True):
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
    """Events among the rare outputs of so many runs of each side: for a search, to be weighed on others."""
    xp, sides = source.device.xp, (candidate.pair.first, candidate.pair.second)
    sieve = Sieve()
    for side, answers in enumerate(sides):
        for path in source.run(
            answers, candidate.parameters, min(runs, FIRST_SAMPLE), (RARE_KEY, number, side)
        ):
            sieve.learn(path, xp)
    found: list[Outputs] = []
    for side, answers in enumerate(sides):
        rows: list[Outputs] = []
        for piece, start in enumerate(range(0, runs, source.batch(answers))):
            size = min(source.batch(answers), runs - start)
            key = (RARE_KEY, number, side, piece)
            for path in source.run(answers, candidate.parameters, size, key):
                odd = sieve.rare(path, xp)
                room = MOST_ROWS - sum(map(len, rows))
                if odd is not None and room > 0:
                    rows.append(odd.rows(room))
        found.append(join(rows) if rows else empty())
    if not any(map(len, found)):
        return []
    answers = (*sides[0], *sides[1], float(sum(sides[0])), float(sum(sides[1])))
    effort = Effort(forecast, cuts=40, groups=4, atoms=True, natural=tuple(sorted(set(map(float, answers)))))
    return find_events(found[0], found[1], effort)


def plain_candidates(candidates: Sequence[SearchCandidate]) -> list[SearchCandidate]:
    """A few short pairs, of different patterns: a rare leak seldom depends on the input."""
    kept: dict[str, SearchCandidate] = {}
    for candidate in sorted(candidates, key=lambda c: (c.pair.far, c.pair.size)):
        kept.setdefault(candidate.pair.category, candidate)
    return list(kept.values())[:MOST_PLAIN]
