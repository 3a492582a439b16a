"""What is shown while a command works: on a terminal, on standard error, and gone afterwards."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.status import Status

__all__ = ["spinner", "waiting"]


def waiting(*columns: ProgressColumn, quiet: bool) -> Progress:
    """A bar for each task; it pulses where nobody knows the end. These columns stand after it.

    quiet: show nothing, as for `--json`. Without a terminal nothing is shown either.
    """
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *(columns or (TaskProgressColumn(),)),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )


def spinner(what: str, *, quiet: bool) -> Status:
    """For work whose length is not known; its `update` says what is being done."""
    return Console(stderr=True, quiet=quiet).status(what)
