"""The tables that may be asked about: where they are, what may be asked, and who pays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import freegap
from freegap.errors import InvalidArgument
from freegap.mechanisms.unknown_domain import delta_argument
from freegap.receipts.assess import RENEWAL
from freegap.serve.configuration import ConfigTable, located, name_of_person, named
from freegap.serve.own_tables import OwnTable, read_own_table
from freegap.serve.totals import MONTH, AccountTotal
from freegap.tables.databases import database_kind
from freegap.tables.domains import OBSERVED, UNKNOWN, require_usable
from freegap.values.rationals import positive_rational

MECHANISMS = ("top_k", "above")
_SOURCE = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_RANGE = re.compile(r"(-?\d{1,30})\.\.(-?\d{1,30})")
_USUAL = ("1/1000", "1")
_NO_TABLE: dict[str, Any] = {}
_WHERE_FROM = ("name", "query", "where", "format", "delimiter", "encoding")


@dataclass(frozen=True)
class ItemColumn:
    """A column that may be asked for.

    domain: its public items, or "unknown"; then a question is under (ε, δ) with this delta, and each person
        counts for so many items at most, if there is a bound.
    size: how many items the domain has; None where it is not known.
    """

    domain: Any
    delta: Fraction | None = None
    items_per_person: int | None = None
    size: int | None = None

    def arguments(self) -> dict[str, Any]:
        """What a function of the library is told of it."""
        more = {"delta": self.delta, "items_per_person": self.items_per_person}
        return {"domain": self.domain, **{name: value for name, value in more.items() if value is not None}}


@dataclass(frozen=True)
class GroupColumn:
    """A column by whose public values a release may be divided, and how many of them a person counts in."""

    groups: Any
    groups_per_person: int | None = None
    one_group_per_person: bool = False

    def arguments(self) -> dict[str, Any]:
        """What a function of the library is told of it."""
        return dict(vars(self))


@dataclass(frozen=True)
class Source:
    """A table that may be asked about.

    table, reading: where it is, and how it is read: arguments of `freegap.source`. table: or who opens it.
    person: the column of persons; None where each row is protected by itself.
    bounds: by measure, the least and the most that one question may cost.
    totals: of the dataset, of teams and of people: whoever has none, and is in no team that has, cannot ask.
    """

    name: str
    table: str | OwnTable
    reading: Mapping[str, Any]
    person: str | None
    items: Mapping[str, ItemColumn]
    groups: Mapping[str, GroupColumn]
    mechanisms: tuple[str, ...]
    bounds: Mapping[str, tuple[Fraction, Fraction]]
    budget: AccountTotal
    team_quotas: Mapping[str, AccountTotal]
    person_quotas: Mapping[str, AccountTotal]

    @contextmanager
    def described(self) -> Iterator[Any]:
        """The table, as the library takes it, for as long as it is looked at."""
        with nullcontext(self.table) if isinstance(self.table, str) else self.table.opened() as table:
            yield freegap.source(table, **self.reading)

    def public(self) -> dict[str, Any]:
        """What analysts may know of it: no path, no person."""
        return {
            "name": self.name,
            "items": sorted(self.items),
            "sizes": {name: column.size for name, column in sorted(self.items.items())},
            "unknown": {
                name: str(column.delta) for name, column in sorted(self.items.items()) if column.delta
            },
            "groups": {name: column.groups_per_person for name, column in sorted(self.groups.items())},
            "mechanisms": list(self.mechanisms),
            **{
                f"{extent}_{measure}": str(bound)
                for measure, bounds in self.bounds.items()
                for extent, bound in zip(("smallest", "largest"), bounds, strict=True)
            },
            "renewal": RENEWAL if self.budget.monthly else None,
        }

    def account_of_team(self, team: str) -> str:
        """The account of a team. It has a blank in it, which names have not: no two accounts share a name."""
        return self.team_quotas[team].account(f"{self.name} / team {team}")

    def account_of_person(self, person: str) -> str:
        """The account of a person."""
        return self.person_quotas[person].account(f"{self.name} / {person}")

    @property
    def dataset(self) -> str:
        """The account that protects the people in the table."""
        return self.budget.account(self.name)

    def is_dataset(self, account: str) -> bool:
        """Whether an account protects the people in the table now, or did in another month."""
        return account.partition(MONTH)[0] == self.name

    def totals(self) -> dict[str, AccountTotal]:
        """Every account of the source with its total."""
        teams = {self.account_of_team(team): total for team, total in self.team_quotas.items()}
        people = {self.account_of_person(person): total for person, total in self.person_quotas.items()}
        return {self.dataset: self.budget, **teams, **people}

    def holders(self) -> dict[str, tuple[str, str]]:
        """Of every account, whose it is: the dataset's, a team's or a person's, and the name."""
        teams = {self.account_of_team(team): ("team", team) for team in self.team_quotas}
        people = {self.account_of_person(person): ("person", person) for person in self.person_quotas}
        return {self.dataset: ("dataset", self.name), **teams, **people}

    def checked(self) -> Source:
        """The same with the sizes of its domains; one that no question could use is refused, since whoever
        asks would only hear that it cannot be answered, and so is a table that nobody could open."""
        if not isinstance(self.table, str):
            self.table.check()
        items = {
            name: replace(column, size=self._size("items", name, column.domain))
            for name, column in self.items.items()
        }
        for name, column in self.groups.items():
            self._size("groups", name, column.groups)
        return replace(self, items=items)

    def _size(self, kind: str, column: str, domain: Any) -> int | None:
        if domain == UNKNOWN:
            return None
        try:
            return require_usable(domain, column)
        except InvalidArgument as error:
            said = f"sources.{self.name}.{kind}.{column}", error.value, error.constraint, error.remedy
        raise InvalidArgument(*said)


