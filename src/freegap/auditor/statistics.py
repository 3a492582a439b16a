"""The test on which a verdict rests: exact, free of nuisance parameters, valid whenever it is looked at.

One trial is: toss a fair coin for a side, run the mechanism on the input of that side, see whether the
output falls into the event E. The sides are tossed, trial by trial, and that is what makes the test
exact: given that E happened s times in all, the number of times on side 1 is binomial with parameters s
and θ = P1/(P1 + P2), whatever P1 and P2 are. The hypothesis P1 ≤ e^ε·P2 says no more and no less than
θ ≤ 1/(1 + e^-ε), so

    p(ε) = P(Binomial(s, 1/(1 + e^-ε)) ≥ hits on side 1)

satisfies P(p ≤ α | hypothesis) ≤ α for every α, and inverting it (Clopper and Pearson) gives a lower
confidence bound for ε that has no ceiling: without a hit on side 2 it grows like the log of the hits.

P1 and P2 may change from trial to trial, by a state that the mechanism carries or a clock that it reads, as
long as they do not depend on the tosses of other trials and respect ε at each: given in which trials E
happened, the sides of those are independent, each side 1 with a probability of at most 1/(1 + e^-ε), so that
their number is stochastically no more than binomial. Where one call makes many runs, the runs of a call have
one side, and must be independent: that is assumed, and tested by how even the hits are over the calls, whose
order is tossed.

Ding 2020 §4.3.2 thins the hits by a random reduction and averages the p-values of many reductions; an average
of p-values is not a p-value (erratum 5). This test reduces nothing, and one set of counts serves every ε
of a curve (erratum 9).

For other claims there is no such conditional form. There the counts leave a set of (P1, P2): the share θ of
side 1 in the hits is at least its bound given the number of hits, and the rate of hits r = (P1 + P2)/2 at
least its own; the two levels add up to the level (a union bound, in the manner of Berger and Boos 1994). A
claim says how much privacy (P1, P2) take at least, in its own measure, and that grows with θ, and with r for
a given θ: so its least value on the set is that of the corner (`freegap.auditor.claims`).

Counts are looked at in two ways. At numbers of trials that were fixed before, bounds are those of Clopper and
Pearson, the tightest for that number; and at any time, by bets (`freegap.auditor.betting`). Both have their
part of the level.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freegap.auditor.betting import Bets, log_wealth_of_difference
from freegap.errors import MissingExtra

try:
    from scipy import special
except ImportError as missing:  # the light core does without
    raise MissingExtra("scipy", "audit") from missing

Floats = NDArray[np.float64]

RATE_SHARE = 0.1  # of the level, for the rate of hits
ALWAYS = 0.4  # of the level of a confirmation, for what is looked at all the time
FIRST_LOOK, SLOWEST, GROWTH = 16, 500, 1.35  # the first look at bets, and the next ones


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
    def trials(self) -> int:
        """Runs on both sides."""
        return self.runs1 + self.runs2

    @property
    def rate1(self) -> float:
        """Share of runs on side 1 in which the event happened."""
        return self.hits1 / self.runs1 if self.runs1 else 0.0

    @property
    def rate2(self) -> float:
        """Share of runs on side 2 in which the event happened."""
        return self.hits2 / self.runs2 if self.runs2 else 0.0


def corner(counts: EventCounts, level: ArrayLike, bets: Bets | None = None) -> tuple[Floats, Floats]:
    """The corner of the set of (P1, P2) that is left at a level; (0, 0) without a hit on side 1.

    bets: for counts at any time; else at a number of trials that was fixed before.
    """
    levels = np.asarray(level, dtype=np.float64)
    hits, runs = counts.hits1 + counts.hits2, counts.trials
    if counts.hits1 == 0:
        return np.zeros_like(levels), np.zeros_like(levels)
    rate_level, share_level = RATE_SHARE * levels, (1 - RATE_SHARE) * levels
    if bets is None:
        rate = special.betaincinv(hits, runs - hits + 1, rate_level)
        other = special.betainccinv(counts.hits2 + 1, counts.hits1, share_level)  # 1 - θ
    else:
        rate = special.expit(Bets().lower(hits, runs - hits, rate_level))
        other = special.expit(-bets.lower(counts.hits1, counts.hits2, share_level))
    first, second = np.minimum(1.0, 2 * rate * (1 - other)), 2 * rate * other
    known = np.isfinite(first) & np.isfinite(second)  # at levels beyond the doubles nothing is
    return np.where(known, first, 0.0), np.where(known, second, 0.0)


class TestedClaim(ABC):
    """What a mechanism claims, in one measure, and what counts have to say to it."""

    measure: ClassVar[str]
    """The names of the arguments that claim it, with a hyphen between them."""

    amount: float
    """What is claimed, in the measure of the claim."""

    delta: float = 0.0

    @property
    @abstractmethod
    def symbol(self) -> str:
        """What people call the amount."""

    @property
    def claimed(self) -> dict[str, float | None]:
        """What a mechanism gets that has parameters of these names."""
        return {self.measure: self.amount}

    @property
    def epsilon(self) -> float | None:
        """The ε that is claimed, where it is one."""
        return self.amount

    @property
    def scale(self) -> float:
        """An ε of about this size: the search looks at inputs and parameters as far apart as its noise."""
        return self.amount

    @abstractmethod
    def value(self, p1: ArrayLike, p2: ArrayLike, *, fine: bool = True) -> Floats:
        """The least amount that allows an event these probabilities on two neighbours, the first the larger.

        fine: as well as can be; else about that, for a search.
        """

    def lower_bound(self, counts: EventCounts, alpha: float, bets: Bets | None = None) -> float:
        """A lower confidence bound for the true amount: P(bound > amount | claim) ≤ α. At least 0."""
        return max(0.0, float(self.value(*corner(counts, alpha, bets))))

    def against(self, counts: EventCounts, level: float, bets: Bets | None = None) -> float:
        """What counts have to say against the claim: above 0 if they refute it at this level."""
        return float(self.value(*corner(counts, level, bets))) - self.amount

    def p_value(self, counts: EventCounts, amounts: ArrayLike, bets: Bets | None = None) -> Any:
        """A valid p-value for each amount: the smallest level whose bound is above it, rounded up."""
        wanted = np.asarray(amounts, dtype=np.float64)
        low, high = np.full_like(wanted, -700.0), np.zeros_like(wanted)
        rejected = self.value(*corner(counts, np.ones_like(wanted), bets)) > wanted
        for _ in range(40 if rejected.any() else 0):
            middle = (low + high) / 2
            above = self.value(*corner(counts, np.exp(middle), bets)) > wanted
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        found: Floats = np.where(rejected, np.exp(high), 1.0)
        return found if found.ndim else float(found)

    def least_error(self, alarm: ArrayLike) -> Floats:
        """The trade-off curve of the claim: with a chance P2 of a false alarm, the least chance 1 - P1 of
        missing that is allowed, by halving. For pictures."""
        second = np.asarray(alarm, dtype=np.float64)
        low, high = second.copy(), np.ones_like(second)
        for _ in range(50):
            middle = (low + high) / 2
            needed = np.maximum(self.value(middle, second), self.value(1 - second, 1 - middle))
            beyond = needed > self.amount
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return 1 - low

    def text(self, amount: float) -> str:
        """An amount in the measure of the claim."""
        return f"{self.symbol} = {amount:g}" + (f", δ = {self.delta:g}" if self.delta else "")


@dataclass(frozen=True)
class PureClaim(TestedClaim):
    """ε: by the exact conditional test.

    >>> few, many = EventCounts(1000, 0, 1000, 1000), EventCounts(9000, 0, 9000, 9000)
    >>> PureClaim(1.0).lower_bound(few, 1e-6) < PureClaim(1.0).lower_bound(many, 1e-6)
    True
    """

    amount: float
    measure: ClassVar[str] = "epsilon"
    symbol: ClassVar[str] = "ε"

    @property
    def claimed(self) -> dict[str, float | None]:
        """ε, and no δ."""
        return {"epsilon": self.amount, "delta": None}

    def value(self, p1: ArrayLike, p2: ArrayLike, *, fine: bool = True) -> Floats:
        """ln(P1/P2)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = np.log(p1) - np.log(p2)
        return np.where(np.isnan(found), -np.inf, found)

    def lower_bound(self, counts: EventCounts, alpha: float, bets: Bets | None = None) -> float:
        """The inversion of the binomial tail, or of the wealth."""
        if counts.hits1 == 0:
            return 0.0
        if bets is not None:
            return max(0.0, float(bets.lower(counts.hits1, counts.hits2, alpha)))
        other = special.betainccinv(counts.hits2 + 1, counts.hits1, alpha)  # 1 - θ, exact near 0 too
        return float(max(0.0, np.log1p(-other) - np.log(other)))

    def against(self, counts: EventCounts, level: float, bets: Bets | None = None) -> float:
        """How far the logarithm of the p-value is below that of the level."""
        if bets is not None:
            return float(bets.log_wealth(counts.hits1, counts.hits2, self.amount)) + math.log(level)
        p_value = float(self.p_value(counts, self.amount))
        return math.log(level) - math.log(p_value) if p_value else math.inf

    def p_value(self, counts: EventCounts, amounts: ArrayLike, bets: Bets | None = None) -> Any:
        """The binomial tail, or what the wealth says.

        >>> round(PureClaim(1.0).p_value(EventCounts(30, 0, 100, 100), 0.0), 12) == round(0.5 ** 30, 12)
        True
        """
        levels = np.asarray(amounts, dtype=np.float64)
        if counts.hits1 == 0:
            found: Floats = np.ones_like(levels)
        elif bets is not None:
            found = np.exp(-np.maximum(0.0, bets.log_wealth(counts.hits1, counts.hits2, levels)))
        else:
            found = special.betainc(counts.hits1, counts.hits2 + 1, special.expit(levels))
        return found if found.ndim else float(found)


