"""The command line: one module a command, wired together here."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import typer
from typer import rich_utils

import freegap
from freegap.cli import above, budget, cite, demo, prove, top_k
from freegap.cli.audit import audit
from freegap.cli.evidence import add_commands
from freegap.cli.options import in_options
from freegap.errors import FreegapError, UnsettledWarning, printable

__all__ = ["app", "main"]

app = typer.Typer(
    name="freegap",
    help="Differentially private selection with free gaps.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("top-k")(top_k.top_k)
app.command("above")(above.above)
app.add_typer(budget.app)
app.command("audit")(audit)
app.command("prove")(prove.command)
app.command("cite")(cite.cite)
add_commands(app)


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
    """Run the command line; a user's mistake is a plain line, with what it cost, and exit code 2."""
    warnings.showwarning = _plainly(warnings.showwarning)
    try:
        code = app(standalone_mode=False)
        if code:
            sys.exit(code)
    except _Misused as error:
        error.message = printable(error.message, lines=True)  # it quotes what was typed, or a file's name
        rich_utils.rich_format_error(error)
        sys.exit(error.exit_code)
    except typer.Abort:
        sys.exit(1)
    except FreegapError as error:
        typed = in_options(error, typer.main.get_command(app), sys.argv[1:])
        for line in (typed, *getattr(error, "__notes__", ())):
            typer.echo(printable(f"freegap: {line}", lines=True), err=True)
        sys.exit(2)


def _plainly(otherwise: Callable[..., None]) -> Callable[..., None]:
    """Our own warning is for the person who typed the command, who has no use for a line of our code."""

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, UnsettledWarning):
            typer.echo(printable(f"freegap: {message}"), err=True)
        else:
            otherwise(message, category, *where, **more)

    return show
