"""The test on which a verdict rests: exact, free of nuisance parameters, valid at every look.

One trial is: toss a fair coin for a side, run the mechanism on the input of that side, see whether the
output falls into the event E. The sides are tossed, not alternated, and that is what makes the test
exact: given that E happened s times in all, the number of times on side 1 is binomial with parameters s
and θ = P1/(P1 + P2), whatever P1 and P2 are. The hypothesis P1 ≤ e^ε·P2 says no more and no less than
θ ≤ 1/(1 + e^-ε), so

    p(ε) = P(Binomial(s, 1/(1 + e^-ε)) ≥ hits on side 1)

satisfies P(p ≤ α | hypothesis) ≤ α for every α, and inverting it (Clopper and Pearson) gives a lower
confidence bound for ε that has no ceiling: without a hit on side 2 it grows like the log of the hits.

Ding 2020 §4.3.2 thins the hits by a random reduction and averages the p-values of many reductions; an average
of p-values is not a p-value (erratum 5). This test reduces nothing, and one set of counts serves every ε
of a curve (erratum 9).

For δ > 0 the hypothesis P1 ≤ e^ε·P2 + δ has no such conditional form; there, two Clopper–Pearson bounds
at half the level each are combined, which is valid given the tosses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freegap.errors import MissingExtra

try:
    from scipy import special
except ImportError as missing:  # the light core does without
    raise MissingExtra("scipy", "audit") from missing

__all__ = ["BoundForecast", "EventCounts", "Look", "Spending", "lower_bound", "p_value"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EventCounts:
    """How often the event happened on each side, of how many runs. Side 1 is the more likely one."""

    hits1: int
    hits2: int
    runs1: int
    runs2: int

    def __add__(self, other: EventCounts) -> EventCounts:
        return EventCounts(
            self.hits1 + other.hits1,
            self.hits2 + other.hits2,
            self.runs1 + other.runs1,
            self.runs2 + other.runs2,
        )

    @property
    def rate1(self) -> float:
        """Share of runs on side 1 in which the event happened."""
        return self.hits1 / self.runs1 if self.runs1 else 0.0

    @property
    def rate2(self) -> float:
        """Share of runs on side 2 in which the event happened."""
        return self.hits2 / self.runs2 if self.runs2 else 0.0


def p_value(counts: EventCounts, epsilon: ArrayLike, *, delta: float = 0.0) -> Any:
    """A valid p-value for P1 ≤ e^ε·P2 + δ: P(p ≤ α | hypothesis) ≤ α for every α in [0, 1].

    >>> round(float(p_value(EventCounts(30, 0, 100, 100), 0.0)), 12) == round(0.5 ** 30, 12)
    True
    """
    levels = np.asarray(epsilon, dtype=np.float64)
    if counts.hits1 == 0:
        found: Floats = np.ones_like(levels)
    elif delta == 0.0:
        found = special.betainc(counts.hits1, counts.hits2 + 1, special.expit(levels))
    else:
        found = np.vectorize(lambda level: _p_value_with_delta(counts, float(level), delta))(levels)
    return found if found.ndim else float(found)


def lower_bound(counts: EventCounts, alpha: float, *, delta: float = 0.0) -> float:
    """A lower confidence bound for the true ε: P(bound > ε | P1 ≤ e^ε·P2 + δ) ≤ α. At least 0.

    >>> few, many = EventCounts(1000, 0, 1000, 1000), EventCounts(9000, 0, 9000, 9000)
    >>> lower_bound(few, 1e-6) < lower_bound(many, 1e-6)
    True
    """
    if counts.hits1 == 0:
        return 0.0
    if delta > 0.0:
        low, high = _bounds(counts, alpha / 2)
        return float(max(0.0, np.log(low - delta) - np.log(high))) if low > delta else 0.0
    other = special.betainccinv(counts.hits2 + 1, counts.hits1, alpha)  # 1 - θ, exact near 0 too
    return float(max(0.0, np.log1p(-other) - np.log(other)))


def _bounds(counts: EventCounts, level: float) -> tuple[float, float]:
    """Clopper–Pearson: a lower bound for P1 and an upper bound for P2, each at the level."""
    low = special.betaincinv(counts.hits1, counts.runs1 - counts.hits1 + 1, level) if counts.hits1 else 0.0
    missed = counts.runs2 - counts.hits2
    high = special.betainccinv(counts.hits2 + 1, missed, level) if missed else 1.0
    return float(low), float(high)


def _p_value_with_delta(counts: EventCounts, epsilon: float, delta: float) -> float:
    """The smallest level at which the two bounds contradict the hypothesis, rounded up."""

    def rejects(log_level: float) -> bool:
        low, high = _bounds(counts, float(np.exp(log_level)) / 2)
        return bool(low > np.exp(epsilon) * high + delta)

    accepted, rejected = -700.0, 0.0
    if not rejects(rejected):
        return 1.0
    if rejects(accepted):
        return float(np.exp(accepted))
    for _ in range(60):
        middle = (accepted + rejected) / 2
        accepted, rejected = (accepted, middle) if rejects(middle) else (middle, rejected)
    return float(np.exp(rejected))


@dataclass(frozen=True)
class BoundForecast:
    """What a confirmation would come to, judged from fewer samples: for ranking, never for a verdict.

    grow: how many times more samples the confirmation will have.
    caution: standard deviations by which the counts at hand are taken less favourably than they came out,
        against picking what was merely lucky.
    z: standard deviations by which the confirmed bound will stay below the estimate.
    distance: how many times farther apart than neighbours the inputs were; the loss is shared out.
    patience: how many times more samples still a confirmation gets that looks like a violation of `claim`.
    """

    grow: float
    caution: float
    z: float
    distance: float = 1.0
    patience: float = 1.0
    claim: float = np.inf

    def bound(self, hits1: ArrayLike, hits2: ArrayLike, choices: ArrayLike = 1) -> Floats:
        """The bound for ε to be expected; -inf where there is nothing to expect.

        What only patience can show to be a violation comes before what cannot be, and after what shows
        at once.

        choices: of how many events this is the best: the luckiest is off by √(2·ln choices) deviations.

        >>> forecast = BoundForecast(grow=5, caution=2, z=4.9)
        >>> bool(forecast.bound(200, 100) < forecast.bound(2000, 1000) < np.log(2))
        True
        """
        first = np.asarray(hits1, dtype=np.float64)
        second = np.asarray(hits2, dtype=np.float64)
        caution = self.caution + 0.6 * np.sqrt(2 * np.log(np.maximum(1, choices)))
        first = self.grow * (first - caution * np.sqrt(first))
        second = self.grow * (second + caution * np.sqrt(second + 0.5))
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.distance != 1:
                total = first + second
                first = total * special.expit(np.log(first / second) / self.distance)
                second = total - first
            found = _wilson(first, second, self.z)
            # a lower end is below the estimate: where that is not above the claim, patience will not help
            if self.patience > 1 and (first > np.exp(self.claim) * second).any():
                later = _wilson(self.patience * first, self.patience * second, self.z)
                hope = self.claim + 0.3 * (later - self.claim)
                found = np.where(later > self.claim, np.maximum(found, hope), found)
        return found


def _wilson(first: Floats, second: Floats, z: float) -> Floats:
    """The lower end of Wilson's interval for log(P1/P2), given the hits on each side."""
    total = first + second
    share, half = first / total, z * z / (2 * total)
    width = z * np.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2)
    # log(low) - log(1 - low), written so that nothing cancels where side 2 is hardly hit
    bound = np.log(share + half - width) - np.log((1 - share) + half + width)
    found: Floats = np.where((first > 0) & (share + half > width), bound, -np.inf)
    return found


