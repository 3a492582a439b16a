"""Evidence that grows: bets against a claim, whose stake may be counted at any time.

A gambler starts with a stake of 1 and bets on every trial, at odds that are fair or worse if the claim holds.
Then the wealth is a supermartingale that is never below 0, and by Ville's inequality it ever reaches 1/α
with a probability of at most α (Ville 1939; Shafer and Vovk 2019; Waudby-Smith and Ramdas 2023). So the claim
may be refuted whenever the wealth is 1/α: nobody has to say beforehand when that will be looked at, more
runs may be added tomorrow, and runs of several machines are one game played in turn. The amounts that have
not been refuted are a confidence sequence: it holds at all times at once.

Shares. Of n trials s succeeded, each with a probability of at most q given those before. A bet on odds that
are e^d times as good, d > 0, multiplies the stake by e^d/(1 + q(e^d - 1)) at a success and by
1/(1 + q(e^d - 1)) else: at most 1 on average, for every chance up to q. The stake is parted over many d, and

    wealth(q) = Σ w_d · exp(s·d - n·ln(1 + q(e^d - 1)))

depends on the counts alone and falls in q, so that the shares that are refuted are those below a bound.
With ε, a success is a hit on side 1, a trial is a hit, and q = 1/(1 + e^-ε).

Differences. That P1 ≤ b·P2 + δ says that a trial, which tosses for its side, pays 2 for a hit on side 1, less
2b for one on side 2, less δ: at most 0 on average. The share λ < 1/(2b + δ) of the stake that is put on it
is parted as well. The wealth falls in b and in δ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freegap.errors import MissingExtra

try:
    from scipy import special
except ImportError as missing:  # the light core does without
    raise MissingExtra("scipy", "audit") from missing

Floats = NDArray[np.float64]

STEPS = 8 * 0.65 ** np.arange(32.0)  # the logarithms d of the odds
STAKES = 0.5 * 0.7 ** np.arange(64.0)  # the shares λ
AROUND = np.array([0.7, 1.0, 1.4])  # of what is aimed at
FARTHEST, HALVINGS = 60.0, 46


@dataclass(frozen=True)
class Bets:
    """How the stake is parted.

    aim: half of it goes to odds of about this logarithm, what a search expects; the rest is spread.

    >>> wealth = Bets().log_wealth(90, 10, 0.0)  # 90 of 100, where at most half are claimed
    >>> bool(np.log(1e12) < wealth < np.log(1e18))
    True
    """

    aim: float | None = None

    @property
    def _parts(self) -> tuple[Floats, Floats]:
        """The odds, and the logarithms of what is put on each."""
        if self.aim is None:
            return STEPS, np.full(len(STEPS), -np.log(len(STEPS)))
        near = np.full(len(AROUND), -np.log(2 * len(AROUND)))
        return np.concatenate([self.aim * AROUND, STEPS]), np.concatenate(
            [near, np.full(len(STEPS), -np.log(2 * len(STEPS)))]
        )

    def log_wealth(self, successes: ArrayLike, failures: ArrayLike, log_odds: ArrayLike) -> Floats:
        """The logarithm of the wealth against a chance of success of at most so much, by its log odds."""
        chance = special.expit(np.asarray(log_odds, dtype=np.float64))
        odds, stakes = (part.reshape(-1, *[1] * chance.ndim) for part in self._parts)
        won = np.asarray(successes, dtype=np.float64)
        paid = won * odds - (won + np.asarray(failures)) * np.log1p(chance * np.expm1(odds))
        return _log_sum(stakes + paid)

    def lower(self, successes: float, failures: float, level: ArrayLike) -> Floats:
        """A lower bound for the log odds of a success, at all times at once; -inf where there is none.

        >>> at, later = (float(Bets().lower(9 * n, n, 1e-6)) for n in (100, 10_000))
        >>> bool(at < later < np.log(9))
        True
        """
        levels = np.asarray(level, dtype=np.float64)
        if successes == 0:
            return np.full_like(levels, -np.inf)
        with np.errstate(divide="ignore"):
            wanted = -np.log(levels)
        seen = np.log(successes) - np.log(failures) if failures else FARTHEST
        low, high = np.full_like(levels, seen - FARTHEST), np.full_like(levels, seen)
        reached = self.log_wealth(successes, failures, low) >= wanted
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            refuted = self.log_wealth(successes, failures, middle) >= wanted
            low, high = np.where(refuted, middle, low), np.where(refuted, high, middle)
        return np.where(reached, low, -np.inf)


def log_wealth_of_difference(
    hits1: ArrayLike, hits2: ArrayLike, misses: ArrayLike, ratio: ArrayLike, delta: ArrayLike
) -> Floats:
    """The logarithm of the wealth against P1 ≤ ratio·P2 + δ, by hits on the two sides and misses.

    >>> bool(log_wealth_of_difference(60, 0, 10**6, 2.0, 5e-5) > np.log(1e3) > 0)
    True
    """
    slope, chance = np.broadcast_arrays(np.asarray(ratio, np.float64), np.asarray(delta, np.float64))
    stake = STAKES.reshape(-1, *[1] * slope.ndim)
    lost = stake * (2 * slope + chance)
    with np.errstate(divide="ignore", invalid="ignore"):
        paid = (
            np.asarray(hits1) * np.log1p(stake * (2 - chance))
            + np.asarray(hits2) * np.log1p(-np.minimum(lost, 1 - 1e-12))
            + np.asarray(misses) * np.log1p(-stake * chance)
        )
    return _log_sum(np.where(lost < 1 - 1e-12, paid, -np.inf) - np.log(len(STAKES)))


def _log_sum(logs: Floats) -> Floats:
    """The logarithm of the sum of numbers given by theirs, along the first axis."""
    most = np.maximum(logs.max(axis=0), -1e300)
    with np.errstate(divide="ignore"):
        found: Floats = most + np.log(np.exp(logs - most).sum(axis=0))
    return found
