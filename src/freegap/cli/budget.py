"""`freegap budget`: what each dataset may spend, has spent, and has left."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from freegap.budget import accounting
from freegap.budget.accounting import Cost
from freegap.budget.budgets import in_words
from freegap.budget.ledger import Ledger
from freegap.budget.records import Account, plain, plain_measure
from freegap.budget.statement import Charge, charges
from freegap.cli.files import OUT, require_writable, write
from freegap.cli.terminal import print_json, print_release
from freegap.errors import InvalidArgument, printable
from freegap.report.tables import TitledTable
from freegap.values.export import csv_cell
from freegap.values.kept import kept
from freegap.values.measures import Measure, measure_argument

app = typer.Typer(
    name="budget", help="Keep the privacy budget of each dataset in a ledger.", no_args_is_help=True
)

_WIDEST_BAR = 60
_NEWEST = 100
_URL: str | None = typer.Option(
    None,
    "--url",
    help="The ledger: a file, or postgresql://USER@HOST/DATABASE. Without it FREEGAP_LEDGER, "
    "else a file in your data directory.",
    show_default=False,
)
_JSON: bool = typer.Option(False, "--json", help="Print JSON.")
_CSV: bool = typer.Option(False, "--csv", help="Print CSV.")
_EPSILON: str | None = typer.Option(None, help="ε, such as 5, 0.5 or 1/3.", show_default=False)
_RHO: str | None = typer.Option(None, help="ρ (zCDP), instead of ε.", show_default=False)
_DELTA: str | None = typer.Option(None, help="δ beside ε, such as 1e-6.", show_default=False)
_DATASET: str = typer.Argument(help="The name of the dataset.", metavar="DATASET", show_default=False)


@app.callback()
def _budget() -> None:
    """Keep the privacy budget of each dataset in a ledger."""


@app.command()
def create(
    dataset: str = _DATASET,
    epsilon: str | None = _EPSILON,
    rho: str | None = _RHO,
    delta: str | None = _DELTA,
    own_delta: str | None = typer.Option(
        None, help="The part of --delta for releases with a δ of their own.  [default: half]"
    ),
    url: str | None = _URL,
    as_json: bool = _JSON,
) -> None:
    """Open the account of a dataset, with its total, once and for all.

    The total is --epsilon, --rho, or --epsilon and --delta.
    """
    ledger = Ledger(url)
    account = ledger.create(dataset, epsilon=epsilon, rho=rho, delta=delta, own_delta=own_delta)
    if as_json:
        print_json({"ledger": ledger.url, **account.to_dict()})
    else:
        _print_left(account)
        _print(Text(printable(f"Ledger: {ledger.url}"), style="dim"))


@app.command()
def record(
    dataset: str = _DATASET,
    epsilon: str | None = _EPSILON,
    rho: str | None = _RHO,
    delta: str | None = _DELTA,
    by: str = typer.Option(..., help="Who makes the release: another library, a person.", show_default=False),
    what: str = typer.Option(..., help="What is released, in public words.", show_default=False),
    url: str | None = _URL,
    as_json: bool = _JSON,
) -> None:
    """Charge a release that is not made by freegap, in full."""
    account = Ledger(url).record(dataset, epsilon=epsilon, rho=rho, delta=delta, by=by, what=what)
    if as_json:
        print_json(account.to_dict())
    else:
        _print_left(account)


@app.command()
def show(
    dataset: str = _DATASET,
    epsilon: str | None = typer.Option(
        None, help="Of what ε to say what one more release would cost.  [default: 1/10]"
    ),
    rho: str | None = typer.Option(
        None, help="Of what ρ to say what one more release would cost.  [default: 1/100]"
    ),
    last: int | None = typer.Option(
        None, help="List only the newest so many releases.  [default: 100 in a table, else all]"
    ),
    since: str | None = typer.Option(
        None, help="List only releases since this time (UTC), such as 2026-11-16 or 2026-11-16T08:30."
    ),
    url: str | None = _URL,
    as_json: bool = _JSON,
    as_csv: bool = _CSV,
) -> None:
    """Show what a dataset has spent on what, what is left, and what one more release would cost."""
    _one_form(as_json, as_csv)
    ledger = Ledger(url)
    if last is None and since is None and not (as_json or as_csv):
        last = _NEWEST
    account = ledger.account(dataset)
    made = charges(ledger.entries(dataset, last=last, since=since))
    more = _one_more(account, "1/10" if epsilon is None else epsilon, "1/100" if rho is None else rho)
    if as_json:
        listed = [charge.to_dict() for charge in made]
        print_json({**account.to_dict(), "one_more": list(map(_Next.to_dict, more)), "charges": listed})
    elif as_csv:
        rows = [
            {**row, **{name: json.dumps(row[name]) for name in ("parameters", "asked", "notes")}}
            for row in map(Charge.to_dict, made)
        ]
        _print_csv(list(Charge.__dataclass_fields__), rows)
    else:
        _print(_charge_table(dataset, made))
        if len(made) == last:
            _print(Text(f"The newest {last} releases; --last and --since list others.", style="dim"))
        _print(_bar(account))
        _print(_legend(account))
        for line in _left(account):
            _print(Text(line))
        for following in more:
            _print(Text(f"One more release of {following.in_words()}", style="dim"))


@app.command()
def release(
    number: int = typer.Argument(help="The line of the release, as `show` lists it.", show_default=False),
    out: list[Path] | None = OUT,
    url: str | None = _URL,
    as_json: bool = _JSON,
) -> None:
    """Show a release that was paid for once more. It costs nothing."""
    require_writable(out or ())
    again = kept(Ledger(url).release(number))
    print_release(again, as_json=as_json)
    write(again, out or ())


@app.command("list")
def list_accounts(url: str | None = _URL, as_json: bool = _JSON, as_csv: bool = _CSV) -> None:
    """List all datasets of the ledger."""
    _one_form(as_json, as_csv)
    ledger = Ledger(url)
    accounts = ledger.accounts()
    rows = [account.to_dict() for account in accounts]
    if as_json:
        print_json({"ledger": ledger.url, "datasets": rows})
    elif as_csv:
        names = dict.fromkeys(name for row in rows for name in row)
        _print_csv(list(names or ["dataset"]), rows)
    else:
        _print(_account_table(ledger.url, accounts))


@app.command()
def verify(
    head: str | None = typer.Option(
        None, help="The head that an earlier run printed: shows also whether the ledger was replaced since."
    ),
    url: str | None = _URL,
    as_json: bool = _JSON,
) -> None:
    """Check every line and every sum of the journal. Exit code 1 if something is wrong."""
    ledger = Ledger(url)
    outcome = ledger.verify(head)
    if as_json:
        print_json({"ledger": ledger.url, **outcome.to_dict()})
    elif outcome.ok:
        _print(Text(f"The journal is whole: {outcome.entries} lines.", style="green"))
        _print(Text(f"Head: {outcome.head}"))
    else:
        where = f" at line {outcome.broken}" if outcome.broken is not None else ""
        _print(Text(f"The journal is broken{where}: {outcome.reason}.", style="bold red"))
        _print(Text(f"Lines that fit together: {outcome.entries}. Restore the ledger from a backup."))
    if not outcome.ok:
        raise typer.Exit(1)


def _charge_table(dataset: str, made: Sequence[Charge]) -> TitledTable:
    table = Table()
    for heading in ("line", "when (UTC), who", "what", "reserved", "charged"):
        right = heading in ("line", "reserved", "charged")
        # A date is ten characters: folded, nobody reads it.
        least = 10 if heading.startswith("when") else None
        table.add_column(heading, justify="right" if right else "left", overflow="fold", min_width=least)
    for charge in made:
        parameters = ", ".join(f"{name}={value}" for name, value in charge.parameters.items())
        notes = "".join(f"\n{printable(one)}" for one in (parameters, _noted(charge)) if one)
        what = Text.assemble(charge.what, (notes, "dim"))
        state = "" if charge.state == "settled" else f"\n{charge.state}"
        table.add_row(
            str(charge.sequence),
            Text(f"{charge.when[:16].replace('T', ' ')}\n{charge.who}"),
            what,
            Text(_shown(charge.reserved)),
            Text.assemble(_shown(charge.charged), _other_measure(charge), (state, "yellow")),
        )
    return TitledTable(f"Budget of {dataset}", table)


def _noted(charge: Charge) -> str:
    """The newest thing that a release has said which goes on, and how many there are."""
    if not charge.notes:
        return ""
    *_, newest = charge.notes
    said = ", ".join(
        f"{name}={value}" for name, value in newest.items() if name not in ("when", "who", "sequence")
    )
    return f"{len(charge.notes)} notes, the newest in line {newest['sequence']}: {said}"


def _other_measure(charge: Charge) -> str:
    """What a release asked for, where it is charged in another measure."""
    return "" if charge.asked.name == charge.unit else f"\nfor {in_words(charge.asked)}"


@dataclass(frozen=True)
class _Next:
    """One more release: what it would cost, or why it has no price."""

    asked: Measure
    cost: Cost | None
    fits: bool
    account: Account

    def in_words(self) -> str:
        if self.cost is None:
            return f"{in_words(self.asked)} has no price here: the budget is in {self.account.measure}."
        costs = self.account.budget.cost_in_words(self.cost)
        return f"{in_words(self.asked)} costs {costs} and {'fits' if self.fits else 'does not fit'}."

    def to_dict(self) -> dict[str, Any]:
        cost = None if self.cost is None else plain(self.cost.amount)
        return {**plain_measure(self.asked), "cost": cost, "unit": self.account.unit, "fits": self.fits}


def _one_more(account: Account, epsilon: str, rho: str) -> list[_Next]:
    following = []
    for asked in (measure_argument(epsilon=epsilon), measure_argument(rho=rho)):
        try:
            cost = account.price(asked)
        except InvalidArgument:  # no theorem says
            following.append(_Next(asked, None, False, account))
        else:
            following.append(_Next(asked, cost, cost <= account.balance.remaining, account))
    return following


def _print_left(account: Account) -> None:
    first, *rest = _left(account)
    for line in (f"{account.dataset}: {first}", *rest):
        _print(Text(line))


def _left(account: Account) -> list[str]:
    """What is left, in the budget's own words, and in those in which it is kept."""
    declared = f"{in_words(account.declared)} in all"
    if account.measure == account.unit:
        return [f"{declared}: {_shown(account.remaining)} left"]
    left = f"{_shown(account.remaining)} of {_shown(account.total)} is left"
    own = f"{_shown(account.own_delta_remaining)} of {_shown(account.own_delta)} is left"
    return [
        declared,
        f"kept as {account.budget.sign}, of which {left}",
        f"of δ for releases with one of their own {own}",
    ]


