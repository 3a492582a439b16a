"""How a search goes from many candidates on few samples to few candidates on many."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from freegap.auditor.features import Distance, Feature
from freegap.auditor.statistics import Floats, PureClaim, TestedClaim
from freegap.errors import MissingExtra

try:
    from scipy import special
except ImportError as missing:  # the light core does without
    raise MissingExtra("scipy", "audit") from missing

NOTHING = PureClaim(np.inf)


@dataclass(frozen=True)
class BoundForecast:
    """What a confirmation would come to, judged from fewer samples: for ranking, never for a verdict.

    grow: how many times more samples the confirmation will have.
    caution: standard deviations by which the counts at hand are taken less favourably than they came out,
        against picking what was merely lucky.
    z: standard deviations by which the confirmed bound will stay below the estimate.
    distance: how many times farther apart than neighbours the inputs were; the loss is shared out.
    patience: how many times more samples still a confirmation gets that looks like a violation of `claim`.
    runs: of the confirmation, on each side.
    """

    grow: float
    caution: float
    z: float
    distance: float = 1.0
    patience: float = 1.0
    claim: TestedClaim = NOTHING
    runs: float = 1.0

    def bound(self, hits1: ArrayLike, hits2: ArrayLike, choices: ArrayLike = 1) -> Floats:
        """The bound to be expected, in the measure of the claim; -inf where there is nothing to expect.

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
            found = self._expected(first, second, 1.0)
            # a lower end is below the estimate: where that is not above the claim, patience will not help
            if self.patience > 1 and self._above(first, second).any():
                later = self._expected(first, second, self.patience)
                hope = self.claim.amount + 0.3 * (later - self.claim.amount)
                found = np.where(later > self.claim.amount, np.maximum(found, hope), found)
        return found

    def _above(self, first: Floats, second: Floats) -> NDArray[np.bool_]:
        """Where the estimate is above the claim."""
        values = self.claim.value(np.maximum(first, 0) / self.runs, second / self.runs, fine=False)
        above: NDArray[np.bool_] = values > self.claim.amount
        return above

    def _expected(self, first: Floats, second: Floats, times: float) -> Floats:
        """What so many times these hits come to: the corner of the set that they leave, about."""
        first, second = times * first, times * second
        low, high = _wilson(first, second, self.z)
        if isinstance(self.claim, PureClaim):
            values = np.log(low) - np.log(high)
        else:
            total = first + second
            rate = np.maximum(total - self.z * np.sqrt(total), 0) / (times * self.runs)
            values = self.claim.value(np.minimum(1.0, low * rate), high * rate, fine=False)
        found: Floats = np.where((first > 0) & (low > 0), values, -np.inf)
        return found


def _wilson(first: Floats, second: Floats, z: float) -> tuple[Floats, Floats]:
    """The lower end of Wilson's interval for the share of the first side in the hits, and what is left to 1,
    written so that nothing cancels where side 2 is hardly hit."""
    total = first + second
    share, half = first / total, z * z / (2 * total)
    width = z * np.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2)
    whole = 1 + 2 * half
    return (share + half - width) / whole, ((1 - share) + half + width) / whole


@dataclass(frozen=True)
class Effort:
    """How hard to look.

    forecast: how to judge counts.
    cuts: how many cut points a numeric feature gets.
    groups: how many discrete conditions are crossed with the numeric features; 0 for none.
    atoms: whether to look for exact values among numbers that hardly ever repeat.
    natural: cut points that suggest themselves, such as the answers and the parameters.
    references: outputs to measure the Hamming distance from.
    extra: further features, such as a learned score.
    light: leave out what the rest will show as well, for a first look at many candidates.
    """

    forecast: BoundForecast
    cuts: int = 16
    groups: int = 2
    atoms: bool = False
    natural: tuple[float, ...] = ()
    references: tuple[Distance, ...] = ()
    extra: tuple[Feature, ...] = ()
    light: bool = False

    def eased(self) -> Effort:
        """At most the effort of a second look."""
        return replace(self, cuts=min(self.cuts, 20), groups=min(self.groups, 3), atoms=False, light=True)


