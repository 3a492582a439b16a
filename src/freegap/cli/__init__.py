"""The command line: one module per command, listed here and loaded when it is asked for.

To print its own help page, or the version, it imports no command and nothing heavy: the names and their lines
stand in two tables.
"""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

import freegap
from freegap.cli.evidence import PACKAGE, evidence
from freegap.cli.letters import spell_out
from freegap.errors import (
    BudgetExceeded,
    BudgetSpent,
    EngineFailed,
    FreegapError,
    LedgerError,
    SpellingWarning,
    UnsettledWarning,
    printable,
)

__all__ = ["app", "loaded", "main"]

# The first line of the help of each. Its module has its name, with a group `app` or a function named alike.
_OURS = {
    "demo": "Release the private top ten of a synthetic shop, then tell the whole story with a ledger.",
    "top-k": "Release the k items with the most distinct people, with gaps.",
    "above": "Release the items with more distinct people than a threshold; unspent budget comes back.",
    "histogram": "Release how many people each item has, or the total of a value, with noise.",
    "quantiles": "Release several quantiles of people's numbers at once.",
    "watch": "Ask about new data each day, for one ε: an alert comes when a count passes a threshold.",
    "plan": "Find the ε that a release needs, and what it buys, from public assumptions; free.",
    "budget": "Keep the privacy budget of each dataset in a ledger.",
    "serve": "Let a team ask, and nobody read.",
    "mcp": "Let an assistant ask within a quota and never read a row, by the Model Context Protocol.",
    "receipt": "Make and check signed receipts of releases.",
    "audit": "Search for a counterexample to a claim of privacy: "
    "ε, (ε, δ), ρ, Rényi, μ or a trade-off curve.",
    "prove": "Prove that a mechanism is private, for all inputs of a bounded size, or show where it is not.",
    "cite": "Say how to cite this version and the papers behind it.",
}
_EVIDENCE = {
    "assure": "Prove (or cite), test and audit every mechanism of the library; "
    "each check must be able to fail.",
    "bench": "Measure speed against a peer or a baseline, in one run.",
    "experiment": "Reproduce the figures and tables of the papers.",
}

_EXIT_CODES: dict[tuple[type[FreegapError], ...], int] = {
    (BudgetExceeded, BudgetSpent): 3,
    (LedgerError,): 4,
    (EngineFailed,): 5,
}


def loaded(name: str) -> Any:
    """The command itself. One of freegap-evidence says how to install that where it is missing."""
    own = name.replace("-", "_")
    module = evidence(f"commands.{own}") if name in _EVIDENCE else import_module(f"freegap.cli.{own}")
    found, holder = getattr(module, "app", None) or getattr(module, own), typer.Typer(callback=lambda: None)
    if isinstance(found, typer.Typer):
        holder.add_typer(found)
    else:
        holder.command(name)(found)
    return typer.main.get_group(holder).commands[name]


class _Commands(TyperGroup):
    """Lists the commands by what the tables say of them, and loads the one that is called."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        for names, panel in ((_OURS, None), (_EVIDENCE, f"With the package {PACKAGE.replace('_', '-')}")):
            for name, line in names.items():
                self.add_command(TyperCommand(name, help=line, rich_help_panel=panel))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, with what is left of the arguments."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, None if listed is None else loaded(listed.name or ""), rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Typer would make a bare exit code of an interruption, without its notes."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise _Interrupted from interrupt


class _Interrupted(Exception):
    """Somebody pressed Ctrl-C, or asked the process to terminate."""


app = typer.Typer(
    name="freegap",
    cls=_Commands,
    help="Differentially private selection with free gaps.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"freegap {freegap.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", help="Show the version and stop.", callback=_show_version, is_eager=True
    ),
) -> None:
    """Differentially private selection with free gaps."""


# Typer's own error for wrong usage, wherever its version of Click comes from.
_Misused: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def main() -> None:
    """Run the command line; what goes wrong is a plain line, with what it cost, and an exit code.

    2: a wrong argument, and all that has no code of its own. 3: too little budget. 4: the ledger. 5: the
    engine that holds the table. 130: interrupted by Ctrl-C; 143: by a request to terminate.
    """
    spell_out(sys.stdout, sys.stderr)
    warnings.showwarning = _plainly(warnings.showwarning)
    terminated: list[int] = []

    def terminate(number: int, _frame: object) -> None:
        terminated.append(number)
        raise KeyboardInterrupt  # ends as Ctrl-C does: temporary files go, and what is charged is said

    signal.signal(signal.SIGTERM, terminate)
    try:
        code = app(standalone_mode=False)
        if code:
            sys.exit(code)
    except _Misused as error:
        from typer import rich_utils

        error.message = printable(error.message, lines=True)  # it quotes what was typed, or a file's name
        rich_utils.rich_format_error(error)
        sys.exit(error.exit_code)
    except typer.Abort:
        sys.exit(1)
    except _Interrupted as stopped:
        _say("interrupted.", stopped.__cause__)
        sys.exit(128 + (terminated or [signal.SIGINT])[0])
    except FreegapError as error:
        from freegap.cli.options import in_options

        _say(in_options(error, typer.main.get_command(app), sys.argv[1:]), error)
        sys.exit(next((code for kinds, code in _EXIT_CODES.items() if isinstance(error, kinds)), 2))


def _say(what: str, error: BaseException | None) -> None:
    for line in (what, *getattr(error, "__notes__", ())):
        typer.echo(printable(f"freegap: {line}", lines=True), err=True)


def _plainly(otherwise: Callable[..., None]) -> Callable[..., None]:
    """Our own warning is for the person who typed the command, who has no use for a line of our code."""

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, UnsettledWarning | SpellingWarning):
            typer.echo(printable(f"freegap: {message}"), err=True)
        else:
            otherwise(message, category, *where, **more)

    return show