def _account_table(url: str, accounts: Sequence[Account]) -> TitledTable:
    table = Table()
    table.add_column("dataset", overflow="fold")
    table.add_column("in")
    for heading in ("total", "spent", "reserved", "left"):
        table.add_column(heading, justify="right")
    for account in accounts:
        amounts = (account.total, account.spent, account.reserved, account.remaining)
        table.add_row(
            Text(account.dataset), account.budget.sign, *(Text(_shown(amount)) for amount in amounts)
        )
    return TitledTable(printable(f"Ledger {url}"), table)


def _bar(account: Account) -> Text:
    """A bar of the whole budget. What is spent or held is rounded up, so that it never looks like less."""
    spent = _cells(account.spent, account.total)
    held = _cells(account.spent + account.reserved, account.total) - spent
    if account.reserved and not held:
        held = 1 if spent < _WIDEST_BAR else 0
    left = _WIDEST_BAR - spent - held
    return Text.assemble(("█" * spent, "red"), ("▒" * held, "yellow"), ("░" * left, "green"))


def _cells(amount: Fraction, total: Fraction) -> int:
    return math.ceil(_WIDEST_BAR * amount / total)


def _legend(account: Account) -> Text:
    return Text.assemble(
        ("█", "red"),
        f" spent {_shown(account.spent)}   ",
        ("▒", "yellow"),
        f" reserved {_shown(account.reserved)}   ",
        ("░", "green"),
        f" left {_shown(account.remaining)} of {_shown(account.total)}",
    )


def _shown(amount: Fraction) -> str:
    """Short enough for a table; JSON and CSV have the exact amounts."""
    return accounting.shown(amount, longest=9)


def _one_form(as_json: bool, as_csv: bool) -> None:
    if as_json and as_csv:
        raise typer.BadParameter("--json and --csv exclude each other")


def _print(thing: TitledTable | Text) -> None:
    Console().print(thing, soft_wrap=isinstance(thing, Text))


def _print_csv(names: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in rows)
