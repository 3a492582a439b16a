"""What is asked, at whatever budget; and what a release would get right, as figures of one record."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb
from typing import Any

from freegap.errors import InvalidArgument
from freegap.planner import designs
from freegap.planner.assumed import Assumed
from freegap.planner.chances import NoisyLine, Rivalry
from freegap.planner.crowds import Crowd
from freegap.planner.designs import Design
from freegap.values.measures import Approximate, Measure, Pure, ZeroConcentrated, pure_within, rho_within


@dataclass(frozen=True)
class Goal:
    """A figure by which a release is judged.

    name: of the figure. words: the goal in a sentence, {target} to be filled in. meaning: of the figure.
    rising: whether more is better; then it is a chance or a share, else a number of people.
    """

    name: str
    words: str
    meaning: str
    rising: bool = True

    def reached(self, value: float | None, target: float) -> bool:
        """Whether the figure is as good as wanted."""
        return value is not None and (value >= target if self.rising else value <= target)

    def text(self, value: float) -> str:
        """A value of the figure for people."""
        return f"{100 * value:.1f} %" if self.rising else f"{value:,.1f}"

    def wanted(self, target: Fraction) -> str:
        """The goal in a sentence."""
        shown = f"{100 * float(target):.6g} %" if self.rising else f"{float(target):,.6g}"
        return self.words.format(target=shown)


GOALS = {
    goal.name: goal
    for goal in (
        Goal(
            "exact",
            "exactly the right items come out with a chance of {target}",
            "the chance that exactly the right items come out",
        ),
        Goal(
            "share",
            "{target} of the items that come out are right, on average",
            "of the items that come out, how many are right, on average",
        ),
        Goal(
            "first",
            "the first item is the right one with a chance of {target}",
            "the chance that the first item is the right one",
        ),
        Goal(
            "recall",
            "{target} of the items above the threshold come out, on average",
            "of the items above the threshold, k at most, how many come out, on average",
        ),
        Goal(
            "precision",
            "{target} of the items that come out are above the threshold",
            "of all that come out, how many are above the threshold",
        ),
        Goal(
            "width",
            "a 95 % interval for the people of an item is {target} wide",
            "of a 95 % interval for the people of an item, far enough above the threshold if there is one",
            rising=False,
        ),
    )
}


@dataclass(frozen=True, kw_only=True)
class PlannedRelease:
    """What a release would do at one budget, if the counts are as assumed.

    call, noise, scale: the function, the law of its noise, and the scale of the noise in each count.
    asked: the budget. spent: what is charged, on average.
    exact: the chance that exactly the right items come out: the k largest, or those above the threshold.
    share: the expected share of the k largest among the items that come out.
    first: the chance that the first item is the largest.
    recall: the expected share of the items above the threshold that come out, of k at most.
    precision: of all items that come out, the share that is above the threshold.
    found: how many items come out, on average.
    gap: the standard error of a gap, in people.
    width: of a 95 % interval for the people of an item; with a threshold, of one that is clearly above it.
    A figure that the question does not have is None.
    """

    call: str
    noise: str
    scale: Fraction
    asked: Measure
    spent: float
    exact: float | None = None
    share: float | None = None
    first: float | None = None
    recall: float | None = None
    precision: float | None = None
    found: float | None = None
    gap: float
    width: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain values; exact amounts as text."""
        figures = "spent exact share first recall precision found gap width".split()
        return {
            "call": self.call,
            "noise": self.noise,
            "scale": str(self.scale),
            **{name: str(amount) for name, amount in self.asked.arguments().items()},
            **{name: getattr(self, name) for name in figures if getattr(self, name) is not None},
        }


