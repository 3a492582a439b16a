"""`freegap budget`: what each dataset may spend, has spent, and has left."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from freegap.budget import accounting
from freegap.budget.ledger import Ledger
from freegap.budget.records import Account
from freegap.budget.statement import Charge, charges
from freegap.cli.terminal import print_json
from freegap.errors import printable

__all__ = ["app"]

app = typer.Typer(
    name="budget", help="Keep the privacy budget of each dataset in a ledger.", no_args_is_help=True
)

_WIDEST_BAR = 60
_URL: str | None = typer.Option(
    None,
    "--url",
    help="The ledger: sqlite:///FILE or postgresql://USER@HOST/DATABASE. Without it FREEGAP_LEDGER, "
    "else a file in your data directory.",
    show_default=False,
)
_JSON: bool = typer.Option(False, "--json", help="Print JSON.")
_CSV: bool = typer.Option(False, "--csv", help="Print CSV.")
_DATASET: str = typer.Argument(help="The name of the dataset.", metavar="DATASET", show_default=False)


@app.callback()
def _budget() -> None:
    """Keep the privacy budget of each dataset in a ledger."""


@app.command()
def create(
    dataset: str = _DATASET,
    epsilon: str = typer.Option(..., help="The ε that the dataset has in all, such as 5, 0.5 or 1/3."),
    url: str | None = _URL,
    as_json: bool = _JSON,
) -> None:
    """Open the account of a dataset, with its total ε, once and for all."""
    ledger = Ledger(url)
    account = ledger.create(dataset, epsilon=epsilon)
    if as_json:
        print_json({"ledger": ledger.url, **account.to_dict()})
    else:
        _print(Text(f"{dataset}: ε = {_shown(account.total)} in all, {_shown(account.remaining)} left"))
        _print(Text(printable(f"Ledger: {ledger.url}"), style="dim"))


@app.command()
def show(dataset: str = _DATASET, url: str | None = _URL, as_json: bool = _JSON, as_csv: bool = _CSV) -> None:
    """Show what a dataset has spent on what, and what is left."""
    _one_form(as_json, as_csv)
    ledger = Ledger(url)
    account, entries = ledger.account(dataset), ledger.entries(dataset)
    made = charges(entries)
    if as_json:
        print_json({**account.to_dict(), "charges": [charge.to_dict() for charge in made]})
    elif as_csv:
        rows = [{**row, "parameters": json.dumps(row["parameters"])} for row in map(Charge.to_dict, made)]
        _print_csv(list(Charge.__dataclass_fields__), rows)
    else:
        _print(_charge_table(dataset, made))
        _print(_bar(account))
        _print(_legend(account))


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
        _print_csv(["dataset", "total", "spent", "reserved", "remaining"], rows)
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


def _charge_table(dataset: str, made: Sequence[Charge]) -> Table:
    table = Table(title=Text(f"Budget of {dataset}"), title_justify="left")
    for heading in ("line", "when (UTC), who", "what", "reserved", "charged"):
        right = heading in ("line", "reserved", "charged")
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for charge in made:
        parameters = ", ".join(f"{name}={value}" for name, value in charge.parameters.items())
        what = Text.assemble(charge.what, (f"\n{printable(parameters)}" if parameters else "", "dim"))
        state = "" if charge.state == "settled" else f"\n{charge.state}"
        table.add_row(
            str(charge.sequence),
            Text(f"{charge.when[:16].replace('T', ' ')}\n{charge.who}"),
            what,
            Text(_shown(charge.reserved)),
            Text.assemble(_shown(charge.charged), (state, "yellow")),
        )
    return table


def _account_table(url: str, accounts: Sequence[Account]) -> Table:
    table = Table(title=Text(printable(f"Ledger {url}")), title_justify="left")
    table.add_column("dataset", overflow="fold")
    for heading in ("total", "spent", "reserved", "left"):
        table.add_column(heading, justify="right")
    for account in accounts:
        amounts = (account.total, account.spent, account.reserved, account.remaining)
        table.add_row(Text(account.dataset), *(Text(_shown(amount)) for amount in amounts))
    return table


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


def _print(thing: Table | Text) -> None:
    Console().print(thing, soft_wrap=isinstance(thing, Text))


def _print_csv(names: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    """A spreadsheet takes a text that begins like a formula for one; after a quotation mark it does not."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@")) else value
