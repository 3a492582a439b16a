"""`quantiles`: several quantiles of people's numbers, privately, from any table.

A person has one number (`freegap.tables.quantiles_grid`), so one person more or less is one more or less in
one cell of a histogram, to which `freegap.mechanisms.quantiles` applies. The engine that holds the table
makes the histogram; at most as many rows travel as the public grid has cells.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged, ledger_argument, require
from freegap.errors import REDACTED, InvalidArgument
from freegap.mechanisms.arguments import remembered
from freegap.mechanisms.quantiles import Grid, QuantilesPlan, draw_quantiles
from freegap.mechanisms.quantiles_node import Spread
from freegap.tables.described import ProtectName, described, groups_of
from freegap.tables.files import is_path
from freegap.tables.grouping import GroupArguments, Grouping
from freegap.tables.groups import read_groups
from freegap.tables.quantiles_dates import Calendar
from freegap.tables.quantiles_grid import PeopleListed, numbers_of
from freegap.tables.quantiles_people import GroupsOfPeople, PeopleInTable, PerPerson, per_person_argument
from freegap.tables.quantiles_range import SEARCHING, RangeSearch, Tally
from freegap.tables.quantiles_result import Quantiles
from freegap.tables.results import PrivacyUnit, privacy_in_groups, privacy_of
from freegap.tables.sources import TableSource, open_source
from freegap.values.measures import Pure, ZeroConcentrated, measure_argument
from freegap.values.rationals import Rational
from freegap.values.written import readable

_NEIGHBOURS = "two tables of which one has all rows of one more person, who counts as one number"
_IN_GROUPS = "two tables of which one has {}, who counts as one number in each of at most {:,} of the groups"
_ROWS = "two tables of which one has one row more, which counts as one number"
_FEW_CELLS, _MOST_KNOWN = 8, 64  # of groups that may be alike: what is made of more would take memory
_RULES = {
    "median": "the lower median of a person's rows counts",
    "smallest": "the smallest of a person's rows counts",
    "largest": "the largest of a person's rows counts",
    "spread": "by how much a person's largest number is above their smallest counts",
}


def quantiles(
    table: Any,
    *,
    value: str | None = None,
    person: str | None = None,
    protect: ProtectName | None = None,
    where: Any = None,
    q: Any,
    low: Rational | datetime.date | None = None,
    high: Rational | datetime.date | None = None,
    resolution: Rational | datetime.timedelta = 1,
    per_person: PerPerson = "median",
    intervals: bool = False,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    group: str | None = None,
    groups: Any = None,
    groups_per_person: int | None = None,
    one_group_per_person: bool = False,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> Quantiles:
    """Several quantiles of people's numbers at once, privately.

    Adding or removing one person, with all rows of that person, changes the chance of any release by at most
    a factor e^ε; under ρ, the Rényi divergences between the two releases are at most ρ times their order. A
    person may have any number of rows, of which one counts. Rows without a number or without a person are
    left out.

    table: as in `top_k`; or a list or an array of numbers, one for each person, without value and person.
    value, person: the names of two columns.
    where, protect: which rows are looked at, and that each row is protected by itself; see `source`.
    q: one number between 0 and 1, or a list of them, such as [0.25, 0.5, 0.75]. Nine cost four times the
        accuracy of one, not nine times.
    epsilon, rho: the budget, in one of the two measures. Under ρ many quantiles cost less.
    low, high: the range of the numbers, chosen without looking at them; what lies outside is clipped. Left
        out, an eighth of the budget finds one, by powers of four. Of a column of dates or times two dates, or
        two times, which come out then: "2024-01-01".
    resolution: the grid of what comes out; numbers are rounded down to it. Where the range is to be found,
        the finest that it may be. Of dates a number of days, of times of seconds; or a timedelta.
    per_person: which of a person's rows counts: "median", the lower one of two; "smallest" or "largest",
        which engines find faster. Or "spread": by how much the largest of a person's rows is above the
        smallest, from 0 to high − low; rows are clipped to low and high first.
    intervals: draw also, of the same budget, an interval for each quantile: with probability 95 % all of them
        hold the quantile of the people in the table. The ranks are then found less exactly.
    group, groups: the same quantiles in each of these public groups, which are values of the column `group`:
        a list, a range, a file or a table. In a group, a person's rows there count alone. Where a range is to
        be found, it is one for all groups.
    groups_per_person, one_group_per_person: as in `top_k`: count each person in so many groups at most, m,
        and each group has 1/m of the budget; or your declaration that no person is in two.
    ledger: a ledger and the name of a data set in it; ε or ρ is reserved there before anything is drawn.
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
    >>> visits["ward"] = ["north", "north", "south", "south"] * 500
    >>> release = fg.quantiles(visits, value="age", person="patient", q=0.75, low=0, high=120, epsilon=1,
    ...                        group="ward", groups=["north", "south"], groups_per_person=1,
    ...                        bits=fg.SeededBits(1))
    >>> [(row.group, int(row.estimate)) for row in release]
    [('north', 30), ('south', 50)]
    """
    asked = measure_argument(epsilon=epsilon, rho=rho)
    calendar, plan, range_ = read_plan(q, low, high, resolution, intervals=intervals, asked=asked)
    rule = rule_on(range_, per_person)
    source = source_or_system(bits)
    account = ledger_argument(ledger)
    if where is not None or protect is not None or not _is_list(table):
        table = described(table, where=where, protect=protect)
        group, groups, alone = groups_of(table, group, groups, one_group_per_person, ledger)
    else:
        alone = one_group_per_person
    by_group = read_grouping(group, groups, groups_per_person, alone)
    if rule == "spread" and (_is_list(table) or table.by_row):
        raise InvalidArgument(
            "per_person", rule, "is of several rows of one person", "Pass a table with persons, person='…'."
        )
    require(account, plan.asked)
    with _opened(table, value, person, rule, by_group, plan.asked, calendar) as opened:
        people, grouping = opened.people, opened.grouping
        plan, range_ = in_parts(plan, range_, 1 if grouping is None else grouping.touched)
        plan = replace(plan, parameters={**plan.parameters, **opened.columns})
        counted = people.cells(range_) if isinstance(range_, Grid) else people.zones(range_)

        def release() -> Quantiles:
            if isinstance(range_, Grid):
                grid, tallies = range_, counted
            else:
                # The claim is open: an engine that fails here costs the whole, as the range is drawn already.
                grid = range_.find(counted, source)
                tallies = people.cells(grid)
            said = _named(calendar, grid)
            privacy = _privacy(opened.protected, said, opened.rule)
            grid = spreads_on(grid) if rule == "spread" else grid
            drawn = [draw_quantiles(plan, grid, spread, source) for spread in _spreads(tallies, grid)]
            bounds = [one.intervals for one in drawn if one.intervals is not None]
            name = _names(calendar, rule)
            return Quantiles(
                plan=plan,
                q=plan.q,
                values=tuple(name(value) for one in drawn for value in one.values),
                intervals=tuple((name(a), name(b)) for pairs in bounds for a, b in pairs)
                if plan.intervals
                else None,
                low=name(grid.low),
                high=name(grid.high),
                resolution=grid.step if calendar is None else calendar.length(grid.step),
                rank_error=plan.rank_error(grid.cells),
                tied=plan.tied,
                privacy=privacy,
                groups=None if grouping is None else replace(grouping, sizes=(len(plan.q),) * len(drawn)),
                spent=plan.charge,
                private=source.private,
            )

        return charged(account, plan, release)


def read_plan(
    q: Any, low: Any, high: Any, resolution: Any, *, intervals: Any, asked: Pure | ZeroConcentrated
) -> tuple[Calendar | None, QuantilesPlan, Grid | RangeSearch]:
    """What the numbers mean, what is asked for, and the range, or the search for one where none is given."""
    return _read_plan(q=q, low=low, high=high, step=resolution, intervals=intervals, **asked.arguments())


@remembered
def _read_plan(
    *, q: Any, low: Any, high: Any, step: Any, intervals: Any, **amount: Fraction
) -> tuple[Calendar | None, QuantilesPlan, Grid | RangeSearch]:
    asked = measure_argument(**amount)
    dated = Calendar.read(low, high, step)
    searched = low is None and high is None
    plan = QuantilesPlan.read(q, asked, intervals, SEARCHING if searched else Fraction(0))
    range_: Grid | RangeSearch
    if dated is not None:
        calendar, range_ = dated
        ends = {"low": str(calendar.named(range_.low)), "high": str(calendar.named(range_.high))}
        said: dict[str, Any] = {**ends, "resolution": calendar.length(range_.step)}
    elif searched:
        range_ = RangeSearch.read(step, plan.search)
        said = {"resolution": range_.step}
    else:
        range_ = Grid.read(low, high, step)
        said = {"low": range_.low, "high": range_.high, "resolution": range_.step}
    plan = replace(plan, parameters={**plan.parameters, **said, "noise": "Gumbel"})
    return None if dated is None else dated[0], plan, range_


def rule_on(range_: Grid | RangeSearch, per_person: Any) -> PerPerson:
    """Which of a person's rows counts; of a spread the range must be known, which numbers alone can tell."""
    rule = per_person_argument(per_person)
    if rule == "spread" and not isinstance(range_, Grid):
        raise InvalidArgument(
            "per_person", rule, "needs a range of the numbers that it is of", "Pass low= and high=."
        )
    return rule