def shared_out(runs: int, samples: int, search_samples: int) -> tuple[int, int, int, int]:
    """How to use so many runs, made one by one: samples and search samples, at most those given, patience,
    and how many candidates to begin with.

    >>> shared_out(10_000, 500_000, 100_000)
    (1500, 350, 1, 20)
    """
    confirm = max(100, min(samples, runs * 3 // 20))
    search = max(50, min(search_samples, runs * 7 // 200))
    patience = max(1, min(16, runs // (20 * confirm)))
    return confirm, search, patience, max(4, min(100, runs // 500))


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
    first: bool = False

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

    claim: what is claimed; patience: see `BoundForecast`.
    costly: runs are made one by one, so the first rounds get few of them.
    tight: the bound shall be as tight as possible.
    floating, learned: whether to look for these events.
    daring: how much of the caution is left out: who looks for what is rare must not drop what is uncertain.
    """

    samples: int
    confirm: int
    z: float
    claim: TestedClaim
    patience: int = 1
    costly: bool = False
    tight: bool = False
    floating: bool = True
    learned: bool = True
    daring: float = 0.0

    def forecast(self, size: int, caution: float) -> BoundForecast:
        """How to judge counts of `size` samples per side."""
        grow = max(1.0, self.confirm / size)
        return BoundForecast(
            grow,
            (1 - self.daring) * caution,
            self.z,
            patience=self.patience,
            claim=self.claim,
            runs=max(size, self.confirm),
        )

    @property
    def stretch(self) -> int:
        """How far to stretch pairs so that the claim allows a loss of about 1: an odd number; farther where
        the tightest bound is wanted, whatever it takes. Other losses than ε do not grow in proportion."""
        if not isinstance(self.claim, PureClaim):
            return 1
        if self.tight:
            return max(1, 2 * min(3, int((2.2 / self.claim.amount - 1) / 2 + 1e-9)) + 1)
        return max(1, 2 * min(12, int((1 / self.claim.amount - 1) / 2 + 1e-9)) + 1)

    @property
    def survivors(self) -> tuple[int, ...]:
        """How many candidates go on from each round: more where the rounds are short."""
        return (14, 6, 4, 0) if self.costly or self.stretch > 1 else (10, 4, 3, 0)

    @property
    def glances(self) -> tuple[Plan, ...]:
        """A tenth of it all, and a third: enough for what is so plain that as few runs will confirm it."""
        return tuple(
            replace(self, samples=self.samples // part, confirm=self.confirm // part, patience=1)
            for part in (10, 3)
        )

    @property
    def judging(self) -> Round:
        """The last round, for what looks blatant before: half the samples are enough for that."""
        return replace(self, samples=self.samples // 2).round(3, 1, few=self.stretch > 1)

    def heat(self, round_: Round, part: int) -> Round:
        """A part of the last round before it, for all that may get there. Nobody is daring here: of many
        events some are lucky on any samples, and would push out what is really there."""
        size = round_.size // part
        effort = replace(round_.effort, forecast=replace(self, daring=0.0).forecast(size, 1.0))
        return replace(round_, size=size, effort=effort, key=round_.key + 30 + part)

    def round(self, number: int, candidates: int, *, few: bool = False, glanced: bool = False) -> Round:
        """Round 0 to 3: more samples, more effort, fewer candidates; the first two rounds have a number of
        samples to share out.

        few: there were no more to begin with.
        glanced: all candidates were glanced at before, which has taken a part of the first round's samples.
        """
        parts: tuple[float, ...] = (60, 16, 3, 1)
        if not self.costly:
            first = 1.25 if glanced else 1.0
            forms = 1 if self.stretch == 1 else 2  # a pair that is stretched has them twice
            parts = (first * max(10, 0.4 * candidates), forms * max(8, 0.28 * candidates), forms * 4, 1)
        if not self.costly and few:  # they can have more, and show what is rarer
            parts = (*parts[:2], 1, 0.5)
        elif number == 3 and not self.costly:  # a small loss is hard to tell from a slightly smaller one
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
