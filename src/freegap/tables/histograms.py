"""`histogram`: every bin of counts or sums, of a list of them or of any table, with the noise that it needs.

The mechanism and its theorem are in `freegap.mechanisms.histogram`. What one person can change is declared
where there are but counts, and enforced where there are rows (`freegap.tables.categories`,
`freegap.tables.values`). A table needs freegap[tables]; a list of counts does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged, ledger_argument, require
from freegap.errors import InvalidArgument, MissingExtra
from freegap.estimate.bounds import confidence_argument
from freegap.estimate.noise_laws import half_width
from freegap.mechanisms.arguments import flag_argument
from freegap.mechanisms.histogram import HistogramPlan, noisy_bins
from freegap.tables.files import is_path
from freegap.values.answers import Answers, read_answers
from freegap.values.columns import Column, items_in_parts
from freegap.values.plans import PlainPlan
from freegap.values.rationals import Rational, count_argument, double
from freegap.values.results import Release
from freegap.values.written import as_double, jsonable

if TYPE_CHECKING:
    from fractions import Fraction

    from freegap.tables.described import ProtectName
    from freegap.tables.results import PrivacyUnit


@dataclass(frozen=True, kw_only=True)
class NoisyHistogram(Release):
    """Noisy bins.

    labels: what the bins are called. multiples: the noisy bins, as whole multiples of `resolution`.
    values: the noisy bins as exact rationals; they may be negative where what they count is not.
    standard_error: of each of them.
    counted: what they are of. privacy: what is protected, where they were counted in a table.
    """

    plan: HistogramPlan
    labels: tuple[Any, ...]
    multiples: tuple[int, ...]
    counted: str = "count"
    not_negative: bool = False
    privacy: PrivacyUnit | None = None

    @property
    def resolution(self) -> Fraction:
        """The unit of the bins."""
        return self.plan.resolution

    @property
    def scale(self) -> Fraction:
        """Of the noise in each bin."""
        return self.plan.scale

    @cached_property
    def values(self) -> tuple[Fraction, ...]:
        """The noisy bins."""
        return tuple(multiple * self.resolution for multiple in self.multiples)

    @property
    def standard_error(self) -> float:
        """Of each bin; at most so much where the noise is Gaussian."""
        return self.plan.standard_error

    def intervals(self, *, confidence: Rational = 0.95) -> tuple[tuple[float, float], ...]:
        """For each bin an interval that has its true value with this confidence, by the law of its noise."""
        level = float(1 - confidence_argument(confidence))
        width, least = reach_of(self.plan, level), 0.0 if self.not_negative else -math.inf
        return tuple(
            (max(below(value - width), least), max(-below(-value - width), least)) for value in self.values
        )

    @property
    def changed(self) -> str:
        """By how much one person changes a bin."""
        return f"each by at most {self.plan.sensitivity}"

    @property
    def title(self) -> str:
        """One line that says what this is."""
        return f"Private histogram of {len(self.labels)} bins"

    def columns(self) -> list[Column]:
        """Item, noisy value, its standard error and an interval."""
        form = ",.0f" if self.resolution == 1 else ",.3f"
        error = (self.standard_error,) * len(self.labels)
        return [
            *items_in_parts(self.labels, None if self.privacy is None else self.privacy.items),
            Column(self.counted, self.values, float, "value", form),
            Column("std. error", error, float, "standard_error", ",.1f"),
            Column("95 % interval", self.intervals(), tuple, form=",.0f"),
        ]

    def footnotes(self) -> list[str]:
        """What was spent, what is protected, and a warning where the noise was not private."""
        first, *warnings = super().footnotes()
        touched = self.plan.touched
        bins = "one bin" if touched == 1 else f"{touched:,} bins"
        moved = f"One person changes at most {bins}, {self.changed}."
        return [first, moved, *([] if self.privacy is None else self.privacy.lines()), *warnings]

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        protected, labels = {}, [jsonable(label) for label in self.labels]
        if self.privacy is not None:
            protected, labels = {"privacy": self.privacy.to_dict()}, self.privacy.jsonable(self.labels)
        return {
            "mechanism": "histogram",
            "labels": labels,
            "values": [as_double(value) for value in self.values],
            "standard_error": self.standard_error,
            "intervals": [list(interval) for interval in self.intervals()],
            "resolution": jsonable(self.resolution),
            **protected,
            **self._common(),
        }


def histogram(
    table: Any,
    *,
    items_per_person: int | None,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    item: str | Sequence[str] | None = None,
    person: str | None = None,
    protect: ProtectName | None = None,
    where: Any = None,
    domain: Any = None,
    domain_column: str | None = None,
    observed_keys_are_public: bool = False,
    normalize: bool = False,
    value: str | None = None,
    low: Rational | None = None,
    high: Rational | None = None,
    unit: Rational | None = None,
    mean: bool = False,
    sensitivity: Rational | None = None,
    resolution: Rational | None = None,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> NoisyHistogram:
    """Every bin of a histogram with noise: counts, or sums of a value, of a list or of a table.

    For one person more or less. Under ε the noise of each bin is discrete Laplace of the scale
    items_per_person·sensitivity/ε, and under ρ discrete Gaussian of sensitivity·√(items_per_person/2ρ).

    table: counts (a list, an array, a dict or a Series of numbers), or a table or file as in `top_k`.
    items_per_person: in how many of the bins one person is: 1 where bins are disjoint, such as ages; None for
        any number, and then each of n bins has n times the noise. Of counts it is your statement. Of a table
        it is enforced: each person counts for so many of their items, chosen by a digest of person and item.
    sensitivity, resolution: of counts alone: how much one person changes a bin at most, and the grid that
        bins and noise are on. Both 1 if left out; a sensitivity that is no multiple of the resolution is
        refused.
    item, person, protect, where: of a table, as in `top_k`.
    domain, domain_column, observed_keys_are_public, normalize: the same.
    value, low, high, unit: of a table: sums of this column in place of the number of people, as in `top_k`.
    mean: means of the value over the people of each bin in place of sums: half of the budget for the numbers
        of people, half for the sums. The result has `means` and `counts`: it is a `NoisyMeans`.
    ledger: a ledger and the name of a dataset in it, (fg.Ledger(), "shop"): charged there, reserved first.

    >>> import freegap as fg
    >>> ages = {"0-17": 210, "18-64": 640, "65+": 150}
    >>> release = fg.histogram(ages, items_per_person=1, epsilon=1, bits=fg.SeededBits(1))
    >>> release.scale, [int(value) for value in release.values]
    (Fraction(1, 1), [208, 643, 149])
    >>> import pandas as pd
    >>> visits = pd.DataFrame({"ward": ["A", "B", "A"] * 90, "patient": [*range(90)] * 3, "cost": 7.5})
    >>> release = fg.histogram(visits, item="ward", person="patient", domain=["A", "B", "C"], value="cost",
    ...                        low=0, high=50, unit=1, items_per_person=2, epsilon=1, bits=fg.SeededBits(1))
    >>> release.scale, [round(value) for value in release.values]
    (Fraction(100, 1), [1164, 1014, -101])
    """
    # Whatever the mechanism would refuse of the public arguments is refused here, before anything is read.
    of_counts = item is None and person is None and not is_path(table)
    source, account = source_or_system(bits), ledger_argument(ledger)
    amounts: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "items_per_person": items_per_person}
    if of_counts:
        _refuse(
            "item", domain=domain, domain_column=domain_column, value=value, low=low, high=high, unit=unit
        )
        _refuse("item", mean=flag_argument("mean", mean) or None)
        _refuse(
            "item", normalize=normalize or None, observed_keys_are_public=observed_keys_are_public or None
        )
        _refuse("item", protect=protect, where=where)
        grid = 1 if resolution is None else resolution
        asked = {"sensitivity": 1 if sensitivity is None else sensitivity, "resolution": grid} | amounts
        checked = HistogramPlan.read(bins=1, **asked)
        read = read_answers(table, checked.resolution)
        plan = HistogramPlan.read(bins=len(read), **asked)
        labels = read.labels(range(len(read)))
        return charged(account, plan, lambda: _drawn(plan, read, labels, source))
    _refuse("value", sensitivity=sensitivity, resolution=resolution)
    return _of_table(
        table,
        amounts,
        source,
        account,
        {
            "item": item,
            "person": person,
            "domain": domain,
            "domain_column": domain_column,
            "observed_keys_are_public": observed_keys_are_public,
            "normalize": flag_argument("normalize", normalize),
        },
        (value, low, high, unit),
        {"protect": protect, "where": where},
        mean=flag_argument("mean", mean),
    )


def _of_table(
    table: Any,
    amounts: dict[str, Any],
    source: BitSource,
    account: LedgerAndDataset | None,
    named: dict[str, Any],
    summed: tuple[Any, ...],
    reading: dict[str, Any],
    *,
    mean: bool,
) -> NoisyHistogram:
    try:
        from freegap.tables.categories import bins_of
        from freegap.tables.described import described
        from freegap.tables.means import drawn_means, require_means
        from freegap.tables.results import privacy_of
        from freegap.tables.values import ClippedValue, unit_of, what_is_counted
    except ModuleNotFoundError as error:
        if error.name != "narwhals":
            raise
        raise MissingExtra("narwhals", "tables") from None
    by = ClippedValue.read(*summed)
    if mean:
        by = require_means(by, mean)
    grid = unit_of(by)
    asked = {"sensitivity": 1 if by is None else by.sensitivity * grid, "resolution": grid} | amounts
    checked = HistogramPlan.read(bins=1, **asked)
    require(account, checked.asked)
    most = amounts["items_per_person"]
    most = None if most is None else count_argument("items_per_person", most)
    bins = bins_of(described(table, **reading), value=by, most=most, **named)
    plan = HistogramPlan.read(bins=len(bins.labels), **asked)
    privacy = privacy_of(bins.source, bins.domain)
    if most is not None and most < plan.bins:
        privacy = privacy.bounded(None if bins.source.by_row else most)
    public = {**bins.source.public(), "domain": bins.domain}
    if by is not None and mean:
        by.require_exact_items(bins.source.kind)
        return drawn_means(bins, by, plan, privacy, public | by.parameters, account, source)
    parameters = plan.parameters | public | ({} if by is None else by.parameters)
    return charged(
        account,
        PlainPlan(plan.mechanism, plan.asked, parameters),
        lambda: _drawn(
            plan,
            Answers(bins.totals, grid, None),
            bins.labels,
            source,
            counted=what_is_counted(by, by_row=bins.source.by_row),
            not_negative=by is None or by.low >= 0,
            privacy=privacy,
        ),
    )


def _drawn(
    plan: HistogramPlan, read: Answers, labels: tuple[Any, ...], source: BitSource, **said: Any
) -> NoisyHistogram:
    return NoisyHistogram(
        plan=plan,
        labels=labels,
        multiples=noisy_bins(plan, read, source),
        spent=plan.charge,
        private=source.private,
        **said,
    )


def reach_of(plan: HistogramPlan, level: float) -> Fraction:
    """How far a bin is from its true value at most, with all but this probability; both lie on a grid."""
    width = half_width(plan.law, plan.scale, plan.resolution, level)
    return math.floor(width / plan.resolution) * plan.resolution


def below(number: Fraction) -> float:
    """The largest double that is not above it."""
    nearest = double(number)
    return math.nextafter(nearest, -math.inf) if math.isfinite(nearest) and nearest > number else nearest


def _refuse(other: str, **arguments: Any) -> None:
    """What has a meaning only for the other kind of input."""
    for argument, given in arguments.items():
        if given is not None:
            what = (
                "a table" if other == "item" else "counts, and follows from the bounds of a value in a table"
            )
            raise InvalidArgument(argument, given, f"is for {what}", f"Leave out {argument}.")