def spreads_on(grid: Grid) -> Grid:
    """The spreads that people can have whose numbers are on a grid: as many, from 0 on."""
    return Grid(Fraction(0), grid.high - grid.low, grid.step)


def in_parts(
    plan: QuantilesPlan, range_: Grid | RangeSearch, touched: int
) -> tuple[QuantilesPlan, Grid | RangeSearch]:
    """The same in groups, of which one person can change so many: they share what is for the quantiles."""
    if touched == 1:
        return plan, range_
    wider = range_ if isinstance(range_, Grid) else replace(range_, touched=touched)
    return plan.in_parts(touched), wider


def read_grouping(
    group: Any, groups: Any, groups_per_person: Any, one_group_per_person: Any
) -> GroupArguments:
    """What is said of groups; they must be listed."""
    of = GroupArguments.read(group, groups, groups_per_person, one_group_per_person)
    if of.unknown:
        raise InvalidArgument(
            "groups",
            groups,
            "must be listed for quantiles",
            "Pass a public list of groups; or name groups first, by top_k with the groups for items.",
        )
    return of


@dataclass(frozen=True)
class _OpenedPeople:
    """A table of which all that is public has been read.

    columns: what was said of them, for the record.
    rule: which of a person's rows counts, where a person may have several.
    """

    people: PeopleInTable | PeopleListed
    protected: PrivacyUnit
    columns: dict[str, Any]
    rule: PerPerson | None = None
    grouping: Grouping | None = None


