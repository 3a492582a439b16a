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

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from freegap.errors import InvalidArgument
from freegap.serve.configuration import ConfigTable, located, name_of_person
from freegap.serve.issuer import IssuerSettings
from freegap.serve.sources import Source, read_source

_LONGEST_SECONDS = 86_400


@dataclass(frozen=True)
class QuestionLimits:
    """Of one question. pad_to: no answer comes sooner than so many seconds after the question, and the ledger
    shows no sooner that there is one; at most half of `seconds`, after which a question is ended.
    requests_per_minute: of one person, whatever they are for."""

    seconds: float = 60
    memory_mb: int = 4096
    workers: int = 2
    pad_to: float = 0
    questions_per_minute: int = 60
    requests_per_minute: int = 600


@dataclass(frozen=True)
class Settings:
    """The whole of it.

    heads: None where the file does not say, and then those of FREEGAP_HEADS.
    https: people reach the service by it, through a proxy. No header says so, since anybody can send one.
    """

    ledger: str
    heads: tuple[str, ...] | None
    people: str
    key_file: Path
    limits: QuestionLimits
    teams: Mapping[str, tuple[str, ...]]
    sources: Mapping[str, Source]
    oidc: IssuerSettings | None = None
    https: bool = False

    def quotas(self, source: Source, person: str) -> list[str] | None:
        """The accounts that pay beside the dataset's for this person; None: they may not ask."""
        teams = [
            source.account_of_team(team) for team in source.team_quotas if person in self.teams.get(team, ())
        ]
        own = [source.account_of_person(person)] if person in source.person_quotas else []
        return [*teams, *own] or None


def read_settings(file: Path) -> Settings:
    """The settings of a file."""
    folder = file.absolute().parent
    try:
        with file.open("rb") as opened:
            table = ConfigTable(tomllib.load(opened), "", folder)
    except OSError as error:
        raise InvalidArgument(
            "config", str(file), f"cannot be read ({error.strerror})", "Name another."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidArgument("config", str(file), f"is not TOML ({error})", "Mend it.") from None
    listed = table.inner("teams")
    teams = {
        name_of_person(team): tuple(name_of_person(name) for name in listed.listed(team))
        for team in listed.content
    }
    sources = table.inner("sources", required=True)
    if not sources.content:
        raise InvalidArgument("sources", {}, "must have a source", "Write [sources.shop], for one.")
    read = Settings(
        ledger=table.path("ledger"),
        heads=_heads(table),
        people=table.path("people"),
        key_file=folder / table.text("key_file", "receipt-key.pem"),
        limits=_limits(table.inner("limits")),
        teams=teams,
        sources={name: read_source(name, sources.inner(name), teams) for name in sources.content},
        oidc=IssuerSettings.read(table),
        https=table.flag("https"),
    )
    table.done()
    return read


def _heads(table: ConfigTable) -> tuple[str, ...] | None:
    if "heads" not in table.content:
        return None
    listed = table.listed("heads")
    if not all(isinstance(head, str) and head for head in listed):
        raise InvalidArgument("heads", listed, "must be places as text", 'Write ["/var/lib/freegap/head"].')
    return tuple(located(head, table.folder) for head in listed)


def _limits(table: ConfigTable) -> QuestionLimits:
    known = QuestionLimits.__dataclass_fields__
    for name, value in table.content.items():
        if name not in known:
            raise InvalidArgument(f"limits.{name}", value, "is no limit", f"Known are {', '.join(known)}.")
        if name in ("seconds", "pad_to"):
            sound = type(value) in (int, float) and 0 <= value < _LONGEST_SECONDS  # and so not NaN
            sound = sound and (value > 0 or name == "pad_to")  # in no time nothing is answered
        else:
            sound = type(value) is int and value >= 1
        if not sound:
            kind = {"seconds": "a number of seconds, more than 0", "pad_to": "a number of seconds"}
            said = f"must be {kind.get(name, 'a whole number, 1 at least')}"
            raise InvalidArgument(f"limits.{name}", value, said, "Leave it out for the usual.")
    limits = QuestionLimits(**table.content)
    if limits.pad_to > limits.seconds / 2:
        raise InvalidArgument(
            "limits.pad_to", limits.pad_to, "must be at most half of limits.seconds", "Make seconds more."
        )
    return limits