def read_source(name: str, table: ConfigTable, teams: Mapping[str, Any]) -> Source:
    """A source of the configuration."""
    named(_SOURCE, name, "sources")
    items, groups = table.inner("items", required=True), table.inner("groups")
    quotas = table.inner("quotas")
    of_teams, of_people = quotas.inner("team"), quotas.inner("person")
    for team in of_teams.content:
        if team not in teams:
            raise InvalidArgument("quotas", team, "is no team of the configuration", "List it under [teams].")
    mechanisms = tuple(table.listed("mechanisms", MECHANISMS))
    for mechanism in mechanisms:
        if mechanism not in MECHANISMS:
            known = ", ".join(MECHANISMS)
            raise InvalidArgument("mechanisms", mechanism, "is not offered here", f"Known are {known}.")
    for field, listed in (("mechanisms", mechanisms), ("items", items.content)):
        if not listed:
            raise InvalidArgument(f"{table.name}{field}", listed, "allows no question", "List one at least.")
    columns = {column: _item(items, column) for column in items.content}
    for column, of in columns.items():
        if of.delta is not None and of.items_per_person is None and "above" in mechanisms:
            raise InvalidArgument(
                f"{items.name}{column}", UNKNOWN, "needs items_per_person for above", "Say it, or drop above."
            )
    own = read_own_table(table)
    read = Source(
        name=name,
        table=table.path("table") if own is None else own,
        reading=_reading(table, own),
        person=_person(table),
        items=columns,
        groups={column: _group(groups, column) for column in groups.content},
        mechanisms=mechanisms,
        bounds=_bounds(table),
        budget=AccountTotal.read(table, "budget"),
        team_quotas={team: AccountTotal.read(of_teams, team) for team in of_teams.content},
        person_quotas={name_of_person(who): AccountTotal.read(of_people, who) for who in of_people.content},
    )
    quotas.done()
    table.done()
    freegap.source(read.table if own is None else _NO_TABLE, **read.reading)  # how it is read must be right
    return read


def _reading(table: ConfigTable, own: OwnTable | None) -> dict[str, Any]:
    fields = _WHERE_FROM if own is None else ("where",)
    said: dict[str, Any] = {field: table.text_or_none(field) for field in fields}
    said["protect"] = table.text_or_none("protect")
    if said["protect"] not in (None, "rows"):
        raise InvalidArgument(f"{table.name}protect", said["protect"], 'must be "rows"', "Leave it out.")
    return {field: text for field, text in said.items() if text is not None}


def _person(table: ConfigTable) -> str | None:
    """A column of persons, or said that there is none."""
    if "protect" not in table.content:
        return table.text("person")
    if "person" in table.content:
        said = table.text("person")
        raise InvalidArgument(f"{table.name}person", said, 'cannot go with protect = "rows"', "Drop one.")
    return None


def _bounds(table: ConfigTable) -> dict[str, tuple[Fraction, Fraction]]:
    """Of questions in ε, unless only ρ is named; in ρ, where it is."""
    found = {}
    for measure in ("epsilon", "rho"):
        if measure not in table.content and (measure == "rho" or "rho" in table.content):
            continue
        bounds = table.listed(measure, _USUAL)
        if len(bounds) != 2:
            raise InvalidArgument(measure, bounds, "must be the least and the most", 'Write ["1/100", "1"].')
        least, most = (positive_rational(measure, bound) for bound in bounds)
        if least > most:
            raise InvalidArgument(measure, f"{least}, {most}", "has the least last", "Turn them round.")
        found[measure] = least, most
    return found


def _item(table: ConfigTable, column: str) -> ItemColumn:
    if not isinstance(table.content[column], dict):
        return ItemColumn(_domain(table, column))
    of = table.inner(column)
    bound = of.count("items_per_person")
    if of.text("domain") != UNKNOWN:
        raise InvalidArgument(f"{of.name}domain", of.text("domain"), f'must be "{UNKNOWN}"', "Or list items.")
    delta = delta_argument(of.text("delta"), None)
    of.done()
    return ItemColumn(UNKNOWN, delta, bound)


def _group(table: ConfigTable, column: str) -> GroupColumn:
    if not isinstance(table.content[column], dict):
        return GroupColumn(_domain(table, column))
    of = table.inner(column)
    most, declared = of.count("groups_per_person"), of.flag("one_group_per_person")
    if most is not None and declared:
        raise InvalidArgument(
            of.name[:-1], most, "has two bounds on the groups of a person", "Keep one of them."
        )
    groups = _domain(of, "groups")
    of.text_or_none("groups") if isinstance(of.content["groups"], str) else of.listed("groups")
    of.done()
    return GroupColumn(groups, most, declared)


def _domain(table: ConfigTable, field: str) -> Any:
    """A public domain: a list, A..B, or a file. What occurs in the data is none."""
    value = table.content.get(field)
    if isinstance(value, list) and value:
        return value
    matched = _RANGE.fullmatch(value) if isinstance(value, str) else None
    if matched is not None:
        return range(int(matched[1]), int(matched[2]) + 1)
    if isinstance(value, str) and value not in ("", OBSERVED, UNKNOWN) and database_kind(value) is None:
        return located(value, table.folder)
    raise InvalidArgument(
        "items", value, "must be the public items: a list, a range such as 0..999, or a file", "List them."
    )