@contextmanager
def _opened(
    table: Any,
    value: str | None,
    person: str | None,
    rule: PerPerson,
    of: GroupArguments,
    asked: Pure | ZeroConcentrated,
    calendar: Calendar | None,
) -> Iterator[_OpenedPeople]:
    """The people, what is protected, and what was said of columns and groups."""
    if value is None and person is None and _is_list(table):
        if calendar is not None:
            raise InvalidArgument(
                "table", REDACTED, "must have a column of dates", "Pass a table, or numbers for dates."
            )
        if of.group is not None:
            raise InvalidArgument(
                "group", of.group, "names a column, and a list has none", "Pass a table, or leave it out."
            )
        yield _OpenedPeople(PeopleListed(table), PrivacyUnit("one number of the list", _NEIGHBOURS, ""), {})
        return
    with _source(table, value, person, of.group) as source:
        grouping = among = None
        if of.group is not None:
            listed, source = read_groups(of.groups, source, normalize=False)
            grouping = of.grouping(listed.items, by_row=source.by_row)
            bounded = grouping.enforced and not source.by_row  # a row is in one group
            among = GroupsOfPeople(listed, grouping.touched if bounded else None)
        numbers = numbers_of(source, calendar)
        said = source.public()
        columns = {"value": said.pop("item"), **said, "per_person": rule, **_of_groups(grouping)}
        people = PeopleInTable(numbers, rule, among)
        of_several = None if source.by_row else rule
        yield _OpenedPeople(people, _protected(source, grouping, asked), columns, of_several, grouping)