@dataclass(frozen=True, kw_only=True)
class PlannedQuestion:
    """The top k, or the items above a threshold, of counts that are assumed.

    measured: whether what is selected is measured. delta: of an unknown domain; None for a known one.
    """

    assumed: Assumed
    k: int
    threshold: Fraction | None
    measured: bool
    noise: str | None
    delta: Fraction | None

    def __post_init__(self) -> None:
        items = self.assumed.counts.items
        if self.threshold is None and self.k >= items:
            raise InvalidArgument(
                "k",
                self.k,
                f"must be smaller than the number of assumed items, {items}: the last of k has a runner-up",
                "Assume more items, or pass a smaller k.",
            )
        if self.threshold is not None and self.k > items:
            raise InvalidArgument(
                "k", self.k, f"must be at most the number of assumed items, {items}", f"Pass k={items}."
            )
        if self.threshold is not None and self.assumed.relative:
            raise InvalidArgument(
                "threshold",
                self.threshold,
                "cannot be compared: the gaps of the old release tell only how far items are apart",
                "Plan from a release with estimates.",
            )

    @property
    def goals(self) -> tuple[str, ...]:
        """The figures that this question has, the one that is meant where nothing is said first."""
        if self.threshold is not None:
            return "recall", "precision", "exact", "width"
        return ("exact", "share", "first", "width") if self.measured else ("exact", "share", "first")

    def design(self, asked: Any) -> Design:
        """The release at this budget."""
        if self.delta is not None:
            return designs.unknown(
                Approximate(asked.spent, self.delta), self.k, self.noise, self.assumed.counts
            )
        if self.threshold is not None:
            return designs.above(asked, self.k, self.threshold, self.noise)
        return designs.top_k(asked, self.k, self.noise, measured=self.measured)

    def figure(self, goal: Goal, design: Design) -> float | None:
        """One figure of a release."""
        found: float | None = getattr(self.release(design, (goal.name,)), goal.name)
        return found

    def release(self, design: Design, names: tuple[str, ...] | None = None) -> PlannedRelease:
        """All figures of a release, or some."""
        wanted = self.goals if names is None else names
        rivalry = self.rivalry(design)
        right = rivalry.expected() if {"share", "recall", "precision"} & {*wanted} else 0.0
        wrong = (
            rivalry.swapped().expected() if design.line and (names is None or "precision" in names) else 0.0
        )
        most = min(self.k, rivalry.right.items)
        fits = rivalry.right.items <= self.k
        figures = {
            "exact": rivalry.exactly() if "exact" in wanted and fits else None,
            "share": right / self.k if "share" in wanted else None,
            "first": self.rivalry(design, 1).exactly() if "first" in wanted else None,
            "recall": right / most if "recall" in wanted and most else None,
            "precision": right / (right + wrong) if "precision" in wanted and right + wrong > 0 else None,
            "found": right + wrong if design.line else None,
        }
        return PlannedRelease(
            call=design.call,
            noise=design.law.name,
            scale=design.scale,
            asked=design.asked,
            spent=float(design.least) + float(design.each) * self._paid(design, right + wrong),
            gap=design.gap_error,
            width=design.width,
            **figures,
        )

    def _paid(self, design: Design, found: float) -> float:
        """For how many items is paid on average, if so many come out."""
        if design.paid in (0, self.k):
            return found if design.paid else 0.0
        fewer = replace(self.rivalry(design), k=design.paid)
        return fewer.expected() + fewer.swapped().expected()

    def alternatives(self, asked: Pure | ZeroConcentrated, delta: Fraction) -> list[Design]:
        """Other ways to spend as much: other noise, another mechanism, and the other measure at this δ."""
        if self.delta is not None:
            both = ("exponential", "gumbel")
            whole = Approximate(asked.spent, self.delta)
            return _possible(lambda n: designs.unknown(whole, self.k, n, self.assumed.counts), both)
        pure = pure_within(asked)
        other = asked
        if isinstance(asked, Pure):
            with suppress(InvalidArgument):  # there is no ρ for so small an ε: then ε alone is compared
                other = ZeroConcentrated(rho_within(asked.epsilon, delta))
        noises = ("exponential", "laplace")
        if self.threshold is None:
            found = _possible(lambda n: designs.top_k(pure, self.k, n, measured=self.measured), noises)
            return found + _possible(
                lambda n: designs.top_k(other, self.k, n, measured=self.measured), ("gumbel",)
            )
        line = self.threshold
        found = _possible(lambda n: designs.above(pure, self.k, line, n), noises)
        found += _possible(lambda n: designs.hybrid(pure, self.k, line, n), noises)
        return found + _possible(lambda n: designs.hybrid(other, self.k, line, n), ("gumbel",))

    def rivalry(self, design: Design, k: int | None = None) -> Rivalry:
        """Who ought to come out, against whom; k: for the first so many of the k."""
        scale = float(design.scale)
        counts = self.assumed.counts if design.pool is None else self.assumed.counts.largest(design.pool)
        wanted = self.k if k is None else k
        zero = counts.place(wanted) if self.threshold is None else float(self.threshold)
        first = wanted if self.threshold is None else counts.number_above(zero)
        right, wrong = counts.seen_from(zero, scale).split(first)
        line = None
        if design.line is not None:
            level, spread = design.line
            line = NoisyLine(float((level - Fraction(zero)) / design.scale), float(spread / design.scale))
        return Rivalry(design.law, wanted, right, wrong, line)

    def limit(self, name: str) -> tuple[float, str] | None:
        """Where a tie keeps a chance from being large at any budget: the most it can be, and why."""
        if self.threshold is not None or name not in ("exact", "first"):
            return None
        places = self.k if name == "exact" else 1
        tied, taken = _tie(self.assumed.counts, places)
        if tied == taken:
            return None
        most = 1 / comb(tied, taken)
        where = "the first place" if places == 1 else f"place {places}"
        what = "the first item" if places == 1 else f"the top {places}"
        return most, (
            f"{tied:,} items are tied for {where}, so that {what} cannot be told by any budget: whichever "
            f"comes out, it is the right one by chance, with {_percent(most)} at most"
        )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _tie(counts: Crowd, places: int) -> tuple[int, int]:
    """How many items have the count of this place, and how many of them are within the places."""
    inside, _ = counts.split(places)
    value = inside.values[-1]
    return int(counts.sizes[counts.values == value].sum()), int(inside.sizes[inside.values == value].sum())


def _possible(make: Callable[[str], Design], noises: tuple[str, ...]) -> list[Design]:
    found = []
    for noise in noises:
        try:
            found.append(make(noise))
        except InvalidArgument:  # there is no such release: too small a δ, or too large a scale
            continue
    return found
