"""How a search goes from many candidates on few samples to few candidates on many."""

from __future__ import annotations

from dataclasses import dataclass, replace

from freegap.auditor.event_search import Effort
from freegap.auditor.statistics import BoundForecast

__all__ = ["Plan", "Round"]


@dataclass(frozen=True)
class Round:
    """How a candidate is tried in one round.

    thorough: how many of the candidates get the whole effort.
    """

    number: int
    size: int
    effort: Effort
    keep: int
    learn: bool = False
    floating: bool = True
    only_known: bool = False
    stretch: int = 1
    thorough: int = 1_000_000
    key: int = 0

    @property
    def apart(self) -> Round:
        """The same round for stretched pairs, which see far: up to what patience could show."""
        forecast = replace(self.effort.forecast, distance=float(self.stretch))
        if not self.only_known:
            forecast = replace(forecast, grow=forecast.grow * forecast.patience, patience=1.0)
        return replace(self, effort=replace(self.effort, forecast=forecast))


@dataclass(frozen=True)
class Plan:
    """The sizes of a search: `samples` per side in the last round, to be confirmed by `confirm` per side.

    claim: the ε that is claimed; patience: see `BoundForecast`.
    costly: runs are made one by one, so the first rounds get few of them.
    tight: the bound shall be as tight as possible.
    floating, learned: whether to look for these events.
    """

    samples: int
    confirm: int
    z: float
    claim: float
    patience: int = 1
    costly: bool = False
    tight: bool = False
    floating: bool = True
    learned: bool = True

    def forecast(self, size: int, caution: float) -> BoundForecast:
        """How to judge counts of `size` samples per side."""
        grow = max(1.0, self.confirm / size)
        return BoundForecast(grow, caution, self.z, patience=self.patience, claim=self.claim)

    @property
    def stretch(self) -> int:
        """How far to stretch pairs so that the claim allows a loss of about 1: an odd number; farther where
        the tightest bound is wanted, whatever it takes."""
        if self.tight:
            return max(1, 2 * min(3, int((2.2 / self.claim - 1) / 2 + 1e-9)) + 1)
        return max(1, 2 * min(12, int((1 / self.claim - 1) / 2 + 1e-9)) + 1)

    @property
    def survivors(self) -> tuple[int, ...]:
        """How many candidates go on from each round: more where the rounds are short."""
        return (14, 6, 4, 0) if self.costly or self.stretch > 1 else (10, 4, 3, 0)

    @property
    def judging(self) -> Round:
        """The last round, for what looks blatant before: half the samples are enough for that."""
        return replace(self, samples=self.samples // 2).round(3, 1)

    def round(self, number: int, candidates: int) -> Round:
        """Round 0 to 3: more samples, more effort, fewer candidates; the first two rounds have a number of
        samples to share out."""
        parts: tuple[float, ...] = (60, 16, 3, 1)
        if not self.costly:
            parts = (max(10, 0.4 * candidates), max(8, 0.28 * candidates), 4, 1)
        if number == 3 and not self.costly:  # a small loss is hard to tell from a slightly smaller one
            parts = (*parts[:3], 1 / min(4, self.stretch))
        size = max(50, int(self.samples / parts[number]))
        effort = Effort(
            self.forecast(size, (1.3, 1.2, 1.0, 1.0)[number]),
            cuts=(14, 20, 40, 40)[number],
            groups=(1, 3, 8, 8)[number],
            atoms=number > 1,
            light=number < 2,
        )
        return Round(
            number,
            size,
            effort,
            (4, 4, 8, 8)[number],
            learn=self.learned and number == 2,
            floating=self.floating,
            only_known=number == 3,
            stretch=self.stretch,
            thorough=self.survivors[number - 1] + 2,  # and the plain pairs
        )