def _of_groups(grouping: Grouping | None) -> dict[str, Any]:
    return {} if grouping is None else grouping.parameters


def _protected(source: TableSource, grouping: Grouping | None, asked: Pure | ZeroConcentrated) -> PrivacyUnit:
    if grouping is None:
        return replace(privacy_of(source, ""), neighbours=_ROWS if source.by_row else _NEIGHBOURS)
    said = privacy_in_groups(source, "", grouping, asked)
    if source.by_row:
        return replace(said, neighbours=_ROWS)
    more = "one more person in one window" if source.by_window else "all rows of one more person"
    return replace(said, neighbours=_IN_GROUPS.format(more, grouping.touched))


@contextmanager
def _source(table: Any, value: str | None, person: str | None, group: str | None) -> Iterator[TableSource]:
    """The table's columns; what is said of an item elsewhere is said of a value here."""
    with ExitStack() as stack:
        try:
            source = stack.enter_context(open_source(table, value, person, group))
        except InvalidArgument as error:
            if error.argument != "item":
                raise
            remedy = error.remedy.replace("item", "value")
            raise InvalidArgument("value", error.value, error.constraint, remedy) from None
        yield source


def _spreads(tallies: Sequence[Tally], grid: Grid) -> Iterator[Spread]:
    """The people of each group on the places; groups of few people are often alike, and have one then."""
    known: dict[tuple[bytes, bytes], Spread] = {}
    for cells, counts in tallies:
        spread = Spread(cells, counts, grid.cells)
        if len(cells) > _FEW_CELLS:
            yield spread
            continue
        if len(known) == _MOST_KNOWN:
            known.clear()
        yield known.setdefault((cells.tobytes(), counts.tobytes()), spread)


def _is_list(table: Any) -> bool:
    """Whether it is numbers, and not a table: it has one dimension and no columns."""
    if is_path(table) or table is None or isinstance(table, dict | bytes):
        return False
    return isinstance(table, list | tuple | range | np.ndarray) or (
        hasattr(table, "to_numpy") and not hasattr(table, "columns")
    )


def _names(calendar: Calendar | None, rule: PerPerson) -> Callable[[Fraction], Any]:
    """What a number of the grid is called: a date, a number of days, or itself."""
    if calendar is None:
        return lambda number: number
    return calendar.length if rule == "spread" else calendar.named


def _named(calendar: Calendar | None, grid: Grid) -> str:
    """What is said of the range."""
    if calendar is None:
        low, high, step = map(readable, (grid.low, grid.high, grid.step))
        return f"the numbers from {low} to {high} in steps of {step}"
    step = f"{readable(calendar.length(grid.step))} {calendar.length_unit}"
    ends = f"from {calendar.named(grid.low)} to {calendar.named(grid.high)}"
    return f"the times {ends} in steps of {step}"


def _privacy(protected: PrivacyUnit, range_: str, rule: PerPerson | None) -> PrivacyUnit:
    """range_: what is said of it. rule: which of a person's rows counts, where one may have several."""
    one = [] if rule is None else [f"each person to one number: {_RULES[rule]}"]
    said = replace(protected, domain=range_)
    return said.clipping("what is outside the domain to its ends, and the rest rounded down to a step", *one)
