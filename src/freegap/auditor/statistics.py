"""The test on which a verdict rests: exact, free of nuisance parameters, valid at every look.

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
side 1 in the hits is at least its bound of Clopper and Pearson given the number of hits, and the rate of
hits r = (P1 + P2)/2 at least its own; the two levels add up to the level (a union bound, in the manner of
Berger and Boos 1994). A claim says how much privacy (P1, P2) take at least, in its own measure, and that
grows with θ, and with r for a given θ: so its least value on the set is that of the corner. For ρ it is the
divergence of Rényi between two coins, at any order α > 1: data processing (van Erven and Harremoës 2014,
theorem 9) makes it a lower bound for that of the outputs, and makes it grow with r, since a rarer event with
the same ratio is a more frequent one followed by a coin of its own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freegap.errors import InvalidArgument, MissingExtra
from freegap.values.measures import Approximate, Measure, Pure, ZeroConcentrated

try:
    from scipy import special
except ImportError as missing:  # the light core does without
    raise MissingExtra("scipy", "audit") from missing

Floats = NDArray[np.float64]

RATE_SHARE = 0.1  # of the level, for the rate of hits
CERTAIN, ROUNDING = 1e-9, 1e-10  # so far from 1, rounding errors of a divergence are smaller than this


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


def corner(counts: EventCounts, level: ArrayLike) -> tuple[Floats, Floats]:
    """The corner of the set of (P1, P2) that is left at a level; (0, 0) without a hit on side 1."""
    levels = np.asarray(level, dtype=np.float64)
    hits, runs = counts.hits1 + counts.hits2, counts.runs1 + counts.runs2
    if counts.hits1 == 0:
        return np.zeros_like(levels), np.zeros_like(levels)
    rate = special.betaincinv(hits, runs - hits + 1, RATE_SHARE * levels)
    other = special.betainccinv(counts.hits2 + 1, counts.hits1, (1 - RATE_SHARE) * levels)  # 1 - θ
    first, second = np.minimum(1.0, 2 * rate * (1 - other)), 2 * rate * other
    known = np.isfinite(first) & np.isfinite(second)  # at levels beyond the doubles nothing is
    return np.where(known, first, 0.0), np.where(known, second, 0.0)


class TestedClaim(ABC):
    """What a mechanism claims, in one measure, and what counts have to say to it."""

    symbol: ClassVar[str]
    amount: float
    """What is claimed, in the measure of the claim."""

    delta: float = 0.0

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

    def lower_bound(self, counts: EventCounts, alpha: float) -> float:
        """A lower confidence bound for the true amount: P(bound > amount | claim) ≤ α. At least 0."""
        return max(0.0, float(self.value(*corner(counts, alpha))))

    def p_value(self, counts: EventCounts, amounts: ArrayLike) -> Any:
        """A valid p-value for each amount: the smallest level whose bound is above it, rounded up."""
        wanted = np.asarray(amounts, dtype=np.float64)
        low, high = np.full_like(wanted, -700.0), np.zeros_like(wanted)
        rejected = self.value(*corner(counts, np.ones_like(wanted))) > wanted
        for _ in range(60):
            middle = (low + high) / 2
            above = self.value(*corner(counts, np.exp(middle))) > wanted
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        found: Floats = np.where(rejected, np.exp(high), 1.0)
        return found if found.ndim else float(found)

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
    symbol: ClassVar[str] = "ε"

    def value(self, p1: ArrayLike, p2: ArrayLike, *, fine: bool = True) -> Floats:
        """ln(P1/P2)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = np.log(p1) - np.log(p2)
        return np.where(np.isnan(found), -np.inf, found)

    def lower_bound(self, counts: EventCounts, alpha: float) -> float:
        """The inversion of the binomial tail."""
        if counts.hits1 == 0:
            return 0.0
        other = special.betainccinv(counts.hits2 + 1, counts.hits1, alpha)  # 1 - θ, exact near 0 too
        return float(max(0.0, np.log1p(-other) - np.log(other)))

    def p_value(self, counts: EventCounts, amounts: ArrayLike) -> Any:
        """The binomial tail.

        >>> round(PureClaim(1.0).p_value(EventCounts(30, 0, 100, 100), 0.0), 12) == round(0.5 ** 30, 12)
        True
        """
        levels = np.asarray(amounts, dtype=np.float64)
        if counts.hits1 == 0:
            found: Floats = np.ones_like(levels)
        else:
            found = special.betainc(counts.hits1, counts.hits2 + 1, special.expit(levels))
        return found if found.ndim else float(found)


