"""The command line: one module a command, wired together here."""

from __future__ import annotations

import sys

import typer

import freegap
from freegap.cli import above, assure, bench, budget, demo, experiment, prove, top_k
from freegap.cli.audit import audit
from freegap.errors import FreegapError

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
app.add_typer(experiment.app)


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


def main() -> None:
    """Run the command line; a user's mistake is one plain line and exit code 2."""
    try:
        app()
    except FreegapError as error:
        typer.echo(f"freegap: {error}", err=True)
        sys.exit(2)
