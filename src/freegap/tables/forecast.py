"""What a release would cost and how exact it would be, from its public parameters alone.

No table is opened and no bit is drawn: the noise does not depend on the data, so its size is known
beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from freegap.errors import InvalidArgument
from freegap.estimate.bounds import gap_noise
from freegap.estimate.expected import top_k_errors
from freegap.estimate.intervals import ErrorBars, error_bars
from freegap.laws import CONTINUOUS_NOISES
from freegap.mechanisms.arguments import noise_argument
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.unknown_counts import UnknownCountsPlan
from freegap.mechanisms.unknown_domain import UnknownPlan
from freegap.tables.grouping import GroupArguments, whole_of
from freegap.tables.unknown import is_unknown, refuse_with_known, refuse_with_unknown
from freegap.tables.unknown_above import bar_of
from freegap.tables.unknown_groups import naming_of
from freegap.tables.values import ClippedValue, how_moved, what_is_counted
from freegap.values.measures import (
    Approximate,
    Measure,
    Pure,
    ZeroConcentrated,
    measure_argument,
    pure_within,
    rho_within,
)
from freegap.values.rationals import Rational, count_argument
from freegap.values.remarks import remarks_on
from freegap.values.thresholds import read_threshold
from freegap.values.written import readable


@dataclass(frozen=True)
class Forecast:
    """What a release would charge, and the standard errors of what it would say.

    asked: what would be asked for, in its measure.
    least, most: what would be charged, at least and at most.
    gap_error: of each gap.
    estimate_error: of each estimated number of people, where gaps are wide; None without estimates.
    most_error: the same where noise decides what is selected; None for gaps to a threshold, which have but
        the error of their noise.
    bars: how far the 95 % interval of an item reaches from what was measured, or from threshold plus gap.
    unknown: the plan, where the domain is unknown. bar: what a noisy count must then exceed in `above`.
    counted: what the errors are of: people, or the total of a column.
    touched: where there are groups, the number of parts into which the budget is divided; else 0.
    naming: how groups are named that nobody has listed.
    instead: the same release in the other measure: under ρ what ε promises with δ = 10⁻⁶, and for a release
        under ρ the ε that costs as much there.
    """

    what: str
    asked: Measure
    least: Fraction
    most: Fraction
    gap_error: float
    estimate_error: float | None
    most_error: float | None = None
    bars: ErrorBars | None = None
    unknown: UnknownPlan | UnknownCountsPlan | None = None
    bar: int | None = None
    counted: str = "people"
    touched: int = 0
    naming: UnknownCountsPlan | None = None
    instead: Forecast | None = None

    def lines(self) -> list[str]:
        """For people."""
        return [*self._lines(), *remarks_on(self.asked)]

    def _lines(self) -> list[str]:
        most = readable(self.most)
        charge = most if self.least == self.most else f"{readable(self.least)} at least, {most} at most"
        lines = [
            f"Dry run of {self.what}: nothing was read, drawn or charged.",
            f"{self.asked.symbol} charged: {charge}",
            f"standard error of a gap: {self.gap_error:,.1f}{self._of}",
        ]
        if self.touched:
            part = "all" if self.touched == 1 else f"1/{self.touched:,}"
            lines[1] += f"; each group has {part} of {'it' if self.naming is None else 'half of it'}"
        if self.naming is not None:
            least = f"{self.naming.reach + 1:,} people or more"
            lines.append(
                f"a group is named, more likely than not, with {least}; δ: {readable(self.naming.delta)}"
            )
        if self.estimate_error is None:
            what = "the number of people" if self.counted == "people" else f"the {self.counted}"
            lines.append(f"no estimates of {what} (ask with --measure)")
        else:
            lines += self._of_estimates(self.estimate_error)
        if self.unknown is not None:
            lines[1] += f"; δ: {readable(self._delta)}; noise: {self.unknown.law.name}"
            return [*lines, f"an item comes out, more likely than not, with {self._needed(self.unknown)}"]
        return lines if self.instead is None else [*lines, self._in_other_words(self.instead)]

    @property
    def _delta(self) -> Fraction:
        return self.asked.delta if isinstance(self.asked, Approximate) else Fraction(0)

    @property
    def _of(self) -> str:
        return " people" if self.counted == "people" else ""

    def _needed(self, plan: UnknownPlan | UnknownCountsPlan) -> str:
        if isinstance(plan, UnknownPlan):
            place = f"the item in place {plan.pool + 1:,} has (0 if fewer occur)"
            return f"{math.ceil(plan.lift):,} people more than {place}"
        return f"{(self.bar or 0) + 1:,} people or more"

    def _of_estimates(self, error: float) -> list[str]:
        most, bars = self.most_error, self.bars
        lines = [f"standard error of an estimate: {error:,.1f}{self._of}"]
        if most is not None and most > error:
            lines[0] += f" where gaps are wide, {most:,.1f} at most"
        if bars is not None and bars.excess:
            lines.append(
                f"95 % interval: {bars.below:,.1f}{self._of} down and {bars.above:,.1f} up, for an item that "
                f"is found by {bars.excess:,.1f} or more; further down for others"
            )
        elif bars is not None:
            lines.append(f"95 % interval: {bars.above:,.1f}{self._of} to either side of what was measured")
        return lines

    def _in_other_words(self, other: Forecast) -> str:
        amount = f"with {other.asked.symbol} = {float(other.asked.spent):.6g} instead, which"
        is_ = f"is {self.asked} with δ = 10^-6" if isinstance(self.asked, Pure) else f"costs {self.asked}"
        error = f"standard error of a gap {other.gap_error:,.1f}{self._of}"
        if other.estimate_error is not None:
            error += f", of an estimate {other.estimate_error:,.1f}{self._of}"
        return f"{amount} {is_}: {error}"

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        unknown = self.unknown
        of_unknown: dict[str, Any] = {} if unknown is None else {"delta": str(self._delta)}
        of_unknown |= {"lift": float(unknown.lift)} if isinstance(unknown, UnknownPlan) else {}
        of_unknown |= {} if self.bar is None else {"threshold": self.bar}
        return {
            "dry_run": self.what,
            "measure": self.asked.name,
            **of_unknown,
            **({"groups_per_person": self.touched} if self.touched else {}),
            **({} if self.naming is None else {"groups_from": self.naming.reach + 1}),
            "remarks": remarks_on(self.asked),
            "charged_at_least": str(self.least),
            "charged_at_most": str(self.most),
            "gap_standard_error": self.gap_error,
            "estimate_standard_error": self.estimate_error,
            "estimate_standard_error_at_most": self.most_error,
            "interval": None if self.bars is None else self._reach(self.bars),
            **({} if self.instead is None else {"instead": self.instead._short()}),
        }

    @staticmethod
    def _reach(bars: ErrorBars) -> dict[str, float]:
        return {"below": bars.below, "above": bars.above, "from_excess": bars.excess}

    def _short(self) -> dict[str, Any]:
        return {
            self.asked.name: float(self.asked.spent),
            "gap_standard_error": self.gap_error,
            "estimate_standard_error": self.estimate_error,
        }


def forecast_top_k(
    *,
    k: int,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    measure: bool = False,
    noise: str | None = None,
    domain: Any = None,
    delta: Rational | None = None,
    people: int | None = None,
    pool: int | None = None,
    items_per_person: int | None = None,
    value: str | None = None,
    low: Rational | None = None,
    high: Rational | None = None,
    unit: Rational | None = None,
    group: str | None = None,
    groups: Any = None,
    groups_per_person: int | None = None,
    one_group_per_person: bool = False,
) -> Forecast:
    """What `top_k` with these parameters would cost and say.

    domain: looked at only to see whether it is "unknown".

    >>> forecast_top_k(k=10, epsilon=1).gap_error  # two exponential noises of scale 10
    14.142135623730951
    >>> float(forecast_top_k(k=10, epsilon=1, domain="unknown", delta="1e-8").unknown.lift)
    238.7724609375
    >>> forecast_top_k(k=10, epsilon=1, group="shop", groups_per_person=2).gap_error
    28.284271247461902
    >>> named = {"group": "shop", "groups": "unknown", "groups_per_person": 1, "delta": "1e-6"}
    >>> forecast_top_k(k=10, epsilon=1, **named).naming.reach
    25
    """
    summed = ClippedValue.read(value, low, high, unit)
    by_group = GroupArguments.read(group, groups, groups_per_person, one_group_per_person)
    if is_unknown(domain):
        refuse_with_unknown(rho=rho, value=value)
        plan = UnknownPlan.read(
            k=k,
            epsilon=epsilon,
            delta=delta,
            people=people,
            pool=pool,
            items_per_person=items_per_person,
            noise=noise,
            measured=measure,
        )
        named, touched = naming_of(by_group, plan.asked, people), touched_by(by_group)
        each = plan.in_parts(max(touched, 1), noise, _rest(named))
        gap_error = math.sqrt(2 * each.law.variance(float(each.scale)))
        law, scale = each.measuring(plan.k)
        error = math.sqrt(law.variance(float(scale))) if measure else None
        whole = Forecast("top-k", plan.asked, plan.epsilon, plan.epsilon, gap_error, error, unknown=each)
        return replace(whole, touched=touched, naming=named)
    asked = measure_argument(epsilon=epsilon, rho=rho)
    naming, touched = by_group.naming(asked, delta, people), touched_by(by_group)
    refuse_with_known(pool=pool, items_per_person=items_per_person)
    made = _in_groups(asked, touched, lambda share: _top_k(share, k, noise, measure, summed), naming)
    if naming is not None:
        return made
    refuse_with_known(delta=delta, people=people)
    other = _in_groups(_other(asked), touched, lambda share: _top_k(share, k, None, measure, summed))
    return replace(made, instead=other)


def _rest(naming: UnknownCountsPlan | None) -> Fraction:
    """The part of ε and δ that is left for what is released, where groups are named first."""
    return Fraction(1) if naming is None else Fraction(1, 2)


def touched_by(of: GroupArguments) -> int:
    """Into how many parts the budget is divided; 0 without groups. Lists in files or tables are not read."""
    if of.group is None:
        return 0
    if of.one_group_per_person or of.groups_per_person is not None:
        sized = isinstance(of.groups, list | tuple | range)
        return of.touched(len(of.groups) if sized else of.groups_per_person or 1)
    if not isinstance(of.groups, list | tuple | range) or not of.groups:
        raise InvalidArgument(
            "groups",
            of.groups,
            "is not read by a dry run, and the budget is divided by the number of groups",
            "Pass groups_per_person=…, one_group_per_person=True, or a range.",
        )
    return of.touched(len(of.groups))


def _in_groups(
    asked: Any, touched: int, make: Callable[[Any], Forecast], naming: UnknownCountsPlan | None = None
) -> Forecast:
    """Of what each group may spend, said of the whole release."""
    if not touched:
        return make(asked)
    named = Fraction(0) if naming is None else naming.epsilon
    of_one = make(asked.of((asked.spent - named) / touched))
    most = of_one.most * touched + named
    least = of_one.least * touched if naming is None else most
    whole = whole_of(asked, naming)
    return replace(of_one, asked=whole, least=least, most=most, touched=touched, naming=naming)


def _other(asked: Pure | ZeroConcentrated) -> Pure | ZeroConcentrated:
    """The same budget in the other measure."""
    if isinstance(asked, Pure):
        return ZeroConcentrated(rho_within(asked.epsilon, Fraction(1, 10**6)))
    return pure_within(asked)


def _top_k(
    asked: Pure | ZeroConcentrated, k: int, noise: str | None, measure: bool, summed: ClippedValue | None
) -> Forecast:
    made = top_k_errors(asked, k, noise, measured=measure, **how_moved(summed))
    bars = None if made.width is None else ErrorBars(made.width, made.width, 0.0)
    errors = made.gap, made.estimate, made.measured
    return _in_unit(Forecast("top-k", asked, made.charge, made.charge, *errors, bars), summed)


def _in_unit(made: Forecast, summed: ClippedValue | None) -> Forecast:
    """What was said of units, of values."""
    if summed is None:
        return made

    def times(error: float | None) -> Any:
        return None if error is None else error * float(summed.unit)

    bars = made.bars and ErrorBars(times(made.bars.below), times(made.bars.above), times(made.bars.excess))
    return replace(
        made,
        gap_error=times(made.gap_error),
        estimate_error=times(made.estimate_error),
        most_error=times(made.most_error),
        bars=bars,
        counted=what_is_counted(summed),
    )


def forecast_above(
    *,
    k: int,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    noise: str = "exponential",
    domain: Any = None,
    threshold: Rational = 0,
    delta: Rational | None = None,
    people: int | None = None,
    items_per_person: int | None = None,
    value: str | None = None,
    low: Rational | None = None,
    high: Rational | None = None,
    unit: Rational | None = None,
    group: str | None = None,
    groups: Any = None,
    groups_per_person: int | None = None,
    one_group_per_person: bool = False,
) -> Forecast:
    """What `above` with these parameters would cost and say: the fewer items are found, the less.

    domain, threshold: looked at only where the domain is "unknown": the threshold may then be raised.

    >>> forecast_above(k=20, epsilon=1).least < Fraction(1, 8)
    True
    >>> forecast_above(k=20, epsilon=1, domain="unknown", delta="1e-6", items_per_person=1).bar
    14
    """
    summed = ClippedValue.read(value, low, high, unit)
    by_group = GroupArguments.read(group, groups, groups_per_person, one_group_per_person)
    if is_unknown(domain):
        refuse_with_unknown(rho=rho, noise=noise, value=value)
        count_argument("k", k)  # which decides nothing else here
        of_unknown = UnknownCountsPlan.read(
            epsilon=epsilon, delta=delta, items_per_person=items_per_person, people=people
        )
        named, touched = naming_of(by_group, of_unknown.asked, people), touched_by(by_group)
        each = of_unknown.in_parts(max(touched, 1), _rest(named))
        bar = bar_of(each, read_threshold(threshold, discrete=False))
        error, amount = each.standard_error, of_unknown.epsilon
        whole = Forecast("above", of_unknown.asked, amount, amount, error, error, unknown=each, bar=bar)
        return replace(whole, touched=touched, naming=named)
    asked = measure_argument(epsilon=epsilon, rho=rho)
    naming = by_group.naming(asked, delta, people)
    refuse_with_known(items_per_person=items_per_person)
    if naming is None:
        refuse_with_known(delta=delta, people=people)
    noise_argument(noise, CONTINUOUS_NOISES)
    return _in_groups(asked, touched_by(by_group), lambda share: _above(share, k, noise, summed), naming)


def _above(asked: Pure | ZeroConcentrated, k: int, noise: str, summed: ClippedValue | None) -> Forecast:
    amounts: dict[str, Any] = asked.arguments()
    plan = ThresholdPlan.read("hybrid_sparse_vector", k=k, noise=noise, **how_moved(summed), **amounts)
    of_gaps = gap_noise(plan, 0)
    error = math.sqrt(of_gaps.variance)
    least, most = plan.charge(plan.threshold_budget), plan.charge(plan.epsilon)
    # Where the number of all items is known, as it is for a table, the bars do not depend on it.
    bars = error_bars(of_gaps, among=plan.k)
    return _in_unit(Forecast("above", plan.asked, least, most, error, error, bars=bars), summed)


def forecast_watch(*, k: int, epsilon: Rational, threshold: Rational) -> Forecast:
    """What a watch with these parameters would cost, and how exact its alerts would be.

    >>> forecast = forecast_watch(k=1, epsilon=1, threshold=500)
    >>> forecast.most, round(forecast.gap_error, 1)
    (Fraction(1, 1), 2.8)
    """
    read_threshold(threshold, discrete=False)
    plan = ThresholdPlan.read("SparseVector", k=k, epsilon=epsilon, monotonic=True)
    error = math.sqrt(gap_noise(plan, 0).variance)
    return Forecast("watch", plan.asked, plan.epsilon, plan.epsilon, error, error)
