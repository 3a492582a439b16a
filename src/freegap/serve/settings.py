"""The configuration file of the service, TOML: everything that the owner decides. Unknown fields are errors.

    ledger = "sqlite:///ledger.db"
    people = "sqlite:///people.db"
    key_file = "receipt-key.pem"

    [limits]
    seconds = 60

    [teams]
    red = ["ann", "bob"]

    [sources.shop]
    table = "baskets.parquet"
    person = "customer"
    budget = { epsilon = "5" }
    mechanisms = ["top_k", "above"]
    epsilon = ["1/100", "1"]
    [sources.shop.items]
    product = "products.csv"
    [sources.shop.quotas.team]
    red = { epsilon = "3" }
    [sources.shop.quotas.person]
    ann = { epsilon = "1" }

Paths are taken from the file's own folder.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from freegap.errors import REDACTED, InvalidArgument
from freegap.values.rationals import positive_rational

MECHANISMS = ("top_k", "above")
_SOURCE = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_PERSON = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,59}")
_RANGE = re.compile(r"(-?\d{1,30})\.\.(-?\d{1,30})")
_TOTAL = {"epsilon", "rho", "delta"}
_LONGEST_SECONDS = 86_400


@dataclass(frozen=True)
class QuestionLimits:
    """Of one question. pad_to: no answer comes sooner than so many seconds after the question, and the ledger
    shows no sooner that there is one; at most half of `seconds`, after which a question is ended."""

    seconds: float = 60
    memory_mb: int = 4096
    workers: int = 2
    pad_to: float = 0
    questions_per_minute: int = 60


@dataclass(frozen=True)
class Source:
    """A table that may be asked about.

    items: the columns whose items may be asked for, each with its public domain.
    epsilon: the least and the most that one question may cost.
    quotas: of teams and of people; whoever has none, and is in no team that has, cannot ask.
    """

    name: str
    table: str
    person: str
    items: Mapping[str, Any]
    mechanisms: tuple[str, ...]
    epsilon: tuple[Fraction, Fraction]
    budget: Mapping[str, str]
    team_quotas: Mapping[str, Mapping[str, str]]
    person_quotas: Mapping[str, Mapping[str, str]]

    def public(self) -> dict[str, Any]:
        """What analysts may know of it: no path, no person."""
        return {
            "name": self.name,
            "items": sorted(self.items),
            "mechanisms": list(self.mechanisms),
            "smallest_epsilon": str(self.epsilon[0]),
            "largest_epsilon": str(self.epsilon[1]),
        }

    def account_of_team(self, team: str) -> str:
        """The account of a team. It has a blank in it, which names have not: no two accounts share a name."""
        return f"{self.name} / team {team}"

    def account_of_person(self, person: str) -> str:
        """The account of a person."""
        return f"{self.name} / {person}"

    def totals(self) -> dict[str, Mapping[str, str]]:
        """Every account of the source with its total."""
        teams = {self.account_of_team(team): total for team, total in self.team_quotas.items()}
        people = {self.account_of_person(person): total for person, total in self.person_quotas.items()}
        return {self.name: self.budget, **teams, **people}


@dataclass(frozen=True)
class Settings:
    """The whole of it."""

    ledger: str
    heads: tuple[str, ...]
    people: str
    key_file: Path
    limits: QuestionLimits
    teams: Mapping[str, tuple[str, ...]]
    sources: Mapping[str, Source]

    def quotas(self, source: Source, person: str) -> list[str] | None:
        """The accounts that pay beside the dataset's for this person; None: they may not ask."""
        teams = [
            source.account_of_team(team) for team in source.team_quotas if person in self.teams.get(team, ())
        ]
        own = [source.account_of_person(person)] if person in source.person_quotas else []
        return [*teams, *own] or None


