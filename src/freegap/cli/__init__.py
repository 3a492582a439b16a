"""The command line: one module a command, wired together here."""

from __future__ import annotations

import sys
from typing import Any

import typer
from typer import rich_utils

import freegap
from freegap.cli import above, assure, bench, budget, demo, prove, top_k
from freegap.cli.audit import audit
from freegap.errors import FreegapError, printable

__all__ = ["app", "main"]

app = typer.Typer(
    name="freegap",
    help="Differentially private selection with free gaps.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("prove")(prove.command)
app.command("audit")(audit)
app.command("assure")(assure.assure)
app.command("top-k")(top_k.top_k)
app.command("above")(above.above)
app.add_typer(bench.app)
app.add_typer(budget.app)


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
    """Run the command line; a user's mistake is one plain line and exit code 2."""
    try:
        sys.exit(app(standalone_mode=False))
    except _Misused as error:
        error.message = printable(error.message, lines=True)  # it quotes what was typed, or a file's name
        rich_utils.rich_format_error(error)
        sys.exit(error.exit_code)
    except typer.Abort:
        sys.exit(1)
    except FreegapError as error:
        typer.echo(printable(f"freegap: {error}", lines=True), err=True)
        sys.exit(2)
