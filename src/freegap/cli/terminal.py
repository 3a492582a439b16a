"""What every command shows alike: progress, on standard error and gone afterwards, and records as JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.status import Status

from freegap.values.written import json_text

_WIDEST = 10_000  # no line of a table in a file is broken, however long its names are


def progress_bar(quiet: bool, *columns: ProgressColumn) -> Progress:
    """A bar for each task; it pulses where nobody knows the end. Behind it a count, or these columns.

    quiet: show nothing, as for `--json`. Without a terminal nothing is shown either.
    """
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *(columns or (TextColumn("{task.completed:.0f}"),)),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )


def shown_in(bar: Progress, what: str) -> Callable[[str, int, int], None]:
    """A task of a bar as functions report on it: what is being done, how much of how much is."""
    task = bar.add_task(what, total=None)
    return lambda now, done, total: bar.update(task, description=now, completed=done, total=total or None)


def spinner(what: str, *, quiet: bool) -> Status:
    """For work whose length is not known; its `update` says what is being done."""
    return Console(stderr=True, quiet=quiet).status(what)


def print_release(release: Any, *, as_json: bool) -> None:
    """A release on standard output: a table whose lines no file breaks, or JSON."""
    if as_json:
        print_json(release.to_dict())
    else:
        Console(width=None if Console().is_terminal else _WIDEST).print(release)
    sys.stdout.flush()


def print_json(record: Any) -> None:
    """A record for programs, on standard output."""
    typer.echo(json_text(record, indent=2))
