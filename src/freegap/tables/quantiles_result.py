"""What a release of quantiles returns."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from freegap.tables.grouping import Grouping
from freegap.tables.results import PrivacyUnit
from freegap.values.columns import Column
from freegap.values.remarks import remarks_on
from freegap.values.results import Release
from freegap.values.written import as_double, jsonable, plain, readable


@dataclass(frozen=True, kw_only=True)
class Quantiles(Release):
    """Quantiles of people's numbers.

    q: the quantiles, rising. values: one for each, a multiple of `resolution` from `low` to `high`; in
        groups, those of one group after those of the other. Fractions; or dates, or times, where the range
        was of these, and `resolution` is then in days or in seconds.
    intervals: for each, where asked for: with probability 95 % all of them, in groups all of one group, hold
        their quantile.
    rank_error, tied: by how many people, and by which part of all people in addition, all values are off in
        rank at most, with probability 95 %; in groups, those of one group. The second is for ties, and does
        not shrink with ε.
    privacy: what ε protects.
    groups: into which groups it is divided, where it is.
    """

    q: tuple[Fraction, ...]
    values: tuple[Any, ...]
    intervals: tuple[tuple[Any, Any], ...] | None
    low: Any
    high: Any
    resolution: Fraction
    rank_error: float
    tied: float
    privacy: PrivacyUnit
    groups: Grouping | None = None

    @cached_property
    def by_group(self) -> dict[Any, list[Any]]:
        """The rows of each group; of a release without groups, all rows under None."""
        return {None: self.rows()} if self.groups is None else self.groups.divided(self.rows())

    @property
    def title(self) -> str:
        """One line that says what this is."""
        what = self.parameters.get("value")
        among = "" if self.groups is None else f" in each of {len(self.groups.labels):,} groups"
        return "Private quantiles" + ("" if what is None else f" of {what}") + among

    def columns(self) -> list[Column]:
        """Group where there are any, quantile, value, and interval where there is one."""
        form = ",.0f" if self.resolution.denominator == 1 else ",.6g"
        dated = isinstance(self.low, datetime.date)
        times = len(self.values) // len(self.q)
        columns = [
            *([] if self.groups is None else self.groups.columns()[:1]),
            Column("quantile", tuple(f"{float(100 * q):.6g} %" for q in self.q) * times),
            Column("value", self.values, str if dated else float, "estimate", form),
        ]
        if self.intervals is not None and dated:
            ends = zip(*self.intervals, strict=True)
            columns += [Column(name, tuple(some)) for name, some in zip(("low", "high"), ends, strict=True)]
        elif self.intervals is not None:
            columns.append(Column("95 % interval", self.intervals, tuple, form=form))
        return columns

    def footnotes(self) -> list[str]:
        """What was spent, how exact it is, and what is protected."""
        _, *warnings = super().footnotes()
        all_ = "all" if self.groups is None else "all of a group"
        who = "rows" if self.parameters.get("protect") == "rows" else "people"
        ranks = f"Ranks: with probability 95 % {all_} are off by at most {self.rank_error:,.0f} {who}"
        return [
            f"{ranks}, and by {self.tied:.2%} of {'all' if self.groups is None else f'its {who}'}.",
            self.cost(readable),
            *remarks_on(self.asked),
            *self.privacy.lines(),
            *warnings,
        ]

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        intervals = self.intervals
        return {
            "release": "quantiles",
            "q": [plain(q) for q in self.q],
            "values": [_plain(value) for value in self.values],
            "intervals": None if intervals is None else [[_plain(e) for e in pair] for pair in intervals],
            "low": jsonable(self.low),
            "high": jsonable(self.high),
            "resolution": jsonable(self.resolution),
            "rank_error": self.rank_error,
            "tied": self.tied,
            "privacy": self.privacy.to_dict(),
            **({} if self.groups is None else {"groups": self.groups.to_dict()}),
            "remarks": remarks_on(self.asked),
            **self._common(),
        }


def _plain(value: Any) -> Any:
    return as_double(value) if isinstance(value, Fraction) else jsonable(value)