@dataclass(frozen=True)
class Look:
    """One look at the counts: what they were, and the share of the level that this look may use."""

    counts: EventCounts
    share: float


@dataclass(frozen=True)
class Spending:
    """A sequential test by alpha spending: the looks are fixed before, and share the level.

    The smallest of p/share over the looks is a valid p-value, and the largest of the bounds at level
    α·share a valid bound at level α, by the union bound; so the test may stop after any look.

    trials: the number of trials (both sides together) at each look, increasing.
    shares: positive, at most 1 in sum.
    usual: the number of trials after which only a test that looks promising goes on.
    """

    trials: tuple[int, ...]
    shares: tuple[float, ...]
    usual: int

    @classmethod
    def of(cls, trials: int, share: float = 1.0, patience: int = 1) -> Spending:
        """Looks after 1/64, 1/16, 1/4 and all of the trials, and after four, sixteen, … times as many up to
        `patience` times; most of the level is kept for the look after all trials.

        >>> Spending.of(6400).trials, Spending.of(6400, patience=16).trials
        ((100, 400, 1600, 6400), (100, 400, 1600, 6400, 25600, 102400))
        """
        plan = {trials // 64: 0.05, trials // 16: 0.05, trials // 4: 0.1, trials: 0.8}
        later = [4**i * trials for i in range(1, 32) if 4**i <= patience]
        if later:
            plan |= {trials: 0.6} | dict.fromkeys(later, 0.2 / len(later))
        kept = {count: part for count, part in plan.items() if count > 0}
        return cls(tuple(kept), tuple(share * part for part in kept.values()), trials)

    @property
    def usual_share(self) -> float:
        """The share of the level of the look after all of the usual trials."""
        return self.shares[self.trials.index(self.usual)]

    @staticmethod
    def p_value(looks: Sequence[Look], epsilon: ArrayLike, *, delta: float = 0.0) -> Any:
        """The p-value over the looks made so far, corrected for having looked."""
        levels = np.asarray(epsilon, dtype=np.float64)
        best: Floats = np.ones_like(levels)
        for look in looks:
            best = np.minimum(best, p_value(look.counts, levels, delta=delta) / look.share)
        return best if best.ndim else float(best)

    @staticmethod
    def lower_bound(looks: Sequence[Look], alpha: float, *, delta: float = 0.0) -> float:
        """The lower bound for ε over the looks made so far, corrected for having looked."""
        return max((lower_bound(look.counts, alpha * look.share, delta=delta) for look in looks), default=0.0)