@dataclass(frozen=True)
class ApproximateClaim(TestedClaim):
    """ε at a given δ, and δ at a given ε."""

    amount: float
    delta: float
    symbol: ClassVar[str] = "ε"

    def value(self, p1: ArrayLike, p2: ArrayLike, *, fine: bool = True) -> Floats:
        """ln((P1 - δ)/P2); where P1 is below δ and a search asks, how far from the claim it is, below 0."""
        over = np.asarray(p1) - self.delta
        found = PureClaim(self.amount).value(np.maximum(over, 0.0), p2)
        if fine:
            return found
        return np.where(over > 0, found, over - math.exp(self.amount) * np.asarray(p2))


ORDERS, FEW_ORDERS = 1 + np.geomspace(1e-3, 1e3, 145), 1 + np.geomspace(1e-2, 1e2, 9)


@dataclass(frozen=True)
class ConcentratedClaim(TestedClaim):
    """ρ, by the divergence of Rényi between two coins.

    >>> claim = ConcentratedClaim(0.125)  # a Gaussian of standard deviation 2, cut at its middle
    >>> bool(0.07 < claim.value(0.5987, 0.4013) < 0.125)
    True
    """

    amount: float
    symbol: ClassVar[str] = "ρ"

    @property
    def epsilon(self) -> float | None:
        """None."""
        return None

    @property
    def scale(self) -> float:
        """The ε that is ρ-private by Bun and Steinke 2016, proposition 1.4."""
        return math.sqrt(2 * self.amount)

    def value(self, p1: ArrayLike, p2: ArrayLike, *, fine: bool = True) -> Floats:
        """The largest of the divergence at an order, over the order, both ways; each order is a proof.

        A smaller P1 or a larger P2 takes less. So P1 is taken as at most 1 - 1e-9 and P2 as at least 1e-300,
        which keeps the digits of what is left to 1; a P2 beyond that takes nothing.
        """
        first = np.clip(np.asarray(p1, dtype=np.float64), 1e-300, 1 - CERTAIN)
        second = np.clip(np.asarray(p2, dtype=np.float64), 1e-300, 1 - CERTAIN)
        order = (ORDERS if fine else FEW_ORDERS).reshape(-1, *[1] * first.ndim)
        logs = np.log(first), np.log(second), np.log1p(-first), np.log1p(-second)
        best: Floats = np.zeros_like(first)
        for a, b, c, d in (logs, (logs[1], logs[0], logs[3], logs[2])):
            moment = np.logaddexp(order * a + (1 - order) * b, order * c + (1 - order) * d)
            best = np.maximum(best, (moment / (order * (order - 1))).max(axis=0))
        return np.where((first > second) & (second < 1 - CERTAIN), best - ROUNDING, 0.0)


def claim_of(measure: Measure) -> TestedClaim:
    """The claim to be private in a measure."""
    amount, delta = float(measure.spent), float(measure.delta)
    if isinstance(measure, Approximate) and delta > 0:
        return ApproximateClaim(amount, delta)
    if isinstance(measure, Pure | Approximate):
        return PureClaim(amount)
    if isinstance(measure, ZeroConcentrated):
        return ConcentratedClaim(amount)
    raise InvalidArgument("measure", measure.name, "cannot be audited", "Claim ε, (ε, δ) or ρ.")


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
    def p_value(looks: Sequence[Look], claim: TestedClaim, amounts: ArrayLike) -> Any:
        """The p-value for each amount over the looks made so far, corrected for having looked."""
        levels = np.asarray(amounts, dtype=np.float64)
        best: Floats = np.ones_like(levels)
        for look in looks:
            best = np.minimum(best, claim.p_value(look.counts, levels) / look.share)
        return best if best.ndim else float(best)

    @staticmethod
    def lower_bound(looks: Sequence[Look], claim: TestedClaim, alpha: float) -> float:
        """The lower bound in the measure of the claim over the looks made so far, corrected for having
        looked."""
        return max((claim.lower_bound(look.counts, alpha * look.share) for look in looks), default=0.0)

    @staticmethod
    def delta_lower_bound(looks: Sequence[Look], epsilon: float, alpha: float) -> float:
        """A lower bound for the δ that an ε needs: for P1 - e^ε·P2. At least 0."""
        corners = [corner(look.counts, alpha * look.share) for look in looks]
        return max([0.0, *(float(p1 - math.exp(epsilon) * p2) for p1, p2 in corners)])
