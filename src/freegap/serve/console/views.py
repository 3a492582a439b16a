"""What the pages show of releases, accounts and plans: texts and cells. Templates escape them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from urllib.parse import urlencode

from freegap.errors import InvalidArgument
from freegap.receipts.assess import RENEWAL
from freegap.serve.console.pictures import BarChart, bar_chart, chance_chart, error_chart
from freegap.serve.jobs import OPEN
from freegap.serve.people import Person
from freegap.serve.questions import FIELDS
from freegap.serve.sources import Source
from freegap.serve.totals import AccountTotal
from freegap.values.columns import Column
from freegap.values.kept import KeptRelease, kept
from freegap.values.results import NOT_PRIVATE
from freegap.values.written import readable

_LARGEST_ODDS = 10
_SYMBOLS = {"epsilon": "ε", "rho": "ρ", "delta": "δ"}
_SAID = {"unit": "One person is", "neighbours": "Neighbours", "domain": "Items", "groups": "Groups"}
_SAID |= {"clipped": "Clipped", "filter": "Rows"}


@dataclass(frozen=True)
class ReleaseView:
    """A release for a page. facts: what it protects and what it cost, each with its name."""

    title: str
    warning: str | None
    chart: BarChart | None
    columns: list[Column]
    rows: list[tuple[str, ...]]
    sentence: str
    facts: list[tuple[str, str]]
    notes: list[str]
    parameters: list[tuple[str, str]]


def release_view(record: dict[str, Any]) -> ReleaseView | None:
    """What a page shows of a release as the ledger keeps it; None where it is none that is known here."""
    try:
        release = kept(record)
    except InvalidArgument:
        return None
    columns = release.columns()
    privacy = record.get("privacy") or {}
    return ReleaseView(
        title=release.title,
        warning=None if release.private else NOT_PRIVATE,
        chart=bar_chart(release),
        columns=columns,
        rows=list(zip(*(column.cells for column in columns), strict=True)),
        sentence=_sentence(release),
        facts=[(said, str(privacy[name])) for name, said in _SAID.items() if name in privacy],
        notes=[note for note in release.footnotes() if note.startswith(("Everything else", "No item"))],
        parameters=[(name, str(value)) for name, value in release.parameters.items()],
    )


def _sentence(release: KeptRelease) -> str:
    """What the release promises to one person. Both numbers are rounded up."""
    cost = f"It was charged {release.asked.symbol} = {readable(release.spent)}."
    if release.epsilon is None or release.delta is not None or release.epsilon > _LARGEST_ODDS:
        return f"What comes out depends little on any one person ({release.cost(readable)}). {cost}"
    epsilon = float(release.epsilon)
    times = math.ceil(math.exp(epsilon) * 100) / 100
    sure = math.ceil(1000 / (1 + math.exp(-epsilon))) / 10
    return (
        f"Whatever comes out is at most {times:,.4g} times as likely with one person's data as without: "
        f"who thought it even odds that somebody is in the data can be {sure:.4g} % sure now, and no surer. "
        f"{cost}"
    )


@dataclass(frozen=True)
class AccountView:
    """An account for a page: amounts as text, and the share that is left in percent."""

    name: str
    symbol: str
    total: str
    left: str
    percent: float


def account_view(account: Mapping[str, str]) -> AccountView:
    """What a page shows of an account.

    >>> account_view({"account": "shop", "unit": "epsilon", "total": "5", "left": "9/2"})
    AccountView(name='shop', symbol='ε', total='5', left='4.5', percent=90.0)
    """
    total, left = Fraction(account["total"]), Fraction(account["left"])
    percent = round(100 * float(left / total), 1) if total else 0.0
    symbol = _SYMBOLS.get(account["unit"], account["unit"])
    return AccountView(account["account"], symbol, amount(total), amount(left), max(0.0, percent))


_STATES = {
    "waiting": ("waiting", "note", "Nothing is charged yet."),
    "starting": ("starting", "note", "Nothing is charged yet."),
    "running": ("running", "note", "It is charged: cancelled now, it stays so."),
    "released": ("answered", "good", ""),
    "cancelled": ("cancelled", "", ""),
}


def job_view(job: Mapping[str, Any], person: Person) -> dict[str, Any]:
    """What a page shows of a job: its state in words, and whether this person may end it.

    >>> ann = Person("ann", "analyst")
    >>> found = job_view({"state": "running", "line": 7, "who": "ann"}, ann)
    >>> found["tag"], found["said"], found["may_cancel"]
    (('running', 'note'), 'It is charged: cancelled now, it stays so.', True)
    """
    state = job["state"]
    open_still = state in OPEN
    if state == "running" and job.get("line") is None:
        state = "starting"
    word, kind, said = _STATES.get(state, (state, "bad", ""))
    if state == "waiting" and job.get("position") is not None:
        word = f"waiting, place {job['position']}"
    if not open_still and state != "released":
        paid = "Nothing was charged." if job.get("line") is None else "It stays charged in full."
        said = job.get("error") or (paid if state in ("cancelled", "failed") else "")
    may_cancel = open_still and (job["who"] == person.name or person.role == "owner")
    line = job.get("line")
    return {**job, "line": line, "tag": (word, kind), "said": said, "may_cancel": may_cancel}


def budget_views(
    accounts: Sequence[Mapping[str, Any]], made: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Every source with its accounts and with who was charged what of the dataset's account."""
    sources: dict[str, dict[str, Any]] = {}
    for account in accounts:
        of_source = sources.setdefault(account["source"], {"name": account["source"], "views": []})
        left = {"account": account["dataset"], "left": account["remaining"]}
        of_source["views"].append(account_view({**account, **left}))
        if account["level"] == "dataset":
            of_source["renewal"] = RENEWAL if account["renewed"] else None
            of_source["spenders"] = _spenders([m for m in made if m["dataset"] == account["dataset"]])
    return list(sources.values())