def read_settings(file: Path) -> Settings:
    """The settings of a file."""
    try:
        with file.open("rb") as opened:
            table = _Table(tomllib.load(opened), "")
    except OSError as error:
        raise InvalidArgument(
            "config", str(file), f"cannot be read ({error.strerror})", "Name another."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidArgument("config", str(file), f"is not TOML ({error})", "Mend it.") from None
    folder = file.absolute().parent
    teams = {
        _named(_PERSON, team, "teams"): tuple(
            name_of_person(name) for name in table.inner("teams").listed(team)
        )
        for team in table.inner("teams").content
    }
    sources = table.inner("sources", required=True)
    read = Settings(
        ledger=_url(table.text("ledger"), folder),
        heads=tuple(_url(head, folder) for head in table.listed("heads", ())),
        people=_url(table.text("people"), folder),
        key_file=folder / table.text("key_file", "receipt-key.pem"),
        limits=_limits(table.inner("limits")),
        teams=teams,
        sources={name: _source(name, sources.inner(name), folder, teams) for name in sources.content},
    )
    table.done()
    return read


def name_of_person(name: Any) -> str:
    """The name of a person, as accounts, tokens and the journal have it."""
    return _named(_PERSON, name, "name")


def _named(pattern: re.Pattern[str], name: Any, where: str) -> str:
    if not isinstance(name, str) or pattern.fullmatch(name) is None:
        raise InvalidArgument(where, name, f"must be a name such as {pattern.pattern}", "Use plain letters.")
    return name


def _source(name: str, table: _Table, folder: Path, teams: Mapping[str, Any]) -> Source:
    _named(_SOURCE, name, "sources")
    items = table.inner("items", required=True)
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
    least, most = (
        positive_rational("epsilon", bound) for bound in _two(table.listed("epsilon", ("1/1000", "1")))
    )
    if least > most:
        raise InvalidArgument("epsilon", f"{least}, {most}", "has the least last", "Turn them round.")
    read = Source(
        name=name,
        table=_path(table.text("table"), folder),
        person=table.text("person"),
        items={column: _domain(items.content[column], folder) for column in items.content},
        mechanisms=mechanisms,
        epsilon=(least, most),
        budget=table.total("budget"),
        team_quotas={team: of_teams.total(team) for team in of_teams.content},
        person_quotas={name_of_person(who): of_people.total(who) for who in of_people.content},
    )
    quotas.done()
    table.done()
    return read


def _domain(value: Any, folder: Path) -> Any:
    """A public domain: a list, A..B, or a file. What occurs in the data is none."""
    if isinstance(value, list) and value:
        return value
    matched = _RANGE.fullmatch(value) if isinstance(value, str) else None
    if matched is not None:
        return range(int(matched[1]), int(matched[2]) + 1)
    if isinstance(value, str) and value not in ("", "observed", "unknown"):
        return _path(value, folder)
    raise InvalidArgument(
        "items", value, "must be the public items: a list, a range such as 0..999, or a file", "List them."
    )


def _limits(table: _Table) -> QuestionLimits:
    known = QuestionLimits.__dataclass_fields__
    for name, value in table.content.items():
        if name not in known:
            raise InvalidArgument(f"limits.{name}", value, "is no limit", f"Known are {', '.join(known)}.")
        if name in ("seconds", "pad_to"):
            sound = type(value) in (int, float) and 0 <= value < _LONGEST_SECONDS  # and so not NaN
        else:
            sound = type(value) is int and value >= 1
        if not sound:
            kind = "a number of seconds" if name in ("seconds", "pad_to") else "a whole number, 1 at least"
            raise InvalidArgument(f"limits.{name}", value, f"must be {kind}", "Leave it out for the usual.")
    limits = QuestionLimits(**table.content)
    if limits.pad_to > limits.seconds / 2:
        raise InvalidArgument(
            "limits.pad_to", limits.pad_to, "must be at most half of limits.seconds", "Make seconds more."
        )
    return limits


def _two(listed: Any) -> tuple[Any, Any]:
    if len(listed) != 2:
        raise InvalidArgument("epsilon", listed, "must be the least and the most", 'Write ["1/100", "1"].')
    return listed[0], listed[1]


def _path(text: str, folder: Path) -> str:
    return str(folder / text)


def _url(text: str, folder: Path) -> str:
    """A URL; of SQLite, and a plain path, from the folder of the configuration."""
    prefix = "sqlite:///"
    if text.startswith(prefix):
        return prefix + str(folder / text.removeprefix(prefix))
    return text if "://" in text or text == "syslog" else str(folder / text)


class _Table:
    """A table of TOML whose fields are taken one by one, so that what is left over is an error."""

    def __init__(self, content: dict[str, Any], name: str) -> None:
        self.content = content
        self._name = name
        self._taken: set[str] = set()

    def _take(self, name: str, default: Any, kind: type, what: str) -> Any:
        self._taken.add(name)
        value = self.content.get(name, default)
        if not isinstance(value, kind):
            raise InvalidArgument(
                f"{self._name}{name}", value, f"must be {what}", "See docs/serve.md for an example."
            )
        return value

    def text(self, name: str, default: str | None = None) -> str:
        text: str = self._take(name, default, str, "a text")
        return text

    def listed(self, name: str, default: Any = None) -> list[Any]:
        return list(self._take(name, None if default is None else list(default), list, "a list"))

    def inner(self, name: str, *, required: bool = False) -> _Table:
        content = self._take(name, None if required else {}, dict, "a table")
        return _Table(content, f"{self._name}{name}.")

    def total(self, name: str) -> Mapping[str, str]:
        amounts = self.inner(name, required=True).content
        if (
            not amounts
            or not amounts.keys() <= _TOTAL
            or not all(isinstance(a, str) for a in amounts.values())
        ):
            raise InvalidArgument(
                f"{self._name}{name}", amounts, "must be a total, as text", 'Write { epsilon = "5" }.'
            )
        return amounts

    def done(self) -> None:
        left = sorted(self.content.keys() - self._taken)
        if left:
            raise InvalidArgument(
                f"{self._name}{left[0]}", REDACTED, "is not known here", "Remove or mend it."
            )
