"""How well two inputs can be told apart by an output: the errors of tests, with a band that holds for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from freegap.auditor.betting import Bets, Floats
from freegap.auditor.events import Histogram


@dataclass(frozen=True)
class ErrorBand:
    """Tests that say "first input" on more and more bars of a histogram: the chance of a false alarm, which
    is P2 of those bars, and that to miss, 1 - P1; of each what was seen, and its confidence bounds.

    The bars and their order come from other samples. Each bound is a confidence sequence, and they share the
    level, so that all of them hold together, at all times (Ville's inequality and a union bound). Since a
    trade-off curve falls and is convex, that of the mechanism is nowhere above the line through the upper
    ends.
    """

    alarm: Floats
    miss: Floats
    alarm_bounds: tuple[Floats, Floats]
    miss_bounds: tuple[Floats, Floats]

    def at(self, alarms: Floats) -> tuple[Floats, Floats]:
        """The lower and the upper end of the band over some chances of a false alarm."""
        lower = np.interp(alarms, self.alarm_bounds[0], self.miss_bounds[0])
        upper = np.interp(alarms, self.alarm_bounds[1], self.miss_bounds[1])
        return lower, upper

    def to_dict(self) -> dict[str, list[float]]:
        """The tests as plain values."""
        parts = {"alarm": self.alarm, "miss": self.miss}
        for name, (low, high) in {"alarm": self.alarm_bounds, "miss": self.miss_bounds}.items():
            parts |= {f"{name}_at_least": low, f"{name}_at_most": high}
        return {name: [float(x) for x in part] for name, part in parts.items()}


def errors(histogram: Histogram, level: float) -> ErrorBand | None:
    """The errors of the tests along a histogram, at a level; None without runs or bars.

    >>> one = Histogram((), (90, 10), (10, 90), (100, 100), (0, 1))
    >>> found = errors(one, 0.05)
    >>> found.alarm.tolist(), found.miss.round(6).tolist()
    ([0.0, 0.1, 1.0, 1.0], [1.0, 0.1, 0.0, 0.0])
    >>> bool(0.1 < found.alarm_bounds[1][1] < 0.3)
    True
    """
    if not histogram.order or not all(histogram.runs):
        return None
    order, part = list(histogram.order), level / (4 * len(histogram.order))
    hits = [np.cumsum(np.array(side)[order]) for side in (histogram.first, histogram.second)]
    lows, highs = [], []
    for count, runs in zip(hits, histogram.runs, strict=True):
        lows.append(_padded([_least(int(n), runs, part) for n in count]))
        highs.append(_padded([1 - _least(runs - int(n), runs, part) for n in count]))
    seen1, seen2 = (_padded(count / runs) for count, runs in zip(hits, histogram.runs, strict=True))
    return ErrorBand(seen2, 1 - seen1, (lows[1], highs[1]), (1 - highs[0], 1 - lows[0]))


def _least(hits: int, runs: int, level: float) -> float:
    return float(special.expit(Bets().lower(hits, runs - hits, level)))


def _padded(inner: list[float] | Floats) -> Floats:
    """With the tests that never and that always say so, which err as they do for sure."""
    return np.concatenate([[0.0], np.maximum.accumulate(np.asarray(inner, dtype=np.float64)), [1.0]])
