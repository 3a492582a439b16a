"""The commands that show freegap's evidence: `assure`, `bench` and `experiment`."""

from __future__ import annotations

import typer

from freegap_evidence.commands import bench, experiment
from freegap_evidence.commands.assure import assure

__all__ = ["add_commands"]


def add_commands(app: typer.Typer) -> None:
    """Add them to freegap's command line."""
    app.command("assure")(assure)
    app.add_typer(bench.app)
    app.add_typer(experiment.app)