def _spenders(made: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, Fraction]]:
    questions = Counter(charge["who"] for charge in made)
    charged: dict[str, Fraction] = defaultdict(Fraction)
    for charge in made:
        charged[charge["who"]] += Fraction(charge["charged"])
    return sorted(((who, questions[who], charged[who]) for who in questions), key=lambda row: -row[2])


def source_view(source: Source, teams: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What the configuration says of a source. Where its table is, is not shown."""
    bounds = "; ".join(
        f"{_SYMBOLS[measure]} from {amount(least)} to {amount(most)}"
        for measure, (least, most) in source.bounds.items()
    )
    items = [(f"Items of {name}", _domain(column.size)) for name, column in source.items.items()]
    quotas = [
        (f"Quota of team {team}", f"{_total(total)}: {', '.join(teams.get(team, ())) or 'nobody'}")
        for team, total in source.team_quotas.items()
    ]
    quotas += [(f"Quota of {person}", _total(total)) for person, total in source.person_quotas.items()]
    person = "one row" if source.person is None else f"one value of the column {source.person}"
    facts = [
        ("One person is", person),
        ("Mechanisms", ", ".join(source.mechanisms)),
        ("One question", bounds),
    ]
    facts += [*items, *((f"Groups by {name}", "public") for name in source.groups)]
    return {"name": source.name, "facts": [*facts, ("Budget", _total(source.budget)), *quotas]}


def _domain(size: int | None) -> str:
    return "unknown: names are protected too" if size is None else f"{size:,} public ones"


def _total(total: AccountTotal) -> str:
    amounts = ", ".join(f"{_SYMBOLS.get(name, name)} = {amount(a)}" for name, a in total.amounts.items())
    return f"{amounts}, each month anew" if total.monthly else f"{amounts}, for good"


_FIGURES = {
    "exact": "exactly right",
    "share": "share right",
    "first": "first is right",
    "recall": "share found",
    "precision": "share above",
    "gap": "error of a gap",
    "width": "interval",
}


def plan_view(
    planned: Mapping[str, Any] | None, fields: Mapping[str, str], source: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What the page shows of a plan, and of asking what was planned. asked: None where there is no amount."""
    plan = None if planned is None else planned["plan"]
    curve = [] if plan is None else plan["curve"]
    asked = {name: fields[name] for name in FIELDS if fields.get(name)}
    measure = next((name for name in ("rho", "epsilon") if name in asked), None)
    if planned is not None and planned["dry_run"] is not None:
        planned = {**planned, "dry_run": {"lines": _dry_run(planned["dry_run"]["lines"])}}
    drawn = "rho" if any("rho" in point for point in curve) else "epsilon"
    return {
        "planned": planned,
        "charts": [] if plan is None else [chart(plan, drawn) for chart in (chance_chart, error_chart)],
        "budget": (drawn, _SYMBOLS[drawn]),
        "figures": [(n, words) for n, words in _FIGURES.items() if any(n in point for point in curve)],
        "suggested": None if measure or plan is None else _suggested(plan["suggested"], fields, source or {}),
        "asked": asked if planned is not None and measure else None,
        "short": [] if planned is None else [one for one in planned.get("charges", ()) if not one["fits"]],
        "pays": (_SYMBOLS[measure], asked[measure]) if measure else None,
    }


def _dry_run(lines: Sequence[str]) -> list[str]:
    """Without the heading, and without what speaks of the command line or of other questions."""
    said = [line.replace(" (ask with --measure)", "") for line in lines[1:]]
    return [line for line in said if " instead, which" not in line]


def _suggested(
    found: Mapping[str, str] | None, fields: Mapping[str, str], source: Mapping[str, Any]
) -> str | None:
    """The same form with the amount that is enough, as far as the owner allows one question so much.

    >>> allowed = {"smallest_epsilon": "1/10", "largest_epsilon": "1"}
    >>> [_suggested({"measure": "epsilon", "spent": e}, {"k": "5"}, allowed) for e in ("1/100", "1/3", "2")]
    ['k=5&epsilon=0.1', 'k=5&epsilon=1%2F3', None]
    """
    if found is None or f"largest_{found['measure']}" not in source:
        return None
    least, most = (Fraction(source[f"{extent}_{found['measure']}"]) for extent in ("smallest", "largest"))
    enough = max(least, Fraction(found["spent"]))
    decimal = amount(enough)
    written = str(enough) if " " in decimal else decimal
    return None if enough > most else urlencode({**fields, found["measure"]: written})


def bounds_of(source: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """What one question may cost: of each measure its name, its symbol, the least and the most.

    >>> bounds_of({"name": "shop", "smallest_rho": "1/100", "largest_rho": "1/8"})
    [('rho', 'ρ', '0.01', '0.125')]
    """
    return [
        (name, _SYMBOLS[name], amount(source[f"smallest_{name}"]), amount(source[f"largest_{name}"]))
        for name in ("epsilon", "rho")
        if f"smallest_{name}" in source
    ]


def figure(value: Any, name: str) -> str:
    """A figure of a plan for people.

    >>> figure(0.953, "exact"), figure(14.14, "gap")
    ('95.3 %', '14.1')
    """
    return f"{value:,.1f}" if name in ("gap", "width") else f"{100 * value:.1f} %"


def amount(number: Fraction | str) -> str:
    """An amount for people: a decimal where it is a short one, else also the fraction that it is.

    >>> amount("1/2"), amount("1/3"), amount("7"), amount("abc")
    ('0.5', '0.3333 (1/3)', '7', 'abc')
    """
    try:
        exact = Fraction(number)
    except (ValueError, ZeroDivisionError):
        return str(number)
    short = f"{float(exact):.4g}"
    if Fraction(short) == exact:
        return short
    written = str(exact)
    return f"{short} ({written})" if len(written) <= 24 else f"about {short}"