@dataclass(frozen=True)
class Look:
    """One look at the counts: what they were, and the share of the level that this look may use.

    bets: where it is one of those that are made at any time; they share their part of the level.
    """

    counts: EventCounts
    share: float
    bets: Bets | None = None

    def to_dict(self) -> dict[str, Any]:
        """The look as plain values."""
        counts = self.counts
        found = {"hits": [counts.hits1, counts.hits2], "runs": [counts.runs1, counts.runs2]}
        return (
            found
            | {"share": self.share, "any_time": self.bets is not None}
            | ({} if self.bets is None else {"aim": self.bets.aim})
        )


@dataclass(frozen=True)
class Spending:
    """How a confirmation shares out the level: a part for bets, which are looked at all the time, the rest
    for looks at numbers of trials that are fixed before.

    The smallest of p/share over the looks is a valid p-value, and the largest of the bounds at level
    α·share a valid bound at level α, by the union bound; so the test may stop after any look.

    trials: the number of trials (both sides together) at each of the fixed looks, increasing.
    shares: of these looks; positive, at most 1 in sum with that of the bets.
    usual: the number of trials after which only a test that looks promising goes on.
    always: the share of the bets.
    least: trials that cost no more than fewer, so that there is no look before them.
    """

    trials: tuple[int, ...]
    shares: tuple[float, ...]
    usual: int
    always: float = 0.0
    least: int = FIRST_LOOK

    @classmethod
    def of(cls, trials: int, share: float = 1.0, patience: int = 1, *, late: float = 0.2) -> Spending:
        """Fixed looks after all of the trials, and after four, sixteen, … times as many up to `patience`
        times; most of what the bets leave of the level is kept for the look after all trials.

        late: of the level, for the looks after that.

        >>> Spending.of(6400).trials, Spending.of(6400, patience=16).trials
        ((6400,), (6400, 25600, 102400))
        """
        later = [4**i * trials for i in range(1, 32) if 4**i <= patience]
        plan = {trials: 1 - ALWAYS - (late if later else 0.0)} | {n: late / len(later) for n in later}
        return cls(tuple(plan), tuple(share * part for part in plan.values()), trials, share * ALWAYS)

    @property
    def usual_share(self) -> float:
        """The share of the level of the look after all of the usual trials."""
        return self.shares[self.trials.index(self.usual)]

    @property
    def checkpoints(self) -> dict[int, float]:
        """When the counts are looked at: numbers of trials, each with the share of its fixed look or 0.

        >>> list(Spending.of(100).checkpoints.items())
        [(16, 0.0), (21, 0.0), (29, 0.0), (39, 0.0), (53, 0.0), (71, 0.0), (96, 0.0), (100, 0.6)]
        >>> from dataclasses import replace
        >>> list(replace(Spending.of(100), least=60).checkpoints)
        [60, 81, 100]
        """
        found = dict.fromkeys(self.trials, 0.0)
        if self.always:
            at = float(max(self.least, min(SLOWEST, self.usual // 64)))
            while at < self.trials[-1]:
                found[int(at)] = 0.0
                at *= GROWTH
        found |= dict(zip(self.trials, self.shares, strict=True))
        return dict(sorted(found.items()))

    @staticmethod
    def p_value(looks: Sequence[Look], claim: TestedClaim, amounts: ArrayLike) -> Any:
        """The p-value for each amount over the looks made so far, corrected for having looked."""
        levels = np.asarray(amounts, dtype=np.float64)
        best: Floats = np.ones_like(levels)
        for look in looks:
            best = np.minimum(best, claim.p_value(look.counts, levels, look.bets) / look.share)
        return best if best.ndim else float(best)

    @staticmethod
    def lower_bound(looks: Sequence[Look], claim: TestedClaim, alpha: float) -> float:
        """The lower bound in the measure of the claim over the looks made so far, corrected for having
        looked."""
        found = (_bound_at(claim, look.counts, alpha * look.share, look.bets) for look in looks)
        return max(found, default=0.0)

    @staticmethod
    def delta_lower_bound(looks: Sequence[Look], epsilon: float, alpha: float) -> float:
        """A lower bound for the δ that an ε needs: for P1 - e^ε·P2. At least 0."""
        return max((_least_delta(look, epsilon, alpha * look.share) for look in looks), default=0.0)


@lru_cache(maxsize=1024)
def _bound_at(claim: TestedClaim, counts: EventCounts, level: float, bets: Bets | None) -> float:
    return claim.lower_bound(counts, level, bets)


def _least_delta(look: Look, epsilon: float, level: float) -> float:
    counts, ratio = look.counts, math.exp(epsilon)
    if look.bets is None:
        p1, p2 = corner(counts, level)
        return max(0.0, float(p1 - ratio * p2))
    low, high = 0.0, 1.0
    if log_wealth_against(counts, ratio, 0.0) < -math.log(level):
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        refuted = log_wealth_against(counts, ratio, middle) >= -math.log(level)
        low, high = (middle, high) if refuted else (low, middle)
    return low


def log_wealth_against(counts: EventCounts, ratio: ArrayLike, delta: ArrayLike) -> Floats:
    """The logarithm of the wealth of bets against P1 ≤ ratio·P2 + δ."""
    misses = counts.trials - counts.hits1 - counts.hits2
    return log_wealth_of_difference(counts.hits1, counts.hits2, misses, ratio, delta)
