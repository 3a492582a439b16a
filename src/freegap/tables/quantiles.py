"""`quantiles`: several quantiles of people's numbers, privately, from any table.

A person has one number (`freegap.tables.quantiles_grid`), so one person more or less is one more or less in
one cell of a histogram, to which `freegap.mechanisms.quantiles` applies. The engine that holds the table
makes the histogram; at most as many rows travel as the public grid has cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged, ledger_argument, require
from freegap.errors import InvalidArgument
from freegap.mechanisms.quantiles import Bounds, Grid, QuantilesPlan, draw_quantiles
from freegap.mechanisms.quantiles_node import Spread
from freegap.tables.described import ProtectName, described
from freegap.tables.files import is_path
from freegap.tables.quantiles_grid import (
    PeopleInTable,
    PeopleListed,
    PerPerson,
    numbers_of,
    per_person_argument,
)
from freegap.tables.quantiles_range import SEARCHING, RangeSearch
from freegap.tables.results import PrivacyUnit, privacy_of
from freegap.tables.sources import TableSource, open_source
from freegap.values.columns import Column
from freegap.values.rationals import Rational
from freegap.values.remarks import remarks_on
from freegap.values.results import Release
from freegap.values.written import as_double, jsonable, plain, readable

_NEIGHBOURS = "two tables of which one has all rows of one more person, who counts as one number"
_ROWS = "two tables of which one has one row more, which counts as one number"
_RULES = {
    "median": "the lower median of a person's rows counts",
    "smallest": "the smallest of a person's rows counts",
    "largest": "the largest of a person's rows counts",
}


@dataclass(frozen=True, kw_only=True)
class Quantiles(Release):
    """Quantiles of people's numbers.

    q: the quantiles, rising. values: one for each, a multiple of `resolution` from `low` to `high`.
    intervals: for each, where asked for: with probability 95 % all of them hold their quantile.
    rank_error, tied: by how many people, and by which part of all people in addition, all values are off in
        rank at most, with probability 95 %. The second is for ties, and does not shrink with ε.
    privacy: what ε protects.
    """

    q: tuple[Fraction, ...]
    values: tuple[Fraction, ...]
    intervals: tuple[Bounds, ...] | None
    low: Fraction
    high: Fraction
    resolution: Fraction
    rank_error: float
    tied: float
    privacy: PrivacyUnit

    @property
    def title(self) -> str:
        """One line that says what this is."""
        what = self.parameters.get("value")
        return "Private quantiles" + ("" if what is None else f" of {what}")

    def columns(self) -> list[Column]:
        """Quantile, value, and interval where there is one."""
        form = ",.0f" if self.resolution.denominator == 1 else ",.6g"
        columns = [
            Column("quantile", tuple(f"{float(100 * q):.6g} %" for q in self.q)),
            Column("value", self.values, float, "estimate", form),
        ]
        if self.intervals is not None:
            columns.append(Column("95 % interval", self.intervals, tuple, form=form))
        return columns

    def footnotes(self) -> list[str]:
        """What was spent, how exact it is, and what is protected."""
        _, *warnings = super().footnotes()
        ranks = f"Ranks: with probability 95 % all are off by at most {self.rank_error:,.0f} people"
        return [
            f"{ranks}, and by {self.tied:.2%} of all.",
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
            "values": [as_double(value) for value in self.values],
            "intervals": None if intervals is None else [[as_double(e) for e in pair] for pair in intervals],
            "low": jsonable(self.low),
            "high": jsonable(self.high),
            "resolution": jsonable(self.resolution),
            "rank_error": self.rank_error,
            "tied": self.tied,
            "privacy": self.privacy.to_dict(),
            "remarks": remarks_on(self.asked),
            **self._common(),
        }


def quantiles(
    table: Any,
    *,
    value: str | None = None,
    person: str | None = None,
    protect: ProtectName | None = None,
    where: Any = None,
    q: Any,
    low: Rational | None = None,
    high: Rational | None = None,
    resolution: Rational = 1,
    per_person: PerPerson = "median",
    intervals: bool = False,
    epsilon: Rational | None = None,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> Quantiles:
    """Several quantiles of people's numbers at once, privately.

    Adding or removing one person, with all rows of that person, changes the chance of any release by at most
    a factor e^ε. A person may have any number of rows, of which one counts. Rows without a number or without
    a person are left out.

    table: as in `top_k`; or a list or an array of numbers, one for each person, without value and person.
    value, person: the names of two columns.
    where, protect: which rows are looked at, and that each row is protected by itself; see `source`.
    q: one number between 0 and 1, or a list of them, such as [0.25, 0.5, 0.75]. Nine cost four times the
        accuracy of one, not nine times.
    low, high: the range of the numbers, chosen without looking at them; what lies outside is clipped. Left
        out, an eighth of ε finds one, by powers of four.
    resolution: the grid of what comes out; numbers are rounded down to it. Where the range is to be found,
        the finest that it may be.
    per_person: which of a person's rows counts: "median", the lower one of two; "smallest" or "largest",
        which engines find faster.
    intervals: draw also, of the same ε, an interval for each quantile: with probability 95 % all of them hold
        the quantile of the people in the table. The ranks are then found less exactly.
    ledger: a ledger and the name of a data set in it; ε is reserved there before anything is drawn.
    bits: leave out for a private release; a seeded source for tests.

    >>> import freegap as fg
    >>> import pandas as pd
    >>> visits = pd.DataFrame({"age": [20, 30, 40, 50] * 500, "patient": range(2000)})
    >>> release = fg.quantiles(visits, value="age", person="patient", q=[0.1, 0.4, 0.9], low=0, high=120,
    ...                        epsilon=1, bits=fg.SeededBits(1))
    >>> [int(value) for value in release.values], release.spent
    ([20, 30, 50], Fraction(1, 1))
    >>> fg.quantiles([1.25] * 900, q=0.5, resolution="1/4", epsilon=1, bits=fg.SeededBits(1)).values
    (Fraction(5, 4),)
    """
    plan, range_ = read_plan(q, low, high, resolution, intervals=intervals, epsilon=epsilon)
    rule = per_person_argument(per_person)
    source = source_or_system(bits)
    account = ledger_argument(ledger)
    require(account, plan.asked)
    if where is not None or protect is not None or not _is_list(table):
        table = described(table, where=where, protect=protect)
    with _opened(table, value, person, rule) as (people, protected, columns):
        plan = replace(plan, parameters={**plan.parameters, **columns})
        counted = people.cells(range_) if isinstance(range_, Grid) else people.zones(range_)

        def release() -> Quantiles:
            if isinstance(range_, Grid):
                grid, tally = range_, counted
            else:
                # The claim is open: an engine that fails here costs the whole, as the range is drawn already.
                grid = range_.find(*counted, source)
                tally = people.cells(grid)
            drawn = draw_quantiles(plan, grid, Spread(*tally, grid.cells), source)
            return Quantiles(
                plan=plan,
                q=plan.q,
                values=drawn.values,
                intervals=drawn.intervals,
                low=grid.low,
                high=grid.high,
                resolution=grid.step,
                rank_error=plan.rank_error(grid.cells),
                tied=plan.tied,
                privacy=_privacy(protected, grid, rule if columns else None),
                spent=plan.asked.epsilon,
                private=source.private,
            )

        return charged(account, plan, release)


def read_plan(
    q: Any, low: Any, high: Any, resolution: Any, *, intervals: Any, epsilon: Any
) -> tuple[QuantilesPlan, Grid | RangeSearch]:
    """What is asked for, and the range, or the search for one where none is given."""
    searched = low is None and high is None
    plan = QuantilesPlan.read(q, epsilon, intervals, SEARCHING if searched else Fraction(0))
    range_: Grid | RangeSearch
    if searched:
        range_ = RangeSearch.read(resolution, plan.asked.epsilon)
        said: dict[str, Any] = {"resolution": range_.step}
    else:
        range_ = Grid.read(low, high, resolution)
        said = {"low": range_.low, "high": range_.high, "resolution": range_.step}
    return replace(plan, parameters={**plan.parameters, **said, "noise": "Gumbel"}), range_


@contextmanager
def _opened(
    table: Any, value: str | None, person: str | None, rule: PerPerson
) -> Iterator[tuple[PeopleInTable | PeopleListed, PrivacyUnit, dict[str, Any]]]:
    """The people, what is protected, and what was said of columns."""
    if value is None and person is None and _is_list(table):
        yield PeopleListed(table), PrivacyUnit("one number of the list", _NEIGHBOURS, ""), {}
        return
    with _source(table, value, person) as source:
        numbers = numbers_of(source)
        protected = replace(privacy_of(source, ""), neighbours=_ROWS if source.by_row else _NEIGHBOURS)
        said = source.public()
        columns = {"value": said.pop("item"), **said, "per_person": rule}
        yield PeopleInTable(numbers, rule), protected, columns


@contextmanager
def _source(table: Any, value: str | None, person: str | None) -> Iterator[TableSource]:
    """The table's columns; what is said of an item elsewhere is said of a value here."""
    with ExitStack() as stack:
        try:
            source = stack.enter_context(open_source(table, value, person))
        except InvalidArgument as error:
            if error.argument != "item":
                raise
            remedy = error.remedy.replace("item", "value")
            raise InvalidArgument("value", error.value, error.constraint, remedy) from None
        yield source


def _is_list(table: Any) -> bool:
    """Whether it is numbers, and not a table: it has one dimension and no columns."""
    if is_path(table) or table is None or isinstance(table, dict | bytes):
        return False
    return isinstance(table, list | tuple | range | np.ndarray) or (
        hasattr(table, "to_numpy") and not hasattr(table, "columns")
    )


def _privacy(protected: PrivacyUnit, grid: Grid, rule: str | None) -> PrivacyUnit:
    low, high, step = map(readable, (grid.low, grid.high, grid.step))
    one = "" if rule is None else f"; {_RULES[rule]}"
    return replace(
        protected,
        domain=f"the numbers from {low} to {high} in steps of {step}; numbers outside are clipped, others "
        f"rounded down{one}",
    )
